/*
 * What people do with kubectl, nodes, and a rival for the lease.
 */
#include "world_parts.h"

#include <string.h>

#define LEASE_RENEW_MS 2000

static const struct json *node_get(struct world *world, const char *name)
{
	const struct json *node = sim_kube_object(world, "nodes", name);
	if (node == NULL)
		sim_broken(world, "there is no node %s", name);
	return node;
}

/* The condition Ready, as its kubelet says or no longer says. */
static void set_ready(struct arena *arena, struct json *object, bool ready)
{
	struct json *condition = json_new_object(arena);
	json_set_string(condition, "type", "Ready");
	json_set_string(condition, "status", ready ? "True" : "False");
	json_set_string(condition, "reason", ready ? "KubeletReady" : "KubeletNotReady");
	json_add(json_set_array(json_set_object(object, "status"), "conditions"), condition);
}

void sim_node_add(struct world *world, const struct world_node *node, const char *instance)
{
	struct arena *arena = &world->scratch;
	const char *zone_name = "";
	for (size_t i = 0; i < world->zone_count; i++)
		if (strcmp(world->zones[i].id, node->zone_id) == 0)
			zone_name = world->zones[i].name;
	struct json *object = json_new_object(arena);
	json_set_string(object, "kind", "Node");
	json_set_string(object, "apiVersion", "v1");
	struct json *metadata = json_set_object(object, "metadata");
	struct json *labels = json_set_object(metadata, "labels");
	json_set_string(labels, "kubernetes.io/hostname", node->name);
	json_set_string(labels, "topology.k8s.aws/zone-id", node->zone_id);
	json_set_string(labels, "topology.kubernetes.io/zone", zone_name);
	struct json *spec = json_set_object(object, "spec");
	json_set_string(spec, "providerID", arena_printf(arena, "aws:///%s/%s", zone_name, instance));
	if (node->unschedulable)
		json_set_bool(spec, "unschedulable", true);
	if (node->foreign_taint != NULL) {
		struct json *taint = json_new_object(arena);
		json_set_string(taint, "key", node->foreign_taint);
		json_set_string(taint, "effect", "NoSchedule");
		json_add(json_set_array(spec, "taints"), taint);
	}
	set_ready(arena, object, true);
	sim_node_find(world, node->name)->frozen = false;
	sim_note(world, "node %s joins", node->name);
	sim_kube_put(world, "nodes", "", node->name, object);
}

void world_add_node(struct world *world, const struct world_node *node)
{
	sim_node_add(world, node, arena_printf(&world->scratch, "i-%s", node->name));
}

void world_freeze_node(struct world *world, const char *name)
{
	struct json *object = json_copy(&world->scratch, node_get(world, name));
	sim_note(world, "the kubelet of %s is dead", name);
	sim_node_find(world, name)->frozen = true;
	set_ready(&world->scratch, object, false);
	sim_kube_put(world, "nodes", "", name, object);
}

void world_delete_node(struct world *world, const char *name)
{
	sim_kube_put(world, "nodes", "", name, NULL);
}

/* The object with one member of `path` (two deep) replaced or, with NULL, taken out. */
static struct json *with_member(struct arena *arena, const struct json *object, const char *parent, const char *key,
                                struct json *value)
{
	struct json *copy = json_copy(arena, object);
	struct json *child =
		json_get(object, parent) != NULL ? json_copy(arena, json_get(object, parent)) : json_new_object(arena);
	json_remove(child, key);
	if (value != NULL)
		json_set(child, key, value);
	json_set(copy, parent, child);
	return copy;
}

void world_uncordon_node(struct world *world, const char *name)
{
	const struct json *node = node_get(world, name);
	sim_note(world, "a person uncordons %s", name);
	sim_kube_put(world, "nodes", "", name, with_member(&world->scratch, node, "spec", "unschedulable", NULL));
}

void world_cordon_node(struct world *world, const char *name)
{
	struct arena *arena = &world->scratch;
	const struct json *node = node_get(world, name);
	sim_note(world, "a person cordons %s", name);
	sim_kube_put(world, "nodes", "", name,
	             with_member(arena, node, "spec", "unschedulable", json_new_bool(arena, true)));
}

