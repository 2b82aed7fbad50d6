/*
 * What people do while a zone is held: tags, labels, edits of the object, hands on a node.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 7);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(people, .init = setup, .fini = teardown, .timeout = 120);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)
#define assert_node(name, tainted, cordoned)                                                \
	do {                                                                                    \
		cr_assert_eq(world_node_tainted(run.world, name), tainted, "taint of %s", name);    \
		cr_assert_eq(world_node_cordoned(run.world, name), cordoned, "cordon of %s", name); \
	} while (0)

static bool has_annotation(const char *node)
{
	const struct json *annotations = json_path(world_node(run.world, node), "metadata.annotations");
	return json_get_string(annotations, "zonevac.dev/evacuated") != NULL;
}

/* exclude */

Test(people, a_group_tagged_exclude_while_held_is_put_back_and_left)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_tag_group(run.world, "web", "team=web,zonevac.dev/exclude=true");
	run_for(&run, 10 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_str_eq(run_record_state(&run, "web"), "");
	run_for(&run, 30 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-c1");
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(people, a_group_whose_exclude_tag_is_taken_off_again_is_taken_again)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_tag_group(run.world, "web", "team=web,zonevac.dev/exclude=true");
	run_for(&run, 10 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	world_tag_group(run.world, "web", "team=web");
	run_for(&run, 15 * MINUTE_MS);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Settled");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(people, a_node_labelled_exclude_while_held_is_put_back_and_left)
{
	run_add_region(&run);
	run_hold(&run);
	world_label_node(run.world, "node-a1", "zonevac.dev/exclude", "true");
	world_label_node(run.world, "node-a2", "zonevac.dev/exclude", "true");
	run_for(&run, 10000);
	assert_node("node-a1", false, false);
	assert_node("node-a2", false, true);
	cr_assert_not(has_annotation("node-a1") || has_annotation("node-a2"));
	run_for(&run, 30 * MINUTE_MS);
	assert_node("node-a1", false, false);
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	run_restore(&run);
	assert_node("node-a1", false, false);
	assert_node("node-a2", false, true);
	cr_assert_eq(world_records(run.world), 0);
}

static bool web_failed(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "web"), "Failed") == 0;
}

Test(people, a_group_that_failed_and_is_tagged_exclude_then_is_not_taken)
{
	run_add_small_region(&run);
	for (unsigned i = 1; i <= 10; i++)
		world_fault(run.world, "PutItem", i, WORLD_ERROR_BEFORE);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, web_failed, MINUTE_MS, "web failed");
	world_tag_group(run.world, "web", "zonevac.dev/exclude=true");
	run_for(&run, 30 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_str_neq(world_change_state(run.world, "out", "web"), "Failed");
	run_restore(&run);
	assert_group("web", "subnet-a1,subnet-b1");
}

/* The object is edited. */

static const char *observed_generation(void)
{
	const struct json *object = world_evacuation(run.world, "out");
	return arena_printf(&arena, "%lld of %lld",
	                    (long long)json_integer(json_path(object, "status.observedGeneration"), 0),
	                    (long long)json_integer(json_path(object, "metadata.generation"), 0));
}

/* Groups are added to the targets while DescribeSubnets is on its way, and its answer is lost. */
Test(people, targets_edited_during_an_observation_are_observed_anew_at_once)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_must(&run, run_holding, 30 * MINUTE_MS, "nodes are held");
	run_for(&run, MINUTE_MS);
	world_fault(run.world, "DescribeSubnets", 1, WORLD_LOSE_REPLY);
	run_to_calls(&run, "DescribeSubnets", 1);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 1000);
	cr_assert_str_neq(world_condition(run.world, "out", "Evacuated", NULL), "True", "nobody looked at groups yet");
	cr_assert_not(run_holding(&run), "nobody looked at groups yet");
	run_for(&run, MINUTE_MS);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_str_eq(observed_generation(), "2 of 2");
	run_must(&run, run_holding, 30 * MINUTE_MS, "groups are held");
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "restored");
}

static void make_invalid(void)
{
	world_apply(run.world,
	            "{\"metadata\":{\"name\":\"out\"},\"spec\":{\"zoneId\":\"use1-az1\",\"colour\":\"red\",\"targets\":"
	            "[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}}]}}");
	run_for(&run, 5000);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "InvalidSpec");
}

Test(people, an_object_made_invalid_keeps_its_zone_and_what_it_holds_and_is_restored)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	make_invalid();
	run_evacuate(&run, "second", "use1-az2", "Evacuate");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "second"), "OtherZone");
	assert_node("node-b1", false, false);
	assert_group("db", "subnet-b1,subnet-c1");
	assert_node("node-a1", true, true);
	assert_group("web", "subnet-b1,subnet-c1");
	run_restore(&run);
	world_delete_evacuation(run.world, "second");
	run_for(&run, 5000);
	run_assert_as_before(&run, before, "restored, although it was invalid");
}

