/*
 * Looks at the world, for assertions.
 */
#include "world_parts.h"

#include <string.h>

#define FINGERPRINT_MAX_BYTES (8 * 1024 * 1024)
#define OURS "zonevac.dev/evacuated"

const struct json *world_node(struct world *world, const char *name)
{
	return sim_kube_object(world, "nodes", name);
}

bool world_node_tainted(struct world *world, const char *name)
{
	const struct json *taints = json_path(world_node(world, name), "spec.taints");
	for (size_t i = 0; i < json_count(taints); i++)
		if (text_equal(json_get_string(json_at(taints, i), "key"), OURS))
			return true;
	return false;
}

bool world_node_cordoned(struct world *world, const char *name)
{
	return json_bool(json_path(world_node(world, name), "spec.unschedulable"), false);
}

const struct json *world_evacuation(struct world *world, const char *name)
{
	return sim_kube_object(world, "zonalevacuations", name);
}

const char *world_phase(struct world *world, const char *name)
{
	const char *phase = json_path_string(world_evacuation(world, name), "status.phase");
	return phase != NULL ? arena_string(&world->looks, phase) : "";
}

const char *world_condition(struct world *world, const char *name, const char *type, const char **reason)
{
	const struct json *conditions = json_path(world_evacuation(world, name), "status.conditions");
	if (reason != NULL)
		*reason = "";
	for (size_t i = 0; i < json_count(conditions); i++) {
		const struct json *condition = json_at(conditions, i);
		if (!text_equal(json_get_string(condition, "type"), type))
			continue;
		if (reason != NULL && json_get_string(condition, "reason") != NULL)
			*reason = arena_string(&world->looks, json_get_string(condition, "reason"));
		const char *status = json_get_string(condition, "status");
		return status != NULL ? arena_string(&world->looks, status) : "";
	}
	return "";
}

const char *world_change_state(struct world *world, const char *evacuation, const char *resource_name)
{
	const struct json *changes = json_path(world_evacuation(world, evacuation), "status.changes");
	for (size_t i = 0; i < json_count(changes); i++)
		if (text_equal(json_get_string(json_at(changes, i), "name"), resource_name)) {
			const char *state = json_get_string(json_at(changes, i), "state");
			return state != NULL ? arena_string(&world->looks, state) : "";
		}
	return "";
}

static const char *partition(const struct json *item)
{
	const char *zone = json_get_string(json_get(item, "zoneId"), "S");
	return zone != NULL ? zone : "";
}

size_t world_records(struct world *world)
{
	size_t count = 0;
	for (size_t i = 0; i < dynamo_item_count(world->dynamo, WORLD_TABLE); i++)
		count += partition(dynamo_item_at(world->dynamo, WORLD_TABLE, i))[0] != '#';
	return count;
}

const struct json *world_record(struct world *world, const char *zone_id, const char *resource_id)
{
	return dynamo_item(world->dynamo, WORLD_TABLE, zone_id, resource_id);
}

size_t world_zone_owners(struct world *world, const char *zone_id)
{
	const struct json *item = dynamo_item(world->dynamo, WORLD_TABLE, "#region", "active");
	const char *attribute = arena_printf(&world->looks, "zone:%s", zone_id);
	return json_count(json_get(json_get(item, attribute), "SS"));
}

const char *world_lease_holder(struct world *world)
{
	const char *holder = json_path_string(sim_kube_object(world, "leases", "zonevac"), "spec.holderIdentity");
	return holder != NULL ? arena_string(&world->looks, holder) : "";
}

size_t world_events(struct world *world, const char *reason)
{
	size_t count = 0;
	const struct json *event;
	for (size_t i = 0; (event = sim_kube_object_at(world, "events", i)) != NULL; i++)
		count += text_equal(json_get_string(event, "reason"), reason);
	return count;
}

const char *world_phases_seen(struct world *world, const char *name)
{
	struct arena *arena = &world->looks;
	struct string_list lines = string_list_split(sim_kube_phases(world, name), "\n", arena);
	const char *prefix = arena_printf(arena, "%s ", name);
	struct string_list phases = {0};
	for (size_t i = 0; i < lines.count; i++)
		if (text_starts_with(lines.at[i], prefix))
			string_list_add(&phases, arena, lines.at[i] + strlen(prefix));
	return string_list_join(&phases, arena, " ");
}

static void print_node(const struct json *node, struct arena *arena, struct text *out)
{
	text_printf(out, "node %s spec %s labels %s annotations %s\n", json_path_string(node, "metadata.name"),
	            json_print(json_get(node, "spec"), arena), json_print(json_path(node, "metadata.labels"), arena),
	            json_count(json_path(node, "metadata.annotations")) > 0
	                ? json_print(json_path(node, "metadata.annotations"), arena)
	                : "{}");
}

/* A group's node comes and goes with its instance: only what was left on it counts. */
static bool is_passing(struct world *world, const struct json *node)
{
	const char *name = json_path_string(node, "metadata.name");
	return sim_node_find(world, name)->group != NULL && !world_node_tainted(world, name) &&
	       !world_node_cordoned(world, name) && json_get_string(json_path(node, "metadata.annotations"), OURS) == NULL;
}

static void print_record(const struct json *item, struct arena *arena, struct text *out)
{
	if (partition(item)[0] != '#')
		text_printf(out, "record %s %s %s\n", partition(item), json_get_string(json_get(item, "resourceId"), "S"),
		            json_print(json_get(item, "removedSubnets"), arena));
}

const char *world_fingerprint(struct world *world, struct arena *arena)
{
	struct text text;
	const struct json *object;
	text_init(&text, FINGERPRINT_MAX_BYTES);
	for (size_t i = 0; i < world->group_count; i++)
		if (!world->groups[i]->placed.deleted)
			text_printf(&text, "group %s %s\n", world->groups[i]->placed.name, world->groups[i]->placed.subnets);
	sim_ecs_print(world, &text);
	sim_lambda_print(world, &text);
	for (size_t i = 0; (object = sim_kube_object_at(world, "nodes", i)) != NULL; i++)
		if (!is_passing(world, object))
			print_node(object, arena, &text);
	for (size_t i = 0; (object = sim_kube_object_at(world, "zonalevacuations", i)) != NULL; i++)
		text_printf(&text, "evacuation %s %s\n", json_path_string(object, "metadata.name"),
		            json_print(json_get(object, "spec"), arena));
	for (size_t i = 0; i < dynamo_item_count(world->dynamo, WORLD_TABLE); i++)
		print_record(dynamo_item_at(world->dynamo, WORLD_TABLE, i), arena, &text);
	return text_take(&text, arena);
}
