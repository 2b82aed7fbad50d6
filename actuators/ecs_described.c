#include "ecs_described.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "domain/delta.h"

#define EVENT_SHOWN_BYTES 240

static const char *or_else(const char *text, const char *otherwise)
{
	return text != NULL && text[0] != '\0' ? text : otherwise;
}

static bool is_absent_or(const struct json *json, enum json_type type)
{
	return json_type(json) == JSON_NULL || json_type(json) == type;
}

static bool read_network(const struct json *json, struct arena *arena, struct service *service, struct resource *out,
                         struct error *error)
{
	const struct json *network = json_get(json, "networkConfiguration");
	const struct json *vpc = json_get(network, "awsvpcConfiguration");
	struct string_list groups;

	if (!is_absent_or(network, JSON_OBJECT))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: networkConfiguration of %s is no object", out->id);
	if (json_type(vpc) == JSON_NULL)
		return true;
	if (!answer_strings(json_get(vpc, "subnets"), arena, &out->subnets))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: the subnets of %s are no list of strings", out->id);
	if (json_get(vpc, "securityGroups") != NULL && !answer_strings(json_get(vpc, "securityGroups"), arena, &groups))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: the securityGroups of %s are no list of strings",
		                 out->id);
	if (!is_absent_or(json_get(vpc, "assignPublicIp"), JSON_STRING))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: assignPublicIp of %s is no string", out->id);
	service->vpc = json_copy(arena, vpc);
	return true;
}

/* Where others deploy it, each of its task sets has a network of its own. */
static void add_task_sets(const struct json *json, struct arena *arena, struct resource *out)
{
	const struct json *sets = json_get(json, "taskSets");

	for (size_t i = 0; i < json_count(sets); i++) {
		struct string_list subnets;

		answer_strings(json_path(json_at(sets, i), "networkConfiguration.awsvpcConfiguration.subnets"), arena,
		               &subnets);
		out->subnets = delta_join(&out->subnets, &subnets, arena);
	}
}

static bool read_tags(const struct json *tags, struct arena *arena, struct resource *out, struct error *error)
{
	if (!is_absent_or(tags, JSON_ARRAY))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: the tags of %s are no list", out->id);
	for (size_t i = 0; i < json_count(tags); i++) {
		const char *key = answer_copy(json_at(tags, i), "key", arena);
		const char *value = answer_copy(json_at(tags, i), "value", arena);

		if (key == NULL)
			return error_set(error, ERROR_MALFORMED, "DescribeServices: a tag of %s has no key", out->id);
		tags_add(&out->tags, arena, key, value != NULL ? value : "");
	}
	return true;
}

static void read_deployments(const struct json *list, struct arena *arena, struct service *service)
{
	service->deployment_count = json_type(list) == JSON_ARRAY ? json_count(list) : 0;
	service->deployments = arena_array(arena, service->deployment_count, sizeof(*service->deployments));
	for (size_t i = 0; i < service->deployment_count; i++) {
		const struct json *json = json_at(list, i);
		struct deployment *out = &service->deployments[i];

		*out = (struct deployment){
			.id = or_else(answer_copy(json, "id", arena), "(no id)"),
			.status = answer_copy(json, "status", arena),
			.rollout_state = answer_copy(json, "rolloutState", arena),
			.reason = answer_copy(json, "rolloutStateReason", arena),
			.desired_count = json_integer(json_get(json, "desiredCount"), 0),
			.running_count = json_integer(json_get(json, "runningCount"), 0),
			.failed_count = json_integer(json_get(json, "failedTasks"), 0),
		};
		answer_strings(json_path(json, "networkConfiguration.awsvpcConfiguration.subnets"), arena, &out->subnets);
	}
}

static const struct json *primary_json(const struct json *deployments)
{
	for (size_t i = 0; i < json_count(deployments); i++) {
		if (text_equal(json_get_string(json_at(deployments, i), "status"), "PRIMARY"))
			return json_at(deployments, i);
	}
	return NULL;
}

/* The newest stand first. What was said of an earlier deployment explains nothing. */
static const char *read_trouble(const struct json *json, struct arena *arena)
{
	const struct json *events = json_get(json, "events");
	double since = json_number(json_get(primary_json(json_get(json, "deployments")), "createdAt"), HUGE_VAL);

	for (size_t i = 0; i < json_count(events); i++) {
		const char *message = json_get_string(json_at(events, i), "message");

		if (json_number(json_get(json_at(events, i), "createdAt"), 0) < since)
			return NULL;
		if (message != NULL && strstr(message, "unable to") != NULL)
			return arena_copy(arena, message, text_cut(message, strlen(message), EVENT_SHOWN_BYTES));
	}
	return NULL;
}

/* Milliseconds are what ECS tells; however the number was written, its text is the same. */
static const char *read_incarnation(const struct json *json, struct arena *arena)
{
	double created = json_number(json_get(json, "createdAt"), -1);

	return created >= 0 ? arena_printf(arena, "%.3f", created) : NULL;
}

static const struct service *facts_of(const struct resource *resource)
{
	return resource->facts;
}

static struct service *read_facts(const struct json *json, struct arena *arena)
{
	struct service *service = ARENA_NEW(arena, struct service);

