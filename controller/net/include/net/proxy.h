/*
 * Which proxy a request goes through, by the variables that everybody's tools know. Pure.
 *
 * HTTPS_PROXY for https, HTTP_PROXY for http, ALL_PROXY where the one asked for is not set. NO_PROXY is a list,
 * separated by commas (and blanks), of host names (which also mean what is below them; a leading dot or "*." means
 * only that), addresses, CIDR blocks, each with a port or without, or "*" for everything. Of each variable the
 * lower-case form counts first. (As Go's and the SDKs' clients.) Names are compared without case and without a dot at
 * the end, addresses by value. What in NO_PROXY is none of these means nothing.
 *
 * Never through a proxy, whatever the variables say: loopback (localhost, 127.0.0.0/8, ::1), link-local and the
 * metadata services' addresses (169.254.0.0/16, fe80::/10, fd00:ec2::/32), and the in-cluster API server
 * (KUBERNETES_SERVICE_HOST).
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct proxies {
	const char *https; /* NULL = none */
	const char *http;
	const char *except;  /* NO_PROXY */
	const char *cluster; /* KUBERNETES_SERVICE_HOST */
};

/*
 * ERROR_INPUT: a variable that is no proxy's URL (proxy_url); the sentence names the variable, never its value, which
 * may hold a password. `get` as getenv(3); an empty value is not set.
 */
bool proxies_load(struct arena *arena, const char *(*get)(void *context, const char *name), void *context,
                  struct proxies *out, struct error *error);

/*
 * One proxy URL by itself (kubeconfig's proxy-url), made whole: a scheme of http (also where there is none), https,
 * socks5 or socks5h, the port (80, 443, 1080), nothing behind it: "proxy:3128" is "http://proxy:3128". NULL when it is
 * none.
 */
const char *proxy_url(struct arena *arena, const char *given);

/* The proxy for a URL, or NULL to go straight. `proxies` NULL: NULL. */
const char *proxies_find(const struct proxies *proxies, const char *url);

/*
 * Is this host, as it stands in a URL (an IPv6 address with its brackets), one that never goes through a proxy?
 * `proxies` NULL: the in-cluster API server is not known.
 */
bool proxies_is_near(const struct proxies *proxies, const char *host);

#endif
