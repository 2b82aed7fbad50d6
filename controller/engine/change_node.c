#include "change.h"

#include "drain.h"
#include "evacuation.h"
#include "nodes/eks_node.h"
#include "plan.h"
#include "state.h"

/* A patch that a test refused is built anew so often, each time a little later, so that the watch catches up. */
#define PATCHES_MAX 8
#define PATCH_AGAIN_MS 150
#define COPY_AGAIN_MS 10000

static const struct step step_out, step_copy, step_back, step_restore, step_close;

static const struct resource *node_now(const struct item *item)
{
	struct node_entry *entry = cluster_node(item->evacuation->engine, item->change.name);

	return entry && text_equal(entry->resource.id, item->change.id) ? &entry->resource : NULL;
}

static void ask_patch(struct item *item, struct instant now, enum direction direction, struct arena *arena,
                      struct ask *out)
{
	struct scope scope;

	drain_scope(item, &scope);
	out->what = ASK_HTTP;
	out->effect = true;
	out->due = instant_after(now, item->updates * PATCH_AGAIN_MS);
	item->actuator->update(&scope, &item->change, node_now(item), direction, arena, &out->request);
}

/* The answer to our own patch is newer than the watch. */
static void learn_patched(struct item *item, const struct answer *answer)
{
	struct error error;
	const struct json *object =
		json_parse(answer->arena, answer->response->body, answer->response->body_length, &error);

	if (object && node_now(item)) /* not one that the watch has seen go meanwhile */
		cluster_learn_node(item->evacuation->engine, object);
}

/* A test refused it, or nobody answered: look at the node again. False: no more. */
static bool patch_again(struct item *item, const struct answer *answer)
{
	switch (answer->error->kind) {
	case ERROR_REJECTED:
	case ERROR_CONFLICT:
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_SERVER:
	case ERROR_MALFORMED:
	case ERROR_ABSENT:  /* believed when the watch says so */
	case ERROR_DENIED:  /* an API server that has just started does not know its rules yet */
	case ERROR_EXPIRED: /* the token is read again */
		return ++item->updates < PATCHES_MAX;
	default:
		return false;
	}
}

static bool carries(struct item *item)
{
	struct scope scope;
	struct change carried;

	evacuation_node_scope(item->evacuation, &scope);
	arena_reset(&item->decision_arena);
	return item->actuator->carries(&scope, node_now(item), &item->decision_arena, &carried);
}

/* out */

static bool plan_node(struct item *item, const struct resource *node)
{
	struct scope scope;

	drain_scope(item, &scope);
	arena_reset(&item->decision_arena);
	item->decision = (struct decision){0};
	item->actuator->plan(&scope, node, &item->decision_arena, &item->decision);
	return item->decision.verdict == VERDICT_CHANGE && plan_selected(item->evacuation, node);
}

/*
 * The same node, held before, whose annotation somebody took off: what it was before us is what we knew, not our own cordon. What a patch that was
 * refused took it for is none of that.
 */
static void keep_prior(struct item *item)
{
	const struct record *copy = item->evacuation->facts ? facts_record(item->evacuation->facts, item->change.id) : NULL;
	bool copied = copy && !copy->unreadable;
	struct change before = copied ? record_change(copy) : item->change;

	if (!copied && !item->was_out)
		return;
	if (before.detail && text_equal(before.incarnation, item->decision.change.incarnation))
		item->decision.change.detail = before.detail;
}

static void out_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;
	const struct resource *node = node_now(item);

	(void)wall;
	out->what = ASK_WAIT;
	if (!node || !plan_node(item, node))
		return;
	item_become(item, ITEM_APPLYING, NULL);
	if (!text_equal(item->change.incarnation, item->decision.change.incarnation)) {
		item->taint_evicts = false;
		item_forget_times(item);
	}
	if (!item->put_back)
		keep_prior(item);
	item_set_change(item, &item->decision.change);
	ask_patch(item, now, DIRECTION_OUT, arena, out);
}

static const struct step *out_nothing_to_do(struct item *item)
{
	if (!node_now(item))
		item_become(item, ITEM_GONE, "the node no longer exists");
	else if (item->decision.verdict == VERDICT_REFUSED)
		item_become(item, ITEM_REFUSED, item->decision.reason);
	else if (item->decision.verdict == VERDICT_CHANGE)
		item_drop(item); /* no longer selected */
	else
		drain_judge_state(item, NULL);
	return NULL;
}

