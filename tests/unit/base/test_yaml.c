#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 26);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(yaml, .init = set_up, .fini = tear_down);

static void reads(const char *yaml, const char *json)
{
	struct error error = {0};
	struct json *value = yaml_parse(&arena, yaml, strlen(yaml), &error);

	cr_assert_not_null(value, "%s: %s", yaml, error.message);
	cr_assert_str_eq(json_print(value, &arena), json, "%s", yaml);
}

static void refuses(const char *yaml, const char *sentence)
{
	struct error error = {0};

	cr_assert_null(yaml_parse(&arena, yaml, strlen(yaml), &error), "%s", yaml);
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_str_eq(error.message, sentence);
}

Test(yaml, manifest)
{
	reads(
		"# comment\n---\napiVersion: zonevac.dev/v1alpha1\nkind: ZonalEvacuation\nmetadata: {name: use1-az1}\n"
		"spec:\n  zoneId: use1-az1\n  targets:\n  - kind: EksNode\n    selector: {all: true}\n    drainTimeoutSeconds: 900\n",
		"{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":\"use1-az1\"},"
		"\"spec\":{\"zoneId\":\"use1-az1\",\"targets\":[{\"kind\":\"EksNode\",\"selector\":{\"all\":true},"
		"\"drainTimeoutSeconds\":900}]}}");
}

Test(yaml, json_is_yaml)
{
	reads("{\"a\": [1, \"2\", null, true, -1.5e3], \"b\": {}}", "{\"a\":[1,\"2\",null,true,-1500],\"b\":{}}");
}

Test(yaml, core_schema)
{
	reads("[~, null, Null, NULL, ]", "[null,null,null,null]");
	reads("{a: , b: }", "{\"a\":null,\"b\":null}");
	reads("[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]");
	reads("[0, -1, +2, 007, 0o17, 0xFf]", "[0,-1,2,7,15,255]");
	reads("[1.5, .5, 5., -1e3, 1E-2]", "[1.5,0.5,5,-1000,0.01]");
	reads("[9223372036854775807, 9223372036854775808]", "[9223372036854775807,9.223372036854776e+18]");
	reads(
		"[yes, no, on, tRue, nUll, 1_000, 0x, 0o8, '-', +, ., 1e, .e1, 1.2.3, 2026-01-02, .inf, .NaN, 1e999]",
		"[\"yes\",\"no\",\"on\",\"tRue\",\"nUll\",\"1_000\",\"0x\",\"0o8\",\"-\",\"+\",\".\",\"1e\",\".e1\",\"1.2.3\","
		"\"2026-01-02\",\".inf\",\".NaN\",\"1e999\"]");
}

Test(yaml, quoted_and_block_scalars_are_strings)
{
	reads("['1', \"true\", '', \"~\"]", "[\"1\",\"true\",\"\",\"~\"]");
	reads("a: |\n  1\nb: >-\n  true\n", "{\"a\":\"1\\n\",\"b\":\"true\"}");
}

Test(yaml, tags)
{
	reads("[!!str 12, !!int '12', ! 12, !!bool 'true']", "[\"12\",12,\"12\",true]");
	refuses("a: !mine 1", "line 1, column 4: tags of one's own are not allowed");
}

Test(yaml, keys_are_text)
{
	reads("{1: a, true: b, null: c}", "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\"}");
	refuses("? [a]\n: b", "line 1, column 3: a key must be plain or quoted text");
	refuses("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" is there twice");
	refuses("{a: null, a: null}", "line 1, column 11: the key \"a\" is there twice");
	refuses("<<: {a: 1}", "line 1, column 1: merge keys (<<) are not supported: write the members out");
	reads("\"<<\": 1", "{\"<<\":1}");
}

Test(yaml, aliases)
{
	reads("a: &x {k: [1]}\nb: *x\n", "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]}}");
	reads("a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}");
	reads("&k a: 1\nb: *k\n", "{\"a\":1,\"b\":\"a\"}");
	refuses("a: *x", "line 1, column 4: alias of an anchor that is not there");
	refuses("a: &x [*x]", "line 1, column 8: alias of an anchor that is not there");
}

Test(yaml, aliases_that_unfold_without_end_are_refused)
{
	struct text text;
	struct error error;

	text_init(&text, 10000);
	text_append(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 10; i++) {
		text_printf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			text_printf(&text, "%s*a%d", j ? "," : "", i - 1);
		text_append(&text, "]\n");
	}
	cr_assert_null(yaml_parse(&arena, text.at, text.length, &error));
	cr_assert_not_null(strstr(error.message, "aliases unfold to more than 10,000 nodes"), "%s", error.message);
	text_done(&text);
}

Test(yaml, aliases_of_a_long_scalar_count_for_more)
{
	struct text text;
	struct error error;

	text_init(&text, 1 << 20);
	text_printf(&text, "a: &x %0102400d\nb: [", 1);
	for (int i = 0; i < 100; i++)
		text_append(&text, "*x,");
	text_append(&text, "]\n");
	cr_assert_null(yaml_parse(&arena, text.at, text.length, &error));
	cr_assert_not_null(strstr(error.message, "aliases unfold"), "%s", error.message);
	text_done(&text);
}

Test(yaml, nesting_of_64_and_no_more)
{
	char text[131];
	struct error error;

	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	cr_assert_not_null(yaml_parse(&arena, text, 128, &error));
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	cr_assert_null(yaml_parse(&arena, text, 130, &error));
	cr_assert_str_eq(error.message, "line 1, column 65: nested more than 64 deep");
}

Test(yaml, one_document)
{
	reads("", "null");
	reads("# nothing\n", "null");
	reads("---\na: 1\n...\n", "{\"a\":1}");
	refuses("a: 1\n---\nb: 2\n", "line 3, column 1: a second document begins here; only one is allowed");
}

Test(yaml, errors_name_line_and_column)
{
	struct error error;
	static const char *const bad[] = {"a: [1", "a: b: c", "a: 'x", "\t- a", "a:\n  - b\n c: d", "%YAML 3.0\n---\na",
	                                  "@x"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_null(yaml_parse(&arena, bad[i], strlen(bad[i]), &error), "%s", bad[i]);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert(text_starts_with(error.message, "line "), "%s", error.message);
	}
	refuses("spec:\n  a: b: c\n", "line 2, column 7: mapping values are not allowed in this context");
	cr_assert_null(yaml_parse(&arena, "a: \xff", 4, &error));
	cr_assert_null(yaml_parse(&arena, "a: \"b\\0c\"", 9, &error));
	cr_assert_not_null(strstr(error.message, "NUL"));
}
