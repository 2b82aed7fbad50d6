/*
 * The rule book. How each verdict comes about: the rules of a verb are asked in the order written, from the top; the
 * first that fits decides. Existence comes first, then state and owners, then the attempt (our own lost answer is a
 * success), and what is left may be written.
 *
 *   intent   none exists -> put
 *            Restoring -> RESTORING
 *            I am not in owners -> FOREIGN
 *            my attempt, and as I would put it -> ALREADY
 *            else EXISTS
 *   join     none exists -> ABSENT
 *            Restoring, touched in the last 10 min -> RESTORING
 *            Restoring -> I am in owners, state Applied
 *            I am in owners -> ALREADY
 *            else I am in owners
 *   extend   none exists -> ABSENT
 *            Restoring -> RESTORING
 *            I am not in owners -> NOT_OURS
 *            removed is the old set -> the new one, Intent, my attempt
 *            removed is the new set, by my attempt -> ALREADY
 *            else NOT_OURS
 *   redo     none exists -> ABSENT
 *            Restoring -> RESTORING
 *            I am not in owners -> NOT_OURS
 *            Intent by my attempt -> ALREADY
 *            else counted, Intent, my attempt
 *   done     none exists -> ABSENT
 *            Restoring -> RESTORING
 *            so far already, and no later claim -> ALREADY
 *            another attempt -> NOT_OURS
 *            else the state as asked
 *   leave    none exists -> ABSENT
 *            I am not in owners -> ALREADY
 *            nobody else is -> LAST_OWNER
 *            else I am out, my claim stays
 *   restore  none exists -> ABSENT
 *            I am not in owners -> NOT_OURS
 *            somebody else is too -> STILL_HELD
 *            Restoring by my attempt, and no later claim -> ALREADY
 *            else Restoring, my attempt (over another's too: a new process goes on where the old one ended)
 *   close    none exists -> ALREADY
 *            I am not in owners -> NOT_OURS
 *            somebody else is too -> STILL_HELD
 *            not Restoring, or by another attempt -> NOT_OURS
 *            an update may still land -> UNANSWERED
 *            else deleted
 *
 * A claim is `unanswered_until` of the call; a record only ever gets a later one. What is stored is stamped with the
 * time of the call.
 */
#include "rules.h"
#include "base/text.h"
#include "journal/journal.h"

static const char *const VERB_NAMES[] = {
	[JOURNAL_INTENT] = "intent", [JOURNAL_JOIN] = "join",   [JOURNAL_EXTEND] = "extend",   [JOURNAL_REDO] = "redo",
	[JOURNAL_DONE] = "done",     [JOURNAL_LEAVE] = "leave", [JOURNAL_RESTORE] = "restore", [JOURNAL_CLOSE] = "close",
};

static const char *const VERDICT_NAMES[] = {
	[JOURNAL_DONE_NOW] = "done",         [JOURNAL_ALREADY] = "already",     [JOURNAL_EXISTS] = "exists",
	[JOURNAL_FOREIGN] = "foreign",       [JOURNAL_RESTORING] = "restoring", [JOURNAL_STILL_HELD] = "still-held",
	[JOURNAL_LAST_OWNER] = "last-owner", [JOURNAL_NOT_OURS] = "not-ours",   [JOURNAL_UNANSWERED] = "unanswered",
	[JOURNAL_ABSENT] = "absent",
};

const char *journal_verb_name(enum journal_verb verb)
{
	return VERB_NAMES[verb];
}

const char *journal_verdict_name(enum journal_verdict verdict)
{
	return VERDICT_NAMES[verdict];
}

/* One judgement under way. */
struct judgement {
	const struct journal_call *call;
	const struct record *found; /* NULL = none exists */
	struct arena *arena;
	struct journal_outcome *out;
};

static bool i_own(const struct judgement *j)
{
	return string_list_has(&j->found->owners, j->call->owner);
}

