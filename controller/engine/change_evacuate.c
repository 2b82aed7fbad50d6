#include "change.h"

#include "domain/delta.h"
#include "evacuation.h"
#include "gate.h"
#include "lock.h"
#include "plan.h"
#include "state.h"

/* A process that has decided so often has met something it does not understand. */
#define ROUNDS_MAX 12
/* Somebody is putting it back: look again after. */
#define RESTORING_WAIT_MS 15000
#define UNANSWERED_SENTENCE "its updates get no answer, and have no effect"

static const struct step step_lock, step_look, step_intent, step_join, step_extend, step_redo, step_claim, step_yield,
	step_update, step_settle, step_done;

static bool turned_round(const struct item *item)
{
	return item->evacuation->restoring;
}

static const struct step *end(struct item *item, enum item_state state, const char *reason)
{
	item_become(item, state, reason);
	item->failures = 0;
	item->evacuation->engine->proved = true;
	return NULL;
}

/* look */

/* Its place is given to others meanwhile: it is begun again, in its turn, when the time has come. */
static const struct step *wait_then_begin_again(struct item *item, struct instant now, int64_t ms, const char *why)
{
	item->retry_at = instant_after(now, ms);
	item_become(item, ITEM_WAITING, why);
	items_retry_at(&item->evacuation->items, item->retry_at);
	return NULL;
}

/*
 * The record is an Intent: another process' perhaps, or our own that has had its update, or is only believed to be one. Whoever comes after us has
 * to find each update announced by who sends it.
 */
static const struct step *announced_update(const struct item *item, struct instant now)
{
	bool announced = item->intended_at.ms && instant_between_ms(item->intended_at, now) < INTENDED_MS;

	return announced ? &step_update : &step_claim;
}

/* The effect: is it there? */
static const struct step *judge_settled(struct item *item, struct instant now)
{
	const char *why = NULL;
	enum settling settling = item->actuator->settled(item_scope(item), &item->change, item->looked, DIRECTION_OUT,
	                                                 &item->decision_arena, &why);

	item_set_changing(item, false);
	if (!item->applied_at.ms)
		item->applied_at = now;
	if (settling == SETTLING_FAILED && item->updates == 0 && item->record.state == RECORD_INTENT) {
		item->decision.change = item->change; /* not done yet, by a process before this one: the same once more */
		return lock_is_wanted(item) ? &step_lock : announced_update(item, now);
	}
	lock_release(item);
	switch (settling) {
	case SETTLING_DONE:
		if (item->looked->remark)
			item_set_remark(item, item->looked->remark);
		if (item->record.state == RECORD_SETTLED || item->record.state == RECORD_APPLIED)
			return end(item, ITEM_SETTLED, NULL);
		item->ends_as = ITEM_SETTLED;
		return &step_done;
	case SETTLING_FAILED:
		if (item->record.state != RECORD_INTENT) /* it was done: what failed came after us */
			return end(item, ITEM_APPLIED, why);
		return item_fail_because(item, now, why ? why : "the effect is not there and will not come");
	case SETTLING_PENDING:
		break;
	}
	item_become(item, ITEM_APPLIED, why);
	if (item->record.state == RECORD_APPLIED || item->record.state == RECORD_SETTLED)
		return end(item, ITEM_APPLIED, why);
	if (instant_between_ms(item->applied_at, now) < SETTLE_DEADLINE_MS)
		return &step_settle;
	item->ends_as = ITEM_APPLIED;
	return &step_done;
}

/* No more fighting: told with whatever the resource says of who manages it. */
static const struct step *rival(struct item *item, const char *what)
{
	const char *back = string_list_join(&item->decision.change.removed, &item->decision_arena, ", ");
	const char *owner = tags_owner_sentence(&item->looked->tags, &item->decision_arena);
	const char *service = item->decision.rolled_back;

	what = arena_printf(&item->decision_arena, "%s (%s)", service ? service : what, back);
	if (owner)
		what = arena_printf(&item->decision_arena, "%s; %s", what, owner);
	return end(item, ITEM_RIVAL, what);
}

/* Our update was accepted and has failed since: that is no rival's doing. */
static bool update_has_failed(struct item *item, const char **why)
{
	return item->updates > 0 && item->actuator->settled(item_scope(item), &item->change, item->looked, DIRECTION_OUT,
	                                                    &item->decision_arena, why) == SETTLING_FAILED;
}

