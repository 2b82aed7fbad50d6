/*
 * The API server's verbs.
 */
#include "world_store.h"

#include <stdio.h>
#include <string.h>

struct route {
	size_t collection;
	const char *namespace_;
	const char *name; /* NULL: the collection */
	const char *subresource;
};

static bool route_parse(struct arena *arena, const char *path, struct route *out)
{
	memset(out, 0, sizeof(*out));
	out->namespace_ = "";
	for (size_t i = 0; i < COLLECTIONS; i++) {
		size_t length = strlen(sim_collections[i].prefix);
		if (strncmp(path, sim_collections[i].prefix, length) != 0)
			continue;
		struct string_list parts = string_list_split(path + length, "/", arena);
		size_t at = 0;
		bool all_namespaces = parts.count == 1 && i == COLLECTION_PODS;
		if (sim_collections[i].namespaced && !all_namespaces) {
			if (parts.count < 3 || strcmp(parts.at[0], "namespaces") != 0)
				continue;
			out->namespace_ = parts.at[1];
			at = 2;
		}
		if (parts.count <= at || strcmp(parts.at[at], sim_collections[i].resource) != 0)
			continue;
		out->collection = i;
		out->name = parts.count > at + 1 ? parts.at[at + 1] : NULL;
		out->subresource = parts.count > at + 2 ? parts.at[at + 2] : NULL;
		return true;
	}
	return false;
}

const char *sim_query_get(struct arena *arena, const char *query, const char *key)
{
	struct string_list pairs = string_list_split(query, "&", arena);
	size_t length = strlen(key);
	for (size_t i = 0; i < pairs.count; i++)
		if (strncmp(pairs.at[i], key, length) == 0 && pairs.at[i][length] == '=')
			return pairs.at[i] + length + 1;
	return NULL;
}

static bool is_true(const char *value)
{
	return value != NULL && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

void sim_kube_label(struct sim_request *request, struct arena *arena)
{
	struct route route;
	if (!route_parse(arena, request->path, &route)) {
		request->operation = arena_printf(arena, "%s %s", request->method, request->path);
		return;
	}
	const char *resource = sim_collections[route.collection].resource;
	const char *verb = request->method;
	if (strcmp(verb, "GET") == 0 && route.name == NULL)
		verb = is_true(sim_query_get(arena, request->query, "watch")) ? "WATCH" : "LIST";
	request->operation = arena_printf(arena, "%s %s%s%s", verb, resource, route.subresource != NULL ? "/" : "",
	                                  route.subresource != NULL ? route.subresource : "");
	bool quiet = strcmp(resource, "leases") == 0 || strcmp(resource, "events") == 0;
	request->effect = strcmp(request->method, "GET") != 0 && !quiet;
}

void sim_kube_status(struct sim_call *call, int status, const char *reason, const char *message)
{
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "kind", "Status");
	json_set_string(body, "apiVersion", "v1");
	json_set_object(body, "metadata");
	json_set_string(body, "status", "Failure");
	json_set_string(body, "message", message);
	json_set_string(body, "reason", reason);
	json_set_integer(body, "code", status);
	call->answer = (struct sim_answer){status, "application/json", json_print(body, &call->arena), ERROR_NONE};
}

void sim_kube_throttle(struct sim_call *call)
{
	sim_kube_status(call, 429, "TooManyRequests",
	                "the server has received too many requests and has asked us to try again later");
}

static void answer_object(struct sim_call *call, int status, const struct object *object)
{
	call->answer = (struct sim_answer){status, "application/json", json_print(object->json, &call->arena), ERROR_NONE};
}

static void not_found(struct sim_call *call, const struct route *route)
{
	sim_kube_status(
		call, 404, "NotFound",
		arena_printf(&call->arena, "%s \"%s\" not found", sim_collections[route->collection].resource, route->name));
}

