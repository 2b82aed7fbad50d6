#include "inquiry.h"

#include <assert.h>
#include <stdlib.h>

#include "evacuation.h"
#include "facts.h"
#include "state.h"

#define INQUIRY_ARENA_MAX (512u << 20)
/* A survey that asks for more than this does not end: a service that pages for ever. */
#define INQUIRY_PROBES_MAX 20000

struct probe_call {
	struct inquiry *inquiry;
	const struct probe *probe;
	size_t slot;
};

static struct inquiry *inquiry_new(struct engine *engine, struct place *place, const struct actuator *actuator,
                                   struct facts *facts)
{
	struct inquiry *inquiry = calloc(1, sizeof(*inquiry));

	if (!inquiry)
		abort();
	arena_init(&inquiry->arena, "inquiry", INQUIRY_ARENA_MAX);
	inquiry->engine = engine;
	inquiry->place = place;
	inquiry->actuator = actuator;
	if (facts) {
		inquiry->facts = facts_hold(facts);
		inquiry->scope = &facts->scope;
	}
	inquiry->references = 1;
	return inquiry;
}

struct inquiry *inquiry_hold(struct inquiry *inquiry)
{
	inquiry->references++;
	return inquiry;
}

void inquiry_release(struct inquiry *inquiry)
{
	if (!inquiry)
		return;
	assert(inquiry->references > 0);
	if (--inquiry->references > 0)
		return;
	facts_release(inquiry->facts);
	arena_done(&inquiry->arena);
	free(inquiry);
}

const struct resource *inquiry_find(const struct inquiry *inquiry, const char *id)
{
	for (size_t i = 0; i < inquiry->resources.count; i++)
		if (text_equal(inquiry->resources.at[i].id, id))
			return &inquiry->resources.at[i];
	return NULL;
}

static void inquiry_take_back(struct inquiry *inquiry)
{
	for (size_t i = 0; i < inquiry->exchange_count; i++) {
		exchange_cancel(inquiry->engine, inquiry->exchanges[i]);
		inquiry->exchanges[i] = NULL;
	}
	inquiry->pending = 0;
}

static void inquiry_end(struct inquiry *inquiry)
{
	inquiry_hold(inquiry);
	inquiry->done = true;
	if (inquiry->ended)
		inquiry->ended(inquiry->self, inquiry);
	inquiry_release(inquiry);
}

static void inquiry_fail(struct inquiry *inquiry, const struct error *error)
{
	inquiry->failed = true;
	inquiry->error = *error;
	inquiry_take_back(inquiry);
	inquiry_end(inquiry);
}

static void inquiry_send_queue(struct inquiry *inquiry);

static bool probe_excused(struct inquiry *inquiry, const struct probe *probe, const struct error *error)
{
	const struct actuator *actuator = inquiry->actuator;

	return actuator->excuse && actuator->excuse(inquiry->scope, probe, error, &inquiry->arena, &inquiry->resources);
}

static void probe_learn(struct inquiry *inquiry, const struct probe *probe, const struct answer *answer)
{
	struct probes further = {0};
	struct error error;

	if (answer->error) {
		if (!probe_excused(inquiry, probe, answer->error)) {
			inquiry_fail(inquiry, answer->error);
			return;
		}
	} else if (!inquiry->actuator->learn(inquiry->scope, probe, answer->response, &inquiry->arena, &inquiry->resources,
	                                     &further, &error)) {
		inquiry_fail(inquiry, &error);
		return;
	}
	inquiry->queue = further;
	inquiry_send_queue(inquiry);
	if (inquiry->pending == 0 && !inquiry->failed)
		inquiry_end(inquiry);
}

static void probe_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct probe_call *call = self;
	struct inquiry *inquiry = inquiry_hold(call->inquiry); /* whoever hears the end may let it go */

	(void)exchange;
	inquiry->exchanges[call->slot] = NULL;
	inquiry->pending--;
	if (!inquiry->sent_at.ms || answer->sent_at.ms < inquiry->sent_at.ms)
		inquiry->sent_at = answer->sent_at;
	probe_learn(inquiry, call->probe, answer);
	inquiry_release(inquiry);
}

static void send_probe(struct inquiry *inquiry, const struct probe *probe)
{
	struct probe_call *call = ARENA_NEW(&inquiry->arena, struct probe_call);
	struct exchange *exchange = exchange_new(inquiry->engine, probe_heard, call);

	call->inquiry = inquiry;
	call->probe = probe;
	call->slot = inquiry->exchange_count;
	exchange->ask.what = ASK_HTTP;
	exchange->ask.place = inquiry->place;
	exchange->ask.request = probe->request;
	inquiry->exchanges = arena_grow(&inquiry->arena, inquiry->exchanges, inquiry->exchange_count,
	                                &inquiry->exchange_capacity, sizeof(struct exchange *));
	inquiry->exchanges[inquiry->exchange_count++] = exchange;
	inquiry->pending++;
	exchange_queue(inquiry->engine, exchange);
}

