/*
 * The client seam: submit, cancel, wait, wake, and what happens to a call on its way.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS (60 * 60 * 1000)
#define CALL_MAX_BYTES (32 * 1024 * 1024)
#define SPIN_MAX 20000
#define DEAD_WAITS_MAX 1000
#define SOON_MS 10000
#define AWS_LATE_MAX_MS 280000

static bool is_kube(const struct sim_request *request)
{
	return strcmp(request->host, "kube.sim") == 0;
}

static void call_unschedule(struct world *world, const struct sim_call *call)
{
	struct sim_thing **at = &world->things;
	while (*at != NULL) {
		struct sim_thing *thing = *at;
		if (thing->call == call) {
			*at = thing->next;
			free(thing);
		} else {
			at = &thing->next;
		}
	}
}

static void call_free(struct world *world, struct sim_call *call)
{
	call_unschedule(world, call);
	struct sim_call **link = &world->calls;
	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	if (call->stream.open)
		text_done(&call->stream.pending);
	arena_done(&call->arena);
	free(call);
}

void sim_calls_drop(struct world *world)
{
	while (world->calls != NULL)
		call_free(world, world->calls);
}

static struct sim_call *call_find(struct world *world, uint64_t number)
{
	struct sim_call *call = world->calls;
	while (call != NULL && call->number != number)
		call = call->next;
	return call;
}

/* scheme://host/path?query to its parts. */
static void request_url(struct world *world, struct arena *arena, const char *url, struct sim_request *out)
{
	const char *host = strstr(url, "://");
	if (host == NULL)
		sim_broken(world, "not a URL: %s", url);
	host += 3;
	size_t host_length = strcspn(host, "/?");
	out->host = arena_copy(arena, host, host_length);
	const char *path = host + host_length;
	size_t path_length = strcspn(path, "?");
	out->path = path_length > 0 ? arena_copy(arena, path, path_length) : "/";
	out->query = path[path_length] == '?' ? arena_string(arena, path + path_length + 1) : "";
}

static void request_copy(struct world *world, struct arena *arena, const struct http_request *request,
                         struct sim_request *out)
{
	if (request->url == NULL || request->method == NULL)
		sim_broken(world, "submit without url or method (%s)", request->operation != NULL ? request->operation : "?");
	if (request->deadline_ms <= 0)
		sim_broken(world, "a call without a deadline: %s %s", request->method, request->url);
	if (request->stream ? request->idle_ms <= 0 : request->max_response_bytes == 0)
		sim_broken(world, "a call without a bound: %s %s", request->method, request->url);
	request_url(world, arena, request->url, out);
	out->method = arena_string(arena, request->method);
	for (size_t i = 0; i < request->headers.count; i++)
		http_add_header(&out->headers, arena, arena_string(arena, request->headers.at[i].name),
		                arena_string(arena, request->headers.at[i].value));
	out->body = request->body != NULL ? arena_copy(arena, request->body, request->body_length) : "";
	out->body_length = request->body != NULL ? request->body_length : 0;
	out->deadline_ms = request->deadline_ms;
	out->idle_ms = request->idle_ms;
	out->max_response_bytes = request->max_response_bytes;
	out->stream = request->stream;
}

static void request_label(struct world *world, struct sim_request *request, struct arena *arena)
{
	if (is_kube(request))
		sim_kube_label(request, arena);
	else if (strcmp(request->host, "aws.sim") == 0)
		sim_aws_label(request, arena);
	else
		sim_broken(world, "there is no host %s", request->host);
	request->counted = !request->stream && strstr(request->operation, " leases") == NULL;
}

static void count_call(struct world *world, const char *operation)
{
	for (size_t i = 0; i < world->counter_count; i++)
		if (strcmp(world->counters[i].operation, operation) == 0) {
			world->counters[i].count++;
			return;
		}
	if (world->counter_count == SIM_COUNTERS_MAX)
		sim_broken(world, "more than %d operations", SIM_COUNTERS_MAX);
	struct sim_counter *counter = &world->counters[world->counter_count++];
	(void)snprintf(counter->operation, sizeof(counter->operation), "%s", operation);
	counter->count = 1;
}

