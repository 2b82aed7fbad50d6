#include "net/curl_client.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "hub.h"

enum {
	MAX_RUNNING = 256,
	MAX_SPARE = 32,
	MAX_POOLED = MAX_RUNNING, /* curl counts the busy ones too */
	MAX_WAIT_MS = 60 * 60 * 1000,
	MAX_REAP_MS = 1000,
	KEEP_TOLD_BYTES = 64 * 1024,
	EVENTS_AT_ONCE = 64,
	RANDOM_AT_ONCE = 64,
};

/* Streams have a multi of their own: an HTTP/1.1 answer makes curl forget that a host can multiplex. */
enum { HUB_CALLS, HUB_STREAMS, HUB_COUNT };

/* What else an event may be of; below it the child's tag. */
enum { OF_WAKE = HUB_COUNT, OF_CHILD };

struct world {
	struct client client; /* first: the seam is a pointer to it */
	const char *user_agent;
	const char *system_ca_file; /* NULL when curl was built without one that exists */
	struct hub hubs[HUB_COUNT];
	struct sockets sockets;
	struct children children; /* also those given up, until they are reaped */
	uint32_t last_child;
	int epoll;
	int wake_event;
	atomic_bool woken;
	bool looked; /* at the sockets, since CLIENT_DUE was last told */
	uint64_t last_number;
	size_t running_count;
	size_t spare_count;
	struct calls all, waiting, ready, spare;
	struct text told; /* the bytes of the last chunk */
	uint32_t random[RANDOM_AT_ONCE];
	size_t random_left;
};

static struct world *world_of(struct client *client)
{
	return (struct world *)client;
}

/* Clocks and chance. */

static struct instant client_now(struct client *client)
{
	(void)client;
	return call_boottime();
}

static struct wallclock client_wall(struct client *client)
{
	struct timespec at;

