/*
 * The lock of an item's resource (journal/dynamodb_lock.h), while somebody else is at work in the region, too.
 *
 *   look ──it is to be changed──► lock ──► look ──► … update ──► settle: the effect is seen ──► given back
 *                                  └─ somebody else has it: later
 *
 * It is taken only for a change, and what the change is built from is read again under it. Given back fifteen seconds after the effect was seen, since
 * reads of AWS may lag nearly that far; not at all when an update of the resource may still land: then it ends by itself when none can.
 */
#ifndef ENGINE_LOCK_H
#define ENGINE_LOCK_H

#include "item.h"

/* Before an update: somebody else is registered, and we do not have the lock, or not for long enough. */
bool lock_is_wanted(const struct item *item);

/* The step's ask and what its answer says: true = we have it. False: *busy when somebody else has, else answer->error is a failure. */
void lock_ask(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);
bool lock_hear(struct item *item, const struct answer *answer, bool *busy);

/* Until when an update may be sent under it, given what it would be otherwise; without it, not any more. */
struct instant lock_bounds(const struct item *item, struct instant fresh_until);

/* The effect has been seen, or nothing is to be changed any more. Nothing happens when we do not have it. */
void lock_release(struct item *item);

#endif
