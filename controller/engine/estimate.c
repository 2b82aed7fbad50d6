#include "estimate.h"

#include <inttypes.h>
#include <stdio.h>

#include "batch.h"

/* What the API server takes of patches of nodes from one client, measured with some 1,700 of them. */
#define NODES_PER_S 200.0
/* From its read to the answer of its update a change takes three answers, and a moment's wait for others to be looked at with. */
#define CHANGE_S 0.5
/* Of each quota a fifth is left to looks (place_changes_a_second). */
#define CALLS_A_CHANGE 1.25

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The waits between the batches of a kind. */
static double pauses_s(const struct estimate *estimate, size_t changes)
{
	const struct batch_pace pace = {.percent = estimate->batch_percent,
	                                .interval_ms = estimate->batch_interval_s * 1000};

	return (double)batch_intervals_ms(pace, changes) / 1000;
}

static double kind_seconds(const struct estimate *estimate, const struct estimate_kind *kind)
{
	double calls = (double)kind->changes * CALLS_A_CHANGE;
	double by_quota = larger(calls - kind->burst_count, 0) / kind->rate_per_s;

	return pauses_s(estimate, kind->changes) +
	       larger(by_quota, (double)kind->changes * CHANGE_S / (double)kind->at_once);
}

static size_t count_changes(const struct estimate *estimate)
{
	size_t changes = 0;

	for (size_t i = 0; i < estimate->kind_count; i++)
		changes += estimate->kinds[i].changes;
	return changes;
}

static int64_t round_up(double seconds)
{
	int64_t whole = (int64_t)seconds;

	return whole + ((double)whole < seconds);
}

int64_t estimate_seconds(const struct estimate *estimate)
{
	double nodes_s = (double)estimate->nodes / NODES_PER_S;
	double all_s = (double)count_changes(estimate) * CHANGE_S / (double)estimate->max_in_flight;
	double seconds = larger(nodes_s, all_s);

	for (size_t i = 0; i < estimate->kind_count; i++)
		if (estimate->kinds[i].changes)
			seconds = larger(seconds, kind_seconds(estimate, &estimate->kinds[i]));
	return round_up(seconds);
}

void estimate_words(int64_t seconds, char out[static ESTIMATE_WORDS_BYTES])
{
	if (seconds < 120)
		snprintf(out, ESTIMATE_WORDS_BYTES, "about %" PRId64 " s", seconds);
	else if (seconds < 7200)
		snprintf(out, ESTIMATE_WORDS_BYTES, "about %" PRId64 " min", (seconds + 30) / 60);
	else
		snprintf(out, ESTIMATE_WORDS_BYTES, "about %" PRId64 " h", (seconds + 1800) / 3600);
}
