#include "item.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actuators/registry.h"
#include "change.h"
#include "drain.h"
#include "evacuation.h"
#include "lock.h"
#include "nodes/eks_node.h"
#include "remark.h"
#include "state.h"

#define ITEM_ARENA_MAX (16u << 20)

const char *item_state_name(enum item_state state)
{
	static const char *const names[ITEM_STATES] = {
		[ITEM_PLANNED] = "Planned",
		[ITEM_WAITING] = "Waiting",
		[ITEM_APPLYING] = "Applying",
		[ITEM_APPLIED] = "Applied",
		[ITEM_SETTLED] = "Settled",
		[ITEM_REFUSED] = "Refused",
		[ITEM_FAILED] = "Failed",
		[ITEM_RIVAL] = "Rival",
		[ITEM_RESTORING] = "Restoring",
		[ITEM_RESTORED] = "Restored",
		[ITEM_GONE] = "Gone",
		[ITEM_SUPERSEDED] = "Superseded",
		[ITEM_HELD_BY_OTHERS] = "HeldByOthers",
	};

	return names[state];
}

static size_t bucket_of(const char *id)
{
	return text_hash(id, strlen(id)) % ITEM_BUCKETS;
}

void items_init(struct items *items)
{
	*items = (struct items){0};
	items->last = &items->first;
}

bool item_is_node(const struct item *item)
{
	return item->actuator == &eks_node;
}

static struct items *items_of(const struct item *item)
{
	return &item->evacuation->items;
}

size_t item_lane_of(const struct actuator *actuator)
{
	size_t lane = LANE_NODES + 1;

	if (actuator == &eks_node)
		return LANE_NODES;
	while (registry_at(lane - 1) != actuator)
		lane++;
	assert(lane < LANES_MAX);
	return lane;
}

static void line_append(struct item_line *line, struct item *item)
{
	item->next_considered = NULL;
	if (line->last)
		line->last->next_considered = item;
	else
		line->first = item;
	line->last = item;
}

void item_consider(struct item *item)
{
	item->evacuation->engine->moved = true;
	items_of(item)->lanes[item->lane].paced.judged = false;
	if (item->considered)
		return;
	item->considered = true;
	line_append(&items_of(item)->lanes[item->lane].considered, item);
}

void item_consider_later(struct item *item)
{
	if (item->considered)
		return;
	item->considered = true;
	line_append(&items_of(item)->lanes[item->lane].later, item);
}

void lane_take_later(struct lane *lane)
{
	struct item_line *line = &lane->considered;

	if (!lane->later.first)
		return;
	if (line->last)
		line->last->next_considered = lane->later.first;
	else
		line->first = lane->later.first;
	line->last = lane->later.last;
	lane->later = (struct item_line){0};
}

struct item *lane_next_considered(struct lane *lane)
{
	struct item_line *line = &lane->considered;
	struct item *item = line->first;

	if (!item)
		return NULL;
	line->first = item->next_considered;
	if (!line->first)
		line->last = NULL;
	item->considered = false;
	return item;
}

void items_retry_at(struct items *items, struct instant due)
{
	if (!items->retry_due.ms || due.ms < items->retry_due.ms)
		items->retry_due = due;
}

void items_consider_retries(struct items *items, struct instant now)
{
	if (!items->retry_due.ms || !instant_reached(items->retry_due, now))
		return;
	items->retry_due = (struct instant){0};
	for (struct item *item = items->first; item; item = item->next) {
		if (!item->retry_at.ms)
			continue;
		if (instant_reached(item->retry_at, now)) {
			item->retry_at = (struct instant){0};
			item_consider(item);
		} else {
			items_retry_at(items, item->retry_at);
		}
	}
}

size_t items_in_state(const struct items *items, enum item_state state)
{
	size_t count = 0;

	for (size_t lane = 0; lane < LANES_MAX; lane++)
		count += items->states[lane][state];
	return count;
}

void item_set_changing(struct item *item, bool changing)
{
	if (item->changing == changing)
		return;
	item->changing = changing;
	items_of(item)->changing += changing ? 1 : (size_t)-1;
	items_of(item)->lanes[item->lane].changing += changing ? 1 : (size_t)-1;
	item->evacuation->engine->moved = true;
}

static void item_free(struct item *item)
{
	item_stop_remark(item);
	drain_free(item->drain);
	item_set_newcomer(item, false);
	inquiry_release(item->inquiry);
	arena_done(&item->carried_arena);
	arena_done(&item->decision_arena);
	arena_done(&item->arena);
	free(item);
}

