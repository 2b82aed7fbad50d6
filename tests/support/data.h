/*
 * Recorded answers for tests: files below tests/data as responses.
 */
#ifndef TESTS_SUPPORT_DATA_H
#define TESTS_SUPPORT_DATA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "net/http.h"

static inline struct http_response data_text(int status, const char *body)
{
	return (struct http_response){.status = status, .body = body, .body_length = strlen(body)};
}

/* The file tests/data/`name` as the body of an answer; ends the test program when it is not there. */
static inline struct http_response data_response(struct arena *arena, int status, const char *name)
{
	struct error error = {0};
	size_t length = 0;
	char *body = NULL;

	if (!file_read(arena, arena_printf(arena, "%s/%s", TEST_DATA, name), 1024 * 1024, &body, &length, &error)) {
		fprintf(stderr, "%s\n", error.message);
		abort();
	}
	return (struct http_response){.status = status, .body = body, .body_length = length};
}

#endif
