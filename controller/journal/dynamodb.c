#include "journal/dynamodb.h"

#include "aws/protocol.h"
#include "base/text.h"
#include "dynamodb_item.h"
#include "rules.h"

static const char *const REFUSED = "ConditionalCheckFailedException";

enum { NAMED_SUBNETS_MAX = 64 };

/* One conditional write under construction. Every attribute has its #alias: many of ours are reserved words. */
struct write {
	struct arena *arena;
	const struct journal_call *call;
	struct json *names;
	struct json *values;
	const char *condition;
	const char *update;
};

static const struct aws_service *dynamodb(void)
{
	return aws_service_find("dynamodb");
}

static const char *name(struct write *write, const char *attribute)
{
	const char *alias = arena_printf(write->arena, "#%s", attribute);

	json_set_string(write->names, alias, attribute);
	return alias;
}

static const char *value(struct write *write, const char *token, struct json *content)
{
	json_set(write->values, token, content);
	return token;
}

static const char *state_value(struct write *write, enum record_state state)
{
	const char *word = record_state_name(state);

	return value(write, arena_printf(write->arena, ":%s", word), dynamodb_string(write->arena, word));
}

/* The owner as a set of one. */
static const char *me(struct write *write)
{
	struct string_list alone = {0};

	string_list_add(&alone, write->arena, write->call->owner);
	return value(write, ":me", dynamodb_set(write->arena, &alone));
}

static const char *mine(struct write *write)
{
	return value(write, ":attempt", dynamodb_string(write->arena, write->call->attempt));
}

static const char *now(struct write *write)
{
	return value(write, ":now", dynamodb_time(write->arena, write->call->now));
}

static const char *not_restoring(struct write *write)
{
	return arena_printf(write->arena, "%s <> %s", name(write, "state"), state_value(write, RECORD_RESTORING));
}

static const char *i_own(struct write *write)
{
	return arena_printf(write->arena, "contains(%s, %s)", name(write, "owners"),
	                    value(write, ":owner", dynamodb_string(write->arena, write->call->owner)));
}

static const char *i_alone_own(struct write *write)
{
	return arena_printf(write->arena, "%s = %s", name(write, "owners"), me(write));
}

static const char *stamped(struct write *write)
{
	return arena_printf(write->arena, "SET %s = %s", name(write, "updatedAt"), now(write));
}

static const char *stamped_as_mine(struct write *write, enum record_state state)
{
	return arena_printf(write->arena, "%s, %s = %s, %s = %s", stamped(write), name(write, "state"),
	                    state_value(write, state), name(write, "attempt"), mine(write));
}

/*
 * Update expressions have no max(), and none depends on what is found: where the rule does, the write is rendered for
 * the record as last read and its condition says so. Where it was read otherwise it is refused and decided afresh.
 */
static bool read_restoring(const struct journal_call *call)
{
	return call->record.resource_id != NULL && call->record.state == RECORD_RESTORING;
}

static bool read_later_claim(const struct journal_call *call)
{
	return call->record.resource_id != NULL && call->record.unanswered_until.us >= call->unanswered_until.us;
}

static const char *claim(struct write *write)
{
	return value(write, ":claim", dynamodb_time(write->arena, write->call->unanswered_until));
}

/* `base` must hold; and either `progress`, or the claim is later than what is there. Adds the claim to the update. */
static void with_claim(struct write *write, const char *base, const char *progress)
{
	struct arena *arena = write->arena;
	const char *until = "unansweredUntil";

	if (write->call->unanswered_until.us == 0) {
		write->condition = arena_printf(arena, "%s AND %s", base, progress);
	} else if (read_later_claim(write->call)) {
		write->condition =
			arena_printf(arena, "%s AND %s AND %s >= %s", base, progress, name(write, until), claim(write));
	} else {
		const char *alias = name(write, until);

		write->condition = arena_printf(arena, "%s AND (attribute_not_exists(%s) OR %s < %s OR (%s = :claim AND %s))",
		                                base, alias, alias, claim(write), alias, progress);
		write->update = arena_printf(arena, "%s, %s = :claim", write->update, alias);
	}
}

