/*
 * A ZonalEvacuation, read from its JSON: what the API server stores, and (for the local verbs) what a file holds.
 *
 * The CRD validates what the API server stores; a half-broken object that slipped through an older CRD is an error of that object alone.
 * Errors: ERROR_INPUT "spec.targets[1].kind: …" with what is allowed.
 */
#ifndef KUBE_MANIFEST_H
#define KUBE_MANIFEST_H

#include "base/json.h"
#include "domain/change.h"

#define MANIFEST_TARGETS_MAX 16
#define MANIFEST_ALLOWANCES_MAX 16

enum manifest_mode { MODE_EVACUATE, MODE_PLAN };

enum on_drain_timeout { ON_DRAIN_TIMEOUT_KEEP, ON_DRAIN_TIMEOUT_TAINT };

struct manifest_target {
	const char *kind;
	struct selector selector;
	/* Nodes only. */
	enum eviction eviction;           /* absent = Drain */
	int64_t drain_timeout_s;          /* per node, while its pods may be evicted; absent = 900 */
	enum on_drain_timeout on_timeout; /* absent = Keep */
};

/* guards.allow: a person's word that a guard may be overridden for resources of these names (globs). */
struct allowance {
	enum guard guard; /* an overridable one */
	const char *reason;
	struct string_list match_names; /* empty = all */
};

struct manifest {
	const char *name;
	const char *uid;              /* NULL in a file */
	const char *resource_version; /* NULL in a file */
	int64_t generation;
	const char *created_at; /* RFC 3339 as stored: orders rivals for one zone */
	bool deleting;
	bool finalizer;
	const char *zone_id;
	const char *region; /* NULL = the controller's */
	enum manifest_mode mode;
	const char *plan_hash; /* NULL when it is absent or empty: any plan will do */
	struct manifest_target targets[MANIFEST_TARGETS_MAX];
	size_t target_count;
	int64_t max_in_flight;       /* pacing.maxInFlight, default 16 */
	int64_t batch_percent;       /* pacing.batchPercent, 1..100, default 100: of a kind's changes, at a time */
	int64_t batch_interval_s;    /* pacing.batchIntervalSeconds, default 0: from the rest of one batch to the next */
	int64_t expires_after_s;     /* counted from the first change; 0 = it holds until it is deleted */
	int64_t min_remaining_zones; /* guards.minRemainingZones, default 1 */
	int64_t max_nodes_percent;   /* guards.maxNodesPercent, default 50 */
	bool allow_other_zones;      /* guards.allowOtherZones: begin although another zone of the region is held */
	struct allowance allowances[MANIFEST_ALLOWANCES_MAX];
	size_t allowance_count;
};

/* Everything borrowed from `object` or in `arena`. Metadata is filled even when the spec is refused. */
bool manifest_read(struct arena *arena, const struct json *object, struct manifest *out, struct error *error);

#endif
