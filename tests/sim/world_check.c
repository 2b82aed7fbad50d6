/*
 * The safety rules, re-checked after every effect and every deed of somebody else. A broken one prints the timeline
 * and aborts.
 *
 *   1  no group, service or function that has subnets is ever without one
 *   2  the engine takes out of one only what an open record (Intent) names, and all that the record names and it had
 *   3  the engine adds to one only what a record being restored names; security groups and the like stay as they are
 *   4  a subnet that was taken and is not back stands in an open record
 *   5  a node with our taint carries our annotation, and its zone has an evacuation with our finalizer; so has each open
 *      record of this cluster
 *   6  no effect is submitted, or put on the wire later, without the lease, renewed less than 10 s ago; no two clients
 *      have it so
 *   7  a pod is evicted only where a zone is evacuated, never one that a drain leaves, and no budget is overdrawn
 *   8  a group is taken out of a zone only when its nodes there hold no pod that a drain would wait for
 *   9  where two zones are registered, and have been for longer than one that thought itself alone may not know it, whoever takes subnets of a zone out of
 *      a resource, or adds them, holds its lock for that zone
 *  10  a record is closed while it is being restored, by its only owner, when nothing can land any more
 */
#include "world_parts.h"

#include <string.h>

#define RENEW_DEADLINE_MS 10000
/* The engine sends what was read at most a second ago; then it is on its way. */
#define READ_TO_WRITE_MS 1050
/* So long an engine may not know of another zone, and its update be on its way. */
#define UNAWARE_MS 12000
#define OURS "zonevac.dev/evacuated"

/* An attribute of DynamoDB JSON: {"S": "x"}. */
static const char *attribute(const struct json *item, const char *name)
{
	return json_get_string(json_get(item, name), "S");
}

static bool names_subnet(const struct json *record, const char *subnet_id)
{
	const struct json *list = json_get(json_get(record, "removedSubnets"), "L");
	for (size_t i = 0; i < json_count(list); i++)
		if (text_equal(json_get_string(json_at(list, i), "S"), subnet_id))
			return true;
	return false;
}

const struct json *sim_record_naming(struct world *world, const struct sim_placed *placed, const char *subnet_id)
{
	const struct sim_subnet *subnet = sim_subnet_find(world, subnet_id);
	if (subnet == NULL)
		return NULL;
	const struct json *record = dynamo_item(world->dynamo, WORLD_TABLE, world->zones[subnet->zone].id, placed->arn);
	return names_subnet(record, subnet_id) ? record : NULL;
}

/* A foreign edit within the read-to-write window cannot be seen by anybody. */
static bool within_window(const struct world *world, const struct sim_placed *placed)
{
	int64_t window_ms = READ_TO_WRITE_MS + instant_between_ms(world->serving_since, world->now);
	return placed->foreign_edit.ms != 0 && instant_between_ms(placed->foreign_edit, world->now) < window_ms;
}

/* What was sent before it was lost may arrive after it. */
static bool table_was_just_lost(const struct world *world)
{
	bool under_way = instant_between_ms(world->serving_since, world->lost_at) >= 0;
	return world->lost_at.ms != 0 && (under_way || instant_between_ms(world->lost_at, world->now) < READ_TO_WRITE_MS);
}

static void check_taken(struct world *world, const struct sim_placed *placed, const char *after, const char *subnet,
                        bool late)
{
	const struct json *record = sim_record_naming(world, placed, subnet);
	if (record == NULL && !within_window(world, placed) && !placed->unrecorded)
		sim_broken(world, "%s is taken out of %s without a record that names it", subnet, placed->name);
	if (record == NULL || late)
		return;
	if (!text_equal(attribute(record, "state"), "Intent") && !placed->unrecorded)
		sim_broken(world, "%s is taken out of %s over a record in state %s", subnet, placed->name,
		           attribute(record, "state"));
	const struct json *list = json_get(json_get(record, "removedSubnets"), "L");
	for (size_t i = 0; i < json_count(list); i++)
		if (sim_list_has(world, after, json_get_string(json_at(list, i), "S")))
			sim_broken(world, "the record of %s names %s, but it is left in", placed->name,
			           json_get_string(json_at(list, i), "S"));
}

