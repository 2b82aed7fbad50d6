/*
 * Errors as values: a kind for the program, a sentence for the person.
 *
 * Every function that can fail takes a `struct error *` last and returns false on failure. On success the error
 * is untouched; on failure it is filled and every other output is unspecified unless its header says otherwise.
 * Nothing here logs or decides about retries (engine/requeue.h does).
 *
 * Ownership: a value, no allocation; messages longer than the field are cut at a character boundary.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum error_kind {
	ERROR_NONE = 0,
	ERROR_INPUT,       /* a person gave something wrong: file, flag, manifest */
	ERROR_UNREACHABLE, /* no connection, or it broke before an answer; the outcome of an effect is unknown */
	ERROR_TIMEOUT,     /* our own deadline passed; the outcome of an effect is unknown */
	ERROR_THROTTLED,   /* the service asks to come later */
	ERROR_DENIED,      /* not allowed: 401, 403, AccessDenied */
	ERROR_EXPIRED,     /* credentials or token not (or no longer) good; fresh ones may be */
	ERROR_ABSENT,      /* what was named does not exist */
	ERROR_CONFLICT,    /* somebody else changed it first: 409, 412, failed condition */
	ERROR_GONE,        /* 410: the version asked for is no longer kept */
	ERROR_BUSY,        /* in the middle of something else, will pass: ScalingActivityInProgress */
	ERROR_REJECTED,    /* the service understood and says no for good: 400, 422 */
	ERROR_SERVER,      /* 5xx; the outcome of an effect is unknown */
	ERROR_MALFORMED,   /* an answer that is not what its protocol says: HTML for JSON, cut short */
	ERROR_LIMIT,       /* larger than our maximum */
	ERROR_STALE,       /* ours: what the request was built from is too old to be sent */
	ERROR_CANCELED,    /* ours: taken back before it was answered */
};

struct error {
	enum error_kind kind;
	int http_status;        /* 0 = no HTTP answer */
	int32_t retry_after_ms; /* 0 = the service named no time */
	char code[96];          /* the service's own word, e.g. "Throttling"; "" = none */
	char request_id[96];    /* "" = none */
	char message[640];      /* one sentence, no newline, never a secret */
};

/* Fill `error` from scratch. Returns false, so that `return error_set(…)` reads well. */
bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "what: " before the message; kind, status, code stay. Returns false. */
bool error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The kind as a word for logs and metrics: "throttled". Never NULL. */
const char *error_kind_name(enum error_kind kind);

#endif
