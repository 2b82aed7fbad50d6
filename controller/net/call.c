#include "call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

enum {
	MAX_STREAM_BYTES = 4 * 1024 * 1024, /* received and not yet told; curl hands over at most 1.6 MiB in one go */
	DEFAULT_BODY_BYTES = 64 * 1024,
	DEFAULT_DEADLINE_MS = 30 * 1000,
	DEFAULT_IDLE_MS = 180 * 1000,
	MAX_CONNECT_MS = 15 * 1000,
	SYSTEM_CA_CACHE_S = 300,
	USER_TIMEOUT_MS = 45 * 1000,
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
	return call->request->stream && call->reply.status == 200;
}

static int32_t idle_ms(const struct call *call)
{
	return call->request->idle_ms > 0 ? call->request->idle_ms : DEFAULT_IDLE_MS;
}

int32_t call_deadline_ms(const struct call *call)
{
	return call->request->deadline_ms > 0 ? call->request->deadline_ms : DEFAULT_DEADLINE_MS;
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
		call->due = instant_after(call_boottime(), in_chunks ? idle_ms(call) : call_deadline_ms(call));
	}
	return size * count;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
	struct call *call = user;

	if (!reply_take_body_bytes(&call->reply, bytes, size * count))
		return 0;
	if (call_is_told_in_chunks(call)) {
		call->due = instant_after(call_boottime(), idle_ms(call));
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

	if (length > 0)
		memcpy(into, call->request->body + call->sent_bytes, length);
	call->sent_bytes += length;
	return length;
}