static void check_added(struct world *world, const struct sim_placed *placed, const char *subnet)
{
	const struct json *record = sim_record_naming(world, placed, subnet);
	/* Who is putting back goes on without a record that was lost: that can do no harm. */
	if (within_window(world, placed) || (record == NULL && (placed->unrecorded || world->lost_at.ms != 0)))
		return;
	if (record == NULL || !text_equal(attribute(record, "state"), "Restoring"))
		sim_broken(world, "%s is added to %s without a record being restored that names it", subnet, placed->name);
}

static void check_locked(struct world *world, const struct sim_placed *placed, const char *subnet_id)
{
	const struct sim_subnet *subnet = sim_subnet_find(world, subnet_id);
	const struct json *lock = dynamo_item(world->dynamo, WORLD_TABLE, "#lock", placed->arn);
	const char *holder = attribute(lock, "holder");
	if (subnet == NULL || world->shared_since.ms == 0 ||
	    instant_between_ms(world->shared_since, world->now) < UNAWARE_MS)
		return;
	if (holder == NULL || strstr(holder, world->zones[subnet->zone].id) == NULL)
		sim_broken(world, "%s: %s is changed under the lock of %s", placed->name, subnet_id,
		           holder != NULL ? holder : "nobody");
}

/* A late update arrives after its sender gave up or died: that a record still names what it takes is all that can be asked of it. */
void sim_check_update(struct world *world, struct sim_placed *placed, const char *after, bool late)
{
	if (table_was_just_lost(world)) {
		placed->forgotten = true;
		return;
	}
	bool raced = within_window(world, placed);
	placed->raced = placed->raced || raced;
	placed->mistaken =
		placed->mistaken || (raced && placed->reborn.ms == placed->foreign_edit.ms && placed->reborn.ms != 0);
	struct string_list old = sim_list(world, placed->subnets);
	struct string_list new = sim_list(world, after);
	for (size_t i = 0; i < old.count; i++)
		if (!string_list_has(&new, old.at[i])) {
			check_taken(world, placed, after, old.at[i], late);
			if (!late) /* it was sent when this was no rule yet, or under a lock that is still there */
				check_locked(world, placed, old.at[i]);
		}
	for (size_t i = 0; i < new.count; i++)
		if (!late && !string_list_has(&old, new.at[i])) {
			check_added(world, placed, new.at[i]);
			check_locked(world, placed, new.at[i]);
		}
}

/* A node's record is a copy: its annotation is what counts. */
void sim_expect_close(struct world *world, struct sim_call *call)
{
	struct error error;
	const struct json *body = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	const char *id = json_path_string(body, "Key.resourceId.S");
	const char *zone = json_path_string(body, "Key.zoneId.S");
	const struct json *record = dynamo_item(world->dynamo, WORLD_TABLE, zone, id);
	const char *until = attribute(record, "unansweredUntil");
	struct wallclock unanswered = {0};
	world->closing = NULL;
	if (record == NULL || zone[0] == '#' || text_equal(attribute(record, "resourceType"), "EksNode"))
		return;
	if (!text_equal(attribute(record, "state"), "Restoring"))
		world->closing = arena_printf(&call->arena, "%s is closed in state %s", id, attribute(record, "state"));
	else if (json_count(json_path(record, "owners.SS")) != 1)
		world->closing = arena_printf(&call->arena, "%s is closed though others want it out", id);
	else if (world->skew_ms == 0 && until != NULL && wallclock_parse(until, &unanswered) &&
	         unanswered.us > sim_wall(world).us)
		world->closing = arena_printf(&call->arena, "%s is closed though an update may land until %s", id, until);
}

