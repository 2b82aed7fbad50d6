#include "status.h"

#include <string.h>

#include "admit.h"
#include "estimate.h"
#include "event.h"
#include "kube/objects.h"
#include "pacing.h"
#include "plan.h"
#include "state.h"

#define STATUS_EVERY_MS 1000
#define FLUTTER_MS 10000
#define FLUTTER_MAX 6
#define STATUS_SMALL_BYTES (64 << 10)
#define STATUS_AGAIN_MS 2000
#define STATUS_REPEAT_MS 60000
#define NOTHING_SENTENCE "nothing that the targets select lies in the zone: see that their selectors say what is meant"

const struct json *status_condition(const struct json *status, const char *type)
{
	const struct json *conditions = json_get(status, "conditions");

	for (size_t i = 0; i < json_count(conditions); i++)
		if (text_equal(json_get_string(json_at(conditions, i), "type"), type))
			return json_at(conditions, i);
	return NULL;
}

/* Conditions. lastTransitionTime changes only when the status flips. */

static void add_condition(struct json *conditions, const struct evacuation *evacuation, struct arena *arena,
                          const char *type, bool is, const char *reason, const char *message)
{
	const struct json *before = status_condition(json_get(evacuation->object, "status"), type);
	const char *value = is ? "True" : "False";
	const char *since = json_get_string(before, "lastTransitionTime");
	struct json *condition = json_new_object(arena);

	if (!since || !text_equal(json_get_string(before, "status"), value))
		since = wallclock_rfc3339(engine_wall(evacuation->engine), arena);
	json_set_string(condition, "type", type);
	json_set_string(condition, "status", value);
	json_set_integer(condition, "observedGeneration", evacuation->manifest.generation);
	json_set_string(condition, "lastTransitionTime", since);
	json_set_string(condition, "reason", reason);
	json_set_string(condition, "message", message);
	json_add(conditions, condition);
}

static const char *not_yet_sentence(const struct evacuation *evacuation)
{
	switch (evacuation->phase) {
	case PHASE_PLANNED:
		return "this is a plan only: nothing is changed";
	case PHASE_RESTORING:
	case PHASE_RESTORED:
		return "it is being put back";
	default:
		return "it has not come to rest yet";
	}
}

static const char *evacuated_message(const struct evacuation *evacuation, const struct tally *tally,
                                     struct arena *arena)
{
	if (evacuation->phase != PHASE_HOLDING)
		return not_yet_sentence(evacuation);
	if (tally->found == 0)
		return NOTHING_SENTENCE;
	return arena_printf(arena, "%zu of %zu are out and settled", tally->settled,
	                    tally->changed + tally->open + tally->failed + tally->rival);
}

static const char *complete_message(const struct evacuation *evacuation, const struct tally *tally, struct arena *arena)
{
	if (tally->refused + tally->failed + tally->rival > 0)
		return arena_printf(arena, "%zu refused, %zu failed, %zu put back by somebody else", tally->refused,
		                    tally->failed, tally->rival);
	if (evacuation->phase != PHASE_HOLDING)
		return not_yet_sentence(evacuation);
	if (tally->found == 0)
		return NOTHING_SENTENCE;
	if (tally->open > 0)
		return arena_printf(arena, "%zu still to be changed", tally->open);
	if (tally->settled < tally->changed)
		return arena_printf(arena, "%zu changed but not settled", tally->changed - tally->settled);
	return "nothing was refused and nothing failed";
}

/* Why the zone counts as evacuated, or does not; `fine` when there is nothing against it. */
static const char *held_reason(const struct tally *tally, bool held, const char *fine)
{
	if (!held)
		return "NotYet";
	if (tally->found == 0)
		return "NothingSelected";
	if (tally->rival)
		return "Rival";
	if (tally->failed)
		return "Failed";
	return tally->open > 0 || tally->settled < tally->changed ? "NotSettled" : fine;
}

