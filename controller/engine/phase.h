/*
 * What the whole amounts to: phase, counts and conditions, from the items. Pure.
 */
#ifndef ENGINE_PHASE_H
#define ENGINE_PHASE_H

#include "base/json.h"
#include "item.h"

enum phase {
	PHASE_PENDING,
	PHASE_OBSERVING,
	PHASE_PLANNED,
	PHASE_APPLYING,
	PHASE_HOLDING,
	PHASE_RESTORING,
	PHASE_RESTORED,
};

const char *phase_name(enum phase phase);

/* Why it does not get on without a person (or the environment); reason "" = it does. */
struct stall {
	char reason[64];
	char message[640];
};

struct tally {
	size_t found, changed, settled, refused, failed, restored, held_by_others, rival, open;
};

/* Of all items, or of those of one kind. */
struct tally phase_tally(const struct items *items, const char *kind);

#endif
