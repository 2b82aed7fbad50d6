#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* json-c has types of these names, which are functions here. */
#define json_type json_c_type
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_type
#undef json_bool

#include "base/text.h"

#define JSON_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define JSON_MAX_DEPTH 64
/* From here on the n-th member is found through an index instead of by walking. */
#define MEMBERS_INDEXED 16

/*
 * A struct json is a json_object under another name. json-c writes the null value as NULL, which here means
 * "not there", so that null needs a thing of its own.
 */
struct json {
	char unused;
};

static struct json null_value;

static json_object *inner(const struct json *json)
{
	return json == &null_value ? NULL : (json_object *)(uintptr_t)json;
}

static struct json *outer(json_object *object)
{
	return object ? (struct json *)object : &null_value;
}

static void object_drop(void *object)
{
	json_object_put(object);
}

/* Give the arena the reference that the caller holds. */
static struct json *owned(struct arena *arena, json_object *object)
{
	if (!object)
		abort();
	arena_defer(arena, object_drop, object);
	return outer(object);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool number_starts(const char *bytes, size_t at)
{
	size_t start = at && bytes[at - 1] == '-' ? at - 1 : at;

	return !start || !strchr("0123456789.eE+", bytes[start - 1]);
}

/* What json-c lets through outside strings even when strict: 'text', NaN, Infinity, 01, 1. (RFC 8259, section 6) */
static bool is_lax(const char *bytes, size_t at, size_t length)
{
	bool digit_follows = at + 1 < length && bytes[at + 1] >= '0' && bytes[at + 1] <= '9';

	switch (bytes[at]) {
	case '0':
		return digit_follows && number_starts(bytes, at);
	case '.':
		return !digit_follows;
	case '\'':
	case 'N':
	case 'I':
		return true;
	default:
		return false;
	}
}

/* The offset of the first thing that json-c takes and RFC 8259 does not, or `length`. */
static size_t lax_offset(const char *bytes, size_t length)
{
	bool in_string = false;

	for (size_t i = 0; i < length; i++) {
		char c = bytes[i];
		if (in_string) {
			if ((unsigned char)c < 0x20)
				return i;
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (is_lax(bytes, i, length)) {
			return i;
		}
	}
	return length;
}

static json_object *document_parse(json_tokener *tokener, const char *bytes, size_t length, size_t *end)
{
	json_object *root = json_tokener_parse_ex(tokener, bytes, (int)length);

	*end = json_tokener_get_parse_end(tokener);
	/* A number at the very end is only complete once something follows it. */
	if (json_tokener_get_error(tokener) == json_tokener_continue) {
		root = json_tokener_parse_ex(tokener, "", 1);
		*end = length;
	}
	return root;
}

struct json *json_parse(struct arena *arena, const char *bytes, size_t length, struct error *error)
{
	if (length > JSON_MAX_BYTES) {
		error_set(error, ERROR_LIMIT, "JSON of %zu bytes is larger than %zu", length, JSON_MAX_BYTES);
		return NULL;
	}
	json_tokener *tokener = json_tokener_new_ex(JSON_MAX_DEPTH);
	if (!tokener)
		abort();
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	size_t end;
	json_object *root = document_parse(tokener, bytes, length, &end);
	enum json_tokener_error result = json_tokener_get_error(tokener);
	json_tokener_free(tokener);
	const char *why = result == json_tokener_success ? NULL : json_tokener_error_desc(result);
	if (result == json_tokener_continue)
		why = "it ends too early";
	while (!why && end < length && is_space(bytes[end]))
		end++;
	if (!why && end < length)
		why = "something follows the document";
	if (!why) {
		end = lax_offset(bytes, length);
		why = end < length ? "not allowed here" : NULL;
	}
	if (why) {
		json_object_put(root);
		error_set(error, ERROR_MALFORMED, "not JSON at byte %zu of %zu: %s", end, length, why);
		return NULL;
	}
	return root ? owned(arena, root) : &null_value;
}

enum json_type json_type(const struct json *json)
{
	switch (json_object_get_type(inner(json))) {
	case json_type_boolean:
		return JSON_BOOL;
	case json_type_double:
		return JSON_NUMBER;
	case json_type_int:
		return JSON_INTEGER;
	case json_type_object:
		return JSON_OBJECT;
	case json_type_array:
		return JSON_ARRAY;
	case json_type_string:
		return JSON_STRING;
	case json_type_null:
		break;
	}
	return JSON_NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
	json_object *value = NULL;

	if (json_type(object) != JSON_OBJECT || !json_object_object_get_ex(inner(object), key, &value) || !value)
		return NULL;
	return outer(value);
}

const struct json *json_path(const struct json *object, const char *path)
{
	char key[256];
	const struct json *at = object;

	for (;;) {
		size_t length = strcspn(path, ".");
		if (length >= sizeof(key))
			return NULL;
		memcpy(key, path, length);
		key[length] = '\0';
		at = json_get(at, key);
		if (!at || !path[length])
			return at;
		path += length + 1;
	}
}

const char *json_string(const struct json *json)
{
	const char *string = json_type(json) == JSON_STRING ? json_object_get_string(inner(json)) : NULL;

	/* What has a NUL inside is no string of ours: cut there it would be another one. */
	return string && strlen(string) == (size_t)json_object_get_string_len(inner(json)) ? string : NULL;
}

const char *json_get_string(const struct json *object, const char *key)
{
	return json_string(json_get(object, key));
}

const char *json_path_string(const struct json *object, const char *path)
{
	return json_string(json_path(object, path));
}

bool json_bool(const struct json *json, bool otherwise)
{
	return json_type(json) == JSON_BOOL ? json_object_get_boolean(inner(json)) : otherwise;
}

int64_t json_integer(const struct json *json, int64_t otherwise)
{
	if (json_type(json) == JSON_INTEGER)
		return json_object_get_int64(inner(json));
	if (json_type(json) != JSON_NUMBER)
		return otherwise;
	double value = json_object_get_double(inner(json));
	if (!(value >= -9007199254740992.0 && value <= 9007199254740992.0) || value != (double)(int64_t)value)
		return otherwise;
	return (int64_t)value;
}

double json_number(const struct json *json, double otherwise)
{
	if (json_type(json) != JSON_INTEGER && json_type(json) != JSON_NUMBER)
		return otherwise;
	return json_object_get_double(inner(json));
}

size_t json_count(const struct json *array_or_object)
{
	switch (json_type(array_or_object)) {
	case JSON_ARRAY:
		return json_object_array_length(inner(array_or_object));
	case JSON_OBJECT:
		return (size_t)json_object_object_length(inner(array_or_object));
	default:
		return 0;
	}
}

const struct json *json_at(const struct json *array, size_t index)
{
	if (json_type(array) != JSON_ARRAY || index >= json_count(array))
		return NULL;
	return outer(json_object_array_get_idx(inner(array), index));
}

static void index_drop(json_object *object, void *index)
{
	(void)object;
	free(index);
}

/* The members' entries in their order, kept with the object until it changes. */
static struct lh_entry **members_index(json_object *object, size_t count)
{
	struct lh_entry **index = json_object_get_userdata(object);

	if (index)
		return index;
	index = calloc(count, sizeof(struct lh_entry *));
	if (!index)
		abort();
	size_t i = 0;
	for (struct lh_entry *entry = json_object_get_object(object)->head; entry && i < count;
	     entry = lh_entry_next(entry))
		index[i++] = entry;
	json_object_set_userdata(object, index, index_drop);
	return index;
}

const struct json *json_member(const struct json *object, size_t index, const char **key)
{
	size_t count = json_count(object);

	if (json_type(object) != JSON_OBJECT || index >= count)
		return NULL;
	struct lh_entry *entry;
	if (count >= MEMBERS_INDEXED) {
		entry = members_index(inner(object), count)[index];
	} else {
		entry = json_object_get_object(inner(object))->head;
		for (size_t i = 0; i < index; i++)
			entry = lh_entry_next(entry);
	}
	if (key)
		*key = lh_entry_k(entry);
	return outer((json_object *)(uintptr_t)lh_entry_v(entry));
}

struct string_list json_strings(const struct json *array, struct arena *arena)
{
	struct string_list list = {0};
	size_t count = json_type(array) == JSON_ARRAY ? json_count(array) : 0;

	for (size_t i = 0; i < count; i++) {
		const char *string = json_string(json_at(array, i));
		if (string)
			string_list_add(&list, arena, string);
	}
	return list;
}

static bool is_numeric(enum json_type type)
{
	return type == JSON_INTEGER || type == JSON_NUMBER;
}

static bool strings_equal(json_object *a, json_object *b)
{
	int length = json_object_get_string_len(a);

	return length == json_object_get_string_len(b) &&
	       memcmp(json_object_get_string(a), json_object_get_string(b), (size_t)length) == 0;
}

static bool objects_equal(const struct json *a, const struct json *b)
{
	size_t count = json_count(a);

	if (count != json_count(b))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *key;
		const struct json *value = json_member(a, i, &key);
		json_object *other;
		if (!json_object_object_get_ex(inner(b), key, &other) || !json_equal(value, outer(other)))
			return false;
	}
	return true;
}

static bool arrays_equal(const struct json *a, const struct json *b)
{
	size_t count = json_count(a);

	if (count != json_count(b))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!json_equal(json_at(a, i), json_at(b, i)))
			return false;
	}
	return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
	enum json_type type = json_type(a);

	if (is_numeric(type) && is_numeric(json_type(b)) && type != json_type(b))
		return json_number(a, 0) == json_number(b, 0);
	if (type != json_type(b))
		return false;
	switch (type) {
	case JSON_OBJECT:
		return objects_equal(a, b);
	case JSON_ARRAY:
		return arrays_equal(a, b);
	case JSON_STRING:
		return strings_equal(inner(a), inner(b));
	case JSON_NULL:
		return true;
	default:
		return json_object_equal(inner(a), inner(b));
	}
}

