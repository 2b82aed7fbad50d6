#include "drain_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "event.h"
#include "pacing.h"
#include "plan.h"
#include "requeue.h"
#include "state.h"

#define DRAIN_ARENA_MAX (4u << 20)
/* Once its time is over it only looks, and less often. */
#define EXPIRED_POLL_MS 30000
#define EXAMPLES_A_SENTENCE 3
#define BOUND_MAX 500
/* There was no room for all of them: look again after. */
#define NO_ROOM_MS 1000
/* After the taint got NoExecute, pods are waited for so long: some tolerate it. */
#define TAINT_PATIENCE_MS (10 * 60 * 1000)

static const struct step step_look;

/* What is known. */

const struct manifest_target *drain_target(const struct evacuation *evacuation)
{
	static const struct manifest_target none = {.kind = EKS_NODE_KIND, .eviction = EVICTION_NONE};
	const struct manifest_target *target = evacuation_target(evacuation, EKS_NODE_KIND);

	return target ? target : &none;
}

void drain_scope(const struct item *item, struct scope *out)
{
	const struct evacuation *evacuation = item->evacuation;

	evacuation_node_scope(evacuation, out);
	if (item->taint_evicts)
		out->eviction = EVICTION_TAINT;
	if (pacing_marks_drains(evacuation))
		out->drained_since = item->begun_at;
	if (pacing_holds_drain(item) && out->eviction == EVICTION_TAINT)
		out->eviction = EVICTION_DRAIN; /* until its batch begins it asks no pod to leave */
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

static bool holds_others(const struct drain *drain, const struct scope *scope, const struct resource *node)
{
	const struct pods *pods = node->load;

	for (size_t i = 0; i < pods->count; i++) {
		enum pod_fate fate = eks_node_pod_fate(scope, node, &pods->at[i]);

		if ((fate == POD_EVICTABLE || fate == POD_LEAVING) &&
		    !drain_is_our_own(drain->item->evacuation->engine, &pods->at[i]))
			return true;
	}
	return false;
}

/* Sentences. */

static void add_budgets(const struct drain *drain, const struct scope *scope, const struct resource *node,
                        struct instant now, struct arena *arena, struct string_list *out)
{
	const struct budgets *budgets = &drain->item->evacuation->engine->budgets;
	const struct pods *pods = node->load;

	for (size_t i = 0; i < pods->count && out->count < EXAMPLES_A_SENTENCE; i++) {
		const char *name = budgets_name(budgets, drain_budget_key(&pods->at[i]), now);

		if (name && eks_node_pod_fate(scope, node, &pods->at[i]) == POD_EVICTABLE && !string_list_has(out, name))
			string_list_add(out, arena, name);
	}
}

/* What keeps it from being drained, most useful first. */
static const char *pending_sentence(const struct drain *drain, const struct scope *scope, const struct resource *node,
                                    const char *why, bool paused, struct instant now, struct arena *arena)
{
	struct string_list budgets = {0};
	const char *sentence = why;

	add_budgets(drain, scope, node, now, arena, &budgets);
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

/* Those of its pods that use a volume which is only in the zone, whether they are to go or going. */
static void keep_bound(struct drain *drain, const struct scope *scope, const struct resource *node, struct arena *arena)
{
	const struct string_list *claims = &drain->item->evacuation->volumes.claims;
	const struct pods *pods = node->load;

	for (size_t i = 0; i < pods->count && claims->count; i++) {
		const struct pod *pod = &pods->at[i];
		const char *name = eks_pod_name(pod, arena);
		bool bound = false;

		for (size_t k = 0; k < pod->claims.count && !bound; k++)
			bound = string_list_has_sorted(claims, pod->claims.at[k]);
		if (bound && drain->bound.count < BOUND_MAX &&
		    (pod->terminating || eks_node_pod_fate(scope, node, pod) == POD_EVICTABLE) &&
		    !string_list_has(&drain->bound, name))
			string_list_add(&drain->bound, &drain->arena, arena_string(&drain->arena, name));
	}
}

static void remark_bound(struct drain *drain, const struct scope *scope, const struct resource *node,
                         struct arena *arena)
{
	struct string_list shown = {0};

	keep_bound(drain, scope, node, arena);
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

static void remark_allowed(struct drain *drain, struct arena *arena)
{
	const struct item *item = drain->item;
	const char *reason = plan_allows(item->evacuation, GUARD_UNREPLICATED, item->change.name);

	if (reason && !item->remark[0])
		item_set_remark(drain->item, guard_overridden(NULL, GUARD_UNREPLICATED, reason, arena));
}

/* Looking. */

static int64_t poll_ms(const struct drain *drain)
{
	struct engine *engine = drain->item->evacuation->engine;

	if (drain->failures > 0)
		return requeue_backoff_ms(drain->failures, engine->settings->poll_ms, LOOK_AGAIN_MAX_MS, engine_random(engine));
	if (drain->no_room && drain->trying)
		return NO_ROOM_MS;
	return drain->expired && !drain->item->taint_evicts ? EXPIRED_POLL_MS : engine->settings->poll_ms;
}

static const struct step *look_again(struct drain *drain, struct instant now)
{
	drain->look_due = instant_after(now, poll_ms(drain));
	return &step_look;
}

/* Its time is what it spent trying: a pause, the wait for our own turn, or a controller that was away do not count. */
static void judge_time(struct drain *drain, const struct scope *scope, struct instant now)
{
	const struct manifest_target *target = drain_target(drain->item->evacuation);

	if (drain->trying)
		drain->spent_ms += instant_between_ms(drain->looked_at, now);
	drain->looked_at = now;
	drain->expired = scope->eviction != EVICTION_NONE && drain->spent_ms >= target->drain_timeout_s * 1000;
	if (!drain->expired || drain->told_expired)
		return;
	drain->told_expired = true;
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

/* What the scheduler had bound before it saw the taint may still have come after a look that followed at once. */
static bool taint_is_known(const struct drain *drain, const struct scope *scope, const struct resource *node,
                           struct instant now)
{
	const struct item *item = drain->item;
	int64_t wait_ms = item->evacuation->engine->settings->poll_ms;

	if (item->tainted_at.ms)
		return instant_between_ms(item->tainted_at, now) >= wait_ms;
	return wallclock_after_ms(eks_node_marked_at(scope, node), wait_ms).us <= scope->now.us;
}

/* Nothing is left that it waits for. */
static const struct step *judge_empty(struct drain *drain, const struct scope *scope, const struct resource *node,
                                      const char *why, struct instant now)
{
	if (taint_is_known(drain, scope, node, now))
		return drained(drain, why);
	count(drain, drain->counts, false);
	drain->trying = false;
	return look_again(drain, now);
}

/* Is the phase to wait for it? */
static bool is_waited_for(struct drain *drain, const struct scope *scope, struct instant now)
{
	if (scope->eviction == EVICTION_NONE)
		return false;
	if (!drain->expired)
		return true;
	if (scope->eviction != EVICTION_TAINT)
		return drain->item->taint_evicts;
	if (!drain->taint_since.ms)
		drain->taint_since = now;
	return instant_between_ms(drain->taint_since, now) < TAINT_PATIENCE_MS;
}

static const struct step *judge(struct drain *drain, const struct scope *scope, const struct resource *node,
                                struct instant now, struct arena *arena)
{
	struct item *item = drain->item;
	const char *why = eks_node_load_sentence(scope, node, arena);
	bool others = holds_others(drain, scope, node);
	bool paused = drain_paused_because(item->evacuation, arena) != NULL;

	drain_judge_refused(drain, node->load);
	remark_allowed(drain, arena);
	remark_bound(drain, scope, node, arena);
	if (only_plans(item))
		return told_plan(drain, why, now, arena);
	judge_time(drain, scope, now);
	if (eks_node_load(scope, node) == 0)
		return judge_empty(drain, scope, node, why, now);
	count(drain, is_waited_for(drain, scope, now), others);
	if (item->state == ITEM_APPLIED || item->state == ITEM_SETTLED)
		drain_judge_state(item, pending_sentence(drain, scope, node, why, paused, now, arena));
	drain->trying = scope->eviction != EVICTION_NONE && !drain->expired && !paused &&
	                (others || drain_is_our_turn(&item->evacuation->items));
	if (drain->trying || scope->eviction == EVICTION_TAINT)
		drain_evict(drain, scope, node, now, arena);
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
	drain_scope(item, &scope);
	if (answer->error || !answer->resource || !answer->resource->load) {
		drain->failures++;
		drain_told_error(drain, answer->error);
		judge_time(drain, &scope, answer->now);
		count(drain, drain->counts && !drain->expired, drain->counts_others);
		drain->trying = scope.eviction != EVICTION_NONE && !only_plans(item);
		if (item->state == ITEM_APPLIED)
			item_become(item, ITEM_APPLIED,
			            answer->error ? answer->error->message : "the API server lists no pods of it");
		return look_again(drain, answer->now);
	}
	drain->failures = 0;
	keep_pods(drain, answer);
	if (!node_with_pods(drain, &scope, &node)) {
		drain->look_due = instant_after(answer->now, poll_ms(drain)); /* should it be begun again */
		return NULL;
	}
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

	if (item->drain && process_running(&item->drain->process))
		return false;
	if (only_plans(item))
		return item->state == ITEM_PLANNED && drain_target(item->evacuation)->eviction != EVICTION_NONE;
	if (item->drained || (item->state != ITEM_APPLIED && item->state != ITEM_SETTLED) || pacing_holds_drain(item))
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
	drain->taint_since = (struct instant){0};
	drain->spent_ms = 0;
	drain->trying = false;
	drain->expired = drain->told_expired = false;
	drain_scope(item, &scope);
	count(drain, scope.eviction != EVICTION_NONE && !only_plans(item), true);
	if (!only_plans(item))
		pacing_began(item);
	process_start(&drain->process, engine, drain, &step_look, drain_ended);
}

void drain_look_now(struct drain *drain)
{
	bool counts = drain && drain->counts;
	bool others = drain && drain->counts_others;

	if (!drain || !process_running(&drain->process) || drain->look_due.ms == 0)
		return;
	process_abort(&drain->process);
	drain->look_due = (struct instant){0};
	count(drain, counts, others);
	process_start(&drain->process, drain->item->evacuation->engine, drain, &step_look, drain_ended);
}

void drain_stop(struct drain *drain)
{
	if (!drain)
		return;
	process_abort(&drain->process);
	drain->look_due = (struct instant){0};
	drain_judge_refused(drain, NULL);
	drain_cancel_evictions(drain);
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

bool drain_is_over(const struct drain *drain)
{
	return drain && drain->expired && !drain->counts;
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
