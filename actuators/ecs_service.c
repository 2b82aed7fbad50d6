/*
 * EcsService: the subnets of an ECS service whose tasks have network interfaces of their own (network mode awsvpc).
 *
 * Clusters, their services and what each is are three questions (ListClusters, ListServices, DescribeServices by ten).
 * One sets the subnets (UpdateService with networkConfiguration alone). ECS replaces that configuration as a whole, so
 * that all else in it is sent back as it was read, and starts a deployment that replaces every task. There is no
 * compare-and-set, so a request is always built from what was just read. A deployment of somebody else's is not waited
 * for: ours takes its place and keeps its task definition.
 *
 * A deployment that fails may be rolled back by ECS (circuit breaker, alarms), subnets included: `rolled_back` tells.
 *
 * Sources: ECS API reference (2014-11-13), developer guide "Deployment circuit breaker", "API failure reasons".
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "actuators/registry.h"
#include "aws/protocol.h"
#include "domain/delta.h"
#include "ecs_described.h"

#define SERVICE "ecs"
#define ENTRIES_A_PAGE 100
#define SERVICES_A_LOOK 10

enum step { STEP_CLUSTERS, STEP_SERVICES, STEP_DESCRIBE };

static const struct service *service_of(const struct resource *resource)
{
	return resource->facts;
}

/* Questions. */

static void ask(struct probe *probe, enum step step, const struct ecs_question *question, const char *operation,
                const struct json *body, struct arena *arena)
{
	probe->step = (int)step;
	probe->context = question;
	aws_json_request(arena, aws_service_find(SERVICE), operation, body, &probe->request);
}

static void ask_clusters(const char *token, struct arena *arena, struct probes *out)
{
	struct json *body = json_new_object(arena);

	json_set_integer(body, "maxResults", ENTRIES_A_PAGE);
	json_set_string(body, "nextToken", token);
	ask(probes_add(out, arena), STEP_CLUSTERS, ARENA_NEW(arena, struct ecs_question), "ListClusters", body, arena);
}

static void ask_services(const struct ecs_question *question, const char *token, struct arena *arena,
                         struct probes *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "cluster", question->cluster);
	json_set_integer(body, "maxResults", ENTRIES_A_PAGE);
	json_set_string(body, "nextToken", token);
	ask(probes_add(out, arena), STEP_SERVICES, question, "ListServices", body, arena);
}

static void ask_description(const struct ecs_question *question, struct arena *arena, struct probes *out)
{
	struct json *body = json_new_object(arena);

	assert(question->services.count > 0 && question->services.count <= SERVICES_A_LOOK);
	json_set_string(body, "cluster", question->cluster);
	json_set(body, "services", json_new_strings(arena, &question->services));
	json_add_string(json_set_array(body, "include"), "TAGS");
	ask(probes_add(out, arena), STEP_DESCRIBE, question, "DescribeServices", body, arena);
}

static struct ecs_question *question_new(const char *cluster, bool survey, struct arena *arena)
{
	struct ecs_question *question = ARENA_NEW(arena, struct ecs_question);

	question->cluster = cluster;
	question->survey = survey;
	return question;
}

static void service_survey(const struct scope *scope, struct arena *arena, struct probes *out)
{
	(void)scope;
	ask_clusters(NULL, arena, out);
}

/* The record keeps the cluster, because short ARNs (arn:…:service/NAME) lack it; NULL = it does not. */
static const char *kept_cluster(const struct change *change)
{
	return json_get_string(change->detail, "cluster");
}

/* What the ARN says behind ":service/": NAME, or CLUSTER/NAME. */
static const char *full_name(const struct change *change)
{
	static const char mark[] = ":service/";
	const char *found = strstr(change->id, mark);

	return found != NULL ? found + strlen(mark) : change->id;
}

static const char *cluster_of(const struct change *change, struct arena *arena)
{
	const char *kept = kept_cluster(change);
	const char *name = full_name(change);
	const char *slash = strchr(name, '/');

	if (kept != NULL)
		return arena_string(arena, kept);
	return slash != NULL ? arena_copy(arena, name, (size_t)(slash - name)) : "default";
}

static void service_look(const struct scope *scope, const struct change *const *changes, size_t count,
                         struct arena *arena, struct probes *out)
{
	struct ecs_question *questions[SERVICES_A_LOOK];
	size_t cluster_count = 0;

