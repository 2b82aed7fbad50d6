#include "evacuation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actuators/registry.h"
#include "admit.h"
#include "kube/objects.h"
#include "nodes/eks_node.h"
#include "observe.h"
#include "plan.h"
#include "requeue.h"
#include "stall.h"
#include "state.h"
#include "status.h"

#define OBJECT_ARENA_MAX (64u << 20)
/* While the environment keeps us from observing: again after, growing. */
#define OBSERVE_AGAIN_MS 5000
#define OBSERVE_AGAIN_MAX_MS 60000
/* A record of ours was there although all seemed closed: look again after, longer each time. */
#define VERIFY_AGAIN_MS 5000
#define ABANDON_ANNOTATION "zonevac.dev/abandon"

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
	arena_init(&evacuation->registration_arena, "registration", OBJECT_ARENA_MAX);
	items_init(&evacuation->items);
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
	facts_release(evacuation->facts);
	arena_done(&evacuation->registration_arena);
	arena_done(&evacuation->status_arena);
	arena_done(&evacuation->object_arena);
	free(evacuation);
}

void evacuation_abort(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		process_abort(&item->process);
	process_abort(&evacuation->registration);
	process_abort(&evacuation->finalizer);
	observation_cancel(evacuation->observation);
	evacuation->observation = NULL;
}

/* What an earlier process wrote down and this one goes on with. */
static void take_over_status(struct evacuation *evacuation)
{
	const struct json *status = json_get(evacuation->object, "status");
	const struct json *stalled = status_condition(status, "Stalled");

	wallclock_parse(json_get_string(status, "startedAt") ? json_get_string(status, "startedAt") : "", &evacuation->started_at);
	wallclock_parse(json_get_string(status, "evacuatedAt") ? json_get_string(status, "evacuatedAt") : "", &evacuation->evacuated_at);
	if (text_equal(json_get_string(stalled, "status"), "True") && text_equal(json_get_string(stalled, "reason"), "OtherZone") &&
	    json_integer(json_get(stalled, "observedGeneration"), 0) == evacuation->manifest.generation) {
		const char *message = json_get_string(stalled, "message");

		evacuation->refused_generation = evacuation->manifest.generation;
		stall_set(&evacuation->refusal, "OtherZone", "%s", message ? message : "another zone of the region was held");
	}
}

static void take_object(struct evacuation *evacuation, const struct json *object)
{
	int64_t generation = evacuation->manifest.generation;
	struct error error = {0};

	arena_reset(&evacuation->object_arena);
	evacuation->object = json_copy(&evacuation->object_arena, object);
	evacuation->valid = manifest_read(&evacuation->object_arena, evacuation->object, &evacuation->manifest, &error);
	evacuation->invalid_because = arena_string(&evacuation->object_arena, error.message);
	evacuation->listed = true;
	if (evacuation->manifest.generation != generation) {
		evacuation->observe_due = (struct instant){0};
		evacuation->nodes_due = true;
	}
	evacuation_touch(evacuation);
}

void evacuation_touch(struct evacuation *evacuation)
{
	evacuation->touched = true;
	evacuation->engine->moved = true;
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
		if (engine->cluster.evacuations.listing || !cluster_version_older(version, evacuation->manifest.resource_version))
			take_object(evacuation, object);
		return;
	}
	evacuation = evacuation_new(engine);
	take_object(evacuation, object);
	take_over_status(evacuation);
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

bool evacuation_targets(const struct evacuation *evacuation, const char *kind)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (text_equal(evacuation->manifest.targets[i].kind, kind))
			return true;
	return false;
}

static bool targets_aws(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (registry_find(evacuation->manifest.targets[i].kind))
			return true;
	return false;
}

bool evacuation_wants_zone(const struct evacuation *evacuation)
{
	const struct manifest *manifest = &evacuation->manifest;

	if (evacuation->vanished || !manifest->zone_id)
		return false;
	if (manifest->finalizer) /* whatever its spec has become: it may hold something */
		return true;
	return evacuation->valid && !manifest->deleting && manifest->mode == MODE_EVACUATE && evacuation->refused_generation != manifest->generation;
}

void evacuation_node_scope(const struct evacuation *evacuation, struct scope *out)
{
	*out = (struct scope){
		.zone_id = evacuation->manifest.zone_id,
		.zone_name = evacuation->facts ? evacuation->facts->scope.zone_name : NULL,
		.region = evacuation_region(evacuation),
		.owner = evacuation->engine->cluster.owner,
		.cluster_name = evacuation->engine->settings->cluster_name,
		.evacuation = evacuation->manifest.name,
		.evacuation_uid = evacuation->manifest.uid,
	};
}