/* Pages by name; the version is that of the moment, as small collections change little between two pages. */
static void serve_list(struct world *world, struct sim_call *call, const struct route *route)
{
	struct arena *arena = &call->arena;
	long long limit = 0;
	const char *limit_text = sim_query_get(arena, call->request.query, "limit");
	const char *after = sim_query_get(arena, call->request.query, "continue");
	if (limit_text != NULL)
		(void)text_parse_integer(limit_text, 0, 100000, &limit);
	long long page_max = (long long)sim_collections[route->collection].page_max;
	if (page_max > 0 && (limit == 0 || limit > page_max))
		limit = page_max;
	struct json *list = json_new_object(arena);
	json_set_string(list, "kind", arena_printf(arena, "%sList", sim_collections[route->collection].kind));
	json_set_string(list, "apiVersion", sim_collections[route->collection].api_version);
	struct json *metadata = json_set_object(list, "metadata");
	struct json *items = json_set_array(list, "items");
	const char *last = NULL;
	for (const struct object *object = store_first(world, route->collection); object != NULL;
	     object = store_next(object)) {
		if (after != NULL && strcmp(object->name, after) <= 0)
			continue;
		if (limit > 0 && json_count(items) == (size_t)limit) {
			json_set_string(metadata, "continue", last);
			break;
		}
		json_add(items, json_copy(arena, object->json));
		last = object->name;
	}
	json_set_string(metadata, "resourceVersion",
	                arena_printf(arena, "%llu", (unsigned long long)sim_kube_version(world)));
	call->answer = (struct sim_answer){200, "application/json", json_print(list, arena), ERROR_NONE};
}

static void serve_watch(struct world *world, struct sim_call *call, const struct route *route)
{
	const char *from = sim_query_get(&call->arena, call->request.query, "resourceVersion");
	const char *timeout = sim_query_get(&call->arena, call->request.query, "timeoutSeconds");
	long long version = 0;
	long long seconds = 1800;
	if (!call->request.stream)
		sim_broken(world, "a watch that is not a stream");
	if (from == NULL || !text_parse_integer(from, 1, INT64_MAX, &version))
		sim_broken(world, "a watch without a resourceVersion");
	if ((uint64_t)version < sim_kube_compacted(world) && sim_chance(world, 2) == 0) {
		sim_kube_status(call, 410, "Expired", "too old resource version");
		return;
	}
	if (timeout != NULL)
		(void)text_parse_integer(timeout, 1, 86400, &seconds);
	call->stream.sent_version = (uint64_t)version;
	call->stream.bookmarks = is_true(sim_query_get(&call->arena, call->request.query, "allowWatchBookmarks"));
	sim_schedule(world, seconds * 1000, THING_STREAM_END, call, NULL, NULL);
	sim_watch_open(world, call, route->collection);
}

static const struct json *request_json(struct sim_call *call)
{
	struct error error;
	const struct json *json = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	if (json == NULL)
		sim_kube_status(call, 400, "BadRequest", error.message);
	return json;
}

static void serve_create(struct world *world, struct sim_call *call, const struct route *route)
{
	const struct json *body = request_json(call);
	if (body == NULL)
		return;
	const char *name = json_path_string(body, "metadata.name");
	if (name == NULL) {
		sim_kube_status(call, 422, "Invalid", "metadata.name: Required value");
		return;
	}
	if (store_find(world, route->collection, route->namespace_, name) != NULL) {
		sim_kube_status(call, 409, "AlreadyExists", arena_printf(&call->arena, "\"%s\" already exists", name));
		return;
	}
	store_put(world, route->collection, route->namespace_, name, store_born(world, body, route->namespace_, name));
	answer_object(call, 201, store_find(world, route->collection, route->namespace_, name));
}

/* What no write may change comes from the old object. */
static struct json *keep_identity(struct arena *arena, const struct json *old, const struct json *new)
{
	static const char *const kept[] = {"uid",  "creationTimestamp", "generation", "deletionTimestamp",
	                                   "name", "namespace"};
	struct json *copy = json_copy(arena, new);
	struct json *metadata = json_copy(arena, json_get(new, "metadata"));
	const struct json *old_metadata = json_get(old, "metadata");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		json_remove(metadata, kept[i]);
		if (json_get(old_metadata, kept[i]) != NULL)
			json_set(metadata, kept[i], json_copy(arena, json_get(old_metadata, kept[i])));
	}
	json_set(copy, "metadata", metadata);
	return copy;
}

