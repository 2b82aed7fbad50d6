#include "dynamo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dynamo_internal.h"

enum { MAX_ARENA_BYTES = 16 * 1024 * 1024, MAX_ITEM_BYTES = 4 * 1024 * 1024 };

static void *checked(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

struct dynamo *dynamo_new(void)
{
	struct dynamo *dynamo = checked(calloc(1, sizeof(*dynamo)));

	arena_init(&dynamo->arena, "dynamo", MAX_ARENA_BYTES);
	dynamo->items_on_refusal = true;
	return dynamo;
}

static void item_free(struct dynamo_item *item)
{
	arena_done(&item->arena);
	free(item);
}

void dynamo_free(struct dynamo *dynamo)
{
	if (dynamo == NULL)
		return;
	for (size_t t = 0; t < dynamo->table_count; t++) {
		for (size_t i = 0; i < dynamo->tables[t].count; i++)
			item_free(dynamo->tables[t].items[i]);
		free(dynamo->tables[t].items);
	}
	arena_done(&dynamo->arena);
	free(dynamo);
}

void dynamo_set_page(struct dynamo *dynamo, size_t page_items)
{
	dynamo->page_items = page_items;
}

void dynamo_set_lag(struct dynamo *dynamo, unsigned writes)
{
	dynamo->lag = writes;
}

void dynamo_set_creating(struct dynamo *dynamo, int describes)
{
	dynamo->creating_describes = describes;
}

void dynamo_set_items_on_refusal(struct dynamo *dynamo, bool on)
{
	dynamo->items_on_refusal = on;
}

struct dynamo_table *dynamo_table_find(const struct dynamo *dynamo, const char *name)
{
	for (size_t i = 0; i < dynamo->table_count; i++)
		if (text_equal(dynamo->tables[i].name, name))
			return &dynamo->tables[i];
	return NULL;
}

static int compare_keys(const struct dynamo_item *item, const char *partition, const char *sort)
{
	int order = strcmp(item->partition, partition);

	return order != 0 ? order : strcmp(item->sort, sort);
}

size_t dynamo_position(const struct dynamo_table *table, const char *partition, const char *sort, bool *found)
{
	size_t low = 0;
	size_t high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_keys(table->items[middle], partition, sort) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < table->count && compare_keys(table->items[low], partition, sort) == 0;
	return low;
}

static struct dynamo_item *item_new(const struct dynamo_table *table, const struct json *json)
{
	struct dynamo_item *item = checked(calloc(1, sizeof(*item)));

	arena_init(&item->arena, "dynamo item", MAX_ITEM_BYTES);
	item->json = json_copy(&item->arena, json);
	item->partition = json_get_string(json_get(item->json, table->hash), "S");
	item->sort = table->range == NULL ? "" : json_get_string(json_get(item->json, table->range), "S");
	if (item->partition == NULL || item->sort == NULL)
		abort();
	return item;
}

static void make_room(struct dynamo_table *table, size_t position)
{
	if (table->count == table->capacity) {
		table->capacity = table->capacity == 0 ? 16 : table->capacity * 2;
		table->items = checked(realloc(table->items, table->capacity * sizeof(*table->items)));
	}
	memmove(&table->items[position + 1], &table->items[position], (table->count - position) * sizeof(*table->items));
	table->count++;
}

bool dynamo_shows(const struct dynamo_request *request, const struct dynamo_table *table,
                  const struct dynamo_item *item)
{
	return json_bool(json_get(request->body, "ConsistentRead"), false) ||
	       table->writes - item->written >= request->dynamo->lag;
}

void dynamo_store(struct dynamo_table *table, const struct json *json)
{
	struct dynamo_item *item = item_new(table, json);
	bool found;
	size_t position = dynamo_position(table, item->partition, item->sort, &found);

	if (found)
		item_free(table->items[position]);
	else
		make_room(table, position);
	item->written = ++table->writes;
	table->items[position] = item;
}

void dynamo_remove(struct dynamo_table *table, size_t position)
{
	item_free(table->items[position]);
	table->count--;
	memmove(&table->items[position], &table->items[position + 1], (table->count - position) * sizeof(*table->items));
}

const struct json *dynamo_item(const struct dynamo *dynamo, const char *table_name, const char *partition,
                               const char *sort)
{
	const struct dynamo_table *table = dynamo_table_find(dynamo, table_name);
	bool found = false;
	size_t position = table == NULL ? 0 : dynamo_position(table, partition, sort, &found);

	return found ? table->items[position]->json : NULL;
}

size_t dynamo_item_count(const struct dynamo *dynamo, const char *table_name)
{
	const struct dynamo_table *table = dynamo_table_find(dynamo, table_name);

	return table == NULL ? 0 : table->count;
}

const struct json *dynamo_item_at(const struct dynamo *dynamo, const char *table_name, size_t index)
{
	const struct dynamo_table *table = dynamo_table_find(dynamo, table_name);

	return table == NULL || index >= table->count ? NULL : table->items[index]->json;
}

void dynamo_put(struct dynamo *dynamo, const char *table_name, const struct json *item)
{
	struct dynamo_table *table = dynamo_table_find(dynamo, table_name);

	if (table == NULL)
		abort();
	dynamo_store(table, item);
}

void dynamo_delete(struct dynamo *dynamo, const char *table_name, const char *partition, const char *sort)
{
	struct dynamo_table *table = dynamo_table_find(dynamo, table_name);
	bool found = false;
	size_t position = table == NULL ? 0 : dynamo_position(table, partition, sort, &found);

	if (found)
		dynamo_remove(table, position);
}

void dynamo_reply(struct dynamo_request *request, const struct json *body)
{
	request->status = 200;
	request->reply = json_print(body, request->arena);
}

void dynamo_fail(struct dynamo_request *request, const char *code, const char *format, ...)
{
	struct json *body = json_new_object(request->arena);
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	json_set_string(body, "__type", arena_printf(request->arena, "com.amazonaws.dynamodb.v20120810#%s", code));
	json_set_string(body, "message", message);
	request->status = 400;
	request->reply = json_print(body, request->arena);
}

void dynamo_invalid(struct dynamo_request *request, const char *message)
{
	struct json *body = json_new_object(request->arena);

	json_set_string(body, "__type", "com.amazon.coral.validate#ValidationException");
	json_set_string(body, "message", message);
	request->status = 400;
	request->reply = json_print(body, request->arena);
}

bool dynamo_members_known(struct dynamo_request *request, const char *const *allowed)
{
	for (size_t i = 0; i < json_count(request->body); i++) {
		const char *key = NULL;
		bool known = false;

		json_member(request->body, i, &key);
		for (size_t k = 0; allowed[k] != NULL && !known; k++)
			known = text_equal(allowed[k], key);
		if (!known) {
			dynamo_invalid(request, arena_printf(request->arena, "unknown or unsupported member: %s", key));
			return false;
		}
	}
	return true;
}

static void handle_put(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName",
	                                      "Item",
	                                      "ConditionExpression",
	                                      "ExpressionAttributeNames",
	                                      "ExpressionAttributeValues",
	                                      "ReturnValues",
	                                      "ReturnValuesOnConditionCheckFailure",
	                                      NULL};

	if (dynamo_members_known(request, allowed))
		dynamo_put_item(request, dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName")));
}

static void handle_update(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName",
	                                      "Key",
	                                      "UpdateExpression",
	                                      "ConditionExpression",
	                                      "ExpressionAttributeNames",
	                                      "ExpressionAttributeValues",
	                                      "ReturnValues",
	                                      "ReturnValuesOnConditionCheckFailure",
	                                      NULL};

	if (dynamo_members_known(request, allowed))
		dynamo_update_item(request, dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName")));
}

static void handle_delete(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName",
	                                      "Key",
	                                      "ConditionExpression",
	                                      "ExpressionAttributeNames",
	                                      "ExpressionAttributeValues",
	                                      "ReturnValues",
	                                      "ReturnValuesOnConditionCheckFailure",
	                                      NULL};

	if (dynamo_members_known(request, allowed))
		dynamo_delete_item(request, dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName")));
}

static void handle_get(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName", "Key", "ConsistentRead", NULL};

	if (dynamo_members_known(request, allowed))
		dynamo_get_item(request, dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName")));
}

static void handle_query(struct dynamo_request *request)
{
	static const char *const allowed[] = {
		"TableName", "IndexName",         "KeyConditionExpression",   "FilterExpression",          "ConsistentRead",
		"Limit",     "ExclusiveStartKey", "ExpressionAttributeNames", "ExpressionAttributeValues", NULL};

	if (dynamo_members_known(request, allowed))
		dynamo_query(request, dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName")));
}

struct operation {
	const char *name;
	void (*handle)(struct dynamo_request *request);
	bool needs_active;
};

static const struct operation OPERATIONS[] = {
	{"CreateTable", dynamo_create_table, false},
	{"DescribeTable", dynamo_describe_table, false},
	{"DescribeContinuousBackups", dynamo_describe_backups, false},
	{"UpdateContinuousBackups", dynamo_update_backups, false},
	{"PutItem", handle_put, true},
	{"UpdateItem", handle_update, true},
	{"DeleteItem", handle_delete, true},
	{"GetItem", handle_get, true},
	{"Query", handle_query, true},
};

static void dispatch(struct dynamo_request *request, const struct operation *operation)
{
	const char *name = json_get_string(request->body, "TableName");
	const struct dynamo_table *table = dynamo_table_find(request->dynamo, name);

	if (name == NULL)
		dynamo_invalid(request, "The parameter 'TableName' is required but was not present in the request");
	else if (operation->needs_active && (table == NULL || table->describes_left > 0))
		dynamo_fail(request, "ResourceNotFoundException", "Requested resource not found");
	else
		operation->handle(request);
}

int dynamo_handle(struct dynamo *dynamo, const char *operation, const char *body, size_t body_length,
                  struct arena *arena, const char **out)
{
	struct dynamo_request request = {.dynamo = dynamo, .arena = arena};
	struct error error = {0};

	request.body = json_parse(arena, body, body_length, &error);
	if (json_type(request.body) != JSON_OBJECT) {
		dynamo_fail(&request, "SerializationException", "the body is not a JSON object");
		*out = request.reply;
		return request.status;
	}
	dynamo_fail(&request, "UnknownOperationException", "no such operation: %s", operation);
	for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); i++)
		if (text_equal(OPERATIONS[i].name, operation))
			dispatch(&request, &OPERATIONS[i]);
	*out = request.reply;
	return request.status;
}
