#include "domain/record.h"

#include <criterion/criterion.h>

#include "base/text.h"

static struct arena arena;

static void start(void)
{
	arena_init(&arena, "test", 1024 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(record, .init = start, .fini = end);

static struct record example(void)
{
	struct change change = {.kind = "AutoScalingGroup", .id = "arn:1", .name = "web", .incarnation = "i-1"};
	struct json *detail = json_new_object(&arena);

	string_list_add(&change.removed, &arena, "subnet-a");
	string_list_add(&change.order, &arena, "subnet-a");
	string_list_add(&change.order, &arena, "subnet-b");
	json_set_string(detail, "vpc", "vpc-1");
	change.detail = detail;
	return record_of_change(&change, "use1-az1", "cluster-1", "attempt-1", (struct wallclock){1000000}, &arena);
}

Test(record, states_have_names_and_names_states)
{
	enum record_state state = RECORD_INTENT;

	for (int i = RECORD_INTENT; i <= RECORD_RESTORING; i++) {
		cr_assert(record_state_parse(record_state_name((enum record_state)i), &state));
		cr_assert_eq((int)state, i);
	}
	cr_assert_not(record_state_parse("settled", &state));
	cr_assert_not(record_state_parse(NULL, &state));
}

Test(record, a_change_becomes_an_intent_with_one_owner)
{
	struct record record = example();

	cr_assert_eq(record.state, RECORD_INTENT);
	cr_assert_eq(record.owners.count, (size_t)1);
	cr_assert_str_eq(record.owners.at[0], "cluster-1");
	cr_assert_str_eq(record.resource_type, "AutoScalingGroup");
	cr_assert_str_eq(record.attempt, "attempt-1");
	cr_assert_eq(record.created_at.us, 1000000);
	cr_assert_eq(record.updated_at.us, 1000000);
	cr_assert_eq(record.unanswered_until.us, 0);
	cr_assert_eq(json_integer(json_get(record.detail, "schema"), 0), 1);
	cr_assert_str_eq(json_get_string(record.detail, "vpc"), "vpc-1");
}

Test(record, the_change_can_be_read_back)
{
	struct record record = example();
	struct change change = record_change(&record);

	cr_assert_str_eq(change.kind, "AutoScalingGroup");
	cr_assert_str_eq(change.id, "arn:1");
	cr_assert_str_eq(change.name, "web");
	cr_assert_str_eq(change.incarnation, "i-1");
	cr_assert_eq(change.removed.count, (size_t)1);
	cr_assert_eq(change.order.count, (size_t)2);
}

Test(record, a_change_without_detail_has_name_and_schema_all_the_same)
{
	struct change change = {.kind = "EksNode", .id = "uid/node-1", .name = "node-1"};
	struct record record = record_of_change(&change, "use1-az1", "me", "1", (struct wallclock){1}, &arena);

	cr_assert_str_eq(record_change(&record).name, "node-1");
	cr_assert_null(record_change(&record).incarnation);
	cr_assert_eq(json_integer(json_get(record.detail, "schema"), 0), 1);
	cr_assert_null(change.detail, "the change is left as it was");
}

Test(record, a_copy_is_deep)
{
	struct arena life;
	struct record record = example();
	struct record copy;

	arena_init(&life, "life", 1024 * 1024);
	copy = record_copy(&record, &life);
	arena_reset(&arena);
	cr_assert_str_eq(copy.zone_id, "use1-az1");
	cr_assert_str_eq(copy.removed.at[0], "subnet-a");
	cr_assert_str_eq(copy.owners.at[0], "cluster-1");
	cr_assert_str_eq(json_get_string(copy.detail, "name"), "web");
	arena_done(&life);
}

Test(record, records_grow)
{
	struct records records = {0};

	for (size_t i = 0; i < 50; i++)
		records_add(&records, &arena)->undone_count = (int64_t)i;
	cr_assert_eq(records.count, (size_t)50);
	cr_assert_eq(records.at[49].undone_count, 49);
}
