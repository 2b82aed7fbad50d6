/*
 * What a person has seen of a plan (spec.planHash) is what is done, and nothing else; or nothing is.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planning.h"

TestSuite(plan_hash, .init = setup, .fini = teardown, .timeout = 600);

/* The same object. */
static void evacuate_as(const char *asked)
{
	run.spec_more = arena_printf(&arena, ",\"planHash\":\"%s\"", asked);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
}

static void hold_as(const char *asked)
{
	evacuate_as(asked);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
}

static void assert_group(const char *name, const char *subnets)
{
	cr_assert_str_eq(world_group(run.world, name), subnets, "%s has %s", name, world_group(run.world, name));
}

/* Nothing of ours anywhere. */
static void assert_untouched(void)
{
	cr_assert_eq(world_effects(run.world), world_calls(run.world, "PATCH zonalevacuations/status"));
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	cr_assert_eq(json_count(json_path(world_evacuation(run.world, "out"), "metadata.finalizers")), 0);
}

static void assert_changed(const char *words)
{
	cr_assert_str_eq(run_stalled_because(&run, "out"), "PlanChanged");
	cr_assert_not_null(strstr(run_message(&run, "Stalled"), words), "%s", run_message(&run, "Stalled"));
	assert_untouched();
}

static void assert_refused(const char *name, const char *words)
{
	cr_assert_str_eq(run_state(&run, name), "Refused", "%s", name);
	cr_assert_not_null(strstr(run_reason(&run, name), words), "%s: %s", name, run_reason(&run, name));
}

/* What nobody planned; gone before it is compared with how it was. */
static void add_late(void)
{
	world_add_group(run.world, "late", "subnet-b1,subnet-a1", 1, NULL);
	world_add_function(run.world, "tardy", "subnet-a1,subnet-b1", NULL);
}

static void delete_late(void)
{
	world_delete_group(run.world, "late");
	world_delete_function(run.world, "tardy");
}

static void restore(void)
{
	run_restore(&run);
	if (world_group(run.world, "late") != NULL) {
		assert_group("late", "subnet-b1,subnet-a1");
		cr_assert_str_eq(world_function(run.world, "tardy"), "subnet-a1,subnet-b1");
		delete_late();
	}
	run_assert_as_before(&run, before, "in the end");
}

static void assert_late_left(void)
{
	assert_group("late", "subnet-b1,subnet-a1");
	cr_assert_str_eq(world_function(run.world, "tardy"), "subnet-a1,subnet-b1");
	assert_refused("late", "PlanChanged: it came after the plan of spec.planHash");
	assert_refused("tardy", "PlanChanged");
}

static void assert_rest_out(void)
{
	assert_group("web", "subnet-b1");
	assert_group("workers", "subnet-b1");
	cr_assert_str_eq(world_service(run.world, "shop", "api"), "subnet-b1");
	cr_assert_str_eq(world_function(run.world, "mail"), "subnet-c1");
}

/* Another cluster has it out: to join it is part of the plan. */
static void let_others_hold(const char *group)
{
	const char *arn = world_group_arn(run.world, group);

	world_edit_group(run.world, group, "subnet-b1");
	world_put_item(
		run.world,
		arena_printf(
			&arena,
			"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},\"resourceType\":{\"S\":\"AutoScalingGroup\"},"
			"\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},\"order\":{\"L\":[{\"S\":\"subnet-a1\"},{\"S\":\"subnet-b1\"}]},"
			"\"state\":{\"S\":\"Settled\"},\"owners\":{\"SS\":[\"somebody-else\"]},\"undone\":{\"N\":\"0\"},"
			"\"attempt\":{\"S\":\"x/1/1\"},\"detail\":{\"M\":{\"schema\":{\"N\":\"1\"},\"name\":{\"S\":\"%s\"}}},"
			"\"createdAt\":{\"S\":\"2026-01-01T00:00:00Z\"},\"updatedAt\":{\"S\":\"2026-01-01T00:00:00Z\"}}",
			arn, group));
}

Test(plan_hash, joins)
{
	const char *without = plan(), *with;

	let_others_hold("web");
	look_again();
	with = hash();
	cr_assert_str_eq(run_state(&run, "web"), "Planned");
	assert_reason("web", "owner somebody-else has it out already, and this evacuation joins");
	cr_assert_str_eq(with, without, "the same is out in the end");
	hold_as(with);
	cr_assert_not_null(strstr(
		json_print(world_record(run.world, "use1-az1", world_group_arn(run.world, "web")), &arena), WORLD_CLUSTER_UID));
}

