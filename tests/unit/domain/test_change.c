#include "domain/change.h"

#include <criterion/criterion.h>

Test(change, names_are_those_of_status_and_journal)
{
	cr_assert_str_eq(guard_name(GUARD_NONE), "");
	cr_assert_str_eq(guard_name(GUARD_LAST_SUBNET), "LastSubnet");
	cr_assert_str_eq(guard_name(GUARD_OTHER_ZONE), "OtherZone");
	cr_assert_str_eq(guard_name(GUARD_OTHER_CLUSTER), "OtherCluster");
	cr_assert_str_eq(stand_name(STAND_OUT), "OUT");
	cr_assert_str_eq(stand_name(STAND_SUPERSEDED), "SUPERSEDED");
}

Test(change, a_copy_outlives_the_look_it_was_planned_from)
{
	struct arena look;
	struct arena life;
	struct change change = {.kind = "AutoScalingGroup", .id = "arn:1", .name = "web"};
	struct json *detail;
	struct change copy;

	arena_init(&look, "look", 1024 * 1024);
	arena_init(&life, "life", 1024 * 1024);
	change.incarnation = arena_string(&look, "arn:1");
	string_list_add(&change.removed, &look, arena_string(&look, "subnet-a"));
	string_list_add(&change.order, &look, arena_string(&look, "subnet-b"));
	detail = json_new_object(&look);
	json_set_string(detail, "vpc", "vpc-1");
	change.detail = detail;
	copy = change_copy(&change, &life);
	arena_done(&look);
	cr_assert_str_eq(copy.incarnation, "arn:1");
	cr_assert_str_eq(copy.removed.at[0], "subnet-a");
	cr_assert_str_eq(copy.order.at[0], "subnet-b");
	cr_assert_str_eq(json_get_string(copy.detail, "vpc"), "vpc-1");
	arena_done(&life);
}

Test(change, a_refusal_keeps_what_else_was_decided)
{
	struct decision decision = {.verdict = VERDICT_CHANGE, .guard_behind = GUARD_OPERATOR, .change = {.id = "arn:1"}};

	decision_refuse(&decision, GUARD_LAST_SUBNET, "all its subnets are in use1-az1");
	cr_assert_eq(decision.verdict, VERDICT_REFUSED);
	cr_assert_eq(decision.guard, GUARD_LAST_SUBNET);
	cr_assert_eq(decision.guard_behind, GUARD_OPERATOR);
	cr_assert_str_eq(decision.reason, "all its subnets are in use1-az1");
	cr_assert_str_eq(decision.change.id, "arn:1", "it may be overridden");
}

Test(change, resources_grow)
{
	struct arena arena;
	struct resources resources = {0};

	arena_init(&arena, "test", 1024 * 1024);
	for (size_t i = 0; i < 100; i++)
		resources_add(&resources, &arena)->name = "web";
	cr_assert_eq(resources.count, (size_t)100);
	cr_assert_str_eq(resources.at[99].name, "web");
	cr_assert_null(resources.at[99].kind, "a new one is empty");
	arena_done(&arena);
}
