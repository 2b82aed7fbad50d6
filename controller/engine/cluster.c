#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "evacuation.h"
#include "kube/objects.h"
#include "nodes/eks_node.h"
#include "plan.h"
#include "requeue.h"
#include "state.h"

#define NODE_ARENA_MAX (4u << 20)
#define TROUBLE_EVERY_MS 60000

/* The node cache. */

static size_t bucket_of(const char *name)
{
	return text_hash(name, strlen(name)) % NODE_BUCKETS;
}

struct node_entry *cluster_node(const struct engine *engine, const char *name)
{
	struct node_entry *entry = engine->cluster.buckets[bucket_of(name)];

	while (entry && !text_equal(entry->resource.name, name))
		entry = entry->next;
	return entry;
}

static void mark_dirty(struct cluster *cluster, struct node_entry *entry)
{
	if (entry->dirty)
		return;
	entry->dirty = true;
	entry->next_dirty = cluster->dirty;
	cluster->dirty = entry;
}

void cluster_touch_node(struct engine *engine, const char *name)
{
	struct node_entry *entry = cluster_node(engine, name);

	if (entry)
		mark_dirty(&engine->cluster, entry);
}

void cluster_clear_dirty(struct engine *engine)
{
	struct node_entry *next;

	for (struct node_entry *entry = engine->cluster.dirty; entry; entry = next) {
		next = entry->next_dirty;
		entry->dirty = false;
		entry->next_dirty = NULL;
	}
	engine->cluster.dirty = NULL;
}

/* By instance: what an Auto Scaling group knows of its nodes. */

static const char *instance_of(const struct node_entry *entry)
{
	return entry->resource.instances.count ? entry->resource.instances.at[0] : NULL;
}

static void link_instance(struct cluster *cluster, struct node_entry *entry)
{
	struct node_entry **bucket;

	if (!instance_of(entry))
		return;
	bucket = &cluster->instances[bucket_of(instance_of(entry))];
	entry->next_of_instances = *bucket;
	*bucket = entry;
}

static void unlink_instance(struct cluster *cluster, struct node_entry *entry)
{
	struct node_entry **link;

	if (!instance_of(entry))
		return;
	link = &cluster->instances[bucket_of(instance_of(entry))];
	while (*link != entry)
		link = &(*link)->next_of_instances;
	*link = entry->next_of_instances;
}

struct node_entry *cluster_node_of_instance(const struct engine *engine, const char *instance_id)
{
	struct node_entry *entry = engine->cluster.instances[bucket_of(instance_id)];

	while (entry && !text_equal(instance_of(entry), instance_id))
		entry = entry->next_of_instances;
	return entry;
}

void cluster_list_instances(const struct engine *engine, struct arena *arena, struct string_list *out)
{
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (const struct node_entry *entry = engine->cluster.instances[i]; entry; entry = entry->next_of_instances)
			string_list_add(out, arena, arena_string(arena, instance_of(entry)));
}

static struct node_entry *node_add(struct cluster *cluster, const char *name)
{
	struct node_entry **bucket = &cluster->buckets[bucket_of(name)];
	struct node_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		abort();
	arena_init(&entry->arena, "node", NODE_ARENA_MAX);
	entry->next = *bucket;
	*bucket = entry;
	cluster->node_count++;
	return entry;
}

static void node_free(struct node_entry *entry)
{
	arena_done(&entry->arena);
	free(entry);
}

static void undirty(struct cluster *cluster, const struct node_entry *entry)
{
	struct node_entry **link = &cluster->dirty;

	while (*link && *link != entry)
		link = &(*link)->next_dirty;
	if (*link)
		*link = entry->next_dirty;
}

static void node_remove(struct cluster *cluster, struct node_entry *entry)
{
	struct node_entry **link = &cluster->buckets[bucket_of(entry->resource.name)];

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	undirty(cluster, entry);
	unlink_instance(cluster, entry);
	cluster->nodes_changed++;
	cluster->node_count--;
	node_free(entry);
}

