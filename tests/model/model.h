/*
 * An exhaustive exploration of the protocol: every interleaving of two or three actors around one resource, breadth first, so that a
 * counter-example is a shortest one.
 *
 * What is real: journal_rule (controller/journal/rules.c) decides every step of the journal, domain/delta.c does the arithmetic (book.c).
 * What is mirrored: the processes of controller/engine/change.h (actor_out.c, actor_back.c), with the names of their steps; the region's item,
 * the items `#lock` and `recover` (actor.c). What is abstract:
 *
 *   time       A tick passes at any moment; everything that has a life counts down by one. A signature is good for LIFE ticks; a lock lives LOCK
 *              ticks; a registration that was read before the last tick is old; an update is built from a look since the last tick.
 *   requests   A look and a journal call happen at once. An update is sent, lands, and is heard of: three events, with anything in between. Silence
 *              (one a life of an actor) leaves an update in the air, where it lands at any time while its signature is good, or never; a crash does
 *              the same to what is under way. A journal call whose answer is lost has been applied, and is repeated with the attempt it had; or it is
 *              given up, and lands late.
 *   attempts   Equal to the record's or not: that is all the rules ask. The life of the actor that wrote it is kept (engine_wrote).
 *   subnets    A bit each; the order of the list is no matter here.
 *   settling   By the configuration alone.
 *
 * What must hold is in properties.c; how it is searched, with the proof that from each state a quiet end can be reached, in search.c; who plays in
 * stories.c. A condition is dropped by its flag (enum drop), in the one place that asks for it.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/journal.h"

/* Subnets: a and a2 lie in zone A, b in zone B, c and d in another one that nobody empties. */
enum { SUBNET_A = 1, SUBNET_A2 = 2, SUBNET_B = 4, SUBNET_C = 8, SUBNET_D = 16, SUBNETS = 32 };
enum { ZONE_A, ZONE_B, ZONES };
enum { OWNER_X = 1, OWNER_Y = 2, OWNER_LOCAL = 4 };
enum { ACTORS = 3, AIRS = 4 };
enum { LIFE = 2, LOCK = LIFE + 1, LOCK_SHORT = 1, REGISTRATION = 1, ABANDONED = 5 };

enum step {
	STEP_NONE, /* nobody plays this part */
	STEP_REGISTER,
	STEP_OBSERVE,
	STEP_LOOK,
	STEP_INTENT,
	STEP_JOIN,
	STEP_EXTEND,
	STEP_REDO,
	STEP_UPDATE,
	STEP_FLIGHT, /* update, sent and not yet heard of */
	STEP_SETTLE,
	STEP_DONE,
	STEP_HOLD,
	STEP_BACK_OBSERVE,
	STEP_BACK_REWRITE,
	STEP_BACK_RESTORE,
	STEP_BACK_LEAVE,
	STEP_BACK_LOOK,
	STEP_BACK_UPDATE,
	STEP_BACK_FLIGHT,
	STEP_BACK_CLOSE,
	STEP_BACK_WAIT,
	STEP_UNREGISTER,
	STEP_RECOVER_BEGIN, /* the laptop: throw the owners of the zone out */
	STEP_RECOVER_OBSERVE,
	STEP_RECOVER_TAKE,
	STEP_STOPPED, /* RecoveredElsewhere */
	STEP_OVER,
};

/* What an actor knows of its zone's record, or what the journal has of it. */
struct row {
	uint8_t is : 1, state : 2, owners : 3, claim : 2; /* claim: ticks for which an update may still land */
	uint8_t removed : 5, writer : 3;                  /* whose attempt it is: writer_of() */
	uint8_t age;                                      /* ticks since it was touched, up to ABANDONED */
};

