#include "net/proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { MAX_HOST_BYTES = 256, MAX_URL_BYTES = 4096, ADDRESS_BYTES = 16, IPV4_AT = 12 };

/* A host and a port; an address in IPv6's form, so that ::ffff:127.0.0.1 is 127.0.0.1. */
struct place {
	char name[MAX_HOST_BYTES];
	bool is_address;
	bool is_ipv4;
	unsigned char address[ADDRESS_BYTES];
	int port; /* 0 = none */
};

struct known_scheme {
	const char *name;
	int port;
};

static const struct known_scheme proxy_schemes[] = {{"http", 80}, {"https", 443}, {"socks5", 1080}, {"socks5h", 1080}};

static bool parse_port(const char *at, size_t length, int *out)
{
	int port = 0;

	if (length == 0 || length > 5)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)at[i]))
			return false;
		port = port * 10 + (at[i] - '0');
	}
	*out = port;
	return port > 0 && port <= 65535;
}

static const unsigned char ipv4_prefix[IPV4_AT] = {[10] = 0xff, [11] = 0xff};

static bool parse_address(const char *name, unsigned char out[ADDRESS_BYTES], bool *is_ipv4)
{
	if (inet_pton(AF_INET6, name, out) == 1) {
		*is_ipv4 = memcmp(out, ipv4_prefix, IPV4_AT) == 0;
		return true;
	}
	memcpy(out, ipv4_prefix, IPV4_AT);
	*is_ipv4 = true;
	/* "127.1" and "0x7f.1" are addresses to whoever resolves them */
	return inet_aton(name, (struct in_addr *)(void *)(out + IPV4_AT)) != 0;
}

static bool place_set_host(struct place *place, const char *host, size_t length)
{
	const char *zone;

	if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	}
	zone = memchr(host, '%', length);
	if (zone != NULL)
		length = (size_t)(zone - host);
	if (length > 1 && host[length - 1] == '.')
		length--;
	if (length == 0 || length >= sizeof place->name)
		return false;
	for (size_t i = 0; i < length; i++)
		place->name[i] = (char)tolower((unsigned char)host[i]);
	place->name[length] = '\0';
	place->is_address = parse_address(place->name, place->address, &place->is_ipv4);
	return true;
}

/* "host", "host:port", "[v6]", "[v6]:port", and an IPv6 address without brackets. */
static bool place_parse(struct place *out, const char *at, size_t length)
{
	const char *colon = memrchr(at, ':', length);
	const char *bracket = length > 0 && at[0] == '[' ? memchr(at, ']', length) : NULL;
	size_t host_length = length;

	*out = (struct place){0};
	if (length > 0 && at[0] == '[' && bracket == NULL)
		return false;
	if (bracket != NULL)
		colon = bracket + 1 < at + length && bracket[1] == ':' ? bracket + 1 : NULL;
	else if (colon != NULL && memchr(at, ':', length) != colon)
		colon = NULL;
	if (colon != NULL) {
		host_length = (size_t)(colon - at);
		if (!parse_port(colon + 1, length - host_length - 1, &out->port))
			return false;
	}
	return place_set_host(out, at, host_length);
}

/* user:password@host:port of a URL, from behind "://". */
struct authority {
	const char *user;
	size_t user_length; /* 0 = none */
	const char *place;
	size_t place_length;
};

static struct authority authority_of(const char *rest)
{
	size_t length = strcspn(rest, "/?#");
	const char *at = memrchr(rest, '@', length);
	struct authority found = {.place = rest, .place_length = length};

	if (at == NULL)
		return found;
	found.user = rest;
	found.user_length = (size_t)(at - rest);
	found.place = at + 1;
	found.place_length = length - found.user_length - 1;
	return found;
}

/* Finding. */

static bool is_equal(const struct place *a, const struct place *b)
{
	if (a->is_address && b->is_address)
		return memcmp(a->address, b->address, ADDRESS_BYTES) == 0;
	return strcmp(a->name, b->name) == 0;
}

static bool is_within(const unsigned char *address, const unsigned char *block, int bits)
{
	int whole = bits / 8;

	if (memcmp(address, block, (size_t)whole) != 0)
		return false;
	return bits % 8 == 0 || (address[whole] ^ block[whole]) >> (8 - bits % 8) == 0;
}

