/*
 * The arithmetic on small worlds, all of them: zone 1 has a1 a2, zone 2 has b1 b2; x is what an owner may add.
 */
#include "domain/delta.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_LISTS = 400 };

static struct arena arena;
static struct scope scope;

static void add_subnet(const char *id, const char *zone_id)
{
	struct subnets *subnets = &scope.subnets;

	subnets->at = arena_grow(&arena, subnets->at, subnets->count, &subnets->capacity, sizeof(*subnets->at));
	subnets->at[subnets->count++] = (struct subnet){.id = id, .zone_id = zone_id};
}

static void start(void)
{
	arena_init(&arena, "test", 512 * 1024 * 1024);
	scope = (struct scope){.zone_id = "az1"};
	add_subnet("a1", "az1");
	add_subnet("a2", "az1");
	add_subnet("b1", "az2");
	add_subnet("b2", "az2");
	add_subnet("x", "az2");
	subnets_sort(&scope.subnets);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(delta, .init = start, .fini = end);

struct lists {
	struct string_list at[MAX_LISTS];
	size_t count;
};

/* All ordered selections of `universe` that begin with `prefix`. */
static void grow(struct lists *out, const struct string_list *universe, struct string_list prefix)
{
	cr_assert_lt(out->count, (size_t)MAX_LISTS);
	out->at[out->count++] = prefix;
	for (size_t i = 0; i < universe->count; i++) {
		struct string_list longer;

		if (string_list_has(&prefix, universe->at[i]))
			continue;
		longer = string_list_copy(&prefix, &arena);
		string_list_add(&longer, &arena, universe->at[i]);
		grow(out, universe, longer);
	}
}

static struct lists *selections(const char *universe)
{
	struct lists *lists = ARENA_NEW(&arena, struct lists);
	struct string_list all = string_list_split(universe, " ", &arena);

	grow(lists, &all, (struct string_list){0});
	return lists;
}

static struct string_list list(const char *words)
{
	return string_list_split(words, " ", &arena);
}

static const char *shown(const struct string_list *of)
{
	return string_list_join(of, &arena, " ");
}

static struct string_list put_back(const struct string_list *current, const struct string_list *removed,
                                   const struct string_list *order)
{
	struct string_list missing = delta_missing(&scope, current, removed, &arena);

	return delta_union(current, &missing, order, &arena);
}

static bool has_repeats(const struct string_list *of)
{
	for (size_t i = 0; i < of->count; i++)
		if (string_list_find(of, of->at[i]) != i)
			return true;
	return false;
}

Test(delta, out_and_back_is_the_identity_when_nobody_interferes)
{
	struct lists *orders = selections("a1 a2 b1 b2 x");

	for (size_t i = 0; i < orders->count; i++) {
		struct string_list in_zone;
		struct string_list elsewhere;
		struct string_list back;

		delta_split(&scope, &orders->at[i], &arena, &in_zone, &elsewhere);
		cr_assert_eq(in_zone.count + elsewhere.count, orders->at[i].count);
		back = put_back(&elsewhere, &in_zone, &orders->at[i]);
		cr_assert(string_list_equal(&back, &orders->at[i]), "%s became %s", shown(&orders->at[i]), shown(&back));
	}
	fprintf(stderr, "delta: %zu lists out and back\n", orders->count);
}

Test(delta, out_and_back_in_two_steps_is_the_identity_too)
{
	struct lists *orders = selections("a1 a2 b1 b2 x");
	struct string_list removed = list("a2 a1");
	struct string_list first = list("a2");

	for (size_t i = 0; i < orders->count; i++) {
		struct string_list out = delta_without(&orders->at[i], &removed, &arena);
		struct string_list taken = delta_present(&orders->at[i], &removed, &arena);
		struct string_list half = put_back(&out, &taken, &orders->at[i]);

		half = delta_without(&half, &first, &arena);
		half = put_back(&half, &taken, &orders->at[i]);
		cr_assert(string_list_equal(&half, &orders->at[i]), "%s became %s", shown(&orders->at[i]), shown(&half));
	}
}

/* Whatever the owner made of it: what stands stays in its order, what we took is there, nothing else is. */
static void check_edit(const struct string_list *order, const struct string_list *edited)
{
	struct string_list in_zone;
	struct string_list elsewhere;
	struct string_list back;
	struct string_list expected;
	struct string_list kept;
	struct string_list again;

	delta_split(&scope, order, &arena, &in_zone, &elsewhere);
	back = put_back(edited, &in_zone, order);
	expected = delta_join(edited, &in_zone, &arena);
	cr_assert(string_list_same_set(&back, &expected), "order %s edited %s gave %s", shown(order), shown(edited),
	          shown(&back));
	cr_assert_not(has_repeats(&back), "order %s edited %s gave %s", shown(order), shown(edited), shown(&back));
	kept = delta_present(&back, edited, &arena);
	cr_assert(string_list_equal(&kept, edited));
	kept = delta_missing(&scope, edited, &in_zone, &arena);
	kept = delta_without(&back, &kept, &arena);
	cr_assert(string_list_equal(&kept, edited), "order %s edited %s gave %s", shown(order), shown(edited),
	          shown(&back));
	again = put_back(&back, &in_zone, order);
	cr_assert(string_list_equal(&again, &back), "putting back twice is putting back once");
}

Test(delta, edits_of_the_owner_survive)
{
	struct lists *orders = selections("a1 a2 b1 b2");
	struct lists *edits = selections("b2 x a1 b1");

	for (size_t i = 0; i < orders->count; i++)
		for (size_t k = 0; k < edits->count; k++)
			check_edit(&orders->at[i], &edits->at[k]);
	fprintf(stderr, "delta: %zu orders x %zu edits\n", orders->count, edits->count);
}

Test(delta, split_knows_only_the_zone_and_drops_repeats)
{
	struct string_list current = list("b1 a1 b1 a1 unknown");
	struct string_list in_zone;
	struct string_list elsewhere;

	delta_split(&scope, &current, &arena, &in_zone, &elsewhere);
	cr_assert_str_eq(shown(&in_zone), "a1");
	cr_assert_str_eq(shown(&elsewhere), "b1 unknown");
}

Test(delta, a_subnet_that_was_deleted_is_not_missed)
{
	struct string_list current = list("b1");
	struct string_list removed = list("a1 gone a1 b1");
	struct string_list missing = delta_missing(&scope, &current, &removed, &arena);
	struct string_list present = delta_present(&current, &removed, &arena);

	cr_assert_str_eq(shown(&missing), "a1");
	cr_assert_str_eq(shown(&present), "b1");
}

Test(delta, neighbours_decide_the_place)
{
	struct string_list order = list("b1 a1 b2 a2");
	struct string_list missing = list("a1 a2");
	struct string_list reordered = list("b2 x b1");
	struct string_list without_earlier = list("x b2");
	struct string_list strangers = list("x");
	struct string_list first = delta_union(&reordered, &missing, &order, &arena);
	struct string_list second = delta_union(&without_earlier, &missing, &order, &arena);
	struct string_list third = delta_union(&strangers, &missing, &order, &arena);

	cr_assert_str_eq(shown(&first), "b2 a2 x b1 a1");
	cr_assert_str_eq(shown(&second), "x a1 b2 a2");
	cr_assert_str_eq(shown(&third), "x a1 a2", "at the end when no neighbour is left");
}

Test(delta, what_is_there_is_not_added_again)
{
	struct string_list order = list("a1 b1");
	struct string_list all = delta_union(&order, &order, &order, &arena);

	cr_assert_str_eq(shown(&all), "a1 b1");
}

Test(delta, without_an_order_things_go_to_the_end)
{
	struct string_list none = {0};
	struct string_list current = list("b1");
	struct string_list missing = list("a1");
	struct string_list all = delta_union(&current, &missing, &none, &arena);

	cr_assert_str_eq(shown(&all), "b1 a1");
}

Test(delta, join_is_a_then_what_b_has_more)
{
	struct string_list a = list("a1 b1");
	struct string_list b = list("b1 a2 a2");
	struct string_list joined = delta_join(&a, &b, &arena);

	cr_assert_str_eq(shown(&joined), "a1 b1 a2");
}

/* What the kinds that have a list of subnets share. */

static struct change change_of(const char *removed, const char *order)
{
	return (struct change){.incarnation = "first", .removed = list(removed), .order = list(order)};
}

static struct resource resource_of(const char *subnets)
{
	return (struct resource){.incarnation = "first", .subnets = list(subnets)};
}

static enum stand stands(const struct change *change, const char *subnets)
{
	struct resource resource = resource_of(subnets);

	return delta_compare(&scope, change, &resource, &arena);
}

static void name_vpcs(void)
{
	for (size_t i = 0; i < scope.subnets.count; i++)
		scope.subnets.at[i].vpc_id = scope.subnets.at[i].id[0] == 'x' ? "vpc-2" : "vpc-1";
}

Test(delta, only_what_the_account_shows_remains)
{
	struct string_list mixed = list("gone b1");
	struct string_list gone = list("gone lost");
	struct string_list none = {0};

	cr_assert_eq(delta_count_known(&scope, &mixed), 1);
	cr_assert_eq(delta_count_known(&scope, &none), 0);
	cr_assert_null(delta_last_reason(&scope, &mixed, &arena));
	cr_assert_str_eq(delta_last_reason(&scope, &none, &arena), "all its subnets are in az1");
	cr_assert_str_eq(delta_last_reason(&scope, &gone, &arena),
	                 "outside az1 it has only gone, lost, which this account does not show");
}

Test(delta, next_takes_out_and_puts_back_what_still_exists)
{
	struct change change = change_of("a1 gone", "a1 b1 b2");
	struct string_list with = list("b2 a1 b1");
	struct string_list without = list("b2 b1");
	struct string_list out = delta_next(&scope, &change, &with, DIRECTION_OUT, &arena);
	struct string_list back = delta_next(&scope, &change, &without, DIRECTION_BACK, &arena);

	cr_assert_str_eq(shown(&out), "b2 b1");
	cr_assert_str_eq(shown(&back), "b2 a1 b1", "before b1, its first neighbour");
}

Test(delta, unsettled_names_what_is_lacking)
{
	struct change change = change_of("a1 a2 gone", "a1 a2 b1");
	struct string_list all = list("a1 b1 a2");
	struct string_list half = list("b1 a2");
	struct string_list out = list("b1");

	cr_assert_null(delta_unsettled(&scope, &change, &out, DIRECTION_OUT, &arena));
	cr_assert_null(delta_unsettled(&scope, &change, &all, DIRECTION_BACK, &arena));
	cr_assert_str_eq(delta_unsettled(&scope, &change, &all, DIRECTION_OUT, &arena),
	                 "its configuration still has a1, a2");
	cr_assert_str_eq(delta_unsettled(&scope, &change, &half, DIRECTION_BACK, &arena),
	                 "its configuration does not have a1 yet");
}

Test(delta, compare)
{
	struct change change = change_of("a1 a2", "a1 b1 a2");
	struct change partly = change_of("a1 gone", "a1 b1");
	struct change vanished = change_of("gone", "gone b1");
	struct change moved = change_of("a1 x2", "a1 b1");

	add_subnet("x2", "az1");
	subnets_sort(&scope.subnets);
	name_vpcs();
	cr_expect_eq(stands(&change, "b1"), STAND_OUT);
	cr_expect_eq(stands(&change, "b1 a1"), STAND_OUT, "part of it is still missing");
	cr_expect_eq(stands(&change, "a2 b1 a1"), STAND_BACK);
	cr_expect_eq(stands(&partly, "b1 a1"), STAND_BACK, "what no longer exists is not missing");
	cr_expect_eq(stands(&vanished, "b1"), STAND_GONE);
	cr_expect_eq(delta_compare(&scope, &change, NULL, &arena), STAND_GONE);
	cr_expect_eq(stands(&change, ""), STAND_SUPERSEDED, "no subnets at all");
	cr_expect_eq(stands(&vanished, ""), STAND_SUPERSEDED, "there is nothing to add to");
	cr_expect_eq(stands(&change, "x"), STAND_SUPERSEDED, "another VPC");
	cr_expect_eq(stands(&change, "lost x"), STAND_SUPERSEDED, "the first that is known tells the VPC");
	cr_expect_eq(stands(&moved, "x"), STAND_OUT, "it lost subnets in both VPCs, and lies in one");
	cr_expect_eq(stands(&moved, "x x2"), STAND_BACK);
	cr_expect_eq(stands(&moved, "b1"), STAND_OUT);
	cr_expect_eq(stands(&moved, "b1 a1"), STAND_BACK, "what lies in the other VPC is not missing");
	cr_expect_eq(stands(&change, "lost"), STAND_OUT, "an unknown subnet says nothing about the VPC");
}

Test(delta, compare_by_incarnation_only_where_both_have_one)
{
	struct change change = change_of("a1", "a1 b1");
	struct resource resource = resource_of("b1");

	resource.incarnation = "second";
	cr_expect_eq(delta_compare(&scope, &change, &resource, &arena), STAND_SUPERSEDED);
	resource.incarnation = NULL;
	cr_expect_eq(delta_compare(&scope, &change, &resource, &arena), STAND_OUT);
	resource.incarnation = "second";
	change.incarnation = NULL;
	cr_expect_eq(delta_compare(&scope, &change, &resource, &arena), STAND_OUT);
}
