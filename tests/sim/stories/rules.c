/*
 * What is asked of a story beside the world's own rules (world_check.c):
 *
 *   an evacuation that says Evacuated and Complete has left nothing that it selected in the zone
 *   every evacuation comes to rest, and goes when it is deleted
 *   in the end nothing of ours is left, and everything is as its owner wants it: as it was, but for the owner's edits
 */
#include "play.h"

#include <stdio.h>
#include <string.h>

#define OURS "zonevac.dev/evacuated"
#define FINALIZER "zonevac.dev/recovery"

struct sim_placed *play_placed(struct play *play, const struct story_thing *thing)
{
	struct sim_placed *placed;
	for (size_t i = 0; (placed = sim_placed_at(play->world, i)) != NULL; i++)
		if (!placed->deleted && strcmp(placed->name, thing->name) == 0)
			return placed;
	return NULL;
}

/* Where evacuations stand */

static const struct json *evacuation_at(struct play *play, size_t cluster, size_t index)
{
	world_turn_to_cluster(play->world, cluster);
	const struct json *object = sim_kube_object_at(play->world, "zonalevacuations", index);
	world_turn_to_cluster(play->world, 0);
	return object;
}

static bool says(const struct json *object, const char *type)
{
	const struct json *conditions = json_path(object, "status.conditions");
	for (size_t i = 0; i < json_count(conditions); i++)
		if (text_equal(json_get_string(json_at(conditions, i), "type"), type))
			return text_equal(json_get_string(json_at(conditions, i), "status"), "True");
	return false;
}

static bool rests(const struct json *object)
{
	static const char *const phases[] = {"Holding", "Planned", "Restored"};
	const char *phase = json_path_string(object, "status.phase");
	if (json_path(object, "metadata.deletionTimestamp") != NULL)
		return false;
	bool seen = json_integer(json_path(object, "status.observedGeneration"), 0) ==
	            json_integer(json_path(object, "metadata.generation"), 0);
	for (size_t i = 0; i < 3; i++)
		if (seen && text_equal(phase, phases[i]))
			return true;
	return seen && says(object, "Stalled");
}

bool play_at_rest(struct play *play)
{
	const struct json *object;
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++)
		for (size_t i = 0; (object = evacuation_at(play, cluster, i)) != NULL; i++)
			if (!rests(object))
				return false;
	return true;
}

bool play_is_over(struct play *play)
{
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++)
		if (evacuation_at(play, cluster, 0) != NULL)
			return false;
	return true;
}

/* Claims */

static const struct json *target_of(const struct json *object, const struct story_thing *thing)
{
	static const char *const kinds[] = {"AutoScalingGroup", "EcsService", "LambdaFunction", "EksNode"};
	const struct json *targets = json_path(object, "spec.targets");
	for (size_t i = 0; i < json_count(targets); i++)
		if (text_equal(json_get_string(json_at(targets, i), "kind"), kinds[thing->kind]))
			return json_at(targets, i);
	return NULL;
}

static bool selects(const struct json *object, const struct story_thing *thing)
{
	const struct json *target = target_of(object, thing);
	bool half = json_path(target, "selector.matchNames") != NULL;
	bool excludes = json_path(target, "selector.exclude") != NULL;
	return target != NULL && (!half || strpbrk(thing->name, "02468") != NULL) &&
	       (!excludes || strchr(thing->name, '1') == NULL);
}

static bool stands_in(struct play *play, const struct sim_placed *placed, size_t zone)
{
	struct string_list list = sim_list(play->world, placed->subnets);
	for (size_t i = 0; i < list.count; i++) {
		const struct sim_subnet *subnet = sim_subnet_find(play->world, list.at[i]);
		if (subnet != NULL && subnet->zone == zone)
			return true;
	}
	return false;
}

/* Whoever touched it may have put it back since it was looked at. */
static void check_out(struct play *play, const struct json *object, const struct story_thing *thing,
                      const struct owned *owned)
{
	const char *zone_id = json_path_string(object, "spec.zoneId");
	const char *name = json_path_string(object, "metadata.name");
	if (play->hidden || owned->touched || owned->excluded || owned->excused || owned->gone || owned->stripped ||
	    !selects(object, thing))
		return;
	if (thing->kind == THING_NODE) {
		bool here = strcmp(thing->place, zone_id) == 0 && sim_cluster_count(play->world) == 1;
		if (here && !world_node_tainted(play->world, thing->name))
			sim_broken(play->world, "%s says that it is complete, and node %s is not tainted", name, thing->name);
		return;
	}
	const struct sim_placed *placed = play_placed(play, thing);
	size_t zone = sim_zone_index(play->world, zone_id);
	if (stands_in(play, placed, zone))
		sim_broken(play->world, "%s says that it is complete, and %s is in %s", name, thing->name, placed->subnets);
	if (thing->kind == THING_GROUP && world_group_instances(play->world, thing->name, zone_id) > 0)
		sim_broken(play->world, "%s says that it is complete, and instances of %s are in the zone", name, thing->name);
}

static struct claim *claim_of(struct play *play, size_t cluster, const char *name)
{
	char key[40];
	size_t at = 0;
	(void)snprintf(key, sizeof(key), "%s@%zu", name, cluster + 1);
	while (at < play->claim_count && strcmp(play->claims[at].name, key) != 0)
		at++;
	if (at == PLAY_EVACUATIONS_MAX)
		sim_broken(play->world, "more than %d evacuations", PLAY_EVACUATIONS_MAX);
	if (at == play->claim_count)
		(void)snprintf(play->claims[play->claim_count++].name, sizeof(key), "%s", key);
	return &play->claims[at];
}