static void inquiry_send_queue(struct inquiry *inquiry)
{
	struct probe *next;

	for (struct probe *probe = inquiry->queue.first; probe; probe = next) {
		next = probe->next;
		if (inquiry->exchange_count >= INQUIRY_PROBES_MAX) {
			struct error error;

			error_set(&error, ERROR_LIMIT, "%s: the answers asked for more than %d further questions",
			          inquiry->actuator->kind, INQUIRY_PROBES_MAX);
			inquiry_fail(inquiry, &error);
			return;
		}
		send_probe(inquiry, probe);
	}
	inquiry->queue = (struct probes){0};
}

struct inquiry *inquiry_survey(struct engine *engine, struct place *place, const struct actuator *actuator,
                               struct facts *facts, void (*ended)(void *self, struct inquiry *inquiry), void *self)
{
	struct inquiry *inquiry = inquiry_new(engine, place, actuator, NULL); /* the facts hold it, not it them */

	inquiry->scope = &facts->scope;
	inquiry->ended = ended;
	inquiry->self = self;
	actuator->survey(inquiry->scope, &inquiry->arena, &inquiry->queue);
	inquiry_send_queue(inquiry);
	return inquiry;
}

struct inquiry *inquiry_remark(struct item *item, void (*ended)(void *self, struct inquiry *inquiry), void *self)
{
	struct evacuation *evacuation = item->evacuation;
	struct inquiry *inquiry = inquiry_new(evacuation->engine, evacuation->place, item->actuator, evacuation->facts);
	const struct change change = change_copy(&item->change, &inquiry->arena);

	inquiry->ended = ended;
	inquiry->self = self;
	item->actuator->remark(inquiry->scope, &change, item->direction, &inquiry->arena, &inquiry->queue);
	if (!inquiry->queue.first) {
		inquiry_release(inquiry);
		return NULL;
	}
	inquiry_send_queue(inquiry);
	return inquiry;
}

void inquiry_cancel(struct inquiry *inquiry)
{
	if (!inquiry)
		return;
	inquiry->ended = NULL;
	inquiry_take_back(inquiry);
	inquiry_release(inquiry);
}

/* Looks. */

static void look_tell(struct inquiry *inquiry, struct exchange *exchange)
{
	struct answer answer = {.arena = &exchange->arena, .inquiry = inquiry, .sent_at = inquiry->sent_at};

	answer.now = engine_now(inquiry->engine);
	answer.wall = engine_wall(inquiry->engine);
	if (inquiry->failed)
		answer.error = &inquiry->error;
	else if (exchange->hear) /* taken back meanwhile: its item may be gone */
		answer.resource = inquiry_find(inquiry, exchange->ask.item->change.id);
	exchange_tell(inquiry->engine, exchange, &answer);
}

static void look_unlist(struct inquiry *inquiry)
{
	struct inquiry **link = &inquiry->engine->looks;

	while (*link != inquiry)
		link = &(*link)->next_look;
	*link = inquiry->next_look;
}

static void look_ended(void *self, struct inquiry *inquiry)
{
	(void)self;
	look_unlist(inquiry);
	for (size_t i = 0; i < inquiry->waiting_count; i++)
		look_tell(inquiry, inquiry->waiting[i]);
	inquiry_release(inquiry);
}

/* Nodes are looked at without AWS: what their questions need is kept here, because the object may change meanwhile. */
static const struct scope *own_scope(struct inquiry *inquiry, const struct evacuation *evacuation)
{
	struct scope *scope = ARENA_NEW(&inquiry->arena, struct scope);

	evacuation_node_scope(evacuation, scope);
	scope->zone_id = arena_string(&inquiry->arena, scope->zone_id);
	scope->zone_name = arena_string(&inquiry->arena, scope->zone_name);
	scope->region = arena_string(&inquiry->arena, scope->region);
	scope->evacuation = arena_string(&inquiry->arena, scope->evacuation);
	scope->evacuation_uid = arena_string(&inquiry->arena, scope->evacuation_uid);
	return scope;
}

void inquiry_look(struct engine *engine, struct exchange *const *exchanges, size_t count)
{
	struct item *first = exchanges[0]->ask.item;
	struct place *place = exchanges[0]->ask.place;
	struct inquiry *inquiry = inquiry_new(engine, place, first->actuator, place ? first->evacuation->facts : NULL);
	const struct change **changes = arena_array(&inquiry->arena, count, sizeof(struct change *));

	if (!place)
		inquiry->scope = own_scope(inquiry, first->evacuation);
	inquiry->ended = look_ended;
	inquiry->next_look = engine->looks;
	engine->looks = inquiry;
	inquiry->waiting = arena_array(&inquiry->arena, count, sizeof(struct exchange *));
	inquiry->waiting_count = count;
	for (size_t i = 0; i < count; i++) {
		inquiry->waiting[i] = exchanges[i];
		changes[i] = &exchanges[i]->ask.item->change;
	}
	first->actuator->look(inquiry->scope, changes, count, &inquiry->arena, &inquiry->queue);
	inquiry_send_queue(inquiry);
}

void inquiry_cancel_looks(struct engine *engine)
{
	while (engine->looks) {
		struct inquiry *inquiry = engine->looks;

		look_unlist(inquiry);
		inquiry_cancel(inquiry);
	}
}
