/* A server of just enough HTTP/2 (RFC 9113) to prove multiplexing: it answers only when enough requests stand open. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "wire.h"

enum {
	DATA = 0,
	HEADERS = 1,
	RST_STREAM = 3,
	SETTINGS = 4,
	PING = 6,
	GOAWAY = 7,
	END_STREAM = 1,
	ACK = 1,
	END_HEADERS = 4,
	AT_ONCE = 20
};

static struct hearer *hearer;
static struct wire_server *server;
static struct wire_identity authority, leaf;
static struct http_tls tls;

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	hearer = hearer_new();
	authority = wire_identity_make(NULL, "authority", NULL);
	leaf = wire_identity_make(&authority, "leaf", "IP:127.0.0.1");
	tls = (struct http_tls){.ca_pem = authority.certificate_pem};
}

static void end(void)
{
	hearer_free(hearer);
	if (server != NULL)
		wire_server_stop(server);
	wire_identity_done(&authority);
	wire_identity_done(&leaf);
}

TestSuite(wire_http2, .init = begin, .fini = end, .timeout = 60);

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                        unsigned int in_length, void *user)
{
	static const unsigned char known[] = "\x02h2\x08http/1.1";
	unsigned char *chosen;
	int found = SSL_select_next_proto(&chosen, out_length, known, sizeof known - 1, in, in_length);

	(void)ssl;
	(void)user;
	*out = chosen;
	return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static void write_frame(struct wire_peer *peer, int type, int flags, uint32_t stream, const char *payload,
                        size_t length)
{
	unsigned char head[9] = {(unsigned char)(length >> 16), (unsigned char)(length >> 8), (unsigned char)length,
	                         (unsigned char)type,           (unsigned char)flags,         (unsigned char)(stream >> 24),
	                         (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream};
	char frame[9 + 256];

	cr_assert_leq(length, 256);
	memcpy(frame, head, 9);
	if (length > 0)
		memcpy(frame + 9, payload, length);
	wire_write(peer, frame, 9 + length);
}

static bool read_exactly(struct wire_peer *peer, unsigned char *bytes, size_t length)
{
	while (length > 0) {
		long got = wire_read(peer, (char *)bytes, length);

		if (got <= 0)
			return false;
		bytes += got;
		length -= (size_t)got;
	}
	return true;
}

/* The next frame's type, -1 at the end. */
static int read_frame(struct wire_peer *peer, int *flags, uint32_t *stream)
{
	static _Thread_local unsigned char payload[16384];
	unsigned char head[9];
	size_t length;

	if (!read_exactly(peer, head, 9))
		return -1;
	length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	if (length > sizeof payload || !read_exactly(peer, payload, length))
		return -1;
	*flags = head[4];
	*stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
	return head[3];
}

/* 0x88 is ":status: 200" of HPACK's static table. */
static void answer(struct wire_peer *peer, uint32_t stream)
{
	write_frame(peer, HEADERS, END_HEADERS, stream, "\x88", 1);
	write_frame(peer, DATA, END_STREAM, stream, "ok", 2);
}

/* Last answers first. */
static void serve_frames(struct wire_peer *peer,
                         void (*act)(struct wire_peer *peer, const uint32_t *streams, int *count))
{
	unsigned char preface[24];
	uint32_t open[256];
	int count = 0;
	int flags, type;
	uint32_t stream;

	if (!read_exactly(peer, preface, sizeof preface))
		return;
	write_frame(peer, SETTINGS, 0, 0, NULL, 0);
	while ((type = read_frame(peer, &flags, &stream)) >= 0) {
		if (type == SETTINGS && !(flags & ACK))
			write_frame(peer, SETTINGS, ACK, 0, NULL, 0);
		if ((type == HEADERS || type == DATA) && (flags & END_STREAM)) {
			atomic_fetch_add(&peer->server->requests, 1);
			open[count++] = stream;
			act(peer, open, &count);
		}
	}
}

