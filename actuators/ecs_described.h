/*
 * What DescribeServices says of ECS services, as far as ecs_service.c needs it.
 *
 * Everything that is kept is copied into the arena: the events alone, a hundred a service, are most of an answer.
 *
 * Source: ECS API reference (2014-11-13), "Service", "Failure"; developer guide "API failure reasons".
 */
#ifndef ACTUATORS_ECS_DESCRIBED_H
#define ACTUATORS_ECS_DESCRIBED_H

#include "answer.h"
#include "domain/resource.h"

#define ECS_SERVICE_KIND "EcsService"

/* What a question is about: a cluster, and of DescribeServices the services of it. */
struct ecs_question {
	const char *cluster; /* ARN or name; NULL for ListClusters */
	struct string_list services;
	bool survey; /* no look: one that may not be read is appended with the reason, and keeps none of the others */
};

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

/* What only the actuator understands of a service; resource.facts. NULL: it could not be read. */
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
	bool daemon;      /* a task on each container instance that fits, none elsewhere */
	int64_t desired_count;
	int64_t running_count;
	int64_t pending_count;
	struct deployment *deployments;
	size_t deployment_count;
};

/*
 * The services of an answer are appended to `resources`; one that is INACTIVE, or MISSING among the failures, is absent.
 * One with another failure is appended unread in a survey. ERROR_MALFORMED: it is not what the model says; ERROR_REJECTED:
 * ECS names another failure in a look, or of a service that was not asked of. Nothing is appended then.
 */
bool ecs_hear_services(const struct ecs_question *question, const struct json *body, struct arena *arena,
                       struct resources *resources, struct error *error);

/* Append what may not be read: a service, or in place of all services of a cluster the cluster. `why`: a sentence, borrowed. */
void ecs_add_unread_service(const struct ecs_question *question, const char *arn, const char *why, struct arena *arena,
                            struct resources *resources);
void ecs_add_unread_cluster(const struct ecs_question *question, const char *why, struct arena *arena,
                            struct resources *resources);

#endif
