#include "planned.h"

#include <stdio.h>

#include "actuators/registry.h"
#include "domain/delta.h"
#include "evacuation.h"
#include "plan.h"
#include "stall.h"
#include "state.h"

#define PLANNED_ARENA_MAX (256u << 20)

void planned_init(struct planned *planned)
{
	arena_init(&planned->arena, "planned", PLANNED_ARENA_MAX);
	arena_init(&planned->gathering_arena, "planned", PLANNED_ARENA_MAX);
}

void planned_done(struct planned *planned)
{
	arena_done(&planned->gathering_arena);
	arena_done(&planned->arena);
}

static bool asks_for_plan(const struct evacuation *evacuation)
{
	return evacuation->manifest.plan_hash && evacuation->manifest.mode == MODE_EVACUATE;
}

/* What was gathered becomes the plan. The arenas change places. */
static void adopt(struct planned *planned)
{
	struct arena arena = planned->arena;

	planned->arena = planned->gathering_arena;
	planned->list = planned->gathering;
	planned->gathering_arena = arena;
	planned->gathering = (struct plan_list){0};
	planned->gathered = false;
	planned->partial = false;
}

static void adopt_as(struct planned *planned, const char *hash)
{
	adopt(planned);
	planned->shown = true;
	snprintf(planned->hash, sizeof(planned->hash), "%s", hash);
}

const char *planned_hash(const struct evacuation *evacuation)
{
	const struct planned *planned = &evacuation->planned;

	return planned->shown && planned->hash[0] ? planned->hash : NULL;
}

/* The status. */

/* Out, or to be taken out, as far as a status says. */
static bool counts(const char *state)
{
	static const enum item_state states[] = {ITEM_PLANNED, ITEM_WAITING, ITEM_APPLYING, ITEM_APPLIED,
	                                         ITEM_SETTLED, ITEM_FAILED,  ITEM_RIVAL};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (text_equal(state, item_state_name(states[i])))
			return true;
	return false;
}

/* It stays in the status until it has been observed, or a second restart would find a status without it. */
static void keep_in_status(struct evacuation *evacuation, const struct plan_change *told)
{
	const struct change change = {.kind = told->kind, .id = told->id, .name = told->name, .removed = told->removed};

	if (!items_find(&evacuation->items, told->id))
		items_add(&evacuation->items, evacuation, registry_find(told->kind), &change);
}

void planned_take_status(struct evacuation *evacuation, const struct json *status)
{
	struct planned *planned = &evacuation->planned;
	const struct json *changes = json_get(status, "changes");
	const char *hash = json_get_string(status, "planHash");

	for (size_t i = 0; i < json_count(changes); i++) {
		const struct json *entry = json_at(changes, i);
		const char *id = json_get_string(entry, "id");
		struct string_list removed = json_strings(json_get(entry, "removed"), &planned->arena);

		if (id && registry_find(json_get_string(entry, "kind")) && counts(json_get_string(entry, "state")))
			plan_list_add(&planned->list, &planned->arena, json_get_string(entry, "kind"), id,
			              json_get_string(entry, "name"), &removed);
	}
	plan_list_sort(&planned->list, &planned->arena);
	planned->partial = json_integer(json_get(status, "changesOmitted"), 0) > 0;
	snprintf(planned->hash, sizeof(planned->hash), "%s", hash ? hash : "");
	planned->checked = planned->shown = evacuation->manifest.finalizer;
	planned->limited = planned->checked && asks_for_plan(evacuation);
	planned->recognised = false;
	for (size_t i = 0; planned->limited && !evacuation_is_ending(evacuation) && i < planned->list.count; i++)
		keep_in_status(evacuation, &planned->list.at[i]);
}

static void gather(struct planned *planned, const struct plan_change *change)
{
	plan_list_add(&planned->gathering, &planned->gathering_arena, change->kind, change->id, change->name,
	              &change->removed);
}

