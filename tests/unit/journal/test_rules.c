#include "journal/journal.h"

#include <criterion/criterion.h>

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

TestSuite(rules, .init = start, .fini = end);

static struct journal_outcome judge(const struct journal_call *call, const struct record *found)
{
	struct journal_outcome outcome;

	journal_rule(call, found, &world.arena, &outcome);
	return outcome;
}

static void expect(const struct journal_call *call, const struct record *found, enum journal_verdict verdict)
{
	struct journal_outcome outcome = judge(call, found);

	cr_assert_eq(outcome.verdict, verdict, "%s gives %s, not %s", journal_verb_name(call->verb),
	             journal_verdict_name(outcome.verdict), journal_verdict_name(verdict));
	if (verdict == JOURNAL_DONE_NOW)
		return;
	cr_assert_eq(outcome.keep, JOURNAL_KEEP);
	if (found != NULL)
		cr_assert(records_equal(&outcome.record, found), "the record that refused is told");
}

static struct record record(enum record_state state, const char *owners, const char *attempt)
{
	return world_record(&world, state, owners, attempt);
}

Test(rules, verbs_and_verdicts_have_names)
{
	cr_assert_str_eq(journal_verb_name(JOURNAL_INTENT), "intent");
	cr_assert_str_eq(journal_verb_name(JOURNAL_CLOSE), "close");
	for (int i = JOURNAL_DONE_NOW; i <= JOURNAL_ABSENT; i++)
		cr_assert_not_null(journal_verdict_name((enum journal_verdict)i));
}

Test(rules, none_exists)
{
	static const enum journal_verb verbs[] = {JOURNAL_JOIN, JOURNAL_EXTEND, JOURNAL_REDO,
	                                          JOURNAL_DONE, JOURNAL_LEAVE,  JOURNAL_RESTORE};
	struct journal_call close = world_verb(JOURNAL_CLOSE);

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct journal_call call = world_verb(verbs[i]);

		expect(&call, NULL, JOURNAL_ABSENT);
		cr_assert_null(judge(&call, NULL).record.resource_id, "%s never makes a ghost", journal_verb_name(verbs[i]));
	}
	expect(&close, NULL, JOURNAL_ALREADY);
}

Test(rules, intent_puts_the_record_stamped)
{
	struct journal_call call = world_verb(JOURNAL_INTENT);
	struct journal_outcome outcome;

	call.record = record(RECORD_INTENT, ME, THEIRS);
	outcome = judge(&call, NULL);
	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert_str_eq(outcome.record.attempt, MINE);
	cr_assert_eq(outcome.record.updated_at.us, NOW_US);
	cr_assert_eq(outcome.record.created_at.us, NOW_US - 60 * MINUTE_US);
	call.record.state = RECORD_SETTLED;
	cr_assert_eq(judge(&call, NULL).record.state, RECORD_SETTLED, "a node's copy is put Settled");
}

Test(rules, intent_on_a_record_that_exists)
{
	struct journal_call call = world_verb(JOURNAL_INTENT);
	struct record mine = record(RECORD_INTENT, ME, MINE);
	struct record done = record(RECORD_SETTLED, ME, MINE);
	struct record earlier = record(RECORD_INTENT, ME, THEIRS);
	struct record foreign = record(RECORD_SETTLED, OTHER, THEIRS);
	struct record taken_over = record(RECORD_SETTLED, OTHER, MINE);
	struct record restoring = record(RECORD_RESTORING, OTHER, THEIRS);
	struct record my_restore = record(RECORD_RESTORING, ME, MINE);

	call.record = record(RECORD_INTENT, ME, MINE);
	expect(&call, &mine, JOURNAL_ALREADY);
	expect(&call, &done, JOURNAL_EXISTS);
	expect(&call, &earlier, JOURNAL_EXISTS);
	expect(&call, &foreign, JOURNAL_FOREIGN);
	expect(&call, &taken_over, JOURNAL_FOREIGN);
	expect(&call, &restoring, JOURNAL_RESTORING);
	expect(&call, &my_restore, JOURNAL_RESTORING);
	mine.removed = world_list(&world, "subnet-a9");
	expect(&call, &mine, JOURNAL_EXISTS);
}

Test(rules, join_adds_me_and_nothing_else)
{
	struct journal_call call = world_verb(JOURNAL_JOIN);
	struct record foreign = record(RECORD_INTENT, OTHER, THEIRS);
	struct record shared = record(RECORD_SETTLED, OTHER " " ME, THEIRS);
	struct journal_outcome outcome = judge(&call, &foreign);
	struct record expected = foreign;

	expected.owners = world_list(&world, OTHER " " ME);
	expected.updated_at = call.now;
	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert(records_equal(&outcome.record, &expected));
	cr_assert_eq(foreign.owners.count, (size_t)1, "what was found is left alone");
	expect(&call, &shared, JOURNAL_ALREADY);
}

