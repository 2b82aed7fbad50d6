/*
 * Putting back: controller/engine/change_restore.c, step by step; and what `recover` does before it.
 */
#include "model.h"

/* restore */

static void afresh(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (!actor->row.is) {
		actor->step = actor->held && !actor->recover ? STEP_BACK_REWRITE : STEP_UNREGISTER;
		return;
	}
	if (actor_owns_row(actor)) {
		actor->step = STEP_BACK_RESTORE;
		actor_suspect(play, next, who);
	} else {
		actor->held = 0;
		actor->step = STEP_UNREGISTER;
	}
}

static void restored(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	struct actor *actor = &next->actors[who];

	if (verdict == JOURNAL_DONE_NOW || verdict == JOURNAL_ALREADY)
		actor->step = STEP_BACK_LOOK;
	else if (verdict == JOURNAL_STILL_HELD)
		actor->step = STEP_BACK_LEAVE;
	else
		afresh(play, next, who);
}

static void rewritten(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	(void)verdict;
	afresh(play, next, who);
}

static void left(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	struct actor *actor = &next->actors[who];

	if (verdict == JOURNAL_LAST_OWNER || verdict == JOURNAL_ABSENT) {
		afresh(play, next, who);
	} else {
		actor->held = 0;
		actor->step = STEP_UNREGISTER;
	}
}

/* look */

static void judge_restoring(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (!book_is_back(actor->row.removed, actor->looked))
		actor->back_seen = actor->sure = 0;
	if (book_is_back(actor->row.removed, actor->looked) && actor->updates == 0 && !actor->sure && play->story->stale &&
	    play->drop != DROP_BACK_TWICE) {
		actor_release(play, next, who);
		actor->back_seen = 1;
	} else if (book_is_back(actor->row.removed, actor->looked)) {
		actor_release(play, next, who);
		actor->step = STEP_BACK_CLOSE;
	} else if (actor->updates >= 3 || (actor->row.age >= LIFE && play->drop != DROP_RESTORE_TOUCHES)) {
		actor_release(play, next, who);
		actor_begin_process(actor, STEP_BACK_RESTORE);
	} else {
		actor->step = STEP_BACK_UPDATE;
	}
}

static void look(const struct play *play, const struct state *state, int who, bool stale)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];
	bool lock = play->drop != DROP_LOCK_AT_CLOSE || !book_is_back(actor->row.removed, next.resource);

	if (!actor_may_look(play, &next, who, lock))
		return;
	actor_look(play, &next, who, stale);
	judge_restoring(play, &next, who);
	tell(play, &next, "%s looks: %s%s", name_of_actor(play, state, who), name_of_list(next.actors[who].looked),
	     stale                                      ? " (an old answer)"
	     : next.actors[who].step == STEP_BACK_CLOSE ? ", all is back"
	                                                : "");
}

/* update */

static void heard(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (play->drop == DROP_READ_BACK) {
		actor_release(play, next, who);
		actor->step = STEP_BACK_CLOSE;
	} else {
		actor->step = STEP_BACK_LOOK;
	}
}

static void update(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	if (!actor_may_update(play, &next, who))
		return;
	if (!actor->fresh) {
		actor->step = STEP_BACK_LOOK;
		tell(play, &next, "%s: what it would send is built from an old look", name_of_actor(play, state, who));
		return;
	}
	actor_send(play, &next, who, book_back(actor->row.removed, actor->looked), STEP_BACK_FLIGHT);
}

/* close */

static void closed(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	struct actor *actor = &next->actors[who];

	(void)play;
	switch (verdict) {
	case JOURNAL_DONE_NOW:
	case JOURNAL_ALREADY:
	case JOURNAL_ABSENT:
		actor->held = 0;
		actor->step = STEP_UNREGISTER;
		break;
	case JOURNAL_UNANSWERED:
		actor->step = STEP_BACK_WAIT;
		break;
	default:
		actor->step = STEP_BACK_RESTORE;
		actor_suspect(play, next, who);
		break;
	}
}

/* Look once more after that time. */
static void wait(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	if (next.rows[actor->zone].claim > 0)
		return;
	actor->updates = 0;
	actor->step = STEP_BACK_LOOK;
	tell(play, &next, "%s: by now nothing can land any more", name_of_actor(play, state, who));
}

/* The records, as they are now; at the end once more, before it is believed that none is left. */

/* Of this zone, by whomever: what was sent under it may land yet, and the other zone would go on without one. */
static bool locked_still(const struct play *play, const struct state *state, int who)
{
	return state->lock_is && state->lock_life > 0 &&
	       state->actors[state->lock_holder].zone == state->actors[who].zone && play->drop != DROP_UNREGISTER_LOCKED;
}

static void observe(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	actor_observe(&next, who);
	actor_begin_process(actor, STEP_BACK_RESTORE);
	afresh(play, &next, who);
	tell(play, &next, "%s reads the journal", name_of_actor(play, state, who));
}

