/*
 * The service web of a small account, and what the actuator says of it.
 */
#ifndef TESTS_UNIT_ACTUATORS_ECS_H
#define TESTS_UNIT_ACTUATORS_ECS_H

#include <criterion/criterion.h>
#include <string.h>

#include "actuators/registry.h"
#include "data.h"

#define PREFIX "arn:aws:ecs:us-east-1:123456789012:"

static struct arena arena;
static struct error error;
static struct scope scope;
static const struct actuator *const service = &ecs_service;

static inline void add_subnet(const char *id, const char *zone_id, const char *vpc_id)
{
	struct subnets *subnets = &scope.subnets;

	subnets->at = arena_grow(&arena, subnets->at, subnets->count, &subnets->capacity, sizeof(*subnets->at));
	subnets->at[subnets->count++] = (struct subnet){.id = id, .zone_id = zone_id, .vpc_id = vpc_id};
}

static inline void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
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

static inline const struct resource *learn_one(struct http_response response, const char *name)
{
	const struct change change = {.id = PREFIX "service/prod/web"};
	const struct change *const changes[] = {&change};
	struct resources *resources = ARENA_NEW(&arena, struct resources);
	struct probes probes = {0};
	struct probes further = {0};

	service->look(&scope, changes, 1, &arena, &probes);
	cr_assert(service->learn(&scope, probes.first, &response, &arena, resources, &further, &error), "%s",
	          error.message);
	for (size_t i = 0; i < resources->count; i++) {
		if (strcmp(resources->at[i].name, name) == 0)
			return &resources->at[i];
	}
	cr_assert_fail("there is no service %s", name);
	return NULL;
}

static inline const struct resource *described(const char *name)
{
	return learn_one(data_response(&arena, 200, "aws/ecs_described.json"), name);
}

/* The service web as described, with the members of `other` in place of its own; null takes one out. */
static inline const struct resource *web_with(const char *other)
{
	struct http_response response = data_response(&arena, 200, "aws/ecs_described.json");
	struct json *body = json_parse(&arena, response.body, response.body_length, &error);
	const struct json *changes = json_parse(&arena, other, strlen(other), &error);
	struct json *web = json_copy(&arena, json_at(json_get(body, "services"), 0));
	const struct json *member;
	const char *key;

	cr_assert_not_null(changes, "%s: %s", other, error.message);
	for (size_t i = 0; (member = json_member(changes, i, &key)) != NULL; i++)
		json_set(web, key, json_copy(&arena, member));
	json_add(json_set_array(body, "services"), web);
	return learn_one(data_text(200, json_print(body, &arena)), "web");
}

static inline struct resource web_in(const char *subnets)
{
	struct resource resource = *described("web");

	resource.subnets = list(subnets);
	return resource;
}

static inline struct decision plan_of(const struct resource *resource)
{
	struct decision decision;

	service->plan(&scope, resource, &arena, &decision);
	return decision;
}

static inline struct change change_of(const char *removed, const char *order)
{
	struct change change = plan_of(described("web")).change;

	change.removed = list(removed);
	change.order = list(order);
	return change;
}

#endif
