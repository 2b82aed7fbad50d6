#include "lock.h"

#include "change.h"
#include "evacuation.h"
#include "journal/dynamodb_lock.h"
#include "state.h"

bool lock_is_wanted(const struct item *item)
{
	const struct evacuation *evacuation = item->evacuation;

	return registration_is_shared(evacuation) && instant_reached(item->locked_until, engine_now(evacuation->engine));
}

static struct resource_lock lock_of(const struct item *item, struct arena *arena)
{
	const struct engine *engine = item->evacuation->engine;

	return (struct resource_lock){
		.resource_id = item->change.id,
		.owner = engine->cluster.owner,
		.zone_id = item->evacuation->manifest.zone_id,
		.attempt = engine_attempt(engine, item->lock_number, arena),
	};
}

void lock_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;
	struct engine *engine = item->evacuation->engine;
	struct resource_lock lock;

	(void)now;
	item->lock_number = ++engine->attempts;
	lock = lock_of(item, arena);
	out->what = ASK_HTTP;
	out->place = item->evacuation->place;
	out->effect = true;
	dynamodb_ask_lock(arena, engine->settings->table, &lock, wall, &out->request);
}

bool lock_hear(struct item *item, const struct answer *answer, bool *busy)
{
	*busy = answer->error && answer->error->kind == ERROR_CONFLICT;
	if (answer->error)
		return false;
	item->locked_until = instant_after(answer->sent_at, LOCK_WORK_MS);
	item->lock_updates = item->updates;
	return true;
}

struct instant lock_bounds(const struct item *item, struct instant fresh_until)
{
	if (!registration_is_shared(item->evacuation))
		return fresh_until;
	if (!registration_is_fresh(item->evacuation) || lock_is_wanted(item)) /* what was begun without it: look again */
		return item->looked_at;
	return instant_earlier(fresh_until, item->locked_until);
}

/* Whatever comes of it: a lock that stays ends by itself. */
static void unlocked(void *self, struct exchange *exchange, const struct answer *answer)
{
	(void)self;
	(void)exchange;
	(void)answer;
}

void lock_release(struct item *item)
{
	struct engine *engine = item->evacuation->engine;
	struct exchange *exchange;
	struct resource_lock lock;

	if (item->locked_until.ms == 0)
		return;
	item->locked_until = (struct instant){0};
	if (item->ours_until.us > engine_wall(engine).us)
		return;
	exchange = exchange_new(engine, unlocked, NULL);
	lock = lock_of(item, &exchange->arena);
	exchange->ask.what = ASK_HTTP;
	exchange->ask.place = item->evacuation->place;
	exchange->ask.effect = true;
	if (item->updates > item->lock_updates)
		exchange->ask.due = instant_after(engine_now(engine), OLD_ANSWER_MS);
	dynamodb_ask_unlock(&exchange->arena, engine->settings->table, &lock, &exchange->ask.request);
	exchange_queue(engine, exchange);
}
