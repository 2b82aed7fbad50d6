/*
 * What the files of EksNode share: what was read of a node, and the patches and pods of one. Not for anybody else.
 */
#ifndef NODES_EKS_NODE_INTERNAL_H
#define NODES_EKS_NODE_INTERNAL_H

#include "nodes/eks_node.h"

/* What our annotation says. */
struct node_mark {
	const char *text; /* verbatim, as it must be tested; NULL = no annotation */
	bool readable;    /* the rest is there */
	const char *zone;
	const char *owner;
	const char *evacuation;
	const char *uid;
	const char *node;
	bool prior_unschedulable;
	const char *at;    /* NULL = it does not say */
	const char *drain; /* since when it is drained, in a batch; NULL = it does not say */
};

struct node_facts {
	const char *provider_id;
	const struct json *taints;        /* verbatim; NULL = the member is absent */
	const struct json *unschedulable; /* likewise */
	bool has_annotations;
	struct node_mark mark;
	bool ready;
	struct wallclock created_at;
};

/* Of a node that could not be read nothing is known; never NULL. */
const struct node_facts *node_facts_of(const struct resource *resource);

bool node_is_unschedulable(const struct resource *resource);

/* Is the annotation one that this owner wrote, for whatever zone? It travels with a node that is made anew from a dump. */
bool node_is_marked_by_owner(const struct scope *scope, const struct resource *resource);

/* By this owner and for this zone. */
bool node_is_marked(const struct scope *scope, const struct resource *resource);

/* Any taint of ours for this zone. */
bool node_has_taint(const struct scope *scope, const struct resource *resource);

/* All that the scope's eviction wants. */
bool node_is_tainted(const struct scope *scope, const struct resource *resource);

/* Its annotation says all that the scope wants written there. */
bool node_mark_is_whole(const struct scope *scope, const struct resource *resource);

/* What is to be written on a node that is not marked. */
struct node_mark node_mark_new(const struct scope *scope, const struct resource *resource);
struct json *node_mark_json(struct arena *arena, const struct node_mark *mark);

/* Slots of the actuator: eks_node_patch.c, eks_node_load.c. */
void node_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                 enum direction direction, struct arena *arena, struct http_request *out);
void node_look(const struct scope *scope, const struct change *const *changes, size_t count, struct arena *arena,
               struct probes *out);
bool node_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                struct arena *arena, struct resources *resources, struct probes *further, struct error *error);
void node_nudge(const struct scope *scope, const struct change *change, const struct resource *resource,
                struct arena *arena, struct probes *out);

#endif
