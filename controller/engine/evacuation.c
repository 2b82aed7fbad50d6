#include "evacuation.h"

#include <stdlib.h>

#include "actuators/registry.h"
#include "drain.h"
#include "observe.h"
#include "pacing.h"
#include "plan.h"
#include "stall.h"
#include "state.h"
#include "status.h"
#include "turn.h"

#define OBJECT_ARENA_MAX (64u << 20)

/* The object. */

static struct evacuation *find(const struct engine *engine, const char *name)
{
	for (struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		if (!evacuation->vanished && text_equal(evacuation->manifest.name, name))
			return evacuation;
	return NULL;
}

static struct evacuation *evacuation_new(struct engine *engine)
{
	struct evacuation *evacuation = calloc(1, sizeof(*evacuation));
	struct evacuation **last = &engine->evacuations;

	if (!evacuation)
		abort();
	evacuation->engine = engine;
	arena_init(&evacuation->object_arena, "object", OBJECT_ARENA_MAX);
	arena_init(&evacuation->status_arena, "status", OBJECT_ARENA_MAX);
	arena_init(&evacuation->told_arena, "told", OBJECT_ARENA_MAX);
	arena_init(&evacuation->registration.arena, "registration", OBJECT_ARENA_MAX);
	items_init(&evacuation->items);
	planned_init(&evacuation->planned);
	volumes_init(&evacuation->volumes);
	evacuation->nodes_due = true;
	while (*last)
		last = &(*last)->next;
	*last = evacuation;
	return evacuation;
}

void evacuation_free(struct evacuation *evacuation)
{
	struct evacuation **link = &evacuation->engine->evacuations;

	while (*link != evacuation)
		link = &(*link)->next;
	*link = evacuation->next;
	evacuation_abort(evacuation);
	exchange_cancel(evacuation->engine, evacuation->status_exchange);
	items_done(&evacuation->items);
	planned_done(&evacuation->planned);
	volumes_done(evacuation);
	facts_release(evacuation->facts);
	arena_done(&evacuation->registration.arena);
	arena_done(&evacuation->told_arena);
	arena_done(&evacuation->status_arena);
	arena_done(&evacuation->object_arena);
	free(evacuation);
}

void evacuation_abort(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		item_abort(item);
	process_abort(&evacuation->registration.process);
	process_abort(&evacuation->finalizer);
	observation_cancel(evacuation->observation);
	evacuation->observation = NULL;
}

static bool refuses_the_whole(const char *reason)
{
	enum guard guard = guard_parse(reason);

	return guard == GUARD_OTHER_ZONE || guard == GUARD_MAX_NODES_PERCENT || guard == GUARD_PLAN_CHANGED;
}

/* Its time was over for the process before: it was put back, or was being. A zone that was refused is given back, too, but has no such time. */
static bool had_expired(struct evacuation *evacuation, const struct json *status)
{
	const char *phase = json_get_string(status, "phase");
	const char *at = json_get_string(status, "expiresAt");

	if (at && !wallclock_parse(at, &evacuation->expired_at))
		evacuation->expired_at = (struct wallclock){0};
	if (!evacuation->manifest.finalizer)
		return text_equal(phase, phase_name(PHASE_RESTORED));
	return evacuation->expired_at.us && evacuation->expired_at.us <= engine_wall(evacuation->engine).us &&
	       (text_equal(phase, phase_name(PHASE_RESTORING)) || text_equal(phase, phase_name(PHASE_RESTORED)));
}

/* What an earlier process wrote down and this one goes on with. */
static void take_over_status(struct evacuation *evacuation)
{
	const struct json *status = json_get(evacuation->object, "status");
	const struct json *stalled = status_condition(status, "Stalled");
	const char *reason = json_get_string(stalled, "reason");

	wallclock_parse(json_get_string(status, "startedAt") ? json_get_string(status, "startedAt") : "",
	                &evacuation->started_at);
	evacuation->share_judged = evacuation->registration.begun_before = evacuation->manifest.finalizer;
	if (evacuation->manifest.finalizer && evacuation->manifest.batch_percent < 100)
		evacuation->told = json_copy(&evacuation->told_arena, status);
	/* Of what is deleted, nothing is left once it is restored. */
	evacuation->expired = !evacuation->manifest.deleting && had_expired(evacuation, status);
	wallclock_parse(json_get_string(status, "evacuatedAt") ? json_get_string(status, "evacuatedAt") : "",
	                &evacuation->evacuated_at);
	if (!text_equal(json_get_string(stalled, "status"), "True") ||
	    json_integer(json_get(stalled, "observedGeneration"), 0) != evacuation->manifest.generation)
		return;
	if (text_equal(reason, RECOVERED_ELSEWHERE))
		evacuation->registration.recovered = evacuation->manifest.generation;
	if (refuses_the_whole(reason)) {
		const char *message = json_get_string(stalled, "message");

		evacuation->refused_generation = evacuation->manifest.generation;
		stall_set(&evacuation->refusal, reason, "%s", message ? message : "it was refused before");
	}
}

static void take_object(struct evacuation *evacuation, const struct json *object)
{
	int64_t generation = evacuation->manifest.generation;
	enum manifest_mode mode = evacuation->manifest.mode;
	struct error error = {0};

	arena_reset(&evacuation->object_arena);
	evacuation->object = json_copy(&evacuation->object_arena, object);
	evacuation->valid = manifest_read(&evacuation->object_arena, evacuation->object, &evacuation->manifest, &error);
	evacuation->invalid_because = arena_string(&evacuation->object_arena, error.message);
	evacuation->listed = true;
	if (evacuation->manifest.mode != mode)
		for (struct item *item = evacuation->items.first; item; item = item->next) {
			drain_stop(item->drain); /* it only planned */
			item_consider(item);
		}
	if (evacuation->manifest.generation != generation) {
		for (struct item *item = evacuation->items.first; item; item = item->next)
			drain_look_now(item->drain);
		evacuation->observe_due = (struct instant){0};
		evacuation->nodes_due = true;
		for (size_t lane = 0; lane < LANES_MAX; lane++)
			evacuation->items.lanes[lane].paced.judged = false;
		planned_edited(evacuation);
	}
	evacuation_touch(evacuation);
}

void evacuation_begin_anew(struct evacuation *evacuation)
{
	evacuation->restoring = false;
	pacing_turn_round(evacuation);
	evacuation->verified = false;
	registration_begin_anew(evacuation);
	evacuation->observed_for_restore = false;
	evacuation->observe_due = (struct instant){0};
	evacuation->nodes_due = true;
	planned_begin_anew(evacuation);
}

void evacuation_touch(struct evacuation *evacuation)
{
	evacuation->touched = true;
	evacuation->engine->moved = true;
}

void evacuation_hurry_status(struct evacuation *evacuation, bool *hurried)
{
	if (!*hurried)
		evacuation->status_due = (struct instant){0};
	*hurried = true;
}

void evacuation_learn(struct engine *engine, const struct json *object)
{
	const char *name = json_path_string(object, "metadata.name");
	const char *uid = json_path_string(object, "metadata.uid");
	const char *version = json_path_string(object, "metadata.resourceVersion");
	struct evacuation *evacuation = name ? find(engine, name) : NULL;

	if (!name || !uid)
		return;
	if (evacuation && !text_equal(evacuation->manifest.uid, uid)) {
		evacuation->vanished = true;
		evacuation = NULL;
	}
	if (evacuation) {
		evacuation->listed = true;
		if (engine->cluster.evacuations.listing ||
		    !cluster_version_older(version, evacuation->manifest.resource_version))
			take_object(evacuation, object);
		return;
	}
	evacuation = evacuation_new(engine);
	take_object(evacuation, object);
	take_over_status(evacuation);
	plan_take_status(evacuation, json_get(evacuation->object, "status"));
	planned_take_status(evacuation, json_get(evacuation->object, "status"));
}

void evacuation_forget(struct engine *engine, const char *name, const char *uid)
{
	struct evacuation *evacuation = name ? find(engine, name) : NULL;

	if (evacuation && text_equal(evacuation->manifest.uid, uid))
		evacuation->vanished = true;
	engine->moved = true;
}

const char *evacuation_region(const struct evacuation *evacuation)
{
	return evacuation->manifest.region ? evacuation->manifest.region : evacuation->engine->settings->region;
}

const struct manifest_target *evacuation_target(const struct evacuation *evacuation, const char *kind)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (text_equal(evacuation->manifest.targets[i].kind, kind))
			return &evacuation->manifest.targets[i];
	return NULL;
}

