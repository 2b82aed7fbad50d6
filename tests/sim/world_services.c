/*
 * What becomes of ECS services: deployments that take their time, and what their owners do.
 *
 * Another network makes a new deployment PRIMARY; the old ones stay ACTIVE until all tasks have moved (20 to 40 s). A broken one ends FAILED; with
 * the rollback of a circuit breaker the last complete one is PRIMARY again, with its network.
 */
#include "world_ecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF_MS 10000
#define NEVER_MS INT64_MAX
#define ROLLING_BACK "ECS deployment circuit breaker: rolling back to deploymentId %s."

struct sim_ecs *sim_ecs_new(void)
{
	struct sim_ecs *ecs = calloc(1, sizeof(*ecs));
	if (ecs == NULL)
		abort();
	return ecs;
}

void sim_ecs_free(struct sim_ecs *ecs)
{
	for (size_t i = 0; i < ecs->cluster_count; i++)
		free(ecs->clusters[i]);
	for (size_t i = 0; i < ecs->service_count; i++) {
		sim_placed_done(&ecs->services[i]->placed);
		free(ecs->services[i]->taken_before);
		free(ecs->services[i]);
	}
	free(ecs);
}

struct sim_placed *sim_ecs_placed(const struct world *world, size_t index)
{
	return index < world->ecs->service_count ? &world->ecs->services[index]->placed : NULL;
}

struct cluster *cluster_find(const struct world *world, const char *id)
{
	id = id != NULL ? id : "default";
	for (size_t i = 0; i < world->ecs->cluster_count; i++) {
		struct cluster *cluster = world->ecs->clusters[i];
		if (!cluster->deleted && (strcmp(cluster->name, id) == 0 || strcmp(cluster->arn, id) == 0))
			return cluster;
	}
	return NULL;
}

struct service *service_find(const struct world *world, const struct cluster *cluster, const char *id)
{
	for (size_t i = 0; i < world->ecs->service_count && id != NULL; i++) {
		struct service *service = world->ecs->services[i];
		if (service->cluster == cluster && (strcmp(service->name, id) == 0 || strcmp(service->placed.arn, id) == 0))
			return service;
	}
	return NULL;
}

static struct service *service_get(struct world *world, const char *cluster, const char *name)
{
	struct cluster *found = cluster_find(world, cluster);
	struct service *service = found != NULL ? service_find(world, found, name) : NULL;
	if (service == NULL)
		sim_broken(world, "there is no service %s/%s", cluster, name);
	return service;
}

int service_running(const struct service *service)
{
	int count = 0;
	for (size_t i = 0; i < service->deployment_count; i++)
		count += service->deployments[i].running;
	return count;
}

void network_fill(struct network *network, const char *subnets, const char *groups, const char *public_ip)
{
	(void)snprintf(network->subnets, sizeof(network->subnets), "%s", subnets);
	(void)snprintf(network->groups, sizeof(network->groups), "%s", groups);
	(void)snprintf(network->public_ip, sizeof(network->public_ip), "%s", public_ip);
}

/* A new primary one with the service's network. */
static void deployment_push(struct world *world, struct service *service)
{
	if (service->deployment_count == DEPLOYMENTS_MAX)
		service->deployment_count--;
	memmove(&service->deployments[1], &service->deployments[0],
	        service->deployment_count * sizeof(service->deployments[0]));
	for (size_t i = 1; i <= service->deployment_count; i++)
		service->deployments[i].primary = false;
	service->deployment_count++;
	struct deployment *deployment = &service->deployments[0];
	memset(deployment, 0, sizeof(*deployment));
	(void)snprintf(deployment->id, sizeof(deployment->id), "ecs-svc/%019llu", ++world->ecs->deployments_made);
	deployment->primary = true;
	deployment->rollout = "IN_PROGRESS";
	(void)snprintf(deployment->reason, sizeof(deployment->reason), "ECS deployment %s in progress.", deployment->id);
	deployment->made = sim_wall(world);
	network_fill(&deployment->network, service->placed.subnets, service->groups, service->public_ip);
}

static void service_rolls(struct world *world, void *context);

static void rollout_step(struct world *world, struct service *service)
{
	int64_t after_ms = HALF_MS + sim_chance(world, HALF_MS);
	service->due = instant_after(world->now, after_ms);
	sim_schedule(world, after_ms, THING_ACTION, NULL, service_rolls, service);
}

static void rollout_completes(struct world *world, struct service *service)
{
	struct deployment *primary = &service->deployments[0];
	primary->running = service->desired;
	primary->rollout = "COMPLETED";
	if (!service->rolling_back)
		(void)snprintf(primary->reason, sizeof(primary->reason), "ECS deployment %s completed.", primary->id);
	service->deployment_count = 1;
	service->due.ms = NEVER_MS;
	sim_note(world, "service %s: %s is complete", service->placed.name, primary->id);
}

