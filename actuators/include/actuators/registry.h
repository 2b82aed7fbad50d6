/*
 * The AWS kinds, one line each in registry.c.
 */
#ifndef ACTUATORS_REGISTRY_H
#define ACTUATORS_REGISTRY_H

#include "actuators/actuator.h"

extern const struct actuator auto_scaling_group;
extern const struct actuator ecs_service;
extern const struct actuator lambda_function;

/* NULL when there is no such kind. */
const struct actuator *registry_find(const char *kind);

/* The n-th, or NULL. */
const struct actuator *registry_at(size_t index);

#endif