static void check_placed(struct world *world, struct sim_placed *placed)
{
	if (!placed->bare && sim_list(world, placed->subnets).count == 0)
		sim_broken(world, "%s has no subnet", placed->name);
	struct string_list taken = sim_list(world, placed->taken);
	bool known = true;
	for (size_t i = 0; i < taken.count; i++)
		known = known && sim_record_naming(world, placed, taken.at[i]) != NULL;
	placed->forgotten = placed->forgotten && !(known && taken.count > 0);
	for (size_t i = 0; i < taken.count && !placed->forgotten && !placed->mistaken; i++)
		if (sim_record_naming(world, placed, taken.at[i]) == NULL)
			sim_broken(world, "%s was taken out of %s and no record knows it any more", taken.at[i], placed->name);
}

/* One that would see to it that what it did is put back: none may have an effect before its finalizer stands. */
static bool sees_to_the_end(const struct world *world, const struct json *object)
{
	const struct json *finalizers = json_path(object, "metadata.finalizers");
	for (size_t i = 0; i < json_count(finalizers); i++)
		if (text_equal(json_string(json_at(finalizers, i)), "zonevac.dev/recovery"))
			return true;
	return world->unfinalized;
}

static bool zone_has_evacuation(const struct world *world, const char *zone_id)
{
	const struct json *object;
	for (size_t i = 0; (object = sim_kube_object_at(world, "zonalevacuations", i)) != NULL; i++)
		if (text_equal(json_path_string(object, "spec.zoneId"), zone_id) && sees_to_the_end(world, object))
			return true;
	return false;
}

void sim_check_rest(struct world *world, const struct sim_placed *placed, const char *what, const char *is,
                    const char *sent, bool late)
{
	if (!late && !within_window(world, placed) && strcmp(is, sent) != 0)
		sim_broken(world, "%s of %s would change: %s -> %s", what, placed->name, is, sent);
}

static bool leaves_zone(struct world *world, const struct sim_group *group, const char *after, size_t zone)
{
	bool was = false;
	struct string_list before = sim_list(world, group->placed.subnets);
	struct string_list rest = sim_list(world, after);
	for (size_t i = 0; i < before.count; i++)
		was =
			was || (sim_subnet_find(world, before.at[i]) != NULL && sim_subnet_find(world, before.at[i])->zone == zone);
	for (size_t i = 0; i < rest.count; i++)
		if (sim_subnet_find(world, rest.at[i]) != NULL && sim_subnet_find(world, rest.at[i])->zone == zone)
			return false;
	return was;
}

void sim_check_group(struct world *world, const struct sim_group *group, const char *after, bool late)
{
	for (size_t i = 0; i < world->node_count && !late && !world->undrained_allowed; i++) {
		const struct sim_node *node = &world->nodes[i];
		const struct json *object = world_node(world, node->name);
		if (node->group != group || object == NULL)
			continue;
		const char *zone_id = json_get_string(json_path(object, "metadata.labels"), "topology.k8s.aws/zone-id");
		const char *pod = sim_pods_undrained(world, node->name);
		if (pod != NULL && leaves_zone(world, group, after, sim_zone_index(world, zone_id)))
			sim_broken(world, "%s is taken out of %s though its node %s holds %s", group->placed.name, zone_id,
			           node->name, pod);
	}
}

/* A late eviction was sent by one that gave up or died: the UID in it is all that can be asked of it. */
void sim_check_eviction(struct world *world, const char *pod, const char *node, bool late)
{
	const struct json *object = world_node(world, node);
	const char *zone_id = json_get_string(json_path(object, "metadata.labels"), "topology.k8s.aws/zone-id");
	bool held = json_get_string(json_path(object, "metadata.annotations"), OURS) != NULL;
	if (object != NULL && !late && !held && !zone_has_evacuation(world, zone_id))
		sim_broken(world, "%s is evicted from %s, whose zone nobody evacuates", pod, node);
}

