/*
 * One resource within an evacuation: the change, where it stands, and the process that is at work on it.
 */
#ifndef ENGINE_ITEM_H
#define ENGINE_ITEM_H

#include "batch.h"
#include "facts.h"
#include "process.h"

#define ITEM_REASON_BYTES 384

struct evacuation;
struct drain;

/* The states of a change as in the status. */
enum item_state {
	ITEM_PLANNED,
	ITEM_WAITING,
	ITEM_APPLYING,
	ITEM_APPLIED,
	ITEM_SETTLED,
	ITEM_REFUSED,
	ITEM_FAILED,
	ITEM_RIVAL,
	ITEM_RESTORING,
	ITEM_RESTORED,
	ITEM_GONE,
	ITEM_SUPERSEDED,
	ITEM_HELD_BY_OTHERS,
	ITEM_STATES
};

const char *item_state_name(enum item_state state);

struct item {
	struct item *next;            /* all items of the evacuation, in order of appearance */
	struct item *next_considered; /* in a line of its lane */
	bool considered;
	struct item *next_hashed; /* in its bucket */
	struct evacuation *evacuation;
	const struct actuator *actuator;
	size_t lane;
	struct arena arena; /* for its life: change, record */
	struct change change;
	uint64_t seen;        /* the last observation that showed it */
	struct record record; /* as last known */
	bool has_record;
	enum item_state state;
	enum guard guard;
	char reason[ITEM_REASON_BYTES];
	char
		remark[ITEM_REASON_BYTES]; /* what its change could not move; told with a state that has no reason of its own */
	struct wallclock at;           /* of the last change of state */

	struct process process;
	enum direction direction; /* of the process at work, or of the last one */
	bool excluded;            /* tagged zonevac.dev/exclude while held: it is put back and left */
	bool dropped;             /* nothing of ours and no longer wanted: forgotten at the next sweep */
	bool held;                /* we have had a record of it, and have not put it back */
	bool copying;             /* the process at work only writes the journal's copy of a node */
	bool aside;    /* the phase does not wait for the process at work: a copy, or what failed and is tried again */
	bool was_out;  /* a node that has been out: what it was before us is known */
	bool put_back; /* a node that was backed out: what was known of it from before us is no longer so */
	struct instant ended_at; /* of the last process: an observation begun before knows less */
	bool changing;           /* between its read and the answer of its update: counts against maxInFlight */
	struct instant retry_at; /* FAILED: not tried again before */
	int failures;

	/* What waits for what (gate.h). */
	struct arena carried_arena;
	struct string_list carried; /* a group: its EC2 instances in the zone, as last read */
	bool carries_ecs;           /* a group: they are capacity of an ECS cluster */
	bool newcomer;              /* a node made after the evacuation began */

	/* Which batch it is of (pacing.h), in the direction that the evacuation has. */
	struct wallclock begun_at;  /* its change, a node's drain; 0 = it was not begun */
	struct wallclock rested_at; /* 0 = not yet */
	struct wallclock failed_at; /* first, and not mended since; 0 = it did not */
	bool begun_before;          /* by an earlier process: a node's drain, says its annotation */

	struct drain *drain;       /* a node that is out; NULL = not begun */
	struct instant tainted_at; /* a node, by this process; 0 = before it */
	bool drained;              /* a look at its pods found nothing that a drain waits for */
	bool taint_evicts;         /* its drain took too long: the taint gets NoExecute */
	struct inquiry *remarking; /* under way */
	bool remarked;             /* asked, whatever came of it */

	/* Of the process at work. */
	struct inquiry *inquiry; /* held: what `looked` lives in */
	const struct resource *looked;
	struct instant looked_at;
	struct decision decision;
	struct arena decision_arena;
	struct instant applied_at;
	int updates;                 /* sent in this process */
	int unanswered;              /* of them, those that met silence */
	int rounds;                  /* decided afresh in this process */
	int stales;                  /* updates that the limiter held back too long, in this process */
	struct instant locked_until; /* its lock is ours, and an update may be sent under it, until then; 0 = it is not */
	uint64_t lock_number;        /* the attempt that took it */
	int lock_updates;            /* of `updates`, those before it was taken */
	struct instant look_due;     /* the next look, not before */
	struct instant absent_since; /* the first explicit answer without it; 0 = it is there */
	struct instant subnets_absent_since; /* the same of subnets that were taken out */
	uint64_t subnets_absent_serial;      /* the observation that said so first */
	struct wallclock
		recorded_at; /* an update of whoever wrote its record before this process began was sent by then; us 0 = not known */
	struct instant back_since;         /* restoring: the first answer that showed it back; 0 = none has */
	struct instant intended_at;        /* our Intent was written, for the next update; 0 = it has been sent */
	struct wallclock unanswered_until; /* an update without an answer may land until then */
	struct wallclock ours_until;       /* of those, one that was sent under our own lock */
	uint64_t first_attempt;            /* the number of its first call to the journal; 0 = none yet */
	enum item_state ends_as;           /* restoring: what closing will mean */
};

