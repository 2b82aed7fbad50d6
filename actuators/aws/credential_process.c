#include "aws/credential_process.h"

#include <string.h>

#include "base/json.h"

#define WHAT "what credential_process wrote"

struct splitting {
	struct arena *arena;
	const char *at;
	char *room; /* for the words: no more than the line and a zero byte */
	const char **words;
	size_t count;
	size_t capacity;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Behind a backslash; within double quotes it protects these only. A line feed it protects is no part of the word. */
static void take_escaped(struct splitting *splitting, char quote, char *word, size_t *length)
{
	if (quote == '"' && strchr("\"\\$`\n", *splitting->at) == NULL)
		word[(*length)++] = '\\';
	if (*splitting->at != '\n')
		word[(*length)++] = *splitting->at;
	splitting->at++;
}

/* One word, which does not begin with a blank. False: it does not end. */
static bool take_word(struct splitting *splitting)
{
	char *word = splitting->room;
	size_t length = 0;
	char quote = '\0';

	for (char c = *splitting->at; c != '\0' && (quote != '\0' || !blank(c)); c = *splitting->at) {
		splitting->at++;
		if (c == '\\' && quote != '\'') {
			if (*splitting->at == '\0')
				return false;
			take_escaped(splitting, quote, word, &length);
		} else if (c == quote) {
			quote = '\0';
		} else if (quote == '\0' && (c == '"' || c == '\'')) {
			quote = c;
		} else {
			word[length++] = c;
		}
	}
	splitting->words = arena_grow(splitting->arena, splitting->words, splitting->count, &splitting->capacity,
	                              sizeof(*splitting->words));
	splitting->words[splitting->count++] = word;
	word[length] = '\0';
	splitting->room = word + length + 1;
	return quote == '\0';
}

bool credential_process_split(struct arena *arena, const char *line, const char *const **argv, struct error *error)
{
	struct splitting splitting = {.arena = arena, .at = line};

	if (strlen(line) > CREDENTIAL_PROCESS_MAX_BYTES)
		return error_set(error, ERROR_INPUT, "credential_process is longer than %d bytes: put it into a script",
		                 CREDENTIAL_PROCESS_MAX_BYTES);
	splitting.room = arena_alloc(arena, strlen(line) + 1);
	for (;;) {
		while (blank(*splitting.at))
			splitting.at++;
		if (*splitting.at == '\0')
			break;
		if (!take_word(&splitting))
			return error_set(error, ERROR_INPUT,
			                 "credential_process ends within quotes or with a backslash: close the quotes, or write "
			                 "\"\\\\\" for a backslash");
	}
	if (splitting.count == 0 || splitting.words[0][0] == '\0')
		return error_set(error, ERROR_INPUT, "credential_process names no program: write its path first");
	splitting.words =
		arena_grow(arena, splitting.words, splitting.count, &splitting.capacity, sizeof(*splitting.words));
	splitting.words[splitting.count] = NULL;
	*argv = splitting.words;
	return true;
}

/* A string that must be there, and a word. */
static bool take(const struct json *json, const char *key, bool needed, const char **out, struct error *error)
{
	const struct json *member = json_get(json, key);

	*out = json_string(member);
	if (member != NULL && *out == NULL)
		return error_set(error, ERROR_INPUT, WHAT ": %s is not a string", key);
	if (*out != NULL && (*out)[0] == '\0')
		*out = NULL;
	if (needed && *out == NULL)
		return error_set(error, ERROR_INPUT, WHAT " has no %s", key);
	if (!aws_credentials_check_word(key, *out, error))
		return error_wrap(error, WHAT);
	return true;
}

static bool take_expiration(const struct json *json, struct wallclock *out, struct error *error)
{
	const struct json *member = json_get(json, "Expiration");
	const char *string = json_string(member);

	if (member == NULL || (string != NULL && string[0] == '\0'))
		return true;
	if (string == NULL || !wallclock_parse(string, out) || out->us == 0)
		return error_set(error, ERROR_INPUT, WHAT ": Expiration is not a time like 2030-01-02T03:04:05Z");
	return true;
}

bool credential_process_hear(struct arena *arena, const char *body, size_t length, struct aws_credentials *out,
                             struct error *error)
{
	struct aws_credentials heard = {0};
	struct error unwanted = {0}; /* says more of the text than may be said */
	const struct json *json = json_parse(arena, body, length, &unwanted);
	const struct json *version = json_get(json, "Version");

	if (json == NULL || json_type(json) != JSON_OBJECT)
		return error_set(error, ERROR_INPUT, WHAT " is not a JSON object: it must print that and nothing else");
	if (json_integer(version, 0) != 1)
		return error_set(error, ERROR_INPUT, WHAT " has no \"Version\": 1, the only version there is");
	if (!take(json, "AccessKeyId", true, &heard.access_key_id, error) ||
	    !take(json, "SecretAccessKey", true, &heard.secret_access_key, error) ||
	    !take(json, "SessionToken", false, &heard.session_token, error) ||
	    !take_expiration(json, &heard.expires_at, error))
		return false;
	aws_credentials_copy(arena, &heard, out);
	return true;
}
