#include "actuators/registry.h"

#include <string.h>

static const struct actuator *const actuators[] = {
	&auto_scaling_group,
	&ecs_service,
	&lambda_function,
};

const struct actuator *registry_at(size_t index)
{
	return index < sizeof(actuators) / sizeof(actuators[0]) ? actuators[index] : NULL;
}

const struct actuator *registry_find(const char *kind)
{
	for (size_t i = 0; kind != NULL && i < sizeof(actuators) / sizeof(actuators[0]); i++) {
		if (strcmp(actuators[i]->kind, kind) == 0)
			return actuators[i];
	}
	return NULL;
}
