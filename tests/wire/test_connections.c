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

TestSuite(wire_connections, .init = begin, .fini = end, .timeout = 60);

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

Test(wire_connections, connection_is_used_again)
{
	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	for (int i = 0; i < 20; i++)
		cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	cr_assert_eq(server->requests, 20);
	cr_assert_eq(server->connections, 1);
}

Test(wire_connections, fresh_connection_when_asked_for)
{
	struct http_request *request;

	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	hearer_get(hearer, wire_url(server, "/"));
	request = hearer_request(hearer, wire_url(server, "/"));
	request->fresh_connection = true;
	cr_assert_eq(hearer_ask(hearer, request)->status, 200);
	cr_assert_eq(server->connections, 2);
}

/* One answer, then the connection is closed in silence. */
static void serve_and_close(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, OK_REPLY);
}

Test(wire_connections, pooled_connection_closed_while_idle)
{
	server = wire_server_start(serve_and_close, NULL);
	for (int i = 0; i < 3; i++) {
		struct http_request *request = hearer_request(hearer, wire_url(server, "/"));

		request->method = "POST";
		request->body = "x";
		request->body_length = 1;
		cr_assert_eq(hearer_ask(hearer, request)->status, 200, "%s", hearer->response.error.message);
		wire_pause_ms(50);
	}
	cr_assert_eq(server->connections, 3);
}

/* Closed at the very moment of reuse: the first connection hears a second request and breaks without an answer. */
static void serve_second_breaks(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, OK_REPLY);
	if (peer->number > 1)
		return;
	wire_hear_request(peer);
	wire_reset(peer);
}

Test(wire_connections, pooled_connection_breaks_under_a_get_which_is_repeated)
{
	server = wire_server_start(serve_second_breaks, NULL);
	hearer_get(hearer, wire_url(server, "/"));
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 2);
	cr_assert_eq(server->requests, 3);
}

Test(wire_connections, pooled_connection_breaks_under_a_body_which_is_never_sent_twice)
{
	struct http_request *request;

	server = wire_server_start(serve_second_breaks, NULL);
	hearer_get(hearer, wire_url(server, "/"));
	request = hearer_request(hearer, wire_url(server, "/"));
	request->method = "POST";
	request->body = "x";
	request->body_length = 1;
	expect_failure(hearer_ask(hearer, request), ERROR_UNREACHABLE);
	wire_pause_ms(50);
	cr_assert_eq(server->requests, 2);
}

/* Dead without a word: only the deadline bounds the call that finds it out, and the next one goes elsewhere. */
Test(wire_connections, pooled_connection_that_is_a_black_hole)
{
	struct http_request *request;

	server = wire_server_start(serve_always, NULL);
	server->setup = OK_REPLY;
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	wire_set_deaf(&server->peers[0], true);
	request = hearer_request(hearer, wire_url(server, "/"));
	request->deadline_ms = 500;
	expect_failure(hearer_ask(hearer, request), ERROR_TIMEOUT);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 2);
}

static void serve_silent_first(struct wire_peer *peer)
{
	if (peer->number > 1)
		serve_always(peer);
	wire_hear_request(peer);
	wire_say(peer, OK_REPLY);
	wire_hear_request(peer);
	wire_hear_request(peer);
}

Test(wire_connections, pooled_connection_that_fell_silent)
{
	struct http_request *request;

	server = wire_server_start(serve_silent_first, NULL);
	server->setup = OK_REPLY;
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	request = hearer_request(hearer, wire_url(server, "/"));
	request->deadline_ms = 300;
	expect_failure(hearer_ask(hearer, request), ERROR_TIMEOUT);
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 2);
}

static atomic_int at_once;

static void serve_when_all_are_there(struct wire_peer *peer)
{
	while (wire_hear_request(peer)) {
		for (int i = 0; i < 500 && atomic_load(&peer->server->requests) < 256; i++)
			wire_pause_ms(10);
		if (peer->number == 1 && atomic_load(&at_once) == 0) {
			wire_pause_ms(100);
			atomic_store(&at_once, atomic_load(&peer->server->requests));
		}
		for (int i = 0; i < 500 && atomic_load(&at_once) == 0; i++)
			wire_pause_ms(10);
		wire_say(peer, OK_REPLY);
	}
}

