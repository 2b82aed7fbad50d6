#include "world_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL_START_US 1767323045000000LL /* 2026-01-02T03:04:05Z */
#define START_MS 1000000
#define TIMELINE_MAX_BYTES (16 * 1024 * 1024)
#define TIMELINE_SHOWN_BYTES (48 * 1024)

char *sim_strdup(const char *string)
{
	char *copy = strdup(string);
	if (copy == NULL)
		abort();
	return copy;
}

/* splitmix64: small, and good enough to choose by. */
uint64_t sim_chance_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

uint32_t sim_chance(struct world *world, uint32_t below)
{
	return below == 0 ? 0 : (uint32_t)(sim_chance_next(&world->chance) % below);
}

struct wallclock sim_wall(const struct world *world)
{
	return (struct wallclock){WALL_START_US + (world->now.ms - START_MS) * 1000};
}

struct world *world_new(uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));
	if (world == NULL)
		abort();
	world->seed = seed;
	world->chance = seed * 2 + 1;
	world->now.ms = START_MS;
	world->late_ms = 40000;
	world->stop_ms = 20000;
	sim_clients_init(world);
	arena_init(&world->scratch, "scratch of the simulated world", 64 * 1024 * 1024);
	arena_init(&world->looks, "looks at the simulated world", 64 * 1024 * 1024);
	text_init(&world->timeline, TIMELINE_MAX_BYTES);
	world->identity = sim_identity_new();
	world->outages = sim_outages_new();
	world->dynamo = dynamo_new();
	dynamo_set_lag(world->dynamo, SIM_JOURNAL_LAG);
	world->ecs = sim_ecs_new();
	world->lambda = sim_lambda_new();
	world->pods = sim_pods_new();
	sim_cluster_found(world, 0);
	world_set_account(world, WORLD_ACCOUNT);
	sim_note(world, "seed %llu", (unsigned long long)seed);
	return world;
}

void world_free(struct world *world)
{
	if (world == NULL)
		return;
	sim_calls_drop(world);
	sim_clients_free(world);
	while (world->things != NULL) {
		struct sim_thing *thing = world->things;
		world->things = thing->next;
		free(thing);
	}
	sim_account_free(world);
	sim_pods_free(world->pods);
	sim_lambda_free(world->lambda);
	sim_ecs_free(world->ecs);
	sim_clusters_free(world);
	dynamo_free(world->dynamo);
	dynamo_free(world->elsewhere);
	dynamo_free(world->backup);
	sim_outages_free(world->outages);
	sim_identity_free(world->identity);
	text_done(&world->timeline);
	arena_done(&world->scratch);
	arena_done(&world->looks);
	free(world);
}

struct instant world_now(const struct world *world)
{
	return world->now;
}

void sim_note(struct world *world, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	if (world->silent)
		return;
	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_printf(&world->timeline, "%10.3f %s\n", (double)(world->now.ms - START_MS) / 1000.0, line);
}

void world_print_timeline(const struct world *world)
{
	const char *from = world->timeline.at;
	bool whole = getenv("SIM_TIMELINE") != NULL;
	if (!whole && world->timeline.length > TIMELINE_SHOWN_BYTES) {
		from += world->timeline.length - TIMELINE_SHOWN_BYTES;
		fprintf(stderr, "... (SIM_TIMELINE=1 shows all)\n");
	}
	fprintf(stderr, "%s", from);
	fflush(stderr);
}

void world_on_broken(struct world *world, world_broken_hook hook, void *context)
{
	world->told_broken = hook;
	world->told_context = context;
}

void world_be_silent(struct world *world)
{
	world->silent = true;
}

void sim_broken(struct world *world, const char *format, ...)
{
	char sentence[1024];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (world->told_broken != NULL)
		world->told_broken(world->told_context, format, sentence);
	world_print_timeline(world);
	fprintf(stderr, "BROKEN (seed %llu): %s\n", (unsigned long long)world->seed, sentence);
	fflush(stderr);
	abort();
}

static bool thing_before(const struct sim_thing *a, const struct sim_thing *b)
{
	return a->due.ms != b->due.ms ? a->due.ms < b->due.ms : a->sequence < b->sequence;
}

void sim_schedule(struct world *world, int64_t after_ms, enum sim_thing_kind kind, struct sim_call *call,
                  void (*run)(struct world *world, void *context), void *context)
{
	struct sim_thing *thing = calloc(1, sizeof(*thing));
	if (thing == NULL)
		abort();
	*thing = (struct sim_thing){NULL, instant_after(world->now, after_ms), ++world->sequence, kind, call, run, context};
	struct sim_thing **at = &world->things;
	while (*at != NULL && thing_before(*at, thing))
		at = &(*at)->next;
	thing->next = *at;
	*at = thing;
}

