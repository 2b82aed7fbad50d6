/*
 * Events, for people: on the ZonalEvacuation at its transitions, on nodes at theirs. Nobody waits for them, and one that is lost is not told again.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "evacuation.h"

/* On the object; logged as well. */
void event_tell(struct evacuation *evacuation, bool warning, const char *reason, const char *note);

/* On the node of an item. */
void event_tell_node(struct item *item, bool warning, const char *reason, const char *note);

#endif
