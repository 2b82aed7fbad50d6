#include "admit.h"

#include <string.h>

#include "kube/objects.h"
#include "requeue.h"
#include "stall.h"
#include "state.h"
#include "turn.h"

/* Among the cluster's own objects. */

static bool same_region(const struct evacuation *a, const struct evacuation *b)
{
	return text_equal(evacuation_region(a), evacuation_region(b));
}

static bool same_zone(const struct evacuation *a, const struct evacuation *b)
{
	return same_region(a, b) && text_equal(a->manifest.zone_id, b->manifest.zone_id);
}

/* Who has begun comes before who has not; then the older; then by UID, so that all replicas say the same. */
static bool before(const struct evacuation *a, const struct evacuation *b)
{
	int order;

	if (a->manifest.finalizer != b->manifest.finalizer)
		return a->manifest.finalizer;
	order = strcmp(a->manifest.created_at, b->manifest.created_at);
	return order ? order < 0 : strcmp(a->manifest.uid, b->manifest.uid) < 0;
}

void admit_refuse_other_zone(struct evacuation *evacuation, const char *held)
{
	evacuation->refused_generation = evacuation->manifest.generation;
	stall_set(
		&evacuation->refusal, "OtherZone",
		"zone %s of region %s is held already; delete the other evacuation, then edit this one or apply it anew; or say "
		"spec.guards.allowOtherZones: true to empty two zones of a region at once",
		held, evacuation_region(evacuation));
	evacuation->stall = evacuation->refusal;
}

/* Another zone of the region: refused for good if that one has begun, else decided when it has. */
static bool yield_to_other_zone(struct evacuation *evacuation, const struct evacuation *other)
{
	if (other->manifest.finalizer)
		admit_refuse_other_zone(evacuation, other->manifest.zone_id);
	else
		stall_set(
			&evacuation->stall, "OtherZoneFirst",
			"ZonalEvacuation %s of zone %s came first and has not begun yet; two zones of a region are emptied at once only "
			"where spec.guards.allowOtherZones says so, so this one waits until that has begun, or is deleted",
			other->manifest.name, other->manifest.zone_id);
	return false;
}

bool admit_by_objects(struct evacuation *evacuation)
{
	for (const struct evacuation *other = evacuation->engine->evacuations; other; other = other->next) {
		if (other == evacuation || !evacuation_wants_zone(other) || !same_region(other, evacuation) ||
		    !before(other, evacuation))
			continue;
		if (!same_zone(other, evacuation)) {
			if (evacuation->manifest.allow_other_zones)
				continue;
			return yield_to_other_zone(evacuation, other);
		}
		if (!evacuation_is_ending(other)) {
			stall_set(&evacuation->stall, "ZoneTaken",
			          "ZonalEvacuation %s has this zone; this one takes over when that is deleted",
			          other->manifest.name);
			return false;
		}
	}
	return true;
}

struct evacuation *admit_successor(const struct evacuation *evacuation)
{
	struct evacuation *found = NULL;

	for (struct evacuation *other = evacuation->engine->evacuations; other; other = other->next)
		if (other != evacuation && evacuation_wants_zone(other) && !evacuation_is_ending(other) &&
		    same_zone(other, evacuation) && (!found || before(other, found)))
			found = other;
	return found;
}

struct evacuation *admit_elder(const struct evacuation *evacuation)
{
	for (struct evacuation *other = evacuation->engine->evacuations; other; other = other->next)
		if (other != evacuation && !other->vanished && evacuation_is_ending(other) && other->manifest.finalizer &&
		    !other->letting_go && !process_running(&other->finalizer) && !turn_is_abandoned(other) &&
		    same_zone(other, evacuation) && before(other, evacuation))
			return other;
	return NULL;
}

bool admit_has_predecessor(const struct evacuation *evacuation)
{
	for (const struct evacuation *other = evacuation->engine->evacuations; other; other = other->next)
		if (other != evacuation && !other->vanished && evacuation_is_ending(other) && other->manifest.finalizer &&
		    same_zone(other, evacuation))
			return true;
	return false;
}

/* The finalizer. */

static void finalizer_ask(struct evacuation *evacuation, bool wanted, struct arena *arena, struct ask *out)
{
	out->what = ASK_HTTP;
	out->effect = true;
	if (wanted)
		kube_ask_add_finalizer(arena, evacuation->object, &out->request);
	else
		kube_ask_remove_finalizer(arena, evacuation->object, &out->request);
}

static void finalizer_on_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena,
                             struct ask *out)
{
	(void)now;
	(void)wall;
	finalizer_ask(self, true, arena, out);
}

static void finalizer_off_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena,
                              struct ask *out)
{
	(void)now;
	(void)wall;
	finalizer_ask(self, false, arena, out);
}

static const struct step *finalizer_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;
	const struct json *object;

	if (answer->error) {
		evacuation->finalizer_failures++;
		evacuation->finalizer_error = *answer->error;
		evacuation->finalizer_due =
			instant_after(answer->now, requeue_backoff_ms(evacuation->finalizer_failures, 400, 30000,
		                                                  engine_random(evacuation->engine)));
		return NULL;
	}
	evacuation->finalizer_failures = 0;
	object = json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);
	if (text_equal(json_path_string(object, "metadata.uid"), evacuation->manifest.uid))
		evacuation_learn(evacuation->engine, object);
	return NULL;
}

static const struct step step_finalizer_on = {"set the finalizer", finalizer_on_ask, finalizer_hear};
static const struct step step_finalizer_off = {"take the finalizer off", finalizer_off_ask, finalizer_hear};

bool admit_finalizer(struct evacuation *evacuation, bool wanted)
{
	struct engine *engine = evacuation->engine;

	if (evacuation->manifest.finalizer == wanted)
		return true;
	if (!process_running(&evacuation->finalizer) && instant_reached(evacuation->finalizer_due, engine_now(engine)))
		process_start(&evacuation->finalizer, engine, evacuation, wanted ? &step_finalizer_on : &step_finalizer_off,
		              NULL);
	return false;
}
