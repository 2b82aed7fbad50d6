#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The sentence goes into one log line and one status field: no control characters, no half characters. */
static void message_clean(char *message, size_t length, size_t size)
{
	if (length >= size)
		message[text_cut(message, size - 1, size - 1)] = '\0';
	for (char *at = message; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	}
}

bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
{
	struct error filled = {.kind = kind};
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(filled.message, sizeof(filled.message), format, arguments);
	va_end(arguments);
	message_clean(filled.message, length < 0 ? 0 : (size_t)length, sizeof(filled.message));
	*error = filled;
	return false;
}

bool error_wrap(struct error *error, const char *format, ...)
{
	char wrapped[2 * sizeof(error->message) + 4];
	va_list arguments;

	va_start(arguments, format);
	int prefix = vsnprintf(wrapped, sizeof(error->message), format, arguments);
	va_end(arguments);
	if (prefix < 0)
		return false;
	message_clean(wrapped, (size_t)prefix, sizeof(error->message));
	size_t used = strlen(wrapped);
	int rest = snprintf(wrapped + used, sizeof(wrapped) - used, ": %s", error->message);
	size_t length = used + (rest < 0 ? 0 : (size_t)rest);
	size_t kept = text_cut(wrapped, length, sizeof(error->message) - 1);
	memcpy(error->message, wrapped, kept);
	error->message[kept] = '\0';
	return false;
}

const char *error_kind_name(enum error_kind kind)
{
	switch (kind) {
	case ERROR_NONE:
		return "none";
	case ERROR_INPUT:
		return "input";
	case ERROR_UNREACHABLE:
		return "unreachable";
	case ERROR_TIMEOUT:
		return "timeout";
	case ERROR_THROTTLED:
		return "throttled";
	case ERROR_DENIED:
		return "denied";
	case ERROR_EXPIRED:
		return "expired";
	case ERROR_ABSENT:
		return "absent";
	case ERROR_CONFLICT:
		return "conflict";
	case ERROR_GONE:
		return "gone";
	case ERROR_BUSY:
		return "busy";
	case ERROR_REJECTED:
		return "rejected";
	case ERROR_SERVER:
		return "server";
	case ERROR_MALFORMED:
		return "malformed";
	case ERROR_LIMIT:
		return "limit";
	case ERROR_STALE:
		return "stale";
	case ERROR_CANCELED:
		return "canceled";
	}
	return "unknown";
}
