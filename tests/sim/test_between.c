/*
 * What others do in the few milliseconds between a read and the write that is built on it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 31);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(between, .init = setup, .fini = teardown, .timeout = 120);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)
#define OTHER_TAINT "example.com/maintenance"

/* At the moment when so many more calls of an operation have been submitted and the last of them is on its way. */
static struct {
	const char *operation;
	unsigned calls;
	void (*act)(struct world *world);
} moment;

static void watch(struct world *world, void *context)
{
	if (world_calls(world, moment.operation) < moment.calls) {
		world_at(world, 1, watch, context);
		return;
	}
	moment.act(world);
	moment.act = NULL;
}

static void at_call(const char *operation, unsigned more, void (*act)(struct world *world))
{
	moment.operation = operation;
	moment.calls = world_calls(run.world, operation) + more;
	moment.act = act;
	world_at(run.world, 1, watch, NULL);
}

static bool acted(struct run *at)
{
	(void)at;
	return moment.act == NULL;
}

static bool has_taint(const char *node, const char *key)
{
	const struct json *taints = json_path(world_node(run.world, node), "spec.taints");
	for (size_t i = 0; i < json_count(taints); i++)
		if (strcmp(json_get_string(json_at(taints, i), "key"), key) == 0)
			return true;
	return false;
}

static void taint(struct world *world)
{
	world_taint_node(world, "node-a1", OTHER_TAINT);
}

static void cordon(struct world *world)
{
	world_cordon_node(world, "node-a1");
}

Test(between, a_taint_put_on_while_the_node_is_tainted)
{
	run_add_small_region(&run);
	at_call("PATCH nodes", 1, taint);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	cr_assert(world_node_tainted(run.world, "node-a1"));
	cr_assert(has_taint("node-a1", OTHER_TAINT));
}

Test(between, a_taint_put_on_while_ours_is_taken_off)
{
	run_add_small_region(&run);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	at_call("PATCH nodes", 1, taint);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 10 * MINUTE_MS, "gone");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	cr_assert(has_taint("node-a1", OTHER_TAINT));
}

Test(between, a_cordon_set_while_the_node_is_cordoned)
{
	run_add_small_region(&run);
	at_call("PATCH nodes", 1, cordon);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	run_restore(&run);
	cr_assert(world_node_cordoned(run.world, "node-a1"), "a person did that");
}

static void register_another(struct world *world)
{
	world_put_item(world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az2\":{\"SS\":[\"another-cluster\"]}}");
}

/* The first conditional update is the registration. */
Test(between, another_cluster_registers_another_zone)
{
	run_add_small_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	at_call("UpdateItem", 1, register_another);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, acted, MINUTE_MS, "it registers");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherZone");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	run_restore(&run);
	cr_assert_str_eq(world_fingerprint(run.world, &arena), before);
}

static void record_of_another(struct world *world)
{
	const char *item =
		arena_printf(&arena,
	                 "{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},"
	                 "\"resourceType\":{\"S\":\"AutoScalingGroup\"},\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},"
	                 "\"order\":{\"L\":[]},\"state\":{\"S\":\"Intent\"},\"owners\":{\"SS\":[\"another-cluster\"]},"
	                 "\"attempt\":{\"S\":\"theirs/0/1\"},\"createdAt\":{\"S\":\"2026-01-02T03:04:05Z\"},"
	                 "\"updatedAt\":{\"S\":\"2026-01-02T03:04:05Z\"}}",
	                 world_group_arn(world, "web"));
	world_put_item(world, item);
}

/* Another cluster was as fast: its record is there when ours is to be put. */
Test(between, another_cluster_writes_its_record)
{
	run_add_small_region(&run);
	at_call("PutItem", 1, record_of_another);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 60 * MINUTE_MS, "it joins");
	assert_group("web", "subnet-b1");
	run_restore(&run);
	assert_group("web", "subnet-b1"); /* the other one still wants it out */
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "web"));
	const struct json *owners = json_get(json_get(record, "owners"), "SS");
	cr_assert_eq(json_count(owners), 1);
	cr_assert_str_eq(json_string(json_at(owners, 0)), "another-cluster");
}

static void other_leaves(struct world *world)
{
	world_leave(world, "use1-az1", "another-cluster");
}

/* While another owner is there the second conditional update of a recovery is the leaving. */
Test(between, the_other_owner_leaves_as_well)
{
	run_add_small_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	world_join(run.world, "use1-az1", "another-cluster");
	at_call("UpdateItem", 2, other_leaves);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "whoever is the last one restores");
}

