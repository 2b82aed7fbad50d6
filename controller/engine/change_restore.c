#include "change.h"

#include "domain/delta.h"
#include "evacuation.h"
#include "event.h"
#include "lock.h"
#include "state.h"

/* A process that has decided so often has met something it does not understand. */
#define ROUNDS_MAX 400
/* A record that was last written so long ago is claimed again before its resource is changed: what is sent then has landed long before it may be
 * joined. */
#define CLAIMED_ANEW_MS (4 * 60 * 1000)

static const struct step step_rewrite, step_restore, step_leave, step_look, step_lock, step_update, step_settle,
	step_close;

static const struct step *end(struct item *item, enum item_state state, const char *reason)
{
	item_become(item, state, reason);
	item_set_record(item, NULL);
	item_set_held(item, false);
	item->excluded = false;
	item->failures = 0;
	item->evacuation->engine->proved = true;
	return NULL;
}

/* restore: the record says that it is being put back, before anything is */

static void restore_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	item_become(self, ITEM_RESTORING, NULL);
	item_ask_restore(self, now, wall, arena, out);
}

/* Others want it out: whoever is not the last owner only leaves, and says so. */
static const struct step *held_by(struct item *item, const struct record *record)
{
	struct string_list others = {0};

	arena_reset(&item->decision_arena);
	for (size_t i = 0; i < record->owners.count; i++)
		if (!text_equal(record->owners.at[i], item->evacuation->engine->cluster.owner))
			string_list_add(&others, &item->decision_arena, record->owners.at[i]);
	return end(item, ITEM_HELD_BY_OTHERS,
	           arena_printf(&item->decision_arena, "still held by %s; this one has left",
	                        others.count ? string_list_join(&others, &item->decision_arena, ", ") : "others"));
}

/* The record is not as it was read: take what is there, and go on if it is still ours. */
static const struct step *decide_afresh(struct item *item, const struct answer *answer)
{
	const struct record *record = &answer->journal->record;

	if (!record->resource_id) {
		item_set_record(item, NULL);
		return &step_rewrite;
	}
	item_set_record(item, record);
	if (!item_is_ours(item))
		return held_by(item, record);
	if (++item->rounds > ROUNDS_MAX)
		return item_fail_because(item, answer->now, "its record changed each time it was to be put back");
	return &step_restore;
}

static const struct step *restore_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	item->look_due = item_look_together(item, answer->now);
	switch (answer->journal->verdict) {
	case JOURNAL_DONE_NOW:
	case JOURNAL_ALREADY:
		item_set_record(item, &answer->journal->record);
		return &step_look;
	case JOURNAL_STILL_HELD:
		item_set_record(item, &answer->journal->record);
		return &step_leave;
	case JOURNAL_ABSENT: /* somebody deleted the record of what we took out: it is written again, and then put back */
		item_set_record(item, NULL);
		return ++item->rounds < ROUNDS_MAX
		           ? &step_rewrite
		           : item_fail_because(item, answer->now, "its record vanishes each time it is written");
	default:
		return decide_afresh(item, answer);
	}
}

/* rewrite: the journal lost what this process, or the status, still knows */

static void rewrite_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_become(item, ITEM_RESTORING, "its record is gone from the journal and is written again");
	item_ask_journal(item, JOURNAL_INTENT, wall, arena, out);
	out->call.record =
		record_of_change(&item->change, out->call.zone_id, out->call.owner, out->call.attempt, wall, arena);
}

static const struct step *rewrite_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	return decide_afresh(item, answer);
}

/* leave: whoever is not the last owner only leaves */

static void leave_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_ask_journal(item, JOURNAL_LEAVE, wall, arena, out);
	out->call.unanswered_until = item->unanswered_until; /* of restore, which was asked before */
}

static const struct step *leave_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	switch (answer->journal->verdict) {
	case JOURNAL_LAST_OWNER:
	case JOURNAL_ABSENT:
		return &step_restore;
	case JOURNAL_NOT_OURS: /* it is not as it was read */
		return decide_afresh(item, answer);
	default:
		return held_by(item, &answer->journal->record);
	}
}

/* look */

static const struct step *close_as(struct item *item, enum item_state state, const char *reason)
{
	item->ends_as = state;
	item_set_changing(item, false);
	lock_release(item);
	item_become(item, ITEM_RESTORING, reason);
	return &step_close;
}

/* It is to be updated, as it was just seen. */
static const struct step *update(struct item *item, struct instant now)
{
	if (!registration_is_fresh(item->evacuation)) {
		item->rounds = 0; /* it takes as long as it takes */
		item_set_changing(item, false);
		item_become(item, ITEM_RESTORING, REGISTRATION_SENTENCE);
		item->look_due = instant_after(now, REGISTRATION_WAIT_MS);
		return &step_look;
	}
	return lock_is_wanted(item) ? &step_lock : &step_update;
}

