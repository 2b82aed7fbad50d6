#include "change.h"

#include <stdio.h>
#include <string.h>

#include "evacuation.h"
#include "lock.h"
#include "requeue.h"
#include "state.h"

const struct scope *item_scope(const struct item *item)
{
	return &item->evacuation->facts->scope;
}

bool item_is_ours(const struct item *item)
{
	return item->has_record && string_list_has(&item->record.owners, item->evacuation->engine->cluster.owner);
}

void item_keep_look(struct item *item, const struct answer *answer)
{
	struct inquiry *before = item->inquiry;

	item->inquiry = answer->inquiry ? inquiry_hold(answer->inquiry) : NULL;
	inquiry_release(before);
	item->looked = answer->resource;
	item->looked_at = answer->sent_at;
	if (item->looked)
		item->absent_since = (struct instant){0};
}

bool item_absence_believed(struct item *item, struct instant now)
{
	if (item->absent_since.ms && instant_between_ms(item->absent_since, now) >= ABSENCE_MS)
		return true;
	if (!item->absent_since.ms)
		item->absent_since = now;
	item->look_due = instant_after(item->absent_since, ABSENCE_MS);
	return false;
}

bool item_back_believed(struct item *item, struct instant now)
{
	struct wallclock settled_by = wallclock_after_ms(item->recorded_at, OLD_ANSWER_MS);

	if (item->updates > 0 || (item->back_since.ms && instant_between_ms(item->back_since, now) >= OLD_ANSWER_MS))
		return true;
	if (item->recorded_at.us && settled_by.us <= engine_wall(item->evacuation->engine).us)
		return true;
	if (!item->back_since.ms)
		item->back_since = now;
	item->look_due = instant_after(item->back_since, OLD_ANSWER_MS);
	return false;
}

bool item_subnets_absence_believed(struct item *item, struct instant now)
{
	struct evacuation *evacuation = item->evacuation;

	if (!item->subnets_absent_since.ms) {
		item->subnets_absent_since = now;
		item->subnets_absent_serial = evacuation->facts_serial;
	}
	if (instant_between_ms(item->subnets_absent_since, now) >= ABSENCE_MS) {
		if (evacuation->facts->began.ms >= item->subnets_absent_since.ms + ABSENCE_MS - SUBNETS_AGAIN_MS &&
		    evacuation->facts_serial > item->subnets_absent_serial)
			return true;
		item->look_due = instant_after(now, SUBNETS_AGAIN_MS);
	} else {
		item->look_due = instant_after(item->subnets_absent_since, ABSENCE_MS);
	}
	if (evacuation->observe_failures == 0) /* else its backoff stands */
		evacuation->observe_due =
			instant_earlier(evacuation->observe_due, instant_after(item->look_due, -SUBNETS_AGAIN_MS));
	return false;
}

/* "arn:aws:autoscaling:us-east-1:123456789012:…": the fourth and the fifth part. */
bool item_is_in_account(const struct item *item)
{
	const struct scope *scope = item_scope(item);
	const char *at = item->change.id;
	char expected[128];

	if (!text_starts_with(at, "arn:"))
		return true;
	for (int colons = 0; colons < 3 && at; colons++)
		at = strchr(at + (colons > 0), ':');
	snprintf(expected, sizeof(expected), ":%s:%s:", scope->region, scope->account_id);
	return at && text_starts_with(at, expected);
}

bool item_may_go_stale(struct item *item)
{
	return ++item->stales <= STALES_MAX;
}

static const struct step *failed(struct item *item, struct instant now, const char *reason)
{
	item->failures++;
	item->retry_at =
		instant_after(now, requeue_backoff_ms(item->failures, 10000, 300000, engine_random(item->evacuation->engine)));
	item_become(item, ITEM_FAILED, reason);
	items_retry_at(&item->evacuation->items, item->retry_at);
	log_event(LOG_WARN, "a change failed and will be tried again", "evacuation", item->evacuation->manifest.name,
	          "kind", item->change.kind, "name", item->change.name, "reason", reason, NULL);
	return NULL;
}

const struct step *item_fail(struct item *item, const struct answer *answer)
{
	return failed(item, answer->now, answer->error->message);
}

const struct step *item_fail_because(struct item *item, struct instant now, const char *reason)
{
	return failed(item, now, reason);
}

static void suspect_until(struct item *item, struct wallclock until)
{
	if (until.us > item->unanswered_until.us)
		item->unanswered_until = until;
}

