#include "admit.h"
#include "drain.h"
#include "nodes/eks_node.h"
#include "pacing.h"
#include "plan.h"
#include "remark.h"
#include "stall.h"
#include "state.h"
#include "turn.h"

/* Nothing is at work, and nothing waits to be begun. */
static bool all_at_rest(const struct evacuation *evacuation)
{
	const struct items *items = &evacuation->items;

	return items->running == items->aside && items->draining == 0 && items_in_state(items, ITEM_PLANNED) == 0 &&
	       items_in_state(items, ITEM_WAITING) == 0 && !pacing_waits_with_drains(evacuation);
}

/* False: it was long ago, by a process that died before it could tell, and its time is over by now. */
static bool started(struct evacuation *evacuation)
{
	if (evacuation->started_at.us == 0) {
		evacuation->started_at = plan_first_mark(evacuation);
		if (evacuation->started_at.us == 0)
			evacuation->started_at = engine_wall(evacuation->engine);
		evacuation_touch(evacuation); /* turn again */
	}
	return !turn_is_expired(evacuation);
}

/*
 * What a plan is made of, without writing anything, not even a table. What the journal holds belongs to it; while that cannot be read the rest is looked at
 * all the same. False: AWS cannot be asked.
 */
static bool observe_for_plan(struct evacuation *evacuation)
{
	const struct error *trouble;
	const struct place *place;

	if (!turn_aws_is_ready(evacuation, false))
		return false;
	place = evacuation->place;
	trouble = &place->table_error;
	if (evacuation->facts && place->table_ready && !evacuation->facts->records_read)
		evacuation->observe_due = (struct instant){0};
	if (place_table_known(place))
		turn_observe(evacuation, place->table_ready);
	turn_tell_observation(evacuation);
	if (!evacuation->stall.reason[0] && trouble->kind != ERROR_NONE && trouble->kind != ERROR_ABSENT)
		stall_from_error(&evacuation->stall, "Journal", trouble);
	return true;
}

/* Nodes need no AWS, but the check of a plan does: a person decides whether they are to wait for it. */
static void tell_unchecked(struct evacuation *evacuation)
{
	struct stall why = evacuation->stall;

	if (why.reason[0] && evacuation_targets(evacuation, EKS_NODE_KIND) &&
	    evacuation->refused_generation != evacuation->manifest.generation)
		stall_set(
			&evacuation->stall, why.reason,
			"%s; until it is known whether the plan is that of spec.planHash nodes wait, too: empty that field to let them go",
			why.message);
}

static void turn_plan_only(struct evacuation *evacuation)
{
	evacuation->phase = PHASE_OBSERVING;
	if (!observe_for_plan(evacuation))
		return;
	plan_take_nodes(evacuation);
	plan_tell(evacuation);
	volumes_turn(evacuation);
	guard_share(evacuation);
	items_sweep(&evacuation->items);
	if (evacuation->facts && evacuation->facts->complete &&
	    evacuation->facts->generation == evacuation->manifest.generation)
		evacuation->phase = PHASE_PLANNED;
}

/* spec.planHash is checked before the first change, of nodes too. True once it is the plan, and the status says which one that is. */
static bool turn_check(struct evacuation *evacuation)
{
	bool is_plan = true;

	evacuation->phase = PHASE_OBSERVING;
	if (planned_is_due(evacuation)) {
		plan_take_nodes(evacuation);
		is_plan = observe_for_plan(evacuation) && planned_check(evacuation);
		if (!is_plan)
			tell_unchecked(evacuation);
	}
	return is_plan && (evacuation->manifest.finalizer || planned_is_told(evacuation));
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
	if (guard_share(evacuation) && may_begin(evacuation) && started(evacuation))
		plan_start(evacuation);
}

/* Whoever comes after us has to know in which account it was begun, and when: that stands in the status before the first change. */
static bool beginning_is_told(struct evacuation *evacuation)
{
	if (json_path_string(evacuation->object, "status.accountId") &&
	    json_path_string(evacuation->object, "status.startedAt"))
		return true;
	evacuation_hurry_status(evacuation, &evacuation->beginning_hurried);
	return false;
}

