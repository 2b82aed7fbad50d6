#include "registration.h"

#include "admit.h"
#include "change.h"
#include "requeue.h"
#include "state.h"

/* Read again so early that the answer is there before what is known no longer counts. */
#define READ_EVERY_MS 7000

static const struct step step_read_to_register, step_register, step_read, step_read_to_unregister, step_unregister;

static void ask_region(struct evacuation *evacuation, struct ask *out)
{
	out->what = ASK_HTTP;
	out->place = evacuation->place;
}

static void read_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	dynamodb_ask_region(arena, evacuation->engine->settings->table, &out->request);
}

static const struct step *failed(struct evacuation *evacuation, const struct answer *answer, const struct error *error)
{
	struct registration *registration = &evacuation->registration;

	registration->failures++;
	registration->serial = 0; /* what was to be read still is */
	registration->due = instant_after(
		answer->now, requeue_backoff_ms(registration->failures, 1000, 60000, engine_random(evacuation->engine)));
	registration->error = *error;
	return NULL;
}

/* Another zone that is held; NULL = there is none. */
static const char *other_zone(const struct evacuation *evacuation)
{
	const struct string_list *zones = &evacuation->registration.item.zones;

	for (size_t i = 0; i < zones->count; i++)
		if (!text_equal(zones->at[i], evacuation->manifest.zone_id))
			return zones->at[i];
	return NULL;
}

bool registration_is_shared(const struct evacuation *evacuation)
{
	const struct string_list *owners = &evacuation->registration.item.owners;

	if (other_zone(evacuation))
		return true;
	for (size_t i = 0; i < owners->count; i++)
		if (!text_equal(owners->at[i], evacuation->engine->cluster.owner))
			return true;
	return false;
}

/* Who else is at work in the region may not know of this one yet. */
static void keep_quiet(struct evacuation *evacuation, struct instant now)
{
	if (registration_is_shared(evacuation))
		evacuation->registration.quiet_until = instant_after(now, REGISTRATION_QUIET_MS);
}

static bool hear_region(struct evacuation *evacuation, const struct answer *answer, struct error *error)
{
	struct registration *registration = &evacuation->registration;

	if (answer->error) {
		*error = *answer->error;
		return false;
	}
	arena_reset(&registration->arena);
	if (!dynamodb_hear_region(&registration->arena, answer->response, evacuation->manifest.zone_id, &registration->item,
	                          error)) {
		registration->read_at = (struct instant){0}; /* who else is in it is not known any more */
		return false;
	}
	if (registration->read_at.ms == 0) /* for all we know it has been so only since now */
		keep_quiet(evacuation, answer->now);
	registration->failures = 0;
	registration->read_at = answer->sent_at;
	return true;
}

static bool is_in(const struct evacuation *evacuation)
{
	return string_list_has(&evacuation->registration.item.owners, evacuation->engine->cluster.owner);
}

/* By this process, or by one before it: nothing of an AWS kind is out, or written down, before it is registered. */
static bool has_been_registered(const struct evacuation *evacuation)
{
	if (evacuation->registration.registered)
		return true;
	if (!evacuation->registration.begun_before) /* what it found is another one's: it was a plan, or takes over */
		return false;
	for (const struct item *item = evacuation->items.first; item; item = item->next)
		if (!item_is_node(item) && (item_is_ours(item) || (item->held && !item->has_record)))
			return true;
	return false;
}

/* We are not in it any more, and were. */
static const struct step *thrown_out(struct evacuation *evacuation)
{
	struct registration *registration = &evacuation->registration;
	bool seen = registration->registered && registration->revision > 0;

	registration->registered = false;
	evacuation_touch(evacuation);
	if (seen && registration->item.revision <=
	                registration->revision) /* nobody unregistered us: the table came from a backup */
		return &step_register;
	registration->recovered = evacuation->manifest.generation;
	registration->recovered_for_sure = seen;
	return NULL;
}

static const struct step *now_registered(struct evacuation *evacuation, struct instant now)
{
	if (!evacuation->registration.registered)
		keep_quiet(evacuation, now);
	evacuation->registration.registered = true;
	evacuation->registration.revision = evacuation->registration.item.revision;
	evacuation_touch(evacuation);
	return NULL;
}

static const struct step *read_to_register_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;

	if (!hear_region(evacuation, answer, &error))
		return failed(evacuation, answer, &error);
	/* Found registered by one before it: written all the same, so that what that one may still have on its way to give the zone up is refused. */
	if (is_in(evacuation) && !evacuation->registration.begun_before && !evacuation->registration.written_on)
		return &step_register;
	if (is_in(evacuation))
		return now_registered(evacuation, answer->now);
	if (evacuation->registration.item.exists && has_been_registered(evacuation))
		return thrown_out(evacuation);
	if (other_zone(evacuation) && !evacuation->manifest.allow_other_zones) {
		admit_refuse_other_zone(evacuation, other_zone(evacuation));
		return NULL;
	}
	return &step_register;
}

