/* A proxy that is the service as well: behind CONNECT it answers itself. Names of services need no resolver. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct hearer *hearer;
static struct wire_server *server;
static struct wire_identity authority, leaf;
static struct http_tls tls;
static char connect_request[64 * 1024];

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	hearer = hearer_new();
	authority = wire_identity_make(NULL, "authority", NULL);
	leaf = wire_identity_make(&authority, "leaf", "DNS:sts.example.com,IP:127.0.0.1");
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

TestSuite(wire_proxies, .init = begin, .fini = end, .timeout = 60);

static void serve_always(struct wire_peer *peer)
{
	while (wire_hear_request(peer))
		wire_say(peer, OK_REPLY);
}

/* From plain to TLS on the same connection. */
static void serve_over_tls(struct wire_peer *peer)
{
	SSL_CTX *context = wire_tls(&leaf, NULL);

	peer->tls = SSL_new(context);
	SSL_set_fd(peer->tls, peer->fd);
	if (SSL_accept(peer->tls) == 1)
		serve_always(peer);
	SSL_CTX_free(context);
}

static void serve_tunnel(struct wire_peer *peer)
{
	wire_hear_request(peer);
	atomic_fetch_sub(&peer->server->requests, 1);
	memcpy(connect_request, peer->server->last_request, sizeof connect_request);
	wire_say(peer, "HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n");
	serve_over_tls(peer);
}

static void serve_setup(struct wire_peer *peer)
{
	if (wire_hear_request(peer))
		wire_say(peer, peer->server->setup);
}

static const char *proxy_at(const char *scheme, const char *user, const struct wire_server *at)
{
	return arena_printf(&hearer->arena, "%s://%s127.0.0.1:%d", scheme, user, at->port);
}

static struct http_request *request_through(const char *url, const char *proxy)
{
	struct http_request *request = hearer_request(hearer, url);

	request->tls = &tls;
	request->proxy = proxy;
	http_add_header(&request->headers, &hearer->arena, "Authorization", "Bearer token");
	return request;
}

static const struct http_response *ask(const char *url, const char *proxy)
{
	return hearer_ask(hearer, request_through(url, proxy));
}

static void expect_ok(const struct http_response *response)
{
	cr_assert_eq(response->status, 200, "%s", response->error.message);
	cr_assert_str_eq(response->body, "ok");
}

static void expect_failure(const struct http_response *response, enum error_kind kind, const char *words)
{
	cr_assert_eq(response->error.kind, kind, "%s: %s", error_kind_name(response->error.kind), response->error.message);
	cr_assert_eq(response->status, 0);
	cr_assert_eq(response->error.http_status, kind == ERROR_MALFORMED ? response->error.http_status : 0);
	cr_assert_not_null(strstr(response->error.message, words), "%s", response->error.message);
	cr_assert_null(strstr(response->error.message, "secret"), "%s", response->error.message);
}

/* What every failure behind a proxy begins with. */
static const char *where(const char *origin)
{
	return arena_printf(&hearer->arena, "%s through the proxy 127.0.0.1:%d: ", origin, server->port);
}

Test(wire_proxies, https_goes_through_a_tunnel)
{
	server = wire_server_start(serve_tunnel, NULL);
	for (int i = 0; i < 3; i++)
		expect_ok(ask("https://sts.example.com/x?y", proxy_at("http", "me:secret@", server)));
	cr_assert_eq(server->connections, 1);
	cr_assert_eq(server->requests, 3);
	cr_assert_null(http_header(&hearer->response.headers, "X-Proxy"));
	cr_assert_eq(strncmp(connect_request, "CONNECT sts.example.com:443 HTTP/1.1\r\n", 38), 0, "%s", connect_request);
	cr_assert_not_null(strstr(connect_request, "\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n"));
	cr_assert_null(strstr(connect_request, "token"), "what is for the service is not for the proxy");
	cr_assert_eq(strncmp(server->last_request, "GET /x?y HTTP/1.1\r\n", 19), 0);
	cr_assert_null(strstr(server->last_request, "Proxy-"));
}

Test(wire_proxies, certificate_behind_the_tunnel_is_looked_at)
{
	server = wire_server_start(serve_tunnel, NULL);
	expect_failure(ask("https://other.example.com/", proxy_at("http", "me:secret@", server)), ERROR_UNREACHABLE,
	               where("https://other.example.com:443"));
	cr_assert_eq(server->requests, 0);
}

