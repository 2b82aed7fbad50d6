/*
 * One ask on its way: queued, waiting for its time, its credentials, its place in the limiter; in flight; answered.
 *
 * Everything that is policy happens here, once: due -> render -> lease check -> signing with current credentials -> limiter -> submit -> classify ->
 * repeat or tell. A listener hears an error only when requeue gives up.
 *
 * Ownership: an exchange and its arena belong to the engine from exchange_new on and end after `hear`, or with exchange_cancel.
 * `hear` is never called within exchange_queue.
 */
#ifndef ENGINE_EXCHANGE_H
#define ENGINE_EXCHANGE_H

#include "journal/journal.h"
#include "net/client.h"

struct engine;
struct place;
struct item;
struct inquiry;
struct limiter;

enum ask_what {
	ASK_HTTP,
	ASK_JOURNAL,
	ASK_LOOK,   /* gathered with others of its kind into one request */
	ASK_WAIT,   /* nothing but time */
	ASK_DIRECT, /* a request that is ready but for its way (url and signature are there); the answer is told unjudged */
	ASK_PROGRAM, /* another program, likewise */
};

struct ask {
	enum ask_what what;
	struct place *place;         /* AWS and journal: which region; NULL for Kubernetes */
	struct instant due;          /* not before */
	struct instant fresh_until;  /* not sent after (ERROR_STALE): built from a read of that age; 0 = any time */
	bool effect;                 /* changes something: needs the lease; silence is told, not repeated */
	bool once;                   /* never repeated */
	bool urgent;                 /* lease and watches: not held back by others */
	struct http_request request; /* HTTP */
	struct journal_call call;    /* JOURNAL */
	struct item *item;           /* LOOK */
	struct program program;      /* PROGRAM */
};

struct answer {
	const struct error *error; /* NULL: fine (DIRECT, PROGRAM: always; see the response) */
	const struct http_response *response;
	const struct journal_outcome *journal;
	const struct resource *resource; /* LOOK; NULL = the answer does not mention it */
	struct inquiry *inquiry;         /* LOOK; what the resource lives in: hold it to keep the resource */
	struct instant now;
	struct instant sent_at;
	struct wallclock wall;
	struct wallclock signed_at;
	struct arena *arena; /* the exchange's */
};

struct exchange;
typedef void (*exchange_hear)(void *self, struct exchange *exchange, const struct answer *answer);
typedef void (*exchange_hear_chunk)(void *self, struct exchange *exchange, const char *bytes, size_t length);

enum exchange_state { EXCHANGE_NEW, EXCHANGE_QUEUED, EXCHANGE_LOOKING, EXCHANGE_IN_FLIGHT, EXCHANGE_ENDED };

/* Where a queued exchange stands: waiting for its time, or in the line of its class. */
enum exchange_place { EXCHANGE_NOWHERE, EXCHANGE_WAITING, EXCHANGE_READY };

struct ready_line {
	struct exchange *first;
	struct exchange *last;
};

struct exchange {
	struct exchange *next;
	struct exchange *previous;
	enum exchange_place where;
	size_t waiting_index;
	struct exchange *ready_next;
	struct exchange *ready_previous;
	struct arena arena;
	struct ask ask;
	exchange_hear hear;
	exchange_hear_chunk hear_chunk; /* streams only */
	void *self;
	enum exchange_state state;
	uint64_t call;
	int attempts;
	int quota_taken; /* what its last repeat cost (retry_quota.h) */
	bool reclocked;  /* has been repeated because of our clock */
	bool renewed;    /* has been repeated because of our credentials */
	bool reading;    /* JOURNAL: the refusal carried no item, so it is being read */
	struct limiter *limiter;
	struct instant sent_at;
	struct wallclock signed_at;
};

struct exchange *exchange_new(struct engine *engine, exchange_hear hear, void *self);

/* Fill exchange->ask first. */
void exchange_queue(struct engine *engine, struct exchange *exchange);

/* Once more, after so long: it has been answered, and is not told yet. */
void exchange_queue_again(struct engine *engine, struct exchange *exchange, int64_t delay_ms);

/* Take it back; nothing is heard any more. An effect in flight may still land. NULL is fine. */
void exchange_cancel(struct engine *engine, struct exchange *exchange);

/* Give an answer that did not come over the wire (looks). Ends the exchange. */
void exchange_tell(struct engine *engine, struct exchange *exchange, const struct answer *answer);

/* Send what is due. True when anything moved. */
bool exchange_dispatch(struct engine *engine);

/* While stopping: only what is urgent. */
void exchange_dispatch_urgent(struct engine *engine);

/* The engine ends. */
void exchange_cancel_all(struct engine *engine);

/* What the client told. */
void exchange_happened(struct engine *engine, const struct client_event *event);

/* The earliest time at which dispatch can do more. */
struct instant exchange_due(const struct engine *engine, struct instant otherwise);

/* How many effects are in flight. */
size_t exchange_effects_in_flight(const struct engine *engine);

#endif