static void write_intent(struct write *write)
{
	write->condition = arena_printf(write->arena, "attribute_not_exists(%s)", name(write, "zoneId"));
}

static void join_abandoned(struct write *write)
{
	struct wallclock limit = journal_abandoned_before(write->call->now);
	const char *before = value(write, ":abandoned", dynamodb_time(write->arena, limit));

	write->condition = arena_printf(write->arena, "%s = %s AND %s < %s", name(write, "state"),
	                                state_value(write, RECORD_RESTORING), name(write, "updatedAt"), before);
	write->update = arena_printf(write->arena, "%s, %s = %s ADD %s %s", stamped(write), name(write, "state"),
	                             state_value(write, RECORD_APPLIED), name(write, "owners"), me(write));
}

static void write_join(struct write *write)
{
	if (read_restoring(write->call)) {
		join_abandoned(write);
		return;
	}
	write->condition = arena_printf(write->arena, "attribute_exists(%s) AND %s AND NOT %s", name(write, "zoneId"),
	                                not_restoring(write), i_own(write));
	write->update = arena_printf(write->arena, "%s ADD %s %s", stamped(write), name(write, "owners"), me(write));
}

/* As sets, for what is taken out has no order; and not every back end compares lists. An expression has 4 KB at most. */
static const char *removed_as_read(struct write *write, const char *removed)
{
	const struct string_list *old = &write->call->removed_old;
	struct arena *arena = write->arena;
	const char *condition;

	if (old->count > NAMED_SUBNETS_MAX)
		return arena_printf(arena, "%s = %s", removed, value(write, ":old", dynamodb_list(arena, old)));
	condition = arena_printf(arena, "size(%s) = %s", removed,
	                         value(write, ":count", dynamodb_integer(arena, (int64_t)old->count)));
	for (size_t i = 0; i < old->count; i++) {
		const char *token = arena_printf(arena, ":old%zu", i);

		condition = arena_printf(arena, "%s AND contains(%s, %s)", condition, removed,
		                         value(write, token, dynamodb_string(arena, old->at[i])));
	}
	return condition;
}

static void write_extend(struct write *write)
{
	const char *removed = name(write, "removedSubnets");

	value(write, ":new", dynamodb_list(write->arena, &write->call->removed_new));
	write->condition = arena_printf(write->arena, "%s AND %s AND %s", not_restoring(write), i_own(write),
	                                removed_as_read(write, removed));
	write->update = arena_printf(write->arena, "%s, %s = :new", stamped_as_mine(write, RECORD_INTENT), removed);
}

static void write_redo(struct write *write)
{
	const char *undone = name(write, "undone");

	value(write, ":by", dynamodb_integer(write->arena, write->call->undone_by));
	value(write, ":zero", dynamodb_integer(write->arena, 0));
	write->condition =
		arena_printf(write->arena, "%s AND %s AND NOT (%s = %s AND %s = %s)", not_restoring(write), i_own(write),
	                 name(write, "attempt"), mine(write), name(write, "state"), state_value(write, RECORD_INTENT));
	write->update = arena_printf(write->arena, "%s, %s = if_not_exists(%s, :zero) + :by",
	                             stamped_as_mine(write, RECORD_INTENT), undone, undone);
}

static void write_done(struct write *write)
{
	const char *state = name(write, "state");
	const char *base =
		arena_printf(write->arena, "%s = %s AND %s", name(write, "attempt"), mine(write), not_restoring(write));
	const char *progress;

	if (write->call->done_state == RECORD_SETTLED)
		progress = arena_printf(write->arena, "%s <> %s", state, state_value(write, RECORD_SETTLED));
	else
		progress = arena_printf(write->arena, "%s = %s", state, state_value(write, RECORD_INTENT));
	write->update = stamped_as_mine(write, write->call->done_state);
	with_claim(write, base, progress);
}

static void write_leave(struct write *write)
{
	const char *owners = name(write, "owners");
	const char *base = arena_printf(write->arena, "%s AND size(%s) > %s", i_own(write), owners,
	                                value(write, ":one", dynamodb_integer(write->arena, 1)));

	write->update = stamped(write);
	with_claim(write, base, arena_printf(write->arena, "attribute_exists(%s)", name(write, "zoneId")));
	write->update = arena_printf(write->arena, "%s DELETE %s %s", write->update, owners, me(write));
}

