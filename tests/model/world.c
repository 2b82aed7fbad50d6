/*
 * What happens by itself, or by people's hands: what is in the air lands, time passes, the owner edits, a rival puts back, an object is deleted, a process
 * is killed.
 */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = SUBNET_A | SUBNET_B | SUBNET_C };

static const char *const OWNER_NAMES[] = {"", "X", "Y", "", "local"};

const char *name_of_actor(const struct play *play, const struct state *state, int who)
{
	static char name[32];
	const struct actor *actor = &state->actors[who];

	(void)play;
	snprintf(name, sizeof(name), "%s%s", OWNER_NAMES[actor->owner], actor->crashed ? "'" : "");
	return name;
}

const char *name_of_list(uint8_t list)
{
	static char name[2][32];
	static unsigned turn;
	char *at = name[turn++ % 2];

	snprintf(at, sizeof(name[0]), "{%s%s%s%s%s}", list & SUBNET_A ? " a" : "", list & SUBNET_A2 ? " a2" : "",
	         list & SUBNET_B ? " b" : "", list & SUBNET_C ? " c" : "", list & SUBNET_D ? " d" : "");
	return at;
}

void tell(const struct play *play, const struct state *next, const char *format, ...)
{
	char line[256] = "";
	va_list arguments;

	if (play->telling) {
		va_start(arguments, format);
		vsnprintf(line, sizeof(line), format, arguments);
		va_end(arguments);
	}
	play->emit(play->self, next, line);
}

/* What its owner's edit is about. */
static uint8_t edited_subnet(const struct story *story)
{
	switch (story->edit) {
	case EDIT_ADD_ELSEWHERE:
		return SUBNET_D;
	case EDIT_ADD_IN_ZONE:
		return SUBNET_A2;
	case EDIT_REMOVE:
		return SUBNET_C;
	case EDIT_NONE:
		break;
	}
	return 0;
}

static uint8_t recorded(const struct state *state)
{
	uint8_t removed = 0;

	for (int zone = 0; zone < ZONES; zone++)
		if (state->rows[zone].is)
			removed |= state->rows[zone].removed;
	return removed;
}

/* What was built from a read before the edit may undo it: AWS cannot compare and set. Anything else must not. */
static void judge_edit(struct state *state, const struct story *story, bool before_edit)
{
	uint8_t subnet = edited_subnet(story);
	bool wrong = ((state->resource ^ state->want) & subnet & ~recorded(state)) != 0;

	if (!state->edited || !wrong)
		return;
	state->excused |= before_edit;
	if (state->excused)
		state->want = (uint8_t)((state->want & ~subnet) | (state->resource & subnet));
	else if (story->edit != EDIT_ADD_IN_ZONE)
		state->broken = 1;
}

void world_land(struct state *state, const struct story *story, uint8_t list, bool before_edit)
{
	if (story->stale)
		state->before = state->resource;
	state->resource = list;
	judge_edit(state, story, before_edit);
}

void world_put_in_air(struct state *state, struct air air)
{
	for (int i = 0; i < AIRS; i++)
		if (state->airs[i].life == 0) {
			state->airs[i] = air;
			return;
		}
	state->broken = 2;
}

static void land_call(const struct play *play, struct state *state, const struct air *air)
{
	const struct actor *actor = &state->actors[air->actor];
	struct book_call call = {
		.verb = air->verb,
		.owner = actor->owner,
		.zone = actor->zone,
		.removed_old = air->old,
		.removed_new = air->list,
		.done_state = air->verb == JOURNAL_DONE ? RECORD_SETTLED : 0,
		.claim = air->claim,
		.writer = air->writer,
		.attempt_is_records = air->match,
	};
	bool changed;

	if (air->early) /* its time stands in it */
		return;
	book_rule(play->drop, &call, &state->rows[actor->zone], &changed);
	if (!changed && state->rows[actor->zone].is)
		return;
	for (int i = 0; i < ACTORS; i++)
		if (state->actors[i].zone == actor->zone)
			state->actors[i].match = 0;
}

static void lands(const struct play *play, const struct state *state, int which)
{
	struct state next = *state;
	struct air air = state->airs[which];

	next.airs[which] = (struct air){0};
	if (air.verb == AIR_UPDATE) {
		world_land(&next, play->story, air.list, air.before_edit);
		tell(play, &next, "the late update of %s lands: the resource has %s", name_of_actor(play, state, air.actor),
		     name_of_list(next.resource));
	} else {
		land_call(play, &next, &air);
		tell(play, &next, "the late %s of %s lands in the journal", journal_verb_name((enum journal_verb)air.verb),
		     name_of_actor(play, state, air.actor));
	}
}