Test(plan_hash, what_another_owner_has_out_is_not_ours)
{
	plan();
	let_others_hold("web");
	look_again();
	cr_assert_str_eq(run_state(&run, "web"), "Planned");
	world_delete_record(run.world, "use1-az1", "web");
	look_again();
	cr_assert_str_eq(run_state(&run, "web"), "", "nothing of it is in the zone, and nobody has it out");
}

Test(plan_hash, names_of_another_owner_come_too_late)
{
	const char *asked;

	world_edit_group(run.world, "web", "subnet-b1");
	asked = plan();
	hold_as(asked);
	let_others_hold("web");
	look_again();
	assert_refused("web", "PlanChanged");
	look_again();
	assert_refused("web", "PlanChanged");
	cr_assert_null(strstr(json_print(world_record(run.world, "use1-az1", world_group_arn(run.world, "web")), &arena),
	                      WORLD_CLUSTER_UID));
}

/* Evacuate, as planned. */

Test(plan_hash, what_was_planned_is_done)
{
	const char *asked = plan();

	hold_as(asked);
	assert_rest_out();
	cr_assert_str_eq(hash(), asked);
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True");
	cr_assert_null(run_status(&run, "estimatedSeconds"));
	restore();
}

Test(plan_hash, an_object_of_its_own_may_name_it)
{
	const char *asked = plan();

	world_delete_evacuation(run.world, "out");
	hold_as(asked);
	assert_rest_out();
	restore();
}

Test(plan_hash, one_that_is_only_carried_out_is_told_too_and_stays)
{
	const char *asked = plan();

	world_delete_evacuation(run.world, "out");
	run_hold(&run);
	cr_assert_str_eq(hash(), asked);
	add_late();
	look_again();
	assert_group("late", "subnet-b1");
	cr_assert_str_eq(hash(), asked, "of what was admitted");
	run_stop(&run);
	look_again();
	cr_assert_str_eq(hash(), asked);
	restore();
}

Test(plan_hash, a_world_that_has_changed_refuses_all_of_it)
{
	const char *asked = plan(), *now;

	add_late();
	evacuate_as(asked);
	run_for(&run, MINUTE_MS);
	assert_changed("There are 8 changes now, of which 2 are new (the first is AutoScalingGroup late)");
	now = hash();
	cr_assert_str_neq(now, asked);
	cr_assert_not_null(strstr(run_message(&run, "Stalled"), asked));
	cr_assert_not_null(strstr(run_message(&run, "Stalled"), now));
	delete_late(); /* as planned again: but it is final for that generation */
	look_again();
	assert_changed("2 are new");
	run_stop(&run);
	look_again();
	assert_changed("2 are new");
}

Test(plan_hash, what_is_missing_or_other_is_said)
{
	const char *asked = plan();

	world_delete_group(run.world, "web");
	world_edit_function(run.world, "mail", "subnet-c1,subnet-a1");
	evacuate_as(asked);
	run_for(&run, MINUTE_MS);
	assert_changed(
		"1 is no longer in it (AutoScalingGroup web), 1 has other subnets in the zone (LambdaFunction mail)");
}

Test(plan_hash, the_new_hash_lets_it_begin)
{
	const char *asked = plan();

	add_late();
	evacuate_as(asked);
	run_for(&run, MINUTE_MS);
	assert_changed("are new");
	hold_as(hash());
	assert_rest_out();
	assert_group("late", "subnet-b1");
	restore();
}

Test(plan_hash, nothing_is_compared_with_a_plan_that_nobody_knows)
{
	evacuate_as(arena_printf(&arena, "sha256:%064d", 0));
	run_for(&run, MINUTE_MS);
	assert_changed("There are 6 changes now");
	cr_assert_null(strstr(run_message(&run, "Stalled"), "of which"));
	evacuate_as("");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	restore();
}

