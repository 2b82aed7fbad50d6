#include "repeat.h"

#include "aws/protocol.h"
#include "change.h"
#include "clock.h"
#include "exchange.h"
#include "prepare.h"
#include "requeue.h"
#include "state.h"

#define HOLD_MAX_MS 60000

/* An eviction is told by its budget when to come again, and what is urgent has a pace of its own. */
static bool heeds_holds(const struct exchange *exchange)
{
	return !exchange->ask.once && !exchange->ask.urgent;
}

static void note_retry_after(struct engine *engine, const struct exchange *exchange, const struct error *error)
{
	int64_t ms = error->retry_after_ms > HOLD_MAX_MS ? HOLD_MAX_MS : error->retry_after_ms;

	if (ms > 0 && heeds_holds(exchange))
		holds_set(&engine->holds, exchange->ask.place, exchange->ask.request.operation,
		          instant_after(engine_now(engine), ms));
}

bool repeat_is_held(const struct engine *engine, struct exchange *exchange, struct instant now)
{
	struct instant until = {0};

	if (heeds_holds(exchange))
		until = holds_until(&engine->holds, exchange->ask.place, exchange->ask.request.operation);
	if (instant_reached(until, now))
		return false;
	exchange->ask.due = until;
	return true;
}

static struct retry_quota *quota_of(struct engine *engine, const struct exchange *exchange)
{
	if (!exchange->ask.place)
		return &engine->kube_quota;
	return place_quota(exchange->ask.place, exchange->ask.request.service);
}

/* What a refusal at the door says of who we are, or of our clock: whoever asked, and however often. */
static void learn_from_refusal(struct engine *engine, const struct exchange *exchange, const struct error *error)
{
	bool kube = !exchange->ask.place;

	if (error->kind == ERROR_EXPIRED && kube) {
		prepare_read_files(engine, true);
		login_refused(engine, exchange->sent_at);
	} else if (error->kind == ERROR_EXPIRED) {
		identity_refused(engine, exchange->sent_at, error);
	} else if (error->kind == ERROR_UNREACHABLE && kube) {
		prepare_read_files(engine, true); /* a handshake may have failed for an old certificate */
	}
}

/* Refused because of the time it was signed with, which was wrong and no longer is. */
static bool repeat_by_clock(struct engine *engine, struct exchange *exchange, const struct error *error)
{
	if (!exchange->ask.place || exchange->reclocked || !aws_is_skew(error) ||
	    !clock_set_since(engine, exchange->sent_at))
		return false;
	exchange->reclocked = true;
	return true;
}

/* It was sent whole and nothing came back: what it puts may appear as long as its signature is good. */
static void suspect_ghost(const struct exchange *exchange, const struct error *error)
{
	struct place *place = exchange->ask.place;
	struct wallclock until = wallclock_after_ms(exchange->signed_at, UNANSWERED_MS);

	if (exchange->ask.what == ASK_JOURNAL && exchange->ask.call.verb == JOURNAL_INTENT &&
	    error->kind == ERROR_TIMEOUT && until.us > place->ghosts_until.us)
		place->ghosts_until = until;
}

bool repeat_call(struct engine *engine, struct exchange *exchange, const struct error *error)
{
	struct requeue_case what = {
		.effect =
			exchange->ask.effect && exchange->ask.what != ASK_JOURNAL, /* the journal tells its own lost answers */
		.once = exchange->ask.once,
		.renewed = exchange->renewed,
		.attempts = exchange->attempts,
		.attempts_max = exchange->ask.place ? engine->settings->max_attempts : 0,
		.random = engine_random(engine),
	};
	struct requeue requeue = requeue_decide(&what, error);

	if (repeat_by_clock(engine, exchange, error)) { /* it says nothing of who we are */
		exchange_queue_again(engine, exchange, 0);
		return true;
	}
	learn_from_refusal(engine, exchange, error);
	suspect_ghost(exchange, error);
	note_retry_after(engine, exchange, error);
	if (requeue.throttled && exchange->limiter)
		limiter_throttled(exchange->limiter, engine_now(engine));
	if (requeue.what == REQUEUE_TELL)
		return false;
	if (requeue.costs && !retry_quota_take(quota_of(engine, exchange), error, &exchange->quota_taken))
		return false;
	exchange->renewed |= error->kind == ERROR_EXPIRED;
	/* A connection that is silent is not asked again: it may lead nowhere. One that broke is no longer there. */
	exchange->ask.request.fresh_connection |= error->kind == ERROR_TIMEOUT;
	exchange_queue_again(engine, exchange, requeue.delay_ms);
	log_event(LOG_DEBUG, "call is repeated", "operation", exchange->ask.request.operation, "error", error->message,
	          NULL);
	return true;
}

void repeat_succeeded(struct engine *engine, const struct exchange *exchange)
{
	retry_quota_return(quota_of(engine, exchange), exchange->quota_taken);
	if (exchange->ask.place)
		identity_accepted(engine, exchange->sent_at);
}
