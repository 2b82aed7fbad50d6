#include "drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "event.h"
#include "nodes/eks_node.h"
#include "plan.h"
#include "requeue.h"
#include "state.h"

#define DRAIN_ARENA_MAX (4u << 20)
/* An eviction that only a person can help with is tried again after so long. */
#define REFUSED_AGAIN_MS 60000
/* A look that failed, or an API server that is overloaded: growing up to. */
#define LOOK_AGAIN_MAX_MS 60000
/* Once its time is over it only looks, and less often. */
#define EXPIRED_POLL_MS 30000
#define EXAMPLES_A_SENTENCE 3

struct pending_eviction {
	struct pending_eviction *next;
	struct drain *drain;
	struct exchange *exchange;
	struct inquiry *inquiry; /* held: what the pod lives in */
	const struct pod *pod;
};

struct drain {
	struct item *item;
	struct process process;
	struct arena arena;
	struct inquiry *inquiry; /* held: what `pods` lives in */
	const struct resource *pods;
	struct pending_eviction *evictions;
	struct instant look_due;
	struct wallclock began;
	int failures;
	bool counts;        /* in items->draining */
	bool counts_others; /* in items->draining_others */
	bool expired;
	char refused[ITEM_REASON_BYTES]; /* why an eviction needs a person */
	struct string_list bound;        /* pods seen on it that use volumes of the zone, in the arena */
};

static const struct step step_look;

/* What is known. */

const struct manifest_target *drain_target(const struct evacuation *evacuation)
{
	for (size_t i = 0; i < evacuation->manifest.target_count; i++)
		if (text_equal(evacuation->manifest.targets[i].kind, EKS_NODE_KIND))
			return &evacuation->manifest.targets[i];
	return NULL;
}

void drain_scope(const struct item *item, struct scope *out)
{
	const struct evacuation *evacuation = item->evacuation;

	evacuation_node_scope(evacuation, out);
	if (item->taint_evicts)
		out->eviction = EVICTION_TAINT;
	/* The taint asks nobody. */
	out->evict_unreplicated =
		out->eviction == EVICTION_TAINT || plan_allows(evacuation, GUARD_UNREPLICATED, item->change.name) != NULL;
}

/* Mode Plan: it only says which pods there are. */
static bool only_plans(const struct item *item)
{
	return item->evacuation->manifest.mode == MODE_PLAN;
}

/* The node as the watch shows it, with the pods of the last look. False: it is gone, or another one by now, or not ours. */
static bool node_with_pods(const struct drain *drain, const struct scope *scope, struct resource *out)
{
	const struct item *item = drain->item;
	const struct node_entry *entry = cluster_node(item->evacuation->engine, item->change.name);
	struct arena arena;
	struct change carried;
	bool ours;

	if (!entry || !text_equal(entry->resource.id, item->change.id))
		return false;
	*out = entry->resource;
	out->load = drain->pods ? drain->pods->load : NULL;
	if (only_plans(item))
		return text_equal(out->incarnation, item->change.incarnation);
	arena_init(&arena, "carried", DRAIN_ARENA_MAX);
	ours = eks_node.carries(scope, out, &arena, &carried) && text_equal(carried.incarnation, item->change.incarnation);
	arena_done(&arena);
	return ours;
}

static bool is_our_own(const struct engine *engine, const struct pod *pod)
{
	const struct cluster *cluster = &engine->cluster;
	const struct engine_settings *settings = engine->settings;

	if (!settings->pod_name || !text_equal(pod->namespace_name, settings->pod_namespace))
		return false;
	return text_equal(pod->name, settings->pod_name) ||
	       (cluster->own_controller[0] && text_equal(pod->owner_uid, cluster->own_controller));
}

/* Pods of one controller share their budget; one without a controller has its own. */
static const char *budget_key(const struct pod *pod)
{
	return pod->owner_uid ? pod->owner_uid : pod->uid;
}

/* Counting: what the phase waits for, and whether our own pods' turn has come. */

static void count(struct drain *drain, bool counts, bool others)
{
	struct items *items = &drain->item->evacuation->items;

	items->draining += (size_t)counts - (size_t)drain->counts;
	items->draining_others += (size_t)(counts && others) - (size_t)drain->counts_others;
	drain->counts = counts;
	drain->counts_others = counts && others;
	drain->item->evacuation->engine->moved = true;
}

/* Will it go, or be made to? */
static bool is_to_go(const struct pod *pod, const struct scope *scope, bool node_ready)
{
	enum pod_fate fate = eks_pod_fate(pod, node_ready, scope->now);

	return fate == POD_EVICTABLE || (fate == POD_UNREPLICATED && scope->evict_unreplicated);
}

