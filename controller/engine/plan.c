#include "plan.h"

#include "actuators/registry.h"
#include "change.h"
#include "nodes/eks_node.h"
#include "state.h"

static bool is_node(const struct item *item)
{
	return item->actuator == &eks_node;
}

static const struct selector *selector_of(const struct evacuation *evacuation, const char *kind)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (text_equal(evacuation->manifest.targets[i].kind, kind))
			return &evacuation->manifest.targets[i].selector;
	return NULL;
}

static bool selected(const struct evacuation *evacuation, const struct resource *resource)
{
	const struct selector *selector = selector_of(evacuation, resource->kind);

	return selector && selector_matches(selector, &resource->tags, &resource->names) && !tags_exclude(&resource->tags);
}

static bool ours(const struct evacuation *evacuation, const struct record *record)
{
	return record && string_list_has(&record->owners, evacuation->engine->cluster.owner);
}

static struct item *item_of(struct evacuation *evacuation, const struct actuator *actuator, const struct resource *resource,
                            const struct decision *decision)
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

static void take_decision(struct item *item, const struct decision *decision, const struct record *record)
{
	item->guard = decision->guard;
	switch (decision->verdict) {
	case VERDICT_REFUSED:
		item_become(item, ITEM_REFUSED, decision->reason);
		break;
	case VERDICT_NOTHING:
		if (record && (!ours(item->evacuation, record) || !record_is_done(record)))
			item_become(item, ITEM_PLANNED, NULL);
		else if (item->state != ITEM_APPLIED)
			item_become(item, ITEM_SETTLED, NULL);
		break;
	case VERDICT_CHANGE:
	case VERDICT_JOIN:
		if (item->state != ITEM_RIVAL && item->state != ITEM_FAILED)
			item_become(item, ITEM_PLANNED, NULL);
		break;
	}
}

/* Tagged while held: it is put back at the next look, and then left. */
static void take_excluded(struct evacuation *evacuation, const struct actuator *actuator, const struct resource *resource,
                          const struct record *record)
{
	struct decision none = {0};
	struct item *item;

	if (!ours(evacuation, record) || !tags_exclude(&resource->tags))
		return;
	item = item_of(evacuation, actuator, resource, &none);
	if (process_running(&item->process))
		return;
	item_set_record(item, record);
	item->excluded = true;
}

static void take_resource(struct evacuation *evacuation, const struct actuator *actuator, const struct resource *resource,
                          struct arena *arena)
{
	const struct record *record = facts_record(evacuation->facts, resource->id);
	struct decision decision = {0};
	struct item *item;

	if (!selected(evacuation, resource)) {
		take_excluded(evacuation, actuator, resource, record);
		return;
	}
	actuator->plan(&evacuation->facts->scope, resource, arena, &decision);
	if (decision.verdict == VERDICT_NOTHING && !record && !items_find(&evacuation->items, resource->id))
		return;
	item = item_of(evacuation, actuator, resource, &decision);
	if (process_running(&item->process))
		return;
	item_set_record(item, record);
	item->excluded = false;
	take_decision(item, &decision, record);
}

/* A record of ours without a selected resource: it stays out until recovery. */
static void take_record(struct evacuation *evacuation, const struct record *record)
{
	const struct actuator *actuator = registry_find(record->resource_type);
	struct change change = record_change(record);
	struct item *item = items_find(&evacuation->items, record->resource_id);

	if (text_equal(record->resource_type, EKS_NODE_KIND))
		actuator = &eks_node;
	if (!ours(evacuation, record) || !actuator)
		return;
	if (item) {
		if (!item->has_record && !process_running(&item->process))
			item_set_record(item, record);
		return;
	}
	if (actuator == &eks_node && !evacuation->restoring)
		return; /* the node says more than its copy */
	item = items_add(&evacuation->items, evacuation, actuator, &change);
	item_set_record(item, record);
	if (evacuation->restoring)
		item_become(item, ITEM_RESTORING, NULL);
	else
		item_become(item, ITEM_APPLIED, "it is no longer selected, or no longer there: it is put back at recovery");
}

