/*
 * EksNode: cordon, taint, and back, with the node's own annotation as its journal. The same interface as an AWS actuator's; its looks
 * are answered out of the watch cache, so survey and look ask nothing.
 *
 * One JSON patch a node, each operation behind a `test` of what it replaces:
 *   out:  taint zonevac.dev/evacuated=<zone id>:NoSchedule, spec.unschedulable true, annotation zonevac.dev/evacuated =
 *         {"zone":"use1-az1","owner":"<uid of kube-system>","evacuation":"use1-az1","uid":"<of the object>","node":"<uid of the node>","priorUnschedulable":false}
 *   back: our taint and annotation off; unschedulable off only if priorUnschedulable is false.
 * Foreign taints survive verbatim. A node registered again under the same name (another UID) is a new node.
 *
 * Zone: label topology.k8s.aws/zone-id; else topology.kubernetes.io/zone against scope->zone_name; else the zone in providerID. Fargate nodes
 * (label eks.amazonaws.com/compute-type=fargate, or a providerID that ends in fargate-…) are left alone.
 */
#ifndef NODES_EKS_NODE_H
#define NODES_EKS_NODE_H

#include "actuators/actuator.h"

#define EKS_NODE_KIND "EksNode"
#define EKS_NODE_TAINT "zonevac.dev/evacuated"
#define EKS_NODE_ANNOTATION "zonevac.dev/evacuated"

extern const struct actuator eks_node;

/*
 * A node object of the API as a resource in `arena`: only what is needed (name, uid, labels as tags, taints, unschedulable, our annotation,
 * providerID, resourceVersion). Id is "<owner>/<name>".
 */
bool eks_node_read(struct arena *arena, const char *owner, const struct json *object, struct resource *out,
                   struct error *error);

/* Does it lie in the scope's zone? *known false when neither label nor providerID says (zone_name not known yet). */
bool eks_node_in_zone(const struct scope *scope, const struct resource *resource, bool *known);

#endif
