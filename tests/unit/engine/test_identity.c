#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "exchange.h"
#include "fake_client.h"
#include "state.h"

#define OURS "111111111111"
#define ANOTHER "222222222222"

static struct fake fake;

static const char *variable(void *context, const char *name)
{
	(void)context;
	return text_equal(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") ? "http://127.0.0.1:1/creds" : NULL;
}

static void setup(void)
{
	fake_init(&fake);
	fake.environment.get = variable;
}

static void teardown(void)
{
	fake_done(&fake);
}

TestSuite(identity, .init = setup, .fini = teardown, .timeout = 60);

static void turn(void)
{
	identity_turn(fake.engine);
	exchange_dispatch(fake.engine);
}

/* As many seconds as it takes to ask for something; -1: nothing is asked for within ten minutes. */
static int seconds_to_next_call(void)
{
	int submits = fake.submits;

	for (int second = 0; second < 600; second++) {
		turn();
		if (fake.submits > submits)
			return second;
		fake_pass(&fake, 1000);
	}
	return -1;
}

static void give(const char *id)
{
	char body[256];

	snprintf(body, sizeof body,
	         "{\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"secret\",\"Token\":\"token\",\"Expiration\":"
	         "\"2027-01-15T11:00:00Z\"}",
	         id);
	fake_answer(&fake, 200, body);
}

static void begin(void)
{
	cr_assert_eq(seconds_to_next_call(), 0);
	give("AKIDONE");
	cr_assert(identity_may_sign(fake.engine));
}

static void refuse(struct instant sent_at)
{
	struct error error;

	error_set(&error, ERROR_EXPIRED, "InvalidClientTokenId");
	identity_refused(fake.engine, sent_at, &error);
}

/* In that very moment it was signed with those before. */
Test(identity, a_refusal_of_what_was_sent_when_they_were_asked_for_is_not_of_them)
{
	struct instant asked_at = fake.now;

	begin();
	refuse(asked_at);
	cr_assert(identity_may_sign(fake.engine));
	refuse(instant_after(asked_at, 1));
	cr_assert_not(identity_may_sign(fake.engine));
	cr_assert_eq(seconds_to_next_call(), 0);
	give("AKIDTWO");
	cr_assert(identity_may_sign(fake.engine));
}

Test(identity, so_is_an_acceptance)
{
	struct instant asked_at;

	begin();
	fake_pass(&fake, 1000);
	refuse(fake.now);
	asked_at = fake.now;
	turn();
	give("AKIDTWO");
	cr_assert(identity_on_trial(fake.engine));
	identity_accepted(fake.engine, asked_at);
	cr_assert(identity_on_trial(fake.engine));
	identity_accepted(fake.engine, instant_after(asked_at, 1));
	cr_assert_not(identity_on_trial(fake.engine));
}

static void fail_to_refresh(int times)
{
	for (int i = 0; i < times; i++) {
		cr_assert_geq(seconds_to_next_call(), 0);
		fake_answer(&fake, 400, "the agent is not well");
		cr_assert(identity_may_sign(fake.engine), "the old ones are all there is");
	}
}

/* Each try of the source lets one call find out whether they are good again, and no refusal hurries the next. */
Test(identity, what_is_refused_while_the_source_fails_waits_for_its_next_try)
{
	begin();
	fake_pass(&fake, 170 * 60000);
	fail_to_refresh(6);
	cr_assert_not(identity_on_trial(fake.engine));
	for (int i = 0; i < 3; i++) {
		fake_pass(&fake, 10);
		refuse(fake.now);
		cr_assert_not(identity_may_sign(fake.engine));
		cr_assert(identity_on_trial(fake.engine));
		cr_assert_geq(seconds_to_next_call(), 15);
		fake_answer(&fake, 400, "the agent is not well");
		cr_assert(identity_may_sign(fake.engine));
	}
}

static void say_whose(const char *account)
{
	char body[512];

	snprintf(body, sizeof body,
	         "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>"
	         "<Arn>arn:aws:iam::%s:user/one</Arn><UserId>AIDA</UserId><Account>%s</Account></GetCallerIdentityResult>"
	         "</GetCallerIdentityResponse>",
	         account, account);
	fake_answer(&fake, 200, body);
}

static const char *used(void)
{
	return fake.engine->identity.credentials.access_key_id;
}

static void refetch(const char *id)
{
	fake_pass(&fake, 60000);
	refuse(fake.now);
	cr_assert_geq(seconds_to_next_call(), 0);
	give(id);
	exchange_dispatch(fake.engine);
}

Test(identity, another_accounts_are_not_taken)
{
	const char *sentence = fake.engine->identity.error.message;

	begin();
	identity_note_account(fake.engine, OURS);
	identity_note_account(fake.engine, ANOTHER); /* for good it is the first */
	refetch("AKIDTWO");
	say_whose(ANOTHER);
	cr_assert_str_eq(used(), "AKIDONE");
	cr_assert(strstr(sentence, "of account " ANOTHER), "%s", sentence);
	cr_assert(strstr(sentence, "in account " OURS), "%s", sentence);
	cr_assert_geq(seconds_to_next_call(), 0);
	give("AKIDTHREE");
	exchange_dispatch(fake.engine);
	say_whose(OURS);
	cr_assert_str_eq(used(), "AKIDTHREE");
}

/* STS may be out of reach where all else is not. */
Test(identity, without_a_word_of_whose_they_are_they_are_taken)
{
	begin();
	identity_note_account(fake.engine, OURS);
	refetch("AKIDTWO");
	cr_assert_str_eq(used(), "AKIDONE", "not before it has been asked");
	fake_answer(&fake, 503, "");
	cr_assert_str_eq(used(), "AKIDTWO");
}