void world_taint_node(struct world *world, const char *name, const char *key)
{
	struct arena *arena = &world->scratch;
	const struct json *node = node_get(world, name);
	const struct json *is = json_path(node, "spec.taints");
	struct json *taints = is != NULL ? json_copy(arena, is) : json_new_array(arena);
	struct json *taint = json_new_object(arena);
	sim_note(world, "a person taints %s with %s", name, key);
	json_set_string(taint, "key", key);
	json_set_string(taint, "effect", "NoSchedule");
	json_add(taints, taint);
	sim_kube_put(world, "nodes", "", name, with_member(arena, node, "spec", "taints", taints));
}

void world_label_node(struct world *world, const char *name, const char *key, const char *value)
{
	struct arena *arena = &world->scratch;
	const struct json *node = node_get(world, name);
	struct json *labels = json_copy(arena, json_path(node, "metadata.labels"));
	sim_note(world, "label %s of %s: %s", key, name, value != NULL ? value : "taken off");
	json_remove(labels, key);
	if (value != NULL)
		json_set_string(labels, key, value);
	sim_kube_put(world, "nodes", "", name, with_member(arena, node, "metadata", "labels", labels));
}

void world_strip_node(struct world *world, const char *name)
{
	struct arena *arena = &world->scratch;
	struct json *node = with_member(arena, node_get(world, name), "metadata", "annotations", NULL);
	sim_note(world, "a person takes annotations and taints off %s", name);
	sim_kube_put(world, "nodes", "", name, with_member(arena, node, "spec", "taints", NULL));
}

void world_recreate_node(struct world *world, const char *name)
{
	struct arena *arena = &world->scratch;
	/* The dump outlives the object. */
	const char *dump = json_print(node_get(world, name), arena);
	struct error error;
	const struct json *node = json_parse(arena, dump, strlen(dump), &error);
	sim_note(world, "node %s is deleted and made anew from a dump of it", name);
	sim_kube_put(world, "nodes", "", name, NULL);
	sim_kube_put(world, "nodes", "", name, with_member(arena, node, "metadata", "uid", NULL));
}

static struct json *raise_generation(struct arena *arena, const struct json *object)
{
	int64_t generation = json_integer(json_path(object, "metadata.generation"), 0);
	return with_member(arena, object, "metadata", "generation", json_new_integer(arena, generation + 1));
}

void world_apply(struct world *world, const char *json)
{
	struct arena *arena = &world->scratch;
	struct error error;
	struct json *object = json_parse(arena, json, strlen(json), &error);
	const char *name = json_path_string(object, "metadata.name");
	if (name == NULL)
		sim_broken(world, "not an object: %s", object == NULL ? error.message : json);
	const struct json *old = sim_kube_object(world, "zonalevacuations", name);
	sim_note(world, "kubectl apply %s", name);
	if (old == NULL) {
		sim_kube_put(world, "zonalevacuations", "", name, object);
		return;
	}
	struct json *edited = json_copy(arena, raise_generation(arena, old));
	json_set(edited, "spec", json_copy(arena, json_get(object, "spec")));
	sim_kube_put(world, "zonalevacuations", "", name, edited);
}

void world_delete_evacuation(struct world *world, const char *name)
{
	struct arena *arena = &world->scratch;
	const struct json *object = sim_kube_object(world, "zonalevacuations", name);
	if (object == NULL || json_path(object, "metadata.deletionTimestamp") != NULL)
		return;
	sim_note(world, "kubectl delete %s", name);
	if (json_count(json_path(object, "metadata.finalizers")) == 0) {
		sim_kube_put(world, "zonalevacuations", "", name, NULL);
		return;
	}
	struct json *deleting = raise_generation(arena, object);
	struct json *at = json_new_string(arena, wallclock_rfc3339(sim_wall(world), arena));
	deleting = with_member(arena, deleting, "metadata", "deletionTimestamp", at);
	deleting = with_member(arena, deleting, "metadata", "deletionGracePeriodSeconds", json_new_integer(arena, 0));
	sim_kube_put(world, "zonalevacuations", "", name, deleting);
}

void world_annotate_evacuation(struct world *world, const char *name, const char *key, const char *value)
{
	struct arena *arena = &world->scratch;
	const struct json *object = sim_kube_object(world, "zonalevacuations", name);
	const struct json *before = json_path(object, "metadata.annotations");
	struct json *annotations = before != NULL ? json_copy(arena, before) : json_new_object(arena);
	sim_note(world, "kubectl annotate %s %s=%s", name, key, value);
	json_set_string(annotations, key, value);
	sim_kube_put(world, "zonalevacuations", "", name,
	             with_member(arena, object, "metadata", "annotations", annotations));
}

