/*
 * Two zones of a region at once (guards.allowOtherZones), and a zone that is recovered elsewhere. Each resource is changed under its lock: the world
 * checks that, and that no subnet is lost.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

TestSuite(zones, .timeout = 1800);

static struct run run;
static struct arena arena;
static const char *before;

#define ALLOWED ",\"guards\":{\"allowOtherZones\":true,\"maxNodesPercent\":100}"
#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static void start_in(uint64_t seed, void (*add)(struct run *run))
{
	run_init(&run, seed);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	add(&run);
	run.spec_more = ALLOWED;
	before = world_fingerprint(run.world, &arena);
}

static void start(void)
{
	start_in(5, run_add_region);
}

static void end(void)
{
	run_done(&run);
	arena_done(&arena);
}

static bool both_hold(struct run *at)
{
	return strcmp(world_phase(at->world, "one"), "Holding") == 0 &&
	       strcmp(world_phase(at->world, "two"), "Holding") == 0;
}

static bool one_holds(struct run *at)
{
	return strcmp(world_phase(at->world, "one"), "Holding") == 0;
}

static bool both_gone(struct run *at)
{
	return world_evacuation(at->world, "one") == NULL && world_evacuation(at->world, "two") == NULL;
}

static bool one_gone(struct run *at)
{
	return world_evacuation(at->world, "one") == NULL;
}

static size_t locks(void)
{
	size_t count = 0;
	for (size_t i = 0; i < dynamo_item_count(world_dynamo(run.world), WORLD_TABLE); i++) {
		const struct json *item = dynamo_item_at(world_dynamo(run.world), WORLD_TABLE, i);
		count += text_equal(json_get_string(json_get(item, "zoneId"), "S"), "#lock");
	}
	return count;
}

static void evacuate_both(void)
{
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_evacuate(&run, "two", "use1-az2", "Evacuate");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The world with the subnets of each group sorted: each zone's record knows the order of what the other one had left, which is a hint, not the whole. */
static const char *as_sets(const char *fingerprint)
{
	struct string_list lines = string_list_split(fingerprint, "\n", &arena);
	for (size_t i = 0; i < lines.count; i++) {
		const char *list = strrchr(lines.at[i], ' ');
		if (!text_starts_with(lines.at[i], "group ") || list == NULL)
			continue;
		struct string_list subnets = string_list_split(list + 1, ",", &arena);
		qsort(subnets.at, subnets.count, sizeof(subnets.at[0]), by_name);
		lines.at[i] = arena_printf(&arena, "%.*s %s", (int)(list - lines.at[i]), lines.at[i],
		                           string_list_join(&subnets, &arena, ","));
	}
	return string_list_join(&lines, &arena, "\n");
}

static void assert_restored(const char *what)
{
	const char *is = as_sets(world_fingerprint(run.world, &arena));
	size_t owners = world_zone_owners(run.world, "use1-az1") + world_zone_owners(run.world, "use1-az2");
	bool same = strcmp(is, as_sets(before)) == 0 && world_records(run.world) == 0 && owners == 0;
	if (!same)
		world_print_timeline(run.world);
	cr_assert(same, "%s: the world is not as it was (%zu records, %zu owners):\n%s", what, world_records(run.world),
	          owners, is);
}

Test(zones, a_second_zone_goes_when_it_is_said_and_nothing_loses_its_last_subnet)
{
	start();
	evacuate_both();
	run_must(&run, both_hold, 60 * MINUTE_MS, "both hold");
	assert_group("web", "subnet-c1");
	assert_group("api", "subnet-c1");
	cr_assert_eq(strchr(world_group(run.world, "batch"), ','), NULL, "batch has no zone but these two");
	assert_group("db", "subnet-c1");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	cr_assert_eq(world_zone_owners(run.world, "use1-az2"), 1);
	run_for(&run, MINUTE_MS);
	cr_assert_eq(locks(), 0, "each lock is given back");
	world_delete_evacuation(run.world, "one");
	run_must(&run, one_gone, 60 * MINUTE_MS, "one is gone");
	assert_group("web", "subnet-a1,subnet-c1");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	world_delete_evacuation(run.world, "two");
	run_must(&run, both_gone, 60 * MINUTE_MS, "both are gone");
	run_for(&run, MINUTE_MS);
	assert_restored("restored in the order of their beginning");
	cr_assert_eq(locks(), 0);
	end();
}

