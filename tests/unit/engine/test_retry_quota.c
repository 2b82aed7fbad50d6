#include <criterion/criterion.h>

#include "retry_quota.h"

static int repeats(struct retry_quota *quota, enum error_kind kind)
{
	struct error error = {.kind = kind};
	int taken = 0;
	int count = 0;

	while (count < 1000 && retry_quota_take(quota, &error, &taken))
		count++;
	return count;
}

Test(retry_quota, a_full_bucket_pays_for_a_hundred_repeats)
{
	struct retry_quota quota = {0};

	cr_assert_eq(repeats(&quota, ERROR_SERVER), 100);
	cr_assert_eq(repeats(&quota, ERROR_SERVER), 0);
}

Test(retry_quota, silence_costs_twice_as_much)
{
	struct retry_quota quota = {0};

	cr_assert_eq(repeats(&quota, ERROR_TIMEOUT), 50);
	quota = (struct retry_quota){0};
	cr_assert_eq(repeats(&quota, ERROR_UNREACHABLE), 50);
	quota = (struct retry_quota){0};
	cr_assert_eq(repeats(&quota, ERROR_THROTTLED), 100);
}

Test(retry_quota, a_repeat_that_helped_gives_back_what_it_took)
{
	struct retry_quota quota = {0};
	struct error error = {.kind = ERROR_TIMEOUT};
	int taken = 0;

	cr_assert(retry_quota_take(&quota, &error, &taken));
	cr_assert_eq(taken, 10);
	retry_quota_return(&quota, taken);
	cr_assert_eq(repeats(&quota, ERROR_SERVER), 100);
}

Test(retry_quota, each_success_fills_it_by_one_and_never_over_the_brim)
{
	struct retry_quota quota = {0};

	repeats(&quota, ERROR_SERVER);
	for (int i = 0; i < 4; i++)
		retry_quota_return(&quota, 0);
	cr_assert_eq(repeats(&quota, ERROR_SERVER), 0);
	retry_quota_return(&quota, 0);
	cr_assert_eq(repeats(&quota, ERROR_SERVER), 1);
	for (int i = 0; i < 2000; i++)
		retry_quota_return(&quota, 0);
	cr_assert_eq(repeats(&quota, ERROR_SERVER), 100);
}
