/*
 * Clusters: each is an API server of its own. Nodes and pods live in the first one.
 */
#include "world_parts.h"

const char *sim_cluster_uid(size_t cluster)
{
	return cluster == 0 ? WORLD_CLUSTER_UID : WORLD_SECOND_UID;
}

size_t sim_cluster_count(const struct world *world)
{
	return world->kubes[1] != NULL ? 2 : 1;
}

void sim_cluster_found(struct world *world, size_t cluster)
{
	static const char *const names[] = {"default", "kube-system"};
	world->kube = world->kubes[cluster] = sim_kube_new();
	for (size_t i = 0; i < 2; i++) {
		struct json *object = json_new_object(&world->scratch);
		json_set_string(object, "kind", "Namespace");
		json_set_string(object, "apiVersion", "v1");
		struct json *metadata = json_set_object(object, "metadata");
		json_set_string(metadata, "uid", i == 1 ? sim_cluster_uid(cluster) : "22222222-2222-3333-4444-555555555555");
		sim_kube_put(world, "namespaces", "", names[i], object);
	}
	world->kube = world->kubes[0];
}

void sim_clusters_free(struct world *world)
{
	for (size_t i = 0; i < sim_cluster_count(world); i++)
		sim_kube_free(world->kubes[i]);
}

void world_add_second_cluster(struct world *world)
{
	sim_cluster_found(world, 1);
	world->clients[1].cluster = 1;
}

void world_turn_to_cluster(struct world *world, size_t cluster)
{
	world->kube = world->kubes[cluster];
}