/* Somebody stopped in the middle of a change. */
static bool half_done(const struct facts *facts)
{
	for (size_t i = 0; i < facts->records.count; i++)
		if (!record_is_done(&facts->records.at[i]))
			return true;
	return false;
}

void plan_take_facts(struct evacuation *evacuation)
{
	struct facts *facts = evacuation->facts;
	struct arena arena;

	arena_init(&arena, "plan", 256u << 20);
	for (size_t i = 0; i < facts->survey_count; i++)
		for (size_t k = 0; k < facts->surveys[i]->resources.count; k++)
			take_resource(evacuation, facts->surveys[i]->actuator, &facts->surveys[i]->resources.at[k], &arena);
	for (size_t i = 0; i < facts->records.count; i++)
		take_record(evacuation, &facts->records.at[i]);
	arena_done(&arena);
	evacuation->engine->proved |= !half_done(facts);
}

void plan_take_records(struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++)
		take_record(evacuation, &evacuation->facts->records.at[i]);
	evacuation->engine->proved |= !half_done(evacuation->facts);
}

/* Nodes. */

static void take_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node, struct arena *arena)
{
	struct decision decision = {0};
	struct change carried;
	struct item *item = items_find(&evacuation->items, node->id ? node->id : "");
	bool known = false;

	if (!node->id || !eks_node_in_zone(scope, node, &known) || !known)
		return;
	if (item && process_running(&item->process))
		return;
	if (tags_exclude(&node->tags)) {
		if (eks_node.carries(scope, node, arena, &carried))
			item_of(evacuation, &eks_node, node, &decision)->excluded = true;
		return;
	}
	if (!selected(evacuation, node) && !item)
		return;
	eks_node.plan(scope, node, arena, &decision);
	if (decision.verdict == VERDICT_NOTHING && !item && !eks_node.carries(scope, node, arena, &carried))
		return;
	if (decision.verdict == VERDICT_NOTHING && !item)
		decision.change = carried;
	item = item_of(evacuation, &eks_node, node, &decision);
	item->excluded = false;
	take_decision(item, &decision, NULL);
}

/* An item whose node has gone stays as it is told; a node made anew under its name is planned again by its item. */
static void take_gone_nodes(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (is_node(item) && !process_running(&item->process) && item->state != ITEM_GONE && !evacuation->restoring &&
		    !cluster_node(evacuation->engine, item->change.name))
			item_become(item, ITEM_GONE, "the node no longer exists");
}

typedef void (*node_taker)(struct evacuation *evacuation, const struct scope *scope, const struct resource *node, struct arena *arena);

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
	evacuation_node_scope(evacuation, &scope);
	arena_init(&arena, "plan nodes", 256u << 20);
	if (all)
		all_nodes(evacuation, &scope, take, &arena);
	else
		for (struct node_entry *entry = evacuation->engine->cluster.dirty; entry; entry = entry->next_dirty)
			take(evacuation, &scope, &entry->resource, &arena);
	arena_done(&arena);
	if (all)
		take_gone_nodes(evacuation);
}

void plan_take_nodes(struct evacuation *evacuation)
{
	if (evacuation_targets(evacuation, EKS_NODE_KIND))
		due_nodes(evacuation, take_node);
}

static void take_held_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node, struct arena *arena)
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
	size_t held = 0;

	due_nodes(evacuation, take_held_node);
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (is_node(item) && (process_running(&item->process) || item->state == ITEM_RESTORING || item->state == ITEM_FAILED))
			held++;
	return held;
}

/* What may begin. */

static bool retry_reached(const struct item *item)
{
	return instant_reached(item->retry_at, engine_now(item->evacuation->engine));
}

static bool wants_start(const struct item *item)
{
	if (process_running(&item->process))
		return false;
	return item->state == ITEM_PLANNED || (item->state == ITEM_FAILED && retry_reached(item));
}

