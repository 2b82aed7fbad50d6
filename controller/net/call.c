#include "call.h"

#include <string.h>
#include <strings.h>
#include <time.h>

enum {
	MAX_STREAM_BYTES = 4 * 1024 * 1024, /* received and not yet told; curl hands over at most 1.6 MiB in one go */
	DEFAULT_BODY_BYTES = 64 * 1024,
	DEFAULT_DEADLINE_MS = 30 * 1000,
	DEFAULT_IDLE_MS = 180 * 1000,
	MAX_CONNECT_MS = 15 * 1000,
	SYSTEM_CA_CACHE_S = 300,
	MAX_IDLE_CONNECTION_S = 60,
};

struct instant call_boottime(void)
{
	struct timespec at;

	clock_gettime(CLOCK_BOOTTIME, &at);
	return (struct instant){(int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000};
}

bool call_is_told_in_chunks(const struct call *call)
{
	return call->request != NULL && call->request->stream && call->reply.status == 200;
}

int32_t call_idle_ms(const struct call *call)
{
	return call->request->idle_ms > 0 ? call->request->idle_ms : DEFAULT_IDLE_MS;
}

bool call_is_apart(const struct call *call)
{
	return call->request->stream || call->request->apart;
}

int32_t call_deadline_ms(const struct call *call)
{
	if (call->program != NULL)
		return child_deadline_ms(call->program);
	return call->request->deadline_ms > 0 ? call->request->deadline_ms : DEFAULT_DEADLINE_MS;
}

bool call_is_stale(const struct call *call)
{
	return call->request != NULL && call->request->not_after.ms != 0 &&
	       instant_reached(call->request->not_after, call_boottime());
}

struct instant call_next(const struct call *call)
{
	if (call->request == NULL || call->request->not_after.ms == 0 || call->sent.ms != 0)
		return call->due;
	return instant_earlier(call->due, call->request->not_after);
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
	struct call *call = user;
	bool begun = call->reply.begun;

	if (!reply_take_header_line(&call->reply, line, size * count))
		return 0;
	if (!begun && call->reply.begun && call->request->stream) {
		bool in_chunks = call_is_told_in_chunks(call);

		if (in_chunks)
			reply_set_limit(&call->reply, MAX_STREAM_BYTES);
		call->due = instant_after(call_boottime(), in_chunks ? call_idle_ms(call) : call_deadline_ms(call));
	}
	return size * count;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
	struct call *call = user;

