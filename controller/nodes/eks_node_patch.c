/* The patches that take a node out and put it back. */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "eks_node_internal.h"
#include "kube/objects.h"

#define NO_SCHEDULE "NoSchedule"
#define NO_EXECUTE "NoExecute"
#define LABEL_VALUE_MAX 63
#define PATH_TAINTS "/spec/taints"
#define PATH_UNSCHEDULABLE "/spec/unschedulable"
#define PATH_ANNOTATIONS "/metadata/annotations"

/* Of our key, with an effect that we use: a taint is unique by both, so one with another value must make way. */
static bool is_of_our_key(const struct json *taint)
{
	const char *effect = json_get_string(taint, "effect");

	return text_equal(json_get_string(taint, "key"), EKS_NODE_TAINT) &&
	       (text_equal(effect, NO_SCHEDULE) || text_equal(effect, NO_EXECUTE));
}

/* `effect` NULL: any. */
static bool has_taint_of(const struct scope *scope, const struct resource *resource, const char *effect)
{
	const struct json *taints = node_facts_of(resource)->taints;

	for (size_t i = 0; i < json_count(taints); i++) {
		const struct json *taint = json_at(taints, i);

		if (is_of_our_key(taint) && text_equal(json_get_string(taint, "value"), scope->zone_id) &&
		    (effect == NULL || text_equal(json_get_string(taint, "effect"), effect)))
			return true;
	}
	return false;
}

bool node_has_taint(const struct scope *scope, const struct resource *resource)
{
	return has_taint_of(scope, resource, NULL);
}

bool node_is_tainted(const struct scope *scope, const struct resource *resource)
{
	return has_taint_of(scope, resource, NO_SCHEDULE) &&
	       (scope->eviction != EVICTION_TAINT || has_taint_of(scope, resource, NO_EXECUTE));
}

/* In the order in which a person reads it in the annotation. */
struct json *node_mark_json(struct arena *arena, const struct node_mark *mark)
{
	struct json *json = json_new_object(arena);

	json_set_string(json, "zone", mark->zone);
	json_set_string(json, "owner", mark->owner);
	json_set_string(json, "evacuation", mark->evacuation);
	json_set_string(json, "uid", mark->uid);
	json_set_string(json, "node", mark->node);
	json_set_bool(json, "priorUnschedulable", mark->prior_unschedulable);
	json_set_string(json, "at", mark->at);
	json_set_string(json, "drain", mark->drain);
	return json;
}

struct node_mark node_mark_new(const struct scope *scope, const struct resource *resource)
{
	return (struct node_mark){
		.zone = scope->zone_id,
		.owner = scope->owner,
		.evacuation = scope->evacuation,
		.uid = scope->evacuation_uid,
		.node = resource->incarnation,
		.prior_unschedulable = node_is_unschedulable(resource),
	};
}

/* `test` of what is there now: the value, or null for a member that is absent. */
static void test(struct json *ops, struct arena *arena, const char *path, const struct json *value)
{
	kube_patch_op(ops, arena, "test", path, value != NULL ? json_copy(arena, value) : json_new_null(arena));
}

/* The taints without ours. */
static struct json *other_taints(const struct resource *resource, struct arena *arena)
{
	const struct json *taints = node_facts_of(resource)->taints;
	struct json *others = json_new_array(arena);

	for (size_t i = 0; i < json_count(taints); i++) {
		if (!is_of_our_key(json_at(taints, i)))
			json_add(others, json_copy(arena, json_at(taints, i)));
	}
	return others;
}

static void add_taint(const struct scope *scope, const char *effect, struct arena *arena, struct json *taints)
{
	struct json *ours = json_new_object(arena);

	json_set_string(ours, "key", EKS_NODE_TAINT);
	json_set_string(ours, "value", scope->zone_id);
	json_set_string(ours, "effect", effect);
	json_add(taints, ours);
}

static void put_taints(const struct scope *scope, const struct resource *resource, struct arena *arena,
                       struct json *ops)
{
	struct json *taints = other_taints(resource, arena);

	add_taint(scope, NO_SCHEDULE, arena, taints);
	/* Once there it stays until recovery: what it ended would otherwise come back. */
	if (scope->eviction == EVICTION_TAINT || has_taint_of(scope, resource, NO_EXECUTE))
		add_taint(scope, NO_EXECUTE, arena, taints);
	test(ops, arena, PATH_TAINTS, node_facts_of(resource)->taints);
	kube_patch_op(ops, arena, "add", PATH_TAINTS, taints);
}