static const struct step *read_hear(void *self, const struct answer *answer)
{
	struct error error;

	if (!hear_region(self, answer, &error))
		return failed(self, answer, &error);
	evacuation_touch(self);
	return NULL;
}

static void register_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	out->effect = true;
	dynamodb_ask_register(arena, evacuation->engine->settings->table, evacuation->manifest.zone_id,
	                      evacuation->engine->cluster.owner, &evacuation->registration.item, &out->request);
}

static void unregister_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct evacuation *evacuation = self;

	(void)now;
	(void)wall;
	ask_region(evacuation, out);
	out->effect = true;
	dynamodb_ask_unregister(arena, evacuation->engine->settings->table, evacuation->manifest.zone_id,
	                        evacuation->engine->cluster.owner, &evacuation->registration.item, &out->request);
}

/* Somebody else wrote in between, or nobody answered: what is there is read again, a little later. */
static const struct step *written_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;

	if (answer->error)
		return failed(evacuation, answer, answer->error);
	evacuation->registration.written_off = evacuation->restoring;
	evacuation->registration.written_on = !evacuation->restoring;
	return evacuation->restoring ? &step_read_to_unregister : &step_read_to_register;
}

static const struct step *read_to_unregister_hear(void *self, const struct answer *answer)
{
	struct evacuation *evacuation = self;
	struct error error;

	if (!hear_region(evacuation, answer, &error))
		return failed(evacuation, answer, &error);
	if (is_in(evacuation) || !evacuation->registration.written_off)
		return &step_unregister;
	evacuation->registration.unregistered = true;
	return NULL;
}

static const struct step step_read_to_register = {"read the region", read_ask, read_to_register_hear};
static const struct step step_register = {"register the zone", register_ask, written_hear};
static const struct step step_read = {"read the region", read_ask, read_hear};
static const struct step step_read_to_unregister = {"read the region", read_ask, read_to_unregister_hear};
static const struct step step_unregister = {"unregister the zone", unregister_ask, written_hear};

static void start(struct evacuation *evacuation, const struct step *first)
{
	struct registration *registration = &evacuation->registration;

	if (process_running(&registration->process) || !instant_reached(registration->due, engine_now(evacuation->engine)))
		return;
	registration->serial = evacuation->facts_serial;
	process_start(&registration->process, evacuation->engine, evacuation, first, NULL);
}

/* Something of an AWS kind is at work, or is to be begun. */
static bool is_at_work(const struct evacuation *evacuation)
{
	for (size_t lane = LANE_NODES + 1; lane < LANES_MAX; lane++)
		if (evacuation->items.lanes[lane].running > 0 || evacuation->items.lanes[lane].considered.first)
			return true;
	return false;
}

static bool is_older_than(const struct evacuation *evacuation, int64_t ms)
{
	const struct registration *registration = &evacuation->registration;

	return registration->read_at.ms == 0 ||
	       instant_between_ms(registration->read_at, engine_now(evacuation->engine)) >= ms;
}

static bool wants_reading(const struct evacuation *evacuation)
{
	const struct registration *registration = &evacuation->registration;

	if (registration->read_at.ms == 0 || registration->serial != evacuation->facts_serial)
		return true;
	return is_at_work(evacuation) && is_older_than(evacuation, READ_EVERY_MS);
}

bool registration_is_fresh(const struct evacuation *evacuation)
{
	const struct registration *registration = &evacuation->registration;

	return !is_older_than(evacuation, REGISTRATION_FRESH_MS) &&
	       instant_reached(registration->quiet_until, engine_now(evacuation->engine));
}

bool registration_stands(struct evacuation *evacuation)
{
	if (!evacuation->registration.registered || wants_reading(evacuation))
		start(evacuation, &step_read_to_register);
	return evacuation->registration.registered && registration_is_fresh(evacuation);
}

bool registration_is_known(struct evacuation *evacuation)
{
	if (wants_reading(evacuation))
		start(evacuation, &step_read);
	return registration_is_fresh(evacuation);
}

bool registration_ends(struct evacuation *evacuation)
{
	if (!evacuation->registration.unregistered)
		start(evacuation, &step_read_to_unregister);
	return evacuation->registration.unregistered;
}

struct instant registration_due(const struct evacuation *evacuation, struct instant otherwise)
{
	const struct registration *registration = &evacuation->registration;
	struct instant now = engine_now(evacuation->engine);
	struct instant again = instant_after(registration->read_at, READ_EVERY_MS);
	struct instant due = otherwise;

	if (!instant_reached(registration->due, now))
		due = instant_earlier(due, registration->due);
	if (!instant_reached(registration->quiet_until, now))
		due = instant_earlier(due, registration->quiet_until);
	if (is_at_work(evacuation) &&
	    !instant_reached(again, now)) /* else what has been begun, or is waited for, wakes us */
		due = instant_earlier(due, again);
	return due;
}

void registration_begin_anew(struct evacuation *evacuation)
{
	struct registration *registration = &evacuation->registration;

	registration->registered = registration->unregistered = registration->written_off =
		registration->recovered_for_sure = false;
	registration->read_at = (struct instant){0};
}
