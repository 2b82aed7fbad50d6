#include "plan.h"

#include <fnmatch.h>

#include "actuators/registry.h"
#include "change.h"
#include "drain.h"
#include "guard.h"
#include "nodes/eks_node.h"
#include "pacing.h"
#include "state.h"

void plan_note_allowed(struct change *change, enum guard guard, const char *reason, struct arena *arena)
{
	struct json *detail = change->detail ? json_copy(arena, change->detail) : json_new_object(arena);
	const struct json *before = json_get(detail, "allowed");
	struct json *list = before ? json_copy(arena, before) : json_new_array(arena);
	struct json *entry = json_new_object(arena);

	json_set_string(entry, "guard", guard_name(guard));
	json_set_string(entry, "reason", reason);
	json_add(list, entry);
	json_set(detail, "allowed", list);
	change->detail = detail;
}

bool plan_selected(const struct evacuation *evacuation, const struct resource *resource)
{
	const struct manifest_target *target = evacuation_target(evacuation, resource->kind);

	if (!target)
		return false;
	if (resource->tags_unreadable) /* refused then, not left out */
		return selector_may_match(&target->selector, &resource->names);
	return selector_matches(&target->selector, &resource->tags, &resource->names) && !tags_exclude(&resource->tags);
}

const char *plan_allows(const struct evacuation *evacuation, enum guard guard, const char *name)
{
	for (size_t i = 0; i < evacuation->manifest.allowance_count; i++) {
		const struct allowance *allowance = &evacuation->manifest.allowances[i];
		bool matches = allowance->match_names.count == 0;

		for (size_t k = 0; k < allowance->match_names.count && !matches; k++)
			matches = fnmatch(allowance->match_names.at[k], name, 0) == 0;
		if (allowance->guard == guard && matches)
			return allowance->reason;
	}
	return NULL;
}

static void decide_alone(const struct evacuation *evacuation, const struct actuator *actuator,
                         const struct resource *resource, struct arena *arena, struct decision *out)
{
	const struct scope *scope = &evacuation->facts->scope;
	const char *reason, *behind;

	actuator->plan(scope, resource, arena, out);
	if (out->verdict != VERDICT_REFUSED || !guard_is_overridable(out->guard) || !out->change.id)
		return;
	reason = plan_allows(evacuation, out->guard, resource->name);
	behind = out->guard_behind != GUARD_NONE ? plan_allows(evacuation, out->guard_behind, resource->name) : NULL;
	if (!reason || (out->guard_behind != GUARD_NONE && !behind))
		return;
	plan_note_allowed(&out->change, out->guard, reason, arena);
	if (behind)
		plan_note_allowed(&out->change, out->guard_behind, behind, arena);
	out->verdict = VERDICT_CHANGE;
	out->reason = guard_overridden(NULL, out->guard, reason, arena);
	if (behind)
		out->reason = guard_overridden(out->reason, out->guard_behind, behind, arena);
	out->guard = GUARD_NONE;
}

void plan_decide(const struct evacuation *evacuation, const struct actuator *actuator, const struct resource *resource,
                 struct arena *arena, struct decision *out)
{
	decide_alone(evacuation, actuator, resource, arena, out);
	guard_zones(evacuation, resource, arena, out);
	planned_limit(evacuation, resource, arena, out);
}

static bool ours(const struct evacuation *evacuation, const struct record *record)
{
	return record && string_list_has(&record->owners, evacuation->engine->cluster.owner);
}

static struct item *item_of(struct evacuation *evacuation, const struct actuator *actuator,
                            const struct resource *resource, const struct decision *decision)
{
	struct item *item = items_find(&evacuation->items, resource->id);
	struct change change = {
		.kind = resource->kind, .id = resource->id, .name = resource->name, .incarnation = resource->incarnation};

	if (item)
		return item;
	return items_add(&evacuation->items, evacuation, actuator, decision->change.id ? &decision->change : &change);
}

/* Where a record that needs nothing more stands. */
static bool record_is_done(const struct record *record)
{
	return record->state == RECORD_SETTLED || record->state == RECORD_APPLIED;
}

/* A node that carries our mark: what is left is its drain, which says by itself how far it is. */
static void take_tainted(struct item *item)
{
	struct scope scope;
	bool settled;

	drain_scope(item, &scope);
	settled = item->drained || scope.eviction == EVICTION_NONE;
	if (item->state != (settled ? ITEM_SETTLED : ITEM_APPLIED)) /* or the object was edited */
		drain_judge_state(item, NULL);
	if (drain_is_due(item))
		item_consider(item);
}

