/* What is read of a node, and what that says. */
#include <string.h>

#include "base/text.h"
#include "eks_node_internal.h"

#define ANNOTATION_ARENA_BYTES ((size_t)8 << 20)
#define LABEL_ZONE_ID "topology.k8s.aws/zone-id"
#define LABEL_ZONE_NAME "topology.kubernetes.io/zone"
#define LABEL_COMPUTE_TYPE "eks.amazonaws.com/compute-type"
#define TAINT_VIRTUAL "virtual-kubelet.io/provider"

const struct node_facts *node_facts_of(const struct resource *resource)
{
	static const struct node_facts none;

	return resource->facts != NULL ? resource->facts : &none;
}

static struct node_mark read_mark(struct arena *arena, const char *text)
{
	struct node_mark mark = {.text = arena_string(arena, text)};
	struct arena scratch;
	struct error ignored;
	const struct json *json;

	if (text == NULL)
		return mark;
	arena_init(&scratch, "node annotation", ANNOTATION_ARENA_BYTES);
	json = json_parse(&scratch, text, strlen(text), &ignored);
	mark.zone = arena_string(arena, json_get_string(json, "zone"));
	mark.owner = arena_string(arena, json_get_string(json, "owner"));
	mark.evacuation = arena_string(arena, json_get_string(json, "evacuation"));
	mark.uid = arena_string(arena, json_get_string(json, "uid"));
	mark.node = arena_string(arena, json_get_string(json, "node"));
	mark.prior_unschedulable = json_bool(json_get(json, "priorUnschedulable"), false);
	mark.at = arena_string(arena, json_get_string(json, "at"));
	mark.drain = arena_string(arena, json_get_string(json, "drain"));
	/* Those of earlier versions do not say when. */
	mark.readable = mark.zone != NULL && mark.owner != NULL && mark.uid != NULL && mark.node != NULL &&
	                json_type(json_get(json, "priorUnschedulable")) == JSON_BOOL;
	arena_done(&scratch);
	return mark;
}

static struct tags read_labels(struct arena *arena, const struct json *labels)
{
	size_t count = json_count(labels);
	struct tags tags = {arena_array(arena, count, sizeof *tags.at), 0, count};

	for (size_t i = 0; i < count; i++) {
		const char *key = NULL;
		const char *value = json_string(json_member(labels, i, &key));

		if (value != NULL)
			tags.at[tags.count++] = (struct tag){arena_string(arena, key), arena_string(arena, value)};
	}
	return tags;
}

static bool read_ready(const struct json *conditions)
{
	for (size_t i = 0; i < json_count(conditions); i++) {
		if (text_equal(json_get_string(json_at(conditions, i), "type"), "Ready"))
			return text_equal(json_get_string(json_at(conditions, i), "status"), "True");
	}
	return false;
}

static const struct node_facts *read_facts(struct arena *arena, const struct json *object)
{
	const struct json *annotations = json_path(object, "metadata.annotations");
	struct node_facts *facts = ARENA_NEW(arena, struct node_facts);

	facts->provider_id = arena_string(arena, json_path_string(object, "spec.providerID"));
	facts->taints = json_copy(arena, json_path(object, "spec.taints"));
	facts->unschedulable = json_copy(arena, json_path(object, "spec.unschedulable"));
	facts->has_annotations = json_type(annotations) == JSON_OBJECT;
	facts->mark = read_mark(arena, json_get_string(annotations, EKS_NODE_ANNOTATION));
	facts->ready = read_ready(json_path(object, "status.conditions"));
	wallclock_parse(json_path_string(object, "metadata.creationTimestamp"), &facts->created_at);
	return facts;
}

bool eks_node_read(struct arena *arena, const char *owner, const struct json *object, struct resource *out,
                   struct error *error)
{
	const char *name = json_path_string(object, "metadata.name");
	const char *uid = json_path_string(object, "metadata.uid");
	const char *instance;

	if (name == NULL || *name == '\0' || uid == NULL || *uid == '\0')
		return error_set(error, ERROR_MALFORMED, "a node without a name or a uid");
	*out = (struct resource){
		.kind = EKS_NODE_KIND,
		.id = arena_printf(arena, "%s/%s", owner, name),
		.name = arena_string(arena, name),
		.incarnation = arena_string(arena, uid),
		.tags = read_labels(arena, json_path(object, "metadata.labels")),
		.facts = read_facts(arena, object),
	};
	string_list_add(&out->names, arena, out->name);
	instance = eks_node_instance(out, arena);
	if (instance != NULL)
		string_list_add(&out->instances, arena, instance);
	return true;
}

/* "aws:///us-east-1a/i-0abc": what stands before the first slash, and what behind the last one. */
static bool split_provider_id(const char *provider_id, const char **zone, size_t *zone_length, const char **instance)
{
	const char *path =
		provider_id != NULL && text_starts_with(provider_id, "aws:///") ? provider_id + strlen("aws:///") : NULL;
	const char *slash = path != NULL ? strchr(path, '/') : NULL;

	if (slash == NULL)
		return false;
	*zone = path;
	*zone_length = (size_t)(slash - path);
	*instance = strrchr(path, '/') + 1;
	return true;
}

