#include "engine/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "evacuation.h"
#include "inquiry.h"
#include "state.h"

/* The heart beats at least so often. */
#define WAIT_MAX_MS 5000
/* Turns in a row that may each move something before waiting; more is a bug that would spin for ever. */
#define TURNS_MAX 10000
#define PUBLISH_EVERY_MS 1000
#define STOP_MS 8000
/* Of them, kept for giving up the lease. */
#define RELEASE_MS 3000
#define LEASE_NAME "zonevac"

struct instant engine_now(const struct engine *engine)
{
	return engine->client->now(engine->client);
}

struct wallclock engine_wall(const struct engine *engine)
{
	struct wallclock wall = engine->client->wall(engine->client);

	wall.us += engine->clock_offset_us;
	return wall;
}

uint32_t engine_random(struct engine *engine)
{
	return engine->client->random(engine->client);
}

bool engine_may_act(struct engine *engine)
{
	return !engine->settings->leader_elect || lease_valid(&engine->lease, engine_now(engine));
}

const char *engine_attempt(const struct engine *engine, uint64_t number, struct arena *arena)
{
	return arena_printf(arena, "%s/%lld/%llu", engine->settings->identity, (long long)engine->lease.transitions,
	                    (unsigned long long)number);
}

const char *engine_new_attempt(struct engine *engine, struct arena *arena)
{
	return engine_attempt(engine, ++engine->attempts, arena);
}

bool engine_wrote(const struct engine *engine, const char *attempt, uint64_t from)
{
	char mine[512];

	snprintf(mine, sizeof(mine), "%s/%lld/", engine->settings->identity, (long long)engine->lease.transitions);
	return attempt && text_starts_with(attempt, mine) && strtoull(attempt + strlen(mine), NULL, 10) >= from;
}

struct wallclock engine_acting_since(const struct engine *engine)
{
	int64_t age_ms = instant_between_ms(engine->acting_since, engine_now(engine));

	/* By the clock as it is now: what was on it then may have been wrong (clock.h). */
	return wallclock_after_ms(engine_wall(engine), -age_ms);
}

/* The lease. */

static void lease_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;

	(void)exchange;
	engine->lease_exchange = NULL;
	lease_hear(&engine->lease, answer->now, engine_random(engine), answer->arena, answer->response, answer->error);
	/* A connection that gave no answer is not asked again: the lease has no time to wait for it. */
	engine->lease_fresh = answer->error && !answer->error->http_status;
	/* Somebody was faster, or it is the first start in this cluster. */
	if (answer->error && answer->error->kind != ERROR_CONFLICT && answer->error->kind != ERROR_ABSENT)
		log_event(LOG_WARN, "the lease could not be read or renewed", "error", answer->error->message, NULL);
}

static struct exchange *lease_exchange(struct engine *engine)
{
	struct exchange *exchange = exchange_new(engine, lease_heard, engine);

	exchange->ask.what = ASK_HTTP;
	exchange->ask.urgent = true;
	exchange->ask.once = true; /* the lease has its own pace */
	return exchange;
}

static void lease_turn(struct engine *engine)
{
	struct instant now = engine_now(engine);
	struct exchange *exchange;
	bool leading;

	if (!engine->settings->leader_elect)
		return;
	if (!engine->lease_exchange && instant_reached(engine->lease.due, now)) {
		exchange = lease_exchange(engine);
		if (lease_ask(&engine->lease, now, engine_wall(engine), engine_random(engine), &exchange->arena,
		              &exchange->ask.request)) {
			exchange->ask.request.fresh_connection = engine->lease_fresh;
			exchange->ask.request.apart = true;
			if (engine->lease.leading) /* not after a pause in which somebody else may have taken it */
				exchange->ask.request.not_after = lease_until(&engine->lease);
			engine->lease_exchange = exchange;
			exchange_queue(engine, exchange);
		} else {
			exchange_cancel(engine, exchange);
		}
	}
	leading = lease_valid(&engine->lease, now);
	if (leading && !engine->was_leading) {
		engine->acting_since = engine_now(engine);
		log_event(LOG_INFO, "this replica leads", "identity", engine->settings->identity, NULL);
	}
	engine->was_leading = leading;
	if (engine->lease.lost) {
		log_event(LOG_ERROR, "the lease is lost; this process ends so that another one can act", NULL);
		engine->ended = true;
		engine->exit_code = 1;
	}
}

