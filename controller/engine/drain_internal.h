/*
 * What the two halves of a drain share: looking and judging (drain.c), evicting (drain_evict.c).
 */
#ifndef ENGINE_DRAIN_INTERNAL_H
#define ENGINE_DRAIN_INTERNAL_H

#include "drain.h"
#include "nodes/eks_node.h"

/* Backoff after a look that failed, or while the API server is overloaded, grows up to this. */
#define LOOK_AGAIN_MAX_MS 60000

struct pending_eviction {
	struct pending_eviction *next;
	struct drain *drain;
	struct exchange *exchange;
	struct inquiry *inquiry; /* held: what the pod lives in */
	const struct pod *pod;
};

struct drain {
	struct item *item;
	struct process process;
	struct arena arena;
	struct inquiry *inquiry; /* held: what `pods` lives in */
	const struct resource *pods;
	struct pending_eviction *evictions;
	struct instant look_due;
	struct instant
		empty_since; /* the first of the looks in a row that found nothing to wait for; 0 = the last one did */
	struct instant taint_since; /* the first look under NoExecute */
	struct instant looked_at;   /* the last look */
	int64_t spent_ms;           /* of its time: while evictions could be tried */
	bool trying;                /* since the last look */
	int failures;
	bool counts;        /* in items->draining */
	bool counts_others; /* in items->draining_others */
	bool expired;
	bool told_expired;
	bool no_room;                    /* for all evictions of the last look */
	char refused[ITEM_REASON_BYTES]; /* why an eviction needs a person */
	char refused_uid[64];            /* of which pod */
	struct string_list bound;        /* pods seen on it that use volumes of the zone, in the arena */
};

/* Is it our own pod, or one of our replicas? */
bool drain_is_our_own(const struct engine *engine, const struct pod *pod);

/* The budgets' key of a pod: pods of one controller share their budget; one without a controller has its own. */
const char *drain_budget_key(const struct pod *pod);

/* Our own pods' turn comes when no node of the zone holds, or may hold, any other. */
bool drain_is_our_turn(const struct items *items);

/* Evict those of the node's pods that may be evicted now. */
void drain_evict(struct drain *drain, const struct scope *scope, const struct resource *node, struct instant now,
                 struct arena *arena);

/* The pod whose eviction was refused may have left by itself. NULL: nothing is refused any more. */
void drain_judge_refused(struct drain *drain, const struct pods *pods);

/* Its pods could not be listed: denied, that needs a person. */
void drain_told_error(struct drain *drain, const struct error *error);

/* Take back what has not been sent. */
void drain_cancel_evictions(struct drain *drain);

#endif
