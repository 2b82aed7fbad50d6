/*
 * The client seam, but for what becomes of a call: clocks, chance, waiting. Two clients can live in one world; whoever
 * steps them takes turns.
 */
#include "world_parts.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS (60 * 60 * 1000)
#define SPIN_MAX 20000
#define DEAD_WAITS_MAX 1000

/* What came for a client while the other one waited. */
struct sim_told {
	struct sim_told *next;
	struct client_event event;
	char *bytes;
};

static struct sim_client *self_of(struct client *client)
{
	return (struct sim_client *)client;
}

static struct instant client_now(struct client *client)
{
	return self_of(client)->world->now;
}

static struct wallclock client_wall(struct client *client)
{
	const struct world *world = self_of(client)->world;
	return wallclock_after_ms(sim_wall(world), world->skew_ms);
}

static uint32_t client_random(struct client *client)
{
	return (uint32_t)sim_chance_next(&self_of(client)->chance);
}

static void client_wake(struct client *client)
{
	self_of(client)->woken = true;
}

static void keep(struct sim_client *client, const struct client_event *event)
{
	struct sim_told *told = calloc(1, sizeof(*told));
	struct sim_told **at = &client->told;
	if (told == NULL)
		abort();
	told->event = *event;
	if (event->length > 0) {
		told->bytes = malloc(event->length);
		if (told->bytes == NULL)
			abort();
		memcpy(told->bytes, event->bytes, event->length);
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = told;
}

static bool take_kept(struct sim_client *client, struct client_event *out)
{
	struct sim_told *told = client->told;
	if (told == NULL)
		return false;
	client->told = told->next;
	*out = told->event;
	if (told->bytes != NULL)
		out->bytes = arena_copy(&client->world->looks, told->bytes, out->length);
	free(told->bytes);
	free(told);
	return true;
}

void sim_client_forget(struct sim_client *client, uint64_t call)
{
	struct sim_told **at = &client->told;
	while (*at != NULL) {
		struct sim_told *told = *at;
		if (told->event.call == call) {
			*at = told->next;
			free(told->bytes);
			free(told);
		} else {
			at = &told->next;
		}
	}
}

static void wait_checks(struct world *world, struct sim_client *self, struct instant until)
{
	bool in_flight = self->told != NULL;
	for (const struct sim_call *call = world->calls; call != NULL; call = call->next)
		in_flight = in_flight || (call->client == self && !call->abandoned);
	if (!in_flight && until.ms > world->now.ms + HOUR_MS)
		sim_broken(world, "waiting with nothing in flight and nothing due");
	if (until.ms > world->now.ms)
		self->idle_waits = 0;
	else if (++self->idle_waits > SPIN_MAX)
		sim_broken(world, "the engine spins: %d waits that were due at once", SPIN_MAX);
}

static struct instant wakes_at(const struct sim_client *client)
{
	return client->paused_until.ms > client->until.ms ? client->paused_until : client->until;
}

/* Time passes to here at the most before somebody has to act. */
static struct instant wait_limit(const struct world *world)
{
	struct instant limit = {INT64_MAX};
	for (size_t i = 0; i < SIM_CLIENTS; i++)
		if (world->clients[i].used)
			limit = instant_earlier(limit, wakes_at(&world->clients[i]));
	return limit.ms > world->now.ms ? limit : world->now;
}

/* One stretch of time. True: `self` has something to do. */
static bool wait_on(struct world *world, struct sim_client *self, struct client_event *out)
{
	struct instant limit = wait_limit(world);
	struct sim_client *to = NULL;
	if (sim_run_next(world, limit, &to, out)) {
		if (to == self)
			return true;
		keep(to, out);
		*out = (struct client_event){.what = CLIENT_WOKEN};
		return true;
	}
	if (world->killed)
		return true;
	world->now = limit;
	if (instant_reached(wakes_at(self), world->now))
		return true;
	if (!instant_reached(wait_limit(world), world->now))
		return false; /* what ran has stopped a client, which moves the limit */
	out->what = CLIENT_WOKEN;
	return true;
}

static void client_wait(struct client *client, struct instant until, struct client_event *out)
{
	struct sim_client *self = self_of(client);
	struct world *world = self->world;
	*out = (struct client_event){.what = CLIENT_DUE};
	arena_reset(&world->looks);
	if (self->killed && ++world->dead_waits > DEAD_WAITS_MAX)
		sim_broken(world, "a dead engine goes on waiting");
	if (world->killed)
		return;
	wait_checks(world, self, until);
	self->until = until;
	if (self->woken) {
		self->woken = false;
		out->what = CLIENT_WOKEN;
		return;
	}
	if (take_kept(self, out))
		return;
	while (!wait_on(world, self, out))
		;
}

static void client_init(struct world *world, size_t n)
{
	struct sim_client *client = &world->clients[n];
	client->world = world;
	client->chance = (world->seed + n) * 7 + 3;
	client->client.now = client_now;
	client->client.wall = client_wall;
	client->client.random = client_random;
	client->client.wait = client_wait;
	client->client.wake = client_wake;
	sim_calls_init(&client->client);
}

void sim_clients_init(struct world *world)
{
	for (size_t i = 0; i < SIM_CLIENTS; i++)
		client_init(world, i);
	world->clients[0].used = true;
}

void sim_clients_free(struct world *world)
{
	struct client_event ignored;
	for (size_t i = 0; i < SIM_CLIENTS; i++)
		while (take_kept(&world->clients[i], &ignored))
			;
}

struct client *world_client(struct world *world)
{
	return &world->clients[0].client;
}

struct client *world_second_client(struct world *world)
{
	world->clients[1].used = true;
	return &world->clients[1].client;
}

void world_end_client(struct world *world, struct client *client)
{
	(void)world;
	struct sim_client *self = self_of(client);
	self->used = false;
	self->leads = false;
	self->lease_identity[0] = '\0';
}

bool world_client_killed(const struct world *world, struct client *client)
{
	(void)world;
	return self_of(client)->killed;
}

void world_bury_client(struct world *world, struct client *client)
{
	self_of(client)->killed = false;
	world->killed = false;
	for (size_t i = 0; i < SIM_CLIENTS; i++)
		world->killed = world->killed || world->clients[i].killed;
	world->dead_waits = 0;
	world_end_client(world, client);
}

void world_begin_client(struct world *world, struct client *client)
{
	struct sim_client *self = self_of(client);
	sim_note(world, "a new process (%zu)", (size_t)(self - world->clients) + 1);
	self->used = true;
	self->woken = false;
	self->idle_waits = 0;
	self->until = self->paused_until = world->now;
}

void world_pause(struct world *world, struct client *client, int64_t ms)
{
	self_of(client)->paused_until = instant_after(world->now, ms);
	sim_note(world, "client %d is stopped for %lld ms", client == world_client(world) ? 1 : 2, (long long)ms);
}

bool world_paused(const struct world *world, struct client *client)
{
	return !instant_reached(self_of(client)->paused_until, world->now);
}

void world_set_skew(struct world *world, int64_t ms)
{
	world->skew_ms = ms;
	sim_note(world, "the clients' wall clock is %lld ms ahead", (long long)ms);
}

void world_set_date(struct world *world, int64_t ms, const char *text, unsigned answers)
{
	world->dates = (struct sim_dates){ms, text, answers};
	sim_note(world, "something writes its own Date into %u answers of AWS", answers);
}

void world_slow_connect(struct world *world, int64_t ms)
{
	world->connect_ms = ms;
	sim_note(world, "connecting takes %lld ms", (long long)ms);
}
