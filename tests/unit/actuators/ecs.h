/*
 * The service web of a small account, and what the actuator says of it.
 */
#ifndef TESTS_UNIT_ACTUATORS_ECS_H
#define TESTS_UNIT_ACTUATORS_ECS_H

#include <string.h>

#include "account.h"

#define PREFIX "arn:aws:ecs:us-east-1:123456789012:"

static const struct actuator *const service = &ecs_service;

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
