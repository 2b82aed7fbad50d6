/*
 * What the processes have in common: the registration, the lock, an update under way, a call to the journal, crashes, and recover's beginning.
 */
#include "model.h"

#include <string.h>

static struct actor *actor_of(struct state *state, int who)
{
	return &state->actors[who];
}

uint8_t actor_writer(const struct state *state, int who)
{
	return (uint8_t)(1 + who * 2 + state->actors[who].crashed);
}

bool actor_owns_row(const struct actor *actor)
{
	return actor->row.is && (actor->row.owners & actor->owner);
}

static bool may_fail(const struct play *play, const struct state *state)
{
	return state->faults < play->story->faults_max;
}

/* item_start */
void actor_begin_process(struct actor *actor, enum step step)
{
	actor->step = (uint8_t)step;
	actor->updates = actor->intends = 0;
	actor->back_seen = actor->sure = 0;
	actor->repeat = 0;
	actor->fresh = 0;
}

void actor_observe(struct state *state, int who)
{
	struct actor *actor = actor_of(state, who);

	if (!state->rows[actor->zone].is && actor_owns_row(actor))
		actor->change = actor->row.removed; /* what a record that is gone is written again with */
	actor->row = state->rows[actor->zone];
	actor->match = actor->row.is;
	if (actor_owns_row(actor))
		actor->held = 1;
}

static uint8_t later(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

/* item_suspect_predecessor */
void actor_suspect(const struct play *play, struct state *state, int who)
{
	struct actor *actor = actor_of(state, who);
	bool shared = actor->row.is && actor->row.owners != actor->owner;
	uint8_t until = actor->row.owners == actor->owner ? actor->acting : LIFE;

	if (play->drop == DROP_SUSPICION || !actor->row.is || actor->row.state != RECORD_INTENT)
		return;
	if (actor->row.writer == actor_writer(state, who) && (!shared || play->drop == DROP_SHARED_INTENT))
		return;
	actor->claim = later(actor->claim, until) & 3u;
}

/* The lock. */

static bool holds_lock(const struct state *state, int who)
{
	return state->lock_is && state->lock_holder == (unsigned)who && state->lock_life > 0;
}

static bool needs_lock(const struct play *play, const struct state *state, int who)
{
	if (!play->story->locks || play->drop == DROP_LOCK || play->drop == DROP_LOCK_OWNERS)
		return false;
	return !play->story->registration || state->actors[who].other;
}

static uint8_t lock_life(const struct play *play)
{
	return play->drop == DROP_LOCK_LIFE ? LOCK_SHORT : LOCK;
}

/* Taken anew, taken over from a life before, or renewed: never for a shorter time than it had. */
static bool take_lock(const struct play *play, struct state *state, int who)
{
	bool held = state->lock_is && state->lock_life > 0;

	if (held && state->lock_holder != (unsigned)who)
		return false;
	if (!held)
		state->lock_dirty = 0;
	state->lock_is = 1;
	state->lock_holder = (unsigned)who & 3u;
	state->lock_life = lock_life(play) & 3u;
	return true;
}

/* After the last look: unless something sent under it may still land. */
void actor_release(const struct play *play, struct state *state, int who)
{
	if (!holds_lock(state, who) || (state->lock_dirty && play->drop != DROP_LOCK_SILENCE))
		return;
	state->lock_is = state->lock_dirty = 0;
	state->lock_life = state->lock_holder = 0;
}

/* The region's item. */

static uint8_t owners_elsewhere(const struct state *state, const struct actor *actor)
{
	return state->region[1 - actor->zone];
}

/* Read it again; one that finds itself thrown out stops. */
static void read_region(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);

	actor->region_fresh = 1;
	actor->other = owners_elsewhere(&next, actor) != 0;
	if (!(next.region[actor->zone] & actor->owner)) {
		actor_release(play, &next, who);
		actor->step = actor->turned ? STEP_OVER : STEP_STOPPED;
	}
	tell(play, &next, "%s reads the region's item: %s", name_of_actor(play, state, who),
	     !(next.region[actor->zone] & actor->owner) ? "it is thrown out, and stops"
	     : actor->other                             ? "another zone is held"
	                                                : "alone");
}

