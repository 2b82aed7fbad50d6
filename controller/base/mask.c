#include "base/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MASK "***"
#define NAMED_LEAST 4
#define LONG_LEAST 16
#define TOKEN_LEAST 64

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("+/_-.~%", c) != NULL);
}

struct word {
	const char *at;
	size_t length;
};

static bool ends_with(const struct word *word, const char *end)
{
	size_t size = strlen(end);

	return word->length >= size && strncasecmp(word->at + word->length - size, end, size) == 0;
}

static bool has_digit(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (isdigit((unsigned char)word[i]))
			return true;
	return false;
}

/* Is it called a secret by the word before it, with `gap` between them? After a colon alone plain words are prose: "Token: expired". */
static bool is_named(const struct word *before, const char *gap, const struct word *word)
{
	static const char *const names[] = {"key", "token", "secret", "password", "passwd", "credential", "signature"};
	size_t gap_length = (size_t)(word->at - gap);
	bool quoted = memchr(gap, '=', gap_length) != NULL || memchr(gap, '"', gap_length) != NULL ||
	              memchr(gap, '\'', gap_length) != NULL;
	bool assigned = quoted || (memchr(gap, ':', gap_length) != NULL && has_digit(word->at, word->length));

	if (word->length < NAMED_LEAST || strspn(gap, "=:\"' ") < gap_length)
		return false;
	if (ends_with(before, "bearer") || ends_with(before, "basic"))
		return true;
	for (size_t i = 0; assigned && i < sizeof names / sizeof *names; i++)
		if (ends_with(before, names[i]))
			return true;
	return false;
}

static bool looks_random(const struct word *word)
{
	size_t letters = 0;

	if (word->length < LONG_LEAST || *word->at == '/' || memchr(word->at, '.', word->length) != NULL)
		return word->length >= TOKEN_LEAST; /* a path, a host; or a token of several parts */
	for (size_t i = 0; i < word->length; i++)
		letters += isalpha((unsigned char)word->at[i]) != 0;
	return letters > 0 && has_digit(word->at, word->length);
}

void mask_secrets(char *sentence)
{
	char whole[MASK_MAX_BYTES];
	char *out = sentence;
	struct word before = {0};
	const char *gap = whole;

	snprintf(whole, sizeof whole, "%s", sentence);
	for (const char *at = whole; *at != '\0';) {
		struct word word = {at, 0};
		bool hide;

		while (in_word(at[word.length]))
			word.length++;
		if (word.length == 0) {
			*out++ = *at++;
			continue;
		}
		hide = looks_random(&word) || is_named(&before, gap, &word);
		memcpy(out, hide ? MASK : at, hide ? strlen(MASK) : word.length);
		out += hide ? strlen(MASK) : word.length;
		before = hide ? (struct word){0} : word;
		gap = at += word.length;
	}
	*out = '\0';
}
