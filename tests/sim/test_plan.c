/*
 * A plan is told in its order and with its reasons, kept fresh, and changes nothing.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planning.h"

TestSuite(plan, .init = setup, .fini = teardown, .timeout = 600);

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

static void assert_refused(const char *name, const char *words)
{
	cr_assert_str_eq(run_state(&run, name), "Refused", "%s", name);
	cr_assert_not_null(strstr(run_reason(&run, name), words), "%s: %s", name, run_reason(&run, name));
}

static size_t position(const char *name)
{
	const struct json *changes = run_status(&run, "changes");
	size_t i = 0;

	while (i < json_count(changes) && strcmp(json_get_string(json_at(changes, i), "name"), name) != 0)
		i++;
	cr_assert_lt(i, json_count(changes), "%s is not listed", name);
	return i;
}

Test(plan, lists_what_it_refuses_and_then_what_it_does_in_its_order)
{
	const char *node = arena_string(&arena, world_group_node(run.world, "workers", "use1-az1", 0));

	world_add_group(run.world, "single", "subnet-a1", 1, NULL);
	world_add_group(run.world, "capacity", "subnet-a1,subnet-b1", 1, "AmazonECSManaged=");
	plan();
	look_again();
	cr_assert_eq(position("single"), 0);
	cr_assert_eq(position(node), 1);
	cr_assert_geq(position("workers"), json_count(run_status(&run, "changes")) - 2, "it waits for its node");
	cr_assert_geq(position("capacity"), json_count(run_status(&run, "changes")) - 2, "it waits for services");
	assert_reason("capacity", "waits until the services are out");
	assert_refused("single", "LastSubnet: ");
	assert_reason("workers", "waits for 1 of its nodes");
	cr_assert_not_null(strstr(run_message(&run, "Ready"), "planned: 8 would be changed, 1 refused; about "), "%s",
	                   run_message(&run, "Ready"));
	cr_assert_not_null(
		strstr(run_message(&run, "Ready"), "at the services' quotas, and what draining and settling take"));
}

Test(plan, says_what_a_person_overrides)
{
	run.spec_more =
		",\"guards\":{\"minRemainingZones\":2,\"allow\":[{\"guard\":\"MinRemainingZones\",\"reason\":\"small\"},"
		"{\"guard\":\"NodesNotDrained\",\"reason\":\"stateless\",\"matchNames\":[\"workers\"]}]}";
	plan();
	look_again();
	cr_assert_str_eq(run_reason(&run, "workers"),
	                 "MinRemainingZones overridden: small; NodesNotDrained overridden: stateless");
	cr_assert_str_eq(run_reason(&run, "web"), "MinRemainingZones overridden: small");
	run.spec_more = NULL;
	plan();
	cr_assert_str_eq(run_reason(&run, "web"), "", "no longer needed");
}

Test(plan, changes_nothing_anywhere)
{
	plan();
	look_again();
	run_stop(&run);
	look_again();
	assert_untouched();
	world_delete_evacuation(run.world, "out");
	cr_assert_null(world_evacuation(run.world, "out"));
	cr_assert_str_eq(world_fingerprint(run.world, &arena), before);
}

/* Whoever is to make the journal's table makes it when there is something to be written. */
Test(plan, makes_no_table)
{
	teardown();
	run_init(&run, 29);
	arena_init(&arena, "test", 256 * 1024 * 1024);
	world_add_zone(run.world, "use1-az1", "us-east-1c");
	world_add_zone(run.world, "use1-az2", "us-east-1a");
	world_add_subnet(run.world, "subnet-a1", "use1-az1");
	world_add_subnet(run.world, "subnet-b1", "use1-az2");
	world_add_group(run.world, "web", "subnet-a1,subnet-b1", 2, NULL);
	run.settings.create_table = true;
	run.targets = RUN_ALL_GROUPS;
	plan();
	look_again();
	cr_assert_eq(world_calls(run.world, "CreateTable"), 0);
	cr_assert_not(run_stalled(&run));
	run.spec_more = NULL;
	run_hold(&run);
	cr_assert_eq(world_calls(run.world, "CreateTable"), 1);
	assert_group("web", "subnet-b1");
}

