#include "actuators/actuator.h"

#include <criterion/criterion.h>

Test(probes, are_a_queue)
{
	struct probes probes = {0};
	struct arena arena;
	struct probe *first;
	struct probe *second;

	arena_init(&arena, "test", 65536);
	first = probes_add(&probes, &arena);
	second = probes_add(&probes, &arena);
	cr_assert_eq(probes.first, first);
	cr_assert_eq(first->next, second);
	cr_assert_eq(probes.last, second);
	cr_assert_null(second->next);
	cr_assert_eq(second->step, 0);
	cr_assert_null(second->context);
	arena_done(&arena);
}
