#include <criterion/criterion.h>

#include "requeue.h"

static struct requeue decide(enum error_kind kind, bool effect, bool once, int attempts)
{
	struct requeue_case call = {.effect = effect, .once = once, .attempts = attempts, .random = 512};
	struct error error = {.kind = kind};

	return requeue_decide(&call, &error);
}

Test(requeue, what_was_only_asked_is_asked_again_within_a_bound)
{
	const enum error_kind transient[] = {ERROR_UNREACHABLE, ERROR_TIMEOUT, ERROR_SERVER, ERROR_MALFORMED};

	for (size_t i = 0; i < sizeof(transient) / sizeof(transient[0]); i++) {
		cr_assert_eq(decide(transient[i], false, false, 1).what, REQUEUE_AGAIN, "%s", error_kind_name(transient[i]));
		cr_assert_eq(decide(transient[i], false, false, REQUEUE_ATTEMPTS_MAX).what, REQUEUE_TELL);
	}
}

Test(requeue, an_effect_that_met_silence_is_told_at_once)
{
	cr_assert_eq(decide(ERROR_UNREACHABLE, true, false, 1).what, REQUEUE_TELL);
	cr_assert_eq(decide(ERROR_TIMEOUT, true, false, 1).what, REQUEUE_TELL);
	cr_assert_eq(decide(ERROR_SERVER, true, false, 1).what, REQUEUE_TELL);
}

Test(requeue, an_effect_that_was_refused_at_the_door_is_repeated)
{
	struct requeue requeue = decide(ERROR_THROTTLED, true, false, 1);

	cr_assert_eq(requeue.what, REQUEUE_AGAIN);
	cr_assert(requeue.throttled);
	cr_assert_geq(requeue.delay_ms, 500);
}

Test(requeue, what_a_busy_service_refused_is_built_anew)
{
	cr_assert_eq(decide(ERROR_BUSY, true, false, 1).what, REQUEUE_TELL);
	cr_assert_eq(decide(ERROR_BUSY, false, false, 3).what, REQUEUE_AGAIN);
	cr_assert_eq(decide(ERROR_BUSY, false, false, REQUEUE_PATIENT_MAX).what, REQUEUE_TELL);
}

Test(requeue, once_means_once_but_the_limiter_hears_of_it)
{
	cr_assert_eq(decide(ERROR_THROTTLED, false, true, 1).what, REQUEUE_TELL);
	cr_assert(decide(ERROR_THROTTLED, false, true, 1).throttled);
	cr_assert_eq(decide(ERROR_UNREACHABLE, false, true, 1).what, REQUEUE_TELL);
}

Test(requeue, expired_credentials_are_refreshed_once)
{
	cr_assert_eq(decide(ERROR_EXPIRED, true, false, 1).what, REQUEUE_AGAIN);
	cr_assert_eq(decide(ERROR_EXPIRED, true, false, 1).delay_ms, 0);
	cr_assert_not(decide(ERROR_EXPIRED, true, false, 1).costs);
}

Test(requeue, expired_credentials_are_refreshed_whatever_went_before)
{
	struct requeue_case call = {.effect = true, .attempts = 4};
	struct error error = {.kind = ERROR_EXPIRED};

	cr_assert_eq(requeue_decide(&call, &error).what, REQUEUE_AGAIN);
	call.renewed = true;
	cr_assert_eq(requeue_decide(&call, &error).what, REQUEUE_TELL);
}

Test(requeue, a_plain_no_is_told)
{
	const enum error_kind final[] = {ERROR_DENIED, ERROR_ABSENT, ERROR_CONFLICT, ERROR_REJECTED,
	                                 ERROR_GONE,   ERROR_LIMIT,  ERROR_INPUT};

	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++)
		cr_assert_eq(decide(final[i], false, false, 1).what, REQUEUE_TELL, "%s", error_kind_name(final[i]));
}

Test(requeue, retry_after_is_obeyed_up_to_a_minute)
{
	struct requeue_case call = {.attempts = 1};
	struct error error = {.kind = ERROR_THROTTLED, .retry_after_ms = 7000};

	cr_assert_eq(requeue_decide(&call, &error).delay_ms, 7000);
	error.retry_after_ms = 3600000;
	cr_assert_eq(requeue_decide(&call, &error).delay_ms, 60000);
}

Test(requeue, backoff_grows_to_its_maximum_and_never_vanishes)
{
	cr_assert_eq(requeue_backoff_ms(1, 1000, 20000, 0), 500);
	cr_assert_eq(requeue_backoff_ms(3, 1000, 20000, 0), 2000);
	cr_assert_eq(requeue_backoff_ms(60, 1000, 20000, 0), 10000);
	for (uint32_t random = 0; random < 5000; random += 7) {
		cr_assert_lt(requeue_backoff_ms(2, 1000, 20000, random), 2001);
		cr_assert_geq(requeue_backoff_ms(2, 1000, 20000, random), 1000);
	}
}

Test(requeue, what_a_person_allows_is_the_bound)
{
	struct requeue_case call = {.attempts = 2, .attempts_max = 2, .random = 512};
	struct error error = {.kind = ERROR_SERVER};

	cr_assert_eq(requeue_decide(&call, &error).what, REQUEUE_TELL);
	call.attempts = 1;
	cr_assert_eq(requeue_decide(&call, &error).what, REQUEUE_AGAIN);
	error.kind = ERROR_THROTTLED;
	call.attempts = 14;
	call.attempts_max = 15;
	cr_assert_eq(requeue_decide(&call, &error).what, REQUEUE_AGAIN);
}

Test(requeue, repeats_in_trouble_are_paid_for)
{
	cr_assert(decide(ERROR_SERVER, false, false, 1).costs);
	cr_assert(decide(ERROR_THROTTLED, true, false, 1).costs);
	cr_assert_not(decide(ERROR_BUSY, false, false, 1).costs);
}
