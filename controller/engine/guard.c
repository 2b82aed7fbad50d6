#include "guard.h"

#include "evacuation.h"
#include "nodes/eks_node.h"
#include "plan.h"
#include "stall.h"
#include "state.h"

#define COUNT_EVERY_MS 1000

const char *guard_overridden(const char *before, enum guard guard, const char *reason, struct arena *arena)
{
	return arena_printf(arena, "%s%s%s overridden: %s", before ? before : "", before ? "; " : "", guard_name(guard),
	                    reason);
}

/* A person's word, noted in what is written down; else it is refused. */
static void refuse_zones(const struct evacuation *evacuation, const char *name, const char *why, struct arena *arena,
                         struct decision *decision)
{
	const char *reason = plan_allows(evacuation, GUARD_MIN_REMAINING_ZONES, name);

	if (!reason) {
		decision_refuse(decision, GUARD_MIN_REMAINING_ZONES, why);
		return;
	}
	plan_note_allowed(&decision->change, GUARD_MIN_REMAINING_ZONES, reason, arena);
	decision->reason = guard_overridden(decision->reason, GUARD_MIN_REMAINING_ZONES, reason, arena);
}

static struct string_list zones_left(const struct scope *scope, const struct resource *resource,
                                     const struct string_list *removed, struct arena *arena)
{
	struct string_list zones = {0};

	for (size_t i = 0; i < resource->subnets.count; i++) {
		const struct subnet *subnet = scope_subnet(scope, resource->subnets.at[i]);

		if (subnet && !string_list_has(removed, subnet->id) && !string_list_has(&zones, subnet->zone_id))
			string_list_add(&zones, arena, subnet->zone_id);
	}
	return zones;
}

void guard_zones(const struct evacuation *evacuation, const struct resource *resource, struct arena *arena,
                 struct decision *decision)
{
	size_t wanted = (size_t)evacuation->manifest.min_remaining_zones;
	struct string_list zones;

	if (decision->verdict != VERDICT_CHANGE || wanted <= 1) /* one is left in any case: guard LastSubnet */
		return;
	zones = zones_left(&evacuation->facts->scope, resource, &decision->change.removed, arena);
	if (zones.count < wanted)
		refuse_zones(
			evacuation, resource->name,
			arena_printf(arena,
		                 "without %s its subnets lie in %zu zone%s (%s), and spec.guards.minRemainingZones is %zu",
		                 evacuation->manifest.zone_id, zones.count, zones.count == 1 ? "" : "s",
		                 string_list_join(&zones, arena, ", "), wanted),
			arena, decision);
}

/* Nodes. */

/* Its zone is being emptied by another evacuation of this cluster. */
static bool goes_anyway(const struct evacuation *evacuation, const struct resource *node)
{
	for (const struct evacuation *other = evacuation->engine->evacuations; other; other = other->next) {
		bool known = false;
		struct scope scope;

		if (other == evacuation || !other->manifest.finalizer || !evacuation_wants_zone(other) ||
		    text_equal(other->manifest.zone_id, evacuation->manifest.zone_id))
			continue;
		evacuation_node_scope(other, &scope);
		if (eks_node_in_zone(&scope, node, &known) && plan_selected(other, node))
			return true;
	}
	return false;
}

static void count_node(struct evacuation *evacuation, const struct scope *scope, const struct resource *node,
                       struct string_list *zones, struct arena *arena)
{
	struct node_share *share = &evacuation->node_share;
	bool known = false;
	const char *zone;

	if (!eks_node_is_movable(node))
		return;
	share->all++;
	if (eks_node_in_zone(scope, node, &known)) {
		share->selected += plan_selected(evacuation, node);
		return;
	}
	if (goes_anyway(evacuation, node)) {
		share->others++;
		return;
	}
	zone = eks_node_zone(node);
	if (known && zone && !string_list_has(zones, zone))
		string_list_add(zones, arena, zone);
}

static const struct node_share *count_nodes(struct evacuation *evacuation)
{
	struct node_share *share = &evacuation->node_share;
	const struct cluster *cluster = &evacuation->engine->cluster;
	struct instant now = engine_now(evacuation->engine);
	struct string_list zones = {0};
	struct scope scope;
	struct arena arena;

	evacuation_node_scope(evacuation, &scope);
	if (share->generation == evacuation->manifest.generation && share->mapped == (scope.zone_name != NULL) &&
	    (share->seen == cluster->nodes_changed || instant_between_ms(share->counted_at, now) < COUNT_EVERY_MS))
		return share;
	*share = (struct node_share){.seen = cluster->nodes_changed,
	                             .counted_at = now,
	                             .generation = evacuation->manifest.generation,
	                             .mapped = scope.zone_name != NULL};
	arena_init(&arena, "zones of nodes", 16u << 20);
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (const struct node_entry *entry = cluster->buckets[i]; entry; entry = entry->next)
			count_node(evacuation, &scope, &entry->resource, &zones, &arena);
	share->zones_left = zones.count;
	arena_done(&arena);
	return share;
}

void guard_node_zones(struct evacuation *evacuation, const struct resource *node, struct arena *arena,
                      struct decision *decision)
{
	size_t wanted = (size_t)evacuation->manifest.min_remaining_zones;
	const struct node_share *share;

	if (decision->verdict != VERDICT_CHANGE)
		return;
	share = count_nodes(evacuation);
	if (share->zones_left < wanted)
		refuse_zones(
			evacuation, node->name,
			arena_printf(arena,
		                 "the other nodes of the cluster lie in %zu zone%s, and spec.guards.minRemainingZones is %zu",
		                 share->zones_left, share->zones_left == 1 ? "" : "s", wanted),
			arena, decision);
}

bool guard_share(struct evacuation *evacuation)
{
	size_t most = (size_t)evacuation->manifest.max_nodes_percent;
	const struct node_share *share;

	if (evacuation->share_judged || !evacuation_targets(evacuation, EKS_NODE_KIND))
		return true;
	share = count_nodes(evacuation);
	if ((share->selected + share->others) * 100 <= share->all * most ||
	    plan_allows(evacuation, GUARD_MAX_NODES_PERCENT, "")) {
		/* Nodes whose zone only the account's mapping tells are counted once it is known. */
		evacuation->share_judged = evacuation->manifest.mode == MODE_EVACUATE && !evacuation->nodes_unknown;
		return true;
	}
	if (evacuation->manifest.mode == MODE_EVACUATE)
		evacuation->refused_generation = evacuation->manifest.generation;
	stall_set(
		&evacuation->refusal, guard_name(GUARD_MAX_NODES_PERCENT),
		"%zu of the cluster's %zu nodes would %s, more than the %zu %% of spec.guards.maxNodesPercent: select fewer, raise it, or allow "
		"it (spec.guards.allow with guard MaxNodesPercent)",
		share->selected + share->others, share->all,
		share->others ? "go, those of the zones that are being emptied already included" : "go", most);
	evacuation->stall = evacuation->refusal;
	return false;
}
