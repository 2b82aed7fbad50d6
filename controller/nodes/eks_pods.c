#include "nodes/eks_pods.h"

#include <string.h>

#include "base/text.h"
#include "kube/objects.h"

#define PODS_PATH "/api/v1/pods"
#define VOLUMES_PATH "/api/v1/persistentvolumes"
#define PAGE_ITEMS 500
#define PAGE_DEADLINE_MS 30000
#define PAGE_MAX_BYTES ((size_t)64 << 20)
#define TOKEN_MAX_BYTES 16384
#define SCRATCH_ARENA_BYTES ((size_t)8 << 20)
/* The API server itself repeats a conflict on a budget for 10 s and more before it answers. */
#define EVICTION_DEADLINE_MS 35000
#define GRACE_OVER_MS 30000
#define NAME_MAX_BYTES 253
#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"

enum pod_fate eks_pod_fate(const struct pod *pod, bool node_ready, struct wallclock now)
{
	if (pod->finished || pod->mirror || text_equal(pod->owner_kind, "DaemonSet"))
		return POD_LEFT;
	if (pod->terminating) {
		bool over = pod->ends_at.us != 0 && now.us >= wallclock_after_ms(pod->ends_at, GRACE_OVER_MS).us;

		return !node_ready || over ? POD_STUCK : POD_LEAVING;
	}
	return pod->owner_kind == NULL ? POD_UNREPLICATED : POD_EVICTABLE;
}

const char *eks_pod_name(const struct pod *pod, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", pod->namespace_name, pod->name);
}

/* Lists. */

static void ask_page(struct arena *arena, const char *operation, const char *path, const char *selector,
                     const char *token, struct http_request *out)
{
	kube_ask_get(arena, operation, path, out);
	out->query = arena_printf(arena, "limit=%d%s", PAGE_ITEMS, selector);
	if (token != NULL)
		out->query = arena_printf(arena, "%s&continue=%s", out->query, text_percent(arena, token));
	out->deadline_ms = PAGE_DEADLINE_MS;
	out->max_response_bytes = PAGE_MAX_BYTES;
}

/* The items of a list of this kind, on the scratch arena's time; the token of the next page in `arena`. */
static bool read_page(struct arena *scratch, struct arena *arena, const struct http_response *response,
                      const char *kind, const struct json **items, const char **next, struct error *error)
{
	const struct json *page = json_parse(scratch, response->body, response->body_length, error);
	const char *token = json_path_string(page, "metadata.continue");

	if (page == NULL)
		return error_wrap(error, "%s", kind);
	*items = json_get(page, "items");
	/* A list of nothing may say null. */
	if (!text_equal(json_get_string(page, "kind"), kind) || (*items != NULL && json_type(*items) != JSON_ARRAY))
		return error_set(error, ERROR_MALFORMED, "the answer is not a %s of the API", kind);
	if (token != NULL && strlen(token) > TOKEN_MAX_BYTES)
		return error_set(error, ERROR_MALFORMED, "%s: the token of its next page is too long", kind);
	*next = token != NULL && *token != '\0' ? arena_string(arena, token) : NULL;
	return true;
}

/* Pods. */

void eks_pods_ask(struct arena *arena, const char *node, const char *token, struct http_request *out)
{
	const char *selector = arena_printf(arena, "&fieldSelector=spec.nodeName%%3D%s", text_percent(arena, node));

	ask_page(arena, "LIST pods", PODS_PATH, selector, token, out);
}

/* A pod has one controller at the most; other owners do not bring it back. */
static const struct json *controller_of(const struct json *owners)
{
	for (size_t i = 0; i < json_count(owners); i++) {
		if (json_bool(json_get(json_at(owners, i), "controller"), false))
			return json_at(owners, i);
	}
	return NULL;
}

static void read_claims(struct arena *arena, const struct json *volumes, struct pod *out)
{
	for (size_t i = 0; i < json_count(volumes); i++) {
		const char *claim = json_path_string(json_at(volumes, i), "persistentVolumeClaim.claimName");

		if (claim != NULL)
			string_list_add(&out->claims, arena, arena_printf(arena, "%s/%s", out->namespace_name, claim));
	}
}

static bool is_blank(const char *string)
{
	return string == NULL || *string == '\0';
}

static bool read_pod(struct arena *arena, const struct json *object, struct pod *out, struct error *error)
{
	const struct json *metadata = json_get(object, "metadata");
	const struct json *controller = controller_of(json_get(metadata, "ownerReferences"));
	const char *phase = json_path_string(object, "status.phase");
	const char *ends_at = json_get_string(metadata, "deletionTimestamp");

	*out = (struct pod){
		.namespace_name = arena_string(arena, json_get_string(metadata, "namespace")),
		.name = arena_string(arena, json_get_string(metadata, "name")),
		.uid = arena_string(arena, json_get_string(metadata, "uid")),
		.owner_kind = arena_string(arena, json_get_string(controller, "kind")),
		.owner_uid = arena_string(arena, json_get_string(controller, "uid")),
		.finished = text_equal(phase, "Succeeded") || text_equal(phase, "Failed"),
		.mirror = json_get(json_get(metadata, "annotations"), MIRROR_ANNOTATION) != NULL,
		.terminating = ends_at != NULL,
	};
	if (is_blank(out->namespace_name) || is_blank(out->name) || is_blank(out->uid))
		return error_set(error, ERROR_MALFORMED, "a pod without a namespace, a name or a uid");
	wallclock_parse(ends_at, &out->ends_at);
	read_claims(arena, json_path(object, "spec.volumes"), out);
	return true;
}