static enum world_fault fault_of(struct world *world, const struct sim_request *request)
{
	enum world_fault found = WORLD_NO_FAULT;
	if (!instant_reached(is_kube(request) ? world->kube_back : world->aws_back, world->now))
		found = WORLD_REFUSE;
	for (size_t i = 0; i < world->fault_count; i++) {
		struct sim_fault *fault = &world->faults[i];
		bool any = strcmp(fault->operation, "*") == 0;
		if (fault->left == 0 || !(any ? request->counted : strcmp(fault->operation, request->operation) == 0))
			continue;
		if (--fault->left == 0)
			found = fault->fault;
	}
	return found;
}

/* Faults without an answer end at the deadline, a refused connection at once. */
static void schedule_call(struct world *world, struct sim_call *call)
{
	int64_t deadline_ms = call->request.deadline_ms;
	switch (call->fault) {
	case WORLD_REFUSE:
		sim_schedule(world, call->latency_ms, THING_REPLY, call, NULL, NULL);
		return;
	case WORLD_LOSE_REPLY:
		sim_schedule(world, call->latency_ms / 2, THING_SERVE, call, NULL, NULL);
		sim_schedule(world, deadline_ms, THING_REPLY, call, NULL, NULL);
		return;
	case WORLD_LATE:
		sim_schedule(world, deadline_ms, THING_REPLY, call, NULL, NULL);
		sim_schedule(world, world->late_ms, THING_SERVE, call, NULL, NULL);
		return;
	default:
		sim_schedule(world, call->latency_ms / 2, THING_SERVE, call, NULL, NULL);
	}
}

static uint64_t client_submit(struct client *client, struct arena *arena, const struct http_request *request,
                              void *owner)
{
	struct world *world = (struct world *)client;
	uint64_t number = ++world->last_call;
	if (world->killed)
		return number;
	struct sim_call *call = calloc(1, sizeof(*call));
	if (call == NULL)
		abort();
	call->number = number;
	call->owner = owner;
	call->client_arena = arena;
	call->submitted = world->now;
	call->latency_ms = 5 + sim_chance(world, 16);
	arena_init(&call->arena, "call in the simulated world", CALL_MAX_BYTES);
	call->next = world->calls;
	world->calls = call;
	request_copy(world, &call->arena, request, &call->request);
	request_label(world, &call->request, &call->arena);
	sim_check_submit(world, &call->request);
	count_call(world, call->request.operation);
	if (call->request.counted)
		count_call(world, "*");
	call->fault = fault_of(world, &call->request);
	schedule_call(world, call);
	return number;
}

static bool changes_resource(const struct sim_request *request)
{
	return strcmp(request->operation, "UpdateAutoScalingGroup") == 0 ||
	       strcmp(request->operation, "UpdateService") == 0 ||
	       strcmp(request->operation, "UpdateFunctionConfiguration") == 0;
}

/*
 * How late what nobody waits for may arrive: now, soon, or (a change of a resource) as late as its signature is good for. A journal's first
 * record that arrives after all is over is an orphan without harm, and reported as such: it is not what these tests are about.
 */
static int64_t landing_ms(struct world *world, const struct sim_call *call)
{
	switch (sim_chance(world, 4)) {
	case 0:
	case 1:
		return sim_chance(world, 20);
	case 2:
		return sim_chance(world, SOON_MS);
	default:
		return sim_chance(world, changes_resource(&call->request) ? AWS_LATE_MAX_MS : SOON_MS);
	}
}

/* What was sent may still land, or not. */
static void call_abandon(struct world *world, struct sim_call *call)
{
	if (call->fault == WORLD_LATE) {
		call->abandoned = true; /* its reply finds nobody, and it arrives as it would have */
		return;
	}
	bool lands =
		call->answer.status == 0 && !call->stream.open && call->fault != WORLD_REFUSE && sim_chance(world, 2) == 0;
	call->abandoned = true;
	if (!lands) {
		call_free(world, call);
		return;
	}
	int64_t late_ms = landing_ms(world, call);
	sim_note(world, "%s left alone on its way: it arrives in %lld ms", call->request.operation, (long long)late_ms);
	call_unschedule(world, call);
	sim_schedule(world, late_ms, THING_SERVE, call, NULL, NULL);
}

static void client_cancel(struct client *client, uint64_t number)
{
	struct world *world = (struct world *)client;
	struct sim_call *call = call_find(world, number);
	if (call != NULL && !call->abandoned)
		call_abandon(world, call);
}