static bool is_in_block(const struct place *place, const struct place *block, int bits)
{
	if (!place->is_address || !block->is_address || place->is_ipv4 != block->is_ipv4)
		return false;
	return is_within(place->address, block->address, block->is_ipv4 ? bits + 8 * IPV4_AT : bits);
}

/* "10.0.0.0/8", also with ":443". */
static bool matches_block(const struct place *place, const char *entry, size_t length)
{
	const char *slash = memchr(entry, '/', length);
	const char *end = entry + length;
	const char *colon = memchr(slash, ':', (size_t)(end - slash));
	size_t bits_length = (size_t)((colon == NULL ? end : colon) - slash - 1);
	struct place block = {0};
	int bits = 0;

	if (colon != NULL && !parse_port(colon + 1, (size_t)(end - colon - 1), &block.port))
		return false;
	/* a width is no port, but is written as one; 0 is one too */
	if (!(bits_length == 1 && slash[1] == '0') && !parse_port(slash + 1, bits_length, &bits))
		return false;
	return place_set_host(&block, entry, (size_t)(slash - entry)) && bits <= (block.is_ipv4 ? 32 : 128) &&
	       (block.port == 0 || block.port == place->port) && is_in_block(place, &block, bits);
}

static bool matches_name(const struct place *place, const struct place *entry, bool only_below)
{
	size_t have = strlen(place->name);
	size_t want = strlen(entry->name);

	if (!only_below && is_equal(place, entry))
		return true;
	return !place->is_address && !entry->is_address && have > want + 1 && place->name[have - want - 1] == '.' &&
	       strcmp(place->name + have - want, entry->name) == 0;
}

static bool matches_entry(const struct place *place, const char *entry, size_t length)
{
	struct place parsed;
	bool only_below;

	if (length == 1 && entry[0] == '*')
		return true;
	if (memchr(entry, '/', length) != NULL)
		return matches_block(place, entry, length);
	if (length > 1 && entry[0] == '*' && entry[1] == '.') {
		entry++;
		length--;
	}
	only_below = length > 1 && entry[0] == '.';
	if (only_below) {
		entry++;
		length--;
	}
	return place_parse(&parsed, entry, length) && (parsed.port == 0 || parsed.port == place->port) &&
	       matches_name(place, &parsed, only_below);
}

static bool is_excepted(const char *except, const struct place *place)
{
	static const char *const between = ", \t\r\n";

	if (except == NULL)
		return false;
	for (const char *at = except + strspn(except, between); *at != '\0';) {
		size_t length = strcspn(at, between);

		if (matches_entry(place, at, length))
			return true;
		at += length;
		at += strspn(at, between);
	}
	return false;
}

static const struct {
	const char *address;
	int bits;
} near_blocks[] = {{"127.0.0.0", 8}, {"169.254.0.0", 16}, {"::1", 128}, {"fe80::", 10}, {"fd00:ec2::", 32}};

static bool is_near(const struct proxies *proxies, const struct place *place)
{
	struct place other = {0};

	if (strcmp(place->name, "localhost") == 0)
		return true;
	for (size_t i = 0; i < sizeof near_blocks / sizeof near_blocks[0]; i++) {
		place_set_host(&other, near_blocks[i].address, strlen(near_blocks[i].address));
		if (is_in_block(place, &other, near_blocks[i].bits))
			return true;
	}
	return proxies != NULL && proxies->cluster != NULL &&
	       place_set_host(&other, proxies->cluster, strlen(proxies->cluster)) && is_equal(place, &other);
}

bool proxies_is_near(const struct proxies *proxies, const char *host)
{
	struct place place = {0};

	return place_set_host(&place, host, strlen(host)) && is_near(proxies, &place);
}

const char *proxies_find(const struct proxies *proxies, const char *url)
{
	bool https = strncasecmp(url, "https://", 8) == 0;
	struct authority authority;
	struct place place;
	const char *proxy;

	if (proxies == NULL || (!https && strncasecmp(url, "http://", 7) != 0))
		return NULL;
	proxy = https ? proxies->https : proxies->http;
	authority = authority_of(strstr(url, "://") + 3);
	if (proxy == NULL || !place_parse(&place, authority.place, authority.place_length))
		return NULL;
	if (place.port == 0)
		place.port = https ? 443 : 80;
	return is_near(proxies, &place) || is_excepted(proxies->except, &place) ? NULL : proxy;
}

/* Reading. */

