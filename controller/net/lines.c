#include "net/lines.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096, KEEP_BYTES = 256 * 1024 };

void lines_init(struct lines *lines, size_t max_bytes)
{
	*lines = (struct lines){.max_bytes = max_bytes};
}

void lines_done(struct lines *lines)
{
	free(lines->at);
	*lines = (struct lines){.max_bytes = lines->max_bytes};
}

void lines_clear(struct lines *lines)
{
	lines->length = 0;
	lines->consumed = 0;
	lines->scanned = 0;
	lines->unfinished_bytes = 0;
}

/* Follow the new bytes line by line: is one longer than the maximum? */
static bool measure(struct lines *lines, const char *bytes, size_t length)
{
	size_t unfinished = lines->unfinished_bytes;

	for (const char *end = bytes + length; bytes < end;) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t piece = (size_t)((newline == NULL ? end : newline) - bytes);

		if (piece > lines->max_bytes - unfinished)
			return false;
		unfinished = newline == NULL ? unfinished + piece : 0;
		bytes += newline == NULL ? piece : piece + 1;
	}
	lines->unfinished_bytes = unfinished;
	return true;
}

static void drop_consumed(struct lines *lines)
{
	if (lines->consumed == 0)
		return;
	lines->length -= lines->consumed;
	lines->scanned -= lines->consumed;
	memmove(lines->at, lines->at + lines->consumed, lines->length);
	lines->consumed = 0;
}

/* One huge line must not keep its memory for the rest of the stream. */
static void make_room(struct lines *lines, size_t length)
{
	size_t need = lines->length + length + 1;
	size_t capacity = lines->capacity;

	if (capacity > KEEP_BYTES && need <= KEEP_BYTES)
		capacity = KEEP_BYTES;
	if (capacity < FIRST_BYTES)
		capacity = FIRST_BYTES;
	while (capacity < need)
		capacity *= 2;
	if (capacity == lines->capacity)
		return;
	lines->at = realloc(lines->at, capacity);
	if (lines->at == NULL)
		abort();
	lines->capacity = capacity;
}

bool lines_feed(struct lines *lines, const char *bytes, size_t length, struct error *error)
{
	if (!measure(lines, bytes, length))
		return error_set(error, ERROR_LIMIT, "a line of the stream is longer than %zu bytes", lines->max_bytes);
	if (length == 0)
		return true;
	drop_consumed(lines);
	make_room(lines, length);
	memcpy(lines->at + lines->length, bytes, length);
	lines->length += length;
	return true;
}

char *lines_next(struct lines *lines, size_t *length)
{
	while (lines->scanned < lines->length) {
		char *start = lines->at + lines->consumed;
		char *newline = memchr(lines->at + lines->scanned, '\n', lines->length - lines->scanned);
		size_t size;

		if (newline == NULL) {
			lines->scanned = lines->length;
			return NULL;
		}
		size = (size_t)(newline - start);
		lines->consumed += size + 1;
		lines->scanned = lines->consumed;
		if (size > 0 && start[size - 1] == '\r')
			size--;
		if (size == 0)
			continue;
		start[size] = '\0';
		*length = size;
		return start;
	}
	return NULL;
}
