/*
 * The client seam: submit, run, cancel, and what happens to a call on its way.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALL_MAX_BYTES (32 * 1024 * 1024)
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
	out->not_after = request->not_after;
}

static void request_label(struct world *world, struct sim_request *request, struct arena *arena)
{
	request->service = "kubernetes";
	if (is_kube(request))
		sim_kube_label(request, arena);
	else if (strcmp(request->host, "aws.sim") == 0)
		sim_aws_label(request, arena);
	else if (sim_is_credentials(request))
		request->service = request->operation = "credentials";
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
	enum world_fault found = sim_outage_of(world, request);
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

static int64_t left_ms(const struct world *world, const struct sim_call *call)
{
	int64_t left = call->request.deadline_ms - instant_between_ms(call->submitted, world->now);
	return left > 0 ? left : 0;
}

/* Faults without an answer end at the deadline, a refused connection at once. */
static void call_travel(struct world *world, struct sim_call *call)
{
	switch (call->fault) {
	case WORLD_REFUSE:
		sim_schedule(world, call->latency_ms, THING_REPLY, call, NULL, NULL);
		return;
	case WORLD_LOSE_REPLY:
		sim_schedule(world, call->latency_ms / 2, THING_SERVE, call, NULL, NULL);
		sim_schedule(world, left_ms(world, call), THING_REPLY, call, NULL, NULL);
		return;
	case WORLD_SILENCE:
		sim_schedule(world, left_ms(world, call), THING_REPLY, call, NULL, NULL);
		return;
	case WORLD_LATE:
		sim_schedule(world, left_ms(world, call), THING_REPLY, call, NULL, NULL);
		sim_schedule(world, world->late_ms, THING_SERVE, call, NULL, NULL);
		return;
	case WORLD_SLOW:
		call->latency_ms = left_ms(world, call) * 9 / 10;
		sim_schedule(world, call->latency_ms / 2, THING_SERVE, call, NULL, NULL);
		return;
	default:
		sim_schedule(world, call->latency_ms / 2, THING_SERVE, call, NULL, NULL);
	}
}

/* The connection stands. */
static void call_send(struct world *world, struct sim_call *call)
{
	struct instant not_after = call->request.not_after;
	if (left_ms(world, call) == 0) {
		call->answer.transport = ERROR_TIMEOUT;
		call->answer.body = "no connection before the deadline";
		sim_schedule(world, 0, THING_REPLY, call, NULL, NULL);
		return;
	}
	if (not_after.ms != 0 && instant_reached(not_after, world->now)) {
		sim_note(world, "%s is not sent any more", call->request.operation);
		call->answer.transport = ERROR_STALE;
		sim_schedule(world, 0, THING_REPLY, call, NULL, NULL);
		return;
	}
	sim_check_lease(world, call->client, &call->request, "is put on the wire");
	call->sent = true;
	call_travel(world, call);
}

static struct sim_call *call_new(struct sim_client *client, struct arena *arena, void *owner)
{
	struct world *world = client->world;
	struct sim_call *call = calloc(1, sizeof(*call));
	if (call == NULL)
		abort();
	call->number = world->last_call;
	call->client = client;
	call->owner = owner;
	call->client_arena = arena;
	call->submitted = world->now;
	call->latency_ms = 5 + sim_chance(world, 16);
	arena_init(&call->arena, "call in the simulated world", CALL_MAX_BYTES);
	call->next = world->calls;
	world->calls = call;
	return call;
}

static uint64_t client_submit(struct client *client, struct arena *arena, const struct http_request *request,
                              void *owner)
{
	struct sim_client *self = (struct sim_client *)client;
	struct world *world = self->world;
	uint64_t number = ++world->last_call;
	if (self->killed)
		return number;
	struct sim_call *call = call_new(self, arena, owner);
	request_copy(world, &call->arena, request, &call->request);
	request_label(world, &call->request, &call->arena);
	sim_check_lease(world, self, &call->request, "is submitted");
	count_call(world, call->request.operation);
	if (call->request.counted)
		count_call(world, "*");
	call->fault = fault_of(world, &call->request);
	if (call->fault == WORLD_STOP)
		world_pause(world, client, world->stop_ms);
	int64_t connect_ms = world->connect_ms < call->request.deadline_ms ? world->connect_ms : call->request.deadline_ms;
	if (connect_ms > 0)
		sim_schedule(world, connect_ms, THING_SEND, call, NULL, NULL);
	else
		call_send(world, call);
	return number;
}