bool cluster_version_older(const char *a, const char *b)
{
	size_t length_a;
	size_t length_b;

	if (!text_all_digits(a) || !text_all_digits(b))
		return false;
	length_a = strlen(a);
	length_b = strlen(b);
	return length_a != length_b ? length_a < length_b : strcmp(a, b) < 0;
}

void cluster_learn_node(struct engine *engine, const struct json *object)
{
	const char *name = json_path_string(object, "metadata.name");
	const char *version = json_path_string(object, "metadata.resourceVersion");
	struct node_entry *entry = name ? cluster_node(engine, name) : NULL;
	struct error error;

	if (!name)
		return;
	if (!entry)
		entry = node_add(&engine->cluster, name);
	entry->listed = true;
	if (!engine->cluster.nodes.listing && cluster_version_older(version, entry->resource_version))
		return;
	unlink_instance(&engine->cluster, entry);
	arena_reset(&entry->arena);
	entry->resource_version = arena_string(&entry->arena, version);
	if (!eks_node_read(&entry->arena, engine->cluster.owner, object, &entry->resource, &error)) {
		entry->resource = (struct resource){.kind = EKS_NODE_KIND, .name = arena_string(&entry->arena, name)};
		log_event(LOG_WARN, "a node could not be read and is left alone", "node", name, "error", error.message, NULL);
	}
	link_instance(&engine->cluster, entry);
	engine->cluster.nodes_changed++;
	mark_dirty(&engine->cluster, entry);
	engine->moved = true;
}

static void nodes_unlist(struct cluster *cluster)
{
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (struct node_entry *entry = cluster->buckets[i]; entry; entry = entry->next)
			entry->listed = false;
}

static void nodes_sweep(struct cluster *cluster)
{
	struct node_entry *next;

	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (struct node_entry *entry = cluster->buckets[i]; entry; entry = next) {
			next = entry->next;
			if (!entry->listed)
				node_remove(cluster, entry);
		}
}