Test(zones, they_come_back_in_either_order)
{
	start();
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_must(&run, one_holds, 60 * MINUTE_MS, "one holds");
	run_evacuate(&run, "two", "use1-az2", "Evacuate");
	run_must(&run, both_hold, 60 * MINUTE_MS, "both hold");
	world_delete_evacuation(run.world, "two");
	run_for(&run, 10 * MINUTE_MS);
	assert_group("web", "subnet-b1,subnet-c1");
	world_delete_evacuation(run.world, "one");
	run_must(&run, both_gone, 60 * MINUTE_MS, "both are gone");
	assert_restored("restored in the other order");
	end();
}

/* Without a lock, the one that thought itself alone does not know of the other yet; that one waits for it. */
Test(zones, a_second_one_waits_until_the_first_knows_of_it)
{
	start();
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_for(&run, 1500);
	run_evacuate(&run, "two", "use1-az2", "Evacuate");
	run_for(&run, 12000);
	cr_assert_eq(world_zone_owners(run.world, "use1-az2"), 1, "it is registered");
	assert_group("db", "subnet-b1,subnet-c1");
	run_must(&run, both_hold, 60 * MINUTE_MS, "both hold");
	assert_group("db", "subnet-c1");
	end();
}

static void put_other_zone(void)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az2\":{\"SS\":[\"another-cluster\"]}}");
}

static void put_foreign_lock(const char *group, const char *until)
{
	char json[512];
	(void)snprintf(
		json, sizeof(json),
		"{\"zoneId\":{\"S\":\"#lock\"},\"resourceId\":{\"S\":\"%s\"},\"holder\":{\"S\":\"another-cluster use1-az2\"},"
		"\"attempt\":{\"S\":\"x/1/1\"},\"until\":{\"S\":\"%s\"}}",
		world_group_arn(run.world, group), until);
	world_put_item(run.world, json);
}

static const char *state_of(const char *name)
{
	return world_change_state(run.world, "one", name);
}

