#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

Test(error, set_fills_from_scratch_and_returns_false)
{
	struct error error = {.http_status = 500, .retry_after_ms = 7, .code = "Old", .request_id = "r", .message = "old"};

	cr_assert(!error_set(&error, ERROR_THROTTLED, "%s %d", "rate of", 5));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
	cr_assert_str_eq(error.message, "rate of 5");
	cr_assert_eq(error.http_status, 0);
	cr_assert_eq(error.retry_after_ms, 0);
	cr_assert_str_eq(error.code, "");
	cr_assert_str_eq(error.request_id, "");
}

Test(error, set_may_take_its_own_message_as_argument)
{
	struct error error = {.message = "inner"};

	error_set(&error, ERROR_INPUT, "outer (%s)", error.message);
	cr_assert_str_eq(error.message, "outer (inner)");
}

Test(error, message_has_no_control_characters)
{
	struct error error;

	error_set(&error, ERROR_SERVER, "one\ntwo\r\tthree\x1b[31m");
	cr_assert_str_eq(error.message, "one two  three [31m");
}

Test(error, long_message_is_cut_between_characters)
{
	struct error error;
	char text[2000];

	for (size_t i = 0; i < sizeof(text) - 1; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	text[1998] = '\0';
	error_set(&error, ERROR_INPUT, "%s", text);
	cr_assert_eq(strlen(error.message), sizeof(error.message) - 2, "639 is odd, so one byte less");
	error_set(&error, ERROR_INPUT, "x%s", text);
	cr_assert_eq(strlen(error.message), sizeof(error.message) - 1);
}

Test(error, wrap_puts_before_and_keeps_the_rest)
{
	struct error error;

	error_set(&error, ERROR_CONFLICT, "somebody was first");
	error.http_status = 409;
	memcpy(error.code, "Conflict", 9);
	cr_assert(!error_wrap(&error, "lease %s", "kube-system/x"));
	cr_assert_str_eq(error.message, "lease kube-system/x: somebody was first");
	cr_assert_eq(error.kind, ERROR_CONFLICT);
	cr_assert_eq(error.http_status, 409);
	cr_assert_str_eq(error.code, "Conflict");
}

Test(error, wrap_of_long_text_stays_within_the_field)
{
	struct error error;
	char text[1000];

	memset(text, 'a', sizeof(text) - 1);
	text[999] = '\0';
	error_set(&error, ERROR_INPUT, "%s", text);
	error_wrap(&error, "short");
	cr_assert_eq(strlen(error.message), sizeof(error.message) - 1);
	cr_assert_eq(strncmp(error.message, "short: aaa", 10), 0);
	error_wrap(&error, "%s", text);
	cr_assert_eq(strlen(error.message), sizeof(error.message) - 1);
}

Test(error, every_kind_has_a_word_of_its_own)
{
	for (int kind = ERROR_NONE; kind <= ERROR_CANCELED; kind++) {
		cr_assert_str_neq(error_kind_name((enum error_kind)kind), "unknown", "kind %d", kind);
		for (int other = ERROR_NONE; other < kind; other++)
			cr_assert_str_neq(error_kind_name((enum error_kind)kind), error_kind_name((enum error_kind)other));
	}
	cr_assert_str_eq(error_kind_name((enum error_kind)999), "unknown");
}
