/*
 * A resource as it was just read: identity, subnets, tags, and what only its actuator understands.
 */
#ifndef DOMAIN_RESOURCE_H
#define DOMAIN_RESOURCE_H

#include "domain/scope.h"

struct resource {
	const char *kind;           /* "AutoScalingGroup" */
	const char *id;             /* journal key: ARN, or "<cluster uid>/<node>" */
	const char *name;           /* what a person calls it */
	const char *incarnation;    /* differs when it was made anew under the same name: ARN, createdAt, UID */
	struct string_list names;   /* what selectors match; includes `name` */
	struct string_list subnets; /* as configured, in their order */
	struct tags tags;
	const char *tags_unreadable;  /* NULL; else why: what tags decide is then refused, never assumed */
	struct string_list instances; /* EC2 instances: a node's own one; of a group those that lie in the zone */
	const void *facts;            /* the actuator's own, in the same arena */
	const void *load;             /* what runs on it, from a look of its own: a node's pods. NULL = not looked at */
	bool carries_ecs;             /* a group whose instances are capacity of an ECS cluster (tag AmazonECSManaged) */
	const char *remark;           /* what a change of it cannot move, a sentence; NULL = nothing */
};

struct resources {
	struct resource *at;
	size_t count;
	size_t capacity;
};

struct resource *resources_add(struct resources *resources, struct arena *arena);

#endif
