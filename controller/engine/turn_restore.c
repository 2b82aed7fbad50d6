#include "admit.h"
#include "change.h"
#include "drain.h"
#include "event.h"
#include "observe.h"
#include "pacing.h"
#include "plan.h"
#include "remark.h"
#include "stall.h"
#include "state.h"
#include "turn.h"

/* A record of ours was there although all seemed closed: look again after, longer each time. */
#define VERIFY_AGAIN_MS 5000
/* So long AWS is waited for to say what time it is. */
#define DOUBTS_TIME_MS 30000
#define ABANDON_ANNOTATION "zonevac.dev/abandon"

bool turn_is_abandoned(const struct evacuation *evacuation)
{
	const struct json *annotations = json_path(evacuation->object, "metadata.annotations");

	return text_equal(json_get_string(annotations, ABANDON_ANNOTATION), evacuation->manifest.uid);
}

/* From now on everything is put back: what was found for taking out is forgotten. */
static void turn_round(struct evacuation *evacuation)
{
	evacuation->restoring = true;
	evacuation->turning = true;
	evacuation->nodes_due = true;
	evacuation->observe_due = (struct instant){0};
	observation_cancel(evacuation->observation);
	evacuation->observation = NULL;
	pacing_turn_round(evacuation);
	for (struct item *item = evacuation->items.first; item; item = item->next) {
		drain_stop(item->drain);
		item_stop_remark(item);
		item->remarked = false;
		item_set_remark(item, NULL);
		item->retry_at = (struct instant){0}; /* that was about taking out */
		item->failures = 0;
		item_consider(item);
	}
}

/* Every process that takes out has ended or been stopped. */
static bool turned_round(struct evacuation *evacuation)
{
	bool all = true;

	if (!evacuation->restoring)
		turn_round(evacuation);
	if (!evacuation->turning)
		return true;
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (item->direction == DIRECTION_OUT && process_running(&item->process) && !process_stop(&item->process))
			all = false;
	if (!process_stop(&evacuation->registration.process))
		all = false;
	evacuation->turning = !all;
	return all;
}

/* Let go: nothing is taken out any more, nor put back; whatever is at work ends as soon as what it has sent is answered. */
static void stop_all(struct evacuation *evacuation)
{
	(void)turned_round(evacuation);
	for (struct item *item = evacuation->items.first; item; item = item->next)
		process_stop(&item->process);
}

static bool facts_have_ours(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->facts->records.count; i++)
		if (evacuation->facts->records.at[i].unreadable ||
		    string_list_has(&evacuation->facts->records.at[i].owners, evacuation->engine->cluster.owner))
			return true;
	return false;
}

/* An object of nodes alone that AWS was never asked for: there can be no record. */
static bool never_met_aws(const struct evacuation *evacuation)
{
	return !evacuation_targets_aws(evacuation) && !evacuation->facts &&
	       !json_path_string(evacuation->object, "status.accountId");
}

/* A record that was put without an answer may appear after what was read, and after the one that was put in its stead has been closed. */
static bool ghosts_may_appear(const struct evacuation *evacuation)
{
	int64_t age_ms = instant_between_ms(evacuation->facts->began, engine_now(evacuation->engine));

	return wallclock_after_ms(engine_wall(evacuation->engine), -age_ms).us <= evacuation->place->ghosts_until.us;
}

/* No record is left: read once more before that is believed. */
static bool verify_nothing_left(struct evacuation *evacuation)
{
	if (evacuation->verified)
		return true;
	if (!evacuation->verify_serial) {
		evacuation->verify_serial = evacuation->facts_serial + 1;
		evacuation->observe_due = (struct instant){0};
	}
	if (evacuation->facts_serial >= evacuation->verify_serial) {
		evacuation->verified = !facts_have_ours(evacuation) && !ghosts_may_appear(evacuation);
		evacuation->verify_serial = evacuation->facts_serial + 1;
		evacuation->observe_due =
			instant_after(engine_now(evacuation->engine), VERIFY_AGAIN_MS * ++evacuation->verify_tries);
	}
	turn_observe(evacuation, true);
	return evacuation->verified;
}

