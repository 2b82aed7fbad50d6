#include "identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "aws/sigv4.h"
#include "aws/sts.h"
#include "exchange.h"
#include "requeue.h"
#include "state.h"

#define ARENA_MAX (4u << 20)
/* The shared files are read for each profile of a chain. */
#define TRYING_MAX (64u << 20)
#define AGAIN_MS 1000
#define WHOSE_DEADLINE_MS 5000
#define AGAIN_MAX_MS 60000
#define REFUSED_MS 20000
/* The wall has been set anew when it has moved by so much against instants. */
#define WALL_MOVED_MS 60000
/* A failure that goes on is told again so often. */
#define TELL_EVERY_MS 60000

void identity_init(struct identity *identity)
{
	arena_init(&identity->kept, "credentials", ARENA_MAX);
	arena_init(&identity->trying, "credentials being fetched", TRYING_MAX);
}

void identity_done(struct identity *identity)
{
	arena_done(&identity->trying);
	arena_done(&identity->kept);
}

static void ended(struct engine *engine)
{
	engine->identity.exchange = NULL;
	engine->identity.refused = false;
	engine->moved = true;
}

static const char *expiry_text(const struct identity *identity, struct arena *arena)
{
	return identity->credentials.expires_at.us ? wallclock_rfc3339(identity->credentials.expires_at, arena) : NULL;
}

static void failed(struct engine *engine, const struct error *error)
{
	struct identity *identity = &engine->identity;
	struct instant now = engine_now(engine);

	ended(engine);
	identity->error = *error;
	identity->failures++;
	identity->due =
		instant_after(now, requeue_backoff_ms(identity->failures, AGAIN_MS, AGAIN_MAX_MS, engine_random(engine)));
	if (identity->failures > 1 && instant_between_ms(identity->told_at, now) < TELL_EVERY_MS)
		return;
	identity->told_at = now;
	log_event(LOG_WARN,
	          identity->have ? "AWS credentials could not be refreshed; those there are stay in use while they are good"
	                         : "no AWS credentials",
	          "error", error->message, "expires", expiry_text(identity, &identity->trying), NULL);
}

static int64_t wall_ahead_ms(const struct engine *engine)
{
	return engine_wall(engine).us / 1000 - engine_now(engine).ms;
}

/* When to fetch them anew: their end stands on the wall, waiting is by instants. */
static void reckon(struct engine *engine)
{
	struct identity *identity = &engine->identity;
	struct instant now = engine_now(engine);
	struct wallclock wall = engine_wall(engine);
	struct wallclock obtained = wallclock_after_ms(wall, -instant_between_ms(identity->got_at, now));
	int64_t again_ms = aws_credentials_refresh_in_ms(&identity->credentials, obtained, wall, engine_random(engine));

	identity->due = again_ms < 0 ? (struct instant){INT64_MAX} : instant_after(now, again_ms);
	identity->wall_ahead_ms = wall_ahead_ms(engine);
}

/* Somebody has set the machine's clock, or AWS's time has taken its place (clock.h). */
static void follow_wall(struct engine *engine)
{
	struct identity *identity = &engine->identity;

	if (!identity->have || identity->failures > 0 || identity->refused ||
	    llabs(wall_ahead_ms(engine) - identity->wall_ahead_ms) < WALL_MOVED_MS)
		return;
	reckon(engine);
	if (aws_credentials_expired(&identity->credentials, engine_wall(engine)))
		identity->due = engine_now(engine);
}

static void succeeded(struct engine *engine)
{
	struct identity *identity = &engine->identity;
	const struct aws_credentials *fresh = &identity->session.credentials;
	bool first = !identity->have || identity->failures > 0;

	ended(engine);
	arena_reset(&identity->kept);
	aws_credentials_copy(&identity->kept, fresh, &identity->credentials);
	identity->have = true;
	identity->failures = 0;
	identity->error = (struct error){0};
	identity->got_at = engine_now(engine);
	reckon(engine);
	log_event(first ? LOG_INFO : LOG_DEBUG, "AWS credentials fetched", "source", identity->credentials.source,
	          "expires", expiry_text(identity, &identity->trying), NULL);
}

static void go_on(struct engine *engine);

static void heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;

	(void)exchange;
	engine->identity.exchange = NULL;
	credential_session_hear(&engine->identity.session, answer->wall, answer->response);
	go_on(engine);
}

void identity_note_account(struct engine *engine, const char *account_id)
{
	struct identity *identity = &engine->identity;

	if (!identity->account_id[0])
		snprintf(identity->account_id, sizeof(identity->account_id), "%s", account_id);
}

/* Another account shows none of what is held here. Only what STS says for certain keeps them from being used. */
static void heard_whose(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct identity *identity = &engine->identity;
	const char *account_id = NULL;
	struct error error;

	(void)exchange;
	identity->exchange = NULL;
	if (!sts_hear_identity(answer->arena, answer->response, &account_id, &error) ||
	    text_equal(account_id, identity->account_id)) {
		succeeded(engine);
		return;
	}
	error_set(&error, ERROR_REJECTED,
	          "AWS credentials from %s: they are of account %s now, and this process works in account %s; give back "
	          "those of %s, or start it anew",
	          identity->session.credentials.source, account_id, identity->account_id, identity->account_id);
	failed(engine, &error);
}

