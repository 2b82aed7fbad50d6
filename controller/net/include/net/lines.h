/*
 * Cut a stream into lines, whatever its chunks. A line is what stands between newlines, without the newline and a CR
 * before it; blank lines are left out. An unfinished last line stays until its end comes. Bound: a line of at most
 * max_bytes; a longer one makes lines_feed fail, and the stream is to be dropped.
 */
#ifndef NET_LINES_H
#define NET_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct lines {
	char *at;
	size_t length;
	size_t capacity;
	size_t consumed;
	size_t scanned;
	size_t unfinished_bytes; /* of the last line, so far */
	size_t max_bytes;
};

void lines_init(struct lines *lines, size_t max_bytes);
void lines_done(struct lines *lines);
void lines_clear(struct lines *lines);

/* ERROR_LIMIT when a line would be too long. */
bool lines_feed(struct lines *lines, const char *bytes, size_t length, struct error *error);

/* The next whole line, NUL-terminated, good until the next call; NULL: none is left. Take all after each feed. */
char *lines_next(struct lines *lines, size_t *length);

#endif
