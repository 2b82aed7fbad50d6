/*
 * Exchanges that wait for their time, the earliest first: a binary heap, because ten thousand looks at what settles may be waiting at once.
 */
#ifndef ENGINE_WAITING_H
#define ENGINE_WAITING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/instant.h"

struct exchange;

struct waiting {
	struct exchange **at;
	size_t count;
	size_t capacity;
};

void waiting_add(struct waiting *waiting, struct exchange *exchange);
void waiting_remove(struct waiting *waiting, struct exchange *exchange);

/* The earliest, or NULL. */
struct exchange *waiting_first(const struct waiting *waiting);

void waiting_done(struct waiting *waiting);

#endif