struct actor {
	uint8_t step;
	uint8_t owner : 3, zone : 1, turned : 1, held : 1, crashed : 1, silent : 1;
	uint8_t fresh : 1, match : 1, repeat : 1, landed : 1, before_edit : 1, lost : 1, recover : 1;
	uint8_t looked, change;
	uint8_t claim : 2, updates : 2, acting : 2, wait : 2;
	uint8_t sent : 5, life : 3;          /* the update under way */
	uint8_t region_fresh : 1, other : 1; /* the region's item as read: is another zone held? */
	uint8_t claim_past : 1, back_seen : 1, sure : 1,
		intends : 1; /* at its last look: could nothing land any more? it was back then, and not by an update of ours, and still is;
	                                                           the record is Intent by its attempt, for the next update */
	struct row row;
};

/* What is in the air, and lands at any time, or never. */
struct air {
	uint8_t life; /* 0 = free */
	uint8_t verb; /* JOURNAL_..., AIR_UPDATE or */
	uint8_t list; /* the update's subnets; EXTEND: the new list */
	uint8_t old : 5, before_edit : 1, match : 1;
	uint8_t actor : 2, writer : 3, claim : 2, early : 1; /* early: a close that was sent before it could succeed */
};
#define AIR_UPDATE 0xff

struct state {
	struct actor actors[ACTORS];
	struct air airs[AIRS];
	struct row rows[ZONES];
	uint8_t resource, want, before; /* as it is, as its owner left it, as a stale read shows it */
	uint8_t region[ZONES];          /* the owners for whom the zone is held */
	uint8_t lock_holder : 2, lock_is : 1, lock_dirty : 1, lock_life : 2;
	uint8_t edited : 1, excused : 1, undone : 1, stale : 1, faults : 3;
	uint8_t broken;
};

enum drop {
	DROP_NOTHING,
	DROP_INTENT_NONE,
	DROP_JOIN_RESTORING,
	DROP_EXTEND_OLD,
	DROP_REDO_RESTORING,
	DROP_DONE_ATTEMPT,
	DROP_LEAVE_LAST,
	DROP_RESTORE_OWNERS,
	DROP_CLOSE_RESTORING,
	DROP_CLOSE_OWNERS,
	DROP_CLOSE_ATTEMPT,
	DROP_CLOSE_UNANSWERED,
	DROP_CLOSE_TIME_OF_LOOK,
	DROP_BACK_TWICE,
	DROP_RESTORE_TOUCHES,
	DROP_SUSPICION,
	DROP_WHOSE_EFFECT,
	DROP_SHARED_INTENT,
	DROP_LEAVE_CLAIMS,
	DROP_ONE_INTENT,
	DROP_RECORD_FIRST,
	DROP_READ_BACK,
	DROP_LOCK,
	DROP_LOCK_OWNERS,
	DROP_LOCK_LIFE,
	DROP_LOCK_SILENCE,
	DROP_LOCK_PREDECESSOR,
	DROP_LOCK_AT_CLOSE,
	DROP_UNREGISTER_LOCKED,
	DROP_REREAD,
	DROP_NEWCOMER_WAITS,
	DROP_SUCCESSOR_WAITS,
	DROP_RECOVER_AS_READ,
	DROP_RECOVER_RESTORING,
	DROP_RECOVER_REGISTERED,
	DROP_RECOVER_LOOKS_AGAIN,
	DROPS
};

enum edit { EDIT_NONE, EDIT_ADD_ELSEWHERE, EDIT_ADD_IN_ZONE, EDIT_REMOVE };

/* Who plays, and what may happen. */
struct story {
	const char *name;
	const char *about;
	struct part {
		uint8_t owner, zone, recover;
		uint8_t registered; /* from the beginning */
		uint8_t may_crash, may_be_silent, may_lose;
	} parts[ACTORS];
	enum edit edit;
	bool rival, stale, late_journal;
	bool locks;        /* two zones: `#lock` is needed while the other one is registered */
	bool registration; /* registering is played; else both zones are registered throughout */
	uint8_t faults_max;
	bool small; /* few enough states to be explored for each spare condition, too */
};

struct play {
	const struct story *story;
	enum drop drop;
	void (*emit)(void *self, const struct state *next, const char *line);
	void *self;
	bool telling; /* lines are wanted */
};

/* Why a state must not be; NULL = it may. */
const char *property_broken(const struct play *play, const struct state *state);