/* Are there subnets of ours that neither it nor the account shows? */
static bool subnets_missing(const struct item *item)
{
	for (size_t i = 0; i < item->change.removed.count; i++)
		if (!string_list_has(&item->looked->subnets, item->change.removed.at[i]) &&
		    !scope_subnet(item_scope(item), item->change.removed.at[i]))
			return true;
	return false;
}

/* Whatever can be put back is back; the rest seems to be gone, and that is not believed at once. */
static const struct step *wait_for_subnets(struct item *item)
{
	item_set_changing(item, false);
	item_become(item, ITEM_RESTORING,
	            "a subnet that was taken out is not to be seen; a second look, a minute later, will tell");
	return &step_look;
}

/* Closing what an answer from before the change shows would lose what was taken out. */
static const struct step *wait_for_second_look(struct item *item)
{
	item_set_changing(item, false);
	item_become(item, ITEM_RESTORING, "it reads as it was before it was taken out; a second look will tell");
	return &step_look;
}

/* The object is about to vanish, and its status with it. */
static void tell_unsettled(struct item *item, const char *why)
{
	event_tell(item->evacuation, true, "NotSettled",
	           arena_printf(&item->decision_arena, "%s %s has its subnets back, but half an hour later %s",
	                        item->change.kind, item->change.name, why ? why : "it has not settled"));
}

/* Another owner may take a record over that is left alone for long (JOURNAL_ABANDONED_MS): it is claimed anew in good time. */
static const struct step *put_back(struct item *item, struct instant now)
{
	struct wallclock limit = wallclock_after_ms(engine_wall(item->evacuation->engine), -CLAIMED_ANEW_MS);

	return item->record.updated_at.us < limit.us ? &step_restore : update(item, now);
}

/*
 * While somebody else is registered the look that closes the record is made under the lock: an update of the other one's, built from an older read,
 * would undo what is seen here.
 */
static const struct step *judge_back(struct item *item, struct instant now)
{
	const char *why = NULL;

	if (!item_back_believed(item, now))
		return wait_for_second_look(item);
	if (subnets_missing(item)) {
		if (!item_subnets_absence_believed(item, now))
			return wait_for_subnets(item);
		if (lock_is_wanted(item))
			return &step_lock;
		return close_as(item, ITEM_RESTORED, "some of the subnets that were taken out have been deleted since");
	}
	arena_reset(&item->decision_arena);
	switch (item->actuator->settled(item_scope(item), &item->change, item->looked, DIRECTION_BACK,
	                                &item->decision_arena, &why)) {
	case SETTLING_DONE:
		return lock_is_wanted(item) ? &step_lock : close_as(item, ITEM_RESTORED, NULL);
	case SETTLING_FAILED: /* it reads right, but does not work so: the same once more */
		return item->updates == 0 ? put_back(item, now)
		                          : item_fail_because(item, now, why ? why : "it could not be put back");
	case SETTLING_PENDING:
		break;
	}
	item_set_changing(item, false);
	if (!item->applied_at.ms)
		item->applied_at = now;
	if (instant_between_ms(item->applied_at, now) >= SETTLE_DEADLINE_MS) {
		if (lock_is_wanted(item))
			return &step_lock;
		tell_unsettled(item, why);
		return close_as(item, ITEM_RESTORED, why);
	}
	lock_release(item);
	item_become(item, ITEM_RESTORING, why);
	return &step_settle;
}

/* What was sent in this process has not come about: by the service's word, or because it comes undone. */
static const struct step *judge_out(struct item *item, struct instant now)
{
	const char *why = NULL;

	if (item->updates > 0 && item->actuator->settled(item_scope(item), &item->change, item->looked, DIRECTION_BACK,
	                                                 &item->decision_arena, &why) == SETTLING_FAILED)
		return item_fail_because(item, now, why);
	if (item->updates >= UNDONE_MAX)
		return item_fail_because(item, now, "each time it is put back it is taken out again");
	return put_back(item, now);
}

