/*
 * What the engine keeps of the cluster: the nodes (only what is needed of each), whose cluster it is, and the two watches that
 * keep both up to date. An event only marks; evacuations act on what is.
 */
#ifndef ENGINE_CLUSTER_H
#define ENGINE_CLUSTER_H

#include "domain/resource.h"
#include "kube/watch.h"

struct engine;
struct exchange;

struct node_entry {
	struct node_entry *next;              /* in its bucket */
	struct node_entry *next_of_instances; /* in its bucket of instances */
	struct node_entry *next_dirty;        /* changed since the evacuations last looked */
	struct arena arena;
	struct resource resource;
	const char *resource_version;
	bool listed; /* seen in the list that is being read */
	bool dirty;
};

#define NODE_BUCKETS 4096

/* A watch and the call that is serving it. */
struct feed {
	struct engine *engine;
	struct watch *watch;
	struct exchange *exchange;
	void (*take)(struct engine *engine, const struct watch_event *event);
	bool listing; /* between the begin and the end of a list: it may show older versions, after a restore of etcd */
	struct instant trouble_logged;
};

struct cluster {
	struct feed nodes;
	struct feed evacuations;
	struct node_entry *buckets[NODE_BUCKETS];
	struct node_entry *instances[NODE_BUCKETS]; /* those that say which EC2 instance they are */
	size_t node_count;
	uint64_t nodes_changed; /* counts whatever happens to a node */
	struct node_entry *dirty;
	char owner[64]; /* UID of kube-system; "" until known */
	struct exchange *owner_exchange;
	struct instant owner_due;
	int owner_failures;
	char own_controller[64]; /* UID of what our own pod belongs to; "" until known, or outside a cluster */
	struct exchange *own_exchange;
	struct instant own_due;
};

void cluster_init(struct engine *engine);
void cluster_done(struct engine *engine);

/* Ask what is due. */
void cluster_turn(struct engine *engine);
struct instant cluster_due(const struct engine *engine, struct instant otherwise);

/* Both watches have had their first list, and the owner is known. *why says what is missing. */
bool cluster_synced(const struct engine *engine, const char **why);

/* NULL when there is none of that name. */
struct node_entry *cluster_node(const struct engine *engine, const char *name);

/* The node that this EC2 instance is, or NULL. */
struct node_entry *cluster_node_of_instance(const struct engine *engine, const char *instance_id);

/* The EC2 instances of all nodes, copied. */
void cluster_list_instances(const struct engine *engine, struct arena *arena, struct string_list *out);

/* Let the evacuations look at it again. */
void cluster_touch_node(struct engine *engine, const char *name);

/* The node as an answer of the API server showed it (after our own patch): newer than the watch. */
void cluster_learn_node(struct engine *engine, const struct json *object);

/* Is `a` an older resourceVersion than `b`? Only where both are decimal numbers (they are since Kubernetes 1.35, KEP-5504); else false. */
bool cluster_version_older(const char *a, const char *b);

/* Forget which nodes are dirty. */
void cluster_clear_dirty(struct engine *engine);

#endif
