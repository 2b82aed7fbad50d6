#include <criterion/criterion.h>

#include "budgets.h"

static struct instant at(int64_t ms)
{
	return (struct instant){1000000 + ms};
}

Test(budgets, whoever_has_met_none_may_try)
{
	struct budgets budgets = {0};

	cr_assert(budgets_may_try(&budgets, "web", at(0)));
	cr_assert(budgets_may_try(&budgets, "web", at(0)));
	cr_assert_null(budgets_name(&budgets, "web", at(1000)));
	budgets_done(&budgets);
}

Test(budgets, one_try_at_a_time_once_it_has_said_no)
{
	struct budgets budgets = {0};

	budgets_blocked(&budgets, "web", "default/web", at(0), 5000);
	cr_assert_not(budgets_may_try(&budgets, "web", at(4999)));
	cr_assert(budgets_may_try(&budgets, "web", at(5000)));
	cr_assert_not(budgets_may_try(&budgets, "web", at(5001)), "the next one waits for the first one's answer");
	cr_assert(budgets_may_try(&budgets, "api", at(5001)), "another controller has another budget");
	cr_assert_str_eq(budgets_name(&budgets, "web", at(1000)), "default/web");
	budgets_done(&budgets);
}

Test(budgets, the_next_may_try_soon_after_one_was_let_go)
{
	struct budgets budgets = {0};

	budgets_blocked(&budgets, "web", NULL, at(0), 60000);
	budgets_let_go(&budgets, "web", at(0));
	cr_assert_not(budgets_may_try(&budgets, "web", at(500)));
	cr_assert(budgets_may_try(&budgets, "web", at(1000)));
	budgets_let_go(&budgets, "unknown", at(0));
	budgets_done(&budgets);
}

Test(budgets, a_name_that_is_told_later_is_kept)
{
	struct budgets budgets = {0};

	budgets_blocked(&budgets, "web", NULL, at(0), 5000);
	cr_assert_null(budgets_name(&budgets, "web", at(1000)));
	budgets_blocked(&budgets, "web", "default/web", at(1), 5000);
	budgets_blocked(&budgets, "web", NULL, at(2), 5000);
	cr_assert_str_eq(budgets_name(&budgets, "web", at(1000)), "default/web");
	budgets_done(&budgets);
}

Test(budgets, what_nobody_runs_into_any_more_is_forgotten)
{
	struct budgets budgets = {0};

	budgets_blocked(&budgets, "old", "default/old", at(0), 5000);
	budgets_blocked(&budgets, "new", "default/new", at(3600000), 5000);
	cr_assert_null(budgets_name(&budgets, "old", at(3600000)));
	cr_assert_str_eq(budgets_name(&budgets, "new", at(3600000)), "default/new");
	budgets_done(&budgets);
}

Test(budgets, one_that_lets_pods_go_is_named_no_longer)
{
	struct budgets budgets = {0};

	budgets_blocked(&budgets, "web", "default/web", at(0), 5000);
	cr_assert_str_eq(budgets_name(&budgets, "web", at(29999)), "default/web");
	cr_assert_null(budgets_name(&budgets, "web", at(30000)));
	budgets_done(&budgets);
}
