/*
 * Drains, gates and edits in awkward moments: each of these went wrong once.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 1);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(hardships, .init = setup, .fini = teardown, .timeout = 240);

static void add_pod(const char *name, const char *node, const char *owner)
{
	run_add_pod(&run, name, node, "ReplicaSet", owner);
}

static void block(const char *owner)
{
	world_add_budget(run.world, "default", owner, owner, 0);
}

static const char *new_node(struct run *at)
{
	return world_group_node(at->world, "workers", "use1-az1", 0);
}

static bool has_new_node(struct run *at)
{
	return new_node(at) != NULL;
}

Test(hardships, what_waits_for_its_nodes_again_is_put_back_all_the_same)
{
	(void)arena_string(&arena, run_add_node_group(&run));
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	block("web");
	world_edit_group(run.world, "workers", "subnet-a1,subnet-b1");
	run_must(&run, has_new_node, 10 * MINUTE_MS, "a node in the subnet that came back");
	add_pod("web-9", new_node(&run), "web");
	run_for(&run, 12 * MINUTE_MS);
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
}

Test(hardships, a_node_that_is_no_longer_selected_and_no_longer_marked_is_forgotten)
{
	world_aws_outage(run.world, 60 * MINUTE_MS);
	add_pod("web-1", "node-a1", "web");
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, MINUTE_MS);
	run_apply(&run, "out", "use1-az1", "[{\"kind\":\"EksNode\",\"selector\":{\"matchNames\":[\"node-b1\"]}}]");
	run_for(&run, 2000);
	world_strip_node(run.world, "node-a1");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "node-a1"), "");
	run_restore(&run);
}

Test(hardships, the_nodes_may_be_taken_off_the_targets)
{
	add_pod("web-1", arena_string(&arena, run_add_node_group(&run)), "web");
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(",\"drainTimeoutSeconds\":60"));
	run_for(&run, 5 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
	run_restore(&run);
}

Test(hardships, pods_on_volumes_may_be_blocked_for_days)
{
	for (int i = 0; i < 60; i++) {
		const char *name = arena_printf(&arena, "db-%d", i);
		world_add_volume(run.world, arena_printf(&arena, "default/data-%d", i), "use1-az1");
		world_add_pod(run.world, &(struct world_pod){.namespace_ = "default",
		                                             .name = name,
		                                             .node = "node-a1",
		                                             .owner_kind = "StatefulSet",
		                                             .owner = "db",
		                                             .claim = arena_printf(&arena, "data-%d", i)});
	}
	block("db");
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":86400"));
	run_for(&run, 12 * 60 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "node-a1"), "Applied");
	run_restore(&run);
}

/* The scheduler had bound it before it saw the taint. */
Test(hardships, a_pod_that_lands_after_the_first_look_is_drained_too)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_to_calls(&run, "LIST pods", 4);
	run_for(&run, 500);
	add_pod("late", node, "web");
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1", "its node holds a pod");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-b1");
	run_restore(&run);
}

Test(hardships, a_drained_node_that_loses_its_taint_is_not_drained_any_more)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	const char *other = arena_string(&arena, world_group_node(run.world, "workers", "use1-az1", 1));
	add_pod("web-1", other, "web");
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_for(&run, MINUTE_MS);
	for (unsigned n = 1; n <= 30; n++)
		world_fault(run.world, "PATCH nodes", n, WORLD_REFUSE);
	world_strip_node(run.world, node);
	world_uncordon_node(run.world, node);
	add_pod("late", node, "late");
	block("late");
	run_for(&run, 5000);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
	run_restore(&run);
}

static void apply_mode(const char *mode)
{
	run.targets = RUN_NODES("");
	run_evacuate(&run, "out", "use1-az1", mode);
}

Test(hardships, a_plan_that_becomes_an_evacuation_drains_at_once)
{
	add_pod("web-1", "node-a1", "web");
	apply_mode("Plan");
	run_for(&run, 2 * MINUTE_MS);
	apply_mode("Evacuate");
	cr_assert_not(run_until(&run, run_holding, 3000), "not before it is drained");
	run_for(&run, 30000);
	cr_assert_eq(world_evictions(run.world), 1);
	run_restore(&run);
}

Test(hardships, a_node_whose_copy_hangs_is_tainted_again_at_once)
{
	for (unsigned n = 1; n <= 20; n++)
		world_fault(run.world, "PutItem", n, WORLD_LOSE_REPLY);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_to_calls(&run, "PutItem", 2);
	run_for(&run, 500);
	world_strip_node(run.world, "node-a1");
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, "node-a1"), "nodes need no AWS");
	run_restore(&run);
}

