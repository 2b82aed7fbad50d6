/*
 * Memory that is given back all at once.
 *
 * An arena belongs to exactly one owner (an exchange, a change, an evacuation) and has a maximum. Asking for more
 * than the maximum ends the process with a sentence on stderr: the callers' own limits make that unreachable for
 * any input, so reaching it is a bug. Debug builds (-DARENA_POISON) overwrite what is given back.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena_deferred;

struct arena {
	const char *name; /* literal, for the sentence above */
	struct arena_block *blocks;
	struct arena_deferred *deferred;
	size_t used_bytes;
	size_t max_bytes;
};

/* `name` must outlive the arena. Allocates nothing until the first use. */
void arena_init(struct arena *arena, const char *name, size_t max_bytes);

/* Run what was deferred, last first, and give everything back; the arena is ready for use again. */
void arena_reset(struct arena *arena);

/* As reset; the arena must be initialised before further use. NULL and a zeroed struct are fine. */
void arena_done(struct arena *arena);

/* Zeroed, aligned for any type, never NULL; size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* As arena_alloc for count * size_bytes, with the multiplication checked. */
void *arena_array(struct arena *arena, size_t count, size_t size_bytes);

/* A NUL-terminated copy of `length` bytes. */
char *arena_copy(struct arena *arena, const char *bytes, size_t length);

/* A copy of a string; NULL gives NULL. */
char *arena_string(struct arena *arena, const char *string);

char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call `run(what)` at the next reset or done. */
void arena_defer(struct arena *arena, void (*run)(void *what), void *what);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/*
 * Make room for one more element in an arena-held array: returns the array to use from now on (the old one stays
 * valid but unused). *capacity grows by doubling.
 */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size_bytes);

#endif
