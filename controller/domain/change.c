#include "domain/change.h"

#include "base/text.h"

static const char *const GUARD_NAMES[GUARDS] = {
	[GUARD_NONE] = "",
	[GUARD_OTHER_ZONE] = "OtherZone",
	[GUARD_MAX_NODES_PERCENT] = "MaxNodesPercent",
	[GUARD_MIN_REMAINING_ZONES] = "MinRemainingZones",
	[GUARD_LAST_SUBNET] = "LastSubnet",
	[GUARD_OPERATOR] = "Operator",
	[GUARD_BEING_DELETED] = "BeingDeleted",
	[GUARD_PLACEMENT_GROUP] = "PlacementGroup",
	[GUARD_NO_SUBNETS] = "NoSubnets",
	[GUARD_MANAGED_BY_EKS] = "ManagedByEks",
	[GUARD_OTHER_CLUSTER] = "OtherCluster",
	[GUARD_NODES_NOT_DRAINED] = "NodesNotDrained",
	[GUARD_NOT_AWSVPC] = "NotAwsvpc",
	[GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER] = "UnsupportedDeploymentController",
	[GUARD_TAGS_UNREADABLE] = "TagsUnreadable",
	[GUARD_UNREPLICATED] = "Unreplicated",
	[GUARD_PLAN_CHANGED] = "PlanChanged",
};

static const char *const STAND_NAMES[] = {
	[STAND_OUT] = "OUT",
	[STAND_BACK] = "BACK",
	[STAND_GONE] = "GONE",
	[STAND_SUPERSEDED] = "SUPERSEDED",
};

const char *guard_name(enum guard guard)
{
	return GUARD_NAMES[guard];
}

enum guard guard_parse(const char *name)
{
	for (int guard = GUARD_NONE + 1; guard < GUARDS; guard++)
		if (text_equal(name, GUARD_NAMES[guard]))
			return (enum guard)guard;
	return GUARD_NONE;
}

bool guard_is_overridable(enum guard guard)
{
	switch (guard) {
	case GUARD_MAX_NODES_PERCENT:
	case GUARD_MIN_REMAINING_ZONES:
	case GUARD_MANAGED_BY_EKS:
	case GUARD_OTHER_CLUSTER:
	case GUARD_NODES_NOT_DRAINED:
	case GUARD_UNREPLICATED:
		return true;
	default:
		return false;
	}
}

const char *stand_name(enum stand stand)
{
	return STAND_NAMES[stand];
}

struct resource *resources_add(struct resources *resources, struct arena *arena)
{
	struct resource *added;

	resources->at = arena_grow(arena, resources->at, resources->count, &resources->capacity, sizeof(*resources->at));
	added = &resources->at[resources->count++];
	*added = (struct resource){0};
	return added;
}

void decision_refuse(struct decision *decision, enum guard guard, const char *reason)
{
	decision->verdict = VERDICT_REFUSED;
	decision->guard = guard;
	decision->reason = reason;
}

struct change change_copy(const struct change *change, struct arena *arena)
{
	return (struct change){
		.kind = arena_string(arena, change->kind),
		.id = arena_string(arena, change->id),
		.name = arena_string(arena, change->name),
		.incarnation = arena_string(arena, change->incarnation),
		.removed = string_list_copy(&change->removed, arena),
		.order = string_list_copy(&change->order, arena),
		.detail = change->detail == NULL ? NULL : json_copy(arena, change->detail),
	};
}
