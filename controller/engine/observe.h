/*
 * Observe: everything that one decision needs, to the last page: the zones, the account, all subnets of the region and the zone's partition of the
 * journal (consistently), in parallel; then, as it is known what lies in the zone and what is held, all resources of each target kind, side by side. A kind that cannot be read
 * fails alone (facts_unseen).
 */
#ifndef ENGINE_OBSERVE_H
#define ENGINE_OBSERVE_H

#include "facts.h"

struct evacuation;
struct observation;

/*
 * Begin. `ended` is called later, once: with facts (one reference, the callee's), or NULL and why. For a restore nothing is surveyed: the records
 * say what there is. `records` false leaves the journal alone (mode Plan without a table).
 */
struct observation *observation_start(struct evacuation *evacuation, bool surveys, bool records,
                                      void (*ended)(struct evacuation *evacuation, struct facts *facts,
                                                    const struct error *error));

/* Nothing is told any more. NULL is fine. */
void observation_cancel(struct observation *observation);

#endif