static const struct item *item_of_elsewhere(const struct evacuation *evacuation)
{
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (item->has_record && !item_is_in_account(item))
			return item;
	return NULL;
}

static void tell_strange_record(struct evacuation *evacuation)
{
	const struct record *record = plan_strange_record(evacuation);
	const struct item *item;

	if (record && record->unreadable)
		stall_set(&evacuation->stall, "UnreadableRecord",
		          "the journal's item (%s, %s) cannot be read: %s; mend or delete it by hand", record->zone_id,
		          record->resource_id, record->unreadable);
	else if (record)
		stall_set(&evacuation->stall, "UnknownKind",
		          "the journal holds %s, of kind %s, which this version cannot put back; run the one that took it out",
		          record->resource_id, record->resource_type);
	else if ((item = item_of_elsewhere(evacuation)))
		stall_set(
			&evacuation->stall, "OtherAccount",
			"the journal's item (%s, %s) is of another account or region than these credentials, and is left alone: "
			"delete it by hand if nothing of it is out",
			evacuation->manifest.zone_id, item->change.id);
}

static void tell_registration(struct evacuation *evacuation)
{
	if (evacuation->registration.failures > 0 && !evacuation->stall.reason[0])
		stall_from_error(&evacuation->stall, "Journal", &evacuation->registration.error);
}

/*
 * A status lags behind the journal: what that does not know any more is back, and its owners may have changed it since. Only a journal that was lost,
 * which does not know of any zone, knows less than the status.
 */
static void forget_doubtful(struct evacuation *evacuation)
{
	bool lost = !evacuation->registration.item.exists;

	if (!evacuation->told_in_doubt)
		return;
	evacuation->told_in_doubt = false;
	for (struct item *item = evacuation->items.first; item && !lost; item = item->next)
		if (item->held && !item->has_record && !item_is_node(item)) {
			item_set_held(item, false);
			pacing_take_back(item);
			item_drop(item);
		}
	items_sweep(&evacuation->items);
}

static bool restore_aws(struct evacuation *evacuation)
{
	if (!turn_aws_is_ready(evacuation, true)) {
		if (never_met_aws(evacuation))
			evacuation->stall = (struct stall){0};
		return never_met_aws(evacuation);
	}
	turn_observe(evacuation, true);
	turn_tell_observation(evacuation);
	if (!evacuation->facts || !evacuation->observed_for_restore)
		return false;
	tell_strange_record(evacuation);
	if (registration_is_known(evacuation)) {
		forget_doubtful(evacuation);
		plan_start_restores(evacuation, true);
	} else {
		tell_registration(evacuation);
	}
	if (evacuation->items.records > 0 || evacuation->items.held > 0 || evacuation->items.running > 0)
		return false;
	if (!remarks_are_in(evacuation) || !verify_nothing_left(evacuation))
		return false;
	if (registration_ends(evacuation))
		return true;
	tell_registration(evacuation);
	return false;
}

static void let_go(struct evacuation *evacuation)
{
	evacuation->letting_go = true;
	if (!admit_finalizer(evacuation, false) && evacuation->finalizer_failures > 1)
		stall_from_error(&evacuation->stall, "ApiServer", &evacuation->finalizer_error);
}

/* Before it vanishes, and its status with it: what it leaves to others is no failure, but nobody is to take it for back. */
static void tell_still_held(struct evacuation *evacuation)
{
	struct arena arena;
	size_t count = 0;
	const struct item *first = NULL;

	if (evacuation->phase == evacuation->told_phase) /* it was told */
		return;
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (item->state == ITEM_HELD_BY_OTHERS) {
			first = first ? first : item;
			count++;
		}
	if (!first)
		return;
	arena_init(&arena, "still held", 1u << 20);
	event_tell(evacuation, false, "StillHeldBy",
	           arena_printf(&arena, "%zu resources stay out of zone %s, because other owners hold them: %s is %s",
	                        count, evacuation->manifest.zone_id, first->change.name, first->reason));
	arena_done(&arena);
}

