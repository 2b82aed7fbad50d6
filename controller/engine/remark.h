/*
 * Footnotes: what a change could not move (published versions of a function that stay in the zone), asked for when nothing else is to be done, so that it never
 * delays what can be moved. Told with the change, and at recovery, when the object is about to vanish, by an event.
 */
#ifndef ENGINE_REMARK_H
#define ENGINE_REMARK_H

#include "item.h"

/* Ask for some that have not been asked for yet. */
void remarks_turn(struct evacuation *evacuation);

/* At recovery, when all is back: have they all been answered, or has the time for that run out? */
bool remarks_are_in(struct evacuation *evacuation);

/* Nobody is to be told any more. */
void item_stop_remark(struct item *item);

#endif
