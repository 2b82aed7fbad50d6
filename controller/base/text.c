#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_MAX_MS (1000LL * 3600 * 1000)

/* What `at` points to before the first growth: never written. */
static char nothing[1];

void text_init(struct text *text, size_t max_bytes)
{
	*text = (struct text){.at = nothing, .max_bytes = max_bytes};
}

void text_done(struct text *text)
{
	if (!text)
		return;
	if (text->capacity)
		free(text->at);
	text_init(text, text->max_bytes);
}

void text_clear(struct text *text)
{
	text->length = 0;
	text->overflow = false;
	if (text->capacity)
		text->at[0] = '\0';
}

/* Room for `more` bytes and the NUL; false, and remembered, when that is over the maximum. */
static bool text_reserve(struct text *text, size_t more)
{
	if (text->overflow || more > text->max_bytes - text->length || more >= SIZE_MAX / 2 - text->length) {
		text->overflow = true;
		return false;
	}
	size_t needed = text->length + more + 1;
	if (needed <= text->capacity)
		return true;
	size_t capacity = text->capacity ? text->capacity : 64;
	while (capacity < needed)
		capacity *= 2;
	char *grown = realloc(text->capacity ? text->at : NULL, capacity);
	if (!grown)
		abort();
	text->at = grown;
	text->capacity = capacity;
	return true;
}

void text_append_bytes(struct text *text, const char *bytes, size_t length)
{
	if (!length || !text_reserve(text, length))
		return;
	memcpy(text->at + text->length, bytes, length);
	text->length += length;
	text->at[text->length] = '\0';
}

void text_append(struct text *text, const char *string)
{
	if (string)
		text_append_bytes(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
	char small[256];
	va_list arguments;
	va_list again;

	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(small, sizeof(small), format, arguments);
	va_end(arguments);
	if (length < 0)
		text->overflow = true;
	else if ((size_t)length < sizeof(small))
		text_append_bytes(text, small, (size_t)length);
	else if (text_reserve(text, (size_t)length)) {
		vsnprintf(text->at + text->length, (size_t)length + 1, format, again);
		text->length += (size_t)length;
	}
	va_end(again);
}

char *text_take(struct text *text, struct arena *arena)
{
	char *taken = NULL;

	if (!text->overflow && text->capacity) {
		taken = realloc(text->at, text->length + 1);
		if (!taken)
			abort();
		arena_defer(arena, free, taken);
		text->capacity = 0;
	} else if (!text->overflow) {
		taken = arena_copy(arena, "", 0);
	}
	text_done(text);
	return taken;
}

static bool is_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
	       c == '_' || c == '~';
}