/* Observing. */

/* Other credentials see another account's groups and journal: nothing of that may be taken for ours. */
static bool same_account(struct evacuation *evacuation, const struct facts *facts)
{
	const char *before = json_path_string(evacuation->object, "status.accountId");
	struct error *error = &evacuation->observe_error;

	if (!before || text_equal(before, facts->scope.account_id))
		return true;
	error_set(error, ERROR_REJECTED, "the credentials are of account %s, but this was begun in account %s; give back those of %s",
	          facts->scope.account_id, before, before);
	snprintf(error->code, sizeof(error->code), "OtherAccount");
	return false;
}

static void observed(struct evacuation *evacuation, struct facts *facts, const struct error *error)
{
	struct engine *engine = evacuation->engine;
	struct instant now = engine_now(engine);

	evacuation->observation = NULL;
	evacuation_touch(evacuation);
	if (!facts) {
		evacuation->observe_failures++;
		evacuation->observe_error = *error;
		evacuation->observe_due = instant_after(now, requeue_backoff_ms(evacuation->observe_failures, OBSERVE_AGAIN_MS,
		                                                                OBSERVE_AGAIN_MAX_MS, engine_random(engine)));
		return;
	}
	if (!same_account(evacuation, facts)) {
		facts_release(facts);
		evacuation->observe_due = instant_after(now, OBSERVE_AGAIN_MAX_MS);
		return;
	}
	facts_release(evacuation->facts);
	evacuation->facts = facts;
	evacuation->facts_serial++;
	evacuation->observe_failures = 0;
	evacuation->observe_error = (struct error){0};
	evacuation->observe_due = instant_after(now, engine->settings->resync_ms);
	if (facts->generation != evacuation->manifest.generation) /* the object was edited meanwhile */
		evacuation->observe_due = now;
	evacuation->observed_for_restore = evacuation->restoring;
	evacuation->nodes_due = true; /* the zone's name may be new */
	if (evacuation->restoring)
		plan_take_records(evacuation);
	else
		plan_take_facts(evacuation);
}

static void observe_if_due(struct evacuation *evacuation, bool records)
{
	if (evacuation->observation || !instant_reached(evacuation->observe_due, engine_now(evacuation->engine)))
		return;
	evacuation->observation = observation_start(evacuation, !evacuation->restoring, records, observed);
}

/* Credentials, endpoints and (where it is needed) the table: false with the stall set. */
static bool aws_is_ready(struct evacuation *evacuation, bool needs_table)
{
	struct engine *engine = evacuation->engine;
	struct error error;

	if (!evacuation->place)
		evacuation->place = place_of(engine, evacuation_region(evacuation), &error);
	if (!evacuation->place) {
		stall_set(&evacuation->stall, "InvalidEndpoint", "%s", error.message);
		return false;
	}
	if (!engine->have_credentials) {
		stall_set(&evacuation->stall, "NoCredentials", "%s", engine->credentials_error.message);
		return false;
	}
	if (place_table(evacuation->place) || !needs_table)
		return true;
	if (evacuation->place->table_error.kind == ERROR_ABSENT)
		stall_set(&evacuation->stall, "JournalMissing",
		          "the journal's table %s does not exist in %s; create it, or run the controller with --create-journal",
		          engine->settings->table, evacuation->place->region);
	else if (evacuation->place->table_error.kind != ERROR_NONE)
		stall_from_error(&evacuation->stall, "Journal", &evacuation->place->table_error);
	return false;
}

static void tell_observation(struct evacuation *evacuation)
{
	const struct error *error = &evacuation->observe_error;

	if (text_equal(error->code, "OtherAccount"))
		stall_set(&evacuation->stall, error->code, "%s", error->message);
	else if (error->kind == ERROR_INPUT)
		stall_set(&evacuation->stall, "UnknownZone", "%s", error->message);
	else if (error->kind != ERROR_NONE)
		stall_from_error(&evacuation->stall, "Aws", error);
}

/* Evacuating. */

/* Nothing is at work, and nothing waits to be begun. */
static bool all_at_rest(const struct evacuation *evacuation)
{
	const struct items *items = &evacuation->items;

	return items->running == items->aside && items_in_state(items, ITEM_PLANNED) == 0 && items_in_state(items, ITEM_WAITING) == 0;
}

static void started(struct evacuation *evacuation)
{
	if (evacuation->started_at.us == 0)
		evacuation->started_at = engine_wall(evacuation->engine);
}

static void turn_plan_only(struct evacuation *evacuation)
{
	evacuation->phase = PHASE_OBSERVING;
	if (!aws_is_ready(evacuation, false))
		return;
	observe_if_due(evacuation, evacuation->place->table_ready);
	tell_observation(evacuation);
	plan_take_nodes(evacuation);
	if (evacuation->facts)
		evacuation->phase = PHASE_PLANNED;
}

