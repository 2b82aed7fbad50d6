/* CreateTable, DescribeTable, DescribeContinuousBackups, UpdateContinuousBackups. */
#include "base/text.h"
#include "dynamo_internal.h"

/* The attribute of that role ("HASH", "RANGE"), or NULL. */
static const char *key_of(const struct json *schema, const char *role)
{
	for (size_t i = 0; i < json_count(schema); i++)
		if (text_equal(json_get_string(json_at(schema, i), "KeyType"), role))
			return json_get_string(json_at(schema, i), "AttributeName");
	return NULL;
}

static bool defined_as_string(const struct json *definitions, const char *name)
{
	for (size_t i = 0; i < json_count(definitions); i++)
		if (text_equal(json_get_string(json_at(definitions, i), "AttributeName"), name))
			return text_equal(json_get_string(json_at(definitions, i), "AttributeType"), "S");
	return false;
}

static bool definitions_fit(const struct json *definitions, const struct dynamo_table *table)
{
	const char *keys[] = {table->hash, table->range, table->index_hash, table->index_range};
	struct string_list distinct = {0};
	struct arena arena;
	bool fit = true;

	arena_init(&arena, "definitions", 1024 * 1024);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i] == NULL || string_list_has(&distinct, keys[i]))
			continue;
		string_list_add(&distinct, &arena, keys[i]);
		fit = fit && defined_as_string(definitions, keys[i]);
	}
	fit = fit && distinct.count == json_count(definitions);
	arena_done(&arena);
	return fit;
}

static const char *read_table(struct dynamo *dynamo, const struct json *body, struct dynamo_table *out)
{
	const struct json *indexes = json_get(body, "GlobalSecondaryIndexes");
	const struct json *index = json_at(indexes, 0);

	out->name = arena_string(&dynamo->arena, json_get_string(body, "TableName"));
	out->hash = arena_string(&dynamo->arena, key_of(json_get(body, "KeySchema"), "HASH"));
	out->range = arena_string(&dynamo->arena, key_of(json_get(body, "KeySchema"), "RANGE"));
	out->index_name = arena_string(&dynamo->arena, json_get_string(index, "IndexName"));
	out->index_hash = arena_string(&dynamo->arena, key_of(json_get(index, "KeySchema"), "HASH"));
	out->index_range = arena_string(&dynamo->arena, key_of(json_get(index, "KeySchema"), "RANGE"));
	out->protection = json_bool(json_get(body, "DeletionProtectionEnabled"), false);
	if (!text_equal(json_get_string(body, "BillingMode"), "PAY_PER_REQUEST"))
		return "No provisioned throughput specified for the table";
	if (out->hash == NULL || json_count(indexes) > 1)
		return "one hash key and at most one index are supported";
	if (index != NULL && (out->index_name == NULL || out->index_hash == NULL))
		return "an index needs a name and a hash key";
	if (index != NULL && !text_equal(json_path_string(index, "Projection.ProjectionType"), "ALL"))
		return "only the projection ALL is supported";
	if (!definitions_fit(json_get(body, "AttributeDefinitions"), out))
		return "AttributeDefinitions must list exactly the key attributes (all S)";
	return NULL;
}

static void add_key(struct json *schema, struct arena *arena, const char *name, const char *role)
{
	struct json *key;

	if (name == NULL)
		return;
	key = json_new_object(arena);
	json_set_string(key, "AttributeName", name);
	json_set_string(key, "KeyType", role);
	json_add(schema, key);
}

static struct json *describe_index(const struct dynamo_table *table, const char *status, struct arena *arena)
{
	struct json *index = json_new_object(arena);
	struct json *schema;

	json_set_string(index, "IndexName", table->index_name);
	schema = json_set_array(index, "KeySchema");
	add_key(schema, arena, table->index_hash, "HASH");
	add_key(schema, arena, table->index_range, "RANGE");
	json_set_string(json_set_object(index, "Projection"), "ProjectionType", "ALL");
	json_set_string(index, "IndexStatus", status);
	return index;
}

static void add_definitions(struct json *description, const struct dynamo_table *table, struct arena *arena)
{
	const char *keys[] = {table->hash, table->range, table->index_hash, table->index_range};
	struct json *definitions = json_set_array(description, "AttributeDefinitions");
	struct string_list distinct = {0};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json *definition = json_new_object(arena);

		if (keys[i] == NULL || string_list_has(&distinct, keys[i]))
			continue;
		string_list_add(&distinct, arena, keys[i]);
		json_set_string(definition, "AttributeName", keys[i]);
		json_set_string(definition, "AttributeType", "S");
		json_add(definitions, definition);
	}
}