bool plan_needs_finalizer(const struct evacuation *evacuation)
{
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (item->has_record || (item->state != ITEM_REFUSED && item->state != ITEM_GONE))
			return true;
	return evacuation->manifest.finalizer;
}

void plan_start_nodes(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		if (!is_node(item) || process_running(&item->process))
			continue;
		if (item->excluded)
			item_start(item, DIRECTION_BACK, change_node_back_first);
		else if (wants_start(item))
			item_start(item, DIRECTION_OUT, change_node_out_first);
		item->excluded = false;
	}
}

void plan_start_node_copies(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (is_node(item) && !item->has_record && item->state == ITEM_SETTLED && !process_running(&item->process) &&
		    retry_reached(item))
			item_start(item, DIRECTION_OUT, change_node_copy_first);
}

/* After a start that found something half done, one at a time until one has finished: a crash loop always gets on. */
static size_t room(const struct evacuation *evacuation)
{
	size_t max = evacuation->engine->proved ? (size_t)evacuation->manifest.max_in_flight : 1;
	size_t busy = 0;

	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (!is_node(item) && process_running(&item->process) && item->changing)
			busy++;
	return busy < max ? max - busy : 0;
}

void plan_start_changes(struct evacuation *evacuation)
{
	size_t left = room(evacuation);

	for (struct item *item = evacuation->items.first; item && left > 0; item = item->next) {
		if (is_node(item) || process_running(&item->process))
			continue;
		if (item->excluded && item->has_record)
			item_start(item, DIRECTION_BACK, change_restore_first);
		else if (wants_start(item))
			item_start(item, DIRECTION_OUT, change_evacuate_first);
		else
			continue;
		item->excluded = false;
		item->changing = true;
		left--;
	}
}

static bool wants_restore(const struct item *item)
{
	if (!item->has_record || process_running(&item->process))
		return false;
	return item->state != ITEM_FAILED || retry_reached(item);
}

void plan_start_restores(struct evacuation *evacuation)
{
	size_t left = room(evacuation);

	for (struct item *item = evacuation->items.first; item && left > 0; item = item->next) {
		if (is_node(item) || !wants_restore(item))
			continue;
		item_start(item, DIRECTION_BACK, change_restore_first);
		item->changing = true;
		left--;
	}
}

/* A node is put back first, without waiting for AWS; its copy is closed when the journal can be reached. */
static void start_node_restore(struct evacuation *evacuation, const struct scope *scope, struct item *item)
{
	struct node_entry *entry = cluster_node(evacuation->engine, item->change.name);
	struct change carried;

	arena_reset(&item->decision_arena);
	if (entry && entry->resource.id && eks_node.carries(scope, &entry->resource, &item->decision_arena, &carried))
		item_start(item, DIRECTION_BACK, change_node_back_first);
	else if (item->has_record && evacuation->place && evacuation->place->table_ready)
		item_start(item, DIRECTION_BACK, change_node_close_first);
	else
		item_become(item, entry ? ITEM_RESTORED : ITEM_GONE, entry ? NULL : "the node no longer exists");
}

void plan_start_node_restores(struct evacuation *evacuation)
{
	struct scope scope;

	evacuation_node_scope(evacuation, &scope);
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		if (!is_node(item) || process_running(&item->process) || item->state == ITEM_REFUSED)
			continue;
		if ((item->state == ITEM_RESTORED || item->state == ITEM_GONE) && !item->has_record)
			continue;
		if (item->state != ITEM_FAILED || retry_reached(item))
			start_node_restore(evacuation, &scope, item);
	}
}

struct instant plan_due(const struct evacuation *evacuation, struct instant otherwise)
{
	struct instant due = otherwise;

	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (item->state == ITEM_FAILED && !process_running(&item->process) && !retry_reached(item))
			due = instant_earlier(due, item->retry_at);
	return due;
}
