#include "gate.h"

#include "actuators/registry.h"
#include "drain.h"
#include "evacuation.h"
#include "nodes/eks_node.h"
#include "pacing.h"
#include "plan.h"
#include "state.h"

#define EXAMPLES_A_SENTENCE 3

/* Why a node still holds up its group, or NULL. */
static const char *node_waits(const struct evacuation *evacuation, const struct node_entry *entry)
{
	const struct item *item = items_find(&evacuation->items, entry->resource.id);

	if (!item || item->excluded || item->state == ITEM_REFUSED)
		return "nobody drains it, for it is not selected";
	if (item->drained && (item->state == ITEM_APPLIED || item->state == ITEM_SETTLED) &&
	    text_equal(item->change.incarnation, entry->resource.incarnation))
		return NULL;
	if (drain_target(evacuation)->eviction == EVICTION_NONE)
		return "its pods stay, as eviction None says";
	return item->reason[0] ? item->reason : "it is not drained yet";
}

static const char *nodes_wait(const struct item *item, struct arena *arena)
{
	const struct evacuation *evacuation = item->evacuation;
	struct string_list examples = {0};
	size_t waiting = 0;

	for (size_t i = 0; i < item->carried.count; i++) {
		const struct node_entry *entry = cluster_node_of_instance(evacuation->engine, item->carried.at[i]);
		const char *why = entry ? node_waits(evacuation, entry) : NULL;

		if (!why)
			continue;
		if (examples.count < EXAMPLES_A_SENTENCE)
			string_list_add(&examples, arena, arena_printf(arena, "%s: %s", entry->resource.name, why));
		waiting++;
	}
	if (waiting == 0)
		return NULL;
	return arena_printf(arena, "waits for %zu of its nodes (%s%s)", waiting, string_list_join(&examples, arena, "; "),
	                    waiting > examples.count ? "; …" : "");
}

static bool services_wait(const struct item *item)
{
	const struct evacuation *evacuation = item->evacuation;
	const struct items *items = &evacuation->items;
	size_t services = item_lane_of(&ecs_service);
	int64_t patience_ms = GATE_SERVICES_MS + pacing_extends_ms(evacuation, services, GATE_SERVICES_MS);

	if (!item->carries_ecs)
		return false;
	if (evacuation->manifest.mode == MODE_EVACUATE && /* a plan has not begun, and says for what it will wait */
	    (!evacuation->started_at.us ||
	     wallclock_after_ms(evacuation->started_at, patience_ms).us <= engine_wall(evacuation->engine).us))
		return false;
	return items->lanes[services].running + items->states[services][ITEM_PLANNED] +
	           items->states[services][ITEM_WAITING] >
	       0;
}

const char *gate_waits(const struct item *item, struct arena *arena, enum guard *guard)
{
	const char *why = NULL;

	*guard = GUARD_NONE;
	if (item->carried.count && !plan_allows(item->evacuation, GUARD_NODES_NOT_DRAINED, item->change.name))
		why = nodes_wait(item, arena);
	if (why)
		*guard = GUARD_NODES_NOT_DRAINED;
	else if (services_wait(item))
		why = "its instances carry ECS tasks: waits until the services are out";
	return why;
}

const char *gate_overridden(const struct item *item, struct arena *arena)
{
	const char *reason = plan_allows(item->evacuation, GUARD_NODES_NOT_DRAINED, item->change.name);

	return reason && nodes_wait(item, arena) ? reason : NULL;
}