static void program_copy(struct world *world, struct arena *arena, const struct program *program,
                         struct sim_request *out)
{
	if (program->argv == NULL || program->argv[0] == NULL)
		sim_broken(world, "a program without a name");
	const char *slash = strrchr(program->argv[0], '/');
	out->method = "RUN";
	out->host = out->query = out->body = "";
	out->path = arena_string(arena, program->argv[0]);
	out->service = "program";
	out->operation = arena_printf(arena, "RUN %s", slash != NULL ? slash + 1 : program->argv[0]);
	out->deadline_ms = program->deadline_ms > 0 ? program->deadline_ms : 60000;
	out->max_response_bytes = program->max_output_bytes > 0 ? program->max_output_bytes : 1024 * 1024;
	for (size_t i = 0; program->environment != NULL && program->environment[i] != NULL; i++)
		http_add_header(&out->headers, arena, "environment", arena_string(arena, program->environment[i]));
}

static uint64_t client_run(struct client *client, struct arena *arena, const struct program *program, void *owner)
{
	struct sim_client *self = (struct sim_client *)client;
	struct world *world = self->world;
	uint64_t number = ++world->last_call;
	if (self->killed)
		return number;
	struct sim_call *call = call_new(self, arena, owner);
	program_copy(world, &call->arena, program, &call->request);
	call->latency_ms = 200 + sim_chance(world, 400);
	count_call(world, call->request.operation);
	call->fault = fault_of(world, &call->request);
	call->sent = true;
	call_travel(world, call);
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
	bool lands = call->sent && call->answer.status == 0 && !call->stream.open && call->fault != WORLD_REFUSE &&
	             call->fault != WORLD_SILENCE && sim_chance(world, 2) == 0;
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
	struct sim_client *self = (struct sim_client *)client;
	struct world *world = self->world;
	struct sim_call *call = call_find(world, number);
	sim_client_forget(self, number);
	if (call != NULL && !call->abandoned)
		call_abandon(world, call);
}

static void client_die(struct world *world, struct sim_client *client)
{
	world->killed = client->killed = true;
	sim_note(world, "KILLED at effect %u", world->effects);
	struct sim_call *next;
	for (struct sim_call *call = world->calls; call != NULL; call = next) {
		next = call->next;
		if (!call->abandoned && call->client == client)
			call_abandon(world, call);
	}
}

static void answer_html(struct sim_call *call, int status, const char *title)
{
	call->answer.status = status;
	call->answer.content_type = "text/html";
	call->answer.body = arena_printf(&call->arena, "<html><body><h1>%s</h1></body></html>", title);
}

static void serve_handled(struct world *world, struct sim_call *call)
{
	if (is_kube(&call->request))
		sim_kube_serve(world, call);
	else if (strcmp(call->request.service, "program") == 0)
		sim_program_serve(world, call);
	else if (strcmp(call->request.service, "credentials") == 0)
		sim_credentials_serve(world, call);
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
		answer_html(call, 500, "Internal Server Error");
		break;
	case WORLD_ERROR_AFTER:
		serve_handled(world, call);
		answer_html(call, 500, "Internal Server Error");
		break;
	case WORLD_GARBAGE:
		answer_html(call, 200, "It works!");
		break;
	default:
		serve_handled(world, call);
	}
}

