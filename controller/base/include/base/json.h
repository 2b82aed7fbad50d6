/*
 * JSON values, read and built. The one place that includes json-c; YAML (base/yaml.h) reads into the same values.
 *
 * Ownership: every value belongs to the arena it was parsed or made in and is given back with it. Values handed out
 * by the readers are borrowed from their parent. A value must be set into at most one parent, of the same arena
 * or one that does not outlive it.
 * Reading is forgiving by design: a reader asked of NULL or of another type answers "not there", so that paths can
 * be followed without checks; what must be there is checked by who needs it.
 * Bounds: text of at most 64 MiB, nesting of at most 64.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/string_list.h"

struct json;

enum json_type { JSON_NULL, JSON_BOOL, JSON_INTEGER, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* Strict: one document, nothing but white space behind it, no comments. Error: ERROR_MALFORMED with the offset. */
struct json *json_parse(struct arena *arena, const char *bytes, size_t length, struct error *error);

/* Readers. */
enum json_type json_type(const struct json *json); /* NULL is JSON_NULL */
/* A member that is null reads as not there; json_member tells it. */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_path(const struct json *object, const char *path); /* "metadata.name"; keys without dots */
const char *json_string(const struct json *json); /* NULL when not a string, or one with a NUL inside */
const char *json_get_string(const struct json *object, const char *key);
const char *json_path_string(const struct json *object, const char *path);
bool json_bool(const struct json *json, bool otherwise);
int64_t json_integer(const struct json *json, int64_t otherwise); /* 5.0 is one, 5.5 is not; beyond int64 saturates */
double json_number(const struct json *json, double otherwise);
size_t json_count(const struct json *array_or_object);
const struct json *json_at(const struct json *array, size_t index);
/* The n-th member of an object in its order; *key (may be NULL) is borrowed. NULL when there is none. */
const struct json *json_member(const struct json *object, size_t index, const char **key);
/* All strings of an array of strings, borrowed; other elements are left out. */
struct string_list json_strings(const struct json *array, struct arena *arena);
/* Deep equality; numbers by value, members in any order. */
bool json_equal(const struct json *a, const struct json *b);

/*
 * Builders. Strings are copied. Setting NULL as a string or value sets nothing (json_new_null is the null value).
 * Setting a key anew replaces its value; setting into what is not an object, or adding to what is not an array, is a bug
 * and ends the process.
 */
struct json *json_new_object(struct arena *arena);
struct json *json_new_array(struct arena *arena);
struct json *json_new_string(struct arena *arena, const char *string);
struct json *json_new_integer(struct arena *arena, int64_t value);
struct json *json_new_number(struct arena *arena, double value); /* finite */
struct json *json_new_bool(struct arena *arena, bool value);
struct json *json_new_null(struct arena *arena);
struct json *json_new_strings(struct arena *arena, const struct string_list *list);
/*
 * Another value, equal to it, that may be changed and lives as long as `arena`, whatever becomes of the first one. What is inside is shared, not
 * copied: a builder's hold on something inside (json_set_object …) is not used any more once the whole was copied.
 */
struct json *json_copy(struct arena *arena, const struct json *json);
void json_set(struct json *object, const char *key, struct json *value);
void json_set_string(struct json *object, const char *key, const char *string);
void json_set_integer(struct json *object, const char *key, int64_t value);
void json_set_bool(struct json *object, const char *key, bool value);
void json_remove(struct json *object, const char *key);
void json_add(struct json *array, struct json *value);
void json_add_string(struct json *array, const char *string);
/* Convenience: a new empty object set at `key`, returned. */
struct json *json_set_object(struct json *object, const char *key);
struct json *json_set_array(struct json *object, const char *key);

/* Compact text in `arena`. */
const char *json_print(const struct json *json, struct arena *arena);

#endif
