/*
 * Credentials that turn out to be another account's, of a source or of the next process: where nothing is to be seen of
 * what is out, nothing is taken for lost.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

#define ELSEWHERE "999999999999"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 7);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(accounts, .init = setup, .fini = teardown, .timeout = 240);

static void anew(uint64_t seed)
{
	teardown();
	run_init(&run, seed);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void begin(void)
{
	run_add_region(&run);
	world_hide_elsewhere(run.world, true);
	before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
}

/* Whatever there is of AWS that somebody has to know the account for. */
static bool begun(void)
{
	return world_calls(run.world, "UpdateAutoScalingGroup") + world_calls(run.world, "PutItem") > 0;
}

static void restarted_elsewhere(unsigned calls)
{
	char what[64];
	(void)snprintf(what, sizeof(what), "restarted after call %u", calls);
	while (world_calls(run.world, "*") < calls)
		run_for(&run, 1);
	run_stop(&run);
	bool knows = begun();
	world_set_account(run.world, ELSEWHERE);
	run_for(&run, 2 * MINUTE_MS);
	const char *account = json_path_string(world_evacuation(run.world, "out"), "status.accountId");
	cr_assert(!knows || (account != NULL && strcmp(account, WORLD_ACCOUNT) == 0), "%s: it was begun in %s, not in %s",
	          what, WORLD_ACCOUNT, account != NULL ? account : "one that is nowhere written");
	if (!knows) /* of the new one, for good */
		return;
	run_stop(&run);
	world_set_account(run.world, WORLD_ACCOUNT);
	run_must(&run, run_holding, 30 * MINUTE_MS, what);
	run_restore(&run);
	run_assert_as_before(&run, before, what);
}

Test(accounts, the_next_process_has_another_for_two_minutes)
{
	bool any = false;
	for (unsigned calls = 14; calls <= 70; calls += calls < 40 ? 1 : 6) {
		anew(7);
		begin();
		restarted_elsewhere(calls);
		any |= begun();
	}
	cr_assert(any);
}

/* The source gives out so many keys of the other account, from one of them on. */
struct turncoat {
	unsigned from, count;
};

static void turn_coat(struct world *world, void *context)
{
	const struct turncoat *turncoat = context;
	unsigned next = world_issued(world) + 1;
	bool away = next >= turncoat->from && next - turncoat->from < turncoat->count;
	world_set_account(world, away ? ELSEWHERE : WORLD_ACCOUNT);
	world_at(world, 1000, turn_coat, context);
}

static void begin_with_a_turncoat(struct turncoat *turncoat)
{
	run_use_container(&run, 30);
	begin();
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_at(run.world, 0, turn_coat, turncoat);
}

Test(accounts, one_key_of_the_source_is_anothers)
{
	for (unsigned from = 2; from <= 12; from++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			struct turncoat turncoat = {from, 1};
			char what[64];
			anew(seed);
			begin_with_a_turncoat(&turncoat);
			run_for(&run, 3 * MINUTE_MS + (int64_t)seed * 7000);
			world_delete_evacuation(run.world, "out");
			run_must(&run, run_gone, 60 * MINUTE_MS, "gone");
			(void)snprintf(what, sizeof(what), "key %u, seed %u", from, (unsigned)seed);
			run_assert_as_before(&run, before, what);
		}
}

/* Those that were right are used to their end; a person reads which account is meant and which came. */
Test(accounts, all_further_keys_are_anothers)
{
	struct turncoat turncoat = {3, 1000000};
	begin_with_a_turncoat(&turncoat);
	run_must(&run, run_stalled, 5 * MINUTE_MS, "it is stalled");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "CredentialsExpired");
	cr_assert(strstr(run_message(&run, "Stalled"), "of account " ELSEWHERE), "%s", run_message(&run, "Stalled"));
	cr_assert(strstr(run_message(&run, "Stalled"), "in account " WORLD_ACCOUNT), "%s", run_message(&run, "Stalled"));
	unsigned issued = world_issued(run.world);
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_leq(world_issued(run.world) - issued, 20 * 4, "%u refreshes", world_issued(run.world) - issued);
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
	turncoat.count = 0;
	run_must(&run, run_holding, 10 * MINUTE_MS, "it goes on by itself");
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}
