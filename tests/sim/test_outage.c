/*
 * The environment fails for a while: AWS, the API server, its watches.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 4);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
	before = world_fingerprint(run.world, &arena);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(outage, .init = setup, .fini = teardown, .timeout = 120);

static void must(run_condition reached, int64_t limit_ms, const char *what)
{
	bool got_there = run_until(&run, reached, limit_ms);
	if (!got_there)
		world_print_timeline(run.world);
	cr_assert(got_there, "%s; phase %s", what, world_phase(run.world, "out"));
}

static void finish(void)
{
	world_delete_evacuation(run.world, "out");
	must(run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(outage, nodes_do_not_wait_for_aws)
{
	world_aws_outage(run.world, 20 * MINUTE_MS);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 30000);
	cr_assert(world_node_tainted(run.world, "node-a1") && world_node_cordoned(run.world, "node-a1"));
	must(run_stalled, 10 * MINUTE_MS, "says that it is stalled");
	must(run_holding, 40 * MINUTE_MS, "goes on by itself");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	finish();
}

/* Without AWS nothing but the nodes is waited for. */
Test(outage, the_object_stays_until_its_nodes_are_back)
{
	world_aws_outage(run.world, 60 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	must(run_holding, 30 * MINUTE_MS, "holds");
	for (unsigned n = 1; n <= 24; n++)
		world_fault(run.world, "PATCH nodes", n, WORLD_REFUSE);
	finish();
}

/* Nothing is repeated where a person allows one attempt: neither a record, … */
Test(outage, what_could_not_be_written_down_is_not_changed)
{
	run.settings.max_attempts = 1;
	for (unsigned n = 1; n <= 4; n++)
		world_fault(run.world, "PutItem", n, WORLD_THROTTLE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	finish();
}

/* … nor an update. */
Test(outage, what_is_refused_at_recovery_is_still_out)
{
	run.settings.max_attempts = 1;
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_THROTTLE);
	world_fault(run.world, "UpdateAutoScalingGroup", 3, WORLD_THROTTLE);
	finish();
}

Test(outage, nodes_are_restored_while_aws_is_away)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	world_aws_outage(run.world, 20 * MINUTE_MS);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 30000);
	cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_cordoned(run.world, "node-a1"));
	cr_assert_not(world_node_tainted(run.world, "node-a2"));
	cr_assert_not_null(world_evacuation(run.world, "out"));
	must(run_gone, 60 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

static const char *const writes[] = {"PutItem", "UpdateItem", "DeleteItem"};

/* Of the first writes of each kind only every third gets through. */
Test(outage, a_table_that_throttles_most_writes)
{
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		for (unsigned nth = 1; nth <= 15; nth++)
			if (nth % 3 != 0)
				world_fault(run.world, writes[i], nth, WORLD_THROTTLE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 5);
	finish();
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 10);
}

static bool ended(struct run *at)
{
	return at->ended;
}

Test(outage, without_the_api_server_the_lease_ends_and_another_process_goes_on)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_calls(run.world, "UpdateAutoScalingGroup") < 2)
		run_for(&run, 5);
	world_kube_outage(run.world, 5 * MINUTE_MS);
	must(ended, MINUTE_MS, "ends");
	cr_assert_eq(run.exit_code, 1);
	run.ended = false;
	world_revive(run.world);
	must(run_holding, 60 * MINUTE_MS, "holds");
	finish();
}

Test(outage, a_short_outage_of_the_api_server_is_survived)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	world_kube_outage(run.world, 6000);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_not(run.ended);
	finish();
}

Test(outage, watches_end_expire_and_fall_silent)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	world_end_watches(run.world);
	world_compact(run.world);
	run_for(&run, 2 * MINUTE_MS);
	world_add_node(run.world, &(struct world_node){"node-a9", "use1-az1", false, NULL});
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, "node-a9"), "the watch is listed anew");
	world_freeze_watches(run.world, true);
	world_delete_node(run.world, "node-a9");
	world_delete_evacuation(run.world, "out");
	must(run_gone, 10 * MINUTE_MS, "a silent watch is given up");
	run_assert_as_before(&run, before, "in the end");
}

Test(outage, a_new_evacuation_is_seen_after_the_watch_expired)
{
	run_for(&run, 10000);
	world_compact(run.world);
	run_for(&run, MINUTE_MS);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, 30 * MINUTE_MS, "holds");
	finish();
}

/* The first update of web arrives after three minutes; what is done meanwhile must not make it lose a subnet. */
static void first_update_is_late(void)
{
	world_set_late(run.world, 3 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
}

Test(outage, an_update_that_was_repeated_arrives_after_all)
{
	first_update_is_late();
	must(run_holding, 2 * MINUTE_MS + 50000, "holds, with the second update");
	finish();
	world_advance(run.world, 5 * MINUTE_MS);
	run_assert_as_before(&run, before, "after the late update has arrived");
}

Test(outage, the_update_of_a_dead_process_arrives_after_all)
{
	first_update_is_late();
	while (world_calls(run.world, "UpdateAutoScalingGroup") < 1)
		run_for(&run, 5);
	engine_free(run.engine);
	run.engine = NULL;
	world_revive(run.world);
	must(run_holding, 2 * MINUTE_MS + 50000, "holds, by the update of the second process");
	finish();
	world_advance(run.world, 5 * MINUTE_MS);
	run_assert_as_before(&run, before, "after the late update has arrived");
}

/* The records can be read, the region's item cannot. */
Test(outage, a_registration_that_cannot_be_read_is_told_at_recovery_too)
{
	run_hold(&run);
	run_for(&run, 30000);
	for (unsigned n = 1; n <= 100; n++)
		world_fault(run.world, "GetItem", n, WORLD_ERROR_BEFORE);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Restoring");
	cr_assert_str_neq(run_stalled_because(&run, "out"), "", "nobody knows why nothing comes back");
	world_calm(run.world);
	run_must(&run, run_gone, 10 * MINUTE_MS, "it is gone");
}
