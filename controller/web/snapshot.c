#include "web/snapshot.h"

#include <stdlib.h>

struct snapshot *snapshot_new(void)
{
	struct snapshot *snapshot = calloc(1, sizeof *snapshot);

	if (snapshot == NULL)
		abort();
	snapshot->not_ready_because = "starting";
	return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	free(snapshot->metrics);
	free(snapshot);
}
