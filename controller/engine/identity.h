/*
 * Who we are to AWS at this moment: credentials fetched, kept, and fetched anew in time.
 *
 *   due ─► plan (variables, files) ─► session's calls ─► kept until the next due time
 *                                         └─ failed: what there is stays in use while it is good; again after 1 s … 60 s
 *   a service refuses them (ExpiredToken, InvalidClientTokenId) ─► fetched at once, once for all calls that heard it; they wait for the end of that
 *   try. Refused again before anything was accepted: not before 10 s … 60 s, and then one call tries them first
 *
 * What has expired is not sent: it would be refused, and each refusal counts. Calls wait until there is something to sign with; the reason is
 * identity_trouble's, for the status. Credentials of instance metadata may outlive their end (aws_credentials.may_outlive).
 */
#ifndef ENGINE_IDENTITY_H
#define ENGINE_IDENTITY_H

#include "aws/credential_session.h"

struct engine;
struct exchange;

struct identity {
	struct arena kept; /* what is in use */
	struct aws_credentials credentials;
	bool have;
	struct arena trying; /* of the try under way */
	struct credential_plan plan;
	struct credential_session session;
	struct exchange *exchange; /* of the try under way; NULL = none */
	char account_id[16];       /* the one that this process works in, for good; "" = not known yet */
	bool refused;              /* a service has said that they are no longer good; until the next try has ended */
	struct error refusal;      /* its words */
	int refusals;              /* in a row, without a call that was accepted */
	struct instant forced_at;  /* when the last try because of one was due */
	struct instant tried_at;   /* when the last try began */
	struct instant got_at;     /* when those there are were had */
	struct instant due;
	int64_t wall_ahead_ms; /* of instants, when `due` was reckoned */
	int failures;
	struct error error; /* why the last try failed; kind ERROR_NONE = it did not */
	struct instant told_at;
};

void identity_init(struct identity *identity);
void identity_done(struct identity *identity);

/* Fetch them if it is time. */
void identity_turn(struct engine *engine);
struct instant identity_due(const struct engine *engine, struct instant otherwise);

/* Whose account it is, as STS says: what is fetched from now on has to be of the same. */
void identity_note_account(struct engine *engine, const char *account_id);

/* Is there something to sign with now? */
bool identity_may_sign(struct engine *engine);

/* Have they been refused, and nothing been accepted since? Then one call at a time is enough to find out. */
bool identity_on_trial(const struct engine *engine);

/* What a service says of what a call sent at `sent_at` was signed with: it is no longer good, or it is. */
void identity_refused(struct engine *engine, struct instant sent_at, const struct error *error);
void identity_accepted(struct engine *engine, struct instant sent_at);

/* Why there is nothing to sign with, or NULL. */
const struct error *identity_trouble(struct engine *engine);

#endif
