/* The region's item, and the table itself. */
#include <string.h>

#include "aws/protocol.h"
#include "base/text.h"
#include "dynamodb_item.h"
#include "journal/dynamodb.h"

static const char *const REGION_PARTITION = "#region";
static const char *const REGION_SORT = "active";
static const char *const ZONE_PREFIX = "zone:";

static const struct aws_service *dynamodb(void)
{
	return aws_service_find("dynamodb");
}

static const struct json *parse(struct arena *arena, const struct http_response *response, struct error *error)
{
	const struct json *body;

	if (!aws_check(dynamodb(), response, error))
		return NULL;
	body = json_parse(arena, response->body, response->body_length, error);
	if (body == NULL)
		error_wrap(error, "dynamodb's answer");
	return body;
}

static void set_region_key(struct json *body, struct arena *arena)
{
	struct json *key = json_set_object(body, "Key");

	json_set(key, "zoneId", dynamodb_string(arena, REGION_PARTITION));
	json_set(key, "resourceId", dynamodb_string(arena, REGION_SORT));
}

void dynamodb_ask_region(struct arena *arena, const char *table, struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	set_region_key(body, arena);
	json_set_bool(body, "ConsistentRead", true);
	aws_json_request(arena, dynamodb(), "GetItem", body, out);
}

static bool read_zones(struct arena *arena, const struct json *item, const char *zone_id, struct region_item *out,
                       struct error *error)
{
	for (size_t i = 0; i < json_count(item); i++) {
		const char *key = NULL;
		const struct json *value = json_member(item, i, &key);
		struct string_list owners;

		if (!text_starts_with(key, ZONE_PREFIX))
			continue;
		key += strlen(ZONE_PREFIX);
		if (!dynamodb_read_strings(value, arena, &owners))
			return error_set(error, ERROR_MALFORMED, "the journal's region item: who owns zone %s is no set of strings",
			                 key);
		if (owners.count > 0)
			string_list_add(&out->zones, arena, arena_string(arena, key));
		if (text_equal(key, zone_id))
			out->owners = owners;
	}
	return true;
}

bool dynamodb_hear_region(struct arena *arena, const struct http_response *response, const char *zone_id,
                          struct region_item *out, struct error *error)
{
	const struct json *body = parse(arena, response, error);
	const struct json *item = json_get(body, "Item");

	*out = (struct region_item){.exists = item != NULL};
	if (body == NULL)
		return false;
	if (item == NULL)
		return true;
	if (!dynamodb_read_integer(json_get(item, "revision"), &out->revision))
		return error_set(
			error, ERROR_MALFORMED,
			"the journal's item (#region, active) has no revision; delete that item by hand while no zone of the region is held");
	return read_zones(arena, item, zone_id, out, error);
}

static struct json *set_of_one(struct arena *arena, const char *owner)
{
	struct string_list alone = {0};

	string_list_add(&alone, arena, owner);
	return dynamodb_set(arena, &alone);
}

/* `change` is what follows SET, with #zone and, unless `owner` is NULL, :me. */
static void ask_change(struct arena *arena, const char *table, const char *zone_id, const char *owner,
                       const char *change, const struct region_item *as_read, struct http_request *out)
{
	struct json *body = json_new_object(arena);
	struct json *names = json_set_object(body, "ExpressionAttributeNames");
	struct json *values = json_set_object(body, "ExpressionAttributeValues");

	json_set_string(body, "TableName", table);
	set_region_key(body, arena);
	json_set_string(names, "#revision", "revision");
	json_set_string(names, "#zone", arena_printf(arena, "%s%s", ZONE_PREFIX, zone_id));
	if (owner != NULL)
		json_set(values, ":me", set_of_one(arena, owner));
	json_set(values, ":next", dynamodb_integer(arena, as_read->revision + 1));
	if (as_read->exists) {
		json_set(values, ":read", dynamodb_integer(arena, as_read->revision));
		json_set_string(body, "ConditionExpression", "#revision = :read");
	} else {
		json_set_string(names, "#zoneId", "zoneId");
		json_set_string(body, "ConditionExpression", "attribute_not_exists(#zoneId)");
	}
	json_set_string(body, "UpdateExpression", arena_printf(arena, "SET #revision = :next %s", change));
	aws_json_request(arena, dynamodb(), "UpdateItem", body, out);
}

void dynamodb_ask_register(struct arena *arena, const char *table, const char *zone_id, const char *owner,
                           const struct region_item *as_read, struct http_request *out)
{
	ask_change(arena, table, zone_id, owner, "ADD #zone :me", as_read, out);
}

void dynamodb_ask_unregister(struct arena *arena, const char *table, const char *zone_id, const char *owner,
                             const struct region_item *as_read, struct http_request *out)
{
	size_t count = as_read->owners.count;
	bool others = owner != NULL && count > (string_list_has(&as_read->owners, owner) ? 1 : 0);

	/* Named, because a set must not be left empty. */
	if (others)
		ask_change(arena, table, zone_id, owner, "DELETE #zone :me", as_read, out);
	else
		ask_change(arena, table, zone_id, NULL, "REMOVE #zone", as_read, out);
}

void dynamodb_ask_describe(struct arena *arena, const char *table, struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	aws_json_request(arena, dynamodb(), "DescribeTable", body, out);
}

static bool has_key(const struct json *schema, const char *attribute, const char *role)
{
	for (size_t i = 0; i < json_count(schema); i++)
		if (text_equal(json_get_string(json_at(schema, i), "AttributeName"), attribute))
			return text_equal(json_get_string(json_at(schema, i), "KeyType"), role);
	return false;
}

