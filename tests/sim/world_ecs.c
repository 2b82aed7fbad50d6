/*
 * The API of ECS: clusters, services, and the one update that is made.
 */
#include "world_ecs.h"

#include <string.h>

#define PAGE 3
#define DESCRIBE_MAX 10
#define SUBNETS_MAX 16
#define STALE_MS 10000
#define DEFAULT_GROUP "sg-default"

static bool page(struct sim_call *call, const struct json *body, size_t *from, size_t *limit)
{
	int64_t asked = json_integer(json_get(body, "maxResults"), PAGE);
	*limit = asked < PAGE ? (size_t)asked : PAGE;
	if (asked >= 1 && asked <= 100 && sim_page_token(json_get_string(body, "nextToken"), from))
		return true;
	sim_aws_error(call, 400, "InvalidParameterException", "Invalid token or maxResults.");
	return false;
}

static void set_next(struct json *answer, struct arena *arena, size_t at, size_t end)
{
	if (at < end)
		json_set_string(answer, "nextToken", arena_printf(arena, "page-%zu", at));
}

static void list_clusters(struct world *world, struct sim_call *call, const struct json *body)
{
	size_t from;
	size_t limit;
	if (!page(call, body, &from, &limit))
		return;
	struct json *answer = json_new_object(&call->arena);
	struct json *arns = json_set_array(answer, "clusterArns");
	size_t i = from;
	for (; i < world->ecs->cluster_count && json_count(arns) < limit; i++)
		if (!world->ecs->clusters[i]->deleted)
			json_add_string(arns, world->ecs->clusters[i]->arn);
	set_next(answer, &call->arena, i, world->ecs->cluster_count);
	sim_aws_json(call, 200, answer);
}

static void list_services(struct world *world, struct sim_call *call, const struct json *body,
                          const struct cluster *cluster)
{
	size_t from;
	size_t limit;
	if (!page(call, body, &from, &limit))
		return;
	struct json *answer = json_new_object(&call->arena);
	struct json *arns = json_set_array(answer, "serviceArns");
	size_t i = from;
	for (; i < world->ecs->service_count && json_count(arns) < limit; i++) {
		const struct service *service = world->ecs->services[i];
		if (service->cluster == cluster && !service->placed.deleted)
			json_add_string(arns, service->placed.arn);
	}
	set_next(answer, &call->arena, i, world->ecs->service_count);
	sim_aws_json(call, 200, answer);
}

static struct json *network_json(struct arena *arena, const char *subnets, const char *groups, const char *public_ip)
{
	struct json *network = json_new_object(arena);
	struct json *awsvpc = json_set_object(network, "awsvpcConfiguration");
	json_set(awsvpc, "subnets", sim_csv_array(arena, subnets));
	json_set(awsvpc, "securityGroups", sim_csv_array(arena, groups));
	json_set_string(awsvpc, "assignPublicIp", public_ip);
	return network;
}

/* awsJson writes instants as seconds. */
static struct json *epoch(struct arena *arena, struct wallclock at)
{
	return json_new_number(arena, (double)(at.us / 1000) / 1000.0);
}

static struct json *deployment_json(struct arena *arena, const struct service *service,
                                    const struct deployment *deployment)
{
	struct json *json = json_new_object(arena);
	const struct network *network = &deployment->network;
	json_set_string(json, "id", deployment->id);
	json_set_string(json, "status", deployment->primary ? "PRIMARY" : "ACTIVE");
	json_set_integer(json, "desiredCount", deployment->primary ? service->desired : 0);
	json_set_integer(json, "runningCount", deployment->running);
	json_set_integer(json, "pendingCount", 0);
	json_set_integer(json, "failedTasks", strcmp(deployment->rollout, "FAILED") == 0 ? 3 : 0);
	json_set(json, "createdAt", epoch(arena, deployment->made));
	if (!service->no_rollout_state) {
		json_set_string(json, "rolloutState", deployment->rollout);
		json_set_string(json, "rolloutStateReason", deployment->reason);
	}
	if (!service->no_awsvpc)
		json_set(json, "networkConfiguration",
		         network_json(arena, network->subnets, network->groups, network->public_ip));
	return json;
}

