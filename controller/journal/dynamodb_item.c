#include "dynamodb_item.h"

#include <string.h>

#include "base/text.h"

/* Any JSON value as an attribute value (of `detail`) and back. */
static struct json *value_of_json(struct arena *arena, const struct json *json);
static const struct json *json_of_value(struct arena *arena, const struct json *value);

static struct json *tagged(struct arena *arena, const char *type, struct json *content)
{
	struct json *value = json_new_object(arena);

	json_set(value, type, content);
	return value;
}

struct json *dynamodb_string(struct arena *arena, const char *string)
{
	return tagged(arena, "S", json_new_string(arena, string));
}

struct json *dynamodb_integer(struct arena *arena, int64_t value)
{
	return tagged(arena, "N", json_new_string(arena, arena_printf(arena, "%lld", (long long)value)));
}

struct json *dynamodb_list(struct arena *arena, const struct string_list *list)
{
	struct json *array = json_new_array(arena);

	for (size_t i = 0; i < list->count; i++)
		json_add(array, dynamodb_string(arena, list->at[i]));
	return tagged(arena, "L", array);
}

struct json *dynamodb_set(struct arena *arena, const struct string_list *list)
{
	return tagged(arena, "SS", json_new_strings(arena, list));
}

struct json *dynamodb_time(struct arena *arena, struct wallclock at)
{
	return dynamodb_string(arena, wallclock_micro(at, arena));
}

bool dynamodb_read_strings(const struct json *value, struct arena *arena, struct string_list *out)
{
	const struct json *set = json_get(value, "SS");
	const struct json *list = json_get(value, "L");

	*out = (struct string_list){0};
	if (json_type(set) == JSON_ARRAY) {
		*out = json_strings(set, arena);
		return out->count == json_count(set);
	}
	if (json_type(list) != JSON_ARRAY)
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		const char *string = json_get_string(json_at(list, i), "S");

		if (string == NULL)
			return false;
		string_list_add(out, arena, string);
	}
	return true;
}

bool dynamodb_read_integer(const struct json *value, int64_t *out)
{
	const char *number = json_get_string(value, "N");
	long long integer;

	if (number == NULL || !text_parse_integer(number, INT64_MIN, INT64_MAX, &integer))
		return false;
	*out = integer;
	return true;
}

static struct json *array_value(struct arena *arena, const struct json *json)
{
	struct json *array = json_new_array(arena);

	for (size_t i = 0; i < json_count(json); i++)
		json_add(array, value_of_json(arena, json_at(json, i)));
	return tagged(arena, "L", array);
}

static struct json *object_value(struct arena *arena, const struct json *json)
{
	struct json *object = json_new_object(arena);

	for (size_t i = 0; i < json_count(json); i++) {
		const char *key = NULL;
		const struct json *member = json_member(json, i, &key);

		json_set(object, key, value_of_json(arena, member));
	}
	return tagged(arena, "M", object);
}

static struct json *value_of_json(struct arena *arena, const struct json *json)
{
	switch (json_type(json)) {
	case JSON_BOOL:
		return tagged(arena, "BOOL", json_new_bool(arena, json_bool(json, false)));
	case JSON_INTEGER:
		return dynamodb_integer(arena, json_integer(json, 0));
	case JSON_NUMBER:
		return tagged(arena, "N", json_new_string(arena, json_print(json, arena)));
	case JSON_STRING:
		return dynamodb_string(arena, json_string(json));
	case JSON_ARRAY:
		return array_value(arena, json);
	case JSON_OBJECT:
		return object_value(arena, json);
	case JSON_NULL:
		break;
	}
	return tagged(arena, "NULL", json_new_bool(arena, true));
}

static const struct json *json_of_number(struct arena *arena, const char *number)
{
	struct error ignored;
	const struct json *json = json_parse(arena, number, strlen(number), &ignored);

	return json_type(json) == JSON_INTEGER || json_type(json) == JSON_NUMBER ? json : NULL;
}

static const struct json *json_of_list(struct arena *arena, const struct json *list)
{
	struct json *array = json_new_array(arena);

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *element = json_of_value(arena, json_at(list, i));

		if (element == NULL)
			return NULL;
		json_add(array, json_copy(arena, element));
	}
	return array;
}

static const struct json *json_of_map(struct arena *arena, const struct json *map)
{
	struct json *object = json_new_object(arena);

	for (size_t i = 0; i < json_count(map); i++) {
		const char *key = NULL;
		const struct json *member = json_of_value(arena, json_member(map, i, &key));

		if (member == NULL)
			return NULL;
		json_set(object, key, json_copy(arena, member));
	}
	return object;
}

/* NULL when it is no value that JSON has. */
static const struct json *json_of_value(struct arena *arena, const struct json *value)
{
	const char *type = NULL;
	const struct json *content = json_member(value, 0, &type);

	if (type == NULL || json_count(value) != 1)
		return NULL;
	if (text_equal(type, "S"))
		return json_type(content) == JSON_STRING ? content : NULL;
	if (text_equal(type, "BOOL"))
		return json_type(content) == JSON_BOOL ? content : NULL;
	if (text_equal(type, "N"))
		return json_type(content) == JSON_STRING ? json_of_number(arena, json_string(content)) : NULL;
	if (text_equal(type, "NULL"))
		return json_new_null(arena);
	if (text_equal(type, "L"))
		return json_of_list(arena, content);
	if (text_equal(type, "M"))
		return json_of_map(arena, content);
	return text_equal(type, "SS") ? content : NULL;
}