static void write_restore(struct write *write)
{
	const char *progress =
		arena_printf(write->arena, "(%s OR %s <> %s)", not_restoring(write), name(write, "attempt"), mine(write));

	write->update = stamped_as_mine(write, RECORD_RESTORING);
	with_claim(write, i_alone_own(write), progress);
}

static void write_close(struct write *write)
{
	const char *until = name(write, "unansweredUntil");

	write->condition =
		arena_printf(write->arena, "%s AND %s = %s AND %s = %s AND (attribute_not_exists(%s) OR %s < %s)",
	                 i_alone_own(write), name(write, "state"), state_value(write, RECORD_RESTORING),
	                 name(write, "attempt"), mine(write), until, until, now(write));
}

static const struct {
	const char *operation;
	const char *returned;
	void (*render)(struct write *write);
} WRITES[] = {
	[JOURNAL_INTENT] = {"PutItem", "ALL_OLD", write_intent},
	[JOURNAL_JOIN] = {"UpdateItem", "ALL_NEW", write_join},
	[JOURNAL_EXTEND] = {"UpdateItem", "ALL_NEW", write_extend},
	[JOURNAL_REDO] = {"UpdateItem", "ALL_NEW", write_redo},
	[JOURNAL_DONE] = {"UpdateItem", "ALL_NEW", write_done},
	[JOURNAL_LEAVE] = {"UpdateItem", "ALL_NEW", write_leave},
	[JOURNAL_RESTORE] = {"UpdateItem", "ALL_NEW", write_restore},
	[JOURNAL_CLOSE] = {"DeleteItem", "ALL_OLD", write_close},
};

static void set_key(struct json *body, struct arena *arena, const struct journal_call *call)
{
	struct json *key = json_set_object(body, "Key");

	json_set(key, "zoneId", dynamodb_string(arena, call->zone_id));
	json_set(key, "resourceId", dynamodb_string(arena, call->resource_id));
}

/* What an intent puts is what the rule says of none. */
static struct record intended(struct arena *arena, const struct journal_call *call)
{
	struct journal_outcome outcome;

	journal_rule(call, NULL, arena, &outcome);
	return outcome.record;
}

static void set_subject(struct json *body, struct arena *arena, const struct journal_call *call)
{
	struct record record;

	if (call->verb != JOURNAL_INTENT) {
		set_key(body, arena, call);
		return;
	}
	record = intended(arena, call);
	json_set(body, "Item", dynamodb_item_of_record(arena, &record));
}

void dynamodb_ask_call(struct arena *arena, const char *table, const struct journal_call *call,
                       struct http_request *out)
{
	struct json *body = json_new_object(arena);
	struct write write = {
		.arena = arena,
		.call = call,
		.names = json_new_object(arena),
		.values = json_new_object(arena),
	};

	WRITES[call->verb].render(&write);
	json_set_string(body, "TableName", table);
	set_subject(body, arena, call);
	json_set_string(body, "ConditionExpression", write.condition);
	json_set_string(body, "UpdateExpression", write.update);
	json_set(body, "ExpressionAttributeNames", write.names);
	if (json_count(write.values) > 0)
		json_set(body, "ExpressionAttributeValues", write.values);
	json_set_string(body, "ReturnValues", WRITES[call->verb].returned);
	json_set_string(body, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
	aws_json_request(arena, dynamodb(), WRITES[call->verb].operation, body, out);
}

static const struct json *parse(struct arena *arena, const struct http_response *response, struct error *error)
{
	const struct json *body = json_parse(arena, response->body, response->body_length, error);

	if (body == NULL)
		error_wrap(error, "dynamodb's answer");
	return body;
}

static bool hear_done(struct arena *arena, const struct journal_call *call, const struct json *body,
                      struct journal_outcome *out, struct error *error)
{
	const struct json *item = json_get(body, "Attributes");

