#include "remark.h"

#include "event.h"
#include "state.h"

/* So many inquiries at once: they have all the time there is. */
#define REMARKS_MAX 4

static bool is_put_back(const struct item *item)
{
	return item->state == ITEM_RESTORED;
}

static bool is_asked_for(const struct item *item)
{
	bool restoring = item->evacuation->restoring;

	if (!item->actuator->remark || item->remarked || item->remarking || process_running(&item->process) ||
	    item->change.removed.count == 0)
		return false;
	return restoring ? is_put_back(item) : item->has_record && item->state == ITEM_SETTLED;
}

static const char *join_remarks(const struct inquiry *inquiry, const char *id, struct arena *arena)
{
	struct string_list remarks = {0};

	for (size_t i = 0; i < inquiry->resources.count; i++) {
		const struct resource *resource = &inquiry->resources.at[i];

		if (resource->remark && text_equal(resource->id, id))
			string_list_add(&remarks, arena, resource->remark);
	}
	return remarks.count ? string_list_join(&remarks, arena, "; ") : NULL;
}

static void tell(struct item *item, const char *remark)
{
	struct arena arena;

	if (!remark || !is_put_back(item))
		return;
	arena_init(&arena, "remark", 1u << 20);
	event_tell(item->evacuation, true, "LeftAsItIs",
	           arena_printf(&arena, "%s %s: %s", item->change.kind, item->change.name, remark));
	arena_done(&arena);
}

static void heard(void *self, struct inquiry *inquiry)
{
	struct item *item = self;
	const char *remark = inquiry->failed ? NULL : join_remarks(inquiry, item->change.id, &inquiry->arena);

	item->remarking = NULL;
	item->evacuation->items.remarking--;
	item->evacuation->engine->moved = true;
	if (inquiry->failed)
		log_event(LOG_WARN, "what a change could not move is not known", "kind", item->change.kind, "name",
		          item->change.name, "error", inquiry->error.message, NULL);
	item_set_remark(item, remark);
	tell(item, remark);
	inquiry_release(inquiry);
}

void item_stop_remark(struct item *item)
{
	if (!item->remarking)
		return;
	inquiry_cancel(item->remarking);
	item->remarking = NULL;
	item->evacuation->items.remarking--;
}

/* Is there still something to be done that these questions would take a place from? */
static bool all_done(const struct items *items)
{
	return items->changing == 0 && items->running == items->aside && items_in_state(items, ITEM_PLANNED) == 0;
}

void remarks_turn(struct evacuation *evacuation)
{
	struct items *items = &evacuation->items;

	if (!evacuation->facts || !all_done(items))
		return;
	for (struct item *item = items->first; item && items->remarking < REMARKS_MAX; item = item->next) {
		if (!is_asked_for(item))
			continue;
		item->remarked = true;
		items->remarking++;
		item->remarking = inquiry_remark(item, heard, item);
	}
}