/* The check comes before the first change of nodes, too; who cannot wait for AWS says so. */
Test(plan_hash, nodes_wait_for_the_check)
{
	const char *asked = plan();
	const char *node = arena_string(&arena, world_group_node(run.world, "workers", "use1-az1", 0));

	run_stop(&run);
	world_aws_outage(run.world, 60 * MINUTE_MS);
	evacuate_as(asked);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_not(world_node_tainted(run.world, node));
	cr_assert_str_eq(run_stalled_because(&run, "out"), "AwsUnreachable");
	cr_assert_not_null(strstr(run_message(&run, "Stalled"), "nodes wait, too: empty that field to let them go"), "%s",
	                   run_message(&run, "Stalled"));
	assert_untouched();
	evacuate_as("");
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, node));
	run_must(&run, run_holding, 90 * MINUTE_MS, "it holds");
	restore();
}

Test(plan_hash, of_nodes_alone_is_not_checked)
{
	const char *node = arena_string(&arena, world_group_node(run.world, "workers", "use1-az1", 0));

	run.targets = RUN_ALL_NODES;
	world_aws_outage(run.world, 60 * MINUTE_MS);
	evacuate_as(arena_printf(&arena, "sha256:%064d", 0));
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, node));
}

/* Held as planned. */

Test(plan_hash, what_comes_later_stays)
{
	const char *asked = plan();

	hold_as(asked);
	add_late();
	look_again();
	assert_late_left();
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	run_stop(&run);
	look_again();
	assert_late_left();
	assert_rest_out();
	evacuate_as(""); /* a person lets it in */
	look_again();
	assert_group("late", "subnet-b1");
	cr_assert_str_eq(world_function(run.world, "tardy"), "subnet-b1");
	cr_assert_str_eq(hash(), asked, "of what was admitted");
	world_add_group(run.world, "later", "subnet-b1,subnet-a1", 1, NULL);
	evacuate_as(arena_printf(&arena, "sha256:%064d",
	                         0)); /* and closes it again, by whatever hash: it is not checked any more */
	look_again();
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	assert_refused("later", "PlanChanged");
	assert_group("late", "subnet-b1");
	run_stop(&run);
	look_again();
	assert_refused("later", "PlanChanged");
	assert_group("late", "subnet-b1");
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "it is gone");
	assert_group("late", "subnet-b1,subnet-a1");
	assert_group("later", "subnet-b1,subnet-a1");
	assert_group("web", "subnet-a1,subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
}

Test(plan_hash, a_node_that_comes_later_is_taken)
{
	hold_as(plan());
	world_add_node(run.world, &(struct world_node){"node-new", "use1-az1", false, NULL});
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, "node-new"));
}

Test(plan_hash, a_subnet_that_comes_later_stays)
{
	hold_as(plan());
	world_edit_group(run.world, "web", "subnet-a2,subnet-b1");
	look_again();
	assert_group("web", "subnet-a2,subnet-b1");
	assert_reason("web", "");
	world_edit_group(run.world, "web", "subnet-a1,subnet-a2,subnet-b1"); /* what was planned is taken out again */
	look_again();
	look_again();
	assert_group("web", "subnet-a2,subnet-b1");
	run_restore(&run);
	assert_group("web", "subnet-a2,subnet-a1,subnet-b1"); /* next to the neighbour that it had */
}

/* It was looked at, and then all of its subnets in the zone were others. */
static void move_web(struct world *world, void *context)
{
	(void)context;
	world_edit_group(world, "web", "subnet-a2,subnet-b1");
}

Test(plan_hash, a_resource_that_moves_behind_the_check_stays)
{
	evacuate_as(plan());
	while (json_count(json_path(world_evacuation(run.world, "out"), "metadata.finalizers")) == 0)
		run_for(&run, 1);
	move_web(run.world, NULL);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	assert_group("web", "subnet-a2,subnet-b1");
	assert_refused("web", "PlanChanged: subnet-a2 came after the plan");
	run_restore(&run);
	assert_group("web", "subnet-a2,subnet-b1");
}

/* Restarts. */

static bool begun(struct run *at)
{
	return json_count(json_path(world_evacuation(at->world, "out"), "metadata.finalizers")) > 0;
}

static void story_killed_at(unsigned n, enum world_kill when, unsigned *effects)
{
	const char *asked;

	begin(31);
	asked = plan();
	if (n > 0)
		world_kill_at(run.world, world_effects(run.world) + n, when);
	*effects = world_effects(run.world);
	evacuate_as(asked);
	run_must(&run, begun, 10 * MINUTE_MS, "it begins");
	add_late();
	run_must(&run, run_holding, 60 * MINUTE_MS, "it holds");
	look_again();
	assert_late_left();
	assert_rest_out();
	cr_assert_str_eq(hash(), asked);
	*effects = world_effects(run.world) - *effects;
	restore();
	teardown();
}

