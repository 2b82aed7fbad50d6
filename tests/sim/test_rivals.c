/*
 * Two evacuations of one zone, one after the other or at the same time, and what a dead one left behind.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 8);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(rivals, .init = setup, .fini = teardown, .timeout = 240);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static bool next_gone(struct run *at)
{
	return world_evacuation(at->world, "next") == NULL;
}

static bool next_holding(struct run *at)
{
	return strcmp(world_phase(at->world, "next"), "Holding") == 0;
}

static void assert_held_by_next(void)
{
	assert_group("web", "subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-c1");
	assert_group("batch", "subnet-b2");
	assert_group("cache", "subnet-c1");
	assert_group("idle", "subnet-b1");
	cr_assert(world_node_tainted(run.world, "node-a1") && world_node_tainted(run.world, "node-a2"));
	cr_assert_str_eq(world_condition(run.world, "next", "Evacuated", NULL), "True");
	cr_assert_str_eq(world_condition(run.world, "next", "Complete", NULL), "True");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
}

static void delete_next(void)
{
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_gone, 30 * MINUTE_MS, "the successor is gone");
}

/* The successor selects nothing: it takes over what the first one held all the same, and gives it back. */
Test(rivals, a_successor_with_nothing_of_its_own_takes_over)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	run_apply(&run, "next", "use1-az1", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"none\"]}}]");
	run_for(&run, 10000);
	cr_assert_str_eq(run_stalled_because(&run, "next"), "ZoneTaken");
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	run_restore(&run);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates, "nothing is restored in between");
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert(world_node_tainted(run.world, "node-a1"));
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	cr_assert(next_holding(&run), "phase %s", world_phase(run.world, "next"));
	delete_next();
	run_assert_as_before(&run, before, "the successor gave back what it had taken over");
}

/* Nothing is left to be taken over either: the one thing that was held is gone. */
Test(rivals, a_successor_with_nothing_at_all_lets_the_first_one_go)
{
	run_add_region(&run);
	run_apply(&run, "out", "use1-az1", "[{\"kind\":\"EksNode\",\"selector\":{\"matchNames\":[\"node-a1\"]}}]");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds");
	run_apply(&run, "next", "use1-az1", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"none\"]}}]");
	run_for(&run, 10000);
	world_delete_node(run.world, "node-a1");
	run_for(&run, 10000);
	const char *before = world_fingerprint(run.world, &arena);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 10 * MINUTE_MS, "the first is gone");
	cr_assert_str_eq(run_stalled_because(&run, "next"), "");
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1,subnet-c1");
	delete_next();
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	cr_assert(strstr(before, "node-b1") && !world_node_tainted(run.world, "node-b1"));
}

Test(rivals, a_hand_over_is_not_told_as_a_restore)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_for(&run, 10000);
	run_restore(&run);
	run_must(&run, next_holding, 10 * MINUTE_MS, "the successor holds");
	assert_held_by_next();
	cr_assert_eq(world_events(run.world, "Restored"), 0);
	cr_assert_null(strstr(world_phases_seen(run.world, "out"), "Restored"));
	delete_next();
	run_for(&run, 1000);
	cr_assert_eq(world_events(run.world, "Restored"), 1);
	run_assert_as_before(&run, before, "restored");
}

/* The first one is putting things back when a second one is applied: it takes over whatever has been done by then. */
static void take_over_after(const char *operation, unsigned calls)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, operation, calls);
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_must(&run, run_gone, 30 * MINUTE_MS, "the first is gone");
	run_must(&run, next_holding, 60 * MINUTE_MS, "the successor holds");
	run_for(&run, 10 * MINUTE_MS);
	assert_held_by_next();
	delete_next();
	run_assert_as_before(&run, before, operation);
}

Test(rivals, a_successor_takes_over_at_the_first_record_of_a_restore)
{
	take_over_after("UpdateItem", 1);
}

Test(rivals, a_successor_takes_over_at_the_first_update_of_a_restore)
{
	take_over_after("UpdateAutoScalingGroup", 1);
}

Test(rivals, a_successor_takes_over_in_the_middle_of_a_restore)
{
	take_over_after("UpdateAutoScalingGroup", 3);
}

Test(rivals, a_successor_takes_over_when_the_first_record_was_closed)
{
	take_over_after("DeleteItem", 1);
}

Test(rivals, a_successor_takes_over_when_nearly_all_records_were_closed)
{
	take_over_after("DeleteItem", 6);
}

/* A process dies while it restores, and its object is wiped away: the record says Restoring, and nobody is at it. */
Test(rivals, a_record_left_restoring_is_joined_after_ten_minutes)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	while (strcmp(run_record_state(&run, "web"), "Restoring") != 0)
		run_for(&run, 1);
	run_stop(&run);
	world_wipe_evacuation(run.world, "out");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	struct instant in_time = instant_after(world_now(run.world), 8 * MINUTE_MS);
	while (!instant_reached(in_time, world_now(run.world))) {
		run_for(&run, 1000);
		cr_assert_str_neq(world_change_state(run.world, "out", "web"), "Failed", "waiting is no failure");
	}
	cr_assert_str_eq(run_record_state(&run, "web"), "Restoring");
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Waiting");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False");
	run_for(&run, 7 * MINUTE_MS);
	cr_assert_str_eq(run_record_state(&run, "web"), "Applied", "joined");
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Settled");
	assert_group("web", "subnet-b1,subnet-c1");
	run_must(&run, run_holding, 10 * MINUTE_MS, "it holds");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

