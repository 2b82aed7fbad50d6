#include <criterion/criterion.h>
#include <time.h>

#include "base/instant.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 20);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(instant, .init = set_up, .fini = tear_down);

Test(instant, arithmetic)
{
	struct instant now = {1000};

	cr_assert_eq(instant_after(now, 500).ms, 1500);
	cr_assert(instant_reached(now, now));
	cr_assert(!instant_reached(instant_after(now, 1), now));
	cr_assert_eq(instant_earlier(now, instant_after(now, -1)).ms, 999);
	cr_assert_eq(instant_between_ms(now, instant_after(now, 7)), 7);
	cr_assert_eq(wallclock_after_ms((struct wallclock){5}, 2).us, 2005);
}

Test(instant, the_three_forms)
{
	struct wallclock at = {1767323045123456};

	cr_assert_str_eq(wallclock_rfc3339(at, &arena), "2026-01-02T03:04:05Z");
	cr_assert_str_eq(wallclock_micro(at, &arena), "2026-01-02T03:04:05.123456Z");
	cr_assert_str_eq(wallclock_amz(at, &arena), "20260102T030405Z");
	cr_assert_str_eq(wallclock_micro((struct wallclock){1}, &arena), "1970-01-01T00:00:00.000001Z");
	cr_assert_str_eq(wallclock_micro((struct wallclock){-1}, &arena), "1969-12-31T23:59:59.999999Z");
}

Test(instant, not_set_is_empty)
{
	cr_assert_str_eq(wallclock_rfc3339((struct wallclock){0}, &arena), "");
	cr_assert_str_eq(wallclock_micro((struct wallclock){0}, &arena), "");
	cr_assert_str_eq(wallclock_amz((struct wallclock){0}, &arena), "");
}

/* Against the C library, some days apart, over four centuries. */
Test(instant, agrees_with_gmtime)
{
	for (int64_t seconds = INT64_C(-6000000000); seconds < INT64_C(8000000000); seconds += 86400 * 13 + 12345) {
		time_t as_time = (time_t)seconds;
		struct tm tm;
		char expected[32];
		struct wallclock parsed;
		gmtime_r(&as_time, &tm);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &tm);
		const char *printed = wallclock_rfc3339((struct wallclock){seconds * 1000000}, &arena);
		cr_assert_str_eq(printed, expected);
		cr_assert(wallclock_parse(printed, &parsed));
		cr_assert_eq(parsed.us, seconds * 1000000);
	}
}

Test(instant, parse_takes_what_kubernetes_and_aws_write)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
		{"2026-01-02T03:04:05Z", 1767323045000000},
		{"2026-01-02T03:04:05.123456Z", 1767323045123456},
		{"2026-01-02T03:04:05.1Z", 1767323045100000},
		{"2026-01-02T03:04:05.123456789Z", 1767323045123456},
		{"2026-01-02T05:04:05+02:00", 1767323045000000},
		{"2026-01-01T21:34:05.5-05:30", 1767323045500000},
		{"2026-01-02t03:04:05z", 1767323045000000},
		{"20260102T030405Z", 1767323045000000},
		{"1970-01-01T00:00:00Z", 0},
		{"2024-02-29T00:00:00Z", 1709164800000000},
		{"2016-12-31T23:59:60Z", 1483228800000000},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct wallclock at = {-1};
		cr_assert(wallclock_parse(good[i].text, &at), "%s", good[i].text);
		cr_assert_eq(at.us, good[i].us, "%s", good[i].text);
	}
}

Test(instant, parse_refuses_the_rest)
{
	static const char *const bad[] = {"",
	                                  "2026",
	                                  "2026-01-02",
	                                  "2026-01-02T03:04:05",
	                                  "2026-13-01T00:00:00Z",
	                                  "2026-02-29T00:00:00Z",
	                                  "1900-02-29T00:00:00Z",
	                                  "2026-01-00T00:00:00Z",
	                                  "2026-01-02T24:00:00Z",
	                                  "2026-01-02T03:60:05Z",
	                                  "2026-01-02T03:04:61Z",
	                                  "2026-01-02T03:04:05.Z",
	                                  "2026-01-02T03:04:05Zx",
	                                  "2026-01-02 03:04:05Z",
	                                  "2026-01-02T03:04:05+0200",
	                                  "2026-01-02T03:04:05+24:00",
	                                  "20260102T030405",
	                                  "20260102T030405+02:00",
	                                  "20260102T030405.5Z",
	                                  "2026-0102T03:04:05Z",
	                                  "-026-01-02T03:04:05Z",
	                                  NULL};
	struct wallclock at = {7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!wallclock_parse(bad[i], &at), "%s", bad[i] ? bad[i] : "NULL");
	cr_assert_eq(at.us, 7);
}

Test(instant, parses_dates_of_http)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} good[] = {
		{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},  {"Fri, 02 Jan 2026 03:04:05 GMT", 1767323045},
		{"Thu, 01 Jan 1970 00:00:00 GMT", 0},          {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199},
		{"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800}, {"Tue, 31 Dec 2069 00:00:00 GMT", 3155673600},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct wallclock at = {-1};

		cr_assert(wallclock_parse_http(good[i].text, &at), "%s", good[i].text);
		cr_assert_eq(at.us, good[i].seconds * 1000000, "%s", good[i].text);
	}
}

Test(instant, refuses_other_dates_of_http)
{
	static const char *const bad[] = {"",
	                                  "Sunday, 06-Nov-94 08:49:37 GMT",
	                                  "Sun Nov  6 08:49:37 1994",
	                                  "Sun, 06 Nov 1994 08:49:37",
	                                  "Sun, 06 Nov 1994 08:49:37 UTC",
	                                  "Sun, 06 Nov 1994 08:49:37 +0000",
	                                  "Sun, 06 Nov 1994 08:49:37 GMT ",
	                                  "sun, 06 Nov 1994 08:49:37 GMT",
	                                  "Sun, 6 Nov 1994 08:49:37 GMT",
	                                  "Sun, 31 Nov 1994 08:49:37 GMT",
	                                  "Sun, 06 Now 1994 08:49:37 GMT",
	                                  "Sun, 06 Nov 1994 24:00:00 GMT",
	                                  "1994-11-06T08:49:37Z",
	                                  NULL};
	struct wallclock at = {7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!wallclock_parse_http(bad[i], &at), "%s", bad[i] ? bad[i] : "NULL");
	cr_assert_eq(at.us, 7);
}