/* What would be done, and how long that takes as far as anybody can know. */
static const char *planned_note(const struct evacuation *evacuation, const struct tally *tally, struct arena *arena)
{
	const char *asked = evacuation->manifest.plan_hash;
	const char *hash = planned_hash(evacuation);
	char words[ESTIMATE_WORDS_BYTES];

	estimate_words(plan_estimate(evacuation), words);
	return arena_printf(arena, "planned: %zu would be changed, %zu refused; %s%s%s", tally->open, tally->refused,
	                    tally->open ? words : "nothing to be done",
	                    tally->open ? " at the services' quotas, and what draining and settling take" : "",
	                    asked && hash && !text_equal(asked, hash) ? "; it is not the plan of spec.planHash" : "");
}

static const char *phase_note(const struct evacuation *evacuation, struct arena *arena)
{
	const struct evacuation *successor = evacuation->expired ? admit_successor(evacuation) : NULL;
	struct tally tally = phase_tally(&evacuation->items, NULL);

	switch (evacuation->phase) {
	case PHASE_PENDING:
		return "nothing is begun yet";
	case PHASE_OBSERVING:
		return "what there is is being read";
	case PHASE_APPLYING:
		return arena_printf(arena, "taking %zu resources out of zone %s, %zu refused so far%s",
		                    tally.open + tally.changed, evacuation->manifest.zone_id, tally.refused,
		                    pacing_note(evacuation, arena));
	case PHASE_HOLDING:
		if (tally.found == 0)
			return NOTHING_SENTENCE;
		return arena_printf(arena,
		                    "zone %s is held: %zu out and settled, %zu out but not settled, %zu refused, %zu failed",
		                    evacuation->manifest.zone_id, tally.settled, tally.changed - tally.settled, tally.refused,
		                    tally.failed + tally.rival);
	case PHASE_PLANNED:
		return planned_note(evacuation, &tally, arena);
	case PHASE_RESTORING:
		return arena_printf(arena, "%sputting zone %s back%s",
		                    evacuation->expired ? "its time is over (spec.expiresAfterSeconds): " : "",
		                    evacuation->manifest.zone_id, pacing_note(evacuation, arena));
	case PHASE_RESTORED:
		if (successor)
			return arena_printf(arena, "its time is over; what was out of zone %s stays out for ZonalEvacuation %s",
			                    evacuation->manifest.zone_id, successor->manifest.name);
		return arena_printf(
			arena, "zone %s: %zu put back, %zu of them changed or gone meanwhile, %zu left to other owners",
			evacuation->manifest.zone_id, tally.restored,
			items_in_state(&evacuation->items, ITEM_GONE) + items_in_state(&evacuation->items, ITEM_SUPERSEDED),
			tally.held_by_others);
	default:
		return arena_printf(arena, "phase %s", phase_name(evacuation->phase));
	}
}

static void add_conditions(struct json *status, const struct evacuation *evacuation, struct arena *arena)
{
	struct json *conditions = json_set_array(status, "conditions");
	struct tally tally = phase_tally(&evacuation->items, NULL);
	bool stalled = evacuation->stall.reason[0] != '\0';
	bool ready = !stalled && (evacuation->phase == PHASE_HOLDING || evacuation->phase == PHASE_PLANNED ||
	                          evacuation->phase == PHASE_RESTORED);
	bool held = evacuation->phase == PHASE_HOLDING;
	bool nothing = tally.found == 0; /* a typo in a selector looks like this */
	bool clean = !nothing && tally.failed + tally.rival + tally.open == 0 && tally.settled == tally.changed;
	const char *phase = phase_name(evacuation->phase);
	const char *note = phase_note(evacuation, arena);

	if (evacuation->phase == PHASE_RESTORED && evacuation->expired)
		phase = "Expired";
	add_condition(conditions, evacuation, arena, "Ready", ready, stalled ? evacuation->stall.reason : phase,
	              stalled ? evacuation->stall.message : note);
	if (stalled)
		add_condition(conditions, evacuation, arena, "Stalled", true, evacuation->stall.reason,
		              evacuation->stall.message);
	else if (!ready)
		add_condition(conditions, evacuation, arena, "Reconciling", true, phase, note);
	add_condition(conditions, evacuation, arena, "Evacuated", held && clean, held_reason(&tally, held, phase),
	              evacuated_message(evacuation, &tally, arena));
	add_condition(conditions, evacuation, arena, "Complete", held && clean && tally.refused == 0,
	              tally.failed    ? "Failed"
	              : tally.refused ? "Refused"
	                              : held_reason(&tally, held, "Complete"),
	              complete_message(evacuation, &tally, arena));
}