static bool may_begin(struct evacuation *evacuation)
{
	if (!plan_needs_finalizer(evacuation) && !admit_has_predecessor(evacuation))
		return false;
	if (admit_finalizer(evacuation, true))
		return true;
	if (evacuation->finalizer_failures > 1)
		stall_from_error(&evacuation->stall, "ApiServer", &evacuation->finalizer_error);
	return false;
}

static void turn_nodes(struct evacuation *evacuation)
{
	plan_take_nodes(evacuation);
	if (may_begin(evacuation)) {
		started(evacuation);
		plan_start(evacuation);
	}
}

static void turn_aws(struct evacuation *evacuation)
{
	if (!aws_is_ready(evacuation, true))
		return;
	observe_if_due(evacuation, true);
	tell_observation(evacuation);
	if (!evacuation->facts || !may_begin(evacuation))
		return;
	if (admit_register(evacuation))
		plan_start(evacuation);
	else if (evacuation->registration_failures > 0)
		stall_from_error(&evacuation->stall, "Journal", &evacuation->registration_error);
}

/* Nodes need no AWS, unless there are some whose zone only the account's mapping tells. */
static bool nodes_suffice(const struct evacuation *evacuation)
{
	return !targets_aws(evacuation) && !evacuation->nodes_unknown;
}

static void judge_phase(struct evacuation *evacuation)
{
	bool seen = evacuation->facts ? evacuation->facts->generation == evacuation->manifest.generation : nodes_suffice(evacuation);

	if (!seen)
		evacuation->phase = evacuation->items.count ? PHASE_APPLYING : PHASE_OBSERVING;
	else if (!all_at_rest(evacuation))
		evacuation->phase = PHASE_APPLYING;
	else
		evacuation->phase = PHASE_HOLDING;
	if (evacuation->phase == PHASE_HOLDING && evacuation->evacuated_at.us == 0 && evacuation->started_at.us != 0)
		evacuation->evacuated_at = engine_wall(evacuation->engine);
}

static void turn_evacuating(struct evacuation *evacuation)
{
	evacuation->phase = PHASE_PENDING;
	if (evacuation->refused_generation == evacuation->manifest.generation) {
		evacuation->stall = evacuation->refusal;
		return;
	}
	if (!admit_by_objects(evacuation))
		return;
	if (evacuation->manifest.mode == MODE_PLAN) {
		turn_plan_only(evacuation);
		return;
	}
	turn_nodes(evacuation);
	turn_aws(evacuation);
	if (nodes_suffice(evacuation) && evacuation->finalizer_failures == 0) /* only their copies in the journal wait for AWS */
		evacuation->stall = (struct stall){0};
	items_sweep(&evacuation->items);
	if (evacuation->refused_generation == evacuation->manifest.generation)
		return;
	judge_phase(evacuation);
}

/* Restoring. */

static bool abandoned(const struct evacuation *evacuation)
{
	const struct json *annotations = json_path(evacuation->object, "metadata.annotations");

	return text_equal(json_get_string(annotations, ABANDON_ANNOTATION), evacuation->manifest.uid);
}

/* From now on everything is put back: what was found for taking out is forgotten. */
static void turn_round(struct evacuation *evacuation)
{
	evacuation->restoring = true;
	evacuation->turning = true;
	evacuation->nodes_due = true;
	evacuation->observe_due = (struct instant){0};
	observation_cancel(evacuation->observation);
	evacuation->observation = NULL;
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		item->retry_at = (struct instant){0}; /* that was about taking out */
		item->failures = 0;
		item_consider(item);
	}
}

/* Every process that takes out has ended or been stopped. */
static bool turned_round(struct evacuation *evacuation)
{
	bool all = true;

	if (!evacuation->restoring)
		turn_round(evacuation);
	if (!evacuation->turning)
		return true;
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (item->direction == DIRECTION_OUT && process_running(&item->process) && !process_stop(&item->process))
			all = false;
	if (process_running(&evacuation->registration) && !process_stop(&evacuation->registration))
		all = false;
	evacuation->turning = !all;
	return all;
}

static bool facts_have_ours(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++)
		if (evacuation->facts->records.at[i].unreadable ||
		    string_list_has(&evacuation->facts->records.at[i].owners, evacuation->engine->cluster.owner))
			return true;
	return false;
}

/* An object of nodes alone that AWS was never asked for: there can be no record. */
static bool never_met_aws(const struct evacuation *evacuation)
{
	return !targets_aws(evacuation) && !evacuation->facts && !json_path_string(evacuation->object, "status.accountId");
}

