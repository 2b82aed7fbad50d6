/*
 * What must hold in every state, and at the end.
 */
#include "model.h"

bool property_quiet(const struct state *state)
{
	for (int i = 0; i < ACTORS; i++)
		if (state->actors[i].step != STEP_NONE && state->actors[i].step != STEP_OVER)
			return false;
	for (int i = 0; i < AIRS; i++)
		if (state->airs[i].life > 0)
			return false;
	return true;
}

/* Is it being put back by one although another, who has joined, holds it out? */
static bool restores_against_another(const struct state *state)
{
	for (int i = 0; i < ACTORS; i++) {
		const struct actor *actor = &state->actors[i];

		if (actor->step != STEP_BACK_FLIGHT || actor->recover || actor->landed || actor->life == 0)
			continue;
		for (int j = 0; j < ACTORS; j++) {
			const struct actor *other = &state->actors[j];

			if (j != i && other->zone == actor->zone && other->step == STEP_HOLD && other->held &&
			    (state->rows[actor->zone].owners & other->owner))
				return true;
		}
	}
	return false;
}

const char *property_broken(const struct play *play, const struct state *state)
{
	uint8_t named = 0;

	for (int zone = 0; zone < ZONES; zone++)
		if (state->rows[zone].is)
			named |= state->rows[zone].removed;
	if (state->broken == 2)
		return "the model has too little air";
	if (state->resource == 0)
		return "the resource is left without a subnet";
	if (state->broken == 1)
		return "an edit of the owner's is undone by what was built after it";
	if (state->want & ~state->resource & ~named)
		return "a subnet is out and no record names it";
	if (restores_against_another(state))
		return "it is put back while another owner holds it out";
	if (!property_quiet(state))
		return NULL;
	if (state->resource != state->want && !(state->excused && play->story->edit == EDIT_ADD_IN_ZONE))
		return "at the end it is not as its owner left it";
	for (int zone = 0; zone < ZONES; zone++)
		if (state->rows[zone].is && !play->story->late_journal)
			return "at the end a record is left that nobody closes";
	return NULL;
}
