/*
 * One call to curl: its options, what comes back, and its failure in words. Private to net, and the one place that
 * includes curl.
 *
 * A request with a body is never sent twice: curl would repeat one on a fresh connection when a pooled one breaks
 * before the first byte of the answer, but it cannot rewind our body. One without a body it may repeat.
 *
 * A program that runs (child.h) stands among the calls, so that order, cancel and deadlines are the same for both.
 */
#ifndef NET_CALL_H
#define NET_CALL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "child.h"
#include "net/client.h"
#include "reply.h"
#include "sockets.h"

struct hub;
struct world;

/*
 * waiting (no hub, no child, no response) -> running (hub or child) -> finished (response); ready while it has
 * something to tell.
 */
struct call {
	TAILQ_ENTRY(call) all;
	TAILQ_ENTRY(call) queue; /* of those waiting or of those ready */
	struct world *world;
	struct hub *hub;
	uint64_t number;
	void *owner;
	const struct http_request *request; /* NULL: a program */
	const struct program *program;      /* NULL: a request */
	struct child *child;                /* while the program runs */
	const struct http_response *response;
	struct reply reply;
	struct instant due;
	bool ready;

	void (*heard)(struct call *call); /* a piece of a stream has come */
	struct sockets *sockets;
	CURL *easy;
	CURLcode setup;      /* the first option that was refused */
	struct instant sent; /* begun to be sent on a connection that stands; ms 0: not yet */
	int local_port;      /* of that connection */
	size_t sent_bytes;
	long connect_ms;
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	char reason[CURL_ERROR_SIZE];
};

TAILQ_HEAD(calls, call);

/* scheme, host and port of a URL, without user, path and query. */
struct origin {
	char *scheme, *host, *port; /* port NULL: it has none, nor the scheme one that is known */
};

bool origin_parse(struct origin *out, const char *url);
void origin_done(struct origin *origin);

struct instant call_boottime(void);

/* Is what arrives told piece by piece? Known once the headers have come. */
bool call_is_told_in_chunks(const struct call *call);

/* On connections of its own kind: a stream, or what asks for it. */
bool call_is_apart(const struct call *call);

int32_t call_deadline_ms(const struct call *call);
int32_t call_idle_ms(const struct call *call);

/* Has the moment come from which on it is not to be sent? */
bool call_is_stale(const struct call *call);

/* When something is to be done about it, if nothing happens. */
struct instant call_next(const struct call *call);

/* Sets the options of `easy`. `system_ca_file` NULL: curl's default. False: call_failure with CURLE_OK says why. */
bool call_set_up(struct call *call, const char *user_agent, const char *system_ca_file);

/* Why the call failed. */
void call_failure(const struct call *call, CURLcode code, struct error *out);

/* Is an answer that is whole one of the service's? Else false, and why not. */
bool call_is_answered(const struct call *call, struct error *out);

/* The call's deadline has passed. */
void call_overdue(const struct call *call, struct error *out);

/* It is stale, and was not sent. */
void call_explain_stale(const struct call *call, struct error *out);

/* Drops what the call holds; `easy` stays, blank, for another call. */
void call_tidy(struct call *call);

#endif