static void client_die(struct world *world)
{
	world->killed = true;
	sim_note(world, "KILLED at effect %u", world->effects);
	struct sim_call *next;
	for (struct sim_call *call = world->calls; call != NULL; call = next) {
		next = call->next;
		if (!call->abandoned)
			call_abandon(world, call);
	}
}

static void answer_html(struct sim_call *call)
{
	call->answer.status = 500;
	call->answer.content_type = "text/html";
	call->answer.body = "<html><body><h1>Internal Server Error</h1></body></html>";
}

static void serve_handled(struct world *world, struct sim_call *call)
{
	if (is_kube(&call->request))
		sim_kube_serve(world, call);
	else
		sim_aws_serve(world, call);
}

static void serve_fault(struct world *world, struct sim_call *call)
{
	switch (call->fault) {
	case WORLD_THROTTLE:
		(is_kube(&call->request) ? sim_kube_throttle : sim_aws_throttle)(call);
		break;
	case WORLD_BUSY:
		if (is_kube(&call->request))
			sim_kube_status(call, 409, "Conflict", "the object has been modified");
		else
			sim_aws_busy(call);
		break;
	case WORLD_ERROR_BEFORE:
		answer_html(call);
		break;
	case WORLD_ERROR_AFTER:
		serve_handled(world, call);
		answer_html(call);
		break;
	default:
		serve_handled(world, call);
	}
}

/* The request arrives at its server. Frees the call when nobody waits for it any more. */
static void call_serve(struct world *world, struct sim_call *call)
{
	bool dies = false;
	if (call->request.effect)
		dies = !call->abandoned && ++world->effects == world->kill_at;
	if (dies && world->kill_when == WORLD_KILL_BEFORE) {
		sim_note(world, "%s (effect %u) does not arrive", call->request.operation, world->effects);
		call_free(world, call);
		client_die(world);
		return;
	}
	serve_fault(world, call);
	sim_note(world, "%s %s -> %d%s%s%s", call->request.operation, is_kube(&call->request) ? call->request.path : "",
	         call->answer.status, call->fault != WORLD_NO_FAULT ? " FAULT " : "",
	         call->fault != WORLD_NO_FAULT ? world_fault_name(call->fault) : "",
	         call->request.effect ? arena_printf(&call->arena, " (effect %u)", world->effects) : "");
	if (call->request.effect)
		sim_check(world);
	if (dies) {
		call_free(world, call);
		client_die(world);
	} else if (call->abandoned) {
		call_free(world, call);
	} else if (!call->stream.open && call->fault != WORLD_LOSE_REPLY) {
		sim_schedule(world, call->latency_ms - call->latency_ms / 2, THING_REPLY, call, NULL, NULL);
	}
}

static void response_error(struct http_response *response, enum error_kind kind, const char *message)
{
	response->status = 0;
	response->body = "";
	response->body_length = 0;
	(void)error_set(&response->error, kind, "%s", message);
}

static struct http_response *response_make(struct sim_call *call)
{
	struct arena *arena = call->client_arena;
	struct http_response *response = ARENA_NEW(arena, struct http_response);
	response->body = "";
	if (call->fault == WORLD_REFUSE || call->fault == WORLD_BREAK) {
		response_error(response, ERROR_UNREACHABLE,
		               call->fault == WORLD_REFUSE ? "connection refused" : "connection reset");
		return response;
	}
	if (call->fault == WORLD_LOSE_REPLY || call->fault == WORLD_LATE) {
		response_error(response, ERROR_TIMEOUT, "no answer before the deadline");
		return response;
	}
	response->status = call->answer.status;
	http_add_header(&response->headers, arena, "Content-Type", arena_string(arena, call->answer.content_type));
	if (!is_kube(&call->request))
		http_add_header(&response->headers, arena, "x-amzn-RequestId",
		                arena_printf(arena, "sim-%llu", (unsigned long long)call->number));
	if (call->error_type != NULL)
		http_add_header(&response->headers, arena, "x-amzn-ErrorType", call->error_type);
	if (call->answer.status == 429 && !call->no_retry_after)
		http_add_header(&response->headers, arena, "Retry-After", "1");
	bool bodiless = call->request.stream && call->answer.status == 200;
	if (call->answer.body != NULL && !bodiless) {
		response->body = arena_string(arena, call->answer.body);
		response->body_length = strlen(response->body);
	}
	if (!call->request.stream && response->body_length > call->request.max_response_bytes)
		response_error(response, ERROR_LIMIT, "the answer is larger than asked for");
	return response;
}

