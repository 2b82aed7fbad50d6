/*
 * What one evacuation is about, as far as decisions need it: the zone, whose account, which subnets lie where, what
 * is selected. Built once an observation and read-only from then on; actuators and guards see nothing else.
 */
#ifndef DOMAIN_SCOPE_H
#define DOMAIN_SCOPE_H

#include "base/instant.h"
#include "base/json.h"
#include "base/string_list.h"

struct subnet {
	const char *id;
	const char *zone_id;
	const char *zone_name;
	const char *vpc_id;
};

/* Sorted by id. */
struct subnets {
	struct subnet *at;
	size_t count;
	size_t capacity;
};

struct tag {
	const char *key;
	const char *value;
};

struct tags {
	struct tag *at;
	size_t count;
	size_t capacity;
};

/* Tags are ANDed, names ORed, both present ANDed; `exclude_*`: any one match excludes. Globs as of fnmatch(3). */
struct selector {
	bool all;
	struct tags match_tags;
	struct string_list match_names;
	struct tags exclude_tags;
	struct string_list exclude_names;
};

/* What becomes of the pods of a node that is taken out. */
enum eviction {
	EVICTION_DRAIN, /* evicted one by one, PodDisruptionBudgets respected */
	EVICTION_TAINT, /* the taint gets the effect NoExecute as well: ended at once, no budget is asked */
	EVICTION_NONE,  /* they stay */
};

struct scope {
	const char *zone_id;      /* "use1-az1" */
	const char *zone_name;    /* "us-east-1a"; NULL until the account's mapping is known */
	const char *region;       /* "us-east-1" */
	const char *account_id;   /* NULL until known */
	const char *owner;        /* UID of kube-system, or "local" */
	const char *cluster_name; /* readable, may be NULL */
	const char *evacuation;   /* name of the object */
	const char *evacuation_uid;
	struct subnets subnets;
	size_t zone_count; /* zones of the region that have subnets */
	enum eviction eviction;
	struct wallclock
		drained_since;       /* to be written on the node, where its drain is one of a batch; 0 = not to be written */
	bool evict_unreplicated; /* pods without a controller are evicted, too: nobody brings them back */
	/* EC2 instances that are nodes of this cluster, sorted (strcmp). Empty when there is no cluster to ask. */
	struct string_list node_instances;
	bool has_cluster; /* there is one, and its nodes are known */
	/* Resources with an open record of ours, sorted: a survey learns as much of them as of those in the zone. */
	struct string_list held_ids;
	struct wallclock now;
};

/* Sort by id, for scope_subnet. */
void subnets_sort(struct subnets *subnets);

/* NULL when the account has no such subnet. */
const struct subnet *scope_subnet(const struct scope *scope, const char *subnet_id);

/* Is there an open record of ours of this resource? */
bool scope_holds(const struct scope *scope, const char *resource_id);

/* Is this EC2 instance a node of this cluster? */
bool scope_is_node(const struct scope *scope, const char *instance_id);

/* False also for a subnet that is not known. */
bool scope_in_zone(const struct scope *scope, const char *subnet_id);

void tags_add(struct tags *tags, struct arena *arena, const char *key, const char *value);

/* NULL when there is no such tag. */
const char *tags_get(const struct tags *tags, const char *key);

/* `names` are all the names the resource answers to (a service: name and cluster/name). */
bool selector_matches(const struct selector *selector, const struct tags *tags, const struct string_list *names);

/* The same of a resource whose tags cannot be read: false only where its names alone decide that it is not selected. */
bool selector_may_match(const struct selector *selector, const struct string_list *names);

/*
 * Who else changes a resource, by the tags that tools leave on what they make: "its tags say that CloudFormation stack
 * web manages it". NULL when they name nobody. They tell who may put things back, and are no reason to refuse.
 */
const char *tags_owner_sentence(const struct tags *tags, struct arena *arena);

/* The tag or label that keeps a resource out, "zonevac.dev/exclude" = "true". */
bool tags_exclude(const struct tags *tags);

#endif