static void check_claim(struct play *play, size_t cluster, const struct json *object)
{
	struct claim *claim = claim_of(play, cluster, json_path_string(object, "metadata.name"));
	bool seen = json_integer(json_path(object, "status.observedGeneration"), 0) ==
	            json_integer(json_path(object, "metadata.generation"), 0);
	bool is = seen && says(object, "Evacuated") && says(object, "Complete") &&
	          text_equal(json_path_string(object, "status.phase"), "Holding");
	bool anew = is && !claim->evacuated;
	claim->evacuated = is;
	for (size_t i = 0; i < play->story->thing_count && anew; i++)
		check_out(play, object, &play->story->things[i], &play->owned[i]);
}

static uint64_t versions(struct play *play)
{
	uint64_t sum = 0;
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++) {
		world_turn_to_cluster(play->world, cluster);
		sum += sim_kube_version(play->world);
	}
	world_turn_to_cluster(play->world, 0);
	return sum;
}

void play_check_claims(struct play *play)
{
	const struct json *object;
	uint64_t version = versions(play);
	if (version == play->seen_version)
		return;
	play->seen_version = version;
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++)
		for (size_t i = 0; (object = evacuation_at(play, cluster, i)) != NULL; i++)
			check_claim(play, cluster, object);
}

/* The end */

static void check_nothing_left(struct play *play)
{
	struct world *world = play->world;
	const struct json *object;
	if (world_records(world) > 0)
		sim_broken(world, "%zu records are left", world_records(world));
	/* What was let go keeps its zone for the local verbs, where whoever takes over finds nothing to do there. */
	for (size_t zone = 0; zone < world->zone_count && !play->abandoned; zone++)
		if (world_zone_owners(world, world->zones[zone].id) > 0)
			sim_broken(world, "%s is still registered", world->zones[zone].id);
	for (size_t i = 0; (object = sim_kube_object_at(world, "nodes", i)) != NULL; i++) {
		const char *name = json_path_string(object, "metadata.name");
		if (world_node_tainted(world, name) || json_get_string(json_path(object, "metadata.annotations"), OURS) != NULL)
			sim_broken(world, "node %s is left tainted or annotated", name);
	}
}

static bool as_wanted(struct play *play, const struct owned *owned, const char *subnets)
{
	struct string_list wanted = sim_list(play->world, owned->wanted);
	struct string_list is = sim_list(play->world, subnets);
	for (size_t i = 0; i < wanted.count; i++)
		if (!string_list_has(&is, wanted.at[i]) && !sim_list_has(play->world, owned->either, wanted.at[i]))
			return false;
	for (size_t i = 0; i < is.count; i++)
		if (!string_list_has(&wanted, is.at[i]) && !sim_list_has(play->world, owned->either, is.at[i]))
			return false;
	return true;
}

static const char *security_of(struct play *play, const struct story_thing *thing)
{
	char cluster[32];
	if (thing->kind == THING_FUNCTION)
		return world_function_security(play->world, thing->name);
	const char *slash = strchr(thing->name, '/');
	(void)snprintf(cluster, sizeof(cluster), "%.*s", (int)(slash - thing->name), thing->name);
	return world_service_security(play->world, cluster, slash + 1);
}

static void check_placed_end(struct play *play, const struct story_thing *thing, const struct owned *owned)
{
	const struct sim_placed *placed = play_placed(play, thing);
	if (owned->gone || owned->excused || (placed != NULL && placed->raced))
		return;
	if (owned->touched && owned->rolled_back)
		return;
	if (placed == NULL)
		sim_broken(play->world, "%s is gone", thing->name);
	if (!owned->touched && !play->several_zones && strcmp(placed->subnets, thing->place) != 0)
		sim_broken(play->world, "%s was in %s and is in %s", thing->name, thing->place, placed->subnets);
	if (!as_wanted(play, owned, placed->subnets))
		sim_broken(play->world, "the owner of %s wants it in %s and it is in %s", thing->name, owned->wanted,
		           placed->subnets);
	if (thing->kind != THING_GROUP && !text_starts_with(security_of(play, thing), owned->security))
		sim_broken(play->world, "the owner of %s gave it %s and it has %s", thing->name, owned->security,
		           security_of(play, thing));
}

static void check_node_end(struct play *play, const struct story_thing *thing, const struct owned *owned)
{
	bool cordoned = (thing->traits & TRAIT_CORDONED) != 0 && !owned->uncordoned;
	const struct json *node = world_node(play->world, thing->name);
	if (owned->gone)
		return;
	if (node == NULL)
		sim_broken(play->world, "node %s is gone", thing->name);
	if (!owned->stripped && world_node_cordoned(play->world, thing->name) != cordoned)
		sim_broken(play->world, "node %s is %s", thing->name, cordoned ? "not cordoned any more" : "left cordoned");
	bool taint = (thing->traits & TRAIT_FOREIGN_TAINT) != 0 && !owned->stripped;
	if ((json_count(json_path(node, "spec.taints")) > 0) != taint)
		sim_broken(play->world, "node %s %s", thing->name, taint ? "has lost a foreign taint" : "has a taint left");
}

void play_check_end(struct play *play)
{
	arena_reset(&play->world->scratch);
	check_nothing_left(play);
	for (size_t i = 0; i < play->story->thing_count; i++) {
		const struct story_thing *thing = &play->story->things[i];
		(thing->kind == THING_NODE ? check_node_end : check_placed_end)(play, thing, &play->owned[i]);
	}
	const char *after =
		play->interfered || play->several_zones ? play->before : world_fingerprint(play->world, &play->arena);
	if (strcmp(play->before, after) != 0)
		sim_broken(play->world, "nobody interfered, and the world is not as it was:\n%s\nbut\n%s", play->before, after);
}