static void roll_back(struct world *world, struct service *service)
{
	struct deployment failed = service->deployments[0];
	struct deployment *primary = &service->deployments[0];
	size_t steady = 1;
	while (steady + 1 < service->deployment_count && strcmp(service->deployments[steady].rollout, "COMPLETED") != 0)
		steady++;
	failed.primary = false;
	*primary = service->deployments[steady];
	primary->primary = true;
	primary->rollout = "IN_PROGRESS";
	(void)snprintf(primary->reason, sizeof(primary->reason), ROLLING_BACK, primary->id);
	service->deployments[1] = failed;
	service->deployment_count = 2;
	service->rolling_back = true;
	service->half = true;
	(void)snprintf(service->groups, sizeof(service->groups), "%s", primary->network.groups);
	(void)snprintf(service->public_ip, sizeof(service->public_ip), "%s", primary->network.public_ip);
	/* Nobody can know it any sooner than of a deed of somebody else. */
	service->placed.foreign_edit = world->now;
	sim_placed_set(world, &service->placed, primary->network.subnets);
	sim_replace(&service->placed.taken, service->taken_before);
	rollout_step(world, service);
}

static void rollout_fails(struct world *world, struct service *service)
{
	struct deployment *primary = &service->deployments[0];
	bool back = service->breaks == BROKEN_ROLLS_BACK;
	service->breaks = BROKEN_NOT;
	primary->rollout = "FAILED";
	(void)snprintf(primary->reason, sizeof(primary->reason), "ECS deployment circuit breaker: tasks failed to start.");
	sim_note(world, "service %s: %s has failed%s", service->placed.name, primary->id, back ? ", rolling back" : "");
	service->due.ms = NEVER_MS;
	if (back && service->deployment_count > 1)
		roll_back(world, service);
}

static void service_rolls(struct world *world, void *context)
{
	struct service *service = context;
	if (service->placed.deleted || !instant_reached(service->due, world->now))
		return;
	bool fails = service->breaks != BROKEN_NOT && !service->rolling_back;
	if (service->half) {
		(fails ? rollout_fails : rollout_completes)(world, service);
		return;
	}
	service->half = true;
	if (!fails && service->deployment_count > 1) {
		service->deployments[0].running = service->desired / 2;
		service->deployments[1].running = service->desired - service->desired / 2;
	}
	rollout_step(world, service);
}

static bool same_network(struct world *world, const struct service *service, const struct network *network)
{
	struct string_list is = sim_list(world, service->placed.subnets);
	struct string_list wanted = sim_list(world, network->subnets);
	return string_list_same_set(&is, &wanted) && strcmp(service->groups, network->groups) == 0 &&
	       strcmp(service->public_ip, network->public_ip) == 0;
}

void service_set_network(struct world *world, struct service *service, const struct network *network)
{
	if (same_network(world, service, network))
		return;
	if (service->due.ms == NEVER_MS)
		sim_replace(&service->taken_before, service->placed.taken);
	(void)snprintf(service->groups, sizeof(service->groups), "%s", network->groups);
	(void)snprintf(service->public_ip, sizeof(service->public_ip), "%s", network->public_ip);
	sim_placed_take(world, &service->placed, network->subnets);
	sim_placed_set(world, &service->placed, network->subnets);
	service->half = false;
	service->rolling_back = false;
	deployment_push(world, service);
	rollout_step(world, service);
}

void world_add_cluster(struct world *world, const char *name)
{
	struct sim_ecs *ecs = world->ecs;
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	if (cluster == NULL || ecs->cluster_count == CLUSTERS_MAX)
		abort();
	(void)snprintf(cluster->name, sizeof(cluster->name), "%s", name);
	(void)snprintf(cluster->arn, sizeof(cluster->arn), "arn:aws:ecs:" WORLD_REGION ":" WORLD_ACCOUNT ":cluster/%s",
	               name);
	ecs->clusters[ecs->cluster_count++] = cluster;
}

static void copy_or(char *out, size_t size, const char *string, const char *otherwise)
{
	(void)snprintf(out, size, "%s", string != NULL ? string : otherwise);
}

/* All tasks run, nothing is under way. */
static void service_settle(struct world *world, struct service *service)
{
	service->made = sim_wall(world);
	service->deployment_count = 0;
	service->breaks = BROKEN_NOT;
	service->rolling_back = false;
	sim_replace(&service->taken_before, "");
	deployment_push(world, service);
	rollout_completes(world, service);
}

void world_add_special_service(struct world *world, const struct world_service *described)
{
	struct sim_ecs *ecs = world->ecs;
	struct service *service = calloc(1, sizeof(*service));
	struct cluster *cluster = cluster_find(world, described->cluster);
	if (service == NULL || cluster == NULL || ecs->service_count == SERVICES_MAX)
		abort();
	sim_placed_init(&service->placed, "service",
	                arena_printf(&world->scratch, "%s/%s", described->cluster, described->name),
	                described->no_awsvpc ? NULL : described->subnets, described->tags);
	(void)snprintf(service->placed.arn, sizeof(service->placed.arn),
	               "arn:aws:ecs:" WORLD_REGION ":" WORLD_ACCOUNT ":service/%s/%s", described->cluster, described->name);
	service->cluster = cluster;
	copy_or(service->name, sizeof(service->name), described->name, "");
	copy_or(service->controller, sizeof(service->controller), described->controller, "");
	copy_or(service->strategy, sizeof(service->strategy), described->strategy, "");
	copy_or(service->launch_type, sizeof(service->launch_type), described->launch_type, "FARGATE");
	copy_or(service->groups, sizeof(service->groups), described->security_groups, "sg-1");
	copy_or(service->public_ip, sizeof(service->public_ip), described->public_ip, "DISABLED");
	service->daemon = described->daemon;
	service->no_awsvpc = described->no_awsvpc;
	service->no_rollout_state = described->no_rollout_state;
	service->desired = described->desired;
	service->taken_before = sim_strdup("");
	service_settle(world, service);
	ecs->services[ecs->service_count++] = service;
}

