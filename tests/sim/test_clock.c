/*
 * This machine's clock is wrong, or jumps: AWS's Date is believed, and nothing is lost but the calls that told us.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 13);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(clocks, .init = setup, .fini = teardown, .timeout = 240);

static const char *const services[] = {"ec2", "sts", "autoscaling", "ecs", "lambda", "dynamodb"};

static void assert_refused(unsigned jumps)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		unsigned refused = world_refused_clocks(run.world, services[i]);
		cr_assert_leq(refused, jumps, "%u calls of %s were refused", refused, services[i]);
	}
}

static void assert_nothing_failed(void)
{
	cr_assert_eq(json_integer(json_path(world_evacuation(run.world, "out"), "status.failed"), -1), 0);
}

static void wrong_from_the_start(int64_t skew_ms)
{
	world_set_skew(run.world, skew_ms);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	assert_nothing_failed();
	run_for(&run, 11 * MINUTE_MS);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
	cr_assert_gt(world_refused_clocks(run.world, "*"), 0);
	assert_refused(1);
}

Test(clocks, ten_minutes_ahead)
{
	wrong_from_the_start(10 * MINUTE_MS);
}

Test(clocks, ten_minutes_behind)
{
	wrong_from_the_start(-10 * MINUTE_MS);
}

Test(clocks, years_behind)
{
	wrong_from_the_start(-(int64_t)2 * 365 * 24 * 60 * MINUTE_MS);
}

/* Less than five minutes is good enough for AWS, and for us. */
Test(clocks, four_minutes_do_no_harm)
{
	world_set_skew(run.world, 4 * MINUTE_MS);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_story(&run);
	run_assert_as_before(&run, before, "in the end");
	cr_assert_eq(world_refused_clocks(run.world, "*"), 0);
}

static void jump(int64_t skew_ms)
{
	world_set_skew(run.world, skew_ms);
	run_for(&run, 20000);
}

Test(clocks, jumps_in_the_midst)
{
	run_add_many(&run);
	before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	jump(10 * MINUTE_MS);
	jump(-10 * MINUTE_MS);
	jump(0);
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	assert_nothing_failed();
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	jump(60 * MINUTE_MS);
	jump(0);
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
	assert_refused(5);
}

/* By a wrong clock keys seem to end too early, or to be good for long after they have. */
static void wrong_with_keys_that_end(int64_t skew_ms)
{
	world_set_skew(run.world, skew_ms);
	run_use_container(&run, 15 * 60);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	run_for(&run, 60 * MINUTE_MS);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
	cr_assert_leq(world_issued(run.world), 12, "%u refreshes", world_issued(run.world));
}

Test(clocks, keys_that_end_by_a_clock_that_is_ahead)
{
	wrong_with_keys_that_end(10 * MINUTE_MS);
}

Test(clocks, keys_that_end_by_a_clock_that_is_behind)
{
	wrong_with_keys_that_end(-10 * MINUTE_MS);
}

/* So far ahead that whatever comes has ended already: a person is told that it is the clock. */
Test(clocks, keys_that_have_ended_when_they_come)
{
	world_set_skew(run.world, 120 * MINUTE_MS);
	run_use_container(&run, 3600);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "NoCredentials");
	cr_assert(strstr(json_print(world_evacuation(run.world, "out"), &arena), "clock"));
	cr_assert_leq(world_issued(run.world), 30, "%u fetched in ten minutes", world_issued(run.world));
	world_set_skew(run.world, 0);
	run_must(&run, run_holding, 10 * MINUTE_MS, "it goes on by itself");
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* What is on the way has a clock of its own, and a wrong one; AWS takes what we sign by ours. */
static void lie(int64_t ms, const char *text, unsigned answers)
{
	run_use_container(&run, 3600);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_set_date(run.world, ms, text, answers);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	assert_nothing_failed();
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
	assert_refused(1);
	cr_assert_leq(world_issued(run.world), 2);
}

Test(clocks, dates_of_a_proxy_that_is_two_hours_ahead)
{
	lie(120 * MINUTE_MS, NULL, UINT_MAX);
}

Test(clocks, dates_of_a_proxy_that_is_ten_minutes_behind)
{
	lie(-10 * MINUTE_MS, NULL, UINT_MAX);
}

Test(clocks, one_date_of_long_ago)
{
	lie(0, "Thu, 01 Jan 1970 00:00:00 GMT", 1);
}

Test(clocks, one_date_of_the_end_of_time)
{
	lie(0, "Fri, 31 Dec 9999 23:59:59 GMT", 1);
}

Test(clocks, dates_that_are_none)
{
	lie(0, "yesterday", UINT_MAX);
}

/* Believed, they would have ended the keys there are and whatever comes; and nothing would be asked that could tell better. */
Test(clocks, dates_ahead_for_a_while_and_keys_that_end)
{
	run_use_container(&run, 3600);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	run_for(&run, 2 * MINUTE_MS);
	world_set_date(run.world, 120 * MINUTE_MS, NULL, 200);
	run_for(&run, 6 * MINUTE_MS);
	world_set_date(run.world, 0, NULL, 0);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
	cr_assert_eq(world_issued(run.world), 1);
	cr_assert_eq(world_refused_clocks(run.world, "*"), 0);
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* The lease is measured, not dated: whatever the clock says, it is kept. */
Test(clocks, the_lease_does_not_care)
{
	run_add_every_kind(&run);
	run_hold(&run);
	jump(24 * 60 * MINUTE_MS);
	jump(-24 * 60 * MINUTE_MS);
	cr_assert_not(run.ended);
	cr_assert_eq(run.lives, 1);
	run_restore(&run);
}
