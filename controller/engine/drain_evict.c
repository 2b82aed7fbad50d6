#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drain_internal.h"
#include "evacuation.h"
#include "requeue.h"
#include "state.h"

/* An eviction that only a person can help with is tried again after so long. */
#define REFUSED_AGAIN_MS 60000
/* So many evictions are under way at once, over all nodes: the API server's other callers are waiting, too. */
#define EVICTIONS_MAX 48

bool drain_is_our_own(const struct engine *engine, const struct pod *pod)
{
	const struct cluster *cluster = &engine->cluster;
	const struct engine_settings *settings = engine->settings;

	if (!settings->pod_name || !text_equal(pod->namespace_name, settings->pod_namespace))
		return false;
	return text_equal(pod->name, settings->pod_name) ||
	       (cluster->own_controller[0] && text_equal(pod->owner_uid, cluster->own_controller));
}

const char *drain_budget_key(const struct pod *pod)
{
	return pod->owner_uid ? pod->owner_uid : pod->uid;
}

static void eviction_free(struct pending_eviction *eviction)
{
	struct pending_eviction **link = &eviction->drain->evictions;

	while (*link != eviction)
		link = &(*link)->next;
	*link = eviction->next;
	eviction->drain->item->evacuation->engine->evictions--;
	inquiry_release(eviction->inquiry);
	free(eviction);
}

/* Every drain goes slower. */
static void busy(struct engine *engine, const struct answer *answer)
{
	int64_t wait_ms = requeue_backoff_ms(++engine->evictions_busy, 1000, LOOK_AGAIN_MAX_MS, engine_random(engine));

	if (answer->error && answer->error->retry_after_ms > wait_ms)
		wait_ms = answer->error->retry_after_ms < LOOK_AGAIN_MAX_MS ? answer->error->retry_after_ms : LOOK_AGAIN_MAX_MS;
	engine->evictions_due = instant_after(answer->now, wait_ms);
}

static void set_refused(struct drain *drain, const char *uid, const char *why)
{
	struct evacuation *evacuation = drain->item->evacuation;

	evacuation->items.refusals += (size_t)(why[0] != '\0') - (size_t)(drain->refused[0] != '\0');
	snprintf(drain->refused_uid, sizeof(drain->refused_uid), "%s", uid);
	snprintf(drain->refused, sizeof(drain->refused), "%.*s",
	         (int)text_cut(why, strlen(why), sizeof(drain->refused) - 1), why);
}

void drain_judge_refused(struct drain *drain, const struct pods *pods)
{
	for (size_t i = 0; pods && i < pods->count; i++)
		if (text_equal(pods->at[i].uid, drain->refused_uid) && !pods->at[i].terminating)
			return;
	set_refused(drain, "", "");
}

const char *drain_refusal(const struct drain *drain)
{
	return drain && drain->refused[0] ? drain->refused : NULL;
}

static void eviction_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	static const struct http_response nothing;
	struct pending_eviction *eviction = self;
	struct drain *drain = eviction->drain;
	struct budgets *budgets = &drain->item->evacuation->engine->budgets;
	const char *key = drain_budget_key(eviction->pod);
	const char *budget = NULL;
	const char *why = NULL;

	(void)exchange;
	switch (eks_pod_hear_eviction(answer->arena, eviction->pod, answer->response ? answer->response : &nothing, &budget,
	                              &why)) {
	case EVICTION_ACCEPTED:
	case EVICTION_GONE:
		drain->item->evacuation->engine->evictions_busy = 0;
		budgets_let_go(budgets, key, answer->now);
		break;
	case EVICTION_BUDGET:
		budgets_blocked(budgets, key, budget, answer->now, drain->item->evacuation->engine->settings->poll_ms);
		break;
	case EVICTION_BUSY:
		busy(drain->item->evacuation->engine, answer);
		break;
	case EVICTION_REFUSED:
		set_refused(drain, eviction->pod->uid, why);
		budgets_blocked(budgets, key, budget, answer->now, REFUSED_AGAIN_MS);
		break;
	}
	eviction_free(eviction);
}

static bool is_being_evicted(const struct drain *drain, const struct pod *pod)
{
	for (const struct pending_eviction *eviction = drain->evictions; eviction; eviction = eviction->next)
		if (text_equal(eviction->pod->uid, pod->uid))
			return true;
	return false;
}

static void evict(struct drain *drain, const struct probe *probe)
{
	struct engine *engine = drain->item->evacuation->engine;
	struct pending_eviction *eviction = calloc(1, sizeof(*eviction));

	if (!eviction)
		abort();
	eviction->drain = drain;
	eviction->pod = probe->context;
	eviction->inquiry = inquiry_hold(drain->inquiry);
	eviction->next = drain->evictions;
	drain->evictions = eviction;
	engine->evictions++;
	eviction->exchange = exchange_new(engine, eviction_heard, eviction);
	eviction->exchange->ask.what = ASK_HTTP;
	eviction->exchange->ask.effect = true;
	eviction->exchange->ask.once = true; /* a 429 is a budget */
	eks_pod_ask_eviction(&eviction->exchange->arena, eviction->pod, &eviction->exchange->ask.request);
	exchange_queue(engine, eviction->exchange);
}

bool drain_is_our_turn(const struct items *items)
{
	const size_t *states = items->states[LANE_NODES];

	return items->draining_others == 0 && states[ITEM_PLANNED] + states[ITEM_WAITING] + states[ITEM_APPLYING] == 0;
}

/* The taint ends all others; our own tolerate it, so that the last one can see to the end. */
static bool may_evict(const struct drain *drain, const struct scope *scope, const struct pod *pod, struct instant now)
{
	struct evacuation *evacuation = drain->item->evacuation;
	bool own = drain_is_our_own(evacuation->engine, pod);

	if (is_being_evicted(drain, pod) || (own && !drain_is_our_turn(&evacuation->items)) ||
	    (!own && scope->eviction != EVICTION_DRAIN))
		return false;
	return budgets_may_try(&evacuation->engine->budgets, drain_budget_key(pod), now);
}

void drain_evict(struct drain *drain, const struct scope *scope, const struct resource *node, struct instant now,
                 struct arena *arena)
{
	struct engine *engine = drain->item->evacuation->engine;
	struct probes probes = {0};

	drain->no_room = false;
	if (!instant_reached(engine->evictions_due, now))
		return;
	eks_node.nudge(scope, &drain->item->change, node, arena, &probes);
	for (const struct probe *probe = probes.first; probe && !drain->no_room; probe = probe->next) {
		drain->no_room = engine->evictions >= EVICTIONS_MAX;
		if (!drain->no_room && may_evict(drain, scope, probe->context, now))
			evict(drain, probe);
	}
}

void drain_told_error(struct drain *drain, const struct error *error)
{
	if (error && error->kind == ERROR_DENIED)
		set_refused(drain, "", error->message);
}

void drain_cancel_evictions(struct drain *drain)
{
	while (drain->evictions) {
		exchange_cancel(drain->item->evacuation->engine, drain->evictions->exchange);
		eviction_free(drain->evictions);
	}
}
