/*
 * Ends that nobody waits for: an evacuation expires while nobody is there, is let go without being put back, or leaves records behind that no object
 * accounts for.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
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
	begin(31);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(letter_ends, .init = setup, .fini = teardown, .timeout = 240);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static bool restored(struct run *at)
{
	return strcmp(world_phase(at->world, "out"), "Restored") == 0;
}

static void expire_after(const char *seconds)
{
	run.spec_more = arena_printf(&arena, ",\"expiresAfterSeconds\":%s", seconds);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
}

static void assert_out(void)
{
	assert_group("web", "subnet-b1");
	assert_group("api", "subnet-b1");
	cr_assert(world_node_tainted(run.world, "node-a1"));
}

/* As it was, but for the object, which is deleted then. */
static void assert_back(const char *what)
{
	cr_assert_eq(world_records(run.world), 0, "%s", what);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0, "%s", what);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 1000);
	run_assert_as_before(&run, before, what);
}

/* Expiry. */

Test(letter_ends, a_time_that_is_edited_counts_from_the_first_change)
{
	static const struct {
		const char *first;
		int minutes; /* held so long before the edit */
		const char *then;
		int holds; /* minutes after the edit, at the least; 0 = it is put back at once */
		bool ends;
	} edits[] = {
		{"3600", 20, "600", 0, true}, {"600", 8, "1800", 18, true}, {"600", 8, "0", 60, false},
		{"0", 30, "1200", 0, true},   {"0", 5, "1200", 12, true},
	};

	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		expire_after(edits[i].first);
		run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
		run_for(&run, edits[i].minutes * MINUTE_MS);
		cr_assert(run_holding(&run), "%zu", i);
		expire_after(edits[i].then);
		run_for(&run, edits[i].holds * MINUTE_MS + 2000);
		cr_assert_eq(run_holding(&run), edits[i].holds > 0, "%zu: %s", i, world_phase(run.world, "out"));
		if (edits[i].ends)
			run_must(&run, restored, 15 * MINUTE_MS, "it is put back");
		else
			run_restore(&run);
		assert_back("edited");
		run_done(&run);
		begin(40 + i);
	}
}

/* Once it goes back it goes back, whatever is edited then and whoever goes on with it. */
static void edited_while_it_goes_back(bool restart)
{
	expire_after("300");
	run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
	world_service_outage(run.world, "autoscaling", 10 * MINUTE_MS, WORLD_ERROR_BEFORE);
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Restoring");
	expire_after("86400");
	run_for(&run, 2000);
	if (restart)
		run_stop(&run);
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, "out"), "Restoring");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	run_must(&run, restored, 60 * MINUTE_MS, "it is put back");
	assert_back("edited while it went back");
}

Test(letter_ends, a_longer_time_comes_too_late_while_it_goes_back)
{
	edited_while_it_goes_back(false);
}

Test(letter_ends, a_longer_time_comes_too_late_for_the_next_process_too)
{
	edited_while_it_goes_back(true);
}

/* The process dies at its first effects, and nobody is there until long after the time: it is put back, and nothing more is taken out. */
Test(letter_ends, its_time_counts_from_the_first_change_even_if_its_process_died_right_then)
{
	for (unsigned n = 2; n <= 12; n++) {
		expire_after("600");
		world_kill_at(run.world, n, WORLD_KILL_BEFORE);
		while (run.deaths == 0)
			run_for(&run, 10);
		bool began = world_node_tainted(run.world, "node-a1");
		unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
		world_advance(run.world, 60 * MINUTE_MS);
		if (began)
			run_must(&run, restored, 8 * MINUTE_MS, "it is put back, and not held for another ten minutes");
		if (began && strcmp(world_group(run.world, "web"), "subnet-a1,subnet-b1") == 0)
			cr_assert_leq(world_calls(run.world, "UpdateAutoScalingGroup") - updates, updates,
			              "%u: nothing is taken out", n);
		run_must(&run, restored, 60 * MINUTE_MS, "it is put back");
		assert_back("died at its first effects");
		run_done(&run);
		begin(50 + n);
	}
}

/* Orphans. */