Test(hardships, our_own_pods_wait_for_nodes_that_are_not_tainted_yet)
{
	run_add_own_pods(&run, "node-a1", NULL);
	add_pod("web-1", "node-a2", "web");
	block("web");
	for (unsigned n = 1; n <= 3; n++)
		world_fault(run.world, "PATCH nodes", 2 * n - 1, WORLD_REFUSE);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, 30000);
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 1);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	run_restore(&run);
}

Test(hardships, what_a_person_did_to_a_node_that_was_backed_out_counts)
{
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	run_for(&run, MINUTE_MS);
	world_label_node(run.world, "node-a2", "zonevac.dev/exclude", "true");
	run_for(&run, MINUTE_MS);
	cr_assert_not(world_node_tainted(run.world, "node-a2"));
	world_uncordon_node(run.world, "node-a2");
	run_for(&run, MINUTE_MS);
	world_label_node(run.world, "node-a2", "zonevac.dev/exclude", NULL);
	run_for(&run, MINUTE_MS);
	cr_assert(world_node_tainted(run.world, "node-a2"));
	run_restore(&run);
	cr_assert_not(world_node_cordoned(run.world, "node-a2"), "a person had uncordoned it meanwhile");
}

static bool other_zone(struct run *at)
{
	return strcmp(run_stalled_because(at, "out"), "OtherZone") == 0;
}

Test(hardships, an_edit_while_refused_nodes_are_given_back_begins_anew)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az2\":{\"SS\":[\"someone\"]}}");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_must(&run, other_zone, 5 * MINUTE_MS, "refused");
	world_delete_item(run.world, "#region", "active");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(",\"drainTimeoutSeconds\":77"));
	unsigned updates = world_calls(run.world, "UpdateItem");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	updates = world_calls(run.world, "UpdateItem") - updates;
	cr_assert_leq(updates, 40, "%u updates of the journal", updates);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	run_restore(&run);
}

Test(hardships, a_node_made_anew_is_drained_anew_and_without_haste)
{
	add_pod("web-1", "node-a1", "web");
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, MINUTE_MS);
	unsigned lists = world_calls(run.world, "LIST pods");
	world_recreate_node(run.world, "node-a1");
	add_pod("web-2", "node-a1", "web");
	run_for(&run, MINUTE_MS);
	lists = world_calls(run.world, "LIST pods") - lists;
	cr_assert_leq(lists, 40, "%u lists of pods in a minute", lists);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	run_restore(&run);
}

Test(hardships, newcomers_that_are_left_alone_are_no_capacity_that_returns)
{
	add_pod("web-1", "node-a1", "web");
	block("web");
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, MINUTE_MS);
	for (int i = 0; i < 3; i++)
		world_add_node(run.world,
		               &(struct world_node){.name = arena_printf(&arena, "new-%d", i), .zone_id = "use1-az1"});
	run_must(&run, run_stalled, MINUTE_MS, "Stalled");
	for (int i = 0; i < 3; i++)
		world_label_node(run.world, arena_printf(&arena, "new-%d", i), "zonevac.dev/exclude", "true");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	run_restore(&run);
}

Test(hardships, a_hundred_pods_leave_without_a_hundred_requests_at_once)
{
	for (int i = 0; i < 150; i++)
		add_pod(arena_printf(&arena, "web-%d", i), "node-a1", arena_printf(&arena, "web-%d", i));
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_must(&run, run_holding, 3 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	cr_assert_eq(world_evictions(run.world), 150);
	run_restore(&run);
}

static bool told_refusal(struct run *at)
{
	return strcmp(run_stalled_because(at, "out"), "EvictionRefused") == 0;
}

Test(hardships, an_eviction_that_needs_a_person_is_told)
{
	add_pod("web-1", "node-a1", "web");
	world_add_budget(run.world, "default", "one", "web", 1);
	world_add_budget(run.world, "default", "two", "web", 1);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_must(&run, told_refusal, 2 * MINUTE_MS, "EvictionRefused");
	cr_assert_not_null(world_pod(run.world, "default", "web-1"));
	run_restore(&run);
}

Test(hardships, a_plan_whose_pods_cannot_be_listed_spends_no_time_of_the_drain)
{
	add_pod("web-1", "node-a1", "web");
	for (unsigned n = 1; n <= 30; n++)
		world_fault(run.world, "LIST pods", n, WORLD_ERROR_BEFORE);
	run.targets = RUN_NODES(",\"drainTimeoutSeconds\":5,\"onDrainTimeout\":\"Taint\"");
	run_evacuate(&run, "out", "use1-az1", "Plan");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_eq(world_events(run.world, "DrainTimedOut"), 0);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_eq(world_evictions(run.world), 1, "evicted, not ended by the taint");
	run_restore(&run);
}
