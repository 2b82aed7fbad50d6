#include "admit.h"

#include <string.h>

#include "journal/dynamodb.h"
#include "kube/objects.h"
#include "requeue.h"
#include "stall.h"
#include "state.h"

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

static bool refuse_other_zone(struct evacuation *evacuation, const char *held)
{
	evacuation->refused_generation = evacuation->manifest.generation;
	stall_set(
		&evacuation->refusal, "OtherZone",
		"zone %s of region %s is held already, and two zones of a region are never emptied at once; delete the other evacuation, then "
		"delete this one and apply it anew",
		held, evacuation_region(evacuation));
	evacuation->stall = evacuation->refusal;
	return false;
}

/* Another zone of the region: refused for good if that one has begun, else decided when it has. */
static bool yield_to_other_zone(struct evacuation *evacuation, const struct evacuation *other)
{
	if (other->manifest.finalizer)
		return refuse_other_zone(evacuation, other->manifest.zone_id);
	stall_set(
		&evacuation->stall, "OtherZoneFirst",
		"ZonalEvacuation %s of zone %s came first and has not begun yet; two zones of a region are never emptied at once, so this one "
		"waits until that has begun, or is deleted",
		other->manifest.name, other->manifest.zone_id);
	return false;
}

bool admit_by_objects(struct evacuation *evacuation)
{
	for (const struct evacuation *other = evacuation->engine->evacuations; other; other = other->next) {
		if (other == evacuation || !evacuation_wants_zone(other) || !same_region(other, evacuation) ||
		    !before(other, evacuation))
			continue;
		if (!same_zone(other, evacuation))
			return yield_to_other_zone(evacuation, other);
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

/* The registration: read the region's item, judge it, write it as read. */

static const struct step step_read_to_register, step_register, step_read_to_unregister, step_unregister;

static void ask_region(struct evacuation *evacuation, struct ask *out)
{
	out->what = ASK_HTTP;
	out->place = evacuation->place;
}

static void read_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	dynamodb_ask_region(arena, evacuation->engine->settings->table, &out->request);
}

static const struct step *registration_failed(struct evacuation *evacuation, const struct answer *answer,
                                              const struct error *error)
{
	evacuation->registration_failures++;
	evacuation->registration_due =
		instant_after(answer->now, requeue_backoff_ms(evacuation->registration_failures, 1000, 60000,
	                                                  engine_random(evacuation->engine)));
	evacuation->registration_error = *error;
	return NULL;
}

static bool hear_region(struct evacuation *evacuation, const struct answer *answer, struct error *error)
{
	if (answer->error) {
		*error = *answer->error;
		return false;
	}
	arena_reset(&evacuation->registration_arena);
	return dynamodb_hear_region(&evacuation->registration_arena, answer->response, evacuation->manifest.zone_id,
	                            &evacuation->region_item, error);
}

static const struct step *read_to_register_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;
	const struct region_item *item = &evacuation->region_item;

	if (!hear_region(evacuation, answer, &error))
		return registration_failed(evacuation, answer, &error);
	for (size_t i = 0; i < item->zones.count; i++)
		if (!text_equal(item->zones.at[i], evacuation->manifest.zone_id)) {
			refuse_other_zone(evacuation, item->zones.at[i]);
			return NULL;
		}
	if (!string_list_has(&item->owners, evacuation->engine->cluster.owner))
		return &step_register;
	evacuation->registered = true;
	return NULL;
}

static void register_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	out->effect = true;
	dynamodb_ask_register(arena, evacuation->engine->settings->table, evacuation->manifest.zone_id,
	                      evacuation->engine->cluster.owner, &evacuation->region_item, &out->request);
}

static void unregister_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	out->effect = true;
	dynamodb_ask_unregister(arena, evacuation->engine->settings->table, evacuation->manifest.zone_id,
	                        evacuation->engine->cluster.owner, &evacuation->region_item, &out->request);
}

/* Somebody else wrote in between, or nobody answered: what is there is read again, a little later. */
static const struct step *written_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;

	if (!answer->error) {
		evacuation->registration_failures = 0;
		return evacuation->restoring ? &step_read_to_unregister : &step_read_to_register;
	}
	return registration_failed(evacuation, answer, answer->error);
}

static const struct step *read_to_unregister_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;

	if (!hear_region(evacuation, answer, &error))
		return registration_failed(evacuation, answer, &error);
	if (string_list_has(&evacuation->region_item.owners, evacuation->engine->cluster.owner))
		return &step_unregister;
	evacuation->unregistered = true;
	return NULL;
}

static const struct step step_read_to_register = {"read the region", read_ask, read_to_register_hear};
static const struct step step_register = {"register the zone", register_ask, written_hear};
static const struct step step_read_to_unregister = {"read the region", read_ask, read_to_unregister_hear};
static const struct step step_unregister = {"unregister the zone", unregister_ask, written_hear};

static void registration_start(struct evacuation *evacuation, const struct step *first)
{
	if (!process_running(&evacuation->registration) &&
	    instant_reached(evacuation->registration_due, engine_now(evacuation->engine)))
		process_start(&evacuation->registration, evacuation->engine, evacuation, first, NULL);
}

bool admit_register(struct evacuation *evacuation)
{
	if (!evacuation->registered)
		registration_start(evacuation, &step_read_to_register);
	return evacuation->registered;
}

bool admit_unregister(struct evacuation *evacuation)
{
	if (!evacuation->unregistered)
		registration_start(evacuation, &step_read_to_unregister);
	return evacuation->unregistered;
}