static bool region_is_known(const struct play *play, const struct state *state, int who)
{
	const struct actor *actor = &state->actors[who];

	if (!play->story->registration || actor->recover || actor->region_fresh || play->drop == DROP_REREAD)
		return true;
	read_region(play, state, who);
	return false;
}

bool actor_may_write(const struct play *play, struct state *state, int who)
{
	return region_is_known(play, state, who);
}

bool actor_may_look(const struct play *play, struct state *state, int who, bool lock_needed)
{
	if (!region_is_known(play, state, who))
		return false;
	return !lock_needed || !needs_lock(play, state, who) || take_lock(play, state, who);
}

/* Held long enough for what is about to be signed; else it is renewed first, and looked at again if it was lost. */
bool actor_may_update(const struct play *play, struct state *state, int who)
{
	if (!region_is_known(play, state, who))
		return false;
	if (!needs_lock(play, state, who))
		return true;
	if (!holds_lock(state, who)) {
		state->actors[who].fresh = 0;
		return true;
	}
	return play->drop == DROP_LOCK_LIFE || state->lock_life >= LIFE || take_lock(play, state, who);
}

void actor_look(const struct play *play, struct state *next, int who, bool stale)
{
	struct actor *actor = actor_of(next, who);

	(void)play;
	actor->looked = stale ? next->before : next->resource;
	actor->before_edit = stale;
	actor->fresh = 1;
	actor->claim_past = actor->row.claim == 0;
	if (stale) {
		next->stale = 1;
		next->faults++;
	}
}

/* An update. */

void actor_send(const struct play *play, const struct state *state, int who, uint8_t list, enum step then)
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);

	actor->sent = list & 31u;
	actor->life = LIFE;
	actor->landed = actor->intends = 0;
	actor->step = (uint8_t)then;
	tell(play, &next, "%s sends an update to %s", name_of_actor(play, state, who), name_of_list(list));
}

static struct air air_of(const struct state *state, int who)
{
	const struct actor *actor = &state->actors[who];

	return (struct air){.life = actor->life,
	                    .verb = AIR_UPDATE,
	                    .list = actor->sent,
	                    .before_edit = actor->before_edit,
	                    .actor = (unsigned)who & 3u};
}

static void leave_in_air(struct state *state, int who)
{
	struct actor *actor = actor_of(state, who);

	if (!actor->landed && actor->life > 0)
		world_put_in_air(state, air_of(state, who));
	actor->sent = actor->life = actor->landed = 0;
}

static void flight_lands(const struct play *play, const struct state *state, int who)
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);

	actor->landed = 1;
	world_land(&next, play->story, actor->sent, actor->before_edit);
	tell(play, &next, "%s's update lands: the resource has %s", name_of_actor(play, state, who),
	     name_of_list(next.resource));
}

static void flight_heard(const struct play *play, const struct state *state, int who,
                         void (*heard)(const struct play *play, struct state *next, int who))
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);

	actor->updates = actor->updates < 3 ? (actor->updates + 1) & 3u : 3;
	actor->sent = actor->life = actor->landed = 0;
	heard(play, &next, who);
	tell(play, &next, "%s hears that its update was accepted", name_of_actor(play, state, who));
}

/* item_silence */
static void flight_silent(const struct play *play, const struct state *state, int who,
                          void (*heard)(const struct play *play, struct state *next, int who))
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);
	bool back = actor->step == STEP_BACK_FLIGHT;

	next.faults++;
	actor->silent = 1;
	actor->claim = later(actor->claim, actor->life) & 3u;
	if (!back)
		actor->updates = actor->updates < 3 ? (actor->updates + 1) & 3u : 3;
	if (holds_lock(&next, who))
		next.lock_dirty = 1;
	leave_in_air(&next, who);
	heard(play, &next, who);
	tell(play, &next, "%s gets no answer to its update%s", name_of_actor(play, state, who),
	     state->actors[who].landed ? ", which has landed" : "; it may land yet");
}

