/*
 * The pods of a node: which of them a drain evicts, which it leaves, and what the answers to an eviction mean. Pure; nothing is cached:
 * a node's pods are asked for at each look (fieldSelector spec.nodeName) and forgotten with it.
 *
 * What is left where it is, as with `kubectl drain --ignore-daemonsets`: pods of a DaemonSet, mirror pods of static ones,
 * finished ones, and pods without a controller, because nobody would bring them back. Pods with emptyDir volumes are
 * evicted: their data is lost, as with every eviction.
 *
 * Source: Kubernetes API, policy/v1 Eviction; core/v1 Pod, PersistentVolume (nodeAffinity, claimRef).
 */
#ifndef NODES_EKS_PODS_H
#define NODES_EKS_PODS_H

#include "base/instant.h"
#include "base/string_list.h"
#include "domain/scope.h"
#include "net/http.h"

struct pod {
	const char *namespace_name;
	const char *name;
	const char *uid;
	const char *owner_kind; /* of its controller; NULL = it has none */
	const char *owner_uid;
	bool finished; /* Succeeded or Failed */
	bool mirror;
	bool terminating;
	struct wallclock ends_at;  /* terminating: when its grace is over */
	struct string_list claims; /* "namespace/claim" of the PersistentVolumeClaims that it mounts */
};

struct pods {
	struct pod *at;
	size_t count;
	size_t capacity;
	/* The API server's own time when they were told (its Date), which is what their ends_at is in; 0 = it did not say. */
	struct wallclock as_of;
};

enum pod_fate {
	POD_LEFT,         /* a DaemonSet's, a mirror, finished: not a drain's business */
	POD_UNREPLICATED, /* without a controller: left, and told */
	POD_EVICTABLE,
	POD_LEAVING, /* terminating, and waited for */
	POD_STUCK,   /* terminating where nobody ends it: its node is not Ready, or its grace ended 30 s ago */
};

enum pod_fate eks_pod_fate(const struct pod *pod, bool node_ready, struct wallclock now);

/* "default/web-1" */
const char *eks_pod_name(const struct pod *pod, struct arena *arena);

/* The pods of a node, one page of 500; `token` NULL = the first. */
void eks_pods_ask(struct arena *arena, const char *node, const char *token, struct http_request *out);

/* Appends. *next: the token of the next page, or NULL. ERROR_MALFORMED when it is not a PodList; nothing is appended then. */
bool eks_pods_hear(struct arena *arena, const struct http_response *response, struct pods *pods, const char **next,
                   struct error *error);

/* POST …/eviction with the pod's UID as precondition, so that another pod of the same name is never meant. */
void eks_pod_ask_eviction(struct arena *arena, const struct pod *pod, struct http_request *out);

enum eviction_answer {
	EVICTION_ACCEPTED, /* it is terminating; gone when the next look does not show it */
	EVICTION_GONE,     /* 404, or another pod has its name by now (409) */
	EVICTION_BUDGET,   /* a PodDisruptionBudget does not let it go now: again later */
	EVICTION_BUSY,     /* the API server is overloaded or failed: again later, and everything slower */
	EVICTION_REFUSED,  /* needs a person: two budgets match, not allowed, a negative budget … */
};

/*
 * What an answer says; `response` of whatever status (0: no answer is BUSY). *budget: the budget's name ("namespace/web"),
 * NULL when it is not told. *why: a sentence for BUDGET, BUSY and REFUSED. Both in `arena`.
 *
 * An answer of 201 may carry a Status of Failure (several budgets match one pod), and a 429 may be the API server's own
 * overload: only its details.causes tell (reason DisruptionBudget). A 404 or 409 that is no Status is not the API server's
 * word: BUSY. A 403 with the cause NamespaceTerminating is ACCEPTED: the pod ends with its namespace, without us.
 */
enum eviction_answer eks_pod_hear_eviction(struct arena *arena, const struct pod *pod,
                                           const struct http_response *response, const char **budget, const char **why);

/* All PersistentVolumes, one page of 500. */
void eks_volumes_ask(struct arena *arena, const char *token, struct http_request *out);

/*
 * Adds to `claims` (in `arena`) the "namespace/claim" of every volume that can only be used in the scope's zone: each term
 * of its required nodeAffinity names the zone (topology.kubernetes.io/zone, topology.ebs.csi.aws.com/zone,
 * topology.k8s.aws/zone-id, failure-domain.beta.kubernetes.io/zone) and no other. Released ones are left out: their claim
 * is gone. *next and errors as of eks_pods_hear.
 */
bool eks_volumes_hear(const struct scope *scope, struct arena *arena, const struct http_response *response,
                      struct string_list *claims, const char **next, struct error *error);

#endif
