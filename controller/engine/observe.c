#include "observe.h"

#include <stdlib.h>

#include "actuators/registry.h"
#include "aws/sts.h"
#include "evacuation.h"
#include "journal/dynamodb.h"
#include "state.h"

/* A service that pages for ever is not listened to for ever. */
#define PAGES_MAX 10000
/* A kind whose service is slow is not waited for any longer before the others go on. */
#define PATIENCE_MS 3000

enum { ASK_ZONES, ASK_IDENTITY, ASK_SUBNETS, ASK_RECORDS, ASK_PATIENCE, ASKS };

struct observation {
	struct evacuation *evacuation;
	struct engine *engine;
	struct facts *facts;
	struct exchange *exchanges[ASKS];
	size_t pending;       /* the basis, and each survey */
	size_t basis_pending; /* zones, identity, subnets, records: what the surveys' answers are understood with */
	int pages;
	bool surveys;
	bool impatient; /* what has come so far was told, and the rest is told as it comes */
	bool ended;
	void (*told)(struct evacuation *evacuation, struct facts *facts, const struct error *error);
};

static void observation_free(struct observation *observation)
{
	facts_release(observation->facts);
	free(observation);
}

static void take_back(struct observation *observation)
{
	for (int i = 0; i < ASKS; i++) {
		exchange_cancel(observation->engine, observation->exchanges[i]);
		observation->exchanges[i] = NULL;
	}
	for (size_t i = 0; i < observation->facts->survey_count; i++)
		inquiry_cancel(observation->facts->surveys[i]);
	observation->facts->survey_count = 0;
}

void observation_cancel(struct observation *observation)
{
	if (!observation)
		return;
	take_back(observation);
	observation_free(observation);
}

static bool know_zone(struct observation *observation, struct error *error)
{
	const struct zones *zones = &observation->facts->zones;
	struct scope *scope = &observation->facts->scope;

	for (size_t i = 0; i < zones->count; i++)
		if (text_equal(zones->at[i].id, scope->zone_id)) {
			scope->zone_name = zones->at[i].name;
			if (!text_equal(zones->at[i].type, "availability-zone"))
				return error_set(error, ERROR_INPUT, "%s is a %s; only Availability Zones can be evacuated",
				                 scope->zone_id, zones->at[i].type);
		}
	if (!scope->zone_name)
		return error_set(
			error, ERROR_INPUT,
			"region %s has no Availability Zone %s for this account; see `aws ec2 describe-availability-zones` "
			"for its ids, or set spec.region",
			scope->region, scope->zone_id);
	return true;
}

static void know_subnets(struct scope *scope, struct arena *arena)
{
	struct string_list seen = {0};

	subnets_sort(&scope->subnets);
	for (size_t i = 0; i < scope->subnets.count; i++)
		if (!string_list_has(&seen, scope->subnets.at[i].zone_id))
			string_list_add(&seen, arena, scope->subnets.at[i].zone_id);
	scope->zone_count = seen.count;
}

/* What this process knows by itself: whose instances are nodes, and what is held. */
static void know_ours(struct observation *observation)
{
	const struct records *records = &observation->facts->records;
	struct scope *scope = &observation->facts->scope;
	struct arena *arena = &observation->facts->arena;

	scope->has_cluster = true;
	cluster_list_instances(observation->engine, arena, &scope->node_instances);
	for (size_t i = 0; i < records->count; i++)
		if (!records->at[i].unreadable && string_list_has(&records->at[i].owners, observation->engine->cluster.owner))
			string_list_add(&scope->held_ids, arena, records->at[i].resource_id);
	for (const struct item *item = observation->evacuation->items.first; item; item = item->next)
		if (item->held)
			string_list_add(&scope->held_ids, arena, arena_string(arena, item->change.id));
	string_list_sort(&scope->node_instances);
	string_list_sort(&scope->held_ids);
	scope->now = engine_wall(observation->engine);
}

