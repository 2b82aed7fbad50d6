/*
 * Two zones of a region are never emptied at once, whoever asks in whatever order, and a refusal of the whole is final for its generation.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

#define OTHER "22222222-2222-3333-4444-555555555555"

static struct run run;
static struct arena arena;
static const char *before;

static void begin(uint64_t seed)
{
	run_init(&run, seed);
	run_add_small_region(&run);
	world_add_group(run.world, "api", "subnet-b1,subnet-a1", 1, NULL);
	before = world_fingerprint(run.world, &arena);
}

static void setup(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
	begin(91);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(letter_zones, .init = setup, .fini = teardown, .timeout = 240);

static bool phase_is(const char *name, const char *phase)
{
	return strcmp(world_phase(run.world, name), phase) == 0;
}

static bool second_holds(struct run *at)
{
	(void)at;
	return phase_is("second", "Holding");
}

static bool second_is_gone(struct run *at)
{
	(void)at;
	return world_evacuation(run.world, "second") == NULL;
}

static void assert_refused(const char *name, const char *zone, const char *subnet, const char *node)
{
	cr_assert_str_eq(run_stalled_because(&run, name), "OtherZone");
	cr_assert_not_null(strstr(world_group(run.world, "web"), subnet), "web is %s", world_group(run.world, "web"));
	cr_assert_not_null(strstr(world_group(run.world, "api"), subnet));
	cr_assert_not(world_node_tainted(run.world, node));
	cr_assert_not(world_node_cordoned(run.world, node));
	cr_assert_eq(world_zone_owners(run.world, zone), 0);
}

/* Refused while the first one is there, and after it, and after a restart; said anew it is judged anew. */
static void second_zone(const char *first, const char *second, const char *subnet, const char *node)
{
	run_evacuate(&run, "out", first, "Evacuate");
	run_must(&run, run_holding, 5 * MINUTE_MS, "the first holds");
	run_evacuate(&run, "second", second, "Evacuate");
	run_for(&run, 6 * MINUTE_MS);
	assert_refused("second", second, subnet, node);
	run_restore(&run);
	run_for(&run, 12 * MINUTE_MS);
	assert_refused("second", second, subnet, node);
	run_stop(&run);
	run_for(&run, 12 * MINUTE_MS);
	assert_refused("second", second, subnet, node);
	run.spec_more = ",\"expiresAfterSeconds\":86400";
	run_evacuate(&run, "second", second, "Evacuate");
	run_must(&run, second_holds, 5 * MINUTE_MS, "it was edited");
	run_evacuate(&run, "out", first, "Evacuate");
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherZone");
	world_delete_evacuation(run.world, "out");
	world_delete_evacuation(run.world, "second");
	run_must(&run, second_is_gone, 5 * MINUTE_MS, "the second is gone");
	run_for(&run, 1000);
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_zones, the_second_is_refused)
{
	second_zone("use1-az1", "use1-az2", "subnet-b1", "node-b1");
}

Test(letter_zones, the_second_is_refused_the_other_way_round)
{
	second_zone("use1-az2", "use1-az1", "subnet-a1", "node-a1");
}

static bool one_holds(struct run *at)
{
	(void)at;
	return phase_is("out", "Holding") || phase_is("second", "Holding");
}