void actor_flight(const struct play *play, const struct state *state, int who,
                  void (*heard)(const struct play *play, struct state *next, int who))
{
	const struct actor *actor = &state->actors[who];

	if (!actor->landed && actor->life > 0)
		flight_lands(play, state, who);
	if (actor->landed)
		flight_heard(play, state, who, heard);
	/* A connection does not wait for ever: what can no longer land is silence, too. */
	if (actor->life == 0 && !actor->landed) {
		struct state next = *state;

		actor_of(&next, who)->sent = 0;
		heard(play, &next, who);
		tell(play, &next, "%s's update has grown too old to land", name_of_actor(play, state, who));
	}
	if (play->story->parts[who].may_be_silent && !actor->silent && may_fail(play, state))
		flight_silent(play, state, who, heard);
}

/* The journal. */

/* Until when may an update land of what this one, or a life before it, has sent? */
static uint8_t claim_of(const struct play *play, const struct actor *actor, enum journal_verb verb)
{
	bool settled = actor->row.state == RECORD_SETTLED || actor->row.state == RECORD_APPLIED;

	if (verb == JOURNAL_DONE || verb == JOURNAL_RESTORE)
		return actor->claim;
	if (verb == JOURNAL_LEAVE && play->drop != DROP_LEAVE_CLAIMS)
		return settled ? actor->claim : LIFE;
	return 0;
}

static struct book_call call_of(const struct play *play, const struct state *state, int who, enum journal_verb verb)
{
	const struct actor *actor = &state->actors[who];
	bool as_read = verb == JOURNAL_DONE || verb == JOURNAL_CLOSE;

	return (struct book_call){
		.verb = (uint8_t)verb,
		.owner = actor->owner,
		.zone = actor->zone,
		.removed_old = verb == JOURNAL_EXTEND ? actor->row.removed : 0,
		.removed_new = verb == JOURNAL_EXTEND   ? book_join(actor->row.removed, actor->change)
	                   : verb == JOURNAL_INTENT ? actor->change
	                                            : 0,
		.done_state = verb == JOURNAL_DONE ? RECORD_SETTLED : 0,
		.claim = claim_of(play, actor, verb),
		.writer = actor_writer(state, who),
		.attempt_is_records = (as_read || actor->repeat) && actor->match,
	};
}

/* Somebody's attempt stands in the record now: nobody else's is it any more. */
static void unmatch(struct state *state, uint8_t zone)
{
	for (int i = 0; i < ACTORS; i++)
		if (state->actors[i].zone == zone)
			state->actors[i].match = 0;
	for (int i = 0; i < AIRS; i++)
		if (state->airs[i].life > 0 && state->actors[state->airs[i].actor].zone == zone)
			state->airs[i].match = 0;
}

/* The time of a close is that of the look it is decided on: what could land then may have landed since. */
static void set_time_of_look(const struct play *play, struct state *state, int who, const struct book_call *call)
{
	struct row *row = &state->rows[call->zone];

	if (call->verb == JOURNAL_CLOSE && row->is && row->claim == 0 && !state->actors[who].claim_past &&
	    play->drop != DROP_CLOSE_TIME_OF_LOOK)
		row->claim = 1;
}

static enum journal_verdict apply(const struct play *play, struct state *state, int who, const struct book_call *call)
{
	struct row *row = &state->rows[call->zone];
	uint8_t claim = row->claim;
	bool changed;
	enum journal_verdict verdict;

	set_time_of_look(play, state, who, call);
	verdict = book_rule(play->drop, call, row, &changed);
	if (call->verb == JOURNAL_CLOSE && row->is)
		row->claim = claim & 3u;
	if (changed || !state->rows[call->zone].is)
		unmatch(state, call->zone);
	return verdict;
}

static void journal_answered(const struct play *play, const struct state *state, int who, const struct book_call *call,
                             void (*heard)(const struct play *play, struct state *next, int who,
                                           enum journal_verdict verdict))
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);
	enum journal_verdict verdict = apply(play, &next, who, call);

	actor->repeat = 0;
	actor_observe(&next, who);
	heard(play, &next, who, verdict);
	tell(play, &next, "%s: %s -> %s", name_of_actor(play, state, who), journal_verb_name((enum journal_verb)call->verb),
	     journal_verdict_name(verdict));
}

