/* Records and items, through the public calls: what is put is what is read. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "world.h"

static struct world world;

static void start(void)
{
	world_init(&world);
}

static void end(void)
{
	world_done(&world);
}

TestSuite(dynamodb_item, .init = start, .fini = end);

static void put_and_read(const struct record *record)
{
	struct record read;

	world_prepare(&world, record);
	cr_assert(world_read(&world, &read));
	cr_assert(records_equal(&read, record));
}

Test(dynamodb_item, a_record_survives_the_table)
{
	struct record record = world_record(&world, RECORD_APPLIED, ME " " OTHER, MINE);

	record.undone_count = 2;
	record.unanswered_until.us = NOW_US + 123456;
	put_and_read(&record);
}

Test(dynamodb_item, a_nodes_record_has_no_subnets)
{
	struct record record = world_record(&world, RECORD_SETTLED, ME, MINE);

	record.removed = record.order = (struct string_list){0};
	record.detail = NULL;
	put_and_read(&record);
}

Test(dynamodb_item, detail_may_be_any_json)
{
	static const char text[] =
		"{\"schema\":1,\"list\":[1,-2.5,\"x\",null,true,{\"deep\":[[]]}],\"empty\":\"\",\"big\":9007199254740993}";
	struct record record = world_record(&world, RECORD_SETTLED, ME, MINE);
	struct error error = {0};

	record.detail = json_parse(&world.arena, text, strlen(text), &error);
	cr_assert_not_null(record.detail);
	put_and_read(&record);
}

Test(dynamodb_item, the_attributes_are_those_of_the_table)
{
	struct record record = world_record(&world, RECORD_INTENT, ME, MINE);
	const struct json *item;

	record.unanswered_until.us = NOW_US;
	world_prepare(&world, &record);
	item = dynamo_item(world.dynamo, TABLE, ZONE, RESOURCE);
	cr_assert_str_eq(json_get_string(json_get(item, "zoneId"), "S"), ZONE);
	cr_assert_str_eq(json_get_string(json_get(item, "resourceType"), "S"), "AutoScalingGroup");
	cr_assert_str_eq(json_get_string(json_at(json_path(item, "removedSubnets.L"), 0), "S"), "subnet-a1");
	cr_assert_str_eq(json_get_string(json_at(json_path(item, "order.L"), 1), "S"), "subnet-a1");
	cr_assert_str_eq(json_path_string(item, "state.S"), "Intent");
	cr_assert_str_eq(json_string(json_at(json_path(item, "owners.SS"), 0)), ME);
	cr_assert_str_eq(json_path_string(item, "undone.N"), "0");
	cr_assert_str_eq(json_path_string(item, "detail.M.schema.N"), "1");
	cr_assert_str_eq(json_path_string(item, "unansweredUntil.S"), "2026-01-02T03:04:05.000000Z", "sorts as text");
}

Test(dynamodb_item, no_claim_no_attribute)
{
	struct record record = world_record(&world, RECORD_INTENT, ME, MINE);

	world_prepare(&world, &record);
	cr_assert_null(json_get(dynamo_item(world.dynamo, TABLE, ZONE, RESOURCE), "unansweredUntil"));
}

/* One attribute of a good item replaced (NULL: left out): which one is complained of? */
static const char *complaint(const char *attribute, const char *replacement)
{
	struct record record = world_record(&world, RECORD_INTENT, ME, MINE);
	struct journal_call call = world_verb(JOURNAL_LEAVE);
	struct journal_outcome outcome;
	struct http_response response;
	struct error error = {0};
	struct json *answer = json_new_object(&world.arena);
	struct json *item;

	world_prepare(&world, &record);
	item = json_copy(&world.arena, dynamo_item(world.dynamo, TABLE, ZONE, RESOURCE));
	json_remove(item, attribute);
	if (replacement != NULL)
		json_set(item, attribute, json_parse(&world.arena, replacement, strlen(replacement), &error));
	json_set(answer, "Item", item);
	response = world_answer(200, json_print(answer, &world.arena));
	if (dynamodb_hear_read(&world.arena, &call, &response, &outcome, &error))
		return "";
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not_null(strstr(error.message, RESOURCE));
	cr_assert_not_null(strstr(error.message, attribute), "%s", error.message);
	return attribute;
}

Test(dynamodb_item, what_must_be_there_must_be_there)
{
	static const char *const required[] = {"resourceType", "removedSubnets", "state",    "owners",
	                                       "attempt",      "createdAt",      "updatedAt"};
	static const char *const optional[] = {"order", "undone", "detail", "unansweredUntil"};

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		cr_assert_str_eq(complaint(required[i], NULL), required[i]);
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		cr_assert_str_eq(complaint(optional[i], NULL), "");
}

Test(dynamodb_item, wrong_types_are_refused)
{
	cr_assert_str_eq(complaint("state", "{\"S\":\"Done\"}"), "state");
	cr_assert_str_eq(complaint("removedSubnets", "{\"L\":[{\"N\":\"1\"}]}"), "removedSubnets");
	cr_assert_str_eq(complaint("owners", "{\"S\":\"me\"}"), "owners");
	cr_assert_str_eq(complaint("undone", "{\"N\":\"-1\"}"), "undone");
	cr_assert_str_eq(complaint("undone", "{\"N\":\"1.5\"}"), "undone");
	cr_assert_str_eq(complaint("detail", "{\"S\":\"x\"}"), "detail");
	cr_assert_str_eq(complaint("detail", "{\"M\":{\"a\":{\"B\":\"AA==\"}}}"), "detail");
	cr_assert_str_eq(complaint("updatedAt", "{\"S\":\"yesterday\"}"), "updatedAt");
	cr_assert_str_eq(complaint("unansweredUntil", "{\"N\":\"1\"}"), "unansweredUntil");
}

Test(dynamodb_item, a_string_set_will_do_for_a_list)
{
	cr_assert_str_eq(complaint("removedSubnets", "{\"SS\":[\"subnet-a\"]}"), "");
}
