#include <criterion/criterion.h>
#include <stdio.h>

#include "clock.h"
#include "exchange.h"
#include "fake_client.h"
#include "state.h"

#define HOUR_MS (INT64_C(3600) * 1000)
/* Two hours after the fake's 2027-01-15T08:00:00Z. */
#define TWO_HOURS_LATER "Fri, 15 Jan 2027 10:00:00 GMT"

static struct fake fake;

static void setup(void)
{
	fake_init(&fake);
}

static void teardown(void)
{
	fake_done(&fake);
}

TestSuite(clock, .init = setup, .fini = teardown, .timeout = 60);

static void hear(const char *name, const char *date)
{
	struct http_header headers[] = {{"Date", date}, {name, "0123"}};
	struct http_response response = {.status = 200, .headers = {headers, 2, 2}, .body = ""};

	clock_note(fake.engine, &response, false);
}

static int64_t ahead_ms(void)
{
	return (engine_wall(fake.engine).us - fake.wall.us) / 1000;
}

Test(clock, aws_time_takes_the_place_of_a_wrong_one)
{
	struct instant before = fake.now;

	cr_assert_not(clock_set_since(fake.engine, before));
	hear("x-amzn-RequestId", TWO_HOURS_LATER);
	cr_assert_eq(ahead_ms(), 2 * HOUR_MS);
	cr_assert(clock_set_since(fake.engine, before));
	cr_assert_not(clock_set_since(fake.engine, instant_after(before, 1)));
}

/* Whoever put in that Date, a signature by another clock would not have been taken. */
Test(clock, what_was_accepted_was_signed_by_the_right_one)
{
	struct http_header headers[] = {{"Date", TWO_HOURS_LATER}, {"x-amzn-RequestId", "0123"}};
	struct http_response response = {.status = 200, .headers = {headers, 2, 2}, .body = ""};

	clock_note(fake.engine, &response, true);
	cr_assert_eq(ahead_ms(), 0);
	clock_note(fake.engine, &response, false);
	cr_assert_eq(ahead_ms(), 2 * HOUR_MS);
}

Test(clock, small_differences_and_other_machines_are_let_be)
{
	hear("x-amzn-RequestId", "Fri, 15 Jan 2027 08:04:59 GMT");
	hear("Via", TWO_HOURS_LATER);
	cr_assert_eq(ahead_ms(), 0);
}

Test(clock, what_is_corrected_follows_when_the_machine_is_set)
{
	hear("x-amzn-RequestId", TWO_HOURS_LATER);
	fake.wall.us += 2 * HOUR_MS * 1000;
	hear("x-amzn-RequestId", TWO_HOURS_LATER);
	cr_assert_eq(ahead_ms(), 0);
}

/* Foreign writes signed before could otherwise be taken for too old to land. */
Test(clock, since_when_it_acts_is_by_the_clock_as_it_is_now)
{
	fake_pass(&fake, 10000);
	hear("x-amzn-RequestId", TWO_HOURS_LATER);
	cr_assert_eq((engine_wall(fake.engine).us - engine_acting_since(fake.engine).us) / 1000, 10000);
}

/* Credentials. */

static const char *variable(void *context, const char *name)
{
	(void)context;
	return text_equal(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") ? "http://127.0.0.1:1/creds" : NULL;
}

static void turn(void)
{
	identity_turn(fake.engine);
	exchange_dispatch(fake.engine);
}

static void give_credentials(const char *until)
{
	char body[512];

	snprintf(body, sizeof body,
	         "{\"AccessKeyId\":\"AKIDEXAMPLE\",\"SecretAccessKey\":\"secret\",\"Token\":\"token\",\"Expiration\":"
	         "\"%s\"}",
	         until);
	fake_answer(&fake, 200, body);
}

/* The machine is two hours slow, so that what lives for an hour seems to live for three. */
static void begin_slow(void)
{
	fake.environment.get = variable;
	turn();
	cr_assert_eq(fake.submits, 1);
	give_credentials("2027-01-15T11:00:00Z");
	cr_assert(identity_may_sign(fake.engine));
}

static int64_t refreshed_after_ms(void)
{
	int submits = fake.submits;

	for (int64_t ms = 0; ms < 3 * HOUR_MS; ms += 1000) {
		turn();
		if (fake.submits > submits)
			return ms;
		fake_pass(&fake, 1000);
	}
	return -1;
}

Test(clock, credentials_are_fetched_before_they_end_by_the_clock_as_it_was_set)
{
	begin_slow();
	hear("x-amzn-RequestId", TWO_HOURS_LATER);
	cr_assert_leq(refreshed_after_ms(), HOUR_MS);
	cr_assert(identity_may_sign(fake.engine));
}

Test(clock, credentials_that_have_ended_by_the_clock_as_it_was_set_are_fetched_at_once)
{
	begin_slow();
	fake.wall.us += 4 * HOUR_MS * 1000; /* somebody sets the machine */
	cr_assert_not(identity_may_sign(fake.engine));
	cr_assert_eq(refreshed_after_ms(), 0);
	give_credentials("2027-01-15T14:00:00Z");
	cr_assert(identity_may_sign(fake.engine));
	cr_assert_gt(refreshed_after_ms(), HOUR_MS);
}

Test(clock, the_due_time_stays_where_the_clock_does)
{
	begin_slow();
	cr_assert_gt(refreshed_after_ms(), 2 * HOUR_MS);
}
