#include "aws/xml.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "data.h"

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(xml, .init = set_up, .fini = tear_down);

static const struct xml *parse(const char *text)
{
	return xml_parse(&arena, text, strlen(text), &error);
}

static void fails(const char *text, enum error_kind kind, const char *part)
{
	cr_assert_null(parse(text));
	cr_assert_eq(error.kind, kind, "%s", error.message);
	cr_assert_not_null(strstr(error.message, part), "%s", error.message);
}

Test(xml, reads_a_tree)
{
	const struct xml *root = parse(
		"<?xml version='1.0'?>\n<a xmlns='urn:x'>\n <b>1</b>\n <c><d/></c>\n <b>2</b> <n:e xmlns:n='y'>5</n:e>\n</a>");
	const struct xml *b = xml_child(root, "b");

	cr_assert_not_null(root, "%s", error.message);
	cr_assert_str_eq(root->name, "a");
	cr_assert_str_eq(root->text, "", "white space between children is no text");
	cr_assert_str_eq(b->text, "1");
	cr_assert_str_eq(xml_next(b)->text, "2");
	cr_assert_null(xml_next(xml_next(b)));
	cr_assert_str_eq(xml_path_text(root, "c/d"), "");
	cr_assert_str_eq(xml_path_text(root, "e"), "5");
	cr_assert_eq(xml_path(root, ""), root);
	cr_assert_null(xml_path(root, "c/d/x"));
	cr_assert_null(xml_child(root, "bb"));
	cr_assert_null(xml_path_text(root, "x"));
}

Test(xml, readers_of_null_answer_not_there)
{
	cr_assert_null(xml_child(NULL, "a"));
	cr_assert_null(xml_path(NULL, "a/b"));
	cr_assert_null(xml_path_text(NULL, "a"));
	cr_assert_null(xml_next(NULL));
}

Test(xml, text_is_put_together_and_decoded)
{
	const struct xml *root = parse("<a>x &amp; y &lt;z&gt; &quot;&apos;&#65;<![CDATA[<raw>]]>\xc3\xbc</a>");

	cr_assert_str_eq(root->text, "x & y <z> \"'A<raw>\xc3\xbc");
}

Test(xml, says_where_it_is_not_xml)
{
	fails("", ERROR_MALFORMED, "line 1");
	fails("<a>\n<b></a>", ERROR_MALFORMED, "line 2: mismatched tag");
	fails("<a>", ERROR_MALFORMED, "no element found");
	fails("{\"json\": 1}", ERROR_MALFORMED, "\"{\"json\": 1}\"");
	fails("<a/>\n<b/>", ERROR_MALFORMED, "line 2");
	fails("<a>\xff</a>", ERROR_MALFORMED, "line 1");
}

Test(xml, refuses_doctypes_and_entities)
{
	struct http_response html = data_response(&arena, 502, "aws/error_proxy.html");

	fails("<!DOCTYPE a [<!ENTITY b 'bomb'>]><a>&b;</a>", ERROR_MALFORMED, "document type");
	fails("<a>&b;</a>", ERROR_MALFORMED, "undefined entity");
	cr_assert_null(xml_parse(&arena, html.body, html.body_length, &error));
	cr_assert_not_null(strstr(error.message, "is it HTML?"), "%s", error.message);
}

static const char *nested(size_t depth)
{
	struct text text;

	text_init(&text, 1024 * 1024);
	for (size_t i = 0; i < depth; i++)
		text_append(&text, "<a>");
	for (size_t i = 0; i < depth; i++)
		text_append(&text, "</a>");
	return text_take(&text, &arena);
}

Test(xml, depth_is_bounded)
{
	cr_assert_not_null(parse(nested(64)), "%s", error.message);
	fails(nested(65), ERROR_LIMIT, "deeper than 64");
}

Test(xml, size_and_count_are_bounded)
{
	size_t size = 16 * 1024 * 1024 + 1;
	char *text = arena_alloc(&arena, size + 1);
	char *at = stpcpy(text, "<a>");

	memset(text, ' ', size);
	cr_assert_null(xml_parse(&arena, text, size, &error));
	cr_assert_eq(error.kind, ERROR_LIMIT);
	memcpy(text, "<a>", 3);
	while (at + 8 < text + size)
		at = mempcpy(at, "<b/>", 4);
	memcpy(at, "</a>", 5);
	cr_assert_null(xml_parse(&arena, text, (size_t)(at + 4 - text), &error));
	cr_assert_eq(error.kind, ERROR_LIMIT);
	cr_assert_not_null(strstr(error.message, "2,000,000"), "%s", error.message);
}

Test(xml, every_cut_of_an_answer_is_an_error_and_nothing_worse)
{
	struct http_response answer = data_response(&arena, 200, "aws/groups_settling.xml");

	cr_assert_not_null(xml_parse(&arena, answer.body, answer.body_length, &error));
	for (size_t length = 0; length + 1 < answer.body_length; length += 7) {
		struct arena own;

		arena_init(&own, "cut", 1024 * 1024);
		cr_expect_null(xml_parse(&own, arena_copy(&own, answer.body, length), length, &error), "cut at %zu", length);
		arena_done(&own);
	}
}
