/*
 * One ZonalEvacuation at work. Level-driven: each turn starts from what is (the object, the facts, the items) and starts what is missing;
 * it is repeated until nothing moves.
 */
#ifndef ENGINE_EVACUATION_H
#define ENGINE_EVACUATION_H

#include "facts.h"
#include "guard.h"
#include "item.h"
#include "kube/manifest.h"
#include "phase.h"
#include "place.h"
#include "planned.h"
#include "registration.h"
#include "volumes.h"

struct observation;

struct evacuation {
	struct evacuation *next;
	struct engine *engine;
	bool listed;   /* seen in the list that is being read */
	bool vanished; /* the object is gone: what is at work is stopped, and it is forgotten */

	struct arena object_arena; /* the object as last seen */
	const struct json *object;
	struct manifest manifest;
	bool valid; /* the manifest could be read */
	const char *invalid_because;

	struct arena told_arena;
	const struct json *told; /* the status of an earlier process, where changes are paced; NULL = there was none */

	struct place *place;
	struct facts *facts; /* of the last complete observation; NULL before */
	struct observation *observation;
	struct instant observe_due;
	int observe_failures;
	bool observed_for_restore;
	uint64_t facts_serial; /* observations completed */
	int verify_tries;
	uint64_t verify_serial; /* restoring: the observation that is to show that nothing is left; 0 = none yet */
	struct items items;
	struct planned planned;
	struct volumes volumes;
	struct instant remarks_until; /* at recovery; 0 = none were waited for yet */
	bool remarks_told;
	uint64_t gates_seen;  /* cluster.nodes_changed when what waits was last considered */
	bool gates_due;       /* something that gates look at has changed since */
	bool remarks_due;     /* something has come to rest since the footnotes were last asked for */
	struct instant since; /* when this process first acted on it */
	struct node_share node_share;
	bool share_judged;  /* once, before the first change */
	bool nodes_due;     /* plan all nodes, not only the dirty ones */
	bool nodes_unknown; /* there are selected nodes whose zone cannot be told without the account's mapping */

	struct registration registration;
	bool letting_go;            /* its finalizer is to go, and nobody is to count on it any more */
	int64_t refused_generation; /* a guard refused the whole: final for it; 0 = none */
	struct stall refusal;       /* why */
	struct process finalizer;
	struct instant finalizer_due;
	struct error finalizer_error;
	int finalizer_failures;

	enum phase phase;
	enum phase told_phase; /* last told by an event */
	struct instant phase_told_at;
	struct instant phases_since; /* since when phases_told counts */
	int phases_told;
	struct stall stall;
	struct stall told_stall;
	struct wallclock started_at;
	struct wallclock evacuated_at;
	bool expired;                /* its time is over: it is put back as if it were deleted, and never begun again */
	struct wallclock expired_at; /* when that was, whatever has been edited since */

	struct exchange *status_exchange;
	struct instant status_due;
	struct arena status_arena; /* what was sent last */
	const char *status_sent;
	struct instant status_sent_at;
	bool beginning_hurried;     /* the status was to be written at once, for its accountId and startedAt */
	bool touched;               /* something that the status shows has changed since it was built */
	bool restoring;             /* turned round: the object is being deleted. Never back */
	bool told_in_doubt;         /* what is held is so by a status of while it went back */
	bool turning;               /* restoring: what takes out has not all come to its end yet */
	bool verified;              /* restoring: read once more, and no record of ours was left */
	struct error observe_error; /* why the last observation failed; kind ERROR_NONE = it did not */
	struct error unseen_error;  /* why a kind could not be surveyed in it; kind ERROR_NONE = all could */
};

/* The object was seen. Makes or updates the evacuation. */
void evacuation_learn(struct engine *engine, const struct json *object);
void evacuation_forget(struct engine *engine, const char *name, const char *uid);

void evacuation_turn(struct evacuation *evacuation);
struct instant evacuation_due(const struct evacuation *evacuation, struct instant otherwise);

/* Something that the status shows has changed. */
void evacuation_touch(struct evacuation *evacuation);

/* The status is to be written at once, but only the first time, which `*hurried` remembers: one that cannot be written is not tried in a loop. */
void evacuation_hurry_status(struct evacuation *evacuation, bool *hurried);

/* Stop everything at once (the lease is lost, the engine ends). */
void evacuation_abort(struct evacuation *evacuation);
void evacuation_free(struct evacuation *evacuation);

/* What was refused has been given back, and the object was edited: from the start. */
void evacuation_begin_anew(struct evacuation *evacuation);

/* Does it hold, or want to hold, its zone? Plan and refused ones do not. */
bool evacuation_wants_zone(const struct evacuation *evacuation);

/* What node decisions need: known without AWS. Borrows from the evacuation. */
void evacuation_node_scope(const struct evacuation *evacuation, struct scope *out);

const char *evacuation_region(const struct evacuation *evacuation);

/* When its time is over (spec.expiresAfterSeconds from its first change), 0 = never, or not begun yet. */
struct wallclock evacuation_expires_at(const struct evacuation *evacuation);

/* Being deleted, or expired: what it has out is put back, or handed over. */
bool evacuation_is_ending(const struct evacuation *evacuation);

/* The target of this kind, or NULL: the object has none. */
const struct manifest_target *evacuation_target(const struct evacuation *evacuation, const char *kind);
bool evacuation_targets(const struct evacuation *evacuation, const char *kind);

/* Any kind that lives in AWS. */
bool evacuation_targets_aws(const struct evacuation *evacuation);

#endif