/* Turning. */

static void evacuations_turn(struct engine *engine)
{
	struct evacuation *next;
	const char *why;

	if (!cluster_synced(engine, &why))
		return;
	if (engine_may_act(engine))
		for (struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = next) {
			next = evacuation->next;
			evacuation_turn(evacuation);
		}
	if (engine_may_act(engine))
		orphans_turn(engine);
	cluster_clear_dirty(engine);
}

/* What is in flight is let come in, then the lease is given up, which may take a few calls. */
static void stop_turn(struct engine *engine)
{
	struct instant now = engine_now(engine);
	bool patient = !instant_reached(engine->stop_by, now);
	struct exchange *exchange;

	/* An effect that nobody answers is left to the journal: whoever acts next reckons with it. */
	if (!engine->releasing && exchange_effects_in_flight(engine) > 0 &&
	    !instant_reached(instant_after(engine->stop_by, -RELEASE_MS), now))
		return;
	engine->releasing = true;
	if (engine->lease_exchange && patient) /* a renewal in flight would come after the release */
		return;
	exchange = lease_exchange(engine);
	if (patient && engine->settings->leader_elect &&
	    lease_ask_release(&engine->lease, engine_wall(engine), &exchange->arena, &exchange->ask.request)) {
		exchange->ask.request.apart = true;
		engine->lease_exchange = exchange;
		exchange_queue(engine, exchange);
		return;
	}
	exchange_cancel(engine, exchange);
	engine->ended = true;
}

static void turn(struct engine *engine)
{
	for (int turns = 0; turns < TURNS_MAX && !engine->ended; turns++) {
		engine->moved = false;
		if (engine->stopping) {
			stop_turn(engine);
			exchange_dispatch_urgent(engine);
			return;
		}
		yield_turn(engine);
		lease_turn(engine);
		cluster_turn(engine);
		identity_turn(engine);
		login_turn(engine);
		evacuations_turn(engine);
		if (!exchange_dispatch(engine) && !engine->moved)
			return;
	}
	assert(engine->ended); /* otherwise it would turn for ever */
}

/* Showing. */

static void gauge_phases(struct engine *engine)
{
	size_t orphans;

	metric_clear(engine->metrics, METRIC_EVACUATION_PHASE);
	metric_clear(engine->metrics, METRIC_CHANGES);
	for (const struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next) {
		metric_set(engine->metrics, METRIC_EVACUATION_PHASE, 1, evacuation->manifest.name,
		           evacuation->manifest.zone_id ? evacuation->manifest.zone_id : "", phase_name(evacuation->phase),
		           NULL);
		for (const struct item *item = evacuation->items.first; item; item = item->next)
			metric_add(engine->metrics, METRIC_CHANGES, 1, evacuation->manifest.name, item->change.kind,
			           item_state_name(item->state), NULL);
	}
	metric_clear(engine->metrics, METRIC_CREDENTIALS_EXPIRY);
	if (engine->identity.have && engine->identity.credentials.expires_at.us)
		metric_set(engine->metrics, METRIC_CREDENTIALS_EXPIRY,
		           (double)(engine->identity.credentials.expires_at.us - engine_wall(engine).us) / 1e6, NULL);
	metric_clear(engine->metrics, METRIC_ORPHANS);
	if (engine_may_act(engine) && orphans_count(engine, &orphans))
		metric_set(engine->metrics, METRIC_ORPHANS, (double)orphans, NULL);
	metric_set(engine->metrics, METRIC_LEADER, engine_may_act(engine) ? 1 : 0, NULL);
}

