#include <criterion/criterion.h>
#include <stdio.h>

#include "hold.h"

static struct holds holds;
static int here, there;

static int64_t until(const void *where, const char *operation)
{
	return holds_until(&holds, where, operation).ms;
}

Test(hold, is_of_one_operation_in_one_place)
{
	holds_set(&holds, &here, "GetFunction", (struct instant){5000});
	cr_assert_eq(until(&here, "GetFunction"), 5000);
	cr_assert_eq(until(&there, "GetFunction"), 0);
	cr_assert_eq(until(NULL, "GetFunction"), 0);
	cr_assert_eq(until(&here, "ListFunctions"), 0);
	holds_set(&holds, &here, "GetFunction", (struct instant){4000});
	cr_assert_eq(until(&here, "GetFunction"), 4000, "what was said last counts");
}

Test(hold, the_oldest_is_forgotten)
{
	char name[16];

	for (int i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), "Operation%d", i);
		holds_set(&holds, NULL, name, (struct instant){1000 + i});
	}
	cr_assert_eq(until(NULL, "Operation0"), 0);
	cr_assert_eq(until(NULL, "Operation1"), 1001);
	cr_assert_eq(until(NULL, "Operation16"), 1016);
}