Test(plan, is_kept_fresh)
{
	const char *first = plan();

	world_add_group(run.world, "late", "subnet-a1,subnet-b1", 1, NULL);
	look_again();
	cr_assert_str_eq(run_state(&run, "late"), "Planned");
	cr_assert_str_neq(hash(), first, "one more");
	world_delete_group(run.world, "late");
	look_again();
	cr_assert_str_eq(run_state(&run, "late"), "", "it is not listed any more");
	cr_assert_str_eq(hash(), first, "as it was");
	world_edit_group(run.world, "web", "subnet-a1,subnet-a2,subnet-b1");
	look_again();
	cr_assert_str_neq(hash(), first, "one more subnet");
	cr_assert_eq(json_count(json_get(json_at(run_status(&run, "changes"), position("web")), "removed")), 2);
	world_edit_group(run.world, "web", "subnet-b1");
	look_again();
	cr_assert_str_eq(run_state(&run, "web"), "", "it has left the zone by itself");
	world_edit_group(run.world, "web", "subnet-b1,subnet-a1");
	look_again();
	cr_assert_str_eq(run_state(&run, "web"), "Planned");
	cr_assert_str_eq(hash(), first, "order is no difference");
	world_tag_group(run.world, "web", "zonevac.dev/exclude=true");
	look_again();
	cr_assert_str_eq(run_state(&run, "web"), "");
	cr_assert_str_neq(hash(), first, "one less");
	assert_untouched();
}

Test(plan, has_no_hash_before_it_is_whole)
{
	const char *first = plan();

	world_service_outage(run.world, "ecs", 8 * MINUTE_MS, WORLD_ERROR_BEFORE);
	look_again();
	cr_assert_str_eq(hash(), "");
	cr_assert(run_stalled(&run));
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(hash(), first);
	cr_assert_not(run_stalled(&run));
	run_stop(&run);
	world_service_outage(run.world, "dynamodb", 3 * MINUTE_MS, WORLD_REFUSE);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Planned", "nobody waits for the journal");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "JournalUnreachable");
	cr_assert_str_eq(hash(), "", "what is held already is not known");
	look_again();
	cr_assert_not(run_stalled(&run));
	cr_assert_str_eq(hash(), first);
}

Test(plan, of_another_generation_is_not_told)
{
	const char *first = plan();

	run_for(&run, MINUTE_MS);
	run.targets = RUN_ALL_GROUPS;
	run_evacuate(&run, "out", "use1-az1", "Plan");
	while (json_integer(run_status(&run, "observedGeneration"), 0) < 2)
		run_for(&run, 10);
	cr_assert_str_neq(hash(), first);
	run_for(&run, MINUTE_MS);
	cr_assert_str_neq(hash(), first);
	cr_assert_str_neq(hash(), "");
}

/* How long it takes. */

static bool begun(struct run *at)
{
	return json_count(json_path(world_evacuation(at->world, "out"), "metadata.finalizers")) > 0;
}

static bool all_updated(struct run *at)
{
	return world_calls(at->world, "UpdateAutoScalingGroup") >= 201 && world_calls(at->world, "UpdateService") >= 62 &&
	       world_calls(at->world, "UpdateFunctionConfiguration") >= 62;
}

Test(plan, it_takes_as_long_as_it_says)
{
	char name[16];
	struct instant began;
	double estimated_s, took_s;

	for (int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "g%03d", i);
		world_add_group(run.world, name, "subnet-a1,subnet-b1", 1, NULL);
	}
	for (int i = 0; i < 60; i++) {
		(void)snprintf(name, sizeof(name), "s%03d", i);
		world_add_service(run.world, "shop", name, "subnet-a1,subnet-b1", 1, NULL);
		(void)snprintf(name, sizeof(name), "f%03d", i);
		world_add_function(run.world, name, "subnet-a1,subnet-b1", NULL);
	}
	plan();
	estimated_s = (double)json_integer(run_status(&run, "estimatedSeconds"), -1);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, begun, MINUTE_MS, "it begins");
	began = world_now(run.world);
	run_must(&run, all_updated, 10 * MINUTE_MS, "all are changed");
	took_s = (double)instant_between_ms(began, world_now(run.world)) / 1000;
	cr_assert(took_s >= 0.5 * estimated_s && took_s <= 1.5 * estimated_s, "estimated %.0f s, took %.1f s", estimated_s,
	          took_s);
}
