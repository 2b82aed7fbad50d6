/*
 * Drained nodes, and what waits for them.
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

TestSuite(drain, .init = setup, .fini = teardown, .timeout = 120);

static void hold(const char *targets)
{
	run_apply(&run, "out", "use1-az1", targets);
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
}

Test(drain, a_node_loses_what_would_come_back_elsewhere_and_nothing_else)
{
	const char *before = world_fingerprint(run.world, &arena);
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "web-2", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "web-3", "node-b1", "ReplicaSet", "web");
	run_add_pod(&run, "log-1", "node-a1", "DaemonSet", "log");
	run_add_pod(&run, "alone", "node-a1", NULL, NULL);
	world_add_pod(
		run.world,
		&(struct world_pod){.namespace_ = "kube-system", .name = "proxy-node-a1", .node = "node-a1", .mirror = true});
	world_add_pod(run.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = "job-1",
	                                             .node = "node-a1",
	                                             .owner_kind = "Job",
	                                             .owner = "job",
	                                             .finished = true});
	hold(RUN_NODES(""));
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	cr_assert_null(world_pod(run.world, "default", "web-2"));
	cr_assert_not_null(world_pod(run.world, "default", "web-3"));
	cr_assert_not_null(world_pod(run.world, "default", "log-1"));
	cr_assert_not_null(world_pod(run.world, "default", "alone"));
	cr_assert_not_null(world_pod(run.world, "default", "job-1"));
	cr_assert_not_null(world_pod(run.world, "kube-system", "proxy-node-a1"));
	cr_assert_eq(world_evictions(run.world), 2);
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	assert_reason("node-a1", "default/alone");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "True");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

static bool node_is_blocked(struct run *at)
{
	(void)at;
	return strstr(run_reason(&run, "node-a1"), "PodDisruptionBudget default/web") != NULL;
}

Test(drain, a_budget_is_waited_for_and_named)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "web-2", "node-a2", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_must(&run, node_is_blocked, 2 * MINUTE_MS, "the budget's name");
	cr_assert_str_eq(run_state(&run, "node-a1"), "Applied");
	cr_assert_str_eq(world_phase(run.world, "out"), "Applying");
	unsigned tries = world_calls(run.world, "POST pods/eviction");
	run_for(&run, MINUTE_MS);
	tries = world_calls(run.world, "POST pods/eviction") - tries;
	cr_assert(tries >= 5 && tries <= 14, "%u tries in a minute: one each five seconds for the budget, not for each pod",
	          tries);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 5 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1") + world_pods_on(run.world, "node-a2"), 0);
	run_restore(&run);
}

Test(drain, its_time_over_the_pods_are_kept)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":120"));
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_not_null(world_pod(run.world, "default", "web-1"));
	cr_assert_str_eq(run_state(&run, "node-a1"), "Applied");
	assert_reason("node-a1", "120 s");
	const char *reason = NULL;
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", &reason), "False");
	cr_assert_str_eq(reason, "NotSettled");
	unsigned tries = world_calls(run.world, "POST pods/eviction");
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "POST pods/eviction"), tries, "no more evictions");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_not_null(world_pod(run.world, "default", "web-1"));
	run_stop(&run); /* whoever comes new has not tried yet */
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	run_for(&run, MINUTE_MS);
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	run_restore(&run);
}

Test(drain, a_controller_that_was_away_has_not_spent_its_time)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":300,\"onDrainTimeout\":\"Taint\""));
	run_for(&run, MINUTE_MS);
	run_stop(&run);
	world_advance(run.world, 20 * MINUTE_MS);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	cr_assert_eq(world_evictions(run.world), 1, "by an eviction, not by the taint");
	run_restore(&run);
}

Test(drain, more_time_is_more_time)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":120"));
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":7200"));
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	run_restore(&run);
}

Test(drain, eviction_may_be_turned_on_later)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	hold(RUN_NODES(",\"eviction\":\"None\""));
	run_for(&run, 20 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	run_restore(&run);
}

Test(drain, its_time_over_the_taint_evicts)
{
	const char *before = world_fingerprint(run.world, &arena);
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "log-1", "node-a1", "DaemonSet", "log");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"drainTimeoutSeconds\":120,\"onDrainTimeout\":\"Taint\""));
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	cr_assert_not_null(world_pod(run.world, "default", "log-1"));
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	run_restore(&run);
	run_assert_as_before(&run, before, "both effects of the taint are off");
}

Test(drain, eviction_taint_ends_all_at_once)
{
	const char *before = world_fingerprint(run.world, &arena);
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "web-2", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	hold(RUN_NODES(",\"eviction\":\"Taint\""));
	cr_assert_eq(world_evictions(run.world), 0);
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(drain, eviction_none_leaves_them)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	hold(RUN_NODES(",\"eviction\":\"None\""));
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 1);
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	cr_assert_eq(world_calls(run.world, "LIST pods"), 0, "nobody wants to know of its pods");
	run_restore(&run);
}

