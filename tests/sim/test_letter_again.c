/*
 * One zone again: the same evacuation twice, and one that takes over from another.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void begin(uint64_t seed)
{
	run_init(&run, seed);
	run_add_small_region(&run);
	world_add_group(run.world, "api", "subnet-b1,subnet-a1,subnet-a2", 1, NULL);
	before = world_fingerprint(run.world, &arena);
}

static void setup(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
	begin(61);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(letter_again, .init = setup, .fini = teardown, .timeout = 240);

static bool holds(const char *name)
{
	return strcmp(world_phase(run.world, name), "Holding") == 0;
}

static bool gone(const char *name)
{
	return world_evacuation(run.world, name) == NULL;
}

static bool next_holds(struct run *at)
{
	(void)at;
	return holds("next");
}

static bool next_is_gone(struct run *at)
{
	(void)at;
	return gone("next");
}

static bool third_holds(struct run *at)
{
	(void)at;
	return holds("third");
}

static void assert_out(const char *what)
{
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1", "%s", what);
	cr_assert_str_eq(world_group(run.world, "api"), "subnet-b1", "%s", what);
	cr_assert(world_node_tainted(run.world, "node-a1"), "%s", what);
}

Test(letter_again, under_its_own_name_and_under_another_as_often_as_one_likes)
{
	static const char *const names[] = {"out", "out", "next", "out", "next"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		run_evacuate(&run, names[i], "use1-az1", "Evacuate");
		run_must(&run, strcmp(names[i], "out") == 0 ? run_holding : next_holds, 5 * MINUTE_MS, names[i]);
		assert_out(names[i]);
		world_delete_evacuation(run.world, names[i]);
		run_must(&run, strcmp(names[i], "out") == 0 ? run_gone : next_is_gone, 5 * MINUTE_MS, names[i]);
		run_assert_as_before(&run, before, names[i]);
	}
}

/* Nothing comes back while one hands over to the other, not even for a moment. */
static void hand_over(const char *what)
{
	struct instant limit = instant_after(world_now(run.world), 15 * MINUTE_MS);

	while (!gone("out") || !holds("next")) {
		run_for(&run, 50);
		assert_out(what);
		cr_assert_not(instant_reached(limit, world_now(run.world)), "%s: out %s, next %s", what,
		              world_phase(run.world, "out"), world_phase(run.world, "next"));
	}
}

static const struct {
	const char *what;
	const char *first;
	const char *next;
} SELECTIONS[] = {
	{"the same", RUN_NODES_AND_GROUPS(""), RUN_NODES_AND_GROUPS("")},
	{"less", RUN_NODES_AND_GROUPS(""), "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"web\"]}}]"},
	{"no nodes", RUN_NODES_AND_GROUPS(""), RUN_ALL_GROUPS},
	{"no groups", RUN_NODES_AND_GROUPS(""), RUN_ALL_NODES},
};

/* Killed where `n` says, counted from the deletion; 0 = not at all. How many effects it took. */
static unsigned take_over(size_t selection, unsigned n, enum world_kill when)
{
	const char *what = SELECTIONS[selection].what;
	unsigned effects;

	run_apply(&run, "out", "use1-az1", SELECTIONS[selection].first);
	run_must(&run, run_holding, 5 * MINUTE_MS, what);
	run_apply(&run, "next", "use1-az1", SELECTIONS[selection].next);
	run_for(&run, 3000);
	cr_assert_str_eq(run_stalled_because(&run, "next"), "ZoneTaken");
	effects = world_effects(run.world);
	if (n > 0)
		world_kill_at(run.world, effects + n, when);
	world_delete_evacuation(run.world, "out");
	hand_over(what);
	cr_assert_eq(run.deaths, n > 0, "%s", what);
	effects = world_effects(run.world) - effects;
	run_for(&run, 6 * MINUTE_MS);
	assert_out(what);
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_is_gone, 15 * MINUTE_MS, what);
	run_assert_as_before(&run, before, what);
	return effects;
}

