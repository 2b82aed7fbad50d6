/*
 * The table's story:
 *
 *   describe ⟲ until ACTIVE ─► ready ─► are backups on? ─► (no, --create-journal) switch them on
 *      │ ▲                                (keys or index not ours: an error that stays until it is fixed)
 *      ▼ │ missing, --create-journal
 *   create
 *
 * What comes after "ready" keeps nobody waiting. A run that was killed between the first and the last is why the last does not ask who made it.
 */
#include "place.h"

#include "actuators/registry.h"
#include "evacuation.h"
#include "journal/dynamodb.h"
#include "requeue.h"
#include "state.h"

/* A place is never given up: more regions than AWS has are a mistake. */
#define PLACES_MAX 64

/* Longer than AWS takes to make one; a backup takes longer. */
#define MAKING_MS 60000

static const struct step step_describe, step_create, step_creating, step_backups, step_switch_on_backups;

static void ask_table(struct place *place, struct ask *out, struct instant now, int64_t delay_ms)
{
	out->what = ASK_HTTP;
	out->place = place;
	out->due = instant_after(now, delay_ms);
}

static const struct step *table_failed(struct place *place, const struct answer *answer)
{
	place->table_error = *answer->error;
	place->table_failures++;
	place->table_due = instant_after(
		answer->now, requeue_backoff_ms(place->table_failures, 5000, 60000, engine_random(place->engine)));
	return NULL;
}

static const struct step *table_is_ready(struct place *place, const struct dynamodb_table *table)
{
	place->table_ready = true;
	place->table_failures = 0;
	place->table_unready_since = (struct instant){0};
	place->table_error = (struct error){0};
	if (!table->is_protected)
		log_event(LOG_WARN, "the journal's table is not protected against deletion; switch that on", "table",
		          place->engine->settings->table, NULL);
	return &step_backups;
}

/* Told once it takes long, or at once in place of what was told before. */
static const struct step *table_is_being_made(struct place *place, const struct dynamodb_table *table)
{
	struct instant now = engine_now(place->engine);

	if (place->table_unready_since.ms == 0)
		place->table_unready_since = now;
	if (place->table_error.kind != ERROR_NONE || instant_between_ms(place->table_unready_since, now) >= MAKING_MS)
		error_set(
			&place->table_error, ERROR_BUSY,
			"the journal's table %s is %s; nothing in AWS is changed until it is ACTIVE, and then it goes on by itself",
			place->engine->settings->table, table->status);
	return &step_creating;
}

static void describe_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct place *place = self;

	(void)wall;
	ask_table(place, out, now, 0);
	dynamodb_ask_describe(arena, place->engine->settings->table, &out->request);
}

static void creating_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	describe_ask(self, now, wall, arena, out);
	out->due = instant_after(now, 1000);
}

bool place_is_held(const struct place *place)
{
	for (const struct evacuation *evacuation = place->engine->evacuations; evacuation; evacuation = evacuation->next)
		if (evacuation->items.held > 0 && text_equal(evacuation_region(evacuation), place->region))
			return true;
	return false;
}

static const struct step *describe_hear(void *self, const struct answer *answer)
{
	struct place *place = self;
	struct dynamodb_table table;
	struct error error;

	if (answer->error) {
		if (answer->error->kind == ERROR_ABSENT && place->engine->settings->create_table && place->table_needed &&
		    !place_is_held(place))
			return &step_create;
		return table_failed(place, answer);
	}
	if (!dynamodb_hear_describe(answer->arena, answer->response, place->engine->settings->table, &table, &error)) {
		struct answer refused = *answer;

		refused.error = &error;
		return table_failed(place, &refused);
	}
	return table.ready ? table_is_ready(place, &table) : table_is_being_made(place, &table);
}

static void create_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct place *place = self;

	(void)wall;
	ask_table(place, out, now, 0);
	out->effect = true;
	out->once = true; /* "in use" means that somebody was faster: nothing to wait for */
	dynamodb_ask_create(arena, place->engine->settings->table, &out->request);
}

static const struct step *create_hear(void *self, const struct answer *answer)
{
	struct place *place = self;

	/* In use: somebody was faster, or our own lost answer. */
	if (answer->error && answer->error->kind != ERROR_BUSY && answer->error->kind != ERROR_CONFLICT)
		return table_failed(place, answer);
	return &step_creating;
}

static void backups_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct place *place = self;

	(void)wall;
	ask_table(place, out, now, 0);
	dynamodb_ask_backups(arena, place->engine->settings->table, &out->request);
}

/* Point-in-time recovery is an insurance of the table, not a condition of working. */
static const struct step *backups_hear(void *self, const struct answer *answer)
{
	struct place *place = self;
	struct error error = answer->error ? *answer->error : (struct error){0};
	bool on = true;

	if (answer->error || !dynamodb_hear_backups(answer->arena, answer->response, &on, &error))
		log_event(LOG_INFO, "whether the journal's table has point-in-time recovery cannot be told", "error",
		          error.message, NULL);
	else if (!on && place->engine->settings->create_table && place->table_needed)
		return &step_switch_on_backups;
	else if (!on)
		log_event(LOG_WARN, "the journal's table has no point-in-time recovery; switch that on", "table",
		          place->engine->settings->table, NULL);
	return NULL;
}