bool evacuation_targets(const struct evacuation *evacuation, const char *kind)
{
	return evacuation_target(evacuation, kind) != NULL;
}

bool evacuation_targets_aws(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (registry_find(evacuation->manifest.targets[i].kind))
			return true;
	return false;
}

struct wallclock evacuation_expires_at(const struct evacuation *evacuation)
{
	const struct manifest *manifest = &evacuation->manifest;

	if (evacuation->expired)
		return evacuation->expired_at;
	if (manifest->expires_after_s == 0 || evacuation->started_at.us == 0 || manifest->mode != MODE_EVACUATE)
		return (struct wallclock){0};
	return wallclock_after_ms(evacuation->started_at, manifest->expires_after_s * 1000);
}

bool evacuation_is_ending(const struct evacuation *evacuation)
{
	return evacuation->manifest.deleting || evacuation->expired;
}

bool evacuation_wants_zone(const struct evacuation *evacuation)
{
	const struct manifest *manifest = &evacuation->manifest;

	if (evacuation->vanished || !manifest->zone_id)
		return false;
	if (manifest->finalizer) /* whatever its spec has become: it may hold something */
		return true;
	if (evacuation->observe_error.kind == ERROR_INPUT) /* there is no such zone here: it will never hold it */
		return false;
	return evacuation->valid && !evacuation_is_ending(evacuation) && manifest->mode == MODE_EVACUATE &&
	       evacuation->refused_generation != manifest->generation;
}