static bool read_pods(struct arena *arena, const struct json *items, struct pods *pods, struct error *error)
{
	for (size_t i = 0; i < json_count(items); i++) {
		pods->at = arena_grow(arena, pods->at, pods->count, &pods->capacity, sizeof *pods->at);
		if (!read_pod(arena, json_at(items, i), &pods->at[pods->count], error))
			return false;
		pods->count++;
	}
	return true;
}

bool eks_pods_hear(struct arena *arena, const struct http_response *response, struct pods *pods, const char **next,
                   struct error *error)
{
	struct pods heard = *pods;
	const struct json *items;
	struct arena scratch;
	bool good;

	arena_init(&scratch, "pods", SCRATCH_ARENA_BYTES);
	good =
		read_page(&scratch, arena, response, "PodList", &items, next, error) && read_pods(arena, items, &heard, error);
	arena_done(&scratch);
	if (!good)
		return false;
	if (!wallclock_parse_http(http_header(&response->headers, "Date"), &heard.as_of))
		heard.as_of = (struct wallclock){0};
	*pods = heard;
	return true;
}

/* Evictions. */

static struct json *eviction_json(struct arena *arena, const struct pod *pod)
{
	struct json *metadata;
	struct json *object = kube_new_object(arena, "policy/v1", "Eviction", pod->namespace_name, pod->name, &metadata);

	json_set_string(json_set_object(json_set_object(object, "deleteOptions"), "preconditions"), "uid", pod->uid);
	return object;
}

void eks_pod_ask_eviction(struct arena *arena, const struct pod *pod, struct http_request *out)
{
	const char *path = arena_printf(arena, "/api/v1/namespaces/%s/pods/%s/eviction",
	                                text_percent(arena, pod->namespace_name), text_percent(arena, pod->name));

	kube_ask_write(arena, "POST pods/eviction", "POST", path, eviction_json(arena, pod), out);
	out->deadline_ms = EVICTION_DEADLINE_MS;
}

/* NULL when it is not JSON at all; then it is not the API server that speaks. */
static const struct json *parse_answer(struct arena *scratch, const struct http_response *response)
{
	struct error ignored;

	return response->body_length > 0 ? json_parse(scratch, response->body, response->body_length, &ignored) : NULL;
}

static bool is_status(const struct json *answer)
{
	return text_equal(json_get_string(answer, "kind"), "Status");
}

/* The cause of this reason that a Status names, or NULL. */
static const struct json *cause_of(const struct json *status, const char *reason)
{
	const struct json *causes = json_path(status, "details.causes");

	for (size_t i = 0; i < json_count(causes); i++) {
		if (text_equal(json_get_string(json_at(causes, i), "reason"), reason))
			return json_at(causes, i);
	}
	return NULL;
}

/* Source: Kubernetes, pkg/registry/core/pod/storage/eviction.go: this case has no reason and no cause of its own. */
static bool has_several_budgets(const struct json *status)
{
	const char *message = json_get_string(status, "message");

	return message != NULL && strstr(message, "more than one PodDisruptionBudget") != NULL;
}

static enum eviction_answer hear_good(const struct http_response *response, const struct json *answer)
{
	if (text_equal(json_get_string(answer, "status"), "Failure"))
		return EVICTION_REFUSED;
	return response->body_length == 0 || json_type(answer) == JSON_OBJECT ? EVICTION_ACCEPTED : EVICTION_BUSY;
}

static enum eviction_answer hear_answer(const struct http_response *response, const struct json *answer)
{
	if (response->status >= 200 && response->status < 300)
		return hear_good(response, answer);
	switch (response->status) {
	case 404:
	case 409:
		/* What stands in between has pages of its own for these. */
		return is_status(answer) ? EVICTION_GONE : EVICTION_BUSY;
	case 429:
		return cause_of(answer, "DisruptionBudget") != NULL ? EVICTION_BUDGET : EVICTION_BUSY;
	case 403:
		/* Nothing is made any more in a namespace that ends, evictions included; its pods end with it. */
		return cause_of(answer, "NamespaceTerminating") != NULL ? EVICTION_ACCEPTED : EVICTION_REFUSED;
	case 401:
		return EVICTION_BUSY;
	case 500:
		return has_several_budgets(answer) ? EVICTION_REFUSED : EVICTION_BUSY;
	default:
		return response->status >= 400 && response->status < 500 ? EVICTION_REFUSED : EVICTION_BUSY;
	}
}

