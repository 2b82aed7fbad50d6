#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "net/lines.h"
#include "wire.h"

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

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

TestSuite(wire_streams, .init = begin, .fini = end, .timeout = 60);

static struct http_request *stream_from(void (*serve)(struct wire_peer *peer))
{
	struct http_request *request;

	server = wire_server_start(serve, NULL);
	request = hearer_request(hearer, wire_url(server, "/watch"));
	request->stream = true;
	return request;
}

static void serve_pieces(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "7\r\n{\"a\":1}\r\n");
	wire_pause_ms(30);
	wire_say(peer, "4\r\n\n{\"b");
	wire_pause_ms(30);
	wire_say(peer, "\r\n5\r\n\":2}\n\r\n");
	wire_pause_ms(30);
	wire_say(peer, "0\r\n\r\n");
}

Test(wire_streams, pieces_then_a_clean_end)
{
	const struct http_response *response = hearer_ask(hearer, stream_from(serve_pieces));

	cr_assert_eq(response->error.kind, ERROR_NONE, "%s", response->error.message);
	cr_assert_eq(response->status, 200);
	cr_assert_str_eq(response->body, "");
	cr_assert_str_eq(hearer->body, "{\"a\":1}\n{\"b\":2}\n");
	cr_assert_geq(hearer->chunks, 2);
}

/* 2,000 lines of 1 KiB as fast as they go. */
static void serve_flood(struct wire_peer *peer)
{
	char line[1025];

	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD);
	memset(line, 'x', sizeof line);
	line[1023] = '\n';
	for (int i = 0; i < 2000; i++) {
		wire_say(peer, "400\r\n");
		wire_write(peer, line, 1024);
		wire_say(peer, "\r\n");
	}
	wire_say(peer, "0\r\n\r\n");
}

Test(wire_streams, flood_loses_nothing)
{
	struct client *client = hearer->client;
	struct client_event event = {.what = CLIENT_CHUNK};
	struct error error = {0};
	struct lines lines;
	size_t length, count = 0, bytes = 0;

	lines_init(&lines, 2048);
	hearer_submit(hearer, stream_from(serve_flood));
	while (event.what == CLIENT_CHUNK) {
		client->wait(client, instant_after(client->now(client), WIRE_PATIENCE_MS), &event);
		cr_assert(lines_feed(&lines, event.bytes, event.what == CLIENT_CHUNK ? event.length : 0, &error));
		while (lines_next(&lines, &length) != NULL) {
			count++;
			bytes += length;
		}
	}
	lines_done(&lines);
	cr_assert_eq(event.what, CLIENT_FINISHED);
	cr_assert_eq(event.response->status, 200);
	cr_assert_eq(count, 2000);
	cr_assert_eq(bytes, 2000 * 1023);
}

static void serve_idle(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "2\r\nab\r\n");
	wire_hear_request(peer); /* until the client closes */
}

Test(wire_streams, silence_ends_it)
{
	struct http_request *request = stream_from(serve_idle);
	struct instant started = hearer->client->now(hearer->client);

	request->idle_ms = 300;
	hearer_ask(hearer, request);
	cr_assert_eq(hearer->response.error.kind, ERROR_TIMEOUT, "%s", hearer->response.error.message);
	cr_assert_eq(hearer->response.status, 0);
	cr_assert_str_eq(hearer->body, "ab");
	cr_assert_geq(instant_between_ms(started, hearer->client->now(hearer->client)), 295);
}

/* A byte each 100 ms, longer in all than both the deadline and the idle time. */
static void serve_drip(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD);
	for (int i = 0; i < 25; i++) {
		wire_pause_ms(100);
		wire_say(peer, "1\r\nx\r\n");
	}
	wire_say(peer, "0\r\n\r\n");
}

Test(wire_streams, slow_one_has_no_deadline)
{
	struct http_request *request = stream_from(serve_drip);

	request->deadline_ms = 2000;
	request->idle_ms = 2000;
	cr_assert_eq(hearer_ask(hearer, request)->error.kind, ERROR_NONE, "%s", hearer->response.error.message);
	cr_assert_eq(strlen(hearer->body), 25);
}

static void serve_no_headers(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\n");
	wire_hear_request(peer);
}

Test(wire_streams, headers_have_a_deadline)
{
	struct http_request *request = stream_from(serve_no_headers);

	request->deadline_ms = 200;
	cr_assert_eq(hearer_ask(hearer, request)->error.kind, ERROR_TIMEOUT);
	cr_assert_eq(hearer->chunks, 0);
}

static void serve_cut(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "2\r\nab\r\n9\r\ncd");
}

Test(wire_streams, cut_off)
{
	hearer_ask(hearer, stream_from(serve_cut));
	cr_assert_eq(hearer->response.error.kind, ERROR_MALFORMED, "%s", hearer->response.error.message);
	cr_assert_eq(hearer->response.status, 0);
	cr_assert_eq(hearer->response.error.http_status, 200);
	cr_assert_str_eq(hearer->body, "abcd");
}

