#include <criterion/criterion.h>
#include <string.h>

#include "../../../controller/net/reply.h"

static struct arena arena;
static struct reply reply;

static void begin(void)
{
	arena_init(&arena, "test", 1024 * 1024);
	reply_init(&reply, &arena);
	reply_set_limit(&reply, 8);
}

static void end(void)
{
	reply_done(&reply);
	arena_done(&arena);
}

TestSuite(net_reply, .init = begin, .fini = end);

static bool line(const char *bytes)
{
	return reply_take_header_line(&reply, bytes, strlen(bytes));
}

Test(net_reply, status_and_fields)
{
	cr_assert(line("HTTP/2 404 \r\n"));
	cr_assert(line("a:b\r\n"));
	cr_assert(line("C:  d: e \r\n"));
	cr_assert(line("Empty:\r\n"));
	cr_assert_not(reply.begun);
	cr_assert(line("\r\n"));
	cr_assert(reply.begun);
	cr_assert_eq(reply.status, 404);
	cr_assert_str_eq(http_header(&reply.headers, "A"), "b");
	cr_assert_str_eq(http_header(&reply.headers, "c"), "d: e");
	cr_assert_str_eq(http_header(&reply.headers, "empty"), "");
}

Test(net_reply, lines_that_are_no_fields_are_left_out)
{
	line("HTTP/1.1 200 OK\r\n");
	cr_assert(line("no colon\r\n"));
	cr_assert(line(": no name\r\n"));
	cr_assert(line(" folded: line\r\n"));
	cr_assert_eq(reply.headers.count, 0);
}

Test(net_reply, interim_answer_is_forgotten)
{
	line("HTTP/1.1 100 Continue\r\n");
	line("X: 1\r\n");
	line("\r\n");
	cr_assert_not(reply.begun);
	line("HTTP/1.1 200 OK\r\n");
	line("\r\n");
	cr_assert(reply.begun);
	cr_assert_eq(reply.headers.count, 0);
}

Test(net_reply, status_lines_that_are_none)
{
	static const char *const bad[] = {"HTTP/1.1\r\n",       "HTTP/1.1 \r\n",        "HTTP/1.1 x\r\n",
	                                  "HTTP/1.1 99 No\r\n", "HTTP/1.1 1000 No\r\n", "HTTP/1.1 99999999999999 No\r\n"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		reply_done(&reply);
		reply_init(&reply, &arena);
		cr_assert_not(line(bad[i]), "%s", bad[i]);
		cr_assert_eq(reply.error.kind, ERROR_MALFORMED);
		cr_assert_not(line("HTTP/1.1 200 OK\r\n"), "nothing more is taken");
	}
}

Test(net_reply, two_lengths)
{
	line("HTTP/1.1 200 OK\r\n");
	cr_assert(line("Content-Length: 5\r\n"));
	cr_assert(line("content-length: 5\r\n"), "the same twice is harmless");
	cr_assert_not(line("content-length: 6\r\n"));
	cr_assert_eq(reply.error.kind, ERROR_MALFORMED);
}

Test(net_reply, headers_have_a_maximum)
{
	char filler[1024];
	int taken = 0;

	memset(filler, 'x', sizeof filler);
	filler[1] = ':';
	while (taken < 100 && reply_take_header_line(&reply, filler, sizeof filler))
		taken++;
	cr_assert_eq(taken, 64);
	cr_assert_eq(reply.error.kind, ERROR_LIMIT);
}

Test(net_reply, body_has_a_maximum)
{
	size_t length = 99;

	cr_assert(reply_take_body_bytes(&reply, "12345", 5));
	cr_assert(reply_take_body_bytes(&reply, "678", 3));
	cr_assert_str_eq(reply_take_body(&reply, &length), "12345678");
	cr_assert_eq(length, 8);
	cr_assert_str_eq(reply_take_body(&reply, &length), "");
	cr_assert_eq(length, 0);
	reply_set_limit(&reply, 8);
	cr_assert_not(reply_take_body_bytes(&reply, "123456789", 9));
	cr_assert_eq(reply.error.kind, ERROR_LIMIT);
}

Test(net_reply, trailers_are_not_headers)
{
	line("HTTP/1.1 200 OK\r\n");
	line("\r\n");
	cr_assert(line("X-Late: 1\r\n"));
	cr_assert_eq(reply.headers.count, 0);
}

Test(net_reply, body_with_an_encoding_is_refused)
{
	line("HTTP/1.1 503 Service Unavailable\r\n");
	line("Content-Encoding: gzip\x1b[31m\r\n");
	cr_assert(line("\r\n"));
	cr_assert_not(reply_take_body_bytes(&reply, "\x1f\x8b", 2));
	cr_assert_eq(reply.error.kind, ERROR_MALFORMED);
	cr_assert_not_null(strstr(reply.error.message, "Content-Encoding gzip, which"), "%s", reply.error.message);
}

Test(net_reply, identity_is_no_encoding)
{
	line("HTTP/1.1 200 OK\r\n");
	line("Content-Encoding: Identity\r\n");
	line("\r\n");
	cr_assert(reply_take_body_bytes(&reply, "ab", 2));
}

Test(net_reply, encoding_of_nothing_is_none)
{
	size_t length;

	line("HTTP/1.1 204 No Content\r\n");
	line("Content-Encoding: gzip\r\n");
	cr_assert(line("\r\n"));
	cr_assert_str_eq(reply_take_body(&reply, &length), "");
	cr_assert_eq(reply.error.kind, ERROR_NONE);
}

Test(net_reply, only_chunks_are_a_way_to_transfer)
{
	line("HTTP/1.1 200 OK\r\n");
	line("Transfer-Encoding: Chunked\r\n");
	cr_assert(line("\r\n"));
	reply_done(&reply);
	reply_init(&reply, &arena);
	line("HTTP/1.1 200 OK\r\n");
	line("Transfer-Encoding: gzip, chunked\r\n");
	cr_assert_not(line("\r\n"));
	cr_assert_eq(reply.error.kind, ERROR_MALFORMED);
}