static bool holds_others(const struct drain *drain, const struct scope *scope, const struct resource *node)
{
	const struct pods *pods = node->load;
	bool ready = eks_node_is_ready(node);

	for (size_t i = 0; i < pods->count; i++)
		if ((is_to_go(&pods->at[i], scope, ready) || eks_pod_fate(&pods->at[i], ready, scope->now) == POD_LEAVING) &&
		    !is_our_own(drain->item->evacuation->engine, &pods->at[i]))
			return true;
	return false;
}

/* Sentences. */

static void add_budgets(const struct drain *drain, const struct scope *scope, const struct resource *node,
                        struct arena *arena, struct string_list *out)
{
	const struct budgets *budgets = &drain->item->evacuation->engine->budgets;
	const struct pods *pods = node->load;
	bool ready = eks_node_is_ready(node);

	for (size_t i = 0; i < pods->count && out->count < EXAMPLES_A_SENTENCE; i++) {
		const char *name = budgets_name(budgets, budget_key(&pods->at[i]));

		if (name && is_to_go(&pods->at[i], scope, ready) && !string_list_has(out, name))
			string_list_add(out, arena, name);
	}
}

/* What keeps it from being drained, most useful first. */
static const char *pending_sentence(const struct drain *drain, const struct scope *scope, const struct resource *node,
                                    const char *why, struct arena *arena)
{
	const char *paused = drain_paused_because(drain->item->evacuation, arena);
	struct string_list budgets = {0};
	const char *sentence = why;

	add_budgets(drain, scope, node, arena, &budgets);
	if (drain->expired)
		sentence = arena_printf(arena, "not drained within its time (%" PRId64 " s), and left as it is: %s",
		                        drain_target(drain->item->evacuation)->drain_timeout_s, why);
	if (budgets.count)
		sentence = arena_printf(arena, "%s; held up by the PodDisruptionBudget %s", sentence,
		                        string_list_join(&budgets, arena, ", "));
	if (drain->refused[0])
		sentence = arena_printf(arena, "%s; %s", sentence, drain->refused);
	if (paused)
		sentence = arena_printf(arena, "%s; paused, because capacity keeps coming back to the zone", sentence);
	return sentence;
}

static void remark_bound(struct drain *drain, const struct scope *scope, const struct resource *node,
                         struct arena *arena)
{
	const struct string_list *claims = &drain->item->evacuation->volumes.claims;
	const struct pods *pods = node->load;
	struct string_list shown = {0};

	for (size_t i = 0; i < pods->count && claims->count; i++)
		for (size_t k = 0; k < pods->at[i].claims.count; k++) {
			const char *name = eks_pod_name(&pods->at[i], &drain->arena);

			if (is_to_go(&pods->at[i], scope, true) && string_list_has(claims, pods->at[i].claims.at[k]) &&
			    !string_list_has(&drain->bound, name))
				string_list_add(&drain->bound, &drain->arena, name);
		}
	if (drain->bound.count == 0)
		return;
	for (size_t i = 0; i < drain->bound.count && i < EXAMPLES_A_SENTENCE; i++)
		string_list_add(&shown, arena, drain->bound.at[i]);
	item_set_remark(drain->item,
	                arena_printf(arena,
	                             "%zu of its pods need volumes of the zone and stay Pending until recovery (%s%s)",
	                             drain->bound.count, string_list_join(&shown, arena, ", "),
	                             drain->bound.count > shown.count ? ", …" : ""));
}

/* Evictions. */

static void eviction_free(struct pending_eviction *eviction)
{
	struct pending_eviction **link = &eviction->drain->evictions;

	while (*link != eviction)
		link = &(*link)->next;
	*link = eviction->next;
	inquiry_release(eviction->inquiry);
	free(eviction);
}

static void eviction_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	static const struct http_response nothing;
	struct pending_eviction *eviction = self;
	struct drain *drain = eviction->drain;
	struct budgets *budgets = &drain->item->evacuation->engine->budgets;
	const char *key = budget_key(eviction->pod);
	const char *budget = NULL;
	const char *why = NULL;

	(void)exchange;
	switch (eks_pod_hear_eviction(answer->arena, eviction->pod, answer->response ? answer->response : &nothing, &budget,
	                              &why)) {
	case EVICTION_ACCEPTED:
	case EVICTION_GONE:
		drain->refused[0] = '\0';
		budgets_let_go(budgets, key, answer->now);
		break;
	case EVICTION_BUDGET:
		budgets_blocked(budgets, key, budget, answer->now, drain->item->evacuation->engine->settings->poll_ms);
		break;
	case EVICTION_BUSY:
		drain->failures++;
		break;
	case EVICTION_REFUSED:
		snprintf(drain->refused, sizeof(drain->refused), "%.*s",
		         (int)text_cut(why, strlen(why), sizeof(drain->refused) - 1), why);
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
	eviction->exchange = exchange_new(engine, eviction_heard, eviction);
	eviction->exchange->ask.what = ASK_HTTP;
	eviction->exchange->ask.effect = true;
	eviction->exchange->ask.once = true; /* a 429 is a budget */
	eks_pod_ask_eviction(&eviction->exchange->arena, eviction->pod, &eviction->exchange->ask.request);
	exchange_queue(engine, eviction->exchange);
}