	(void)client;
	clock_gettime(CLOCK_REALTIME, &at);
	return (struct wallclock){(int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000};
}

static uint32_t client_random(struct client *client)
{
	struct world *world = world_of(client);

	if (world->random_left == 0) {
		/* up to 256 bytes come whole and are never refused once the kernel's pool is ready */
		while (getrandom(world->random, sizeof world->random, 0) != (ssize_t)sizeof world->random)
			assert(errno == EINTR);
		world->random_left = RANDOM_AT_ONCE;
	}
	return world->random[--world->random_left];
}

/* From waiting to finished. */

static void make_ready(struct call *call)
{
	if (call->ready)
		return;
	call->ready = true;
	TAILQ_INSERT_TAIL(&call->world->ready, call, queue);
}

static void let_go(struct world *world, struct child *child)
{
	child_give_up(child);
	if (!child_reap(child, 0))
		return; /* its event comes */
	TAILQ_REMOVE(&world->children, child, all);
	child_free(child);
}

static void stop_running(struct call *call)
{
	if (call->hub == NULL && call->child == NULL)
		return;
	if (call->hub != NULL)
		hub_remove(call->hub, call);
	else
		let_go(call->world, call->child);
	call->hub = NULL;
	call->child = NULL;
	call->world->running_count--;
}

static void finish_with(struct call *call, const struct http_response *response)
{
	if (call->hub == NULL && call->child == NULL && !call->ready)
		TAILQ_REMOVE(&call->world->waiting, call, queue);
	stop_running(call);
	call->response = response;
	make_ready(call);
}

/* `failure` NULL: the answer is whole. What of a stream has not been told yet is told before the end. */
static void finish(struct call *call, const struct error *failure)
{
	struct http_response *response = ARENA_NEW(call->reply.arena, struct http_response);

	response->headers = call->reply.headers;
	response->body = "";
	if (failure != NULL)
		response->error = *failure;
	else
		response->status = call->reply.status;
	if (failure == NULL && !call_is_told_in_chunks(call))
		response->body = reply_take_body(&call->reply, &response->body_length);
	finish_with(call, response);
}

static void finish_with_code(struct call *call, CURLcode code)
{
	struct error failure = {0};

	call_failure(call, code, &failure);
	finish(call, &failure);
}

static void on_finished(struct call *call, CURLcode code)
{
	struct error failure = {0};

	if (code != CURLE_OK)
		finish_with_code(call, code);
	else
		finish(call, call_is_answered(call, &failure) ? NULL : &failure);
}

/* It is over before its answer has come. */
static void abandon(struct call *call, const struct error *failure)
{
	struct world *world = call->world;

	if (call->hub != NULL && call->sent.ms != 0)
		sockets_bury(&world->sockets, call->local_port, instant_between_ms(call->sent, call_boottime()));
	/* what was to be there by a certain time is not repeated by the kernel afterwards */
	world->sockets.dropping = call->request != NULL && call->request->not_after.ms != 0;
	if (failure != NULL)
		finish(call, failure);
	else
		stop_running(call);
	world->sockets.dropping = false;
}

static bool expire_call(struct call *call, struct instant now)
{
	struct error failure = {0};

	if (!instant_reached(call_next(call), now))
		return false;
	if (call->program != NULL)
		child_overdue(call->program, &failure);
	else if (call->sent.ms == 0 && call_is_stale(call))
		call_explain_stale(call, &failure);
	else
		call_overdue(call, &failure);
	abandon(call, &failure);
	return true;
}

static void start_program(struct call *call)
{
	struct world *world = call->world;
	uint64_t tag = (uint64_t)OF_CHILD << 32 | ++world->last_child;
	struct error failure = {0};

	call->child = child_start(call->reply.arena, call->program, world->epoll, tag, call, &failure);
	if (call->child == NULL) {
		finish(call, &failure);
		return;
	}
	TAILQ_REMOVE(&world->waiting, call, queue);
	TAILQ_INSERT_TAIL(&world->children, call->child, all);
	world->running_count++;
}

static void start_request(struct call *call)
{
	struct world *world = call->world;
	struct hub *hub = &world->hubs[call_is_apart(call) ? HUB_STREAMS : HUB_CALLS];

	if (call->easy == NULL)
		call->easy = curl_easy_init();
	if (call->easy == NULL || !call_set_up(call, world->user_agent, world->system_ca_file)) {
		finish_with_code(call, CURLE_OK);
		return;
	}
	TAILQ_REMOVE(&world->waiting, call, queue);
	call->hub = hub;
	world->running_count++;
	if (!hub_add(hub, call))
		finish_with_code(call, CURLE_FAILED_INIT);
}

static void start_waiting(struct world *world)
{
	struct call *call;

	while (world->running_count < MAX_RUNNING && (call = TAILQ_FIRST(&world->waiting)) != NULL) {
		if (expire_call(call, call_boottime()))
			continue;
		if (call->program != NULL)
			start_program(call);
		else
			start_request(call);
	}
}

static void expire(struct world *world)
{
	struct instant now = call_boottime();
	struct call *call;

	TAILQ_FOREACH (call, &world->all, all)
		if (call->response == NULL)
			expire_call(call, now);
}

/* The end of a call's life: back to the spare ones. */
static void retire(struct call *call)
{
	struct world *world = call->world;

	TAILQ_REMOVE(&world->all, call, all);
	call_tidy(call);
	if (world->spare_count < MAX_SPARE) {
		world->spare_count++;
		TAILQ_INSERT_HEAD(&world->spare, call, queue);
		return;
	}
	curl_easy_cleanup(call->easy);
	free(call);
}

/* Descriptors. */

static void drain_wake(struct world *world)
{
	uint64_t count;

	if (read(world->wake_event, &count, sizeof count) < 0)
		return; /* nothing in it */
}

static void take_child_event(struct world *world, uint64_t tag)
{
	struct http_response *response;
	struct child *child;
	struct call *call;

	TAILQ_FOREACH (child, &world->children, all)
		if (child->tag == tag)
			break;
	if (child == NULL)
		return;
	call = child->owner;
	if (call == NULL) {
		let_go(world, child);
	} else if (child_look(child)) {
		response = ARENA_NEW(call->reply.arena, struct http_response);
		child_answer(child, call->reply.arena, response);
		finish_with(call, response);
	}
}

static void take_event(struct world *world, const struct epoll_event *event)
{
	uint32_t of = (uint32_t)(event->data.u64 >> 32);

	if (of == OF_WAKE)
		drain_wake(world);
	else if (of == OF_CHILD)
		take_child_event(world, event->data.u64);
	else
		hub_take_event(&world->hubs[of], (int)(event->data.u64 & UINT32_MAX), event->events);
}

/* One look at all descriptors and curl's timers. */
static void look(struct world *world, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = epoll_wait(world->epoll, events, EVENTS_AT_ONCE, timeout_ms);

	for (int i = 0; i < count; i++)
		take_event(world, &events[i]);
	for (size_t i = 0; i < HUB_COUNT; i++)
		hub_tick(&world->hubs[i]);
	world->looked = true;
}

/* The seam. */

static struct call *call_take(struct world *world)
{
	struct call *call = TAILQ_FIRST(&world->spare);

