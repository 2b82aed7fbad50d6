/*
 * EksNode: cordon, taint, drain, and back, with the node's own annotation as its journal. The same interface as an AWS
 * actuator's. What the node is comes out of the watch cache, so a survey asks nothing; a look asks for its pods, its load.
 *
 * One JSON patch a node, each operation behind a `test` of what it replaces:
 *   out:  taint zonevac.dev/evacuated=<zone id>:NoSchedule (EVICTION_TAINT: and NoExecute), spec.unschedulable true, and the
 *         annotation zonevac.dev/evacuated =
 *         {"zone":"use1-az1","owner":"<uid of kube-system>","evacuation":"use1-az1","uid":"<of the object>",
 *          "node":"<uid of the node>","priorUnschedulable":false,"at":"2026-01-02T03:04:05Z"}
 *         and, once the drain of a node begins that waits for its batch, "drain":"2026-01-02T03:14:05Z"
 *   back: our taints and annotation off; unschedulable off only if priorUnschedulable is false.
 * Foreign taints survive verbatim. A node registered again under the same name (another UID) is a new node. A NoExecute
 * taint of ours stays until recovery, also when the eviction changes. Annotations of earlier versions have no "at".
 *
 * Taken out, it has settled when it is marked and tainted and no pod is left that a drain sees gone (EVICTION_NONE: whatever
 * runs on it). Evictions are what nudges it. What stays (pods without a controller, stuck ones) is told, and holds nothing up.
 *
 * Zone: label topology.k8s.aws/zone-id; else topology.kubernetes.io/zone against scope->zone_name; else the zone in
 * providerID. Nodes that are no instances are left alone: Fargate's (label eks.amazonaws.com/compute-type=fargate, or a
 * providerID that ends in fargate-…), virtual ones (label type=virtual-kubelet, taint virtual-kubelet.io/provider) and hybrid
 * ones (providerID eks-hybrid:///…), which lie in no zone.
 */
#ifndef NODES_EKS_NODE_H
#define NODES_EKS_NODE_H

#include "actuators/actuator.h"
#include "nodes/eks_pods.h"

#define EKS_NODE_KIND "EksNode"
#define EKS_NODE_TAINT "zonevac.dev/evacuated"
#define EKS_NODE_ANNOTATION "zonevac.dev/evacuated"

extern const struct actuator eks_node;

/*
 * A node object of the API as a resource in `arena`: only what is needed (name, uid, labels as tags, taints, unschedulable,
 * our annotation, providerID and its instance, creation, condition Ready). Id is "<owner>/<name>". No load.
 */
bool eks_node_read(struct arena *arena, const char *owner, const struct json *object, struct resource *out,
                   struct error *error);

/* The EC2 instance that its providerID names, copied into `arena`, or NULL. resource->instances has it, too. */
const char *eks_node_instance(const struct resource *resource, struct arena *arena);

/* Its condition Ready is True. */
bool eks_node_is_ready(const struct resource *resource);

/* When it was made (metadata.creationTimestamp); 0 = it does not say. */
struct wallclock eks_node_created_at(const struct resource *resource);

/* When our annotation was written, 0 = it carries none: from then on its drain's time counts, also for a process that begins later. */
struct wallclock eks_node_marked_at(const struct scope *scope, const struct resource *resource);

/* Since when it is drained, where drains are paced (scope->drained_since); 0 = the annotation does not say, or there is none. */
struct wallclock eks_node_drained_since(const struct scope *scope, const struct resource *resource);

/* Was our annotation written by the evacuation of the scope (evacuation_uid)? One that took over from another finds that one's marks. */
bool eks_node_is_marked_by(const struct scope *scope, const struct resource *resource);

/* What provides it, for a person: "NodePool default" (karpenter.sh/nodepool), "node group web" (eks.amazonaws.com/nodegroup …), or NULL. */
const char *eks_node_provider(const struct resource *resource, struct arena *arena);

/* What becomes of one of its pods, where a person may have said that those without a controller go as well (scope->evict_unreplicated). */
enum pod_fate eks_node_pod_fate(const struct scope *scope, const struct resource *resource, const struct pod *pod);

/*
 * Of its pods (resource->load, NULL = none are known): how many a drain still has to see gone (evictable and leaving ones). What
 * scope->evict_unreplicated says counts; the time is that of the look, by the API server's clock (pods.as_of), else scope->now.
 */
size_t eks_node_load(const struct scope *scope, const struct resource *resource);

/*
 * A sentence of what holds it up or is left, with three examples each at the most: "4 pods to go (default/web-1, default/web-2,
 * default/web-3, …); 1 pod without a controller stays (default/debug)". NULL = nothing.
 */
const char *eks_node_load_sentence(const struct scope *scope, const struct resource *resource, struct arena *arena);

/* May it be taken out at all: it is no Fargate, virtual or hybrid node. */
bool eks_node_is_movable(const struct resource *resource);

/* The zone that its labels name, by id or else by name; NULL = they name none. */
const char *eks_node_zone(const struct resource *resource);

/* Does it lie in the scope's zone? *known false when neither label nor providerID says (zone_name not known yet). */
bool eks_node_in_zone(const struct scope *scope, const struct resource *resource, bool *known);

#endif
