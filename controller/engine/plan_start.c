#include <string.h>

#include "actuators/registry.h"
#include "change.h"
#include "drain.h"
#include "estimate.h"
#include "gate.h"
#include "nodes/eks_node.h"
#include "pacing.h"
#include "plan.h"
#include "state.h"

/* A single free place is filled after so long. */
#define BEGIN_EVERY_MS 1000

static bool retry_reached(const struct item *item)
{
	return instant_reached(item->retry_at, engine_now(item->evacuation->engine));
}

static bool wants_out(const struct item *item)
{
	return !item->dropped && (item->state == ITEM_PLANNED ||
	                          ((item->state == ITEM_WAITING || item->state == ITEM_FAILED) && retry_reached(item)));
}

/*
 * How many of a kind may be begun now. No more are between read and update than the service takes updates in a second, or reads would grow stale in
 * the limiter; and they are begun several at a time, so that one request looks at them together. A slow one holds up nobody: after a second a
 * single free place is enough. After a start that found something half done it is one at a time until one has finished, so that a crash loop
 * always gets on.
 */
static size_t room(struct evacuation *evacuation, struct lane *lane, const struct actuator *actuator)
{
	struct engine *engine = evacuation->engine;
	size_t all = engine->proved ? (size_t)evacuation->manifest.max_in_flight : 1;
	size_t max = place_changes_a_second(actuator);
	struct instant now = engine_now(engine);

	if (evacuation->items.changing >= all)
		return 0;
	if (max > all)
		max = all;
	if (lane->changing >= max || (max - lane->changing < (max + 1) / 2 && !instant_reached(lane->begin_due, now)))
		return 0;
	lane->begin_due = instant_after(now, BEGIN_EVERY_MS);
	max -= lane->changing;
	return max < all - evacuation->items.changing ? max : all - evacuation->items.changing;
}

static void start_changing(struct item *item, enum direction direction, const struct step *first)
{
	item_start(item, direction, first);
	item_set_changing(item, true);
}

static void start_paced(struct item *item, enum direction direction, const struct step *first)
{
	pacing_began(item);
	start_changing(item, direction, first);
}

/*
 * A node that is cordoned already and does not say by whom: the journal's copy may know that it was us, so the first look into the journal is waited
 * for, for a moment and only while AWS answers. Nothing new lands on a cordoned node meanwhile.
 */
static bool waits_for_copy(const struct item *item)
{
	const struct evacuation *evacuation = item->evacuation;
	const struct place *place = evacuation->place;

	if (evacuation->facts || evacuation->observe_failures > 0 || identity_trouble(evacuation->engine))
		return false;
	if (place && place->table_error.kind != ERROR_NONE)
		return false;
	return json_bool(json_get(item->change.detail, "priorUnschedulable"), false) &&
	       instant_between_ms(evacuation->since, engine_now(evacuation->engine)) < COPY_PATIENCE_MS;
}

static void forget_drain(struct item *item)
{
	drain_stop(item->drain);
	item->drained = false;
	item->taint_evicts = false;
	item_forget_times(item);
}

static void start_node(struct item *item, bool copies)
{
	if (drain_is_due(item))
		drain_start(item);
	if (item->excluded) {
		forget_drain(item);
		if (retry_reached(item))
			item_start(item, DIRECTION_BACK, change_node_back_first);
	} else if (wants_out(item)) {
		if (waits_for_copy(item))
			item_consider_later(item);
		else
			item_start(item, DIRECTION_OUT, change_node_out_first);
	} else if (item->state == ITEM_RESTORED && item->has_record) { /* backed out: nobody is to find it in the journal */
		if (copies && retry_reached(item))
			item_start(item, DIRECTION_BACK, change_node_close_first);
		else
			item_consider_later(item);
	} else if (item->state == ITEM_GONE) { /* its copy is closed, then it is forgotten: nodes come and go */
		if (!item->has_record)
			item_drop(item);
		else if (copies)
			item_start(item, DIRECTION_BACK, change_node_close_first);
		else
			item_consider_later(item);
	} else if ((item->state == ITEM_SETTLED || item->state == ITEM_APPLIED) && !item->has_record) {
		if (copies && retry_reached(item))
			item_start(item, DIRECTION_OUT, change_node_copy_first);
		else
			item_consider_later(item);
	}
}