/* The world begins at 2026-01-02T03:04:05Z. */
Test(zones, what_somebody_else_has_locked_is_waited_for_and_holds_up_nobody)
{
	start();
	put_other_zone();
	put_foreign_lock("web", "2026-01-02T03:09:05.000000Z");
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_for(&run, 4 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_str_eq(state_of("web"), "Waiting");
	assert_group("api", "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_phase(run.world, "one"), "Applying");
	run_must(&run, one_holds, 30 * MINUTE_MS, "holds when the lock has ended");
	assert_group("web", "subnet-b1,subnet-c1");
	put_foreign_lock("api", "2026-01-02T04:09:05.000000Z");
	world_delete_evacuation(run.world, "one");
	run_for(&run, 10 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-c1");
	cr_assert_eq(world_records(run.world), 1, "its record stays open");
	run_must(&run, one_gone, 120 * MINUTE_MS, "gone when that lock has ended, too");
	run_assert_as_before(&run, before, "restored");
	end();
}

/* One zone's owners change the same subnets; but its owner may add one while the one puts back what the other takes out. */
Test(zones, two_clusters_of_one_zone_lock_as_well)
{
	start();
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az1\":{\"SS\":[\"another-cluster\"]}}");
	run.spec_more = NULL;
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_for(&run, 14000);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	run_for(&run, 6000);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_eq(locks(), 5, "%zu locks", locks());
	run_must(&run, one_holds, 30 * MINUTE_MS, "holds");
	cr_assert_eq(locks(), 0);
	world_delete_evacuation(run.world, "one");
	run_must(&run, one_gone, 60 * MINUTE_MS, "gone");
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "the other one stays");
	end();
}

Test(zones, an_update_that_met_silence_keeps_its_lock)
{
	start();
	put_other_zone();
	world_set_late(run.world, 4 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	run_evacuate(&run, "one", "use1-az1", "Evacuate");
	run_for(&run, 4 * MINUTE_MS);
	cr_assert_eq(locks(), 1, "%zu locks", locks());
	run_must(&run, one_holds, 60 * MINUTE_MS, "holds");
	world_delete_evacuation(run.world, "one");
	run_must(&run, one_gone, 60 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "restored");
	end();
}

static bool share_guarded(struct run *at)
{
	return strcmp(run_stalled_because(at, "two"), "MaxNodesPercent") == 0;
}

/* A half of the nodes each: together that is all of them. */
Test(zones, the_share_of_nodes_counts_what_another_zone_has_taken)
{
	run_init(&run, 5);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_small_region(&run);
	run.spec_more = ",\"guards\":{\"allowOtherZones\":true}";
	run_apply(&run, "one", "use1-az1", RUN_ALL_NODES);
	run_must(&run, one_holds, 10 * MINUTE_MS, "one holds");
	run_apply(&run, "two", "use1-az2", RUN_ALL_NODES);
	run_must(&run, share_guarded, 10 * MINUTE_MS, "two is refused");
	run_for(&run, MINUTE_MS);
	cr_assert(one_holds(&run), "the first is not touched by that");
	end();
}

/* Killed at every effect of two zones' evacuations and recoveries side by side. */

static void both_there_and_back(const char *what)
{
	evacuate_both();
	run_must(&run, both_hold, 120 * MINUTE_MS, what);
	world_delete_evacuation(run.world, "one");
	world_delete_evacuation(run.world, "two");
	run_must(&run, both_gone, 120 * MINUTE_MS, what);
	run_for(&run, 10 * MINUTE_MS);
	assert_restored(what);
}

static unsigned effects_of_both(void)
{
	unsigned effects;
	start_in(7, run_add_small_region);
	run.spec_more = ALLOWED;
	both_there_and_back("without a kill");
	effects = world_effects(run.world);
	end();
	return effects;
}

Test(zones, killed_at_every_effect_both_zones_end_exact)
{
	unsigned effects = effects_of_both();
	cr_assert_gt(effects, 30);
	for (unsigned n = 1; n <= effects; n++)
		for (int when = WORLD_KILL_BEFORE; when <= WORLD_KILL_AFTER; when++) {
			char what[64];
			(void)snprintf(what, sizeof(what), "killed %s effect %u", when == WORLD_KILL_BEFORE ? "before" : "after",
			               n);
			start_in(7, run_add_small_region);
			world_kill_at(run.world, n, (enum world_kill)when);
			both_there_and_back(what);
			end();
		}
}

/* Whatever arrives late, is lost, or read stale: from a seed. */

static uint64_t dice;

static uint32_t roll(uint32_t below)
{
	dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((dice >> 33) % below);
}

static void faults_from(uint64_t seed)
{
	static const enum world_fault faults[] = {WORLD_LOSE_REPLY, WORLD_BREAK, WORLD_STALE, WORLD_ERROR_AFTER};
	static const char *const operations[] = {"UpdateAutoScalingGroup", "UpdateItem", "PutItem"};
	bool killed;
	dice = seed;
	killed = roll(2); /* then only updates are late: of a record that is put so late nobody would know any more */
	world_set_late(run.world, 20000 + roll(270) * 1000);
	for (int i = 0; i < 4; i++) {
		world_fault(run.world, operations[killed ? 0 : roll(3)], 1 + roll(16), WORLD_LATE);
		world_fault(run.world, "*", 1 + roll(60), faults[roll(4)]);
	}
	if (killed)
		world_kill_at(run.world, 1 + roll(60), roll(2) ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
}

Test(zones, late_and_lost_updates_of_two_zones_lose_no_subnet)
{
	uint64_t seeds = getenv("SIM_SEEDS") ? strtoull(getenv("SIM_SEEDS"), NULL, 10) : 30;
	for (uint64_t seed = getenv("SIM_FIRST") ? strtoull(getenv("SIM_FIRST"), NULL, 10) : 1; seed <= seeds; seed++) {
		char what[64];
		(void)snprintf(what, sizeof(what), "seed %llu", (unsigned long long)seed);
		start_in(seed, run_add_region);
		faults_from(seed);
		evacuate_both();
		run_for(&run, roll(240) * 1000);
		world_delete_evacuation(run.world, roll(2) ? "one" : "two");
		run_for(&run, roll(240) * 1000);
		world_delete_evacuation(run.world, "one");
		world_delete_evacuation(run.world, "two");
		run_must(&run, both_gone, 240 * MINUTE_MS, what);
		run_for(&run, 10 * MINUTE_MS);
		assert_restored(what);
		end();
	}
}
