/*
 * Admission: who may begin, and the finalizer. (The zone's registration in the journal: registration.h.)
 */
#ifndef ENGINE_ADMIT_H
#define ENGINE_ADMIT_H

#include "evacuation.h"

/* By the cluster's own objects: is this one the zone's, and no other zone of the region held? Sets stall (and refused_generation). */
bool admit_by_objects(struct evacuation *evacuation);

/* The one that takes this zone over when `evacuation` is deleted; NULL when nobody does. */
struct evacuation *admit_successor(const struct evacuation *evacuation);

/* Of several of a zone that are ending the eldest restores for all of them: an elder one, or NULL. */
struct evacuation *admit_elder(const struct evacuation *evacuation);

/* One that is being deleted, and waits for this one to take its zone over. */
bool admit_has_predecessor(const struct evacuation *evacuation);

/* Set, or take off, and seen to be so. True when it is. Starts what is missing. */
bool admit_finalizer(struct evacuation *evacuation, bool wanted);

/* Another zone of the region, `held`, is in the way: refused for this generation. */
void admit_refuse_other_zone(struct evacuation *evacuation, const char *held);

#endif