/* The record is of another one, that had its name before: it is closed as superseded, and nothing of it is mixed with this one. */
static bool is_of_predecessor(const struct item *item)
{
	const char *recorded = record_change(&item->record).incarnation;

	return item_is_ours(item) && recorded && item->looked->incarnation &&
	       !text_equal(recorded, item->looked->incarnation);
}

/* Without the lock: who is putting it back needs that. */
static bool joins_first(const struct item *item)
{
	return item->has_record && (item->record.state == RECORD_RESTORING || !item_is_ours(item));
}

/* As often as somebody else may put it back. But of what got no answer nobody knows whether it was ever done: that is no rival's doing. */
static const struct step *came_to_nothing(struct item *item, struct instant now)
{
	return item->unanswered > 0 ? item_fail_because(item, now, UNANSWERED_SENTENCE)
	                            : rival(item, "each time it is taken out it comes back at once");
}

/* It is to be taken out (more of it, or again), and a record is open. */
static const struct step *judge_open(struct item *item, struct instant now)
{
	const struct record *record = &item->record;
	const char *why = NULL;

	if (is_of_predecessor(item)) {
		item->evacuation->observe_due = now; /* then it is taken out anew */
		return change_restore_first;
	}
	if (joins_first(item))
		return &step_join;
	if (delta_present(&item->decision.change.removed, &record->removed, &item->decision_arena).count !=
	    item->decision.change.removed.count)
		return &step_extend;
	if (record->undone_count > UNDONE_MAX)
		return rival(item, "its service takes it back each time");
	if (item->decision.rolled_back)
		return &step_yield;
	if (update_has_failed(item, &why))
		return item_fail_because(item, now, why);
	if (record->state == RECORD_INTENT && item->updates >= UNDONE_MAX)
		return came_to_nothing(item, now);
	if (record->state == RECORD_INTENT)
		return announced_update(item, now);
	if (record->undone_count >= UNDONE_MAX)
		return rival(item, "somebody has put it back three times; it is left to them");
	return &step_redo;
}

/* It is out already. */
static const struct step *judge_out(struct item *item, struct instant now)
{
	if (!item->has_record && !item->held) /* whoever took it out since it was observed left a record */
		return plan_selected(item->evacuation, item->looked) ? &step_join : end(item, ITEM_SETTLED, NULL);
	if (!item->has_record) { /* somebody deleted the record of what we took out: it is written again */
		item->decision.change = item->change;
		if (!item->change.incarnation) /* known from the status alone */
			item->decision.change.incarnation = item->looked->incarnation;
		return &step_intent;
	}
	if (item->record.state == RECORD_RESTORING || !item_is_ours(item))
		return &step_join;
	return judge_settled(item, now);
}

/* Tagged, or no longer selected, since it was planned: what is not out stays in, and what is out stays out until recovery. */
static const struct step *judge_unwanted(struct item *item)
{
	if (item->has_record)
		return end(item, ITEM_APPLIED, "it is no longer selected: as it is until recovery");
	item_drop(item);
	return end(item, ITEM_REFUSED, "it is no longer selected");
}

static void plan_again(struct item *item)
{
	arena_reset(&item->decision_arena);
	item->decision = (struct decision){0};
	plan_decide(item->evacuation, item->actuator, item->looked, &item->decision_arena, &item->decision);
	item->guard = item->decision.guard;
	item_set_carried(item, item->looked);
}

/* A person said that it need not wait for its nodes. */
static void note_undrained(struct item *item)
{
	const char *reason = gate_overridden(item, &item->decision_arena);

	if (!reason)
		return;
	plan_note_allowed(&item->decision.change, GUARD_NODES_NOT_DRAINED, reason, &item->decision_arena);
	item_set_remark(item,
	                guard_overridden(item->decision.reason, GUARD_NODES_NOT_DRAINED, reason, &item->decision_arena));
}

/* It is to be taken out; but now? */
static const struct step *judge_change(struct item *item, struct instant now)
{
	if (item->decision.wait)
		return wait_then_begin_again(item, now, BUSY_WAIT_MS, item->decision.wait);
	if (plan_waits(item))
		return NULL;
	if (!registration_is_fresh(item->evacuation))
		return wait_then_begin_again(item, now, REGISTRATION_WAIT_MS, REGISTRATION_SENTENCE);
	if (!joins_first(item) && lock_is_wanted(item))
		return &step_lock;
	note_undrained(item);
	return item->has_record ? judge_open(item, now) : &step_intent;
}

