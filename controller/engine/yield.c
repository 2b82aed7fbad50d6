#include "yield.h"

#include "evacuation.h"
#include "kube/objects.h"
#include "nodes/eks_node.h"
#include "state.h"

#define AGAIN_MS 15000
#define PODS_MAX 500

static bool is_in_zone(const struct evacuation *evacuation, const struct node_entry *entry)
{
	struct scope scope;
	bool known = false;

	evacuation_node_scope(evacuation, &scope);
	return eks_node_in_zone(&scope, &entry->resource, &known) && known;
}

/* The evacuation whose zone we sit in, or NULL. */
static const struct evacuation *sits_in(const struct engine *engine)
{
	const char *name = engine->settings->node_name;
	const struct node_entry *entry = name ? cluster_node(engine, name) : NULL;

	if (!entry)
		return NULL;
	for (const struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		if (evacuation->valid && !evacuation->restoring && evacuation_wants_zone(evacuation) &&
		    is_in_zone(evacuation, entry))
			return evacuation;
	return NULL;
}

static bool is_ready(const struct json *pod)
{
	const struct json *conditions = json_path(pod, "status.conditions");

	for (size_t i = 0; i < json_count(conditions); i++)
		if (text_equal(json_get_string(json_at(conditions, i), "type"), "Ready"))
			return text_equal(json_get_string(json_at(conditions, i), "status"), "True");
	return false;
}

static bool is_replica(const struct engine *engine, const struct json *pod)
{
	const struct json *owners = json_path(pod, "metadata.ownerReferences");

	if (text_equal(json_path_string(pod, "metadata.name"), engine->settings->pod_name) ||
	    json_path(pod, "metadata.deletionTimestamp"))
		return false;
	for (size_t i = 0; i < json_count(owners); i++)
		if (json_bool(json_get(json_at(owners, i), "controller"), false) &&
		    text_equal(json_get_string(json_at(owners, i), "uid"), engine->cluster.own_controller))
			return true;
	return false;
}

/* Could it lead better than we: ready, on a Ready node outside that zone? */
static bool is_better(const struct engine *engine, const struct evacuation *evacuation, const struct json *pod)
{
	const char *node = json_path_string(pod, "spec.nodeName");
	const struct node_entry *entry = node ? cluster_node(engine, node) : NULL;

	return entry && eks_node_is_ready(&entry->resource) && !is_in_zone(evacuation, entry) && is_replica(engine, pod) &&
	       is_ready(pod);
}

static const char *better_pod(const struct engine *engine, const struct evacuation *evacuation, const struct json *list)
{
	const struct json *pods = json_get(list, "items");

	for (size_t i = 0; i < json_count(pods); i++)
		if (is_better(engine, evacuation, json_at(pods, i)))
			return json_path_string(json_at(pods, i), "metadata.name");
	return NULL;
}

static void heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	const struct evacuation *evacuation = sits_in(engine);
	struct error error;
	const struct json *list = NULL;
	const char *pod;

	(void)exchange;
	engine->yield.exchange = NULL;
	engine->yield.due = instant_after(answer->now, AGAIN_MS);
	if (!answer->error)
		list = json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);
	pod = evacuation ? better_pod(engine, evacuation, list) : NULL;
	if (!pod)
		return;
	log_event(LOG_INFO, "this replica sits in the zone that is being evacuated and gives the lease to another one",
	          "zone", evacuation->manifest.zone_id, "replica", pod, NULL);
	engine_stop(engine);
}

static bool should_ask(const struct engine *engine)
{
	return engine->lease.leading && !engine->lease.taken_reluctantly && engine->cluster.own_controller[0] &&
	       !engine->yield.exchange && instant_reached(engine->yield.due, engine_now(engine));
}

void yield_turn(struct engine *engine)
{
	const struct engine_settings *settings = engine->settings;
	struct exchange *exchange;
	const char *why;
	bool reluctant;

	if (!settings->node_name || !settings->leader_elect)
		return;
	reluctant = !cluster_synced(engine, &why) || sits_in(engine) != NULL;
	lease_set_reluctant(&engine->lease, reluctant, engine_now(engine));
	if (!reluctant || !settings->pod_name || !settings->pod_namespace || !should_ask(engine))
		return;
	exchange = exchange_new(engine, heard, engine);
	exchange->ask.what = ASK_HTTP;
	kube_ask_get(&exchange->arena, "LIST pods",
	             arena_printf(&exchange->arena, "/api/v1/namespaces/%s/pods",
	                          text_percent(&exchange->arena, settings->pod_namespace)),
	             &exchange->ask.request);
	exchange->ask.request.query = arena_printf(&exchange->arena, "limit=%d", PODS_MAX);
	engine->yield.exchange = exchange;
	exchange_queue(engine, exchange);
}

struct instant yield_due(const struct engine *engine, struct instant otherwise)
{
	if (!engine->settings->node_name || engine->yield.exchange || engine->lease.taken_reluctantly ||
	    !engine->lease.reluctant || !engine->lease.leading)
		return otherwise;
	return instant_earlier(otherwise, engine->yield.due);
}
