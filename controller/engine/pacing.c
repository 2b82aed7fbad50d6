#include "pacing.h"

#include <stdio.h>

#include "actuators/registry.h"
#include "drain.h"
#include "evacuation.h"
#include "nodes/eks_node.h"
#include "state.h"

#define SPANS_ARENA_MAX (64u << 20)

static struct batch_pace pace_of(const struct evacuation *evacuation)
{
	return (struct batch_pace){.percent = evacuation->manifest.batch_percent,
	                           .interval_ms = evacuation->manifest.batch_interval_s * 1000};
}

/* With all of them in one batch there is nothing to pace. */
static bool is_paced(const struct evacuation *evacuation, size_t lane)
{
	if (evacuation->manifest.batch_percent >= 100 || evacuation->manifest.mode != MODE_EVACUATE)
		return false;
	return lane != LANE_NODES || (!evacuation->restoring && drain_target(evacuation)->eviction != EVICTION_NONE);
}

static struct lane *lane_of(const struct item *item)
{
	return &item->evacuation->items.lanes[item->lane];
}

/* What a batch is a share of. */
static bool is_change(const struct item *item)
{
	bool known = item->has_record || item->held || item->begun_at.us;

	if (item->dropped || item->excluded)
		return false;
	if (item->evacuation->restoring)
		return known;
	switch (item->state) {
	case ITEM_PLANNED:
	case ITEM_WAITING:
	case ITEM_APPLYING:
	case ITEM_FAILED:
	case ITEM_RIVAL:
		return true;
	case ITEM_APPLIED:
	case ITEM_SETTLED:
		return known || item_is_node(item);
	default:
		return false;
	}
}

static bool is_at_work(const struct item *item)
{
	if (item->state == ITEM_FAILED)
		return false;
	if (item_is_node(item))
		return !item->drained && !drain_is_over(item->drain);
	if (process_running(&item->process))
		return true;
	if (item->evacuation->restoring)
		return item->has_record || item->held;
	return item->state == ITEM_PLANNED || item->state == ITEM_APPLYING;
}

static const struct json *told_entry(const struct evacuation *evacuation, const char *id)
{
	const struct json *changes = json_get(evacuation->told, "changes");

	for (size_t i = 0; i < json_count(changes); i++)
		if (text_equal(json_get_string(json_at(changes, i), "id"), id))
			return json_at(changes, i);
	return NULL;
}

static struct wallclock told_at(const struct json *entry)
{
	const char *at = json_get_string(entry, "at");
	struct wallclock parsed = {0};

	if (at)
		wallclock_parse(at, &parsed);
	return parsed;
}

/* A drain that an earlier process began and this one finds done: when, the status may know. Else it counts from now on. */
static struct wallclock rested_when(const struct item *item)
{
	const struct json *entry =
		item_is_node(item) && item->begun_before ? told_entry(item->evacuation, item->change.id) : NULL;
	struct wallclock now = engine_wall(item->evacuation->engine);
	struct wallclock at = told_at(entry);

	if (!text_equal(json_get_string(entry, "state"), item_state_name(ITEM_SETTLED)) || !at.us || at.us > now.us)
		return now;
	return at;
}

/* What failed has come to rest when it failed first, however often it is tried again, until it has been mended. */
static void take_rest(struct item *item)
{
	bool at_work = is_at_work(item);

	if (item->state == ITEM_FAILED && !item->failed_at.us)
		item->failed_at = engine_wall(item->evacuation->engine);
	if (at_work || (item->failed_at.us && item->state != ITEM_FAILED))
		item->rested_at = (struct wallclock){0};
	if (!at_work && item->state != ITEM_FAILED)
		item->failed_at = (struct wallclock){0};
	if (item->failed_at.us)
		item->rested_at = item->failed_at;
	else if (!at_work && !item->rested_at.us)
		item->rested_at = rested_when(item);
}

