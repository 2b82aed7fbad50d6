/*
 * The journal loses what it held, or its table: what is out is still known, by the process, the status or a backup, and finds its way back.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void set_up(void)
{
	run_init(&run, 11);
	arena_init(&arena, "test", 64u << 20);
	run_add_region(&run);
	before = world_fingerprint(run.world, &arena);
}

static void tear_down(void)
{
	arena_done(&arena);
	run_done(&run);
}

TestSuite(lost, .init = set_up, .fini = tear_down, .timeout = 300);

static void lose_all_records(void)
{
	static const char *const groups[] = {"web", "api", "batch", "cache", "idle"};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		world_delete_record(run.world, "use1-az1", groups[i]);
	cr_assert_leq(world_records(run.world), 2, "only the copies of the nodes are left");
}

/* The order in which the subnets stood was known to the journal alone: all are back, at the end of the list. */
static void assert_all_back_in_some_order(void)
{
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1,subnet-a1");
	cr_assert_str_eq(world_group(run.world, "api"), "subnet-b1,subnet-c1,subnet-a1,subnet-a2");
	cr_assert_str_eq(world_group(run.world, "batch"), "subnet-b2,subnet-a2");
	cr_assert_str_eq(world_group(run.world, "cache"), "subnet-c1,subnet-a1");
	cr_assert_str_eq(world_group(run.world, "idle"), "subnet-b1,subnet-a1");
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
}

Test(lost, deleted_at_once_after_the_records_vanished)
{
	run_hold(&run);
	lose_all_records();
	run_restore(&run);
	run_assert_as_before(&run, before, "the process knew");
}

Test(lost, the_records_are_written_again_while_it_holds)
{
	run_hold(&run);
	lose_all_records();
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	cr_assert_str_eq(run_record_state(&run, "api"), "Settled");
	run_restore(&run);
	run_assert_as_before(&run, before, "the records were written again");
}

Test(lost, the_status_knows_when_the_process_has_ended_too)
{
	run_hold(&run);
	run_for(&run, 5000); /* the status is written */
	run_stop(&run);
	lose_all_records();
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Holding");
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	run_restore(&run);
	assert_all_back_in_some_order();
}

Test(lost, the_status_knows_when_it_is_deleted_while_no_process_runs)
{
	run_hold(&run);
	run_for(&run, 5000);
	run_stop(&run);
	lose_all_records();
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "it is gone");
	assert_all_back_in_some_order();
}

/* The table is deleted under us. */

static bool is_missing(struct run *at)
{
	return strcmp(run_stalled_because(at, "out"), "JournalMissing") == 0;
}

/* It is told; and as long as there is none, nothing in AWS is changed. */
static void lose_table(void)
{
	world_lose_table(run.world);
	run_must(&run, is_missing, 12 * MINUTE_MS, "it says so");
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
	cr_assert(is_missing(&run));
	cr_assert_not(run.ended);
}

static bool holding_again(struct run *at)
{
	return run_holding(at) && !run_stalled(at);
}

static void assert_held(void)
{
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_group(run.world, "cache"), "subnet-c1");
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	cr_assert_str_eq(run_record_state(&run, "cache"), "Settled");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "no other zone may be taken meanwhile");
}

Test(lost, the_table_while_applying_and_it_comes_from_its_backup)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	lose_table();
	world_bring_table_back(run.world);
	run_must(&run, holding_again, 30 * MINUTE_MS, "it goes on");
	assert_held();
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* One that was sent off when the table went has no record, and is nobody's: it is taken for what it looks like. */
Test(lost, the_table_while_applying_and_an_empty_one_takes_its_place)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	lose_table();
	world_make_table(run.world);
	run_must(&run, holding_again, 30 * MINUTE_MS, "it goes on");
	assert_held();
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

Test(lost, the_table_while_holding_and_it_comes_from_its_backup)
{
	run_hold(&run);
	lose_table();
	world_bring_table_back(run.world);
	run_must(&run, holding_again, 30 * MINUTE_MS, "it goes on");
	assert_held();
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

Test(lost, the_table_while_holding_and_an_empty_one_takes_its_place)
{
	run_hold(&run);
	lose_table();
	world_make_table(run.world);
	run_must(&run, holding_again, 30 * MINUTE_MS, "it goes on");
	run_for(&run, 12 * MINUTE_MS);
	assert_held();
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

Test(lost, the_table_while_restoring_and_it_comes_from_its_backup)
{
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	lose_table();
	world_bring_table_back(run.world);
	run_must(&run, run_gone, 60 * MINUTE_MS, "it is gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(lost, the_table_while_restoring_and_an_empty_one_takes_its_place)
{
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	lose_table();
	world_make_table(run.world);
	run_must(&run, run_gone, 60 * MINUTE_MS, "it is gone");
	run_assert_as_before(&run, before, "in the end");
}