static void unregister(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];
	bool ours = next.rows[actor->zone].is && ((next.rows[actor->zone].owners & actor->owner) || actor->recover);

	if (actor->recover && actor->wait > 0)
		return;
	if (ours) {
		actor_observe(&next, who);
		actor_begin_process(actor, actor->recover ? STEP_RECOVER_OBSERVE : STEP_BACK_RESTORE);
		tell(play, &next, "%s reads the journal once more: a record is open", name_of_actor(play, state, who));
		return;
	}
	if (locked_still(play, state, who))
		return;
	next.region[actor->zone] &= (uint8_t)~actor->owner;
	actor_begin_process(actor, STEP_OVER);
	tell(play, &next, "%s finds no record left, and is over", name_of_actor(play, state, who));
}

/* recover */

static void recover_begin(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	next.region[actor->zone] = play->drop == DROP_RECOVER_REGISTERED ? 0 : actor->owner;
	actor->region_fresh = 1;
	actor->other = next.region[1 - actor->zone] != 0;
	actor->wait = play->drop == DROP_RECOVER_LOOKS_AGAIN ? 0 : REGISTRATION;
	actor->step = STEP_RECOVER_OBSERVE;
	tell(play, &next, "%s throws the owners of the zone out", name_of_actor(play, state, who));
}

static void recover_observe(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	actor_observe(&next, who);
	actor_begin_process(actor, actor->row.is ? STEP_RECOVER_TAKE : STEP_UNREGISTER);
	tell(play, &next, "%s reads the journal", name_of_actor(play, state, who));
}

/* Until when may an update land of one who does not know yet that it is thrown out? */
static uint8_t recover_claim(const struct play *play, const struct row *row)
{
	uint8_t until = LIFE + REGISTRATION;

	if (row->state != RECORD_INTENT || play->drop == DROP_SUSPICION)
		return row->claim;
	return row->claim > until ? row->claim : until;
}

/* Owners := {local}, Restoring, in one write, if they are those that were read. */
static void recover_take(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];
	struct row *row = &next.rows[actor->zone];
	bool as_read = row->is && (row->owners == actor->row.owners || play->drop == DROP_RECOVER_AS_READ);

	if (as_read) {
		row->claim = recover_claim(play, row) & 3u;
		row->owners = actor->owner;
		row->writer = actor_writer(&next, who) & 7u;
		row->age = 0;
		if (play->drop != DROP_RECOVER_RESTORING)
			row->state = RECORD_RESTORING;
		for (int i = 0; i < ACTORS; i++)
			if (next.actors[i].zone == actor->zone)
				next.actors[i].match = 0;
		for (int i = 0; i < AIRS; i++)
			next.airs[i].match = 0;
		actor_observe(&next, who);
	}
	actor->step = !as_read                               ? STEP_RECOVER_OBSERVE
	              : play->drop == DROP_RECOVER_RESTORING ? STEP_BACK_RESTORE
	                                                     : STEP_BACK_LOOK;
	tell(play, &next, "%s %s", name_of_actor(play, state, who),
	     as_read ? "takes the record over" : "finds the record with other owners than it read");
}

static void write(const struct play *play, const struct state *state, int who, enum journal_verb verb, enum step again,
                  void (*hears)(const struct play *play, struct state *next, int who, enum journal_verdict verdict))
{
	struct state next = *state;

	if (actor_may_write(play, &next, who))
		actor_journal(play, &next, who, verb, again, hears);
}

void actor_back_expand(const struct play *play, const struct state *state, int who)
{
	switch ((enum step)state->actors[who].step) {
	case STEP_BACK_OBSERVE:
		observe(play, state, who);
		break;
	case STEP_BACK_REWRITE:
		write(play, state, who, JOURNAL_INTENT, STEP_BACK_OBSERVE, rewritten);
		break;
	case STEP_BACK_RESTORE:
		write(play, state, who, JOURNAL_RESTORE, STEP_BACK_RESTORE, restored);
		break;
	case STEP_BACK_LEAVE:
		actor_journal(play, state, who, JOURNAL_LEAVE, STEP_BACK_RESTORE, left);
		break;
	case STEP_BACK_LOOK:
		look(play, state, who, false);
		if (play->story->stale && !state->stale && state->before != state->resource)
			look(play, state, who, true);
		break;
	case STEP_BACK_UPDATE:
		update(play, state, who);
		break;
	case STEP_BACK_FLIGHT:
		actor_flight(play, state, who, heard);
		break;
	case STEP_BACK_CLOSE:
		actor_journal(play, state, who, JOURNAL_CLOSE, STEP_BACK_RESTORE, closed);
		break;
	case STEP_BACK_WAIT:
		wait(play, state, who);
		break;
	case STEP_UNREGISTER:
		unregister(play, state, who);
		break;
	case STEP_RECOVER_BEGIN:
		recover_begin(play, state, who);
		break;
	case STEP_RECOVER_OBSERVE:
		recover_observe(play, state, who);
		break;
	case STEP_RECOVER_TAKE:
		recover_take(play, state, who);
		break;
	default:
		break;
	}
}
