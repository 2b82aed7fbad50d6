/*
 * What waits for what. Pure: from the items and the nodes as they are.
 *
 * - A group that carries this cluster's nodes waits until no node of it in the zone holds a pod that a drain would wait for: without the subnet Auto
 *   Scaling ends the instances, and asks no PodDisruptionBudget. By instance: whatever tags say, it is the instances that are nodes.
 * - A group that is capacity of an ECS cluster waits for the evacuation's services, a quarter of an hour at most (for each of their batches): which
 *   cluster it serves it does not say.
 */
#ifndef ENGINE_GATE_H
#define ENGINE_GATE_H

#include "item.h"

#define GATE_SERVICES_MS (15 * 60 * 1000)

/* Why the item may not be begun yet (a sentence in `arena`, *guard the rule, which may be none), or NULL. */
const char *gate_waits(const struct item *item, struct arena *arena, enum guard *guard);

/* It does not wait for its nodes only because a person said so: the reason; NULL otherwise. */
const char *gate_overridden(const struct item *item, struct arena *arena);

#endif
