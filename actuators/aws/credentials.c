#include "aws/credentials.h"

#include <ctype.h>
#include <string.h>

#include "aws/shared_files.h"
#include "base/text.h"

#define WAY_OUT "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile that has keys"

const char *aws_env(const struct aws_environment *environment, const char *name)
{
	const char *value = environment->get(environment->context, name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/*
 * Keys and tokens are printable and without blanks; anything else was pasted wrongly and would break the header it goes
 * into.
 */
static bool check_word(const char *what, const char *value, struct error *error)
{
	for (const char *at = value != NULL ? value : ""; *at != '\0'; at++) {
		if (!isgraph((unsigned char)*at))
			return error_set(error, ERROR_INPUT, "%s contains a blank, a line break or another unprintable character",
			                 what);
	}
	return true;
}

static bool from_environment(const struct aws_environment *environment, struct aws_credentials *out,
                             struct error *error)
{
	out->access_key_id = aws_env(environment, "AWS_ACCESS_KEY_ID");
	out->secret_access_key = aws_env(environment, "AWS_SECRET_ACCESS_KEY");
	out->session_token = aws_env(environment, "AWS_SESSION_TOKEN");
	out->source = "environment";
	if (out->access_key_id == NULL)
		return error_set(error, ERROR_INPUT,
		                 "AWS_SECRET_ACCESS_KEY is set but AWS_ACCESS_KEY_ID is not: set both or none");
	if (out->secret_access_key == NULL)
		return error_set(error, ERROR_INPUT,
		                 "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not: set both or none");
	return check_word("AWS_ACCESS_KEY_ID", out->access_key_id, error) &&
	       check_word("AWS_SECRET_ACCESS_KEY", out->secret_access_key, error) &&
	       check_word("AWS_SESSION_TOKEN", out->session_token, error);
}

/*
 * The key by which a profile asks for something that needs a call, or NULL. Such a key counts more than keys beside it
 * only for a role.
 */
static const char *asks_for_call(const struct profile *profile, bool has_keys)
{
	static const char *const others[] = {
		"web_identity_token_file", "credential_source", "source_profile",     "sso_session",
		"sso_start_url",           "login_session",     "credential_process",
	};

	if (profile_get(profile, "role_arn") != NULL)
		return "role_arn";
	for (size_t i = 0; !has_keys && i < sizeof(others) / sizeof(others[0]); i++) {
		if (profile_get(profile, others[i]) != NULL)
			return others[i];
	}
	return NULL;
}

static bool from_profile(struct arena *arena, const struct profile *profile, const char *name,
                         struct aws_credentials *out, struct error *error)
{
	const char *asked;

	out->access_key_id = profile_get(profile, "aws_access_key_id");
	out->secret_access_key = profile_get(profile, "aws_secret_access_key");
	out->session_token = profile_get(profile, "aws_session_token");
	out->source = arena_printf(arena, "profile %s", name);
	if (out->session_token != NULL && out->session_token[0] == '\0')
		out->session_token = NULL;
	asked = asks_for_call(profile, out->access_key_id != NULL);
	if (asked != NULL)
		return error_set(error, ERROR_INPUT,
		                 "AWS profile \"%s\" asks for credentials by %s, which is not supported: %s", name, asked,
		                 WAY_OUT);
	if (out->access_key_id == NULL || out->access_key_id[0] == '\0')
		return error_set(error, ERROR_INPUT, "AWS profile \"%s\" has no aws_access_key_id: %s", name, WAY_OUT);
	if (out->secret_access_key == NULL || out->secret_access_key[0] == '\0')
		return error_set(error, ERROR_INPUT, "AWS profile \"%s\" has aws_access_key_id but no aws_secret_access_key",
		                 name);
	return check_word(arena_printf(arena, "aws_access_key_id of AWS profile \"%s\"", name), out->access_key_id,
	                  error) &&
	       check_word(arena_printf(arena, "aws_secret_access_key of AWS profile \"%s\"", name), out->secret_access_key,
	                  error) &&
	       check_word(arena_printf(arena, "aws_session_token of AWS profile \"%s\"", name), out->session_token, error);
}

/* A variable that names a source which needs a call, or NULL. */
static const char *set_of(const struct aws_environment *environment, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (aws_env(environment, *names) != NULL)
			return *names;
	}
	return NULL;
}

static bool refuse_variable(const char *variable, struct error *error)
{
	return error_set(error, ERROR_INPUT, "%s is set, but credentials from there are not supported: %s", variable,
	                 WAY_OUT);
}

/* Whether the profile has anything to do with credentials: one with a region alone has not. */
static bool concerns_credentials(const struct profile *profile)
{
	return profile_get(profile, "aws_access_key_id") != NULL || profile_get(profile, "aws_secret_access_key") != NULL ||
	       asks_for_call(profile, false) != NULL;
}

bool aws_credentials_load(struct arena *arena, const struct aws_environment *environment, struct aws_credentials *out,
                          struct error *error)
{
	static const char *const web_identity[] = {"AWS_WEB_IDENTITY_TOKEN_FILE", NULL};
	static const char *const container[] = {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI", NULL};
	const char *name = shared_files_profile_name(environment);
	const struct profile *profile = NULL;

	*out = (struct aws_credentials){0};
	if (aws_env(environment, "AWS_ACCESS_KEY_ID") != NULL || aws_env(environment, "AWS_SECRET_ACCESS_KEY") != NULL)
		return from_environment(environment, out, error);
	if (set_of(environment, web_identity) != NULL)
		return refuse_variable(set_of(environment, web_identity), error);
	if (!shared_files_profile(arena, environment, &profile, error))
		return false;
	if (concerns_credentials(profile))
		return from_profile(arena, profile, name, out, error);
	if (set_of(environment, container) != NULL)
		return refuse_variable(set_of(environment, container), error);
	if (aws_env(environment, "AWS_PROFILE") != NULL)
		return from_profile(arena, profile, name, out, error);
	return error_set(error, ERROR_ABSENT, "there are no AWS credentials: %s", WAY_OUT);
}
