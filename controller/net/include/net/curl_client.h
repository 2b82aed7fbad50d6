/*
 * The real world: curl_multi on the calling thread. The one place that includes curl.
 *
 * Pooled connections; HTTP/2 where the server offers it by ALPN (ordinary calls are multiplexed, a stream has a connection of its own with
 * HTTP/1.1, so that a stuck watch holds up nothing); no redirects; no compression asked for; TLS 1.2 at least; https and, for an explicit
 * http:// URL, http; proxies from the environment are not used (a later part adds them). TCP keepalive 30 s / 15 s and TCP_USER_TIMEOUT 45 s.
 * Bounds: 256 calls in flight; headers 64 KiB; a body max_response_bytes.
 */
#ifndef NET_CURL_CLIENT_H
#define NET_CURL_CLIENT_H

#include "net/client.h"

/* NULL and *error on failure. `user_agent` must outlive the client. */
struct client *curl_client_new(const char *user_agent, struct error *error);

/* Cancels what is in flight. NULL is fine. */
void curl_client_free(struct client *client);

#endif