Test(wire_proxies, http_goes_in_absolute_form)
{
	server = wire_server_start(serve_always, NULL);
	for (int i = 0; i < 2; i++)
		expect_ok(ask("http://sts.example.com/a/../b%2Fc?x=%20", proxy_at("http", "me:p%40ss@", server)));
	cr_assert_eq(server->connections, 1);
	cr_assert_eq(strncmp(server->last_request, "GET http://sts.example.com/a/../b%2Fc?x=%20 HTTP/1.1\r\n", 54), 0, "%s",
	             server->last_request);
	cr_assert_not_null(strstr(server->last_request, "\r\nHost: sts.example.com\r\n"));
	cr_assert_not_null(strstr(server->last_request, "\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n"));
}

Test(wire_proxies, body_is_sent_through)
{
	struct http_request *request;

	server = wire_server_start(serve_tunnel, NULL);
	request = request_through("https://sts.example.com/", proxy_at("http", "", server));
	request->method = "POST";
	request->body = "{\"a\":1}";
	request->body_length = 7;
	expect_ok(hearer_ask(hearer, request));
	cr_assert_not_null(strstr(server->last_request, "\r\n\r\n{\"a\":1}"));
}

Test(wire_proxies, two_of_them_share_no_connection)
{
	struct wire_server *other = wire_server_start(serve_tunnel, NULL);

	server = wire_server_start(serve_tunnel, NULL);
	for (int i = 0; i < 2; i++) {
		expect_ok(ask("https://sts.example.com/", proxy_at("http", "", server)));
		expect_ok(ask("https://sts.example.com/", proxy_at("http", "", other)));
	}
	cr_assert_eq(server->connections, 1);
	cr_assert_eq(server->requests, 2);
	cr_assert_eq(other->connections, 1);
	cr_assert_eq(other->requests, 2);
	wire_server_stop(other);
}

Test(wire_proxies, two_of_them_share_no_connection_in_the_clear)
{
	struct wire_server *other = wire_server_start(serve_always, NULL);

	server = wire_server_start(serve_always, NULL);
	for (int i = 0; i < 2; i++) {
		expect_ok(ask("http://sts.example.com/", proxy_at("http", "", server)));
		expect_ok(ask("http://sts.example.com/", proxy_at("http", "", other)));
	}
	cr_assert_eq(server->requests, 2);
	cr_assert_eq(other->requests, 2);
	wire_server_stop(other);
}

Test(wire_proxies, straight_and_through_share_no_connection)
{
	struct wire_server *service = wire_server_start(serve_always, wire_tls(&leaf, NULL));

	server = wire_server_start(serve_tunnel, NULL);
	for (int i = 0; i < 2; i++) {
		expect_ok(ask(wire_url(service, "/"), NULL));
		expect_ok(ask(wire_url(service, "/"), proxy_at("http", "", server)));
	}
	cr_assert_eq(service->requests, 2);
	cr_assert_eq(server->requests, 2);
	wire_server_stop(service);
}

/* As the service in the clear is one and a proxy of itself. */
Test(wire_proxies, service_and_proxy_at_one_address_share_no_connection)
{
	server = wire_server_start(serve_always, NULL);
	expect_ok(ask(wire_url(server, "/straight"), NULL));
	cr_assert_eq(strncmp(server->last_request, "GET /straight ", 14), 0);
	expect_ok(ask(wire_url(server, "/through"), proxy_at("http", "", server)));
	cr_assert_eq(strncmp(server->last_request, "GET http://127.0.0.1:", 21), 0);
	cr_assert_eq(server->connections, 2);
}

Test(wire_proxies, environment_does_not_count)
{
	struct wire_server *service = wire_server_start(serve_always, NULL);

	server = wire_server_start(serve_always, NULL);
	for (const char *const *name =
	         (const char *const[]){"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", NULL};
	     *name != NULL; name++)
		setenv(*name, "http://127.0.0.1:1", 1);
	expect_ok(ask(wire_url(service, "/"), NULL));
	cr_assert_eq(service->requests, 1);
	setenv("NO_PROXY", "*", 1);
	setenv("no_proxy", "*", 1);
	expect_ok(ask(wire_url(service, "/"), proxy_at("http", "", server)));
	cr_assert_eq(service->requests, 1);
	cr_assert_eq(server->requests, 1);
	wire_server_stop(service);
}