Test(drain, pods_that_nobody_ends_any_more_are_not_waited_for)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_freeze_node(run.world, "node-a1");
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_must(&run, run_holding, 5 * MINUTE_MS, "holding");
	cr_assert_not_null(world_pod(run.world, "default", "web-1"), "its kubelet is dead");
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	run_restore(&run);
}

Test(drain, another_pod_of_the_same_name_is_not_meant)
{
	world_add_pod(run.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = "db-0",
	                                             .node = "node-a1",
	                                             .owner_kind = "StatefulSet",
	                                             .owner = "db",
	                                             .grace_s = 20});
	hold(RUN_NODES(""));
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_eq(world_evictions(run.world), 1);
	const struct json *pod = world_pod(run.world, "default", "db-0");
	cr_assert_not_null(pod);
	cr_assert_str_neq(json_path_string(pod, "spec.nodeName"), "node-a1");
	run_restore(&run);
}

Test(drain, pods_bound_to_a_volume_of_the_zone_are_told)
{
	world_add_volume(run.world, "default/data-db-0", "use1-az1");
	world_add_pod(run.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = "db-0",
	                                             .node = "node-a1",
	                                             .owner_kind = "StatefulSet",
	                                             .owner = "db",
	                                             .claim = "data-db-0",
	                                             .grace_s = 20});
	hold(RUN_NODES(""));
	assert_reason("node-a1", "Pending until recovery");
	assert_reason("node-a1", "default/db-0");
	run_restore(&run);
}

/* Our own pods. */

Test(drain, our_own_pods_come_last)
{
	run_add_own_pods(&run, "node-b1", "node-a1");
	run_add_pod(&run, "web-1", "node-a2", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_not_null(world_pod(run.world, "zonevac-system", "zonevac-2"), "another node is not drained yet");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 5 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, "node-a1"), 0);
	run_restore(&run);
}

/* Groups that carry nodes. */

static bool workers_wait(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "workers"), "Waiting") == 0;
}

Test(drain, a_group_waits_for_its_own_nodes_alone)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	cr_assert_not_null(node);
	run_add_pod(&run, "web-1", node, "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_must(&run, workers_wait, 5 * MINUTE_MS, "Waiting");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1", "others do not wait");
	assert_reason("workers", "NodesNotDrained: ");
	assert_reason("workers", node);
	world_add_budget(run.world, "default", "web", "web", 1);
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-b1");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True");
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
}

Test(drain, a_group_whose_nodes_are_not_drained_in_time_needs_a_person)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	run_add_pod(&run, "web-1", node, "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(",\"drainTimeoutSeconds\":60"));
	run_must(&run, run_stalled, 10 * MINUTE_MS, "Stalled");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "NodesNotDrained");
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
}

Test(drain, a_group_whose_nodes_nobody_drains_waits)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	run_add_pod(&run, "web-1", node, "ReplicaSet", "web");
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, workers_wait, 5 * MINUTE_MS, "Waiting");
	assert_reason("workers", "not selected");
	run_must(&run, run_stalled, 5 * MINUTE_MS, "Stalled");
	run_restore(&run);
}

Test(drain, eviction_none_keeps_a_group_from_its_nodes)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	run_add_pod(&run, "web-1", node, "ReplicaSet", "web");
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(",\"eviction\":\"None\""));
	run_must(&run, workers_wait, 5 * MINUTE_MS, "Waiting");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
	cr_assert_not_null(world_pod(run.world, "default", "web-1"));
	run_restore(&run);
}

static void apply_allowing(const char *guard)
{
	world_apply(
		run.world,
		arena_printf(&arena,
	                 "{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":"
	                 "\"out\"},\"spec\":{\"zoneId\":\"use1-az1\",\"mode\":\"Evacuate\",\"targets\":%s,"
	                 "\"guards\":{\"allow\":[{\"guard\":\"%s\",\"reason\":\"the zone is dark\"}]}}}",
	                 RUN_NODES_AND_GROUPS(""), guard));
}

Test(drain, a_person_may_say_that_a_group_need_not_wait)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	run_add_pod(&run, "web-1", node, "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	world_allow_undrained(run.world);
	apply_allowing("NodesNotDrained");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-b1");
	assert_reason("workers", "NodesNotDrained overridden: the zone is dark");
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-a1,subnet-b1");
}