	(void)scope;
	assert(count > 0 && count <= SERVICES_A_LOOK);
	for (size_t i = 0; i < count; i++) {
		const char *cluster = cluster_of(changes[i], arena);
		size_t at = 0;

		while (at < cluster_count && strcmp(questions[at]->cluster, cluster) != 0)
			at++;
		if (at == cluster_count)
			questions[cluster_count++] = question_new(cluster, false, arena);
		string_list_add(&questions[at]->services, arena, arena_string(arena, changes[i]->id));
	}
	for (size_t i = 0; i < cluster_count; i++)
		ask_description(questions[i], arena, out);
}

/* Without a record's cluster it is looked at alone: the ARN's part cannot be told apart without a copy. */
static const char *service_look_group(const struct change *change)
{
	const char *kept = kept_cluster(change);

	return kept != NULL ? kept : full_name(change);
}

/* Answers. */

static void ask_by_ten(const struct ecs_question *about, const struct string_list *services, struct arena *arena,
                       struct probes *out)
{
	for (size_t from = 0; from < services->count; from += SERVICES_A_LOOK) {
		struct ecs_question *question = question_new(about->cluster, about->survey, arena);

		for (size_t i = from; i < services->count && i < from + SERVICES_A_LOOK; i++)
			string_list_add(&question->services, arena, services->at[i]);
		ask_description(question, arena, out);
	}
}

static bool hear_list(const struct probe *probe, const struct json *body, struct arena *arena, struct probes *further,
                      struct error *error)
{
	const char *member = probe->step == STEP_CLUSTERS ? "clusterArns" : "serviceArns";
	const char *token = json_get_string(body, "nextToken");
	struct string_list found;

	if (!answer_strings(json_get(body, member), arena, &found))
		return error_set(error, ERROR_MALFORMED, "%s: the answer has no list of %s", probe->request.operation, member);
	if (json_get(body, "nextToken") != NULL && token == NULL)
		return error_set(error, ERROR_MALFORMED, "%s: the nextToken of the answer is no string",
		                 probe->request.operation);
	if (token != NULL && token[0] != '\0' && probe->step == STEP_CLUSTERS)
		ask_clusters(token, arena, further);
	else if (token != NULL && token[0] != '\0')
		ask_services(probe->context, token, arena, further);
	for (size_t i = 0; probe->step == STEP_CLUSTERS && i < found.count; i++)
		ask_services(question_new(found.at[i], true, arena), NULL, arena, further);
	if (probe->step == STEP_SERVICES)
		ask_by_ten(probe->context, &found, arena, further);
	return true;
}

static bool service_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                          struct arena *arena, struct resources *resources, struct probes *further, struct error *error)
{
	const struct json *body;
	struct arena answer;
	bool good;

	(void)scope;
	arena_init(&answer, "ecs answer", ANSWER_ARENA_MAX_BYTES);
	body = json_parse(&answer, response->body, response->body_length, error);
	if (body == NULL)
		good = error_wrap(error, "%s", probe->request.operation);
	else if (probe->step == STEP_DESCRIBE)
		good = ecs_hear_services(probe->context, body, arena, resources, error);
	else
		good = hear_list(probe, body, arena, further, error);
	arena_done(&answer);
	return good;
}

/* What a survey may not read keeps none of the rest. */
static void add_unread(const struct probe *probe, const struct error *error, struct arena *arena,
                       struct resources *resources)
{
	const struct ecs_question *question = probe->context;
	const char *why;

	if (probe->step == STEP_SERVICES) {
		why = arena_printf(arena, "its services may not be listed: %s", error->message);
		ecs_add_unread_cluster(question, why, arena, resources);
		return;
	}
	why = arena_printf(arena, "it may not be described: %s", error->message);
	for (size_t i = 0; i < question->services.count; i++)
		ecs_add_unread_service(question, question->services.at[i], why, arena, resources);
}

/*
 * A cluster deleted since it was listed, or since the record was written, has no services any more. Of what a look may not
 * read nothing is known: as excused it would be taken for gone.
 */
static bool service_excuse(const struct scope *scope, const struct probe *probe, const struct error *error,
                           struct arena *arena, struct resources *resources)
{
	const struct ecs_question *question = probe->context;