/* True: `out` is filled. A late call is told now and served later. */
static bool call_reply(struct world *world, struct sim_call *call, struct client_event *out)
{
	if (call->abandoned && call->fault == WORLD_LATE)
		return false;
	if (call->abandoned) {
		call_free(world, call);
		return false;
	}
	struct http_response *response = response_make(call);
	if (call->stream.open && call->answer.transport != ERROR_NONE)
		response_error(response, call->answer.transport, "no byte for too long");
	*out = (struct client_event){
		.what = CLIENT_FINISHED, .call = call->number, .owner = call->owner, .response = response};
	if (call->fault == WORLD_LATE)
		call->abandoned = true;
	else
		call_free(world, call);
	return true;
}

static void stream_idle(struct world *world, struct sim_call *call)
{
	int64_t left = call->request.idle_ms - instant_between_ms(call->stream.last_byte, world->now);
	if (left > 0) {
		sim_schedule(world, left, THING_IDLE, call, NULL, NULL);
		return;
	}
	sim_note(world, "%s is dead: no byte for %d ms", call->request.operation, call->request.idle_ms);
	call->answer.transport = ERROR_TIMEOUT;
	sim_schedule(world, 0, THING_REPLY, call, NULL, NULL);
}

static bool thing_run(struct world *world, const struct sim_thing *thing, struct client_event *out)
{
	switch (thing->kind) {
	case THING_SERVE:
		call_serve(world, thing->call);
		return false;
	case THING_REPLY:
		return call_reply(world, thing->call, out);
	case THING_STREAM:
		return sim_watch_deliver(world, thing->call, out);
	case THING_BOOKMARK:
		sim_watch_bookmark(world, thing->call);
		return false;
	case THING_STREAM_END:
		thing->call->stream.ending = true;
		sim_schedule(world, 1, THING_REPLY, thing->call, NULL, NULL);
		return false;
	case THING_IDLE:
		stream_idle(world, thing->call);
		return false;
	case THING_ACTION:
		thing->run(world, thing->context);
		sim_check(world);
		return false;
	}
	abort();
}

/* Run what is due until then, in order, to the first thing that is to be told. False when nothing is due any more. */
bool sim_run_next(struct world *world, struct instant until, struct client_event *out)
{
	while (!world->killed && world->things != NULL && world->things->due.ms <= until.ms) {
		struct sim_thing thing = *world->things;
		free(world->things);
		world->things = thing.next;
		if (thing.due.ms > world->now.ms)
			world->now = thing.due;
		arena_reset(&world->scratch);
		if (thing_run(world, &thing, out))
			return true;
	}
	return false;
}

static void wait_checks(struct world *world, struct instant until)
{
	bool in_flight = false;
	for (const struct sim_call *call = world->calls; call != NULL; call = call->next)
		in_flight = in_flight || !call->abandoned;
	if (!in_flight && until.ms > world->now.ms + HOUR_MS)
		sim_broken(world, "waiting with nothing in flight and nothing due");
	if (until.ms > world->now.ms)
		world->idle_waits = 0;
	else if (++world->idle_waits > SPIN_MAX)
		sim_broken(world, "the engine spins: %d waits that were due at once", SPIN_MAX);
}

static void client_wait(struct client *client, struct instant until, struct client_event *out)
{
	struct world *world = (struct world *)client;
	*out = (struct client_event){.what = CLIENT_DUE};
	arena_reset(&world->looks);
	if (world->killed) {
		if (++world->dead_waits > DEAD_WAITS_MAX)
			sim_broken(world, "a dead engine goes on waiting");
		return;
	}
	wait_checks(world, until);
	if (world->woken) {
		world->woken = false;
		out->what = CLIENT_WOKEN;
		return;
	}
	struct instant limit = until.ms > world->now.ms ? until : world->now;
	if (sim_run_next(world, limit, out) || world->killed)
		return;
	world->now = limit;
}

static void client_wake(struct client *client)
{
	((struct world *)client)->woken = true;
}

void sim_client_init(struct world *world)
{
	world->client.submit = client_submit;
	world->client.cancel = client_cancel;
	world->client.wait = client_wait;
	world->client.wake = client_wake;
}
