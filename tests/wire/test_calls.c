#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct hearer *hearer;
static struct wire_server *server;

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	hearer = hearer_new();
}

static void end(void)
{
	hearer_free(hearer);
	if (server != NULL)
		wire_server_stop(server);
}

TestSuite(wire_calls, .init = begin, .fini = end, .timeout = 60);

static void serve_setup(struct wire_peer *peer)
{
	if (wire_hear_request(peer))
		wire_say(peer, peer->server->setup);
}

/* Answer every request with `setup` and keep the connection. */
static void serve_always(struct wire_peer *peer)
{
	while (wire_hear_request(peer))
		wire_say(peer, peer->server->setup);
}

static const struct http_response *get_once(const char *reply)
{
	server = wire_server_start(serve_setup, NULL);
	server->setup = reply;
	return hearer_get(hearer, wire_url(server, "/"));
}

static void expect_failure(const struct http_response *response, enum error_kind kind)
{
	char origin[64];

	cr_assert_eq(response->error.kind, kind, "%s: %s", error_kind_name(response->error.kind), response->error.message);
	cr_assert_eq(response->status, 0);
	cr_assert_str_eq(response->body, "");
	if (server != NULL) {
		snprintf(origin, sizeof origin, "http://127.0.0.1:%d: ", server->port);
		cr_assert_eq(strncmp(response->error.message, origin, strlen(origin)), 0, "%s", response->error.message);
	}
}

Test(wire_calls, whole_answer)
{
	const struct http_response *response =
		get_once("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Amzn-RequestId:  abc \r\n\r\nhello");

	cr_assert_eq(response->error.kind, ERROR_NONE, "%s", response->error.message);
	cr_assert_eq(response->status, 200);
	cr_assert_str_eq(response->body, "hello");
	cr_assert_eq(response->body_length, 5);
	cr_assert_str_eq(http_header(&response->headers, "x-amzn-requestid"), "abc");
	cr_assert_not_null(strstr(server->last_request, "User-Agent: zonevac-test/1\r\n"));
	cr_assert_null(strstr(server->last_request, "Accept-Encoding"));
}

Test(wire_calls, chunked_answer_with_trailer)
{
	const struct http_response *response = get_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	                                                "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\n\r\n");

	cr_assert_eq(response->error.kind, ERROR_NONE);
	cr_assert_str_eq(response->body, "abcde");
	cr_assert_null(http_header(&response->headers, "X-Late"));
}

Test(wire_calls, interim_answer_is_not_the_answer)
{
	const struct http_response *response =
		get_once("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 204 No Content\r\nX-Late: 1\r\n\r\n");

	cr_assert_eq(response->status, 204);
	cr_assert_null(http_header(&response->headers, "X-Early"));
	cr_assert_str_eq(http_header(&response->headers, "X-Late"), "1");
}

Test(wire_calls, body_shorter_than_its_length)
{
	const struct http_response *response = get_once("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");

	expect_failure(response, ERROR_MALFORMED);
	cr_assert_eq(response->error.http_status, 200);
}

Test(wire_calls, chunked_body_cut_off)
{
	expect_failure(get_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n5\r\nab"),
	               ERROR_MALFORMED);
}

