#include <criterion/criterion.h>
#include <string.h>

#include "base/string_list.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 20);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(string_list, .init = set_up, .fini = tear_down);

static struct string_list list(const char *commas)
{
	return string_list_split(commas, ",", &arena);
}

Test(string_list, add_borrows_and_keeps_order)
{
	struct string_list names = {0};
	static const char word[] = "word";

	for (int i = 0; i < 100; i++)
		string_list_add(&names, &arena, arena_printf(&arena, "n%d", i));
	string_list_add(&names, &arena, word);
	cr_assert_eq(names.count, 101);
	cr_assert_str_eq(names.at[57], "n57");
	cr_assert(names.at[100] == word);
}

Test(string_list, find_and_has)
{
	struct string_list names = list("a,b,b");

	cr_assert_eq(string_list_find(&names, "b"), 1);
	cr_assert_eq(string_list_find(&names, "c"), 3);
	cr_assert(string_list_has(&names, "a"));
	cr_assert(!string_list_has(&names, ""));
	cr_assert(!string_list_has(&(struct string_list){0}, "a"));
}

Test(string_list, equal_minds_order_and_same_set_does_not)
{
	struct string_list a = list("x,y,z");
	struct string_list b = list("z,y,x");
	struct string_list c = list("x,y,y,z");
	struct string_list d = list("x,y");

	cr_assert(string_list_equal(&a, &a));
	cr_assert(!string_list_equal(&a, &b));
	cr_assert(!string_list_equal(&a, &d));
	cr_assert(string_list_same_set(&a, &b));
	cr_assert(string_list_same_set(&a, &c));
	cr_assert(!string_list_same_set(&a, &d));
	cr_assert(!string_list_same_set(&d, &a));
}

Test(string_list, copy_is_deep_and_grows_on)
{
	char word[] = "word";
	struct string_list names = {0};

	string_list_add(&names, &arena, word);
	struct string_list copy = string_list_copy(&names, &arena);
	word[0] = 'W';
	cr_assert_str_eq(copy.at[0], "word");
	string_list_add(&copy, &arena, "more");
	cr_assert_eq(copy.count, 2);
	cr_assert_eq(names.count, 1);
	struct string_list none = string_list_copy(&(struct string_list){0}, &arena);
	cr_assert_eq(none.count, 0);
}

Test(string_list, join)
{
	struct string_list names = list("a,bb,c");

	cr_assert_str_eq(string_list_join(&names, &arena, ","), "a,bb,c");
	cr_assert_str_eq(string_list_join(&names, &arena, ", "), "a, bb, c");
	cr_assert_str_eq(string_list_join(&(struct string_list){0}, &arena, ","), "");
}

Test(string_list, split_trims_and_leaves_empty_parts_out)
{
	struct string_list names = string_list_split(" subnet-a, subnet-b ,,;subnet-c;", ",;", &arena);

	cr_assert_eq(names.count, 3);
	cr_assert_str_eq(names.at[1], "subnet-b");
	cr_assert_str_eq(names.at[2], "subnet-c");
	cr_assert_eq(string_list_split(NULL, ",", &arena).count, 0);
	cr_assert_eq(string_list_split(" , ", ",", &arena).count, 0);
}