Test(letter_again, whoever_takes_over_may_be_killed_at_each_effect)
{
	unsigned effects;

	for (size_t i = 0; i < sizeof(SELECTIONS) / sizeof(SELECTIONS[0]); i++) {
		effects = take_over(i, 0, WORLD_KILL_BEFORE);
		cr_assert_geq(effects, 3, "%u: the finalizer on, the other off, a status", effects);
		for (unsigned n = 1; n < effects; n++) {
			run_done(&run);
			begin(61);
			(void)take_over(i, n, (n + i) % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
		}
		run_done(&run);
		begin(61);
	}
}

/* It selects more: what the first one left alone is taken out then, and the rest stays out. */
Test(letter_again, a_successor_that_selects_more_takes_more)
{
	run_apply(&run, "out", "use1-az1", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"web\"]}}]");
	run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_for(&run, 3000);
	cr_assert_str_eq(world_group(run.world, "api"), "subnet-b1,subnet-a1,subnet-a2");
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	world_delete_evacuation(run.world, "out");
	run_must(&run, next_holds, 5 * MINUTE_MS, "the next one holds");
	assert_out("more");
	cr_assert(run_gone(&run));
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup") - updates, 1, "api alone");
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_is_gone, 5 * MINUTE_MS, "it is gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_again, a_plan_is_no_successor)
{
	run_hold(&run);
	run_evacuate(&run, "next", "use1-az1", "Plan");
	run_for(&run, 3000);
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	run_evacuate(&run, "next", "use1-az1", "Evacuate"); /* it becomes an evacuation */
	run_must(&run, next_holds, 5 * MINUTE_MS, "holds");
	assert_out("a plan that became one");
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_is_gone, 5 * MINUTE_MS, "it is gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_again, the_older_of_two_successors_comes_first)
{
	run_hold(&run);
	run_for(&run, 1000);
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_for(&run, 2000);
	run_evacuate(&run, "third", "use1-az1", "Evacuate");
	run_for(&run, 2000);
	world_delete_evacuation(run.world, "out");
	hand_over("the second");
	cr_assert_str_eq(run_stalled_because(&run, "third"), "ZoneTaken");
	cr_assert_eq(json_count(json_path(world_evacuation(run.world, "third"), "metadata.finalizers")), 0);
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	world_delete_evacuation(run.world, "next");
	run_must(&run, third_holds, 5 * MINUTE_MS, "the third holds");
	run_must(&run, next_is_gone, 5 * MINUTE_MS, "the second is gone");
	assert_out("the third");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
	world_delete_evacuation(run.world, "third");
	run_for(&run, 5 * MINUTE_MS);
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_again, two_that_are_deleted_at_once_leave_it_to_the_third)
{
	for (unsigned ms = 0; ms <= 400; ms += 40) { /* between the two deletions */
		run_hold(&run);
		run_evacuate(&run, "next", "use1-az1", "Evacuate");
		run_for(&run, 2000);
		run_evacuate(&run, "third", "use1-az1", "Evacuate");
		run_for(&run, 2000);
		unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
		world_delete_evacuation(run.world, "out");
		run_for(&run, ms);
		world_delete_evacuation(run.world, "next");
		run_must(&run, third_holds, 5 * MINUTE_MS, "the third holds");
		run_must(&run, run_gone, MINUTE_MS, "the first is gone");
		run_must(&run, next_is_gone, MINUTE_MS, "the second is gone");
		assert_out("the third");
		cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
		world_delete_evacuation(run.world, "third");
		run_for(&run, 5 * MINUTE_MS);
		run_assert_as_before(&run, before, "in the end");
	}
}

/* The successor is deleted in the midst of taking over, and nobody is left who wants the zone. */
Test(letter_again, a_successor_that_is_deleted_at_once_gives_back_what_it_took_over)
{
	for (unsigned ms = 0; ms <= 600; ms += 60) {
		run_hold(&run);
		run_evacuate(&run, "next", "use1-az1", "Evacuate");
		run_for(&run, 2000);
		world_delete_evacuation(run.world, "out");
		run_for(&run, ms);
		world_delete_evacuation(run.world, "next");
		run_for(&run, 5 * MINUTE_MS);
		cr_assert(gone("out") && gone("next"), "out %s, next %s", world_phase(run.world, "out"),
		          world_phase(run.world, "next"));
		run_assert_as_before(&run, before, "in the end");
	}
}

/* It is refused as a whole: so nobody takes over, and the first one is put back. */
Test(letter_again, a_successor_that_is_refused_is_none)
{
	run_hold(&run);
	run.spec_more = ",\"guards\":{\"maxNodesPercent\":1}";
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_for(&run, 3000);
	run_restore(&run);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "next"), "MaxNodesPercent");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	world_delete_evacuation(run.world, "next");
	run_for(&run, 1000);
	run_assert_as_before(&run, before, "in the end");
}

/* An update of the first one is in the air when it is deleted, and lands when its successor is gone, too. */
static void late_update_across_a_hand_over(unsigned late_updates)
{
	world_set_late(run.world, 4 * MINUTE_MS);
	for (unsigned n = 1; n <= late_updates; n++)
		world_fault(run.world, "UpdateAutoScalingGroup", n, WORLD_LATE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	world_delete_evacuation(run.world, "out");
	run_must(&run, next_holds, 3 * MINUTE_MS, "the next one holds");
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_is_gone, 15 * MINUTE_MS, "it is gone");
	world_advance(run.world, 10 * MINUTE_MS);
	run_assert_as_before(&run, before, "after the late updates have landed");
}

Test(letter_again, an_update_of_the_first_one_lands_after_its_successor_is_gone)
{
	late_update_across_a_hand_over(1);
}

Test(letter_again, two_updates_of_the_first_one_land_after_its_successor_is_gone)
{
	late_update_across_a_hand_over(2);
}

/* The first one is giving up the zone when its successor comes, and that write lands when the successor has found the zone registered. */
Test(letter_again, a_zone_that_is_given_up_late_stays_its_successors)
{
	world_delete_group(run.world, "api");
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
	world_set_late(run.world, MINUTE_MS);
	world_fault(run.world, "UpdateItem", 2, WORLD_LATE); /* the first says that web goes back */
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateItem", 2);
	run_apply(&run, "next", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, next_holds, 5 * MINUTE_MS, "the next one holds");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	world_delete_evacuation(run.world, "next");
	run_must(&run, next_is_gone, 5 * MINUTE_MS, "it is gone");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	cr_assert_eq(world_records(run.world), 0);
}
