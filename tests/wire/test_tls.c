#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

static struct hearer *hearer;
static struct wire_server *server;
static struct wire_identity authority, other_authority, leaf;
static char ca_path[] = "/tmp/zonevac-wire-XXXXXX";

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	hearer = hearer_new();
	authority = wire_identity_make(NULL, "authority", NULL);
	other_authority = wire_identity_make(NULL, "another authority", NULL);
	leaf = wire_identity_make(&authority, "leaf", "IP:127.0.0.1,DNS:localhost");
}

static void end(void)
{
	hearer_free(hearer);
	if (server != NULL)
		wire_server_stop(server);
	wire_identity_done(&authority);
	wire_identity_done(&other_authority);
	wire_identity_done(&leaf);
}

TestSuite(wire_tls, .init = begin, .fini = end, .timeout = 60);

static void serve(struct wire_peer *peer)
{
	while (wire_hear_request(peer))
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static const struct http_response *ask(const struct http_tls *tls)
{
	struct http_request *request = hearer_request(hearer, wire_url(server, "/x"));

	request->tls = tls;
	return hearer_ask(hearer, request);
}

static void expect_refusal(const struct http_response *response, const char *word)
{
	cr_assert_eq(response->error.kind, ERROR_UNREACHABLE, "%s", response->error.message);
	cr_assert_eq(response->status, 0);
	cr_assert_not_null(strcasestr(response->error.message, word), "%s", response->error.message);
	cr_assert_eq(server->requests, 0);
}

Test(wire_tls, authority_in_memory)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ask(&tls)->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 1);
}

static void write_ca(const struct wire_identity *identity)
{
	FILE *file = fopen(ca_path, "w");

	fputs(identity->certificate_pem, file);
	fclose(file);
}

Test(wire_tls, authority_in_a_file_is_read_anew)
{
	struct http_tls tls = {.ca_file = ca_path};
	struct http_request *request;

	close(mkstemp(ca_path));
	write_ca(&authority);
	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	cr_assert_eq(ask(&tls)->status, 200, "%s", hearer->response.error.message);
	write_ca(&other_authority);
	request = hearer_request(hearer, wire_url(server, "/"));
	request->tls = &tls;
	request->fresh_connection = true;
	cr_assert_eq(hearer_ask(hearer, request)->error.kind, ERROR_UNREACHABLE);
	unlink(ca_path);
}

Test(wire_tls, wrong_authority)
{
	struct http_tls tls = {.ca_pem = other_authority.certificate_pem};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "certificate");
}

Test(wire_tls, system_authorities_by_default)
{
	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(NULL), "certificate");
}

Test(wire_tls, authority_file_that_is_not_there)
{
	struct http_tls tls = {.ca_file = "/nonexistent/ca.pem"};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "certificate");
}

Test(wire_tls, wrong_name)
{
	struct wire_identity elsewhere = wire_identity_make(&authority, "elsewhere", "DNS:elsewhere.example");
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	server = wire_server_start(serve, wire_tls(&elsewhere, NULL));
	expect_refusal(ask(&tls), "127.0.0.1");
	wire_identity_done(&elsewhere);
}

static char heard_name[256];

static int on_name(SSL *tls, int *alert, void *user)
{
	(void)alert;
	(void)user;
	snprintf(heard_name, sizeof heard_name, "%s", SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name));
	return SSL_TLSEXT_ERR_OK;
}

Test(wire_tls, server_name_instead_of_the_host)
{
	struct wire_identity elsewhere = wire_identity_make(&authority, "elsewhere", "DNS:elsewhere.example");
	struct http_tls tls = {.ca_pem = authority.certificate_pem, .server_name = "elsewhere.example"};
	SSL_CTX *context = wire_tls(&elsewhere, NULL);
	char host[64];

	SSL_CTX_set_tlsext_servername_callback(context, on_name);
	server = wire_server_start(serve, context);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(ask(&tls)->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->connections, 1);
	cr_assert_str_eq(heard_name, "elsewhere.example");
	snprintf(host, sizeof host, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", server->port);
	cr_assert_not_null(strstr(server->last_request, "GET /x HTTP/1.1\r\n"));
	cr_assert_not_null(strstr(server->last_request, strstr(host, "\r\n")), "%s", server->last_request);
	wire_identity_done(&elsewhere);
}

Test(wire_tls, server_name_that_the_certificate_lacks)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem, .server_name = "elsewhere.example"};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "elsewhere.example");
}