struct json *json_new_object(struct arena *arena)
{
	return owned(arena, json_object_new_object());
}

struct json *json_new_array(struct arena *arena)
{
	return owned(arena, json_object_new_array());
}

struct json *json_new_string(struct arena *arena, const char *string)
{
	return string ? owned(arena, json_object_new_string(string)) : NULL;
}

struct json *json_new_integer(struct arena *arena, int64_t value)
{
	return owned(arena, json_object_new_int64(value));
}

struct json *json_new_number(struct arena *arena, double value)
{
	struct text printed;

	text_init(&printed, 64);
	text_append_number(&printed, value);
	struct json *number = owned(arena, json_object_new_double_s(value, printed.at));
	text_done(&printed);
	return number;
}

struct json *json_new_bool(struct arena *arena, bool value)
{
	return owned(arena, json_object_new_boolean(value));
}

struct json *json_new_null(struct arena *arena)
{
	(void)arena;
	return &null_value;
}

struct json *json_new_strings(struct arena *arena, const struct string_list *list)
{
	struct json *array = json_new_array(arena);

	for (size_t i = 0; i < list->count; i++)
		json_add_string(array, list->at[i]);
	return array;
}

static json_object *must_be(struct json *json, enum json_type type)
{
	if (json_type(json) != type)
		abort();
	return inner(json);
}

