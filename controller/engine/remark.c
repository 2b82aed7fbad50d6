#include "remark.h"

#include "event.h"
#include "state.h"

/* So many inquiries at once: they have all the time there is. */
#define REMARKS_MAX 4
#define EXAMPLES_AN_EVENT 3
/* So long recovery waits for them. */
#define REMARKS_MS 60000

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
static bool all_done(const struct items *items, bool restoring)
{
	return items->changing == 0 && items->running == items->aside &&
	       (restoring || items_in_state(items, ITEM_PLANNED) == 0);
}

/* One event for all: the object is about to vanish, and its status with it. */
static void tell_remarks(struct evacuation *evacuation, bool all)
{
	struct string_list examples = {0};
	struct arena arena;
	size_t count = 0;

	arena_init(&arena, "remarks", 1u << 20);
	for (const struct item *item = evacuation->items.first; item; item = item->next) {
		if (!is_put_back(item) || !item->remarked || !item->remark[0])
			continue;
		if (count++ < EXAMPLES_AN_EVENT)
			string_list_add(&examples, &arena,
			                arena_printf(&arena, "%s %s: %s", item->change.kind, item->change.name, item->remark));
	}
	if (count > 0)
		event_tell(evacuation, true, "LeftAsItIs",
		           arena_printf(&arena, "%zu resources have something that does not come back by itself: %s%s", count,
		                        string_list_join(&examples, &arena, "; "), count > examples.count ? "; …" : ""));
	if (!all)
		event_tell(
			evacuation, true, "LeftAsItIs",
			"whether versions were published without the subnets could not be found out of all functions in a minute");
	arena_done(&arena);
}

bool remarks_are_in(struct evacuation *evacuation)
{
	struct instant now = engine_now(evacuation->engine);
	bool all;

	if (evacuation->remarks_told)
		return true;
	remarks_turn(evacuation);
	all = evacuation->items.remarking == 0;
	if (!evacuation->remarks_until.ms)
		evacuation->remarks_until = instant_after(now, REMARKS_MS);
	if (!all && !instant_reached(evacuation->remarks_until, now))
		return false;
	for (struct item *item = evacuation->items.first; item; item = item->next)
		item_stop_remark(item);
	tell_remarks(evacuation, all);
	evacuation->remarks_told = true;
	return true;
}

void remarks_turn(struct evacuation *evacuation)
{
	struct items *items = &evacuation->items;

	if (!evacuation->facts || !evacuation->remarks_due || !all_done(items, evacuation->restoring))
		return;
	evacuation->remarks_due = items->remarking > 0;
	for (struct item *item = items->first; item && items->remarking < REMARKS_MAX; item = item->next) {
		if (!is_asked_for(item))
			continue;
		item->remarked = true;
		item->remarking = inquiry_remark(item, heard, item);
		items->remarking += item->remarking != NULL;
		evacuation->remarks_due = true; /* until there is none left to ask for */
	}
}