void engine_print_metrics(struct engine *engine, struct text *out)
{
	gauge_phases(engine);
	metric_print(engine->metrics, out);
}

static void publish(struct engine *engine)
{
	struct instant now = engine_now(engine);
	struct snapshot *snapshot;
	struct text text;
	const char *why;
	bool ready, leading;

	if (!engine->settings->web)
		return;
	web_beat(engine->settings->web);
	ready = cluster_synced(engine, &why);
	leading = engine_may_act(engine);
	if (!instant_reached(engine->publish_due, now) && ready == engine->published_ready &&
	    leading == engine->published_leading)
		return;
	engine->published_ready = ready;
	engine->published_leading = leading;
	engine->publish_due = instant_after(now, PUBLISH_EVERY_MS);
	snapshot = snapshot_new();
	text_init(&text, 16u << 20);
	engine_print_metrics(engine, &text);
	snapshot->metrics_length = text.length;
	snapshot->metrics = text.at; /* handed over */
	snapshot->ready = ready;
	snapshot->not_ready_because = why;
	web_publish(engine->settings->web, snapshot);
}

/* Waiting. */

static struct instant next_due(struct engine *engine)
{
	struct instant now = engine_now(engine);
	struct instant due = instant_after(now, WAIT_MAX_MS);
	const char *why;

	if (engine->stopping)
		return instant_after(now, 100); /* there is little left to wait for, and a bound to it */
	due = exchange_due(engine, due);
	due = cluster_due(engine, due);
	if (engine->settings->leader_elect && !engine->lease_exchange)
		due = instant_earlier(due, engine->lease.due);
	due = identity_due(engine, due);
	due = login_due(engine, due);
	due = yield_due(engine, due);
	/* Until then nobody takes a turn, however due it is (evacuations_turn). */
	if (!engine_may_act(engine) || !cluster_synced(engine, &why))
		return due;
	due = orphans_due(engine, due);
	for (const struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		due = evacuation_due(evacuation, due);
	return due;
}

bool engine_step(struct engine *engine)
{
	struct client_event event = {0};

	turn(engine);
	publish(engine);
	if (engine->ended)
		return false;
	engine->client->wait(engine->client, next_due(engine), &event);
	clock_watch(engine);
	if (event.what == CLIENT_FINISHED || event.what == CLIENT_CHUNK)
		exchange_happened(engine, &event);
	return !engine->ended;
}

struct engine *engine_new(const struct engine_settings *settings, struct client *client)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		abort();
	assert(settings->poll_ms > 0 && settings->resync_ms > 0);
	engine->settings = settings;
	engine->client = client;
	arena_init(&engine->arena, "engine", 16u << 20);
	identity_init(&engine->identity);
	window_init(&engine->kube_window, KUBE_IN_FLIGHT_MAX);
	engine->aws_tls.ca_file = settings->aws_ca_file;
	engine->metrics = metrics_new();
	engine->acting_since = engine_now(engine);
	lease_init(&engine->lease, settings->lease_namespace, LEASE_NAME, settings->identity, engine_now(engine));
	cluster_init(engine);
	orphans_init(&engine->orphans);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	while (engine->evacuations)
		evacuation_free(engine->evacuations);
	for (struct place *place = engine->places; place; place = place->next)
		place_done(place);
	inquiry_cancel_looks(engine);
	exchange_cancel_all(engine);
	cluster_done(engine);
	budgets_done(&engine->budgets);
	orphans_done(&engine->orphans);
	metrics_free(engine->metrics);
	identity_done(&engine->identity);
	arena_done(&engine->arena);
	free(engine);
}

void engine_stop(struct engine *engine)
{
	if (engine->stopping)
		return;
	engine->stopping = true;
	engine->stop_by = instant_after(engine_now(engine), STOP_MS);
	log_event(LOG_INFO, "stopping: nothing new is begun", NULL);
}

int engine_exit_code(const struct engine *engine)
{
	return engine->exit_code;
}
