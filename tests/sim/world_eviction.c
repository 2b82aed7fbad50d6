/*
 * The API of pods: list by node, get, evict.
 */
#include "world_pods.h"

#include <string.h>

#define PAGE 4
#define SELECTOR "spec.nodeName="

static struct json *owner_json(struct arena *arena, const struct pod *pod)
{
	struct json *owner = json_new_object(arena);
	json_set_string(owner, "apiVersion", pod->mirror ? "v1" : "apps/v1");
	json_set_string(owner, "kind", pod->mirror ? "Node" : pod->owner_kind);
	json_set_string(owner, "name", pod->mirror ? pod->node : pod->owner);
	json_set_string(owner, "uid", arena_printf(arena, "uid-of-%s", pod->mirror ? pod->node : pod->owner));
	json_set_bool(owner, "controller", true);
	return owner;
}

static void set_metadata(struct json *object, struct arena *arena, const struct pod *pod)
{
	struct json *metadata = json_set_object(object, "metadata");
	json_set_string(metadata, "namespace", pod->namespace_);
	json_set_string(metadata, "name", pod->name);
	json_set_string(metadata, "uid", pod->uid);
	json_set_string(metadata, "resourceVersion", "1");
	json_set_string(metadata, "creationTimestamp", wallclock_rfc3339(pod->made, arena));
	if (pod->terminating) {
		json_set_string(metadata, "deletionTimestamp", wallclock_rfc3339(pod->ends_at, arena));
		json_set_integer(metadata, "deletionGracePeriodSeconds", pod->grace_s);
	}
	if (pod->mirror)
		json_set_string(json_set_object(metadata, "annotations"), "kubernetes.io/config.mirror", "hash");
	if (pod->mirror || pod->owner_kind[0] != '\0')
		json_add(json_set_array(metadata, "ownerReferences"), owner_json(arena, pod));
}

static void set_spec(struct json *object, struct arena *arena, const struct pod *pod)
{
	struct json *spec = json_set_object(object, "spec");
	if (pod->node[0] != '\0')
		json_set_string(spec, "nodeName", pod->node);
	json_set_integer(spec, "terminationGracePeriodSeconds", pod->grace_s);
	if (pod->mirror || strcmp(pod->owner_kind, "DaemonSet") == 0) {
		struct json *toleration = json_new_object(arena);
		json_set_string(toleration, "operator", "Exists");
		json_add(json_set_array(spec, "tolerations"), toleration);
	}
	if (pod->claim[0] == '\0')
		return;
	struct json *volume = json_new_object(arena);
	json_set_string(volume, "name", "data");
	json_set_string(json_set_object(volume, "persistentVolumeClaim"), "claimName", pod->claim);
	json_add(json_set_array(spec, "volumes"), volume);
}

static struct json *pod_json(struct arena *arena, const struct pod *pod)
{
	struct json *object = json_new_object(arena);
	json_set_string(object, "kind", "Pod");
	json_set_string(object, "apiVersion", "v1");
	set_metadata(object, arena, pod);
	set_spec(object, arena, pod);
	const char *phase = pod->finished ? "Succeeded" : pod->node[0] != '\0' ? "Running" : "Pending";
	json_set_string(json_set_object(object, "status"), "phase", phase);
	return object;
}

const struct json *world_pod(struct world *world, const char *namespace_, const char *name)
{
	const struct pod *pod = pod_find(world, namespace_, name);
	return pod != NULL ? pod_json(&world->looks, pod) : NULL;
}

static void answer(struct sim_call *call, int status, const struct json *body)
{
	call->answer = (struct sim_answer){status, "application/json", json_print(body, &call->arena), ERROR_NONE};
}

/* What "fieldSelector=spec.nodeName%3Dnode" asks for; NULL = all nodes. */
static const char *selected_node(struct world *world, struct sim_call *call)
{
	const char *selector = sim_query_get(&call->arena, call->request.query, "fieldSelector");
	if (selector == NULL)
		return NULL;
	selector = sim_percent_decode(&call->arena, selector);
	if (!text_starts_with(selector, SELECTOR))
		sim_broken(world, "pods by %s are not served", selector);
	return selector + strlen(SELECTOR);
}

static void serve_list(struct world *world, struct sim_call *call, const char *namespace_)
{
	struct arena *arena = &call->arena;
	const struct sim_pods *pods = world->pods;
	const char *node = selected_node(world, call);
	size_t i;
	if (!sim_page_token(sim_query_get(arena, call->request.query, "continue"), &i)) {
		sim_kube_status(call, 400, "BadRequest", "continue key is not valid");
		return;
	}
	struct json *list = json_new_object(arena);
	json_set_string(list, "kind", "PodList");
	json_set_string(list, "apiVersion", "v1");
	struct json *metadata = json_set_object(list, "metadata");
	struct json *items = json_set_array(list, "items");
	json_set_string(metadata, "resourceVersion",
	                arena_printf(arena, "%llu", (unsigned long long)sim_kube_version(world)));
	for (; i < pods->count; i++) {
		const struct pod *pod = pods->at[i];
		if (pod->gone || (node != NULL && strcmp(pod->node, node) != 0) ||
		    (namespace_[0] != '\0' && strcmp(pod->namespace_, namespace_) != 0))
			continue;
		if (json_count(items) == PAGE) {
			json_set_string(metadata, "continue", arena_printf(arena, "page-%zu", i));
			break;
		}
		json_add(items, pod_json(arena, pod));
	}
	answer(call, 200, list);
}