/* Counts. */

static void add_summary(struct json *status, const struct evacuation *evacuation, struct arena *arena)
{
	struct json *summary = json_set_array(status, "summary");

	for (size_t i = 0; i < evacuation->manifest.target_count; i++) {
		struct tally tally = phase_tally(&evacuation->items, evacuation->manifest.targets[i].kind);
		struct json *entry = json_new_object(arena);

		json_set_string(entry, "kind", evacuation->manifest.targets[i].kind);
		json_set_integer(entry, "found", (int64_t)tally.found);
		json_set_integer(entry, "changed", (int64_t)tally.changed);
		json_set_integer(entry, "settled", (int64_t)tally.settled);
		json_set_integer(entry, "refused", (int64_t)tally.refused);
		json_set_integer(entry, "failed", (int64_t)(tally.failed + tally.rival));
		json_set_integer(entry, "restored", (int64_t)tally.restored);
		json_set_integer(entry, "heldByOthers", (int64_t)tally.held_by_others);
		json_add(summary, entry);
	}
}

static void add_progress(struct json *status, const struct evacuation *evacuation, struct arena *arena)
{
	struct tally tally = phase_tally(&evacuation->items, NULL);
	size_t all = tally.changed + tally.open + tally.failed + tally.rival;
	bool back = evacuation->restoring;

	json_set_string(
		status, "progress",
		arena_printf(arena, "%zu/%zu", back ? tally.restored : tally.settled, back ? all + tally.restored : all));
	json_set_integer(status, "refused", (int64_t)tally.refused);
	json_set_integer(status, "failed", (int64_t)(tally.failed + tally.rival));
}

/* Changes: those that need a person first, then what is planned, in the order in which it is done. */

#define URGENCIES 7

/* Nodes at once; what waits for something, for which its plan has a reason, last. */
static int turn_of(const struct item *item)
{
	if (item_is_node(item))
		return 3;
	return item->reason[0] ? 5 : 4;
}

static int urgency(const struct item *item)
{
	switch (item->state) {
	case ITEM_FAILED:
	case ITEM_RIVAL:
		return 0;
	case ITEM_REFUSED:
		return 1;
	case ITEM_WAITING:
	case ITEM_APPLYING:
	case ITEM_RESTORING:
	case ITEM_APPLIED:
		return 2;
	case ITEM_PLANNED:
		return turn_of(item);
	default:
		return URGENCIES - 1;
	}
}

static struct json *change_entry(const struct item *item, struct arena *arena)
{
	struct json *entry = json_new_object(arena);
	const char *guard = guard_name(item->guard);
	const char *reason = item->reason[0] ? item->reason : item->remark;

	if (item->state == ITEM_PLANNED && item->reason[0] && item->remark[0])
		reason = arena_printf(arena, "%s; %s", item->reason, item->remark);
	if ((item->state == ITEM_REFUSED || item->state == ITEM_WAITING) && guard[0])
		reason = arena_printf(arena, "%s: %s", guard, item->reason);
	json_set_string(entry, "kind", item->change.kind);
	json_set_string(entry, "name", item->change.name);
	json_set_string(entry, "id", item->change.id);
	if (item->change.removed.count && item->state != ITEM_REFUSED)
		json_set(entry, "removed", json_new_strings(arena, &item->change.removed));
	json_set_string(entry, "state", item_state_name(item->state));
	if (reason[0])
		json_set_string(entry, "reason", reason);
	json_set_string(entry, "at", wallclock_rfc3339(item->at, arena));
	return entry;
}