/* Its times as they are now. False: it was not begun. */
static bool take_times(struct item *item, struct batch_span *out)
{
	if (item->state == ITEM_WAITING && !item->evacuation->restoring && !process_running(&item->process))
		item_forget_times(item); /* nothing has come of it yet */
	if (!item->begun_at.us)
		return false;
	take_rest(item);
	*out = (struct batch_span){.begun = item->begun_at, .rested = item->rested_at, .count = 1};
	return true;
}

static void add_told(struct paced *paced, struct batch_span *spans, size_t *count)
{
	if (paced->told)
		spans[(*count)++] =
			(struct batch_span){.begun = paced->told_rested, .rested = paced->told_rested, .count = paced->told};
}

static bool drain_waits(const struct item *item)
{
	return item_is_node(item) && is_change(item) && !item->begun_at.us && !item->drained &&
	       (!process_running(&item->process) || item->copying) &&
	       (item->state == ITEM_APPLIED || item->state == ITEM_SETTLED);
}

/* All of a lane: how many changes, which were begun, what failed last. */
static void survey(struct evacuation *evacuation, size_t lane, struct arena *arena)
{
	struct items *items = &evacuation->items;
	struct paced *paced = &items->lanes[lane].paced;
	struct batch_span *spans = arena_array(arena, items->count + 1, sizeof(*spans));
	struct wallclock failed = {0};
	size_t count = 0, all = paced->told;

	paced->waiting = paced->working = 0;
	add_told(paced, spans, &count);
	for (struct item *item = items->first; item; item = item->next) {
		if (item->lane != lane || !is_change(item))
			continue;
		all++;
		if (!take_times(item, &spans[count])) {
			paced->waiting += !item_is_node(item) || drain_waits(item);
			continue;
		}
		count++;
		paced->working += is_at_work(item);
		if (item->failed_at.us > failed.us)
			failed = item->failed_at;
	}
	paced->batch = batch_judge(pace_of(evacuation), all, spans, count, failed, engine_wall(evacuation->engine));
}

/* Why the next ones wait. No countdown: a sentence that changes each second would be written each second. */
static const char *sentence(const struct evacuation *evacuation, const struct batch *batch, struct arena *arena)
{
	const char *next =
		arena_printf(arena, "batch %zu of %zu begins", batch->number + (batch->number < batch->of), batch->of);

	if (batch->left > 0) /* what is tried again has its place */
		return arena_printf(arena, "batch %zu of %zu has no place for it yet", batch->number, batch->of);
	if (batch->not_before.us && batch->after_failure)
		return arena_printf(arena, "%s when what failed in the one before has been mended, or else at %s", next,
		                    wallclock_rfc3339(batch->not_before, arena));
	if (batch->not_before.us)
		return arena_printf(arena, "%s at %s", next, wallclock_rfc3339(batch->not_before, arena));
	if (evacuation->manifest.batch_interval_s == 0)
		return arena_printf(arena, "%s when the one before has come to rest", next);
	return arena_printf(arena, "%s %lld s after the one before has come to rest", next,
	                    (long long)evacuation->manifest.batch_interval_s);
}

static void judge(struct evacuation *evacuation, size_t lane)
{
	struct paced *paced = &evacuation->items.lanes[lane].paced;
	struct batch before = paced->batch;
	struct arena arena;

	arena_init(&arena, "batches", SPANS_ARENA_MAX);
	survey(evacuation, lane, &arena);
	snprintf(paced->reason, sizeof(paced->reason), "%s", sentence(evacuation, &paced->batch, &arena));
	arena_done(&arena);
	if (before.number != paced->batch.number || before.of != paced->batch.of ||
	    before.not_before.us != paced->batch.not_before.us) /* what the note says */
		evacuation_touch(evacuation);
	paced->judged = true;
	if (paced->batch.left > 0 || evacuation->items.lanes[lane].running < paced->batch.size)
		lane_take_later(&evacuation->items.lanes[lane]);
}

static bool is_judged(const struct evacuation *evacuation, const struct paced *paced)
{
	return paced->judged &&
	       (!paced->batch.not_before.us || paced->batch.not_before.us > engine_wall(evacuation->engine).us);
}

