/*
 * The zone in the region's item of the journal: who holds which zone of the region.
 *
 * Registered before the first change of an AWS kind; read again every ten seconds while something is at work, and after each observation, so that
 * nothing is changed on a word older than that:
 * - somebody else is in it, for another zone or for this one: each resource is locked while it is changed (lock.h). Whoever finds somebody there waits
 *   before his own first change until the other one, who may think that he is alone, has read it as well. (One zone's owners change the same subnets; but
 *   when a resource's owner adds one meanwhile, one of them may be putting back what the other one takes out.)
 * - this owner is not in it any more: a person has recovered the zone elsewhere (`zonevac recover` unregisters it first). Everything stops, until the
 *   object is edited. Where the whole item is gone, or is an older one than was seen, the table was lost: it is registered anew.
 */
#ifndef ENGINE_REGISTRATION_H
#define ENGINE_REGISTRATION_H

#include "journal/dynamodb.h"
#include "process.h"

/* What was read so long ago no longer counts. */
#define REGISTRATION_FRESH_MS 10000
/* Stalled, for that. */
#define RECOVERED_ELSEWHERE "RecoveredElsewhere"
/* No first change beside somebody else before. Longer than a registration counts, plus the second that a read does. */
#define REGISTRATION_QUIET_MS 15000

struct evacuation;

struct registration {
	struct process process;
	struct arena arena;
	struct region_item item; /* as last read */
	bool registered;
	bool begun_before; /* this process found the evacuation begun */
	bool written_on;   /* by this process, for this evacuation */
	bool unregistered; /* restoring: nothing of ours is left in it */
	bool
		written_off; /* restoring: written once, so that a registration that met silence, or that nobody remembers, cannot land any more */
	int64_t revision;  /* of the item when it was last seen with us in it; 0 = not by this process */
	int64_t recovered; /* the generation of the object that was recovered elsewhere; 0 = none was */
	bool
		recovered_for_sure; /* somebody has written since this process saw itself in it; else the table may be an older one */
	struct instant read_at;     /* when what is known was asked for; 0 = nothing is */
	uint64_t serial;            /* the last observation before that */
	struct instant quiet_until; /* no change of ours before */
	struct instant due;         /* not tried again before */
	int failures;
	struct error error;
};

/*
 * Evacuating: registered, on a word that counts, and free to change something. Starts what is missing. A refusal (another zone) is final for the
 * generation. The table must be ready.
 */
bool registration_stands(struct evacuation *evacuation);

/* Restoring: what is known of others counts. Starts what is missing; registers nothing. */
bool registration_is_known(struct evacuation *evacuation);

/* Unregister this owner. True when it is. */
bool registration_ends(struct evacuation *evacuation);

/* May a change be begun on what is known? */
bool registration_is_fresh(const struct evacuation *evacuation);

/* Somebody else is registered, too: for another zone of the region, or for this one. */
bool registration_is_shared(const struct evacuation *evacuation);

/* When it is to be looked at again, or `otherwise`. */
struct instant registration_due(const struct evacuation *evacuation, struct instant otherwise);

/* From the start, for another generation of the object. */
void registration_begin_anew(struct evacuation *evacuation);

#endif
