/*
 * A zone that is recovered elsewhere: a person's word (`zonevac recover`) unregisters it for all owners first, takes the records over and puts back. An
 * engine that finds itself unregistered stops, and fights nobody.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 11);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
	before = world_fingerprint(run.world, &arena);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(recovered, .init = setup, .fini = teardown, .timeout = 240);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static void unregister_all(void)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"77\"}}");
}

/* What the person's program does with one group: its record is closed, its subnets are back. */
static void put_back(const char *group, const char *subnets)
{
	world_edit_group(run.world, group, subnets);
	world_delete_record(run.world, "use1-az1", group);
}

static void recover_by_hand(void)
{
	unregister_all();
	run_for(&run, 12000); /* what was begun before is done, or has stopped */
	put_back("web", "subnet-a1,subnet-b1,subnet-c1");
	put_back("api", "subnet-b1,subnet-a1,subnet-a2,subnet-c1");
	put_back("batch", "subnet-a2,subnet-b2");
	put_back("cache", "subnet-c1,subnet-a1");
	put_back("idle", "subnet-a1,subnet-b1");
}

static void assert_stopped(void)
{
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates, "nothing is taken out again");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0, "it does not register again");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False");
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
}

Test(recovered, while_it_is_held_nothing_is_taken_out_again)
{
	run.settings.resync_ms = MINUTE_MS;
	run_hold(&run);
	unregister_all();
	run_for(&run, 75000); /* seen at the next pass */
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere");
	recover_by_hand();
	assert_stopped();
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "HeldByOthers");
}

Test(recovered, an_engine_that_starts_afterwards_stays_out_of_it)
{
	run.settings.resync_ms = MINUTE_MS;
	run_hold(&run);
	recover_by_hand();
	run_for(&run, 2 * MINUTE_MS);
	run_stop(&run);
	assert_stopped();
}

Test(recovered, an_engine_that_was_down_meanwhile_stays_out_of_it)
{
	run_hold(&run);
	run_for(&run, 5000);
	run_stop(&run);
	unregister_all();
	put_back("web", "subnet-a1,subnet-b1,subnet-c1");
	assert_stopped();
}

Test(recovered, while_it_is_at_work_it_stops_within_ten_seconds)
{
	world_pin_instances(run.world, "web", "use1-az1", true);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Applying");
	unregister_all();
	run_for(&run, 12000);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere");
}

Test(recovered, what_is_deleted_afterwards_ends_cleanly)
{
	run_hold(&run);
	recover_by_hand();
	run_for(&run, 10 * MINUTE_MS);
	run_restore(&run);
	run_assert_as_before(&run, before, "nodes are given back, and nothing else was left to be");
}

Test(recovered, what_is_deleted_before_anybody_noticed_ends_cleanly)
{
	run_hold(&run);
	run_stop(&run);
	recover_by_hand();
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(recovered, another_generation_evacuates_anew)
{
	run_hold(&run);
	recover_by_hand();
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere");
	run.spec_more = ",\"pacing\":{\"maxInFlight\":3}";
	run_hold(&run);
	run_for(&run, 2 * MINUTE_MS);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(recovered, what_an_owner_does_after_the_recovery_is_not_undone_by_deleting)
{
	run.settings.resync_ms = MINUTE_MS;
	run_hold(&run);
	recover_by_hand();
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere");
	world_edit_group(run.world, "web", "subnet-b1,subnet-c1");
	run_for(&run, 3 * MINUTE_MS);
	run_restore(&run);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_eq(world_records(run.world), 0);
}

/* A table out of a backup from before this evacuation: an older item without us, no records. Nobody has recovered anything. */
Test(recovered, an_older_table_is_not_mistaken_for_it)
{
	static const char *const groups[] = {"web", "api", "batch", "cache", "idle"};
	run.settings.resync_ms = MINUTE_MS;
	run_hold(&run);
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"0\"}}");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		world_delete_record(run.world, "use1-az1", groups[i]);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "it registers again");
	cr_assert_str_neq(run_record_state(&run, "web"), "", "what is held is written down again");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

/* Records that are gone with the table are no person's word: what is held is written down again. */
Test(recovered, a_table_that_was_lost_is_not_mistaken_for_it)
{
	run_hold(&run);
	world_delete_item(run.world, "#region", "active");
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "it registers again");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}
