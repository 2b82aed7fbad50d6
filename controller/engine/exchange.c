#include "exchange.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/protocol.h"
#include "clock.h"
#include "inquiry.h"
#include "item.h"
#include "journal/dynamodb.h"
#include "kube/objects.h"
#include "prepare.h"
#include "repeat.h"
#include "state.h"

#define EXCHANGE_ARENA_MAX (256u << 20)

struct exchange *exchange_new(struct engine *engine, exchange_hear hear, void *self)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		abort();
	arena_init(&exchange->arena, "exchange", EXCHANGE_ARENA_MAX);
	exchange->hear = hear;
	exchange->self = self;
	exchange->next = engine->exchanges;
	if (exchange->next)
		exchange->next->previous = exchange;
	engine->exchanges = exchange;
	return exchange;
}

/* The lines. */

static bool counts_for_kube(const struct exchange *exchange)
{
	return !exchange->ask.urgent && exchange->ask.what == ASK_HTTP && !exchange->ask.place;
}

static struct ready_line *line_of(struct engine *engine, const struct exchange *exchange)
{
	return counts_for_kube(exchange) ? &engine->ready_kube : &engine->ready;
}

static void line_append(struct ready_line *line, struct exchange *exchange)
{
	exchange->ready_next = NULL;
	exchange->ready_previous = line->last;
	if (line->last)
		line->last->ready_next = exchange;
	else
		line->first = exchange;
	line->last = exchange;
}

static void line_remove(struct ready_line *line, struct exchange *exchange)
{
	if (exchange->ready_next)
		exchange->ready_next->ready_previous = exchange->ready_previous;
	else
		line->last = exchange->ready_previous;
	if (exchange->ready_previous)
		exchange->ready_previous->ready_next = exchange->ready_next;
	else
		line->first = exchange->ready_next;
}

static void unqueue(struct engine *engine, struct exchange *exchange)
{
	if (exchange->where == EXCHANGE_WAITING)
		waiting_remove(&engine->waiting, exchange);
	else if (exchange->where == EXCHANGE_READY)
		line_remove(line_of(engine, exchange), exchange);
	exchange->where = EXCHANGE_NOWHERE;
}

static void enqueue(struct engine *engine, struct exchange *exchange)
{
	exchange->state = EXCHANGE_QUEUED;
	if (instant_reached(exchange->ask.due, engine_now(engine))) {
		exchange->where = EXCHANGE_READY;
		line_append(line_of(engine, exchange), exchange);
	} else {
		exchange->where = EXCHANGE_WAITING;
		waiting_add(&engine->waiting, exchange);
	}
}

static void take_due(struct engine *engine, struct instant now)
{
	struct exchange *exchange;

	while ((exchange = waiting_first(&engine->waiting)) && instant_reached(exchange->ask.due, now)) {
		unqueue(engine, exchange);
		enqueue(engine, exchange);
	}
}

static void exchange_free(struct engine *engine, struct exchange *exchange)
{
	unqueue(engine, exchange);
	if (exchange->next)
		exchange->next->previous = exchange->previous;
	if (exchange->previous)
		exchange->previous->next = exchange->next;
	else
		engine->exchanges = exchange->next;
	arena_done(&exchange->arena);
	free(exchange);
}

void exchange_queue(struct engine *engine, struct exchange *exchange)
{
	enqueue(engine, exchange);
	engine->moved = true;
}

static void count_flight(struct engine *engine, const struct exchange *exchange, size_t by)
{
	if (counts_for_kube(exchange))
		engine->kube_in_flight += by;
	if (exchange->ask.place)
		engine->signed_in_flight += by;
}

static void leave_flight(struct engine *engine, struct exchange *exchange)
{
	if (exchange->state == EXCHANGE_IN_FLIGHT)
		count_flight(engine, exchange, (size_t)-1);
}

void exchange_cancel(struct engine *engine, struct exchange *exchange)
{
	if (!exchange)
		return;
	if (exchange->state == EXCHANGE_IN_FLIGHT)
		engine->client->cancel(engine->client, exchange->call);
	leave_flight(engine, exchange);
	if (exchange->state == EXCHANGE_LOOKING) { /* its look goes on for the others; only the telling is taken back */
		exchange->state = EXCHANGE_ENDED;
		exchange->hear = NULL;
		return;
	}
	exchange_free(engine, exchange);
}