void planned_edited(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	planned->hurried = planned->gathered = false;
	if (evacuation->manifest.mode == MODE_PLAN)
		planned->hash[0] = '\0'; /* what is selected now has yet to be looked at */
	if (!evacuation->manifest.finalizer) {
		planned->checked = planned->limited = false;
	} else if (!asks_for_plan(evacuation)) {
		planned->limited = false;
	} else if (!planned->limited) { /* begun: what is known is all there is, or what that hash proves */
		for (size_t i = 0; i < planned->list.count; i++)
			gather(planned, &planned->list.at[i]);
		plan_list_sort(&planned->gathering, &planned->gathering_arena);
		adopt(planned);
		planned->checked = planned->limited = true;
		planned->recognised = false;
	}
}

void planned_begin_anew(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	planned->checked = planned->limited = planned->recognised = planned->hurried = false;
}

/* Gathering. */

void planned_gather_begin(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	arena_reset(&planned->gathering_arena);
	planned->gathering = (struct plan_list){0};
	planned->gathered = false;
}

static void gather_record(struct planned *planned, const struct record *record)
{
	const struct change change = record_change(record);

	gather(planned, &(struct plan_change){change.kind, change.id, change.name, record->removed});
}

void planned_gather_resource(struct evacuation *evacuation, const struct resource *resource,
                             const struct decision *decision, const struct record *record)
{
	struct planned *planned = &evacuation->planned;

	if (decision->verdict == VERDICT_REFUSED)
		return;
	if (decision->verdict != VERDICT_NOTHING)
		gather(planned, &(struct plan_change){resource->kind, resource->id, resource->name, decision->change.removed});
	if (record && !record->unreadable)
		gather_record(planned, record);
}

void planned_gather_record(struct evacuation *evacuation, const struct record *record)
{
	if (registry_find(record->resource_type))
		gather_record(&evacuation->planned, record);
}

/* Nothing that the plan depends on is missing: every kind to the last page, and the journal, which may say that there is none. */
static bool is_whole(const struct evacuation *evacuation)
{
	const struct facts *facts = evacuation->facts;

	return facts->complete && !facts_unseen(facts) && facts->generation == evacuation->manifest.generation &&
	       (facts->records_read || evacuation->place->table_error.kind == ERROR_ABSENT);
}

static const char *hash_gathered(const struct evacuation *evacuation, struct arena *arena)
{
	const struct plan_about about = {.zone_id = evacuation->manifest.zone_id,
	                                 .account_id = evacuation->facts->scope.account_id,
	                                 .region = evacuation_region(evacuation)};

	return plan_hash(&about, &evacuation->planned.gathering, arena);
}

/* Once the first change was made the plan is what it was; before, it is what there is. */
static bool may_change(const struct evacuation *evacuation)
{
	const struct planned *planned = &evacuation->planned;

	if (evacuation->manifest.mode == MODE_PLAN)
		return true;
	return !asks_for_plan(evacuation) && (!planned->hash[0] || evacuation->items.records == 0);
}

void planned_gather_end(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	plan_list_sort(&planned->gathering, &planned->gathering_arena);
	if (!is_whole(evacuation)) {
		if (evacuation->manifest.mode == MODE_PLAN)
			planned->hash[0] = '\0';
		return;
	}
	planned->gathered = true;
	if (may_change(evacuation))
		adopt_as(planned, hash_gathered(evacuation, &planned->gathering_arena));
}

bool planned_unlimit(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	if (!planned->limited || planned->recognised || !is_whole(evacuation))
		return false;
	planned->limited = false;
	return true;
}

bool planned_recognise(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;
	const char *hash;
	bool same;

	plan_list_sort(&planned->gathering, &planned->gathering_arena);
	hash = hash_gathered(evacuation, &planned->gathering_arena);
	same = text_equal(hash, evacuation->manifest.plan_hash) || text_equal(hash, planned->hash);
	if (same)
		adopt_as(planned, planned->hash[0] ? arena_string(&planned->gathering_arena, planned->hash) : hash);
	planned->limited = planned->recognised = true;
	return same;
}

/* The limit. */

/* What may be taken out of a resource. */
struct limit {
	struct string_list subnets;
	bool named; /* the plan names it, or it is out already */
	bool begun;
};

