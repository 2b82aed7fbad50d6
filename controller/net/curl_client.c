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

#include "call.h"

enum {
	MAX_RUNNING = 256,
	MAX_SPARE = 32,
	MAX_POOLED = MAX_RUNNING, /* curl counts the busy ones too */
	MAX_WAIT_MS = 60 * 60 * 1000,
	KEEP_TOLD_BYTES = 64 * 1024,
	EVENTS_AT_ONCE = 64,
	RANDOM_AT_ONCE = 64,
};

/* Streams have a multi of their own: an HTTP/1.1 answer makes curl forget that a host can multiplex. */
enum { HUB_CALLS, HUB_STREAMS, HUB_COUNT, HUB_WAKE = HUB_COUNT };

struct hub {
	CURLM *multi;
	struct world *world;
	uint32_t index;
	bool armed;
	struct instant due;
};

struct world {
	struct client client; /* first: the seam is a pointer to it */
	const char *user_agent;
	const char *system_ca_file; /* NULL when curl was built without one that exists */
	struct hub hubs[HUB_COUNT];
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

/* What curl calls while it works. None of it tells anything: it only marks calls ready. */

static void make_ready(struct call *call)
{
	if (call->ready)
		return;
	call->ready = true;
	TAILQ_INSERT_TAIL(&call->world->ready, call, queue);
}

static int on_interest(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct hub *hub = user;
	struct epoll_event event = {.data.u64 = (uint64_t)hub->index << 32 | (uint32_t)fd};
	int epoll = hub->world->epoll;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what != CURL_POLL_OUT)
		event.events |= EPOLLIN;
	if (what != CURL_POLL_IN)
		event.events |= EPOLLOUT;
	if (known == NULL)
		curl_multi_assign(hub->multi, fd, hub);
	/* a number that was closed and opened again may be known to one side only: then the other way */
	if (epoll_ctl(epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	return epoll_ctl(epoll, known == NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
	struct hub *hub = user;

	(void)multi;
	hub->armed = timeout_ms >= 0;
	hub->due = instant_after(call_boottime(), timeout_ms);
	return 0;
}

/* From waiting to finished. */

static void stop_running(struct call *call)
{
	if (call->hub == NULL)
		return;
	curl_multi_remove_handle(call->hub->multi, call->easy);
	call->hub = NULL;
	call->world->running_count--;
}

/* `failure` NULL: the answer is whole. What of a stream has not been told yet is told before the end. */
static void finish(struct call *call, const struct error *failure)
{
	struct http_response *response = ARENA_NEW(call->reply.arena, struct http_response);

	if (call->hub == NULL && !call->ready)
		TAILQ_REMOVE(&call->world->waiting, call, queue);
	stop_running(call);
	response->headers = call->reply.headers;
	response->body = "";
	if (failure != NULL)
		response->error = *failure;
	else
		response->status = call->reply.status;
	if (failure == NULL && !call_is_told_in_chunks(call))
		response->body = reply_take_body(&call->reply, &response->body_length);
	call->response = response;
	make_ready(call);
}

static void finish_with_code(struct call *call, CURLcode code)
{
	struct error failure = {0};

	call_failure(call, code, &failure);
	finish(call, &failure);
}

static void start(struct call *call)
{
	struct world *world = call->world;
	struct hub *hub = &world->hubs[call->request->stream ? HUB_STREAMS : HUB_CALLS];

	if (call->easy == NULL)
		call->easy = curl_easy_init();
	if (call->easy == NULL || !call_set_up(call, world->user_agent, world->system_ca_file)) {
		finish_with_code(call, CURLE_OK);
		return;
	}
	TAILQ_REMOVE(&world->waiting, call, queue);
	call->hub = hub;
	world->running_count++;
	if (curl_multi_add_handle(hub->multi, call->easy) != CURLM_OK)
		finish_with_code(call, CURLE_FAILED_INIT);
}

static void start_waiting(struct world *world)
{
	struct call *call;

	while (world->running_count < MAX_RUNNING && (call = TAILQ_FIRST(&world->waiting)) != NULL)
		start(call);
}

static void expire(struct world *world)
{
	struct instant now = call_boottime();
	struct call *call;

	TAILQ_FOREACH (call, &world->all, all) {
		struct error failure = {0};

		if (call->response != NULL || !instant_reached(call->due, now))
			continue;
		call_overdue(call, &failure);
		finish(call, &failure);
	}
}

/* The end of a call's life: back to the spare ones. */
static void retire(struct call *call)
{
	struct world *world = call->world;

	stop_running(call);
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

/* Sockets. */

static void drain_wake(struct world *world)
{
	uint64_t count;

	if (read(world->wake_event, &count, sizeof count) < 0)
		return; /* nothing in it */
}

static void collect(struct hub *hub)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(hub->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		char *call = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		if (code == CURLE_OK)
			finish((struct call *)(void *)call, NULL);
		else
			finish_with_code((struct call *)(void *)call, code);
	}
}

static int curl_mask(uint32_t events)
{
	int mask = 0;

	/* an error alone would be reported without its reason; reading and writing find it out */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		mask |= CURL_CSELECT_IN;
	if (events & (EPOLLOUT | EPOLLERR))
		mask |= CURL_CSELECT_OUT;
	return mask;
}

/* One look at all sockets and curl's timers. */
static void look(struct world *world, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = epoll_wait(world->epoll, events, EVENTS_AT_ONCE, timeout_ms);
	int running;

	for (int i = 0; i < count; i++) {
		uint32_t index = (uint32_t)(events[i].data.u64 >> 32);
		int fd = (int)(events[i].data.u64 & UINT32_MAX);

		if (index == HUB_WAKE)
			drain_wake(world);
		else
			curl_multi_socket_action(world->hubs[index].multi, fd, curl_mask(events[i].events), &running);
	}
	for (size_t i = 0; i < HUB_COUNT; i++) {
		struct hub *hub = &world->hubs[i];

		if (hub->armed && instant_reached(hub->due, call_boottime())) {
			hub->armed = false;
			curl_multi_socket_action(hub->multi, CURL_SOCKET_TIMEOUT, 0, &running);
		}
		collect(hub);
	}
	world->looked = true;
}

/* The seam. */

static uint64_t client_submit(struct client *client, struct arena *arena, const struct http_request *request,
                              void *owner)
{
	struct world *world = world_of(client);
	struct call *call = TAILQ_FIRST(&world->spare);
	CURL *easy = call == NULL ? NULL : call->easy;

	assert(request->url != NULL && request->method != NULL);
	if (call != NULL) {
		TAILQ_REMOVE(&world->spare, call, queue);
		world->spare_count--;
	} else if ((call = malloc(sizeof *call)) == NULL) {
		abort();
	}
	*call = (struct call){.world = world,
	                      .easy = easy,
	                      .number = ++world->last_number,
	                      .owner = owner,
	                      .request = request,
	                      .heard = make_ready};
	reply_init(&call->reply, arena);
	call->due = instant_after(call_boottime(), call_deadline_ms(call));
	TAILQ_INSERT_TAIL(&world->all, call, all);
	TAILQ_INSERT_TAIL(&world->waiting, call, queue);
	return call->number;
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
	else if (call->hub == NULL)
		TAILQ_REMOVE(&world->waiting, call, queue);
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
		next = instant_earlier(next, call->due);
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
		expire(world);
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

static bool hub_init(struct hub *hub, struct world *world, uint32_t index)
{
	*hub = (struct hub){.world = world, .index = index, .multi = curl_multi_init()};
	return hub->multi != NULL && curl_multi_setopt(hub->multi, CURLMOPT_SOCKETFUNCTION, on_interest) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_SOCKETDATA, hub) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_TIMERDATA, hub) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_MAXCONNECTS, (long)MAX_POOLED) == CURLM_OK;
}

static bool init(struct world *world)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)HUB_WAKE << 32};
	const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);

	if (version->cainfo != NULL && access(version->cainfo, R_OK) == 0)
		world->system_ca_file = version->cainfo;
	world->epoll = epoll_create1(EPOLL_CLOEXEC);
	world->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return world->epoll >= 0 && world->wake_event >= 0 &&
	       epoll_ctl(world->epoll, EPOLL_CTL_ADD, world->wake_event, &event) == 0 &&
	       hub_init(&world->hubs[HUB_CALLS], world, HUB_CALLS) &&
	       hub_init(&world->hubs[HUB_STREAMS], world, HUB_STREAMS);
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
	                                .cancel = client_cancel,
	                                .wait = client_wait,
	                                .wake = client_wake};
	world->user_agent = user_agent;
	TAILQ_INIT(&world->all);
	TAILQ_INIT(&world->waiting);
	TAILQ_INIT(&world->ready);
	TAILQ_INIT(&world->spare);
	text_init(&world->told, 0);
	if (!init(world)) {
		error_set(error, ERROR_UNREACHABLE, "cannot set up the network client: %s", strerror(errno));
		curl_client_free(&world->client);
		return NULL;
	}
	return &world->client;
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
		curl_multi_cleanup(world->hubs[i].multi);
	if (world->wake_event >= 0)
		close(world->wake_event);
	if (world->epoll >= 0)
		close(world->epoll);
	text_done(&world->told);
	free(world);
	curl_global_cleanup();
}