/* No record is left: read once more before that is believed. */
static bool verify_nothing_left(struct evacuation *evacuation)
{
	if (evacuation->verified)
		return true;
	if (!evacuation->verify_serial) {
		evacuation->verify_serial = evacuation->facts_serial + 1;
		evacuation->observe_due = (struct instant){0};
	}
	if (evacuation->facts_serial >= evacuation->verify_serial) {
		evacuation->verified = !facts_have_ours(evacuation);
		evacuation->verify_serial = evacuation->facts_serial + 1;
		evacuation->observe_due = instant_after(engine_now(evacuation->engine), VERIFY_AGAIN_MS * ++evacuation->verify_tries);
	}
	observe_if_due(evacuation, true);
	return evacuation->verified;
}

static void tell_strange_record(struct evacuation *evacuation)
{
	const struct record *record = plan_strange_record(evacuation);

	if (record && record->unreadable)
		stall_set(&evacuation->stall, "UnreadableRecord", "the journal's item (%s, %s) cannot be read: %s; mend or delete it by hand",
		          record->zone_id, record->resource_id, record->unreadable);
	else if (record)
		stall_set(&evacuation->stall, "UnknownKind", "the journal holds %s, of kind %s, which this version cannot put back; run the one that took it out",
		          record->resource_id, record->resource_type);
}

static bool restore_aws(struct evacuation *evacuation)
{
	if (!aws_is_ready(evacuation, true)) {
		if (never_met_aws(evacuation))
			evacuation->stall = (struct stall){0};
		return never_met_aws(evacuation);
	}
	observe_if_due(evacuation, true);
	tell_observation(evacuation);
	if (!evacuation->facts || !evacuation->observed_for_restore)
		return false;
	plan_start_restores(evacuation, true);
	if (evacuation->items.records > 0 || evacuation->items.running > 0)
		return false;
	if (!verify_nothing_left(evacuation)) {
		tell_strange_record(evacuation);
		return false;
	}
	if (admit_unregister(evacuation))
		return true;
	if (evacuation->registration_failures > 0)
		stall_from_error(&evacuation->stall, "Journal", &evacuation->registration_error);
	return false;
}

static void let_go(struct evacuation *evacuation)
{
	if (!admit_finalizer(evacuation, false) && evacuation->finalizer_failures > 1)
		stall_from_error(&evacuation->stall, "ApiServer", &evacuation->finalizer_error);
}

static void turn_restoring(struct evacuation *evacuation)
{
	struct evacuation *successor;
	bool nodes_back, aws_back;

	evacuation->phase = PHASE_RESTORING;
	if (!evacuation->manifest.finalizer)
		return;
	if (abandoned(evacuation)) {
		stall_set(&evacuation->stall, "Abandoned",
		          "let go without restoring, as its annotation %s says; what is still out stands in the journal", ABANDON_ANNOTATION);
		let_go(evacuation);
		return;
	}
	if (!turned_round(evacuation))
		return;
	successor = admit_successor(evacuation);
	if (successor) { /* it takes the records over: nothing more is restored in between */
		if (successor->manifest.finalizer && evacuation->items.running == 0)
			let_go(evacuation);
		return;
	}
	nodes_back = plan_take_held_nodes(evacuation) == 0;
	plan_start_restores(evacuation, false);
	aws_back = restore_aws(evacuation);
	if (nodes_back && aws_back) {
		evacuation->phase = PHASE_RESTORED;
		let_go(evacuation);
	}
}

void evacuation_turn(struct evacuation *evacuation)
{
	struct engine *engine = evacuation->engine;

	evacuation->stall = (struct stall){0};
	if (evacuation->since.ms == 0)
		evacuation->since = engine_now(engine);
	if (evacuation->vanished) {
		evacuation_free(evacuation);
		engine->moved = true;
		return;
	}
	if (evacuation->manifest.deleting && (evacuation->manifest.zone_id || abandoned(evacuation))) {
		turn_restoring(evacuation);
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
	struct instant times[] = {instant_after(evacuation->since, COPY_PATIENCE_MS), evacuation->observe_due, evacuation->status_due, evacuation->finalizer_due,
	                          evacuation->registration_due, evacuation->items.considered[false].first ? evacuation->begin_due : otherwise,
	                          evacuation->place ? evacuation->place->table_due : otherwise};
	struct instant due = otherwise;
	struct instant retry = evacuation->items.retry_due;

	if (retry.ms)
		due = instant_earlier(due, retry);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!instant_reached(times[i], now))
			due = instant_earlier(due, times[i]);
	return due;
}
