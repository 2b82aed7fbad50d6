#include <criterion/criterion.h>

#include "net/limiter.h"

static const struct instant start = {1000000};
static struct limiter limiter;

static struct instant at(int64_t ms)
{
	return instant_after(start, ms);
}

/* How many calls pass when one is tried each `step_ms`. */
static int count_within(int64_t from_ms, int64_t to_ms, int64_t step_ms)
{
	int passed = 0;

	for (int64_t ms = from_ms; ms < to_ms; ms += step_ms)
		passed += limiter_take(&limiter, at(ms));
	return passed;
}

Test(net_limiter, burst_then_rate)
{
	limiter_init(&limiter, 10, 5, start);
	cr_assert_eq(count_within(0, 1, 1) + count_within(0, 1, 1), 2);
	for (int i = 0; i < 3; i++)
		cr_assert(limiter_take(&limiter, start));
	cr_assert_not(limiter_take(&limiter, start));
	cr_assert_eq(count_within(1, 10001, 1), 100);
}

Test(net_limiter, bucket_is_never_fuller_than_the_burst)
{
	limiter_init(&limiter, 10, 5, start);
	for (int i = 0; i < 5; i++)
		cr_assert(limiter_take(&limiter, at(3600000)));
	cr_assert_not(limiter_take(&limiter, at(3600000)));
}

Test(net_limiter, burst_is_at_least_one)
{
	limiter_init(&limiter, 2, 0, start);
	cr_assert(limiter_take(&limiter, start));
	cr_assert_not(limiter_take(&limiter, at(499)));
	cr_assert(limiter_take(&limiter, at(500)));
}

Test(net_limiter, ready_says_exactly_when)
{
	limiter_init(&limiter, 3, 1, start);
	cr_assert_eq(limiter_ready(&limiter, start).ms, start.ms);
	cr_assert(limiter_take(&limiter, start));
	cr_assert_eq(limiter_ready(&limiter, start).ms, at(334).ms);
	cr_assert_eq(limiter_ready(&limiter, at(100)).ms, at(334).ms);
	cr_assert_not(limiter_take(&limiter, at(332)));
	cr_assert(limiter_take(&limiter, at(334)));
}

/* Whatever has happened: at ready it passes, and 2 ms before it does not. */
Test(net_limiter, ready_holds_after_throttling)
{
	static const double rates[] = {0.5, 1, 7, 100, 1000};

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		for (int64_t ms = 0; ms < 20000; ms += 1371) {
			struct instant ready;
			struct limiter early;

			limiter_init(&limiter, rates[i], 1, start);
			limiter_throttled(&limiter, at(1000));
			limiter_throttled(&limiter, at(2000));
			limiter_throttled(&limiter, at(2000 + ms));
			ready = limiter_ready(&limiter, at(2000 + ms));
			early = limiter;
			if (instant_between_ms(at(2000 + ms), ready) > 2)
				cr_assert_not(limiter_take(&early, instant_after(ready, -2)));
			cr_assert(limiter_take(&limiter, ready), "rate %g, %lld ms", rates[i], (long long)ms);
		}
	}
}

Test(net_limiter, throttling_empties_and_halves)
{
	limiter_init(&limiter, 100, 50, start);
	limiter_throttled(&limiter, start);
	cr_assert_not(limiter_take(&limiter, start));
	cr_assert_float_eq(limiter.share, 0.5, 1e-9);
	cr_assert_eq(count_within(0, 1000, 1) / 5, 10, "half the rate, growing"); /* 50 + 5 of growth */
}

Test(net_limiter, halves_at_most_once_a_second)
{
	limiter_init(&limiter, 100, 1, start);
	for (int i = 0; i < 10; i++)
		limiter_throttled(&limiter, at(i));
	cr_assert_float_eq(limiter.share, 0.5, 0.01);
	limiter_throttled(&limiter, at(1000));
	cr_assert_float_eq(limiter.share, 0.3, 0.01);
}

Test(net_limiter, never_under_a_twentieth)
{
	limiter_init(&limiter, 100, 1, start);
	for (int i = 0; i < 100; i++) {
		limiter_throttled(&limiter, at(i * 1000));
		cr_assert_geq(limiter.share, 0.05);
	}
	cr_assert_leq(limiter.share, 0.1);
}

Test(net_limiter, grows_back_by_a_tenth_each_second)
{
	limiter_init(&limiter, 100, 1, start);
	limiter_throttled(&limiter, start);
	limiter_take(&limiter, at(1000));
	cr_assert_float_eq(limiter.share, 0.6, 1e-9);
	limiter_take(&limiter, at(4000));
	cr_assert_float_eq(limiter.share, 0.9, 1e-9);
	limiter_take(&limiter, at(60000));
	cr_assert_float_eq(limiter.share, 1.0, 1e-9);
	cr_assert_eq(count_within(60001, 61001, 1), 100);
}

Test(net_limiter, clock_that_stands_or_goes_back)
{
	limiter_init(&limiter, 10, 1, start);
	cr_assert(limiter_take(&limiter, start));
	cr_assert_not(limiter_take(&limiter, at(-5000)));
	cr_assert(limiter_take(&limiter, at(100)));
}