static bool adds_finalizer(struct arena *arena, const struct json *old, const struct json *new)
{
	struct string_list before = json_strings(json_path(old, "metadata.finalizers"), arena);
	struct string_list after = json_strings(json_path(new, "metadata.finalizers"), arena);
	for (size_t i = 0; i < after.count; i++)
		if (!string_list_has(&before, after.at[i]))
			return true;
	return false;
}

static bool repeats_taint(const struct json *object)
{
	const struct json *taints = json_path(object, "spec.taints");
	for (size_t i = 0; i < json_count(taints); i++)
		for (size_t j = i + 1; j < json_count(taints); j++)
			if (text_equal(json_get_string(json_at(taints, i), "key"), json_get_string(json_at(taints, j), "key")) &&
			    text_equal(json_get_string(json_at(taints, i), "effect"),
			               json_get_string(json_at(taints, j), "effect")))
				return true;
	return false;
}

static void drop_empty(struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);
	bool empty = (json_type(value) == JSON_ARRAY || json_type(value) == JSON_OBJECT) && json_count(value) == 0;
	bool no = json_type(value) == JSON_BOOL && !json_bool(value, true);
	if (empty || no)
		json_remove(object, key);
}

/* What the API server's own types leave out when it is empty: metadata of all, the spec of its own kinds. */
static void drop_empties(struct arena *arena, size_t collection, struct json *object)
{
	static const char *const of_metadata[] = {"annotations", "labels", "finalizers"};
	static const char *const of_spec[] = {"taints", "unschedulable"};
	struct json *metadata = json_copy(arena, json_get(object, "metadata"));
	for (size_t i = 0; i < sizeof(of_metadata) / sizeof(of_metadata[0]); i++)
		drop_empty(metadata, of_metadata[i]);
	json_set(object, "metadata", metadata);
	if (collection != COLLECTION_NODES || json_get(object, "spec") == NULL)
		return;
	struct json *spec = json_copy(arena, json_get(object, "spec"));
	for (size_t i = 0; i < sizeof(of_spec) / sizeof(of_spec[0]); i++)
		drop_empty(spec, of_spec[i]);
	json_set(object, "spec", spec);
}

/* The merged object of a write to the main resource or to /status. */
static struct json *merge(struct arena *arena, const struct route *route, const struct json *old,
                          const struct json *new)
{
	bool to_status = route->subresource != NULL;
	const struct json *status = json_get(to_status ? new : old, "status");
	struct json *merged = to_status ? json_copy(arena, old) : keep_identity(arena, old, new);
	json_remove(merged, "status");
	if (status != NULL)
		json_set(merged, "status", json_copy(arena, status));
	drop_empties(arena, route->collection, merged);
	bool spec_changed = !json_equal(json_get(old, "spec"), json_get(merged, "spec"));
	if (spec_changed && route->collection == COLLECTION_EVACUATIONS) {
		struct json *metadata = json_copy(arena, json_get(merged, "metadata"));
		json_set_integer(metadata, "generation", json_integer(json_get(metadata, "generation"), 0) + 1);
		json_set(merged, "metadata", metadata);
	}
	return merged;
}

/* Validate, store, and delete an object whose last finalizer went. */
static void write_object(struct world *world, struct sim_call *call, const struct route *route, const struct json *new)
{
	struct arena *arena = &call->arena;
	struct object *object = store_find(world, route->collection, route->namespace_, route->name);
	const char *version = json_path_string(new, "metadata.resourceVersion");
	if (version != NULL && !text_equal(version, json_path_string(object->json, "metadata.resourceVersion"))) {
		sim_kube_status(call, 409, "Conflict",
		                "the object has been modified; please apply your changes to the latest version");
		return;
	}
	bool deleting = json_path(object->json, "metadata.deletionTimestamp") != NULL;
	if (deleting && adds_finalizer(arena, object->json, new)) {
		sim_kube_status(call, 422, "Invalid", "no new finalizers can be added if the object is being deleted");
		return;
	}
	if (repeats_taint(new)) {
		sim_kube_status(call, 422, "Invalid", "spec.taints: Duplicate value");
		return;
	}
	struct json *merged = merge(arena, route, object->json, new);
	bool goes = deleting && json_count(json_path(merged, "metadata.finalizers")) == 0;
	if (!json_equal(merged, object->json))
		store_put(world, route->collection, route->namespace_, route->name, merged);
	answer_object(call, 200, object);
	if (goes)
		store_drop(world, route->collection, route->namespace_, route->name);
}

