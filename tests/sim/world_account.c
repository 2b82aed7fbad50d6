/*
 * The account: zones, subnets, groups, and instances that move where their group's subnets are, one at a time.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVE_MS 12000

void sim_account_free(struct world *world)
{
	for (size_t i = 0; i < world->group_count; i++) {
		sim_placed_done(&world->groups[i]->placed);
		free(world->groups[i]);
	}
}

void world_add_zone(struct world *world, const char *zone_id, const char *zone_name)
{
	if (world->zone_count == SIM_ZONES_MAX)
		sim_broken(world, "too many zones");
	struct sim_zone *zone = &world->zones[world->zone_count++];
	(void)snprintf(zone->id, sizeof(zone->id), "%s", zone_id);
	(void)snprintf(zone->name, sizeof(zone->name), "%s", zone_name);
}

size_t sim_zone_index(struct world *world, const char *zone_id)
{
	for (size_t i = 0; i < world->zone_count; i++)
		if (strcmp(world->zones[i].id, zone_id) == 0)
			return i;
	sim_broken(world, "there is no zone %s", zone_id);
}

void world_add_subnet(struct world *world, const char *subnet_id, const char *zone_id)
{
	world_add_subnet_of(world, subnet_id, zone_id, "vpc-1");
}

void world_add_subnet_of(struct world *world, const char *subnet_id, const char *zone_id, const char *vpc_id)
{
	if (world->subnet_count == SIM_SUBNETS_MAX)
		sim_broken(world, "too many subnets");
	struct sim_subnet *subnet = &world->subnets[world->subnet_count++];
	(void)snprintf(subnet->id, sizeof(subnet->id), "%s", subnet_id);
	(void)snprintf(subnet->vpc, sizeof(subnet->vpc), "%s", vpc_id);
	subnet->zone = sim_zone_index(world, zone_id);
}

const struct sim_subnet *sim_subnet_find(const struct world *world, const char *id)
{
	for (size_t i = 0; i < world->subnet_count; i++)
		if (!world->subnets[i].deleted && strcmp(world->subnets[i].id, id) == 0)
			return &world->subnets[i];
	return NULL;
}

struct sim_group *sim_group_find(const struct world *world, const char *name)
{
	for (size_t i = 0; i < world->group_count; i++)
		if (!world->groups[i]->placed.deleted && strcmp(world->groups[i]->placed.name, name) == 0)
			return world->groups[i];
	return NULL;
}

static struct sim_group *group_get(struct world *world, const char *name)
{
	struct sim_group *group = sim_group_find(world, name);
	if (group == NULL)
		sim_broken(world, "there is no group %s", name);
	return group;
}

/* Instances that stay, by zone; zones the group may not use get -1. */
static void count_zones(struct world *world, const struct sim_group *group, int counts[SIM_ZONES_MAX],
                        int allowed[SIM_ZONES_MAX])
{
	struct string_list subnets = sim_list(world, group->placed.subnets);
	memset(counts, 0, SIM_ZONES_MAX * sizeof(int));
	memset(allowed, 0, SIM_ZONES_MAX * sizeof(int));
	for (size_t i = 0; i < subnets.count; i++) {
		const struct sim_subnet *subnet = sim_subnet_find(world, subnets.at[i]);
		if (subnet != NULL)
			allowed[subnet->zone] = 1;
	}
	for (size_t i = 0; i < group->instance_count; i++)
		if (!group->instances[i].terminating)
			counts[group->instances[i].zone]++;
}

static size_t emptiest(const int counts[SIM_ZONES_MAX], const int allowed[SIM_ZONES_MAX])
{
	size_t best = SIM_ZONES_MAX;
	for (size_t i = 0; i < SIM_ZONES_MAX; i++)
		if (allowed[i] && (best == SIM_ZONES_MAX || counts[i] < counts[best]))
			best = i;
	return best;
}

static void launch(struct world *world, struct sim_group *group)
{
	int counts[SIM_ZONES_MAX];
	int allowed[SIM_ZONES_MAX];
	count_zones(world, group, counts, allowed);
	size_t zone = emptiest(counts, allowed);
	if (zone == SIM_ZONES_MAX || group->instance_count == SIM_INSTANCES_MAX)
		return;
	struct sim_instance *instance = &group->instances[group->instance_count++];
	memset(instance, 0, sizeof(*instance));
	(void)snprintf(instance->id, sizeof(instance->id), "i-%017x", ++world->instances_made);
	instance->zone = zone;
}

/* One that has to go: where no subnet is left, else from the fullest zone when it has two more than the emptiest. */
static struct sim_instance *superfluous(struct world *world, struct sim_group *group)
{
	int counts[SIM_ZONES_MAX];
	int allowed[SIM_ZONES_MAX];
	count_zones(world, group, counts, allowed);
	size_t least = emptiest(counts, allowed);
	for (size_t i = 0; i < group->instance_count; i++) {
		struct sim_instance *instance = &group->instances[i];
		if (!instance->terminating && !instance->pinned &&
		    (!allowed[instance->zone] || counts[instance->zone] > counts[least] + 1))
			return instance;
	}
	return NULL;
}