static const struct {
	const char *reply;
	const char *words;
} refusals[] = {
	{"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\nContent-Length: 0\r\n\r\n",
     "the proxy refuses the connection with status 407"},
	{"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 4\r\n\r\nnope",
     "the proxy refuses the connection with status 407"},
	{"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>oh</html>",
     "the proxy refuses the connection with status 502"},
	{"HTTP/1.1 503 Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnope\r\n0\r\n\r\n",
     "the proxy refuses the connection with status 503"},
	{"HTTP/1.0 403 Forbidden\r\n\r\nno", "the proxy refuses the connection with status 403"},
	{"", ": "},
	{"SSH-2.0-OpenSSH_9.2p1\r\n", ": "},
	{"HTTP/1.1 200 Connection established\r\n\r\n", ": "},
	{"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", ": "},
};

Test(wire_proxies, refused_tunnel)
{
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		server = wire_server_start(serve_setup, NULL);
		server->setup = refusals[i].reply;
		ask("https://sts.example.com/", proxy_at("http", "me:secret@", server));
		expect_failure(&hearer->response, ERROR_UNREACHABLE, refusals[i].words);
		expect_failure(&hearer->response, ERROR_UNREACHABLE, where("https://sts.example.com:443"));
		wire_server_stop(server);
		server = NULL;
	}
}

Test(wire_proxies, refusal_in_the_clear)
{
	server = wire_server_start(serve_setup, NULL);
	server->setup = refusals[0].reply;
	expect_failure(ask("http://sts.example.com/", proxy_at("http", "me:secret@", server)), ERROR_UNREACHABLE,
	               where("http://sts.example.com:80"));
	expect_failure(&hearer->response, ERROR_UNREACHABLE, "the proxy refuses the request with status 407");
}

Test(wire_proxies, status_407_without_a_proxy_is_the_services)
{
	server = wire_server_start(serve_setup, NULL);
	server->setup = refusals[0].reply;
	cr_assert_eq(ask(wire_url(server, "/"), NULL)->status, 407);
}

static void serve_endless_headers(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_say(peer, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 100000 && wire_say(peer, "X-More: and more and more\r\n"); i++)
		;
}

Test(wire_proxies, endless_headers_of_a_tunnel)
{
	server = wire_server_start(serve_endless_headers, NULL);
	expect_failure(ask("https://sts.example.com/", proxy_at("http", "me:secret@", server)), ERROR_UNREACHABLE,
	               where("https://sts.example.com:443"));
}

Test(wire_proxies, nobody_there)
{
	const char *proxy;

	server = wire_server_start(serve_always, NULL);
	proxy = proxy_at("http", "me:secret@", server);
	wire_server_stop(server);
	server = NULL;
	expect_failure(ask("https://sts.example.com/", proxy), ERROR_UNREACHABLE,
	               "https://sts.example.com:443 through the proxy 127.0.0.1:");
	expect_failure(ask("http://sts.example.com/", proxy), ERROR_UNREACHABLE,
	               "http://sts.example.com:80 through the proxy 127.0.0.1:");
}

static void serve_silence(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_hear_request(peer);
}

Test(wire_proxies, silent_one_reaches_the_deadline)
{
	struct http_request *request;

	server = wire_server_start(serve_silence, NULL);
	request = request_through("https://sts.example.com/", proxy_at("http", "me:secret@", server));
	request->deadline_ms = 300;
	expect_failure(hearer_ask(hearer, request), ERROR_TIMEOUT, where("https://sts.example.com:443"));
}

static void serve_late_tunnel(struct wire_peer *peer)
{
	wire_hear_request(peer);
	wire_pause_ms(600);
	wire_say(peer, "HTTP/1.1 200 OK\r\n\r\n");
	serve_over_tls(peer);
}

Test(wire_proxies, tunnel_that_stands_too_late)
{
	struct http_request *request;

	server = wire_server_start(serve_late_tunnel, NULL);
	request = request_through("https://sts.example.com/", proxy_at("http", "", server));
	request->not_after = instant_after(hearer->client->now(hearer->client), 1000);
	hearer_submit(hearer, request);
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	wire_pause_ms(1300);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	expect_failure(&hearer->response, ERROR_STALE, where("https://sts.example.com:443"));
	wire_pause_ms(50);
	cr_assert_eq(server->requests, 1, "CONNECT and nothing else");
}

static bool read_exactly(struct wire_peer *peer, unsigned char *bytes, size_t length)
{
	for (long got; length > 0; bytes += got, length -= (size_t)got)
		if ((got = wire_read(peer, (char *)bytes, length)) <= 0)
			return false;
	return true;
}

static char asked_of_socks[300];

