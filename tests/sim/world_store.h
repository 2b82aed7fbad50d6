/*
 * The store of the simulated API server. Private to world_store.c and world_kube.c.
 */
#ifndef TESTS_SIM_WORLD_STORE_H
#define TESTS_SIM_WORLD_STORE_H

#include "world_parts.h"

struct collection {
	const char *resource;
	const char *prefix; /* "/api/v1/" */
	const char *kind;
	const char *api_version;
	bool namespaced;
	size_t page_max; /* objects on a page of its list; 0 = as many as are asked for */
};

enum {
	COLLECTION_EVACUATIONS,
	COLLECTION_NODES,
	COLLECTION_LEASES,
	COLLECTION_EVENTS,
	COLLECTION_PODS, /* served by world_pods.c */
	COLLECTION_VOLUMES,
	COLLECTION_NAMESPACES,
	COLLECTIONS
};
extern const struct collection sim_collections[COLLECTIONS];

struct object {
	struct object *next; /* sorted: collection, namespace, name */
	size_t collection;
	char *namespace_; /* "" for a cluster-scoped one */
	char *name;
	struct arena arena;
	const struct json *json;
};

struct object *store_first(const struct world *world, size_t collection);
struct object *store_next(const struct object *object); /* of the same collection */
struct object *store_find(const struct world *world, size_t collection, const char *namespace_, const char *name);

/* Make `json` the object's new state, with a new version. */
void store_put(struct world *world, size_t collection, const char *namespace_, const char *name,
               const struct json *json);
void store_drop(struct world *world, size_t collection, const char *namespace_, const char *name);

/* A new object's metadata: uid, creationTimestamp, generation. */
struct json *store_born(struct world *world, const struct json *object, const char *namespace_, const char *name);

#endif