void evacuation_node_scope(const struct evacuation *evacuation, struct scope *out)
{
	const struct manifest_target *nodes = drain_target(evacuation);

	*out = (struct scope){
		.zone_id = evacuation->manifest.zone_id,
		.zone_name = evacuation->facts ? evacuation->facts->scope.zone_name : NULL,
		.region = evacuation_region(evacuation),
		.owner = evacuation->engine->cluster.owner,
		.cluster_name = evacuation->engine->settings->cluster_name,
		.evacuation = evacuation->manifest.name,
		.evacuation_uid = evacuation->manifest.uid,
		.eviction = nodes->eviction,
		.has_cluster = true,
		.now = engine_wall(evacuation->engine),
	};
}

void evacuation_turn(struct evacuation *evacuation)
{
	struct engine *engine = evacuation->engine;
	struct instant until;

	evacuation->stall = (struct stall){0};
	if (evacuation->since.ms == 0)
		evacuation->since = engine_now(engine);
	if (evacuation->vanished) {
		if (evacuation->items.records > 0 || evacuation->items.held > 0)
			orphans_look_now(engine);
		evacuation_free(evacuation);
		engine->moved = true;
		return;
	}
	if (turn_doubts_time(evacuation, &until)) {
		(void)turn_aws_is_ready(evacuation, true); /* whatever AWS answers, it says what time it is */
		return;
	}
	if (evacuation->manifest.deleting && (evacuation->manifest.zone_id || turn_is_abandoned(evacuation))) {
		turn_restoring(evacuation);
	} else if (turn_is_expired(evacuation)) {
		turn_expired(evacuation);
	} else if (!evacuation->valid) {
		evacuation->phase = PHASE_PENDING;
		stall_set(&evacuation->stall, "InvalidSpec", "%s", evacuation->invalid_because);
	} else {
		turn_evacuating(evacuation);
	}
	status_turn(evacuation);
}

struct instant evacuation_due(const struct evacuation *evacuation, struct instant otherwise)
{
	struct instant now = engine_now(evacuation->engine);
	struct instant times[] = {
		instant_after(evacuation->since, COPY_PATIENCE_MS),
		evacuation->items.draining || evacuation->manifest.mode == MODE_PLAN ? evacuation->volumes.due : otherwise,
		evacuation->observe_due,
		evacuation->remarks_until,
		evacuation->status_due,
		evacuation->finalizer_due,
		evacuation->items.retry_due, /* where nothing may be begun yet it waits for what else is due */
		evacuation->place ? evacuation->place->table_due : otherwise};
	struct instant due = otherwise;
	struct wallclock expires = evacuation_expires_at(evacuation);
	struct instant until;

	due = registration_due(evacuation, due);
	if (turn_doubts_time(evacuation, &until))
		due = instant_earlier(due, until);
	else if (expires.us && !evacuation_is_ending(evacuation))
		due = instant_earlier(due, instant_after(now, (expires.us - engine_wall(evacuation->engine).us) / 1000 + 1));
	due = pacing_due(evacuation, due);
	for (size_t lane = LANE_NODES + 1; lane < LANES_MAX; lane++)
		if (evacuation->items.lanes[lane].considered.first &&
		    !instant_reached(evacuation->items.lanes[lane].begin_due, now))
			due = instant_earlier(due, evacuation->items.lanes[lane].begin_due);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!instant_reached(times[i], now))
			due = instant_earlier(due, times[i]);
	return due;
}