bool item_silence(struct item *item, const struct answer *answer)
{
	switch (answer->error->kind) {
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_SERVER:
	case ERROR_MALFORMED:
	case ERROR_LIMIT:
		suspect_until(item, wallclock_after_ms(answer->signed_at, UNANSWERED_MS));
		item->ours_until = item->unanswered_until;
		return true;
	default:
		return false;
	}
}

static struct instant next_on_grid(struct instant now, int64_t grid_ms)
{
	return (struct instant){(now.ms / grid_ms + 1) * grid_ms};
}

/*
 * What puts back may land late without harm, as long as nobody else's change is in what it was built from: that would be undone.
 */
static bool may_be_updating(const struct item *item)
{
	return item->record.state == RECORD_INTENT ||
	       (item->record.state == RECORD_RESTORING && registration_is_shared(item->evacuation));
}

void item_suspect_predecessor(struct item *item)
{
	struct engine *engine = item->evacuation->engine;
	bool shared = item->has_record && item->record.owners.count > 1;
	struct wallclock since;
	bool own, mine, alone;

	if (!item->has_record || !may_be_updating(item))
		return;
	own = engine_wrote(engine, item->record.attempt, 0);
	mine = own && item->first_attempt && engine_wrote(engine, item->record.attempt, item->first_attempt);
	if (mine && !shared)
		return; /* in a shared record it may have been written over another owner's */
	/* Neither another owner's process nor an evacuation before this one is bounded by when we took the lease. */
	alone = !own && !shared && item_is_ours(item);
	since = alone ? engine_acting_since(engine) : wallclock_after_ms(engine_wall(engine), INTENDED_MS);
	if (item->record.updated_at.us >
	    since.us) /* whoever sent it may have been an owner that has left since: that stands in the record */
		since = item->record.updated_at;
	suspect_until(item, wallclock_after_ms(since, UNANSWERED_MS));
	if (!mine) /* another owner's has a lock of its own */
		item->ours_until = item->unanswered_until;
}

struct instant item_look_together(const struct item *item, struct instant now)
{
	return item->evacuation->items.changing > 1 ? next_on_grid(now, TOGETHER_MS) : now;
}

static void ask_look(struct item *item, struct instant due, struct ask *out)
{
	out->what = ASK_LOOK;
	out->place = item->evacuation->place;
	out->due = due;
	out->item = item;
}

void item_ask_look(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	(void)wall;
	(void)arena;
	ask_look(item, item->look_due, out);
}

/* On a common grid, so that looks gather into one request. */
void item_ask_settle(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)wall;
	(void)arena;
	ask_look(item, next_on_grid(now, item->evacuation->engine->settings->poll_ms), out);
}

void item_ask_update(struct item *item, const struct change *change, enum direction direction, struct arena *arena,
                     struct ask *out)
{
	out->what = ASK_HTTP;
	out->place = item->evacuation->place;
	out->effect = true;
	out->fresh_until = lock_bounds(item, instant_after(item->looked_at, FRESH_MS));
	item->actuator->update(item_scope(item), change, item->looked, direction, arena, &out->request);
}

void item_ask_restore(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_suspect_predecessor(item);
	item_ask_journal(item, JOURNAL_RESTORE, wall, arena, out);
	out->call.unanswered_until = item->unanswered_until;
}

void item_ask_close(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	item_ask_journal(item, JOURNAL_CLOSE, wall, arena, out);
	/* What could still land at the time that the last look speaks of may have landed since. */
	if (item->looked_at.ms)
		out->call.now = wallclock_after_ms(wall, -instant_between_ms(item->looked_at, now) - OLD_ANSWER_MS);
	out->call.attempt = item->record.attempt; /* a compare-and-set on the record as read */
}

void item_ask_journal(struct item *item, enum journal_verb verb, struct wallclock wall, struct arena *arena,
                      struct ask *out)
{
	struct engine *engine = item->evacuation->engine;

	if (!item->first_attempt)
		item->first_attempt = engine->attempts + 1;
	out->what = ASK_JOURNAL;
	out->place = item->evacuation->place;
	out->effect = true;
	out->call = (struct journal_call){
		.verb = verb,
		.zone_id = arena_string(arena, item->evacuation->manifest.zone_id),
		.resource_id = item->change.id,
		.owner = engine->cluster.owner,
		.attempt = engine_new_attempt(engine, arena),
		.now = wall,
		.record = item->record, /* as last read: what the condition compares with */
	};
}
