/*
 * What the engine owns. Everything here belongs to the engine thread.
 */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "base/log.h"
#include "base/metric.h"
#include "budgets.h"
#include "cluster.h"
#include "engine/engine.h"
#include "exchange.h"
#include "kube/lease.h"
#include "place.h"
#include "process.h"
#include "waiting.h"

struct evacuation;

/* Calls to the API server at once, the urgent ones aside. */
#define KUBE_IN_FLIGHT_MAX 64
/* How often credentials that could not be loaded are tried again. */
#define CREDENTIALS_RETRY_MS 30000

struct engine {
	const struct engine_settings *settings;
	struct client *client;
	struct arena arena; /* what lives as long as the engine */
	bool moved;         /* something changed in this turn: turn again before waiting */
	uint64_t attempts;  /* numbers the journal's attempts of this process */

	struct exchange *exchanges; /* all that have not ended */
	struct waiting waiting;     /* queued, not before their time */
	struct ready_line ready;    /* queued and due: whatever does not go to the API server, and what is urgent */
	struct ready_line ready_kube;
	uint64_t told; /* answers given so far */
	size_t kube_in_flight;
	struct inquiry *looks; /* under way */

	struct arena credentials_arena;
	struct aws_credentials credentials;
	bool have_credentials;
	struct error credentials_error;
	struct instant credentials_due;

	struct place *places;
	struct cluster cluster;
	struct budgets budgets;
	size_t evictions;             /* under way, over all nodes */
	struct instant evictions_due; /* the API server was busy: none before */
	int evictions_busy;           /* how often in a row it was */
	struct evacuation *evacuations;

	struct lease lease;
	struct exchange *lease_exchange;
	bool lease_fresh; /* on a new connection next time */
	bool was_leading;
	bool proved; /* a change has finished since the start, or an observation found none half done */

	struct metrics *metrics;
	struct instant publish_due;
	bool published_ready;
	bool published_leading;
	struct wallclock acting_since;

	bool stopping;
	bool releasing;
	bool ended;
	int exit_code;
	struct instant stop_by;
};

struct instant engine_now(const struct engine *engine);
struct wallclock engine_wall(const struct engine *engine);
uint32_t engine_random(struct engine *engine);

/* May something that changes the world be sent now? */
bool engine_may_act(struct engine *engine);

/* Read credentials (again). False with engine->credentials_error. */
bool engine_load_credentials(struct engine *engine);

/* "<identity>/<lease transitions>/<n>": who wrote a record. In `arena`, another one at each call. */
const char *engine_new_attempt(struct engine *engine, struct arena *arena);

/* Was a record written by this process, under this lease? */
bool engine_wrote(const struct engine *engine, const char *attempt);

/* The lease was taken (or the process began) at: a foreign write signed before can land until 5 min after this. */
struct wallclock engine_acting_since(const struct engine *engine);

#endif
