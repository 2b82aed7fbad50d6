#include "requeue.h"

int64_t requeue_backoff_ms(int failures, int64_t base_ms, int64_t max_ms, uint32_t random)
{
	int64_t delay_ms = base_ms;

	for (int i = 1; i < failures && delay_ms < max_ms; i++)
		delay_ms *= 2;
	if (delay_ms > max_ms)
		delay_ms = max_ms;
	/* Half of it is certain, so that a caller without luck does not come back at once. */
	return delay_ms / 2 + (int64_t)(random % 1024) * delay_ms / 2048;
}

static struct requeue again(const struct requeue_case *call, const struct error *error, int64_t base_ms)
{
	int64_t delay_ms = requeue_backoff_ms(call->attempts, base_ms, 20000, call->random);

	if (error->retry_after_ms > delay_ms)
		delay_ms = error->retry_after_ms > 60000 ? 60000 : error->retry_after_ms;
	return (struct requeue){.what = REQUEUE_AGAIN, .delay_ms = delay_ms};
}

/* Does a person allow another one? */
static bool allowed(const struct requeue_case *call, int good)
{
	return call->attempts < (call->attempts_max > 0 ? call->attempts_max : good);
}

static struct requeue paid(const struct requeue_case *call, const struct error *error, int64_t base_ms)
{
	struct requeue out = again(call, error, base_ms);

	out.costs = true;
	return out;
}

struct requeue requeue_decide(const struct requeue_case *call, const struct error *error)
{
	struct requeue out = {.what = REQUEUE_TELL, .throttled = error->kind == ERROR_THROTTLED};

	if (call->once)
		return out;
	switch (error->kind) {
	case ERROR_THROTTLED: /* refused before anything was done, so an effect may be repeated too */
		if (!allowed(call, REQUEUE_PATIENT_MAX))
			return out;
		out = paid(call, error, 1000);
		out.throttled = true;
		return out;
	case ERROR_BUSY: /* what an effect was built from is old by the time it may be repeated */
		return call->effect || !allowed(call, REQUEUE_PATIENT_MAX) ? out : again(call, error, 2000);
	case ERROR_EXPIRED: /* refused at the door */
		return call->renewed ? out : (struct requeue){.what = REQUEUE_AGAIN};
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_SERVER:
	case ERROR_MALFORMED:
		return call->effect || !allowed(call, REQUEUE_ATTEMPTS_MAX) ? out : paid(call, error, 250);
	default:
		return out;
	}
}