static int on_socket_made(void *user, curl_socket_t fd, curlsocktype purpose)
{
	unsigned int user_timeout_ms = USER_TIMEOUT_MS;
	int probes = 3;

	(void)user;
	(void)purpose;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	return CURL_SOCKOPT_OK;
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

/* scheme://host:port of a URL, without user, path and query; parts that are not there are "". */
struct origin {
	char *scheme, *host, *port;
};

static void origin_done(struct origin *origin)
{
	curl_free(origin->scheme);
	curl_free(origin->host);
	curl_free(origin->port);
}

static bool origin_parse(struct origin *out, const char *url)
{
	CURLU *parsed = curl_url();
	bool ok;

	*out = (struct origin){0};
	ok = parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, CURLU_PATH_AS_IS) == CURLUE_OK &&
	     curl_url_get(parsed, CURLUPART_SCHEME, &out->scheme, 0) == CURLUE_OK &&
	     curl_url_get(parsed, CURLUPART_HOST, &out->host, 0) == CURLUE_OK &&
	     curl_url_get(parsed, CURLUPART_PORT, &out->port, CURLU_DEFAULT_PORT) == CURLUE_OK;
	curl_url_cleanup(parsed);
	return ok;
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

static void set_connection(struct call *call, const char *system_ca_file)
{
	const struct http_request *request = call->request;
	bool https = strncasecmp(request->url, "https:", 6) == 0;

	set_pointer(call, CURLOPT_PROTOCOLS_STR, "http,https");
	set_long(call, CURLOPT_FOLLOWLOCATION, 0);
	set_pointer(call, CURLOPT_PROXY, "");
	set_pointer(call, CURLOPT_NOPROXY, "*");
	set_long(call, CURLOPT_NOSIGNAL, 1);
	/* else taking a call back waits for getaddrinfo */
	set_long(call, CURLOPT_QUICK_EXIT, 1);
	set_long(call, CURLOPT_MAXAGE_CONN, MAX_IDLE_CONNECTION_S);
	set_long(call, CURLOPT_TCP_KEEPALIVE, 1);
	set_long(call, CURLOPT_TCP_KEEPIDLE, 30);
	set_long(call, CURLOPT_TCP_KEEPINTVL, 15);
	curl_easy_setopt(call->easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	call->connect_ms = call_deadline_ms(call) < MAX_CONNECT_MS ? call_deadline_ms(call) : MAX_CONNECT_MS;
	set_long(call, CURLOPT_CONNECTTIMEOUT_MS, call->connect_ms);
	set_long(call, CURLOPT_FRESH_CONNECT, request->fresh_connection || request->stream ? 1 : 0);
	/* a resumed session would not look at the certificate again */
	set_long(call, CURLOPT_SSL_SESSIONID_CACHE, request->fresh_connection ? 0 : 1);
	set_long(call, CURLOPT_HTTP_VERSION, https && !request->stream ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
	set_long(call, CURLOPT_PIPEWAIT, https && !request->stream && !request->fresh_connection ? 1 : 0);
	if (https)
		set_trust(call, request->tls, system_ca_file);
}

bool call_set_up(struct call *call, const char *user_agent, const char *system_ca_file)
{
	const struct http_request *request = call->request;

	call->setup = CURLE_OK;
	reply_set_limit(&call->reply, request->max_response_bytes > 0 ? request->max_response_bytes : DEFAULT_BODY_BYTES);
	set_pointer(call, CURLOPT_URL, request->url);
	set_long(call, CURLOPT_PATH_AS_IS, 1);
	set_pointer(call, CURLOPT_USERAGENT, user_agent);
	set_pointer(call, CURLOPT_PRIVATE, call);
	set_pointer(call, CURLOPT_ERRORBUFFER, call->reason);
	curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
	set_pointer(call, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
	set_pointer(call, CURLOPT_WRITEDATA, call);
	set_connection(call, system_ca_file);
	set_method(call);
	if (request->tls != NULL && request->tls->server_name != NULL && strncasecmp(request->url, "https:", 6) == 0 &&
	    !set_server_name(call, request->tls->server_name) && call->setup == CURLE_OK)
		call->setup = CURLE_URL_MALFORMAT;
	return set_headers(call) && call->setup == CURLE_OK;
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

/* Failing. */

static bool is_connected(const struct call *call)
{
	curl_off_t sent_at_us = 0;

	return curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_at_us) == CURLE_OK && sent_at_us > 0;
}

static enum error_kind failure_kind(const struct call *call, CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT: /* only connecting is timed by curl */
		return call->connect_ms < call_deadline_ms(call) ? ERROR_UNREACHABLE : ERROR_TIMEOUT;
	case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL; or, once connected, an answer without a status line */
	case CURLE_URL_MALFORMAT:
		return call->easy != NULL && is_connected(call) ? ERROR_MALFORMED : ERROR_INPUT;
	case CURLE_PARTIAL_FILE:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_WRITE_ERROR: /* our own refusals have an error of their own */
		return ERROR_MALFORMED;
	case CURLE_RECV_ERROR: /* also what curl makes of a chunk it cannot read; only its sentence tells them apart */
		return strstr(call->reason, "chunked-encoding") != NULL ? ERROR_MALFORMED : ERROR_UNREACHABLE;
	default:
		return ERROR_UNREACHABLE;
	}
}

/* "https://10.0.0.1:6443" for sentences. */
static void append_origin(struct text *out, const char *url)
{
	struct origin origin;

	if (origin_parse(&origin, url))
		text_printf(out, "%s://%s:%s", origin.scheme, origin.host, origin.port);
	else
		text_append(out, "the URL of the request");
	origin_done(&origin);
}

static void fail(const struct call *call, enum error_kind kind, const char *reason, struct error *out)
{
	struct text where;

	text_init(&where, 512);
	append_origin(&where, call->request->url);
	error_set(out, kind, "%s: %.*s", where.at, (int)strcspn(reason, "\r\n"), reason);
	out->http_status = call->reply.status;
	text_done(&where);
}

void call_failure(const struct call *call, CURLcode code, struct error *out)
{
	CURLcode known = code != CURLE_OK ? code : call->setup != CURLE_OK ? call->setup : CURLE_FAILED_INIT;

	if (call->reply.error.kind != ERROR_NONE)
		fail(call, call->reply.error.kind, call->reply.error.message, out);
	else
		fail(call, failure_kind(call, known), *call->reason != '\0' ? call->reason : curl_easy_strerror(known), out);
}

void call_overdue(const struct call *call, struct error *out)
{
	char reason[96];

	if (call_is_told_in_chunks(call))
		snprintf(reason, sizeof reason, "the stream was silent for %d ms", idle_ms(call));
	else
		snprintf(reason, sizeof reason, "no whole answer within %d ms", call_deadline_ms(call));
	fail(call, ERROR_TIMEOUT, reason, out);
}
