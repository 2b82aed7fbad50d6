/*
 * Killed before and after every effect, and every call gone wrong: the end is always the same.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

TestSuite(kill, .timeout = 1800);

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

typedef void (*region_adder)(struct run *run);

/* AWS_MAX_ATTEMPTS; 0 = the usual */
static int attempts;

static void start(struct run *run, struct arena *arena, uint64_t seed, region_adder add, const char **before)
{
	run_init(run, seed);
	run->settings.max_attempts = attempts;
	arena_init(arena, "test", 64 * 1024 * 1024);
	add(run);
	*before = world_fingerprint(run->world, arena);
}

static unsigned story_effects(uint64_t seed, region_adder add)
{
	struct run run;
	struct arena arena;
	const char *before;
	start(&run, &arena, seed, add, &before);
	run_story(&run);
	run_assert_as_before(&run, before, "without a kill");
	unsigned effects = world_effects(run.world);
	run_done(&run);
	arena_done(&arena);
	return effects;
}

static void story_killed_at(uint64_t seed, region_adder add, unsigned n, enum world_kill when)
{
	struct run run;
	struct arena arena;
	const char *before;
	char what[64];
	start(&run, &arena, seed, add, &before);
	(void)snprintf(what, sizeof(what), "killed %s effect %u", when == WORLD_KILL_BEFORE ? "before" : "after", n);
	world_kill_at(run.world, n, when);
	run_story(&run);
	run_assert_as_before(&run, before, what);
	cr_assert_eq(run.deaths, 1, "%s: it was to die once", what);
	run_done(&run);
	arena_done(&arena);
}

static void killed_everywhere(region_adder add, unsigned effects_max, const char *what)
{
	double began = seconds();
	unsigned effects = story_effects(3, add);
	cr_assert_leq(effects, effects_max, "%s: %u effects, more than are needed", what, effects);
	for (unsigned n = 1; n <= effects; n++) {
		story_killed_at(3, add, n, WORLD_KILL_BEFORE);
		story_killed_at(3, add, n, WORLD_KILL_AFTER);
	}
	fprintf(stderr, "%s: killed before and after each of %u effects, %.1f s\n", what, effects, seconds() - began);
}

/* Seven changes out and back, registration, finalizer, a status a second. */
Test(kill, before_and_after_every_effect)
{
	killed_everywhere(run_add_region, 64, "nodes and groups");
}

/* Six changes, two nodes, two evictions. */
Test(kill, before_and_after_every_effect_of_every_kind)
{
	killed_everywhere(run_add_every_kind, 110, "every kind");
}

/* Killed again and again, every few effects. */
Test(kill, a_crash_loop_gets_on)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct run run;
		struct arena arena;
		const char *before;
		start(&run, &arena, seed, run_add_region, &before);
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		unsigned deaths = 0;
		struct instant limit = instant_after(world_now(run.world), 600 * MINUTE_MS);
		bool deleted = false;
		while (!run_gone(&run)) {
			cr_assert_not(instant_reached(limit, world_now(run.world)), "seed %lu: stuck in %s", (unsigned long)seed,
			              world_phase(run.world, "out"));
			if (run.lives == 0 || run.deaths > deaths) {
				deaths = run.deaths;
				world_kill_at(run.world, world_effects(run.world) + 4 + (unsigned)(seed % 3),
				              seed % 2 == 0 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
			}
			run_for(&run, 10000);
			if (!deleted && run_holding(&run)) {
				deleted = true;
				world_delete_evacuation(run.world, "out");
			}
		}
		cr_assert(deleted);
		run_assert_as_before(&run, before, "a crash loop");
		run_done(&run);
		arena_done(&arena);
	}
}

static unsigned story_calls(uint64_t seed, region_adder add)
{
	struct run run;
	struct arena arena;
	const char *before;
	start(&run, &arena, seed, add, &before);
	run_story(&run);
	run_assert_as_before(&run, before, "without a fault");
	unsigned calls = world_calls(run.world, "*");
	run_done(&run);
	arena_done(&arena);
	return calls;
}

static void story_with(uint64_t seed, region_adder add, unsigned nth, enum world_fault fault)
{
	struct run run;
	struct arena arena;
	const char *before;
	char what[64];
	start(&run, &arena, seed, add, &before);
	(void)snprintf(what, sizeof(what), "call %u: %s", nth, world_fault_name(fault));
	world_fault(run.world, "*", nth, fault);
	run_story(&run);
	run_assert_as_before(&run, before, what);
	run_done(&run);
	arena_done(&arena);
}

/* Of the larger story one fault meets every sixth call, each fault others; SIM_EVERY_CALL=1 lets each meet all. */
static void every_call_once(enum world_fault fault)
{
	static const struct {
		region_adder add;
		const char *what;
		unsigned stride;
	} regions[] = {{run_add_small_region, "one group", 1}, {run_add_every_kind, "every kind", 6}};
	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		double began = seconds();
		unsigned calls = story_calls(5, regions[i].add);
		unsigned stride = getenv("SIM_EVERY_CALL") != NULL ? 1 : regions[i].stride;
		for (unsigned n = 1 + (unsigned)fault % stride; n <= calls; n += stride)
			story_with(5, regions[i].add, n, fault);
		fprintf(stderr, "%s, %s: one of %u of %u calls, %.1f s\n", regions[i].what, world_fault_name(fault), stride,
		        calls, seconds() - began);
	}
}

Test(kill, every_call_throttled)
{
	every_call_once(WORLD_THROTTLE);
}

Test(kill, every_call_failing_before)
{
	every_call_once(WORLD_ERROR_BEFORE);
}

Test(kill, every_call_failing_after)
{
	every_call_once(WORLD_ERROR_AFTER);
}

Test(kill, every_call_refused)
{
	every_call_once(WORLD_REFUSE);
}

Test(kill, every_connection_breaking)
{
	every_call_once(WORLD_BREAK);
}

Test(kill, every_reply_lost)
{
	every_call_once(WORLD_LOSE_REPLY);
}

Test(kill, every_call_late)
{
	every_call_once(WORLD_LATE);
}

Test(kill, every_call_busy)
{
	every_call_once(WORLD_BUSY);
}

Test(kill, every_group_read_stale)
{
	every_call_once(WORLD_STALE);
}

/* Whatever is to be tried again is planned anew then. */
Test(kill, every_fault_with_one_attempt)
{
	static const enum world_fault faults[] = {WORLD_THROTTLE, WORLD_ERROR_BEFORE, WORLD_ERROR_AFTER, WORLD_REFUSE,
	                                          WORLD_BREAK,    WORLD_LOSE_REPLY,   WORLD_LATE,        WORLD_BUSY,
	                                          WORLD_STALE,    WORLD_SILENCE,      WORLD_GARBAGE,     WORLD_SLOW};
	const size_t count = sizeof(faults) / sizeof(faults[0]);
	attempts = 1;
	unsigned calls = story_calls(5, run_add_small_region);
	unsigned stride = getenv("SIM_EVERY_CALL") != NULL ? 1 : 7;
	for (size_t i = 0; i < count; i++)
		for (unsigned n = 1 + (unsigned)i % stride; n <= calls; n += stride)
			story_with(5, run_add_small_region, n, faults[i]);
}
