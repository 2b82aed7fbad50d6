/*
 * The guards that look at more than one resource: how many zones are left, and what share of the nodes goes. (What an actuator can judge of its own
 * resource it refuses itself.) Those of a resource are asked at each look; the share of the nodes before the first change, and refuses the whole
 * evacuation, for its generation.
 */
#ifndef ENGINE_GUARD_H
#define ENGINE_GUARD_H

#include "domain/change.h"

struct evacuation;

/* How the nodes of the cluster lie to an evacuation, as last counted. */
struct node_share {
	uint64_t seen; /* cluster.nodes_changed at that time */
	struct instant counted_at;
	int64_t generation; /* of the object; 0 = never counted */
	bool mapped;        /* the account's mapping of zone names was known */
	size_t all;         /* that could be taken out at all: no Fargate, virtual or hybrid ones */
	size_t selected;    /* of them, those of the zone that the evacuation wants */
	size_t others;      /* in a zone that another evacuation of this cluster empties */
	size_t zones_left;  /* that the others lie in */
};

/* "ManagedByEks overridden: …", behind what was said `before` of others (NULL = nothing). */
const char *guard_overridden(const char *before, enum guard guard, const char *reason, struct arena *arena);

/*
 * MinRemainingZones of a resource with subnets: what `decision` (VERDICT_CHANGE) leaves lies in too few zones. Refused then, unless a person allows
 * it: that is noted in the change.
 */
void guard_zones(const struct evacuation *evacuation, const struct resource *resource, struct arena *arena,
                 struct decision *decision);

/* The same of a node, by the zones of the other nodes of the cluster. */
void guard_node_zones(struct evacuation *evacuation, const struct resource *node, struct arena *arena,
                      struct decision *decision);

/*
 * MaxNodesPercent: false when too large a share of the nodes would go, and nobody allowed it. Refuses the evacuation then (evacuation->refusal); what was
 * taken before all zones were known is given back.
 */
bool guard_share(struct evacuation *evacuation);

#endif