static const struct known_scheme *find_scheme(const char *at, size_t length)
{
	for (size_t i = 0; i < sizeof proxy_schemes / sizeof proxy_schemes[0]; i++) {
		const struct known_scheme *known = &proxy_schemes[i];

		if (strlen(known->name) == length && strncasecmp(at, known->name, length) == 0)
			return known;
	}
	return NULL;
}

static bool is_host(const char *at, size_t length)
{
	unsigned char bytes[ADDRESS_BYTES];
	char address[MAX_HOST_BYTES];

	if (length == 0 || length >= sizeof address)
		return false;
	if (at[0] != '[')
		return memchr(at, ':', length) == NULL && memchr(at, ']', length) == NULL && memchr(at, '%', length) == NULL;
	if (length < 4 || at[length - 1] != ']')
		return false;
	memcpy(address, at + 1, length - 2);
	address[length - 2] = '\0';
	address[strcspn(address, "%")] = '\0';
	return inet_pton(AF_INET6, address, bytes) == 1;
}

static void append_user(struct text *out, const struct authority *authority)
{
	/* an "@" within a password would be the end of it to the next reader */
	for (size_t i = 0; i < authority->user_length; i++) {
		if (authority->user[i] == '@')
			text_append(out, "%40");
		else
			text_append_bytes(out, &authority->user[i], 1);
	}
	if (authority->user != NULL)
		text_append(out, "@");
}

const char *proxy_url(struct arena *arena, const char *given)
{
	const char *mark = strstr(given, "://");
	const struct known_scheme *scheme = mark == NULL ? &proxy_schemes[0] : find_scheme(given, (size_t)(mark - given));
	struct authority authority = authority_of(mark == NULL ? given : mark + 3);
	size_t host_length = authority.place_length;
	struct place place;
	struct text url;

	for (const char *at = given; *at != '\0'; at++)
		if (!isgraph((unsigned char)*at))
			return NULL;
	if (scheme == NULL || !place_parse(&place, authority.place, authority.place_length))
		return NULL;
	if (place.port != 0)
		host_length = (size_t)((const char *)memrchr(authority.place, ':', host_length) - authority.place);
	if (!is_host(authority.place, host_length))
		return NULL;
	text_init(&url, MAX_URL_BYTES);
	text_printf(&url, "%s://", scheme->name);
	append_user(&url, &authority);
	text_append_bytes(&url, authority.place, host_length);
	text_printf(&url, ":%d", place.port != 0 ? place.port : scheme->port);
	return text_take(&url, arena);
}

struct source {
	const char *(*get)(void *context, const char *name);
	void *context;
	struct arena *arena;
	struct error *error;
};

static const char *read_variable(const struct source *source, const char *const names[2], const char **found)
{
	for (size_t i = 0; i < 2; i++) {
		const char *value = source->get(source->context, names[i]);

		*found = names[i];
		if (value != NULL && *value != '\0')
			return arena_string(source->arena, value);
	}
	return NULL;
}

static bool read_proxy(const struct source *source, const char *const names[2], const char **out)
{
	static const char *const for_all[] = {"all_proxy", "ALL_PROXY"};
	const char *name;
	const char *value = read_variable(source, names, &name);

	*out = NULL;
	if (value == NULL)
		value = read_variable(source, for_all, &name);
	if (value == NULL)
		return true;
	*out = proxy_url(source->arena, value);
	if (*out == NULL)
		return error_set(
			source->error, ERROR_INPUT,
			"%s is not the URL of a proxy: it is to be http, https, socks5 or socks5h://host:port, with blanks "
			"and the like percent-encoded",
			name);
	return true;
}

bool proxies_load(struct arena *arena, const char *(*get)(void *context, const char *name), void *context,
                  struct proxies *out, struct error *error)
{
	static const char *const https[] = {"https_proxy", "HTTPS_PROXY"};
	static const char *const http[] = {"http_proxy", "HTTP_PROXY"};
	static const char *const except[] = {"no_proxy", "NO_PROXY"};
	static const char *const cluster[] = {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_HOST"};
	struct source source = {.get = get, .context = context, .arena = arena, .error = error};
	const char *name;

	*out = (struct proxies){.except = read_variable(&source, except, &name),
	                        .cluster = read_variable(&source, cluster, &name)};
	return read_proxy(&source, https, &out->https) && read_proxy(&source, http, &out->http);
}
