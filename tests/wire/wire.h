/*
 * Servers that misbehave, on 127.0.0.1, and a hearer of what the client tells.
 *
 * A server runs in threads of the test: one accepts, each connection has one of its own that runs `serve`. Everything
 * has a deadline of ten seconds, so that a broken test ends.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "net/client.h"

enum { WIRE_MAX_CONNECTIONS = 600, WIRE_PATIENCE_MS = 10000 };

struct wire_server;

struct wire_peer {
	struct wire_server *server;
	int fd;
	SSL *tls;   /* NULL: plain */
	int number; /* 1 = the first connection */
};

struct wire_server {
	void (*serve)(struct wire_peer *peer);
	SSL_CTX *tls;
	const void *setup; /* for `serve` */
	int listener;
	int port;
	pthread_t acceptor;
	struct wire_peer peers[WIRE_MAX_CONNECTIONS];
	pthread_t threads[WIRE_MAX_CONNECTIONS];
	atomic_int connections;
	atomic_int requests;
	atomic_int handshakes; /* finished */
	char last_request[64 * 1024];
};

/* `tls` NULL: plain; else it is freed with the server. */
struct wire_server *wire_server_start(void (*serve)(struct wire_peer *peer), SSL_CTX *tls);
void wire_server_stop(struct wire_server *server);

/* "http://127.0.0.1:PORT/path" in a buffer of the server's, one per thread. */
const char *wire_url(const struct wire_server *server, const char *path);

bool wire_write(struct wire_peer *peer, const char *bytes, size_t length);
bool wire_say(struct wire_peer *peer, const char *string);
long wire_read(struct wire_peer *peer, char *bytes, size_t length);
/* Reads one whole request into server->last_request and counts it. False at the end of the connection. */
bool wire_hear_request(struct wire_peer *peer);
void wire_reset(struct wire_peer *peer); /* makes the close an RST */
/* While it is deaf its kernel drops what arrives for this connection, without acknowledgement: a black hole. */
void wire_set_deaf(struct wire_peer *peer, bool deaf);
void wire_pause_ms(int ms);

/* What has been told of all calls of a test. */
struct hearer {
	struct client *client;
	struct arena arena;
	int finished;
	int chunks;
	int woken;
	int due;
	uint64_t last_call;
	void *last_owner;
	struct http_response response; /* the last finished one */
	char body[256 * 1024];         /* of the last, or all chunks */
	size_t body_length;
};

struct hearer *hearer_new(void);
void hearer_free(struct hearer *hearer);

/* A GET with a deadline of 5 s, in the hearer's arena. */
struct http_request *hearer_request(struct hearer *hearer, const char *url);
uint64_t hearer_submit(struct hearer *hearer, const struct http_request *request);

/* One wait. */
enum client_happening hearer_listen(struct hearer *hearer, int64_t ms);

/* Submit and listen until it is finished. */
const struct http_response *hearer_ask(struct hearer *hearer, const struct http_request *request);
const struct http_response *hearer_get(struct hearer *hearer, const char *url);

/* A certificate authority and what it signs, made anew for each test; PEM strings. */
struct wire_identity {
	EVP_PKEY *key;
	X509 *certificate;
	char *key_pem;
	char *certificate_pem;
};

/* `issuer` NULL: an authority of its own. `names`: "DNS:a.example,IP:127.0.0.1" */
struct wire_identity wire_identity_make(const struct wire_identity *issuer, const char *common_name, const char *names);
/* As if it had been made so long ago (it lasts an hour); signed anew by `issuer`, NULL: by itself. */
void wire_identity_age(struct wire_identity *identity, const struct wire_identity *issuer, long hours);
void wire_identity_done(struct wire_identity *identity);

/* A server's side; `clients` not NULL: clients must show a certificate of that authority. */
SSL_CTX *wire_tls(const struct wire_identity *identity, const struct wire_identity *clients);

#endif
