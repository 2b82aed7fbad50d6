#include "volumes.h"

#include "evacuation.h"
#include "nodes/eks_pods.h"
#include "state.h"

#define VOLUMES_ARENA_MAX (64u << 20)
#define PAGES_MAX 1000
#define AGAIN_MS 30000

static void ask(struct evacuation *evacuation, const char *token);

void volumes_init(struct volumes *volumes)
{
	arena_init(&volumes->arena, "volumes", VOLUMES_ARENA_MAX);
	arena_init(&volumes->reading_arena, "volumes", VOLUMES_ARENA_MAX);
}

void volumes_done(struct evacuation *evacuation)
{
	struct volumes *volumes = &evacuation->volumes;

	exchange_cancel(evacuation->engine, volumes->exchange);
	volumes->exchange = NULL;
	arena_done(&volumes->reading_arena);
	arena_done(&volumes->arena);
}

static void take(struct evacuation *evacuation, struct instant now)
{
	struct volumes *volumes = &evacuation->volumes;
	struct arena before = volumes->arena;

	volumes->arena = volumes->reading_arena;
	volumes->claims = volumes->reading;
	string_list_sort(&volumes->claims);
	volumes->reading_arena = before;
	volumes->due = instant_after(now, evacuation->engine->settings->resync_ms);
}

static void heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct volumes *volumes = &evacuation->volumes;
	struct scope scope;
	struct error error = {0};
	const char *next = NULL;

	(void)exchange;
	volumes->exchange = NULL;
	volumes->due = instant_after(answer->now, AGAIN_MS);
	evacuation_node_scope(evacuation, &scope);
	if (answer->error)
		error = *answer->error;
	else if (!eks_volumes_hear(&scope, &volumes->reading_arena, answer->response, &volumes->reading, &next, &error))
		next = NULL;
	else if (!next)
		take(evacuation, answer->now);
	else if (++volumes->pages < PAGES_MAX)
		ask(evacuation, next);
	if (error.kind != ERROR_NONE)
		log_event(LOG_WARN, "the PersistentVolumes cannot be read; which pods stay Pending is not told", "evacuation",
		          evacuation->manifest.name, "error", error.message, NULL);
}

static void ask(struct evacuation *evacuation, const char *token)
{
	struct exchange *exchange = exchange_new(evacuation->engine, heard, evacuation);

	exchange->ask.what = ASK_HTTP;
	eks_volumes_ask(&exchange->arena, token, &exchange->ask.request);
	evacuation->volumes.exchange = exchange;
	exchange_queue(evacuation->engine, exchange);
}

void volumes_turn(struct evacuation *evacuation)
{
	struct volumes *volumes = &evacuation->volumes;

	if (evacuation->facts && !volumes->zone_known) /* they name it as the account does: once more */
		volumes->due = (struct instant){0};
	if (volumes->exchange || (evacuation->items.draining == 0 && evacuation->manifest.mode != MODE_PLAN) ||
	    !instant_reached(volumes->due, engine_now(evacuation->engine)))
		return;
	arena_reset(&volumes->reading_arena);
	volumes->reading = (struct string_list){0};
	volumes->pages = 0;
	volumes->zone_known = evacuation->facts != NULL;
	ask(evacuation, NULL);
}
