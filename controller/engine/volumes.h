/*
 * Which PersistentVolumeClaims are bound to volumes that exist in one zone only. Pods that use them are evicted like others, but stay Pending until
 * recovery, and that is said. Read once a resync, and only while nodes are drained; without it nothing waits.
 */
#ifndef ENGINE_VOLUMES_H
#define ENGINE_VOLUMES_H

#include "exchange.h"

struct evacuation;

struct volumes {
	struct exchange *exchange;
	struct arena arena;
	struct string_list claims; /* "namespace/claim", as last read whole */
	struct arena reading_arena;
	struct string_list reading;
	int pages;
	bool zone_known; /* by name, when it was last read */
	struct instant due;
};

void volumes_init(struct volumes *volumes);
void volumes_done(struct evacuation *evacuation);

/* Ask, when it is due. */
void volumes_turn(struct evacuation *evacuation);

#endif
