#include "nodes/eks_node.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"

#define TAINT_EFFECT "NoSchedule"
#define LABEL_VALUE_MAX 63
#define LOOK_MAX 65536 /* answered out of the cache, so any number will do */
#define ANNOTATION_ARENA_BYTES ((size_t)8 << 20)
#define LABEL_ZONE_ID "topology.k8s.aws/zone-id"
#define LABEL_ZONE_NAME "topology.kubernetes.io/zone"
#define LABEL_COMPUTE_TYPE "eks.amazonaws.com/compute-type"
#define PATH_TAINTS "/spec/taints"
#define PATH_UNSCHEDULABLE "/spec/unschedulable"
#define PATH_ANNOTATIONS "/metadata/annotations"

/* What our annotation says. */
struct mark {
	const char *text; /* verbatim, as it must be tested; NULL = no annotation */
	bool readable;    /* the rest is there */
	const char *zone;
	const char *owner;
	const char *evacuation;
	const char *uid;
	const char *node;
	bool prior_unschedulable;
};

struct node_facts {
	const char *provider_id;
	const struct json *taints;        /* verbatim; NULL = the member is absent */
	const struct json *unschedulable; /* likewise */
	bool has_annotations;
	struct mark mark;
};

/* A node that could not be read has none, and then nothing is known of it. */
static const struct node_facts *facts_of(const struct resource *resource)
{
	static const struct node_facts none;

	return resource->facts != NULL ? resource->facts : &none;
}

static struct mark read_mark(struct arena *arena, const char *text)
{
	struct mark mark = {.text = arena_string(arena, text)};
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

bool eks_node_read(struct arena *arena, const char *owner, const struct json *object, struct resource *out,
                   struct error *error)
{
	const char *name = json_path_string(object, "metadata.name");
	const char *uid = json_path_string(object, "metadata.uid");
	const struct json *annotations = json_path(object, "metadata.annotations");
	struct node_facts *facts;

	if (name == NULL || *name == '\0' || uid == NULL || *uid == '\0')
		return error_set(error, ERROR_MALFORMED, "a node without a name or a uid");
	facts = ARENA_NEW(arena, struct node_facts);
	facts->provider_id = arena_string(arena, json_path_string(object, "spec.providerID"));
	facts->taints = json_copy(arena, json_path(object, "spec.taints"));
	facts->unschedulable = json_copy(arena, json_path(object, "spec.unschedulable"));
	facts->has_annotations = json_type(annotations) == JSON_OBJECT;
	facts->mark = read_mark(arena, json_get_string(annotations, EKS_NODE_ANNOTATION));
	*out = (struct resource){
		.kind = EKS_NODE_KIND,
		.id = arena_printf(arena, "%s/%s", owner, name),
		.name = arena_string(arena, name),
		.incarnation = arena_string(arena, uid),
		.tags = read_labels(arena, json_path(object, "metadata.labels")),
		.facts = facts,
	};
	string_list_add(&out->names, arena, out->name);
	return true;
}

/* "aws:///us-east-1a/i-0abc": what stands before the last slash, and what behind it. */
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

static bool is_fargate(const struct resource *resource)
{
	const char *zone;
	const char *instance;
	size_t zone_length;

	return text_equal(tags_get(&resource->tags, LABEL_COMPUTE_TYPE), "fargate") ||
	       (split_provider_id(facts_of(resource)->provider_id, &zone, &zone_length, &instance) &&
	        text_starts_with(instance, "fargate-"));
}

bool eks_node_in_zone(const struct scope *scope, const struct resource *resource, bool *known)
{
	const char *zone_id = tags_get(&resource->tags, LABEL_ZONE_ID);
	const char *zone_name = tags_get(&resource->tags, LABEL_ZONE_NAME);
	const char *zone;
	const char *instance;
	size_t length;

	*known = true;
	if (is_fargate(resource))
		return false;
	if (zone_id != NULL && *zone_id != '\0')
		return text_equal(zone_id, scope->zone_id);
	*known = scope->zone_name != NULL;
	if (*known && zone_name != NULL && *zone_name != '\0')
		return text_equal(zone_name, scope->zone_name);
	if (*known && split_provider_id(facts_of(resource)->provider_id, &zone, &length, &instance) && length > 0)
		return strlen(scope->zone_name) == length && strncmp(zone, scope->zone_name, length) == 0;
	*known = false;
	return false;
}

/* Is the annotation one that this owner wrote, for whatever zone? It travels with a node that is made anew from a dump. */
static bool is_marked_by_owner(const struct scope *scope, const struct resource *resource)
{
	const struct mark *mark = &facts_of(resource)->mark;

	return mark->readable && text_equal(mark->owner, scope->owner);
}

static bool is_marked(const struct scope *scope, const struct resource *resource)
{
	return is_marked_by_owner(scope, resource) && text_equal(facts_of(resource)->mark.zone, scope->zone_id);
}

static bool is_our_taint(const struct scope *scope, const struct json *taint)
{
	return text_equal(json_get_string(taint, "key"), EKS_NODE_TAINT) &&
	       text_equal(json_get_string(taint, "value"), scope->zone_id) &&
	       text_equal(json_get_string(taint, "effect"), TAINT_EFFECT);
}

static bool is_tainted(const struct scope *scope, const struct resource *resource)
{
	const struct json *taints = facts_of(resource)->taints;

	for (size_t i = 0; i < json_count(taints); i++) {
		if (is_our_taint(scope, json_at(taints, i)))
			return true;
	}
	return false;
}

static bool is_unschedulable(const struct resource *resource)
{
	return json_bool(facts_of(resource)->unschedulable, false);
}

/* In the order in which a person reads it in the annotation. */
static struct json *mark_json(struct arena *arena, const struct mark *mark)
{
	struct json *json = json_new_object(arena);