static void edit(struct world *world)
{
	world_edit_group(world, "web", "subnet-a1,subnet-b1,subnet-c1");
}

static void other_zone_edits(struct world *world)
{
	world_edit_group(world, "web", "subnet-a1,subnet-c1");
}

/* Beside another zone the first put is the lock, and what was read before it does not count. */
Test(between, another_zone_changes_a_group_before_it_is_locked)
{
	run_add_small_region(&run);
	world_edit_group(run.world, "web", "subnet-a1,subnet-b1,subnet-c1");
	world_advance(run.world, MINUTE_MS);
	register_another(run.world);
	run.spec_more = ",\"guards\":{\"allowOtherZones\":true}";
	at_call("PutItem", 1, other_zone_edits);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	assert_group("web", "subnet-c1");
	run_restore(&run);
	assert_group("web", "subnet-a1,subnet-c1");
}

static void other_zone_undoes(struct world *world)
{
	world_edit_group(world, "web", "subnet-c1");
}

static unsigned writes(struct world *world)
{
	return world_calls(world, "PutItem") + world_calls(world, "DeleteItem");
}

static void watch_writes(struct world *world, void *context)
{
	if (writes(world) < moment.calls)
		world_at(world, 1, watch_writes, context);
	else
		other_zone_undoes(world);
}

/* What its owner had put back is undone by an update of the other zone that was on its way: the look that closes the record is one under the lock. */
Test(between, another_zone_undoes_what_was_seen_before_the_lock)
{
	run_add_small_region(&run);
	world_edit_group(run.world, "web", "subnet-a1,subnet-b1,subnet-c1");
	world_advance(run.world, MINUTE_MS);
	register_another(run.world);
	run.spec_more = ",\"guards\":{\"allowOtherZones\":true}";
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	world_edit_group(run.world, "web", "subnet-a1,subnet-b1,subnet-c1");
	world_delete_evacuation(run.world, "out");
	moment.calls = writes(run.world) + 1;
	world_at(run.world, 1, watch_writes, NULL);
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	assert_group("web", "subnet-a1,subnet-c1");
}

/* A quota holds the update back, and the owner edits the group meanwhile: it is built anew. */
Test(between, an_owner_edits_while_the_quota_holds_the_update_back)
{
	run_add_small_region(&run);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_THROTTLE);
	world_fault(run.world, "UpdateAutoScalingGroup", 2, WORLD_THROTTLE);
	world_fault(run.world, "UpdateAutoScalingGroup", 3, WORLD_THROTTLE);
	at_call("UpdateAutoScalingGroup", 1, edit);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holds");
	assert_group("web", "subnet-b1,subnet-c1");
	run_restore(&run);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
}

static const char *drained_node;

static void pod_lands(struct world *world)
{
	world_strip_node(world, drained_node);
	world_uncordon_node(world, drained_node);
	run_add_pod(&run, "web-1", drained_node, "ReplicaSet", "web");
}

/* Somebody takes the taint off a drained node, and a pod lands on it, while its group is looked at for the update. */
Test(between, a_pod_lands_on_a_drained_node)
{
	run_add_small_region(&run);
	world_delete_group(run.world, "web");
	drained_node = arena_string(&arena, run_add_node_group(&run));
	run_add_pod(&run, "web-0", drained_node, "ReplicaSet", "web");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	while (world_pods_on(run.world, drained_node) > 0)
		run_for(&run, 1);
	at_call("DescribeAutoScalingGroups", 1, pod_lands);
	run_must(&run, acted, MINUTE_MS, "a pod lands");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds");
	assert_group("workers", "subnet-b1");
}

static bool ended(struct run *at)
{
	return at->ended;
}

static void stop(struct world *world)
{
	world_slow_connect(world, 0);
	engine_stop(run.engine);
}

/* What is on its way is let come in before the lease is given up: the next leader finds nothing half done. */
Test(between, told_to_stop_while_records_are_on_their_way)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	world_slow_connect(run.world, 1500);
	at_call("PutItem", 1, stop);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, acted, MINUTE_MS, "it is told");
	cr_assert(run_until(&run, ended, 10500), "within 10 s");
	cr_assert_eq(world_records(run.world), world_calls(run.world, "PutItem"));
	run.ended = false;
	world_revive(run.world);
	run_hold(&run);
	run_restore(&run);
	run_assert_as_before(&run, before, "stopped and started");
}
