/*
 * What DescribeServices says of ECS services, as far as ecs_service.c needs it.
 *
 * Everything that is kept is copied into the arena: the events alone, a hundred a service, are most of an answer.
 *
 * Source: ECS API reference (2014-11-13), "Service", "Failure"; developer guide "API failure reasons".
 */
#ifndef ACTUATORS_ECS_DESCRIBED_H
#define ACTUATORS_ECS_DESCRIBED_H

#include "base/json.h"
#include "domain/resource.h"

#define ECS_SERVICE_KIND "EcsService"

/* Texts that may be missing are NULL, never empty. */
struct deployment {
	const char *id;
	const char *status;        /* "PRIMARY", "ACTIVE", "DRAINING", "INACTIVE" */
	const char *rollout_state; /* "IN_PROGRESS", "COMPLETED", "FAILED"; NULL for some services */
	const char *reason;
	struct string_list subnets;
	int64_t desired_count;
	int64_t running_count;
	int64_t failed_count;
};

/* What only the actuator understands of a service; resource.facts. */
struct service {
	const char *cluster; /* ARN */
	const char *status;  /* "ACTIVE", "DRAINING" */
	const char *launch_type;
	const char *controller; /* who deploys it: "ECS", "CODE_DEPLOY", "EXTERNAL" */
	const char *strategy;   /* "ROLLING", "BLUE_GREEN" … */
	const char *management; /* "CUSTOMER", "ECS" (an Express service) */
	const struct json *vpc; /* awsvpcConfiguration as read; NULL when it has none */
	const char *
		last_trouble; /* what ECS last said of tasks that it cannot start, since the deployment began; NULL = nothing */
	int64_t desired_count;
	int64_t running_count;
	int64_t pending_count;
	struct deployment *deployments;
	size_t deployment_count;
};

/* All strings of a list, copied; false when it is none, or has anything else in it. */
bool ecs_read_list(const struct json *json, struct arena *arena, struct string_list *out);

/*
 * The services of an answer are appended to `resources`; one that is INACTIVE, or MISSING among the failures, is absent.
 * ERROR_MALFORMED: it is not what the model says; ERROR_REJECTED: ECS names another failure. Nothing is appended then.
 */
bool ecs_hear_services(const struct json *body, struct arena *arena, struct resources *resources, struct error *error);

#endif