	json_set_string(json, "zone", mark->zone);
	json_set_string(json, "owner", mark->owner);
	json_set_string(json, "evacuation", mark->evacuation);
	json_set_string(json, "uid", mark->uid);
	json_set_string(json, "node", mark->node);
	json_set_bool(json, "priorUnschedulable", mark->prior_unschedulable);
	return json;
}

static struct mark new_mark(const struct scope *scope, const struct resource *resource)
{
	return (struct mark){
		.zone = scope->zone_id,
		.owner = scope->owner,
		.evacuation = scope->evacuation,
		.uid = scope->evacuation_uid,
		.node = resource->incarnation,
		.prior_unschedulable = is_unschedulable(resource),
	};
}

static struct change change_of(const struct resource *resource, const struct mark *mark, struct arena *arena)
{
	return (struct change){
		.kind = EKS_NODE_KIND,
		.id = resource->id,
		.name = resource->name,
		.incarnation = resource->incarnation, /* a node made anew from a dump brings its annotation along */
		.detail = mark_json(arena, mark),
	};
}

static void refuse(struct decision *out, enum guard guard, const char *reason)
{
	out->verdict = VERDICT_REFUSED;
	out->guard = guard;
	out->reason = reason;
}

static void node_plan(const struct scope *scope, const struct resource *resource, struct arena *arena,
                      struct decision *out)
{
	const struct mark *mark = &facts_of(resource)->mark;
	struct mark fresh = new_mark(scope, resource);
	bool known;

	*out = (struct decision){.verdict = VERDICT_NOTHING};
	if (!eks_node_in_zone(scope, resource, &known)) {
		if (!known)
			out->reason = "neither its labels nor its providerID tell its zone";
	} else if (is_marked_by_owner(scope, resource) && !is_marked(scope, resource)) {
		refuse(out, GUARD_OTHER_ZONE,
		       arena_printf(arena, "the node is held for zone %s; recover that zone first", mark->zone));
	} else if (mark->readable && !text_equal(mark->owner, scope->owner)) {
		refuse(
			out, GUARD_OTHER_CLUSTER,
			arena_printf(
				arena,
				"the node is held by another owner (%s); recover it there, or remove its annotation " EKS_NODE_ANNOTATION,
				mark->owner));
	} else if (!is_marked(scope, resource) || !is_tainted(scope, resource)) {
		out->verdict = VERDICT_CHANGE;
		out->change = change_of(resource, is_marked(scope, resource) ? mark : &fresh, arena);
	}
}

static enum stand node_compare(const struct scope *scope, const struct change *change, const struct resource *resource,
                               struct arena *arena)
{
	const struct mark *mark = &facts_of(resource)->mark;