/* What /metrics says; -1 = nothing (yet). */
static int orphans(void)
{
	struct text text;
	text_init(&text, 1 << 20);
	engine_print_metrics(run.engine, &text);
	const char *line = strstr(text_take(&text, &arena), "\nzonevac_orphans ");
	return line != NULL ? atoi(line + strlen("\nzonevac_orphans ")) : -1;
}

Test(letter_ends, records_without_an_object_are_reported_and_left)
{
	run_hold(&run);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_eq(orphans(), 0);
	world_allow_orphans(run.world);
	world_wipe_evacuation(run.world, "out");
	run_for(&run, 5000);
	cr_assert_eq(orphans(), 3, "web, api, and the node's copy: at once");
	run_stop(&run);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_eq(orphans(), 3, "another process finds them");
	run_evacuate(&run, "out", "use1-az1", "Plan");
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(orphans(), 3, "a plan accounts for nothing");
	assert_out();
	world_put_item(run.world, "{\"zoneId\":{\"S\":\"use1-az2\"},\"resourceId\":{\"S\":\"x\"},\"note\":{\"S\":\"x\"}}");
	world_join(run.world, "use1-az1", "another-cluster");
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(orphans(), 3, "shared ones are ours, too");
	world_leave(run.world, "use1-az1", "another-cluster");
	world_delete_item(run.world, "use1-az2", "x");
	assert_out();
	run_hold(&run);
	cr_assert_eq(orphans(), 0, "somebody accounts for them");
	run_restore(&run);
	run_for(&run, 10000);
	cr_assert_eq(orphans(), 0);
	run_assert_as_before(&run, before, "in the end");
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(orphans(), 0);
}

Test(letter_ends, another_owners_records_are_no_orphans_and_without_a_journal_there_are_none)
{
	run_hold(&run);
	world_join(run.world, "use1-az1", "another-cluster");
	run_restore(&run);
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(world_records(run.world), 2);
	cr_assert_eq(orphans(), 0);
	run_done(&run);
	run_init(&run, 5);
	world_add_zone(run.world, "use1-az1", "us-east-1c");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_eq(orphans(), 0, "no table");
	cr_assert_eq(world_calls(run.world, "CreateTable"), 0);
	world_aws_outage(run.world, 20 * MINUTE_MS);
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_eq(orphans(), 0, "what cannot be read says nothing new");
}

/* Abandon. */

static void annotate(const char *uid)
{
	world_annotate_evacuation(run.world, "out", "zonevac.dev/abandon", uid);
}

static void abandon(void)
{
	world_allow_orphans(run.world);
	annotate(world_evacuation_uid(run.world, "out"));
}

Test(letter_ends, only_its_own_uid_on_one_that_is_deleted_lets_it_go)
{
	run_hold(&run);
	annotate("99999999-0000-0000-0000-000000000000");
	run_for(&run, 10 * MINUTE_MS);
	assert_out();
	cr_assert(run_holding(&run));
	run_restore(&run); /* the annotation in a template means nothing */
	run_assert_as_before(&run, before, "another's uid");
	run_hold(&run);
	annotate(world_evacuation_uid(run.world, "out"));
	run_for(&run, 10 * MINUTE_MS);
	assert_out(); /* and the right one nothing, before it is deleted */
	world_allow_orphans(run.world);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, MINUTE_MS, "it is let go");
	run_for(&run, 15 * MINUTE_MS);
	assert_out();
	cr_assert_eq(orphans(), 3, "web, api, and the node's copy");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "the zone stays ours");
}

Test(letter_ends, one_that_has_not_begun_goes_freely_abandoned_or_not)
{
	world_aws_outage(run.world, 30 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_for(&run, 30000);
	annotate(world_evacuation_uid(run.world, "out"));
	world_delete_evacuation(run.world, "out");
	cr_assert(run_gone(&run));
	run_for(&run, 40 * MINUTE_MS);
	run_assert_as_before(&run, before, "nothing was begun");
}

/* Whatever it was doing: nothing new is begun, and what is left is taken over by a new object, and given back by it. */
static void abandoned_after(unsigned effects, bool deleted_first, bool same_name, bool restart)
{
	const char *next = same_name ? "out" : "next";

	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_effects(run.world) < effects)
		run_for(&run, 1);
	if (deleted_first) {
		world_delete_evacuation(run.world, "out");
		run_for(&run, 300);
	}
	if (!run_gone(&run)) {
		abandon();
		world_delete_evacuation(run.world, "out");
		run_must(&run, run_gone, MINUTE_MS, "it is let go");
	}
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	run_for(&run, MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates, "nothing more is done");
	if (restart)
		run_stop(&run);
	run_evacuate(&run, next, "use1-az1", "Evacuate");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(world_phase(run.world, next), "Holding", "after %u effects", effects);
	assert_out();
	world_delete_evacuation(run.world, next);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_null(world_evacuation(run.world, next));
	run_assert_as_before(&run, before, "abandoned, taken over and put back");
}

