/*
 * JSON patch (RFC 6902: test, add, remove, replace) over JSON pointers (RFC 6901). Pure: each operation makes a new value.
 */
#include "world_parts.h"

#include <string.h>

#define POINTER_MAX 32

enum patch_op { OP_ADD, OP_REMOVE, OP_REPLACE };

struct pointer {
	const char *at[POINTER_MAX];
	size_t count;
};

static const char *token_decode(struct arena *arena, const char *at, size_t length)
{
	char *token = arena_alloc(arena, length + 1);
	size_t out = 0;
	for (size_t i = 0; i < length; i++) {
		bool escaped = at[i] == '~' && i + 1 < length;
		token[out++] = !escaped ? at[i] : at[i + 1] == '1' ? '/' : '~';
		i += escaped;
	}
	return token;
}

static bool pointer_parse(struct arena *arena, const char *string, struct pointer *out)
{
	out->count = 0;
	while (*string == '/') {
		size_t length = strcspn(string + 1, "/");
		if (out->count == POINTER_MAX)
			return false;
		out->at[out->count++] = token_decode(arena, string + 1, length);
		string += 1 + length;
	}
	return *string == '\0';
}

static bool array_index(const char *token, size_t count, bool adding, size_t *out)
{
	long long index;
	if (adding && strcmp(token, "-") == 0) {
		*out = count;
		return true;
	}
	if (!text_parse_integer(token, 0, (long long)count - (adding ? 0 : 1), &index))
		return false;
	*out = (size_t)index;
	return true;
}

static const struct json *pointer_get(const struct json *json, const struct pointer *pointer)
{
	for (size_t i = 0; i < pointer->count; i++) {
		size_t index;
		if (json_type(json) == JSON_ARRAY)
			json = array_index(pointer->at[i], json_count(json), false, &index) ? json_at(json, index) : NULL;
		else
			json = json_get(json, pointer->at[i]);
	}
	return json;
}

static struct json *patch_value(struct arena *arena, const struct json *json, const struct pointer *pointer,
                                size_t depth, enum patch_op op, const struct json *value);

static struct json *copy_or_null(struct arena *arena, const struct json *json)
{
	return json == NULL || json_type(json) == JSON_NULL ? json_new_null(arena) : json_copy(arena, json);
}

static struct json *patch_object(struct arena *arena, const struct json *json, const struct pointer *pointer,
                                 size_t depth, enum patch_op op, const struct json *value)
{
	const char *token = pointer->at[depth];
	bool last = depth + 1 == pointer->count;
	const struct json *child = json_get(json, token);
	if (child == NULL && !(last && op == OP_ADD))
		return NULL;
	struct json *copy = json_copy(arena, json);
	if (last && op == OP_REMOVE) {
		json_remove(copy, token);
		return copy;
	}
	struct json *put = last ? copy_or_null(arena, value) : patch_value(arena, child, pointer, depth + 1, op, value);
	if (put == NULL)
		return NULL;
	json_set(copy, token, put);
	return copy;
}

static struct json *patch_array(struct arena *arena, const struct json *json, const struct pointer *pointer,
                                size_t depth, enum patch_op op, const struct json *value)
{
	bool last = depth + 1 == pointer->count;
	size_t index;
	if (!array_index(pointer->at[depth], json_count(json), last && op == OP_ADD, &index))
		return NULL;
	struct json *copy = json_new_array(arena);
	for (size_t i = 0; i < json_count(json); i++) {
		if (i != index) {
			json_add(copy, copy_or_null(arena, json_at(json, i)));
			continue;
		}
		if (!last) {
			struct json *put = patch_value(arena, json_at(json, i), pointer, depth + 1, op, value);
			if (put == NULL)
				return NULL;
			json_add(copy, put);
		}
		if (last && op != OP_REMOVE)
			json_add(copy, copy_or_null(arena, value));
		if (last && op == OP_ADD)
			json_add(copy, copy_or_null(arena, json_at(json, i)));
	}
	if (index == json_count(json))
		json_add(copy, copy_or_null(arena, value));
	return copy;
}

static struct json *patch_value(struct arena *arena, const struct json *json, const struct pointer *pointer,
                                size_t depth, enum patch_op op, const struct json *value)
{
	if (json_type(json) == JSON_OBJECT)
		return patch_object(arena, json, pointer, depth, op, value);
	if (json_type(json) == JSON_ARRAY)
		return patch_array(arena, json, pointer, depth, op, value);
	return NULL;
}

/* As the API server's library: a test for null passes on a member that is not there. */
static bool test_passes(const struct json *object, const struct pointer *pointer, const struct json *value)
{
	const struct json *found = pointer_get(object, pointer);
	bool none = found == NULL || json_type(found) == JSON_NULL;
	bool wants_none = value == NULL || json_type(value) == JSON_NULL;
	return none || wants_none ? none && wants_none : json_equal(found, value);
}

static struct json *patch_one(struct arena *arena, struct json *object, const struct json *op, const char **failure)
{
	const char *name = json_get_string(op, "op");
	const char *path = json_get_string(op, "path");
	const struct json *value = json_get(op, "value");
	struct pointer pointer;
	if (name == NULL || path == NULL || !pointer_parse(arena, path, &pointer) || pointer.count == 0) {
		*failure = "malformed operation";
		return NULL;
	}
	if (strcmp(name, "test") == 0) {
		if (test_passes(object, &pointer, value))
			return object;
		*failure = arena_printf(arena, "testing value %s failed", path);
		return NULL;
	}
	bool add = strcmp(name, "add") == 0;
	bool remove = strcmp(name, "remove") == 0;
	if (!add && !remove && strcmp(name, "replace") != 0) {
		*failure = arena_printf(arena, "unexpected kind of operation: %s", name);
		return NULL;
	}
	struct json *patched = patch_value(arena, object, &pointer, 0,
	                                   add      ? OP_ADD
	                                   : remove ? OP_REMOVE
	                                            : OP_REPLACE,
	                                   value);
	if (patched == NULL)
		*failure = arena_printf(arena, "%s operation does not apply: no such path: %s", name, path);
	return patched;
}

struct json *sim_json_patch(struct arena *arena, const struct json *object, const struct json *ops,
                            const char **failure)
{
	struct json *patched = json_copy(arena, object);
	if (json_type(ops) != JSON_ARRAY) {
		*failure = "the patch is not an array";
		return NULL;
	}
	for (size_t i = 0; patched != NULL && i < json_count(ops); i++)
		patched = patch_one(arena, patched, json_at(ops, i), failure);
	return patched;
}
