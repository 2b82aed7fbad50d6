/*
 * Chance: kills, faults, outages and broken watches from a seed. Whatever happens, the safety rules hold (the world checks them), and
 * when it is over the region is as it was. SIM_SEEDS=1000 runs more (from SIM_FIRST), SIM_SEED=17 runs one.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define SEEDS 40
#define LIMIT_MS (24 * 60 * MINUTE_MS)

TestSuite(chaos, .timeout = 3600);

static struct run run;
static uint64_t dice;
static uint64_t running; /* the seed */

static uint32_t roll(uint32_t below)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)((dice >> 11) % below);
}

static void fault_somewhere(void)
{
	static const enum world_fault faults[] = {WORLD_THROTTLE, WORLD_ERROR_BEFORE, WORLD_ERROR_AFTER,
	                                          WORLD_REFUSE,   WORLD_BREAK,        WORLD_LOSE_REPLY,
	                                          WORLD_LATE,     WORLD_BUSY,         WORLD_STALE};
	world_fault(run.world, "*", 1 + roll(12), faults[roll(sizeof(faults) / sizeof(faults[0]))]);
}

static void something_goes_wrong(void)
{
	switch (roll(10)) {
	case 0:
	case 1:
	case 2:
		world_kill_at(run.world, world_effects(run.world) + 1 + roll(8),
		              roll(2) ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
		break;
	case 3:
		world_end_watches(run.world);
		break;
	case 4:
		world_compact(run.world);
		break;
	case 5:
		world_aws_outage(run.world, roll(120000));
		break;
	case 6:
		world_kube_outage(run.world, roll(20000));
		break;
	default:
		fault_somewhere();
	}
}

/* An engine that lost its lease is started anew, as a cluster does. */
static void restart_if_ended(void)
{
	if (!run.ended)
		return;
	run.ended = false;
	world_revive(run.world);
}

static bool held_or_gone(struct run *at)
{
	return run_holding(at) || run_gone(at);
}

static void until(run_condition reached, bool calm, const char *what)
{
	struct instant limit = instant_after(world_now(run.world), LIMIT_MS);
	int troubles = calm ? 0 : 3 + (int)roll(10);
	while (!reached(&run)) {
		if (instant_reached(limit, world_now(run.world))) {
			world_print_timeline(run.world);
			cr_assert_fail("seed %llu: never %s; phase %s", (unsigned long long)running, what,
			               world_phase(run.world, "out"));
		}
		if (troubles-- > 0)
			something_goes_wrong();
		(void)run_until(&run, reached, troubles > 0 ? 1 + roll(20000) : 60 * MINUTE_MS);
		restart_if_ended();
	}
}

static void one_in(uint64_t seed, void (*add)(struct run *run))
{
	struct arena arena;
	char what[64];
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_init(&run, seed);
	running = seed;
	dice = seed * 0x9e3779b97f4a7c15ULL + 1;
	add(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	if (roll(4) > 0)
		until(held_or_gone, false, "held");
	else
		run_for(&run, roll(30000)); /* deleted in the middle of it */
	restart_if_ended();
	world_delete_evacuation(run.world, "out");
	until(run_gone, false, "gone");
	(void)snprintf(what, sizeof(what), "seed %llu", (unsigned long long)seed);
	world_advance(run.world, 6 * MINUTE_MS); /* what was late has arrived */
	run_assert_as_before(&run, before, what);
	run_done(&run);
	arena_done(&arena);
}

static void one(uint64_t seed)
{
	one_in(seed, run_add_region);
}

static void one_of_every_kind(uint64_t seed)
{
	one_in(seed, run_add_every_kind);
}

/* What their owners do to groups meanwhile: each gets one more subnet elsewhere, at some time. */
struct edit {
	const char *group;
	const char *subnet;
	const char *expected; /* as a set */
};

static const struct edit edits[] = {
	{"web", "subnet-b2", "subnet-a1,subnet-b1,subnet-b2,subnet-c1"},
	{"api", "subnet-b2", "subnet-a1,subnet-a2,subnet-b1,subnet-b2,subnet-c1"},
	{"batch", "subnet-c1", "subnet-a2,subnet-b2,subnet-c1"},
	{"cache", "subnet-b1", "subnet-a1,subnet-b1,subnet-c1"},
	{"idle", "subnet-c1", "subnet-a1,subnet-b1,subnet-c1"},
};
#define EDITS (sizeof(edits) / sizeof(edits[0]))

static void edit(struct world *world, void *context)
{
	const struct edit *what = context;
	char subnets[512];
	(void)snprintf(subnets, sizeof(subnets), "%s,%s", world_group(world, what->group), what->subnet);
	world_edit_group(world, what->group, subnets);
}

static void assert_edits(struct arena *arena, uint64_t seed)
{
	for (size_t i = 0; i < EDITS; i++) {
		struct string_list is = string_list_split(world_group(run.world, edits[i].group), ",", arena);
		struct string_list wanted = string_list_split(edits[i].expected, ",", arena);
		bool right = world_group_raced(run.world, edits[i].group) || string_list_same_set(&is, &wanted);
		if (!right)
			world_print_timeline(run.world);
		cr_assert(right, "seed %llu: %s is %s", (unsigned long long)seed, edits[i].group,
		          world_group(run.world, edits[i].group));
	}
}

/* Only what leaves no update on its way for long: a late one overwrites a later edit, and nobody can help that. */
static void one_with_edits(uint64_t seed)
{
	struct arena arena;
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_init(&run, seed);
	running = seed;
	dice = seed * 0x9e3779b97f4a7c15ULL + 7;
	run_add_region(&run);
	for (size_t i = 0; i < EDITS; i++) {
		struct edit *copy = ARENA_NEW(&arena, struct edit);
		*copy = edits[i];
		world_at(run.world, roll(180000), edit, copy);
	}
	for (int i = 0; i < 6; i++)
		world_fault(run.world, "*", 1 + roll(150), roll(2) ? WORLD_THROTTLE : WORLD_ERROR_BEFORE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, roll(240000));
	world_delete_evacuation(run.world, "out");
	until(run_gone, true, "gone");
	run_for(&run, 4 * MINUTE_MS);
	assert_edits(&arena, seed);
	cr_assert_eq(world_records(run.world), 0, "seed %llu", (unsigned long long)seed);
	run_done(&run);
	arena_done(&arena);
}

static void each_seed(void (*run_one)(uint64_t seed), const char *what)
{
	const char *single = getenv("SIM_SEED");
	const char *many = getenv("SIM_SEEDS");
	const char *first = getenv("SIM_FIRST");
	uint64_t seeds = many != NULL ? strtoull(many, NULL, 10) : SEEDS;
	if (single != NULL) {
		run_one(strtoull(single, NULL, 10));
		return;
	}
	for (uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1; seed <= seeds; seed++)
		run_one(seed);
	fprintf(stderr, "%s: %llu seeds\n", what, (unsigned long long)seeds);
}

Test(chaos, the_region_is_always_put_back)
{
	each_seed(one, "kills, faults and outages");
}

Test(chaos, every_kind_is_always_put_back)
{
	each_seed(one_of_every_kind, "every kind: kills, faults and outages");
}

Test(chaos, what_the_owners_edit_survives)
{
	each_seed(one_with_edits, "edits and faults");
}
