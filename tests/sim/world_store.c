/*
 * The API server's store: objects with versions, and the log that watches read.
 */
#include "world_store.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT_MAX_BYTES (8 * 1024 * 1024)

const struct collection sim_collections[COLLECTIONS] = {
	{"zonalevacuations", "/apis/zonevac.dev/v1alpha1/", "ZonalEvacuation", "zonevac.dev/v1alpha1", false, 0},
	{"nodes", "/api/v1/", "Node", "v1", false, 0},
	{"leases", "/apis/coordination.k8s.io/v1/", "Lease", "coordination.k8s.io/v1", true, 0},
	{"events", "/apis/events.k8s.io/v1/", "Event", "events.k8s.io/v1", true, 0},
	{"pods", "/api/v1/", "Pod", "v1", true, 0},
	{"persistentvolumes", "/api/v1/", "PersistentVolume", "v1", false, 2},
	{"namespaces", "/api/v1/", "Namespace", "v1", false, 0},
};

struct log_entry {
	size_t collection;
	uint64_t version;
	const char *type; /* "ADDED" … */
	char *text;
};

struct sim_kube {
	struct object *objects;
	struct log_entry *log;
	size_t log_count;
	size_t log_capacity;
	uint64_t version;
	uint64_t compacted;
	uint64_t uids;
	struct text phases; /* "name phase\n" */
};

struct sim_kube *sim_kube_new(void)
{
	struct sim_kube *kube = calloc(1, sizeof(*kube));
	if (kube == NULL)
		abort();
	kube->version = 100;
	text_init(&kube->phases, 1024 * 1024);
	return kube;
}

static void object_free(struct object *object)
{
	free(object->namespace_);
	free(object->name);
	arena_done(&object->arena);
	free(object);
}

void sim_kube_free(struct sim_kube *kube)
{
	while (kube->objects != NULL) {
		struct object *object = kube->objects;
		kube->objects = object->next;
		object_free(object);
	}
	for (size_t i = 0; i < kube->log_count; i++)
		free(kube->log[i].text);
	free(kube->log);
	text_done(&kube->phases);
	free(kube);
}

uint64_t sim_kube_version(const struct world *world)
{
	return world->kube->version;
}

uint64_t sim_kube_compacted(const struct world *world)
{
	return world->kube->compacted;
}

const char *sim_kube_kind(size_t collection, const char **api_version)
{
	*api_version = sim_collections[collection].api_version;
	return sim_collections[collection].kind;
}

static int order(const struct object *object, size_t collection, const char *namespace_, const char *name)
{
	if (object->collection != collection)
		return object->collection < collection ? -1 : 1;
	int by_namespace = strcmp(object->namespace_, namespace_);
	return by_namespace != 0 ? by_namespace : strcmp(object->name, name);
}

/* Where the object stands, or would. */
static struct object **place(struct sim_kube *kube, size_t collection, const char *namespace_, const char *name)
{
	struct object **at = &kube->objects;
	while (*at != NULL && order(*at, collection, namespace_, name) < 0)
		at = &(*at)->next;
	return at;
}

struct object *store_find(const struct world *world, size_t collection, const char *namespace_, const char *name)
{
	struct object *object = *place(world->kube, collection, namespace_, name);
	return object != NULL && order(object, collection, namespace_, name) == 0 ? object : NULL;
}

static void log_append(struct world *world, size_t collection, const char *type, const char *text)
{
	struct sim_kube *kube = world->kube;
	if (kube->log_count == kube->log_capacity) {
		kube->log_capacity = kube->log_capacity > 0 ? kube->log_capacity * 2 : 256;
		kube->log = realloc(kube->log, kube->log_capacity * sizeof(kube->log[0]));
		if (kube->log == NULL)
			abort();
	}
	kube->log[kube->log_count++] = (struct log_entry){collection, kube->version, type, sim_strdup(text)};
	sim_watch_poke(world, collection);
}

/* The next entry of the collection after *version. */
bool sim_kube_log_line(const struct world *world, size_t collection, uint64_t *version, const char **type,
                       const char **text)
{
	const struct sim_kube *kube = world->kube;
	size_t low = 0;
	size_t high = kube->log_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (kube->log[middle].version <= *version)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < kube->log_count && kube->log[low].collection != collection)
		low++;
	if (low == kube->log_count)
		return false;
	*version = kube->log[low].version;
	*type = kube->log[low].type;
	*text = kube->log[low].text;
	return true;
}

static void note_phase(struct world *world, const struct object *object)
{
	const char *phase = json_path_string(object->json, "status.phase");
	if (object->collection != COLLECTION_EVACUATIONS || phase == NULL)
		return;
	const char *line = arena_printf(&world->scratch, "%s %s\n", object->name, phase);
	struct text *phases = &world->kube->phases;
	const char *last = NULL;
	const char *prefix = arena_printf(&world->scratch, "%s ", object->name);
	for (const char *at = phases->at; *at != '\0'; at = strchr(at, '\n') + 1)
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			last = at;
	if (last == NULL || strncmp(last, line, strlen(line)) != 0) {
		text_append(phases, line);
		sim_note(world, "phase of %s: %s", object->name, phase);
	}
}

const char *sim_kube_phases(const struct world *world, const char *name)
{
	(void)name;
	return world->kube->phases.at;
}