static void check_node(struct world *world, size_t cluster, const struct json *node)
{
	const char *name = json_path_string(node, "metadata.name");
	const char *annotation = json_get_string(json_path(node, "metadata.annotations"), OURS);
	if (annotation == NULL && world_node_tainted(world, name))
		sim_broken(world, "node %s has our taint and no annotation", name);
	if (annotation == NULL)
		return;
	struct error error;
	const struct json *holder = json_parse(&world->scratch, annotation, strlen(annotation), &error);
	if (holder == NULL || !text_equal(json_get_string(holder, "owner"), sim_cluster_uid(cluster)))
		sim_broken(world, "node %s has a foreign or broken annotation: %s", name, annotation);
	if (!world->orphans_allowed && !zone_has_evacuation(world, json_get_string(holder, "zone")))
		sim_broken(world, "node %s is held and there is no evacuation of its zone", name);
}

static bool owned_by(const struct json *record, const char *owner)
{
	const struct json *owners = json_get(json_get(record, "owners"), "SS");
	for (size_t i = 0; i < json_count(owners); i++)
		if (text_equal(json_string(json_at(owners, i)), owner))
			return true;
	return false;
}

static void check_record(struct world *world, size_t cluster, const struct json *record)
{
	const char *zone = attribute(record, "zoneId");
	if (zone == NULL || zone[0] == '#' || !owned_by(record, sim_cluster_uid(cluster)) || world->orphans_allowed)
		return;
	if (!zone_has_evacuation(world, zone))
		sim_broken(world, "the record of %s is open and there is no evacuation of its zone",
		           attribute(record, "resourceId"));
}

static void note_shared(struct world *world)
{
	const struct json *region = dynamo_item(world->dynamo, WORLD_TABLE, "#region", "active");
	size_t zones = 0;
	for (size_t i = 0; i < world->zone_count; i++)
		zones += json_get(region, arena_printf(&world->scratch, "zone:%s", world->zones[i].id)) != NULL;
	if (zones < 2)
		world->shared_since = (struct instant){0};
	else if (world->shared_since.ms == 0)
		world->shared_since = world->now;
}

static void check_cluster(struct world *world, size_t cluster)
{
	const struct json *node;
	for (size_t i = 0; (node = sim_kube_object_at(world, "nodes", i)) != NULL; i++)
		check_node(world, cluster, node);
	for (size_t i = 0; i < dynamo_item_count(world->dynamo, WORLD_TABLE); i++)
		check_record(world, cluster, dynamo_item_at(world->dynamo, WORLD_TABLE, i));
}

void sim_check(struct world *world)
{
	note_shared(world);
	struct sim_kube *kube = world->kube;
	struct sim_placed *placed;
	for (size_t i = 0; (placed = sim_placed_at(world, i)) != NULL; i++)
		if (!placed->deleted)
			check_placed(world, placed);
	sim_pods_check(world);
	for (size_t i = 0; i < sim_cluster_count(world); i++) {
		world->kube = world->kubes[i];
		check_cluster(world, i);
	}
	world->kube = kube;
}

void sim_check_lease(struct world *world, const struct sim_client *client, const struct sim_request *request,
                     const char *what)
{
	if (!request->effect || !world->lease_used)
		return;
	if (!client->leads)
		sim_broken(world, "%s %s %s without the lease", request->operation, request->path, what);
	int64_t age_ms = instant_between_ms(client->lease_renewed, world->now);
	if (age_ms >= RENEW_DEADLINE_MS)
		sim_broken(world, "%s %s %s with a lease renewed %lld ms ago", request->operation, request->path, what,
		           (long long)age_ms);
}

static bool may_act(const struct world *world, const struct sim_client *client)
{
	return client->leads && instant_between_ms(client->lease_renewed, world->now) < RENEW_DEADLINE_MS;
}

void sim_check_leaders(struct world *world)
{
	bool together = world->clients[0].cluster == world->clients[1].cluster;
	if (together && may_act(world, &world->clients[0]) && may_act(world, &world->clients[1]))
		sim_broken(world, "%s and %s lead at the same time", world->clients[0].lease_identity,
		           world->clients[1].lease_identity);
}
