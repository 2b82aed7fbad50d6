/*
 * How many calls a second: a token bucket per endpoint and call class, at the published quota, with a window that
 * halves when the service throttles and grows back by a tenth of the full rate each second without throttling.
 *
 * Pure: time is an argument. One limiter is one bucket; the engine keeps one per (service, call class).
 */
#ifndef NET_LIMITER_H
#define NET_LIMITER_H

#include <stdbool.h>

#include "base/instant.h"

struct limiter {
	double rate_per_s;  /* published, sustained */
	double burst_count; /* published bucket size, >= 1 */
	double share;       /* of rate in use now, 0.05 .. 1 */
	double tokens;
	struct instant refilled;
	struct instant throttled; /* when the share was last halved */
};

void limiter_init(struct limiter *limiter, double rate_per_s, double burst_count, struct instant now);

/* Take one token if there is one. */
bool limiter_take(struct limiter *limiter, struct instant now);

/* When limiter_take can next succeed. */
struct instant limiter_ready(const struct limiter *limiter, struct instant now);

/* The service answered "slow down": halve the share (at most once a second) and empty the bucket. */
void limiter_throttled(struct limiter *limiter, struct instant now);

#endif
