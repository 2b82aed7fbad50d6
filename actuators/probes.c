#include "actuators/actuator.h"

struct probe *probes_add(struct probes *probes, struct arena *arena)
{
	struct probe *probe = ARENA_NEW(arena, struct probe);

	if (probes->last != NULL)
		probes->last->next = probe;
	else
		probes->first = probe;
	probes->last = probe;
	return probe;
}