const char *world_evacuation_uid(struct world *world, const char *name)
{
	const char *uid = json_path_string(sim_kube_object(world, "zonalevacuations", name), "metadata.uid");
	return arena_string(&world->looks, uid != NULL ? uid : "");
}

void world_allow_orphans(struct world *world)
{
	world->orphans_allowed = true;
}

void world_add_finalizer(struct world *world, const char *name, const char *finalizer)
{
	struct arena *arena = &world->scratch;
	const struct json *object = sim_kube_object(world, "zonalevacuations", name);
	const struct json *is = json_path(object, "metadata.finalizers");
	struct json *finalizers = is != NULL ? json_copy(arena, is) : json_new_array(arena);
	sim_note(world, "somebody puts the finalizer %s on %s", finalizer, name);
	json_add_string(finalizers, finalizer);
	sim_kube_put(world, "zonalevacuations", "", name, with_member(arena, object, "metadata", "finalizers", finalizers));
}

void world_wipe_evacuation(struct world *world, const char *name)
{
	world->unfinalized = true;
	sim_note(world, "%s is wiped off the API server", name);
	sim_kube_put(world, "zonalevacuations", "", name, NULL);
}

static void rival_renews(struct world *world, void *context)
{
	struct arena *arena = &world->scratch;
	const struct json *lease = sim_kube_object_at(world, "leases", 0);
	(void)context;
	bool over = world->thief_until.ms != 0 && instant_reached(world->thief_until, world->now);
	if (lease == NULL || over)
		return;
	struct json *spec = json_copy(arena, json_get(lease, "spec"));
	bool mine = text_equal(json_get_string(spec, "holderIdentity"), "rival");
	const char *now = wallclock_micro(sim_wall(world), arena);
	if (!mine) {
		json_set_string(spec, "holderIdentity", "rival");
		json_set_string(spec, "acquireTime", now);
		json_set_integer(spec, "leaseTransitions", json_integer(json_get(spec, "leaseTransitions"), 0) + 1);
	}
	json_set_integer(spec, "leaseDurationSeconds", 15);
	json_set_string(spec, "renewTime", now);
	struct json *edited = json_copy(arena, lease);
	json_set(edited, "spec", spec);
	sim_kube_put(world, "leases", json_path_string(lease, "metadata.namespace"),
	             json_path_string(lease, "metadata.name"), edited);
	world_at(world, LEASE_RENEW_MS, rival_renews, NULL);
}

void world_steal_lease(struct world *world)
{
	sim_note(world, "a rival takes the lease");
	world->thief_until.ms = 0;
	rival_renews(world, NULL);
}

void world_borrow_lease(struct world *world, int64_t ms)
{
	sim_note(world, "a rival takes the lease for %lld ms", (long long)ms);
	world->thief_until = instant_after(world->now, ms);
	rival_renews(world, NULL);
}

static struct json *with_owners(struct world *world, const struct json *item, const char *attribute,
                                const struct string_list *owners)
{
	struct json *copy = json_copy(&world->scratch, item);
	struct json *set = json_new_object(&world->scratch);
	json_set(set, "SS", json_new_strings(&world->scratch, owners));
	json_remove(copy, attribute);
	if (owners->count > 0)
		json_set(copy, attribute, set);
	return copy;
}

static struct json *with_owner(struct world *world, const struct json *item, const char *attribute, const char *owner)
{
	struct string_list owners = json_strings(json_get(json_get(item, attribute), "SS"), &world->scratch);
	if (!string_list_has(&owners, owner))
		string_list_add(&owners, &world->scratch, owner);
	return with_owners(world, item, attribute, &owners);
}

static struct json *without_owner(struct world *world, const struct json *item, const char *attribute,
                                  const char *owner)
{
	struct string_list owners = json_strings(json_get(json_get(item, attribute), "SS"), &world->scratch);
	struct string_list rest = {0};
	for (size_t i = 0; i < owners.count; i++)
		if (!text_equal(owners.at[i], owner))
			string_list_add(&rest, &world->scratch, owners.at[i]);
	return with_owners(world, item, attribute, &rest);
}

static const char *text_of(const struct json *item, const char *attribute)
{
	return json_get_string(json_get(item, attribute), "S");
}

static void set_text(struct world *world, struct json *item, const char *attribute, const char *value)
{
	struct json *typed = json_new_object(&world->scratch);
	json_set_string(typed, "S", value);
	json_set(item, attribute, typed);
}

