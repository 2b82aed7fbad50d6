/*
 * Pods: where they run, how they end, who makes them anew.
 */
#include "world_pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACED_MS 5000
#define RETRIED_MS 10000
#define END_SPREAD_MS 1000
/* Evicted pods that are still there: their node does not end them, or their grace ended that long ago. */
#define STUCK_MS 30000
/* What a person put on a tainted node that short ago may not have been seen. */
#define UNSEEN_MS 10000
#define ZONE_LABEL "topology.k8s.aws/zone-id"

struct sim_pods *sim_pods_new(void)
{
	struct sim_pods *pods = calloc(1, sizeof(*pods));
	if (pods == NULL)
		abort();
	return pods;
}

void sim_pods_free(struct sim_pods *pods)
{
	for (size_t i = 0; i < pods->count; i++)
		free(pods->at[i]);
	free(pods);
}

struct pod *pod_find(const struct world *world, const char *namespace_, const char *name)
{
	for (size_t i = 0; i < world->pods->count; i++) {
		struct pod *pod = world->pods->at[i];
		if (!pod->gone && strcmp(pod->namespace_, namespace_) == 0 && strcmp(pod->name, name) == 0)
			return pod;
	}
	return NULL;
}

static bool is_daemon(const struct pod *pod)
{
	return strcmp(pod->owner_kind, "DaemonSet") == 0;
}

static bool is_stateful(const struct pod *pod)
{
	return strcmp(pod->owner_kind, "StatefulSet") == 0;
}

static bool is_replicated(const struct pod *pod)
{
	return pod->owner_kind[0] != '\0' && !is_daemon(pod) && !pod->mirror && !pod->finished;
}

bool pod_is_left(const struct pod *pod)
{
	return is_daemon(pod) || pod->mirror || pod->finished;
}

static struct pod *pod_new(struct world *world)
{
	struct sim_pods *pods = world->pods;
	struct pod *pod = calloc(1, sizeof(*pod));
	if (pod == NULL)
		abort();
	if (pods->count == PODS_MAX)
		sim_broken(world, "more than %d pods", PODS_MAX);
	pods->at[pods->count++] = pod;
	(void)snprintf(pod->uid, sizeof(pod->uid), "00000000-0000-4000-a000-%012zu", pods->count);
	pod->made = sim_wall(world);
	return pod;
}

static void copy(char *out, size_t size, const char *string)
{
	(void)snprintf(out, size, "%s", string != NULL ? string : "");
}

void world_add_pod(struct world *world, const struct world_pod *described)
{
	struct pod *pod = pod_new(world);
	copy(pod->namespace_, sizeof(pod->namespace_), described->namespace_);
	copy(pod->name, sizeof(pod->name), described->name);
	copy(pod->node, sizeof(pod->node), described->node);
	copy(pod->owner_kind, sizeof(pod->owner_kind), described->owner_kind);
	copy(pod->owner, sizeof(pod->owner), described->owner);
	copy(pod->claim, sizeof(pod->claim), described->claim);
	pod->grace_s = described->grace_s;
	pod->mirror = described->mirror;
	pod->finished = described->finished;
	if (world_node_tainted(world, pod->node))
		pod->slipped_in = world->now;
	sim_note(world, "pod %s/%s on %s", pod->namespace_, pod->name, pod->node);
}

/* NULL when it may run in every zone. */
static const char *zone_of_claim(struct world *world, const struct pod *pod)
{
	for (size_t i = 0; i < world->pods->volume_count && pod->claim[0] != '\0'; i++) {
		const struct volume *volume = &world->pods->volumes[i];
		if (strcmp(volume->claim, arena_printf(&world->scratch, "%s/%s", pod->namespace_, pod->claim)) == 0)
			return volume->zone_id;
	}
	return NULL;
}

static bool takes_pods(struct world *world, const struct json *node, const char *zone_id)
{
	const char *name = json_path_string(node, "metadata.name");
	const struct json *taints = json_path(node, "spec.taints");
	if (json_bool(json_path(node, "spec.unschedulable"), false) || sim_node_find(world, name)->frozen)
		return false;
	for (size_t i = 0; i < json_count(taints); i++)
		if (!text_equal(json_get_string(json_at(taints, i), "effect"), "PreferNoSchedule"))
			return false;
	return zone_id == NULL || text_equal(json_get_string(json_path(node, "metadata.labels"), ZONE_LABEL), zone_id);
}