static void set_times(struct json *item, const struct record *record, struct arena *arena)
{
	if (record->unanswered_until.us != 0)
		json_set(item, "unansweredUntil", dynamodb_time(arena, record->unanswered_until));
	json_set(item, "createdAt", dynamodb_time(arena, record->created_at));
	json_set(item, "updatedAt", dynamodb_time(arena, record->updated_at));
}

struct json *dynamodb_item_of_record(struct arena *arena, const struct record *record)
{
	struct json *item = json_new_object(arena);

	json_set(item, "zoneId", dynamodb_string(arena, record->zone_id));
	json_set(item, "resourceId", dynamodb_string(arena, record->resource_id));
	json_set(item, "resourceType", dynamodb_string(arena, record->resource_type));
	json_set(item, "removedSubnets", dynamodb_list(arena, &record->removed));
	json_set(item, "order", dynamodb_list(arena, &record->order));
	json_set(item, "state", dynamodb_string(arena, record_state_name(record->state)));
	json_set(item, "owners", dynamodb_set(arena, &record->owners));
	json_set(item, "undone", dynamodb_integer(arena, record->undone_count));
	json_set(item, "attempt", dynamodb_string(arena, record->attempt));
	if (record->detail != NULL)
		json_set(item, "detail", value_of_json(arena, record->detail));
	set_times(item, record, arena);
	return item;
}

/* One item on its way in: the first attribute that is wrong is remembered. */
struct reading {
	struct arena *arena;
	const struct json *item;
	const char *wrong;
};

static const struct json *attribute(struct reading *reading, const char *name, bool required)
{
	const struct json *value = json_get(reading->item, name);

	if (value == NULL && required && reading->wrong == NULL)
		reading->wrong = name;
	return value;
}

static void refuse(struct reading *reading, const char *name)
{
	if (reading->wrong == NULL)
		reading->wrong = name;
}

static const char *read_string(struct reading *reading, const char *name)
{
	const char *string = json_get_string(attribute(reading, name, true), "S");

	if (string == NULL || *string == '\0')
		refuse(reading, name);
	return string;
}

static struct string_list read_list(struct reading *reading, const char *name, bool required)
{
	const struct json *value = attribute(reading, name, required);
	struct string_list list = {0};

	if (value != NULL && !dynamodb_read_strings(value, reading->arena, &list))
		refuse(reading, name);
	return list;
}

static struct wallclock read_time(struct reading *reading, const char *name, bool required)
{
	const struct json *value = attribute(reading, name, required);
	struct wallclock at = {0};

	if (value != NULL && !wallclock_parse(json_get_string(value, "S"), &at))
		refuse(reading, name);
	return at;
}

static enum record_state read_state(struct reading *reading)
{
	enum record_state state = RECORD_INTENT;

	if (!record_state_parse(read_string(reading, "state"), &state))
		refuse(reading, "state");
	return state;
}

static int64_t read_undone(struct reading *reading)
{
	const struct json *value = attribute(reading, "undone", false);
	int64_t count = 0;

	if (value != NULL && (!dynamodb_read_integer(value, &count) || count < 0))
		refuse(reading, "undone");
	return count;
}

static const struct json *read_detail(struct reading *reading)
{
	const struct json *value = attribute(reading, "detail", false);
	const struct json *detail = value == NULL ? NULL : json_of_value(reading->arena, value);

	if (value != NULL && json_type(detail) != JSON_OBJECT)
		refuse(reading, "detail");
	return detail;
}

static const char *shown(const char *string)
{
	return string == NULL ? "(none)" : string;
}

bool dynamodb_record_of_item(struct arena *arena, const struct json *item, struct record *out, struct error *error)
{
	struct reading reading = {.arena = arena, .item = item};

	*out = (struct record){
		.zone_id = read_string(&reading, "zoneId"),
		.resource_id = read_string(&reading, "resourceId"),
		.resource_type = read_string(&reading, "resourceType"),
		.removed = read_list(&reading, "removedSubnets", true),
		.order = read_list(&reading, "order", false),
		.state = read_state(&reading),
		.owners = read_list(&reading, "owners", true),
		.undone_count = read_undone(&reading),
		.unanswered_until = read_time(&reading, "unansweredUntil", false),
		.detail = read_detail(&reading),
		.attempt = read_string(&reading, "attempt"),
		.created_at = read_time(&reading, "createdAt", true),
		.updated_at = read_time(&reading, "updatedAt", true),
	};
	if (reading.wrong == NULL)
		return true;
	return error_set(error, ERROR_MALFORMED,
	                 "the journal's item (%s, %s) is no record: attribute %s is missing or not as it must be",
	                 shown(out->zone_id), shown(out->resource_id), reading.wrong);
}