static void answer_when_all_are_there(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	if (*count < AT_ONCE)
		return;
	while (*count > 0)
		answer(peer, streams[--*count]);
}

static bool speaks_http2(struct wire_peer *peer)
{
	const unsigned char *protocol;
	unsigned int length;

	SSL_get0_alpn_selected(peer->tls, &protocol, &length);
	return length == 2;
}

static void serve_when_all_are_there(struct wire_peer *peer)
{
	if (speaks_http2(peer)) {
		serve_frames(peer, answer_when_all_are_there);
		return;
	}
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
	wire_hear_request(peer);
}

static void start(void (*serve)(struct wire_peer *peer))
{
	SSL_CTX *context = wire_tls(&leaf, NULL);

	SSL_CTX_set_alpn_select_cb(context, choose_http2, NULL);
	server = wire_server_start(serve, context);
}

static struct http_request *request(void)
{
	struct http_request *made = hearer_request(hearer, wire_url(server, "/"));

	made->tls = &tls;
	return made;
}

static void ask_twenty(void)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct http_request *one = request();

		if (i % 2 == 1) {
			one->method = "PATCH";
			one->body = "{}";
			one->body_length = 2;
		}
		hearer_submit(hearer, one);
	}
	for (int i = 0; i < AT_ONCE; i++) {
		cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
		cr_assert_eq(hearer->response.status, 200, "%s", hearer->response.error.message);
		cr_assert_str_eq(hearer->response.body, "ok");
	}
}

Test(wire_http2, calls_share_one_connection)
{
	start(serve_when_all_are_there);
	for (int i = 0; i < 10; i++)
		ask_twenty();
	cr_assert_eq(server->connections, 1);
	cr_assert_eq(server->requests, 10 * AT_ONCE);
}

Test(wire_http2, stream_speaks_http1_and_does_not_stop_the_sharing)
{
	struct http_request *stream;

	start(serve_when_all_are_there);
	ask_twenty();
	stream = request();
	stream->stream = true;
	hearer_submit(hearer, stream);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_CHUNK, "%s", hearer->response.error.message);
	ask_twenty();
	cr_assert_eq(server->connections, 2);
}

static void serve_apart(struct wire_peer *peer)
{
	if (speaks_http2(peer)) {
		serve_frames(peer, answer_when_all_are_there);
		return;
	}
	while (wire_hear_request(peer))
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

Test(wire_http2, what_is_apart_has_a_connection_of_its_own_and_keeps_it)
{
	start(serve_apart);
	ask_twenty();
	for (int i = 0; i < 3; i++) {
		struct http_request *lease = request();

		lease->apart = true;
		cr_assert_eq(hearer_ask(hearer, lease)->status, 200, "%s", hearer->response.error.message);
	}
	ask_twenty();
	cr_assert_eq(server->connections, 2);
}

static void reset_each(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	write_frame(peer, HEADERS, END_HEADERS, streams[0], "\x88", 1);
	write_frame(peer, RST_STREAM, 0, streams[0], "\0\0\0\2", 4);
	*count = 0;
}

static void serve_resets(struct wire_peer *peer)
{
	serve_frames(peer, reset_each);
}

Test(wire_http2, stream_reset_in_the_answer)
{
	start(serve_resets);
	hearer_ask(hearer, request());
	cr_assert_eq(hearer->response.error.kind, ERROR_UNREACHABLE, "%s", hearer->response.error.message);
	cr_assert_eq(hearer->response.status, 0);
}

static void declare_five_send_two(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	/* content-length: 5, literal without indexing, name 28 of the static table */
	write_frame(peer, HEADERS, END_HEADERS, streams[0],
	            "\x88\x0f\x0d\x01"
	            "5",
	            5);
	write_frame(peer, DATA, END_STREAM, streams[0], "ok", 2);
	*count = 0;
}

static void serve_short(struct wire_peer *peer)
{
	serve_frames(peer, declare_five_send_two);
}

Test(wire_http2, body_shorter_than_its_length)
{
	start(serve_short);
	hearer_ask(hearer, request());
	cr_assert_neq(hearer->response.error.kind, ERROR_NONE);
	cr_assert_eq(hearer->response.status, 0);
}

static void cancel_keeps(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	if (*count < 2)
		return; /* the first is never answered */
	answer(peer, streams[--*count]);
}

static void serve_all_but_first(struct wire_peer *peer)
{
	serve_frames(peer, cancel_keeps);
}

Test(wire_http2, deadline_of_one_leaves_the_others)
{
	struct http_request *slow;

	start(serve_all_but_first);
	slow = request();
	slow->deadline_ms = 2000;
	hearer_submit(hearer, slow);
	wire_pause_ms(20);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_eq(hearer->response.error.kind, ERROR_TIMEOUT);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 1);
}

