/*
 * Nodes that are instances of a group: they come some time after the instance does, and go with it.
 */
#include "world_parts.h"

#include <stdio.h>
#include <string.h>

#define JOIN_MS 20000

struct sim_node *sim_node_find(struct world *world, const char *name)
{
	for (size_t i = 0; i < world->node_count; i++)
		if (strcmp(world->nodes[i].name, name) == 0)
			return &world->nodes[i];
	if (world->node_count == SIM_NODES_MAX)
		sim_broken(world, "more than %d nodes", SIM_NODES_MAX);
	struct sim_node *node = &world->nodes[world->node_count++];
	memset(node, 0, sizeof(*node));
	(void)snprintf(node->name, sizeof(node->name), "%s", name);
	return node;
}

void sim_node_forget(struct world *world, const char *name)
{
	*sim_node_find(world, name) = world->nodes[world->node_count - 1];
	world->node_count--;
}

static struct sim_node *node_of(struct world *world, const char *instance)
{
	for (size_t i = 0; i < world->node_count; i++)
		if (strcmp(world->nodes[i].instance, instance) == 0)
			return &world->nodes[i];
	return NULL;
}

static void join(struct world *world, struct sim_group *group, const struct sim_instance *instance)
{
	const char *name = arena_printf(&world->scratch, "node-%s", instance->id);
	struct sim_node *node = sim_node_find(world, name);
	node->group = group;
	(void)snprintf(node->instance, sizeof(node->instance), "%s", instance->id);
	sim_node_add(world, &(struct world_node){.name = name, .zone_id = world->zones[instance->zone].id}, instance->id);
}

static void group_joins(struct world *world, void *context)
{
	struct sim_group *group = context;
	if (group->placed.deleted)
		return;
	for (size_t i = 0; i < group->instance_count; i++)
		if (!group->instances[i].terminating && node_of(world, group->instances[i].id) == NULL)
			join(world, group, &group->instances[i]);
}

void sim_group_nodes(struct world *world, struct sim_group *group)
{
	if (group->has_nodes)
		sim_schedule(world, JOIN_MS + sim_chance(world, JOIN_MS), THING_ACTION, NULL, group_joins, group);
}

void sim_instance_ends(struct world *world, const struct sim_instance *instance)
{
	struct sim_node *node = node_of(world, instance->id);
	if (node == NULL)
		return;
	const char *name = arena_string(&world->scratch, node->name);
	sim_note(world, "node %s goes with its instance", name);
	sim_kube_put(world, "nodes", "", name, NULL);
	sim_node_forget(world, name);
}

void world_add_group_nodes(struct world *world, const char *name)
{
	struct sim_group *group = sim_group_find(world, name);
	if (group == NULL)
		sim_broken(world, "there is no group %s", name);
	group->has_nodes = true;
	group_joins(world, group);
}

const char *world_group_node(struct world *world, const char *name, const char *zone_id, size_t index)
{
	const struct sim_group *group = sim_group_find(world, name);
	for (size_t i = 0; group != NULL && i < group->instance_count; i++) {
		const struct sim_instance *instance = &group->instances[i];
		const struct sim_node *node = node_of(world, instance->id);
		bool here = zone_id == NULL || strcmp(world->zones[instance->zone].id, zone_id) == 0;
		if (node != NULL && here && index-- == 0)
			return arena_string(&world->looks, node->name);
	}
	return NULL;
}

void world_allow_undrained(struct world *world)
{
	world->undrained_allowed = true;
}

void world_allow_unreplicated(struct world *world)
{
	world->unreplicated_allowed = true;
}
