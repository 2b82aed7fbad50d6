/*
 * Who we are to AWS, and when to ask again.
 *
 * Three steps, each pure: credential_plan.h decides from variables and files which source it is and which roles are
 * assumed on top; credential_session.h carries that out as a small state machine of calls; the engine sends, keeps
 * the result and comes back in time. A source that is configured but fails is an error, never a silent fall-through
 * to another identity. Secrets appear in no message.
 */
#ifndef AWS_CREDENTIALS_H
#define AWS_CREDENTIALS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/instant.h"

struct aws_credentials {
	const char *access_key_id;
	const char *secret_access_key;
	const char *session_token;   /* NULL = none */
	struct wallclock expires_at; /* 0 = never */
	const char *source; /* "environment", "profile prod, role arn:aws:iam::…:role/x": for logs, never a secret */
	bool may_outlive;   /* instance metadata: the service extends them past expires_at while it is in trouble */
};

/* How settings reach pure code: getenv(3) or a test's table. NULL when not set. */
typedef const char *(*aws_getenv)(void *context, const char *name);

struct aws_environment {
	aws_getenv get;
	void *context;
};

/* get("X") with an empty value is NULL. */
const char *aws_env(const struct aws_environment *environment, const char *name);

/* A deep copy, so that it outlives the arena it was made in. */
void aws_credentials_copy(struct arena *arena, const struct aws_credentials *from, struct aws_credentials *out);

#define AWS_CREDENTIALS_WORD_MAX_LENGTH (32 * 1024)

/*
 * Keys and tokens are printable and without blanks; anything else was pasted wrongly and would break the header it
 * goes into. ERROR_INPUT: "<what> contains …", or is longer than AWS_CREDENTIALS_WORD_MAX_LENGTH. `value` NULL is fine.
 */
bool aws_credentials_check_word(const char *what, const char *value, struct error *error);

/*
 * In how many ms to fetch them anew: 15 min before they expire, but after no less than two thirds of their life, less
 * a tenth by chance, so that replicas do not come at once; 60 s (or a third of the life, if that is less) when that
 * has passed already, which is how instance metadata behaves that hands out the same ones again. -1: never. (SDKs:
 * advisory refresh 15 min before.)
 */
int64_t aws_credentials_refresh_in_ms(const struct aws_credentials *credentials, struct wallclock obtained,
                                      struct wallclock now, uint32_t random);

/* Past their end, and not of the kind that may outlive it. */
bool aws_credentials_expired(const struct aws_credentials *credentials, struct wallclock now);

#endif