static const struct step *judge_evacuating(struct item *item, struct instant now)
{
	item_suspect_predecessor(item);
	if (turned_round(item))
		return NULL;
	if (++item->rounds > ROUNDS_MAX)
		return item_fail_because(item, now, "it was decided afresh twelve times without getting on");
	plan_again(item);
	if (item->decision.verdict != VERDICT_NOTHING && !plan_selected(item->evacuation, item->looked))
		return judge_unwanted(item);
	switch (item->decision.verdict) {
	case VERDICT_REFUSED:
		return end(item, ITEM_REFUSED, item->decision.reason);
	case VERDICT_NOTHING:
		return judge_out(item, now);
	case VERDICT_CHANGE:
	case VERDICT_JOIN:
		break;
	}
	return judge_change(item, now);
}

static const struct step *judge_absent(struct item *item, struct instant now)
{
	if (!item->has_record || item_absence_believed(item, now))
		return end(item, ITEM_GONE, "it no longer exists");
	item_set_changing(item, false);
	return &step_look;
}

static const struct step *look_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (turned_round(item))
		return NULL;
	if (answer->error)
		return item_fail(item, answer);
	item_keep_look(item, answer);
	item_set_changing(item, true); /* from this read on */
	return item->looked ? judge_evacuating(item, answer->now) : judge_absent(item, answer->now);
}

/* lock: what it is changed from is read again under it */

static const struct step *lock_step_hear(void *self, const struct answer *answer)
{
	struct item *item = self;
	bool busy;
	bool locked = lock_hear(item, answer, &busy);

	if (turned_round(item)) /* it is given back as the process ends */
		return NULL;
	item->look_due = answer->now;
	if (locked)
		return &step_look;
	return busy ? wait_then_begin_again(item, answer->now, LOCKED_WAIT_MS, LOCKED_SENTENCE) : item_fail(item, answer);
}

/* intent, join, extend, redo, claim: the journal before the change */

static void intent_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_ask_journal(item, JOURNAL_INTENT, wall, arena, out);
	out->call.record =
		record_of_change(&item->decision.change, out->call.zone_id, out->call.owner, out->call.attempt, wall, arena);
}

static void join_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	(void)now;
	item_ask_journal(self, JOURNAL_JOIN, wall, arena, out);
}

static void extend_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_ask_journal(item, JOURNAL_EXTEND, wall, arena, out);
	out->call.removed_old = item->record.removed;
	out->call.removed_new = delta_join(&item->record.removed, &item->decision.change.removed, arena);
}

static void redo_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	(void)now;
	item_ask_journal(self, JOURNAL_REDO, wall, arena, out);
	out->call.undone_by = 1;
}

static void claim_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	(void)now;
	item_ask_journal(self, JOURNAL_REDO, wall, arena, out);
	out->call.undone_by = 0; /* nobody has undone anything */
}

/* The service itself put it back: that counts as often as somebody else may, so that it is not tried again, by nobody. */
static void yield_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	(void)now;
	item_ask_journal(self, JOURNAL_REDO, wall, arena, out);
	out->call.undone_by = UNDONE_MAX + 1;
}

/* What the journal says becomes what we know; then the table of decisions again, on the same read. */
static const struct step *written_hear(void *self, const struct answer *answer)
{
	struct item *item = self;
	const struct journal_outcome *outcome = answer->journal;

	if (answer->error)
		return item_fail(item, answer);
	item_set_record(item, outcome->record.resource_id ? &outcome->record : NULL);
	if (turned_round(item))
		return NULL;
	if (outcome->verdict != JOURNAL_DONE_NOW && outcome->verdict != JOURNAL_ALREADY)
		return judge_evacuating(item, answer->now);
	item->intended_at = answer->now;
	item_suspect_predecessor(item);
	return item->decision.verdict == VERDICT_NOTHING ? judge_settled(item, answer->now) : &step_update;
}

static const struct step *yield_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	item_set_record(item, answer->journal->record.resource_id ? &answer->journal->record : NULL);
	return turned_round(item) ? NULL : judge_evacuating(item, answer->now);
}

