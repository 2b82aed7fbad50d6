/*
 * A service is down for ten minutes in the midst of an evacuation of sixty resources of every kind: how often it is
 * asked meanwhile, and that all is well afterwards. SIM_FIGURES=1 prints a table.
 *
 * The bound, for each service: five calls for each resource in the first minute (without one it was thirteen: 749),
 * then some more than one a second, no more towards the end than at the beginning, and twelve for each resource in all.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define OUTAGE_MS (10 * MINUTE_MS)
#define FIRST_MINUTE_MAX (RUN_MANY * 5)
#define LATER_MINUTE_MAX 75
#define IN_ALL_MAX (RUN_MANY * 12)
#define KUBELET_PAUSE_MAX_MS (5 * MINUTE_MS)

static struct run run;
static struct arena arena;

struct storm {
	const char *service;
	enum world_fault fault;
	bool alone; /* without leader election */
};

TestSuite(storm, .timeout = 600);

/* A process that ended is started anew, later each time, as a kubelet does. */
static void work(int64_t ms)
{
	struct instant until = instant_after(world_now(run.world), ms);
	int64_t pause_ms = 10000;
	while (!instant_reached(until, world_now(run.world))) {
		run_for(&run, instant_between_ms(world_now(run.world), until));
		if (!run.ended)
			continue;
		run.ended = false;
		world_revive(run.world);
		world_advance(run.world, pause_ms);
		pause_ms = pause_ms * 2 < KUBELET_PAUSE_MAX_MS ? pause_ms * 2 : KUBELET_PAUSE_MAX_MS;
	}
}

static unsigned busiest_second(void)
{
	unsigned most = 0;
	for (int64_t second = 0; second < OUTAGE_MS / 1000; second++) {
		unsigned calls = world_outage_calls(run.world, second, second + 1);
		most = calls > most ? calls : most;
	}
	return most;
}

static void tell(const struct storm *storm, int64_t took_ms)
{
	if (getenv("SIM_FIGURES") == NULL)
		return;
	fprintf(stderr, "| %-12s | %-18s |", storm->service, world_fault_name(storm->fault));
	for (int64_t minute = 0; minute < 10; minute++)
		fprintf(stderr, " %5u |", world_outage_calls(run.world, minute * 60, minute * 60 + 60));
	fprintf(stderr, " %6u | %4u | %5.1f |\n", world_outage_calls(run.world, 0, OUTAGE_MS / 1000), busiest_second(),
	        (double)took_ms / 1000);
}

static void assert_bounded(const struct storm *storm)
{
	unsigned first = world_outage_calls(run.world, 0, 60);
	unsigned second = world_outage_calls(run.world, 60, 120);
	unsigned last = world_outage_calls(run.world, OUTAGE_MS / 1000 - 60, OUTAGE_MS / 1000);
	const char *fault = world_fault_name(storm->fault);
	cr_expect_leq(first, FIRST_MINUTE_MAX, "%s, %s: %u calls in the first minute", storm->service, fault, first);
	for (int64_t from = 60; from < OUTAGE_MS / 1000; from += 60)
		cr_expect_leq(world_outage_calls(run.world, from, from + 60), LATER_MINUTE_MAX, "%s, %s: %u calls in a minute",
		              storm->service, fault, world_outage_calls(run.world, from, from + 60));
	cr_expect_leq(last, second + 10, "%s, %s: %u calls in the last minute, %u in the second", storm->service, fault,
	              last, second);
	cr_expect_leq(world_outage_calls(run.world, 0, OUTAGE_MS / 1000), IN_ALL_MAX, "%s, %s", storm->service, fault);
}

static void one(const struct storm *storm)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_init(&run, 5);
	run_add_many(&run);
	run.settings.leader_elect = !storm->alone;
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 3);
	world_service_outage(run.world, storm->service, OUTAGE_MS, storm->fault);
	work(OUTAGE_MS);
	struct instant over = world_now(run.world);
	run_must(&run, run_holding, 20 * MINUTE_MS, "it holds");
	tell(storm, instant_between_ms(over, world_now(run.world)));
	assert_bounded(storm);
	run_restore(&run);
	run_assert_as_before(&run, before, storm->service);
	run_done(&run);
	arena_done(&arena);
}

static void each_fault(const char *service, bool alone)
{
	static const enum world_fault faults[] = {WORLD_ERROR_BEFORE, WORLD_REFUSE, WORLD_SILENCE, WORLD_THROTTLE};
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		one(&(struct storm){service, faults[i], alone});
}

Test(storm, auto_scaling)
{
	each_fault("autoscaling", false);
}

Test(storm, dynamodb)
{
	each_fault("dynamodb", false);
}

Test(storm, ecs)
{
	each_fault("ecs", false);
}

Test(storm, lambda)
{
	each_fault("lambda", false);
}

Test(storm, ec2)
{
	each_fault("ec2", false);
}

Test(storm, sts)
{
	each_fault("sts", false);
}

/* Without leader election the process stays and waits; with it the process ends and is started anew. */
Test(storm, the_api_server)
{
	each_fault("kubernetes", true);
	each_fault("kubernetes", false);
}

/* Whoever says when to come again is not asked the same before. */
static void obey(const char *service, enum world_fault fault, bool alone)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_init(&run, 6);
	run_add_many(&run);
	run.settings.leader_elect = !alone;
	world_set_retry_after(run.world, 20);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 3);
	world_service_outage(run.world, service, 5 * MINUTE_MS, fault);
	run_for(&run, 5 * MINUTE_MS);
	cr_expect_gt(world_outage_calls(run.world, 0, 300), 10, "%s was asked", service);
	cr_expect_eq(world_hasty_calls(run.world), 0, "%s, %s: %u calls came too early", service, world_fault_name(fault),
	             world_hasty_calls(run.world));
	run_must(&run, run_holding, 20 * MINUTE_MS, "it holds");
	run_restore(&run);
	run_done(&run);
	arena_done(&arena);
}

Test(storm, retry_after_is_obeyed)
{
	obey("lambda", WORLD_THROTTLE, false);
	obey("lambda", WORLD_ERROR_BEFORE, false);
	obey("autoscaling", WORLD_ERROR_BEFORE, false);
	obey("kubernetes", WORLD_THROTTLE, true);
	obey("kubernetes", WORLD_ERROR_BEFORE, true);
}
