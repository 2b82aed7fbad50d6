/*
 * A replica that sits in the zone being evacuated gives the lease to one that does not.
 *
 * Where we sit: settings.node_name (the downward API) and the node's labels. While we sit in a zone that an evacuation wants, and until we know,
 * we are a reluctant candidate (kube/lease.h). A leader found to sit there asks for the pods of its namespace and ends (exit code 0: it is started
 * anew as a candidate) once another pod of the same controller is Ready on a node elsewhere; without one it goes on leading: somebody always leads.
 * Whoever took the lease reluctantly keeps it.
 */
#ifndef ENGINE_YIELD_H
#define ENGINE_YIELD_H

#include "base/instant.h"

struct engine;
struct exchange;

struct yield {
	struct exchange *exchange;
	struct instant due;
};

void yield_turn(struct engine *engine);
struct instant yield_due(const struct engine *engine, struct instant otherwise);

#endif
