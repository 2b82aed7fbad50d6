#include "aws/container.h"

#include <string.h>

#include "aws/credential_answer.h"

#define DEADLINE_MS 2000

static const char who[] = "the container credentials agent";

void container_ask(struct arena *arena, const char *url, const char *token, struct http_request *out)
{
	*out = (struct http_request){.service = "container-credentials",
	                             .operation = "GET credentials",
	                             .method = "GET",
	                             .path = "/",
	                             .url = arena_string(arena, url),
	                             .deadline_ms = DEADLINE_MS,
	                             .max_response_bytes = CREDENTIAL_ANSWER_MAX_BYTES};
	http_add_header(&out->headers, arena, "Accept", "application/json");
	if (token != NULL)
		http_add_header(&out->headers, arena, "Authorization", arena_string(arena, token));
}

/* The agent's own reason, if it gives one. */
static bool complain(struct arena *arena, const struct http_response *response, struct error *error)
{
	struct error ignored;
	const struct json *body;
	const char *code;
	const char *message;

	if (response->error.kind != ERROR_NONE || error->kind == ERROR_LIMIT)
		return false;
	body = json_parse(arena, response->body, response->body_length, &ignored);
	code = credential_answer_word(arena, json_get_string(body, "code"));
	message = credential_answer_word(arena, json_get_string(body, "message"));
	if (code != NULL || message != NULL) {
		struct error said = *error;

		error_set(error, said.kind, "%s%s%s%s%s", said.message, code != NULL ? " " : "", code != NULL ? code : "",
		          message != NULL ? ": " : "", message != NULL ? message : "");
		error->http_status = said.http_status;
		error->retry_after_ms = said.retry_after_ms;
		if (code != NULL)
			memcpy(error->code, code, strnlen(code, sizeof(error->code) - 1));
	}
	return false;
}

bool container_hear(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                    struct error *error)
{
	struct aws_credentials got = {0};
	const struct json *body;
	const char *token;
	const char *expiration;

	if (!credential_answer_check(who, response, error))
		return complain(arena, response, error);
	body = credential_answer_object(arena, who, response, error);
	if (body == NULL)
		return false;
	if (!credential_answer_field(arena, who, "AccessKeyId", json_get_string(body, "AccessKeyId"), &got.access_key_id,
	                             error) ||
	    !credential_answer_field(arena, who, "SecretAccessKey", json_get_string(body, "SecretAccessKey"),
	                             &got.secret_access_key, error))
		return false;
	token = json_get_string(body, "Token");
	expiration = json_get_string(body, "Expiration");
	if (json_get(body, "Token") != NULL &&
	    !credential_answer_field(arena, who, "Token", token, &got.session_token, error))
		return false;
	if ((json_get(body, "Token") != NULL || json_get(body, "Expiration") != NULL) &&
	    !credential_answer_time(who, "Expiration", expiration, &got.expires_at, error))
		return false;
	*out = got;
	return true;
}
