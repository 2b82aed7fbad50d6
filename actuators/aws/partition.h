/*
 * The partitions of AWS: which regions are in one, and under which domains its endpoints live. Private to this layer.
 */
#ifndef AWS_PARTITION_H
#define AWS_PARTITION_H

#include <stdbool.h>

struct partition {
	const char *name;
	const char *prefixes[12]; /* a region is one of them, a word and a number: "us" "-east" "-1" */
	const char *dns_suffix;
	const char *dual_stack_suffix;
	bool has_fips;
	bool has_dual_stack;
};

/* An unknown region, and NULL, is in "aws". Never NULL. */
const struct partition *partition_of(const char *region);

#endif
