#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 20);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(text, .init = set_up, .fini = tear_down);

Test(text, grows_and_stays_terminated)
{
	struct text text;

	text_init(&text, 1 << 20);
	cr_assert_str_eq(text.at, "");
	for (int i = 0; i < 1000; i++)
		text_append(&text, "ab");
	text_append_bytes(&text, "\0c", 2);
	text_append(&text, NULL);
	cr_assert_eq(text.length, 2002);
	cr_assert_eq(text.at[2001], 'c');
	cr_assert_eq(text.at[2002], '\0');
	cr_assert(!text.overflow);
	text_clear(&text);
	cr_assert_str_eq(text.at, "");
	cr_assert_eq(text.length, 0);
	text_done(&text);
	text_done(NULL);
}

Test(text, overflow_is_remembered_and_nothing_more_is_taken)
{
	struct text text;

	text_init(&text, 5);
	text_append(&text, "12345");
	cr_assert(!text.overflow);
	text_append(&text, "6");
	cr_assert(text.overflow);
	cr_assert_str_eq(text.at, "12345");
	cr_assert_null(text_take(&text, &arena));
	cr_assert_str_eq(text.at, "");
	text_append(&text, "ok");
	cr_assert(!text.overflow);
	text_done(&text);
}

Test(text, printf_short_and_long)
{
	struct text text;

	text_init(&text, 2000);
	text_printf(&text, "%s-%d", "a", 1);
	text_printf(&text, "%0500d", 7);
	cr_assert_eq(text.length, 503);
	cr_assert_eq(strncmp(text.at, "a-1000", 6), 0);
	text_printf(&text, "%01500d", 7);
	cr_assert(text.overflow);
	cr_assert_eq(text.length, 503);
	text_done(&text);
}

Test(text, take_moves_the_bytes_to_the_arena)
{
	struct text text;

	text_init(&text, 100);
	text_append(&text, "moved");
	char *taken = text_take(&text, &arena);
	cr_assert_eq(text.length, 0);
	cr_assert_str_eq(taken, "moved");
	cr_assert_str_eq(text_take(&text, &arena), "");
}

Test(text, percent_encodes_all_but_unreserved)
{
	cr_assert_str_eq(text_percent(&arena, "AZaz09-._~"), "AZaz09-._~");
	cr_assert_str_eq(text_percent(&arena, "a b/c+=&*%:\xc3\xa4"), "a%20b%2Fc%2B%3D%26%2A%25%3A%C3%A4");
	cr_assert_str_eq(text_percent(&arena, ""), "");
}

Test(text, hex_is_lower_case)
{
	struct text text;

	text_init(&text, 100);
	text_append_hex(&text, (const unsigned char *)"\x00\x1f\xab\xff", 4);
	cr_assert_str_eq(text.at, "001fabff");
	text_done(&text);
}

Test(text, base64_of_rfc_4648)
{
	static const char *const vectors[][2] = {{"", ""},
	                                         {"Zg==", "f"},
	                                         {"Zm8=", "fo"},
	                                         {"Zm9v", "foo"},
	                                         {"Zm9vYg==", "foob"},
	                                         {"Zm9vYmE=", "fooba"},
	                                         {"Zm9vYmFy", "foobar"},
	                                         {" Zm9v\r\n\tYmFy\n", "foobar"}};
	size_t length;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char *decoded = text_base64_decode(&arena, vectors[i][0], &length);
		cr_assert_not_null(decoded);
		cr_assert_str_eq(decoded, vectors[i][1]);
		cr_assert_eq(length, strlen(vectors[i][1]));
	}
	for (size_t i = 0; i < 7; i++) { /* the last one has blanks */
		struct text encoded;

		text_init(&encoded, 100);
		text_append_base64(&encoded, vectors[i][1], strlen(vectors[i][1]));
		cr_assert_str_eq(encoded.at, vectors[i][0]);
		text_done(&encoded);
	}
	cr_assert_eq(memcmp(text_base64_decode(&arena, "AP+/+w==", &length), "\x00\xff\xbf\xfb", 5), 0);
	cr_assert_eq(length, 4);
	struct text encoded;
	text_init(&encoded, 100);
	text_append_base64(&encoded, "\x00\xff\xbf\xfb", 4);
	cr_assert_str_eq(encoded.at, "AP+/+w==");
	text_done(&encoded);
}

Test(text, base64_refuses_what_is_not_base64)
{
	static const char *const bad[] = {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "Zg==Zg==", "Z-==", "Zm9v!", "====", "="};
	size_t length;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_null(text_base64_decode(&arena, bad[i], &length), "%s", bad[i]);
}

Test(text, trim)
{
	cr_assert_str_eq(text_trim(&arena, "  a b\t\n", 7), "a b");
	cr_assert_str_eq(text_trim(&arena, " \n ", 3), "");
	cr_assert_str_eq(text_trim(&arena, "abc", 2), "ab");
}