/* It is out as wanted; its record is to be written, joined or finished. */
static void take_out(struct item *item)
{
	pacing_take_out(item);
	item_become(item, ITEM_PLANNED, NULL);
}

/* Whoever took it out instead of us may have left a record, and instances may be there yet. */
static bool was_to_go(const struct item *item)
{
	bool planned = item->state == ITEM_PLANNED || item->state == ITEM_WAITING;

	return planned && item->evacuation->manifest.mode == MODE_EVACUATE;
}

static void take_decision(struct item *item, const struct decision *decision, const struct record *record)
{
	item->guard = decision->guard;
	switch (decision->verdict) {
	case VERDICT_REFUSED:
		item_become(item, ITEM_REFUSED, decision->reason);
		break;
	case VERDICT_NOTHING:
		if (item_is_node(item))
			take_tainted(item);
		else if (record ? !ours(item->evacuation, record) || !record_is_done(record) : item->held || was_to_go(item))
			take_out(item);
		else if (item->state != ITEM_APPLIED)
			item_become(item, ITEM_SETTLED, NULL);
		if (decision->reason)
			item_set_remark(item, decision->reason);
		break;
	case VERDICT_CHANGE:
	case VERDICT_JOIN:
		if (item->state != ITEM_RIVAL && item->state != ITEM_FAILED && item->state != ITEM_PLANNED &&
		    item->state != ITEM_WAITING)
			item_become(item, ITEM_PLANNED, NULL);
		if (item->state == ITEM_PLANNED && (!record || record_is_done(record)))
			pacing_take_undone(item);
		if (decision->reason)
			item_set_remark(item, decision->reason);
		item_consider(item);
		break;
	}
}

/* Tagged while held: it is put back at the next look, and then left. */
static void take_excluded(struct evacuation *evacuation, const struct actuator *actuator,
                          const struct resource *resource, const struct record *record)
{
	struct decision none = {0};
	struct item *item;

	item = items_find(&evacuation->items, resource->id);
	if (!ours(evacuation, record) &&
	    !(item && item->held)) { /* nothing of it is out: as if it had never been planned */
		if (item && !process_running(&item->process) && !item->has_record)
			item_drop(item);
		return;
	}
	if (!tags_exclude(&resource->tags))
		return;
	item = item_of(evacuation, actuator, resource, &none);
	if (process_running(&item->process))
		return;
	if (record || !item->held)
		item_set_record(item, record);
	item->excluded = true;
	item_consider(item);
}

/* Its process ended after this observation began. */
static bool knows_more(const struct item *item)
{
	return item->ended_at.ms && item->ended_at.ms >= item->evacuation->facts->began.ms;
}

/* Applied at the deadline: has it settled since? */
static void take_settling(struct item *item, const struct resource *resource)
{
	const char *why = NULL;

	if (item->state != ITEM_APPLIED && item->state != ITEM_SETTLED)
		return;
	arena_reset(&item->decision_arena);
	switch (item->actuator->settled(item_scope(item), &item->change, resource, DIRECTION_OUT, &item->decision_arena,
	                                &why)) {
	case SETTLING_DONE:
		if (resource->remark)
			item_set_remark(item, resource->remark);
		item_become(item, ITEM_SETTLED, NULL);
		break;
	case SETTLING_PENDING:
	case SETTLING_FAILED:
		item_become(item, ITEM_APPLIED, why);
		break;
	}
}

/* Nothing was planned of it; or it was only planned, and has left the zone since: then it is forgotten, as one that is not there any more. */
static bool leave_out(const struct evacuation *evacuation, const struct resource *resource)
{
	struct item *item = items_find(&evacuation->items, resource->id);

	if (!item)
		return true;
	if (evacuation->manifest.mode != MODE_PLAN || item->held)
		return false;
	item_set_record(item, NULL); /* of another owner, that has put it back */
	return true;
}

/* What nobody has begun yet is planned as it is by now. */
static void take_plan(struct item *item, const struct decision *decision, const struct record *record,
                      struct arena *arena)
{
	const char *remark = decision->reason;

