/*
 * How long a plan will take to be applied, from counts, the services' quotas and the pacing. Pure.
 *
 * Counted is the time from the first change until the last update is accepted (and the last node tainted). Not counted is what nobody knows before: drains
 * and what waits for them, how long effects take to settle, throttling by what others ask of the same services, and reading what there is.
 */
#ifndef ENGINE_ESTIMATE_H
#define ENGINE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#define ESTIMATE_KINDS_MAX 8

/* The changes of one kind of AWS, which go side by side with those of the others. */
struct estimate_kind {
	size_t changes;
	double rate_per_s;  /* updates that the service takes, its looks included */
	double burst_count; /* that it takes at once before */
	size_t at_once;     /* changes between read and update at the same time, at least 1 */
};

struct estimate {
	size_t nodes; /* to be tainted */
	struct estimate_kind kinds[ESTIMATE_KINDS_MAX];
	size_t kind_count;
	int64_t max_in_flight;    /* changes of all kinds of AWS at the same time, at least 1 */
	int64_t batch_percent;    /* of a kind's changes, begun in one go, rounded up; 1 to 100 */
	int64_t batch_interval_s; /* between two batches of a kind; what the first one takes to settle is not counted */
};

/* Whole seconds, rounded up; 0 when there is nothing to be done. */
int64_t estimate_seconds(const struct estimate *estimate);

/* "about 2 min", in `out`; to be read, not to be computed with. */
#define ESTIMATE_WORDS_BYTES 32
void estimate_words(int64_t seconds, char out[static ESTIMATE_WORDS_BYTES]);

#endif