Test(wire_calls, chunked_body_without_last_chunk)
{
	expect_failure(get_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"), ERROR_MALFORMED);
}

Test(wire_calls, chunk_size_that_is_no_number)
{
	expect_failure(get_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabcde\r\n0\r\n\r\n"),
	               ERROR_MALFORMED);
}

Test(wire_calls, length_that_is_no_number)
{
	expect_failure(get_once("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nabc"), ERROR_MALFORMED);
}

Test(wire_calls, two_different_lengths)
{
	expect_failure(get_once("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"), ERROR_MALFORMED);
}

Test(wire_calls, bytes_after_the_body_are_not_the_next_answer)
{
	const struct http_response *response =
		get_once("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 500 No\r\n\r\n");

	cr_assert_eq(response->status, 200);
	cr_assert_str_eq(response->body, "abc");
	response = hearer_get(hearer, wire_url(server, "/"));
	cr_assert_eq(response->status, 200);
	cr_assert_eq(server->connections, 2);
}

static void serve_half_close(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	shutdown(peer->fd, SHUT_WR);
	wire_hear_request(peer); /* until the client closes */
}

Test(wire_calls, half_close_in_the_body)
{
	server = wire_server_start(serve_half_close, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_MALFORMED);
}

static void serve_half_close_at_once(struct wire_peer *peer)
{
	wire_hear_request(peer);
	shutdown(peer->fd, SHUT_WR);
	wire_hear_request(peer);
}

Test(wire_calls, half_close_before_the_answer)
{
	server = wire_server_start(serve_half_close_at_once, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_UNREACHABLE);
}

static void serve_drip(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
	for (int i = 0; i < 100 && wire_say(peer, "x"); i++)
		wire_pause_ms(20);
}

Test(wire_calls, slow_bytes_reach_the_deadline)
{
	struct http_request *request;
	struct instant started = hearer->client->now(hearer->client);
	int64_t took_ms;

	server = wire_server_start(serve_drip, NULL);
	request = hearer_request(hearer, wire_url(server, "/"));
	request->deadline_ms = 300;
	expect_failure(hearer_ask(hearer, request), ERROR_TIMEOUT);
	took_ms = instant_between_ms(started, hearer->client->now(hearer->client));
	cr_assert(took_ms >= 295 && took_ms < 4000, "%lld ms", (long long)took_ms);
	cr_assert_eq(hearer->response.error.http_status, 200);
}

static void serve_silence(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_hear_request(peer);
}

Test(wire_calls, silence_reaches_the_deadline)
{
	struct http_request *request;

	server = wire_server_start(serve_silence, NULL);
	request = hearer_request(hearer, wire_url(server, "/"));
	request->deadline_ms = 200;
	expect_failure(hearer_ask(hearer, request), ERROR_TIMEOUT);
	cr_assert_eq(hearer->response.error.http_status, 0);
}

Test(wire_calls, handshake_that_never_comes_reaches_the_deadline)
{
	struct http_request *request;
	char url[64];

	server = wire_server_start(serve_silence, NULL);
	snprintf(url, sizeof url, "https://127.0.0.1:%d/", server->port);
	request = hearer_request(hearer, url);
	request->deadline_ms = 200;
	hearer_ask(hearer, request);
	cr_assert_eq(hearer->response.error.kind, ERROR_TIMEOUT, "%s", hearer->response.error.message);
}

static void serve_endless(struct wire_peer *peer)
{
	char block[4096];

	memset(block, 'x', sizeof block);
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\n\r\n");
	for (int i = 0; i < 10000 && wire_write(peer, block, sizeof block); i++)
		;
}

Test(wire_calls, too_large_a_body)
{
	server = wire_server_start(serve_endless, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_LIMIT);
}

enum { HUNDRED_MB = 100 * 1000 * 1000 };

static atomic_int sent_kb;

/* `setup` is the header. */
static void serve_hundred_megabytes(struct wire_peer *peer)
{
	char block[10000];

	memset(block, 'x', sizeof block);
	wire_hear_request(peer);
	wire_say(peer, peer->server->setup);
	for (int i = 0; i < HUNDRED_MB / 10000 && wire_write(peer, block, sizeof block); i++)
		atomic_fetch_add(&sent_kb, 10);
}

Test(wire_calls, hundred_megabytes)
{
	static const char *const headers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n",
	                                      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "HTTP/1.1 500 Oh\r\n\r\n",
	                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5F5E100\r\n"};
	static const enum error_kind kinds[] = {ERROR_LIMIT, ERROR_NONE, ERROR_LIMIT, ERROR_LIMIT};

	for (size_t i = 0; i < 4; i++) {
		server = wire_server_start(serve_hundred_megabytes, NULL);
		server->setup = headers[i];
		hearer_get(hearer, wire_url(server, "/"));
		cr_assert_eq(hearer->response.error.kind, kinds[i], "%zu: %s", i, hearer->response.error.message);
		cr_assert_leq(hearer->response.body_length, 100);
		hearer_listen(hearer, 0);
		wire_server_stop(server);
		server = NULL;
		cr_assert_lt(atomic_exchange(&sent_kb, 0), 50000, "it was not taken in");
	}
}

Test(wire_calls, html_with_200_is_an_answer)
{
	const struct http_response *response =
		get_once("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>hi</html>");

	cr_assert_eq(response->status, 200, "%s", response->error.message);
	cr_assert_str_eq(http_header(&response->headers, "Content-Type"), "text/html");
}

Test(wire_calls, encoding_that_was_not_asked_for)
{
	static const char *const replies[] = {
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x01",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\njunk",
		"HTTP/1.1 503 No\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"};

	for (size_t i = 0; i < 4; i++) {
		expect_failure(get_once(replies[i]), ERROR_MALFORMED);
		cr_assert_not_null(strcasestr(hearer->response.error.message, "encoding"), "%s",
		                   hearer->response.error.message);
		cr_assert_eq(hearer->response.error.http_status, i == 2 ? 503 : 200);
		wire_server_stop(server);
		server = NULL;
	}
	expect_failure(get_once("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b"), ERROR_MALFORMED);
	wire_server_stop(server);
	cr_assert_eq(get_once("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok")->status, 200);
}

Test(wire_calls, body_of_exactly_the_maximum)
{
	struct http_request *request;

	server = wire_server_start(serve_setup, NULL);
	server->setup = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	request = hearer_request(hearer, wire_url(server, "/"));
	request->max_response_bytes = 5;
	cr_assert_eq(hearer_ask(hearer, request)->status, 200);
	cr_assert_str_eq(hearer->body, "hello");
	request->max_response_bytes = 4;
	expect_failure(hearer_ask(hearer, request), ERROR_LIMIT);
}

static void serve_large_headers(struct wire_peer *peer)
{
	char line[1024];

	memset(line, 'x', sizeof line);
	memcpy(line, "X-Large: ", 9);
	memcpy(line + sizeof line - 2, "\r\n", 2);
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 80 && wire_write(peer, line, sizeof line); i++)
		;
	wire_say(peer, "Content-Length: 2\r\n\r\nok");
}