	if (item->held && !record)
		return;
	if (decision->verdict == VERDICT_CHANGE && !record && decision->change.id &&
	    !string_list_equal(&decision->change.removed, &item->change.removed))
		item_set_change(item, &decision->change);
	if (record && !ours(item->evacuation, record))
		remark = arena_printf(arena, "%s%sowner %s has it out already, and this evacuation joins", remark ? remark : "",
		                      remark ? "; " : "", record->owners.count ? record->owners.at[0] : "of another name");
	if (item->evacuation->manifest.mode == MODE_PLAN)
		item_set_remark(item, decision->verdict == VERDICT_REFUSED ? NULL : remark);
}

static void take_resource(struct evacuation *evacuation, const struct actuator *actuator,
                          const struct resource *resource, struct arena *arena)
{
	const struct record *record = facts_record(evacuation->facts, resource->id);
	struct decision decision = {0};
	struct item *item;

	if (!plan_selected(evacuation, resource)) {
		take_excluded(evacuation, actuator, resource, record);
		return;
	}
	plan_decide(evacuation, actuator, resource, arena, &decision);
	planned_gather_resource(evacuation, resource, &decision, record);
	if (decision.verdict == VERDICT_NOTHING && !record && leave_out(evacuation, resource))
		return;
	item = item_of(evacuation, actuator, resource, &decision);
	item->seen = evacuation->facts_serial;
	if (process_running(&item->process) || knows_more(item))
		return;
	take_plan(item, &decision, record, arena);
	item_set_record(item, record);
	pacing_take_record(item);
	item_set_carried(item, resource);
	item->excluded = false;
	take_decision(item, &decision, record);
	if (item->state == ITEM_APPLIED || (record && record->state == RECORD_APPLIED))
		take_settling(item, resource);
}

static const struct actuator *actuator_of(const struct record *record)
{
	if (text_equal(record->resource_type, EKS_NODE_KIND))
		return &eks_node;
	return record->resource_type ? registry_find(record->resource_type) : NULL;
}

const struct record *plan_strange_record(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++) {
		const struct record *record = &evacuation->facts->records.at[i];

		if (record->unreadable || (ours(evacuation, record) && !actuator_of(record)))
			return record;
	}
	return NULL;
}

static bool survey_failed(const struct evacuation *evacuation, const struct actuator *actuator)
{
	for (size_t i = 0; i < evacuation->facts->survey_count; i++)
		if (evacuation->facts->surveys[i]->actuator == actuator)
			return evacuation->facts->surveys[i]->failed || !evacuation->facts->surveys[i]->done;
	return true;
}

/* Nothing of ours is in it, and it is not there any more, or not told of any more: as if it had never been. */
static void take_vanished(struct item *item)
{
	const struct evacuation *evacuation = item->evacuation;

	if (item_is_node(item) || item->has_record || item->held || process_running(&item->process) || knows_more(item) ||
	    item->seen == evacuation->facts_serial || !evacuation_targets(evacuation, item->change.kind) ||
	    survey_failed(evacuation, item->actuator))
		return;
	item_drop(item);
}

static const char *why_not_seen(const struct evacuation *evacuation, const struct actuator *actuator)
{
	if (survey_failed(evacuation, actuator))
		return "its kind cannot be read at present; it stays as it is";
	return "it is no longer selected, or no longer there: it is put back at recovery";
}

/* A record of ours without a selected resource: it stays out until recovery. */
static void take_record(struct evacuation *evacuation, const struct record *record)
{
	const struct actuator *actuator = actuator_of(record);
	struct change change = record_change(record);
	struct item *item = items_find(&evacuation->items, record->resource_id);

	if (record->unreadable || !ours(evacuation, record) || !actuator)
		return;
	if (!evacuation->restoring && !(item && item->excluded))
		planned_gather_record(evacuation, record);
	if (item) {
		if (!item->has_record && !process_running(&item->process) && !knows_more(item))
			item_set_record(item, record);
		if (evacuation->restoring)
			pacing_take_record(item);
		return;
	}
	if (actuator == &eks_node && !evacuation->restoring)
		return; /* the node says more than its copy */
	item = items_add(&evacuation->items, evacuation, actuator, &change);
	item_set_record(item, record);
	pacing_take_record(item);
	if (evacuation->restoring)
		item_become(item, ITEM_RESTORING, NULL);
	else
		item_become(item, ITEM_APPLIED, why_not_seen(evacuation, actuator));
}

