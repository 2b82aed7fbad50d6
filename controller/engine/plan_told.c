#include "actuators/registry.h"
#include "base/text.h"
#include "evacuation.h"
#include "plan.h"

/* Out, as far as a status says. While it goes back, whatever is not back yet: it may wait for its batch for days. */
static bool is_out(const char *state, bool restoring)
{
	if (text_equal(state, item_state_name(ITEM_SETTLED)) || text_equal(state, item_state_name(ITEM_APPLIED)))
		return true;
	return restoring &&
	       (text_equal(state, item_state_name(ITEM_WAITING)) || text_equal(state, item_state_name(ITEM_RESTORING)) ||
	        text_equal(state, item_state_name(ITEM_FAILED)));
}

static void take_told_change(struct evacuation *evacuation, const struct json *entry, bool restoring)
{
	const char *state = json_get_string(entry, "state");
	const struct actuator *actuator =
		json_get_string(entry, "kind") ? registry_find(json_get_string(entry, "kind")) : NULL;
	struct arena arena;
	struct change change = {.name = json_get_string(entry, "name"), .id = json_get_string(entry, "id")};
	struct item *item;

	if (!actuator || !change.id || !change.name || items_find(&evacuation->items, change.id) ||
	    !is_out(state, restoring))
		return;
	arena_init(&arena, "told change", 1u << 20);
	change.kind = actuator->kind;
	change.removed = json_strings(json_get(entry, "removed"), &arena);
	if (change.removed.count) {
		item = items_add(&evacuation->items, evacuation, actuator, &change);
		item_set_held(item, true);
		item_become(item, ITEM_APPLIED, "so says the status; the journal has not been read yet");
	}
	arena_done(&arena);
}

void plan_take_status(struct evacuation *evacuation, const struct json *status)
{
	const struct json *changes = json_get(status, "changes");
	const char *phase = json_get_string(status, "phase");
	bool restoring = evacuation_is_ending(evacuation) && text_equal(phase, phase_name(PHASE_RESTORING));

	if (!evacuation->manifest.finalizer ||
	    !(restoring || text_equal(phase, phase_name(PHASE_HOLDING)) || text_equal(phase, phase_name(PHASE_APPLYING))))
		return;
	for (size_t i = 0; i < json_count(changes); i++)
		take_told_change(evacuation, json_at(changes, i), restoring);
	evacuation->told_in_doubt = restoring;
}