static void nodes_replan(struct engine *engine)
{
	for (struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		evacuation->nodes_due = true;
}

static void node_gone(struct engine *engine, struct node_entry *entry)
{
	struct arena arena;
	const char *id;

	arena_init(&arena, "gone", 1u << 20);
	id = arena_string(&arena, entry->resource.id);
	node_remove(&engine->cluster, entry);
	for (struct evacuation *evacuation = engine->evacuations; id && evacuation; evacuation = evacuation->next)
		plan_take_gone_node(evacuation, id);
	arena_done(&arena);
}

static void take_node(struct engine *engine, const struct watch_event *event)
{
	struct node_entry *entry;

	switch (event->what) {
	case WATCH_LIST_BEGIN:
		nodes_unlist(&engine->cluster);
		break;
	case WATCH_OBJECT:
		cluster_learn_node(engine, event->object);
		break;
	case WATCH_DELETED:
		entry = cluster_node(engine, json_path_string(event->object, "metadata.name"));
		if (entry)
			node_gone(engine, entry);
		break;
	case WATCH_LIST_END:
		nodes_sweep(&engine->cluster);
		nodes_replan(engine);
		break;
	}
}

/* The evacuations. */

static void evacuations_unlist(struct engine *engine)
{
	for (struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		evacuation->listed = false;
}

static void evacuations_sweep(struct engine *engine)
{
	for (struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		if (!evacuation->listed)
			evacuation->vanished = true;
}

static void take_evacuation(struct engine *engine, const struct watch_event *event)
{
	switch (event->what) {
	case WATCH_LIST_BEGIN:
		evacuations_unlist(engine);
		break;
	case WATCH_OBJECT:
		evacuation_learn(engine, event->object);
		break;
	case WATCH_DELETED:
		evacuation_forget(engine, json_path_string(event->object, "metadata.name"),
		                  json_path_string(event->object, "metadata.uid"));
		break;
	case WATCH_LIST_END:
		evacuations_sweep(engine);
		break;
	}
}

/* Feeds. */

static void feed_take_all(struct feed *feed)
{
	struct watch_event event;

	while (watch_take(feed->watch, &event)) {
		if (event.what == WATCH_LIST_BEGIN || event.what == WATCH_LIST_END)
			feed->listing = event.what == WATCH_LIST_BEGIN;
		feed->take(feed->engine, &event);
		feed->engine->moved = true;
	}
}

static void feed_trouble(struct feed *feed)
{
	const char *trouble = watch_trouble(feed->watch);
	struct instant now = engine_now(feed->engine);

	if (!trouble[0] || (feed->trouble_logged.ms && instant_between_ms(feed->trouble_logged, now) < TROUBLE_EVERY_MS))
		return;
	feed->trouble_logged = now;
	log_event(LOG_WARN, "the API server cannot be followed; trying again", "error", trouble, NULL);
}

static void feed_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct feed *feed = self;

	(void)exchange;
	feed->exchange = NULL;
	watch_hear_end(feed->watch, answer->now, engine_random(feed->engine), answer->response, answer->error);
	feed_take_all(feed);
	feed_trouble(feed);
}

static void feed_heard_chunk(void *self, struct exchange *exchange, const char *bytes, size_t length)
{
	struct feed *feed = self;
	struct engine *engine = feed->engine;
	struct error error;

	if (watch_hear_chunk(feed->watch, engine_now(engine), bytes, length, &error)) {
		feed_take_all(feed);
		return;
	}
	feed->exchange = NULL;
	exchange_cancel(engine, exchange);
	watch_hear_end(feed->watch, engine_now(engine), engine_random(engine), NULL, &error);
	feed_take_all(feed);
	feed_trouble(feed);
}

static void feed_turn(struct feed *feed)
{
	struct exchange *exchange;
	struct instant now = engine_now(feed->engine);

	if (feed->exchange || !instant_reached(watch_due(feed->watch), now))
		return;
	exchange = exchange_new(feed->engine, feed_heard, feed);
	if (!watch_ask(feed->watch, now, engine_random(feed->engine), &exchange->arena, &exchange->ask.request)) {
		exchange_cancel(feed->engine, exchange);
		return;
	}
	exchange->hear_chunk = feed_heard_chunk;
	exchange->ask.what = ASK_HTTP;
	exchange->ask.urgent = true;
	exchange->ask.once = true; /* the watch has its own backoff */
	feed->exchange = exchange;
	exchange_queue(feed->engine, exchange);
}

static void feed_init(struct feed *feed, struct engine *engine, const char *path, const char *name,
                      void (*take)(struct engine *engine, const struct watch_event *event))
{
	feed->engine = engine;
	feed->watch = watch_new(path, name);
	feed->take = take;
}

/* Whose cluster it is. */

static void owner_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct cluster *cluster = &engine->cluster;
	struct error error = {0};
	const struct json *object;
	const char *uid = NULL;

	(void)exchange;
	cluster->owner_exchange = NULL;
	if (!answer->error) {
		object = json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);
		uid = json_path_string(object, "metadata.uid");
	}
	if (uid) {
		snprintf(cluster->owner, sizeof(cluster->owner), "%s", uid);
		return;
	}
	cluster->owner_failures++;
	cluster->owner_due =
		instant_after(answer->now, requeue_backoff_ms(cluster->owner_failures, 1000, 30000, engine_random(engine)));
	log_event(LOG_WARN,
	          answer->error && answer->error->http_status == 0
	              ? "the API server cannot be reached; trying again"
	              : "the namespace kube-system cannot be read; its UID is what owns the journal's records",
	          "error", answer->error ? answer->error->message : "the answer has no metadata.uid", NULL);
}

static void owner_turn(struct engine *engine)
{
	struct cluster *cluster = &engine->cluster;
	struct exchange *exchange;

	if (cluster->owner[0] || cluster->owner_exchange || !instant_reached(cluster->owner_due, engine_now(engine)))
		return;
	exchange = exchange_new(engine, owner_heard, engine);
	exchange->ask.what = ASK_HTTP;
	exchange->ask.urgent = true;
	kube_ask_get(&exchange->arena, "GET namespaces", "/api/v1/namespaces/kube-system", &exchange->ask.request);
	cluster->owner_exchange = exchange;
	exchange_queue(engine, exchange);
}