static void answer_each(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	answer(peer, streams[--*count]);
}

static void serve_each(struct wire_peer *peer)
{
	serve_frames(peer, answer_each);
}

/* A connection that is shared outlives the call that it kept waiting; a dead one must not be given to the next. */
Test(wire_http2, black_hole_is_left)
{
	struct http_request *slow;

	start(serve_each);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	wire_set_deaf(&server->peers[0], true);
	slow = request();
	slow->deadline_ms = 1000;
	cr_assert_eq(hearer_ask(hearer, slow)->error.kind, ERROR_TIMEOUT, "%s", hearer->response.error.message);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 2);
}

Test(wire_http2, black_hole_breaks_all_that_wait_on_it)
{
	struct http_request *slow;
	int broken = 0;

	start(serve_each);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	wire_set_deaf(&server->peers[0], true);
	for (int i = 0; i < 5; i++)
		hearer_submit(hearer, request());
	slow = request();
	slow->deadline_ms = 1000;
	hearer_submit(hearer, slow);
	for (int i = 0; i < 6; i++) {
		cr_assert_eq(hearer_listen(hearer, 3000), CLIENT_FINISHED);
		broken += hearer->response.error.kind == ERROR_TIMEOUT || hearer->response.error.kind == ERROR_UNREACHABLE;
	}
	cr_assert_geq(broken, 1);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	cr_assert_geq(server->connections, 2);
}

/* Others on the same connection do not give it more time. */
Test(wire_http2, what_the_kernel_holds_does_not_arrive_after_its_time)
{
	struct http_request *late;

	start(serve_each);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	wire_set_deaf(&server->peers[0], true);
	late = request();
	late->method = "PATCH";
	late->not_after = instant_after(hearer->client->now(hearer->client), 700);
	hearer_submit(hearer, late);
	hearer_submit(hearer, request());
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	wire_pause_ms(1200);
	wire_set_deaf(&server->peers[0], false);
	wire_pause_ms(1500);
	cr_assert_eq(server->requests, 1);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_leq(server->requests, 2, "the one without a time may have been repeated");
}

static void answer_first_only(struct wire_peer *peer, const uint32_t *streams, int *count)
{
	if (peer->number > 1 || streams[0] == 1)
		answer(peer, streams[0]);
	*count = 0;
}

static void serve_first_only(struct wire_peer *peer)
{
	struct timeval patience = {.tv_sec = 30};

	setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	serve_frames(peer, answer_first_only);
}

/* Its kernel acknowledges, and nobody behind it speaks. */
Test(wire_http2, connection_that_fell_silent_is_left_after_ten_seconds)
{
	struct http_request *slow;

	start(serve_first_only);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	slow = request();
	slow->deadline_ms = 300;
	hearer_ask(hearer, slow);
	slow = request();
	slow->deadline_ms = 10500;
	hearer_submit(hearer, slow);
	while (hearer->finished < 3)
		hearer_listen(hearer, 2 * WIRE_PATIENCE_MS);
	cr_assert_eq(hearer->response.error.kind, ERROR_TIMEOUT, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 1);
	cr_assert_eq(hearer_ask(hearer, request())->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 2);
}
