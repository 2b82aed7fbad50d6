#include "world.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"

struct http_response world_answer(int status, const char *body)
{
	return (struct http_response){.status = status, .body = body, .body_length = strlen(body)};
}

void world_call(struct world *world, const struct journal_call *call, struct journal_outcome *out)
{
	struct http_request request;
	struct http_response response;
	struct error error = {0};
	bool needs_read = false;

	dynamodb_ask_call(&world->arena, TABLE, call, &request);
	response = world_send(world, &request);
	cr_assert(dynamodb_hear_call(&world->arena, call, &response, out, &needs_read, &error), "%s\n%s", error.message,
	          request.body);
	if (!needs_read)
		return;
	dynamodb_ask_read(&world->arena, TABLE, call, &request);
	response = world_send(world, &request);
	cr_assert(dynamodb_hear_read(&world->arena, call, &response, out, &error), "%s", error.message);
}

void world_prepare(struct world *world, const struct record *record)
{
	struct journal_call call = world_verb(JOURNAL_INTENT);
	struct journal_outcome outcome;

	world_clear(world);
	call.attempt = record->attempt;
	call.now = record->updated_at;
	call.record = *record;
	world_call(world, &call, &outcome);
	cr_assert_eq(outcome.verdict, JOURNAL_DONE_NOW);
}

void world_clear(struct world *world)
{
	static const char body[] = "{\"TableName\":\"" TABLE "\",\"Key\":{\"zoneId\":{\"S\":\"" ZONE
							   "\"},\"resourceId\":{\"S\":\"" RESOURCE "\"}}}";
	struct http_request request = {
		.service = "dynamodb", .operation = "DeleteItem", .body = body, .body_length = sizeof(body) - 1};

	cr_assert_eq(world_send(world, &request).status, 200);
}

bool world_read(struct world *world, struct record *out)
{
	struct records records = {0};
	struct http_request request;
	struct http_response response;
	struct error error = {0};
	const struct json *next = NULL;

	dynamodb_ask_zone(&world->arena, TABLE, ZONE, NULL, &request);
	response = world_send(world, &request);
	cr_assert(dynamodb_hear_records(&world->arena, &response, &records, &next, &error), "%s", error.message);
	cr_assert_leq(records.count, (size_t)1);
	if (records.count == 1)
		*out = records.at[0];
	return records.count == 1;
}

struct string_list world_list(struct world *world, const char *words)
{
	return string_list_split(words, " ", &world->arena);
}

bool records_equal(const struct record *a, const struct record *b)
{
	return text_equal(a->zone_id, b->zone_id) && text_equal(a->resource_id, b->resource_id) &&
	       text_equal(a->resource_type, b->resource_type) && string_list_equal(&a->removed, &b->removed) &&
	       string_list_equal(&a->order, &b->order) && a->state == b->state &&
	       string_list_same_set(&a->owners, &b->owners) && a->undone_count == b->undone_count &&
	       a->unanswered_until.us == b->unanswered_until.us && json_equal(a->detail, b->detail) &&
	       text_equal(a->attempt, b->attempt) && a->created_at.us == b->created_at.us &&
	       a->updated_at.us == b->updated_at.us;
}

struct record world_record(struct world *world, enum record_state state, const char *owners, const char *attempt)
{
	struct json *detail = json_new_object(&world->arena);

	json_set_integer(detail, "schema", 1);
	json_set_string(detail, "name", "web");
	json_set_bool(detail, "unschedulable", true);
	json_set_string(json_set_object(detail, "suspended"), "process", "AZRebalance");
	return (struct record){
		.zone_id = ZONE,
		.resource_id = RESOURCE,
		.resource_type = "AutoScalingGroup",
		.removed = world_list(world, "subnet-a1"),
		.order = world_list(world, "subnet-b1 subnet-a1"),
		.state = state,
		.owners = world_list(world, owners),
		.detail = detail,
		.attempt = attempt,
		.created_at = {NOW_US - 60 * MINUTE_US},
		.updated_at = {NOW_US - MINUTE_US},
	};
}

struct journal_call world_verb(enum journal_verb verb)
{
	return (struct journal_call){
		.verb = verb,
		.zone_id = ZONE,
		.resource_id = RESOURCE,
		.owner = ME,
		.attempt = MINE,
		.now = {NOW_US},
		.done_state = RECORD_SETTLED,
		.undone_by = 1,
	};
}
