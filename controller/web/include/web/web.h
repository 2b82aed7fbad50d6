/*
 * The web thread: /healthz, /readyz, /metrics. The one place that includes libwebsockets.
 *
 *   /healthz  200 "ok" while the engine's heart beats; 500 with a sentence when the last beat is older than 60 s
 *   /readyz   200 "ok" once the caches were synced (on standbys too); 503 with the reason before
 *   /metrics  the published text, text/plain; version=0.0.4
 * Anything else is 404; only GET and HEAD (405). Bounds: 64 connections, requests of 8 KiB, 5 s to send one.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "base/error.h"
#include "web/snapshot.h"

struct web;

/*
 * Starts the thread. "127.0.0.1:8080", ":8080" (all addresses), "[::1]:8080"; no names. ERROR_INPUT for a bad address,
 * ERROR_REJECTED when it cannot be bound.
 */
struct web *web_start(const char *listen, struct error *error);

/* The port really bound (for ":0"). */
int web_port(const struct web *web);

/* Takes the snapshot over. */
void web_publish(struct web *web, struct snapshot *snapshot);

/* The engine's heart: call at least every few seconds. Lock-free. */
void web_beat(struct web *web);

/* For tests: how old the last beat may be before /healthz fails, instead of 60 s. */
void web_set_heart_limit(struct web *web, long long limit_ms);

/* Ends the thread. NULL is fine. */
void web_stop(struct web *web);

#endif
