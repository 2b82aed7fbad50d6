/*
 * Who we are to AWS: static keys from the environment or the shared files. The order is the SDKs': environment, then
 * the profile.
 *
 * A source that is configured but broken is an error, never a silent fall-through to another identity. Secrets appear
 * in no message. Sources that need a call (web identity, container, instance metadata, assumed roles) come as files of
 * their own beside this one; until then a profile that asks for one is refused with a sentence that says what to set
 * instead.
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
	const char *source;          /* "environment", "profile default": for logs */
};

/* How settings reach pure code: getenv(3) or a test's table. NULL when not set. */
typedef const char *(*aws_getenv)(void *context, const char *name);

struct aws_environment {
	aws_getenv get;
	void *context;
};

/* get("X") with an empty value is NULL. */
const char *aws_env(const struct aws_environment *environment, const char *name);

/*
 * ERROR_INPUT when a source is configured but incomplete or its file is unreadable, ERROR_ABSENT when no source is
 * configured; both with what to do. Reads files (AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, ~/.aws/…, at most 1 MiB
 * each).
 */
bool aws_credentials_load(struct arena *arena, const struct aws_environment *environment, struct aws_credentials *out,
                          struct error *error);

#endif
