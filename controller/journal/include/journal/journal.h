/*
 * The journal's calls as domain values, and the rule book that says what each does to a record.
 *
 * Table (DynamoDB; see journal/dynamodb.h): partition key zoneId (S), sort key resourceId (S); resourceType (S) is the hash key of the index
 * `resourceType-zoneId-index` (range zoneId, projection ALL). Attributes: removedSubnets L of S, order L of S, state S, owners SS, undone N,
 * unansweredUntil S (absent = none), detail M (with schema N), attempt S, createdAt S, updatedAt S. The region's item is (`#region`, `active`): one
 * string-set attribute per zone, "zone:<id>", of the owners that hold it.
 *
 *   intent   put the record                                              only if none exists
 *   join     add me to owners                                            exists, not Restoring (a Restoring one untouched 10 min is Applied again)
 *   extend   removedSubnets := new, state := Intent, attempt := mine     removedSubnets = old (as sets), I am in owners, not Restoring
 *   redo     undone + 1, state := Intent, attempt := mine                I am in owners, not Restoring
 *   done     state := Settled or Applied                                 attempt = mine, not Restoring; never written twice
 *   leave    remove me from owners, unansweredUntil := max               I am in it and not the last
 *   restore  state := Restoring, attempt := mine, unansweredUntil := max owners = {me}
 *   close    delete                                                      Restoring, owners = {me}, attempt = mine, unansweredUntil past
 *
 * Every update is conditional on existence: a ghost is never created. A refused write comes back with the record that refused it and is judged
 * by the rule (by owners and state, then by attempt: our own lost answer is a success) before it is called a conflict.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "domain/record.h"

enum journal_verb {
	JOURNAL_INTENT,
	JOURNAL_JOIN,
	JOURNAL_EXTEND,
	JOURNAL_REDO,
	JOURNAL_DONE,
	JOURNAL_LEAVE,
	JOURNAL_RESTORE,
	JOURNAL_CLOSE,
};

const char *journal_verb_name(enum journal_verb verb); /* "intent" */

struct journal_call {
	enum journal_verb verb;
	const char *zone_id;
	const char *resource_id;
	const char *owner;   /* me */
	const char *attempt; /* mine */
	struct wallclock now;
	/*
	 * INTENT: what to put (state as given: a node's copy is put Settled). The others: the record as last read or heard, resource_id NULL when
	 * not known. DynamoDB's updates cannot depend on what they find: JOIN of a Restoring record, and DONE, LEAVE and RESTORE where the record
	 * already has a later unanswered_until, are only possible for one who has read it (else NOT_OURS, with the record).
	 */
	struct record record;
	struct string_list removed_old; /* EXTEND: what must be there, in any order */
	struct string_list removed_new; /* EXTEND */
	enum record_state done_state;   /* DONE: RECORD_SETTLED or RECORD_APPLIED */
	int64_t undone_by; /* REDO: what is added to `undone`; 1, or more where the service itself would undo it again */
	struct wallclock
		unanswered_until; /* DONE, LEAVE, RESTORE: at least so long an update may still land; 0 = no claim */
};

enum journal_verdict {
	JOURNAL_DONE_NOW, /* the rule's effect is there */
	JOURNAL_ALREADY,  /* it was there: our own lost answer, or nothing to do (DONE when it is Settled; CLOSE of none) */
	JOURNAL_EXISTS,   /* INTENT: an open record of ours exists: look at it and decide afresh */
	JOURNAL_FOREIGN,  /* INTENT: others own it and not we: join */
	JOURNAL_RESTORING,  /* somebody is putting it back: wait (JOIN again once it is untouched for 10 min) */
	JOURNAL_STILL_HELD, /* RESTORE, CLOSE: others own it too: leave */
	JOURNAL_LAST_OWNER, /* LEAVE: nobody else is left: restore */
	JOURNAL_NOT_OURS, /* we are not among the owners, the attempt is another's, or the record is not as read: decide afresh */
	JOURNAL_UNANSWERED, /* CLOSE: an update may still land, see record.unanswered_until */
	JOURNAL_ABSENT,     /* there is no such record */
};

const char *journal_verdict_name(enum journal_verdict verdict);

enum journal_keep { JOURNAL_KEEP, JOURNAL_STORE, JOURNAL_DELETE };

struct journal_outcome {
	enum journal_verdict verdict;
	enum journal_keep keep;
	struct record record; /* after the call (STORE, KEEP); for DELETE as it was. resource_id NULL = none */
};

/*
 * The rule book. `found` NULL = none exists. Pure; the outcome borrows from both and allocates in `arena`. Memory and SQLite back ends run it inside
 * a transaction; DynamoDB sends it as a condition and runs it on the refused item. A test holds expression and function equal.
 */
void journal_rule(const struct journal_call *call, const struct record *found, struct arena *arena,
                  struct journal_outcome *out);

#endif