Test(rules, join_of_a_restoring_record_after_ten_minutes)
{
	struct journal_call call = world_verb(JOURNAL_JOIN);
	struct record restoring = record(RECORD_RESTORING, OTHER, THEIRS);
	struct journal_outcome outcome;

	restoring.updated_at.us = NOW_US - 10 * MINUTE_US;
	expect(&call, &restoring, JOURNAL_RESTORING);
	restoring.updated_at.us--;
	outcome = judge(&call, &restoring);
	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert_eq(outcome.record.state, RECORD_APPLIED);
	cr_assert(string_list_has(&outcome.record.owners, ME));
	restoring.owners = world_list(&world, ME);
	outcome = judge(&call, &restoring);
	cr_assert_eq(outcome.record.state, RECORD_APPLIED);
	cr_assert_eq(outcome.record.owners.count, (size_t)1, "an owner is in it once");
}

Test(rules, extend)
{
	struct journal_call call = world_verb(JOURNAL_EXTEND);
	struct record old = record(RECORD_SETTLED, ME, THEIRS);
	struct record foreign = record(RECORD_SETTLED, OTHER, THEIRS);
	struct record restoring = record(RECORD_RESTORING, ME, MINE);
	struct journal_outcome outcome;

	call.removed_old = world_list(&world, "subnet-a1");
	call.removed_new = world_list(&world, "subnet-a1 subnet-a2");
	outcome = judge(&call, &old);
	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert(string_list_equal(&outcome.record.removed, &call.removed_new));
	cr_assert_eq(outcome.record.state, RECORD_INTENT);
	cr_assert_str_eq(outcome.record.attempt, MINE);
	expect(&call, &outcome.record, JOURNAL_ALREADY);
	outcome.record.attempt = THEIRS;
	expect(&call, &outcome.record, JOURNAL_NOT_OURS);
	expect(&call, &foreign, JOURNAL_NOT_OURS);
	expect(&call, &restoring, JOURNAL_RESTORING);
}

Test(rules, redo_counts_once)
{
	struct journal_call call = world_verb(JOURNAL_REDO);
	struct record settled = record(RECORD_SETTLED, ME, MINE);
	struct record foreign = record(RECORD_SETTLED, OTHER, THEIRS);
	struct record restoring = record(RECORD_RESTORING, ME, THEIRS);
	struct journal_outcome outcome;

	settled.undone_count = 2;
	outcome = judge(&call, &settled);
	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert_eq(outcome.record.undone_count, 3);
	cr_assert_eq(outcome.record.state, RECORD_INTENT);
	expect(&call, &outcome.record, JOURNAL_ALREADY);
	expect(&call, &foreign, JOURNAL_NOT_OURS);
	expect(&call, &restoring, JOURNAL_RESTORING);
	call.undone_by = 4; /* the service itself put it back */
	cr_assert_eq(judge(&call, &settled).record.undone_count, 6);
}

Test(rules, done_is_never_written_twice)
{
	struct journal_call settled = world_verb(JOURNAL_DONE);
	struct journal_call applied = world_verb(JOURNAL_DONE);
	struct record intent = record(RECORD_INTENT, ME, MINE);
	struct record theirs = record(RECORD_INTENT, ME, THEIRS);
	struct record is_applied = record(RECORD_APPLIED, ME, MINE);
	struct record is_settled = record(RECORD_SETTLED, ME, THEIRS);
	struct record restoring = record(RECORD_RESTORING, ME, MINE);

	applied.done_state = RECORD_APPLIED;
	cr_assert_eq(judge(&settled, &intent).record.state, RECORD_SETTLED);
	cr_assert_eq(judge(&applied, &intent).record.state, RECORD_APPLIED);
	cr_assert_eq(judge(&settled, &is_applied).record.state, RECORD_SETTLED);
	expect(&applied, &is_applied, JOURNAL_ALREADY);
	expect(&settled, &is_settled, JOURNAL_ALREADY);
	expect(&applied, &is_settled, JOURNAL_ALREADY);
	expect(&settled, &theirs, JOURNAL_NOT_OURS);
	expect(&settled, &restoring, JOURNAL_RESTORING);
}

Test(rules, a_claim_only_ever_grows)
{
	static const enum journal_verb verbs[] = {JOURNAL_DONE, JOURNAL_RESTORE};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct journal_call call = world_verb(verbs[i]);
		struct record intent = record(RECORD_INTENT, ME, MINE);

		intent.unanswered_until.us = NOW_US + 3 * MINUTE_US;
		cr_assert_eq(judge(&call, &intent).record.unanswered_until.us, NOW_US + 3 * MINUTE_US);
		call.unanswered_until.us = NOW_US + 2 * MINUTE_US;
		cr_assert_eq(judge(&call, &intent).record.unanswered_until.us, NOW_US + 3 * MINUTE_US);
		call.unanswered_until.us = NOW_US + 5 * MINUTE_US;
		cr_assert_eq(judge(&call, &intent).record.unanswered_until.us, NOW_US + 5 * MINUTE_US);
	}
}