static bool others_own(const struct judgement *j)
{
	for (size_t i = 0; i < j->found->owners.count; i++)
		if (!text_equal(j->found->owners.at[i], j->call->owner))
			return true;
	return false;
}

static bool my_attempt(const struct judgement *j)
{
	return text_equal(j->found->attempt, j->call->attempt);
}

static bool is_restoring(const struct judgement *j)
{
	return j->found->state == RECORD_RESTORING;
}

static bool claims_later(const struct judgement *j)
{
	return j->call->unanswered_until.us > j->found->unanswered_until.us;
}

/* Nothing is written. */
static void say(struct judgement *j, enum journal_verdict verdict)
{
	j->out->verdict = verdict;
	j->out->keep = JOURNAL_KEEP;
	j->out->record = j->found == NULL ? (struct record){0} : *j->found;
}

/* What is found is written back, stamped; the caller changes the rest. */
static struct record *store(struct judgement *j)
{
	j->out->verdict = JOURNAL_DONE_NOW;
	j->out->keep = JOURNAL_STORE;
	j->out->record = *j->found;
	j->out->record.updated_at = j->call->now;
	return &j->out->record;
}

/* As store, by my attempt. */
static struct record *store_as_mine(struct judgement *j, enum record_state state)
{
	struct record *record = store(j);

	record->attempt = j->call->attempt;
	record->state = state;
	return record;
}

static void keep_later_claim(const struct judgement *j, struct record *record)
{
	if (claims_later(j))
		record->unanswered_until = j->call->unanswered_until;
}

static void put_intent(struct judgement *j)
{
	struct record *record = &j->out->record;

	j->out->verdict = JOURNAL_DONE_NOW;
	j->out->keep = JOURNAL_STORE;
	*record = j->call->record;
	record->zone_id = j->call->zone_id;
	record->resource_id = j->call->resource_id;
	record->attempt = j->call->attempt;
	record->updated_at = j->call->now;
}

static bool as_i_would_put_it(const struct judgement *j)
{
	return my_attempt(j) && j->found->state == j->call->record.state &&
	       string_list_equal(&j->found->removed, &j->call->record.removed);
}

static void rule_intent(struct judgement *j)
{
	if (j->found == NULL)
		put_intent(j);
	else if (is_restoring(j))
		say(j, JOURNAL_RESTORING);
	else if (!i_own(j))
		say(j, JOURNAL_FOREIGN);
	else
		say(j, as_i_would_put_it(j) ? JOURNAL_ALREADY : JOURNAL_EXISTS);
}

static void add_owner(struct judgement *j, struct record *record)
{
	record->owners = string_list_copy(&j->found->owners, j->arena);
	if (!string_list_has(&record->owners, j->call->owner))
		string_list_add(&record->owners, j->arena, j->call->owner);
}

static bool is_abandoned(const struct judgement *j)
{
	return j->found->updated_at.us < journal_abandoned_before(j->call->now).us;
}

static void rule_join(struct judgement *j)
{
	struct record *record;

	if (j->found == NULL) {
		say(j, JOURNAL_ABSENT);
	} else if (is_restoring(j) && !is_abandoned(j)) {
		say(j, JOURNAL_RESTORING);
	} else if (!is_restoring(j) && i_own(j)) {
		say(j, JOURNAL_ALREADY);
	} else {
		record = store(j);
		add_owner(j, record);
		if (is_restoring(j))
			record->state = RECORD_APPLIED;
	}
}

static void rule_extend(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ABSENT);
	else if (is_restoring(j))
		say(j, JOURNAL_RESTORING);
	else if (!i_own(j))
		say(j, JOURNAL_NOT_OURS);
	else if (string_list_same_set(&j->found->removed, &j->call->removed_old))
		store_as_mine(j, RECORD_INTENT)->removed = j->call->removed_new;
	else if (string_list_same_set(&j->found->removed, &j->call->removed_new) && my_attempt(j))
		say(j, JOURNAL_ALREADY);
	else
		say(j, JOURNAL_NOT_OURS);
}

