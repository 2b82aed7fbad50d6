#include "aws/sts.h"

#include <string.h>

#include "aws/credential_answer.h"
#include "aws/protocol.h"
#include "aws/xml.h"

#define ROLE "AssumeRole"
#define WEB_IDENTITY "AssumeRoleWithWebIdentity"
#define DEADLINE_MS 5000

static void begin(struct query *query, struct arena *arena, const char *operation, struct http_request *out)
{
	query_begin(query, arena, aws_service_find("sts"), operation, out);
}

void sts_ask_identity(struct arena *arena, struct http_request *out)
{
	struct query query;

	begin(&query, arena, "GetCallerIdentity", out);
	query_end(&query);
}

static void begin_role(struct query *query, struct arena *arena, const char *operation,
                       const struct credential_role *role, struct http_request *out)
{
	begin(query, arena, operation, out);
	out->deadline_ms = DEADLINE_MS;
	out->max_response_bytes = CREDENTIAL_ANSWER_MAX_BYTES;
	query_add(query, "RoleArn", role->arn);
	query_add(query, "RoleSessionName", role->session_name);
	if (role->duration_s > 0)
		query_add(query, "DurationSeconds", arena_printf(arena, "%d", (int)role->duration_s));
}

void sts_ask_role(struct arena *arena, const struct credential_role *role, struct http_request *out)
{
	struct query query;

	begin_role(&query, arena, ROLE, role, out);
	if (role->external_id != NULL)
		query_add(&query, "ExternalId", role->external_id);
	query_end(&query);
}

void sts_ask_web_identity(struct arena *arena, const struct credential_role *role, const char *token,
                          struct http_request *out)
{
	struct query query;

	begin_role(&query, arena, WEB_IDENTITY, role, out);
	query_add(&query, "WebIdentityToken", token);
	query_end(&query);
}

/* What is not STS's own error may hold anything, a secret too: its words are taken back. */
static bool check(const struct http_response *response, struct error *error)
{
	struct error said;

	if (response->error.kind == ERROR_NONE && response->body_length > CREDENTIAL_ANSWER_MAX_BYTES)
		return error_set(error, ERROR_LIMIT, "sts answered %d with more than %d bytes", response->status,
		                 CREDENTIAL_ANSWER_MAX_BYTES);
	if (aws_check(aws_service_find("sts"), response, error))
		return true;
	if (response->error.kind != ERROR_NONE || response->status == 0 || error->code[0] != '\0')
		return false;
	said = *error;
	error_set(error, said.kind, "sts answered %d and gives no reason that can be read (%zu bytes)", response->status,
	          response->body_length);
	error->http_status = said.http_status;
	error->retry_after_ms = said.retry_after_ms;
	return false;
}

static const struct xml *hear(struct arena *arena, const struct http_response *response, const char *path,
                              struct error *error)
{
	struct error ignored;
	const struct xml *root;
	const struct xml *found;

	if (!check(response, error))
		return NULL;
	root = xml_parse(arena, response->body, response->body_length, &ignored);
	found = xml_path(root, path);
	if (root == NULL)
		error_set(error, ERROR_MALFORMED, "sts answered %d with %zu bytes that are no XML", response->status,
		          response->body_length);
	else if (found == NULL)
		error_set(error, ERROR_MALFORMED, "sts answered %d without %s", response->status, path);
	if (found == NULL)
		error->http_status = response->status;
	return found;
}

bool sts_hear_identity(struct arena *arena, const struct http_response *response, const char **account_id,
                       struct error *error)
{
	const struct xml *result = hear(arena, response, "GetCallerIdentityResult", error);

	if (result == NULL)
		return error_wrap(error, "GetCallerIdentity");
	return credential_answer_field(arena, "GetCallerIdentity", "Account", xml_path_text(result, "Account"), account_id,
	                               error);
}

static bool hear_credentials(struct arena *arena, const struct http_response *response, const char *path,
                             struct aws_credentials *out, struct error *error)
{
	static const char who[] = "sts";
	const struct xml *found = hear(arena, response, path, error);
	struct aws_credentials got = {0};

	if (found == NULL)
		return false;
	if (!credential_answer_field(arena, who, "AccessKeyId", xml_path_text(found, "AccessKeyId"), &got.access_key_id,
	                             error) ||
	    !credential_answer_field(arena, who, "SecretAccessKey", xml_path_text(found, "SecretAccessKey"),
	                             &got.secret_access_key, error) ||
	    !credential_answer_field(arena, who, "SessionToken", xml_path_text(found, "SessionToken"), &got.session_token,
	                             error) ||
	    !credential_answer_time(who, "Expiration", xml_path_text(found, "Expiration"), &got.expires_at, error))
		return false;
	*out = got;
	return true;
}

bool sts_hear_role(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                   struct error *error)
{
	return hear_credentials(arena, response, ROLE "Result/Credentials", out, error);
}

/* STS may quote the value that it does not like. Source: RFC 7519: a token begins with a JSON object in base64url. */
static void hide_tokens(char *message)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=";

	for (char *at = strstr(message, "eyJ"); at != NULL; at = strstr(at, "eyJ")) {
		size_t length = strspn(at, letters);

		memmove(at + 3, at + length, strlen(at + length) + 1);
		memset(at, '*', 3);
	}
}

bool sts_hear_web_identity(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                           struct error *error)
{
	if (hear_credentials(arena, response, WEB_IDENTITY "Result/Credentials", out, error))
		return true;
	hide_tokens(error->message);
	return false;
}

/* Source: SDKs, clock skew correction: the codes after which a call is signed anew with a corrected clock. */
static bool is_about_clock(const struct error *error)
{
	static const char *const codes[] = {"RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed"};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(error->code, codes[i]) == 0)
			return true;
	}
	return strstr(error->message, "Signature expired") != NULL ||
	       strstr(error->message, "Signature not yet current") != NULL;
}

bool sts_may_pass(const struct error *error, bool web_identity)
{
	static const char *const codes[] = {"ExpiredToken", "ExpiredTokenException", "IDPCommunicationError",
	                                    "InvalidIdentityToken"};

	if (credential_answer_may_pass(error))
		return true;
	for (size_t i = 0; web_identity && i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(error->code, codes[i]) == 0)
			return true;
	}
	return is_about_clock(error);
}