void items_done(struct items *items)
{
	struct item *next;

	for (struct item *item = items->first; item; item = next) {
		next = item->next;
		item_free(item);
	}
	items_init(items);
}

struct item *items_find(const struct items *items, const char *id)
{
	struct item *item = items->buckets[bucket_of(id)];

	while (item && !text_equal(item->change.id, id))
		item = item->next_hashed;
	return item;
}

struct item *items_add(struct items *items, struct evacuation *evacuation, const struct actuator *actuator,
                       const struct change *change)
{
	struct item *item = calloc(1, sizeof(*item));
	struct item **bucket;

	if (!item)
		abort();
	arena_init(&item->arena, "item", ITEM_ARENA_MAX);
	arena_init(&item->decision_arena, "decision", ITEM_ARENA_MAX);
	arena_init(&item->carried_arena, "carried", ITEM_ARENA_MAX);
	item->evacuation = evacuation;
	item->actuator = actuator;
	item->lane = item_lane_of(actuator);
	item->change = change_copy(change, &item->arena);
	item->at = engine_wall(evacuation->engine);
	bucket = &items->buckets[bucket_of(change->id)];
	item->next_hashed = *bucket;
	*bucket = item;
	*items->last = item;
	items->last = &item->next;
	items->count++;
	items->states[item->lane][item->state]++;
	item_consider(item);
	evacuation_touch(evacuation);
	return item;
}

static void cut_to_reason(const char *sentence, char out[static ITEM_REASON_BYTES])
{
	sentence = sentence ? sentence : "";
	snprintf(out, ITEM_REASON_BYTES, "%.*s", (int)text_cut(sentence, strlen(sentence), ITEM_REASON_BYTES - 1),
	         sentence);
}

/* What was seen of its pods holds only while it is tainted. */
static void node_becomes(struct item *item, enum item_state state)
{
	switch (state) {
	case ITEM_APPLIED:
	case ITEM_SETTLED:
		item->was_out = true;
		break;
	case ITEM_APPLYING:
	case ITEM_FAILED:
		break;
	case ITEM_PLANNED: /* the plan of it, or its taint is to be put on (again) */
	case ITEM_WAITING:
		item->drained = false;
		break;
	default:
		item->drained = false;
		drain_stop(item->drain);
	}
}

void item_become(struct item *item, enum item_state state, const char *reason)
{
	char cut[ITEM_REASON_BYTES];

	cut_to_reason(reason, cut);
	if (item->state == state && strcmp(item->reason, cut) == 0)
		return;
	if (item_is_node(item))
		node_becomes(item, state);
	if (item->state != state) {
		item->at = engine_wall(item->evacuation->engine);
		items_of(item)->states[item->lane][item->state]--;
		items_of(item)->states[item->lane][state]++;
	}
	if (item->state != state)
		item->evacuation->gates_due = item->evacuation->remarks_due = true;
	item->state = state;
	memcpy(item->reason, cut, sizeof(cut));
	item_consider(item);
	evacuation_touch(item->evacuation);
}

void item_set_remark(struct item *item, const char *remark)
{
	char cut[ITEM_REASON_BYTES];

	cut_to_reason(remark, cut);
	if (strcmp(item->remark, cut) == 0)
		return;
	memcpy(item->remark, cut, sizeof(cut));
	evacuation_touch(item->evacuation);
}

void item_set_carried(struct item *item, const struct resource *resource)
{
	item->carries_ecs = resource->carries_ecs;
	if (string_list_equal(&item->carried, &resource->instances))
		return;
	arena_reset(&item->carried_arena);
	item->carried = string_list_copy(&resource->instances, &item->carried_arena);
}

void item_forget_times(struct item *item)
{
	item->begun_at = item->rested_at = item->failed_at = (struct wallclock){0};
	item->begun_before = false;
}

void item_set_newcomer(struct item *item, bool newcomer)
{
	if (item->newcomer == newcomer)
		return;
	item->newcomer = newcomer;
	items_of(item)->newcomers += newcomer ? 1 : (size_t)-1;
}

/* The item's arena would grow with each write: what is kept moves into a fresh one. */
static void item_repack(struct item *item, const struct record *record)
{
	struct arena fresh;

	arena_init(&fresh, "item", ITEM_ARENA_MAX);
	if (record)
		item->record = record_copy(record, &fresh);
	item->change = change_copy(&item->change, &fresh);
	arena_done(&item->arena);
	item->arena = fresh;
}

void item_set_held(struct item *item, bool held)
{
	if (item->held == held)
		return;
	item->held = held;
	if (!item_is_node(item))
		items_of(item)->held += held ? 1 : (size_t)-1;
}