	(void)arena;
	if (!text_equal(change->incarnation, resource->incarnation))
		return STAND_SUPERSEDED;
	/* Somebody else's annotation makes the taint theirs, too. */
	if (mark->readable && !is_marked(scope, resource))
		return STAND_BACK;
	return is_marked(scope, resource) || is_tainted(scope, resource) ? STAND_OUT : STAND_BACK;
}

static enum settling node_settled(const struct scope *scope, const struct change *change,
                                  const struct resource *resource, enum direction direction, struct arena *arena,
                                  const char **why)
{
	if (direction == DIRECTION_BACK) {
		if (node_compare(scope, change, resource, arena) != STAND_OUT)
			return SETTLING_DONE;
		*why = "the taint or the annotation is still there";
		return SETTLING_PENDING;
	}
	if (is_marked(scope, resource) && is_tainted(scope, resource))
		return SETTLING_DONE;
	*why = text_equal(change->incarnation, resource->incarnation) ? "the taint or the annotation is not there yet"
	                                                              : "the node was registered anew";
	return SETTLING_PENDING;
}

/* `test` of what is there now: the value, or null for a member that is absent. */
static void test(struct json *ops, struct arena *arena, const char *path, const struct json *value)
{
	kube_patch_op(ops, arena, "test", path, value != NULL ? json_copy(arena, value) : json_new_null(arena));
}

/* The taints without ours. A taint is unique by key and effect, so one with another value makes way as well. */
static struct json *other_taints(const struct resource *resource, struct arena *arena)
{
	const struct json *taints = facts_of(resource)->taints;
	struct json *others = json_new_array(arena);

	for (size_t i = 0; i < json_count(taints); i++) {
		const struct json *taint = json_at(taints, i);

		if (!text_equal(json_get_string(taint, "key"), EKS_NODE_TAINT) ||
		    !text_equal(json_get_string(taint, "effect"), TAINT_EFFECT))
			json_add(others, json_copy(arena, taint));
	}
	return others;
}

static void put_taint(const struct scope *scope, const struct resource *resource, struct arena *arena, struct json *ops)
{
	struct json *taints = other_taints(resource, arena);
	struct json *ours = json_new_object(arena);

	json_set_string(ours, "key", EKS_NODE_TAINT);
	json_set_string(ours, "value", scope->zone_id);
	json_set_string(ours, "effect", TAINT_EFFECT);
	json_add(taints, ours);
	test(ops, arena, PATH_TAINTS, facts_of(resource)->taints);
	kube_patch_op(ops, arena, "add", PATH_TAINTS, taints);
}

static const char *annotation_path(struct arena *arena)
{
	return arena_printf(arena, PATH_ANNOTATIONS "/%s", kube_pointer_token(arena, EKS_NODE_ANNOTATION));
}

static void test_annotation(const struct resource *resource, struct arena *arena, struct json *ops)
{
	test(ops, arena, annotation_path(arena), json_new_string(arena, facts_of(resource)->mark.text));
}

static void put_annotation(const struct scope *scope, const struct change *change, const struct resource *resource,
                           struct arena *arena, struct json *ops)
{
	struct mark mark = new_mark(scope, resource);