static void reply_description(struct dynamo_request *request, const struct dynamo_table *table, const char *member)
{
	const char *status = table->describes_left > 0 ? "CREATING" : "ACTIVE";
	struct json *body = json_new_object(request->arena);
	struct json *description = json_set_object(body, member);
	struct json *schema;

	json_set_string(description, "TableName", table->name);
	json_set_string(description, "TableStatus", status);
	json_set_bool(description, "DeletionProtectionEnabled", table->protection);
	json_set_integer(description, "ItemCount", (int64_t)table->count);
	add_definitions(description, table, request->arena);
	schema = json_set_array(description, "KeySchema");
	add_key(schema, request->arena, table->hash, "HASH");
	add_key(schema, request->arena, table->range, "RANGE");
	if (table->index_name != NULL)
		json_add(json_set_array(description, "GlobalSecondaryIndexes"), describe_index(table, status, request->arena));
	dynamo_reply(request, body);
}

void dynamo_create_table(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName",
	                                      "BillingMode",
	                                      "DeletionProtectionEnabled",
	                                      "AttributeDefinitions",
	                                      "KeySchema",
	                                      "GlobalSecondaryIndexes",
	                                      "Tags",
	                                      NULL};
	struct dynamo *dynamo = request->dynamo;
	struct dynamo_table table = {.describes_left = dynamo->creating_describes};
	const char *wrong;

	if (!dynamo_members_known(request, allowed))
		return;
	if (dynamo_table_find(dynamo, json_get_string(request->body, "TableName")) != NULL) {
		dynamo_fail(request, "ResourceInUseException", "Table already exists");
		return;
	}
	wrong = read_table(dynamo, request->body, &table);
	if (wrong != NULL) {
		dynamo_invalid(request, wrong);
		return;
	}
	dynamo->tables = arena_grow(&dynamo->arena, dynamo->tables, dynamo->table_count, &dynamo->table_capacity,
	                            sizeof(*dynamo->tables));
	dynamo->tables[dynamo->table_count++] = table;
	reply_description(request, &table, "TableDescription");
}

void dynamo_describe_table(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName", NULL};
	struct dynamo_table *table = dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName"));

	if (!dynamo_members_known(request, allowed))
		return;
	if (table == NULL) {
		dynamo_fail(request, "ResourceNotFoundException", "Requested resource not found: Table: %s not found",
		            json_get_string(request->body, "TableName"));
		return;
	}
	reply_description(request, table, "Table");
	if (table->describes_left > 0)
		table->describes_left--;
}

void dynamo_update_backups(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName", "PointInTimeRecoverySpecification", NULL};
	struct dynamo_table *table = dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName"));
	const struct json *on = json_path(request->body, "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled");
	struct json *body = json_new_object(request->arena);

	if (!dynamo_members_known(request, allowed))
		return;
	if (table == NULL) {
		dynamo_fail(request, "TableNotFoundException", "Table not found");
	} else if (table->describes_left > 0) {
		dynamo_fail(request, "ContinuousBackupsUnavailableException", "Backups are being enabled for the table");
	} else if (json_type(on) != JSON_BOOL) {
		dynamo_invalid(request, "PointInTimeRecoveryEnabled is required");
	} else {
		table->backups = json_bool(on, false);
		json_set_string(json_set_object(body, "ContinuousBackupsDescription"), "ContinuousBackupsStatus", "ENABLED");
		dynamo_reply(request, body);
	}
}

void dynamo_describe_backups(struct dynamo_request *request)
{
	static const char *const allowed[] = {"TableName", NULL};
	struct dynamo_table *table = dynamo_table_find(request->dynamo, json_get_string(request->body, "TableName"));
	struct json *body = json_new_object(request->arena);
	struct json *description = json_set_object(body, "ContinuousBackupsDescription");

	if (!dynamo_members_known(request, allowed))
		return;
	if (table == NULL) {
		dynamo_fail(request, "TableNotFoundException", "Table not found");
		return;
	}
	json_set_string(description, "ContinuousBackupsStatus", "ENABLED");
	json_set_string(json_set_object(description, "PointInTimeRecoveryDescription"), "PointInTimeRecoveryStatus",
	                table->backups ? "ENABLED" : "DISABLED");
	dynamo_reply(request, body);
}
