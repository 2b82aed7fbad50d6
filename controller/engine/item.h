/*
 * One resource within an evacuation: the change, where it stands, and the process that is at work on it.
 */
#ifndef ENGINE_ITEM_H
#define ENGINE_ITEM_H

#include "facts.h"
#include "process.h"

struct evacuation;

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
	struct item *next;        /* all items of the evacuation, in order of appearance */
	struct item *next_hashed; /* in its bucket */
	struct evacuation *evacuation;
	const struct actuator *actuator;
	struct arena arena; /* for its life: change, record */
	struct change change;
	struct record record; /* as last known */
	bool has_record;
	enum item_state state;
	enum guard guard;
	char reason[384];
	struct wallclock at; /* of the last change of state */

	struct process process;
	enum direction direction; /* of the process at work, or of the last one */
	bool excluded;            /* tagged zonevac.dev/exclude while held: it is put back and left */
	bool changing;       /* between its read and the answer of its update: counts against maxInFlight */
	struct instant retry_at; /* FAILED: not tried again before */
	int failures;

	/* Of the process at work. */
	struct inquiry *inquiry; /* held: what `looked` lives in */
	const struct resource *looked;
	struct instant looked_at;
	struct decision decision;
	struct arena decision_arena;
	struct instant applied_at;
	int updates;                     /* sent in this process */
	int rounds;                      /* decided afresh in this process */
	struct instant look_due;         /* the next look, not before */
	struct instant absent_since;     /* the first explicit answer without it; 0 = it is there */
	struct wallclock unanswered_until; /* an update without an answer may land until then */
	enum item_state ends_as;         /* restoring: what closing will mean */
};

#define ITEM_BUCKETS 1024

struct items {
	struct item *first;
	struct item **last;
	struct item *buckets[ITEM_BUCKETS];
	size_t count;
};

void items_init(struct items *items);
void items_done(struct items *items);
struct item *items_find(const struct items *items, const char *id);
struct item *items_add(struct items *items, struct evacuation *evacuation, const struct actuator *actuator, const struct change *change);

/* The one place that assigns the state. `reason` NULL = none; cut to its field. */
void item_become(struct item *item, enum item_state state, const char *reason);

/* Take over what the journal says, copied. NULL = there is none. */
void item_set_record(struct item *item, const struct record *record);

/* Begin a process on it, from its first step. */
void item_start(struct item *item, enum direction direction, const struct step *first);

/* It has come to where nothing more is to be done for now. */
bool item_at_rest(const struct item *item);

#endif