static void turn_aws(struct evacuation *evacuation)
{
	if (!turn_aws_is_ready(evacuation, true))
		return;
	turn_observe(evacuation, true);
	turn_tell_observation(evacuation);
	if (!evacuation->facts || !may_begin(evacuation))
		return;
	if (!beginning_is_told(evacuation))
		return;
	if (registration_stands(evacuation))
		plan_start(evacuation);
	else if (evacuation->registration.failures > 0)
		stall_from_error(&evacuation->stall, "Journal", &evacuation->registration.error);
}

/* Nodes need no AWS, unless there are some whose zone only the account's mapping tells. */
static bool nodes_suffice(const struct evacuation *evacuation)
{
	bool unknown_zone = evacuation->observe_error.kind == ERROR_INPUT;

	return !evacuation_targets_aws(evacuation) && !evacuation->nodes_unknown && !unknown_zone;
}

static void judge_phase(struct evacuation *evacuation)
{
	bool seen = evacuation->facts ? evacuation->facts->generation == evacuation->manifest.generation &&
	                                    evacuation->unseen_error.kind == ERROR_NONE
	                              : nodes_suffice(evacuation);
	struct tally tally = phase_tally(&evacuation->items, NULL);

	if (!seen)
		evacuation->phase = evacuation->items.count ? PHASE_APPLYING : PHASE_OBSERVING;
	else if (!all_at_rest(evacuation))
		evacuation->phase = PHASE_APPLYING;
	else
		evacuation->phase = PHASE_HOLDING;
	if (evacuation->phase == PHASE_HOLDING && evacuation->evacuated_at.us == 0 && evacuation->started_at.us != 0 &&
	    tally.failed + tally.open == 0 && tally.settled == tally.changed)
		evacuation->evacuated_at = engine_wall(evacuation->engine);
}

static void tell_failed_node(struct evacuation *evacuation)
{
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (item_is_node(item) && item->state == ITEM_FAILED) {
			stall_set(&evacuation->stall, "NodesFailed", "node %s: %s", item->change.name, item->reason);
			return;
		}
}

/* Nothing is at work any more, and groups still wait for nodes that nobody drains, or whose time is over. */
static void tell_waiting_groups(struct evacuation *evacuation, struct arena *arena)
{
	const struct items *items = &evacuation->items;
	const struct item *first = NULL;
	size_t waiting = 0;

	if (items_in_state(items, ITEM_WAITING) == 0 || items->running > items->aside || items->draining > 0 ||
	    items_in_state(items, ITEM_PLANNED) > 0 || pacing_waits_with_drains(evacuation))
		return;
	for (const struct item *item = items->first; item; item = item->next)
		if (item->state == ITEM_WAITING && item->guard == GUARD_NODES_NOT_DRAINED) {
			first = first ? first : item;
			waiting++;
		}
	if (!first)
		return;
	if (items->states[LANE_NODES][ITEM_FAILED] > 0) {
		tell_failed_node(evacuation);
		return;
	}
	stall_set(&evacuation->stall, guard_name(GUARD_NODES_NOT_DRAINED),
	          "%s %s%s. Free its pods (a PodDisruptionBudget that is named there can be raised or removed), or say in "
	          "spec.guards.allow (guard NodesNotDrained) that its instances may be ended with them",
	          first->change.name, first->reason,
	          waiting > 1 ? arena_printf(arena, ", and %zu more such groups", waiting - 1) : "");
}

static void tell_refusal(struct evacuation *evacuation)
{
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (drain_refusal(item->drain)) {
			stall_set(&evacuation->stall, "EvictionRefused", "node %s: %s", item->change.name,
			          drain_refusal(item->drain));
			return;
		}
}

