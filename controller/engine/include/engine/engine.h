/*
 * The engine: everything that acts. It owns all state and the client seam, turns facts into asks, and is the only place that
 * sends, waits, repeats and logs.
 *
 * One thread. engine_step does one turn: act on what is until nothing moves, then wait for one happening.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "aws/credentials.h"
#include "base/text.h"
#include "kube/config.h"
#include "net/client.h"
#include "net/proxy.h"
#include "web/web.h"

struct engine_settings {
	const char *region; /* the controller's own */
	const char *table;  /* the journal's */
	bool create_table;
	bool leader_elect;
	const char *lease_namespace;
	const char *identity;      /* unique per process: "<host>_<uuid>" */
	const char *cluster_name;  /* readable, may be NULL */
	const char *pod_namespace; /* of our own pod; NULL outside a cluster */
	const char *pod_name;
	const char *node_name; /* that it runs on; NULL = unknown */
	int64_t resync_ms;     /* look again while holding */
	int64_t poll_ms;       /* look at what is settling */
	struct kube_config *kube;
	const struct aws_environment *environment; /* credentials and endpoints */
	const char *aws_ca_file;                   /* what AWS's endpoints are trusted by; NULL = the system's roots */
	const struct proxies *proxies;             /* NULL = none */
	int max_attempts;                          /* of a call to AWS, as a person wants it; 0 = what is good */
	struct web *web;                           /* NULL = publish nothing */
};

struct engine;

/* Borrows all of `settings` and `client`. Sends nothing before the first step. */
struct engine *engine_new(const struct engine_settings *settings, struct client *client);

/* NULL is fine. Calls in flight are cancelled; nothing is written. */
void engine_free(struct engine *engine);

/* One turn. False when it has come to its end (stopped, or the lease is lost): see engine_exit_code. */
bool engine_step(struct engine *engine);

/* What /metrics says, as of now. */
void engine_print_metrics(struct engine *engine, struct text *out);

/* SIGTERM: start nothing new, let what is in flight be journaled, release the lease, at most 10 s. */
void engine_stop(struct engine *engine);

/* 0 after engine_stop; 1 when the lease was lost. */
int engine_exit_code(const struct engine *engine);

#endif