static void ask_whose(struct engine *engine)
{
	struct identity *identity = &engine->identity;
	const struct engine_settings *settings = engine->settings;
	struct exchange *exchange;
	struct aws_endpoint sts;
	struct sigv4_scope scope = {
		.credentials = &identity->session.credentials, .signing_name = "sts", .at = engine_wall(engine)};
	struct error error;

	if (!aws_endpoint_of(&identity->trying, aws_service_find("sts"), settings->region, settings->environment, &sts,
	                     &error)) {
		succeeded(engine);
		return;
	}
	scope.region = sts.signing_region;
	exchange = exchange_new(engine, heard_whose, engine);
	exchange->ask.what = ASK_DIRECT;
	sts_ask_identity(&exchange->arena, &exchange->ask.request);
	exchange->ask.request.deadline_ms = WHOSE_DEADLINE_MS;
	exchange->ask.request.url = aws_endpoint_url(&exchange->arena, &sts, &exchange->ask.request);
	sigv4_sign(&exchange->arena, &scope, sts.host, &exchange->ask.request);
	identity->exchange = exchange;
	exchange_queue(engine, exchange);
}

static bool may_be_others(const struct identity *identity)
{
	return identity->account_id[0] &&
	       !text_equal(identity->credentials.access_key_id, identity->session.credentials.access_key_id);
}

static void go_on(struct engine *engine)
{
	struct identity *identity = &engine->identity;
	struct exchange *exchange = exchange_new(engine, heard, engine);
	struct credential_ask ask;
	enum credential_want want = credential_session_ask(&identity->session, engine_wall(engine), &exchange->arena, &ask);

	if (want == CREDENTIAL_HAVE || want == CREDENTIAL_FAILED) {
		exchange_cancel(engine, exchange);
		if (want == CREDENTIAL_HAVE && may_be_others(identity))
			ask_whose(engine);
		else if (want == CREDENTIAL_HAVE)
			succeeded(engine);
		else
			failed(engine, &identity->session.error);
		return;
	}
	exchange->ask.what = want == CREDENTIAL_WANT_CALL ? ASK_DIRECT : ASK_PROGRAM;
	exchange->ask.request = ask.request;
	exchange->ask.program = ask.program;
	exchange->ask.due = instant_after(engine_now(engine), ask.after_ms);
	identity->exchange = exchange;
	exchange_queue(engine, exchange);
}

static void begin(struct engine *engine)
{
	struct identity *identity = &engine->identity;
	const struct engine_settings *settings = engine->settings;
	struct error error;

	identity->tried_at = engine_now(engine);
	arena_reset(&identity->trying);
	if (!credential_plan_make(&identity->trying, settings->environment, settings->region, settings->identity,
	                          &identity->plan, &error)) {
		failed(engine, &error);
		return;
	}
	credential_session_init(&identity->session, &identity->trying, &identity->plan);
	go_on(engine);
}

void identity_turn(struct engine *engine)
{
	struct identity *identity = &engine->identity;

	if (identity->exchange)
		return;
	follow_wall(engine);
	if (instant_reached(identity->due, engine_now(engine)))
		begin(engine);
}

struct instant identity_due(const struct engine *engine, struct instant otherwise)
{
	return engine->identity.exchange ? otherwise : instant_earlier(otherwise, engine->identity.due);
}

bool identity_may_sign(struct engine *engine)
{
	const struct identity *identity = &engine->identity;

	return identity->have && !identity->refused &&
	       !aws_credentials_expired(&identity->credentials, engine_wall(engine));
}

void identity_refused(struct engine *engine, struct instant sent_at, const struct error *error)
{
	struct identity *identity = &engine->identity;
	struct instant now = engine_now(engine);

	/* It says nothing of what has been fetched since; and a source that fails is tried as often as is good already. */
	if (identity->refused || (!identity->exchange && identity->failures == 0 && sent_at.ms <= identity->tried_at.ms))
		return;
	identity->refused = true;
	identity->refusal = *error;
	if (identity->exchange)
		return;
	if (identity->failures > 0) { /* its next try is due as it is; calls wait for its end, and then one tries */
		identity->refusals += identity->refusals == 0;
		return;
	}
	identity->due = now;
	if (identity->refusals > 0) {
		int64_t wait_ms = requeue_backoff_ms(identity->refusals, REFUSED_MS, AGAIN_MAX_MS, engine_random(engine));

		identity->due = instant_after(identity->forced_at, wait_ms);
		if (instant_reached(identity->due, now))
			identity->due = now;
	}
	identity->refusals++;
	identity->forced_at = identity->due;
}

bool identity_on_trial(const struct engine *engine)
{
	return engine->identity.refusals > 0;
}

void identity_accepted(struct engine *engine, struct instant sent_at)
{
	if (sent_at.ms > engine->identity.tried_at.ms)
		engine->identity.refusals = 0;
}

const struct error *identity_trouble(struct engine *engine)
{
	struct identity *identity = &engine->identity;

	if (identity_may_sign(engine))
		return NULL;
	if (identity->error.kind != ERROR_NONE)
		return &identity->error;
	return identity->refusals > 1 ? &identity->refusal : NULL;
}