	service->cluster = answer_copy(json, "clusterArn", arena);
	service->status = or_else(answer_copy(json, "status", arena), "ACTIVE");
	service->launch_type = answer_copy(json, "launchType", arena);
	service->controller = or_else(answer_copy(json, "deploymentController.type", arena), "ECS");
	service->strategy = or_else(answer_copy(json, "deploymentConfiguration.strategy", arena), "ROLLING");
	service->management = answer_copy(json, "resourceManagementType", arena);
	service->last_trouble = read_trouble(json, arena);
	service->daemon = text_equal(json_get_string(json, "schedulingStrategy"), "DAEMON");
	service->desired_count = json_integer(json_get(json, "desiredCount"), 0);
	service->running_count = json_integer(json_get(json, "runningCount"), 0);
	service->pending_count = json_integer(json_get(json, "pendingCount"), 0);
	read_deployments(json_get(json, "deployments"), arena, service);
	return service;
}

/* Of a cluster or a service. */
static const char *name_of(const char *arn)
{
	const char *slash = strrchr(arn, '/');

	return slash != NULL ? slash + 1 : arn;
}

static const char *qualified(const char *cluster, const char *name, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", name_of(cluster), name);
}

static bool read_service(const struct json *json, struct arena *arena, struct resource *out, struct error *error)
{
	static const char *const needed[] = {"serviceArn", "serviceName", "clusterArn"};
	struct service *service;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (answer_text(json, needed[i]) == NULL)
			return error_set(error, ERROR_MALFORMED, "DescribeServices: a service of the answer has no %s", needed[i]);
	}
	service = read_facts(json, arena);
	*out = (struct resource){
		.kind = ECS_SERVICE_KIND,
		.id = answer_copy(json, "serviceArn", arena),
		.name = answer_copy(json, "serviceName", arena),
		.incarnation = read_incarnation(json, arena),
		.facts = service,
	};
	string_list_add(&out->names, arena, out->name);
	string_list_add(&out->names, arena, qualified(service->cluster, out->name, arena));
	if (!read_network(json, arena, service, out, error) || !read_tags(json_get(json, "tags"), arena, out, error))
		return false;
	if (strcmp(service->controller, "ECS") != 0)
		add_task_sets(json, arena, out);
	return true;
}

void ecs_add_unread_service(const struct ecs_question *question, const char *arn, const char *why, struct arena *arena,
                            struct resources *resources)
{
	struct resource *added = resources_add(resources, arena);

	*added = (struct resource){.kind = ECS_SERVICE_KIND, .id = arn, .name = name_of(arn), .tags_unreadable = why};
	string_list_add(&added->names, arena, added->name);
	string_list_add(&added->names, arena, qualified(question->cluster, added->name, arena));
}

void ecs_add_unread_cluster(const struct ecs_question *question, const char *why, struct arena *arena,
                            struct resources *resources)
{
	struct resource *added = resources_add(resources, arena);

	*added = (struct resource){.kind = ECS_SERVICE_KIND, .id = question->cluster, .tags_unreadable = why};
	added->name = qualified(question->cluster, "*", arena);
	string_list_add(&added->names, arena, added->name);
}

/* The service asked of that a failure names, whichever form of its ARN it has. */
static const char *asked_service(const struct ecs_question *question, const char *arn)
{
	for (size_t i = 0; arn != NULL && i < question->services.count; i++) {
		if (strcmp(name_of(question->services.at[i]), name_of(arn)) == 0)
			return question->services.at[i];
	}
	return NULL;
}

/* A service that is not there is a failure of a good answer. */
static bool hear_failure(const struct ecs_question *question, const struct json *failure, struct arena *arena,
                         struct resources *heard, struct error *error)
{
	const char *arn = answer_text(failure, "arn");
	const char *reason = or_else(answer_text(failure, "reason"), "no reason is told");
	const char *detail = answer_text(failure, "detail");
	const char *asked = asked_service(question, arn);

	if (strcmp(reason, "MISSING") == 0)
		return true;
	if (detail != NULL)
		reason = arena_printf(arena, "%s: %s", reason, detail);
	if (!question->survey || asked == NULL)
		return error_set(error, ERROR_REJECTED, "DescribeServices: ecs does not describe %s: %s",
		                 or_else(arn, "a service"), reason);
	ecs_add_unread_service(question, asked, arena_printf(arena, "ECS does not describe it: %s", reason), arena, heard);
	return true;
}

static bool hear_failures(const struct ecs_question *question, const struct json *failures, struct arena *arena,
                          struct resources *heard, struct error *error)
{
	if (!is_absent_or(failures, JSON_ARRAY))
		return error_set(error, ERROR_MALFORMED, "DescribeServices: the failures of the answer are no list");
	for (size_t i = 0; i < json_count(failures); i++) {
		if (!hear_failure(question, json_at(failures, i), arena, heard, error))
			return false;
	}
	return true;
}

bool ecs_hear_services(const struct ecs_question *question, const struct json *body, struct arena *arena,
                       struct resources *resources, struct error *error)
{
	const struct json *services = json_get(body, "services");
	struct resources heard = {0};

	if (json_type(services) != JSON_ARRAY)
		return error_set(error, ERROR_MALFORMED, "DescribeServices: the answer has no list of services");
	if (!hear_failures(question, json_get(body, "failures"), arena, &heard, error))
		return false;
	for (size_t i = 0; i < json_count(services); i++) {
		struct resource found;

		if (!read_service(json_at(services, i), arena, &found, error))
			return false;
		/* A deleted service is still described for a while. */
		if (strcmp(facts_of(&found)->status, "INACTIVE") != 0)
			*resources_add(&heard, arena) = found;
	}
	for (size_t i = 0; i < heard.count; i++)
		*resources_add(resources, arena) = heard.at[i];
	return true;
}
