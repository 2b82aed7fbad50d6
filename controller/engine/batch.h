/*
 * Batches: a share of a kind's changes at a time, the next share when the one before has come to rest and the interval has passed. Pure: what decides
 * are times that survive a restart (the journal's records, the nodes' annotations, the status), so that a batch in progress is not begun again.
 *
 *   begun   ■■■■ ............ ■■■■ ............ ■■
 *   rested       ■ ■  ■■              ■■■  ■
 *                      └ interval ┘          └ interval ┘
 *
 * Which changes make a batch is read off the times: one that was begun while another one was at work, or less than an interval after the last one came
 * to rest, is of its batch. Where times are not known exactly this makes batches look fuller than they are, and the next step smaller, never bigger.
 */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"

/*
 * What failed holds up the next batch until it has been mended, but no longer than this after it failed first: a cause that all have in common would
 * meet the next batch as well, and one resource that cannot be changed must not keep the others in the zone.
 */
#define BATCH_FAILED_MS (15 * 60 * 1000)

struct batch_pace {
	int64_t percent;     /* 1..100 of the kind's changes; 100 = all at once */
	int64_t interval_ms; /* from the rest of one batch to the next */
};

/* One change that was begun, or `count` of which no more is known. */
struct batch_span {
	struct wallclock begun;
	struct wallclock rested; /* 0 = it is at work */
	size_t count;
};

struct batch {
	size_t size;   /* of a batch, at least 1 */
	size_t number; /* of the one that was begun last, from 1; 0 = none was */
	size_t of;     /* how many there are */
	size_t left;   /* so many may begin now */
	/* Nothing is left: none begins before; 0 = before those at work have come to rest. */
	struct wallclock not_before;
	bool after_failure; /* not_before is so late because something failed */
};

/* How many make a batch of `all` changes: at least 1, never more than was asked for, rounded up. */
size_t batch_size(struct batch_pace pace, size_t all);

/* How long batches alone make it take (ms): the intervals between them. What the changes themselves take comes on top, batch by batch. */
int64_t batch_intervals_ms(struct batch_pace pace, size_t all);

/*
 * How far it is. `all` changes of the kind, those that were begun as `spans` (sorted here), the latest time at which something failed first that is
 * not mended (0 = none).
 */
struct batch batch_judge(struct batch_pace pace, size_t all, struct batch_span *spans, size_t count,
                         struct wallclock failed, struct wallclock now);

#endif