/* Source: Kubernetes, cloud-provider-aws, providers/v1/instances.go: the bare id is one of its forms, too. */
const char *eks_node_instance(const struct resource *resource, struct arena *arena)
{
	const char *provider_id = node_facts_of(resource)->provider_id;
	const char *instance = provider_id != NULL ? provider_id : "";
	const char *zone;
	size_t zone_length;

	split_provider_id(provider_id, &zone, &zone_length, &instance);
	return text_starts_with(instance, "i-") && strchr(instance, '/') == NULL ? arena_string(arena, instance) : NULL;
}

static bool is_fargate(const struct resource *resource)
{
	const char *zone;
	const char *instance;
	size_t zone_length;

	return text_equal(tags_get(&resource->tags, LABEL_COMPUTE_TYPE), "fargate") ||
	       (split_provider_id(node_facts_of(resource)->provider_id, &zone, &zone_length, &instance) &&
	        text_starts_with(instance, "fargate-"));
}

static bool is_virtual(const struct resource *resource)
{
	const struct json *taints = node_facts_of(resource)->taints;

	for (size_t i = 0; i < json_count(taints); i++) {
		if (text_equal(json_get_string(json_at(taints, i), "key"), TAINT_VIRTUAL))
			return true;
	}
	return text_equal(tags_get(&resource->tags, "type"), "virtual-kubelet");
}

static bool is_hybrid(const struct resource *resource)
{
	const char *provider_id = node_facts_of(resource)->provider_id;

	return provider_id != NULL && text_starts_with(provider_id, "eks-hybrid:///");
}

bool eks_node_is_movable(const struct resource *resource)
{
	return !is_fargate(resource) && !is_virtual(resource) && !is_hybrid(resource);
}

const char *eks_node_zone(const struct resource *resource)
{
	const char *zone = tags_get(&resource->tags, LABEL_ZONE_ID);

	if (zone == NULL || *zone == '\0')
		zone = tags_get(&resource->tags, LABEL_ZONE_NAME);
	return zone != NULL && *zone != '\0' ? zone : NULL;
}

bool eks_node_in_zone(const struct scope *scope, const struct resource *resource, bool *known)
{
	const char *zone_id = tags_get(&resource->tags, LABEL_ZONE_ID);
	const char *zone_name = tags_get(&resource->tags, LABEL_ZONE_NAME);
	const char *zone;
	const char *instance;
	size_t length;

	*known = true;
	if (!eks_node_is_movable(resource))
		return false;
	if (zone_id != NULL && *zone_id != '\0')
		return text_equal(zone_id, scope->zone_id);
	*known = scope->zone_name != NULL;
	if (*known && zone_name != NULL && *zone_name != '\0')
		return text_equal(zone_name, scope->zone_name);
	if (*known && split_provider_id(node_facts_of(resource)->provider_id, &zone, &length, &instance) && length > 0)
		return strlen(scope->zone_name) == length && strncmp(zone, scope->zone_name, length) == 0;
	*known = false;
	return false;
}

bool eks_node_is_ready(const struct resource *resource)
{
	return node_facts_of(resource)->ready;
}

struct wallclock eks_node_created_at(const struct resource *resource)
{
	return node_facts_of(resource)->created_at;
}

const char *eks_node_provider(const struct resource *resource, struct arena *arena)
{
	static const struct {
		const char *label;
		const char *what;
	} known[] = {
		{"karpenter.sh/nodepool", "NodePool"},
		{"eks.amazonaws.com/nodegroup", "node group"},
		{"alpha.eksctl.io/nodegroup-name", "node group"},
		{"karpenter.sh/provisioner-name", "Provisioner"},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const char *name = tags_get(&resource->tags, known[i].label);

		if (name != NULL && *name != '\0')
			return arena_printf(arena, "%s %s", known[i].what, name);
	}
	return text_equal(tags_get(&resource->tags, LABEL_COMPUTE_TYPE), "auto") ? "EKS Auto Mode" : NULL;
}

bool node_is_unschedulable(const struct resource *resource)
{
	return json_bool(node_facts_of(resource)->unschedulable, false);
}

bool node_is_marked_by_owner(const struct scope *scope, const struct resource *resource)
{
	const struct node_mark *mark = &node_facts_of(resource)->mark;

	return mark->readable && text_equal(mark->owner, scope->owner);
}

bool node_is_marked(const struct scope *scope, const struct resource *resource)
{
	return node_is_marked_by_owner(scope, resource) && text_equal(node_facts_of(resource)->mark.zone, scope->zone_id);
}

/* A time that the scope's mark tells, `text`; 0 = it does not, or there is no such mark. */
static struct wallclock marked_time(const struct scope *scope, const struct resource *resource, const char *text)
{
	struct wallclock at = {0};

	if (node_is_marked(scope, resource))
		wallclock_parse(text, &at);
	return at;
}

struct wallclock eks_node_marked_at(const struct scope *scope, const struct resource *resource)
{
	return marked_time(scope, resource, node_facts_of(resource)->mark.at);
}

struct wallclock eks_node_drained_since(const struct scope *scope, const struct resource *resource)
{
	return marked_time(scope, resource, node_facts_of(resource)->mark.drain);
}

bool node_mark_is_whole(const struct scope *scope, const struct resource *resource)
{
	return node_is_marked(scope, resource) &&
	       (scope->drained_since.us == 0 || node_facts_of(resource)->mark.drain != NULL);
}

bool eks_node_is_marked_by(const struct scope *scope, const struct resource *resource)
{
	return node_is_marked(scope, resource) && text_equal(node_facts_of(resource)->mark.uid, scope->evacuation_uid);
}