static const struct step *judge_restoring(struct item *item, struct instant now)
{
	if (!item->looked) {
		if (item_absence_believed(item, now))
			return close_as(item, ITEM_GONE, "it no longer exists");
		item_set_changing(item, false);
		return &step_look;
	}
	arena_reset(&item->decision_arena);
	switch (item->actuator->compare(item_scope(item), &item->change, item->looked, &item->decision_arena)) {
	case STAND_OUT:
		item->back_since = (struct instant){0};
		return judge_out(item, now);
	case STAND_BACK:
		return judge_back(item, now);
	case STAND_SUPERSEDED:
		return close_as(item, ITEM_SUPERSEDED, "it is not what was changed any more: nothing is added to it");
	case STAND_GONE:
		break;
	}
	if (delta_count_known(item_scope(item), &item->change.removed) > 0)
		return close_as(item, ITEM_GONE, "it is being deleted");
	if (!item_subnets_absence_believed(item, now))
		return wait_for_subnets(item);
	return close_as(item, ITEM_GONE, "every subnet that was taken out has been deleted since");
}

static const struct step *look_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	item_keep_look(item, answer);
	item_set_changing(item, true); /* from this read on */
	if (++item->rounds > ROUNDS_MAX)
		return item_fail_because(item, answer->now, "it was looked at again and again without getting on");
	return judge_restoring(item, answer->now);
}

/* lock: what it is changed from is read again under it */

static const struct step *lock_step_hear(void *self, const struct answer *answer)
{
	struct item *item = self;
	bool busy;

	item->look_due = answer->now;
	if (lock_hear(item, answer, &busy))
		return &step_look;
	if (!busy)
		return item_fail(item, answer);
	item->rounds = 0; /* it takes as long as it takes */
	item_set_changing(item, false);
	item_become(item, ITEM_RESTORING, LOCKED_SENTENCE);
	item->look_due = instant_after(answer->now, LOCKED_WAIT_MS);
	return &step_look;
}

/* update */

static void update_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	(void)wall;
	item_ask_update(item, &item->change, DIRECTION_BACK, arena, out);
}

/* Nothing was changed: what it was built from may be old by now, or the service is busy with it. */
static const struct step *refused(struct item *item, const struct answer *answer)
{
	switch (answer->error->kind) {
	case ERROR_BUSY:
		item->rounds = 0; /* it takes as long as it takes */
		item_become(item, ITEM_RESTORING, answer->error->message);
		item->look_due = instant_after(answer->now, BUSY_WAIT_MS);
		return &step_look;
	case ERROR_CONFLICT:
	case ERROR_ABSENT:
		return &step_look;
	default:
		return item_fail(item, answer);
	}
}

static const struct step *update_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	item_set_changing(item, false);
	item->look_due = item_look_together(item, answer->now);
	item->updates += !answer->error;
	item->applied_at = (struct instant){0};
	if (!answer->error)
		return &step_settle;
	if (answer->error->kind == ERROR_STALE) {
		item->rounds--; /* that was the limiter's doing */
		return item_may_go_stale(item) ? &step_look : item_fail_because(item, answer->now, STALE_SENTENCE);
	}
	if (!item_silence(item, answer))
		return refused(item, answer);
	/*
	 * What may still land is what is wanted, so nothing waits for it; but where somebody else's change may be in what it was built from, the record
	 * stays open, and this one in the other one's sight, until it cannot land any more.
	 */
	return registration_is_shared(item->evacuation) ? &step_restore : &step_settle;
}

/* close */

static const struct step *close_hear(void *self, const struct answer *answer)
{
	struct item *item = self;
	const struct journal_outcome *outcome = answer->journal;
	int64_t wait_ms;

	if (answer->error)
		return item_fail(item, answer);
	switch (outcome->verdict) {
	case JOURNAL_DONE_NOW:
	case JOURNAL_ALREADY:
	case JOURNAL_ABSENT:
		return end(item, item->ends_as, item->reason);
	case JOURNAL_UNANSWERED: /* look once more after that time: what was in the air may have landed */
		item_set_record(item, &outcome->record);
		wait_ms = (outcome->record.unanswered_until.us - answer->wall.us) / 1000 + OLD_ANSWER_MS + 1000;
		item_become(item, ITEM_RESTORING,
		            "it is back; an earlier update may still land, so it is watched until that cannot be");
		item->look_due = instant_after(answer->now, wait_ms);
		return &step_look;
	default:
		return &step_restore;
	}
}

static const struct step step_rewrite = {"rewrite", rewrite_ask, rewrite_hear};
static const struct step step_restore = {"restore", restore_ask, restore_hear};
static const struct step step_leave = {"leave", leave_ask, leave_hear};
static const struct step step_look = {"look", item_ask_look, look_hear};
static const struct step step_lock = {"lock", lock_ask, lock_step_hear};
static const struct step step_update = {"update", update_ask, update_hear};
static const struct step step_settle = {"settle", item_ask_settle, look_hear};
static const struct step step_close = {"close", item_ask_close, close_hear};

const struct step *const change_restore_first = &step_restore;
const struct step *const change_restore_lost_first = &step_rewrite;