/* Another cluster takes it out between our observation and our own look: it is out, and would go back without us. */
static void taken_by_another_cluster(struct world *world, void *context)
{
	(void)context;
	world_put_item(
		world, arena_printf(
				   &arena,
				   "{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},"
				   "\"resourceType\":{\"S\":\"AutoScalingGroup\"},\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},"
				   "\"order\":{\"L\":[]},\"state\":{\"S\":\"Settled\"},\"owners\":{\"SS\":[\"another-cluster\"]},"
				   "\"undone\":{\"N\":\"0\"},\"attempt\":{\"S\":\"x\"},\"createdAt\":{\"S\":\"2026-01-01T00:00:00Z\"},"
				   "\"updatedAt\":{\"S\":\"2026-01-01T00:00:00Z\"}}",
				   world_group_arn(world, "web")));
	world_edit_group(world, "web", "subnet-b1,subnet-c1");
}

static size_t owners_of_web(void)
{
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "web"));
	return json_count(json_path(record, "owners.SS"));
}

Test(rivals, what_another_cluster_takes_out_at_the_same_time_is_joined)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "DescribeAutoScalingGroups", 1);
	world_at(run.world, 15, taken_by_another_cluster, NULL);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	cr_assert_eq(owners_of_web(), 2);
	run_restore(&run);
	cr_assert_eq(owners_of_web(), 1);
	assert_group("web", "subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-a1,subnet-a2,subnet-c1");
}

/* What nobody recorded was moved by its owner: it is settled, and nobody's to restore. */
static void moved_by_its_owner(struct world *world, void *context)
{
	(void)context;
	world_edit_group(world, "web", "subnet-b1,subnet-c1");
}

Test(rivals, what_its_owner_moves_at_the_same_time_is_left_to_it)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "DescribeAutoScalingGroups", 1);
	world_at(run.world, 15, moved_by_its_owner, NULL);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	cr_assert_eq(owners_of_web(), 0);
	run_restore(&run);
	assert_group("web", "subnet-b1,subnet-c1");
}

static bool next_has_finalizer(struct run *at)
{
	return json_count(json_path(world_evacuation(at->world, "next"), "metadata.finalizers")) > 0;
}

/* The successor is deleted while the first one is still at it: one of them puts things back, so that no record comes again that was closed. */
Test(rivals, two_that_are_deleted_do_not_restore_at_once)
{
	run_add_every_kind(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateFunctionConfiguration", 1);
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_must(&run, next_has_finalizer, 10 * MINUTE_MS, "the successor is about to take over");
	cr_assert_not(run_gone(&run));
	world_delete_evacuation(run.world, "next");
	size_t records = world_records(run.world);
	while (!run_gone(&run) || !next_gone(&run)) {
		run_for(&run, 1);
		cr_assert_leq(world_records(run.world), records, "a record that was closed is there again");
		records = world_records(run.world);
	}
	run_assert_as_before(&run, before, "in the end");
}

/* A successor of nodes alone is killed as soon as it has the zone, and deleted: what the first one took out is put back all the same. */
Test(rivals, a_successor_of_nodes_alone_gives_back_what_it_took_over)
{
	run_add_small_region(&run);
	world_delete_node(run.world, "node-a1");
	const char *before = world_fingerprint(run.world, &arena);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_apply(&run, "next", "use1-az1", RUN_ALL_NODES);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 10 * MINUTE_MS, "the first one is gone");
	run_stop(&run);
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_gone, 30 * MINUTE_MS, "the successor is gone");
	run_assert_as_before(&run, before, "in the end");
}

/* An object that will never hold anything must not keep others from what they want. */
Test(rivals, an_object_of_an_unknown_zone_holds_up_nobody)
{
	run_add_region(&run);
	run_apply(&run, "wrong", "use1-az9", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}]");
	run_for(&run, 10000);
	cr_assert_str_eq(run_stalled_because(&run, "wrong"), "UnknownZone");
	run_hold(&run);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(run_stalled_because(&run, "wrong"), "OtherZone");
}

/* Applied together, while the journal's table is missing: the older one comes first, and the younger one is refused when that has begun, not before. */
Test(rivals, another_zone_is_refused_only_by_one_that_has_begun)
{
	run_add_region(&run);
	world_aws_outage(run.world, 5 * MINUTE_MS);
	run_apply(&run, "first", "use1-az2", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}]");
	run_for(&run, 2000);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 60000);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherZoneFirst");
	world_delete_evacuation(run.world, "first");
	run_must(&run, run_holding, 30 * MINUTE_MS, "the younger one goes on when the older one is gone before it began");
}
