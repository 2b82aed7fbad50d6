#include "item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evacuation.h"
#include "state.h"

#define ITEM_ARENA_MAX (16u << 20)

const char *item_state_name(enum item_state state)
{
	static const char *const names[ITEM_STATES] = {
		[ITEM_PLANNED] = "Planned",       [ITEM_WAITING] = "Waiting",       [ITEM_APPLYING] = "Applying",
		[ITEM_APPLIED] = "Applied",       [ITEM_SETTLED] = "Settled",       [ITEM_REFUSED] = "Refused",
		[ITEM_FAILED] = "Failed",         [ITEM_RIVAL] = "Rival",           [ITEM_RESTORING] = "Restoring",
		[ITEM_RESTORED] = "Restored",     [ITEM_GONE] = "Gone",             [ITEM_SUPERSEDED] = "Superseded",
		[ITEM_HELD_BY_OTHERS] = "HeldByOthers",
	};

	return names[state];
}

static size_t bucket_of(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash % ITEM_BUCKETS;
}

void items_init(struct items *items)
{
	*items = (struct items){0};
	items->last = &items->first;
}

static void item_free(struct item *item)
{
	process_abort(&item->process);
	inquiry_release(item->inquiry);
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

struct item *items_add(struct items *items, struct evacuation *evacuation, const struct actuator *actuator, const struct change *change)
{
	struct item *item = calloc(1, sizeof(*item));
	struct item **bucket;

	if (!item)
		abort();
	arena_init(&item->arena, "item", ITEM_ARENA_MAX);
	arena_init(&item->decision_arena, "decision", ITEM_ARENA_MAX);
	item->evacuation = evacuation;
	item->actuator = actuator;
	item->change = change_copy(change, &item->arena);
	item->at = engine_wall(evacuation->engine);
	bucket = &items->buckets[bucket_of(change->id)];
	item->next_hashed = *bucket;
	*bucket = item;
	*items->last = item;
	items->last = &item->next;
	items->count++;
	evacuation_touch(evacuation);
	return item;
}

void item_become(struct item *item, enum item_state state, const char *reason)
{
	char cut[sizeof(item->reason)];

	snprintf(cut, sizeof(cut), "%s", reason ? reason : "");
	if (item->state == state && strcmp(item->reason, cut) == 0)
		return;
	if (item->state != state)
		item->at = engine_wall(item->evacuation->engine);
	item->state = state;
	memcpy(item->reason, cut, sizeof(cut));
	evacuation_touch(item->evacuation);
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

void item_set_record(struct item *item, const struct record *record)
{
	item->has_record = record != NULL;
	if (record) {
		item->change.removed = record->removed;
		if (record->order.count)
			item->change.order = record->order;
	}
	item_repack(item, record);
	if (!record)
		item->record = (struct record){0};
}

bool item_at_rest(const struct item *item)
{
	if (process_running(&item->process))
		return false;
	return item->state != ITEM_WAITING && item->state != ITEM_APPLYING && item->state != ITEM_RESTORING;
}

void item_start(struct item *item, enum direction direction, const struct step *first)
{
	item->direction = direction;
	item->changing = false;
	item->look_due = (struct instant){0};
	item->absent_since = (struct instant){0};
	item->applied_at = (struct instant){0};
	item->updates = 0;
	item->rounds = 0;
	process_start(&item->process, item->evacuation->engine, item, first);
}