static void item_mark_record(struct item *item, bool has)
{
	if (item->has_record == has)
		return;
	item->has_record = has;
	items_of(item)->records += has ? 1 : (size_t)-1;
	item_consider(item);
}

void item_set_record(struct item *item, const struct record *record)
{
	item_mark_record(item, record != NULL);
	if (record && string_list_has(&record->owners, item->evacuation->engine->cluster.owner))
		item_set_held(item, true);
	if (record) {
		item->change.removed = record->removed;
		if (record_change(record).incarnation)
			item->change.incarnation = record_change(record).incarnation;
		if (record->order.count)
			item->change.order = record->order;
	}
	item_repack(item, record);
	if (!record)
		item->record = (struct record){0};
}

void item_set_change(struct item *item, const struct change *change)
{
	item->change = *change;
	item_repack(item, item->has_record ? &item->record : NULL);
}

void item_drop(struct item *item)
{
	if (item->dropped || (item->held && !item_is_node(item))) /* what we took out of it must find its way back */
		return;
	item->dropped = true;
	items_of(item)->dropped++;
	evacuation_touch(item->evacuation);
}

static void line_sweep(struct item_line *line)
{
	struct item *item = line->first;
	struct item *next;

	*line = (struct item_line){0};
	for (; item; item = next) {
		next = item->next_considered;
		if (item->dropped)
			item->considered = false;
		else
			line_append(line, item);
	}
}

static void unhash(struct items *items, struct item *item)
{
	struct item **link = &items->buckets[bucket_of(item->change.id)];

	while (*link != item)
		link = &(*link)->next_hashed;
	*link = item->next_hashed;
}

void items_sweep(struct items *items)
{
	if (items->dropped == 0)
		return;
	for (struct item *item = items->first; item; item = item->next)
		if (item->dropped && (process_running(&item->process) || item->has_record)) {
			item->dropped = false; /* it has come to something after all */
			items->dropped--;
		}
	for (struct item *item = items->first; item; item = item->next)
		if (item->dropped)
			item_abort(item); /* whatever ends considers its item: not after the lines are swept */
	for (size_t lane = 0; lane < LANES_MAX; lane++) {
		line_sweep(&items->lanes[lane].considered);
		line_sweep(&items->lanes[lane].later);
	}
	items->last = &items->first;
	for (struct item **link = &items->first; *link;) {
		struct item *item = *link;

		if (!item->dropped) {
			link = &item->next;
			items->last = link;
			continue;
		}
		*link = item->next;
		unhash(items, item);
		items->lanes[item->lane].paced.judged = false;
		items->states[item->lane][item->state]--;
		items->count--;
		item_free(item);
	}
	items->dropped = 0;
}

static void item_ended(void *self)
{
	struct item *item = self;

	items_of(item)->running--;
	items_of(item)->lanes[item->lane].running--;
	items_of(item)->aside -= item->aside;
	item->aside = item->copying = false;
	if (item_is_node(item)) /* its events were not looked at meanwhile */
		cluster_touch_node(item->evacuation->engine, item->change.name);
	item->ended_at = engine_now(item->evacuation->engine);
	lock_release(item);
	item_set_changing(item, false);
	item_consider(item);
}

/* By when an update of whoever wrote its record was sent: an Intent is followed by one. */
static struct wallclock last_sent_by(const struct item *item)
{
	if (!item->has_record)
		return (struct wallclock){0};
	return wallclock_after_ms(item->record.updated_at, item->record.state == RECORD_INTENT ? INTENDED_MS : 0);
}

void item_start(struct item *item, enum direction direction, const struct step *first)
{
	item->direction = direction;
	item->stales = 0;
	item->subnets_absent_since = (struct instant){0};
	item->copying = first == change_node_copy_first;
	item->aside = item->copying || item->state == ITEM_FAILED;
	items_of(item)->running++;
	items_of(item)->lanes[item->lane].running++;
	items_of(item)->aside += item->aside;
	item->look_due = (struct instant){0};
	item->absent_since = (struct instant){0};
	item->back_since = (struct instant){0};
	item->recorded_at = last_sent_by(item);
	item->applied_at = (struct instant){0};
	item->intended_at = (struct instant){0};
	item->updates = item->unanswered = 0;
	item->rounds = 0;
	process_start(&item->process, item->evacuation->engine, item, first, item_ended);
}

void item_abort(struct item *item)
{
	process_abort(&item->process);
	drain_stop(item->drain);
	item_stop_remark(item);
}