/* RFC 1928 without authentication; `setup` is what is answered to CONNECT, then it is the service. */
static void serve_socks(struct wire_peer *peer)
{
	const char *status = peer->server->setup;
	unsigned char bytes[300];
	char reply[10] = {5, *status, 0, 1};

	if (!read_exactly(peer, bytes, 2) || !read_exactly(peer, bytes, bytes[1]))
		return;
	wire_write(peer, "\5\0", 2);
	read_exactly(peer, bytes, 4);
	if (bytes[3] == 1) {
		read_exactly(peer, bytes, 4);
		snprintf(asked_of_socks, sizeof asked_of_socks, "%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3]);
	} else {
		read_exactly(peer, bytes, 1);
		bytes[1 + bytes[0]] = '\0';
		read_exactly(peer, bytes + 1, bytes[0]);
		snprintf(asked_of_socks, sizeof asked_of_socks, "%s", (const char *)bytes + 1);
	}
	read_exactly(peer, bytes, 2);
	wire_write(peer, reply, 10);
	if (*status == 0)
		serve_always(peer);
}

Test(wire_proxies, socks5h_resolves_the_name)
{
	server = wire_server_start(serve_socks, NULL);
	server->setup = "\0";
	expect_ok(ask("http://sts.example.com/x", proxy_at("socks5h", "", server)));
	cr_assert_str_eq(asked_of_socks, "sts.example.com");
	cr_assert_eq(strncmp(server->last_request, "GET /x HTTP/1.1\r\n", 17), 0);
}

Test(wire_proxies, socks5_is_given_an_address)
{
	server = wire_server_start(serve_socks, NULL);
	server->setup = "\0";
	expect_ok(ask("http://127.0.0.9:80/x", proxy_at("socks5", "", server)));
	cr_assert_str_eq(asked_of_socks, "127.0.0.9");
}

Test(wire_proxies, socks_refuses)
{
	server = wire_server_start(serve_socks, NULL);
	server->setup = "\5";
	expect_failure(ask("http://sts.example.com/", proxy_at("socks5h", "me:secret@", server)), ERROR_UNREACHABLE,
	               where("http://sts.example.com:80"));
	cr_assert_eq(server->requests, 0);
}

Test(wire_proxies, proxy_over_tls_is_trusted_as_the_service_is)
{
	struct wire_identity stranger = wire_identity_make(NULL, "another authority", NULL);

	server = wire_server_start(serve_always, wire_tls(&leaf, NULL));
	tls.ca_pem = stranger.certificate_pem;
	expect_failure(ask("http://sts.example.com/", proxy_at("https", "me:secret@", server)), ERROR_UNREACHABLE,
	               where("http://sts.example.com:80"));
	cr_assert_eq(server->requests, 0);
	tls.ca_pem = authority.certificate_pem;
	expect_ok(ask("http://sts.example.com/", proxy_at("https", "me:secret@", server)));
	cr_assert_eq(strncmp(server->last_request, "GET http://sts.example.com/ HTTP/1.1\r\n", 38), 0);
	wire_identity_done(&stranger);
}

Test(wire_proxies, url_of_the_proxy_that_is_none)
{
	static const char *const urls[] = {"ftp://me:secret@proxy:1",
	                                   "http://me:secret@[::1",
	                                   "http://me:secret@proxy:x",
	                                   "socks4://me:secret@proxy",
	                                   "me:secret@proxy",
	                                   "://secret",
	                                   ""};

	for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
		expect_failure(ask("https://sts.example.com/", urls[i]), ERROR_INPUT, "https://sts.example.com:443");
}

Test(wire_proxies, server_name_is_for_the_handshake_only)
{
	struct http_request *request;

	server = wire_server_start(serve_tunnel, NULL);
	request = request_through("https://10.1.2.3:6443/x", proxy_at("http", "", server));
	tls.server_name = "sts.example.com";
	expect_ok(hearer_ask(hearer, request));
	cr_assert_eq(strncmp(connect_request, "CONNECT 10.1.2.3:6443 HTTP/1.1\r\n", 32), 0, "%s", connect_request);
	cr_assert_not_null(strstr(server->last_request, "\r\nHost: 10.1.2.3:6443\r\n"), "%s", server->last_request);
}

Test(wire_proxies, stream_in_the_clear_through_socks)
{
	struct http_request *request;

	server = wire_server_start(serve_socks, NULL);
	server->setup = "\0";
	request = request_through("http://api.example.com/watch", proxy_at("socks5h", "", server));
	request->stream = true;
	hearer_ask(hearer, request);
	cr_assert_eq(hearer->chunks, 1);
	cr_assert_str_eq(hearer->body, "ok");
}
