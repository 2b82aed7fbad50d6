#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_FIRST_BYTES ((size_t)1024)
#define BLOCK_LAST_BYTES ((size_t)64 * 1024)
#define ALIGNMENT alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t size_bytes;
	size_t used_bytes;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena_deferred {
	struct arena_deferred *next;
	void (*run)(void *what);
	void *what;
};

void arena_init(struct arena *arena, const char *name, size_t max_bytes)
{
	*arena = (struct arena){.name = name, .max_bytes = max_bytes};
}

static _Noreturn void arena_die(const struct arena *arena, const char *why, size_t size_bytes)
{
	fprintf(stderr, "zonevac: arena %s: %s (%zu bytes wanted, %zu used, %zu allowed)\n",
	        arena->name ? arena->name : "?", why, size_bytes, arena->used_bytes, arena->max_bytes);
	abort();
}

static void blocks_free(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;
#ifdef ARENA_POISON
		memset(block->bytes, 0xa5, block->size_bytes);
#endif
		free(block);
		block = next;
	}
}

void arena_reset(struct arena *arena)
{
	struct arena_deferred *deferred = arena->deferred;

	arena->deferred = NULL;
	for (; deferred; deferred = deferred->next)
		deferred->run(deferred->what);
	blocks_free(arena->blocks);
	arena->blocks = NULL;
	arena->used_bytes = 0;
}

void arena_done(struct arena *arena)
{
	if (!arena)
		return;
	arena_reset(arena);
	*arena = (struct arena){0};
}

static struct arena_block *block_new(struct arena *arena, size_t size_bytes)
{
	struct arena_block *block = calloc(1, sizeof(*block) + size_bytes);

	if (!block)
		arena_die(arena, "out of memory", size_bytes);
	block->size_bytes = size_bytes;
	return block;
}

/* A request that would waste much of a block gets its own, behind the one that still has room. */
static struct arena_block *block_for(struct arena *arena, size_t size_bytes)
{
	struct arena_block *first = arena->blocks;
	size_t next_bytes = BLOCK_FIRST_BYTES;

	if (first && size_bytes <= first->size_bytes - first->used_bytes)
		return first;
	while (next_bytes < BLOCK_LAST_BYTES && next_bytes <= arena->used_bytes)
		next_bytes *= 2;
	if (size_bytes > next_bytes / 4) {
		struct arena_block *own = block_new(arena, size_bytes);
		own->next = first ? first->next : NULL;
		*(first ? &first->next : &arena->blocks) = own;
		return own;
	}
	struct arena_block *block = block_new(arena, next_bytes - sizeof(*block));
	block->next = first;
	arena->blocks = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
	size_t wanted = size_bytes ? size_bytes : 1;

	if (wanted > SIZE_MAX - ALIGNMENT)
		arena_die(arena, "size overflows", size_bytes);
	wanted = (wanted + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (wanted > arena->max_bytes || arena->used_bytes > arena->max_bytes - wanted)
		arena_die(arena, "over its maximum", size_bytes);
	struct arena_block *block = block_for(arena, wanted);
	void *at = block->bytes + block->used_bytes;
	block->used_bytes += wanted;
	arena->used_bytes += wanted;
	return at;
}

void *arena_array(struct arena *arena, size_t count, size_t size_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, size_bytes, &total))
		arena_die(arena, "array size overflows", count);
	return arena_alloc(arena, total);
}

char *arena_copy(struct arena *arena, const char *bytes, size_t length)
{
	if (length == SIZE_MAX)
		arena_die(arena, "size overflows", length);
	char *copy = arena_alloc(arena, length + 1);

	if (length)
		memcpy(copy, bytes, length);
	return copy;
}

char *arena_string(struct arena *arena, const char *string)
{
	return string ? arena_copy(arena, string, strlen(string)) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	char small[256];
	va_list arguments;
	va_list again;

	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(small, sizeof(small), format, arguments);
	va_end(arguments);
	if (length < 0)
		arena_die(arena, "format cannot be printed", 0);
	char *printed = arena_alloc(arena, (size_t)length + 1);
	if ((size_t)length < sizeof(small))
		memcpy(printed, small, (size_t)length + 1);
	else
		vsnprintf(printed, (size_t)length + 1, format, again);
	va_end(again);
	return printed;
}

void arena_defer(struct arena *arena, void (*run)(void *what), void *what)
{
	struct arena_deferred *deferred = ARENA_NEW(arena, struct arena_deferred);

	*deferred = (struct arena_deferred){.next = arena->deferred, .run = run, .what = what};
	arena->deferred = deferred;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size_bytes)
{
	if (count < *capacity)
		return array;
	if (*capacity > SIZE_MAX / 2)
		arena_die(arena, "array size overflows", *capacity);
	size_t wanted = *capacity ? *capacity * 2 : 4;
	void *grown = arena_array(arena, wanted, size_bytes);

	if (count)
		memcpy(grown, array, count * size_bytes);
	*capacity = wanted;
	return grown;
}