static void rule_redo(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ABSENT);
	else if (is_restoring(j))
		say(j, JOURNAL_RESTORING);
	else if (!i_own(j))
		say(j, JOURNAL_NOT_OURS);
	else if (my_attempt(j) && j->found->state == RECORD_INTENT)
		say(j, JOURNAL_ALREADY);
	else
		store_as_mine(j, RECORD_INTENT)->undone_count += j->call->undone_by;
}

/* Settled is further than Applied. */
static bool is_so_far(const struct judgement *j)
{
	return j->found->state == RECORD_SETTLED || j->found->state == j->call->done_state;
}

static void rule_done(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ABSENT);
	else if (is_restoring(j))
		say(j, JOURNAL_RESTORING);
	else if (is_so_far(j) && !claims_later(j))
		say(j, JOURNAL_ALREADY);
	else if (!my_attempt(j))
		say(j, JOURNAL_NOT_OURS);
	else
		keep_later_claim(j, store_as_mine(j, j->call->done_state));
}

static void remove_owner(struct judgement *j, struct record *record)
{
	record->owners = (struct string_list){0};
	for (size_t i = 0; i < j->found->owners.count; i++)
		if (!text_equal(j->found->owners.at[i], j->call->owner))
			string_list_add(&record->owners, j->arena, j->found->owners.at[i]);
}

/* Whoever stays closes the record one day: not before what the one who left may still have in the air has landed. */
static void leave_claim(struct judgement *j, struct record *record)
{
	remove_owner(j, record);
	keep_later_claim(j, record);
}

static void rule_leave(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ABSENT);
	else if (!i_own(j))
		say(j, JOURNAL_ALREADY);
	else if (!others_own(j))
		say(j, JOURNAL_LAST_OWNER);
	else
		leave_claim(j, store(j));
}

static void rule_restore(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ABSENT);
	else if (!i_own(j))
		say(j, JOURNAL_NOT_OURS);
	else if (others_own(j))
		say(j, JOURNAL_STILL_HELD);
	else if (is_restoring(j) && my_attempt(j) && !claims_later(j))
		say(j, JOURNAL_ALREADY);
	else
		keep_later_claim(j, store_as_mine(j, RECORD_RESTORING));
}

static bool may_still_land(const struct judgement *j)
{
	return j->found->unanswered_until.us != 0 && j->found->unanswered_until.us >= j->call->now.us;
}

static void rule_close(struct judgement *j)
{
	if (j->found == NULL)
		say(j, JOURNAL_ALREADY);
	else if (!i_own(j))
		say(j, JOURNAL_NOT_OURS);
	else if (others_own(j))
		say(j, JOURNAL_STILL_HELD);
	else if (!is_restoring(j) || !my_attempt(j))
		say(j, JOURNAL_NOT_OURS);
	else if (may_still_land(j))
		say(j, JOURNAL_UNANSWERED);
	else
		*j->out = (struct journal_outcome){JOURNAL_DONE_NOW, JOURNAL_DELETE, *j->found};
}

static void (*const RULES[])(struct judgement *judgement) = {
	[JOURNAL_INTENT] = rule_intent,   [JOURNAL_JOIN] = rule_join,   [JOURNAL_EXTEND] = rule_extend,
	[JOURNAL_REDO] = rule_redo,       [JOURNAL_DONE] = rule_done,   [JOURNAL_LEAVE] = rule_leave,
	[JOURNAL_RESTORE] = rule_restore, [JOURNAL_CLOSE] = rule_close,
};

void journal_rule(const struct journal_call *call, const struct record *found, struct arena *arena,
                  struct journal_outcome *out)
{
	struct judgement judgement = {call, found, arena, out};

	RULES[call->verb](&judgement);
}

struct wallclock journal_abandoned_before(struct wallclock now)
{
	return wallclock_after_ms(now, -JOURNAL_ABANDONED_MS);
}
