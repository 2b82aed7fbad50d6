#include "stall.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void stall_set(struct stall *stall, const char *reason, const char *format, ...)
{
	va_list arguments;
	char whole[2 * sizeof(stall->message)];

	snprintf(stall->reason, sizeof(stall->reason), "%s", reason);
	va_start(arguments, format);
	vsnprintf(whole, sizeof(whole), format, arguments);
	va_end(arguments);
	snprintf(stall->message, sizeof(stall->message), "%.*s",
	         (int)text_cut(whole, strlen(whole), sizeof(stall->message) - 1), whole);
}

void stall_from_error(struct stall *stall, const char *subject, const struct error *error)
{
	char reason[64];

	switch (error->kind) {
	case ERROR_DENIED:
		stall_set(stall, "AccessDenied", "%s; check the credentials and deploy/iam/policy.json", error->message);
		break;
	case ERROR_EXPIRED:
		stall_set(stall, strstr(error->code, "Expired") ? "CredentialsExpired" : "CredentialsRefused", "%s",
		          error->message);
		break;
	case ERROR_INPUT:
		stall_set(stall, "InvalidRequest", "%s", error->message);
		break;
	case ERROR_REJECTED:
	case ERROR_MALFORMED:
	case ERROR_LIMIT:
		snprintf(reason, sizeof(reason), "%sRejected", subject);
		stall_set(stall, reason, "%s", error->message);
		break;
	default:
		snprintf(reason, sizeof(reason), "%sUnreachable", subject);
		stall_set(stall, reason, "%s; it is tried again by itself", error->message);
	}
}