/* A drain that a person has to see to; whatever else keeps the evacuation is told first. */
static void tell_drains(struct evacuation *evacuation)
{
	const struct items *items = &evacuation->items;
	struct arena arena;
	const char *why;

	if (evacuation->stall.reason[0])
		return;
	arena_init(&arena, "drains", 1u << 20);
	why = items->draining > 0 ? drain_paused_because(evacuation, &arena) : NULL;
	if (why)
		stall_set(&evacuation->stall, "CapacityReturnsToZone", "%s", why);
	else if (items->refusals > 0)
		tell_refusal(evacuation);
	else
		tell_waiting_groups(evacuation, &arena);
	arena_done(&arena);
}

/* Nothing is begun, and what is at work ends. True once it has. */
static bool stopped(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		drain_stop(item->drain);
		if (process_running(&item->process) && !process_stop(&item->process))
			continue;
		if (!item_is_node(item) && item->held)
			item_become(item, ITEM_HELD_BY_OTHERS, "it was recovered elsewhere");
	}
	return evacuation->items.running == 0;
}

/* A person has taken it over. */
static void turn_recovered(struct evacuation *evacuation)
{
	(void)stopped(evacuation);
	stall_set(
		&evacuation->stall, RECOVERED_ELSEWHERE,
		"the zone was unregistered in the journal by somebody else, as `zonevac recover` does: it has been put back from elsewhere, or is "
		"being. Nothing more is done here; delete this object, or edit it to evacuate the zone anew");
}

/*
 * Edited since: as if it had never been begun, but for what the journal still knows. Where it is not sure that a person was at work (the table may be
 * an older one) what was held is held on to: nothing is worse than to lose it.
 */
static void begin_after_recovery(struct evacuation *evacuation)
{
	if (evacuation->registration.recovered_for_sure)
		turn_forget_held(evacuation);
	evacuation->registration.recovered = 0;
	evacuation->registration.begun_before = false;
	registration_begin_anew(evacuation);
	planned_begin_anew(evacuation);
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (!item_is_node(item)) {
			item_set_record(item, NULL);
			item_forget_times(item);
			item_become(item, ITEM_PLANNED, NULL);
		}
	evacuation->observe_due = (struct instant){0};
}

void turn_evacuating(struct evacuation *evacuation)
{
	evacuation->phase = PHASE_PENDING;
	if (evacuation->refused_generation == evacuation->manifest.generation) {
		if (evacuation->manifest.finalizer) /* nodes were taken before the journal said no: they are given back */
			turn_restoring(evacuation);
		evacuation->stall = evacuation->refusal;
		return;
	}
	if (evacuation->registration.recovered == evacuation->manifest.generation) {
		turn_recovered(evacuation);
		return;
	}
	if (evacuation->registration.recovered &&
	    !stopped(evacuation)) /* edited meanwhile: what has been sent comes in first */
		return;
	if (evacuation->registration.recovered)
		begin_after_recovery(evacuation);
	if (evacuation->restoring && evacuation->manifest.finalizer) { /* edited while that was given back: first that */
		turn_restoring(evacuation);
		return;
	}
	if (evacuation->restoring)
		evacuation_begin_anew(evacuation);
	if (!admit_by_objects(evacuation))
		return;
	if (evacuation->manifest.mode == MODE_PLAN) {
		turn_plan_only(evacuation);
		return;
	}
	if (!turn_check(evacuation))
		return;
	evacuation->phase = PHASE_PENDING;
	turn_nodes(evacuation);
	if (evacuation->refused_generation == evacuation->manifest.generation || turn_is_expired(evacuation))
		return;
	turn_aws(evacuation);
	if (nodes_suffice(evacuation) &&
	    evacuation->finalizer_failures == 0) /* only their copies in the journal wait for AWS */
		evacuation->stall = (struct stall){0};
	volumes_turn(evacuation);
	remarks_turn(evacuation);
	tell_drains(evacuation);
	items_sweep(&evacuation->items);
	if (evacuation->refused_generation == evacuation->manifest.generation)
		return;
	judge_phase(evacuation);
}