/* Whose turn is it? Our own pods' comes when no node holds any other. */
static bool may_evict(const struct drain *drain, const struct pod *pod, struct instant now)
{
	struct engine *engine = drain->item->evacuation->engine;

	if (is_being_evicted(drain, pod))
		return false;
	if (is_our_own(engine, pod) && drain->item->evacuation->items.draining_others > 0)
		return false;
	return budgets_may_try(&engine->budgets, budget_key(pod), now);
}

static void nudge(struct drain *drain, const struct scope *scope, const struct resource *node, struct instant now,
                  struct arena *arena)
{
	struct probes probes = {0};

	if (drain->expired || drain_paused_because(drain->item->evacuation, arena))
		return;
	eks_node.nudge(scope, &drain->item->change, node, arena, &probes);
	for (const struct probe *probe = probes.first; probe; probe = probe->next)
		if (may_evict(drain, probe->context, now))
			evict(drain, probe);
}

/* Looking. */

static int64_t poll_ms(const struct drain *drain)
{
	struct engine *engine = drain->item->evacuation->engine;

	if (drain->failures > 0)
		return requeue_backoff_ms(drain->failures, engine->settings->poll_ms, LOOK_AGAIN_MAX_MS, engine_random(engine));
	return drain->expired ? EXPIRED_POLL_MS : engine->settings->poll_ms;
}

static const struct step *look_again(struct drain *drain, struct instant now)
{
	drain->look_due = instant_after(now, poll_ms(drain));
	return &step_look;
}

static void judge_time(struct drain *drain, const struct scope *scope, const struct resource *node)
{
	const struct manifest_target *target = drain_target(drain->item->evacuation);
	struct wallclock since = eks_node_marked_at(scope, node);

	if (!since.us)
		since = drain->began;
	if (drain->expired || !target || wallclock_after_ms(since, target->drain_timeout_s * 1000).us > scope->now.us)
		return;
	drain->expired = true;
	if (target->on_timeout == ON_DRAIN_TIMEOUT_TAINT && scope->eviction == EVICTION_DRAIN) {
		drain->item->taint_evicts = true;
		item_become(drain->item, ITEM_PLANNED, "its time is over: the taint gets the effect NoExecute");
	}
	event_tell_node(drain->item, true, "DrainTimedOut",
	                target->on_timeout == ON_DRAIN_TIMEOUT_TAINT
	                    ? "not drained in time: tainted NoExecute"
	                    : "not drained in time: its pods are left as they are");
}

void drain_judge_state(struct item *item, const char *why)
{
	struct scope scope;

	drain_scope(item, &scope);
	if (scope.eviction == EVICTION_NONE || item->drained)
		item_become(item, ITEM_SETTLED, why);
	else
		item_become(item, ITEM_APPLIED, why ? why : "its pods have not been looked at yet");
}

static const struct step *drained(struct drain *drain, const char *why)
{
	struct item *item = drain->item;

	item->drained = true;
	item->evacuation->gates_due = true;
	drain_judge_state(item, why);
	event_tell_node(item, false, "Drained", why ? why : "no pod is left on it that would have to go");
	return NULL;
}

static const struct step *told_plan(struct drain *drain, const char *why, struct instant now, struct arena *arena)
{
	struct item *item = drain->item;

	if (why && item->remark[0])
		why = arena_printf(arena, "%s; %s", why, item->remark);
	if (item->state == ITEM_PLANNED)
		item_become(item, ITEM_PLANNED, why);
	drain->look_due = instant_after(now, item->evacuation->engine->settings->resync_ms);
	return &step_look;
}

static const struct step *judge(struct drain *drain, const struct scope *scope, const struct resource *node,
                                struct instant now, struct arena *arena)
{
	struct item *item = drain->item;
	const char *why = eks_node_load_sentence(scope, node, arena);
	bool waited_for;

