#include <criterion/criterion.h>
#include <string.h>

#include "answer.h"

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 1024 * 1024);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(answer, .init = set_up, .fini = tear_down);

static const struct json *parsed(const char *text, struct arena *into)
{
	const struct json *json = json_parse(into, text, strlen(text), &error);

	cr_assert_not_null(json, "%s: %s", text, error.message);
	return json;
}

Test(answer, empty_texts_are_none)
{
	const struct json *json = parsed("{\"a\":{\"b\":\"x\",\"empty\":\"\",\"n\":7}}", &arena);

	cr_expect_str_eq(answer_text(json, "a.b"), "x");
	cr_expect_null(answer_text(json, "a.empty"));
	cr_expect_null(answer_text(json, "a.n"));
	cr_expect_null(answer_text(json, "a.c"));
	cr_expect_null(answer_text(NULL, "a"));
	cr_expect_null(answer_copy(json, "a.empty", &arena));
}

Test(answer, copies_outlive_the_answer)
{
	struct arena answer;
	const struct json *json;
	struct string_list list;
	const char *text;

	arena_init(&answer, "answer", ANSWER_ARENA_MAX_BYTES);
	json = parsed("{\"text\":\"kept\",\"list\":[\"a\",\"b\"]}", &answer);
	text = answer_copy(json, "text", &arena);
	cr_assert(answer_strings(json_get(json, "list"), &arena, &list));
	arena_done(&answer);
	cr_assert_str_eq(text, "kept");
	cr_assert_str_eq(string_list_join(&list, &arena, ","), "a,b");
}

Test(answer, lists_have_nothing_but_strings)
{
	struct string_list list;

	cr_expect(answer_strings(parsed("[]", &arena), &arena, &list));
	cr_expect_eq(list.count, 0);
	cr_expect_not(answer_strings(parsed("[\"a\",7,\"b\"]", &arena), &arena, &list));
	cr_expect_str_eq(string_list_join(&list, &arena, ","), "a,b", "what there is");
	cr_expect_not(answer_strings(parsed("[null]", &arena), &arena, &list));
	cr_expect_not(answer_strings(parsed("{\"a\":\"b\"}", &arena), &arena, &list));
	cr_expect_not(answer_strings(parsed("\"a\"", &arena), &arena, &list));
	cr_expect_not(answer_strings(NULL, &arena, &list));
	cr_expect_eq(list.count, 0);
}
