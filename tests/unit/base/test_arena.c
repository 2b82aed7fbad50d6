#include <criterion/criterion.h>
#include <signal.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

static int order[4];
static int order_count;

static void note(void *what)
{
	order[order_count++] = *(int *)what;
}

Test(arena, memory_is_zeroed_aligned_and_apart)
{
	struct arena arena;
	unsigned char *before = NULL;

	arena_init(&arena, "test", 1 << 20);
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *at = arena_alloc(&arena, size);
		cr_assert_not_null(at);
		cr_assert_eq((uintptr_t)at % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			cr_assert_eq(at[i], 0);
		memset(at, 0xff, size);
		cr_assert_neq(at, before);
		before = at;
	}
	arena_done(&arena);
}

Test(arena, big_request_does_not_waste_the_room_that_is_left)
{
	struct arena arena;

	arena_init(&arena, "test", 1 << 24);
	char *small = arena_alloc(&arena, 16);
	memset(arena_alloc(&arena, 1 << 20), 1, 1 << 20);
	char *next = arena_alloc(&arena, 16);
	cr_assert_eq(next, small + 16);
	arena_done(&arena);
}

Test(arena, copies)
{
	struct arena arena;
	const char bytes[] = {'a', '\0', 'b'};

	arena_init(&arena, "test", 4096);
	cr_assert_eq(memcmp(arena_copy(&arena, bytes, 3), "a\0b\0", 4), 0);
	cr_assert_str_eq(arena_copy(&arena, NULL, 0), "");
	cr_assert_str_eq(arena_string(&arena, "word"), "word");
	cr_assert_null(arena_string(&arena, NULL));
	cr_assert_str_eq(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
	arena_done(&arena);
}

Test(arena, deferred_run_last_first_and_once)
{
	struct arena arena;
	int numbers[] = {1, 2, 3};

	arena_init(&arena, "test", 4096);
	for (int i = 0; i < 3; i++)
		arena_defer(&arena, note, &numbers[i]);
	arena_reset(&arena);
	cr_assert_eq(order_count, 3);
	cr_assert_eq(order[0], 3);
	cr_assert_eq(order[2], 1);
	arena_done(&arena);
	cr_assert_eq(order_count, 3);
}

Test(arena, reset_makes_it_usable_again)
{
	struct arena arena;

	arena_init(&arena, "test", 1024);
	for (int turn = 0; turn < 100; turn++) {
		memset(arena_alloc(&arena, 1000), 1, 1000);
		arena_reset(&arena);
		cr_assert_eq(arena.used_bytes, 0);
	}
	arena_done(&arena);
}

Test(arena, done_takes_null_and_zero)
{
	struct arena arena = {0};

	arena_done(NULL);
	arena_done(&arena);
	cr_assert_null(arena.blocks);
}

Test(arena, grow_doubles_and_keeps_the_elements)
{
	struct arena arena;
	int *numbers = NULL;
	size_t capacity = 0;

	arena_init(&arena, "test", 1 << 20);
	for (int i = 0; i < 1000; i++) {
		numbers = arena_grow(&arena, numbers, (size_t)i, &capacity, sizeof(*numbers));
		numbers[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(numbers[i], i);
	cr_assert_eq(capacity, 1024);
	arena_done(&arena);
}

Test(arena, all_of_the_maximum_may_be_used)
{
	struct arena arena;

	arena_init(&arena, "test", 4096);
	memset(arena_alloc(&arena, 4096), 1, 4096);
	cr_assert_eq(arena.used_bytes, 4096);
	arena_done(&arena);
}

Test(arena, more_than_the_maximum_ends_the_process, .signal = SIGABRT)
{
	struct arena arena;

	arena_init(&arena, "test", 4096);
	arena_alloc(&arena, 4000);
	arena_alloc(&arena, 100);
}

Test(arena, array_size_overflow_ends_the_process, .signal = SIGABRT)
{
	struct arena arena;

	arena_init(&arena, "test", SIZE_MAX);
	arena_array(&arena, SIZE_MAX / 2, 3);
}
