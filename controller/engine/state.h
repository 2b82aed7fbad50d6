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
#include "hold.h"
#include "identity.h"
#include "kube/lease.h"
#include "login.h"
#include "orphans.h"
#include "place.h"
#include "process.h"
#include "retry_quota.h"
#include "waiting.h"
#include "window.h"
#include "yield.h"

struct evacuation;

/* Calls to the API server at once, the urgent ones aside. */
#define KUBE_IN_FLIGHT_MAX 64

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
	struct holds holds;
	size_t kube_in_flight;
	size_t signed_in_flight; /* calls to AWS */
	struct window kube_window;
	struct inquiry *looks; /* under way */

	struct identity identity;
	struct http_tls aws_tls;
	int64_t clock_offset_us;      /* AWS's time less this machine's, where that matters (clock.h) */
	struct instant clock_set_at;  /* 0 = never */
	bool clock_known;             /* AWS has said what time it is */
	struct instant clock_seen_at; /* when this machine's clock was last looked at, and what it showed */
	struct wallclock clock_seen;
	struct login login;
	struct retry_quota kube_quota;
	struct instant files_forced; /* when credentials on disk were last read out of turn */
	struct instant files_told;   /* when a failure to read them was last told */
	struct instant events_told;  /* when it was last told that an event could not be written */
	struct yield yield;

	struct place *places;
	struct cluster cluster;
	struct budgets budgets;
	size_t evictions;             /* under way, over all nodes */
	struct instant evictions_due; /* the API server was busy: none before */
	int evictions_busy;           /* how often in a row it was */
	struct evacuation *evacuations;
	struct orphans orphans;

	struct lease lease;
	struct exchange *lease_exchange;
	bool lease_fresh; /* on a new connection next time */
	bool was_leading;
	bool proved; /* a change has finished since the start, or an observation found none half done */

	struct metrics *metrics;
	struct instant publish_due;
	bool published_ready;
	bool published_leading;
	struct instant acting_since;

	bool stopping;
	bool releasing;
	bool ended;
	int exit_code;
	struct instant stop_by;
};

struct instant engine_now(const struct engine *engine);
/* This machine's time, corrected where AWS's differs much (clock.h). */
struct wallclock engine_wall(const struct engine *engine);
uint32_t engine_random(struct engine *engine);

/* May something that changes the world be sent now? */
bool engine_may_act(struct engine *engine);

/* "<identity>/<lease transitions>/<n>": who wrote a record. In `arena`, another one at each call. */
const char *engine_new_attempt(struct engine *engine, struct arena *arena);

/* The same of a number out of engine->attempts, as long as the lease is the same. */
const char *engine_attempt(const struct engine *engine, uint64_t number, struct arena *arena);

/* Was a record written by this process, under this lease, at its attempt `from` or a later one? */
bool engine_wrote(const struct engine *engine, const char *attempt, uint64_t from);

/* The lease was taken (or the process began) at: a foreign write signed before can land until 5 min after this. */
struct wallclock engine_acting_since(const struct engine *engine);

#endif