/* Is everything over, and nothing in the air? */
bool property_quiet(const struct state *state);

/* The first state of a story. */
void world_begin(const struct story *story, struct state *state);

/* Emit every state that may come next, with the line that tells how. */
void world_expand(const struct play *play, const struct state *state);

/* An update lands: the resource becomes `list`. */
void world_land(struct state *state, const struct story *story, uint8_t list, bool before_edit);

/* A journal call that was given up lands late. */
void world_put_in_air(struct state *state, struct air air);

/* What an actor may do next; each emits what comes of it. */
void actor_expand(const struct play *play, const struct state *state, int who);
void actor_out_expand(const struct play *play, const struct state *state, int who);
void actor_back_expand(const struct play *play, const struct state *state, int who);

/* The object is deleted, or it crashes. */
void actor_turn(struct state *state, int who);
void actor_crash(const struct play *play, struct state *state, int who);

/* To look at the resource the actor needs the region's item and perhaps the lock first. False: it cannot now, or something was emitted instead. */
bool actor_may_look(const struct play *play, struct state *state, int who, bool lock_needed);
bool actor_may_write(const struct play *play, struct state *state, int who);
bool actor_may_update(const struct play *play, struct state *state, int who);
void actor_release(const struct play *play, struct state *state, int who);
void actor_suspect(const struct play *play, struct state *state, int who);
void actor_observe(struct state *state, int who);
void actor_begin_process(struct actor *actor, enum step step);
bool actor_owns_row(const struct actor *actor);
uint8_t actor_writer(const struct state *state, int who);
void actor_look(const struct play *play, struct state *next, int who, bool stale);

/* Send an update; and what may become of one that is under way. */
void actor_send(const struct play *play, const struct state *state, int who, uint8_t list, enum step then);
void actor_flight(const struct play *play, const struct state *state, int who,
                  void (*heard)(const struct play *play, struct state *next, int who));

/*
 * One call to the journal by an actor, with all that may become of it: `heard` says what the actor makes of the verdict, and the result is emitted. `again` is where
 * the actor begins anew when it gives up.
 */
void actor_journal(const struct play *play, const struct state *state, int who, enum journal_verb verb, enum step again,
                   void (*heard)(const struct play *play, struct state *next, int who, enum journal_verdict verdict));

/* Emit; the line is of printf's. */
void tell(const struct play *play, const struct state *next, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *name_of_actor(const struct play *play, const struct state *state, int who);
const char *name_of_list(uint8_t list);

/* The rule book and the arithmetic, packed (book.c). */
struct book_call {
	uint8_t verb, owner, zone;
	uint8_t removed_old, removed_new; /* INTENT: removed_new is what the record holds */
	uint8_t done_state, claim, writer;
	bool attempt_is_records; /* the attempt of the call is the one that stands in the record */
};

/* `row` becomes what the rule leaves; *attempt_changed: it holds the attempt of this call now. */
enum journal_verdict book_rule(enum drop drop, const struct book_call *call, struct row *row, bool *attempt_changed);
uint8_t book_in_zone(uint8_t zone, uint8_t list);
uint8_t book_out(uint8_t removed, uint8_t current);
uint8_t book_back(uint8_t removed, uint8_t current);
bool book_is_back(uint8_t removed, uint8_t current);
uint8_t book_join(uint8_t a, uint8_t b);
void book_open(void);
void book_shut(void);

/* Explore a story. */
struct result {
	size_t states;
	double seconds;
	const char *broken; /* NULL = it holds */
	size_t steps;       /* of the counter-example */
	bool cut;           /* too many states: nothing is known of the rest */
};
void search_run(const struct story *story, enum drop drop, size_t states_max, bool print, struct result *out);

extern const struct story stories[];
extern const size_t stories_count;
struct drop_entry {
	const char *name;
	const char *says;
	const char *story; /* that needs it; NULL = it is found to be needed by none, and `says` tells why it stands */
};
extern const struct drop_entry drops[DROPS];

#endif
