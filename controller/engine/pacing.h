/*
 * spec.pacing at work: the batches of each kind (batch.h), in both directions. A lane's batch is judged again when something of it has changed or its
 * time has come.
 *
 * - AWS kinds: what is begun are their changes. Begun and rested: the journal's createdAt and updatedAt; put back, the record is gone when it has come
 *   to rest, and what an earlier process saw of that stands in the status.
 * - Nodes are tainted at once, and what is begun are their drains: the annotation says since when. They are put back at once, for that takes no capacity
 *   from anybody.
 * - What an earlier process had begun goes on in its batch. What somebody put back counts as not begun. One put back for its tag is not paced.
 * - No more are ever at work than a batch holds, repeats of what failed included.
 */
#ifndef ENGINE_PACING_H
#define ENGINE_PACING_H

#include "item.h"

/* See where the batches of each kind are, and begin the drains that may begin. */
void pacing_turn(struct evacuation *evacuation);

/* May it be begun now? False: it is put back into its line, and where it was not begun its state says when it may be. */
bool pacing_admits(struct item *item);

/* It has been begun, or goes on; with the state of before. */
void pacing_began(struct item *item);

/* What the journal says of it becomes what is known, where this process has not begun it itself. */
void pacing_take_record(struct item *item);

/* It is out as wanted, and only its record is to be written: that belongs to the batch in progress. */
void pacing_take_out(struct item *item);

/* It is in, and nothing of ours is half done: it is to be begun, also where it was out before. */
void pacing_take_undone(struct item *item);

/* The first observation of this process finds an evacuation that is being put back: what the status tells of it. */
void pacing_take_told(struct evacuation *evacuation);

/* An earlier process had put it back, nobody knows when. */
void pacing_take_back(struct item *item);

/* The direction turns: nothing is begun in the new one. */
void pacing_turn_round(struct evacuation *evacuation);

/* Are the node's drain and what its taint ends still to come, in a batch of their own? */
bool pacing_holds_drain(const struct item *item);

/* Are drains paced? Then a node's annotation says since when it is drained. */
bool pacing_marks_drains(const struct evacuation *evacuation);

/* Are there nodes whose drains are still to come? */
bool pacing_waits_with_drains(const struct evacuation *evacuation);

/* When the next batch may begin. */
struct instant pacing_due(const struct evacuation *evacuation, struct instant otherwise);

/* How much longer the kind takes than one batch, where one takes `batch_ms` at the most. */
int64_t pacing_extends_ms(const struct evacuation *evacuation, size_t lane, int64_t batch_ms);

/* "; AutoScalingGroup: batch 2 of 4", "" where all is one batch. */
const char *pacing_note(const struct evacuation *evacuation, struct arena *arena);

#endif
