#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/text.h"

#define VALUE_MAX_BYTES ((size_t)4096)
#define PAIRS_MAX 32
#define LINE_MAX_BYTES ((size_t)1024 * 1024) /* every pair at its maximum, every byte escaped, fits */

static _Atomic int least_level = LOG_INFO;
static _Atomic int line_format = LOG_TEXT;

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};

void log_configure(enum log_level least, enum log_format format)
{
	atomic_store(&least_level, (int)least);
	atomic_store(&line_format, (int)format);
}

bool log_parse_level(const char *name, enum log_level *out)
{
	for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
		if (text_equal(name, level_names[level])) {
			*out = (enum log_level)level;
			return true;
		}
	}
	return false;
}

/* C0, DEL and C1: a terminal obeys them, and a newline would forge a line. */
static bool is_control(const char *at, size_t size)
{
	unsigned char c = (unsigned char)at[0];

	return (size == 1 && (c < 0x20 || c == 0x7f)) || (size == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

static void append_control(struct text *line, const char *at, size_t size)
{
	switch (*at) {
	case '\n':
		text_append(line, "\\n");
		break;
	case '\r':
		text_append(line, "\\r");
		break;
	case '\t':
		text_append(line, "\\t");
		break;
	default:
		text_printf(line, "\\u%04x", (unsigned)(unsigned char)at[size - 1]);
	}
}

/* Escaped for both forms; `quoted` escapes what would end the quotes, too. */
static void append_escaped(struct text *line, const char *string, bool quoted)
{
	size_t left = text_cut(string, strnlen(string, VALUE_MAX_BYTES + 1), VALUE_MAX_BYTES);
	size_t size;

	for (const char *at = string; left; at += size, left -= size) {
		size = text_utf8(at, left);
		if (!size) {
			text_append(line, "\xef\xbf\xbd"); /* U+FFFD */
			size = 1;
			continue;
		}
		if (is_control(at, size)) {
			append_control(line, at, size);
			continue;
		}
		if (quoted && (*at == '"' || *at == '\\'))
			text_append(line, "\\");
		text_append_bytes(line, at, size);
	}
}

static void append_quoted(struct text *line, const char *string)
{
	text_append(line, "\"");
	append_escaped(line, string, true);
	text_append(line, "\"");
}

static bool needs_quotes(const char *value)
{
	if (!*value)
		return true;
	for (; *value; value++) {
		if ((unsigned char)*value <= ' ' || strchr("\"\\=\x7f", *value))
			return true;
	}
	return false;
}

static void append_head(struct text *line, bool json, enum log_level level, const char *message, struct arena *arena)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	struct wallclock at = {(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
	if (json) {
		text_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", wallclock_micro(at, arena),
		            level_names[level]);
		append_quoted(line, message);
	} else {
		text_printf(line, "%.8s %-5s ", wallclock_rfc3339(at, arena) + 11, level_names[level]);
		append_escaped(line, message, false);
	}
}

static void append_pair(struct text *line, bool json, const char *key, const char *value)
{
	text_append(line, json ? "," : " ");
	if (json)
		append_quoted(line, key);
	else
		append_escaped(line, key, false);
	text_append(line, json ? ":" : "=");
	if (json || needs_quotes(value))
		append_quoted(line, value);
	else
		append_escaped(line, value, false);
}

static void line_write(const struct text *line)
{
	ssize_t written;

	do
		written = write(STDERR_FILENO, line->at, line->length);
	while (written < 0 && errno == EINTR);
}

void log_event(enum log_level level, const char *message, ...)
{
	bool json = atomic_load(&line_format) == LOG_JSON;
	struct arena arena;
	struct text line;
	va_list pairs;
	int kept_errno = errno;

	if ((int)level < atomic_load(&least_level))
		return;
	arena_init(&arena, "log line", 4096);
	text_init(&line, LINE_MAX_BYTES);
	append_head(&line, json, level, message, &arena);
	va_start(pairs, message);
	for (int i = 0; i < PAIRS_MAX; i++) {
		const char *key = va_arg(pairs, const char *);
		if (!key)
			break;
		const char *value = va_arg(pairs, const char *);
		if (value)
			append_pair(&line, json, key, value);
	}
	va_end(pairs);
	text_append(&line, json ? "}\n" : "\n");
	line_write(&line);
	text_done(&line);
	arena_done(&arena);
	errno = kept_errno;
}
