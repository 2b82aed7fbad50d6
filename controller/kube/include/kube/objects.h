/*
 * The Kubernetes calls we make, as request builders, and the answers we read. Relative requests of service "kubernetes".
 *
 * Source: the API machinery's contract (api-concepts, api-conventions); paths and verbs per call below.
 */
#ifndef KUBE_OBJECTS_H
#define KUBE_OBJECTS_H

#include "base/instant.h"
#include "base/json.h"
#include "net/http.h"

#define KUBE_FINALIZER "zonevac.dev/recovery"
#define KUBE_EVACUATIONS_PATH "/apis/zonevac.dev/v1alpha1/zonalevacuations"
#define KUBE_NODES_PATH "/api/v1/nodes"
#define KUBE_FIELD_MANAGER "zonevac"

/* GET of anything; `operation` labels the metrics: "GET namespaces". */
void kube_ask_get(struct arena *arena, const char *operation, const char *path, struct http_request *out);

/* JSON patch (RFC 6902) of `ops`, an array. Adds fieldManager. */
void kube_ask_json_patch(struct arena *arena, const char *operation, const char *path, const struct json *ops,
                         struct http_request *out);

/* One operation appended to a JSON patch; `value` NULL leaves it out (remove). */
void kube_patch_op(struct json *ops, struct arena *arena, const char *op, const char *path, struct json *value);

/* "zonevac.dev/x" to "zonevac.dev~1x": a key as a JSON pointer's token. */
const char *kube_pointer_token(struct arena *arena, const char *key);

/* The beginning of an object: apiVersion, kind, and in *metadata its name and namespace. */
struct json *kube_new_object(struct arena *arena, const char *api_version, const char *kind, const char *namespace_,
                             const char *name, struct json **metadata);

/* POST or PUT of a whole object. */
void kube_ask_write(struct arena *arena, const char *operation, const char *method, const char *path,
                    const struct json *object, struct http_request *out);

/*
 * Finalizer on and off, each guarded: `object` is the object as last seen. Add: tests resourceVersion. Remove: tests resourceVersion
 * and takes out ours only, wherever it stands.
 */
void kube_ask_add_finalizer(struct arena *arena, const struct json *object, struct http_request *out);
void kube_ask_remove_finalizer(struct arena *arena, const struct json *object, struct http_request *out);
bool kube_has_finalizer(const struct json *object);

/* Replace .status of a ZonalEvacuation whole, guarded by its uid, through the status subresource. */
void kube_ask_status(struct arena *arena, const char *name, const char *uid, const struct json *status,
                     struct http_request *out);

struct kube_event {
	const char *regarding_kind; /* "ZonalEvacuation", "Node" */
	const char *regarding_api_version;
	const char *regarding_name;
	const char *regarding_uid;
	const char *type;   /* "Normal", "Warning" */
	const char *reason; /* CamelCase */
	const char *action; /* "Evacuate", "Restore" */
	const char *note;   /* at most 1,024 bytes are sent */
	const char *reporting_instance;
};

/* events.k8s.io/v1, namespace default (the regarded objects are cluster-scoped). `unique` makes the name. */
void kube_ask_event(struct arena *arena, const struct kube_event *event, struct wallclock now, uint32_t unique,
                    struct http_request *out);

/*
 * As aws_check: true for a 2xx that is not a Status of Failure; else `error`, with the reason as its code. Bodies may
 * be text or HTML; where a Status has no reason, the status tells it.
 *
 *   401 ERROR_EXPIRED   403 ERROR_DENIED   404 ERROR_ABSENT   410, or reason Expired or Gone: ERROR_GONE
 *   409 ERROR_CONFLICT: code Conflict (somebody was faster) or AlreadyExists
 *   422 ERROR_REJECTED: code Invalid, or PatchTestFailed, no field named: a JSON patch did not fit what is there
 *   429 ERROR_THROTTLED: code TooManyRequests, or DisruptionBudget: a PodDisruptionBudget holds up an eviction
 *   403 with code NamespaceTerminating: nothing can be made any more in a namespace that is being deleted
 *   5xx ERROR_SERVER, the outcome of an effect is unknown; code ResourceVersionTooLarge: a server that lags behind
 *   other 4xx ERROR_REJECTED; 2xx that is text or a page, 3xx: ERROR_MALFORMED, something in between has answered
 *
 * retry_after_ms: of details.retryAfterSeconds or, above it, the header Retry-After; at most 10 min.
 */
bool kube_check(const struct http_response *response, struct error *error);

/* The same for a Status that came as an object of its own, as in a watch's ERROR event. Always false. */
bool kube_status_error(const struct json *status, struct error *error);

#endif
