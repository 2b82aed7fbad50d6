#include <criterion/criterion.h>

#include "batch.h"

/* Times in seconds; 0 = not yet. */
static struct wallclock at(int64_t s)
{
	return (struct wallclock){s * 1000000};
}

static struct batch_pace pace(int64_t percent, int64_t interval_s)
{
	return (struct batch_pace){.percent = percent, .interval_ms = interval_s * 1000};
}

Test(batch, a_share_is_rounded_up_and_never_nothing)
{
	static const struct {
		int64_t percent;
		size_t all, size;
	} table[] = {{100, 7, 7}, {1, 7, 1},       {50, 7, 4}, {33, 100, 33},
	             {34, 6, 3},  {1, 10000, 100}, {10, 0, 1}, {99, 1, 1}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_assert_eq(batch_size(pace(table[i].percent, 0), table[i].all), table[i].size, "row %zu", i);
}

Test(batch, intervals_lie_between_batches)
{
	cr_assert_eq(batch_intervals_ms(pace(25, 60), 8), 180000);
	cr_assert_eq(batch_intervals_ms(pace(25, 60), 9), 120000, "three, three, three");
	cr_assert_eq(batch_intervals_ms(pace(100, 60), 8), 0);
	cr_assert_eq(batch_intervals_ms(pace(25, 0), 8), 0);
	cr_assert_eq(batch_intervals_ms(pace(25, 60), 0), 0);
}

struct row {
	const char *what;
	int64_t percent, interval_s;
	size_t all;
	struct {
		int64_t begun, rested;
		size_t count;
	} spans[8];
	int64_t failed, now;
	size_t number, of, left;
	int64_t not_before;
};

/* Of ten at 30 %: batches of three. */
static const struct row rows[] = {
	{"nothing is begun", 30, 60, 10, {{0}}, 0, 1000, 0, 4, 3, 0},
	{"one of three is begun", 30, 60, 10, {{1000, 0, 1}}, 0, 1001, 1, 4, 2, 0},
	{"one of three has come to rest already", 30, 60, 10, {{1000, 1010, 1}, {1000, 0, 1}}, 0, 1020, 1, 4, 1, 0},
	{"all three are begun", 30, 60, 10, {{1000, 1010, 1}, {1000, 0, 1}, {1002, 1005, 1}}, 0, 1020, 1, 4, 0, 0},
	{"all three are at rest", 30, 60, 10, {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}}, 0, 1040, 1, 4, 0, 1090},
	{"the interval is over", 30, 60, 10, {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}}, 0, 1090, 1, 4, 3, 0},
	{"without an interval rest is enough",
     30,
     0,
     10,
     {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     0,
     1030,
     1,
     4,
     3,
     0},
	{"of the second batch one is begun",
     30,
     60,
     10,
     {{1100, 0, 1}, {1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     0,
     1101,
     2,
     4,
     2,
     0},
	{"of the second batch one is at rest, the others have yet to begin",
     30,
     60,
     10,
     {{1100, 1101, 1}, {1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     0,
     1102,
     2,
     4,
     2,
     0},
	{"and when it has been at rest for long a new one begins",
     30,
     60,
     10,
     {{1100, 1101, 1}, {1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     0,
     1161,
     2,
     4,
     3,
     0},
	{"fewer are left than made the batch: the interval is kept",
     30,
     60,
     7,
     {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}, {1002, 1006, 1}},
     0,
     1040,
     2,
     3,
     0,
     1090},
	{"one of the first is at work again: it is all one batch",
     30,
     60,
     10,
     {{1000, 0, 1}, {1000, 1030, 1}, {1002, 1005, 1}, {1100, 1101, 1}},
     0,
     1102,
     2,
     4,
     0,
     0},
	{"what failed holds up the next one",
     30,
     60,
     10,
     {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     1010,
     1100,
     1,
     4,
     0,
     1910},
	{"but not for ever", 30, 60, 10, {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}}, 1010, 1910, 1, 4, 3, 0},
	{"an interval longer than that is kept",
     30,
     3600,
     10,
     {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     1010,
     2000,
     1,
     4,
     0,
     4630},
	{"an earlier process put back two batches", 30, 60, 10, {{1030, 1030, 6}}, 0, 1040, 2, 4, 0, 1090},
	{"and had begun with the third", 30, 60, 10, {{1030, 1030, 6}, {1020, 0, 1}}, 0, 1040, 3, 4, 0, 0},
	{"all are begun", 30, 60, 3, {{1000, 1010, 1}, {1100, 1110, 1}, {1200, 1210, 1}}, 0, 1220, 3, 3, 0, 1270},
	{"time has been turned back",
     30,
     60,
     10,
     {{1000, 1010, 1}, {1000, 1030, 1}, {1002, 1005, 1}},
     0,
     500,
     1,
     4,
     0,
     1090},
};

Test(batch, how_many_may_begin)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct batch_span spans[8];
		struct batch batch;
		size_t count = 0;

		for (; count < 8 && row->spans[count].begun; count++)
			spans[count] = (struct batch_span){.begun = at(row->spans[count].begun),
			                                   .rested = at(row->spans[count].rested),
			                                   .count = row->spans[count].count};
		batch = batch_judge(pace(row->percent, row->interval_s), row->all, spans, count, at(row->failed), at(row->now));
		cr_assert_eq(batch.number, row->number, "%s: number %zu", row->what, batch.number);
		cr_assert_eq(batch.of, row->of, "%s: of %zu", row->what, batch.of);
		cr_assert_eq(batch.left, row->left, "%s: %zu left", row->what, batch.left);
		cr_assert_eq(batch.not_before.us, at(row->not_before).us, "%s: not before %lld", row->what,
		             (long long)(batch.not_before.us / 1000000));
	}
}