void world_add_service(struct world *world, const char *cluster, const char *name, const char *subnets, int desired,
                       const char *tags)
{
	world_add_special_service(
		world, &(struct world_service){
				   .cluster = cluster, .name = name, .subnets = subnets, .desired = desired, .tags = tags});
}

/* The owner's update: of the network whole, like everybody's. */
static void owner_sets(struct world *world, struct service *service, const char *subnets, const char *groups)
{
	struct network network;
	network_fill(&network, subnets, groups, service->public_ip);
	service->placed.foreign_edit = world->now;
	service_set_network(world, service, &network);
	sim_check(world);
}

void world_edit_service(struct world *world, const char *cluster, const char *name, const char *subnets)
{
	struct service *service = service_get(world, cluster, name);
	sim_note(world, "the owner edits %s", service->placed.name);
	owner_sets(world, service, subnets, service->groups);
}

void world_secure_service(struct world *world, const char *cluster, const char *name, const char *security_groups)
{
	struct service *service = service_get(world, cluster, name);
	sim_note(world, "the owner gives %s the security groups %s", service->placed.name, security_groups);
	owner_sets(world, service, service->placed.subnets, security_groups);
}

void world_tag_service(struct world *world, const char *cluster, const char *name, const char *tags)
{
	struct sim_placed *placed = &service_get(world, cluster, name)->placed;
	(void)snprintf(placed->tags, sizeof(placed->tags), "%s", tags);
	sim_note(world, "the owner tags %s: %s", placed->name, tags);
}

static void service_ends(struct world *world, struct service *service)
{
	service->placed.deleted = true;
	service->due.ms = NEVER_MS;
	sim_note(world, "the owner deletes %s", service->placed.name);
}

void world_delete_service(struct world *world, const char *cluster, const char *name)
{
	service_ends(world, service_get(world, cluster, name));
}

void world_recreate_service(struct world *world, const char *cluster, const char *name, const char *subnets)
{
	struct service *service = service_get(world, cluster, name);
	service_ends(world, service);
	service->placed.deleted = false;
	service->placed.foreign_edit = service->placed.reborn = world->now;
	service->placed.mistaken = false;
	sim_note(world, "the owner makes %s anew", service->placed.name);
	sim_placed_set(world, &service->placed, subnets);
	sim_replace(&service->placed.previous, subnets);
	sim_replace(&service->placed.taken, "");
	service_settle(world, service);
	sim_check(world);
}

void world_delete_cluster(struct world *world, const char *name)
{
	struct cluster *cluster = cluster_find(world, name);
	if (cluster == NULL)
		sim_broken(world, "there is no cluster %s", name);
	for (size_t i = 0; i < world->ecs->service_count; i++)
		if (world->ecs->services[i]->cluster == cluster)
			service_ends(world, world->ecs->services[i]);
	cluster->deleted = true;
}

void world_break_deployments(struct world *world, const char *cluster, const char *name, bool rollback)
{
	service_get(world, cluster, name)->breaks = rollback ? BROKEN_ROLLS_BACK : BROKEN_FAILS;
}

const char *world_service(struct world *world, const char *cluster, const char *name)
{
	const struct cluster *found = cluster_find(world, cluster);
	const struct service *service = found != NULL ? service_find(world, found, name) : NULL;
	if (service == NULL || service->placed.deleted)
		return NULL;
	return arena_string(&world->looks, service->placed.subnets);
}

const char *world_service_security(struct world *world, const char *cluster, const char *name)
{
	const struct service *service = service_get(world, cluster, name);
	return arena_printf(&world->looks, "%s %s", service->groups, service->public_ip);
}

const char *world_service_deployment(struct world *world, const char *cluster, const char *name)
{
	return service_get(world, cluster, name)->deployments[0].rollout;
}

const char *world_service_arn(struct world *world, const char *cluster, const char *name)
{
	return service_get(world, cluster, name)->placed.arn;
}

void sim_ecs_print(const struct world *world, struct text *out)
{
	for (size_t i = 0; i < world->ecs->service_count; i++) {
		const struct service *service = world->ecs->services[i];
		if (!service->placed.deleted)
			text_printf(out, "service %s %s %s %s\n", service->placed.name, service->placed.subnets, service->groups,
			            service->public_ip);
	}
}
