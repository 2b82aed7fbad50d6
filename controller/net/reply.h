/*
 * An answer while it comes in: header lines and body bytes in, an http_response out. Private to net; knows HTTP, not
 * curl.
 *
 * Bounds: headers 64 KiB, interim answers included; a body of max_body_bytes. What is over ends in `error`
 * (ERROR_LIMIT), what is not HTTP, or encoded otherwise than in chunks, in ERROR_MALFORMED; from then on nothing more
 * is taken. Ownership: headers live in the arena; the body is the reply's until reply_take_body or reply_done.
 */
#ifndef NET_REPLY_H
#define NET_REPLY_H

#include "base/text.h"
#include "net/http.h"

enum { REPLY_MAX_HEADER_BYTES = 64 * 1024 };

struct reply {
	struct arena *arena;
	int status; /* of the last status line, 0 before */
	struct http_headers headers;
	size_t header_bytes;
	bool begun; /* the final headers are complete: what follows is the body */
	struct text body;
	size_t max_body_bytes;
	struct error error; /* ERROR_NONE while all is well */
};

void reply_init(struct reply *reply, struct arena *arena);
void reply_set_limit(struct reply *reply, size_t max_body_bytes);
void reply_done(struct reply *reply);

/* One line with its end; a blank one ends the headers. False when `error` is set. */
bool reply_take_header_line(struct reply *reply, const char *line, size_t length);

/* False when `error` is set. */
bool reply_take_body_bytes(struct reply *reply, const char *bytes, size_t length);

/* Hands the body to the arena; "" when there is none. */
const char *reply_take_body(struct reply *reply, size_t *length);

#endif
