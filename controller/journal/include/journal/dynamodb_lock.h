/*
 * The lock of a resource: item (`#lock`, resourceId) of the journal's table. Two zones of a region may be held at once (guards.allowOtherZones), and
 * one zone by two clusters, and neither Auto Scaling nor ECS has a compare-and-set: two read-modify-writes of one list side by side would lose one. So
 * whoever changes a resource then holds its lock from the read that the change is built from to the look that shows its effect.
 *
 * Attributes: holder S (`<owner> <zone id>`), attempt S (whose process), until S (absent for others from then on). An update signed under the lock may
 * reach AWS as long as its signature is good, whatever becomes of its sender; so `until` lies that much later than the last update that is sent
 * under it (LOCK_WORK_MS + LOCK_LANDING_MS after the take), and a lock whose update met silence is not given back but left to end.
 * One holder may take it over from itself: its own processes are kept apart by the lease, and the landing time starts anew.
 */
#ifndef JOURNAL_DYNAMODB_LOCK_H
#define JOURNAL_DYNAMODB_LOCK_H

#include "base/arena.h"
#include "base/instant.h"
#include "net/http.h"

/* So long after it was taken an update may be sent under it. */
#define LOCK_WORK_MS (2 * 60 * 1000)
/* So long after it was signed an update may still land: AWS refuses signatures older than five minutes. The rest is for clocks that differ. */
#define LOCK_LANDING_MS (5 * 60 * 1000 + 30 * 1000)

struct resource_lock {
	const char *resource_id;
	const char *owner;
	const char *zone_id;
	const char *attempt;
};

/* PutItem, if there is none, its time is over, or its holder is the same. Refused with ERROR_CONFLICT (by aws_check) when somebody else has it. */
void dynamodb_ask_lock(struct arena *arena, const char *table, const struct resource_lock *lock, struct wallclock now,
                       struct http_request *out);

/* DeleteItem, if it is this attempt's. Refused with ERROR_CONFLICT when it is not (any more): that is as good. */
void dynamodb_ask_unlock(struct arena *arena, const char *table, const struct resource_lock *lock,
                         struct http_request *out);

#endif