	if (call != NULL) {
		TAILQ_REMOVE(&world->spare, call, queue);
		world->spare_count--;
	} else if ((call = calloc(1, sizeof *call)) == NULL) {
		abort();
	}
	return call;
}

static uint64_t enter(struct world *world, struct arena *arena, const struct http_request *request,
                      const struct program *program, void *owner)
{
	struct call *call = call_take(world);

	*call = (struct call){.world = world,
	                      .easy = call->easy,
	                      .sockets = &world->sockets,
	                      .number = ++world->last_number,
	                      .owner = owner,
	                      .request = request,
	                      .program = program,
	                      .heard = make_ready};
	reply_init(&call->reply, arena);
	call->due = instant_after(call_boottime(), call_deadline_ms(call));
	TAILQ_INSERT_TAIL(&world->all, call, all);
	TAILQ_INSERT_TAIL(&world->waiting, call, queue);
	return call->number;
}

static uint64_t client_submit(struct client *client, struct arena *arena, const struct http_request *request,
                              void *owner)
{
	assert(request->url != NULL && request->method != NULL);
	return enter(world_of(client), arena, request, NULL, owner);
}

static uint64_t client_run(struct client *client, struct arena *arena, const struct program *program, void *owner)
{
	assert(program->argv != NULL && program->argv[0] != NULL);
	return enter(world_of(client), arena, NULL, program, owner);
}

static void client_cancel(struct client *client, uint64_t number)
{
	struct world *world = world_of(client);
	struct call *call;

	TAILQ_FOREACH (call, &world->all, all)
		if (call->number == number)
			break;
	if (call == NULL)
		return;
	if (call->ready)
		TAILQ_REMOVE(&world->ready, call, queue);
	else if (call->hub == NULL && call->child == NULL)
		TAILQ_REMOVE(&world->waiting, call, queue);
	abandon(call, NULL);
	retire(call);
}

static bool take_wake(struct world *world, struct client_event *out)
{
	if (!atomic_exchange(&world->woken, false))
		return false;
	drain_wake(world);
	*out = (struct client_event){.what = CLIENT_WOKEN};
	return true;
}

/* The stream gets the empty buffer of the last chunk in exchange for its full one. */
static void take_chunk(struct world *world, struct call *call, struct client_event *out)
{
	struct text full = call->reply.body;

	call->reply.body = world->told;
	call->reply.body.max_bytes = full.max_bytes;
	world->told = full;
	out->what = CLIENT_CHUNK;
	out->bytes = full.at;
	out->length = full.length;
}

static bool take_ready(struct world *world, struct client_event *out)
{
	struct call *call = TAILQ_FIRST(&world->ready);
	bool is_chunk;

	if (call == NULL)
		return false;
	*out = (struct client_event){.call = call->number, .owner = call->owner};
	is_chunk = call_is_told_in_chunks(call) && call->reply.body.length > 0;
	if (is_chunk)
		take_chunk(world, call, out);
	if (is_chunk && call->response != NULL)
		return true;
	TAILQ_REMOVE(&world->ready, call, queue);
	call->ready = false;
	if (is_chunk)
		return true;
	out->what = CLIENT_FINISHED;
	out->response = call->response;
	retire(call);
	return true;
}

static bool take_due(struct world *world, struct instant until, struct client_event *out)
{
	if (!world->looked || !instant_reached(until, call_boottime()))
		return false;
	world->looked = false;
	*out = (struct client_event){.what = CLIENT_DUE};
	return true;
}

static int wait_ms(const struct world *world, struct instant until)
{
	struct instant now = call_boottime();
	struct instant next = until;
	const struct call *call;
	int64_t ms;

	TAILQ_FOREACH (call, &world->all, all)
		next = call->response == NULL ? instant_earlier(next, call_next(call)) : next;
	for (size_t i = 0; i < HUB_COUNT; i++)
		if (world->hubs[i].armed)
			next = instant_earlier(next, world->hubs[i].due);
	ms = instant_between_ms(now, next);
	return ms < 0 ? 0 : ms > MAX_WAIT_MS ? MAX_WAIT_MS : (int)ms;
}

static void forget_told(struct world *world)
{
	if (world->told.capacity > KEEP_TOLD_BYTES)
		text_done(&world->told);
	else
		text_clear(&world->told);
}

static void client_wait(struct client *client, struct instant until, struct client_event *out)
{
	struct world *world = world_of(client);

	assert(!TAILQ_EMPTY(&world->all) || instant_between_ms(call_boottime(), until) <= MAX_WAIT_MS);
	forget_told(world);
	for (;;) {
		start_waiting(world);
		if (take_wake(world, out) || take_ready(world, out) || take_due(world, until, out))
			return;
		look(world, wait_ms(world, until));
		expire(world); /* after the look: what has come in time while we were stopped counts */
	}
}

static void client_wake(struct client *client)
{
	struct world *world = world_of(client);
	const uint64_t one = 1;
	int saved_errno = errno;

	if (!atomic_exchange(&world->woken, true) && write(world->wake_event, &one, sizeof one) < 0)
		assert(errno == EAGAIN); /* full: it wakes all the same */
	errno = saved_errno;
}

/* Beginning and end. */

static bool init(struct world *world)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)OF_WAKE << 32};
	const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);

	if (version->cainfo != NULL && access(version->cainfo, R_OK) == 0)
		world->system_ca_file = version->cainfo;
	world->epoll = epoll_create1(EPOLL_CLOEXEC);
	world->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return world->epoll >= 0 && world->wake_event >= 0 &&
	       epoll_ctl(world->epoll, EPOLL_CTL_ADD, world->wake_event, &event) == 0 &&
	       hub_init(&world->hubs[HUB_CALLS], HUB_CALLS, world->epoll, MAX_POOLED, on_finished) &&
	       hub_init(&world->hubs[HUB_STREAMS], HUB_STREAMS, world->epoll, MAX_POOLED, on_finished);
}

