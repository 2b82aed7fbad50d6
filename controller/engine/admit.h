/*
 * Admission: who may begin, the finalizer, and the zone's registration in the journal.
 */
#ifndef ENGINE_ADMIT_H
#define ENGINE_ADMIT_H

#include "evacuation.h"

/* By the cluster's own objects: is this one the zone's, and no other zone of the region held? Sets stall (and refused_generation). */
bool admit_by_objects(struct evacuation *evacuation);

/* The one that takes this zone over when `evacuation` is deleted; NULL when nobody does. */
struct evacuation *admit_successor(const struct evacuation *evacuation);

/* One that is being deleted, and waits for this one to take its zone over. */
bool admit_has_predecessor(const struct evacuation *evacuation);

/* Set, or take off, and seen to be so. True when it is. Starts what is missing. */
bool admit_finalizer(struct evacuation *evacuation, bool wanted);

/* Register the zone for this owner. True when it is; a refusal is final for the generation. The table must be ready. */
bool admit_register(struct evacuation *evacuation);

/* Unregister it. True when it is. */
bool admit_unregister(struct evacuation *evacuation);

#endif