/* "The disruption budget web needs 3 healthy pods and has 3 currently": the name stands nowhere else. */
static const char *budget_of(struct arena *arena, const struct pod *pod, const char *message)
{
	static const char before[] = "The disruption budget ";
	const char *name = message != NULL && text_starts_with(message, before) ? message + strlen(before) : "";
	size_t length = strcspn(name, " ");

	if (length == 0 || length > NAME_MAX_BYTES || name[length] == '\0')
		return NULL;
	return arena_printf(arena, "%s/%.*s", pod->namespace_name, (int)length, name);
}

/* In the API server's words, made fit to be shown. */
static const char *why_of(struct arena *arena, const struct http_response *response, const char *cause)
{
	struct error error;

	if (cause != NULL)
		error_set(&error, ERROR_THROTTLED, "%s", cause);
	else if (kube_check(response, &error))
		error_set(&error, ERROR_MALFORMED, "the answer to the eviction is not one of the API (is a proxy in between?)");
	return arena_string(arena, error.message);
}

enum eviction_answer eks_pod_hear_eviction(struct arena *arena, const struct pod *pod,
                                           const struct http_response *response, const char **budget, const char **why)
{
	enum eviction_answer answer = EVICTION_BUSY;
	const char *cause = NULL;
	struct arena scratch;

	*budget = NULL;
	*why = NULL;
	arena_init(&scratch, "eviction", SCRATCH_ARENA_BYTES);
	if (response->status != 0 && response->error.kind == ERROR_NONE) {
		const struct json *said = parse_answer(&scratch, response);

		answer = hear_answer(response, said);
		if (answer == EVICTION_BUDGET)
			cause = json_get_string(cause_of(said, "DisruptionBudget"), "message");
	}
	if (answer == EVICTION_BUDGET)
		*budget = budget_of(arena, pod, cause);
	if (answer != EVICTION_ACCEPTED && answer != EVICTION_GONE)
		*why = why_of(arena, response, cause);
	arena_done(&scratch);
	return answer;
}

/* Volumes. */

void eks_volumes_ask(struct arena *arena, const char *token, struct http_request *out)
{
	ask_page(arena, "LIST persistentvolumes", VOLUMES_PATH, "", token, out);
}

/* What the zone is called under this label; NULL when the label does not tell zones, or the name is not known. */
static const char *zone_under(const struct scope *scope, const char *label)
{
	static const char *const named[] = {"topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone",
	                                    "failure-domain.beta.kubernetes.io/zone"};

	if (text_equal(label, "topology.k8s.aws/zone-id"))
		return scope->zone_id;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		if (text_equal(label, named[i]))
			return scope->zone_name;
	}
	return NULL;
}

/* Does it ask for the scope's zone, and for no other? */
static bool expression_pins(const struct scope *scope, const struct json *expression)
{
	const char *zone = zone_under(scope, json_get_string(expression, "key"));
	const struct json *values = json_get(expression, "values");

	if (zone == NULL || !text_equal(json_get_string(expression, "operator"), "In") || json_count(values) == 0)
		return false;
	for (size_t i = 0; i < json_count(values); i++) {
		if (!text_equal(json_string(json_at(values, i)), zone))
			return false;
	}
	return true;
}

/* The expressions of a term are ANDed: one is enough. */
static bool term_pins(const struct scope *scope, const struct json *term)
{
	const struct json *expressions = json_get(term, "matchExpressions");

	for (size_t i = 0; i < json_count(expressions); i++) {
		if (expression_pins(scope, json_at(expressions, i)))
			return true;
	}
	return false;
}

/* The terms are ORed: each must. */
static bool is_pinned(const struct scope *scope, const struct json *volume)
{
	const struct json *terms = json_path(volume, "spec.nodeAffinity.required.nodeSelectorTerms");

	for (size_t i = 0; i < json_count(terms); i++) {
		if (!term_pins(scope, json_at(terms, i)))
			return false;
	}
	return json_count(terms) > 0;
}

static void read_volumes(const struct scope *scope, struct arena *arena, const struct json *items,
                         struct string_list *claims)
{
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json *volume = json_at(items, i);
		const char *space = json_path_string(volume, "spec.claimRef.namespace");
		const char *name = json_path_string(volume, "spec.claimRef.name");

		/* A released one names a claim that is gone; a new claim of that name has another volume. */
		if (space != NULL && name != NULL && !text_equal(json_path_string(volume, "status.phase"), "Released") &&
		    is_pinned(scope, volume))
			string_list_add(claims, arena, arena_printf(arena, "%s/%s", space, name));
	}
}

bool eks_volumes_hear(const struct scope *scope, struct arena *arena, const struct http_response *response,
                      struct string_list *claims, const char **next, struct error *error)
{
	const struct json *items;
	struct arena scratch;
	bool good;

	arena_init(&scratch, "volumes", SCRATCH_ARENA_BYTES);
	good = read_page(&scratch, arena, response, "PersistentVolumeList", &items, next, error);
	if (good)
		read_volumes(scope, arena, items, claims);
	arena_done(&scratch);
	return good;
}
