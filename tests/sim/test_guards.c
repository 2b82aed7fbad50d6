/*
 * What would leave too little is refused: too few zones (one resource), too large a share of the nodes (all of it); a person may know better.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 23);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(guards, .init = setup, .fini = teardown, .timeout = 240);

static void evacuate(const char *guards)
{
	before = world_fingerprint(run.world, &arena);
	run.spec_more = guards;
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
}

static void restore(void)
{
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

static void assert_refused(const char *name, const char *words)
{
	cr_assert_str_eq(run_state(&run, name), "Refused", "%s", name);
	cr_assert_not_null(strstr(run_reason(&run, name), words), "%s: %s", name, run_reason(&run, name));
}

/* web, api and cache have c1 besides; batch and idle are left with b alone, cache with c alone. */
Test(guards, a_resource_that_would_be_left_with_too_few_zones)
{
	evacuate(",\"guards\":{\"minRemainingZones\":2}");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	assert_refused("batch", "MinRemainingZones: without use1-az1 its subnets lie in 1 zone (use1-az2)");
	assert_refused("cache", "lie in 1 zone (use1-az4), and spec.guards.minRemainingZones is 2");
	cr_assert_str_eq(world_group(run.world, "batch"), "subnet-a2,subnet-b2");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(run_state(&run, "node-a1"), "Settled");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	restore();
}

Test(guards, nodes_by_the_zones_of_the_others)
{
	evacuate(",\"guards\":{\"minRemainingZones\":3}");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	assert_refused("node-a1", "the other nodes of the cluster lie in 2 zones, and spec.guards.minRemainingZones is 3");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	restore();
}

Test(guards, nodes_of_a_cluster_in_one_zone_are_left)
{
	world_delete_node(run.world, "node-b1");
	world_delete_node(run.world, "node-c1");
	evacuate(",\"guards\":{\"maxNodesPercent\":100}");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	assert_refused("node-a1", "lie in 0 zones");
	restore();
}

Test(guards, too_few_zones_may_be_allowed_and_the_record_says_so)
{
	const struct json *record;

	evacuate(
		",\"guards\":{\"minRemainingZones\":2,\"allow\":[{\"guard\":\"MinRemainingZones\",\"reason\":\"batch can wait\","
		"\"matchNames\":[\"batch\"]}]}");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	cr_assert_str_eq(world_group(run.world, "batch"), "subnet-b2");
	assert_refused("cache", "MinRemainingZones");
	record = world_record(run.world, "use1-az1", world_group_arn(run.world, "batch"));
	cr_assert_not_null(strstr(json_print(record, &arena), "batch can wait"));
	cr_assert_not_null(strstr(run_reason(&run, "batch"), "MinRemainingZones overridden: batch can wait"));
	restore();
}

static void assert_nothing_done(void)
{
	run_for(&run, 11 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "MaxNodesPercent");
	cr_assert_eq(world_effects(run.world), world_calls(run.world, "PATCH zonalevacuations/status"));
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1,subnet-c1");
}

Test(guards, too_large_a_share_of_the_nodes_refuses_all_of_it_for_good)
{
	evacuate(",\"guards\":{\"maxNodesPercent\":49}");
	run_must(&run, run_stalled, MINUTE_MS, "it is refused");
	assert_nothing_done();
	/* More nodes elsewhere: nothing starts by itself hours later, not even after a restart. */
	world_add_node(run.world, &(struct world_node){"node-b2", "use1-az2", false, NULL});
	assert_nothing_done();
	run_stop(&run);
	assert_nothing_done();
	/* Said anew, it is judged anew. */
	run.spec_more = ",\"guards\":{\"maxNodesPercent\":48}";
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	run_restore(&run);
}

Test(guards, half_of_the_nodes_may_go_unless_it_is_said)
{
	evacuate(NULL);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	restore();
}

Test(guards, a_share_may_be_allowed)
{
	evacuate(
		",\"guards\":{\"maxNodesPercent\":1,\"allow\":[{\"guard\":\"MaxNodesPercent\",\"reason\":\"the rest is idle\"}]}");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	restore();
}

/* What its labels name is the zone's name, which only AWS maps: some are taken before the rest is counted, and given back. */
Test(guards, nodes_of_zones_that_only_aws_knows_count_too)
{
	world_label_node(run.world, "node-a2", "topology.k8s.aws/zone-id", NULL);
	evacuate(",\"guards\":{\"maxNodesPercent\":49}");
	run_must(&run, run_stalled, MINUTE_MS, "it is refused");
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "MaxNodesPercent");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_eq(world_records(run.world), 0);
}

/* Nodes that come and go while it is held are not counted again: what is out is out. */
Test(guards, a_share_is_judged_before_the_first_change_only)
{
	evacuate(NULL);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	world_delete_node(run.world, "node-c1");
	run_for(&run, 11 * MINUTE_MS);
	cr_assert_not(run_stalled(&run));
	cr_assert(world_node_tainted(run.world, "node-a1"));
	run_restore(&run);
}

Test(guards, a_plan_says_what_would_be_refused)
{
	before = world_fingerprint(run.world, &arena);
	run.spec_more = ",\"guards\":{\"maxNodesPercent\":49,\"minRemainingZones\":2}";
	run_evacuate(&run, "out", "use1-az1", "Plan");
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Planned");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "MaxNodesPercent");
	assert_refused("batch", "MinRemainingZones");
	world_add_node(run.world, &(struct world_node){"node-b2", "use1-az2", false, NULL});
	run_for(&run, MINUTE_MS);
	cr_assert_not(run_stalled(&run)); /* a plan is kept fresh */
}