/* The annotation says that its drain begins, then it begins. */
static void begin_drains(struct evacuation *evacuation)
{
	struct paced *paced = &evacuation->items.lanes[LANE_NODES].paced;
	size_t places = paced->batch.size - (paced->working < paced->batch.size ? paced->working : paced->batch.size);
	size_t left = paced->batch.left < places ? paced->batch.left : places;

	if (paced->waiting == 0)
		return;
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		if (!drain_waits(item))
			continue;
		if (left == 0) {
			item_become(item, ITEM_APPLIED, paced->reason);
			continue;
		}
		left--;
		pacing_began(item);
		item_become(item, ITEM_PLANNED, "its drain begins");
	}
}

void pacing_turn(struct evacuation *evacuation)
{
	for (size_t lane = 0; lane < LANES_MAX; lane++) {
		struct paced *paced = &evacuation->items.lanes[lane].paced;

		if (!is_paced(evacuation, lane)) {
			paced->batch = (struct batch){0};
			paced->waiting = 0;
			paced->judged = false;
			continue;
		}
		if (is_judged(evacuation, paced))
			continue;
		judge(evacuation, lane);
		if (lane == LANE_NODES)
			begin_drains(evacuation);
	}
}

bool pacing_admits(struct item *item)
{
	struct lane *lane = lane_of(item);

	if (!is_paced(item->evacuation, item->lane))
		return true;
	if (lane->running < lane->paced.batch.size && (item->begun_at.us || lane->paced.batch.left > 0))
		return true;
	if (!item->begun_at.us)
		item_become(item, item->evacuation->restoring ? ITEM_WAITING : ITEM_PLANNED, lane->paced.reason);
	item_consider_later(item);
	return false;
}

void pacing_began(struct item *item)
{
	struct paced *paced = &lane_of(item)->paced;

	if (!item->begun_at.us) {
		item->begun_at = engine_wall(item->evacuation->engine);
		item->rested_at = (struct wallclock){0};
		paced->batch.left -= paced->batch.left > 0;
	}
	paced->judged = false;
}

void pacing_take_record(struct item *item)
{
	const struct record *record = &item->record;

	if (!item->has_record || item->begun_at.us || item_is_node(item))
		return;
	if (item->evacuation->restoring && record->state == RECORD_RESTORING)
		item->begun_at = record->updated_at;
	if (item->evacuation->restoring)
		return;
	item->begun_at = record->created_at;
	if (record->state == RECORD_SETTLED || record->state == RECORD_APPLIED)
		item->rested_at = record->updated_at;
}

void pacing_take_out(struct item *item)
{
	if (!item->begun_at.us)
		item->begun_at = engine_wall(item->evacuation->engine);
}

void pacing_take_undone(struct item *item)
{
	if (!item_is_node(item))
		item_forget_times(item);
}

static bool is_back(const char *state)
{
	return text_equal(state, item_state_name(ITEM_RESTORED)) || text_equal(state, item_state_name(ITEM_GONE)) ||
	       text_equal(state, item_state_name(ITEM_SUPERSEDED)) ||
	       text_equal(state, item_state_name(ITEM_HELD_BY_OTHERS));
}

/*
 * Told as put back by an earlier process, or gone from the journal since: then it was begun, and has come to rest nobody knows when. An entry of before
 * the turn says only the latter.
 */
