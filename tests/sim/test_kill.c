/*
 * Killed before and after every effect, and every call gone wrong: the end is always the same.
 */
#include <criterion/criterion.h>
#include <stdio.h>
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

static void start(struct run *run, struct arena *arena, uint64_t seed, bool small, const char **before)
{
	run_init(run, seed);
	arena_init(arena, "test", 64 * 1024 * 1024);
	if (small)
		run_add_small_region(run);
	else
		run_add_region(run);
	*before = world_fingerprint(run->world, arena);
}

static unsigned story_effects(uint64_t seed)
{
	struct run run;
	struct arena arena;
	const char *before;
	start(&run, &arena, seed, false, &before);
	run_story(&run);
	run_assert_as_before(&run, before, "without a kill");
	unsigned effects = world_effects(run.world);
	run_done(&run);
	arena_done(&arena);
	return effects;
}

static void story_killed_at(uint64_t seed, unsigned n, enum world_kill when)
{
	struct run run;
	struct arena arena;
	const char *before;
	char what[64];
	start(&run, &arena, seed, false, &before);
	(void)snprintf(what, sizeof(what), "killed %s effect %u", when == WORLD_KILL_BEFORE ? "before" : "after", n);
	world_kill_at(run.world, n, when);
	run_story(&run);
	run_assert_as_before(&run, before, what);
	cr_assert_eq(run.deaths, 1, "%s: it was to die once", what);
	run_done(&run);
	arena_done(&arena);
}

Test(kill, before_and_after_every_effect)
{
	double began = seconds();
	unsigned effects = story_effects(3);
	cr_assert_leq(effects, 64,
	              "%u effects: seven changes out and back, registration, finalizer and a status a second need no more",
	              effects);
	for (unsigned n = 1; n <= effects; n++) {
		story_killed_at(3, n, WORLD_KILL_BEFORE);
		story_killed_at(3, n, WORLD_KILL_AFTER);
	}
	fprintf(stderr, "killed before and after each of %u effects, %.1f s\n", effects, seconds() - began);
}

/* Killed again and again, every few effects. */
Test(kill, a_crash_loop_gets_on)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct run run;
		struct arena arena;
		const char *before;
		start(&run, &arena, seed, false, &before);
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

static unsigned small_story_calls(uint64_t seed)
{
	struct run run;
	struct arena arena;
	const char *before;
	start(&run, &arena, seed, true, &before);
	run_story(&run);
	run_assert_as_before(&run, before, "without a fault");
	unsigned calls = world_calls(run.world, "*");
	run_done(&run);
	arena_done(&arena);
	return calls;
}

static void small_story_with(uint64_t seed, unsigned nth, enum world_fault fault)
{
	struct run run;
	struct arena arena;
	const char *before;
	char what[64];
	start(&run, &arena, seed, true, &before);
	(void)snprintf(what, sizeof(what), "call %u: %s", nth, world_fault_name(fault));
	world_fault(run.world, "*", nth, fault);
	run_story(&run);
	run_assert_as_before(&run, before, what);
	run_done(&run);
	arena_done(&arena);
}

static void every_call_once(enum world_fault fault)
{
	double began = seconds();
	unsigned calls = small_story_calls(5);
	for (unsigned n = 1; n <= calls; n++)
		small_story_with(5, n, fault);
	fprintf(stderr, "%s: each of %u calls, %.1f s\n", world_fault_name(fault), calls, seconds() - began);
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