/* join does not change what is to be done: with the record ours, decide again */
static const struct step *join_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	item_set_record(item, answer->journal->record.resource_id ? &answer->journal->record : NULL);
	if (turned_round(item))
		return NULL;
	if (answer->journal->verdict == JOURNAL_ABSENT && item->decision.verdict == VERDICT_NOTHING && !item->held)
		return end(item, ITEM_SETTLED, NULL);
	if (answer->journal->verdict != JOURNAL_RESTORING)
		return judge_evacuating(item, answer->now);
	return wait_then_begin_again(item, answer->now, RESTORING_WAIT_MS,
	                             "it is being put back; it is joined when nobody is at that any more");
}

/* update */

static void update_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	(void)wall;
	item_become(item, ITEM_APPLYING, NULL);
	item_ask_update(item, &item->decision.change, DIRECTION_OUT, arena, out);
}

/* Nothing was changed. What it was built from may be old by now, or the service is busy with it: look again. */
static const struct step *refused(struct item *item, const struct answer *answer)
{
	switch (answer->error->kind) {
	case ERROR_BUSY:
		return wait_then_begin_again(item, answer->now, BUSY_WAIT_MS, answer->error->message);
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
	if (answer->error && answer->error->kind == ERROR_STALE) {
		if (turned_round(item))
			return NULL;
		if (!item_may_go_stale(item))
			return item_fail_because(item, answer->now, STALE_SENTENCE);
		item->rounds--; /* that was the limiter's doing */
		return &step_look;
	}
	item->intended_at = (struct instant){0};
	if (answer->error && !item_silence(item, answer)) {
		if (turned_round(item))
			return NULL;
		return refused(item, answer);
	}
	item->updates++;
	item->unanswered += answer->error != NULL;
	if (turned_round(item))
		return NULL;
	item->applied_at = answer->now;
	item_become(item, ITEM_APPLIED, answer->error ? answer->error->message : NULL);
	return &step_settle;
}

/* settle: the last look is the read-back */

static const struct step *settle_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (turned_round(item))
		return NULL;
	if (answer->error)
		return item_fail(item, answer);
	item_keep_look(item, answer);
	if (!item->looked)
		return judge_absent(item, answer->now);
	plan_again(item);
	if (item->decision.verdict != VERDICT_NOTHING) /* put back meanwhile, or the update has not landed */
		return judge_evacuating(item, answer->now);
	return judge_settled(item, answer->now);
}

/* done */

static void done_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_ask_journal(item, JOURNAL_DONE, wall, arena, out);
	out->call.attempt = item->record.attempt; /* a compare-and-set on the record as read */
	out->call.done_state = item->ends_as == ITEM_SETTLED ? RECORD_SETTLED : RECORD_APPLIED;
	out->call.unanswered_until = item->unanswered_until;
}

static const struct step *done_hear(void *self, const struct answer *answer)
{
	struct item *item = self;
	enum journal_verdict verdict;

	if (answer->error)
		return item_fail(item, answer);
	item_set_record(item, answer->journal->record.resource_id ? &answer->journal->record : NULL);
	verdict = answer->journal->verdict;
	if (verdict == JOURNAL_DONE_NOW || verdict == JOURNAL_ALREADY)
		return end(item, item->ends_as, item->ends_as == ITEM_APPLIED ? item->reason : NULL);
	item->look_due = answer->now;
	return turned_round(item) ? NULL : &step_look;
}

static const struct step step_lock = {"lock", lock_ask, lock_step_hear};
static const struct step step_look = {"look", item_ask_look, look_hear};
static const struct step step_intent = {"intent", intent_ask, written_hear};
static const struct step step_join = {"join", join_ask, join_hear};
static const struct step step_extend = {"extend", extend_ask, written_hear};
static const struct step step_redo = {"redo", redo_ask, written_hear};
static const struct step step_claim = {"claim", claim_ask, written_hear};
static const struct step step_yield = {"yield", yield_ask, yield_hear};
static const struct step step_update = {"update", update_ask, update_hear};
static const struct step step_settle = {"settle", item_ask_settle, settle_hear};
static const struct step step_done = {"done", done_ask, done_hear};

const struct step *const change_evacuate_first = &step_look;
