/*
 * The journal loses what it held: what is out is still known, by the process or by the status, and finds its way back.
 */
#include <criterion/criterion.h>

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
