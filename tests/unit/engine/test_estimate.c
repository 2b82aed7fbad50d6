#include <criterion/criterion.h>

#include "estimate.h"

static int64_t seconds(size_t nodes, size_t groups, size_t services, int64_t in_flight, int64_t percent,
                       int64_t interval_s)
{
	const struct estimate estimate = {
		.nodes = nodes,
		.kinds = {{groups, 10, 20, in_flight < 8 ? (size_t)in_flight : 8},
	              {services, 5, 50, in_flight < 4 ? (size_t)in_flight : 4}},
		.kind_count = 2,
		.max_in_flight = in_flight,
		.batch_percent = percent,
		.batch_interval_s = interval_s,
	};

	return estimate_seconds(&estimate);
}

Test(estimate, is_what_the_slowest_takes)
{
	static const struct {
		size_t nodes, groups, services;
		int64_t in_flight, percent, interval_s, expected_s;
		const char *because;
	} table[] = {
		{0, 0, 0, 16, 100, 0, 0, "nothing to be done"},
		{1, 0, 0, 16, 100, 0, 1, "a node, rounded up"},
		{1667, 0, 0, 16, 100, 0, 9, "200 nodes a second"},
		{0, 1, 0, 16, 100, 0, 1, "one change, three answers"},
		{0, 1000, 0, 16, 100, 0, 123, "ten calls a second, a fifth of them looks, twenty at once before"},
		{0, 200, 0, 16, 100, 0, 23, "the same"},
		{0, 200, 0, 1, 100, 0, 100, "one at a time: the quota does not matter"},
		{0, 0, 40, 16, 100, 0, 5, "within the burst: four at a time"},
		{0, 200, 1000, 16, 100, 0, 240, "side by side: services are slower"},
		{1667, 16, 0, 16, 100, 0, 9, "nodes and groups side by side"},
		{0, 200, 0, 16, 25, 60, 203, "four batches: three waits between them"},
		{0, 200, 0, 16, 30, 60, 203, "a last one of what is left"},
		{0, 200, 3, 16, 50, 60, 83, "each kind has batches of its own"},
		{0, 3, 0, 16, 50, 60, 61, "a batch is rounded up"},
		{0, 2, 0, 16, 1, 60, 61, "no more batches than changes"},
		{100, 0, 0, 16, 10, 60, 1, "nodes are not batched"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_assert_eq(seconds(table[i].nodes, table[i].groups, table[i].services, table[i].in_flight, table[i].percent,
		                     table[i].interval_s),
		             table[i].expected_s, "%s: %ld", table[i].because,
		             (long)seconds(table[i].nodes, table[i].groups, table[i].services, table[i].in_flight,
		                           table[i].percent, table[i].interval_s));
}

Test(estimate, in_words)
{
	static const struct {
		int64_t seconds;
		const char *words;
	} table[] = {{0, "about 0 s"},     {1, "about 1 s"},     {119, "about 119 s"},    {120, "about 2 min"},
	             {149, "about 2 min"}, {150, "about 3 min"}, {7199, "about 120 min"}, {7200, "about 2 h"}};
	char words[ESTIMATE_WORDS_BYTES];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		estimate_words(table[i].seconds, words);
		cr_assert_str_eq(words, table[i].words);
	}
}