Test(wire_connections, three_hundred_at_once)
{
	enum { CALLS = 300 };
	bool seen[CALLS + 1] = {false};

	server = wire_server_start(serve_when_all_are_there, NULL);
	for (int i = 0; i < CALLS; i++) {
		struct http_request *request = hearer_request(hearer, wire_url(server, "/"));

		request->deadline_ms = WIRE_PATIENCE_MS;
		cr_assert_eq(hearer_submit(hearer, request), (uint64_t)i + 1);
	}
	for (int i = 0; i < CALLS; i++) {
		cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
		cr_assert_eq(hearer->response.status, 200, "%s", hearer->response.error.message);
		cr_assert_not(seen[hearer->last_call]);
		seen[hearer->last_call] = true;
	}
	cr_assert_eq(server->requests, CALLS);
	cr_assert_eq(at_once, 256);
}

Test(wire_connections, canceled_calls_are_never_told)
{
	uint64_t waiting, running, finished;

	server = wire_server_start(serve_setup, NULL);
	server->setup = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	running = hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	cr_assert_eq(hearer_listen(hearer, 0), CLIENT_DUE);
	hearer->client->cancel(hearer->client, running);
	waiting = hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	hearer->client->cancel(hearer->client, waiting);
	finished = hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_eq(hearer->last_call, finished);
	hearer->client->cancel(hearer->client, finished);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	cr_assert_eq(hearer->finished, 1);
}

static void serve_when_two_are_there(struct wire_peer *peer)
{
	wire_hear_request(peer);
	for (int i = 0; i < 500 && atomic_load(&peer->server->requests) < 2; i++)
		wire_pause_ms(10);
	wire_pause_ms(100);
	wire_say(peer, OK_REPLY);
}

Test(wire_connections, canceled_between_arrival_and_telling)
{
	uint64_t first, second;

	server = wire_server_start(serve_when_two_are_there, NULL);
	first = hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	second = hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	while (atomic_load(&server->requests) < 2)
		cr_assert_eq(hearer_listen(hearer, 5), CLIENT_DUE);
	wire_pause_ms(300); /* one look finds both */
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	hearer->client->cancel(hearer->client, hearer->last_call == first ? second : first);
	cr_assert_eq(hearer_listen(hearer, 200), CLIENT_DUE);
	cr_assert_eq(hearer->finished, 1);
}

static void serve_silence(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_hear_request(peer);
}

Test(wire_connections, client_is_freed_with_calls_in_flight)
{
	server = wire_server_start(serve_silence, NULL);
	for (int i = 0; i < 5; i++)
		hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/")));
	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
}

static void *wake_later(void *client)
{
	wire_pause_ms(100);
	((struct client *)client)->wake(client);
	return NULL;
}

Test(wire_connections, woken_from_another_thread)
{
	pthread_t thread;
	struct instant started = hearer->client->now(hearer->client);

	pthread_create(&thread, NULL, wake_later, hearer->client);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_WOKEN);
	cr_assert_lt(instant_between_ms(started, hearer->client->now(hearer->client)), 5000);
	pthread_join(thread, NULL);
	cr_assert_eq(hearer_listen(hearer, 20), CLIENT_DUE);
}

static struct client *to_wake;

static void on_alarm(int number)
{
	(void)number;
	to_wake->wake(to_wake);
}

Test(wire_connections, woken_from_a_signal_handler)
{
	timer_t timer;
	struct itimerspec soon = {.it_value.tv_nsec = 50 * 1000000};

	to_wake = hearer->client;
	signal(SIGUSR1, on_alarm);
	timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1}, &timer);
	timer_settime(timer, 0, &soon, NULL);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_WOKEN);
	timer_delete(timer);
}

Test(wire_connections, woken_many_times_is_told_once)
{
	for (int i = 0; i < 100; i++)
		hearer->client->wake(hearer->client);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_WOKEN);
	cr_assert_eq(hearer_listen(hearer, 20), CLIENT_DUE);
}

Test(wire_connections, waiting_for_ever_for_nothing_is_a_bug, .signal = SIGABRT)
{
	cr_assert_not_null(freopen("/dev/null", "w", stderr));
	hearer_listen(hearer, 2LL * 60 * 60 * 1000);
}
