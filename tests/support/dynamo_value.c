#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dynamo_internal.h"

static const char *const TYPES[] = {"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"};

const char *dynamo_value_type(const struct json *value, const struct json **content)
{
	const char *type = NULL;
	const struct json *inner;

	if (json_type(value) != JSON_OBJECT || json_count(value) != 1)
		return NULL;
	inner = json_member(value, 0, &type);
	if (content != NULL)
		*content = inner;
	return type;
}

bool dynamo_is_set(const struct json *value)
{
	const char *type = dynamo_value_type(value, NULL);

	return type != NULL && strlen(type) == 2 && type[1] == 'S';
}

static bool is_number(const struct json *content)
{
	const char *string = json_string(content);
	char *end = NULL;

	if (string == NULL || *string == '\0')
		return false;
	strtold(string, &end);
	return *end == '\0';
}

static const char *set_wrong(const struct json *content, bool numbers)
{
	size_t count = json_count(content);

	if (json_type(content) != JSON_ARRAY)
		return "a set must be an array";
	if (count == 0)
		return "One or more parameter values were invalid: An string set  may not be empty";
	for (size_t i = 0; i < count; i++) {
		if (json_string(json_at(content, i)) == NULL || (numbers && !is_number(json_at(content, i))))
			return "a member of a set is of the wrong type";
		for (size_t j = 0; j < i; j++)
			if (text_equal(json_string(json_at(content, i)), json_string(json_at(content, j))))
				return "One or more parameter values were invalid: Input collection contains duplicates.";
	}
	return NULL;
}

static const char *list_wrong(const struct json *content, struct arena *arena)
{
	const char *wrong = NULL;

	if (json_type(content) != JSON_ARRAY)
		return "a list must be an array";
	for (size_t i = 0; i < json_count(content) && wrong == NULL; i++)
		wrong = dynamo_value_wrong(json_at(content, i), arena);
	return wrong;
}

static const char *map_wrong(const struct json *content, struct arena *arena)
{
	const char *wrong = NULL;

	if (json_type(content) != JSON_OBJECT)
		return "a map must be an object";
	for (size_t i = 0; i < json_count(content) && wrong == NULL; i++) {
		const char *key = NULL;

		wrong = dynamo_value_wrong(json_member(content, i, &key), arena);
	}
	return wrong;
}

