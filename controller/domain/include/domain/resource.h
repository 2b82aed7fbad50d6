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
	const void *facts; /* the actuator's own, in the same arena */
};

struct resources {
	struct resource *at;
	size_t count;
	size_t capacity;
};

struct resource *resources_add(struct resources *resources, struct arena *arena);

#endif
