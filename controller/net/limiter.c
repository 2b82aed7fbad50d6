#include "net/limiter.h"

#include <math.h>

static const double LEAST_SHARE = 0.05;
static const double GROWTH_PER_S = 0.1;
static const double ROUNDING = 1e-6;

enum { HALVE_EVERY_MS = 1000 };

/* Tokens that arrive within `seconds` at a share that grows until it is 1. */
static double refill(const struct limiter *limiter, double seconds)
{
	double growing_s = (1.0 - limiter->share) / GROWTH_PER_S;

	if (seconds <= growing_s)
		return limiter->rate_per_s * (limiter->share * seconds + GROWTH_PER_S * seconds * seconds / 2);
	return limiter->rate_per_s * ((limiter->share + 1.0) / 2 * growing_s + (seconds - growing_s));
}

/* The inverse of refill. */
static double seconds_until(const struct limiter *limiter, double tokens)
{
	double share = limiter->share;
	double growing_s = (1.0 - share) / GROWTH_PER_S;
	double while_growing = refill(limiter, growing_s);

	if (tokens > while_growing)
		return growing_s + (tokens - while_growing) / limiter->rate_per_s;
	return (sqrt(share * share + 2 * GROWTH_PER_S * tokens / limiter->rate_per_s) - share) / GROWTH_PER_S;
}

static void advance(struct limiter *limiter, struct instant now)
{
	double seconds = (double)instant_between_ms(limiter->refilled, now) / 1000;

	if (seconds <= 0)
		return;
	limiter->tokens = fmin(limiter->burst_count, limiter->tokens + refill(limiter, seconds));
	limiter->share = fmin(1.0, limiter->share + GROWTH_PER_S * seconds);
	limiter->refilled = now;
}

void limiter_init(struct limiter *limiter, double rate_per_s, double burst_count, struct instant now)
{
	*limiter = (struct limiter){
		.rate_per_s = rate_per_s,
		.burst_count = fmax(1.0, burst_count),
		.share = 1.0,
		.tokens = fmax(1.0, burst_count),
		.refilled = now,
		.throttled = instant_after(now, -HALVE_EVERY_MS),
	};
}

bool limiter_take(struct limiter *limiter, struct instant now)
{
	advance(limiter, now);
	if (limiter->tokens < 1.0 - ROUNDING)
		return false;
	limiter->tokens = fmax(0.0, limiter->tokens - 1.0);
	return true;
}

struct instant limiter_ready(const struct limiter *limiter, struct instant now)
{
	struct limiter then = *limiter;

	advance(&then, now);
	if (then.tokens >= 1.0 - ROUNDING)
		return now;
	return instant_after(now, (int64_t)ceil(seconds_until(&then, 1.0 - then.tokens) * 1000));
}

void limiter_throttled(struct limiter *limiter, struct instant now)
{
	advance(limiter, now);
	limiter->tokens = 0;
	if (instant_between_ms(limiter->throttled, now) < HALVE_EVERY_MS)
		return;
	limiter->share = fmax(LEAST_SHARE, limiter->share / 2);
	limiter->throttled = now;
}