/* It was applied; the same call again, with the attempt it had. */
static void journal_unheard(const struct play *play, const struct state *state, int who, const struct book_call *call)
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);
	struct row before = next.rows[call->zone];

	apply(play, &next, who, call);
	next.faults++;
	actor->lost = 1;
	actor->repeat = 1;
	if (!call->attempt_is_records && call->verb != JOURNAL_JOIN && call->verb != JOURNAL_LEAVE)
		actor->match = next.rows[call->zone].is && memcmp(&before, &next.rows[call->zone], sizeof(before)) != 0;
	tell(play, &next, "%s: %s is written, but its answer is lost", name_of_actor(play, state, who),
	     journal_verb_name((enum journal_verb)call->verb));
}

/* It was given up, and may land late. */
static void journal_given_up(const struct play *play, const struct state *state, int who, const struct book_call *call,
                             enum step again)
{
	struct state next = *state;
	struct actor *actor = actor_of(&next, who);
	uint8_t list = call->verb == JOURNAL_EXTEND || call->verb == JOURNAL_INTENT ? call->removed_new : 0;

	next.faults++;
	actor->lost = 1;
	world_put_in_air(&next, (struct air){.life = LIFE,
	                                     .verb = call->verb,
	                                     .list = list,
	                                     .old = call->removed_old & 31u,
	                                     .match = call->attempt_is_records,
	                                     .early = call->verb == JOURNAL_CLOSE &&
	                                              (!actor->claim_past || next.rows[call->zone].claim > 0),
	                                     .actor = (unsigned)who & 3u,
	                                     .writer = call->writer & 7u,
	                                     .claim = call->claim & 3u});
	actor_begin_process(actor, again);
	tell(play, &next, "%s: %s gets no answer and is given up; it may land yet", name_of_actor(play, state, who),
	     journal_verb_name((enum journal_verb)call->verb));
}

void actor_journal(const struct play *play, const struct state *state, int who, enum journal_verb verb, enum step again,
                   void (*heard)(const struct play *play, struct state *next, int who, enum journal_verdict verdict))
{
	const struct actor *actor = &state->actors[who];
	struct book_call call = call_of(play, state, who, verb);

	journal_answered(play, state, who, &call, heard);
	if (!play->story->parts[who].may_lose || actor->lost || !may_fail(play, state))
		return;
	journal_unheard(play, state, who, &call);
	if (play->story->late_journal)
		journal_given_up(play, state, who, &call, again);
}

/* The object is deleted: what is under way is waited for, the rest is dropped. */
void actor_turn(struct state *state, int who)
{
	struct actor *actor = actor_of(state, who);

	actor->turned = 1;
	if (actor->step == STEP_STOPPED)
		actor->step = STEP_OVER;
	else if (actor->step != STEP_FLIGHT)
		actor_begin_process(actor, STEP_BACK_OBSERVE);
}

/* The next life knows nothing, and takes the lease after its predecessor has signed its last. */
void actor_crash(const struct play *play, struct state *state, int who)
{
	struct actor *actor = actor_of(state, who);
	bool keep = actor->step == STEP_OVER || actor->step == STEP_STOPPED;

	if (actor->step == STEP_FLIGHT || actor->step == STEP_BACK_FLIGHT)
		leave_in_air(state, who);
	if (holds_lock(state, who) && play->drop != DROP_LOCK_PREDECESSOR)
		state->lock_dirty = 1;
	*actor = (struct actor){
		.step = keep ? actor->step : STEP_NONE,
		.owner = actor->owner,
		.zone = actor->zone,
		.turned = actor->turned,
		.recover = actor->recover,
		.silent = actor->silent,
		.lost = actor->lost,
		.crashed = 1,
		.acting = LIFE,
		.wait = play->story->registration && play->drop != DROP_SUCCESSOR_WAITS && !actor->turned ? REGISTRATION : 0,
	};
	if (!keep)
		actor->step = actor->recover ? STEP_RECOVER_BEGIN : actor->turned ? STEP_BACK_OBSERVE : STEP_OBSERVE;
	state->faults++;
}
