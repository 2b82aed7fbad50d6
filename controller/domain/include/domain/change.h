/*
 * One resource and what is taken out of it, and what planning says of it.
 */
#ifndef DOMAIN_CHANGE_H
#define DOMAIN_CHANGE_H

#include "domain/resource.h"

enum verdict {
	VERDICT_NOTHING, /* not in the zone */
	VERDICT_CHANGE,
	VERDICT_JOIN, /* somebody already has it out: only become an owner */
	VERDICT_REFUSED,
};

/* The rules that refuse; names as in status and journal. */
enum guard {
	GUARD_NONE,
	GUARD_OTHER_ZONE,          /* another zone of the region is held: refuses the whole evacuation */
	GUARD_MAX_NODES_PERCENT,   /* too large a share of the nodes would go: refuses the whole evacuation */
	GUARD_MIN_REMAINING_ZONES, /* what is left would lie in too few zones */
	GUARD_LAST_SUBNET,         /* every subnet of the resource lies in the zone */
	GUARD_OPERATOR,            /* an AWS service owns it */
	GUARD_BEING_DELETED,
	GUARD_PLACEMENT_GROUP,
	GUARD_NO_SUBNETS,
	GUARD_MANAGED_BY_EKS,
	GUARD_OTHER_CLUSTER,
	GUARD_NODES_NOT_DRAINED, /* it carries nodes of a cluster, whose pods would be ended without asking any PodDisruptionBudget */
	GUARD_NOT_AWSVPC,                        /* its tasks use their instances' network: it has no subnets */
	GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER, /* it is deployed in a way in which its network cannot be changed */
	GUARD_TAGS_UNREADABLE,                   /* whether it is selected, or to be left alone, cannot be known */
	GUARD_UNREPLICATED,                      /* a pod that nobody brings back */
	GUARD_PLAN_CHANGED, /* not what spec.planHash stands for: refuses the whole before it begins, then what is new */
	GUARDS
};

/* NULL name, or one that no guard has: GUARD_NONE. */
enum guard guard_parse(const char *name);

/* May a person override it (guards.allow)? */
bool guard_is_overridable(enum guard guard);

const char *guard_name(enum guard guard); /* "LastSubnet"; GUARD_NONE is "" */

enum direction { DIRECTION_OUT, DIRECTION_BACK };

/* Where a resource stands when its change is to be undone. */
enum stand {
	STAND_OUT,        /* all or part of what we took is still missing */
	STAND_BACK,       /* nothing of it is missing */
	STAND_GONE,       /* the resource, or all the subnets we took, no longer exist */
	STAND_SUPERSEDED, /* another VPC, no subnets at all, another incarnation: nothing is to be added */
};

const char *stand_name(enum stand stand); /* "OUT" */

enum settling { SETTLING_PENDING, SETTLING_DONE, SETTLING_FAILED };

struct change {
	const char *kind;
	const char *id;
	const char *name;
	const char *incarnation;
	struct string_list removed; /* subnets taken out; empty for a node */
	struct string_list order;   /* the list as first read */
	const struct json *detail;  /* kind-specific, goes into the record; may be NULL */
};

struct decision {
	enum verdict verdict;
	enum guard guard; /* VERDICT_REFUSED */
	enum guard
		guard_behind;   /* another one that refuses as well: overriding the first is not enough. NONE = there is none */
	const char *reason; /* a sentence; NULL when there is nothing to say */
	const char *wait;   /* VERDICT_CHANGE, but not now: why (an update of somebody else's is under way); NULL = now */
	/* VERDICT_CHANGE: the service itself put it back and would again (a deployment that was rolled back); NULL = no. */
	const char *rolled_back;
	struct change change;
};

/* VERDICT_REFUSED because of `guard`. The reason is borrowed; what else is decided stays. */
void decision_refuse(struct decision *decision, enum guard guard, const char *reason);

/* Deep copy: a change outlives the look it was planned from. */
struct change change_copy(const struct change *change, struct arena *arena);

#endif