static bool has_keys(const struct json *described, const char *hash, const char *range)
{
	const struct json *schema = json_get(described, "KeySchema");

	return json_count(schema) == 2 && has_key(schema, hash, "HASH") && has_key(schema, range, "RANGE");
}

static bool keys_are_strings(const struct json *table)
{
	const struct json *definitions = json_get(table, "AttributeDefinitions");
	static const char *const keys[] = {"zoneId", "resourceId", "resourceType"};

	for (size_t i = 0; i < json_count(definitions); i++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (text_equal(json_get_string(json_at(definitions, i), "AttributeName"), keys[k]) &&
			    !text_equal(json_get_string(json_at(definitions, i), "AttributeType"), "S"))
				return false;
	return true;
}

static const struct json *find_index(const struct json *table)
{
	const struct json *indexes = json_get(table, "GlobalSecondaryIndexes");

	for (size_t i = 0; i < json_count(indexes); i++)
		if (text_equal(json_get_string(json_at(indexes, i), "IndexName"), DYNAMODB_INDEX))
			return json_at(indexes, i);
	return NULL;
}

/* While UPDATING (an index, other settings) a table can be read and written. */
static bool is_usable(const char *status)
{
	return text_equal(status, "ACTIVE") || text_equal(status, "UPDATING");
}

static bool check_keys(const struct json *described, const struct json *index, const char *table, struct error *error)
{
	if (!has_keys(described, "zoneId", "resourceId") || !keys_are_strings(described))
		return error_set(error, ERROR_INPUT,
		                 "table %s is not a journal: its keys must be zoneId (partition) and resourceId (sort), both "
		                 "strings; name another table or make this one anew",
		                 table);
	if (index == NULL)
		return error_set(
			error, ERROR_INPUT,
			"table %s has no index %s; add it, with the keys resourceType (partition) and zoneId (sort) and "
			"all attributes",
			table, DYNAMODB_INDEX);
	if (!has_keys(index, "resourceType", "zoneId") ||
	    !text_equal(json_path_string(index, "Projection.ProjectionType"), "ALL"))
		return error_set(error, ERROR_INPUT,
		                 "index %s of table %s must have the keys resourceType, zoneId and the projection ALL",
		                 DYNAMODB_INDEX, table);
	return true;
}

bool dynamodb_hear_describe(struct arena *arena, const struct http_response *response, const char *table,
                            struct dynamodb_table *out, struct error *error)
{
	const struct json *body = parse(arena, response, error);
	const struct json *described = json_get(body, "Table");
	const char *status = json_get_string(described, "TableStatus");

	if (body == NULL)
		return false;
	if (json_type(described) != JSON_OBJECT)
		return error_set(error, ERROR_MALFORMED, "dynamodb's answer to DescribeTable has no Table");
	if (!check_keys(described, find_index(described), table, error))
		return false;
	*out = (struct dynamodb_table){
		.status = status == NULL ? "" : status,
		.ready = is_usable(status),
		.is_protected = json_bool(json_get(described, "DeletionProtectionEnabled"), false),
	};
	return true;
}

static void add_definition(struct json *definitions, struct arena *arena, const char *attribute)
{
	struct json *definition = json_new_object(arena);

	json_set_string(definition, "AttributeName", attribute);
	json_set_string(definition, "AttributeType", "S");
	json_add(definitions, definition);
}

static void add_key(struct json *schema, struct arena *arena, const char *attribute, const char *role)
{
	struct json *key = json_new_object(arena);

	json_set_string(key, "AttributeName", attribute);
	json_set_string(key, "KeyType", role);
	json_add(schema, key);
}

static void set_keys(struct json *object, struct arena *arena, const char *hash, const char *range)
{
	struct json *schema = json_set_array(object, "KeySchema");

	add_key(schema, arena, hash, "HASH");
	add_key(schema, arena, range, "RANGE");
}

void dynamodb_ask_create(struct arena *arena, const char *table, struct http_request *out)
{
	struct json *body = json_new_object(arena);
	struct json *definitions = json_set_array(body, "AttributeDefinitions");
	struct json *index = json_new_object(arena);

	json_set_string(body, "TableName", table);
	json_set_string(body, "BillingMode", "PAY_PER_REQUEST");
	json_set_bool(body, "DeletionProtectionEnabled", true);
	add_definition(definitions, arena, "zoneId");
	add_definition(definitions, arena, "resourceId");
	add_definition(definitions, arena, "resourceType");
	set_keys(body, arena, "zoneId", "resourceId");
	json_set_string(index, "IndexName", DYNAMODB_INDEX);
	set_keys(index, arena, "resourceType", "zoneId");
	json_set_string(json_set_object(index, "Projection"), "ProjectionType", "ALL");
	json_add(json_set_array(body, "GlobalSecondaryIndexes"), index);
	aws_json_request(arena, dynamodb(), "CreateTable", body, out);
}

void dynamodb_ask_backups(struct arena *arena, const char *table, struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	aws_json_request(arena, dynamodb(), "DescribeContinuousBackups", body, out);
}

bool dynamodb_hear_backups(struct arena *arena, const struct http_response *response, bool *on, struct error *error)
{
	const struct json *body = parse(arena, response, error);
	const char *status;

	if (body == NULL)
		return false;
	status =
		json_path_string(body, "ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus");
	*on = text_equal(status, "ENABLED");
	return true;
}

void dynamodb_ask_switch_on_backups(struct arena *arena, const char *table, struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	json_set_bool(json_set_object(body, "PointInTimeRecoverySpecification"), "PointInTimeRecoveryEnabled", true);
	aws_json_request(arena, dynamodb(), "UpdateContinuousBackups", body, out);
}
