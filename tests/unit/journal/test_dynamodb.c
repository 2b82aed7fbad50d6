/*
 * The conditions that are sent against the rule book: every verb on every small record, compared in verdict and in what
 * the table holds afterwards.
 */
#include "journal/dynamodb.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "world.h"

static struct world world;

static void start(void)
{
	world_init(&world);
}

static void end(void)
{
	world_done(&world);
}

TestSuite(dynamodb, .init = start, .fini = end);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const enum record_state STATES[] = {RECORD_INTENT, RECORD_APPLIED, RECORD_SETTLED, RECORD_RESTORING};
static const char *const OWNERS[] = {ME, OTHER, ME " " OTHER};
static const char *const ATTEMPTS[] = {MINE, THEIRS};
static const int64_t UNANSWERED_US[] = {0, NOW_US - 1, NOW_US, NOW_US + 1, NOW_US + 5 * MINUTE_US};
static const char *const REMOVED[] = {"subnet-a1", "subnet-a1 subnet-a2", "subnet-a2 subnet-a1", ""};
static const int64_t TOUCHED_US[] = {NOW_US - MINUTE_US, NOW_US - 10 * MINUTE_US, NOW_US - 10 * MINUTE_US - 1};
static const int64_t CLAIMS_US[] = {0, NOW_US - 1, NOW_US + 1, NOW_US + 5 * MINUTE_US, NOW_US + 9 * MINUTE_US};

/* One call in all its forms; `form` counts them. False when there is no such form. */
static bool make_call(enum journal_verb verb, size_t form, struct journal_call *out)
{
	*out = world_verb(verb);
	switch (verb) {
	case JOURNAL_INTENT:
		out->record = world_record(&world, form == 0 ? RECORD_INTENT : RECORD_SETTLED, ME, THEIRS);
		return form < 2;
	case JOURNAL_EXTEND:
		out->removed_old = world_list(&world, REMOVED[form]);
		out->removed_new = world_list(&world, form == 1 ? "subnet-a1 subnet-a2 subnet-a3" : REMOVED[1]);
		return form < 2;
	case JOURNAL_DONE:
		out->done_state = form % 2 == 0 ? RECORD_SETTLED : RECORD_APPLIED;
		out->unanswered_until.us = CLAIMS_US[form / 2 % COUNT(CLAIMS_US)];
		return form < 2 * COUNT(CLAIMS_US);
	case JOURNAL_RESTORE:
		out->unanswered_until.us = CLAIMS_US[form % COUNT(CLAIMS_US)];
		return form < COUNT(CLAIMS_US);
	default:
		return form < 1;
	}
}

enum { RECORDS = 1 + 4 * 3 * 2 * 5 * 4 * 3 };

/* The n-th small record; false for n = 0: none. */
static bool make_record(size_t n, struct record *out)
{
	if (n-- == 0)
		return false;
	*out = world_record(&world, STATES[n % 4], OWNERS[n / 4 % 3], ATTEMPTS[n / 12 % 2]);
	out->unanswered_until.us = UNANSWERED_US[n / 24 % 5];
	out->removed = world_list(&world, REMOVED[n / 120 % 4]);
	out->updated_at.us = TOUCHED_US[n / 480];
	out->undone_count = (int64_t)(n % 3);
	return true;
}

/* Lists matter to intent and extend, the time of the last touch to join: elsewhere one of each is enough. */
static bool matters(enum journal_verb verb, size_t n)
{
	size_t removed = n == 0 ? 0 : (n - 1) / 120 % 4;
	size_t touched = n == 0 ? 0 : (n - 1) / 480;

	if (removed != 0 && verb != JOURNAL_EXTEND && verb != JOURNAL_INTENT)
		return false;
	return touched == 0 || verb == JOURNAL_JOIN;
}

/* What cannot be said in one expression, unless the record was read before: see journal_call.record. */
static bool needs_reading(const struct journal_call *call, const struct record *found)
{
	if (call->verb == JOURNAL_JOIN)
		return found->state == RECORD_RESTORING;
	if (call->verb != JOURNAL_DONE && call->verb != JOURNAL_RESTORE)
		return false;
	return call->unanswered_until.us != 0 && found->unanswered_until.us >= call->unanswered_until.us;
}

static void check_table(const struct journal_call *call, const struct record *found,
                        const struct journal_outcome *outcome)
{
	struct record there;
	bool exists = world_read(&world, &there);
	const struct record *expected = outcome->keep == JOURNAL_STORE ? &outcome->record : found;

	if (outcome->keep == JOURNAL_DELETE)
		expected = NULL;
	cr_assert_eq(exists, expected != NULL, "%s: the table has %s", journal_verb_name(call->verb),
	             exists ? "one" : "none");
	if (expected != NULL)
		cr_assert(records_equal(&there, expected), "%s stored something else", journal_verb_name(call->verb));
}