	(void)scope;
	if (probe->step == STEP_CLUSTERS)
		return false;
	if (error->kind == ERROR_ABSENT)
		return true;
	if (error->kind != ERROR_DENIED || !question->survey)
		return false;
	add_unread(probe, error, arena, resources);
	return true;
}

/* Planning. */

/* Why an update cannot, or must not, change its network; NULL = it can. */
static const char *unsupported_reason(const struct service *service, struct arena *arena)
{
	if (strcmp(service->controller, "CODE_DEPLOY") == 0)
		return "CodeDeploy deploys it, and ECS lets nobody else change its network: start a CodeDeploy deployment whose "
			   "AppSpec names the other subnets";
	if (strcmp(service->controller, "EXTERNAL") == 0)
		return "its deployment controller is EXTERNAL, so that each task set has a network of its own: create a task "
			   "set with the other subnets, make it the primary one and delete the old one";
	if (strcmp(service->controller, "ECS") != 0)
		return arena_printf(arena,
		                    "its deployment controller is %s, of which it is not known how to change the network",
		                    service->controller);
	if (strcmp(service->strategy, "ROLLING") != 0)
		return arena_printf(
			arena,
			"its deployment strategy is %s, which would run a whole shift of its traffic for a change of "
			"the network: deploy it with the other subnets yourself, or set the strategy to ROLLING",
			service->strategy);
	if (text_equal(service->management, "ECS"))
		return "it is an Express service, of which ECS manages the network: give it the other subnets with "
			   "UpdateExpressGatewayService";
	return NULL;
}

static void guard_service(const struct scope *scope, const struct resource *resource,
                          const struct string_list *elsewhere, struct arena *arena, struct decision *out)
{
	const struct service *service = service_of(resource);
	const char *unsupported = unsupported_reason(service, arena);
	const char *last = delta_last_reason(scope, elsewhere, arena);

	if (strcmp(service->status, "ACTIVE") != 0)
		decision_refuse(out, GUARD_BEING_DELETED, arena_printf(arena, "it is being deleted (%s)", service->status));
	else if (unsupported != NULL)
		decision_refuse(out, GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER, unsupported);
	else if (resource->tags_unreadable != NULL)
		decision_refuse(out, GUARD_TAGS_UNREADABLE, resource->tags_unreadable);
	else if (last != NULL)
		decision_refuse(out, GUARD_LAST_SUBNET, last);
}

static const struct deployment *primary_of(const struct service *service)
{
	for (size_t i = 0; i < service->deployment_count; i++) {
		if (text_equal(service->deployments[i].status, "PRIMARY"))
			return &service->deployments[i];
	}
	return NULL;
}

/*
 * Of a service that has subnets of the zone: did ECS itself put them back? It did where a deployment without them failed,
 * or is what a rollback replaces. One that failed with them was none of ours, and neither was its rollback.
 */
static const char *rolled_back_reason(const struct scope *scope, const struct service *service, struct arena *arena)
{
	const struct deployment *primary = primary_of(service);
	const char *said = primary != NULL && primary->reason != NULL ? primary->reason : "";
	bool rolling = strcasestr(said, "rolling back") != NULL || strcasestr(said, "rolled back") != NULL;
	bool unrelated = false;

	for (size_t i = 0; i < service->deployment_count; i++) {
		const struct deployment *one = &service->deployments[i];
		bool failed = text_equal(one->rollout_state, "FAILED");
		struct string_list in_zone;
		struct string_list elsewhere;

		delta_split(scope, &one->subnets, arena, &in_zone, &elsewhere);
		unrelated |= failed && in_zone.count > 0;
		if (in_zone.count == 0 && elsewhere.count > 0 && (failed || rolling))
			return arena_printf(arena, "its deployment %s, without them, was not kept: %s", one->id,
			                    failed && one->reason != NULL ? one->reason : said);
	}
	return rolling && !unrelated ? arena_printf(arena, "ECS rolled its last deployment back: %s", said) : NULL;
}

static void service_plan(const struct scope *scope, const struct resource *resource, struct arena *arena,
                         struct decision *out)
{
	const struct service *service = service_of(resource);
	struct json *detail = json_new_object(arena);
	struct string_list in_zone;
	struct string_list elsewhere;