/* A process that dies now leaves one that knows, by its status, that there may be records. */
static bool may_hand_over(const struct evacuation *evacuation, const struct evacuation *successor)
{
	return successor->manifest.finalizer && (never_met_aws(evacuation) || evacuation_targets_aws(successor) ||
	                                         json_path_string(successor->object, "status.accountId"));
}

void turn_forget_held(struct evacuation *evacuation)
{
	for (struct item *item = evacuation->items.first; item; item = item->next)
		if (!item_is_node(item) && !process_running(&item->process)) {
			item_set_record(item, NULL);
			item_set_held(item, false);
		}
}

void turn_restoring(struct evacuation *evacuation)
{
	struct evacuation *successor, *elder;
	bool turned, nodes_back, aws_back;

	evacuation->phase = PHASE_RESTORING;
	if (!evacuation->manifest.finalizer)
		return;
	if (turn_is_abandoned(evacuation)) {
		stall_set(&evacuation->stall, "Abandoned",
		          "let go without restoring, as its annotation %s says; what is still out stands in the journal",
		          ABANDON_ANNOTATION);
		stop_all(evacuation);
		let_go(evacuation);
		return;
	}
	turned = turned_round(evacuation);
	if (turned && evacuation->registration.recovered_for_sure) { /* what its owners do with it since is theirs */
		evacuation->registration.recovered_for_sure = false;
		turn_forget_held(evacuation);
	}
	successor = evacuation_is_ending(evacuation) ? admit_successor(evacuation) : NULL;
	elder = evacuation_is_ending(evacuation) ? admit_elder(evacuation) : NULL;
	if (turned && (successor || elder) && evacuation->place && evacuation->items.running > 0)
		(void)registration_is_known(evacuation); /* what is at work comes to its end */
	if (successor) {                             /* it takes the records over: nothing more is restored in between */
		if (turned && may_hand_over(evacuation, successor) && evacuation->items.running == 0)
			let_go(evacuation);
		return;
	}
	if (elder && may_hand_over(evacuation, elder)) { /* two at one record would undo each other */
		if (turned && evacuation->items.running == 0)
			let_go(evacuation);
		return;
	}
	evacuation->letting_go = false;
	nodes_back = plan_take_held_nodes(evacuation) == 0;
	plan_start_restores(evacuation, false); /* nodes wait for nobody who is still at work in AWS */
	aws_back = turned && restore_aws(evacuation);
	if (nodes_back && aws_back) {
		evacuation->phase = PHASE_RESTORED;
		tell_still_held(evacuation);
		let_go(evacuation);
	}
}

bool turn_is_expired(const struct evacuation *evacuation)
{
	struct wallclock expires = evacuation_expires_at(evacuation);

	return evacuation->expired || (expires.us && expires.us <= engine_wall(evacuation->engine).us);
}

bool turn_doubts_time(const struct evacuation *evacuation, struct instant *until)
{
	const struct engine *engine = evacuation->engine;

	*until = instant_after(evacuation->since, DOUBTS_TIME_MS);
	return !evacuation->manifest.deleting && !evacuation->expired && !engine->clock_known &&
	       evacuation_targets_aws(evacuation) && turn_is_expired(evacuation) &&
	       !instant_reached(*until, engine_now(engine));
}

void turn_expired(struct evacuation *evacuation)
{
	if (!evacuation->expired)
		evacuation->expired_at = evacuation_expires_at(evacuation);
	evacuation->expired = true;
	if (evacuation->manifest.finalizer)
		turn_restoring(evacuation);
	else
		evacuation->phase = PHASE_RESTORED;
}