/* By the clock of the item: RFC 3339, which orders as it reads. */
static bool joinable(struct world *world, const struct json *item)
{
	struct wallclock limit = wallclock_after_ms(sim_wall(world), -(int64_t)10 * 60 * 1000);
	struct wallclock touched = {0};
	if (!text_equal(text_of(item, "state"), "Restoring"))
		return true;
	return text_of(item, "updatedAt") != NULL && wallclock_parse(text_of(item, "updatedAt"), &touched) &&
	       touched.us < limit.us;
}

static void join_record(struct world *world, const struct json *item, const char *owner)
{
	struct json *joined;
	if (!joinable(world, item))
		return;
	joined = with_owner(world, item, "owners", owner);
	if (text_equal(text_of(item, "state"), "Restoring"))
		set_text(world, joined, "state", "Applied");
	set_text(world, joined, "updatedAt", wallclock_micro(sim_wall(world), &world->scratch));
	dynamo_put(world->dynamo, WORLD_TABLE, joined);
}

static bool is_shared(const struct json *item, const char *zone_id)
{
	return !text_equal(text_of(item, "resourceType"), "EksNode") && text_equal(text_of(item, "zoneId"), zone_id);
}

static const struct json *region_item(struct world *world)
{
	const struct json *region = dynamo_item(world->dynamo, WORLD_TABLE, "#region", "active");
	if (region == NULL)
		sim_broken(world, "nobody holds the zone");
	return region;
}

void world_join(struct world *world, const char *zone_id, const char *owner)
{
	sim_note(world, "%s joins in %s", owner, zone_id);
	dynamo_put(world->dynamo, WORLD_TABLE,
	           with_owner(world, region_item(world), arena_printf(&world->scratch, "zone:%s", zone_id), owner));
	for (size_t i = 0; i < dynamo_item_count(world->dynamo, WORLD_TABLE); i++) {
		const struct json *item = dynamo_item_at(world->dynamo, WORLD_TABLE, i);
		if (is_shared(item, zone_id))
			join_record(world, item, owner);
	}
}

void world_leave(struct world *world, const char *zone_id, const char *owner)
{
	sim_note(world, "%s leaves in %s", owner, zone_id);
	dynamo_put(world->dynamo, WORLD_TABLE,
	           without_owner(world, region_item(world), arena_printf(&world->scratch, "zone:%s", zone_id), owner));
	for (size_t i = 0; i < dynamo_item_count(world->dynamo, WORLD_TABLE); i++) {
		const struct json *item = dynamo_item_at(world->dynamo, WORLD_TABLE, i);
		if (is_shared(item, zone_id) && json_count(json_path(item, "owners.SS")) > 1)
			dynamo_put(world->dynamo, WORLD_TABLE, without_owner(world, item, "owners", owner));
	}
}

void world_put_item(struct world *world, const char *json)
{
	struct error error;
	const struct json *item = json_parse(&world->scratch, json, strlen(json), &error);
	if (item == NULL)
		sim_broken(world, "not an item: %s", json);
	sim_note(world, "somebody puts into the journal: %s", json);
	world->unfinalized = world->unfinalized || strstr(json, WORLD_CLUSTER_UID) != NULL;
	dynamo_put(world->dynamo, WORLD_TABLE, item);
}

void world_delete_item(struct world *world, const char *zone_id, const char *resource_id)
{
	sim_note(world, "somebody deletes (%s, %s) from the journal", zone_id, resource_id);
	dynamo_delete(world->dynamo, WORLD_TABLE, zone_id, resource_id);
}

void world_lose_table(struct world *world)
{
	struct sim_placed *placed;
	sim_note(world, "somebody deletes the journal's table");
	dynamo_free(world->backup);
	world->backup = world->dynamo;
	world->dynamo = dynamo_new();
	world->lost_at = world->now;
	for (size_t i = 0; (placed = sim_placed_at(world, i)) != NULL; i++)
		placed->forgotten = true;
}

void world_bring_table_back(struct world *world)
{
	sim_note(world, "the journal's table is restored from its backup");
	dynamo_free(world->dynamo);
	world->dynamo = world->backup;
	world->backup = NULL;
}

void world_delete_record(struct world *world, const char *zone_id, const char *name)
{
	struct sim_placed *placed = sim_placed_get(world, name);
	placed->forgotten = placed->unrecorded = true;
	world_delete_item(world, zone_id, placed->arn);
}
