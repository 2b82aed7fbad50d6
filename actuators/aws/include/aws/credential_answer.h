/*
 * What the sources that speak plain HTTP have in common: is it an answer at all, and the credentials in its JSON.
 *
 * Bodies hold secrets: no message repeats any of one, but for words that are an error's by their place ("code",
 * "message"). At most CREDENTIAL_ANSWER_MAX_BYTES; more is ERROR_LIMIT.
 */
#ifndef AWS_CREDENTIAL_ANSWER_H
#define AWS_CREDENTIAL_ANSWER_H

#include "aws/credentials.h"
#include "base/json.h"
#include "net/http.h"

#define CREDENTIAL_ANSWER_MAX_BYTES (64 * 1024)

/*
 * True for 200 with a body of a size that is read. Else: the transport's error; by status THROTTLED (429), SERVER (408,
 * 5xx), DENIED (401, 403), REJECTED (all others); http_status and retry_after_ms are filled. `who`: "the container
 * credentials agent".
 */
bool credential_answer_check(const char *who, const struct http_response *response, struct error *error);

/* Can the same call end otherwise in a second? UNREACHABLE, TIMEOUT, THROTTLED, SERVER, MALFORMED. */
bool credential_answer_may_pass(const struct error *error);

/* The body as an object; ERROR_MALFORMED when it is none. */
const struct json *credential_answer_object(struct arena *arena, const char *who, const struct http_response *response,
                                            struct error *error);

/* For messages: `word`, printable, one line, at most 200 bytes; NULL when there is none. */
const char *credential_answer_word(struct arena *arena, const char *word);

/*
 * One field of credentials, copied: ERROR_MALFORMED when it is not there, is empty or holds a blank or something
 * unprintable. The sentence names `who` and `name` only.
 */
bool credential_answer_field(struct arena *arena, const char *who, const char *name, const char *value,
                             const char **out, struct error *error);

/* A time in RFC 3339. */
bool credential_answer_time(const char *who, const char *name, const char *value, struct wallclock *out,
                            struct error *error);

#endif
