/*
 * Taking out: controller/engine/change_evacuate.c, step by step.
 */
#include "model.h"

static const char *const SAYS_HOLD = "it is out";

static void end(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	actor_release(play, next, who);
	actor_begin_process(actor, STEP_HOLD);
}

static void judge_settled(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (actor->row.state == RECORD_SETTLED || actor->row.state == RECORD_APPLIED) {
		end(play, next, who);
		return;
	}
	actor_release(play, next, who);
	actor->step = STEP_DONE;
}

/* It is to be taken out, and a record is open. */
static enum step judge_open(const struct play *play, const struct actor *actor)
{
	bool intends = actor->intends || play->drop == DROP_ONE_INTENT;

	if (actor->row.state == RECORD_RESTORING || !actor_owns_row(actor))
		return STEP_JOIN;
	if (actor->change & ~actor->row.removed)
		return STEP_EXTEND;
	if (actor->row.state == RECORD_INTENT && actor->updates >= 3)
		return STEP_HOLD;
	if (actor->row.state == RECORD_INTENT && intends)
		return STEP_UPDATE;
	return STEP_REDO;
}

/* It is out already. */
static void judge_out(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (!actor->row.is && play->drop == DROP_RECORD_FIRST && actor->updates > 0)
		actor->step = STEP_INTENT;
	else if (!actor->row.is && !actor->held)
		end(play, next, who);
	else if (!actor->row.is)
		actor->step = STEP_INTENT;
	else if (actor->row.state == RECORD_RESTORING || !actor_owns_row(actor))
		actor->step = STEP_JOIN;
	else
		judge_settled(play, next, who);
}

static void judge_evacuating(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];
	uint8_t inside = book_in_zone(actor->zone, actor->looked);

	actor_suspect(play, next, who);
	if (actor->turned) {
		actor_begin_process(actor, STEP_BACK_OBSERVE);
		return;
	}
	if (inside == 0) {
		judge_out(play, next, who);
		return;
	}
	if (inside == actor->looked) { /* LastSubnet */
		end(play, next, who);
		return;
	}
	actor->change = inside;
	actor->step = actor->row.is ? judge_open(play, actor) : play->drop == DROP_RECORD_FIRST ? STEP_UPDATE : STEP_INTENT;
	if (actor->step == STEP_HOLD)
		end(play, next, who);
}

/* look, and settle's look */

static void look(const struct play *play, const struct state *state, int who, bool stale)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];
	bool settle = actor->step == STEP_SETTLE;

	if (actor->wait > 0 || !actor_may_look(play, &next, who, true))
		return;
	actor_look(play, &next, who, stale);
	if (settle && book_in_zone(actor->zone, actor->looked) == 0) {
		if (play->drop == DROP_WHOSE_EFFECT && actor->updates <= 1)
			actor->claim = 0;
		if (play->drop == DROP_RECORD_FIRST && !actor->row.is)
			actor->step = STEP_INTENT;
		else
			judge_settled(play, &next, who);
	} else {
		judge_evacuating(play, &next, who);
	}
	tell(play, &next, "%s looks: %s%s", name_of_actor(play, state, who), name_of_list(next.actors[who].looked),
	     stale                                ? " (an old answer)"
	     : next.actors[who].step == STEP_HOLD ? SAYS_HOLD + 5
	                                          : "");
}

/* The journal's answers. */

static void written(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	struct actor *actor = &next->actors[who];

	if (actor->turned)
		actor_begin_process(actor, STEP_BACK_OBSERVE);
	else if (verdict != JOURNAL_DONE_NOW && verdict != JOURNAL_ALREADY)
		judge_evacuating(play, next, who);
	else if (book_in_zone(actor->zone, actor->looked) == 0)
		judge_settled(play, next, who);
	else
		actor->step = STEP_UPDATE;
	actor->intends = actor->step == STEP_UPDATE;
	if (actor->intends)
		actor_suspect(play, next, who);
}