Test(letter_ends, what_an_abandoned_one_left_is_taken_over_and_put_back)
{
	for (unsigned effects = 1; effects <= 20; effects += 2) {
		abandoned_after(effects, effects % 4 == 1, effects % 3 == 0, effects % 5 == 0);
		run_done(&run);
		begin(70 + effects);
	}
}

/* The API server refuses for a while to take the finalizer off: meanwhile nothing more is done, in either direction. */
static void add_many(void)
{
	for (int i = 0; i < 10; i++)
		world_add_group(run.world, arena_printf(&arena, "many-%d", i), "subnet-a1,subnet-b1", 1, NULL);
}

static void abandon_for_long(void)
{
	for (unsigned n = 1; n <= 8; n++)
		world_fault(run.world, "PATCH zonalevacuations", n, WORLD_ERROR_BEFORE);
	abandon();
	world_delete_evacuation(run.world, "out");
	run_for(&run, 200); /* it is seen, and what is in flight comes in */
}

static void assert_let_go(void)
{
	cr_assert_not(run_gone(&run));
	run_must(&run, run_gone, 5 * MINUTE_MS, "it is let go");
	run_for(&run, 2000);
	cr_assert_gt(orphans(), 0);
}

Test(letter_ends, abandoned_while_it_takes_out_it_takes_out_nothing_more)
{
	add_many();
	for (unsigned n = 1; n <= 10; n++)
		world_fault(run.world, "PutItem", n, WORLD_SLOW);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_to_calls(&run, "PutItem", 5);
	abandon_for_long();
	run_for(&run, 30000);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0, "intents stand, and nothing follows them");
	assert_let_go();
}

Test(letter_ends, abandoned_while_it_puts_back_it_puts_back_nothing_more)
{
	add_many();
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 10 * MINUTE_MS, "it holds");
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	abandon_for_long();
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	unsigned closed = world_calls(run.world, "DeleteItem");
	run_for(&run, 2000);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
	cr_assert_eq(world_calls(run.world, "DeleteItem"), closed);
	assert_let_go();
}

/* Thought better of in time. */
Test(letter_ends, one_that_is_abandoned_no_longer_is_put_back)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	abandon_for_long();
	annotate("");
	run_must(&run, run_gone, 10 * MINUTE_MS, "it is gone");
	run_for(&run, 1000);
	run_assert_as_before(&run, before, "in the end");
}

/* An update of it is still in the air, and lands long after. */
static void late_update_of_an_abandoned_one(bool restart)
{
	world_set_late(run.world, 4 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	world_fault(run.world, "UpdateAutoScalingGroup", 2, WORLD_LATE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	abandon();
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, MINUTE_MS, "it is let go");
	if (restart)
		run_stop(&run);
	run_hold(&run);
	assert_out();
	run_restore(&run);
	world_advance(run.world, 10 * MINUTE_MS);
	run_assert_as_before(&run, before, "after the late updates have landed");
}

Test(letter_ends, an_update_of_an_abandoned_one_lands_after_all)
{
	late_update_of_an_abandoned_one(false);
}

Test(letter_ends, an_update_of_an_abandoned_one_lands_after_all_in_another_process)
{
	late_update_of_an_abandoned_one(true);
}

Test(letter_ends, orphans_that_cannot_be_counted_anew_stay_counted)
{
	run_hold(&run);
	world_allow_orphans(run.world);
	world_wipe_evacuation(run.world, "out");
	run_for(&run, 5000);
	cr_assert_eq(orphans(), 3);
	for (unsigned n = 1; n <= 100; n++)
		world_fault(run.world, "Query", n, WORLD_ERROR_BEFORE);
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(orphans(), 3);
}
