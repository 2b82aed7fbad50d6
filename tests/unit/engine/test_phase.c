#include <criterion/criterion.h>

#include "phase.h"

static struct tally tally_of(const enum item_state *states, size_t count)
{
	struct items items;
	struct item all[16] = {0};

	items_init(&items);
	for (size_t i = 0; i < count; i++) {
		all[i].change.kind = i % 2 ? "EksNode" : "AutoScalingGroup";
		all[i].state = states[i];
		*items.last = &all[i];
		items.last = &all[i].next;
	}
	return phase_tally(&items, NULL);
}

Test(phase, every_state_is_counted_once)
{
	struct tally tally;
	enum item_state states[ITEM_STATES];

	for (int i = 0; i < ITEM_STATES; i++)
		states[i] = (enum item_state)i;
	tally = tally_of(states, ITEM_STATES);
	cr_assert_eq(tally.found, ITEM_STATES);
	cr_assert_eq(tally.changed + tally.open + tally.refused + tally.failed + tally.rival + tally.restored +
	                 tally.held_by_others,
	             ITEM_STATES);
	cr_assert_eq(tally.settled, 1);
	cr_assert_eq(tally.changed, 3, "Settled, Applied and Restoring are changed");
	cr_assert_eq(tally.restored, 3, "Restored, Gone and Superseded need nothing more");
}

Test(phase, a_kind_is_counted_alone)
{
	struct items items;
	struct item group = {.change.kind = "AutoScalingGroup", .state = ITEM_SETTLED};
	struct item node = {.change.kind = "EksNode", .state = ITEM_FAILED};

	items_init(&items);
	*items.last = &group;
	items.last = &group.next;
	*items.last = &node;
	items.last = &node.next;
	cr_assert_eq(phase_tally(&items, "EksNode").failed, 1);
	cr_assert_eq(phase_tally(&items, "EksNode").found, 1);
	cr_assert_eq(phase_tally(&items, "AutoScalingGroup").settled, 1);
}

Test(phase, names_are_those_of_the_resource)
{
	cr_assert_str_eq(phase_name(PHASE_HOLDING), "Holding");
	cr_assert_str_eq(phase_name(PHASE_RESTORED), "Restored");
	cr_assert_str_eq(item_state_name(ITEM_HELD_BY_OTHERS), "HeldByOthers");
}