static void take_told(struct evacuation *evacuation, const struct json *entry, bool turned, struct wallclock now)
{
	const char *kind = json_get_string(entry, "kind");
	const char *id = json_get_string(entry, "id");
	const char *state = json_get_string(entry, "state");
	const struct actuator *actuator = kind ? registry_find(kind) : NULL;
	bool back = is_back(state);
	bool begun = back ? turned
	                  : text_equal(state, item_state_name(ITEM_APPLIED)) ||
	                        text_equal(state, item_state_name(ITEM_SETTLED)) || turned;
	struct wallclock at = back ? told_at(entry) : now;
	struct item *item = id ? items_find(&evacuation->items, id) : NULL;
	struct paced *paced;

	if (!actuator || !id || !begun || (item && item->held) || text_equal(state, item_state_name(ITEM_REFUSED)) ||
	    facts_record(evacuation->facts, id))
		return;
	paced = &evacuation->items.lanes[item_lane_of(actuator)].paced;
	paced->told++;
	if (at.us > paced->told_rested.us)
		paced->told_rested = at.us < now.us ? at : now;
}

void pacing_take_told(struct evacuation *evacuation)
{
	const struct json *changes = json_get(evacuation->told, "changes");
	bool turned = text_equal(json_get_string(evacuation->told, "phase"), phase_name(PHASE_RESTORING));
	struct wallclock now = engine_wall(evacuation->engine);

	for (size_t i = 0; i < json_count(changes); i++)
		take_told(evacuation, json_at(changes, i), turned, now);
	if (json_integer(json_get(evacuation->told, "changesOmitted"), 0) == 0)
		return;
	for (size_t lane = LANE_NODES + 1; lane < LANES_MAX; lane++) { /* it does not tell of all */
		struct paced *paced = &evacuation->items.lanes[lane].paced;

		paced->told += paced->told == 0;
		paced->told_rested = now;
	}
}

void pacing_take_back(struct item *item)
{
	struct paced *paced = &lane_of(item)->paced;

	paced->told++;
	paced->told_rested = engine_wall(item->evacuation->engine);
	paced->judged = false;
}

void pacing_turn_round(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		item_forget_times(item);
	for (size_t lane = 0; lane < LANES_MAX; lane++)
		evacuation->items.lanes[lane].paced = (struct paced){0};
}

bool pacing_marks_drains(const struct evacuation *evacuation)
{
	return is_paced(evacuation, LANE_NODES);
}

bool pacing_holds_drain(const struct item *item)
{
	return !item->begun_at.us && is_paced(item->evacuation, LANE_NODES);
}

bool pacing_waits_with_drains(const struct evacuation *evacuation)
{
	return evacuation->items.lanes[LANE_NODES].paced.waiting > 0;
}

struct instant pacing_due(const struct evacuation *evacuation, struct instant otherwise)
{
	struct instant now = engine_now(evacuation->engine);
	struct wallclock wall = engine_wall(evacuation->engine);
	struct instant due = otherwise;

	for (size_t lane = 0; lane < LANES_MAX; lane++) {
		const struct paced *paced = &evacuation->items.lanes[lane].paced;

		if (paced->waiting && paced->batch.not_before.us > wall.us)
			due = instant_earlier(due, instant_after(now, (paced->batch.not_before.us - wall.us) / 1000 + 1));
	}
	return due;
}

int64_t pacing_extends_ms(const struct evacuation *evacuation, size_t lane, int64_t batch_ms)
{
	const struct batch *batch = &evacuation->items.lanes[lane].paced.batch;

	return batch->of > 1 ? (int64_t)(batch->of - 1) * (batch_ms + pace_of(evacuation).interval_ms) : 0;
}

static const char *kind_of(size_t lane)
{
	return lane == LANE_NODES ? EKS_NODE_KIND : registry_at(lane - 1)->kind;
}

const char *pacing_note(const struct evacuation *evacuation, struct arena *arena)
{
	const char *note = "";

	for (size_t lane = 0; lane < LANES_MAX; lane++) {
		const struct paced *paced = &evacuation->items.lanes[lane].paced;
		const struct batch *batch = &paced->batch;

		if (batch->of < 2 || batch->number == 0)
			continue;
		note = arena_printf(arena, "%s; %s: batch %zu of %zu", note, kind_of(lane), batch->number, batch->of);
		if (paced->waiting && batch->not_before.us)
			note = arena_printf(arena, "%s, the next at %s", note, wallclock_rfc3339(batch->not_before, arena));
	}
	return note;
}
