#include <criterion/criterion.h>

#include "exchange.h"
#include "fake_client.h"
#include "state.h"

#define ENDLESS \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"abc\"}}"

static struct fake fake;

static void setup(void)
{
	static const char *const argv[] = {"get-token", NULL};
	static const char *const environment[] = {NULL};
	static const struct kube_exec exec = {
		.api_version = "client.authentication.k8s.io/v1", .argv = argv, .environment = environment};

	fake_init(&fake);
	fake.kube.exec = &exec;
}

static void teardown(void)
{
	fake_done(&fake);
}

TestSuite(login, .init = setup, .fini = teardown, .timeout = 60);

static void turn(void)
{
	login_turn(fake.engine);
	exchange_dispatch(fake.engine);
}

/* As many seconds as it takes to run it once more; -1: it is not run within ten minutes. */
static int seconds_to_next_run(void)
{
	int runs = fake.runs;

	for (int second = 0; second < 600; second++) {
		turn();
		if (fake.runs > runs)
			return second;
		fake_pass(&fake, 1000);
	}
	return -1;
}

static void log_in(void)
{
	turn();
	cr_assert_eq(fake.runs, 1);
	cr_assert_not(login_may_go(fake.engine));
	fake_answer(&fake, 200, ENDLESS);
	cr_assert(login_may_go(fake.engine));
}

Test(login, what_has_no_end_is_kept)
{
	log_in();
	cr_assert_eq(seconds_to_next_run(), -1);
}

Test(login, a_401_runs_it_again_and_calls_wait_for_it)
{
	log_in();
	fake_pass(&fake, 60000);
	login_refused(fake.engine, fake.now);
	cr_assert_not(login_may_go(fake.engine));
	cr_assert_eq(seconds_to_next_run(), 0);
	fake_answer(&fake, 200, ENDLESS);
	cr_assert(login_may_go(fake.engine));
}

/* Otherwise it would never be run again: what was refused has no end of its own. */
Test(login, a_run_that_failed_after_a_401_is_made_up_for)
{
	log_in();
	fake_pass(&fake, 60000);
	login_refused(fake.engine, fake.now);
	cr_assert_eq(seconds_to_next_run(), 0);
	fake_answer(&fake, 0, "");
	cr_assert(login_may_go(fake.engine), "what it gave before stays in use");
	for (int failures = 1; failures < 10; failures++) {
		int seconds = seconds_to_next_run();

		cr_assert_geq(seconds, 1);
		cr_assert_leq(seconds, 61);
		fake_answer(&fake, 0, "");
	}
	cr_assert_geq(seconds_to_next_run(), 1);
	fake_answer(&fake, 200, ENDLESS);
	cr_assert_eq(seconds_to_next_run(), -1);
}

Test(login, what_ends_at_once_is_not_fetched_in_a_loop)
{
	struct arena arena;

	arena_init(&arena, "test", 1 << 20);
	turn();
	for (int i = 0; i < 5; i++) {
		struct wallclock end = {fake.wall.us + 100000}; /* a tenth of a second */
		int runs = fake.runs;

		fake_answer(&fake, 200,
		            arena_printf(&arena,
		                         "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
		                         "\"status\":{\"token\":\"abc\",\"expirationTimestamp\":\"%s\"}}",
		                         wallclock_micro(end, &arena)));
		fake_pass(&fake, 1000);
		turn();
		cr_assert_eq(fake.runs, runs);
		cr_assert_leq(seconds_to_next_run(), 2);
	}
	arena_done(&arena);
}
