#include "reply.h"

#include <string.h>
#include <strings.h>

void reply_init(struct reply *reply, struct arena *arena)
{
	*reply = (struct reply){.arena = arena};
	text_init(&reply->body, 0);
}

void reply_set_limit(struct reply *reply, size_t max_body_bytes)
{
	reply->max_body_bytes = max_body_bytes;
	reply->body.max_bytes = max_body_bytes;
}

void reply_done(struct reply *reply)
{
	text_done(&reply->body);
}

/* "HTTP/1.1 200 OK", "HTTP/2 200". A new one starts anew: what stood before was an interim answer. */
static bool take_status_line(struct reply *reply, const char *line, size_t length)
{
	const char *space = memchr(line, ' ', length);

	reply->headers = (struct http_headers){0};
	reply->status = 0;
	for (const char *at = space == NULL ? line + length : space + 1; at < line + length && *at >= '0' && *at <= '9';
	     at++) {
		reply->status = reply->status * 10 + (*at - '0');
		if (reply->status > 999)
			break;
	}
	if (reply->status < 100 || reply->status > 999)
		return error_set(&reply->error, ERROR_MALFORMED, "the status line is not HTTP");
	return true;
}

/* Two lengths that differ are how a body of one answer is smuggled into the next. */
static bool length_contradicts(const struct reply *reply, const char *name, const char *value)
{
	const char *before;

	if (strcasecmp(name, "Content-Length") != 0)
		return false;
	before = http_header(&reply->headers, name);
	return before != NULL && strcmp(before, value) != 0;
}

static bool take_field(struct reply *reply, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	const char *name;
	const char *value;

	if (colon == NULL || colon == line || *line == ' ' || *line == '\t')
		return true;
	name = text_trim(reply->arena, line, (size_t)(colon - line));
	value = text_trim(reply->arena, colon + 1, length - (size_t)(colon - line) - 1);
	if (length_contradicts(reply, name, value))
		return error_set(&reply->error, ERROR_MALFORMED, "the answer has two different lengths");
	http_add_header(&reply->headers, reply->arena, name, value);
	return true;
}

/* We ask for none; what is read as it is would only seem to be nonsense, and what curl decodes may end too early. */
static bool is_encoded(struct reply *reply, const char *header, const char *allowed)
{
	static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	const char *encoding = http_header(&reply->headers, header);

	if (encoding == NULL || *encoding == '\0' || strcasecmp(encoding, "identity") == 0 ||
	    strcasecmp(encoding, allowed) == 0)
		return false;
	error_set(&reply->error, ERROR_MALFORMED, "the answer has the %s %.*s, which was not asked for", header,
	          (int)strspn(encoding, letters), encoding);
	return true;
}

bool reply_take_header_line(struct reply *reply, const char *line, size_t length)
{
	if (reply->error.kind != ERROR_NONE)
		return false;
	reply->header_bytes += length;
	if (reply->header_bytes > REPLY_MAX_HEADER_BYTES)
		return error_set(&reply->error, ERROR_LIMIT, "the headers of the answer are larger than %d bytes",
		                 REPLY_MAX_HEADER_BYTES);
	if (reply->begun)
		return true; /* trailers */
	while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
		length--;
	if (length == 0) {
		reply->begun = reply->status >= 200;
		return !reply->begun || !is_encoded(reply, "Transfer-Encoding", "chunked");
	}
	if (length >= 5 && memcmp(line, "HTTP/", 5) == 0)
		return take_status_line(reply, line, length);
	return take_field(reply, line, length);
}

bool reply_take_body_bytes(struct reply *reply, const char *bytes, size_t length)
{
	if (reply->error.kind != ERROR_NONE)
		return false;
	if (reply->body.length == 0 && length > 0 && is_encoded(reply, "Content-Encoding", "identity"))
		return false;
	if (length > reply->max_body_bytes - reply->body.length)
		return error_set(&reply->error, ERROR_LIMIT, "the body of the answer is larger than %zu bytes",
		                 reply->max_body_bytes);
	text_append_bytes(&reply->body, bytes, length);
	return true;
}

const char *reply_take_body(struct reply *reply, size_t *length)
{
	const char *body;

	*length = reply->body.length;
	if (*length == 0)
		return "";
	body = text_take(&reply->body, reply->arena);
	if (body == NULL) {
		*length = 0;
		return "";
	}
	return body;
}
