/*
 * What the engine knows of a kind of resource. Every slot is a pure translation: no I/O, no clock, no log, and no
 * allocation outside the arena it is given. "must" slots are never NULL.
 *
 * A probe is a question with its own context, so that pages and clusters are read in parallel; what an answer says, and
 * what to ask next, is `learn`'s. The engine sends probes, sorts out errors (a probe whose answer was an error is never
 * learned from), and repeats what is to be repeated.
 *
 * To add a kind: its .c, its test, its recorded responses, one line in registry.c, one in CMake, its IAM actions.
 */
#ifndef ACTUATORS_ACTUATOR_H
#define ACTUATORS_ACTUATOR_H

#include "domain/change.h"
#include "net/http.h"

struct probe {
	struct probe *next;
	int step;            /* the actuator's own: which question this is */
	const void *context; /* the actuator's own, in the same arena */
	struct http_request request;
};

/* A queue; a zeroed one is empty. */
struct probes {
	struct probe *first;
	struct probe *last;
};

/* Append a zeroed probe. */
struct probe *probes_add(struct probes *probes, struct arena *arena);

struct actuator {
	/* must: identity. `kind` as in the resource, `service` as in http_request. */
	const char *kind;
	const char *service;
	const char *update_operation; /* "UpdateService": whose quota bounds how many are worked at once */

	/* must: the first questions of discovery, all pages of everything. */
	void (*survey)(const struct scope *scope, struct arena *arena, struct probes *out);

	/* must: at how many the service lets one look at once. */
	size_t look_max;

	/*
	 * must: look again at `count` <= look_max resources. A resource that the answers do not mention is absent. The
	 * answers come through `learn`, in full as in a survey.
	 */
	void (*look)(const struct scope *scope, const struct change *const *changes, size_t count, struct arena *arena,
	             struct probes *out);

	/*
	 * may: the group that a change is looked at with, a word that lives as long as the change. Changes of different groups
	 * are not looked at together, so that what one group refuses does not fail the others. NULL: all may be.
	 */
	const char *(*look_group)(const struct change *change);

	/*
	 * must: what an answer (2xx) says: appends to `resources` and `further`. ERROR_MALFORMED when it is not what the
	 * service's model says; nothing is appended then.
	 */
	bool (*learn)(const struct scope *scope, const struct probe *probe, const struct http_response *response,
	              struct arena *arena, struct resources *resources, struct probes *further, struct error *error);

	/*
	 * may: an error in place of an answer (a cluster deleted since it was listed; services or tags that may not be read).
	 * True: it says something of the resources, which are appended, or nothing is there any more. False, or NULL: the
	 * question failed.
	 */
	bool (*excuse)(const struct scope *scope, const struct probe *probe, const struct error *error, struct arena *arena,
	               struct resources *resources);

	/*
	 * must: what is to be done with it, selection aside. For VERDICT_CHANGE `out->change.removed` is what to take out
	 * now and is never all there is. Guards that may be overridden (MANAGED_BY_EKS, OTHER_CLUSTER) are judged last and
	 * come with that change too.
	 */
	void (*plan)(const struct scope *scope, const struct resource *resource, struct arena *arena, struct decision *out);

	/* must: restoring, where it stands. */
	enum stand (*compare)(const struct scope *scope, const struct change *change, const struct resource *resource,
	                      struct arena *arena);

	/*
	 * must: is the effect there. *why gets a sentence for PENDING and FAILED, and may get one for DONE: what is left all the
	 * same.
	 */
	enum settling (*settled)(const struct scope *scope, const struct change *change, const struct resource *resource,
	                         enum direction direction, struct arena *arena, const char **why);

	/*
	 * must: the request that takes out (or adds back) exactly the change, built against what is there now (`resource`).
	 * Never one that leaves a resource without a subnet: that is asserted.
	 */
	void (*update)(const struct scope *scope, const struct change *change, const struct resource *resource,
	               enum direction direction, struct arena *arena, struct http_request *out);

	/*
	 * may: the resource is its own journal (a node's annotation): the change it carries, false when it carries none.
	 * NULL: it never is.
	 */
	bool (*carries)(const struct scope *scope, const struct resource *resource, struct arena *arena,
	                struct change *out);

	/*
	 * may: what helps it settle, unjournaled and each sent once at the most: evictions of a node's pods. `resource` has its
	 * load. Each probe's context says what it is about. The answers are not learned from: the next look tells.
	 */
	void (*nudge)(const struct scope *scope, const struct change *change, const struct resource *resource,
	              struct arena *arena, struct probes *out);

	/*
	 * may: questions about what the change cannot move (published versions of a function that stay in the zone; at recovery,
	 * those that were published without the subnets). Asked once after it has settled, when nothing else is to be done. The
	 * answers come through `learn`: the resource, of which only id and remark count.
	 */
	void (*remark)(const struct scope *scope, const struct change *change, enum direction direction,
	               struct arena *arena, struct probes *out);
};

#endif