/* Whatever is there by then, the plan is carried out and nothing else. */
Test(plan_hash, killed_at_every_effect_it_is_carried_out_and_nothing_else)
{
	unsigned effects, ignored;

	teardown();
	story_killed_at(0, WORLD_KILL_BEFORE, &effects);
	cr_assert_gt(effects, 20);
	for (unsigned n = 1; n <= effects; n++)
		story_killed_at(n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER, &ignored);
	setup();
}

/* Killed every few effects: no life lasts long enough to write down what the one before it knew. */
Test(plan_hash, a_crash_loop_keeps_the_plan)
{
	unsigned deaths = 0;

	evacuate_as(plan());
	run_must(&run, begun, 10 * MINUTE_MS, "it begins");
	add_late();
	world_kill_at(run.world, world_effects(run.world) + 2, WORLD_KILL_AFTER);
	for (int i = 0; i < 400 && !run_holding(&run); i++) {
		run_for(&run, 10000);
		if (run.deaths > deaths)
			world_kill_at(run.world, world_effects(run.world) + 3, i % 2 ? WORLD_KILL_AFTER : WORLD_KILL_BEFORE);
		deaths = run.deaths;
	}
	cr_assert_gt(deaths, 5);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	look_again();
	assert_late_left();
	assert_rest_out();
	restore();
}

/* More than a status has room for: the hash proves that what is there now was planned. */
Test(plan_hash, a_plan_that_the_status_cannot_hold_is_known_again)
{
	char name[128];
	const char *asked;

	for (int i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "g%03d-%0100d", i, 0);
		world_add_group(run.world, name, "subnet-a1,subnet-b1", 0, NULL);
	}
	for (int i = 0; i < 240; i++) {
		(void)snprintf(name, sizeof(name), "f%03d-%050d", i, 0);
		world_add_function(run.world, name, "subnet-a1,subnet-b1", NULL);
	}
	asked = plan();
	cr_assert_gt(json_integer(run_status(&run, "changesOmitted"), 0), 0);
	evacuate_as(asked);
	run_must(&run, begun, 10 * MINUTE_MS, "it begins");
	run_to_calls(&run, "UpdateAutoScalingGroup", 8);
	run_stop(&run);
	run_to_calls(&run, "UpdateAutoScalingGroup", 8);
	run_for(&run, 30000);
	cr_assert_eq(json_integer(run_status(&run, "refused"), -1), 0, "%ld",
	             (long)json_integer(run_status(&run, "refused"), -1));
	cr_assert_str_eq(hash(), asked);
}

#define NOBODYS "sha256:0000000000000000000000000000000000000000000000000000000000000000"

/* It was begun without one, by this very process: nothing is put back because of a hash. */
Test(plan_hash, a_first_hash_while_it_holds_closes_it_and_is_not_checked)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	evacuate_as(NOBODYS);
	add_late();
	look_again();
	cr_assert_str_eq(world_phase(run.world, "out"), "Holding");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	assert_group("web", "subnet-b1");
	assert_refused("late", "PlanChanged");
	delete_late();
	restore();
}

/* Nodes are out, AWS has not been asked for anything else yet. */
static void begin_without_aws(void)
{
	world_aws_outage(run.world, 20 * MINUTE_MS);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 5 * MINUTE_MS);
	cr_assert(json_count(json_path(world_evacuation(run.world, "out"), "metadata.finalizers")) > 0);
}

Test(plan_hash, a_first_hash_while_only_nodes_are_out_names_the_rest)
{
	const char *asked = plan();
	begin_without_aws();
	evacuate_as(asked);
	run_for(&run, 60 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Holding");
	assert_group("web", "subnet-b1");
	restore();
}

Test(plan_hash, a_first_hash_of_another_plan_while_only_nodes_are_out_gives_none_of_them_back)
{
	begin_without_aws();
	evacuate_as(NOBODYS);
	run_for(&run, 60 * MINUTE_MS);
	cr_assert(json_count(json_path(world_evacuation(run.world, "out"), "metadata.finalizers")) > 0);
	assert_group("web", "subnet-a1,subnet-b1");
	assert_refused("web", "PlanChanged");
	restore();
}
