/*
 * Retry-After is said to one call and meant for all that ask the same: none of an operation goes before, in that region or to the API server. Pure.
 * The last sixteen such operations are kept; an older hold is forgotten, and its calls are told again.
 */
#ifndef ENGINE_HOLD_H
#define ENGINE_HOLD_H

#include <stddef.h>

#include "base/instant.h"

struct hold {
	const void *where; /* the place; NULL = the API server */
	char operation[64];
	struct instant until;
};

struct holds {
	struct hold at[16];
	size_t next;
};

/* Nothing of it before `until`, which replaces what was said before. */
void holds_set(struct holds *holds, const void *where, const char *operation, struct instant until);

/* From when on it may go; 0 = at any time. */
struct instant holds_until(const struct holds *holds, const void *where, const char *operation);

#endif