static void serve_patch(struct world *world, struct sim_call *call, const struct route *route)
{
	const char *type = sim_header_or(&call->request, "Content-Type", "");
	if (!text_starts_with(type, "application/json-patch+json")) {
		sim_kube_status(call, 415, "UnsupportedMediaType", "only application/json-patch+json is served");
		return;
	}
	const struct json *ops = request_json(call);
	if (ops == NULL)
		return;
	const struct object *object = store_find(world, route->collection, route->namespace_, route->name);
	const char *failure = NULL;
	struct json *patched = sim_json_patch(&call->arena, object->json, ops, &failure);
	if (patched == NULL) {
		sim_kube_status(
			call, 422, "Invalid",
			arena_printf(&call->arena, "the server rejected our request due to an error in our request: %s", failure));
		return;
	}
	write_object(world, call, route, patched);
}

static void serve_update(struct world *world, struct sim_call *call, const struct route *route)
{
	const struct json *body = request_json(call);
	if (body == NULL)
		return;
	if (!text_equal(json_path_string(body, "metadata.name"), route->name)) {
		sim_kube_status(call, 400, "BadRequest", "the name of the object does not match the name on the URL");
		return;
	}
	write_object(world, call, route, body);
}

static void serve_named(struct world *world, struct sim_call *call, const struct route *route)
{
	const char *method = call->request.method;
	struct object *object = store_find(world, route->collection, route->namespace_, route->name);
	if (object == NULL)
		not_found(call, route);
	else if (strcmp(method, "GET") == 0)
		answer_object(call, 200, object);
	else if (strcmp(method, "PATCH") == 0)
		serve_patch(world, call, route);
	else if (strcmp(method, "PUT") == 0)
		serve_update(world, call, route);
	else
		sim_kube_status(call, 405, "MethodNotAllowed", "not served here");
}

/* What the lease says after a write by the client, for the rule that nothing is written without it. */
static void follow_lease(struct world *world, struct sim_call *call, const struct route *route)
{
	struct sim_client *client = call->client;
	bool of_lease = strstr(call->request.operation, " leases") != NULL;
	world->lease_used = world->lease_used || of_lease;
	if (call->abandoned || !of_lease || strcmp(call->request.method, "GET") == 0 || call->answer.status >= 300)
		return;
	const char *name = route->name != NULL ? route->name : "zonevac"; /* made just now */
	const struct object *lease = store_find(world, COLLECTION_LEASES, route->namespace_, name);
	const char *holder = lease != NULL ? json_path_string(lease->json, "spec.holderIdentity") : NULL;
	client->leads = holder != NULL && holder[0] != '\0';
	client->lease_renewed = call->submitted;
	(void)snprintf(client->lease_identity, sizeof(client->lease_identity), "%s", client->leads ? holder : "");
	sim_check_leaders(world);
}

void sim_kube_serve(struct world *world, struct sim_call *call)
{
	struct route route;
	const char *method = call->request.method;
	if (!sim_identity_kube(world, call)) {
		sim_kube_status(call, 401, "Unauthorized", "Unauthorized");
		return;
	}
	if (!route_parse(&call->arena, call->request.path, &route))
		sim_kube_status(call, 404, "NotFound", "the server could not find the requested resource");
	else if (route.collection == COLLECTION_PODS)
		sim_pods_serve(world, call, route.namespace_, route.name, route.subresource);
	else if (route.name != NULL)
		serve_named(world, call, &route);
	else if (strcmp(method, "POST") == 0)
		serve_create(world, call, &route);
	else if (strcmp(method, "GET") == 0 && is_true(sim_query_get(&call->arena, call->request.query, "watch")))
		serve_watch(world, call, &route);
	else if (strcmp(method, "GET") == 0)
		serve_list(world, call, &route);
	else
		sim_kube_status(call, 405, "MethodNotAllowed", "not served here");
	follow_lease(world, call, &route);
}