Test(wire_calls, too_large_headers)
{
	server = wire_server_start(serve_large_headers, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_LIMIT);
}

Test(wire_calls, html_with_502_is_an_answer)
{
	const struct http_response *response = get_once("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n"
	                                                "Content-Length: 15\r\nRetry-After: 7\r\n\r\n<html>oh</html>");

	cr_assert_eq(response->error.kind, ERROR_NONE);
	cr_assert_eq(response->status, 502);
	cr_assert_str_eq(response->body, "<html>oh</html>");
	cr_assert_eq(http_retry_after_ms(response), 7000);
}

Test(wire_calls, redirect_is_not_followed)
{
	const struct http_response *response =
		get_once("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");

	cr_assert_eq(response->status, 302);
	cr_assert_eq(server->requests, 1);
}

Test(wire_calls, connection_refused)
{
	struct wire_server *gone = wire_server_start(serve_setup, NULL);
	char url[64];

	snprintf(url, sizeof url, "http://127.0.0.1:%d/", gone->port);
	wire_server_stop(gone);
	expect_failure(hearer_get(hearer, url), ERROR_UNREACHABLE);
}

Test(wire_calls, name_is_resolved)
{
	char url[64];

	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	snprintf(url, sizeof url, "http://localhost:%d/", server->port);
	cr_assert_eq(hearer_get(hearer, url)->status, 200, "%s", hearer->response.error.message);
}

/* Without a network this may take as long as the deadline. */
Test(wire_calls, name_that_does_not_exist)
{
	struct http_request *request = hearer_request(hearer, "http://zonevac.invalid/");
	struct instant started = hearer->client->now(hearer->client);

	request->deadline_ms = 300;
	hearer_ask(hearer, request);
	cr_assert(hearer->response.error.kind == ERROR_UNREACHABLE || hearer->response.error.kind == ERROR_TIMEOUT);
	cr_assert_eq(hearer->response.status, 0);
	cr_assert_not_null(strstr(hearer->response.error.message, "http://zonevac.invalid:80: "));
	cr_assert_lt(instant_between_ms(started, hearer->client->now(hearer->client)), 4000);
}

static void serve_reset(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	wire_pause_ms(50);
	wire_reset(peer);
}

Test(wire_calls, reset_in_the_answer)
{
	server = wire_server_start(serve_reset, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_UNREACHABLE);
	cr_assert_eq(hearer->response.error.http_status, 200);
}

static void serve_reset_at_once(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_reset(peer);
}

Test(wire_calls, reset_before_the_answer)
{
	server = wire_server_start(serve_reset_at_once, NULL);
	expect_failure(hearer_get(hearer, wire_url(server, "/")), ERROR_UNREACHABLE);
}