static void switch_on_backups_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena,
                                  struct ask *out)
{
	struct place *place = self;

	(void)wall;
	ask_table(place, out, now, 0);
	out->effect = true;
	dynamodb_ask_switch_on_backups(arena, place->engine->settings->table, &out->request);
}

static const struct step *switch_on_backups_hear(void *self, const struct answer *answer)
{
	(void)self;
	if (answer->error)
		log_event(LOG_WARN, "point-in-time recovery of the journal's table could not be switched on", "error",
		          answer->error->message, NULL);
	return NULL;
}

static const struct step step_describe = {"describe the table", describe_ask, describe_hear};
static const struct step step_create = {"create the table", create_ask, create_hear};
static const struct step step_creating = {"wait for the table", creating_ask, describe_hear};
static const struct step step_backups = {"look at backups", backups_ask, backups_hear};
static const struct step step_switch_on_backups = {"switch on backups", switch_on_backups_ask, switch_on_backups_hear};

bool place_table(struct place *place, bool needs)
{
	struct instant now = engine_now(place->engine);

	if (needs && !place->table_needed) {
		place->table_needed = true;
		place->table_error = (struct error){0}; /* that it is missing may be mended now */
		place->table_due = (struct instant){0};
	}
	if (place->table_ready || process_running(&place->table_process) || !instant_reached(place->table_due, now))
		return place->table_ready;
	process_start(&place->table_process, place->engine, place, &step_describe, NULL);
	return false;
}

bool place_table_known(const struct place *place)
{
	return place->table_ready || place->table_error.kind != ERROR_NONE;
}

void place_table_lost(struct place *place, const struct error *error)
{
	place->table_ready = false;
	place->table_error = *error;
	place->table_due = instant_after(engine_now(place->engine), 5000);
}

static struct place *place_make(struct engine *engine, const char *region)
{
	struct place *place = ARENA_NEW(&engine->arena, struct place);
	const struct aws_service *service;

	place->engine = engine;
	place->region = arena_string(&engine->arena, region);
	for (size_t i = 0; (service = aws_service_at(i)) != NULL && i < PLACE_SERVICES_MAX; i++) {
		place->services[i] = service;
		if (!aws_endpoint_of(&engine->arena, service, region, engine->settings->environment, &place->endpoints[i],
		                     &place->endpoint_error))
			break;
		place->service_count++;
	}
	return place;
}

struct place *place_of(struct engine *engine, const char *region, struct error *error)
{
	struct place *place;
	size_t count = 0;

	for (place = engine->places; place && !text_equal(place->region, region); place = place->next)
		count++;
	if (!place && count == PLACES_MAX) {
		error_set(error, ERROR_LIMIT, "evacuations name more than %d regions; region %s is one too many", PLACES_MAX,
		          region);
		return NULL;
	}
	if (!place) {
		place = place_make(engine, region);
		place->next = engine->places;
		engine->places = place;
	}
	if (place->endpoint_error.kind == ERROR_NONE)
		return place;
	*error = place->endpoint_error;
	return NULL;
}

void place_done(struct place *place)
{
	process_abort(&place->table_process);
}

const struct aws_endpoint *place_endpoint(const struct place *place, const struct aws_service *service)
{
	for (size_t i = 0; i < place->service_count; i++)
		if (place->services[i] == service)
			return &place->endpoints[i];
	return NULL;
}

struct retry_quota *place_quota(struct place *place, const char *service)
{
	for (size_t i = 0; i < place->service_count; i++)
		if (text_equal(place->services[i]->name, service))
			return &place->quotas[i];
	return &place->quotas[0];
}

struct limiter *place_limiter(struct place *place, const char *service, const char *operation, struct instant now)
{
	const struct aws_quota *quota = aws_quota_find(service, operation);
	struct place_limiter *entry;

	if (!quota)
		return NULL;
	for (size_t i = 0; i < place->limiter_count; i++)
		if (text_equal(place->limiters[i].call_class, quota->call_class))
			return &place->limiters[i].limiter;
	if (place->limiter_count == sizeof(place->limiters) / sizeof(place->limiters[0]))
		return NULL;
	entry = &place->limiters[place->limiter_count++];
	entry->call_class = quota->call_class;
	limiter_init(&entry->limiter, quota->rate_per_s, quota->burst_count, now);
	return &entry->limiter;
}

size_t place_changes_a_second(const struct actuator *actuator)
{
	const struct aws_quota *quota = aws_quota_find(actuator->service, actuator->update_operation);
	double changes = quota ? quota->rate_per_s * 0.8 : 1;

	return changes < 1 ? 1 : (size_t)changes;
}
