/*
 * An evacuation whose time is over puts everything back by itself, whoever is there to see it, and is then done for good.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

#define AFTER_10_MINUTES ",\"expiresAfterSeconds\":600"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 17);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	run.spec_more = AFTER_10_MINUTES;
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(expiry, .init = setup, .fini = teardown, .timeout = 240);

static bool restored(struct run *at)
{
	return strcmp(world_phase(at->world, "out"), "Restored") == 0;
}

static const char *status(const char *path)
{
	const char *value = json_path_string(world_evacuation(run.world, "out"), path);

	return value != NULL ? value : "";
}

static int64_t seconds_between(const char *from, const char *to)
{
	struct wallclock a = {0}, b = {0};

	cr_assert(wallclock_parse(from, &a), "%s", from);
	cr_assert(wallclock_parse(to, &b), "%s", to);
	return (b.us - a.us) / 1000000;
}

/* It stays as it is, and nothing is out; then the object is deleted, which nobody holds up. */
static void assert_over(void)
{
	const char *reason;

	run_for(&run, 12 * MINUTE_MS);
	cr_assert_str_eq(status("status.phase"), "Restored");
	cr_assert_str_eq(world_condition(run.world, "out", "Ready", &reason), "True");
	cr_assert_str_eq(reason, "Expired");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False");
	cr_assert_eq(json_count(json_path(world_evacuation(run.world, "out"), "metadata.finalizers")), 0);
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	world_delete_evacuation(run.world, "out");
	cr_assert_null(world_evacuation(run.world, "out"));
	run_for(&run, 1000);
	run_assert_as_before(&run, before, "in the end");
}

Test(expiry, it_is_put_back_ten_minutes_after_its_first_change)
{
	run_hold(&run);
	cr_assert_eq(seconds_between(status("status.startedAt"), status("status.expiresAt")), 600);
	run_for(&run, 8 * MINUTE_MS);
	cr_assert_str_eq(status("status.phase"), "Holding");
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	cr_assert_not_null(strstr(world_phases_seen(run.world, "out"), "Holding Restoring Restored"));
	assert_over();
}

Test(expiry, also_when_no_controller_was_there_at_the_time)
{
	run_hold(&run);
	run_stop(&run);
	world_advance(run.world, 60 * MINUTE_MS);
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	assert_over();
}

/* It leads before it knows what there is: what is due must not keep it awake. The world ends what spins. */
Test(expiry, nor_when_its_first_list_of_nodes_takes_a_minute)
{
	run_hold(&run);
	run_stop(&run);
	world_advance(run.world, 60 * MINUTE_MS);
	world_fault(run.world, "LIST nodes", 1, WORLD_SLOW);
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	assert_over();
}

Test(expiry, a_controller_that_finds_it_restored_leaves_it)
{
	const char *told;

	run_hold(&run);
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	told = arena_string(&arena, json_print(json_path(world_evacuation(run.world, "out"), "status"), &arena));
	run_stop(&run);
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(json_print(json_path(world_evacuation(run.world, "out"), "status"), &arena), told);
	run.spec_more = ",\"expiresAfterSeconds\":86400"; /* too late */
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	assert_over();
}

Test(expiry, nor_one_that_finds_it_restored_and_edited)
{
	run_hold(&run);
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	run_stop(&run);
	run.spec_more = ",\"expiresAfterSeconds\":86400"; /* too late */
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	assert_over();
}

Test(expiry, a_restart_does_not_make_its_time_begin_anew)
{
	run_hold(&run);
	struct instant over = instant_after(world_now(run.world), 10 * MINUTE_MS);
	for (int i = 0; i < 4; i++) {
		run_for(&run, 2 * MINUTE_MS);
		run_stop(&run);
	}
	run_must(&run, restored, 6 * MINUTE_MS, "it is restored");
	cr_assert_lt(instant_between_ms(over, world_now(run.world)), 3 * MINUTE_MS);
	assert_over();
}

