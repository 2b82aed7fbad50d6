#include "login.h"

#include "exchange.h"
#include "kube/config.h"
#include "requeue.h"
#include "state.h"

/* Between two runs at least, whatever life it gives to what it hands out. */
#define AGAIN_MS 2000
#define AGAIN_MAX_MS 60000
#define FORCE_EVERY_MS 10000
/* How often the time of what there is is looked at. */
#define LOOK_EVERY_MS 5000

static void heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;
	struct login *login = &engine->login;
	struct error error;
	bool first = !engine->settings->kube->login.good || login->failures > 0;
	const struct wallclock *expires;

	(void)exchange;
	login->exchange = NULL;
	login->refused = false;
	engine->moved = true;
	if (kube_login_hear(engine->settings->kube, answer->wall, answer->response, &error)) {
		login->failures = 0;
		login->due = instant_after(answer->now, AGAIN_MS);
		expires = &engine->settings->kube->login.expires_at;
		log_event(first ? LOG_INFO : LOG_DEBUG, "logged in to the API server", "plugin",
		          engine->settings->kube->exec->argv[0], "expires",
		          expires->us ? wallclock_rfc3339(*expires, answer->arena) : NULL, NULL);
		return;
	}
	login->due = instant_after(answer->now,
	                           requeue_backoff_ms(++login->failures, AGAIN_MS, AGAIN_MAX_MS, engine_random(engine)));
	log_event(LOG_WARN,
	          engine->settings->kube->login.good
	              ? "the exec plugin of the kubeconfig failed; what it gave before stays in use"
	              : "the exec plugin of the kubeconfig failed: there is nothing to go to the API server with",
	          "error", error.message, NULL);
}

/* A run that failed is made up for: what there is may have been refused, and may have no end of its own. */
static bool is_wanted(const struct engine *engine)
{
	return engine->login.refused || engine->login.failures > 0 ||
	       kube_login_due(engine->settings->kube, engine_wall(engine));
}

void login_turn(struct engine *engine)
{
	const struct kube_config *config = engine->settings->kube;
	struct login *login = &engine->login;
	struct exchange *exchange;

	if (!config->exec || login->exchange || !instant_reached(login->due, engine_now(engine)) || !is_wanted(engine))
		return;
	exchange = exchange_new(engine, heard, engine);
	exchange->ask.what = ASK_PROGRAM;
	kube_login_program(config, &exchange->arena, &exchange->ask.program);
	login->ran_at = engine_now(engine);
	login->exchange = exchange;
	exchange_queue(engine, exchange);
}

struct instant login_due(const struct engine *engine, struct instant otherwise)
{
	const struct login *login = &engine->login;
	struct instant now = engine_now(engine);

	if (!engine->settings->kube->exec || login->exchange)
		return otherwise;
	return instant_earlier(otherwise,
	                       instant_reached(login->due, now) ? instant_after(now, LOOK_EVERY_MS) : login->due);
}

bool login_may_go(const struct engine *engine)
{
	return !engine->settings->kube->exec || (engine->settings->kube->login.good && !engine->login.refused);
}

void login_refused(struct engine *engine, struct instant sent_at)
{
	struct login *login = &engine->login;
	struct instant now = engine_now(engine);

	if (!engine->settings->kube->exec)
		return;
	if (!login->exchange && (login->failures > 0 || sent_at.ms < login->ran_at.ms ||
	                         instant_between_ms(login->ran_at, now) < FORCE_EVERY_MS))
		return; /* it says nothing of the last run; and running it again and again helps nobody */
	login->refused = true;
}
