/*
 * Growable text with a maximum, and the few encodings that the wire needs.
 *
 * A text that would grow past its maximum stops growing and remembers it (`overflow`); callers check once, at the
 * end. The bytes are always NUL-terminated and belong to the text until text_done, or are moved with text_take.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct text {
	char *at; /* never NULL after text_init */
	size_t length;
	size_t capacity;
	size_t max_bytes;
	bool overflow;
};

void text_init(struct text *text, size_t max_bytes);
void text_done(struct text *text);
void text_clear(struct text *text);

void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hand the bytes to `arena` (freed with it) and leave the text empty and done. NULL on overflow. */
char *text_take(struct text *text, struct arena *arena);

/* RFC 3986 percent-encoding of everything outside A-Z a-z 0-9 - . _ ~, upper-case hex (SigV4's rule). */
void text_append_percent(struct text *text, const char *string);

/* Lower-case hex of `length` bytes. */
void text_append_hex(struct text *text, const unsigned char *bytes, size_t length);

/* Standard padded base64 of `length` bytes. */
void text_append_base64(struct text *text, const char *bytes, size_t length);

/* The shortest decimal form that reads back as the same number; "NaN", "+Inf", "-Inf" for the others. */
void text_append_number(struct text *text, double number);

/* Percent-encoded copy in `arena`. */
const char *text_percent(struct arena *arena, const char *string);

/* Standard padded base64, blanks ignored. NULL when it is not base64; *length gets the size. NUL-terminated. */
char *text_base64_decode(struct arena *arena, const char *string, size_t *length);

/* Copy of the string without leading and trailing white space. */
char *text_trim(struct arena *arena, const char *string, size_t length);

/* FNV-1a of `length` bytes: spreads names over the buckets of our tables; no defence against chosen names. */
uint32_t text_hash(const char *bytes, size_t length);

/* NULL-safe: two NULLs are equal. */
bool text_equal(const char *a, const char *b);

bool text_starts_with(const char *string, const char *prefix);

/* One digit 0-9 or more and nothing else, however large the number; false for NULL. */
bool text_all_digits(const char *string);

/* A whole decimal number within [min, max], nothing else around it. */
bool text_parse_integer(const char *string, long long min, long long max, long long *out);

/* "5m", "90s", "1h30m", "250ms" to milliseconds; false when it is not one or is over 1000 h. */
bool text_parse_duration_ms(const char *string, long long *out_ms);

/* "true" or "false" and nothing else. */
bool text_parse_bool(const char *string, bool *out);

/* Size of the UTF-8 character at `bytes`, 1 to 4; 0 when there is no valid one. `length` must not be 0. */
size_t text_utf8(const char *bytes, size_t length);

/* The most that may be kept of `length` bytes so that it is at most `max_bytes` and no character is cut in two. */
size_t text_cut(const char *bytes, size_t length, size_t max_bytes);

#endif