void exchange_tell(struct engine *engine, struct exchange *exchange, const struct answer *answer)
{
	leave_flight(engine, exchange);
	unqueue(engine, exchange);
	exchange->state = EXCHANGE_ENDED;
	engine->told++;
	engine->moved = true;
	if (exchange->hear)
		exchange->hear(exchange->self, exchange, answer);
	exchange_free(engine, exchange);
}

static void fill_clock(struct engine *engine, const struct exchange *exchange, struct answer *answer)
{
	answer->now = engine_now(engine);
	answer->wall = engine_wall(engine);
	answer->sent_at = exchange->sent_at;
	answer->signed_at = exchange->signed_at;
}

static void tell_error(struct engine *engine, struct exchange *exchange, const struct error *error)
{
	struct answer answer = {.error = error, .arena = &exchange->arena};

	fill_clock(engine, exchange, &answer);
	exchange_tell(engine, exchange, &answer);
}

/* Sending. */

/* Can its credentials, table, lease and quota let it go now? Otherwise it stays queued, perhaps with a later time. */
static bool may_go(struct engine *engine, struct exchange *exchange, struct instant now)
{
	struct ask *ask = &exchange->ask;

	if (ask->effect && !engine_may_act(engine))
		return false;
	if (ask->what == ASK_DIRECT || ask->what == ASK_PROGRAM)
		return true;
	if (repeat_is_held(engine, exchange, now))
		return false;
	if (!ask->place)
		return login_may_go(engine) && (ask->urgent || engine->kube_in_flight < engine->kube_window.now);
	if (!identity_may_sign(engine) || (identity_on_trial(engine) && engine->signed_in_flight > 0))
		return false;
	if (ask->what == ASK_JOURNAL && !ask->place->table_ready)
		return false;
	exchange->limiter = place_limiter(ask->place, ask->request.service, ask->request.operation, now);
	if (exchange->limiter && !limiter_take(exchange->limiter, now)) {
		ask->due = limiter_ready(exchange->limiter, now);
		return false;
	}
	return true;
}

static uint64_t submit(struct engine *engine, struct exchange *exchange)
{
	struct client *client = engine->client;

	if (exchange->ask.what == ASK_PROGRAM)
		return client->run(client, &exchange->arena, &exchange->ask.program, exchange);
	return client->submit(client, &exchange->arena, &exchange->ask.request, exchange);
}

static void send(struct engine *engine, struct exchange *exchange, struct instant now)
{
	if (exchange->ask.what != ASK_PROGRAM)
		prepare_request(engine, exchange);
	/* A lease may have run out while the request was being made: sign, then check, then send. */
	if (exchange->ask.effect && !engine_may_act(engine))
		return;
	unqueue(engine, exchange);
	exchange->attempts++;
	exchange->sent_at = now;
	exchange->state = EXCHANGE_IN_FLIGHT;
	count_flight(engine, exchange, 1);
	exchange->call = submit(engine, exchange);
}

static bool try_to_send(struct engine *engine, struct exchange *exchange, struct instant now)
{
	struct ask *ask = &exchange->ask;

	if (ask->fresh_until.ms && instant_reached(ask->fresh_until, now)) {
		struct error stale;

		error_set(&stale, ERROR_STALE, "what it was built from is older than a second");
		tell_error(engine, exchange, &stale);
		return true;
	}
	if (ask->what == ASK_JOURNAL && !exchange->ask.request.service)
		prepare_journal(engine, exchange);
	if (!may_go(engine, exchange, now))
		return false;
	send(engine, exchange, now);
	return exchange->state == EXCHANGE_IN_FLIGHT;
}

/* Looks. */

/* Of what stands in one cluster, say: what is refused there does not fail the others. */
static const char *look_group(const struct exchange *exchange)
{
	const struct item *item = exchange->ask.item;

	return item->actuator->look_group ? item->actuator->look_group(&item->change) : "";
}

static bool same_look(const struct exchange *a, const struct exchange *b)
{
	return a->ask.place == b->ask.place && a->ask.item->actuator == b->ask.item->actuator &&
	       a->ask.item->evacuation == b->ask.item->evacuation && text_equal(look_group(a), look_group(b));
}

static void gather_look(struct engine *engine, struct exchange *first)
{
	size_t max = first->ask.item->actuator->look_max;
	struct exchange *gathered[128];
	size_t count = 0;

	if (max > sizeof(gathered) / sizeof(gathered[0]))
		max = sizeof(gathered) / sizeof(gathered[0]);
	for (struct exchange *other = first; other && count < max; other = other->ready_next)
		if (other->ask.what == ASK_LOOK && same_look(first, other))
			gathered[count++] = other;
	for (size_t i = 0; i < count; i++) {
		unqueue(engine, gathered[i]);
		gathered[i]->state = EXCHANGE_LOOKING;
	}
	inquiry_look(engine, gathered, count);
}