/* Held, and the journal does not know it: its process writes the record again. */
static void take_lost(struct item *item)
{
	if (item->held && !item->has_record && !item_is_node(item) && !process_running(&item->process) &&
	    !knows_more(item) && item->state != ITEM_FAILED)
		item_become(item, ITEM_PLANNED, NULL);
}

/* Somebody stopped in the middle of a change. */
static bool half_done(const struct facts *facts)
{
	for (size_t i = 0; i < facts->records.count; i++)
		if (!facts->records.at[i].unreadable && !record_is_done(&facts->records.at[i]))
			return true;
	return false;
}

static void take_all(struct evacuation *evacuation)
{
	const struct facts *facts = evacuation->facts;
	struct arena arena;

	arena_init(&arena, "plan", 256u << 20);
	planned_gather_begin(evacuation);
	for (size_t i = 0; i < facts->survey_count; i++)
		for (size_t k = 0; facts->surveys[i]->done && k < facts->surveys[i]->resources.count; k++)
			take_resource(evacuation, facts->surveys[i]->actuator, &facts->surveys[i]->resources.at[k], &arena);
	for (size_t i = 0; i < facts->records.count; i++)
		take_record(evacuation, &facts->records.at[i]);
	arena_done(&arena);
}

void plan_take_facts(struct evacuation *evacuation)
{
	bool unlimited = planned_unlimit(evacuation);

	take_all(evacuation);
	if (unlimited && !planned_recognise(evacuation))
		take_all(evacuation);
	planned_gather_end(evacuation);
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		take_lost(item);
		take_vanished(item);
	}
	evacuation->engine->proved |= !half_done(evacuation->facts);
}

/* What these credentials cannot put back is left, until a person has deleted its record. */
static void take_deleted(struct item *item)
{
	if (!item->has_record || item_is_in_account(item) || process_running(&item->process) ||
	    facts_record(item->evacuation->facts, item->change.id))
		return;
	item_set_record(item, NULL);
	item_set_held(item, false);
	item_become(item, ITEM_GONE, "its record was deleted");
}

void plan_take_records(struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++)
		take_record(evacuation, &evacuation->facts->records.at[i]);
	for (struct item *item = evacuation->items.first; item; item = item->next)
		take_deleted(item);
	evacuation->engine->proved |= !half_done(evacuation->facts);
}

/* Nodes. */

/* Made anew from a dump, mark and taint included: another node, that has yet to be drained. */
static void adopt(struct item *item, const struct scope *scope, const struct resource *node, struct arena *arena)
{
	struct change carried;

	if (text_equal(item->change.incarnation, node->incarnation) || !eks_node.carries(scope, node, arena, &carried))
		return;
	drain_stop(item->drain);
	item->drained = false;
	item_forget_times(item);
	item_set_change(item, &carried);
}

/* An earlier process began to drain it. */
static void take_drain_since(struct item *item, const struct scope *scope, const struct resource *node)
{
	if (item->begun_at.us || !pacing_marks_drains(item->evacuation))
		return;
	item->begun_at = eks_node_drained_since(scope, node);
	item->begun_before = item->begun_at.us != 0;
}

static void take_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node,
                      struct arena *arena)
{
	struct decision decision = {0};
	struct change carried;
	struct item *item = items_find(&evacuation->items, node->id ? node->id : "");
	struct scope own;
	bool known = false;

	if (!node->id)
		return;
	if (!eks_node_in_zone(scope, node, &known) || !known) {
		evacuation->nodes_unknown |= !known && plan_selected(evacuation, node);
		return;
	}
	if (item && process_running(&item->process) && !item->copying)
		return;
	if (item)
		item_set_newcomer(item, false); /* until it counts */
	if (tags_exclude(&node->tags) && eks_node.carries(scope, node, arena, &carried)) {
		item = item_of(evacuation, &eks_node, node, &decision);
		item->excluded = true;
		item_consider(item);
		return;
	}
	if (!plan_selected(evacuation, node)) {
		if (item && !item->has_record && !eks_node.carries(scope, node, arena, &carried))
			item_drop(item);
		return;
	}
	own = *scope;
	if (item)
		drain_scope(item, &own);
	eks_node.plan(&own, node, arena, &decision);
	guard_node_zones(evacuation, node, arena, &decision);
	if (decision.verdict == VERDICT_NOTHING && !item && !eks_node.carries(scope, node, arena, &carried))
		return;
	if (decision.verdict == VERDICT_NOTHING && !item)
		decision.change = carried;
	if (item && decision.verdict == VERDICT_NOTHING)
		adopt(item, scope, node, arena);
	item = item_of(evacuation, &eks_node, node, &decision);
	item->excluded = false;
	take_drain_since(item, scope, node);
	item_set_newcomer(item, evacuation->started_at.us && eks_node_created_at(node).us > evacuation->started_at.us);
	take_decision(item, &decision, NULL);
}

