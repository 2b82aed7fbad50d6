#include "nodes/eks_node.h"

#include "base/text.h"
#include "eks_node_internal.h"

#define LOOK_MAX 1 /* a list of its pods each */

static struct change change_of(const struct resource *resource, const struct node_mark *mark, struct arena *arena)
{
	return (struct change){
		.kind = EKS_NODE_KIND,
		.id = resource->id,
		.name = resource->name,
		.incarnation = resource->incarnation, /* a node made anew from a dump brings its annotation along */
		.detail = node_mark_json(arena, mark),
	};
}

static void node_plan(const struct scope *scope, const struct resource *resource, struct arena *arena,
                      struct decision *out)
{
	const struct node_mark *mark = &node_facts_of(resource)->mark;
	struct node_mark fresh = node_mark_new(scope, resource);
	bool known;

	*out = (struct decision){.verdict = VERDICT_NOTHING};
	if (!eks_node_in_zone(scope, resource, &known)) {
		if (!known)
			out->reason = "neither its labels nor its providerID tell its zone";
	} else if (node_is_marked_by_owner(scope, resource) && !node_is_marked(scope, resource)) {
		decision_refuse(out, GUARD_OTHER_ZONE,
		                arena_printf(arena, "the node is held for zone %s; recover that zone first", mark->zone));
	} else if (mark->readable && !text_equal(mark->owner, scope->owner)) {
		decision_refuse(
			out, GUARD_OTHER_CLUSTER,
			arena_printf(
				arena,
				"the node is held by another owner (%s); recover it there, or remove its annotation " EKS_NODE_ANNOTATION,
				mark->owner));
	} else if (!node_mark_is_whole(scope, resource) || !node_is_tainted(scope, resource)) {
		out->verdict = VERDICT_CHANGE;
		out->change = change_of(resource, node_is_marked(scope, resource) ? mark : &fresh, arena);
	}
}

static enum stand node_compare(const struct scope *scope, const struct change *change, const struct resource *resource,
                               struct arena *arena)
{
	const struct node_mark *mark = &node_facts_of(resource)->mark;

	(void)arena;
	if (!text_equal(change->incarnation, resource->incarnation))
		return STAND_SUPERSEDED;
	/* Somebody else's annotation makes the taint theirs, too. */
	if (mark->readable && !node_is_marked(scope, resource))
		return STAND_BACK;
	return node_is_marked(scope, resource) || node_has_taint(scope, resource) ? STAND_OUT : STAND_BACK;
}

static enum settling settled_out(const struct scope *scope, const struct change *change,
                                 const struct resource *resource, struct arena *arena, const char **why)
{
	const char *sentence;

	if (!node_is_marked(scope, resource) || !node_is_tainted(scope, resource)) {
		*why = text_equal(change->incarnation, resource->incarnation) ? "the taint or the annotation is not there yet"
		                                                              : "the node was registered anew";
		return SETTLING_PENDING;
	}
	if (scope->eviction == EVICTION_NONE)
		return SETTLING_DONE;
	if (resource->load == NULL) {
		*why = "its pods have not been looked at yet";
		return SETTLING_PENDING;
	}
	sentence = eks_node_load_sentence(scope, resource, arena);
	if (sentence != NULL)
		*why = sentence;
	return eks_node_load(scope, resource) == 0 ? SETTLING_DONE : SETTLING_PENDING;
}

static enum settling node_settled(const struct scope *scope, const struct change *change,
                                  const struct resource *resource, enum direction direction, struct arena *arena,
                                  const char **why)
{
	if (direction == DIRECTION_OUT)
		return settled_out(scope, change, resource, arena, why);
	if (node_compare(scope, change, resource, arena) != STAND_OUT)
		return SETTLING_DONE;
	*why = "the taint or the annotation is still there";
	return SETTLING_PENDING;
}

static bool node_carries(const struct scope *scope, const struct resource *resource, struct arena *arena,
                         struct change *out)
{
	const struct node_mark *mark = &node_facts_of(resource)->mark;

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

const struct actuator eks_node = {
	.kind = EKS_NODE_KIND,
	.service = "kubernetes",
	.update_operation = "PATCH nodes",
	.survey = node_survey,
	.look_max = LOOK_MAX,
	.look = node_look,
	.learn = node_learn,
	.plan = node_plan,
	.compare = node_compare,
	.settled = node_settled,
	.update = node_update,
	.carries = node_carries,
	.nudge = node_nudge,
};
