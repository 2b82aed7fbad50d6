/* What is not to be sent after a certain time is not, whatever it was waiting for. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

static struct hearer *hearer;
static struct wire_server *server;
static atomic_int bytes_seen;

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

TestSuite(wire_not_after, .init = begin, .fini = end, .timeout = 60);

static void serve_always(struct wire_peer *peer)
{
	while (wire_hear_request(peer))
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static struct http_request *request_within(const char *url, int64_t ms)
{
	struct http_request *request = hearer_request(hearer, url);

	request->method = "PATCH";
	request->body = "{}";
	request->body_length = 2;
	request->not_after = instant_after(hearer->client->now(hearer->client), ms);
	return request;
}

static void expect_stale(const struct http_response *response)
{
	cr_assert_eq(response->error.kind, ERROR_STALE, "%s: %s", error_kind_name(response->error.kind),
	             response->error.message);
	cr_assert_eq(response->status, 0);
	cr_assert_eq(response->error.http_status, 0);
	cr_assert_not_null(strstr(response->error.message, "127.0.0.1:"), "%s", response->error.message);
	cr_assert_not_null(strstr(response->error.message, "not sent"), "%s", response->error.message);
}

Test(wire_not_after, in_time)
{
	server = wire_server_start(serve_always, NULL);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(hearer_ask(hearer, request_within(wire_url(server, "/"), 3000))->status, 200, "%s",
		             hearer->response.error.message);
	cr_assert_eq(server->connections, 1);
}

Test(wire_not_after, over_before_it_is_submitted)
{
	server = wire_server_start(serve_always, NULL);
	expect_stale(hearer_ask(hearer, request_within(wire_url(server, "/"), 0)));
	expect_stale(hearer_ask(hearer, request_within(wire_url(server, "/"), -60000)));
	wire_pause_ms(50);
	cr_assert_eq(server->connections, 0);
}

/* As after SIGSTOP: nobody looks at the clock while it runs out. */
Test(wire_not_after, over_between_submit_and_wait)
{
	server = wire_server_start(serve_always, NULL);
	hearer_submit(hearer, request_within(wire_url(server, "/"), 100));
	wire_pause_ms(150);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	expect_stale(&hearer->response);
	cr_assert_eq(server->requests, 0);
}

Test(wire_not_after, over_between_submit_and_wait_with_a_pooled_connection)
{
	server = wire_server_start(serve_always, NULL);
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	hearer_submit(hearer, request_within(wire_url(server, "/"), 100));
	wire_pause_ms(150);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	expect_stale(&hearer->response);
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	cr_assert_eq(server->requests, 2);
	cr_assert_eq(server->connections, 1);
}

static void serve_and_count(struct wire_peer *peer)
{
	char bytes[4096];
	long got;

	while ((got = wire_read(peer, bytes, sizeof bytes)) > 0)
		atomic_fetch_add(&bytes_seen, (int)got);
}

/* The listener's queue holds two; a third connection does not stand until somebody is taken from it. */
Test(wire_not_after, connection_that_stands_too_late)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f};
	socklen_t length = sizeof address;
	struct http_request *request;
	char url[64], bytes[64];
	int others[2], accepted;

	cr_assert_eq(bind(listener, (struct sockaddr *)&address, length) | listen(listener, 0), 0);
	getsockname(listener, (struct sockaddr *)&address, &length);
	for (int i = 0; i < 2; i++) {
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(others[i], (struct sockaddr *)&address, length);
	}
	wire_pause_ms(50);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
	request = request_within(url, 1000);
	hearer_submit(hearer, request);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	wire_pause_ms(1000);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	expect_stale(&hearer->response);
	for (int i = 0; i < 3; i++) {
		struct timeval patience = {.tv_sec = 2};

		setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		if ((accepted = accept(listener, NULL, NULL)) < 0)
			break;
		cr_assert_leq(recv(accepted, bytes, sizeof bytes, MSG_DONTWAIT), 0);
		close(accepted);
	}
	for (int i = 0; i < 2; i++)
		close(others[i]);
	close(listener);
}

/* `setup` is how long the server does not begin its handshake. */
static void serve_late_tls(struct wire_peer *peer)
{
	const struct wire_identity *identity = peer->server->setup;
	SSL_CTX *context = wire_tls(identity, NULL);

	wire_pause_ms(800);
	peer->tls = SSL_new(context);
	SSL_set_fd(peer->tls, peer->fd);
	if (SSL_accept(peer->tls) == 1)
		serve_and_count(peer);
	SSL_CTX_free(context);
}

static void expect_late_handshake(bool stopped)
{
	struct wire_identity authority = wire_identity_make(NULL, "authority", NULL);
	struct wire_identity leaf = wire_identity_make(&authority, "leaf", "IP:127.0.0.1");
	struct http_tls tls = {.ca_pem = authority.certificate_pem};
	struct http_request *request;
	char url[64];

	server = wire_server_start(serve_late_tls, NULL);
	server->setup = &leaf;
	snprintf(url, sizeof url, "https://127.0.0.1:%d/", server->port);
	request = request_within(url, 400);
	request->tls = &tls;
	hearer_submit(hearer, request);
	if (stopped) {
		cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
		wire_pause_ms(1000);
	}
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	expect_stale(&hearer->response);
	wire_pause_ms(stopped ? 100 : 600);
	cr_assert_eq(bytes_seen, 0);
	wire_server_stop(server);
	server = NULL;
	wire_identity_done(&authority);
	wire_identity_done(&leaf);
}

