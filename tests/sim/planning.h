/*
 * What tests of a plan share: every kind in a small region, planned, and the hash that the status tells.
 */
#ifndef TESTS_SIM_PLANNING_H
#define TESTS_SIM_PLANNING_H

#include <criterion/criterion.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void begin(uint64_t seed)
{
	run_init(&run, seed);
	arena_init(&arena, "test", 256 * 1024 * 1024);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
}

static void setup(void)
{
	begin(29);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

static const char *hash(void)
{
	const char *value = json_string(run_status(&run, "planHash"));

	return value != NULL ? arena_string(&arena, value) : "";
}

static const char *plan(void)
{
	run_plan(&run);
	cr_assert_str_neq(hash(), "");
	return hash();
}

/* Longer than a resync takes to come. */
static void look_again(void)
{
	run_for(&run, 6 * MINUTE_MS);
}

#endif