#define ITEM_BUCKETS 1024

struct item_line {
	struct item *first;
	struct item *last;
};

/* Lane 0 is the nodes', each kind of AWS has one of its own, so that a slow service holds up nobody else's. */
#define LANES_MAX 9
#define LANE_NODES 0

/* Where the batches of a kind are (pacing.h). */
struct paced {
	bool judged; /* as below, until something of the lane changes or the next batch's time has come */
	struct batch batch;
	size_t waiting;               /* changes that are still to be begun */
	size_t working;               /* that have not come to rest */
	size_t told;                  /* put back by an earlier process, which the journal does not know any more */
	struct wallclock told_rested; /* the last of them */
	char reason[160];             /* why the next ones wait */
};

struct lane {
	struct paced paced;
	struct item_line considered; /* state, record or process has changed: may something be begun on them? */
	struct item_line later;      /* considered, but it may not be begun yet */
	size_t changing;             /* between their read and the answer of their update */
	size_t running;              /* a process is at work on them */
	struct instant begin_due;    /* even a single free place may be filled then */
};

/* Counts are kept where they change, so that a turn costs the same with ten items and ten thousand. */
struct items {
	struct item *first;
	struct item **last;
	struct item *buckets[ITEM_BUCKETS];
	size_t count;
	struct lane lanes[LANES_MAX];
	size_t lane_first; /* of AWS: who is served first at the next turn */
	size_t states[LANES_MAX][ITEM_STATES];
	size_t draining;          /* nodes whose drain the phase waits for */
	size_t draining_others;   /* of them, those that still hold pods which are not our own, or may */
	size_t refusals;          /* nodes with an eviction that needs a person */
	size_t newcomers;         /* nodes in the zone that were made after the evacuation began */
	size_t remarking;         /* inquiries about what changes could not move */
	size_t records;           /* items with an open record of ours */
	size_t held;              /* AWS items that we have out, whether or not the journal still knows it */
	size_t running;           /* processes at work */
	size_t aside;             /* of them, those that the phase does not wait for */
	size_t dropped;           /* items to be forgotten */
	size_t changing;          /* of all lanes */
	struct instant retry_due; /* the earliest time to try something again; 0 = none */
};

void items_init(struct items *items);
void items_done(struct items *items);
struct item *items_find(const struct items *items, const char *id);
struct item *items_add(struct items *items, struct evacuation *evacuation, const struct actuator *actuator,
                       const struct change *change);

/* We have it out, or no longer. */
void item_set_held(struct item *item, bool held);

/* Take over a change, copied. */
void item_set_change(struct item *item, const struct change *change);

/* Nothing of ours is in it and nobody wants it out: it is forgotten at the next sweep. */
void item_drop(struct item *item);

/* Forget what was dropped and has come to rest. */
void items_sweep(struct items *items);

/* The one place that assigns the state. `reason` NULL = none; cut to its field. */
void item_become(struct item *item, enum item_state state, const char *reason);

/* Take over what the journal says, copied. NULL = there is none. */
void item_set_record(struct item *item, const struct record *record);

/* Begin a process on it, from its first step. */
void item_start(struct item *item, enum direction direction, const struct step *first);

/* Stop all that is at work on it, whatever happens (the engine ends, or the lease is gone). */
void item_abort(struct item *item);

/* Between its read and the answer of its update: counts against maxInFlight. */
void item_set_changing(struct item *item, bool changing);

bool item_is_node(const struct item *item);

/* Nodes have the first lane, the kinds of AWS the others in the order of the registry. */
size_t item_lane_of(const struct actuator *actuator);

/* Put it in the line of those that may be begun. */
void item_consider(struct item *item);

/* Nothing may be begun on it yet: back to the end of its line with lane_take_later, without another turn of the engine. */
void item_consider_later(struct item *item);
void lane_take_later(struct lane *lane);

/* The next of its line, taken out; NULL when it is empty. */
struct item *lane_next_considered(struct lane *lane);

/* What the change of a resource carries with it, as just read. */
void item_set_carried(struct item *item, const struct resource *resource);

/* The footnote; NULL = none. Cut to its field. */
void item_set_remark(struct item *item, const char *remark);

/* It was not begun, as far as batches go. */
void item_forget_times(struct item *item);

/* A node in the zone that was made after the evacuation began. */
void item_set_newcomer(struct item *item, bool newcomer);

/* Something is to be tried again then. */
void items_retry_at(struct items *items, struct instant due);

/* Consider all again whose time to try again has come. */
void items_consider_retries(struct items *items, struct instant now);

size_t items_in_state(const struct items *items, enum item_state state);

#endif
