/*
 * What rules and the back ends' conditions must agree on. Of this layer only.
 */
#ifndef JOURNAL_RULES_H
#define JOURNAL_RULES_H

#include "base/instant.h"

/* A Restoring record that nobody has touched for so long may be joined. */
#define JOURNAL_ABANDONED_MS ((int64_t)10 * 60 * 1000)

/* Records last touched before this are abandoned. */
struct wallclock journal_abandoned_before(struct wallclock now);

#endif
