/* PutItem, UpdateItem, DeleteItem, GetItem. */
#include "base/text.h"
#include "dynamo_internal.h"

/* What a write knows of the item at its key. */
struct write {
	struct dynamo_request *request;
	struct dynamo_table *table;
	struct dynamo_expression x;
	size_t position;
	const struct json *old; /* NULL = none */
};

static const char *key_string(const struct json *from, const char *attribute)
{
	const char *string = json_get_string(json_get(from, attribute), "S");

	return string != NULL && *string != '\0' ? string : NULL;
}

static bool index_key_fits(const struct json *item, const char *attribute)
{
	return attribute == NULL || json_get(item, attribute) == NULL || key_string(item, attribute) != NULL;
}

static const char *item_wrong(const struct dynamo_table *table, const struct json *item, struct arena *arena)
{
	const char *wrong = NULL;

	if (json_type(item) != JSON_OBJECT)
		return "The parameter 'Item' is required";
	for (size_t i = 0; i < json_count(item) && wrong == NULL; i++) {
		const char *key = NULL;

		wrong = dynamo_value_wrong(json_member(item, i, &key), arena);
	}
	if (wrong != NULL)
		return wrong;
	if (key_string(item, table->hash) == NULL || (table->range != NULL && key_string(item, table->range) == NULL))
		return "One or more parameter values were invalid: Missing the key in the item";
	if (!index_key_fits(item, table->index_hash) || !index_key_fits(item, table->index_range))
		return "One or more parameter values were invalid: Type mismatch for Index Key";
	return NULL;
}

static const char *key_wrong(const struct dynamo_table *table, const struct json *key)
{
	size_t expected = table->range == NULL ? 1 : 2;

	if (json_count(key) != expected || key_string(key, table->hash) == NULL ||
	    (table->range != NULL && key_string(key, table->range) == NULL))
		return "The provided key element does not match the schema";
	return NULL;
}

static bool one_of(const char *value, const char *a, const char *b)
{
	return value == NULL || text_equal(value, a) || text_equal(value, b);
}

static const char *return_values_wrong(const struct json *body, bool update)
{
	const char *values = json_get_string(body, "ReturnValues");

	if (!one_of(json_get_string(body, "ReturnValuesOnConditionCheckFailure"), "NONE", "ALL_OLD"))
		return "ReturnValuesOnConditionCheckFailure set to invalid value";
	if (!one_of(values, "NONE", "ALL_OLD") && !(update && one_of(values, "ALL_NEW", "ALL_NEW")))
		return "ReturnValues set to invalid value";
	return NULL;
}

/* `key` holds at least the key attributes and is valid. */
static void begin_write(struct write *write, const struct json *key)
{
	const struct json *body = write->request->body;
	const char *sort = write->table->range == NULL ? "" : key_string(key, write->table->range);
	bool found;

	write->position = dynamo_position(write->table, key_string(key, write->table->hash), sort, &found);
	write->old = found ? write->table->items[write->position]->json : NULL;
	dynamo_expression_init(&write->x, write->request->arena, json_get(body, "ExpressionAttributeNames"),
	                       json_get(body, "ExpressionAttributeValues"));
}

static void refuse(struct write *write)
{
	struct dynamo_request *request = write->request;
	struct json *body = json_new_object(request->arena);
	const char *wanted = json_get_string(request->body, "ReturnValuesOnConditionCheckFailure");

	json_set_string(body, "__type", "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException");
	json_set_string(body, "message", "The conditional request failed");
	if (text_equal(wanted, "ALL_OLD") && write->old != NULL && request->dynamo->items_on_refusal)
		json_set(body, "Item", json_copy(request->arena, write->old));
	request->status = 400;
	request->reply = json_print(body, request->arena);
}

/* All expressions were read: is the request good, and does its condition hold? Replies when not. */
static bool may_write(struct write *write, bool holds)
{
	dynamo_expression_finish(&write->x);
	if (write->x.invalid != NULL)
		dynamo_invalid(write->request, write->x.invalid);
	else if (!holds)
		refuse(write);
	else if (write->x.failed != NULL)
		dynamo_invalid(write->request, write->x.failed);
	else
		return true;
	return false;
}

static bool condition_holds(struct write *write)
{
	const char *condition = json_get_string(write->request->body, "ConditionExpression");

	return condition == NULL || dynamo_condition(&write->x, condition, write->old);
}

static void reply_attributes(struct dynamo_request *request, const struct json *attributes)
{
	struct json *body = json_new_object(request->arena);

	if (attributes != NULL)
		json_set(body, "Attributes", json_copy(request->arena, attributes));
	dynamo_reply(request, body);
}

/* ALL_OLD, ALL_NEW or nothing. */
static const struct json *returned(const struct write *write, const struct json *item)
{
	const char *values = json_get_string(write->request->body, "ReturnValues");

	if (text_equal(values, "ALL_OLD"))
		return write->old;
	return text_equal(values, "ALL_NEW") ? item : NULL;
}

void dynamo_put_item(struct dynamo_request *request, struct dynamo_table *table)
{
	struct write write = {.request = request, .table = table};
	const struct json *item = json_get(request->body, "Item");
	const char *wrong = item_wrong(table, item, request->arena);

	if (wrong == NULL)
		wrong = return_values_wrong(request->body, false);
	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	begin_write(&write, item);
	if (!may_write(&write, condition_holds(&write)))
		return;
	reply_attributes(request, returned(&write, NULL));
	dynamo_store(table, item);
}

static struct json *updated(struct write *write, const struct json *key)
{
	const char *update = json_get_string(write->request->body, "UpdateExpression");
	const struct json *base = write->old != NULL ? write->old : key;

	return update == NULL ? json_copy(write->request->arena, base)
	                      : dynamo_update(&write->x, update, base, write->table);
}

void dynamo_update_item(struct dynamo_request *request, struct dynamo_table *table)
{
	struct write write = {.request = request, .table = table};
	const struct json *key = json_get(request->body, "Key");
	const char *wrong = key_wrong(table, key);
	const struct json *item;

	if (wrong == NULL)
		wrong = return_values_wrong(request->body, true);
	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	begin_write(&write, key);
	item = updated(&write, key);
	if (!may_write(&write, condition_holds(&write)))
		return;
	wrong = item_wrong(table, item, request->arena);
	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	reply_attributes(request, returned(&write, item));
	dynamo_store(table, item);
}

void dynamo_delete_item(struct dynamo_request *request, struct dynamo_table *table)
{
	struct write write = {.request = request, .table = table};
	const struct json *key = json_get(request->body, "Key");
	const char *wrong = key_wrong(table, key);

	if (wrong == NULL)
		wrong = return_values_wrong(request->body, false);
	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	begin_write(&write, key);
	if (!may_write(&write, condition_holds(&write)))
		return;
	reply_attributes(request, returned(&write, NULL));
	if (write.old != NULL)
		dynamo_remove(table, write.position);
}

void dynamo_get_item(struct dynamo_request *request, struct dynamo_table *table)
{
	struct write look = {.request = request, .table = table};
	const struct json *key = json_get(request->body, "Key");
	const char *wrong = key_wrong(table, key);
	struct json *body = json_new_object(request->arena);

	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	begin_write(&look, key);
	if (look.old != NULL && dynamo_shows(request, table, table->items[look.position]))
		json_set(body, "Item", json_copy(request->arena, look.old));
	dynamo_reply(request, body);
}