/* True when it was begun. */
static bool start_aws(struct item *item)
{
	if (item->excluded && (item->has_record || item->held) && retry_reached(item))
		start_changing(item, DIRECTION_BACK, item->has_record ? change_restore_first : change_restore_lost_first);
	else if (item->excluded || !wants_out(item))
		return false;
	else if (plan_waits(item))
		item_consider_later(item);
	else if (pacing_admits(item))
		start_paced(item, DIRECTION_OUT, change_evacuate_first);
	return process_running(&item->process);
}

/* Go through the lane of a kind as far as there is room. */
static void start_lane(struct evacuation *evacuation, struct lane *lane, const struct actuator *actuator,
                       bool (*start)(struct item *item))
{
	size_t left = lane->considered.first ? room(evacuation, lane, actuator) : 0;
	struct item *item;

	while (left > 0 && (item = lane_next_considered(lane)) != NULL)
		if (!process_running(&item->process) && start(item))
			left--;
}

/* Whoever was served first is served last the next time, so that no kind takes all of maxInFlight. */
static void start_lanes(struct evacuation *evacuation, bool (*start)(struct item *item))
{
	struct items *items = &evacuation->items;
	size_t kinds = 0;

	while (registry_at(kinds))
		kinds++;
	items->lane_first = (items->lane_first + 1) % kinds;
	for (size_t i = 0; i < kinds; i++) {
		size_t kind = (items->lane_first + i) % kinds;

		start_lane(evacuation, &items->lanes[LANE_NODES + 1 + kind], registry_at(kind), start);
	}
}

/* What waits is considered again when something that gates look at has changed. */
static void consider_gates(struct evacuation *evacuation)
{
	uint64_t changed = evacuation->engine->cluster.nodes_changed;

	if (!evacuation->gates_due && evacuation->gates_seen == changed)
		return;
	evacuation->gates_due = false;
	evacuation->gates_seen = changed;
	for (size_t lane = LANE_NODES + 1; lane < LANES_MAX; lane++)
		lane_take_later(&evacuation->items.lanes[lane]);
}

bool plan_waits(struct item *item)
{
	struct arena arena;
	enum guard guard;
	const char *why;

	arena_init(&arena, "gate", 1u << 20);
	why = gate_waits(item, &arena, &guard);
	if (why) {
		item->guard = guard;
		item_become(item, ITEM_WAITING, why);
	}
	arena_done(&arena);
	return why != NULL;
}

void plan_start(struct evacuation *evacuation)
{
	struct items *items = &evacuation->items;
	struct lane *nodes = &items->lanes[LANE_NODES];
	bool copies = evacuation->place && evacuation->place->table_ready && evacuation->registration.registered;
	struct item *item;

	items_consider_retries(items, engine_now(evacuation->engine));
	pacing_turn(evacuation);
	while ((item = lane_next_considered(nodes)) != NULL) {
		if (item->copying && (item->excluded || wants_out(item)))
			process_abort(&item->process); /* nodes do not wait for the journal; a copy that lands is found again */
		if (!process_running(&item->process))
			start_node(item, copies);
	}
	lane_take_later(nodes);
	consider_gates(evacuation);
	if (evacuation->registration.registered && registration_is_fresh(evacuation))
		start_lanes(evacuation, start_aws);
}

/* Its remark is what was decided of it; what a person says of its nodes comes behind that, once. */
static void tell_override(struct item *item, struct arena *arena)
{
	const char *reason = gate_overridden(item, arena);

	if (reason && !strstr(item->remark, guard_name(GUARD_NODES_NOT_DRAINED)))
		item_set_remark(
			item, guard_overridden(item->remark[0] ? item->remark : NULL, GUARD_NODES_NOT_DRAINED, reason, arena));
}

static void tell_gate(struct item *item)
{
	struct arena arena;
	enum guard guard;

	if (item->state != ITEM_PLANNED)
		return;
	arena_init(&arena, "gate", 1u << 20);
	item_become(item, ITEM_PLANNED, gate_waits(item, &arena, &guard));
	tell_override(item, &arena);
	arena_done(&arena);
}