static struct limit limit_of(const struct evacuation *evacuation, const struct resource *resource,
                             const struct record *record, struct arena *arena)
{
	const struct plan_change *change = plan_list_find(&evacuation->planned.list, resource->kind, resource->id);
	const struct item *item = items_find(&evacuation->items, resource->id);
	const struct string_list none = {0}, *begun = NULL;

	if (record && string_list_has(&record->owners, evacuation->engine->cluster.owner))
		begun = &record->removed;
	else if (!record && item && item->held) /* the journal has lost it */
		begun = &item->change.removed;
	return (struct limit){.subnets = delta_join(change ? &change->removed : &none, begun ? begun : &none, arena),
	                      .named = change || begun,
	                      .begun = begun != NULL};
}

static void refuse_new(struct decision *decision, const char *what, struct arena *arena)
{
	decision_refuse(decision, GUARD_PLAN_CHANGED,
	                arena_printf(arena,
	                             "%s came after the plan of spec.planHash; empty that field to have it taken out, too",
	                             what));
}

static void limit_subnets(const struct limit *limit, struct arena *arena, struct decision *decision)
{
	struct string_list within = delta_present(&limit->subnets, &decision->change.removed, arena);
	struct string_list beyond = delta_without(&decision->change.removed, &limit->subnets, arena);
	const char *what = string_list_join(&beyond, arena, ", ");

	if (beyond.count == 0)
		return;
	if (within.count == 0 && !limit->begun) {
		refuse_new(decision, what, arena);
		return;
	}
	decision->reason = arena_printf(arena, "%s came after the plan of spec.planHash and stays", what);
	decision->change.removed = within;
	if (within.count == 0)
		decision->verdict = VERDICT_NOTHING;
}

void planned_limit(const struct evacuation *evacuation, const struct resource *resource, struct arena *arena,
                   struct decision *decision)
{
	const struct record *record;
	struct limit limit;

	if (!evacuation->planned.limited || decision->verdict == VERDICT_REFUSED)
		return;
	record = facts_record(evacuation->facts, resource->id);
	if (decision->verdict == VERDICT_NOTHING && (!record || record->unreadable))
		return;
	limit = limit_of(evacuation, resource, record, arena);
	if (!limit.named)
		refuse_new(decision, "it", arena);
	else if (decision->verdict != VERDICT_NOTHING)
		limit_subnets(&limit, arena, decision);
}

/* The check. */

bool planned_is_due(const struct evacuation *evacuation)
{
	return asks_for_plan(evacuation) && !evacuation->planned.checked && evacuation_targets_aws(evacuation);
}

/* What differs can only be told while the plan that the hash stands for is known. */
static const char *difference(const struct evacuation *evacuation, struct arena *arena)
{
	const struct planned *planned = &evacuation->planned;
	const char *what = NULL;

	if (!planned->partial && text_equal(planned->hash, evacuation->manifest.plan_hash))
		what = plan_difference(&planned->list, &planned->gathering, arena);
	return what ? arena_printf(arena, ", of which %s", what) : "";
}

static void refuse(struct evacuation *evacuation, const char *hash)
{
	struct planned *planned = &evacuation->planned;

	evacuation->refused_generation = evacuation->manifest.generation;
	stall_set(
		&evacuation->refusal, guard_name(GUARD_PLAN_CHANGED),
		"nothing is changed, because the plan is no longer that of spec.planHash (%s) but %s; see status.changes, then set "
		"spec.planHash to the new one, or empty it. There are %zu changes now%s",
		evacuation->manifest.plan_hash, hash, planned->gathering.count,
		difference(evacuation, &planned->gathering_arena));
	evacuation->stall = evacuation->refusal;
}

bool planned_check(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;
	const char *hash;

	if (!planned->gathered)
		return false;
	hash = hash_gathered(evacuation, &planned->gathering_arena);
	planned->checked = text_equal(hash, evacuation->manifest.plan_hash);
	planned->limited = planned->recognised = planned->checked;
	if (!planned->checked)
		refuse(evacuation, hash);
	adopt_as(planned, hash);
	return planned->checked;
}

bool planned_is_told(struct evacuation *evacuation)
{
	struct planned *planned = &evacuation->planned;

	if (!planned->limited || text_equal(json_path_string(evacuation->object, "status.planHash"), planned->hash))
		return true;
	evacuation_hurry_status(evacuation, &planned->hurried);
	return false;
}