Test(people, an_object_that_is_invalid_is_restored_by_another_process_too)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	make_invalid();
	run_stop(&run);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "restored, although it was invalid");
}

Test(people, an_object_that_is_mended_holds_again)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	make_invalid();
	run_hold(&run);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "True");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

/* Hands on a node. */

static void strip_both(void)
{
	world_strip_node(run.world, "node-a1");
	world_strip_node(run.world, "node-a2");
}

Test(people, a_node_stripped_by_a_person_is_taken_again_and_is_what_it_was_in_the_end)
{
	run_add_region(&run);
	run_hold(&run);
	strip_both();
	run_for(&run, 10000);
	assert_node("node-a1", true, true);
	assert_node("node-a2", true, true);
	cr_assert(has_annotation("node-a1") && has_annotation("node-a2"));
	run_restore(&run);
	assert_node("node-a1", false, false);
	assert_node("node-a2", false, true);
	cr_assert_not(has_annotation("node-a1") || has_annotation("node-a2"));
}

/* The process that knew the node before has ended: the copy in the journal knows it. */
Test(people, a_node_stripped_while_no_controller_runs_is_what_it_was_in_the_end)
{
	run_add_region(&run);
	run_hold(&run);
	run_for(&run, MINUTE_MS);
	run_stop(&run);
	strip_both();
	run_for(&run, MINUTE_MS);
	assert_node("node-a1", true, true);
	run_restore(&run);
	assert_node("node-a1", false, false);
	assert_node("node-a2", false, true);
}

Test(people, a_node_made_anew_from_a_dump_while_held_is_restored)
{
	run_add_region(&run);
	run_hold(&run);
	world_recreate_node(run.world, "node-a1");
	run_for(&run, 10000);
	assert_node("node-a1", true, true);
	run_restore(&run);
	assert_node("node-a1", false, false);
	cr_assert_not(has_annotation("node-a1"));
	cr_assert_eq(world_records(run.world), 0);
}

Test(people, a_node_made_anew_from_a_dump_while_no_controller_runs_is_restored)
{
	run_add_region(&run);
	run_hold(&run);
	run_stop(&run);
	world_recreate_node(run.world, "node-a1");
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	assert_node("node-a1", false, false);
	cr_assert_not(has_annotation("node-a1"));
	cr_assert_eq(world_records(run.world), 0);
}

/* abandon */

Test(people, an_object_is_let_go_by_its_own_uid)
{
	run_add_region(&run);
	run_hold(&run);
	world_allow_orphans(run.world);
	world_annotate_evacuation(run.world, "out", "zonevac.dev/abandon", world_evacuation_uid(run.world, "out"));
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 10 * MINUTE_MS, "gone");
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled", "the journal knows what is out");
}

Test(people, a_uid_that_came_with_a_template_lets_nothing_go)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	world_annotate_evacuation(run.world, "out", "zonevac.dev/abandon", "99999999-0000-4000-8000-000000000001");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

/* Finalizers */

static bool has_finalizer(const char *finalizer)
{
	struct string_list all = json_strings(json_path(world_evacuation(run.world, "out"), "metadata.finalizers"), &arena);
	return string_list_has(&all, finalizer);
}

static bool ours_is_off(struct run *at)
{
	(void)at;
	return !has_finalizer("zonevac.dev/recovery");
}

Test(people, finalizers_of_others_stay)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	world_add_finalizer(run.world, "out", "example.com/first");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds");
	cr_assert(has_finalizer("example.com/first") && has_finalizer("zonevac.dev/recovery"));
	world_add_finalizer(run.world, "out", "example.com/last");
	world_delete_evacuation(run.world, "out");
	run_must(&run, ours_is_off, 30 * MINUTE_MS, "ours is off");
	cr_assert(has_finalizer("example.com/first") && has_finalizer("example.com/last"));
	run_for(&run, 10 * MINUTE_MS);
	world_wipe_evacuation(run.world, "out");
	run_assert_as_before(&run, before, "restored");
}

/* An object that is deleted before its finalizer stands vanishes at once. */
Test(people, nothing_is_done_before_the_finalizer_stands)
{
	run_add_region(&run);
	for (unsigned n = 1; n <= 5; n++)
		world_fault(run.world, "PATCH zonalevacuations", n, WORLD_REFUSE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds, once it stands");
	run_restore(&run);
}