/* Returns 1 when the write was refused although the rule allows it, because the record was not read before. */
static size_t compare(const struct journal_call *call, const struct record *found)
{
	struct journal_outcome rule;
	struct journal_outcome heard;
	bool unread;

	if (found == NULL)
		world_clear(&world);
	else
		world_prepare(&world, found);
	journal_rule(call, found, &world.arena, &rule);
	world_call(&world, call, &heard);
	unread = rule.keep != JOURNAL_KEEP && heard.verdict == JOURNAL_NOT_OURS && call->record.resource_id == NULL &&
	         found != NULL && needs_reading(call, found);
	if (unread)
		rule = (struct journal_outcome){JOURNAL_NOT_OURS, JOURNAL_KEEP, *found};
	cr_assert_eq(heard.verdict, rule.verdict, "%s of %s by %s, %s: table says %s, rule says %s",
	             journal_verb_name(call->verb), found ? record_state_name(found->state) : "none",
	             found ? found->attempt : "-", found ? string_list_join(&found->owners, &world.arena, "+") : "-",
	             journal_verdict_name(heard.verdict), journal_verdict_name(rule.verdict));
	cr_assert_eq(heard.keep, rule.keep);
	cr_assert_eq(heard.record.resource_id == NULL, rule.record.resource_id == NULL);
	if (rule.record.resource_id != NULL)
		cr_assert(records_equal(&heard.record, &rule.record), "%s: another record", journal_verb_name(call->verb));
	check_table(call, found, &rule);
	return unread;
}

/* Where a store is slow only every n-th is compared, another one for each form of each verb. */
static size_t stride(void)
{
	const char *value = getenv("ZONEVAC_JOURNAL_STRIDE");

	return value == NULL ? 1 : (size_t)atoi(value);
}

/* All forms of a verb on the n-th record, with and without having read it. */
static void compare_all(enum journal_verb verb, size_t n, size_t *compared, size_t *unread)
{
	struct journal_call call;

	for (size_t form = 0; make_call(verb, form, &call); form++) {
		struct record found;
		bool exists = make_record(n, &found);

		if ((n + form + (size_t)verb) % stride() != 0)
			continue;
		*unread += compare(&call, exists ? &found : NULL);
		++*compared;
		if (exists && verb != JOURNAL_INTENT) {
			call.record = found;
			cr_assert_eq(compare(&call, &found), (size_t)0);
			++*compared;
		}
		arena_reset(&world.arena);
	}
}

static void compare_everything(bool items_on_refusal)
{
	size_t compared = 0;
	size_t unread = 0;

	dynamo_set_items_on_refusal(world.dynamo, items_on_refusal);
	for (int verb = JOURNAL_INTENT; verb <= JOURNAL_CLOSE; verb++)
		for (size_t n = 0; n < RECORDS; n++)
			if (matters((enum journal_verb)verb, n))
				compare_all((enum journal_verb)verb, n, &compared, &unread);
	fprintf(stderr, "journal: %zu combinations compared (%s), %zu refused for want of a reading\n", compared,
	        items_on_refusal ? "refusals carry the item" : "refusals are read", unread);
	cr_assert_gt(compared, 4000 / stride());
	cr_assert_gt(unread, (size_t)0);
}

Test(dynamodb, expressions_and_rules_are_equal)
{
	compare_everything(true);
}

Test(dynamodb, expressions_and_rules_are_equal_when_refusals_have_no_item)
{
	compare_everything(false);
}

Test(dynamodb, a_retried_write_is_recognised_as_our_own)
{
	struct journal_call call = world_verb(JOURNAL_INTENT);
	struct journal_outcome outcome;

	call.record = world_record(&world, RECORD_INTENT, ME, MINE);
	world_call(&world, &call, &outcome);
	cr_assert_eq(outcome.verdict, JOURNAL_DONE_NOW);
	world_call(&world, &call, &outcome);
	cr_assert_eq(outcome.verdict, JOURNAL_ALREADY);
	call = world_verb(JOURNAL_RESTORE);
	world_call(&world, &call, &outcome);
	world_call(&world, &call, &outcome);
	cr_assert_eq(outcome.verdict, JOURNAL_ALREADY);
	call = world_verb(JOURNAL_CLOSE);
	world_call(&world, &call, &outcome);
	cr_assert_eq(outcome.keep, JOURNAL_DELETE);
	cr_assert_str_eq(outcome.record.resource_id, RESOURCE);
	world_call(&world, &call, &outcome);
	cr_assert_eq(outcome.verdict, JOURNAL_ALREADY);
}