static void group_move(struct world *world, void *context)
{
	struct sim_group *group = context;
	group->moving = false;
	if (group->placed.deleted)
		return;
	size_t kept = 0;
	for (size_t i = 0; i < group->instance_count; i++)
		if (!group->instances[i].terminating || group->instances[i].pinned)
			group->instances[kept++] = group->instances[i];
		else
			sim_instance_ends(world, &group->instances[i]);
	bool went = kept < group->instance_count;
	group->instance_count = kept;
	struct sim_instance *goes = superfluous(world, group);
	if (goes != NULL) {
		goes->terminating = true;
		sim_note(world, "%s: instance %s in %s terminates", group->placed.name, goes->id,
		         world->zones[goes->zone].name);
		launch(world, group);
		sim_group_nodes(world, group);
	}
	if (goes != NULL || went) {
		group->moving = true;
		sim_schedule(world, MOVE_MS + sim_chance(world, MOVE_MS), THING_ACTION, NULL, group_move, group);
	}
}

static void start_moving(struct world *world, struct sim_group *group)
{
	if (group->moving)
		return;
	group->moving = true;
	sim_schedule(world, MOVE_MS + sim_chance(world, MOVE_MS), THING_ACTION, NULL, group_move, group);
}

void sim_group_set(struct world *world, struct sim_group *group, const char *subnets)
{
	sim_placed_set(world, &group->placed, subnets);
	start_moving(world, group);
}

void world_add_group(struct world *world, const char *name, const char *subnets, int desired, const char *tags)
{
	struct sim_group *group = calloc(1, sizeof(*group));
	if (group == NULL || world->group_count == SIM_GROUPS_MAX || desired > SIM_INSTANCES_MAX / 2)
		abort();
	sim_placed_init(&group->placed, "group", name, subnets, tags);
	(void)snprintf(group->placed.arn, sizeof(group->placed.arn),
	               "arn:aws:autoscaling:" WORLD_REGION ":" WORLD_ACCOUNT
	               ":autoScalingGroup:10000000-0000-4000-8000-%012zu:autoScalingGroupName/%s",
	               world->group_count, name);
	group->desired = desired;
	world->groups[world->group_count++] = group;
	for (int i = 0; i < desired; i++)
		launch(world, group);
}

void world_edit_group(struct world *world, const char *name, const char *subnets)
{
	struct sim_group *group = group_get(world, name);
	sim_note(world, "the owner edits %s", name);
	group->placed.foreign_edit = world->now;
	sim_group_set(world, group, subnets);
	sim_check(world);
}

void world_tag_group(struct world *world, const char *name, const char *tags)
{
	struct sim_group *group = group_get(world, name);
	(void)snprintf(group->placed.tags, sizeof(group->placed.tags), "%s", tags);
	sim_note(world, "the owner tags %s: %s", name, tags);
}

void world_pin_instances(struct world *world, const char *name, const char *zone_id, bool pinned)
{
	struct sim_group *group = group_get(world, name);
	size_t zone = sim_zone_index(world, zone_id);
	for (size_t i = 0; i < group->instance_count; i++)
		if (group->instances[i].zone == zone)
			group->instances[i].pinned = pinned;
	sim_note(world, "instances of %s in %s are %s", name, zone_id, pinned ? "held" : "let go");
	start_moving(world, group);
}

void world_delete_group(struct world *world, const char *name)
{
	struct sim_group *group = group_get(world, name);
	group->placed.deleted = true;
	sim_note(world, "the owner deletes %s", name);
	for (size_t i = 0; i < group->instance_count; i++)
		sim_instance_ends(world, &group->instances[i]);
}

void world_delete_subnet(struct world *world, const char *subnet_id)
{
	for (size_t i = 0; i < world->subnet_count; i++)
		if (strcmp(world->subnets[i].id, subnet_id) == 0)
			world->subnets[i].deleted = true;
	struct sim_placed *placed;
	for (size_t i = 0; (placed = sim_placed_at(world, i)) != NULL; i++)
		sim_replace(&placed->taken, sim_list_without(world, placed->taken, subnet_id));
	sim_note(world, "subnet %s is deleted", subnet_id);
}

void world_hide_subnet(struct world *world, const char *subnet_id, unsigned answers)
{
	for (size_t i = 0; i < world->subnet_count; i++)
		if (strcmp(world->subnets[i].id, subnet_id) == 0)
			world->subnets[i].hidden = answers;
	sim_note(world, "subnet %s is missing from the next %u answers", subnet_id, answers);
}

void world_hide_group(struct world *world, const char *name, unsigned answers)
{
	group_get(world, name)->hidden = answers;
	sim_note(world, "group %s is missing from the next %u answers", name, answers);
}

void world_rival(struct world *world, const char *name, const char *subnet, int64_t delay_ms, int times)
{
	struct sim_group *group = group_get(world, name);
	const struct sim_subnet *found = sim_subnet_find(world, subnet);
	if (found == NULL)
		sim_broken(world, "there is no subnet %s", subnet);
	group->rival_subnet = found->id;
	group->rival_delay_ms = delay_ms;
	group->rival_times = times;
}

const char *world_group(struct world *world, const char *name)
{
	const struct sim_group *group = sim_group_find(world, name);
	return group != NULL ? arena_string(&world->looks, group->placed.subnets) : NULL;
}

const char *world_group_arn(struct world *world, const char *name)
{
	return group_get(world, name)->placed.arn;
}

int world_group_instances(struct world *world, const char *name, const char *zone_id)
{
	const struct sim_group *group = group_get(world, name);
	int count = 0;
	for (size_t i = 0; i < group->instance_count; i++)
		if (zone_id == NULL || strcmp(world->zones[group->instances[i].zone].id, zone_id) == 0)
			count++;
	return count;
}

bool world_group_raced(struct world *world, const char *name)
{
	return group_get(world, name)->placed.raced;
}