static void add_changes(struct json *status, const struct evacuation *evacuation, struct arena *arena)
{
	struct json *changes = json_set_array(status, "changes");
	size_t bytes = strlen(json_print(status, arena));
	size_t listed = 0;

	for (int level = 0; level < URGENCIES; level++)
		for (const struct item *item = evacuation->items.first; item; item = item->next) {
			struct json *entry;

			if (urgency(item) != level || listed >= STATUS_CHANGES_MAX)
				continue;
			entry = change_entry(item, arena);
			bytes += strlen(json_print(entry, arena)) + 1;
			if (bytes > STATUS_BYTES_MAX)
				goto full;
			json_add(changes, entry);
			listed++;
		}
full:
	json_set_integer(status, "changesOmitted", (int64_t)(evacuation->items.count - listed));
}

static void set_time(struct json *status, const char *key, struct wallclock at, struct arena *arena)
{
	if (at.us)
		json_set_string(status, key, wallclock_rfc3339(at, arena));
}

/* It was done for good under an earlier process, which told more than this one knows: the same, of the present generation. */
static bool is_told_already(const struct evacuation *evacuation)
{
	return evacuation->expired && !evacuation->manifest.finalizer && evacuation->items.count == 0 &&
	       text_equal(json_path_string(evacuation->object, "status.phase"), phase_name(PHASE_RESTORED));
}

static struct json *tell_again(const struct evacuation *evacuation, struct arena *arena)
{
	const struct json *before = json_get(evacuation->object, "status");
	const struct json *told = json_get(before, "conditions");
	struct json *status = json_copy(arena, before);
	struct json *conditions = json_set_array(status, "conditions");

	json_set_integer(status, "observedGeneration", evacuation->manifest.generation);
	for (size_t i = 0; i < json_count(told); i++) {
		struct json *condition = json_copy(arena, json_at(told, i));

		json_set_integer(condition, "observedGeneration", evacuation->manifest.generation);
		json_add(conditions, condition);
	}
	return status;
}

struct json *status_build(const struct evacuation *evacuation, struct arena *arena)
{
	struct json *status = json_new_object(arena);
	const struct json *before = json_get(evacuation->object, "status");
	const struct scope *scope = evacuation->facts ? &evacuation->facts->scope : NULL;

	if (is_told_already(evacuation))
		return tell_again(evacuation, arena);
	json_set_integer(status, "observedGeneration", evacuation->manifest.generation);
	json_set_string(status, "phase", phase_name(evacuation->phase));
	json_set_string(status, "zoneName", scope ? scope->zone_name : json_get_string(before, "zoneName"));
	json_set_string(status, "accountId", scope ? scope->account_id : json_get_string(before, "accountId"));
	json_set_string(status, "planHash", planned_hash(evacuation));
	if (evacuation->phase == PHASE_PLANNED)
		json_set_integer(status, "estimatedSeconds", plan_estimate(evacuation));
	add_progress(status, evacuation, arena);
	add_summary(status, evacuation, arena);
	set_time(status, "startedAt", evacuation->started_at, arena);
	set_time(status, "expiresAt", evacuation_expires_at(evacuation), arena);
	set_time(status, "evacuatedAt", evacuation->evacuated_at, arena);
	add_conditions(status, evacuation, arena);
	add_changes(status, evacuation, arena);
	return status;
}

/* Events: on transitions only. */

/* It holds, but not as was asked for. */
static bool needs_a_look(const struct evacuation *evacuation)
{
	struct tally tally = phase_tally(&evacuation->items, NULL);

	return evacuation->phase == PHASE_HOLDING &&
	       (tally.found == 0 || tally.settled < tally.changed || tally.failed + tally.rival > 0);
}

/*
 * Where nodes come and go, the phase turns to and fro with each of them. A few turns are told at once; more of them in one go are told once a second,
 * by the status that is due then.
 */
static bool is_flutter(struct evacuation *evacuation)
{
	struct instant now = engine_now(evacuation->engine);

	if (instant_between_ms(evacuation->phases_since, now) >= FLUTTER_MS) {
		evacuation->phases_since = now;
		evacuation->phases_told = 0;
	}
	return evacuation->phases_told >= FLUTTER_MAX && evacuation->told_phase == PHASE_HOLDING &&
	       evacuation->phase == PHASE_APPLYING && instant_between_ms(evacuation->phase_told_at, now) < STATUS_EVERY_MS;
}