static const struct step *out_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (item->evacuation->restoring)
		return NULL;
	if (answer->error)
		return patch_again(item, answer) ? &step_out : item_fail(item, answer);
	if (!answer->response)
		return out_nothing_to_do(item);
	learn_patched(item, answer);
	if (node_now(item) && plan_node(item, node_now(item))) /* whatever the answer was: it does not carry it */
		return ++item->updates < PATCHES_MAX
		           ? &step_out
		           : item_fail_because(item, answer->now, "the API server accepted the patch, and it is not there");
	item->failures = 0;
	item->put_back = false;
	item->tainted_at = answer->now;
	item->drained = false; /* whoever had taken it off may have let pods in */
	drain_judge_state(item, NULL);
	drain_look_now(item->drain);
	return NULL;
}

/* copy: what the node carries, written down where a laptop finds it */

static void copy_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;

	(void)now;
	item_ask_journal(item, JOURNAL_INTENT, wall, arena, out);
	out->call.record =
		record_of_change(&item->change, out->call.zone_id, out->call.owner, out->call.attempt, wall, arena);
	out->call.record.state = RECORD_SETTLED;
}

static const struct step *copy_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error) {
		item->retry_at = instant_after(answer->now, COPY_AGAIN_MS);
		items_retry_at(&item->evacuation->items, item->retry_at);
		return NULL;
	}
	if (answer->journal->record.resource_id)
		item_set_record(item, &answer->journal->record);
	return NULL;
}

/* back */

static void back_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out)
{
	struct item *item = self;
	const struct resource *node = node_now(item);
	struct change carried;
	struct scope scope;

	(void)wall;
	out->what = ASK_WAIT;
	evacuation_node_scope(item->evacuation, &scope);
	if (!node || !item->actuator->carries(&scope, node, arena, &carried))
		return;
	item_set_change(item, &carried);
	item_become(item, ITEM_RESTORING, NULL);
	if (item->actuator->compare(&scope, &item->change, node, arena) == STAND_OUT)
		ask_patch(item, now, DIRECTION_BACK, arena, out);
}

static const struct step *back_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return patch_again(item, answer) ? &step_back : item_fail(item, answer);
	if (answer->response)
		learn_patched(item, answer);
	else if (node_now(item) && carries(item))
		return item_fail_because(item, answer->now,
		                         "it carries our annotation, and there is nothing that could be put back");
	item->excluded = false;
	item->put_back = true;
	if (node_now(item))
		item_become(item, ITEM_RESTORED, NULL);
	else
		item_become(item, ITEM_GONE, "the node no longer exists");
	return NULL;
}

/* restore and close the copy */

static const struct step *copy_is_closed(struct item *item)
{
	item_set_record(item, NULL);
	item_become(item, node_now(item) ? ITEM_RESTORED : ITEM_GONE, NULL);
	item->evacuation->engine->proved = true;
	return NULL;
}

static const struct step *restore_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	switch (answer->journal->verdict) {
	case JOURNAL_DONE_NOW:
	case JOURNAL_ALREADY:
		item_set_record(item, &answer->journal->record);
		return &step_close;
	case JOURNAL_ABSENT:
		return copy_is_closed(item);
	default:
		return item_fail_because(item, answer->now,
		                         "the node is back, but its record in the journal is not ours alone to close");
	}
}

static const struct step *close_hear(void *self, const struct answer *answer)
{
	struct item *item = self;

	if (answer->error)
		return item_fail(item, answer);
	switch (answer->journal->verdict) {
	case JOURNAL_DONE_NOW:
	case JOURNAL_ALREADY:
	case JOURNAL_ABSENT:
		return copy_is_closed(item);
	default: /* somebody wrote in between, or it carries a claim: from the start, after a while */
		return item_fail_because(item, answer->now,
		                         "the node is back, but its record in the journal cannot be closed yet");
	}
}

static const struct step step_out = {"patch out", out_ask, out_hear};
static const struct step step_copy = {"copy to the journal", copy_ask, copy_hear};
static const struct step step_back = {"patch back", back_ask, back_hear};
static const struct step step_restore = {"restore the copy", item_ask_restore, restore_hear};
static const struct step step_close = {"close the copy", item_ask_close, close_hear};

const struct step *const change_node_out_first = &step_out;
const struct step *const change_node_copy_first = &step_copy;
const struct step *const change_node_back_first = &step_back;
const struct step *const change_node_close_first = &step_restore;