	/* What it was before us may be known from before somebody took our annotation off: our own cordon is no prior state. */
	mark.prior_unschedulable = json_bool(json_get(change->detail, "priorUnschedulable"), mark.prior_unschedulable);
	if (facts_of(resource)->has_annotations) {
		test_annotation(resource, arena, ops);
	} else {
		test(ops, arena, PATH_ANNOTATIONS, NULL);
		kube_patch_op(ops, arena, "add", PATH_ANNOTATIONS, json_new_object(arena));
	}
	kube_patch_op(ops, arena, "add", annotation_path(arena),
	              json_new_string(arena, json_print(mark_json(arena, &mark), arena)));
}

static void cordon(const struct resource *resource, struct arena *arena, struct json *ops)
{
	test(ops, arena, PATH_UNSCHEDULABLE, facts_of(resource)->unschedulable);
	if (!is_unschedulable(resource))
		kube_patch_op(ops, arena, "add", PATH_UNSCHEDULABLE, json_new_bool(arena, true));
}

static void take_out(const struct scope *scope, const struct change *change, const struct resource *resource,
                     struct arena *arena, struct json *ops)
{
	if (is_marked(scope, resource)) {
		test_annotation(resource, arena, ops);
	} else {
		put_annotation(scope, change, resource, arena, ops);
		/* Once: who uncordons it later means it. */
		cordon(resource, arena, ops);
	}
	if (!is_tainted(scope, resource))
		put_taint(scope, resource, arena, ops);
}

static void remove_taint(const struct resource *resource, struct arena *arena, struct json *ops)
{
	struct json *others = other_taints(resource, arena);

	test(ops, arena, PATH_TAINTS, facts_of(resource)->taints);
	if (json_count(others) > 0)
		kube_patch_op(ops, arena, "replace", PATH_TAINTS, others);
	else
		kube_patch_op(ops, arena, "remove", PATH_TAINTS, NULL);
}

static void put_back(const struct scope *scope, const struct change *change, const struct resource *resource,
                     struct arena *arena, struct json *ops)
{
	bool marked = is_marked(scope, resource);
	bool prior = marked ? facts_of(resource)->mark.prior_unschedulable
	                    : json_bool(json_get(change->detail, "priorUnschedulable"), true);

	if (is_tainted(scope, resource))
		remove_taint(resource, arena, ops);
	if (marked) {
		test_annotation(resource, arena, ops);
		kube_patch_op(ops, arena, "remove", annotation_path(arena), NULL);
	}
	if (!prior && is_unschedulable(resource)) {
		test(ops, arena, PATH_UNSCHEDULABLE, facts_of(resource)->unschedulable);
		kube_patch_op(ops, arena, "remove", PATH_UNSCHEDULABLE, NULL);
	}
}

static void node_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                        enum direction direction, struct arena *arena, struct http_request *out)
{
	struct json *ops = json_new_array(arena);

	assert(strlen(scope->zone_id) <= LABEL_VALUE_MAX);
	kube_patch_op(ops, arena, "test", "/metadata/uid", json_new_string(arena, change->incarnation));
	if (direction == DIRECTION_OUT)
		take_out(scope, change, resource, arena, ops);
	else
		put_back(scope, change, resource, arena, ops);
	kube_ask_json_patch(arena, "PATCH nodes",
	                    arena_printf(arena, KUBE_NODES_PATH "/%s", text_percent(arena, resource->name)), ops, out);
}

static bool node_carries(const struct scope *scope, const struct resource *resource, struct arena *arena,
                         struct change *out)
{
	const struct mark *mark = &facts_of(resource)->mark;

	if (!mark->readable || !text_equal(mark->owner, scope->owner) || !text_equal(mark->zone, scope->zone_id))
		return false;
	*out = change_of(resource, mark, arena);
	return true;
}

static void node_survey(const struct scope *scope, struct arena *arena, struct probes *out)
{
	(void)scope;
	(void)arena;
	(void)out;
}

static void node_look(const struct scope *scope, const struct change *const *changes, size_t count, struct arena *arena,
                      struct probes *out)
{
	(void)scope;
	(void)changes;
	(void)count;
	(void)arena;
	(void)out;
}

static bool node_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                       struct arena *arena, struct resources *resources, struct probes *further, struct error *error)
{
	(void)scope;
	(void)probe;
	(void)response;
	(void)arena;
	(void)resources;
	(void)further;
	return error_set(error, ERROR_MALFORMED, "nodes are read from the watch, not by asking");
}

const struct actuator eks_node = {
	.kind = EKS_NODE_KIND,
	.service = "kubernetes",
	.survey = node_survey,
	.look_max = LOOK_MAX,
	.look = node_look,
	.learn = node_learn,
	.plan = node_plan,
	.compare = node_compare,
	.settled = node_settled,
	.update = node_update,
	.carries = node_carries,
};