static struct json *tags_json(struct arena *arena, const char *csv)
{
	struct json *json = json_new_array(arena);
	struct string_list tags = string_list_split(csv, ",", arena);
	for (size_t i = 0; i < tags.count; i++) {
		const char *equals = strchr(tags.at[i], '=');
		size_t length = equals != NULL ? (size_t)(equals - tags.at[i]) : strlen(tags.at[i]);
		struct json *tag = json_new_object(arena);
		json_set_string(tag, "key", arena_copy(arena, tags.at[i], length));
		json_set_string(tag, "value", equals != NULL ? equals + 1 : "");
		json_add(json, tag);
	}
	return json;
}

static void set_kind(struct json *json, struct arena *arena, const struct service *service)
{
	json_set_string(json, "schedulingStrategy", service->daemon ? "DAEMON" : "REPLICA");
	if (service->controller[0] != '\0')
		json_set_string(json_set_object(json, "deploymentController"), "type", service->controller);
	struct json *configuration = json_set_object(json, "deploymentConfiguration");
	json_set_integer(configuration, "minimumHealthyPercent", 100);
	json_set_integer(configuration, "maximumPercent", 200);
	if (service->strategy[0] != '\0')
		json_set_string(configuration, "strategy", service->strategy);
	if (service->launch_type[0] != '\0') {
		json_set_string(json, "launchType", service->launch_type);
		return;
	}
	struct json *provider = json_new_object(arena);
	json_set_string(provider, "capacityProvider", "provider-1");
	json_set_integer(provider, "weight", 1);
	json_add(json_set_array(json, "capacityProviderStrategy"), provider);
}

static struct json *service_json(struct world *world, struct arena *arena, const struct service *service, bool stale)
{
	const struct sim_placed *placed = &service->placed;
	bool as_before = stale && placed->edited.ms != 0 && instant_between_ms(placed->edited, world->now) < STALE_MS;
	struct json *json = json_new_object(arena);
	json_set_string(json, "serviceArn", placed->arn);
	json_set_string(json, "serviceName", service->name);
	json_set_string(json, "clusterArn", service->cluster->arn);
	json_set_string(json, "status", placed->deleted ? "INACTIVE" : "ACTIVE");
	json_set_integer(json, "desiredCount", placed->deleted ? 0 : service->desired);
	json_set_integer(json, "runningCount", placed->deleted ? 0 : service_running(service));
	json_set_integer(json, "pendingCount", 0);
	json_set(json, "createdAt", epoch(arena, service->made));
	set_kind(json, arena, service);
	struct json *deployments = json_set_array(json, "deployments");
	if (!service->no_awsvpc)
		json_set(
			json, "networkConfiguration",
			network_json(arena, as_before ? placed->previous : placed->subnets, service->groups, service->public_ip));
	bool own = service->controller[0] == '\0' || strcmp(service->controller, "ECS") == 0;
	for (size_t i = 0; own && !placed->deleted && i < service->deployment_count; i++)
		json_add(deployments, deployment_json(arena, service, &service->deployments[i]));
	return json;
}

static void describe_services(struct world *world, struct sim_call *call, const struct json *body,
                              const struct cluster *cluster)
{
	struct arena *arena = &call->arena;
	struct string_list ids = json_strings(json_get(body, "services"), arena);
	struct string_list include = json_strings(json_get(body, "include"), arena);
	if (ids.count == 0 || ids.count > DESCRIBE_MAX) {
		sim_aws_error(call, 400, "InvalidParameterException",
		              ids.count == 0 ? "Services cannot be empty." : "Services cannot have more than 10 elements.");
		return;
	}
	struct json *answer = json_new_object(arena);
	struct json *services = json_set_array(answer, "services");
	struct json *failures = json_set_array(answer, "failures");
	for (size_t i = 0; i < ids.count; i++) {
		const struct service *service = service_find(world, cluster, ids.at[i]);
		struct json *json = json_new_object(arena);
		if (service == NULL) {
			json_set_string(json, "arn", ids.at[i]);
			json_set_string(json, "reason", "MISSING");
			json_add(failures, json);
			continue;
		}
		json = service_json(world, arena, service, call->fault == WORLD_STALE);
		if (string_list_has(&include, "TAGS"))
			json_set(json, "tags", tags_json(arena, service->placed.tags));
		json_add(services, json);
	}
	sim_aws_json(call, 200, answer);
}