void world_at(struct world *world, int64_t after_ms, void (*run)(struct world *world, void *context), void *context)
{
	sim_schedule(world, after_ms, THING_ACTION, NULL, run, context);
}

void world_advance(struct world *world, int64_t ms)
{
	struct instant until = instant_after(world->now, ms);
	struct client_event told = {0};
	struct sim_client *nobody;
	bool killed = world->killed;
	world->killed = false;
	while (sim_run_next(world, until, &nobody, &told))
		;
	world->now = until;
	world->killed = world->killed || killed;
}

void world_kill_at(struct world *world, unsigned n, enum world_kill when)
{
	world->kill_at = n;
	world->kill_when = when;
}

bool world_killed(const struct world *world)
{
	return world->killed;
}

unsigned world_effects(const struct world *world)
{
	return world->effects;
}

void world_revive(struct world *world)
{
	world->killed = false;
	world->kill_at = 0;
	world->dead_waits = 0;
	for (size_t i = 0; i < SIM_CLIENTS; i++) {
		world->clients[i].killed = false;
		world->clients[i].idle_waits = 0;
		world->clients[i].leads = false;
		world->clients[i].lease_identity[0] = '\0';
	}
	sim_note(world, "a new process");
	world_advance(world, 1000 + sim_chance(world, 2000));
}

void world_kube_outage(struct world *world, int64_t ms)
{
	sim_note(world, "the API server is out of reach for %lld ms", (long long)ms);
	world->kube_back = instant_after(world->now, ms);
}

void world_aws_outage(struct world *world, int64_t ms)
{
	sim_note(world, "AWS is out of reach for %lld ms", (long long)ms);
	world->aws_back = instant_after(world->now, ms);
}

void world_set_account(struct world *world, const char *account_id)
{
	(void)snprintf(world->account, sizeof(world->account), "%s", account_id);
	sim_note(world, "the credentials are of account %s", account_id);
}

void world_set_late(struct world *world, int64_t ms)
{
	world->late_ms = ms;
}

void world_set_stop(struct world *world, int64_t ms)
{
	world->stop_ms = ms;
}

const char *world_fault_name(enum world_fault fault)
{
	static const char *const names[] = {
		[WORLD_NO_FAULT] = "no fault",
		[WORLD_THROTTLE] = "throttled",
		[WORLD_ERROR_BEFORE] = "500, not done",
		[WORLD_ERROR_AFTER] = "500, but done",
		[WORLD_REFUSE] = "no connection",
		[WORLD_BREAK] = "done, connection broke",
		[WORLD_LOSE_REPLY] = "done, silence",
		[WORLD_LATE] = "silence, done late",
		[WORLD_BUSY] = "busy",
		[WORLD_STALE] = "stale",
		[WORLD_SILENCE] = "silence, not done",
		[WORLD_GARBAGE] = "garbage",
		[WORLD_SLOW] = "slow",
		[WORLD_STOP] = "its client is stopped",
	};
	return names[fault];
}

/* A new one, or one that has struck. */
static struct sim_fault *free_fault(struct world *world)
{
	for (size_t i = 0; i < world->fault_count; i++)
		if (world->faults[i].left == 0)
			return &world->faults[i];
	if (world->fault_count == SIM_FAULTS_MAX)
		sim_broken(world, "more than %d faults", SIM_FAULTS_MAX);
	return &world->faults[world->fault_count++];
}

void world_fault(struct world *world, const char *operation, unsigned nth, enum world_fault fault)
{
	struct sim_fault *entry = free_fault(world);
	(void)snprintf(entry->operation, sizeof(entry->operation), "%s", operation);
	entry->left = nth;
	entry->fault = fault;
}

unsigned world_calls(const struct world *world, const char *operation)
{
	for (size_t i = 0; i < world->counter_count; i++)
		if (strcmp(world->counters[i].operation, operation) == 0)
			return world->counters[i].count;
	return 0;
}

struct string_list sim_list(struct world *world, const char *csv)
{
	return string_list_split(csv, ",", &world->scratch);
}

bool sim_list_has(struct world *world, const char *csv, const char *item)
{
	struct string_list list = sim_list(world, csv);
	return string_list_has(&list, item);
}

const char *sim_list_without(struct world *world, const char *csv, const char *item)
{
	struct string_list list = sim_list(world, csv);
	struct string_list rest = {0};
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.at[i], item) != 0)
			string_list_add(&rest, &world->scratch, list.at[i]);
	return string_list_join(&rest, &world->scratch, ",");
}

const char *sim_list_with(struct world *world, const char *csv, const char *item)
{
	if (csv[0] == '\0')
		return arena_string(&world->scratch, item);
	return sim_list_has(world, csv, item) ? csv : arena_printf(&world->scratch, "%s,%s", csv, item);
}
