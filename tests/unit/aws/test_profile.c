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

struct scenario {
	const char *config;
	const char *credentials;
	const char *name;  /* of the profile */
	const char *key;   /* NULL: whether the profile is there */
	const char *below; /* NULL: the key itself */
	const char *value; /* NULL: not there */
};

/* The cases of the SDKs' common parser. */
static const struct scenario scenarios[] = {
	{"", NULL, "foo", NULL, NULL, NULL},
	{"[profile foo]", NULL, "foo", NULL, NULL, ""},
	{"[profile \tfoo \t]", NULL, "foo", NULL, NULL, ""},
	{"[profile\tfoo]", NULL, "foo", NULL, NULL, ""},
	{"[profile foo]\nname = value", NULL, "foo", "name", NULL, "value"},
	{"[profile foo]\nname = val=ue", NULL, "foo", "name", NULL, "val=ue"},
	{"[profile foo]\nname = \xf0\x9f\x98\x82", NULL, "foo", "name", NULL, "\xf0\x9f\x98\x82"},
	{"[profile foo]\nname = value\nname2 = value2", NULL, "foo", "name", NULL, "value"},
	{"[profile foo]\nname = value\nname2 = value2", NULL, "foo", "name2", NULL, "value2"},
	{"[profile foo]\nname \t=  \tvalue \t", NULL, "foo", "name", NULL, "value"},
	{"[profile foo]\nname =", NULL, "foo", "name", NULL, ""},
	{"[profile foo]\n[profile bar]", NULL, "bar", NULL, NULL, ""},
	{"[profile foo]\nname = value\n[profile bar]\nname2 = value2", NULL, "foo", "name2", NULL, NULL},
	{"[profile foo]\nname = value\n[profile bar]\nname2 = value2", NULL, "bar", "name2", NULL, "value2"},
	{NULL, "[profile foo]\nname = value\n[sso-session s]\na = b\n[services t]\na = b\n", "foo", NULL, NULL, NULL},
	{NULL, "[profile foo]\nname = value\n", "profile foo", NULL, NULL, NULL},
	{"[sso-session s]\na = b\n[sso-session ]\nc = d\n[profile s]\ne = f", NULL, "s", "a", NULL, NULL},
	{"[profilefoo]\na = b\n[profilesso-sessionservices test]\na = b\n", NULL, "test", NULL, NULL, NULL},
	{"\t \n[profile foo]\n\t\n \nname = value\n\t \n[profile bar]\n \t", NULL, "foo", "name", NULL, "value"},
	{"\t \n[profile foo]\n\t\n \nname = value\n\t \n[profile bar]\n \t", NULL, "bar", NULL, NULL, ""},
	{"# Comment\n[profile foo] # Comment\nname = value # Comment with # sign", NULL, "foo", "name", NULL, "value"},
	{"; Comment\n[profile foo] ; Comment\nname = value ; Comment with ; sign", NULL, "foo", "name", NULL, "value"},
	{"# Comment\n[profile foo] ; Comment\nname = value # Comment with ; sign", NULL, "foo", "name", NULL, "value"},
	{";\n[profile foo];\nname = value ;\n", NULL, "foo", "name", NULL, "value"},
	{"[profile foo]; Adjacent\n[profile bar]# Adjacent", NULL, "foo", NULL, NULL, ""},
	{"[profile foo]; Adjacent\n[profile bar]# Adjacent", NULL, "bar", NULL, NULL, ""},
	{"[profile foo]\na = value; Adjacent\nb = value# Adjacent", NULL, "foo", "a", NULL, "value; Adjacent"},
	{"[profile foo]\na = value; Adjacent\nb = value# Adjacent", NULL, "foo", "b", NULL, "value# Adjacent"},
	{"[profile foo]\nname = value\n -continued", NULL, "foo", "name", NULL, "value\n-continued"},
	{"[profile foo]\nname = value\n -a\n -and-b", NULL, "foo", "name", NULL, "value\n-a\n-and-b"},
	{"[profile foo]\nname = value\n \t -continued \t ", NULL, "foo", "name", NULL, "value\n-continued"},
	{"[profile foo]\nname = value\n -continued # Comment", NULL, "foo", "name", NULL, "value\n-continued # Comment"},
	{"[profile foo]\nname = value\n -continued ; Comment", NULL, "foo", "name", NULL, "value\n-continued ; Comment"},
	{"[profile foo]\na = b\n[profile foo]\nc = d\n", NULL, "foo", "a", NULL, "b"},
	{"[profile foo]\na = b\n[profile foo]\nc = d\n", NULL, "foo", "c", NULL, "d"},
	{"[profile foo]\nname = value\nname = value2", NULL, "foo", "name", NULL, "value2"},
	{"[profile foo]\nname = value\n[profile foo]\nname = value2", NULL, "foo", "name", NULL, "value2"},
	{"[profile default]\na = b\n[default]\nc = d", NULL, "default", "a", NULL, "b"},
	{"[profile default]\na = b\n[default]\nc = d", NULL, "default", "c", NULL, NULL},
	{"[default]\nc = d\n[profile default]\na = b", NULL, "default", "a", NULL, "b"},
	{"[default]\nc = d\n[profile default]\na = b", NULL, "default", "c", NULL, NULL},
	{"[profile default]\na = b\n[default]\nc = d\n[profile default]\ne = f", NULL, "default", "a", NULL, "b"},
	{"[profile default]\na = b\n[default]\nc = d\n[profile default]\ne = f", NULL, "default", "e", NULL, "f"},
	{"[profile in valid]\na = b", "[in valid 2]\nc = d", "in valid", NULL, NULL, NULL},
	{"[profile in valid]\na = b", "[in valid 2]\nc = d", "in valid 2", NULL, NULL, NULL},
	{"[profile foo]\nin valid = value", NULL, "foo", "in valid", NULL, NULL},
	{"[profile foo]\nin valid = value", NULL, "foo", NULL, NULL, ""},
	{"[profile Aa0-_]\nAa0-_ = value", NULL, "Aa0-_", "Aa0-_", NULL, "value"},
	{"[profile a/b.c%d@e:f+g\\h]\nk = v", NULL, "a/b.c%d@e:f+g\\h", "k", NULL, "v"},
	{"[profile foo]\ns3 =\n name = value", NULL, "foo", "s3", NULL, "\nname = value"},
	{"[profile foo]\ns3 =\n name = value", NULL, "foo", "s3", "name", "value"},
	{"[profile foo]\ns3 =\n name =", NULL, "foo", "s3", NULL, "\nname ="},
	{"[profile foo]\ns3 =\n name =", NULL, "foo", "s3", "name", ""},
	{"[profile foo]\ns3 =\n in valid = value", NULL, "foo", "s3", NULL, "\nin valid = value"},
	{"[profile foo]\ns3 =\n in valid = value", NULL, "foo", "s3", "in valid", NULL},
	{"[profile foo]\ns3 =\n a = b\n\t \n c = d", NULL, "foo", "s3", NULL, "\na = b\nc = d"},
	{"[profile foo]\ns3 =\n a = b\n\t \n c = d", NULL, "foo", "s3", "a", "b"},
	{"[profile foo]\ns3 =\n a = b\n\t \n c = d", NULL, "foo", "s3", "c", "d"},
	{"[profile foo]\na = b", "[foo]\nc = d", "foo", "a", NULL, "b"},
	{"[profile foo]\na = b", "[foo]\nc = d", "foo", "c", NULL, "d"},
	{"[profile foo]\nname = value", "[foo]\nname = value2", "foo", "name", NULL, "value2"},
	{"[foo]\nname = value", NULL, "foo", NULL, NULL, NULL},
	/* Ours. */
	{"[profile foo]\ns3 =\n a = b\n a = c # d", NULL, "foo", "S3", "A", "c # d"},
	{"[profile foo]\ns3 = x\n a = b\n", NULL, "foo", "s3", "a", NULL},
	{"[profile foo]\ns3 =\n a = b\ns3 =\n c = d\n", NULL, "foo", "s3", "a", NULL},
	{"[profile foo]\na = b", "[foo]\nA = c\n", "foo", "a", NULL, "c"},
	{"[profile default]\na = b\n", "[default]\nc = d\n", "default", "a", NULL, "b"},
	{"[profile foo] trailing\na = b\n", NULL, "foo", "a", NULL, "b"},
	{"[profile foo]\na = b\n[plugins]\nx = y\n  z\nend =\n  p = q\n", NULL, "foo", "a", NULL, "b"},
};