/* One of those that take it, by chance; NULL when none does. */
static const char *choose_node(struct world *world, const struct pod *pod)
{
	const char *zone_id = zone_of_claim(world, pod);
	struct string_list names = {0};
	const struct json *node;
	for (size_t i = 0; (node = sim_kube_object_at(world, "nodes", i)) != NULL; i++)
		if (takes_pods(world, node, zone_id))
			string_list_add(&names, &world->scratch, json_path_string(node, "metadata.name"));
	return names.count > 0 ? names.at[sim_chance(world, (uint32_t)names.count)] : NULL;
}

static void pod_scheduled(struct world *world, void *context)
{
	struct pod *pod = context;
	const char *node = choose_node(world, pod);
	if (pod->gone)
		return;
	if (node == NULL) {
		sim_schedule(world, RETRIED_MS, THING_ACTION, NULL, pod_scheduled, pod);
		return;
	}
	copy(pod->node, sizeof(pod->node), node);
	if (pod->owes != NULL)
		pod->owes->out--;
	pod->owes = NULL;
	sim_note(world, "pod %s/%s runs on %s", pod->namespace_, pod->name, node);
}

static void pod_replaced(struct world *world, void *context)
{
	struct pod *old = context;
	struct pod *pod = pod_new(world);
	copy(pod->namespace_, sizeof(pod->namespace_), old->namespace_);
	copy(pod->name, sizeof(pod->name),
	     is_stateful(old) ? old->name : arena_printf(&world->scratch, "%s-anew-%zu", old->owner, world->pods->count));
	copy(pod->owner_kind, sizeof(pod->owner_kind), old->owner_kind);
	copy(pod->owner, sizeof(pod->owner), old->owner);
	copy(pod->claim, sizeof(pod->claim), old->claim);
	pod->grace_s = old->grace_s;
	pod->owes = old->owes;
	old->owes = NULL;
	pod_scheduled(world, pod);
}

static void replace_later(struct world *world, struct pod *pod)
{
	if (pod->replaced || !is_replicated(pod))
		return;
	pod->replaced = true;
	sim_schedule(world, REPLACED_MS, THING_ACTION, NULL, pod_replaced, pod);
}

static void pod_goes(struct world *world, struct pod *pod)
{
	pod->gone = true;
	sim_note(world, "pod %s/%s is gone from %s", pod->namespace_, pod->name, pod->node);
	replace_later(world, pod);
}

static void pod_ends(struct world *world, void *context)
{
	struct pod *pod = context;
	if (!pod->gone && !sim_node_find(world, pod->node)->frozen)
		pod_goes(world, pod);
}

void pod_terminate(struct world *world, struct pod *pod)
{
	if (pod->terminating)
		return;
	pod->terminating = true;
	pod->ends_at = wallclock_after_ms(sim_wall(world), pod->grace_s * 1000);
	sim_schedule(world, pod->grace_s * 1000 + sim_chance(world, END_SPREAD_MS), THING_ACTION, NULL, pod_ends, pod);
	if (!is_stateful(pod))
		replace_later(world, pod);
}

static bool has_no_execute(const struct json *node)
{
	const struct json *taints = json_path(node, "spec.taints");
	for (size_t i = 0; i < json_count(taints); i++)
		if (text_equal(json_get_string(json_at(taints, i), "effect"), "NoExecute"))
			return true;
	return false;
}

void sim_pods_node_changed(struct world *world, const char *node)
{
	if (world->pods->count == 0 || !has_no_execute(sim_kube_object(world, "nodes", node)))
		return;
	for (size_t i = 0; i < world->pods->count; i++) {
		struct pod *pod = world->pods->at[i];
		if (pod->gone || pod->terminating || is_daemon(pod) || pod->mirror || strcmp(pod->node, node) != 0)
			continue;
		sim_note(world, "pod %s/%s is deleted: its node is tainted NoExecute", pod->namespace_, pod->name);
		pod_terminate(world, pod);
	}
}

void sim_pods_node_gone(struct world *world, const char *node)
{
	for (size_t i = 0; i < world->pods->count; i++)
		if (!world->pods->at[i]->gone && strcmp(world->pods->at[i]->node, node) == 0)
			pod_goes(world, world->pods->at[i]);
}