static void finish(struct observation *observation, const struct error *failure)
{
	struct error error = {0};
	struct facts *facts = NULL;

	if (observation->ended)
		return;
	observation->ended = true;
	exchange_cancel(observation->engine, observation->exchanges[ASK_PATIENCE]);
	observation->exchanges[ASK_PATIENCE] = NULL;
	observation->facts->complete = true;
	if (failure) {
		error = *failure;
		take_back(observation);
	} else {
		facts = facts_hold(observation->facts);
	}
	observation->told(observation->evacuation, facts, facts ? NULL : &error);
	observation_free(observation);
}

static void one_done(struct observation *observation)
{
	if (--observation->pending == 0)
		finish(observation, NULL);
}

static void tell_so_far(struct observation *observation)
{
	observation->told(observation->evacuation, facts_hold(observation->facts), NULL);
}

static void patience_over(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct observation *observation = self;

	(void)exchange;
	(void)answer;
	observation->exchanges[ASK_PATIENCE] = NULL;
	observation->impatient = true;
	tell_so_far(observation);
}

static void be_patient(struct observation *observation)
{
	struct exchange *exchange = exchange_new(observation->engine, patience_over, observation);

	exchange->ask.what = ASK_WAIT;
	exchange->ask.due = instant_after(engine_now(observation->engine), PATIENCE_MS);
	observation->exchanges[ASK_PATIENCE] = exchange;
	exchange_queue(observation->engine, exchange);
}

static void start_surveys(struct observation *observation);

/* Which resources lie in the zone, and which are held, can be told from now on. */
static void basis_known(struct observation *observation)
{
	struct error error;

	if (--observation->basis_pending > 0)
		return;
	if (!know_zone(observation, &error)) {
		finish(observation, &error);
		return;
	}
	facts_sort_records(observation->facts);
	know_subnets(&observation->facts->scope, &observation->facts->arena);
	know_ours(observation);
	if (observation->surveys) {
		start_surveys(observation);
		be_patient(observation);
	}
	one_done(observation);
}

static struct exchange *ask(struct observation *observation, int which, exchange_hear hear)
{
	struct exchange *exchange = exchange_new(observation->engine, hear, observation);

	exchange->ask.what = ASK_HTTP;
	exchange->ask.place = observation->evacuation->place;
	observation->exchanges[which] = exchange;
	exchange_queue(observation->engine, exchange);
	return exchange;
}

static void zones_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct observation *observation = self;
	struct error error;

	(void)exchange;
	observation->exchanges[ASK_ZONES] = NULL;
	if (answer->error)
		finish(observation, answer->error);
	else if (!ec2_hear_zones(&observation->facts->arena, answer->response, &observation->facts->zones, &error))
		finish(observation, &error);
	else
		basis_known(observation);
}

static void identity_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct observation *observation = self;
	struct error error;

	(void)exchange;
	observation->exchanges[ASK_IDENTITY] = NULL;
	if (answer->error)
		finish(observation, answer->error);
	else if (!sts_hear_identity(&observation->facts->arena, answer->response, &observation->facts->scope.account_id,
	                            &error))
		finish(observation, &error);
	else {
		identity_note_account(observation->engine, observation->facts->scope.account_id);
		basis_known(observation);
	}
}

static bool one_page_more(struct observation *observation)
{
	struct error error;

	if (++observation->pages <= PAGES_MAX)
		return true;
	error_set(&error, ERROR_LIMIT, "the answers asked for more than %d further pages", PAGES_MAX);
	finish(observation, &error);
	return false;
}

static void ask_subnets(struct observation *observation, const char *token);

static void subnets_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct observation *observation = self;
	const char *next = NULL;
	struct error error;

	(void)exchange;
	observation->exchanges[ASK_SUBNETS] = NULL;
	if (answer->error)
		finish(observation, answer->error);
	else if (!ec2_hear_subnets(&observation->facts->arena, answer->response, &observation->facts->scope.subnets, &next,
	                           &error))
		finish(observation, &error);
	else if (!next)
		basis_known(observation);
	else if (one_page_more(observation))
		ask_subnets(observation, next);
}

