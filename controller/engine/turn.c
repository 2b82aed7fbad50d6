#include "turn.h"

#include <stdio.h>

#include "observe.h"
#include "pacing.h"
#include "plan.h"
#include "requeue.h"
#include "stall.h"
#include "state.h"

/* While the environment keeps us from observing: again after, growing. */
#define OBSERVE_AGAIN_MS 5000
#define OBSERVE_AGAIN_MAX_MS 60000
/* A kind that has not been read after so long is told. */
#define READING_MS 30000

/* Other credentials see another account's groups and journal: nothing of that may be taken for ours. */
static bool same_account(struct evacuation *evacuation, const struct facts *facts)
{
	const char *before = json_path_string(evacuation->object, "status.accountId");
	struct error *error = &evacuation->observe_error;

	if (!before || text_equal(before, facts->scope.account_id))
		return true;
	error_set(error, ERROR_REJECTED,
	          "the credentials are of account %s, but this was begun in account %s; give back those of %s",
	          facts->scope.account_id, before, before);
	snprintf(error->code, sizeof(error->code), "OtherAccount");
	return false;
}

/* A kind that could not be read is asked for again soon; the others go on with what was seen. */
static void take_unseen(struct evacuation *evacuation, struct instant now)
{
	const struct inquiry *unseen = facts_unseen(evacuation->facts);
	int64_t wait_ms = evacuation->engine->settings->resync_ms;

	evacuation->unseen_error = (struct error){0};
	if (!unseen) {
		evacuation->observe_failures = 0;
	} else if (!unseen->done) {
		error_set(&evacuation->unseen_error, ERROR_TIMEOUT,
		          "%s: its service has not told of all of them yet; it is slow, or throttles", unseen->actuator->kind);
		return; /* more is to come */
	} else {
		evacuation->unseen_error = unseen->error;
		evacuation->observe_failures++;
		wait_ms = requeue_backoff_ms(evacuation->observe_failures, OBSERVE_AGAIN_MS, OBSERVE_AGAIN_MAX_MS,
		                             engine_random(evacuation->engine));
	}
	evacuation->observe_due = instant_after(now, wait_ms);
}

static void observed(struct evacuation *evacuation, struct facts *facts, const struct error *error)
{
	struct engine *engine = evacuation->engine;
	struct instant now = engine_now(engine);

	if (!facts || facts->complete)
		evacuation->observation = NULL;
	evacuation_touch(evacuation);
	if (!facts) {
		evacuation->observe_failures++;
		evacuation->observe_error = *error;
		evacuation->observe_due = instant_after(now, requeue_backoff_ms(evacuation->observe_failures, OBSERVE_AGAIN_MS,
		                                                                OBSERVE_AGAIN_MAX_MS, engine_random(engine)));
		return;
	}
	if (!same_account(evacuation, facts)) {
		facts_release(facts);
		evacuation->observe_due = instant_after(now, OBSERVE_AGAIN_MAX_MS);
		return;
	}
	facts_release(evacuation->facts);
	evacuation->facts = facts;
	evacuation->facts_serial++;
	evacuation->gates_due = true;
	evacuation->observe_error = (struct error){0};
	take_unseen(evacuation, now);
	if (facts->generation != evacuation->manifest.generation) /* the object was edited meanwhile */
		evacuation->observe_due = now;
	evacuation->observed_for_restore = evacuation->restoring;
	evacuation->nodes_due = true; /* the zone's name may be new */
	if (evacuation->restoring && evacuation->facts_serial == 1)
		pacing_take_told(evacuation);
	if (evacuation->restoring)
		plan_take_records(evacuation);
	else
		plan_take_facts(evacuation);
}

void turn_observe(struct evacuation *evacuation, bool records)
{
	if (evacuation->observation || !instant_reached(evacuation->observe_due, engine_now(evacuation->engine)))
		return;
	evacuation->observation = observation_start(evacuation, !evacuation->restoring, records, observed);
}

/* While they are being fetched there is nothing to tell. */
static void tell_identity(struct evacuation *evacuation)
{
	struct engine *engine = evacuation->engine;
	const struct error *trouble = identity_trouble(engine);

	if (trouble && engine->identity.refused)
		stall_set(&evacuation->stall, "CredentialsRefused",
		          "AWS refuses the credentials from %s: %s; they are fetched again and tried from time to time",
		          engine->identity.credentials.source, trouble->message);
	else if (trouble && engine->identity.have)
		stall_set(&evacuation->stall, "CredentialsExpired",
		          "the AWS credentials have expired and cannot be refreshed: %s; it is tried again by itself",
		          trouble->message);
	else if (trouble)
		stall_set(&evacuation->stall, "NoCredentials", "%s", trouble->message);
}

bool turn_aws_is_ready(struct evacuation *evacuation, bool needs_table)
{
	struct engine *engine = evacuation->engine;
	struct error error;

	if (!evacuation->place)
		evacuation->place = place_of(engine, evacuation_region(evacuation), &error);
	if (!evacuation->place) {
		stall_set(&evacuation->stall, "InvalidEndpoint", "%s", error.message);
		return false;
	}
	if (!identity_may_sign(engine)) {
		tell_identity(evacuation);
		return false;
	}
	if (place_table(evacuation->place, needs_table) || !needs_table)
		return true;
	if (evacuation->place->table_error.kind == ERROR_ABSENT)
		stall_set(
			&evacuation->stall, "JournalMissing",
			place_is_held(evacuation->place)
				? "the journal's table %s does not exist in %s, and something is held: restore it from its backup; an empty one gets again "
				  "what this controller still knows"
				: "the journal's table %s does not exist in %s; create it, or run the controller with --create-journal",
			engine->settings->table, evacuation->place->region);
	else if (evacuation->place->table_error.kind == ERROR_BUSY)
		stall_set(&evacuation->stall, "JournalNotReady", "%s", evacuation->place->table_error.message);
	else if (evacuation->place->table_error.kind != ERROR_NONE)
		stall_from_error(&evacuation->stall, "Journal", &evacuation->place->table_error);
	return false;
}

/* Ten thousand resources take a while to read: that alone is no reason to call for a person. */
static bool is_still_reading(const struct evacuation *evacuation)
{
	return !evacuation->facts->complete &&
	       instant_between_ms(evacuation->facts->began, engine_now(evacuation->engine)) < READING_MS;
}

void turn_tell_observation(struct evacuation *evacuation)
{
	const struct error *error = &evacuation->observe_error;

	if (text_equal(error->code, "OtherAccount"))
		stall_set(&evacuation->stall, error->code, "%s", error->message);
	else if (error->kind == ERROR_INPUT)
		stall_set(&evacuation->stall, "UnknownZone", "%s", error->message);
	else if (error->kind != ERROR_NONE)
		stall_from_error(&evacuation->stall, "Aws", error);
	else if (evacuation->unseen_error.kind != ERROR_NONE && !is_still_reading(evacuation))
		stall_from_error(&evacuation->stall, "Aws", &evacuation->unseen_error);
}