	remark_bound(drain, scope, node, arena);
	if (only_plans(item))
		return told_plan(drain, why, now, arena);
	if (eks_node_load(scope, node) == 0)
		return drained(drain, why);
	judge_time(drain, scope, node);
	waited_for = scope->eviction != EVICTION_NONE && (!drain->expired || item->taint_evicts);
	count(drain, waited_for, holds_others(drain, scope, node));
	if (item->state == ITEM_APPLIED || item->state == ITEM_SETTLED)
		drain_judge_state(item, pending_sentence(drain, scope, node, why, arena));
	nudge(drain, scope, node, now, arena);
	return look_again(drain, now);
}

static void keep_pods(struct drain *drain, const struct answer *answer)
{
	struct inquiry *before = drain->inquiry;

	drain->inquiry = inquiry_hold(answer->inquiry);
	inquiry_release(before);
	drain->pods = answer->resource;
}

static void look_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct drain *drain = self;

	(void)now;
	(void)wall;
	(void)arena;
	out->what = ASK_LOOK;
	out->due = drain->look_due;
	out->item = drain->item;
}

static const struct step *look_hear(void *self, const struct answer *answer)
{
	struct drain *drain = self;
	struct item *item = drain->item;
	struct resource node;
	struct scope scope;
	struct arena arena;
	const struct step *next;

	if (item->evacuation->restoring || item->excluded)
		return NULL;
	if (answer->error || !answer->resource || !answer->resource->load) {
		drain->failures++;
		if (item->state == ITEM_APPLIED)
			item_become(item, ITEM_APPLIED,
			            answer->error ? answer->error->message : "the API server lists no pods of it");
		return look_again(drain, answer->now);
	}
	drain->failures = 0;
	keep_pods(drain, answer);
	drain_scope(item, &scope);
	if (!node_with_pods(drain, &scope, &node))
		return NULL;
	arena_init(&arena, "drain", DRAIN_ARENA_MAX);
	next = judge(drain, &scope, &node, answer->now, &arena);
	arena_done(&arena);
	return next;
}

static const struct step step_look = {"look at its pods", look_ask, look_hear};

/* Beginning and ending. */

static void drain_ended(void *self)
{
	struct drain *drain = self;

	count(drain, false, false);
	item_consider(drain->item);
}

/* Eviction None only looks, and only for a group that may carry the node. */
bool drain_is_due(const struct item *item)
{
	struct scope scope;

	if (only_plans(item))
		return item->state == ITEM_PLANNED && drain_target(item->evacuation)->eviction != EVICTION_NONE &&
		       !(item->drain && process_running(&item->drain->process));
	if (item->drained || (item->state != ITEM_APPLIED && item->state != ITEM_SETTLED) ||
	    (item->drain && process_running(&item->drain->process)))
		return false;
	drain_scope(item, &scope);
	return scope.eviction != EVICTION_NONE || evacuation_targets(item->evacuation, "AutoScalingGroup");
}

void drain_start(struct item *item)
{
	struct engine *engine = item->evacuation->engine;
	struct drain *drain = item->drain;
	struct scope scope;

	if (!drain) {
		drain = calloc(1, sizeof(*drain));
		if (!drain)
			abort();
		arena_init(&drain->arena, "drain", DRAIN_ARENA_MAX);
		drain->item = item;
		item->drain = drain;
	}
	drain->look_due = (struct instant){0};
	drain->began = engine_wall(engine);
	drain->expired = false;
	drain_scope(item, &scope);
	count(drain, scope.eviction != EVICTION_NONE && !only_plans(item), true);
	process_start(&drain->process, engine, drain, &step_look, drain_ended);
}

void drain_stop(struct drain *drain)
{
	if (!drain)
		return;
	process_abort(&drain->process);
	while (drain->evictions) {
		exchange_cancel(drain->item->evacuation->engine, drain->evictions->exchange);
		eviction_free(drain->evictions);
	}
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	drain_stop(drain);
	inquiry_release(drain->inquiry);
	arena_done(&drain->arena);
	free(drain);
}

bool drain_has_expired(const struct drain *drain)
{
	return drain && drain->expired && process_running(&drain->process);
}

const char *drain_paused_because(const struct evacuation *evacuation, struct arena *arena)
{
	const struct items *items = &evacuation->items;
	const char *provider = NULL;

	if (items->newcomers < NEWCOMERS_MAX)
		return NULL;
	for (const struct item *item = items->first; item && !provider; item = item->next) {
		const struct node_entry *entry = item->newcomer ? cluster_node(evacuation->engine, item->change.name) : NULL;

		provider = entry ? eks_node_provider(&entry->resource, arena) : NULL;
	}
	return arena_printf(
		arena,
		"%zu nodes have come up in zone %s since the evacuation began%s%s; nothing is evicted until its "
		"provider leaves the zone out and they are gone",
		items->newcomers, evacuation->manifest.zone_id, provider ? ", from " : "", provider ? provider : "");
}