/* Takes the caller's reference to `value`; NULL is null. */
static void member_put(struct json *object, const char *key, json_object *value)
{
	json_object *parent = must_be(object, JSON_OBJECT);

	if (json_object_get_userdata(parent))
		json_object_set_userdata(parent, NULL, NULL);
	if (json_object_object_add(parent, key, value) != 0)
		abort();
}

static void element_put(struct json *array, json_object *value)
{
	if (json_object_array_add(must_be(array, JSON_ARRAY), value) != 0)
		abort();
}

/* Members and elements are shared: nobody has more than a reader's hold on what is inside another value (json.h). */
static json_object *object_copy(const struct json *json)
{
	enum json_type type = json_type(json);
	json_object *copy = NULL;

	if (type == JSON_ARRAY) {
		size_t count = json_count(json);
		copy = json_object_new_array_ext((int)(count ? count : 1));
		for (size_t i = 0; copy && i < count; i++)
			element_put(outer(copy), json_object_get(json_object_array_get_idx(inner(json), i)));
	} else if (type == JSON_OBJECT) {
		copy = json_object_new_object();
		for (struct lh_entry *entry = json_object_get_object(inner(json))->head; copy && entry;
		     entry = lh_entry_next(entry))
			if (json_object_object_add_ex(copy, lh_entry_k(entry), json_object_get((json_object *)lh_entry_v(entry)),
			                              JSON_C_OBJECT_ADD_KEY_IS_NEW) != 0)
				abort();
	} else if (json_object_deep_copy(inner(json), &copy, NULL) != 0) {
		abort();
	}
	if (!copy)
		abort();
	return copy;
}

struct json *json_copy(struct arena *arena, const struct json *json)
{
	if (!json)
		return NULL;
	return json_type(json) == JSON_NULL ? &null_value : owned(arena, object_copy(json));
}

void json_set(struct json *object, const char *key, struct json *value)
{
	if (value)
		member_put(object, key, json_object_get(inner(value)));
}

void json_set_string(struct json *object, const char *key, const char *string)
{
	if (string)
		member_put(object, key, json_object_new_string(string));
}

void json_set_integer(struct json *object, const char *key, int64_t value)
{
	member_put(object, key, json_object_new_int64(value));
}

void json_set_bool(struct json *object, const char *key, bool value)
{
	member_put(object, key, json_object_new_boolean(value));
}

void json_remove(struct json *object, const char *key)
{
	json_object *parent = must_be(object, JSON_OBJECT);

	if (json_object_get_userdata(parent))
		json_object_set_userdata(parent, NULL, NULL);
	json_object_object_del(parent, key);
}

void json_add(struct json *array, struct json *value)
{
	if (value)
		element_put(array, json_object_get(inner(value)));
}

void json_add_string(struct json *array, const char *string)
{
	if (string)
		element_put(array, json_object_new_string(string));
}

struct json *json_set_object(struct json *object, const char *key)
{
	json_object *child = json_object_new_object();

	member_put(object, key, child);
	return outer(child);
}

struct json *json_set_array(struct json *object, const char *key)
{
	json_object *child = json_object_new_array();

	member_put(object, key, child);
	return outer(child);
}

const char *json_print(const struct json *json, struct arena *arena)
{
	size_t length = 4;
	const char *printed = "null";
	json_object *object = inner(json);

	if (object)
		printed =
			json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	return arena_copy(arena, printed, length);
}
