#include "aws/profile.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(profile, .init = set_up, .fini = tear_down);

static const struct profile *parse(const char *config, const char *credentials, const char *name)
{
	const struct profile *profile = NULL;

	cr_assert(profile_parse(&arena, config, credentials, name, &profile, &error), "%s", error.message);
	return profile;
}

static void fails(const char *config, const char *credentials, const char *sentence)
{
	const struct profile *profile = NULL;

	cr_assert_not(profile_parse(&arena, config, credentials, "default", &profile, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_str_eq(error.message, sentence);
}

Test(profile, sections_of_the_config_file_have_a_prefix)
{
	const char *config =
		"[default]\nregion = a\n[profile web]\nregion=b\n[web]\nregion=c\n[sso-session web]\nsso_region=d\n";

	cr_assert_str_eq(profile_get(parse(config, NULL, "web"), "region"), "b");
	cr_assert_str_eq(profile_get(parse(config, NULL, "default"), "region"), "a");
	cr_assert_null(profile_get(parse(config, NULL, "web"), "sso_region"));
	cr_assert_null(parse(config, NULL, "other"));
	cr_assert_null(parse(NULL, NULL, "default"));
}

Test(profile, sections_of_the_credentials_file_have_none)
{
	const char *credentials = "[web]\naws_access_key_id=A\n[profile web]\naws_access_key_id=B\n";

	cr_assert_str_eq(profile_get(parse(NULL, credentials, "web"), "aws_access_key_id"), "A");
	cr_assert_null(parse(NULL, credentials, "default"));
}

Test(profile, credentials_file_wins_key_by_key)
{
	const struct profile *profile =
		parse("[profile web]\nregion=r\naws_access_key_id=config\n", "[web]\nAWS_Access_Key_ID = credentials\n", "web");

	cr_assert_str_eq(profile_get(profile, "aws_access_key_id"), "credentials");
	cr_assert_str_eq(profile_get(profile, "REGION"), "r");
}

Test(profile, profile_default_wins_over_bare_default_in_either_order)
{
	cr_assert_str_eq(
		profile_get(parse("[profile default]\nregion=a\n[default]\nregion=b\n", NULL, "default"), "region"), "a");
	cr_assert_str_eq(
		profile_get(parse("[default]\nregion=b\n[ profile\tdefault ]\nregion=a\n", NULL, "default"), "region"), "a");
}

Test(profile, later_property_wins_in_a_repeated_section)
{
	const char *config = "[default]\nregion=a\noutput=x\n[default]\nregion=b\n";

	cr_assert_str_eq(profile_get(parse(config, NULL, "default"), "region"), "b");
	cr_assert_str_eq(profile_get(parse(config, NULL, "default"), "output"), "x");
}

Test(profile, comments_need_white_space_behind_a_value)
{
	const struct profile *profile = parse(NULL,
	                                      "# a\n; b\n[default] # c\r\naws_secret_access_key = a#b;c # d\r\n"
	                                      "aws_access_key_id = x\t; y\r\n\r\nempty =\n",
	                                      "default");

	cr_assert_str_eq(profile_get(profile, "aws_secret_access_key"), "a#b;c");
	cr_assert_str_eq(profile_get(profile, "aws_access_key_id"), "x");
	cr_assert_str_eq(profile_get(profile, "empty"), "");
}

Test(profile, indented_line_continues_the_property)
{
	const struct profile *profile = parse(
		"[profile x]\nother = 1\n  y = 2\n[default]\ns3 =\n  a = 1 # kept\n\t b = 2\nregion = r\n", NULL, "default");

	cr_assert_str_eq(profile_get(profile, "s3"), "\na = 1 # kept\nb = 2");
	cr_assert_str_eq(profile_get(profile, "region"), "r");
	cr_assert_null(profile_get(profile, "y"));
}

Test(profile, very_long_continuations_stay_cheap)
{
	size_t length = 1024 * 1024;
	char *text = arena_alloc(&arena, length + 1);
	char *at = stpcpy(text, "[default]\nk=v\n");

	while (at + 3 < text + length)
		at = stpcpy(at, " x\n");
	cr_assert_gt(strlen(profile_get(parse(text, NULL, "default"), "k")), 600000);
}

Test(profile, marks_and_line_ends_of_other_systems)
{
	cr_assert_str_eq(profile_get(parse("\xef\xbb\xbf[default]\r\nregion = r\r\n", NULL, "default"), "region"), "r");
}

Test(profile, says_which_line_of_which_file_is_wrong_without_repeating_it)
{
	fails("[default]\nregion\n", NULL, "AWS config file: line 2: neither a section nor \"key = value\"");
	fails(NULL, "a = b\n", "AWS credentials file: line 1: \"key = value\" before the first section");
	fails("[default\n", NULL, "AWS config file: line 1: a section begins with \"[\" but has no \"]\"");
	fails("\n[default] x\n", NULL, "AWS config file: line 2: there is something behind the \"]\" of a section");
	fails("[default]\n= b\n", NULL, "AWS config file: line 2: there is no key before the \"=\"");
	fails("[default]\n b\n", NULL,
	      "AWS config file: line 2: an indented line continues a property, but there is none before it");
}