static uint8_t less(uint8_t ticks)
{
	return ticks ? (uint8_t)(ticks - 1) : 0;
}

static void tick_row(struct row *row)
{
	row->claim = less(row->claim) & 3u;
	if (row->is && row->age < ABANDONED)
		row->age = (row->age + 1) & 7u;
}

static void tick_actor(struct actor *actor)
{
	actor->fresh = actor->region_fresh = actor->intends = 0;
	actor->sure = actor->back_seen;
	actor->claim = less(actor->claim) & 3u;
	actor->acting = less(actor->acting) & 3u;
	actor->wait = less(actor->wait) & 3u;
	actor->life = less(actor->life) & 7u;
	tick_row(&actor->row);
}

static void tick(const struct play *play, const struct state *state)
{
	struct state next = *state;

	for (int i = 0; i < ACTORS; i++)
		tick_actor(&next.actors[i]);
	for (int i = 0; i < AIRS; i++) {
		next.airs[i].life = less(next.airs[i].life);
		if (next.airs[i].life == 0)
			next.airs[i] = (struct air){0};
	}
	for (int zone = 0; zone < ZONES; zone++)
		tick_row(&next.rows[zone]);
	next.lock_life = less(next.lock_life) & 3u;
	if (next.lock_life == 0)
		next.lock_is = next.lock_dirty = next.lock_holder = 0;
	next.before = play->story->stale ? next.resource : 0; /* no answer is so old */
	if (memcmp(&next, state, sizeof(next)) != 0)
		tell(play, &next, "time passes");
}

static void edits(const struct play *play, const struct state *state)
{
	struct state next = *state;
	uint8_t subnet = edited_subnet(play->story);

	next.edited = 1;
	next.before = play->story->stale ? next.resource : 0;
	if (play->story->edit == EDIT_REMOVE) {
		next.resource &= (uint8_t)~subnet;
		next.want &= (uint8_t)~subnet;
	} else {
		next.resource |= subnet;
		next.want |= subnet;
	}
	for (int i = 0; i < ACTORS; i++)
		if (next.actors[i].fresh || next.actors[i].life > 0)
			next.actors[i].before_edit = 1;
	for (int i = 0; i < AIRS; i++)
		if (next.airs[i].life > 0)
			next.airs[i].before_edit = 1;
	tell(play, &next, "the owner edits it: %s", name_of_list(next.resource));
}

static void rival(const struct play *play, const struct state *state)
{
	struct state next = *state;

	next.undone = 1;
	world_land(&next, play->story, next.want, false);
	tell(play, &next, "a rival puts it back: %s", name_of_list(next.resource));
}

/* A people's or the machine's doing to one of the actors. */
static void befalls(const struct play *play, const struct state *state, int who)
{
	const struct actor *actor = &state->actors[who];
	struct state next;

	if (actor->step == STEP_NONE || actor->step == STEP_OVER)
		return;
	if (!actor->turned && !actor->recover) {
		next = *state;
		actor_turn(&next, who);
		tell(play, &next, "%s's evacuation is deleted", name_of_actor(play, state, who));
	}
	if (play->story->parts[who].may_crash && !actor->crashed && state->faults < play->story->faults_max) {
		next = *state;
		actor_crash(play, &next, who);
		tell(play, &next, "%s is killed and begins anew", name_of_actor(play, state, who));
	}
}

void world_expand(const struct play *play, const struct state *state)
{
	for (int i = 0; i < ACTORS; i++) {
		befalls(play, state, i);
		actor_out_expand(play, state, i);
		actor_back_expand(play, state, i);
	}
	for (int i = 0; i < AIRS; i++)
		if (state->airs[i].life > 0)
			lands(play, state, i);
	if (play->story->edit != EDIT_NONE && !state->edited)
		edits(play, state);
	if (play->story->rival && !state->undone && state->resource != state->want)
		rival(play, state);
	tick(play, state);
}

void world_begin(const struct story *story, struct state *state)
{
	memset(state, 0, sizeof(*state));
	state->resource = state->want = FIRST;
	state->before = story->stale ? FIRST : 0;
	for (int i = 0; i < ACTORS; i++) {
		struct actor *actor = &state->actors[i];
		const struct part *part = &story->parts[i];

		if (!part->owner)
			continue;
		actor->owner = part->owner & 7u;
		actor->zone = part->zone & 1u;
		actor->recover = part->recover & 1u;
		actor->step = part->recover                              ? STEP_RECOVER_BEGIN
		              : story->registration && !part->registered ? STEP_REGISTER
		                                                         : STEP_OBSERVE;
		if (!part->recover && actor->step == STEP_OBSERVE)
			state->region[actor->zone] |= actor->owner;
	}
}