static void serve_reset(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "2\r\nab\r\n");
	wire_pause_ms(50);
	wire_reset(peer);
}

Test(wire_streams, reset)
{
	hearer_ask(hearer, stream_from(serve_reset));
	cr_assert_eq(hearer->response.error.kind, ERROR_UNREACHABLE, "%s", hearer->response.error.message);
	cr_assert_str_eq(hearer->body, "ab");
}

static void serve_gone(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 410 Gone\r\nContent-Length: 14\r\n\r\n{\"code\": 410}\n");
}

Test(wire_streams, another_status_has_its_body_and_no_chunks)
{
	hearer_ask(hearer, stream_from(serve_gone));
	cr_assert_eq(hearer->response.error.kind, ERROR_NONE);
	cr_assert_eq(hearer->response.status, 410);
	cr_assert_str_eq(hearer->response.body, "{\"code\": 410}\n");
	cr_assert_eq(hearer->chunks, 0);
}

/* 410 as an event in a stream that began with 200 is the caller's to read. */
static void serve_gone_inside(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "27\r\n{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n\r\n0\r\n\r\n");
}

Test(wire_streams, gone_inside_is_told_as_it_is)
{
	hearer_ask(hearer, stream_from(serve_gone_inside));
	cr_assert_eq(hearer->response.status, 200, "%s", hearer->response.error.message);
	cr_assert_str_eq(hearer->body, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
}

static void serve_encoded(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\x1f\x8b\r\n");
	wire_hear_request(peer);
}

Test(wire_streams, encoding_that_was_not_asked_for)
{
	hearer_ask(hearer, stream_from(serve_encoded));
	cr_assert_eq(hearer->response.error.kind, ERROR_MALFORMED, "%s", hearer->response.error.message);
	cr_assert_eq(hearer->chunks, 0);
}

static void serve_lying_length(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD "23\r\n{\"type\":\"ERROR\",\"object\":{\"code\":410}}"
	                           "\r\n0\r\n\r\n");
}

Test(wire_streams, wrong_chunk_length_is_malformed)
{
	hearer_ask(hearer, stream_from(serve_lying_length));
	cr_assert_eq(hearer->response.error.kind, ERROR_MALFORMED, "%s", hearer->response.error.message);
}

static void serve_html_502(struct wire_peer *peer)
{
	char block[4096];

	memset(block, 'x', sizeof block);
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 502 Bad Gateway\r\n\r\n");
	for (int i = 0; i < 1000 && wire_write(peer, block, sizeof block); i++)
		;
}

Test(wire_streams, error_body_has_a_maximum)
{
	struct http_request *request = stream_from(serve_html_502);

	request->max_response_bytes = 0;
	hearer_ask(hearer, request);
	cr_assert_eq(hearer->response.error.kind, ERROR_LIMIT);
	cr_assert_eq(hearer->response.error.http_status, 502);
}

Test(wire_streams, canceled_in_the_middle)
{
	struct client *client = hearer->client;
	struct client_event event;
	uint64_t call = hearer_submit(hearer, stream_from(serve_drip));

	client->wait(client, instant_after(client->now(client), WIRE_PATIENCE_MS), &event);
	cr_assert_eq(event.what, CLIENT_CHUNK);
	cr_assert_eq(event.call, call);
	client->cancel(client, call);
	cr_assert_eq(event.bytes[0], 'x', "the bytes are good until the next wait");
	cr_assert_eq(hearer_listen(hearer, 200), CLIENT_DUE);
	cr_assert_eq(hearer->chunks + hearer->finished, 0);
}

static void serve_both(struct wire_peer *peer)
{
	while (wire_hear_request(peer)) {
		if (strncmp(peer->server->last_request, "GET /watch", 10) == 0)
			wire_say(peer, STREAM_HEAD "2\r\nab\r\n");
		else
			wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
}

Test(wire_streams, has_a_connection_of_its_own)
{
	hearer_submit(hearer, stream_from(serve_both));
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_CHUNK);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	cr_assert_eq(server->connections, 2);
	cr_assert_eq(hearer->chunks, 1);
}

static void serve_steady(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, STREAM_HEAD);
	while (wire_say(peer, "1\r\nx\r\n"))
		;
}

Test(wire_streams, steady_one_does_not_starve_what_is_due)
{
	bool due = false;

	hearer_submit(hearer, stream_from(serve_steady));
	for (int i = 0; i < 200 && hearer->chunks < 3; i++)
		hearer_listen(hearer, 1000);
	for (int i = 0; i < 10 && !due; i++) {
		hearer->body_length = 0;
		due = hearer_listen(hearer, 0) == CLIENT_DUE;
	}
	cr_assert(due);
}
