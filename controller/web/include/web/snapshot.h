/*
 * What the engine shows to the web thread: an immutable picture, published whole. The web thread never touches engine
 * state.
 *
 * Ownership: the publisher allocates with snapshot_new; publishing hands it over; a replaced one is freed when nobody
 * reads it. Thread: publish from the engine thread, everything else inside the web layer.
 */
#ifndef WEB_SNAPSHOT_H
#define WEB_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/instant.h"

struct snapshot {
	char *metrics; /* Prometheus text, malloc'ed, owned by the snapshot */
	size_t metrics_length;
	bool ready;                    /* caches synced once */
	const char *not_ready_because; /* literal; NULL when ready */
};

struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot);

#endif
