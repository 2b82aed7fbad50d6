/*
 * The plan as it is told (status.planHash), checked against what a person has seen (spec.planHash), and kept to.
 *
 *   gathered at each observation ──► told: while it is only planned, and until the first change
 *                                └─► checked once, before the first change: another plan refuses the whole evacuation (PlanChanged)
 *   from then on, as long as spec.planHash is there, what the plan does not name is not taken in
 *
 * What was admitted survives a restart: the status names it before the first change is made (planned_is_told), records name what has been begun, and
 * where the status had to leave some out the hash proves that what is there now is still the same.
 *
 * spec.planHash edited while something is out is not checked again. Made empty, what is new is taken in; set, what is known by then is all there is.
 */
#ifndef ENGINE_PLANNED_H
#define ENGINE_PLANNED_H

#include "domain/change.h"
#include "domain/record.h"
#include "plan_hash.h"

struct evacuation;

struct planned {
	struct arena arena;
	struct plan_list list;           /* as told or admitted: AWS only */
	char hash[PLAN_HASH_LENGTH + 1]; /* of it; "" = there is none to be told */
	bool shown;                      /* it is told: looked at by this process, or admitted */
	bool partial;                    /* the list lacks some: the status it was read from had no room for them */
	struct arena gathering_arena;
	struct plan_list gathering; /* at this observation */
	bool gathered;              /* it is whole, and of the object as it is */
	bool checked;               /* or begun: it is not checked any more */
	bool limited;               /* nothing but the list is taken in */
	bool recognised;            /* the list is known to be whole */
	bool hurried;               /* the status was to be written at once, for its planHash */
};

void planned_init(struct planned *planned);
void planned_done(struct planned *planned);

/* The object was seen for the first time: what its status tells of the plan. Items of an evacuation that had begun stay in its status. */
void planned_take_status(struct evacuation *evacuation, const struct json *status);

/* The object was edited. */
void planned_edited(struct evacuation *evacuation);

/* What was refused has been given back: from the start. */
void planned_begin_anew(struct evacuation *evacuation);

/* What the status tells as planHash, or NULL: nothing yet. */
const char *planned_hash(const struct evacuation *evacuation);

/*
 * While facts are taken: what is decided of a selected resource, its record (NULL = none), and a record of ours without such a resource. What is
 * out and what is to be taken out is gathered, all else left out. At the end of it the plan is told anew, if it may still change.
 */
void planned_gather_begin(struct evacuation *evacuation);
void planned_gather_resource(struct evacuation *evacuation, const struct resource *resource,
                             const struct decision *decision, const struct record *record);
void planned_gather_record(struct evacuation *evacuation, const struct record *record);
void planned_gather_end(struct evacuation *evacuation);

/*
 * After a restart, before facts are taken: true when the list may lack something that the facts can prove to be in it. They are to be taken without the limit
 * then; planned_recognise says whether they were the admitted plan, and sets the limit again.
 */
bool planned_unlimit(struct evacuation *evacuation);
bool planned_recognise(struct evacuation *evacuation);

/* The decision on a resource with the limit applied: refused when the plan does not name it, else no more subnets than it names. */
void planned_limit(const struct evacuation *evacuation, const struct resource *resource, struct arena *arena,
                   struct decision *decision);

/* Is spec.planHash to be checked before anything may begin? */
bool planned_is_due(const struct evacuation *evacuation);

/*
 * While it is due. True when what there is is the plan of spec.planHash. False: that cannot be told yet, or it is another one, which refuses the
 * evacuation for its generation (evacuation->refusal).
 */
bool planned_check(struct evacuation *evacuation);

/* The status names the plan that was checked, if one was. It is written at once otherwise. */
bool planned_is_told(struct evacuation *evacuation);

#endif
