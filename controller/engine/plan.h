/*
 * From facts to items: what is to be done with each resource, and which processes are to be begun. No process is begun on an item that has one.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "evacuation.h"

/* So long a node that is cordoned already waits for what the journal knows of it. */
#define COPY_PATIENCE_MS 5000

/* A complete observation while evacuating: items for every selected resource in the zone, and for every open record of ours. */
void plan_take_facts(struct evacuation *evacuation);

/*
 * What an earlier process said that it holds: should the journal have lost it, this is the last place that knows. `status` is that of the object when it
 * was first seen; one of an evacuation that was being put back proves nothing.
 */
void plan_take_status(struct evacuation *evacuation, const struct json *status);

/* A complete observation while restoring: items for every open record of ours. */
void plan_take_records(struct evacuation *evacuation);

/* The nodes out of the cache, all or those that changed: items for the selected ones of the zone. */
void plan_take_nodes(struct evacuation *evacuation);

/* A node has been deleted. */
void plan_take_gone_node(struct evacuation *evacuation, const char *id);

/* When this evacuation marked its first node, as the nodes say; 0 = it has marked none. */
struct wallclock plan_first_mark(const struct evacuation *evacuation);

/* Restoring: items for the nodes that carry our annotation for this zone. How many are not back yet. */
size_t plan_take_held_nodes(struct evacuation *evacuation);

/* The reason that a person gave for overriding the guard for a resource of this name (guards.allow), or NULL: nobody did. */
const char *plan_allows(const struct evacuation *evacuation, enum guard guard, const char *name);

/* The record of a change says which guards a person overrode, and why: {"allowed":[{"guard":"ManagedByEks","reason":"…"}]} in its detail. */
void plan_note_allowed(struct change *change, enum guard guard, const char *reason, struct arena *arena);

/* actuator->plan, and what a person allows on top of it. The record of an allowed change says so. */
void plan_decide(const struct evacuation *evacuation, const struct actuator *actuator, const struct resource *resource,
                 struct arena *arena, struct decision *out);

/* It waits for others (gate.h): then that is its state. */
bool plan_waits(struct item *item);

/*
 * Selected by the object's targets, and not tagged to be left alone. One whose tags cannot be read counts as selected unless its names say otherwise.
 */
bool plan_selected(const struct evacuation *evacuation, const struct resource *resource);

/* A record that nobody of this version may act on: unreadable, or of a kind that it does not know. NULL when there is none of ours. */
const struct record *plan_strange_record(const struct evacuation *evacuation);

/* Is there anything that is out, or to be taken out? Then the object must not vanish unasked. */
bool plan_needs_finalizer(const struct evacuation *evacuation);

/*
 * Begin what may begin: nodes at once, AWS items within maxInFlight once the zone is registered, copies of nodes once the table is there.
 */
void plan_start(struct evacuation *evacuation);

/* Mode Plan: nothing begins, but nodes say which pods they would lose, and groups for which nodes they would wait. */
void plan_tell(struct evacuation *evacuation);

/* How long it will take to apply what is planned and not begun, in seconds (estimate.h). */
int64_t plan_estimate(const struct evacuation *evacuation);

/* The same for putting back; `aws` false: nodes only. */
void plan_start_restores(struct evacuation *evacuation, bool aws);

#endif