static void joined(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	if (verdict != JOURNAL_RESTORING) {
		judge_evacuating(play, next, who);
		return;
	}
	actor_release(play, next, who);
	actor_begin_process(&next->actors[who], STEP_LOOK); /* it waits, and is begun again */
}

static void done(const struct play *play, struct state *next, int who, enum journal_verdict verdict)
{
	if (verdict == JOURNAL_DONE_NOW || verdict == JOURNAL_ALREADY)
		end(play, next, who);
	else
		next->actors[who].step = STEP_LOOK;
}

/* update */

static void heard(const struct play *play, struct state *next, int who)
{
	struct actor *actor = &next->actors[who];

	if (actor->turned)
		actor_begin_process(actor, STEP_BACK_OBSERVE);
	else if (play->drop == DROP_READ_BACK)
		judge_settled(play, next, who);
	else
		actor->step = STEP_SETTLE;
}

static void update(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	if (!actor_may_update(play, &next, who))
		return;
	if (!actor->fresh) {
		actor->step = STEP_LOOK;
		tell(play, &next, "%s: what it would send is built from an old look", name_of_actor(play, state, who));
		return;
	}
	actor_send(play, &next, who, book_out(actor->change, actor->looked), STEP_FLIGHT);
}

static void write(const struct play *play, const struct state *state, int who, enum journal_verb verb,
                  void (*hears)(const struct play *play, struct state *next, int who, enum journal_verdict verdict))
{
	struct state next = *state;

	if (actor_may_write(play, &next, who))
		actor_journal(play, &next, who, verb, STEP_LOOK, hears);
}

static void observe(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;

	actor_observe(&next, who);
	actor_begin_process(&next.actors[who], STEP_LOOK);
	tell(play, &next, "%s reads the journal", name_of_actor(play, state, who));
}

static void register_zone(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = &next.actors[who];

	next.region[actor->zone] |= actor->owner;
	actor->wait = play->drop == DROP_NEWCOMER_WAITS ? 0 : REGISTRATION;
	actor->region_fresh = 1;
	actor->other = next.region[1 - actor->zone] != 0;
	actor->step = STEP_OBSERVE;
	tell(play, &next, "%s registers its zone", name_of_actor(play, state, who));
}

/* hold: a resync finds that something is not as it was left */
static void hold(const struct play *play, const struct state *state, int who)
{
	const struct actor *actor = &state->actors[who];
	const struct row *row = &state->rows[actor->zone];
	bool inside = book_in_zone(actor->zone, state->resource) != 0;

	if (!inside && !row->is)
		return;
	if (!inside && (row->owners & actor->owner) && row->state == RECORD_SETTLED)
		return;
	observe(play, state, who);
}

void actor_out_expand(const struct play *play, const struct state *state, int who)
{
	switch ((enum step)state->actors[who].step) {
	case STEP_REGISTER:
		register_zone(play, state, who);
		break;
	case STEP_OBSERVE:
		observe(play, state, who);
		break;
	case STEP_LOOK:
	case STEP_SETTLE:
		look(play, state, who, false);
		if (play->story->stale && !state->stale && state->before != state->resource)
			look(play, state, who, true);
		break;
	case STEP_INTENT:
		write(play, state, who, JOURNAL_INTENT, written);
		break;
	case STEP_JOIN:
		write(play, state, who, JOURNAL_JOIN, joined);
		break;
	case STEP_EXTEND:
		write(play, state, who, JOURNAL_EXTEND, written);
		break;
	case STEP_REDO:
		write(play, state, who, JOURNAL_REDO, written);
		break;
	case STEP_UPDATE:
		update(play, state, who);
		break;
	case STEP_FLIGHT:
		actor_flight(play, state, who, heard);
		break;
	case STEP_DONE:
		write(play, state, who, JOURNAL_DONE, done);
		break;
	case STEP_HOLD:
		hold(play, state, who);
		break;
	default:
		break;
	}
}