struct client *curl_client_new(const char *user_agent, struct error *error)
{
	struct world *world;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		error_set(error, ERROR_UNREACHABLE, "libcurl cannot be initialised");
		return NULL;
	}
	world = calloc(1, sizeof *world);
	if (world == NULL)
		abort();
	world->client = (struct client){.now = client_now,
	                                .wall = client_wall,
	                                .random = client_random,
	                                .submit = client_submit,
	                                .run = client_run,
	                                .cancel = client_cancel,
	                                .wait = client_wait,
	                                .wake = client_wake};
	world->user_agent = user_agent;
	TAILQ_INIT(&world->all);
	TAILQ_INIT(&world->waiting);
	TAILQ_INIT(&world->ready);
	TAILQ_INIT(&world->spare);
	TAILQ_INIT(&world->children);
	text_init(&world->told, 0);
	if (!init(world)) {
		error_set(error, ERROR_UNREACHABLE, "cannot set up the network client: %s", strerror(errno));
		curl_client_free(&world->client);
		return NULL;
	}
	return &world->client;
}

/* All have been killed. One that the kernel does not let die now is left to whoever comes after us. */
static void reap_children(struct world *world)
{
	struct instant until = instant_after(call_boottime(), MAX_REAP_MS);
	struct child *child;

	while ((child = TAILQ_FIRST(&world->children)) != NULL) {
		int64_t left_ms = instant_between_ms(call_boottime(), until);

		if (!child_reap(child, left_ms < 0 ? 0 : (int)left_ms) && left_ms > 0)
			continue;
		TAILQ_REMOVE(&world->children, child, all);
		child_free(child);
	}
}

void curl_client_free(struct client *client)
{
	struct world *world = world_of(client);
	struct call *call;

	if (world == NULL)
		return;
	while ((call = TAILQ_FIRST(&world->all)) != NULL)
		client_cancel(client, call->number);
	while ((call = TAILQ_FIRST(&world->spare)) != NULL) {
		TAILQ_REMOVE(&world->spare, call, queue);
		curl_easy_cleanup(call->easy);
		free(call);
	}
	for (size_t i = 0; i < HUB_COUNT; i++)
		hub_done(&world->hubs[i]);
	reap_children(world);
	if (world->wake_event >= 0)
		close(world->wake_event);
	if (world->epoll >= 0)
		close(world->epoll);
	text_done(&world->told);
	free(world);
	curl_global_cleanup();
}