/* Nobody watches the rest. */
static bool is_watched(size_t collection)
{
	return collection == COLLECTION_EVACUATIONS || collection == COLLECTION_NODES;
}

void store_put(struct world *world, size_t collection, const char *namespace_, const char *name,
               const struct json *json)
{
	struct sim_kube *kube = world->kube;
	struct object **at = place(kube, collection, namespace_, name);
	bool exists = *at != NULL && order(*at, collection, namespace_, name) == 0;
	struct object *object = exists ? *at : calloc(1, sizeof(*object));
	if (object == NULL)
		abort();
	if (!exists) {
		*object = (struct object){.next = *at, .collection = collection};
		object->namespace_ = sim_strdup(namespace_);
		object->name = sim_strdup(name);
		arena_init(&object->arena, "object of the simulated API server", OBJECT_MAX_BYTES);
		*at = object;
	}
	struct arena fresh;
	arena_init(&fresh, "object of the simulated API server", OBJECT_MAX_BYTES);
	struct json *copy = json_copy(&fresh, json);
	struct json *metadata = json_copy(&world->scratch, json_get(json, "metadata"));
	json_set_string(metadata, "resourceVersion",
	                arena_printf(&world->scratch, "%llu", (unsigned long long)++kube->version));
	json_set(copy, "metadata", metadata);
	arena_done(&object->arena);
	object->arena = fresh;
	object->json = copy;
	note_phase(world, object);
	if (is_watched(collection))
		log_append(world, collection, exists ? "MODIFIED" : "ADDED", json_print(copy, &world->scratch));
	if (collection == COLLECTION_NODES)
		sim_pods_node_changed(world, name);
}

void store_drop(struct world *world, size_t collection, const char *namespace_, const char *name)
{
	struct object **at = place(world->kube, collection, namespace_, name);
	struct object *object = *at;
	if (object == NULL || order(object, collection, namespace_, name) != 0)
		return;
	world->kube->version++;
	struct json *copy = json_copy(&world->scratch, object->json);
	struct json *metadata = json_copy(&world->scratch, json_get(object->json, "metadata"));
	json_set_string(metadata, "resourceVersion",
	                arena_printf(&world->scratch, "%llu", (unsigned long long)world->kube->version));
	json_set(copy, "metadata", metadata);
	log_append(world, collection, "DELETED", json_print(copy, &world->scratch));
	sim_note(world, "%s %s is gone", sim_collections[collection].resource, name);
	*at = object->next;
	object_free(object);
	if (collection == COLLECTION_NODES)
		sim_pods_node_gone(world, name);
}

struct object *store_first(const struct world *world, size_t collection)
{
	struct object *object = world->kube->objects;
	while (object != NULL && object->collection != collection)
		object = object->next;
	return object;
}

struct object *store_next(const struct object *object)
{
	struct object *next = object->next;
	return next != NULL && next->collection == object->collection ? next : NULL;
}

static size_t collection_find(const char *resource)
{
	for (size_t i = 0; i < COLLECTIONS; i++)
		if (strcmp(sim_collections[i].resource, resource) == 0)
			return i;
	abort();
}

const struct json *sim_kube_object(const struct world *world, const char *resource, const char *name)
{
	for (const struct object *object = store_first(world, collection_find(resource)); object != NULL;
	     object = store_next(object))
		if (strcmp(object->name, name) == 0)
			return object->json;
	return NULL;
}

const struct json *sim_kube_object_at(const struct world *world, const char *resource, size_t index)
{
	const struct object *object = store_first(world, collection_find(resource));
	while (object != NULL && index-- > 0)
		object = store_next(object);
	return object != NULL ? object->json : NULL;
}

size_t sim_kube_count(const struct world *world, const char *resource)
{
	size_t count = 0;
	while (sim_kube_object_at(world, resource, count) != NULL)
		count++;
	return count;
}

struct json *store_born(struct world *world, const struct json *object, const char *namespace_, const char *name)
{
	struct arena *arena = &world->scratch;
	struct json *copy = json_copy(arena, object);
	struct json *metadata =
		json_get(object, "metadata") != NULL ? json_copy(arena, json_get(object, "metadata")) : json_new_object(arena);
	json_set_string(metadata, "name", name);
	if (namespace_[0] != '\0')
		json_set_string(metadata, "namespace", namespace_);
	if (json_get_string(metadata, "uid") == NULL)
		json_set_string(
			metadata, "uid",
			arena_printf(arena, "00000000-0000-4000-8000-%012llu", (unsigned long long)++world->kube->uids));
	json_set_string(metadata, "creationTimestamp", wallclock_rfc3339(sim_wall(world), arena));
	json_set_integer(metadata, "generation", 1);
	json_set(copy, "metadata", metadata);
	return copy;
}

void sim_kube_put(struct world *world, const char *resource, const char *namespace_, const char *name,
                  const struct json *object)
{
	size_t collection = collection_find(resource);
	if (object == NULL)
		store_drop(world, collection, namespace_, name);
	else if (store_find(world, collection, namespace_, name) == NULL)
		store_put(world, collection, namespace_, name, store_born(world, object, namespace_, name));
	else
		store_put(world, collection, namespace_, name, object);
}

void world_compact(struct world *world)
{
	world->kube->compacted = world->kube->version;
	for (size_t i = 0; i < COLLECTIONS; i++)
		sim_watch_poke(world, i);
}