static bool type_known(const char *type)
{
	for (size_t i = 0; type != NULL && i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
		if (text_equal(type, TYPES[i]))
			return true;
	return false;
}

const char *dynamo_value_wrong(const struct json *value, struct arena *arena)
{
	const struct json *content = NULL;
	const char *type = dynamo_value_type(value, &content);

	if (!type_known(type))
		return arena_printf(arena, "not an attribute value: %s", value == NULL ? "(none)" : json_print(value, arena));
	if (text_equal(type, "S") || text_equal(type, "B"))
		return json_string(content) == NULL ? "a string must be a string" : NULL;
	if (text_equal(type, "N"))
		return is_number(content) ? NULL : "The parameter cannot be converted to a numeric value";
	if (text_equal(type, "BOOL"))
		return json_type(content) == JSON_BOOL ? NULL : "BOOL must be true or false";
	if (text_equal(type, "NULL"))
		return json_bool(content, false) ? NULL : "Null attribute value types must have the value of true";
	if (text_equal(type, "L"))
		return list_wrong(content, arena);
	if (text_equal(type, "M"))
		return map_wrong(content, arena);
	return set_wrong(content, text_equal(type, "NS"));
}

static int compare_numbers(const struct json *a, const struct json *b)
{
	long double left = strtold(json_string(a), NULL);
	long double right = strtold(json_string(b), NULL);

	return (left > right) - (left < right);
}

static bool same_members(const struct json *a, const struct json *b)
{
	if (json_count(a) != json_count(b))
		return false;
	for (size_t i = 0; i < json_count(a); i++) {
		bool found = false;

		for (size_t j = 0; j < json_count(b) && !found; j++)
			found = json_equal(json_at(a, i), json_at(b, j));
		if (!found)
			return false;
	}
	return true;
}

static bool lists_equal(const struct json *a, const struct json *b)
{
	bool equal = json_count(a) == json_count(b);

	for (size_t i = 0; equal && i < json_count(a); i++)
		equal = dynamo_value_equal(json_at(a, i), json_at(b, i));
	return equal;
}

static bool maps_equal(const struct json *a, const struct json *b)
{
	bool equal = json_count(a) == json_count(b);

	for (size_t i = 0; equal && i < json_count(a); i++) {
		const char *key = NULL;
		const struct json *member = json_member(a, i, &key);

		equal = dynamo_value_equal(member, json_get(b, key));
	}
	return equal;
}

bool dynamo_value_equal(const struct json *a, const struct json *b)
{
	const struct json *left = NULL;
	const struct json *right = NULL;
	const char *type = dynamo_value_type(a, &left);

	if (type == NULL || !text_equal(type, dynamo_value_type(b, &right)))
		return false;
	if (text_equal(type, "N"))
		return compare_numbers(left, right) == 0;
	if (text_equal(type, "L"))
		return lists_equal(left, right);
	if (text_equal(type, "M"))
		return maps_equal(left, right);
	return dynamo_is_set(a) ? same_members(left, right) : json_equal(left, right);
}

bool dynamo_value_order(const struct json *a, const struct json *b, int *order)
{
	const struct json *left = NULL;
	const struct json *right = NULL;
	const char *type = dynamo_value_type(a, &left);

	if (type == NULL || !text_equal(type, dynamo_value_type(b, &right)))
		return false;
	if (text_equal(type, "N"))
		*order = compare_numbers(left, right);
	else if (text_equal(type, "S"))
		*order = strcmp(json_string(left), json_string(right));
	else
		return false;
	return true;
}

bool dynamo_value_contains(const struct json *container, const struct json *member)
{
	const struct json *content = NULL;
	const struct json *wanted = NULL;
	const char *type = dynamo_value_type(container, &content);
	const char *member_type = dynamo_value_type(member, &wanted);
	bool found = false;

	if (type == NULL || member_type == NULL)
		return false;
	if (text_equal(type, "S"))
		return text_equal(member_type, "S") && strstr(json_string(content), json_string(wanted)) != NULL;
	if (text_equal(type, "L")) {
		for (size_t i = 0; i < json_count(content) && !found; i++)
			found = dynamo_value_equal(json_at(content, i), member);
		return found;
	}
	/* SS holds S, NS holds N. */
	if (!dynamo_is_set(container) || strlen(member_type) != 1 || member_type[0] != type[0])
		return false;
	for (size_t i = 0; i < json_count(content) && !found; i++)
		found = json_equal(json_at(content, i), wanted);
	return found;
}

int64_t dynamo_value_size(const struct json *value)
{
	const struct json *content = NULL;
	const char *type = dynamo_value_type(value, &content);

	if (text_equal(type, "S") || text_equal(type, "B"))
		return (int64_t)strlen(json_string(content));
	if (text_equal(type, "L") || text_equal(type, "M") || dynamo_is_set(value))
		return (int64_t)json_count(content);
	return -1;
}

struct json *dynamo_value_add(const struct json *a, const struct json *b, int sign, struct arena *arena)
{
	const struct json *left = NULL;
	const struct json *right = NULL;
	struct json *sum;

	if (!text_equal(dynamo_value_type(a, &left), "N") || !text_equal(dynamo_value_type(b, &right), "N"))
		return NULL;
	sum = json_new_object(arena);
	json_set_string(
		sum, "N",
		arena_printf(arena, "%.18Lg",
	                 strtold(json_string(left), NULL) + (long double)sign * strtold(json_string(right), NULL)));
	return sum;
}