/* Which pods are our own, and our replicas: those of our pod's controller. */

#define OWN_AGAIN_MS 60000

static void own_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct error error;
	const struct json *pod = NULL;
	const struct json *owners;

	(void)exchange;
	engine->cluster.own_exchange = NULL;
	engine->cluster.own_due = instant_after(answer->now, OWN_AGAIN_MS);
	if (!answer->error)
		pod = json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);
	owners = json_path(pod, "metadata.ownerReferences");
	for (size_t i = 0; i < json_count(owners); i++) {
		const char *uid = json_get_string(json_at(owners, i), "uid");

		if (uid && json_bool(json_get(json_at(owners, i), "controller"), false))
			snprintf(engine->cluster.own_controller, sizeof(engine->cluster.own_controller), "%s", uid);
	}
}

static void own_turn(struct engine *engine)
{
	const struct engine_settings *settings = engine->settings;
	struct cluster *cluster = &engine->cluster;
	struct exchange *exchange;

	if (!settings->pod_name || !settings->pod_namespace || cluster->own_controller[0] || cluster->own_exchange ||
	    !engine->evacuations || !instant_reached(cluster->own_due, engine_now(engine)))
		return;
	exchange = exchange_new(engine, own_heard, engine);
	exchange->ask.what = ASK_HTTP;
	kube_ask_get(&exchange->arena, "GET pods",
	             arena_printf(&exchange->arena, "/api/v1/namespaces/%s/pods/%s",
	                          text_percent(&exchange->arena, settings->pod_namespace),
	                          text_percent(&exchange->arena, settings->pod_name)),
	             &exchange->ask.request);
	cluster->own_exchange = exchange;
	exchange_queue(engine, exchange);
}

void cluster_init(struct engine *engine)
{
	feed_init(&engine->cluster.nodes, engine, KUBE_NODES_PATH, "nodes", take_node);
	feed_init(&engine->cluster.evacuations, engine, KUBE_EVACUATIONS_PATH, "zonalevacuations", take_evacuation);
}

void cluster_done(struct engine *engine)
{
	struct cluster *cluster = &engine->cluster;
	struct node_entry *next;

	watch_free(cluster->nodes.watch);
	watch_free(cluster->evacuations.watch);
	for (size_t i = 0; i < NODE_BUCKETS; i++)
		for (struct node_entry *entry = cluster->buckets[i]; entry; entry = next) {
			next = entry->next;
			node_free(entry);
		}
}

void cluster_turn(struct engine *engine)
{
	owner_turn(engine);
	if (!engine->cluster.owner[0]) /* node ids begin with it */
		return;
	feed_turn(&engine->cluster.evacuations);
	feed_turn(&engine->cluster.nodes);
	own_turn(engine);
}

struct instant cluster_due(const struct engine *engine, struct instant otherwise)
{
	const struct cluster *cluster = &engine->cluster;
	struct instant due = otherwise;

	if (!cluster->owner[0])
		return cluster->owner_exchange ? due : instant_earlier(due, cluster->owner_due);
	if (!cluster->nodes.exchange)
		due = instant_earlier(due, watch_due(cluster->nodes.watch));
	if (!cluster->evacuations.exchange)
		due = instant_earlier(due, watch_due(cluster->evacuations.watch));
	return due;
}

bool cluster_synced(const struct engine *engine, const char **why)
{
	const struct cluster *cluster = &engine->cluster;

	*why = NULL;
	if (!cluster->owner[0])
		*why = "the namespace kube-system has not been read yet";
	else if (!watch_synced(cluster->evacuations.watch))
		*why = "the ZonalEvacuations have not been listed yet";
	else if (!watch_synced(cluster->nodes.watch))
		*why = "the nodes have not been listed yet";
	return !*why;
}
