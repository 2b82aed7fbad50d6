#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "base/json.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 24);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(json, .init = set_up, .fini = tear_down);

static struct json *parse(const char *text)
{
	struct error error = {0};
	struct json *json = json_parse(&arena, text, strlen(text), &error);

	cr_assert_not_null(json, "%s: %s", text, error.message);
	return json;
}

static void prints(const struct json *json, const char *expected)
{
	cr_assert_str_eq(json_print(json, &arena), expected);
}

Test(json, round_trip)
{
	static const char *const texts[] = {"null",
	                                    "true",
	                                    "1",
	                                    "-0.5",
	                                    "1e-07",
	                                    "1e+07",
	                                    "\"a/b\"",
	                                    "[]",
	                                    "{}",
	                                    "{\"a\":[1,2.5,{\"b\":null}],\"c\":\"\\u0001\\n\\\"\"}",
	                                    "9223372036854775807",
	                                    "-9223372036854775808",
	                                    "0",
	                                    "[0,0.5,10]"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		prints(parse(texts[i]), texts[i]);
	prints(parse(" \n{ \"a\" : 1 }\r\n\t"), "{\"a\":1}");
	prints(NULL, "null");
}

Test(json, refuses_what_is_not_json)
{
	static const char *const bad[] = {
		"",        " ",     "{",     "[1",     "\"a",      "{} x",     "{}{}",       "[1,]",        "{\"a\":1,}",
		"{'a':1}", "['a']", "{a:1}", "/*x*/1", "[1] // x", "NaN",      "[Infinity]", "[-Infinity]", "True",
		"nul",     "tru",   "01",    "[-01]",  "[00]",     "1.",       "[1.]",       "[.5]",        "[1.e5]",
		"[+1]",    "-",     "[1e]",  "0x10",   "\"a\tb\"", "\"a\nb\"", "\"\\x\"",    "\"\xff\"",    "<html>",
		"1 2",     "[1 2]"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error error = {0};
		cr_assert_null(json_parse(&arena, bad[i], strlen(bad[i]), &error), "%s", bad[i]);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s", bad[i]);
		cr_assert_not_null(strstr(error.message, "at byte"), "%s", error.message);
	}
}

Test(json, length_counts_and_not_a_terminator)
{
	struct error error;
	struct json *json = json_parse(&arena, "12345", 3, &error);

	cr_assert_eq(json_integer(json, 0), 123);
	cr_assert_null(json_parse(&arena, "{}\0{}", 5, &error));
	cr_assert_null(json_parse(&arena, "1\0", 2, &error));
	cr_assert_null(json_parse(&arena, "{\"a\":1\0}", 8, &error));
}

Test(json, error_names_the_offset)
{
	struct error error;

	cr_assert_null(json_parse(&arena, "{\"a\":?}", 7, &error));
	cr_assert_not_null(strstr(error.message, "byte 5 of 7"), "%s", error.message);
}

Test(json, nesting_of_64_and_no_more)
{
	char text[131];
	struct error error;

	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	cr_assert_not_null(json_parse(&arena, text, 128, &error));
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	cr_assert_null(json_parse(&arena, text, 130, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}

Test(json, over_64_mib_is_a_limit)
{
	struct error error;

	cr_assert_null(json_parse(&arena, "", ((size_t)64 << 20) + 1, &error));
	cr_assert_eq(error.kind, ERROR_LIMIT);
}

Test(json, types)
{
	struct json *json = parse("[null,true,1,1.5,\"s\",[],{}]");
	static const enum json_type types[] = {JSON_NULL,   JSON_BOOL,  JSON_INTEGER, JSON_NUMBER,
	                                       JSON_STRING, JSON_ARRAY, JSON_OBJECT};

	cr_assert_eq(json_count(json), 7);
	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(json_type(json_at(json, i)), types[i]);
	cr_assert_eq(json_type(NULL), JSON_NULL);
	cr_assert_null(json_at(json, 7));
	cr_assert_not_null(json_at(json, 0), "an element that is null is there");
}

Test(json, readers_forgive)
{
	struct json *json = parse("{\"a\":{\"b\":{\"c\":\"deep\"}},\"n\":5,\"x\":null}");

	cr_assert_str_eq(json_path_string(json, "a.b.c"), "deep");
	cr_assert_null(json_path(json, "a.b.c.d"));
	cr_assert_null(json_path(json, "a.z.c"));
	cr_assert_null(json_path(json, ""));
	cr_assert_null(json_get(json, "x"), "null reads as not there");
	cr_assert_null(json_get(NULL, "a"));
	cr_assert_null(json_get(json_get(json, "n"), "a"));
	cr_assert_null(json_get_string(json, "n"));
	cr_assert_null(json_string(NULL));
	cr_assert_eq(json_count(NULL), 0);
	cr_assert_eq(json_count(json_get(json, "n")), 0);
	cr_assert_null(json_at(json, 0));
	cr_assert_null(json_member(json_get(json, "n"), 0, NULL));
	cr_assert(json_bool(NULL, true));
	cr_assert(!json_bool(parse("false"), true));
	cr_assert_eq(json_integer(parse("\"5\""), -1), -1);
	cr_assert_eq(json_integer(parse("5.0"), -1), 5);
	cr_assert_eq(json_integer(parse("5.5"), -1), -1);
	cr_assert_eq(json_integer(parse("1e300"), -1), -1);
	cr_assert_eq(json_number(parse("5"), -1), 5.0);
	cr_assert_eq(json_number(parse("true"), -1), -1.0);
}

Test(json, members_in_their_order_small_and_large)
{
	static const int sizes[] = {3, 15, 16, 17, 500};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct json *object = json_new_object(&arena);
		const char *key;
		for (int i = 0; i < sizes[s]; i++)
			json_set_integer(object, arena_printf(&arena, "k%d", i), i);
		for (int i = 0; i < sizes[s]; i++) {
			cr_assert_eq(json_integer(json_member(object, (size_t)i, &key), -1), i);
			cr_assert_str_eq(key, arena_printf(&arena, "k%d", i));
		}
		cr_assert_null(json_member(object, (size_t)sizes[s], &key));
	}
}

Test(json, members_after_a_change)
{
	struct json *object = json_new_object(&arena);
	const char *key;

	for (int i = 0; i < 40; i++)
		json_set_integer(object, arena_printf(&arena, "k%d", i), i);
	cr_assert_eq(json_integer(json_member(object, 5, &key), -1), 5);
	json_remove(object, "k3");
	cr_assert_eq(json_integer(json_member(object, 5, &key), -1), 6);
	for (int i = 40; i < 400; i++)
		json_set_integer(object, arena_printf(&arena, "k%d", i), i);
	cr_assert_eq(json_integer(json_member(object, 398, &key), -1), 399);
	struct json *copy = json_copy(&arena, object);
	cr_assert(json_equal(copy, object));
	prints(json_member(copy, 0, &key), "0");
}

Test(json, a_member_that_is_null_is_still_a_member)
{
	struct json *json = parse("{\"a\":null,\"b\":1}");
	const char *key = NULL;
	const struct json *value = json_member(json, 0, &key);

	cr_assert_not_null(value);
	cr_assert_eq(json_type(value), JSON_NULL);
	cr_assert_str_eq(key, "a");
}

Test(json, strings_of_an_array)
{
	struct string_list list = json_strings(parse("[\"a\",1,null,\"b\"]"), &arena);

	cr_assert_eq(list.count, 2);
	cr_assert_str_eq(list.at[1], "b");
	cr_assert_eq(json_strings(parse("{\"a\":\"b\"}"), &arena).count, 0);
	cr_assert_eq(json_strings(NULL, &arena).count, 0);
}

Test(json, equality)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{"1", "1.0", true},
		{"1", "1.5", false},
		{"1", "\"1\"", false},
		{"null", "null", true},
		{"true", "false", false},
		{"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
		{"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
		{"{\"a\":null}", "{}", false},
		{"{\"a\":null}", "{\"b\":null}", false},
		{"[1,2]", "[2,1]", false},
		{"[1]", "[1,1]", false},
		{"\"a\\u0000b\"", "\"a\\u0000c\"", false},
		{"[]", "{}", false},
		{"\"x\"", "\"x\"", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(json_equal(parse(cases[i].a), parse(cases[i].b)), cases[i].equal, "%s %s", cases[i].a, cases[i].b);
		cr_assert_eq(json_equal(parse(cases[i].b), parse(cases[i].a)), cases[i].equal, "%s %s", cases[i].b, cases[i].a);
	}
	cr_assert(json_equal(NULL, NULL));
	cr_assert(json_equal(NULL, json_new_null(&arena)));
}

Test(json, build)
{
	struct json *object = json_new_object(&arena);
	struct string_list list = {0};

	string_list_add(&list, &arena, "x");
	string_list_add(&list, &arena, "y");
	json_set_string(object, "s", "a\"b");
	json_set_string(object, "none", NULL);
	json_set_integer(object, "i", -5);
	json_set_bool(object, "b", true);
	json_set(object, "null", json_new_null(&arena));
	json_set(object, "absent", NULL);
	json_set(object, "list", json_new_strings(&arena, &list));
	json_set_string(json_set_object(object, "o"), "k", "v");
	struct json *array = json_set_array(object, "a");
	json_add_string(array, "one");
	json_add_string(array, NULL);
	json_add(array, json_new_integer(&arena, 2));
	json_add(array, json_new_bool(&arena, false));
	json_add(array, json_new_number(&arena, 0.1));
	json_add(array, json_new_null(&arena));
	json_add(array, NULL);
	json_add(array, json_new_string(&arena, "s"));
	prints(object, "{\"s\":\"a\\\"b\",\"i\":-5,\"b\":true,\"null\":null,\"list\":[\"x\",\"y\"],\"o\":{\"k\":\"v\"},"
	               "\"a\":[\"one\",2,false,0.1,null,\"s\"]}");
	cr_assert_null(json_new_string(&arena, NULL));
}

Test(json, set_replaces_and_remove_removes)
{
	struct json *object = parse("{\"a\":1,\"b\":2}");

	json_set_string(object, "a", "x");
	json_remove(object, "b");
	json_remove(object, "never there");
	prints(object, "{\"a\":\"x\"}");
}

Test(json, copy_is_deep_and_outlives_its_source)
{
	struct arena other;

	arena_init(&other, "other", 1 << 20);
	struct error error;
	const char *text = "{\"a\":[1,0.10,{\"b\":\"c\"}],\"n\":null}";
	struct json *source = json_parse(&other, text, strlen(text), &error);
	struct json *copy = json_copy(&arena, source);
	json_set_integer(source, "a", 1);
	arena_done(&other);
	prints(copy, text);
	cr_assert_null(json_copy(&arena, NULL));
	cr_assert_eq(json_type(json_copy(&arena, json_new_null(&arena))), JSON_NULL);
}

Test(json, value_of_one_arena_set_into_a_parent_of_another)
{
	struct arena other;

	arena_init(&other, "other", 1 << 20);
	struct json *parent = json_new_object(&arena);
	json_set(parent, "k", json_new_string(&other, "v"));
	arena_done(&other);
	prints(parent, "{\"k\":\"v\"}");
}

Test(json, member_of_something_else_is_a_bug, .signal = SIGABRT)
{
	json_set_string(json_new_array(&arena), "k", "v");
}
