/*
 * A process that is stopped (SIGSTOP, a frozen node) past the end of its lease and then goes on, connections that
 * stand late, and two replicas: nothing is put on the wire by one that may have lost the lease. The world checks that,
 * and that never two have it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

/* The other replica. */
static struct engine_settings settings_of_two;
static struct kube_config kube_of_two;
static struct engine *two;
static bool ended[2];

static void setup(void)
{
	run_init(&run, 14);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_many(&run);
	before = world_fingerprint(run.world, &arena);
	memset(ended, 0, sizeof(ended));
	two = NULL;
}

static void teardown(void)
{
	engine_free(two);
	run_done(&run);
	arena_done(&arena);
}

TestSuite(paused, .init = setup, .fini = teardown, .timeout = 240);

static void start_both(void)
{
	strcpy(run.identity, "one");
	run.engine = engine_new(&run.settings, world_client(run.world));
	settings_of_two = run.settings;
	kube_of_two = run.kube;
	settings_of_two.identity = "two";
	settings_of_two.kube = &kube_of_two;
	two = engine_new(&settings_of_two, world_second_client(run.world));
}

/* False when it cannot: it has ended, or is stopped. */
static bool step(size_t which)
{
	struct engine **engine = which == 0 ? &run.engine : &two;
	struct client *client = which == 0 ? world_client(run.world) : world_second_client(run.world);
	if (ended[which] || world_paused(run.world, client))
		return false;
	if (engine_step(*engine))
		return true;
	ended[which] = true;
	engine_free(*engine);
	*engine = NULL;
	world_end_client(run.world, client);
	return true;
}

static void both_until(run_condition reached, int64_t limit_ms, const char *what)
{
	struct instant limit = instant_after(world_now(run.world), limit_ms);
	while (!reached(&run)) {
		if (instant_reached(limit, world_now(run.world)) || (ended[0] && ended[1])) {
			world_print_timeline(run.world);
			cr_assert_fail("not so: %s; phase %s", what, world_phase(run.world, "out"));
		}
		bool one = step(0), other = step(1);
		if (!one && !other)
			world_advance(run.world, 100);
	}
}

static bool is_stopped(struct run *at)
{
	return world_paused(at->world, world_client(at->world)) || world_paused(at->world, world_second_client(at->world));
}

/* One of them is stopped as soon as it has submitted that call. */
static size_t stop_at(const char *operation, unsigned nth, int64_t ms)
{
	start_both();
	world_set_stop(run.world, ms);
	world_fault(run.world, operation, nth, WORLD_STOP);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	both_until(is_stopped, 10 * MINUTE_MS, operation);
	cr_assert(!ended[0] && !ended[1]);
	return world_paused(run.world, world_client(run.world)) ? 0 : 1;
}

static bool one_ended(struct run *at)
{
	(void)at;
	return ended[0] || ended[1];
}

/* The leader is stopped in the midst; the other one takes over; the first goes on and finds that it has lost. */
static void stop_the_leader(const char *operation, unsigned calls, int64_t ms)
{
	size_t leader = stop_at(operation, calls, ms);
	both_until(one_ended, 10 * MINUTE_MS, "one of them ends");
	cr_assert(ended[leader] && !ended[1 - leader], "the one that was stopped has ended");
	both_until(run_holding, 20 * MINUTE_MS, "the other one goes on");
	world_delete_evacuation(run.world, "out");
	both_until(run_gone, 20 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(paused, the_leader_for_twenty_seconds)
{
	for (unsigned updates = 1; updates <= 13; updates += 3) {
		if (updates > 1) {
			teardown();
			setup();
		}
		stop_the_leader("UpdateAutoScalingGroup", updates, 20000);
	}
}

/*
 * Whatever was connecting when it was stopped connects when it goes on: too late for the lease, early enough for the
 * call.
 */
Test(paused, the_leader_while_its_connections_are_made)
{
	static const char *const operations[] = {"PutItem",       "UpdateAutoScalingGroup", "PATCH nodes",
	                                         "UpdateService", "POST pods/eviction",     "UpdateFunctionConfiguration"};
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (i > 0) {
			teardown();
			setup();
		}
		world_slow_connect(run.world, 800);
		stop_the_leader(operations[i], 2, 12000);
	}
}

Test(paused, the_leader_for_five_minutes)
{
	stop_the_leader("UpdateAutoScalingGroup", 4, 5 * MINUTE_MS);
}

/* Stopped for less than the deadline of its lease: it may go on as if nothing had been. */
Test(paused, the_leader_for_five_seconds)
{
	stop_at("UpdateAutoScalingGroup", 3, 5000);
	both_until(run_holding, 20 * MINUTE_MS, "holding");
	cr_assert_not(one_ended(&run));
	world_delete_evacuation(run.world, "out");
	both_until(run_gone, 20 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

/* Whoever makes the nth call, in a smaller world; with keys that end while it stands still, and slow connections. */
static void stop_whoever_calls(unsigned nth, int64_t ms)
{
	char what[48];
	teardown();
	run_init(&run, 14);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	memset(ended, 0, sizeof(ended));
	if (nth % 2 == 0)
		run_use_container(&run, 30);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	(void)snprintf(what, sizeof(what), "stopped at call %u for %u s", nth, (unsigned)(ms / 1000));
	start_both();
	world_slow_connect(run.world, nth % 3 == 0 ? 700 : 0);
	world_set_stop(run.world, ms);
	world_fault(run.world, "*", nth, WORLD_STOP);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	both_until(run_holding, 40 * MINUTE_MS, what);
	world_delete_evacuation(run.world, "out");
	both_until(run_gone, 40 * MINUTE_MS, what);
	run_assert_as_before(&run, before, what);
	engine_free(two);
	two = NULL;
}

/* SIM_EVERY_CALL=1: at each of them, for each time. */
Test(paused, whoever_makes_any_call)
{
	static const int64_t times[] = {12000, 16000, 30000};
	bool every = getenv("SIM_EVERY_CALL") != NULL;
	for (unsigned nth = 1; nth <= 140; nth += every ? 1 : 7)
		for (size_t i = every ? 0 : nth % 3; i < (every ? 3 : nth % 3 + 1); i++)
			stop_whoever_calls(nth, times[i]);
}

static void steal(struct world *world, void *context)
{
	(void)context;
	world_steal_lease(world);
}

/* Alone, and what has the lease afterwards is nobody that would do the work. */
Test(paused, the_only_one_and_somebody_else_has_the_lease)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 3);
	world_at(run.world, 16000, steal, NULL);
	world_pause(run.world, world_client(run.world), 20000);
	unsigned effects = world_effects(run.world);
	run_for(&run, MINUTE_MS);
	cr_assert(run.ended);
	cr_assert_eq(run.exit_code, 1);
	cr_assert_leq(world_effects(run.world) - effects, 40, "only what was on its way");
}

/* Connections that stand only after the lease may have been lost, or after what was read is old, carry nothing. */
static void connect_slowly(int64_t ms)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	world_slow_connect(run.world, ms);
	run_for(&run, 2 * MINUTE_MS);
	world_slow_connect(run.world, 0);
	if (run.ended) {
		run.ended = false;
		world_revive(run.world);
	}
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

Test(paused, connections_that_take_a_second)
{
	connect_slowly(1100);
}

Test(paused, connections_that_take_five_seconds)
{
	connect_slowly(4900);
}

Test(paused, connections_that_take_fifteen_seconds)
{
	connect_slowly(15000);
}
