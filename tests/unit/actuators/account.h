/*
 * A small account, as the tests of the kinds see it: subnets a1, a2 in use1-az1, b1 in use1-az2, c1 in use1-az4, x2 in another VPC.
 */
#ifndef TESTS_UNIT_ACTUATORS_ACCOUNT_H
#define TESTS_UNIT_ACTUATORS_ACCOUNT_H

#include <criterion/criterion.h>

#include "actuators/registry.h"
#include "data.h"

static struct arena arena;
static struct error error;
static struct scope scope;

static inline void add_subnet(const char *id, const char *zone_id, const char *vpc_id)
{
	struct subnets *subnets = &scope.subnets;

	subnets->at = arena_grow(&arena, subnets->at, subnets->count, &subnets->capacity, sizeof(*subnets->at));
	subnets->at[subnets->count++] = (struct subnet){.id = id, .zone_id = zone_id, .vpc_id = vpc_id};
}

static inline void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
	scope = (struct scope){.zone_id = "use1-az1", .zone_name = "us-east-1a", .region = "us-east-1"};
	add_subnet("subnet-0a1", "use1-az1", "vpc-0main");
	add_subnet("subnet-0a2", "use1-az1", "vpc-0main");
	add_subnet("subnet-0b1", "use1-az2", "vpc-0main");
	add_subnet("subnet-0c1", "use1-az4", "vpc-0main");
	add_subnet("subnet-0x2", "use1-az2", "vpc-0other");
	subnets_sort(&scope.subnets);
}

static inline void tear_down(void)
{
	arena_done(&arena);
}

static inline struct string_list list(const char *joined)
{
	return string_list_split(joined, ",", &arena);
}

static inline const char *joined(const struct string_list *strings)
{
	return string_list_join(strings, &arena, ",");
}

#endif
