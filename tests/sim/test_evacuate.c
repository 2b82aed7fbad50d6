/*
 * Evacuations and restores in which nothing fails.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 1);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(evacuate, .init = setup, .fini = teardown, .timeout = 120);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static void hold(void)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	bool holding = run_until(&run, run_holding, 30 * MINUTE_MS);
	if (!holding)
		world_print_timeline(run.world);
	cr_assert(holding, "phase %s", world_phase(run.world, "out"));
}

static void restore(void)
{
	world_delete_evacuation(run.world, "out");
	bool gone = run_until(&run, run_gone, 30 * MINUTE_MS);
	if (!gone)
		world_print_timeline(run.world);
	cr_assert(gone, "phase %s", world_phase(run.world, "out"));
}

static void assert_record(const char *group, const char *removed)
{
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, group));
	const struct json *list = json_get(json_get(record, "removedSubnets"), "L");
	struct string_list subnets = {0};
	for (size_t i = 0; i < json_count(list); i++)
		string_list_add(&subnets, &arena, json_get_string(json_at(list, i), "S"));
	cr_assert_str_eq(string_list_join(&subnets, &arena, ","), removed, "record of %s", group);
	cr_assert_str_eq(json_get_string(json_get(record, "state"), "S"), "Settled");
	cr_assert_str_eq(json_get_string(json_get(record, "resourceType"), "S"), "AutoScalingGroup");
}

Test(evacuate, a_region_is_emptied_and_restored_exactly)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	hold();
	assert_group("web", "subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-c1");
	assert_group("batch", "subnet-b2");
	assert_group("cache", "subnet-c1");
	assert_group("idle", "subnet-b1");
	assert_group("db", "subnet-b1,subnet-c1");
	assert_record("web", "subnet-a1");
	assert_record("api", "subnet-a1,subnet-a2");
	assert_record("batch", "subnet-a2");
	cr_assert_null(world_record(run.world, "use1-az1", world_group_arn(run.world, "db")));
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	cr_assert_eq(world_group_instances(run.world, "web", "use1-az1"), 0);
	cr_assert(world_node_tainted(run.world, "node-a1") && world_node_cordoned(run.world, "node-a1"));
	cr_assert(world_node_tainted(run.world, "node-a2") && world_node_cordoned(run.world, "node-a2"));
	cr_assert_not(world_node_tainted(run.world, "node-b1") || world_node_cordoned(run.world, "node-b1"));
	cr_assert_str_eq(world_condition(run.world, "out", "Ready", NULL), "True");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "True");
	cr_assert_str_eq(json_path_string(world_evacuation(run.world, "out"), "status.zoneName"), "us-east-1c");
	restore();
	run_assert_as_before(&run, before, "restored");
	const char *phases = world_phases_seen(run.world, "out");
	cr_assert(strstr(phases, "Applying Holding Restoring"), "phases: %s", phases);
	cr_assert(world_node_cordoned(run.world, "node-a2"), "cordoned by a person before: stays cordoned");
}

Test(evacuate, a_second_evacuation_after_the_first_is_as_good)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	hold();
	restore();
	hold();
	restore();
	run_assert_as_before(&run, before, "restored twice");
}

Test(evacuate, what_the_owner_edits_meanwhile_survives)
{
	run_add_region(&run);
	hold();
	world_edit_group(run.world, "web", "subnet-b2,subnet-b1");
	world_edit_group(run.world, "api", "subnet-c1,subnet-b1,subnet-b2");
	run_for(&run, 20 * MINUTE_MS);
	assert_group("web", "subnet-b2,subnet-b1");
	restore();
	assert_group("web", "subnet-b2,subnet-a1,subnet-b1");
	const char *api = world_group(run.world, "api");
	cr_assert(strstr(api, "subnet-a1") && strstr(api, "subnet-a2") && strstr(api, "subnet-b2"), "%s", api);
	cr_assert(strstr(api, "subnet-c1") < strstr(api, "subnet-b1") &&
	              strstr(api, "subnet-b1") < strstr(api, "subnet-b2"),
	          "%s", api);
	assert_group("batch", "subnet-a2,subnet-b2");
	cr_assert_eq(world_records(run.world), 0);
}

Test(evacuate, what_the_owner_deletes_meanwhile_stays_deleted)
{
	run_add_region(&run);
	hold();
	world_delete_group(run.world, "cache");
	world_edit_group(run.world, "api", "subnet-b1,subnet-c1");
	world_delete_subnet(run.world, "subnet-a2");
	restore();
	assert_group("api", "subnet-b1,subnet-a1,subnet-c1");
	assert_group("batch", "subnet-b2");
	cr_assert_eq(world_records(run.world), 0);
}

Test(evacuate, new_capacity_in_the_zone_is_taken_too)
{
	run_add_region(&run);
	hold();
	world_add_node(run.world, &(struct world_node){"node-a3", "use1-az1", false, NULL});
	run_for(&run, 10000);
	cr_assert(world_node_tainted(run.world, "node-a3"), "at once");
	world_edit_group(run.world, "db", "subnet-b1,subnet-c1,subnet-a2");
	run_for(&run, 15 * MINUTE_MS);
	assert_group("db", "subnet-b1,subnet-c1");
	restore();
	assert_group("db", "subnet-b1,subnet-c1,subnet-a2");
	cr_assert_not(world_node_tainted(run.world, "node-a3") || world_node_cordoned(run.world, "node-a3"));
}

Test(evacuate, the_owner_adds_more_of_the_zone_to_a_group_that_is_held)
{
	run_add_region(&run);
	hold();
	world_edit_group(run.world, "web", "subnet-b1,subnet-c1,subnet-a2");
	run_for(&run, 15 * MINUTE_MS);
	assert_group("web", "subnet-b1,subnet-c1");
	assert_record("web", "subnet-a1,subnet-a2");
	restore();
	const char *web = world_group(run.world, "web");
	cr_assert(strstr(web, "subnet-a1") && strstr(web, "subnet-a2"), "%s", web);
}

Test(evacuate, a_node_that_joins_anew_under_its_name_is_a_new_node)
{
	run_add_region(&run);
	hold();
	world_delete_node(run.world, "node-a1");
	run_for(&run, 5000);
	world_add_node(run.world, &(struct world_node){"node-a1", "use1-az1", false, NULL});
	run_for(&run, 10000);
	cr_assert(world_node_tainted(run.world, "node-a1"));
	restore();
	cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_cordoned(run.world, "node-a1"));
	cr_assert_eq(world_records(run.world), 0);
}

Test(evacuate, an_uncordoned_node_is_not_fought_for)
{
	run_add_region(&run);
	hold();
	world_uncordon_node(run.world, "node-a1");
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_not(world_node_cordoned(run.world, "node-a1"));
	cr_assert(world_node_tainted(run.world, "node-a1"));
	restore();
	cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_cordoned(run.world, "node-a1"));
}

Test(evacuate, deleted_while_it_applies_it_turns_round)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_calls(run.world, "UpdateAutoScalingGroup") < 3)
		run_for(&run, 10);
	world_delete_evacuation(run.world, "out");
	cr_assert(run_until(&run, run_gone, 30 * MINUTE_MS), "phase %s", world_phase(run.world, "out"));
	run_assert_as_before(&run, before, "turned round");
}

Test(evacuate, deleted_while_no_controller_runs)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	hold();
	engine_free(run.engine);
	run.engine = NULL;
	world_delete_evacuation(run.world, "out");
	world_revive(run.world);
	world_advance(run.world, 60 * MINUTE_MS);
	cr_assert(run_until(&run, run_gone, 30 * MINUTE_MS));
	run_assert_as_before(&run, before, "restored by another process");
}

Test(evacuate, mode_plan_changes_nothing)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Plan");
	const char *before = world_fingerprint(run.world, &arena);
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Planned");
	cr_assert_str_eq(world_fingerprint(run.world, &arena), before);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup") + world_calls(run.world, "PutItem") +
	                 world_calls(run.world, "UpdateItem") + world_calls(run.world, "PATCH nodes") +
	                 world_calls(run.world, "PATCH zonalevacuations"),
	             0);
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Planned");
	restore();
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
}

Test(evacuate, many_groups_come_in_pages)
{
	run_add_small_region(&run);
	for (int i = 0; i < 120; i++)
		world_add_group(run.world, arena_printf(&arena, "many-%03d", i),
		                i % 2 == 0 ? "subnet-a1,subnet-b1" : "subnet-b1,subnet-a2,subnet-c1", 1, NULL);
	dynamo_set_page(world_dynamo(run.world), 7);
	const char *before = world_fingerprint(run.world, &arena);
	hold();
	assert_group("many-118", "subnet-b1");
	assert_group("many-119", "subnet-b1,subnet-c1");
	restore();
	run_assert_as_before(&run, before, "many groups");
}

static bool ended(struct run *at)
{
	return at->ended;
}

Test(evacuate, told_to_stop_it_leaves_the_lease_and_another_goes_on_at_once)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_calls(run.world, "UpdateAutoScalingGroup") < 1)
		run_for(&run, 5);
	struct instant stopped = world_now(run.world);
	engine_stop(run.engine);
	cr_assert(run_until(&run, ended, 10500), "within 10 s");
	cr_assert_eq(run.exit_code, 0);
	cr_assert_leq(instant_between_ms(stopped, world_now(run.world)), 10000);
	run.ended = false;
	world_revive(run.world);
	run_for(&run, 3000);
	cr_assert(world_calls(run.world, "PUT leases") > 0);
	unsigned effects = world_effects(run.world);
	run_for(&run, 4000);
	cr_assert_gt(world_effects(run.world), effects, "a released lease is taken at once");
	hold();
	restore();
	run_assert_as_before(&run, before, "stopped and started");
}
