#include "actuators/registry.h"

#include <criterion/criterion.h>

Test(registry, every_kind_is_whole_and_found_by_name)
{
	size_t count = 0;

	for (const struct actuator *actuator = registry_at(0); actuator != NULL; actuator = registry_at(++count)) {
		cr_expect_eq(registry_find(actuator->kind), actuator);
		cr_expect_not_null(actuator->service);
		cr_expect_gt(actuator->look_max, 0);
		cr_expect(actuator->survey != NULL && actuator->look != NULL && actuator->learn != NULL &&
		          actuator->plan != NULL);
		cr_expect(actuator->compare != NULL && actuator->settled != NULL && actuator->update != NULL);
	}
	cr_assert_eq(count, 3);
	cr_assert_eq(registry_find("AutoScalingGroup"), &auto_scaling_group);
	cr_assert_eq(registry_find("EcsService"), &ecs_service);
	cr_assert_eq(registry_find("LambdaFunction"), &lambda_function);
	cr_assert_null(registry_find("EksNode"));
	cr_assert_null(registry_find(NULL));
}
