/*
 * Two clocks that cannot be mixed: `instant` for measuring (monotonic, counts suspended time: CLOCK_BOOTTIME),
 * `wallclock` for writing down (UTC, milliseconds since 1970). Nothing here reads a clock; the client seam does.
 */
#ifndef BASE_INSTANT_H
#define BASE_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct instant {
	int64_t ms;
};

struct wallclock {
	int64_t us; /* microseconds since 1970-01-01T00:00:00Z; 0 = not set */
};

static inline struct instant instant_after(struct instant from, int64_t ms)
{
	return (struct instant){from.ms + ms};
}

static inline bool instant_reached(struct instant due, struct instant now)
{
	return now.ms >= due.ms;
}

static inline struct instant instant_earlier(struct instant a, struct instant b)
{
	return a.ms < b.ms ? a : b;
}

static inline int64_t instant_between_ms(struct instant from, struct instant to)
{
	return to.ms - from.ms;
}

static inline struct wallclock wallclock_after_ms(struct wallclock from, int64_t ms)
{
	return (struct wallclock){from.us + ms * 1000};
}

/* "2026-01-02T03:04:05Z" (Kubernetes metav1.Time). Not set gives "". */
const char *wallclock_rfc3339(struct wallclock at, struct arena *arena);

/* "2026-01-02T03:04:05.123456Z" (Kubernetes MicroTime: exactly six digits). */
const char *wallclock_micro(struct wallclock at, struct arena *arena);

/* "20260102T030405Z" (SigV4's x-amz-date). */
const char *wallclock_amz(struct wallclock at, struct arena *arena);

/* RFC 3339 with optional fraction and Z or numeric offset; also SigV4's basic form. False when it is neither. */
bool wallclock_parse(const char *string, struct wallclock *out);

/* "Sun, 06 Nov 1994 08:49:37 GMT" and no other form of HTTP's dates (RFC 9110, section 5.6.7). False when it is none. */
bool wallclock_parse_http(const char *string, struct wallclock *out);

#endif
