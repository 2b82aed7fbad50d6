#include "plan.h"

#include "actuators/registry.h"
#include "change.h"
#include "nodes/eks_node.h"
#include "state.h"

/* A single free place is filled after so long. */
#define BEGIN_EVERY_MS 1000

static const struct selector *selector_of(const struct evacuation *evacuation, const char *kind)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (text_equal(evacuation->manifest.targets[i].kind, kind))
			return &evacuation->manifest.targets[i].selector;
	return NULL;
}

bool plan_selected(const struct evacuation *evacuation, const struct resource *resource)
{
	const struct selector *selector = selector_of(evacuation, resource->kind);

	return selector && selector_matches(selector, &resource->tags, &resource->names) && !tags_exclude(&resource->tags);
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

static void take_decision(struct item *item, const struct decision *decision, const struct record *record)
{
	item->guard = decision->guard;
	switch (decision->verdict) {
	case VERDICT_REFUSED:
		item_become(item, ITEM_REFUSED, decision->reason);
		break;
	case VERDICT_NOTHING:
		if (record ? !ours(item->evacuation, record) || !record_is_done(record) : item->held && !item_is_node(item))
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
static void take_excluded(struct evacuation *evacuation, const struct actuator *actuator,
                          const struct resource *resource, const struct record *record)
{
	struct decision none = {0};
	struct item *item;

	item = items_find(&evacuation->items, resource->id);
	if (!ours(evacuation, record)) { /* nothing of it is out: it is as if it had never been planned */
		if (item && !process_running(&item->process) && !item->has_record)
			item_drop(item);
		return;
	}
	if (!tags_exclude(&resource->tags))
		return;
	item = item_of(evacuation, actuator, resource, &none);
	if (process_running(&item->process))
		return;
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
		item_become(item, ITEM_SETTLED, NULL);
		break;
	case SETTLING_PENDING:
	case SETTLING_FAILED:
		item_become(item, ITEM_APPLIED, why);
		break;
	}
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
	actuator->plan(&evacuation->facts->scope, resource, arena, &decision);
	if (decision.verdict == VERDICT_NOTHING && !record && !items_find(&evacuation->items, resource->id))
		return;
	item = item_of(evacuation, actuator, resource, &decision);
	if (process_running(&item->process) || knows_more(item))
		return;
	item_set_record(item, record);
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

/* A record of ours without a selected resource: it stays out until recovery. */
static void take_record(struct evacuation *evacuation, const struct record *record)
{
	const struct actuator *actuator = actuator_of(record);
	struct change change = record_change(record);
	struct item *item = items_find(&evacuation->items, record->resource_id);

	if (record->unreadable || !ours(evacuation, record) || !actuator)
		return;
	if (item) {
		if (!item->has_record && !process_running(&item->process) && !knows_more(item))
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
	for (struct item *item = evacuation->items.first; item; item = item->next)
		take_lost(item);
	arena_done(&arena);
	evacuation->engine->proved |= !half_done(facts);
}

void plan_take_records(struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++)
		take_record(evacuation, &evacuation->facts->records.at[i]);
	evacuation->engine->proved |= !half_done(evacuation->facts);
}

static void take_told_change(struct evacuation *evacuation, const struct json *entry)
{
	const char *state = json_get_string(entry, "state");
	const struct actuator *actuator =
		json_get_string(entry, "kind") ? registry_find(json_get_string(entry, "kind")) : NULL;
	struct arena arena;
	struct change change = {.name = json_get_string(entry, "name"), .id = json_get_string(entry, "id")};
	struct item *item;

	if (!actuator || !change.id || !change.name || items_find(&evacuation->items, change.id) ||
	    !(text_equal(state, item_state_name(ITEM_SETTLED)) || text_equal(state, item_state_name(ITEM_APPLIED))))
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

	if (!evacuation->manifest.finalizer ||
	    !(text_equal(phase, phase_name(PHASE_HOLDING)) || text_equal(phase, phase_name(PHASE_APPLYING))))
		return;
	for (size_t i = 0; i < json_count(changes); i++)
		take_told_change(evacuation, json_at(changes, i));
}

/* Nodes. */

static void take_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node,
                      struct arena *arena)
{
	struct decision decision = {0};
	struct change carried;
	struct item *item = items_find(&evacuation->items, node->id ? node->id : "");
	bool known = false;

	if (!node->id)
		return;
	if (!eks_node_in_zone(scope, node, &known) || !known) {
		evacuation->nodes_unknown |= !known && plan_selected(evacuation, node);
		return;
	}
	if (item && process_running(&item->process))
		return;
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
		if (item_is_node(item) && !process_running(&item->process) && item->state != ITEM_GONE &&
		    !evacuation->restoring && !cluster_node(evacuation->engine, item->change.name))
			item_become(item, ITEM_GONE, "the node no longer exists");
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
	if (all)
		take_gone_nodes(evacuation);
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
	return evacuation->items.states[true][ITEM_RESTORING] + evacuation->items.states[true][ITEM_FAILED];
}

bool plan_needs_finalizer(const struct evacuation *evacuation)
{
	const struct items *items = &evacuation->items;
	size_t nothing = items_in_state(items, ITEM_REFUSED) + items_in_state(items, ITEM_GONE);

	return evacuation->manifest.finalizer || items->records > 0 || items->count > nothing;
}

/* What may begin. */

static bool retry_reached(const struct item *item)
{
	return instant_reached(item->retry_at, engine_now(item->evacuation->engine));
}

static bool wants_out(const struct item *item)
{
	return !item->dropped && (item->state == ITEM_PLANNED || (item->state == ITEM_FAILED && retry_reached(item)));
}

/*
 * How many may be begun now. No more are between read and update than the service takes updates in a second, or reads would grow stale in the
 * limiter; and they are begun several at a time, so that one request looks at them together. A slow one holds up nobody: after a second a
 * single free place is enough. After a start that found something half done it is one at a time until one has finished, so that a crash loop
 * always gets on.
 */
static size_t room(struct evacuation *evacuation)
{
	struct engine *engine = evacuation->engine;
	size_t max = (size_t)evacuation->manifest.max_in_flight;
	size_t busy = evacuation->items.changing;
	struct instant now = engine_now(engine);

	if (max > place_changes_a_second())
		max = place_changes_a_second();
	if (!engine->proved)
		max = 1;
	if (busy >= max || (max - busy < (max + 1) / 2 && !instant_reached(evacuation->begin_due, now)))
		return 0;
	evacuation->begin_due = instant_after(now, BEGIN_EVERY_MS);
	return max - busy;
}

static void start_changing(struct item *item, enum direction direction, const struct step *first)
{
	item->excluded = false;
	item_start(item, direction, first);
	item_set_changing(item, true);
}

/*
 * A node that is cordoned already and does not say by whom: the journal's copy may know that it was us, so the first look into the journal is waited
 * for, for a moment and only while AWS answers. Nothing new lands on a cordoned node meanwhile.
 */
static bool waits_for_copy(const struct item *item)
{
	const struct evacuation *evacuation = item->evacuation;
	const struct place *place = evacuation->place;

	if (evacuation->facts || evacuation->observe_failures > 0 || !evacuation->engine->have_credentials)
		return false;
	if (place && place->table_error.kind != ERROR_NONE)
		return false;
	return json_bool(json_get(item->change.detail, "priorUnschedulable"), false) &&
	       instant_between_ms(evacuation->since, engine_now(evacuation->engine)) < COPY_PATIENCE_MS;
}

static void start_node(struct item *item, bool copies)
{
	if (item->excluded) {
		item->excluded = false;
		item_start(item, DIRECTION_BACK, change_node_back_first);
	} else if (wants_out(item)) {
		if (waits_for_copy(item))
			item_consider_later(item);
		else
			item_start(item, DIRECTION_OUT, change_node_out_first);
	} else if (item->state == ITEM_GONE) { /* its copy is closed, then it is forgotten: nodes come and go */
		if (!item->has_record)
			item_drop(item);
		else if (copies)
			item_start(item, DIRECTION_BACK, change_node_close_first);
		else
			item_consider_later(item);
	} else if (item->state == ITEM_SETTLED && !item->has_record) {
		if (copies && retry_reached(item))
			item_start(item, DIRECTION_OUT, change_node_copy_first);
		else
			item_consider_later(item);
	}
}

/* True when it was begun. */
static bool start_aws(struct item *item)
{
	if (item->excluded && item->has_record)
		start_changing(item, DIRECTION_BACK, change_restore_first);
	else if (wants_out(item))
		start_changing(item, DIRECTION_OUT, change_evacuate_first);
	else
		return false;
	return true;
}

/* Go through the line of AWS items as far as there is room. */
static void start_line(struct evacuation *evacuation, bool may, bool (*start)(struct item *item))
{
	struct items *items = &evacuation->items;
	size_t left = may && items->considered[false].first ? room(evacuation) : 0;
	struct item *item;

	while (left > 0 && (item = items_next_considered(items, false)) != NULL)
		if (!process_running(&item->process) && start(item))
			left--;
}

void plan_start(struct evacuation *evacuation)
{
	struct items *items = &evacuation->items;
	bool copies = evacuation->place && evacuation->place->table_ready && evacuation->registered;
	struct item *item;

	items_consider_retries(items, engine_now(evacuation->engine));
	while ((item = items_next_considered(items, true)) != NULL)
		if (!process_running(&item->process))
			start_node(item, copies);
	items_take_later(items);
	start_line(evacuation, evacuation->registered, start_aws);
}

/* A node is put back first, without waiting for AWS; its copy is closed when the journal can be reached. */
static void start_node_restore(struct evacuation *evacuation, const struct scope *scope, struct item *item, bool aws)
{
	struct node_entry *entry = cluster_node(evacuation->engine, item->change.name);
	struct change carried;

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
	start_changing(item, DIRECTION_BACK, item->has_record ? change_restore_first : change_restore_lost_first);
	return true;
}

void plan_start_restores(struct evacuation *evacuation, bool aws)
{
	struct items *items = &evacuation->items;
	struct item *item;
	struct scope scope;

	items_consider_retries(items, engine_now(evacuation->engine));
	evacuation_node_scope(evacuation, &scope);
	while ((item = items_next_considered(items, true)) != NULL)
		if (!process_running(&item->process))
			start_node_restore(evacuation, &scope, item, aws);
	items_take_later(items);
	start_line(evacuation, aws, start_restore);
}
