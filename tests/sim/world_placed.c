/*
 * What is placed in subnets: the list, and what the engine took out of it.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_replace(char **string, const char *with)
{
	char *copy = sim_strdup(with);
	free(*string);
	*string = copy;
}

void sim_placed_init(struct sim_placed *placed, const char *kind, const char *name, const char *subnets,
                     const char *tags)
{
	*placed = (struct sim_placed){.kind = kind};
	(void)snprintf(placed->name, sizeof(placed->name), "%s", name);
	(void)snprintf(placed->tags, sizeof(placed->tags), "%s", tags != NULL ? tags : "");
	placed->subnets = sim_strdup(subnets != NULL ? subnets : "");
	placed->previous = sim_strdup(placed->subnets);
	placed->taken = sim_strdup("");
	placed->bare = placed->subnets[0] == '\0';
}

void sim_placed_done(struct sim_placed *placed)
{
	free(placed->subnets);
	free(placed->previous);
	free(placed->taken);
}

/* What lies in another VPC than it does by now cannot go back. */
static void forget_other_vpcs(struct world *world, struct sim_placed *placed)
{
	struct string_list now = sim_list(world, placed->subnets);
	struct string_list taken = sim_list(world, placed->taken);
	const struct sim_subnet *here = now.count > 0 ? sim_subnet_find(world, now.at[0]) : NULL;
	for (size_t i = 0; here != NULL && i < taken.count; i++) {
		const struct sim_subnet *subnet = sim_subnet_find(world, taken.at[i]);
		if (subnet != NULL && strcmp(subnet->vpc, here->vpc) != 0)
			sim_replace(&placed->taken, sim_list_without(world, placed->taken, taken.at[i]));
	}
}

void sim_placed_set(struct world *world, struct sim_placed *placed, const char *subnets)
{
	sim_note(world, "%s %s: %s -> %s", placed->kind, placed->name, placed->subnets, subnets);
	placed->edited = world->now;
	sim_replace(&placed->previous, placed->subnets);
	sim_replace(&placed->subnets, subnets);
	struct string_list now = sim_list(world, subnets);
	for (size_t i = 0; i < now.count; i++)
		sim_replace(&placed->taken, sim_list_without(world, placed->taken, now.at[i]));
	forget_other_vpcs(world, placed);
}

void sim_placed_take(struct world *world, struct sim_placed *placed, const char *after)
{
	struct string_list before = sim_list(world, placed->subnets);
	for (size_t i = 0; i < before.count; i++)
		if (!sim_list_has(world, after, before.at[i]) && sim_record_naming(world, placed, before.at[i]) != NULL)
			sim_replace(&placed->taken, sim_list_with(world, placed->taken, before.at[i]));
}

const char *sim_unknown_subnet(struct world *world, const char *subnets)
{
	struct string_list list = sim_list(world, subnets);
	for (size_t i = 0; i < list.count; i++)
		if (sim_subnet_find(world, list.at[i]) == NULL)
			return list.at[i];
	return NULL;
}

struct sim_placed *sim_placed_at(const struct world *world, size_t index)
{
	size_t services = 0;
	if (index < world->group_count)
		return &world->groups[index]->placed;
	index -= world->group_count;
	while (sim_ecs_placed(world, services) != NULL)
		services++;
	return index < services ? sim_ecs_placed(world, index) : sim_lambda_placed(world, index - services);
}

struct sim_placed *sim_placed_get(struct world *world, const char *name)
{
	struct sim_placed *placed;
	for (size_t i = 0; (placed = sim_placed_at(world, i)) != NULL; i++)
		if (!placed->deleted && strcmp(placed->name, name) == 0)
			return placed;
	sim_broken(world, "there is no group, service or function %s", name);
}

struct json *sim_csv_array(struct arena *arena, const char *csv)
{
	struct string_list list = string_list_split(csv, ",", arena);
	return json_new_strings(arena, &list);
}

const char *sim_array_csv(struct arena *arena, const struct json *array)
{
	struct string_list list = json_strings(array, arena);
	return string_list_join(&list, arena, ",");
}

bool sim_page_token(const char *token, size_t *from)
{
	long long start = 0;
	if (token != NULL && !(text_starts_with(token, "page-") && text_parse_integer(token + 5, 0, 1000000, &start)))
		return false;
	*from = (size_t)start;
	return true;
}
