/*
 * The drain of a node that is out: look at its pods, evict those that may be evicted, look again, until no pod is left that it waits for.
 *
 *   tainted ──► look ──► evict (all at once; budgets one at a time) ──┐
 *                ▲  └──► drained                                      │
 *                └───────────── poll ─────────────────────────────────┘
 *
 * It has a process of its own, beside the item's: the journal's copy of the node is written meanwhile. Nothing of it is journaled: an eviction cannot be taken
 * back, and whoever begins again looks first. Its time counts from the node's annotation, so that a restart does not begin it anew.
 *
 * - Our own pods, and those of our controller, come when no other node holds anything else.
 * - Where spec.pacing says so drains begin batch by batch (pacing.h), and our own pods are the last of their batch.
 * - With eviction None, Taint or after its time it only looks: pods that go by themselves, or by the taint, are seen.
 * - While capacity keeps coming back to the zone (three new nodes since the evacuation began) nothing is evicted: each pod would move to a node that is
 *   emptied next.
 */
#ifndef ENGINE_DRAIN_H
#define ENGINE_DRAIN_H

#include "item.h"

/* So many new nodes in the zone, and drains pause. */
#define NEWCOMERS_MAX 3

/* Is there a drain to be begun on this node? */
bool drain_is_due(const struct item *item);

void drain_start(struct item *item);

/* Something has changed: not at its time, but at once. NULL is fine. */
void drain_look_now(struct drain *drain);

/* No more looks and evictions; what is in flight may still land. NULL is fine. */
void drain_stop(struct drain *drain);
void drain_free(struct drain *drain);

/* Why an eviction on this node needs a person; NULL = none does. NULL is fine. */
const char *drain_refusal(const struct drain *drain);

/* Its time is over, and what is left is not waited for. NULL: it was not begun. */
bool drain_is_over(const struct drain *drain);

/* The node is out and nobody waits for a pod of it any more, or nobody asked for that. */
void drain_judge_state(struct item *item, const char *why);

/* The target's word on nodes; of an object without such a target, one that leaves pods alone. */
const struct manifest_target *drain_target(const struct evacuation *evacuation);

/* evacuation_node_scope with what is to become of this node's pods. */
void drain_scope(const struct item *item, struct scope *out);

/* The sentence for a stall: capacity comes back to the zone; NULL = it does not. */
const char *drain_paused_because(const struct evacuation *evacuation, struct arena *arena);

#endif
