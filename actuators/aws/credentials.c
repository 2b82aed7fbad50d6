#include "aws/credentials.h"

#include <ctype.h>
#include <string.h>

#define ADVISORY_MS ((int64_t)15 * 60 * 1000)
#define AGAIN_MS ((int64_t)60 * 1000)
#define AGAIN_MIN_MS ((int64_t)1000)

const char *aws_env(const struct aws_environment *environment, const char *name)
{
	const char *value = environment->get(environment->context, name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

void aws_credentials_copy(struct arena *arena, const struct aws_credentials *from, struct aws_credentials *out)
{
	*out = *from;
	out->access_key_id = arena_string(arena, from->access_key_id);
	out->secret_access_key = arena_string(arena, from->secret_access_key);
	out->session_token = arena_string(arena, from->session_token);
	out->source = arena_string(arena, from->source);
}

bool aws_credentials_check_word(const char *what, const char *value, struct error *error)
{
	if (value != NULL && strlen(value) > AWS_CREDENTIALS_WORD_MAX_LENGTH)
		return error_set(error, ERROR_INPUT, "%s is longer than %d characters: copy it anew, without what is around it",
		                 what, AWS_CREDENTIALS_WORD_MAX_LENGTH);
	for (const char *at = value != NULL ? value : ""; *at != '\0'; at++) {
		if (!isgraph((unsigned char)*at))
			return error_set(error, ERROR_INPUT,
			                 "%s contains a blank, a line break or another character that is not printable ASCII: "
			                 "copy it anew, without what is around it",
			                 what);
	}
	return true;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t aws_credentials_refresh_in_ms(const struct aws_credentials *credentials, struct wallclock obtained,
                                      struct wallclock now, uint32_t random)
{
	int64_t life_ms = (credentials->expires_at.us - obtained.us) / 1000;
	int64_t after_ms = larger(life_ms - ADVISORY_MS, life_ms - life_ms / 3);
	int64_t in_ms;

	if (credentials->expires_at.us == 0)
		return -1;
	after_ms -= (int64_t)((double)after_ms / 10 * ((double)random / UINT32_MAX));
	in_ms = after_ms - (now.us - obtained.us) / 1000;
	if (life_ms <= 0)
		return AGAIN_MS;
	/* At least a second: who hands out credentials of no life must not be asked in a loop. */
	return larger(in_ms > 0 ? in_ms : smaller(AGAIN_MS, life_ms / 3), AGAIN_MIN_MS);
}

bool aws_credentials_expired(const struct aws_credentials *credentials, struct wallclock now)
{
	return credentials->expires_at.us != 0 && now.us >= credentials->expires_at.us && !credentials->may_outlive;
}