static bool is_stuck(struct world *world, const struct pod *pod)
{
	return pod->terminating && (sim_node_find(world, pod->node)->frozen ||
	                            sim_wall(world).us > wallclock_after_ms(pod->ends_at, STUCK_MS).us);
}

const char *sim_pods_undrained(struct world *world, const char *node)
{
	for (size_t i = 0; i < world->pods->count; i++) {
		const struct pod *pod = world->pods->at[i];
		bool unseen = instant_between_ms(pod->slipped_in, world->now) < UNSEEN_MS;
		if (!pod->gone && strcmp(pod->node, node) == 0 && is_replicated(pod) && !is_stuck(world, pod) && !unseen)
			return arena_printf(&world->scratch, "%s/%s", pod->namespace_, pod->name);
	}
	return NULL;
}

void sim_pods_check(struct world *world)
{
	for (size_t i = 0; i < world->pods->budget_count; i++) {
		const struct budget *budget = &world->pods->budgets[i];
		if (budget->out > budget->most)
			sim_broken(world, "budget %s/%s is overdrawn: %d of %d are out", budget->namespace_, budget->name,
			           budget->out, budget->most);
	}
}

void world_add_budget(struct world *world, const char *namespace_, const char *name, const char *owner, int allowed)
{
	struct sim_pods *pods = world->pods;
	size_t at = 0;
	while (at < pods->budget_count &&
	       (strcmp(pods->budgets[at].namespace_, namespace_) != 0 || strcmp(pods->budgets[at].name, name) != 0))
		at++;
	if (at == BUDGETS_MAX)
		sim_broken(world, "more than %d budgets", BUDGETS_MAX);
	pods->budget_count += at == pods->budget_count;
	struct budget *budget = &pods->budgets[at];
	copy(budget->namespace_, sizeof(budget->namespace_), namespace_);
	copy(budget->name, sizeof(budget->name), name);
	copy(budget->owner, sizeof(budget->owner), owner);
	budget->allowed = allowed;
	/* What is out already stays out when the number is lowered. */
	budget->most = budget->out > allowed ? budget->out : allowed;
	sim_note(world, "budget %s/%s: %d of %s at a time", namespace_, name, allowed, owner);
}

static void add_term(struct json *terms, struct arena *arena, const char *zone_name)
{
	struct json *expression = json_new_object(arena);
	struct json *term = json_new_object(arena);
	json_set_string(expression, "key", "topology.kubernetes.io/zone");
	json_set_string(expression, "operator", "In");
	json_add_string(json_set_array(expression, "values"), zone_name);
	json_add(json_set_array(term, "matchExpressions"), expression);
	json_add(terms, term);
}

void world_add_volume(struct world *world, const char *claim, const char *zone_id)
{
	struct arena *arena = &world->scratch;
	struct sim_pods *pods = world->pods;
	const char *slash = strchr(claim, '/');
	if (slash == NULL || pods->volume_count == VOLUMES_MAX)
		sim_broken(world, "not a claim, or too many: %s", claim);
	struct volume *volume = &pods->volumes[pods->volume_count++];
	copy(volume->claim, sizeof(volume->claim), claim);
	copy(volume->zone_id, sizeof(volume->zone_id), zone_id);
	struct json *object = json_new_object(arena);
	json_set_string(object, "kind", "PersistentVolume");
	json_set_string(object, "apiVersion", "v1");
	struct json *spec = json_set_object(object, "spec");
	struct json *reference = json_set_object(spec, "claimRef");
	json_set_string(reference, "kind", "PersistentVolumeClaim");
	json_set_string(reference, "namespace", arena_copy(arena, claim, (size_t)(slash - claim)));
	json_set_string(reference, "name", slash + 1);
	struct json *required = json_set_object(json_set_object(spec, "nodeAffinity"), "required");
	add_term(json_set_array(required, "nodeSelectorTerms"), arena, world->zones[sim_zone_index(world, zone_id)].name);
	sim_kube_put(world, "persistentvolumes", "", arena_printf(arena, "pv-%zu", pods->volume_count), object);
}

size_t world_pods_on(struct world *world, const char *node)
{
	size_t count = 0;
	for (size_t i = 0; i < world->pods->count; i++) {
		const struct pod *pod = world->pods->at[i];
		count += !pod->gone && !pod_is_left(pod) && strcmp(pod->node, node) == 0;
	}
	return count;
}

unsigned world_evictions(const struct world *world)
{
	return world->pods->evictions;
}