static void tell_node(struct item *item)
{
	if (item->state == ITEM_GONE) /* nothing of it was begun */
		item_drop(item);
	else if (drain_is_due(item))
		drain_start(item);
}

void plan_tell(struct evacuation *evacuation)
{
	struct items *items = &evacuation->items;
	struct item *item;

	while ((item = lane_next_considered(&items->lanes[LANE_NODES])) != NULL)
		tell_node(item);
	for (size_t lane = LANE_NODES + 1; lane < LANES_MAX; lane++)
		while ((item = lane_next_considered(&items->lanes[lane])) != NULL)
			tell_gate(item);
}

static struct estimate_kind estimate_kind_of(const struct evacuation *evacuation, const struct actuator *actuator)
{
	const struct aws_quota *quota = aws_quota_find(actuator->service, actuator->update_operation);
	const size_t *states = evacuation->items.states[item_lane_of(actuator)];
	size_t all = (size_t)evacuation->manifest.max_in_flight;
	size_t max = place_changes_a_second(actuator);

	return (struct estimate_kind){.changes = states[ITEM_PLANNED] + states[ITEM_WAITING],
	                              .rate_per_s = quota ? quota->rate_per_s : 1,
	                              .burst_count = quota ? quota->burst_count : 0,
	                              .at_once = max < all ? max : all};
}

int64_t plan_estimate(const struct evacuation *evacuation)
{
	struct estimate estimate = {.nodes = evacuation->items.states[LANE_NODES][ITEM_PLANNED],
	                            .max_in_flight = evacuation->manifest.max_in_flight,
	                            .batch_percent = evacuation->manifest.batch_percent,
	                            .batch_interval_s = evacuation->manifest.batch_interval_s};
	const struct actuator *actuator;

	for (size_t i = 0; i < ESTIMATE_KINDS_MAX && (actuator = registry_at(i)) != NULL; i++)
		estimate.kinds[estimate.kind_count++] = estimate_kind_of(evacuation, actuator);
	return estimate_seconds(&estimate);
}

/* A node is put back first, without waiting for AWS; its copy is closed when the journal can be reached. */
static void start_node_restore(struct evacuation *evacuation, const struct scope *scope, struct item *item, bool aws)
{
	struct node_entry *entry = cluster_node(evacuation->engine, item->change.name);
	struct change carried;

	forget_drain(item);
	if (item->state == ITEM_FAILED && !retry_reached(item))
		return;
	if (item->state == ITEM_REFUSED && !item->has_record)
		return;
	arena_reset(&item->decision_arena);
	if (entry && entry->resource.id && eks_node.carries(scope, &entry->resource, &item->decision_arena, &carried)) {
		item_start(item, DIRECTION_BACK, change_node_back_first);
	} else if (item->has_record) {
		if (aws)
			item_start(item, DIRECTION_BACK, change_node_close_first);
		else
			item_consider_later(item);
	} else {
		item_become(item, entry ? ITEM_RESTORED : ITEM_GONE, entry ? NULL : "the node no longer exists");
	}
}

static bool start_restore(struct item *item)
{
	if ((!item->has_record && !item->held) || (item->state == ITEM_FAILED && !retry_reached(item)))
		return false;
	if (!item_is_in_account(item)) {
		item_become(item, ITEM_FAILED,
		            "its ARN is of another account or region than these credentials: it is left alone");
		return false;
	}
	if (!pacing_admits(item))
		return false;
	start_paced(item, DIRECTION_BACK, item->has_record ? change_restore_first : change_restore_lost_first);
	return true;
}

void plan_start_restores(struct evacuation *evacuation, bool aws)
{
	struct items *items = &evacuation->items;
	struct item *item;
	struct scope scope;

	items_consider_retries(items, engine_now(evacuation->engine));
	evacuation_node_scope(evacuation, &scope);
	while ((item = lane_next_considered(&items->lanes[LANE_NODES])) != NULL)
		if (!process_running(&item->process))
			start_node_restore(evacuation, &scope, item, aws);
	pacing_turn(evacuation);
	for (size_t lane = 0; lane < LANES_MAX; lane++) /* on the way back nothing waits for anything but its batch */
		lane_take_later(&items->lanes[lane]);
	if (aws)
		start_lanes(evacuation, start_restore);
}
