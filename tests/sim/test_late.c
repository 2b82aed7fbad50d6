/*
 * What is in the air when others decide: updates without an answer, looks that are older than they seem, other owners' Intents. The exhaustive
 * model (tests/model) tells why each of these matters.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 12);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_small_region(&run);
	run.targets = RUN_ALL_GROUPS;
	before = world_fingerprint(run.world, &arena);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(late, .init = setup, .fini = teardown, .timeout = 240);

/* An attribute of web's record that is a string; "" when there is none. */
static const char *told(const char *attribute)
{
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "web"));
	const char *string = json_get_string(json_get(record, attribute), "S");
	return string != NULL ? string : "";
}

static struct wallclock wall(void)
{
	struct client *client = world_client(run.world);
	return client->wall(client);
}

static int64_t ms_until(const char *attribute)
{
	struct wallclock at;
	cr_assert(wallclock_parse(told(attribute), &at), "%s: '%s'", attribute, told(attribute));
	return (at.us - wall().us) / 1000;
}

static void gone_as_before(void)
{
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	world_advance(run.world, 6 * MINUTE_MS);
	run_assert_as_before(&run, before, "in the end");
}

/* Applied, and deleted at once: AWS still shows it as it was. */
Test(late, an_old_answer_right_after_the_update_closes_nothing)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	while (strcmp(world_group(run.world, "web"), "subnet-b1") != 0)
		run_for(&run, 1);
	world_delete_evacuation(run.world, "out");
	for (unsigned i = 1; i <= 4; i++)
		world_fault(run.world, "DescribeAutoScalingGroups", i, WORLD_STALE);
	gone_as_before();
}

static bool restoring(struct run *at)
{
	return strcmp(run_record_state(at, "web"), "Restoring") == 0;
}

/* The process is stopped between its look and the close that it decides on, until nothing can land any more: but it has landed meanwhile. */
Test(late, a_close_is_as_old_as_the_look_it_is_decided_on)
{
	run.settings.leader_elect = false;
	world_set_late(run.world, 4 * MINUTE_MS);
	world_set_stop(run.world, 6 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	run_stop(&run);
	world_delete_evacuation(run.world, "out");
	run_must(&run, restoring, 2 * MINUTE_MS, "the next one puts it back");
	world_fault(run.world, "DescribeAutoScalingGroups", 1, WORLD_STOP);
	gone_as_before();
}

/* What is seen may be another one's doing. */
Test(late, silence_stays_unanswered_though_the_effect_is_seen)
{
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LOSE_REPLY);
	run_hold(&run);
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	cr_assert_gt(ms_until("unansweredUntil"), 3 * MINUTE_MS);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

static void put_intent_of(const char *owners)
{
	char json[1024];
	(void)snprintf(
		json, sizeof(json),
		"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},\"resourceType\":{\"S\":\"AutoScalingGroup\"},"
		"\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},\"order\":{\"L\":[{\"S\":\"subnet-a1\"},{\"S\":\"subnet-b1\"}]},"
		"\"state\":{\"S\":\"Intent\"},\"owners\":{\"SS\":[%s]},\"undone\":{\"N\":\"0\"},\"attempt\":{\"S\":\"theirs/1/1\"},"
		"\"detail\":{\"M\":{\"schema\":{\"N\":\"1\"},\"name\":{\"S\":\"web\"}}},"
		"\"createdAt\":{\"S\":\"2026-01-01T00:00:00Z\"},\"updatedAt\":{\"S\":\"2026-01-01T00:00:00Z\"}}",
		world_group_arn(run.world, "web"), owners);
	world_put_item(run.world, json);
}

/* Whoever comes after us must find that it was us who sent the update. */
Test(late, no_update_is_sent_on_another_owners_intent)
{
	put_intent_of("\"another-cluster\"");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	cr_assert_str_eq(told("state"), "Intent");
	cr_assert_str_neq(told("attempt"), "theirs/1/1");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds");
	cr_assert_gt(ms_until("unansweredUntil"), 4 * MINUTE_MS, "theirs may land after ours");
}

/* The one who stays has to wait for what the leaver, or a process of its before, has sent. */
Test(late, who_leaves_what_is_not_done_says_until_when_it_may_land)
{
	put_intent_of("\"another-cluster\",\"" WORLD_CLUSTER_UID "\"");
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_SILENCE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	run_stop(&run);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "it has left");
	cr_assert_str_eq(told("state"), "Intent");
	cr_assert_gt(ms_until("unansweredUntil"), 3 * MINUTE_MS);
}

static bool applied(struct run *at)
{
	return strcmp(world_group(at->world, "web"), "subnet-b1") == 0;
}

/* `done` was written, but nobody heard; then a rival puts it back: the next update has an Intent of its own. */
Test(late, an_update_is_announced_though_done_was_not_heard)
{
	run.settings.max_attempts = 1;
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_fault(run.world, "UpdateItem", 1, WORLD_LOSE_REPLY);
	run_must(&run, applied, MINUTE_MS, "it is out");
	while (strcmp(run_record_state(&run, "web"), "Settled") != 0)
		run_for(&run, 1);
	world_edit_group(run.world, "web", "subnet-a1,subnet-b1");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	cr_assert_str_eq(run_record_state(&run, "web"), "Intent");
}

static void busy_for_a_minute(void)
{
	for (unsigned i = 1; i <= 14; i++)
		world_fault(run.world, "UpdateAutoScalingGroup", i, WORLD_BUSY);
	run_for(&run, MINUTE_MS);
}

/* Another owner takes a Restoring record for abandoned after ten minutes: one that only waits for its service shows that it lives. */
Test(late, a_record_that_waits_for_a_busy_service_is_touched)
{
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	for (int minute = 0; minute < 7; minute++) {
		busy_for_a_minute();
		cr_assert_str_eq(told("state"), "Restoring");
		cr_assert_gt(ms_until("updatedAt"), -5 * MINUTE_MS);
	}
	gone_as_before();
}