void text_append_percent(struct text *text, const char *string)
{
	static const char digits[] = "0123456789ABCDEF";

	for (const char *at = string ? string : ""; *at;) {
		size_t plain = 0;
		while (is_unreserved((unsigned char)at[plain]))
			plain++;
		text_append_bytes(text, at, plain);
		at += plain;
		unsigned char c = (unsigned char)*at;
		if (c) {
			text_append_bytes(text, (const char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
			at++;
		}
	}
}

void text_append_hex(struct text *text, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	if (length >= SIZE_MAX / 2 || !text_reserve(text, 2 * length)) {
		text->overflow = true;
		return;
	}
	for (size_t i = 0; i < length; i++) {
		text->at[text->length++] = digits[bytes[i] >> 4];
		text->at[text->length++] = digits[bytes[i] & 15];
	}
	text->at[text->length] = '\0';
}

void text_append_number(struct text *text, double number)
{
	char printed[32];

	if (isnan(number) || isinf(number)) {
		text_append(text, isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(printed, sizeof(printed), "%.*g", digits, number);
		if (strtod(printed, NULL) == number)
			break;
	}
	text_append(text, printed);
}

const char *text_percent(struct arena *arena, const char *string)
{
	struct text text;

	text_init(&text, 3 * strlen(string));
	text_append_percent(&text, string);
	const char *copy = arena_copy(arena, text.at, text.length);
	text_done(&text);
	return copy;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

void text_append_base64(struct text *text, const char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < length; at += 3) {
		size_t count = length - at < 3 ? length - at : 3;
		uint32_t bits = 0;
		char group[4];

		for (size_t i = 0; i < 3; i++)
			bits = bits << 8 | (i < count ? (unsigned char)bytes[at + i] : 0U);
		for (size_t i = 0; i < 4; i++)
			group[i] = i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=';
		text_append_bytes(text, group, sizeof(group));
	}
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

char *text_base64_decode(struct arena *arena, const char *string, size_t *length)
{
	size_t digits = 0;
	size_t padding = 0;
	size_t used = 0;
	uint32_t bits = 0;
	char *out = arena_alloc(arena, strlen(string) / 4 * 3 + 4);

	for (const char *at = string; *at; at++) {
		int value = base64_value(*at);
		if (is_blank(*at))
			continue;
		if (*at == '=') {
			padding++;
			continue;
		}
		if (value < 0 || padding)
			return NULL;
		bits = (bits << 6 | (uint32_t)value) & 0xffffff;
		if (digits++ % 4)
			out[used++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)));
	}
	if ((digits + padding) % 4 || padding > 2)
		return NULL;
	out[used] = '\0';
	*length = used;
	return out;
}

char *text_trim(struct arena *arena, const char *string, size_t length)
{
	while (length && is_blank(*string)) {
		string++;
		length--;
	}
	while (length && is_blank(string[length - 1]))
		length--;
	return arena_copy(arena, string, length);
}

uint32_t text_hash(const char *bytes, size_t length)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619U;
	return hash;
}

bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_starts_with(const char *string, const char *prefix)
{
	return string && strncmp(string, prefix, strlen(prefix)) == 0;
}

bool text_parse_integer(const char *string, long long min, long long max, long long *out)
{
	const char *digit = string && *string == '-' ? string + 1 : string;
	char *end;

	if (!digit || *digit < '0' || *digit > '9')
		return false;
	errno = 0;
	long long value = strtoll(string, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = value;
	return true;
}

/* One "<digits><unit>" of a duration; *at moves behind it, *smallest_ms becomes its unit. */
static bool duration_part(const char **at, long long *smallest_ms, long long *part_ms)
{
	static const struct {
		const char *name;
		long long ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
	const char *digit = *at;
	long long count = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++) {
		count = count * 10 + (*digit - '0');
		if (count > DURATION_MAX_MS)
			return false;
	}
	if (digit == *at)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!text_starts_with(digit, units[i].name))
			continue;
		if (units[i].ms >= *smallest_ms)
			return false;
		*smallest_ms = units[i].ms;
		*part_ms = count * units[i].ms;
		*at = digit + strlen(units[i].name);
		return true;
	}
	return false;
}

bool text_parse_duration_ms(const char *string, long long *out_ms)
{
	long long total_ms = 0;
	long long smallest_ms = LLONG_MAX;
	const char *at = string;

	if (!string || !*string)
		return false;
	while (*at) {
		long long part_ms;
		if (!duration_part(&at, &smallest_ms, &part_ms))
			return false;
		total_ms += part_ms;
		if (total_ms > DURATION_MAX_MS)
			return false;
	}
	*out_ms = total_ms;
	return true;
}

bool text_all_digits(const char *string)
{
	return string != NULL && string[0] != '\0' && string[strspn(string, "0123456789")] == '\0';
}

bool text_parse_bool(const char *string, bool *out)
{
	if (text_equal(string, "true"))
		*out = true;
	else if (text_equal(string, "false"))
		*out = false;
	else
		return false;
	return true;
}

size_t text_utf8(const char *bytes, size_t length)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	if (size > length)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

size_t text_cut(const char *bytes, size_t length, size_t max_bytes)
{
	size_t start = length < max_bytes ? length : max_bytes;

	if (length < max_bytes)
		return length;
	for (size_t back = 1; back <= 4 && back <= start; back++) {
		unsigned char c = (unsigned char)bytes[start - back];
		if ((c & 0xc0) == 0x80)
			continue;
		size_t needs = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		return needs > back ? start - back : start;
	}
	return start;
}