Test(profile, what_the_common_parser_reads)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		const struct scenario *at = &scenarios[i];
		const struct profile *profile = parse(at->config, at->credentials, at->name);
		const char *value = at->key == NULL     ? (profile != NULL ? "" : NULL)
		                    : at->below == NULL ? profile_get(profile, at->key)
		                                        : profile_get_below(profile, at->key, at->below);

		cr_assert(value == at->value || (value != NULL && at->value != NULL && strcmp(value, at->value) == 0),
		          "%zu: %s%s: %s", i, at->config, at->credentials, value);
	}
}

Test(profile, nothing_of_no_profile)
{
	cr_assert_null(parse(NULL, NULL, "default"));
	cr_assert_null(profile_get(NULL, "region"));
	cr_assert_null(profile_get_below(NULL, "s3", "endpoint_url"));
}

Test(profile, services)
{
	const char *config =
		"[profile foo]\nname = value\n[profile bar]\nservices = test\n"
		"[sso-session test]\nname3 = value3\ns3 =\n name4 = value4\n"
		"[services test]\nname4 = value4\ns3 =\n endpoint_url = value5\n"
		"[services test]\nname4 = value6\n[test]\nx = y\n[services\tother]\ns3=\n\tendpoint_url=o\n[services ]\n";
	const struct profile *services = NULL;

	cr_assert(profile_parse_services(&arena, config, "test", &services, &error), "%s", error.message);
	cr_assert_str_eq(profile_get(services, "name4"), "value6");
	cr_assert_str_eq(profile_get_below(services, "s3", "endpoint_url"), "value5");
	cr_assert_null(profile_get(services, "name3"));
	cr_assert_null(profile_get(services, "x"));
	cr_assert(profile_parse_services(&arena, config, "other", &services, &error));
	cr_assert_str_eq(profile_get_below(services, "s3", "endpoint_url"), "o");
	cr_assert(profile_parse_services(&arena, config, "foo", &services, &error));
	cr_assert_null(services);
	cr_assert(profile_parse_services(&arena, NULL, "test", &services, &error));
	cr_assert_null(services);
	cr_assert_not(profile_parse_services(&arena, "[services test\n", "test", &services, &error));
	cr_assert_null(parse(config, NULL, "test"));
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
	cr_assert_str_eq(profile_get_below(parse("[default]\r\ns3 =\r\n  a = b\r\n", NULL, "default"), "s3", "a"), "b");
}

Test(profile, says_which_line_of_which_file_is_wrong_without_repeating_it)
{
	fails("[default]\nregion\n", NULL, "AWS config file: line 2: neither a section nor \"key = value\"");
	fails(NULL, "a = b\n", "AWS credentials file: line 1: \"key = value\" before the first section");
	fails("[default\n", NULL, "AWS config file: line 1: a section begins with \"[\" but has no \"]\"");
	fails("[default # ]\n", NULL, "AWS config file: line 1: a section begins with \"[\" but has no \"]\"");
	fails("[default]\n= b\n", NULL, "AWS config file: line 2: there is no key before the \"=\"");
	fails("[default]\n b\n", NULL,
	      "AWS config file: line 2: an indented line continues a property, but there is none before it");
	fails("[default]\na = b\n[x]\n b\n", NULL,
	      "AWS config file: line 4: an indented line continues a property, but there is none before it");
	fails("[default]\ns3 =\n b\n", NULL,
	      "AWS config file: line 3: an indented line below \"key =\" must be \"key = value\" itself");
	fails("[default]\ns3 =\n = b\n", NULL,
	      "AWS config file: line 3: an indented line below \"key =\" must be \"key = value\" itself");
}
