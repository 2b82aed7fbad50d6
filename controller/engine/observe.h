/*
 * Observe: everything that one decision needs, to the last page: the zones, the account, all subnets of the region and the zone's partition of the
 * journal (consistently), in parallel; then, as it is known what lies in the zone and what is held, all resources of each target kind, side by side. A kind that cannot be read
 * fails alone (facts_unseen), and one that is slow keeps the others no longer than a few seconds.
 */
#ifndef ENGINE_OBSERVE_H
#define ENGINE_OBSERVE_H

#include "facts.h"

struct evacuation;
struct observation;

/*
 * Begin. `told` is called later: with facts (one reference, the callee's), or NULL and why. Facts that are not complete yet are told again, the same
 * ones, as more of them comes; what is complete, or a failure, comes last. For a restore nothing is surveyed: the records
 * say what there is. `records` false leaves the journal alone (mode Plan without a table).
 */
struct observation *observation_start(struct evacuation *evacuation, bool surveys, bool records,
                                      void (*ended)(struct evacuation *evacuation, struct facts *facts,
                                                    const struct error *error));

/* Nothing is told any more. NULL is fine. */
void observation_cancel(struct observation *observation);

#endif