static bool dispatch_one(struct engine *engine, struct exchange *exchange, struct instant now)
{
	struct answer answer = {.arena = &exchange->arena};

	switch (exchange->ask.what) {
	case ASK_WAIT:
		fill_clock(engine, exchange, &answer);
		exchange_tell(engine, exchange, &answer);
		return true;
	case ASK_LOOK:
		gather_look(engine, exchange);
		return true;
	case ASK_HTTP:
	case ASK_JOURNAL:
	case ASK_DIRECT:
	case ASK_PROGRAM:
		return try_to_send(engine, exchange, now);
	}
	return false;
}

/* What cannot go yet stays in its line, or goes back to wait when a later time was set. */
static bool dispatch_line(struct engine *engine, struct ready_line *line, struct instant now)
{
	uint64_t told = engine->told;
	bool moved = false;

	for (struct exchange *exchange = line->first; exchange;) {
		struct exchange *next = exchange->ready_next;
		bool look = exchange->ask.what == ASK_LOOK;

		if (line == &engine->ready_kube && engine->kube_in_flight >= engine->kube_window.now)
			break;
		moved |= dispatch_one(engine, exchange, now);
		if (engine->told != told) /* whoever was told may have ended any exchange, the next one too */
			return true;
		if (!look && exchange->where == EXCHANGE_READY && !instant_reached(exchange->ask.due, now)) {
			unqueue(engine, exchange);
			enqueue(engine, exchange);
		}
		exchange = look ? line->first : next; /* a look has taken others with it */
	}
	return moved;
}

bool exchange_dispatch(struct engine *engine)
{
	struct instant now = engine_now(engine);
	uint64_t told = engine->told;
	bool moved;

	take_due(engine, now);
	moved = dispatch_line(engine, &engine->ready, now);
	if (engine->told == told)
		moved |= dispatch_line(engine, &engine->ready_kube, now);
	return moved;
}

void exchange_dispatch_urgent(struct engine *engine)
{
	struct instant now = engine_now(engine);
	struct exchange *next;

	take_due(engine, now);
	for (struct exchange *exchange = engine->ready.first; exchange; exchange = next) {
		next = exchange->ready_next;
		if (exchange->ask.urgent && !exchange->hear_chunk && login_may_go(engine))
			send(engine, exchange, now);
	}
}

void exchange_cancel_all(struct engine *engine)
{
	while (engine->exchanges) {
		struct exchange *exchange = engine->exchanges;

		if (exchange->state == EXCHANGE_LOOKING)
			exchange->state = EXCHANGE_ENDED;
		exchange_cancel(engine, exchange);
	}
	waiting_done(&engine->waiting);
}

struct instant exchange_due(const struct engine *engine, struct instant otherwise)
{
	const struct exchange *first = waiting_first(&engine->waiting);

	return first ? instant_earlier(otherwise, first->ask.due) : otherwise;
}

size_t exchange_effects_in_flight(const struct engine *engine)
{
	size_t count = 0;

	for (const struct exchange *exchange = engine->exchanges; exchange; exchange = exchange->next)
		if (exchange->state == EXCHANGE_IN_FLIGHT && exchange->ask.effect)
			count++;
	return count;
}

/* Answers. */

static void measure(struct engine *engine, const struct exchange *exchange, const struct error *error,
                    const struct http_response *response)
{
	const struct http_request *request = &exchange->ask.request;
	int64_t ms = instant_between_ms(exchange->sent_at, engine_now(engine));
	char code[16];

	if (response->status)
		snprintf(code, sizeof(code), "%d", response->status);
	else
		snprintf(code, sizeof(code), "%s", error_kind_name(error ? error->kind : ERROR_NONE));
	metric_add(engine->metrics, METRIC_REQUESTS_TOTAL, 1, request->service, request->operation, code, NULL);
	metric_observe(engine->metrics, METRIC_REQUEST_DURATION, (double)ms / 1000, request->service, request->operation,
	               NULL);
	if (error && error->kind == ERROR_THROTTLED)
		metric_add(engine->metrics, METRIC_THROTTLED_TOTAL, 1, request->service, request->operation, NULL);
}

void exchange_queue_again(struct engine *engine, struct exchange *exchange, int64_t delay_ms)
{
	leave_flight(engine, exchange);
	exchange->ask.due = instant_after(engine_now(engine), delay_ms);
	enqueue(engine, exchange);
}