Test(drain, what_eks_manages_is_refused_unless_a_person_allows_it)
{
	world_add_group(run.world, "managed", "subnet-a1,subnet-b1", 0, "eks:nodegroup-name=web,eks:cluster-name=prod");
	run.settings.cluster_name = "prod";
	hold(RUN_NODES_AND_GROUPS(""));
	assert_reason("managed", "ManagedByEks: ");
	cr_assert_str_eq(world_group(run.world, "managed"), "subnet-a1,subnet-b1");
	run_restore(&run);
	apply_allowing("ManagedByEks");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_group(run.world, "managed"), "subnet-b1");
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "managed"));
	const struct json *allowed = json_at(json_path(record, "detail.M.allowed.L"), 0);
	cr_assert_str_eq(json_path_string(allowed, "M.guard.S"), "ManagedByEks");
	cr_assert_str_eq(json_path_string(allowed, "M.reason.S"), "the zone is dark");
	assert_reason("managed", "ManagedByEks overridden: the zone is dark");
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "managed"), "subnet-a1,subnet-b1");
}

Test(drain, unowned_pods_go_when_a_person_allows_it)
{
	run_add_pod(&run, "alone", "node-a1", NULL, NULL);
	world_allow_unreplicated(run.world);
	apply_allowing("Unreplicated");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_null(world_pod(run.world, "default", "alone"));
	run_restore(&run);
}

/* Capacity that keeps coming back. */

Test(drain, drains_pause_while_a_provisioner_fills_the_zone_again)
{
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, MINUTE_MS);
	for (int i = 0; i < 3; i++) {
		const char *name = arena_printf(&arena, "new-%d", i);
		world_add_node(run.world, &(struct world_node){.name = name, .zone_id = "use1-az1"});
		world_label_node(run.world, name, "karpenter.sh/nodepool", "spot");
		run_for(&run, 10000);
	}
	run_must(&run, run_stalled, MINUTE_MS, "Stalled");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "CapacityReturnsToZone");
	cr_assert(world_node_tainted(run.world, "new-2"), "tainted at once all the same");
	world_add_budget(run.world, "default", "web", "web", 1);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_not_null(world_pod(run.world, "default", "web-1"), "nothing is evicted meanwhile");
	for (int i = 0; i < 3; i++)
		world_delete_node(run.world, arena_printf(&arena, "new-%d", i));
	run_must(&run, run_holding, 5 * MINUTE_MS, "holding");
	cr_assert_null(world_pod(run.world, "default", "web-1"));
	run_restore(&run);
}

Test(drain, recovery_stops_a_drain)
{
	const char *before = world_fingerprint(run.world, &arena);
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	world_add_budget(run.world, "default", "web", "web", 0);
	run_apply(&run, "out", "use1-az1", RUN_NODES(""));
	run_for(&run, MINUTE_MS);
	run_restore(&run);
	unsigned tries = world_calls(run.world, "POST pods/eviction");
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "POST pods/eviction"), tries);
	run_assert_as_before(&run, before, "restored");
}

/* Mode Plan. */

static bool planned_with_pods(struct run *at)
{
	(void)at;
	return strstr(run_reason(&run, "node-a1"), "pods to go") != NULL;
}

Test(drain, a_plan_says_which_pods_would_go_and_what_would_wait)
{
	const char *node = arena_string(&arena, run_add_node_group(&run));
	const char *before = world_fingerprint(run.world, &arena);
	run.targets = RUN_NODES_AND_GROUPS("");
	world_add_volume(run.world, "default/data-db-0", "use1-az1");
	run_add_pod(&run, "web-1", "node-a1", "ReplicaSet", "web");
	run_add_pod(&run, "alone", "node-a1", NULL, NULL);
	world_add_pod(run.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = "db-0",
	                                             .node = "node-a1",
	                                             .owner_kind = "StatefulSet",
	                                             .owner = "db",
	                                             .claim = "data-db-0"});
	run_add_pod(&run, "web-2", node, "ReplicaSet", "web");
	run_evacuate(&run, "out", "use1-az1", "Plan");
	run_must(&run, planned_with_pods, 5 * MINUTE_MS, "planned");
	run_for(&run, 10 * MINUTE_MS);
	assert_reason("node-a1", "2 pods to go");
	assert_reason("node-a1", "1 pod without a controller stays (default/alone)");
	assert_reason("node-a1", "Pending until recovery (default/db-0)");
	assert_reason("workers", "waits for 2 of its nodes");
	cr_assert_str_eq(run_state(&run, "workers"), "Planned");
	cr_assert_str_eq(world_phase(run.world, "out"), "Planned");
	cr_assert_eq(world_evictions(run.world), 0);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 10 * MINUTE_MS, "holding");
	cr_assert_eq(world_pods_on(run.world, node), 0);
	cr_assert_str_eq(world_group(run.world, "workers"), "subnet-b1");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}
