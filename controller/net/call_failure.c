#include "call.h"

#include <stdio.h>
#include <string.h>

void origin_done(struct origin *origin)
{
	curl_free(origin->scheme);
	curl_free(origin->host);
	curl_free(origin->port);
}

bool origin_parse(struct origin *out, const char *url)
{
	const unsigned int flags = CURLU_PATH_AS_IS | CURLU_NON_SUPPORT_SCHEME;
	CURLU *parsed = curl_url();
	bool ok;

	*out = (struct origin){0};
	ok = parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, flags) == CURLUE_OK &&
	     curl_url_get(parsed, CURLUPART_SCHEME, &out->scheme, 0) == CURLUE_OK &&
	     curl_url_get(parsed, CURLUPART_HOST, &out->host, 0) == CURLUE_OK;
	if (ok)
		curl_url_get(parsed, CURLUPART_PORT, &out->port, CURLU_DEFAULT_PORT);
	curl_url_cleanup(parsed);
	return ok;
}

static bool is_sent(const struct call *call)
{
	return call->sent.ms != 0;
}

static enum error_kind failure_kind(const struct call *call, CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT: /* only connecting is timed by curl */
		return call->connect_ms < call_deadline_ms(call) ? ERROR_UNREACHABLE : ERROR_TIMEOUT;
	case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL; or, once sent, an answer without a status line */
	case CURLE_URL_MALFORMAT:
		return is_sent(call) ? ERROR_MALFORMED : ERROR_INPUT;
	case CURLE_PARTIAL_FILE:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_WRITE_ERROR: /* our own refusals have an error of their own */
		return is_sent(call) ? ERROR_MALFORMED : ERROR_UNREACHABLE;
	case CURLE_RECV_ERROR: /* also what curl makes of a chunk it cannot read; only its sentence tells them apart */
		return strstr(call->reason, "chunked-encoding") != NULL ? ERROR_MALFORMED : ERROR_UNREACHABLE;
	default:
		return ERROR_UNREACHABLE;
	}
}

/* "https://10.0.0.1:6443", "https://10.0.0.1:6443 through the proxy proxy:3128" for sentences. */
static void append_where(struct text *out, const struct http_request *request)
{
	struct origin origin;

	if (origin_parse(&origin, request->url) && origin.port != NULL)
		text_printf(out, "%s://%s:%s", origin.scheme, origin.host, origin.port);
	else
		text_append(out, "the URL of the request");
	origin_done(&origin);
	if (request->proxy == NULL)
		return;
	text_append(out, " through the proxy");
	if (origin_parse(&origin, request->proxy))
		text_printf(out, " %s%s%s", origin.host, origin.port == NULL ? "" : ":",
		            origin.port == NULL ? "" : origin.port);
	origin_done(&origin);
}

static void fail(const struct call *call, enum error_kind kind, const char *reason, struct error *out)
{
	struct text where;

	text_init(&where, 512);
	append_where(&where, call->request);
	error_set(out, kind, "%s: %.*s", where.at, (int)strcspn(reason, "\r\n"), reason);
	out->http_status = call->reply.status;
	text_done(&where);
}

/* What a proxy answered to CONNECT instead of a tunnel; 0: it did not. */
static long refused_tunnel(const struct call *call)
{
	long status = 0;

	if (call->easy == NULL || call->request->proxy == NULL || is_sent(call) ||
	    curl_easy_getinfo(call->easy, CURLINFO_HTTP_CONNECTCODE, &status) != CURLE_OK)
		return 0;
	return status / 100 == 2 ? 0 : status;
}

void call_failure(const struct call *call, CURLcode code, struct error *out)
{
	CURLcode known = code != CURLE_OK ? code : call->setup != CURLE_OK ? call->setup : CURLE_FAILED_INIT;
	long refusal = refused_tunnel(call);
	char reason[96];

	if (call->reply.error.kind != ERROR_NONE) {
		fail(call, call->reply.error.kind, call->reply.error.message, out);
	} else if (known == CURLE_ABORTED_BY_CALLBACK && !is_sent(call)) {
		call_explain_stale(call, out);
	} else if (refusal != 0) {
		snprintf(reason, sizeof reason, "the proxy refuses the connection with status %ld", refusal);
		fail(call, ERROR_UNREACHABLE, reason, out);
	} else {
		fail(call, failure_kind(call, known), *call->reason != '\0' ? call->reason : curl_easy_strerror(known), out);
	}
}

bool call_is_answered(const struct call *call, struct error *out)
{
	/* of a request that goes in the clear the proxy's refusal comes in the service's place */
	if (call->request->proxy == NULL || call->reply.status != 407)
		return true;
	fail(call, ERROR_UNREACHABLE, "the proxy refuses the request with status 407", out);
	out->http_status = 0; /* the service said nothing */
	return false;
}

void call_overdue(const struct call *call, struct error *out)
{
	char reason[96];

	if (call_is_told_in_chunks(call))
		snprintf(reason, sizeof reason, "the stream was silent for %d ms", call_idle_ms(call));
	else
		snprintf(reason, sizeof reason, "no whole answer within %d ms", call_deadline_ms(call));
	fail(call, ERROR_TIMEOUT, reason, out);
}

void call_explain_stale(const struct call *call, struct error *out)
{
	fail(call, ERROR_STALE, "not sent: the time in which it might be sent is over", out);
}