Test(expiry, a_later_time_counts_while_it_holds)
{
	run_hold(&run);
	run.spec_more = ",\"expiresAfterSeconds\":1200";
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(status("status.phase"), "Holding");
	cr_assert_eq(seconds_between(status("status.startedAt"), status("status.expiresAt")), 1200);
	run.spec_more = ",\"expiresAfterSeconds\":1"; /* at once */
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	assert_over();
}

/* What is being deleted waits for no time of its own any more: the world tells when the engine spins. */
Test(expiry, its_time_comes_while_it_is_being_deleted)
{
	run_hold(&run);
	run_for(&run, 8 * MINUTE_MS);
	world_aws_outage(run.world, 20 * MINUTE_MS);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(status("status.phase"), "Restoring");
	run_must(&run, run_gone, 60 * MINUTE_MS, "it is gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(expiry, it_comes_in_the_midst_of_applying)
{
	run.spec_more = ",\"expiresAfterSeconds\":3";
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, restored, 60 * MINUTE_MS, "it is restored");
	assert_over();
}

Test(expiry, a_plan_does_not_expire)
{
	run_evacuate(&run, "out", "use1-az1", "Plan");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_str_eq(status("status.phase"), "Planned");
	cr_assert_str_eq(status("status.expiresAt"), "");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it holds");
	cr_assert_eq(seconds_between(status("status.startedAt"), status("status.expiresAt")), 600);
}

static bool next_holds(struct run *at)
{
	return strcmp(world_phase(at->world, "next"), "Holding") == 0;
}

Test(expiry, the_next_one_of_the_zone_takes_over_what_is_out)
{
	run_hold(&run);
	run.spec_more = NULL;
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_for(&run, 60000);
	cr_assert_str_eq(run_stalled_because(&run, "next"), "ZoneTaken");
	run_must(&run, next_holds, 60 * MINUTE_MS, "the next one holds");
	run_must(&run, restored, 60 * MINUTE_MS, "the first one is over");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
	world_delete_evacuation(run.world, "out");
	world_delete_evacuation(run.world, "next");
	run_for(&run, 30 * MINUTE_MS);
	run_assert_as_before(&run, before, "in the end");
}

/* Killed at each effect after its time has come. */
Test(expiry, killed_at_each_effect_of_it)
{
	run_done(&run);
	for (unsigned n = 1; n <= 40; n += 3) {
		run_init(&run, n);
		run_add_every_kind(&run);
		run.spec_more = AFTER_10_MINUTES;
		run_hold(&run);
		world_kill_at(run.world, world_effects(run.world) + n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
		run_must(&run, restored, 90 * MINUTE_MS, "it is restored");
		assert_over();
		run_done(&run);
	}
	run_init(&run, 1);
}

/* What another one has taken over stays out: nobody is to read that it is back. */
Test(expiry, one_that_is_followed_says_so_when_its_time_is_over)
{
	run_hold(&run);
	run.spec_more = NULL;
	run_apply(&run, "next", "use1-az1", RUN_EVERY_KIND);
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
	cr_assert_str_eq(status("status.phase"), "Restored");
	cr_assert_str_eq(world_phase(run.world, "next"), "Holding");
	cr_assert(strstr(run_message(&run, "Ready"), "stays out for ZonalEvacuation next"), "%s",
	          run_message(&run, "Ready"));
}

/* Whoever waits for observedGeneration, as GitOps does, is not to wait for ever. */
Test(expiry, what_is_edited_when_it_is_over_is_told_of_its_new_generation)
{
	run_hold(&run);
	run_must(&run, restored, 60 * MINUTE_MS, "restored");
	run_for(&run, 5000);
	const char *told = arena_string(&arena, status("status.summary"));
	run_stop(&run);
	run.spec_more = NULL;
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 30000);
	const struct json *object = world_evacuation(run.world, "out");
	int64_t generation = json_integer(json_path(object, "metadata.generation"), 0);
	cr_assert_eq(json_integer(json_path(object, "status.observedGeneration"), 0), generation);
	cr_assert_gt(generation, 1);
	cr_assert_str_eq(status("status.phase"), "Restored");
	cr_assert_str_eq(status("status.summary"), told);
	cr_assert_str_neq(status("status.startedAt"), "", "what was told stays told");
}