Test(dynamodb, a_call_asks_for_the_old_item)
{
	struct journal_call call = world_verb(JOURNAL_DONE);
	struct http_request request;

	dynamodb_ask_call(&world.arena, TABLE, &call, &request);
	cr_assert_str_eq(request.operation, "UpdateItem");
	cr_assert_str_eq(http_header(&request.headers, "x-amz-target"), "DynamoDB_20120810.UpdateItem");
	cr_assert_not_null(strstr(request.body, "\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\""));
	cr_assert_not_null(strstr(request.body, "\"ReturnValues\":\"ALL_NEW\""));
}

static enum error_kind error_of(int status, const char *body)
{
	struct journal_call call = world_verb(JOURNAL_DONE);
	struct http_response response = world_answer(status, body);
	struct journal_outcome outcome;
	struct error error = {0};
	bool needs_read;

	cr_assert_not(dynamodb_hear_call(&world.arena, &call, &response, &outcome, &needs_read, &error));
	return error.kind;
}

Test(dynamodb, other_answers_are_errors)
{
	cr_assert_eq(
		error_of(400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\",\"message\":\"no\"}"),
		ERROR_ABSENT);
	cr_assert_eq(
		error_of(400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ThrottlingException\",\"message\":\"slow\"}"),
		ERROR_THROTTLED);
	cr_assert_eq(error_of(500, "{}"), ERROR_SERVER);
	cr_assert_eq(error_of(200, "<html>"), ERROR_MALFORMED);
	cr_assert_eq(error_of(200, "{}"), ERROR_MALFORMED);
	cr_assert_eq(error_of(200, "{\"Attributes\":{\"zoneId\":{\"S\":\"z\"}}}"), ERROR_MALFORMED);
}

/* `count` records r000, r001, … */
static void fill(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct journal_call call = world_verb(JOURNAL_INTENT);
		struct journal_outcome outcome;

		call.resource_id = arena_printf(&world.arena, "r%03zu", i);
		call.record = world_record(&world, RECORD_INTENT, ME, MINE);
		world_call(&world, &call, &outcome);
	}
}

static size_t read_zone(struct records *records)
{
	const struct json *next = NULL;
	size_t pages = 0;

	do {
		struct http_request request;
		struct http_response response;
		struct error error = {0};

		dynamodb_ask_zone(&world.arena, TABLE, ZONE, next, &request);
		response = world_send(&world, &request);
		cr_assert(dynamodb_hear_records(&world.arena, &response, records, &next, &error), "%s", error.message);
		pages++;
	} while (next != NULL);
	return pages;
}

Test(dynamodb, a_zone_is_read_to_the_last_page)
{
	struct records records = {0};

	dynamo_set_page(world.dynamo, 3);
	fill(9);
	cr_assert_eq(read_zone(&records), (size_t)4, "the last page is full and the one behind it is empty");
	cr_assert_eq(records.count, (size_t)9);
	cr_assert_str_eq(records.at[0].resource_id, "r000");
	cr_assert_str_eq(records.at[8].resource_id, "r008");
}

Test(dynamodb, an_item_that_is_no_record_is_handed_on_as_what_it_is)
{
	struct http_response response = world_answer(
		200,
		"{\"Items\":[{\"zoneId\":{\"S\":\"z\"},\"resourceId\":{\"S\":\"arn:x\"},\"resourceType\":{\"S\":\"k\"}}],\"Count\":1}");
	struct records records = {0};
	struct error error = {0};
	const struct json *next;

	cr_assert(dynamodb_hear_records(&world.arena, &response, &records, &next, &error), "%s", error.message);
	cr_assert_eq(records.count, (size_t)1);
	cr_assert_str_eq(records.at[0].zone_id, "z");
	cr_assert_str_eq(records.at[0].resource_id, "arn:x");
	cr_assert_null(records.at[0].resource_type);
	cr_assert_not_null(strstr(records.at[0].unreadable, "removedSubnets"), "%s", records.at[0].unreadable);
}

Test(dynamodb, a_query_needs_items)
{
	struct http_response response = world_answer(200, "{}");
	struct records records = {0};
	struct error error = {0};
	const struct json *next;

	cr_assert_not(dynamodb_hear_records(&world.arena, &response, &records, &next, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}
