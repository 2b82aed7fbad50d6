#include "aws/credentials.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "environment.h"

#define MINUTE ((int64_t)60 * 1000)

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(credentials, .init = set_up, .fini = tear_down);

static struct wallclock at(int64_t ms)
{
	return (struct wallclock){1700000000000000 + ms * 1000};
}

static int64_t refresh_in(int64_t life_ms, int64_t age_ms, uint32_t random)
{
	struct aws_credentials credentials = {.expires_at = at(life_ms)};

	return aws_credentials_refresh_in_ms(&credentials, at(0), at(age_ms), random);
}

Test(credentials, empty_variables_are_not_set)
{
	cr_assert_null(aws_env(TABLE("A", ""), "A"));
	cr_assert_null(aws_env(TABLE("A", "b"), "B"));
	cr_assert_str_eq(aws_env(TABLE("A", "b"), "A"), "b");
}

Test(credentials, copies_outlive_what_they_were_made_from)
{
	struct arena short_lived;
	struct aws_credentials out;
	struct aws_credentials from = {.expires_at = {7}, .may_outlive = true};

	arena_init(&short_lived, "short", 4096);
	from.access_key_id = arena_string(&short_lived, "A");
	from.secret_access_key = arena_string(&short_lived, "S");
	from.source = arena_string(&short_lived, "environment");
	aws_credentials_copy(&arena, &from, &out);
	arena_done(&short_lived);
	cr_assert_str_eq(out.access_key_id, "A");
	cr_assert_str_eq(out.secret_access_key, "S");
	cr_assert_null(out.session_token);
	cr_assert_str_eq(out.source, "environment");
	cr_assert_eq(out.expires_at.us, 7);
	cr_assert(out.may_outlive);
	from = (struct aws_credentials){.session_token = "T"};
	aws_credentials_copy(&arena, &from, &out);
	cr_assert_str_eq(out.session_token, "T");
	cr_assert_not(out.may_outlive);
}

Test(credentials, words_are_printable_and_without_blanks)
{
	static const char *const wrong[] = {"Qz b", "Qz\tb", "Qz\n", "\rQz", "Qz\x7f", "Qz\xc3\xa9", "\x01Qz"};

	cr_assert(aws_credentials_check_word("X", NULL, &error));
	cr_assert(aws_credentials_check_word("X", "", &error));
	cr_assert(aws_credentials_check_word("X", "AKIA/+=~!", &error));
	cr_assert_eq(error.kind, ERROR_NONE);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		error = (struct error){0};
		cr_assert_not(aws_credentials_check_word("THE_NAME", wrong[i], &error), "%zu", i);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert(strncmp(error.message, "THE_NAME contains ", 18) == 0, "%s", error.message);
		cr_assert_null(strstr(error.message, "Qz"));
	}
}

Test(credentials, without_an_end_they_are_never_fetched_anew)
{
	struct aws_credentials credentials = {0};

	cr_assert_eq(aws_credentials_refresh_in_ms(&credentials, at(0), at(5), 0), -1);
	cr_assert_not(aws_credentials_expired(&credentials, at(INT32_MAX)));
}

Test(credentials, refreshed_a_quarter_of_an_hour_before_their_end)
{
	cr_assert_eq(refresh_in(360 * MINUTE, 0, 0), 345 * MINUTE);
	cr_assert_eq(refresh_in(360 * MINUTE, 100 * MINUTE, 0), 245 * MINUTE);
	cr_assert_eq(refresh_in(60 * MINUTE, 0, 0), 45 * MINUTE);
}

Test(credentials, short_lived_ones_after_two_thirds_of_their_life)
{
	cr_assert_eq(refresh_in(30 * MINUTE, 0, 0), 20 * MINUTE);
	cr_assert_eq(refresh_in(15 * MINUTE, 0, 0), 10 * MINUTE);
	cr_assert_eq(refresh_in(45 * MINUTE, 0, 0), 30 * MINUTE);
}

Test(credentials, replicas_do_not_come_at_once)
{
	cr_assert_float_eq((double)refresh_in(360 * MINUTE, 0, UINT32_MAX), 345.0 * 0.9 * (double)MINUTE, 1.0);
	cr_assert_float_eq((double)refresh_in(360 * MINUTE, 0, UINT32_MAX / 2), 345.0 * 0.95 * (double)MINUTE, 1.0);
	for (uint32_t random = 0; random < UINT32_MAX - 99999999; random += 99999999) {
		int64_t in_ms = refresh_in(60 * MINUTE, 0, random);

		cr_assert(in_ms <= 45 * MINUTE && in_ms >= 45 * MINUTE * 9 / 10, "%lld", (long long)in_ms);
	}
}

Test(credentials, overdue_ones_every_minute_but_never_in_a_loop)
{
	cr_assert_eq(refresh_in(60 * MINUTE, 45 * MINUTE, 0), MINUTE);
	cr_assert_eq(refresh_in(60 * MINUTE, 59 * MINUTE, 0), MINUTE);
	cr_assert_eq(refresh_in(60 * MINUTE, 600 * MINUTE, 0), MINUTE);
	cr_assert_eq(refresh_in(90000, 80000, 0), 30000);
	cr_assert_eq(refresh_in(9, 8, 0), 1000);
	cr_assert_eq(refresh_in(3000, 1999, 0), 1000);
	cr_assert_eq(refresh_in(0, 0, 0), MINUTE);
	cr_assert_eq(refresh_in(-5 * MINUTE, 0, 0), MINUTE);
}

Test(credentials, the_same_ones_handed_out_again_are_asked_for_ever_more_often_but_boundedly)
{
	int64_t left_ms = 60 * MINUTE;
	int asked;

	for (asked = 0; left_ms > 0; asked++)
		left_ms -= refresh_in(left_ms, 0, 0);
	cr_assert_lt(asked, 20);
}

Test(credentials, expired_at_their_end_unless_they_may_outlive_it)
{
	struct aws_credentials credentials = {.expires_at = at(0)};

	cr_assert_not(aws_credentials_expired(&credentials, at(-1)));
	cr_assert(aws_credentials_expired(&credentials, at(0)));
	cr_assert(aws_credentials_expired(&credentials, at(1)));
	credentials.may_outlive = true;
	cr_assert_not(aws_credentials_expired(&credentials, at(1)));
}

Test(credentials, words_have_an_end)
{
	size_t length = AWS_CREDENTIALS_WORD_MAX_LENGTH;
	char *word = arena_alloc(&arena, length + 2);

	memset(word, 'Q', length);
	word[length] = word[length + 1] = '\0';
	cr_assert(aws_credentials_check_word("X", word, &error));
	word[length] = 'Q';
	cr_assert_not(aws_credentials_check_word("THE_NAME", word, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert(strncmp(error.message, "THE_NAME is longer than ", 24) == 0, "%s", error.message);
	cr_assert_null(strstr(error.message, "QQ"));
}