Test(wire_not_after, handshake_that_takes_too_long)
{
	expect_late_handshake(false);
}

Test(wire_not_after, handshake_that_takes_too_long_while_we_are_stopped)
{
	expect_late_handshake(true);
}

static void serve_slowly(struct wire_peer *peer)
{
	while (wire_hear_request(peer)) {
		wire_pause_ms(2000);
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
}

Test(wire_not_after, over_while_it_waits_behind_256_others)
{
	struct http_request *late;
	uint64_t call;
	int stale = 0;

	server = wire_server_start(serve_slowly, NULL);
	for (int i = 0; i < 256; i++)
		hearer_submit(hearer, hearer_request(hearer, wire_url(server, "/ordinary")));
	late = request_within(wire_url(server, "/late"), 300);
	call = hearer_submit(hearer, late);
	for (int i = 0; i < 257; i++) {
		cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
		if (hearer->last_call != call) {
			cr_assert_eq(hearer->response.status, 200, "%s", hearer->response.error.message);
			continue;
		}
		expect_stale(&hearer->response);
		stale++;
	}
	cr_assert_eq(stale, 1);
	cr_assert_eq(server->requests, 256);
	cr_assert_null(strstr(server->last_request, "/late"));
}

Test(wire_not_after, over_while_waiting_for_an_answer_changes_nothing)
{
	server = wire_server_start(serve_slowly, NULL);
	cr_assert_eq(hearer_ask(hearer, request_within(wire_url(server, "/"), 300))->status, 200, "%s",
	             hearer->response.error.message);
}

/* The header and the beginning of a large body go out, and then we are stopped: the rest does not follow. */
static void serve_no_reading(struct wire_peer *peer)
{
	char bytes[4096];
	long got;

	wire_pause_ms(1300);
	while ((got = wire_read(peer, bytes, sizeof bytes)) > 0)
		atomic_fetch_add(&bytes_seen, (int)got);
}

Test(wire_not_after, body_that_is_not_out_in_time_is_not_sent_to_its_end)
{
	enum { SIZE = 16 * 1024 * 1024 };
	struct http_request *request;

	server = wire_server_start(serve_no_reading, NULL);
	request = request_within(wire_url(server, "/"), 800);
	request->body = arena_alloc(&hearer->arena, SIZE);
	request->body_length = SIZE;
	hearer_submit(hearer, request);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	wire_pause_ms(1500);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	/* the kernel may have given up before us */
	if (hearer->response.error.kind != ERROR_UNREACHABLE)
		expect_stale(&hearer->response);
	wire_pause_ms(200);
	cr_assert_lt(bytes_seen, SIZE);
}

Test(wire_not_after, canceled_meanwhile)
{
	uint64_t call;

	server = wire_server_start(serve_always, NULL);
	call = hearer_submit(hearer, request_within(wire_url(server, "/"), 100));
	wire_pause_ms(150);
	hearer->client->cancel(hearer->client, call);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	cr_assert_eq(server->requests + hearer->finished, 0);
}

static struct http_request *request_into_the_void(int64_t not_after_ms, int32_t deadline_ms)
{
	struct http_request *request;

	server = wire_server_start(serve_always, NULL);
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	wire_set_deaf(&server->peers[0], true);
	request = request_within(wire_url(server, "/late"), not_after_ms);
	request->deadline_ms = deadline_ms;
	return request;
}

/* The network loses what was sent in time, and comes back when it is too late: nobody sends it again. */
static void expect_nothing_late(void)
{
	wire_set_deaf(&server->peers[0], false);
	wire_pause_ms(1500);
	cr_assert_eq(server->requests, 1);
	cr_assert_null(strstr(server->last_request, "/late"));
}

Test(wire_not_after, what_was_given_up_does_not_arrive_later)
{
	struct http_request *request = request_into_the_void(5000, 400);

	cr_assert_eq(hearer_ask(hearer, request)->error.kind, ERROR_TIMEOUT, "%s", hearer->response.error.message);
	expect_nothing_late();
}

Test(wire_not_after, what_was_taken_back_does_not_arrive_later)
{
	uint64_t call = hearer_submit(hearer, request_into_the_void(5000, 5000));

	/* too early for the kernel to know that nobody acknowledges it */
	cr_assert_eq(hearer_listen(hearer, 20), CLIENT_DUE);
	hearer->client->cancel(hearer->client, call);
	expect_nothing_late();
}

Test(wire_not_after, what_the_kernel_holds_while_we_are_stopped_does_not_arrive_later)
{
	struct http_request *request = request_into_the_void(700, 5000);

	hearer_submit(hearer, request);
	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
	wire_pause_ms(1200);
	expect_nothing_late();
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_eq(hearer->response.error.kind, ERROR_UNREACHABLE, "%s", hearer->response.error.message);
}