static void answer_success(struct sim_call *call)
{
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "kind", "Status");
	json_set_string(body, "apiVersion", "v1");
	json_set_object(body, "metadata");
	json_set_string(body, "status", "Success");
	json_set_integer(body, "code", 201);
	answer(call, 201, body);
}

static void answer_refused(struct sim_call *call, const struct budget *budget)
{
	struct arena *arena = &call->arena;
	struct json *body = json_new_object(arena);
	struct json *cause = json_new_object(arena);
	json_set_string(body, "kind", "Status");
	json_set_string(body, "apiVersion", "v1");
	json_set_object(body, "metadata");
	json_set_string(body, "status", "Failure");
	json_set_string(body, "message", "Cannot evict pod as it would violate the pod's disruption budget.");
	json_set_string(body, "reason", "TooManyRequests");
	json_set_string(cause, "reason", "DisruptionBudget");
	json_set_string(
		cause, "message",
		arena_printf(arena, "The disruption budget %s needs 2 healthy pods and has 2 currently", budget->name));
	json_add(json_set_array(json_set_object(body, "details"), "causes"), cause);
	json_set_integer(body, "code", 429);
	answer(call, 429, body);
	call->no_retry_after = true;
}

/* The API server hands out a failure as an object like any other: the HTTP status says created. */
static void answer_ambiguous(struct sim_call *call)
{
	sim_kube_status(call, 500, "",
	                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
	call->answer.status = 201;
}

static size_t budgets_of(struct world *world, const struct pod *pod, struct budget **out)
{
	size_t count = 0;
	for (size_t i = 0; i < world->pods->budget_count; i++) {
		struct budget *budget = &world->pods->budgets[i];
		if (strcmp(budget->namespace_, pod->namespace_) == 0 && strcmp(budget->owner, pod->owner) == 0) {
			*out = budget;
			count++;
		}
	}
	return count;
}

static void check_evictable(struct world *world, const struct sim_call *call, const struct pod *pod)
{
	const char *name = arena_printf(&world->scratch, "%s/%s", pod->namespace_, pod->name);
	if (pod->mirror || strcmp(pod->owner_kind, "DaemonSet") == 0)
		sim_broken(world, "%s is evicted, which is a DaemonSet's or a mirror", name);
	if (pod->owner_kind[0] == '\0' && !pod->finished && !world->unreplicated_allowed)
		sim_broken(world, "%s is evicted, and nobody brings it back", name);
	if (pod->node[0] != '\0')
		sim_check_eviction(world, name, pod->node, call->abandoned);
}

static void evict(struct world *world, struct sim_call *call, struct pod *pod)
{
	struct budget *budget = NULL;
	size_t budgets = budgets_of(world, pod, &budget);
	bool past_budgets = pod->finished || pod->terminating || pod->node[0] == '\0';
	if (!past_budgets && budgets > 1) {
		answer_ambiguous(call);
		return;
	}
	if (!past_budgets && budgets == 1 && budget->out >= budget->allowed) {
		answer_refused(call, budget);
		return;
	}
	if (!past_budgets && budgets == 1) {
		budget->out++;
		pod->owes = budget;
	}
	world->pods->evictions += !pod->terminating;
	sim_note(world, "pod %s/%s is evicted from %s", pod->namespace_, pod->name, pod->node);
	pod_terminate(world, pod);
	answer_success(call);
}

static void serve_eviction(struct world *world, struct sim_call *call, struct pod *pod)
{
	struct error error;
	const struct json *body = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	const char *uid = json_path_string(body, "deleteOptions.preconditions.uid");
	if (!text_equal(json_path_string(body, "metadata.name"), pod->name)) {
		sim_kube_status(call, 400, "BadRequest", "name in URL does not match name in Eviction object");
		return;
	}
	if (uid == NULL)
		sim_broken(world, "pod %s is evicted by its name alone", pod->name);
	if (strcmp(uid, pod->uid) != 0) {
		sim_kube_status(call, 409, "Conflict",
		                arena_printf(&call->arena,
		                             "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
		                             pod->uid));
		return;
	}
	check_evictable(world, call, pod);
	evict(world, call, pod);
}

void sim_pods_serve(struct world *world, struct sim_call *call, const char *namespace_, const char *name,
                    const char *subresource)
{
	const char *method = call->request.method;
	struct pod *pod = name != NULL ? pod_find(world, namespace_, name) : NULL;
	bool reads = strcmp(method, "GET") == 0;
	if (name == NULL && reads)
		serve_list(world, call, namespace_);
	else if (name != NULL && pod == NULL)
		sim_kube_status(call, 404, "NotFound", arena_printf(&call->arena, "pods \"%s\" not found", name));
	else if (pod != NULL && subresource == NULL && reads)
		answer(call, 200, pod_json(&call->arena, pod));
	else if (pod != NULL && text_equal(subresource, "eviction") && strcmp(method, "POST") == 0)
		serve_eviction(world, call, pod);
	else
		sim_kube_status(call, 405, "MethodNotAllowed", "not served here");
}
