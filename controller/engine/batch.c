#include "batch.h"

#include <stdlib.h>

size_t batch_size(struct batch_pace pace, size_t all)
{
	size_t size = (all * (size_t)pace.percent + 99) / 100;

	return size ? size : 1;
}

static size_t batches_of(size_t size, size_t all)
{
	return (all + size - 1) / size;
}

int64_t batch_intervals_ms(struct batch_pace pace, size_t all)
{
	return all ? (int64_t)(batches_of(batch_size(pace, all), all) - 1) * pace.interval_ms : 0;
}

static int by_beginning(const void *a, const void *b)
{
	int64_t first = ((const struct batch_span *)a)->begun.us;
	int64_t second = ((const struct batch_span *)b)->begun.us;

	return (first > second) - (first < second);
}

/* The last batch: how many were begun in it, whether some are at work, when the last one came to rest. */
struct last {
	size_t begun;
	bool at_work;
	struct wallclock rested;
};

static struct last last_batch(struct batch_pace pace, const struct batch_span *spans, size_t count)
{
	struct last last = {0};

	for (size_t i = 0; i < count; i++) {
		if (last.begun > 0 && !last.at_work &&
		    spans[i].begun.us >= wallclock_after_ms(last.rested, pace.interval_ms).us)
			last.begun = 0;
		last.begun += spans[i].count;
		if (!spans[i].rested.us)
			last.at_work = true;
		else if (spans[i].rested.us > last.rested.us)
			last.rested = spans[i].rested;
	}
	return last;
}

struct batch batch_judge(struct batch_pace pace, size_t all, struct batch_span *spans, size_t count,
                         struct wallclock failed, struct wallclock now)
{
	struct batch batch = {.size = batch_size(pace, all)};
	struct wallclock next, mended;
	size_t begun = 0;
	struct last last;

	if (count)
		qsort(spans, count, sizeof(*spans), by_beginning);
	last = last_batch(pace, spans, count);
	for (size_t i = 0; i < count; i++)
		begun += spans[i].count;
	batch.of = batches_of(batch.size, all);
	batch.number = batches_of(batch.size, begun);
	if (batch.number > batch.of)
		batch.number = batch.of;
	next = wallclock_after_ms(last.rested, pace.interval_ms);
	mended = failed.us ? wallclock_after_ms(failed, BATCH_FAILED_MS) : failed;
	batch.after_failure = mended.us > next.us;
	if (batch.after_failure)
		next = mended;
	if (last.begun == 0 || (!last.at_work && next.us <= now.us))
		batch.left = batch.size;
	else if (last.begun < batch.size)
		batch.left = batch.size - last.begun;
	else if (!last.at_work)
		batch.not_before = next;
	return batch;
}