static void ask_subnets(struct observation *observation, const char *token)
{
	struct exchange *exchange = ask(observation, ASK_SUBNETS, subnets_heard);

	ec2_ask_subnets(&exchange->arena, token, &exchange->ask.request);
}

static void ask_records(struct observation *observation, const struct json *start);

static void records_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct observation *observation = self;
	const struct json *next = NULL;
	struct error error;

	(void)exchange;
	observation->exchanges[ASK_RECORDS] = NULL;
	if (answer->error) {
		if (answer->error->kind == ERROR_ABSENT)
			place_table_lost(observation->evacuation->place, answer->error);
		finish(observation, answer->error);
	} else if (!dynamodb_hear_records(&observation->facts->arena, answer->response, &observation->facts->records, &next,
	                                  &error)) {
		finish(observation, &error);
	} else if (!next) {
		basis_known(observation);
	} else if (one_page_more(observation)) {
		ask_records(observation, next);
	}
}

static void ask_records(struct observation *observation, const struct json *start)
{
	struct exchange *exchange = ask(observation, ASK_RECORDS, records_heard);

	dynamodb_ask_zone(&exchange->arena, observation->engine->settings->table, observation->facts->scope.zone_id, start,
	                  &exchange->ask.request);
}

/* One kind that cannot be read does not keep the others: its survey says so itself. */
static void survey_ended(void *self, struct inquiry *inquiry)
{
	struct observation *observation = self;

	(void)inquiry;
	if (observation->impatient && observation->pending > 1)
		tell_so_far(observation);
	one_done(observation);
}

static void fill_scope(struct observation *observation)
{
	struct evacuation *evacuation = observation->evacuation;
	struct scope *scope = &observation->facts->scope;
	struct arena *arena = &observation->facts->arena;

	evacuation_node_scope(evacuation, scope);
	scope->zone_id = arena_string(arena, scope->zone_id);
	scope->zone_name = NULL;
	scope->account_id = NULL;
	scope->region = arena_string(arena, evacuation_region(evacuation));
	scope->evacuation = arena_string(arena, scope->evacuation);
	scope->evacuation_uid = arena_string(arena, scope->evacuation_uid);
}

static void start_surveys(struct observation *observation)
{
	const struct manifest *manifest = &observation->evacuation->manifest;
	struct facts *facts = observation->facts;

	for (size_t i = 0; i < manifest->target_count; i++) {
		const struct actuator *actuator = registry_find(manifest->targets[i].kind);

		if (!actuator)
			continue;
		observation->pending++;
		facts->surveys[facts->survey_count++] = inquiry_survey(observation->engine, observation->evacuation->place,
		                                                       actuator, facts, survey_ended, observation);
	}
}

struct observation *observation_start(struct evacuation *evacuation, bool surveys, bool records,
                                      void (*ended)(struct evacuation *evacuation, struct facts *facts,
                                                    const struct error *error))
{
	struct observation *observation = calloc(1, sizeof(*observation));
	struct exchange *exchange;

	if (!observation)
		abort();
	observation->evacuation = evacuation;
	observation->engine = evacuation->engine;
	observation->facts = facts_new();
	observation->facts->generation = evacuation->manifest.generation;
	observation->facts->records_read = records;
	observation->facts->began = engine_now(evacuation->engine);
	observation->told = ended;
	observation->surveys = surveys;
	observation->pending = 1;
	observation->basis_pending = 3;
	fill_scope(observation);
	exchange = ask(observation, ASK_ZONES, zones_heard);
	ec2_ask_zones(&exchange->arena, &exchange->ask.request);
	exchange = ask(observation, ASK_IDENTITY, identity_heard);
	sts_ask_identity(&exchange->arena, &exchange->ask.request);
	ask_subnets(observation, NULL);
	if (records) {
		observation->basis_pending++;
		ask_records(observation, NULL);
	}
	return observation;
}