Test(wire_tls, insecure)
{
	struct http_tls tls = {.ca_pem = other_authority.certificate_pem, .insecure = true};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	cr_assert_eq(ask(&tls)->status, 200, "%s", hearer->response.error.message);
}

Test(wire_tls, insecure_connection_is_not_shared)
{
	struct http_tls insecure = {.ca_pem = other_authority.certificate_pem, .insecure = true};
	struct http_tls careful = {.ca_pem = other_authority.certificate_pem};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	cr_assert_eq(ask(&insecure)->status, 200);
	cr_assert_eq(ask(&careful)->error.kind, ERROR_UNREACHABLE);
	cr_assert_eq(server->requests, 1);
}

static char client_name[256];

static void serve_client_name(struct wire_peer *peer)
{
	while (wire_hear_request(peer)) {
		X509 *shown = SSL_get1_peer_certificate(peer->tls);

		X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, client_name, sizeof client_name);
		X509_free(shown);
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
}

Test(wire_tls, client_certificate)
{
	struct wire_identity me = wire_identity_make(&authority, "me", NULL);
	struct http_tls tls = {.ca_pem = authority.certificate_pem, .cert_pem = me.certificate_pem, .key_pem = me.key_pem};

	server = wire_server_start(serve_client_name, wire_tls(&leaf, &authority));
	cr_assert_eq(ask(&tls)->status, 200, "%s", hearer->response.error.message);
	cr_assert_str_eq(client_name, "me");
	wire_identity_done(&me);
}

Test(wire_tls, client_certificate_asked_for_and_not_there)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	server = wire_server_start(serve_client_name, wire_tls(&leaf, &authority));
	cr_assert_eq(ask(&tls)->error.kind, ERROR_UNREACHABLE, "%s", hearer->response.error.message);
	cr_assert_eq(server->requests, 0);
}

Test(wire_tls, connections_of_two_identities_are_not_shared)
{
	struct wire_identity me = wire_identity_make(&authority, "me", NULL);
	struct wire_identity you = wire_identity_make(&authority, "you", NULL);
	struct http_tls mine = {.ca_pem = authority.certificate_pem, .cert_pem = me.certificate_pem, .key_pem = me.key_pem};
	struct http_tls yours = {
		.ca_pem = authority.certificate_pem, .cert_pem = you.certificate_pem, .key_pem = you.key_pem};

	server = wire_server_start(serve_client_name, wire_tls(&leaf, &authority));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ask(&mine)->status, 200);
		cr_assert_str_eq(client_name, "me");
		cr_assert_eq(ask(&yours)->status, 200);
		cr_assert_str_eq(client_name, "you");
	}
	cr_assert_eq(server->connections, 2);
	wire_identity_done(&me);
	wire_identity_done(&you);
}

Test(wire_tls, client_key_that_is_none)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem, .cert_pem = leaf.certificate_pem, .key_pem = "no key"};

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	cr_assert_eq(ask(&tls)->error.kind, ERROR_UNREACHABLE);
	cr_assert_null(strstr(hearer->response.error.message, "no key"));
}

Test(wire_tls, old_version_is_refused)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};
	SSL_CTX *context = wire_tls(&leaf, NULL);

	SSL_CTX_set_security_level(context, 0);
	SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
	server = wire_server_start(serve, context);
	expect_refusal(ask(&tls), "");
}

Test(wire_tls, expired)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	wire_identity_age(&leaf, &authority, 24);
	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "expired");
}

Test(wire_tls, not_good_yet)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	wire_identity_age(&leaf, &authority, -24);
	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "not yet valid");
}

Test(wire_tls, expired_authority)
{
	struct http_tls tls;

	wire_identity_age(&authority, NULL, 24);
	tls = (struct http_tls){.ca_pem = authority.certificate_pem};
	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	expect_refusal(ask(&tls), "expired");
}

Test(wire_tls, self_signed)
{
	struct wire_identity alone = wire_identity_make(NULL, "alone", "IP:127.0.0.1");
	struct http_tls tls = {.ca_pem = authority.certificate_pem};

	server = wire_server_start(serve, wire_tls(&alone, NULL));
	expect_refusal(ask(&tls), "self-signed");
	expect_refusal(ask(NULL), "self-signed");
	wire_identity_done(&alone);
}