	*out = (struct journal_outcome){.verdict = JOURNAL_DONE_NOW, .keep = JOURNAL_STORE};
	if (call->verb == JOURNAL_INTENT) {
		out->record = intended(arena, call);
		return true;
	}
	if (call->verb == JOURNAL_CLOSE)
		out->keep = JOURNAL_DELETE;
	return dynamodb_record_of_item(arena, item, &out->record, error);
}

/* The write was refused and this is why; NULL = there is no record. */
static bool judge_refusal(struct arena *arena, const struct journal_call *call, const struct json *item,
                          struct journal_outcome *out, struct error *error)
{
	struct record *found = item == NULL ? NULL : ARENA_NEW(arena, struct record);

	if (found != NULL && !dynamodb_record_of_item(arena, item, found, error))
		return false;
	journal_rule(call, found, arena, out);
	if (out->keep != JOURNAL_KEEP) {
		*out = (struct journal_outcome){.verdict = JOURNAL_NOT_OURS, .keep = JOURNAL_KEEP};
		if (found != NULL)
			out->record = *found;
	}
	return true;
}

bool dynamodb_hear_call(struct arena *arena, const struct journal_call *call, const struct http_response *response,
                        struct journal_outcome *out, bool *needs_read, struct error *error)
{
	struct error refusal = {0};
	const struct json *body;
	const struct json *item;

	*needs_read = false;
	if (!aws_check(dynamodb(), response, &refusal) && !text_equal(refusal.code, REFUSED)) {
		*error = refusal;
		return false;
	}
	body = parse(arena, response, error);
	if (body == NULL)
		return false;
	if (refusal.kind == ERROR_NONE)
		return hear_done(arena, call, body, out, error);
	item = json_get(body, "Item");
	/* None exists, or the back end does not say: the same answer. */
	*needs_read = item == NULL;
	return item == NULL || judge_refusal(arena, call, item, out, error);
}

void dynamodb_ask_read(struct arena *arena, const char *table, const struct journal_call *call,
                       struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	set_key(body, arena, call);
	json_set_bool(body, "ConsistentRead", true);
	aws_json_request(arena, dynamodb(), "GetItem", body, out);
}

bool dynamodb_hear_read(struct arena *arena, const struct journal_call *call, const struct http_response *response,
                        struct journal_outcome *out, struct error *error)
{
	const struct json *body;

	if (!aws_check(dynamodb(), response, error))
		return false;
	body = parse(arena, response, error);
	return body != NULL && judge_refusal(arena, call, json_get(body, "Item"), out, error);
}

void dynamodb_ask_zone(struct arena *arena, const char *table, const char *zone_id, const struct json *start,
                       struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	json_set_string(body, "KeyConditionExpression", "#zoneId = :zone");
	json_set_string(json_set_object(body, "ExpressionAttributeNames"), "#zoneId", "zoneId");
	json_set(json_set_object(body, "ExpressionAttributeValues"), ":zone", dynamodb_string(arena, zone_id));
	json_set_bool(body, "ConsistentRead", true);
	json_set(body, "ExclusiveStartKey", json_copy(arena, start));
	aws_json_request(arena, dynamodb(), "Query", body, out);
}

/* One item that is no record must not keep all others from being put back: it is handed on as what it is. */
static void take_item(struct arena *arena, const struct json *item, struct record *out)
{
	struct error error;

	if (dynamodb_record_of_item(arena, item, out, &error))
		return;
	*out = (struct record){
		.zone_id = json_path_string(item, "zoneId.S"),
		.resource_id = json_path_string(item, "resourceId.S"),
		.unreadable = arena_string(arena, error.message),
	};
	if (!out->resource_id)
		out->resource_id = "";
}

bool dynamodb_hear_records(struct arena *arena, const struct http_response *response, struct records *out,
                           const struct json **next, struct error *error)
{
	const struct json *body;
	const struct json *items;

	if (!aws_check(dynamodb(), response, error))
		return false;
	body = parse(arena, response, error);
	if (body == NULL)
		return false;
	items = json_get(body, "Items");
	if (json_type(items) != JSON_ARRAY)
		return error_set(error, ERROR_MALFORMED, "dynamodb's answer to Query has no Items");
	for (size_t i = 0; i < json_count(items); i++)
		take_item(arena, json_at(items, i), records_add(out, arena));
	*next = json_get(body, "LastEvaluatedKey");
	return true;
}