/* NULL, or why ECS would not; *code is its word. */
static const char *update_trouble(struct world *world, struct sim_call *call, const struct service *service,
                                  const struct network *asked, const char **code)
{
	*code = "InvalidParameterException";
	if (strcmp(service->controller, "CODE_DEPLOY") == 0 || strcmp(service->controller, "EXTERNAL") == 0)
		return arena_printf(&call->arena,
		                    "Unable to update network parameters on services with a %s deployment controller.",
		                    service->controller);
	if (service->no_awsvpc)
		return "Network Configuration is not valid for the given networkMode of this task definition.";
	struct string_list list = sim_list(world, asked->subnets);
	if (list.count == 0 || list.count > SUBNETS_MAX)
		return list.count == 0 ? "subnets can not be empty." : "subnets can have at most 16 items.";
	const char *unknown = sim_unknown_subnet(world, asked->subnets);
	return unknown != NULL ? arena_printf(&call->arena, "The subnet ID '%s' does not exist.", unknown) : NULL;
}

/* What is not said gets the default: the network is replaced whole. */
static void read_network(struct arena *arena, const struct json *body, struct network *out)
{
	const struct json *awsvpc = json_path(body, "networkConfiguration.awsvpcConfiguration");
	const struct json *groups = json_get(awsvpc, "securityGroups");
	const char *public_ip = json_get_string(awsvpc, "assignPublicIp");
	network_fill(out, sim_array_csv(arena, json_get(awsvpc, "subnets")),
	             json_count(groups) > 0 ? sim_array_csv(arena, groups) : DEFAULT_GROUP,
	             public_ip != NULL ? public_ip : "DISABLED");
}

static void update_service(struct world *world, struct sim_call *call, const struct json *body,
                           const struct cluster *cluster)
{
	struct service *service = service_find(world, cluster, json_get_string(body, "service"));
	if (service == NULL || service->placed.deleted) {
		sim_aws_error(call, 400, service == NULL ? "ServiceNotFoundException" : "ServiceNotActiveException",
		              service == NULL ? "Service not found." : "Service was not ACTIVE.");
		return;
	}
	if (json_count(body) != 3 || json_get(body, "networkConfiguration") == NULL)
		sim_broken(world, "an update of %s that sends more than its network", service->placed.name);
	struct network asked;
	read_network(&call->arena, body, &asked);
	const char *code;
	const char *trouble = update_trouble(world, call, service, &asked, &code);
	if (trouble != NULL) {
		sim_aws_error(call, 400, code, trouble);
		return;
	}
	sim_check_update(world, &service->placed, asked.subnets, call->abandoned);
	sim_check_rest(world, &service->placed, "securityGroups", service->groups, asked.groups, call->abandoned);
	sim_check_rest(world, &service->placed, "assignPublicIp", service->public_ip, asked.public_ip, call->abandoned);
	service_set_network(world, service, &asked);
	struct json *answer = json_new_object(&call->arena);
	json_set(answer, "service", service_json(world, &call->arena, service, false));
	sim_aws_json(call, 200, answer);
}

void sim_ecs_serve(struct world *world, struct sim_call *call)
{
	const char *operation = call->request.operation;
	struct error error;
	const struct json *body = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	const struct cluster *cluster = cluster_find(world, json_get_string(body, "cluster"));
	if (body == NULL)
		sim_aws_error(call, 400, "SerializationException", error.message);
	else if (strcmp(operation, "ListClusters") == 0)
		list_clusters(world, call, body);
	else if (cluster == NULL)
		sim_aws_error(call, 400, "ClusterNotFoundException", "Cluster not found.");
	else if (strcmp(operation, "ListServices") == 0)
		list_services(world, call, body, cluster);
	else if (strcmp(operation, "DescribeServices") == 0)
		describe_services(world, call, body, cluster);
	else if (strcmp(operation, "UpdateService") == 0)
		update_service(world, call, body, cluster);
	else
		sim_aws_error(call, 400, "UnknownOperationException", operation);
}