	if (!reply_take_body_bytes(&call->reply, bytes, size * count))
		return 0;
	if (call_is_told_in_chunks(call)) {
		call->due = instant_after(call_boottime(), call_idle_ms(call));
		call->heard(call);
	}
	return size * count;
}

/* Without a seek function curl cannot send a body twice: a request with one is never repeated behind our back. */
static size_t on_upload(char *into, size_t size, size_t count, void *user)
{
	struct call *call = user;
	size_t left = call->request->body_length - call->sent_bytes;
	size_t length = size * count < left ? size * count : left;

	/* a body that is not whole has no effect */
	if (left > 0 && call_is_stale(call)) {
		call->sent = (struct instant){0};
		return CURL_READFUNC_ABORT;
	}
	if (length > 0)
		memcpy(into, call->request->body + call->sent_bytes, length);
	call->sent_bytes += length;
	return length;
}

/* The last moment before the request goes out, on a new connection or on a pooled one. */
static int on_ready_to_send(void *user, char *their_address, char *our_address, int their_port, int our_port)
{
	struct call *call = user;
	struct instant now = call_boottime();
	struct instant not_after = call->request->not_after;

	(void)their_address;
	(void)our_address;
	(void)their_port;
	if (call_is_stale(call))
		return CURL_PREREQFUNC_ABORT;
	call->sent = now;
	call->local_port = our_port;
	sockets_limit(call->sockets, our_port, not_after.ms == 0 ? -1 : instant_between_ms(now, not_after));
	return CURL_PREREQFUNC_OK;
}

static int on_socket_made(void *user, curl_socket_t fd, curlsocktype purpose)
{
	(void)purpose;
	sockets_add(user, fd);
	return CURL_SOCKOPT_OK;
}

static int on_socket_close(void *user, curl_socket_t fd)
{
	sockets_close(user, fd);
	return 0;
}

static void set_long(struct call *call, CURLoption option, long value)
{
	if (call->setup == CURLE_OK)
		call->setup = curl_easy_setopt(call->easy, option, value);
}

static void set_pointer(struct call *call, CURLoption option, const void *value)
{
	if (call->setup == CURLE_OK)
		call->setup = curl_easy_setopt(call->easy, option, value);
}

static void set_blob(struct call *call, CURLoption option, const char *pem)
{
	struct curl_blob blob = {.len = strlen(pem), .flags = CURL_BLOB_NOCOPY};

	/* curl's field is not const, and it does not write to it */
	memcpy(&blob.data, &pem, sizeof blob.data);
	set_pointer(call, option, &blob);
}

static void set_trust(struct call *call, const struct http_tls *tls, const char *system_ca_file)
{
	bool insecure = tls != NULL && tls->insecure;

	set_long(call, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	set_long(call, CURLOPT_SSL_VERIFYPEER, insecure ? 0 : 1);
	set_long(call, CURLOPT_SSL_VERIFYHOST, insecure ? 0 : 2);
	if (tls != NULL && tls->ca_pem != NULL) {
		/* curl's own directory of roots would be trusted beside it */
		set_pointer(call, CURLOPT_CAPATH, NULL);
		set_blob(call, CURLOPT_CAINFO_BLOB, tls->ca_pem);
	} else if (tls != NULL && tls->ca_file != NULL) {
		set_pointer(call, CURLOPT_CAPATH, NULL);
		set_pointer(call, CURLOPT_CAINFO, tls->ca_file);
		set_long(call, CURLOPT_CA_CACHE_TIMEOUT, 0);
	} else if (system_ca_file != NULL) {
		/* curl caches parsed roots only where they are one file */
		set_pointer(call, CURLOPT_CAPATH, NULL);
		set_pointer(call, CURLOPT_CAINFO, system_ca_file);
		set_long(call, CURLOPT_CA_CACHE_TIMEOUT, SYSTEM_CA_CACHE_S);
	}
	if (tls != NULL && tls->cert_pem != NULL && tls->key_pem != NULL) {
		set_blob(call, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
		set_blob(call, CURLOPT_SSLKEY_BLOB, tls->key_pem);
		set_pointer(call, CURLOPT_SSLCERTTYPE, "PEM");
		set_pointer(call, CURLOPT_SSLKEYTYPE, "PEM");
	}
}

static bool append(struct curl_slist **list, const char *string)
{
	struct curl_slist *longer = curl_slist_append(*list, string);

	if (longer == NULL)
		return false;
	*list = longer;
	return true;
}

/* curl has no option for the name in the handshake: the URL gets it, and the connection goes to the real host. */
static bool set_server_name(struct call *call, const char *name)
{
	struct arena *arena = call->reply.arena;
	struct origin origin;
	const char *rest = strstr(call->request->url, "://");
	bool ok = origin_parse(&origin, call->request->url) && rest != NULL;

	if (ok) {
		const char *path = rest + 3 + strcspn(rest + 3, "/?#");
		bool is_default = strcmp(origin.port, "443") == 0;

		set_pointer(call, CURLOPT_URL, arena_printf(arena, "%s://%s:%s%s", origin.scheme, name, origin.port, path));
		ok = append(&call->connect_to, arena_printf(arena, "%s:%s:%s:%s", name, origin.port, origin.host, origin.port));
		if (ok && http_header(&call->request->headers, "Host") == NULL)
			ok = append(&call->headers, is_default ? arena_printf(arena, "Host: %s", origin.host)
			                                       : arena_printf(arena, "Host: %s:%s", origin.host, origin.port));
		set_pointer(call, CURLOPT_CONNECT_TO, call->connect_to);
	}
	origin_done(&origin);
	return ok;
}

static bool set_headers(struct call *call)
{
	const struct http_headers *headers = &call->request->headers;
	bool ok = append(&call->headers, "Expect:");

	if (http_header(headers, "Content-Type") == NULL)
		ok = ok && append(&call->headers, "Content-Type:");
	for (size_t i = 0; ok && i < headers->count; i++) {
		const struct http_header *header = &headers->at[i];

		if (strpbrk(header->name, "\r\n:; ") != NULL || strpbrk(header->value, "\r\n") != NULL)
			return error_set(&call->reply.error, ERROR_INPUT,
			                 "the header %.*s cannot be sent: it has a line break in it",
			                 (int)strcspn(header->name, "\r\n:"), header->name);
		ok = append(&call->headers, arena_printf(call->reply.arena, *header->value == '\0' ? "%s;" : "%s: %s",
		                                         header->name, header->value));
	}
	set_pointer(call, CURLOPT_HTTPHEADER, call->headers);
	return ok;
}

static bool takes_body(const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
}

static void set_method(struct call *call)
{
	const struct http_request *request = call->request;

	if (request->body != NULL || takes_body(request->method)) {
		set_long(call, CURLOPT_POST, 1);
		if (call->setup == CURLE_OK)
			call->setup = curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
		curl_easy_setopt(call->easy, CURLOPT_READFUNCTION, on_upload);
		set_pointer(call, CURLOPT_READDATA, call);
		set_long(call, CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024);
	} else if (strcmp(request->method, "HEAD") == 0) {
		set_long(call, CURLOPT_NOBODY, 1);
	} else {
		set_long(call, CURLOPT_HTTPGET, 1);
	}
	set_pointer(call, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool is_proxy_scheme(const char *scheme)
{
	return strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0 || strcmp(scheme, "socks5") == 0 ||
	       strcmp(scheme, "socks5h") == 0;
}

static void set_proxy_trust(struct call *call, const struct http_tls *tls, const char *system_ca_file)
{
	set_long(call, CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	if (tls != NULL && tls->ca_pem != NULL)
		set_blob(call, CURLOPT_PROXY_CAINFO_BLOB, tls->ca_pem);
	else if (tls != NULL && tls->ca_file != NULL)
		set_pointer(call, CURLOPT_PROXY_CAINFO, tls->ca_file);
	else if (system_ca_file != NULL)
		set_pointer(call, CURLOPT_PROXY_CAINFO, system_ca_file);
	set_pointer(call, CURLOPT_PROXY_CAPATH, NULL);
}

/* Not set, or an option that is not set, would be asked of the environment. */
static bool set_proxy(struct call *call, const char *system_ca_file)
{
	const struct http_request *request = call->request;
	struct origin origin;
	bool ok;

	if (request->proxy == NULL) {
		set_pointer(call, CURLOPT_PROXY, "");
		set_pointer(call, CURLOPT_NOPROXY, "*");
		return true;
	}
	/* curl would say what is wrong with it, password and all */
	ok = origin_parse(&origin, request->proxy) && is_proxy_scheme(origin.scheme);
	if (!ok)
		error_set(&call->reply.error, ERROR_INPUT, "the URL of its proxy is none of http, https, socks5 or socks5h");
	origin_done(&origin);
	set_pointer(call, CURLOPT_PROXY, request->proxy);
	set_pointer(call, CURLOPT_NOPROXY, "");
	set_long(call, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1);
	set_proxy_trust(call, request->tls, system_ca_file);
	return ok;
}

static void set_sockets(struct call *call)
{
	curl_easy_setopt(call->easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	set_pointer(call, CURLOPT_SOCKOPTDATA, call->sockets);
	curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_close);
	set_pointer(call, CURLOPT_CLOSESOCKETDATA, call->sockets);
	set_long(call, CURLOPT_MAXAGE_CONN, MAX_IDLE_CONNECTION_S);
	set_long(call, CURLOPT_TCP_KEEPALIVE, 1);
	set_long(call, CURLOPT_TCP_KEEPIDLE, 30);
	set_long(call, CURLOPT_TCP_KEEPINTVL, 15);
}

static void set_connection(struct call *call, const char *system_ca_file)
{
	const struct http_request *request = call->request;
	bool https = strncasecmp(request->url, "https:", 6) == 0;

	set_pointer(call, CURLOPT_PROTOCOLS_STR, "http,https");
	set_long(call, CURLOPT_FOLLOWLOCATION, 0);
	set_long(call, CURLOPT_NOSIGNAL, 1);
	/* else taking a call back waits for getaddrinfo */
	set_long(call, CURLOPT_QUICK_EXIT, 1);
	set_sockets(call);
	call->connect_ms = call_deadline_ms(call) < MAX_CONNECT_MS ? call_deadline_ms(call) : MAX_CONNECT_MS;
	set_long(call, CURLOPT_CONNECTTIMEOUT_MS, call->connect_ms);
	set_long(call, CURLOPT_FRESH_CONNECT, request->fresh_connection || request->stream ? 1 : 0);
	/* a resumed session would not look at the certificate again */
	set_long(call, CURLOPT_SSL_SESSIONID_CACHE, request->fresh_connection ? 0 : 1);
	set_long(call, CURLOPT_HTTP_VERSION,
	         https && !call_is_apart(call) ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
	set_long(call, CURLOPT_PIPEWAIT, https && !call_is_apart(call) && !request->fresh_connection ? 1 : 0);
	if (https)
		set_trust(call, request->tls, system_ca_file);
}

static void set_callbacks(struct call *call)
{
	set_pointer(call, CURLOPT_PRIVATE, call);
	set_pointer(call, CURLOPT_ERRORBUFFER, call->reason);
	curl_easy_setopt(call->easy, CURLOPT_PREREQFUNCTION, on_ready_to_send);
	set_pointer(call, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
	set_pointer(call, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
	set_pointer(call, CURLOPT_WRITEDATA, call);
}

bool call_set_up(struct call *call, const char *user_agent, const char *system_ca_file)
{
	const struct http_request *request = call->request;

	call->setup = CURLE_OK;
	reply_set_limit(&call->reply, request->max_response_bytes > 0 ? request->max_response_bytes : DEFAULT_BODY_BYTES);
	set_pointer(call, CURLOPT_URL, request->url);
	set_long(call, CURLOPT_PATH_AS_IS, 1);
	set_pointer(call, CURLOPT_USERAGENT, user_agent);
	set_callbacks(call);
	set_connection(call, system_ca_file);
	set_method(call);
	if (request->tls != NULL && request->tls->server_name != NULL && strncasecmp(request->url, "https:", 6) == 0 &&
	    !set_server_name(call, request->tls->server_name) && call->setup == CURLE_OK)
		call->setup = CURLE_URL_MALFORMAT;
	return set_proxy(call, system_ca_file) && set_headers(call) && call->setup == CURLE_OK;
}

void call_tidy(struct call *call)
{
	curl_slist_free_all(call->headers);
	curl_slist_free_all(call->connect_to);
	call->headers = NULL;
	call->connect_to = NULL;
	reply_done(&call->reply);
	if (call->easy != NULL)
		curl_easy_reset(call->easy);
}
