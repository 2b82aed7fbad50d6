#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/lines.h"

static struct lines lines;
static struct error error;

static void begin(void)
{
	lines_init(&lines, 16);
	error = (struct error){0};
}

static void end(void)
{
	lines_done(&lines);
}

TestSuite(net_lines, .init = begin, .fini = end);

static bool feed(const char *bytes)
{
	return lines_feed(&lines, bytes, strlen(bytes), &error);
}

static void expect(const char *line)
{
	size_t length = 99;
	const char *got = lines_next(&lines, &length);

	if (line == NULL) {
		cr_assert_null(got);
		return;
	}
	cr_assert_not_null(got);
	cr_assert_str_eq(got, line);
	cr_assert_eq(length, strlen(line));
}

Test(net_lines, whole_lines)
{
	cr_assert(feed("one\ntwo\n"));
	expect("one");
	expect("two");
	expect(NULL);
}

Test(net_lines, pieces_of_a_line)
{
	cr_assert(feed("on"));
	expect(NULL);
	cr_assert(feed("e\ntw"));
	expect("one");
	expect(NULL);
	cr_assert(feed("o"));
	expect(NULL);
	cr_assert(feed("\n"));
	expect("two");
	expect(NULL);
}

Test(net_lines, carriage_returns_and_blank_lines_are_left_out)
{
	cr_assert(feed("\n\r\none\r\n\n\ntwo\r"));
	expect("one");
	expect(NULL);
	cr_assert(feed("\n\r\n"));
	expect("two");
	expect(NULL);
}

Test(net_lines, any_cut_gives_the_same)
{
	static const char whole[] = "{\"a\":1}\n\n{\"b\":2}\r\nxy\n";

	for (size_t cut = 0; cut < sizeof whole; cut++) {
		lines_clear(&lines);
		cr_assert(lines_feed(&lines, whole, cut, &error));
		cr_assert(lines_feed(&lines, whole + cut, sizeof whole - 1 - cut, &error));
		expect("{\"a\":1}");
		expect("{\"b\":2}");
		expect("xy");
		expect(NULL);
	}
}

Test(net_lines, longest_line)
{
	cr_assert(feed("0123456789abcdef\n"));
	expect("0123456789abcdef");
	cr_assert_not(feed("0123456789abcdefg\n"));
	cr_assert_eq(error.kind, ERROR_LIMIT);
}

Test(net_lines, too_long_in_pieces_or_between_others)
{
	cr_assert(feed("01234567"));
	cr_assert(feed("89abcdef"));
	cr_assert_not(feed("g"));
	lines_clear(&lines);
	cr_assert_not(feed("a\n0123456789abcdefg\nb\n"));
	lines_clear(&lines);
	cr_assert(feed("a\n0123456789\nb\n01234567\n"));
}

Test(net_lines, cleared_line_is_forgotten)
{
	cr_assert(feed("half"));
	lines_clear(&lines);
	cr_assert(feed("one\n"));
	expect("one");
	expect(NULL);
}

Test(net_lines, one_huge_line_does_not_keep_its_memory)
{
	size_t size = 1024 * 1024;
	char *huge = malloc(size);
	size_t length;

	lines_init(&lines, size);
	memset(huge, 'x', size);
	huge[size - 1] = '\n';
	cr_assert(lines_feed(&lines, huge, size, &error));
	cr_assert_not_null(lines_next(&lines, &length));
	cr_assert_eq(length, size - 1);
	cr_assert(feed("small\n"));
	expect("small");
	cr_assert_leq(lines.capacity, 256 * 1024);
	free(huge);
}

Test(net_lines, bytes_of_zero_stay_in_the_line)
{
	size_t length = 0;

	cr_assert(lines_feed(&lines, "a\0b\n", 4, &error));
	cr_assert_eq(memcmp(lines_next(&lines, &length), "a\0b", 4), 0);
	cr_assert_eq(length, 3);
}