static void tell_transitions(struct evacuation *evacuation, struct arena *arena)
{
	if (evacuation->phase != evacuation->told_phase && !is_flutter(evacuation)) {
		evacuation->told_phase = evacuation->phase;
		evacuation->phase_told_at = engine_now(evacuation->engine);
		evacuation->phases_told++;
		evacuation->status_due = (struct instant){0};
		evacuation->touched = true;
		if (evacuation->phase != PHASE_OBSERVING && evacuation->phase != PHASE_PENDING)
			event_tell(evacuation, needs_a_look(evacuation), phase_name(evacuation->phase),
			           phase_note(evacuation, arena));
	}
	if (!text_equal(evacuation->stall.reason, evacuation->told_stall.reason)) {
		evacuation->told_stall = evacuation->stall;
		evacuation->status_due = (struct instant){0};
		evacuation->touched = true;
		if (evacuation->stall.reason[0])
			event_tell(evacuation, true, evacuation->stall.reason, evacuation->stall.message);
	}
}

/* Writing. */

static void status_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;
	const struct json *object;

	(void)exchange;
	evacuation->status_exchange = NULL;
	if (!answer->error) {
		object = json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);
		if (text_equal(json_path_string(object, "metadata.uid"), evacuation->manifest.uid))
			evacuation_learn(evacuation->engine, object);
		return;
	}
	evacuation->touched = true;
	evacuation->status_sent = NULL;
	evacuation->status_due = instant_after(answer->now, STATUS_AGAIN_MS);
	if (answer->error->kind != ERROR_ABSENT) /* it is gone: fine */
		log_event(LOG_WARN, "the status could not be written", "evacuation", evacuation->manifest.name, "error",
		          answer->error->message, NULL);
}

static void status_send(struct evacuation *evacuation, const struct json *status)
{
	struct exchange *exchange = exchange_new(evacuation->engine, status_heard, evacuation);

	kube_ask_status(&exchange->arena, evacuation->manifest.name, evacuation->manifest.uid, status,
	                &exchange->ask.request);
	exchange->ask.what = ASK_HTTP;
	exchange->ask.effect = true;
	evacuation->status_exchange = exchange;
	exchange_queue(evacuation->engine, exchange);
}

static void status_write(struct evacuation *evacuation, struct instant now, struct arena *arena)
{
	struct json *status = status_build(evacuation, arena);
	const char *text = json_print(status, arena);
	int64_t bytes = (int64_t)strlen(text);

	evacuation->touched = false;
	evacuation->status_due = instant_after(
		now, bytes <= STATUS_SMALL_BYTES ? STATUS_EVERY_MS : bytes * STATUS_EVERY_MS / STATUS_SMALL_BYTES);
	if (json_equal(status, json_get(evacuation->object, "status")))
		return;
	/* An older CRD that drops a field would never show what was sent: that is no reason to send it every second. */
	if (text_equal(text, evacuation->status_sent) &&
	    instant_between_ms(evacuation->status_sent_at, now) < STATUS_REPEAT_MS)
		return;
	arena_reset(&evacuation->status_arena);
	evacuation->status_sent = arena_string(&evacuation->status_arena, text);
	evacuation->status_sent_at = now;
	status_send(evacuation, status);
}

/* Once restored a deleted object is about to vanish, and nobody would read it. An expired one is told when its finalizer is off. */
static bool says_it_all(const struct evacuation *evacuation)
{
	return evacuation->phase == PHASE_RESTORED && (!evacuation->expired || evacuation->manifest.finalizer);
}

void status_turn(struct evacuation *evacuation)
{
	struct instant now = engine_now(evacuation->engine);
	struct arena arena;

	if (evacuation->manifest.deleting && !evacuation->manifest.finalizer)
		return;
	arena_init(&arena, "status", 64u << 20);
	tell_transitions(evacuation, &arena);
	if (evacuation->touched && !says_it_all(evacuation) && !evacuation->status_exchange &&
	    instant_reached(evacuation->status_due, now))
		status_write(evacuation, now, &arena);
	arena_done(&arena);
}