/* An item whose node has gone stays as it is told; a node made anew under its name is planned again by its item. */
static void take_gone(struct item *item)
{
	if (!item_is_node(item) || item->evacuation->restoring || item->state == ITEM_GONE ||
	    cluster_node(item->evacuation->engine, item->change.name))
		return;
	item_set_newcomer(item, false);
	if (!process_running(&item->process) || item->copying)
		item_become(item, ITEM_GONE, "the node no longer exists");
}

void plan_take_gone_node(struct evacuation *evacuation, const char *id)
{
	struct item *item = items_find(&evacuation->items, id);

	if (item)
		take_gone(item);
	evacuation_touch(evacuation);
}

static struct wallclock earlier_mark(const struct scope *scope, const struct resource *node, struct wallclock first)
{
	struct wallclock at = eks_node_is_marked_by(scope, node) ? eks_node_marked_at(scope, node) : (struct wallclock){0};

	return at.us && (!first.us || at.us < first.us) ? at : first;
}

struct wallclock plan_first_mark(const struct evacuation *evacuation)
{
	const struct cluster *cluster = &evacuation->engine->cluster;
	struct wallclock first = {0};
	struct scope scope;

	evacuation_node_scope(evacuation, &scope);
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (const struct node_entry *entry = cluster->buckets[i]; entry; entry = entry->next)
			if (entry->resource.id)
				first = earlier_mark(&scope, &entry->resource, first);
	return first;
}

typedef void (*node_taker)(struct evacuation *evacuation, const struct scope *scope, const struct resource *node,
                           struct arena *arena);

static void all_nodes(struct evacuation *evacuation, const struct scope *scope, node_taker take, struct arena *arena)
{
	struct cluster *cluster = &evacuation->engine->cluster;

	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (struct node_entry *entry = cluster->buckets[i]; entry; entry = entry->next)
			take(evacuation, scope, &entry->resource, arena);
}

/* All of them when something else than a node has changed, else those that have. */
static void due_nodes(struct evacuation *evacuation, node_taker take)
{
	struct scope scope;
	struct arena arena;
	bool all = evacuation->nodes_due;

	evacuation->nodes_due = false;
	if (all)
		evacuation->nodes_unknown = false;
	evacuation_node_scope(evacuation, &scope);
	arena_init(&arena, "plan nodes", 256u << 20);
	if (all)
		all_nodes(evacuation, &scope, take, &arena);
	else
		for (struct node_entry *entry = evacuation->engine->cluster.dirty; entry; entry = entry->next_dirty)
			take(evacuation, &scope, &entry->resource, &arena);
	arena_done(&arena);
	for (struct item *item = all ? evacuation->items.first : NULL; item; item = item->next)
		take_gone(item);
}

void plan_take_nodes(struct evacuation *evacuation)
{
	if (evacuation_targets(evacuation, EKS_NODE_KIND))
		due_nodes(evacuation, take_node);
}

static void take_held_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node,
                           struct arena *arena)
{
	struct decision decision = {0};
	struct item *item;

	if (!node->id || !eks_node.carries(scope, node, arena, &decision.change))
		return;
	item = item_of(evacuation, &eks_node, node, &decision);
	if (!process_running(&item->process) && item->state != ITEM_FAILED)
		item_become(item, ITEM_RESTORING, NULL);
}

size_t plan_take_held_nodes(struct evacuation *evacuation)
{
	due_nodes(evacuation, take_held_node);
	return evacuation->items.states[LANE_NODES][ITEM_RESTORING] + evacuation->items.states[LANE_NODES][ITEM_FAILED];
}

bool plan_needs_finalizer(const struct evacuation *evacuation)
{
	const struct items *items = &evacuation->items;
	size_t nothing = items_in_state(items, ITEM_REFUSED) + items_in_state(items, ITEM_GONE);

	return evacuation->manifest.finalizer || items->records > 0 || items->count > nothing;
}
