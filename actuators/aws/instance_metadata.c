#include "aws/instance_metadata.h"

#include <ctype.h>
#include <string.h>

#include "aws/credential_answer.h"
#include "aws/region.h"
#include "base/text.h"

#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"
#define TOKEN_TTL_S "21600"
#define LINE_MAX_BYTES 1024

static const char who[] = "the instance metadata service";

static void ask(struct arena *arena, const struct instance_metadata *service, const char *operation, const char *path,
                struct http_request *out)
{
	*out = (struct http_request){.service = "instance-metadata",
	                             .operation = operation,
	                             .method = "GET",
	                             .path = path,
	                             .url = arena_printf(arena, "%s%s", service->base_url, path),
	                             .deadline_ms = service->timeout_ms,
	                             .max_response_bytes = CREDENTIAL_ANSWER_MAX_BYTES};
	if (service->token != NULL)
		http_add_header(&out->headers, arena, "X-aws-ec2-metadata-token", arena_string(arena, service->token));
}

void instance_metadata_ask_token(struct arena *arena, const struct instance_metadata *service, struct http_request *out)
{
	struct instance_metadata without_token = *service;

	without_token.token = NULL;
	ask(arena, &without_token, "PUT token", "/latest/api/token", out);
	out->method = "PUT";
	http_add_header(&out->headers, arena, "X-aws-ec2-metadata-token-ttl-seconds", TOKEN_TTL_S);
}

void instance_metadata_ask_role(struct arena *arena, const struct instance_metadata *service, struct http_request *out)
{
	ask(arena, service, "GET role", ROLE_PATH, out);
}

void instance_metadata_ask_credentials(struct arena *arena, const struct instance_metadata *service, const char *role,
                                       struct http_request *out)
{
	ask(arena, service, "GET credentials", arena_printf(arena, ROLE_PATH "%s", role), out);
}

void instance_metadata_ask_region(struct arena *arena, const struct instance_metadata *service,
                                  struct http_request *out)
{
	ask(arena, service, "GET region", "/latest/meta-data/placement/region", out);
}

bool instance_metadata_has_no_token(const struct http_response *response)
{
	return response->error.kind == ERROR_NONE &&
	       (response->status == 403 || response->status == 404 || response->status == 405);
}

/* The first line of a good answer, which `fits` must like; a page of a proxy is none. */
static bool hear_line(struct arena *arena, const struct http_response *response, const char *what,
                      bool (*fits)(const char *line), const char **out, struct error *error)
{
	const char *line;

	if (!credential_answer_check(who, response, error))
		return false;
	line = text_trim(arena, response->body, response->body_length);
	line = text_trim(arena, line, strcspn(line, "\r\n"));
	if (line[0] != '\0' && strlen(line) <= LINE_MAX_BYTES && fits(line)) {
		*out = line;
		return true;
	}
	error_set(error, ERROR_MALFORMED, "%s answered 200 with %zu bytes that are no %s", who, response->body_length,
	          what);
	error->http_status = response->status;
	return false;
}

/* Header values may not hold more, and tags of a page of HTML are told apart. */
static bool is_token(const char *line)
{
	for (; *line != '\0'; line++) {
		if (!isalnum((unsigned char)*line) && strchr("-_=+/.~", *line) == NULL)
			return false;
	}
	return true;
}

/* Source: IAM API reference, RoleName: [\w+=,.@-]+ */
static bool is_role(const char *line)
{
	for (; *line != '\0'; line++) {
		if (!isalnum((unsigned char)*line) && strchr("_+=,.@-", *line) == NULL)
			return false;
	}
	return true;
}

bool instance_metadata_hear_token(struct arena *arena, const struct http_response *response, const char **token,
                                  struct error *error)
{
	return hear_line(arena, response, "token", is_token, token, error);
}

bool instance_metadata_hear_role(struct arena *arena, const struct http_response *response, const char **role,
                                 struct error *error)
{
	if (response->error.kind == ERROR_NONE && response->status == 404) {
		error_set(error, ERROR_ABSENT, "the instance has no role (no instance profile is attached to it)");
		error->http_status = response->status;
		return false;
	}
	return hear_line(arena, response, "name of a role", is_role, role, error);
}

bool instance_metadata_hear_region(struct arena *arena, const struct http_response *response, const char **region,
                                   struct error *error)
{
	return hear_line(arena, response, "region", aws_region_valid, region, error);
}

/* "AssumeRoleUnauthorizedAccess": the role's trust policy does not let EC2 have it. */
static bool refuse(struct arena *arena, const struct json *body, const char *code, struct error *error)
{
	const char *word = credential_answer_word(arena, code);
	const char *message = credential_answer_word(arena, json_get_string(body, "Message"));

	error_set(error, ERROR_REJECTED, "%s has no credentials for the instance's role: %s%s%s", who, word,
	          message != NULL ? ": " : "", message != NULL ? message : "");
	error->http_status = 200;
	memcpy(error->code, word, strnlen(word, sizeof(error->code) - 1));
	return false;
}

bool instance_metadata_hear_credentials(struct arena *arena, const struct http_response *response,
                                        struct aws_credentials *out, struct error *error)
{
	struct aws_credentials got = {.may_outlive = true};
	const struct json *body;
	const char *code;

	if (!credential_answer_check(who, response, error))
		return false;
	body = credential_answer_object(arena, who, response, error);
	if (body == NULL)
		return false;
	code = json_get_string(body, "Code");
	if (code != NULL && code[0] != '\0' && strcmp(code, "Success") != 0)
		return refuse(arena, body, code, error);
	if (!credential_answer_field(arena, who, "AccessKeyId", json_get_string(body, "AccessKeyId"), &got.access_key_id,
	                             error) ||
	    !credential_answer_field(arena, who, "SecretAccessKey", json_get_string(body, "SecretAccessKey"),
	                             &got.secret_access_key, error) ||
	    !credential_answer_field(arena, who, "Token", json_get_string(body, "Token"), &got.session_token, error) ||
	    !credential_answer_time(who, "Expiration", json_get_string(body, "Expiration"), &got.expires_at, error))
		return false;
	*out = got;
	return true;
}