Test(rules, a_claim_is_never_lost_because_the_state_is_reached)
{
	struct journal_call done = world_verb(JOURNAL_DONE);
	struct journal_call restore = world_verb(JOURNAL_RESTORE);
	struct record settled = record(RECORD_SETTLED, ME, MINE);
	struct record restoring = record(RECORD_RESTORING, ME, MINE);

	done.unanswered_until.us = restore.unanswered_until.us = NOW_US + 5 * MINUTE_US;
	cr_assert_eq(judge(&done, &settled).keep, JOURNAL_STORE);
	cr_assert_eq(judge(&restore, &restoring).keep, JOURNAL_STORE);
	settled.unanswered_until = restoring.unanswered_until = done.unanswered_until;
	expect(&done, &settled, JOURNAL_ALREADY);
	expect(&restore, &restoring, JOURNAL_ALREADY);
}

Test(rules, the_last_owner_never_leaves)
{
	struct journal_call call = world_verb(JOURNAL_LEAVE);
	struct record shared = record(RECORD_SETTLED, ME " " OTHER, THEIRS);
	struct record alone = record(RECORD_SETTLED, ME, THEIRS);
	struct record foreign = record(RECORD_SETTLED, OTHER, MINE);
	struct journal_outcome outcome = judge(&call, &shared);

	cr_assert_eq(outcome.keep, JOURNAL_STORE);
	cr_assert_eq(outcome.record.owners.count, (size_t)1);
	cr_assert_str_eq(outcome.record.owners.at[0], OTHER);
	cr_assert_eq(outcome.record.state, RECORD_SETTLED);
	cr_assert_str_eq(outcome.record.attempt, THEIRS);
	call.unanswered_until.us = NOW_US + 5 * MINUTE_US;
	cr_assert_eq(judge(&call, &shared).record.unanswered_until.us, call.unanswered_until.us, "its claim stays behind");
	shared.unanswered_until.us = NOW_US + 6 * MINUTE_US;
	cr_assert_eq(judge(&call, &shared).record.unanswered_until.us, shared.unanswered_until.us, "the later one");
	expect(&call, &alone, JOURNAL_LAST_OWNER);
	expect(&call, &foreign, JOURNAL_ALREADY);
}

Test(rules, restore_is_for_the_only_owner)
{
	struct journal_call call = world_verb(JOURNAL_RESTORE);
	struct record alone = record(RECORD_INTENT, ME, THEIRS);
	struct record shared = record(RECORD_SETTLED, ME " " OTHER, MINE);
	struct record foreign = record(RECORD_SETTLED, OTHER, MINE);
	struct record crashed = record(RECORD_RESTORING, ME, THEIRS);
	struct record lost_answer = record(RECORD_RESTORING, ME, MINE);
	struct journal_outcome outcome = judge(&call, &alone);

	cr_assert_eq(outcome.record.state, RECORD_RESTORING);
	cr_assert_str_eq(outcome.record.attempt, MINE);
	expect(&call, &shared, JOURNAL_STILL_HELD);
	expect(&call, &foreign, JOURNAL_NOT_OURS);
	expect(&call, &lost_answer, JOURNAL_ALREADY);
	outcome = judge(&call, &crashed);
	cr_assert_eq(outcome.keep, JOURNAL_STORE, "a new process goes on");
	cr_assert_str_eq(outcome.record.attempt, MINE);
}

Test(rules, close_needs_everything)
{
	struct journal_call call = world_verb(JOURNAL_CLOSE);
	struct record good = record(RECORD_RESTORING, ME, MINE);
	struct record shared = record(RECORD_RESTORING, ME " " OTHER, MINE);
	struct record foreign = record(RECORD_RESTORING, OTHER, MINE);
	struct record settled = record(RECORD_SETTLED, ME, MINE);
	struct record theirs = record(RECORD_RESTORING, ME, THEIRS);

	good.unanswered_until.us = NOW_US - 1;
	cr_assert_eq(judge(&call, &good).keep, JOURNAL_DELETE);
	good.unanswered_until.us = NOW_US;
	expect(&call, &good, JOURNAL_UNANSWERED);
	good.unanswered_until.us = 0;
	cr_assert_eq(judge(&call, &good).keep, JOURNAL_DELETE);
	expect(&call, &shared, JOURNAL_STILL_HELD);
	expect(&call, &foreign, JOURNAL_NOT_OURS);
	expect(&call, &settled, JOURNAL_NOT_OURS);
	expect(&call, &theirs, JOURNAL_NOT_OURS);
}
