/*
 * What the actuators share for reading JSON answers. An answer is parsed in an arena of its own, which ends with it: what
 * is kept of it is copied here, and nothing else of it (environment variables, events) stays in memory.
 */
#ifndef ACTUATORS_ANSWER_H
#define ACTUATORS_ANSWER_H

#include "base/json.h"

/* The arena that an answer is parsed in. What is allocated there is the document's handle alone. */
#define ANSWER_ARENA_MAX_BYTES (1024 * 1024)

/* The string at a path, borrowed; NULL when there is none or it is empty. */
const char *answer_text(const struct json *json, const char *path);

/* The same, copied. */
const char *answer_copy(const struct json *json, const char *path, struct arena *arena);

/* All strings of a list, copied; false when it is none, or has anything else in it. */
bool answer_strings(const struct json *json, struct arena *arena, struct string_list *out);

#endif
