/*
 * A heap for stories: millions of small pieces that one thread makes and gives back at once. Pieces are kept by size and never given back to the system, so
 * that each costs a few instructions. Sanitized builds keep their own heap.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define SMALL_MAX ((size_t)1024) /* classes of 16 bytes up to here, then of powers of two */
#define SMALL_CLASSES (SMALL_MAX / 16 + 1)
#define LARGE_CLASSES 40
#define CHUNK_BYTES ((size_t)4 * 1024 * 1024)

/* In front of what is handed out; while it is free, what follows is the next one of its class. */
struct piece {
	size_t class;
	struct piece *next;
};

static struct piece *kept[SMALL_CLASSES + LARGE_CLASSES];
static char *chunk;
static size_t chunk_left;

static size_t class_of(size_t bytes, size_t *rounded)
{
	if (bytes <= SMALL_MAX) {
		*rounded = (bytes + 15) / 16 * 16;
		return *rounded / 16;
	}
	size_t bits = 64 - (size_t)__builtin_clzl(bytes - 1);
	*rounded = (size_t)1 << bits;
	return SMALL_CLASSES + bits - 11;
}

static void *from_system(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at != MAP_FAILED ? at : NULL;
}

static struct piece *piece_new(size_t class, size_t bytes)
{
	struct piece *piece;
	size_t whole = bytes + 16;
	if (whole > CHUNK_BYTES / 8) {
		piece = from_system(whole);
	} else {
		if (whole > chunk_left) {
			chunk = from_system(CHUNK_BYTES);
			chunk_left = chunk != NULL ? CHUNK_BYTES : 0;
		}
		piece = (struct piece *)(void *)chunk;
		chunk += chunk != NULL ? whole : 0;
		chunk_left -= chunk != NULL ? whole : 0;
	}
	if (piece != NULL)
		piece->class = class;
	return piece;
}

static void *take(size_t bytes)
{
	size_t rounded;
	if (bytes > SIZE_MAX / 4) {
		errno = ENOMEM;
		return NULL;
	}
	size_t class = class_of(bytes > 0 ? bytes : 1, &rounded);
	struct piece *piece = kept[class];
	if (piece != NULL)
		kept[class] = piece->next;
	else if ((piece = piece_new(class, rounded)) == NULL)
		errno = ENOMEM;
	return piece != NULL ? (char *)piece + 16 : NULL;
}

void *malloc(size_t bytes)
{
	return take(bytes);
}

void free(void *at)
{
	if (at == NULL)
		return;
	struct piece *piece = (struct piece *)(void *)((char *)at - 16);
	piece->next = kept[piece->class];
	kept[piece->class] = piece;
}

static size_t room_of(const void *at)
{
	size_t class = *(const size_t *)(const void *)((const char *)at - 16);
	return class < SMALL_CLASSES ? class * 16 : (size_t)1 << (class - SMALL_CLASSES + 11);
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *at = __builtin_mul_overflow(count, size, &bytes) ? NULL : take(bytes);
	return at != NULL ? memset(at, 0, bytes) : NULL;
}

void *realloc(void *at, size_t bytes)
{
	if (at == NULL || bytes <= room_of(at))
		return at == NULL ? take(bytes) : at;
	void *grown = take(bytes);
	if (grown != NULL) {
		memcpy(grown, at, room_of(at));
		free(at);
	}
	return grown;
}

#endif