/* The request arrives at its server. Frees the call when nobody waits for it any more. */
static void call_serve(struct world *world, struct sim_call *call)
{
	struct sim_client *client = call->client;
	bool dies = call->request.effect && !call->abandoned && ++world->effects == world->kill_at;
	if (dies && world->kill_when == WORLD_KILL_BEFORE) {
		sim_note(world, "%s (effect %u) does not arrive", call->request.operation, world->effects);
		call_free(world, call);
		client_die(world, client);
		return;
	}
	world->serving_since = call->submitted;
	serve_fault(world, call);
	sim_note(world, "%s%s %s -> %d%s%s%s%s", call->client == &world->clients[0] ? "" : "(2) ", call->request.operation,
	         is_kube(&call->request) ? call->request.path : "", call->answer.status,
	         call->fault != WORLD_NO_FAULT ? " FAULT " : "",
	         call->fault != WORLD_NO_FAULT ? world_fault_name(call->fault) : "",
	         call->request.effect ? arena_printf(&call->arena, " (effect %u)", world->effects) : "",
	         world->silent ? "" : sim_journal_note(world, call));
	if (call->request.effect)
		sim_check(world);
	if (dies) {
		call_free(world, call);
		client_die(world, client);
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

/*
 * "Fri, 02 Jan 2026 03:04:05 GMT". Servers' clocks are right; who gives a container its keys lives on the same machine
 * as the client.
 */
static const char *http_date(struct world *world, const struct sim_request *request, struct arena *arena)
{
	bool near = strcmp(request->service, "credentials") == 0;
	int64_t ahead_ms = near ? world->skew_ms : 0;
	if (strcmp(request->host, "aws.sim") == 0 && world->dates.left > 0) {
		world->dates.left--;
		ahead_ms += world->dates.ahead_ms;
		if (world->dates.text != NULL)
			return world->dates.text;
	}
	time_t seconds = (time_t)((sim_wall(world).us / 1000 + ahead_ms) / 1000);
	struct tm parts;
	char date[40];
	(void)gmtime_r(&seconds, &parts);
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
	return arena_string(arena, date);
}

static struct http_response *response_make(struct world *world, struct sim_call *call)
{
	struct arena *arena = call->client_arena;
	struct http_response *response = ARENA_NEW(arena, struct http_response);
	response->body = "";
	if (call->answer.transport != ERROR_NONE && call->answer.status == 0) {
		response_error(response, call->answer.transport,
		               call->answer.body != NULL ? call->answer.body : "it is too late to send it");
		return response;
	}
	bool program = strcmp(call->request.service, "program") == 0;
	if (program && (call->fault == WORLD_REFUSE || call->answer.status >= 400)) {
		response_error(response, ERROR_REJECTED, "it ended with 1: not logged in");
		return response;
	}
	if (call->fault == WORLD_REFUSE || call->fault == WORLD_BREAK) {
		response_error(response, ERROR_UNREACHABLE,
		               call->fault == WORLD_REFUSE ? "connection refused" : "connection reset");
		return response;
	}
	if (call->fault == WORLD_LOSE_REPLY || call->fault == WORLD_LATE || call->fault == WORLD_SILENCE) {
		response_error(response, ERROR_TIMEOUT, "no answer before the deadline");
		return response;
	}
	response->status = call->answer.status;
	http_add_header(&response->headers, arena, "Content-Type", arena_string(arena, call->answer.content_type));
	if (strcmp(call->request.host, "aws.sim") == 0)
		http_add_header(&response->headers, arena, "x-amzn-RequestId",
		                arena_printf(arena, "sim-%llu", (unsigned long long)call->number));
	if (call->error_type != NULL)
		http_add_header(&response->headers, arena, "x-amzn-ErrorType", call->error_type);
	if (!program)
		http_add_header(&response->headers, arena, "Date", http_date(world, &call->request, arena));
	int64_t retry_after_s = sim_retry_after_s(world, call);
	if (retry_after_s > 0)
		http_add_header(&response->headers, arena, "Retry-After",
		                arena_printf(arena, "%lld", (long long)retry_after_s));
	sim_outage_said(world, &call->request, retry_after_s);
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
	struct http_response *response = response_make(world, call);
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

/* What moves only while its client runs waits for that. */
static bool thing_waits(struct world *world, const struct sim_thing *thing)
{
	bool clients = thing->kind == THING_SEND || thing->kind == THING_REPLY || thing->kind == THING_STREAM ||
	               thing->kind == THING_IDLE;
	if (!clients || thing->call->abandoned)
		return false;
	int64_t left = instant_between_ms(world->now, thing->call->client->paused_until);
	if (left <= 0)
		return false;
	/* When it goes on, everything moves on the wire before anything is told. */
	sim_schedule(world, left + (thing->kind != THING_SEND), thing->kind, thing->call, NULL, NULL);
	return true;
}

static bool thing_run(struct world *world, const struct sim_thing *thing, struct client_event *out)
{
	switch (thing->kind) {
	case THING_SEND:
		call_send(world, thing->call);
		return false;
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

bool sim_run_next(struct world *world, struct instant until, struct sim_client **to, struct client_event *out)
{
	while (!world->killed && world->things != NULL && world->things->due.ms <= until.ms) {
		struct sim_thing thing = *world->things;
		free(world->things);
		world->things = thing.next;
		if (thing.due.ms > world->now.ms)
			world->now = thing.due;
		arena_reset(&world->scratch);
		*to = thing.call != NULL ? thing.call->client : NULL; /* which may be gone when it has run */
		world->kube = world->kubes[*to != NULL ? (*to)->cluster : 0];
		world->serving_since = world->now;
		bool told = !thing_waits(world, &thing) && thing_run(world, &thing, out);
		world->kube = world->kubes[0];
		if (told)
			return true;
	}
	return false;
}

void sim_calls_init(struct client *client)
{
	client->submit = client_submit;
	client->run = client_run;
	client->cancel = client_cancel;
}
