/*
 * What one turn of an evacuation is made of. Taking out (turn_evacuate.c) and putting back (turn_restore.c) are level-driven switches over facts; what
 * both need of AWS is in turn.c.
 */
#ifndef ENGINE_TURN_H
#define ENGINE_TURN_H

#include "evacuation.h"

/* Each sets the phase, and the stall when something keeps it from getting on. */
void turn_evacuating(struct evacuation *evacuation);
void turn_restoring(struct evacuation *evacuation);

/* Its time is over: put back as if it were deleted, and then done for good. */
bool turn_is_expired(const struct evacuation *evacuation);
void turn_expired(struct evacuation *evacuation);

/* It would be over by a clock that nobody has confirmed yet, and that cannot be taken back: AWS is asked first, at the most until then. */
bool turn_doubts_time(const struct evacuation *evacuation, struct instant *until);

/* The object's annotation says that it is to be let go without restoring. */
bool turn_is_abandoned(const struct evacuation *evacuation);

/* Credentials, endpoints and (where it is needed) the table: false with the stall set. */
bool turn_aws_is_ready(struct evacuation *evacuation, bool needs_table);

/* Begin an observation if its time has come; `records` false leaves the journal alone. */
void turn_observe(struct evacuation *evacuation, bool records);

/* Why the last observation failed becomes the stall. */
void turn_tell_observation(struct evacuation *evacuation);

/* A person has put back what was out in AWS: only what the journal still says of it counts. */
void turn_forget_held(struct evacuation *evacuation);

#endif
