/*
 * HTTP as values: what is asked and what came back. Actuators, kube and journal see only this; who sends it is the
 * engine, through net/client.h.
 *
 * Before the engine prepares it a request is relative: `service` names who is asked ("autoscaling", "kubernetes"),
 * `path` starts with "/" and is already percent-encoded as it goes on the wire, `url` is NULL. The engine fills `url`
 * from the service's endpoint, adds the credentials, and sends it.
 *
 * Ownership: everything a request points to, and the response with its body, lives in the arena of the exchange.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/instant.h"

struct http_header {
	const char *name;
	const char *value;
};

struct http_headers {
	struct http_header *at;
	size_t count;
	size_t capacity;
};

/*
 * How a connection proves who it is, and whom it trusts. Compared by content: calls of equal material share
 * connections, wherever it stands in memory; it must live as long as the call.
 */
struct http_tls {
	const char *ca_pem;   /* PEM bundle in memory; NULL = ca_file, else the system's */
	const char *ca_file;  /* path of a bundle, read anew for each new connection */
	const char *cert_pem; /* client certificate and key, both or none */
	const char *key_pem;
	const char *server_name; /* name for SNI and verification where it is not the URL's host; else NULL */
	bool insecure;           /* insecure-skip-tls-verify */
};

struct http_request {
	const char *service;   /* "autoscaling", "dynamodb", "kubernetes" …; also the metrics' label */
	const char *operation; /* "UpdateAutoScalingGroup", "PATCH nodes" …; the metrics' label */
	const char *method;    /* "GET" … */
	const char *path;      /* "/", "/api/v1/nodes/a"; wire form, without query */
	const char *query;     /* "limit=500&watch=1", wire form; NULL = none */
	struct http_headers headers;
	const char *body; /* NULL = none */
	size_t body_length;

	/* Filled by the engine. */
	const char *url;            /* scheme://host[:port]/path?query */
	const struct http_tls *tls; /* NULL = defaults */
	int32_t deadline_ms;        /* for the whole call; for a stream: to the end of the headers; 0 = 30 s */
	int32_t idle_ms;            /* stream only: without a byte for so long it is dead; 0 = 180 s */
	size_t
		max_response_bytes; /* the body may not be larger (of a stream: that of another status than 200); 0 = 64 KiB */
	bool stream;            /* with status 200 chunks are handed over as they come and the response has no body */
	bool fresh_connection;  /* do not reuse a pooled one (after credentials or CA changed) */
	bool apart;             /* HTTP/1.1 on a connection that ordinary calls do not share: they cannot hold it up */
	const char *proxy;      /* net/proxy.h: "http://proxy:3128", may carry user:password; NULL = straight */
	/*
	 * Not put on the wire from this moment on, however late a connection stands (ms 0 = at any time): the call ends
	 * with ERROR_STALE and can have no effect, as nothing of it has been sent, or of its body not all. What has been
	 * sent is not sent again later than that, nor once the call has ended, by the kernel neither.
	 */
	struct instant not_after;
};

struct http_response {
	int status; /* 0: no answer, see `error` */
	struct http_headers headers;
	const char *body; /* NUL-terminated; "" when there is none */
	size_t body_length;
	/*
	 * Transport: ERROR_NONE, UNREACHABLE, TIMEOUT, MALFORMED (truncated, wrong length), LIMIT, INPUT (cannot be sent),
	 * STALE (not_after had come before it was sent).
	 * Not HTTP statuses; but http_status is the one that was heard before it broke, 0 if none.
	 */
	struct error error;
};

void http_add_header(struct http_headers *headers, struct arena *arena, const char *name, const char *value);

/* Case-insensitive; the first one, or NULL. */
const char *http_header(const struct http_headers *headers, const char *name);

/* Replace or add. */
void http_set_header(struct http_headers *headers, struct arena *arena, const char *name, const char *value);

/* `base_url` (no slash at its end), path and, where there is one, "?" and the query; in `arena`. */
const char *http_url(struct arena *arena, const char *base_url, const struct http_request *request);

/* Retry-After in whole seconds to ms, at most 10 min; 0 when there is none or it is a date. */
int32_t http_retry_after_ms(const struct http_response *response);

#endif