static const char *annotation_path(struct arena *arena)
{
	return arena_printf(arena, PATH_ANNOTATIONS "/%s", kube_pointer_token(arena, EKS_NODE_ANNOTATION));
}

static void test_annotation(const struct resource *resource, struct arena *arena, struct json *ops)
{
	test(ops, arena, annotation_path(arena), json_new_string(arena, node_facts_of(resource)->mark.text));
}

static void write_mark(const struct node_mark *mark, struct arena *arena, struct json *ops)
{
	kube_patch_op(ops, arena, "add", annotation_path(arena),
	              json_new_string(arena, json_print(node_mark_json(arena, mark), arena)));
}

static void put_annotation(const struct scope *scope, const struct change *change, const struct resource *resource,
                           struct arena *arena, struct json *ops)
{
	struct node_mark mark = node_mark_new(scope, resource);

	/* What it was before us may be known from before somebody took our annotation off: our own cordon is no prior state. */
	mark.prior_unschedulable = json_bool(json_get(change->detail, "priorUnschedulable"), mark.prior_unschedulable);
	if (scope->now.us != 0)
		mark.at = wallclock_rfc3339(scope->now, arena);
	if (scope->drained_since.us != 0)
		mark.drain = wallclock_rfc3339(scope->drained_since, arena);
	if (node_facts_of(resource)->has_annotations) {
		test_annotation(resource, arena, ops);
	} else {
		test(ops, arena, PATH_ANNOTATIONS, NULL);
		kube_patch_op(ops, arena, "add", PATH_ANNOTATIONS, json_new_object(arena));
	}
	write_mark(&mark, arena, ops);
}

/* Marked before: only since when it is drained is added. */
static void put_drain(const struct scope *scope, const struct resource *resource, struct arena *arena, struct json *ops)
{
	struct node_mark mark = node_facts_of(resource)->mark;

	mark.drain = wallclock_rfc3339(scope->drained_since, arena);
	write_mark(&mark, arena, ops);
}

static void cordon(const struct resource *resource, struct arena *arena, struct json *ops)
{
	test(ops, arena, PATH_UNSCHEDULABLE, node_facts_of(resource)->unschedulable);
	if (!node_is_unschedulable(resource))
		kube_patch_op(ops, arena, "add", PATH_UNSCHEDULABLE, json_new_bool(arena, true));
}

static void take_out(const struct scope *scope, const struct change *change, const struct resource *resource,
                     struct arena *arena, struct json *ops)
{
	if (node_is_marked(scope, resource)) {
		test_annotation(resource, arena, ops);
		if (!node_mark_is_whole(scope, resource))
			put_drain(scope, resource, arena, ops);
	} else {
		put_annotation(scope, change, resource, arena, ops);
		/* Once: who uncordons it later means it. */
		cordon(resource, arena, ops);
	}
	if (!node_is_tainted(scope, resource))
		put_taints(scope, resource, arena, ops);
}

static void remove_taints(const struct resource *resource, struct arena *arena, struct json *ops)
{
	struct json *others = other_taints(resource, arena);

	test(ops, arena, PATH_TAINTS, node_facts_of(resource)->taints);
	if (json_count(others) > 0)
		kube_patch_op(ops, arena, "replace", PATH_TAINTS, others);
	else
		kube_patch_op(ops, arena, "remove", PATH_TAINTS, NULL);
}

static void put_back(const struct scope *scope, const struct change *change, const struct resource *resource,
                     struct arena *arena, struct json *ops)
{
	bool marked = node_is_marked(scope, resource);
	bool prior = marked ? node_facts_of(resource)->mark.prior_unschedulable
	                    : json_bool(json_get(change->detail, "priorUnschedulable"), true);

	if (node_has_taint(scope, resource))
		remove_taints(resource, arena, ops);
	if (marked) {
		test_annotation(resource, arena, ops);
		kube_patch_op(ops, arena, "remove", annotation_path(arena), NULL);
	}
	if (!prior && node_is_unschedulable(resource)) {
		test(ops, arena, PATH_UNSCHEDULABLE, node_facts_of(resource)->unschedulable);
		kube_patch_op(ops, arena, "remove", PATH_UNSCHEDULABLE, NULL);
	}
}

void node_update(const struct scope *scope, const struct change *change, const struct resource *resource,
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
