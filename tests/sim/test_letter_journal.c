/*
 * The journal's rows as they meet the world: what a dead process left half done, what may still land, what is never written twice, and guards that are
 * asked again on the very read that precedes an update.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void begin(uint64_t seed)
{
	run_init(&run, seed);
	run_add_small_region(&run);
	run.targets = RUN_ALL_GROUPS;
	before = world_fingerprint(run.world, &arena);
}

static void setup(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
	begin(131);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(letter_journal, .init = setup, .fini = teardown, .timeout = 240);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static const struct json *record_of(const char *group)
{
	return world_record(run.world, "use1-az1", world_group_arn(run.world, group));
}

static const char *attribute(const char *group, const char *name)
{
	const char *value = json_path_string(record_of(group), arena_printf(&arena, "%s.S", name));
	return value != NULL ? arena_string(&arena, value) : "";
}

static int undone(const char *group)
{
	const char *count = json_path_string(record_of(group), "undone.N");
	return count != NULL ? atoi(count) : -1;
}

static unsigned journal_writes(void)
{
	return world_calls(run.world, "PutItem") + world_calls(run.world, "UpdateItem") +
	       world_calls(run.world, "DeleteItem");
}

/* done is never written twice. */

Test(letter_journal, a_crash_loop_while_it_holds_writes_nothing)
{
	run_hold(&run);
	run_for(&run, 2 * MINUTE_MS);
	unsigned writes = journal_writes();
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	const char *record = json_print(record_of("web"), &arena);
	for (int i = 0; i < 6; i++) {
		run_stop(&run);
		run_for(&run, i % 2 ? 7 * MINUTE_MS : 20000);
	}
	cr_assert_eq(journal_writes(), writes);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
	cr_assert_str_eq(json_print(record_of("web"), &arena), record);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* Out by somebody else's hand, or before us: no record, no change, and nothing is added at recovery. */
Test(letter_journal, what_does_not_lie_in_the_zone_is_nothing_even_if_it_did_before)
{
	world_edit_group(run.world, "web", "subnet-b1");
	run_for(&run, 2000);
	before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* What a dead process left. */

static void die_at(const char *state)
{
	for (int i = 0; i < 20000 && strcmp(run_record_state(&run, "web"), state) != 0; i++)
		run_for(&run, 1);
	cr_assert_str_eq(run_record_state(&run, "web"), state);
	run_stop(&run);
}

/* Nothing proves that its update is not on the way: the record stays open until five minutes after the next process began to act. */
static void intent_of_a_dead_process(int64_t wait_ms)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	die_at("Intent");
	world_advance(run.world, wait_ms);
	world_delete_evacuation(run.world, "out");
	struct instant since = world_now(run.world);
	run_for(&run, 4 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1"); /* put back, or never out */
	cr_assert_str_eq(run_record_state(&run, "web"), "Restoring");
	cr_assert_str_neq(attribute("web", "unansweredUntil"), "");
	run_must(&run, run_gone, 5 * MINUTE_MS, "gone");
	cr_assert_geq(instant_between_ms(since, world_now(run.world)), 5 * MINUTE_MS);
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_journal, an_intent_of_a_dead_process_is_watched_until_nothing_can_land)
{
	intent_of_a_dead_process(0);
}

Test(letter_journal, also_when_it_died_hours_ago)
{
	intent_of_a_dead_process(180 * MINUTE_MS);
}

/* Its last update lands when the next process has put everything back: that one looks once more before it closes, and puts it back again. */
Test(letter_journal, an_update_of_a_dead_process_that_lands_after_it_was_put_back)
{
	for (int64_t late_ms = 60000; late_ms <= 270000; late_ms += 70000) {
		world_set_late(run.world, late_ms);
		world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		run_to_calls(&run, "UpdateAutoScalingGroup", 1);
		run_for(&run, 100);
		run_stop(&run);
		world_delete_evacuation(run.world, "out");
		run_must(&run, run_gone, 15 * MINUTE_MS, "gone");
		world_advance(run.world, 10 * MINUTE_MS);
		run_assert_as_before(&run, before, "after it has landed");
		run_done(&run);
		begin(140 + (uint64_t)late_ms / 1000);
	}
}

/* Where it had to be sent again, the first one may still land: done keeps the claim, and recovery waits for it and reads once more. */
Test(letter_journal, an_update_that_was_repeated_leaves_its_claim)
{
	world_set_late(run.world, 4 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	run_hold(&run);
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	cr_assert_str_neq(attribute("web", "unansweredUntil"), "");
	run_stop(&run); /* the record alone knows it now */
	world_delete_evacuation(run.world, "out");
	run_for(&run, 90000);
	assert_group("web", "subnet-a1,subnet-b1");
	cr_assert_str_eq(run_record_state(&run, "web"), "Restoring");
	run_must(&run, run_gone, 15 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "it has landed in between");
}

/* Two of them in the air while it goes back: each is waited for. */
Test(letter_journal, two_updates_in_the_air_when_it_is_deleted)
{
	world_set_late(run.world, 4 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	world_fault(run.world, "UpdateAutoScalingGroup", 2, WORLD_LATE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 20 * MINUTE_MS, "gone");
	world_advance(run.world, 10 * MINUTE_MS);
	run_assert_as_before(&run, before, "after both have landed");
}

static int settled(void)
{
	int count = strcmp(run_record_state(&run, "web"), "Settled") == 0;
	for (int i = 0; i < 12; i++)
		count += strcmp(run_record_state(&run, arena_printf(&arena, "many-%02d", i)), "Settled") == 0;
	return count;
}

/* After an unclean start one change at a time, until one has finished. */
Test(letter_journal, after_an_unclean_start_changes_are_worked_at_one_at_a_time_until_one_has_finished)
{
	for (int i = 0; i < 12; i++)
		world_add_group(run.world, arena_printf(&arena, "many-%02d", i), "subnet-a1,subnet-b1", 1, NULL);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_records(run.world) < 5)
		run_for(&run, 1);
	run_stop(&run);
	cr_assert_eq(settled(), 0);
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	unsigned most = 0;
	while (settled() == 0) {
		run_for(&run, 1);
		unsigned more = world_calls(run.world, "UpdateAutoScalingGroup") - updates;
		cr_assert_leq(more, 1, "no two at the same moment");
		most += more;
		updates += more;
	}
	cr_assert_gt(most, 0);
	run_must(&run, run_holding, 10 * MINUTE_MS, "it holds");
	run_restore(&run);
	cr_assert_eq(world_records(run.world), 0);
}

/* undone counts, one for each time, however often we die over it. */
Test(letter_journal, each_time_it_is_put_back_counts_once)
{
	run.settings.resync_ms = MINUTE_MS;
	run_hold(&run);
	for (int i = 1; i <= 3; i++) {
		world_edit_group(run.world, "web", "subnet-a1,subnet-b1");
		unsigned effects = world_effects(run.world);
		world_kill_at(run.world, effects + (unsigned)i, i % 2 ? WORLD_KILL_AFTER : WORLD_KILL_BEFORE);
		run_for(&run, 5 * MINUTE_MS);
		assert_group("web", "subnet-b1");
		cr_assert_eq(undone("web"), i);
		cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	}
	world_edit_group(run.world, "web", "subnet-a1,subnet-b1");
	run_for(&run, 5 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1");
	cr_assert_eq(undone("web"), 3);
	cr_assert_str_eq(run_state(&run, "web"), "Rival");
	run_stop(&run);
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "web"), "Rival", "a restart is no reason to fight again");
	assert_group("web", "subnet-a1,subnet-b1");
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* One read that is stale shows it put back: that is no put-back. */
Test(letter_journal, one_stale_read_counts_for_nothing)
{
	run.settings.resync_ms = 5000;
	run_hold(&run);
	for (unsigned n = 1; n <= 6; n++)
		world_fault(run.world, "DescribeAutoScalingGroups", 2 * n, WORLD_STALE);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_eq(undone("web"), 0);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* Guards, again, on the read that precedes the update. */

struct surprise {
	const char *what;
	const char *subnets; /* NULL = as they are */
	const char *tags;
	const char *state;
	const char *reason;
};

static const struct surprise SURPRISES[] = {
	{"its other subnet goes", "subnet-a1", NULL, "Refused", "LastSubnet"},
	{"it is tagged to be left alone", NULL, "zonevac.dev/exclude=true", "Refused", ""},
	{"it is moved out", "subnet-b1", NULL, "Settled", ""},
};

static void surprise(struct world *world, void *context)
{
	const struct surprise *s = context;
	if (s->subnets != NULL)
		world_edit_group(world, "web", s->subnets);
	if (s->tags != NULL)
		world_tag_group(world, "web", s->tags);
}

Test(letter_journal, guards_are_asked_again_when_the_world_changed_after_the_plan)
{
	for (size_t i = 0; i < sizeof(SURPRISES) / sizeof(SURPRISES[0]); i++) {
		const struct surprise *s = &SURPRISES[i];
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		run_to_calls(&run, "GetItem", 1); /* it was planned, and is being registered */
		world_at(run.world, 0, surprise, (void *)(uintptr_t)s);
		run_must(&run, run_holding, 5 * MINUTE_MS, s->what);
		run_for(&run, 2000);
		assert_group("web", s->subnets != NULL ? s->subnets : "subnet-a1,subnet-b1");
		cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0, "%s", s->what);
		cr_assert_eq(world_records(run.world), 0, "%s", s->what);
		cr_assert_not_null(strstr(run_reason(&run, "web"), s->reason), "%s: %s", s->what, run_reason(&run, "web"));
		run_for(&run, 12 * MINUTE_MS);
		cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0, "%s", s->what);
		run_restore(&run);
		assert_group("web", s->subnets != NULL ? s->subnets : "subnet-a1,subnet-b1");
		run_done(&run);
		begin(150 + i);
	}
}

/* The intent stands, the update is refused as busy, and then the guard says no: the record is open, and closed at recovery without a change. */
Test(letter_journal, a_guard_that_says_no_after_the_intent)
{
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_BUSY);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	run_for(&run, 500);
	world_edit_group(run.world, "web", "subnet-a1");
	run_for(&run, 5 * MINUTE_MS);
	assert_group("web", "subnet-a1");
	cr_assert_str_eq(run_state(&run, "web"), "Refused", "%s", run_reason(&run, "web"));
	assert_reason("web", "LastSubnet");
	run_restore(&run);
	assert_group("web", "subnet-a1");
	cr_assert_eq(world_records(run.world), 0);
}

/* While held: what is left of it lies in the zone alone, by its owner's hand. It stays as it is, and is whole in the end. */
Test(letter_journal, a_guard_that_says_no_while_it_is_held)
{
	run_hold(&run);
	world_edit_group(run.world, "web", "subnet-a2");
	run_for(&run, 12 * MINUTE_MS);
	assert_group("web", "subnet-a2");
	cr_assert_str_eq(run_state(&run, "web"), "Refused");
	run_restore(&run);
	assert_group("web", "subnet-a2,subnet-a1");
	cr_assert_eq(world_records(run.world), 0);
}

/* A record whose ARN is of another account or region is left, and listed; the others are put back. */
Test(letter_journal, a_record_of_another_account_or_region_is_left_and_listed)
{
	static const char *const arns[] = {
		"arn:aws:autoscaling:us-east-1:999999999999:autoScalingGroup:1:autoScalingGroupName/far",
		"arn:aws:autoscaling:eu-west-1:" WORLD_ACCOUNT ":autoScalingGroup:1:autoScalingGroupName/far",
	};

	for (size_t i = 0; i < 2; i++) {
		run_hold(&run);
		world_put_item(
			run.world,
			arena_printf(
				&arena,
				"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},\"resourceType\":{\"S\":"
				"\"AutoScalingGroup\"},\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},\"order\":{\"L\":[]},"
				"\"state\":{\"S\":\"Settled\"},\"owners\":{\"SS\":[\"" WORLD_CLUSTER_UID
				"\"]},\"undone\":{\"N\":\"0\"},\"attempt\":{\"S\":\"x\"},\"detail\":{\"M\":{\"schema\":{\"N\":\"1\"},"
				"\"name\":{\"S\":\"far\"}}},\"createdAt\":{\"S\":\"2026-01-01T00:00:00Z\"},\"updatedAt\":{\"S\":"
				"\"2026-01-01T00:00:00Z\"}}",
				arns[i]));
		world_delete_evacuation(run.world, "out");
		run_for(&run, 15 * MINUTE_MS);
		cr_assert_not_null(world_evacuation(run.world, "out"), "it is not given up");
		assert_group("web", "subnet-a1,subnet-b1");
		cr_assert_not_null(world_record(run.world, "use1-az1", arns[i]), "it is left");
		cr_assert_str_eq(run_state(&run, "far"), "Failed");
		cr_assert_not_null(strstr(run_reason(&run, "far"), "another account or region"), "%s", run_reason(&run, "far"));
		cr_assert_str_neq(run_stalled_because(&run, "out"), "", "a person has to see to it");
		world_delete_item(run.world, "use1-az1", arns[i]);
		run_must(&run, run_gone, 30 * MINUTE_MS, "gone once it is deleted");
		run_assert_as_before(&run, before, "in the end");
	}
}
