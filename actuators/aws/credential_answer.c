#include "aws/credential_answer.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define WORD_MAX_BYTES 200

static enum error_kind kind_of_status(int status)
{
	switch (status) {
	case 401:
	case 403:
		return ERROR_DENIED;
	case 408:
		return ERROR_SERVER;
	case 429:
		return ERROR_THROTTLED;
	default:
		return status >= 500 ? ERROR_SERVER : ERROR_REJECTED;
	}
}

bool credential_answer_check(const char *who, const struct http_response *response, struct error *error)
{
	if (response->error.kind != ERROR_NONE) {
		*error = response->error;
		error->http_status = response->status;
		return error_wrap(error, "%s", who);
	}
	if (response->status == 0)
		return error_set(error, ERROR_UNREACHABLE, "%s gave no answer", who);
	if (response->body_length > CREDENTIAL_ANSWER_MAX_BYTES)
		error_set(error, ERROR_LIMIT, "%s answered %d with more than %d bytes", who, response->status,
		          CREDENTIAL_ANSWER_MAX_BYTES);
	else if (response->status != 200)
		error_set(error, kind_of_status(response->status), "%s answered %d", who, response->status);
	else
		return true;
	error->http_status = response->status;
	error->retry_after_ms = http_retry_after_ms(response);
	return false;
}

bool credential_answer_may_pass(const struct error *error)
{
	switch (error->kind) {
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_THROTTLED:
	case ERROR_SERVER:
	case ERROR_MALFORMED:
		return true;
	default:
		return false;
	}
}

const struct json *credential_answer_object(struct arena *arena, const char *who, const struct http_response *response,
                                            struct error *error)
{
	struct error ignored;
	const struct json *body = json_parse(arena, response->body, response->body_length, &ignored);

	if (json_type(body) == JSON_OBJECT)
		return body;
	if (response->body_length == 0)
		error_set(error, ERROR_MALFORMED, "%s answered %d without a body", who, response->status);
	else
		error_set(error, ERROR_MALFORMED, "%s answered %d with %zu bytes that are no JSON object", who,
		          response->status, response->body_length);
	error->http_status = response->status;
	return NULL;
}

const char *credential_answer_word(struct arena *arena, const char *word)
{
	size_t length = word != NULL ? strlen(word) : 0;
	char *line;

	if (length == 0)
		return NULL;
	line = arena_copy(arena, word, text_cut(word, length, WORD_MAX_BYTES));
	for (char *at = line; *at != '\0';) {
		size_t size = text_utf8(at, strlen(at));

		if (size == 0 || iscntrl((unsigned char)*at))
			*at = size == 0 ? '?' : ' ';
		at += size == 0 ? 1 : size;
	}
	return line;
}

bool credential_answer_field(struct arena *arena, const char *who, const char *name, const char *value,
                             const char **out, struct error *error)
{
	if (value == NULL || value[0] == '\0')
		return error_set(error, ERROR_MALFORMED, "%s answered without %s", who, name);
	for (const char *at = value; *at != '\0'; at++) {
		if (!isgraph((unsigned char)*at))
			return error_set(error, ERROR_MALFORMED,
			                 "%s answered with a blank or another character that is not printable ASCII in %s", who,
			                 name);
	}
	*out = arena_string(arena, value);
	return true;
}

bool credential_answer_time(const char *who, const char *name, const char *value, struct wallclock *out,
                            struct error *error)
{
	if (value == NULL || value[0] == '\0')
		return error_set(error, ERROR_MALFORMED, "%s answered without %s", who, name);
	if (!wallclock_parse(value, out) || out->us == 0)
		return error_set(error, ERROR_MALFORMED, "%s answered with a %s that is no time", who, name);
	return true;
}