	*out = (struct decision){.verdict = VERDICT_NOTHING};
	if (service == NULL) {
		decision_refuse(out, GUARD_TAGS_UNREADABLE, resource->tags_unreadable);
		return;
	}
	/* Tasks on machines outside AWS are in no zone. */
	if (text_equal(service->launch_type, "EXTERNAL"))
		return;
	if (service->vpc == NULL && resource->subnets.count == 0) {
		if (strcmp(service->status, "ACTIVE") == 0 && (service->desired_count > 0 || service->running_count > 0))
			decision_refuse(
				out, GUARD_NOT_AWSVPC,
				"its tasks use the network of their container instances, so there is no subnet to take out: take "
				"the Auto Scaling group of these instances out");
		return;
	}
	delta_split(scope, &resource->subnets, arena, &in_zone, &elsewhere);
	if (in_zone.count == 0)
		return;
	json_set_string(detail, "cluster", service->cluster);
	out->verdict = VERDICT_CHANGE;
	out->change = (struct change){
		.kind = ECS_SERVICE_KIND,
		.id = resource->id,
		.name = resource->name,
		.incarnation = resource->incarnation,
		.removed = in_zone,
		.order = resource->subnets,
		.detail = detail,
	};
	guard_service(scope, resource, &elsewhere, arena, out);
	if (out->verdict == VERDICT_CHANGE)
		out->rolled_back = rolled_back_reason(scope, service, arena);
}

/* Where it stands. */

static enum stand service_compare(const struct scope *scope, const struct change *change,
                                  const struct resource *resource, struct arena *arena)
{
	/* Any other stand would end the record of what is not known to be back. */
	if (resource != NULL && service_of(resource) == NULL)
		return STAND_OUT;
	/* ECS changes nothing of a service that is being deleted, and never stops deleting it. */
	if (resource != NULL && strcmp(service_of(resource)->status, "ACTIVE") != 0)
		return STAND_GONE;
	if (resource != NULL && service_of(resource)->vpc == NULL)
		return STAND_SUPERSEDED;
	return delta_compare(scope, change, resource, arena);
}

/* Settling. */

struct older {
	size_t count;
	int64_t running_count;
};

/* The deployments that the primary one has not yet replaced. */
static struct older older_of(const struct service *service)
{
	struct older older = {0};

	for (size_t i = 0; i < service->deployment_count; i++) {
		const struct deployment *one = &service->deployments[i];

		if (text_equal(one->status, "PRIMARY") || text_equal(one->status, "INACTIVE"))
			continue;
		older.count++;
		older.running_count += one->running_count;
	}
	return older;
}

static void add_progress(struct string_list *parts, const struct deployment *primary, struct arena *arena)
{
	if (primary == NULL || primary->rollout_state == NULL)
		return;
	if (primary->failed_count > 0)
		string_list_add(parts, arena,
		                arena_printf(arena, "its deployment %s is %s, %" PRId64 " failed", primary->id,
		                             primary->rollout_state, primary->failed_count));
	else
		string_list_add(parts, arena,
		                arena_printf(arena, "its deployment %s is %s", primary->id, primary->rollout_state));
}

/* Such a task runs on its instance or not at all, and its network interface must lie in the same zone. */
static void add_daemon(struct string_list *parts, struct arena *arena)
{
	string_list_add(
		parts, arena,
		"it is a DAEMON service: tasks on container instances in the zone cannot be placed without a subnet "
		"there, until these instances leave the service's cluster");
}

static const char *pending_sentence(const struct service *service, const struct deployment *primary,
                                    const struct older *older, enum direction direction, struct arena *arena)
{
	struct string_list parts = {0};
	int64_t running_count = service->running_count;
	int64_t desired_count = service->desired_count;

	if (primary != NULL && older->count > 0) { /* the service counts the older ones' tasks as well */
		running_count = primary->running_count;
		desired_count = primary->desired_count;
	}
	string_list_add(&parts, arena,
	                arena_printf(arena, "%" PRId64 " of %" PRId64 " tasks run", running_count, desired_count));
	if (service->daemon && direction == DIRECTION_OUT && running_count < desired_count)
		add_daemon(&parts, arena);
	add_progress(&parts, primary, arena);
	if (service->pending_count > 0)
		string_list_add(&parts, arena, arena_printf(arena, "%" PRId64 " pending", service->pending_count));
	if (older->running_count > 0)
		string_list_add(&parts, arena,
		                arena_printf(arena, "%" PRId64 " of older deployments still run", older->running_count));
	else if (older->count > 0)
		string_list_add(&parts, arena, "an older deployment is not gone yet");
	if (service->last_trouble != NULL)
		string_list_add(&parts, arena, arena_printf(arena, "ECS says: %s", service->last_trouble));
	return string_list_join(&parts, arena, "; ");
}

