#include "orphans.h"

#include <stdio.h>
#include <string.h>

#include "evacuation.h"
#include "journal/dynamodb.h"
#include "state.h"

#define FIRST_AFTER_MS 60000
#define PAGES_MAX 1000
#define ARENA_MAX (64u << 20)

void orphans_init(struct orphans *orphans)
{
	*orphans = (struct orphans){0};
	arena_init(&orphans->seen.arena, "orphans", ARENA_MAX);
	arena_init(&orphans->under_way.arena, "orphans", ARENA_MAX);
}

void orphans_done(struct orphans *orphans)
{
	arena_done(&orphans->under_way.arena);
	arena_done(&orphans->seen.arena);
}

/* It counts. The two change places. */
static void adopt(struct orphans *orphans)
{
	struct orphans_look before = orphans->seen;

	orphans->seen = orphans->under_way;
	orphans->under_way = before;
	orphans->known = true;
}

static bool is_accounted_for(const struct engine *engine, const char *zone_id)
{
	for (const struct evacuation *evacuation = engine->evacuations; evacuation; evacuation = evacuation->next)
		if (evacuation_wants_zone(evacuation) && text_equal(evacuation->manifest.zone_id, zone_id) &&
		    text_equal(evacuation_region(evacuation), engine->settings->region))
			return true;
	return false;
}

static struct exchange *ask(struct engine *engine, exchange_hear hear)
{
	struct error error;
	struct place *place = place_of(engine, engine->settings->region, &error);
	struct exchange *exchange;

	if (!place)
		return NULL;
	exchange = exchange_new(engine, hear, engine);
	exchange->ask.what = ASK_HTTP;
	exchange->ask.place = place;
	engine->orphans.exchange = exchange;
	return exchange;
}

static void ask_records(struct engine *engine, const struct json *start);

/* The next zone that nobody accounts for; after the last one the number is known. */
static void next_zone(struct engine *engine)
{
	struct orphans *orphans = &engine->orphans;
	const struct string_list *zones = &orphans->under_way.zones;

	while (orphans->reading < zones->count && is_accounted_for(engine, zones->at[orphans->reading]))
		orphans->reading++;
	if (orphans->reading < zones->count)
		ask_records(engine, NULL);
	else
		adopt(orphans);
}

static void records_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct orphans *orphans = &engine->orphans;
	const struct json *next = NULL;
	struct records records = {0};
	struct error error;

	(void)exchange;
	orphans->exchange = NULL;
	engine->moved = true;
	if (answer->error || !dynamodb_hear_records(answer->arena, answer->response, &records, &next, &error) ||
	    ++orphans->pages > PAGES_MAX)
		return; /* what was seen before still counts */
	for (size_t i = 0; i < records.count; i++)
		if (!records.at[i].unreadable && string_list_has(&records.at[i].owners, engine->cluster.owner))
			orphans->under_way.counts[orphans->reading]++;
	if (next) {
		ask_records(engine, next);
		return;
	}
	orphans->reading++;
	next_zone(engine);
}

static void ask_records(struct engine *engine, const struct json *start)
{
	struct exchange *exchange = ask(engine, records_heard);

	if (!exchange)
		return;
	dynamodb_ask_zone(&exchange->arena, engine->settings->table,
	                  engine->orphans.under_way.zones.at[engine->orphans.reading], start, &exchange->ask.request);
	exchange_queue(engine, exchange);
}

/* Those of the region's zones that are registered for us, too. */
static bool take_zones(struct engine *engine, const struct answer *answer)
{
	struct orphans_look *look = &engine->orphans.under_way;
	struct region_item item;
	struct region_item of_zone;
	struct error error;

	if (!dynamodb_hear_region(&look->arena, answer->response, "", &item, &error))
		return false;
	for (size_t i = 0; i < item.zones.count && look->zones.count < ORPHANS_ZONES_MAX; i++) {
		if (!dynamodb_hear_region(&look->arena, answer->response, item.zones.at[i], &of_zone, &error))
			return false;
		if (string_list_has(&of_zone.owners, engine->cluster.owner))
			string_list_add(&look->zones, &look->arena, item.zones.at[i]);
	}
	return true;
}

static void region_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct orphans *orphans = &engine->orphans;

	(void)exchange;
	orphans->exchange = NULL;
	engine->moved = true;
	if (answer->error && answer->error->kind != ERROR_ABSENT) /* without a table there is no record */
		return;
	arena_reset(&orphans->under_way.arena);
	orphans->under_way.zones = (struct string_list){0};
	memset(orphans->under_way.counts, 0, sizeof(orphans->under_way.counts));
	orphans->reading = 0;
	orphans->pages = 0;
	if (answer->error || take_zones(engine, answer))
		next_zone(engine);
}

bool orphans_count(const struct engine *engine, size_t *out)
{
	const struct orphans *orphans = &engine->orphans;

	*out = 0;
	for (size_t i = 0; i < orphans->seen.zones.count; i++)
		*out += orphans->seen.counts[i];
	return orphans->known;
}

/* Whoever takes them over counts them from then on. */
static void hand_over(struct engine *engine)
{
	struct orphans_look *seen = &engine->orphans.seen;

	for (size_t i = 0; i < seen->zones.count; i++)
		if (seen->counts[i] > 0 && is_accounted_for(engine, seen->zones.at[i]))
			seen->counts[i] = 0;
}

static void tell(struct engine *engine)
{
	size_t count;
	char number[32];

	if (!orphans_count(engine, &count) || count == engine->orphans.told)
		return;
	engine->orphans.told = count;
	snprintf(number, sizeof(number), "%zu", count);
	if (count)
		log_event(LOG_WARN,
		          "records of this cluster are open and no ZonalEvacuation accounts for them: they stay out until one "
		          "takes them over (apply one of their zone, and delete it to put them back)",
		          "records", number, NULL);
	else
		log_event(LOG_INFO, "no record is open any more that no ZonalEvacuation accounts for", NULL);
}

void orphans_look_now(struct engine *engine)
{
	engine->orphans.due = engine_now(engine);
}

void orphans_turn(struct engine *engine)
{
	struct orphans *orphans = &engine->orphans;
	struct exchange *exchange;

	hand_over(engine);
	tell(engine);
	if (!orphans->due.ms)
		orphans->due = instant_after(engine->acting_since, FIRST_AFTER_MS);
	if (orphans->exchange || !engine->settings->region || !instant_reached(orphans->due, engine_now(engine)) ||
	    !identity_may_sign(engine))
		return;
	orphans->due = instant_after(engine_now(engine), engine->settings->resync_ms);
	exchange = ask(engine, region_heard);
	if (!exchange)
		return;
	dynamodb_ask_region(&exchange->arena, engine->settings->table, &exchange->ask.request);
	exchange_queue(engine, exchange);
}

struct instant orphans_due(const struct engine *engine, struct instant otherwise)
{
	const struct orphans *orphans = &engine->orphans;

	if (orphans->exchange || !orphans->due.ms || instant_reached(orphans->due, engine_now(engine)))
		return otherwise;
	return instant_earlier(otherwise, orphans->due);
}
