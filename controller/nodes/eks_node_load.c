/* The pods of a node as its load: asking for them, what is still to go, and the evictions that make them go. */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "eks_node_internal.h"

#define EXAMPLES_A_SENTENCE 3
#define SENTENCE_MAX_BYTES 8192

/* A node's pods, as far as they are heard. */
struct pods_heard {
	const char *id;
	const char *name;
	struct pods pods;
};

static void ask_pods(const struct pods_heard *heard, const char *token, struct arena *arena, struct probes *out)
{
	struct probe *probe = probes_add(out, arena);

	probe->context = heard;
	eks_pods_ask(arena, heard->name, token, &probe->request);
}

/* A record keeps the name, but the id has it, too: "<cluster>/<name>". */
static const char *name_of(const struct change *change)
{
	const char *slash = strrchr(change->id, '/');

	if (change->name != NULL)
		return change->name;
	return slash != NULL ? slash + 1 : change->id;
}

void node_look(const struct scope *scope, const struct change *const *changes, size_t count, struct arena *arena,
               struct probes *out)
{
	(void)scope;
	for (size_t i = 0; i < count; i++) {
		struct pods_heard *heard = ARENA_NEW(arena, struct pods_heard);

		heard->id = arena_string(arena, changes[i]->id);
		heard->name = arena_string(arena, name_of(changes[i]));
		ask_pods(heard, NULL, arena, out);
	}
}

bool node_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                struct arena *arena, struct resources *resources, struct probes *further, struct error *error)
{
	struct pods_heard *heard = ARENA_NEW(arena, struct pods_heard);
	struct resource *resource;
	const char *next;

	(void)scope;
	assert(probe->context != NULL);
	*heard = *(const struct pods_heard *)probe->context;
	if (!eks_pods_hear(arena, response, &heard->pods, &next, error))
		return error_wrap(error, "the pods of node %s", heard->name);
	if (next != NULL) {
		ask_pods(heard, next, arena, further);
		return true;
	}
	resource = resources_add(resources, arena);
	resource->kind = EKS_NODE_KIND;
	resource->id = heard->id;
	resource->name = heard->name;
	resource->load = &heard->pods;
	return true;
}

static const struct pods *pods_of(const struct resource *resource)
{
	static const struct pods none;

	return resource->load != NULL ? resource->load : &none;
}

enum pod_fate eks_node_pod_fate(const struct scope *scope, const struct resource *resource, const struct pod *pod)
{
	const struct wallclock *as_of = &pods_of(resource)->as_of;
	enum pod_fate fate = eks_pod_fate(pod, eks_node_is_ready(resource), as_of->us != 0 ? *as_of : scope->now);

	return fate == POD_UNREPLICATED && scope->evict_unreplicated ? POD_EVICTABLE : fate;
}

/* Pods of a kind: how many, and a few of their names. */
struct bunch {
	size_t count;
	struct string_list examples;
};

static void bunch_add(struct bunch *bunch, const struct pod *pod, struct arena *arena)
{
	if (bunch->count++ < EXAMPLES_A_SENTENCE)
		string_list_add(&bunch->examples, arena, eks_pod_name(pod, arena));
}

static void bunch_tell(const struct bunch *bunch, const char *one, const char *many, struct arena *arena,
                       struct text *out)
{
	if (bunch->count == 0)
		return;
	text_printf(out, "%s%zu %s (%s%s)", out->length > 0 ? "; " : "", bunch->count, bunch->count == 1 ? one : many,
	            string_list_join(&bunch->examples, arena, ", "), bunch->count > bunch->examples.count ? ", …" : "");
}

size_t eks_node_load(const struct scope *scope, const struct resource *resource)
{
	const struct pods *pods = pods_of(resource);
	size_t count = 0;

	for (size_t i = 0; i < pods->count; i++) {
		enum pod_fate fate = eks_node_pod_fate(scope, resource, &pods->at[i]);

		count += fate == POD_EVICTABLE || fate == POD_LEAVING;
	}
	return count;
}

const char *eks_node_load_sentence(const struct scope *scope, const struct resource *resource, struct arena *arena)
{
	const struct pods *pods = pods_of(resource);
	struct bunch bunches[POD_STUCK + 1] = {0};
	struct text sentence;

	for (size_t i = 0; i < pods->count; i++) {
		enum pod_fate fate = eks_node_pod_fate(scope, resource, &pods->at[i]);

		bunch_add(&bunches[fate == POD_LEAVING ? POD_EVICTABLE : fate], &pods->at[i], arena);
	}
	text_init(&sentence, SENTENCE_MAX_BYTES);
	bunch_tell(&bunches[POD_EVICTABLE], "pod to go", "pods to go", arena, &sentence);
	bunch_tell(&bunches[POD_UNREPLICATED], "pod without a controller stays", "pods without a controller stay", arena,
	           &sentence);
	bunch_tell(&bunches[POD_STUCK], "pod is terminating and nobody ends it",
	           "pods are terminating and nobody ends them", arena, &sentence);
	if (sentence.length > 0)
		return text_take(&sentence, arena);
	text_done(&sentence);
	return NULL;
}

void node_nudge(const struct scope *scope, const struct change *change, const struct resource *resource,
                struct arena *arena, struct probes *out)
{
	const struct pods *pods = pods_of(resource);

	(void)change;
	if (scope->eviction != EVICTION_DRAIN || !node_is_marked(scope, resource) || !node_is_tainted(scope, resource))
		return;
	for (size_t i = 0; i < pods->count; i++) {
		struct probe *probe;

		if (eks_node_pod_fate(scope, resource, &pods->at[i]) != POD_EVICTABLE)
			continue;
		probe = probes_add(out, arena);
		probe->context = &pods->at[i];
		eks_pod_ask_eviction(arena, &pods->at[i], &probe->request);
	}
}