/* A refused conditional write is an outcome, not an error. False: it is to be read first (queued again). */
static bool hear_journal(struct engine *engine, struct exchange *exchange, const struct http_response *response,
                         struct journal_outcome *outcome, struct error *error)
{
	bool needs_read = false;
	bool heard;

	if (exchange->reading)
		heard = dynamodb_hear_read(&exchange->arena, &exchange->ask.call, response, outcome, error);
	else
		heard = dynamodb_hear_call(&exchange->arena, &exchange->ask.call, response, outcome, &needs_read, error);
	if (heard && needs_read) {
		exchange->reading = true;
		exchange->ask.request = (struct http_request){0};
		leave_flight(engine, exchange);
		enqueue(engine, exchange);
		return false;
	}
	if (!heard && error->kind == ERROR_ABSENT) {
		place_table_lost(exchange->ask.place, error);
		exchange->ask.due = exchange->ask.place->table_due; /* it waits for the table */
		leave_flight(engine, exchange);
		enqueue(engine, exchange);
		return false;
	}
	if (!heard)
		return !repeat_call(engine, exchange, error);
	return true;
}

static void answer_journal(struct engine *engine, struct exchange *exchange, const struct http_response *response)
{
	struct journal_outcome outcome = {0};
	struct error error = {0};
	struct answer answer = {.arena = &exchange->arena, .response = response};

	if (!hear_journal(engine, exchange, response, &outcome, &error))
		return;
	fill_clock(engine, exchange, &answer);
	if (error.kind) {
		answer.error = &error;
	} else {
		answer.journal = &outcome;
		repeat_succeeded(engine, exchange);
	}
	exchange_tell(engine, exchange, &answer);
}

/* A PodDisruptionBudget that says no says nothing of the server. */
static void note_window(struct engine *engine, const struct exchange *exchange, const struct error *error)
{
	bool budget = error && text_equal(error->code, "DisruptionBudget");

	if (counts_for_kube(exchange))
		window_hear(&engine->kube_window, budget ? NULL : error);
}

static void answer_http(struct engine *engine, struct exchange *exchange, const struct http_response *response)
{
	const struct aws_service *service = aws_service_find(exchange->ask.request.service);
	struct error error = {0};
	struct answer answer = {.arena = &exchange->arena, .response = response};

	if (!(service ? aws_check(service, response, &error) : kube_check(response, &error))) {
		measure(engine, exchange, &error, response);
		note_window(engine, exchange, &error);
		if (repeat_call(engine, exchange, &error))
			return;
		answer.error = &error;
	} else {
		measure(engine, exchange, NULL, response);
		note_window(engine, exchange, NULL);
		repeat_succeeded(engine, exchange);
	}
	fill_clock(engine, exchange, &answer);
	exchange_tell(engine, exchange, &answer);
}

static void answer_unjudged(struct engine *engine, struct exchange *exchange, const struct http_response *response)
{
	struct answer answer = {.arena = &exchange->arena, .response = response};

	if (exchange->ask.what == ASK_DIRECT)
		measure(engine, exchange, response->error.kind ? &response->error : NULL, response);
	fill_clock(engine, exchange, &answer);
	exchange_tell(engine, exchange, &answer);
}

static bool was_accepted(const struct exchange *exchange, const struct http_response *response)
{
	return response->status >= 200 && response->status < 300 &&
	       http_header(&exchange->ask.request.headers, "Authorization") != NULL;
}

void exchange_happened(struct engine *engine, const struct client_event *event)
{
	struct exchange *exchange = event->owner;

	if (event->what == CLIENT_CHUNK) {
		exchange->hear_chunk(exchange->self, exchange, event->bytes, event->length);
		return;
	}
	assert(event->what == CLIENT_FINISHED && exchange->state == EXCHANGE_IN_FLIGHT);
	engine->moved = true;
	if (exchange->ask.place || (exchange->ask.what == ASK_DIRECT && text_equal(exchange->ask.request.service, "sts")))
		clock_note(engine, event->response, was_accepted(exchange, event->response));
	if (exchange->ask.what == ASK_DIRECT || exchange->ask.what == ASK_PROGRAM) {
		answer_unjudged(engine, exchange, event->response);
		return;
	}
	if (exchange->ask.what == ASK_JOURNAL) {
		measure(engine, exchange, event->response->status ? NULL : &event->response->error, event->response);
		answer_journal(engine, exchange, event->response);
	} else {
		answer_http(engine, exchange, event->response);
	}
}
