#include <criterion/criterion.h>

#include "net/http.h"

static struct arena arena;

static void begin(void)
{
	arena_init(&arena, "test", 64 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(net_http, .init = begin, .fini = end);

Test(net_http, headers_are_found_whatever_their_case)
{
	struct http_headers headers = {0};

	cr_assert_null(http_header(&headers, "a"));
	http_add_header(&headers, &arena, "Content-Type", "text/plain");
	http_add_header(&headers, &arena, "X-Twice", "1");
	http_add_header(&headers, &arena, "x-twice", "2");
	cr_assert_eq(headers.count, 3);
	cr_assert_str_eq(http_header(&headers, "content-TYPE"), "text/plain");
	cr_assert_str_eq(http_header(&headers, "X-TWICE"), "1");
	cr_assert_null(http_header(&headers, "Content"));
}

Test(net_http, set_replaces_all_or_adds)
{
	struct http_headers headers = {0};

	http_set_header(&headers, &arena, "A", "1");
	http_add_header(&headers, &arena, "a", "2");
	http_add_header(&headers, &arena, "B", "3");
	http_set_header(&headers, &arena, "A", "4");
	cr_assert_eq(headers.count, 2);
	cr_assert_str_eq(http_header(&headers, "a"), "4");
	cr_assert_str_eq(http_header(&headers, "b"), "3");
}

Test(net_http, many_headers)
{
	struct http_headers headers = {0};

	for (int i = 0; i < 100; i++)
		http_add_header(&headers, &arena, arena_printf(&arena, "H%d", i), arena_printf(&arena, "%d", i));
	cr_assert_eq(headers.count, 100);
	cr_assert_str_eq(http_header(&headers, "h99"), "99");
	cr_assert_str_eq(http_header(&headers, "h0"), "0");
}

Test(net_http, url_has_a_question_mark_only_before_a_query)
{
	struct http_request request = {.path = "/a%2Fb", .query = "x=1"};

	cr_assert_str_eq(http_url(&arena, "http://h:1/p", &request), "http://h:1/p/a%2Fb?x=1");
	request.query = "";
	cr_assert_str_eq(http_url(&arena, "http://h:1/p", &request), "http://h:1/p/a%2Fb");
	request.query = NULL;
	cr_assert_str_eq(http_url(&arena, "http://h:1/p", &request), "http://h:1/p/a%2Fb");
}

Test(net_http, retry_after)
{
	static const struct {
		const char *value;
		int32_t ms;
	} cases[] = {{"0", 0},
	             {"1", 1000},
	             {"600", 600000},
	             {"601", 600000},
	             {"99999999999999999999", 600000},
	             {"-1", 0},
	             {"1.5", 0},
	             {"", 0},
	             {"Wed, 21 Oct 2015 07:28:00 GMT", 0}};
	struct http_response none = {0};

	cr_assert_eq(http_retry_after_ms(&none), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_response response = {0};

		http_add_header(&response.headers, &arena, "retry-after", cases[i].value);
		cr_assert_eq(http_retry_after_ms(&response), cases[i].ms, "%s", cases[i].value);
	}
}
