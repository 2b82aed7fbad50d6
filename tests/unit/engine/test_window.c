#include <criterion/criterion.h>

#include "window.h"

static struct window window;

static void begin(void)
{
	window_init(&window, 64);
}

TestSuite(window, .init = begin);

static void hear(enum error_kind kind)
{
	struct error error = {.kind = kind};

	window_hear(&window, kind == ERROR_NONE ? NULL : &error);
}

Test(window, a_server_that_gave_no_answer_is_asked_one_at_a_time)
{
	cr_assert_eq(window.now, 64);
	hear(ERROR_UNREACHABLE);
	cr_assert_eq(window.now, 1);
	hear(ERROR_NONE);
	hear(ERROR_CONFLICT); /* an answer all the same */
	cr_assert_eq(window.now, 4);
	hear(ERROR_TIMEOUT);
	cr_assert_eq(window.now, 1);
	for (int i = 0; i < 10; i++)
		hear(ERROR_NONE);
	cr_assert_eq(window.now, 64);
}

Test(window, one_that_asks_for_less_gets_less_and_never_nothing)
{
	hear(ERROR_THROTTLED);
	cr_assert_eq(window.now, 32);
	for (int i = 0; i < 10; i++)
		hear(ERROR_THROTTLED);
	cr_assert_eq(window.now, 1);
}

Test(window, what_was_never_sent_says_nothing)
{
	hear(ERROR_UNREACHABLE);
	hear(ERROR_STALE);
	hear(ERROR_CANCELED);
	cr_assert_eq(window.now, 1);
}