static void serve_plain(struct wire_peer *peer)
{
	char bytes[4096];

	if (wire_read(peer, bytes, sizeof bytes) > 0)
		wire_say(peer, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

Test(wire_tls, plain_http_where_tls_should_be)
{
	struct http_tls tls = {.ca_pem = authority.certificate_pem};
	struct http_request *request;
	char url[64];

	server = wire_server_start(serve_plain, NULL);
	snprintf(url, sizeof url, "https://127.0.0.1:%d/", server->port);
	request = hearer_request(hearer, url);
	request->tls = &tls;
	expect_refusal(hearer_ask(hearer, request), "version");
}

Test(wire_tls, tls_where_plain_http_should_be)
{
	char url[64];

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", server->port);
	cr_assert_eq(hearer_get(hearer, url)->status, 0);
	cr_assert(hearer->response.error.kind == ERROR_MALFORMED || hearer->response.error.kind == ERROR_UNREACHABLE, "%s",
	          hearer->response.error.message);
	cr_assert_eq(server->requests, 0);
}

/* The server's certificate is replaced by one of another authority: who knows the new one goes on, nobody else. */
Test(wire_tls, certificate_is_swapped_while_running)
{
	struct wire_identity renewed = wire_identity_make(&other_authority, "renewed", "IP:127.0.0.1");
	struct http_tls before = {.ca_pem = authority.certificate_pem};
	struct http_tls after = {.ca_pem = other_authority.certificate_pem};
	struct http_request *request;

	server = wire_server_start(serve, wire_tls(&leaf, NULL));
	cr_assert_eq(ask(&before)->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(SSL_CTX_use_certificate(server->tls, renewed.certificate), 1);
	cr_assert_eq(SSL_CTX_use_PrivateKey(server->tls, renewed.key), 1);
	cr_assert_eq(ask(&before)->status, 200, "the connection that stands is as good as it was");
	request = hearer_request(hearer, wire_url(server, "/x"));
	request->tls = &before;
	request->fresh_connection = true;
	cr_assert_eq(hearer_ask(hearer, request)->error.kind, ERROR_UNREACHABLE);
	cr_assert_eq(ask(&after)->status, 200, "%s", hearer->response.error.message);
	cr_assert_eq(server->requests, 3);
	wire_identity_done(&renewed);
}

/* As the engine does: the same material, or another, each time at another place in memory, which is then given back. */
static void ask_with_a_copy(const struct wire_identity *identity)
{
	struct http_request *request = hearer_request(hearer, wire_url(server, "/x"));
	struct arena arena;
	struct http_tls *tls;

	arena_init(&arena, "copy", 1 << 20);
	tls = ARENA_NEW(&arena, struct http_tls);
	tls->ca_pem = arena_string(&arena, authority.certificate_pem);
	tls->cert_pem = arena_string(&arena, identity->certificate_pem);
	tls->key_pem = arena_string(&arena, identity->key_pem);
	request->tls = tls;
	cr_assert_eq(hearer_ask(hearer, request)->status, 200, "%s", hearer->response.error.message);
	arena_done(&arena);
}

Test(wire_tls, identities_are_told_apart_by_what_they_are_and_not_where)
{
	struct wire_identity me = wire_identity_make(&authority, "me", NULL);
	struct wire_identity you = wire_identity_make(&authority, "you", NULL);

	server = wire_server_start(serve_client_name, wire_tls(&leaf, &authority));
	for (int i = 0; i < 4; i++) {
		ask_with_a_copy(&me);
		cr_assert_str_eq(client_name, "me");
		ask_with_a_copy(&you);
		cr_assert_str_eq(client_name, "you");
	}
	cr_assert_eq(server->connections, 2);
	wire_identity_done(&me);
	wire_identity_done(&you);
}

/* Closed after each answer, so that only the session could carry an identity over. */
static void serve_client_name_once(struct wire_peer *peer)
{
	X509 *shown = SSL_get1_peer_certificate(peer->tls);

	wire_hear_request(peer);
	X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, client_name, sizeof client_name);
	X509_free(shown);
	wire_say(peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
}

Test(wire_tls, resumed_session_is_of_the_same_identity)
{
	struct wire_identity me = wire_identity_make(&authority, "me", NULL);
	struct wire_identity you = wire_identity_make(&authority, "you", NULL);

	server = wire_server_start(serve_client_name_once, wire_tls(&leaf, &authority));
	for (int i = 0; i < 4; i++) {
		ask_with_a_copy(&me);
		cr_assert_str_eq(client_name, "me");
		ask_with_a_copy(&you);
		cr_assert_str_eq(client_name, "you");
	}
	wire_identity_done(&me);
	wire_identity_done(&you);
}
