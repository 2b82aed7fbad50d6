/*
 * The real world: libcurl on the calling thread. (One private header of this layer, call.h, includes curl, and nothing
 * else does.) Linux only: epoll, pidfd, TCP_INFO.
 *
 * - Connections are pooled, at most 256, and not used again after 60 s of idleness. HTTP/2 where the server offers it
 *   by ALPN (ordinary calls are multiplexed); a stream has a connection of its own with HTTP/1.1 and a pool of its
 *   own, so that a stuck watch holds up nothing; so has what is asked for `apart`, but for as long as it is good.
 * - No redirects, no cookies, no compression asked for (an answer that has one is MALFORMED), TLS 1.2 at least; https,
 *   and http for an explicit http:// URL. Paths go out as they are ("/a/../b" too); the only headers added are Host,
 *   User-Agent, Accept and Content-Length, and Proxy-Connection for a proxy in the clear.
 * - A proxy only where the request names one, never from the environment. https goes through a tunnel (CONNECT), which
 *   hears nothing of the request; http in absolute form; socks5 resolves here and socks5h there. A proxy over TLS is
 *   trusted by the request's authorities, and always verified. Connections through different proxies are never shared.
 * - A request with a body is sent at most once. One without may be repeated by curl when a pooled connection turns out
 *   to be closed before the first byte of the answer; only such a break is repeated, nothing else.
 * - http_tls decides whom a connection trusts: with ca_pem or ca_file that and nothing else, without either the
 *   system's bundle (parsed anew every 300 s at most). Connections of unequal http_tls are never shared.
 *   fresh_connection also resumes no TLS session.
 * - TCP keepalive 30 s / 15 s, TCP_USER_TIMEOUT 45 s, or the time until not_after where that is less; a connection must
 *   stand within 15 s, its tunnel and handshake included.
 * - A connection that is dead without a word (its peer acknowledges nothing, or has said nothing for 10 s and as long
 *   as a call waited) is broken when that call ends: whoever shares it hears UNREACHABLE, and nobody is given it
 *   again. Until then nothing but the call's deadline bounds it.
 * - Programs (program.h) count among the calls in flight.
 * - Bounds: 256 calls in flight, further ones wait in order of submission (their deadline runs); headers 64 KiB; a
 *   body max_response_bytes; of a stream what has not been told yet, 4 MiB.
 *
 * Errors of a response, all naming scheme://host:port, the proxy's host and port, and curl's reason, never a header or
 * a password: UNREACHABLE (no connection, TLS refused, a proxy that refuses, closed or reset before or in the answer),
 * TIMEOUT (deadline_ms, idle_ms), MALFORMED (not HTTP, cut short, encoded, wrong or contradicting lengths), LIMIT,
 * INPUT (a URL, a proxy's URL or a header that cannot be sent), STALE. With an error, status is 0 and body "";
 * error.http_status is the status that was heard, if any. A body without length and chunks ends with its connection:
 * that it was cut short is then for the parser to find out.
 *
 * CLIENT_DUE comes at most once for each look at the sockets, so that neither a steady stream nor an `until` in the
 * past starves the other.
 */
#ifndef NET_CURL_CLIENT_H
#define NET_CURL_CLIENT_H

#include "net/client.h"

/* NULL and *error on failure. `user_agent` must outlive the client. */
struct client *curl_client_new(const char *user_agent, struct error *error);

/* Cancels what is in flight. NULL is fine. */
void curl_client_free(struct client *client);

#endif