Test(wire_calls, garbage_instead_of_http)
{
	expect_failure(get_once("SSH-2.0-OpenSSH_9.2p1\r\n"), ERROR_MALFORMED);
}

Test(wire_calls, status_line_without_a_status)
{
	expect_failure(get_once("HTTP/1.1 abc\r\n\r\n"), ERROR_MALFORMED);
}

Test(wire_calls, nothing_at_all)
{
	expect_failure(get_once(""), ERROR_UNREACHABLE);
}

Test(wire_calls, url_that_is_none)
{
	expect_failure(hearer_get(hearer, "ftp://127.0.0.1/"), ERROR_INPUT);
	expect_failure(hearer_get(hearer, "http://[::1/"), ERROR_INPUT);
}

Test(wire_calls, header_with_a_line_break_is_not_sent)
{
	struct http_request *request;

	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	request = hearer_request(hearer, wire_url(server, "/"));
	http_add_header(&request->headers, &hearer->arena, "Authorization", "Bearer secret\r\nX-Evil: 1");
	expect_failure(hearer_ask(hearer, request), ERROR_INPUT);
	cr_assert_null(strstr(hearer->response.error.message, "secret"));
	cr_assert_eq(server->requests, 0);
}

Test(wire_calls, request_goes_out_as_it_is)
{
	struct http_request *request;

	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	request = hearer_request(hearer, wire_url(server, "/a/../b%2Fc?x=%20&y"));
	request->method = "PATCH";
	request->body = "{\"a\":1}";
	request->body_length = 7;
	http_add_header(&request->headers, &hearer->arena, "Content-Type", "application/merge-patch+json");
	http_add_header(&request->headers, &hearer->arena, "X-Empty", "");
	cr_assert_eq(hearer_ask(hearer, request)->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(strstr(server->last_request, "PATCH /a/../b%2Fc?x=%20&y HTTP/1.1\r\n"), server->last_request);
	cr_assert_not_null(strstr(server->last_request, "\r\nContent-Length: 7\r\n"));
	cr_assert_not_null(strstr(server->last_request, "\r\nContent-Type: application/merge-patch+json\r\n"));
	cr_assert_not_null(strstr(server->last_request, "\r\nX-Empty:\r\n"));
	cr_assert_not_null(strstr(server->last_request, "\r\n\r\n{\"a\":1}"));
	cr_assert_null(strstr(server->last_request, "Expect"));
}

Test(wire_calls, methods_without_a_body)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "HEAD"};

	server = wire_server_start(serve_always, NULL);
	server->setup = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	for (size_t i = 0; i < 4; i++) {
		struct http_request *request = hearer_request(hearer, wire_url(server, "/"));

		request->method = methods[i];
		cr_assert_eq(hearer_ask(hearer, request)->status, 200, "%s", hearer->response.error.message);
		cr_assert_eq(strncmp(server->last_request, methods[i], strlen(methods[i])), 0);
		cr_assert_eq(strstr(server->last_request, "Content-Length: 0") != NULL, i < 2, "%s", methods[i]);
		cr_assert_null(strstr(server->last_request, "Content-Type"));
	}
}

Test(wire_calls, large_body_arrives_whole)
{
	struct http_request *request;
	size_t size = 60000;
	char *body = arena_alloc(&hearer->arena, size + 1);

	memset(body, 'b', size);
	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	request = hearer_request(hearer, wire_url(server, "/"));
	request->method = "POST";
	request->body = body;
	request->body_length = size;
	cr_assert_eq(hearer_ask(hearer, request)->status, 200, "%s", hearer->response.error.message);
	cr_assert_str_eq(strstr(server->last_request, "\r\n\r\n") + 4, body);
}

Test(wire_calls, clocks_and_chance)
{
	struct client *client = hearer->client;
	uint32_t all = 0, none = UINT32_MAX;

	cr_assert_lt(llabs(client->wall(client).us / 1000000 - (long long)time(NULL)), 3);
	cr_assert_geq(instant_between_ms(client->now(client), client->now(client)), 0);
	for (int i = 0; i < 200; i++) {
		uint32_t drawn = client->random(client);

		all |= drawn;
		none &= drawn;
	}
	cr_assert_eq(all, UINT32_MAX);
	cr_assert_eq(none, 0);
}