static enum settling settled_out(const struct service *service, struct arena *arena, const char **why)
{
	const struct deployment *primary = primary_of(service);
	const char *state = primary != NULL && primary->rollout_state != NULL ? primary->rollout_state : "COMPLETED";
	struct older older = older_of(service);

	if (strcmp(state, "FAILED") == 0) {
		*why = arena_printf(arena, "its deployment %s failed: %s", primary->id,
		                    primary->reason != NULL ? primary->reason : "ECS does not say why");
		return SETTLING_FAILED;
	}
	if (strcmp(state, "COMPLETED") == 0 && older.count == 0 && service->pending_count == 0 &&
	    service->running_count == service->desired_count)
		return SETTLING_DONE;
	*why = pending_sentence(service, primary, &older, DIRECTION_OUT, arena);
	return SETTLING_PENDING;
}

/* A deployment that is rolled back takes the subnets along; how many tasks run is not recovery's business. */
static enum settling settled_back(const struct service *service, struct arena *arena, const char **why)
{
	const struct deployment *primary = primary_of(service);
	const char *state = primary != NULL ? primary->rollout_state : NULL;
	struct older older = older_of(service);

	/* Without a state, what it replaces tells that it is still at work. */
	if (state != NULL ? strcmp(state, "IN_PROGRESS") != 0 : older.count == 0)
		return SETTLING_DONE;
	*why = pending_sentence(service, primary, &older, DIRECTION_BACK, arena);
	return SETTLING_PENDING;
}

static enum settling service_settled(const struct scope *scope, const struct change *change,
                                     const struct resource *resource, enum direction direction, struct arena *arena,
                                     const char **why)
{
	*why = service_of(resource) == NULL ? resource->tags_unreadable
	                                    : delta_unsettled(scope, change, &resource->subnets, direction, arena);
	if (*why != NULL)
		return SETTLING_PENDING;
	return direction == DIRECTION_OUT ? settled_out(service_of(resource), arena, why)
	                                  : settled_back(service_of(resource), arena, why);
}

/* Acting. */

static void set_network(const struct service *service, const struct string_list *subnets, struct arena *arena,
                        struct json *body)
{
	struct json *vpc = json_set_object(json_set_object(body, "networkConfiguration"), "awsvpcConfiguration");
	const struct json *member;
	const char *key;

	assert(service->vpc != NULL && subnets->count > 0);
	json_set(vpc, "subnets", json_new_strings(arena, subnets));
	for (size_t i = 0; (member = json_member(service->vpc, i, &key)) != NULL; i++) {
		if (strcmp(key, "subnets") != 0 && json_type(member) != JSON_NULL)
			json_set(vpc, key, json_copy(arena, member));
	}
}

static void service_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                           enum direction direction, struct arena *arena, struct http_request *out)
{
	const struct service *service = service_of(resource);
	struct string_list next = delta_next(scope, change, &resource->subnets, direction, arena);
	struct json *body = json_new_object(arena);

	json_set_string(body, "cluster", service != NULL ? service->cluster : cluster_of(change, arena));
	json_set_string(body, "service", resource->id);
	/* A network that could not be read is not replaced: such a request changes nothing. */
	if (service != NULL)
		set_network(service, &next, arena, body);
	aws_json_request(arena, aws_service_find(SERVICE), "UpdateService", body, out);
}

const struct actuator ecs_service = {
	.kind = ECS_SERVICE_KIND,
	.service = SERVICE,
	.update_operation = "UpdateService",
	.survey = service_survey,
	.look_max = SERVICES_A_LOOK,
	.look = service_look,
	.look_group = service_look_group,
	.learn = service_learn,
	.excuse = service_excuse,
	.plan = service_plan,
	.compare = service_compare,
	.settled = service_settled,
	.update = service_update,
};