Test(text, equal_and_starts_with)
{
	cr_assert(text_equal(NULL, NULL));
	cr_assert(!text_equal(NULL, ""));
	cr_assert(!text_equal("a", "b"));
	cr_assert(text_equal("a", "a"));
	cr_assert(text_starts_with("subnet-1", "subnet-"));
	cr_assert(!text_starts_with("sub", "subnet-"));
	cr_assert(!text_starts_with(NULL, "a"));
	cr_assert(text_all_digits("0"));
	cr_assert(text_all_digits("123456789012345678901234567890"));
	cr_assert(!text_all_digits("12a"));
	cr_assert(!text_all_digits("-1"));
	cr_assert(!text_all_digits(""));
	cr_assert(!text_all_digits(NULL));
}

Test(text, parse_integer)
{
	long long value = 0;

	cr_assert(text_parse_integer("-42", -100, 100, &value));
	cr_assert_eq(value, -42);
	cr_assert(text_parse_integer("007", 0, 100, &value));
	cr_assert_eq(value, 7);
	static const char *const bad[] = {"",  "-", "+1", " 1", "1 ", "0x1", "1.0", "101", "-1", "99999999999999999999",
	                                  NULL};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!text_parse_integer(bad[i], 0, 100, &value), "%s", bad[i] ? bad[i] : "NULL");
	cr_assert_eq(value, 7);
}

Test(text, parse_duration)
{
	static const struct {
		const char *text;
		long long ms;
	} good[] = {{"5m", 300000},   {"90s", 90000}, {"1h30m", 5400000},     {"250ms", 250},
	            {"1m1ms", 60001}, {"0s", 0},      {"1000h", 3600000000LL}};
	static const char *const bad[] = {
		"",  "5", "m", "5 m", "-5m", "1.5h", "30m1h", "1m1m", "1001h", "1000h1ms", "5mm", "1d", "99999999999999999999h",
		NULL};
	long long ms;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(text_parse_duration_ms(good[i].text, &ms), "%s", good[i].text);
		cr_assert_eq(ms, good[i].ms, "%s", good[i].text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!text_parse_duration_ms(bad[i], &ms), "%s", bad[i] ? bad[i] : "NULL");
}

Test(text, parse_bool)
{
	bool value = false;

	cr_assert(text_parse_bool("true", &value));
	cr_assert(value);
	cr_assert(text_parse_bool("false", &value));
	cr_assert(!value);
	cr_assert(!text_parse_bool("True", &value));
	cr_assert(!text_parse_bool("1", &value));
	cr_assert(!text_parse_bool(NULL, &value));
}

Test(text, utf8_sizes)
{
	cr_assert_eq(text_utf8("a", 1), 1);
	cr_assert_eq(text_utf8("\xc3\xa4", 2), 2);
	cr_assert_eq(text_utf8("\xe2\x82\xac", 3), 3);
	cr_assert_eq(text_utf8("\xf0\x9f\x98\x80", 4), 4);
	cr_assert_eq(text_utf8("\xe2\x82", 2), 0, "cut short");
	cr_assert_eq(text_utf8("\xa4", 1), 0, "continuation alone");
	cr_assert_eq(text_utf8("\xc0\x80", 2), 0, "overlong");
	cr_assert_eq(text_utf8("\xe0\x80\x80", 3), 0, "overlong");
	cr_assert_eq(text_utf8("\xed\xa0\x80", 3), 0, "surrogate");
	cr_assert_eq(text_utf8("\xf4\x90\x80\x80", 4), 0, "over U+10FFFF");
	cr_assert_eq(text_utf8("\xff", 1), 0);
}

Test(text, cut_never_halves_a_character)
{
	const char *string = "a\xe2\x82\xac"
						 "b"; /* a € b */

	cr_assert_eq(text_cut(string, 5, 10), 5);
	cr_assert_eq(text_cut(string, 5, 5), 5);
	cr_assert_eq(text_cut(string, 5, 4), 4);
	cr_assert_eq(text_cut(string, 5, 3), 1);
	cr_assert_eq(text_cut(string, 5, 2), 1);
	cr_assert_eq(text_cut(string, 5, 1), 1);
	cr_assert_eq(text_cut(string, 5, 0), 0);
}

Test(text, numbers_are_short_and_exact)
{
	static const struct {
		double number;
		const char *printed;
	} cases[] = {{0, "0"},           {0.1, "0.1"},
	             {2.5, "2.5"},       {1e21, "1e+21"},
	             {-3, "-3"},         {1.0 / 3, "0.3333333333333333"},
	             {INFINITY, "+Inf"}, {-INFINITY, "-Inf"},
	             {NAN, "NaN"},       {1700000000.123, "1700000000.123"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text;
		text_init(&text, 64);
		text_append_number(&text, cases[i].number);
		cr_assert_str_eq(text.at, cases[i].printed);
		text_done(&text);
	}
}

Test(text, hash_is_fnv_1a)
{
	cr_assert_eq(text_hash("", 0), 0x811c9dc5U);
	cr_assert_eq(text_hash("a", 1), 0xe40c292cU);
	cr_assert_eq(text_hash("foobar", 6), 0xbf9cf968U);
}