/* Both applied within a moment, in either order: one of them is refused, and only one zone is touched. */
Test(letter_zones, of_two_that_are_applied_at_once_one_is_refused)
{
	for (unsigned ms = 0; ms <= 700; ms += 100)
		for (unsigned turned = 0; turned < 2; turned++) {
			run_evacuate(&run, turned ? "second" : "out", turned ? "use1-az2" : "use1-az1", "Evacuate");
			run_for(&run, ms);
			run_evacuate(&run, turned ? "out" : "second", turned ? "use1-az1" : "use1-az2", "Evacuate");
			run_must(&run, one_holds, 5 * MINUTE_MS, "one holds");
			run_for(&run, MINUTE_MS);
			bool first = phase_is("out", "Holding");
			cr_assert_neq(first, phase_is("second", "Holding"), "not both, %u ms", ms);
			cr_assert_str_eq(run_stalled_because(&run, first ? "second" : "out"), "OtherZone");
			cr_assert_str_eq(world_group(run.world, "web"), first ? "subnet-b1" : "subnet-a1");
			cr_assert_eq(world_node_tainted(run.world, "node-a1"), first);
			cr_assert_eq(world_node_tainted(run.world, "node-b1"), !first);
			cr_assert_eq(world_zone_owners(run.world, "use1-az1") + world_zone_owners(run.world, "use1-az2"), 1);
			world_delete_evacuation(run.world, "out");
			world_delete_evacuation(run.world, "second");
			run_for(&run, 3 * MINUTE_MS);
			run_assert_as_before(&run, before, "in the end");
			run_done(&run);
			begin(91 + ms + turned);
		}
}

/* Another cluster. */

static void register_other(const char *zone_id, const char *revision)
{
	world_put_item(
		run.world,
		arena_printf(&arena,
	                 "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"%s\"},"
	                 "\"zone:%s\":{\"SS\":[\"" OTHER "\"]}}",
	                 revision, zone_id));
}

/* It registers its zone between our read and our write, or before: it wins, and what we had taken by then is given back. */
static void other_registers_after(const char *operation, unsigned calls)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, operation, calls);
	register_other("use1-az2", "7");
	run_for(&run, 6 * MINUTE_MS);
	assert_refused("out", "use1-az1", "subnet-a1", "node-a1");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az2"), 1);
	world_leave(run.world, "use1-az2", OTHER);
	run_for(&run, 12 * MINUTE_MS);
	run_stop(&run);
	run_for(&run, 12 * MINUTE_MS);
	assert_refused("out", "use1-az1", "subnet-a1", "node-a1"); /* nothing starts by itself hours later */
	run_restore(&run);
	run_for(&run, 1000);
	run_assert_as_before(&run, before, "in the end");
}

Test(letter_zones, another_cluster_was_there_before)
{
	other_registers_after("*", 1);
}

Test(letter_zones, another_cluster_registers_between_our_read_and_our_write)
{
	other_registers_after("UpdateItem", 1);
}

/* Ours came first: the other's conditional write is refused then (the journal's tests), and we go on. */
Test(letter_zones, of_the_same_zone_two_clusters_are_welcome)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateItem", 1);
	register_other("use1-az1", "7");
	run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 2);
	run_restore(&run);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "the other one stays");
	cr_assert_eq(world_records(run.world), 0, "and has no record");
}

/* The answer to our registration is lost, or it is throttled: it is ours all the same, and only once. */
Test(letter_zones, a_registration_whose_answer_is_lost_is_ours)
{
	static const enum world_fault faults[] = {WORLD_LOSE_REPLY, WORLD_BREAK, WORLD_ERROR_AFTER, WORLD_ERROR_BEFORE};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		world_fault(run.world, "UpdateItem", 1, faults[i]);
		run_hold(&run);
		cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
		run_restore(&run);
		run_assert_as_before(&run, before, world_fault_name(faults[i]));
	}
}

/* Killed at each effect until it is refused, and while what it had taken is given back. */
Test(letter_zones, one_that_is_refused_by_the_journal_may_be_killed_at_each_effect)
{
	for (unsigned n = 1; n <= 10; n++) {
		register_other("use1-az2", "7");
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		world_kill_at(run.world, n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
		run_for(&run, 6 * MINUTE_MS);
		assert_refused("out", "use1-az1", "subnet-a1", "node-a1");
		run_restore(&run);
		world_leave(run.world, "use1-az2", OTHER);
		run_assert_as_before(&run, before, "killed, and refused");
		run_done(&run);
		begin(120 + n);
	}
}
