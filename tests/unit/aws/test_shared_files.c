#include "aws/shared_files.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "environment.h"
#include "home.h"

static struct arena arena;
static struct error error;
static const struct profile *profile;

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
	profile = NULL;
	home_make();
	cr_assert_eq(mkdir(in_home(&arena, ".aws"), 0700), 0);
}

static void tear_down(void)
{
	home_clear(&arena);
	arena_done(&arena);
}

TestSuite(shared_files, .init = set_up, .fini = tear_down);

static void finds(const struct aws_environment *environment, const char *key, const char *value)
{
	cr_assert(shared_files_profile(&arena, environment, &profile, &error), "%s", error.message);
	cr_assert_not_null(profile_get(profile, key));
	cr_assert_str_eq(profile_get(profile, key), value);
}

static void fails(const struct aws_environment *environment, const char *part)
{
	error = (struct error){0};
	cr_assert_not(shared_files_profile(&arena, environment, &profile, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, part), "%s", error.message);
}

Test(shared_files, name_of_the_profile)
{
	cr_assert_str_eq(shared_files_profile_name(TABLE("AWS_PROFILE", "web")), "web");
	cr_assert_str_eq(shared_files_profile_name(TABLE("AWS_PROFILE", "")), "default");
}

Test(shared_files, in_the_home_folder_or_where_variables_say)
{
	home_write(&arena, ".aws/config", "[default]\nregion = home\n");
	home_write(&arena, ".aws/credentials", "[default]\nx = home\n");
	home_write(&arena, "config", "[default]\nregion = named\n");
	home_write(&arena, "credentials", "[default]\nx = named\n");
	finds(TABLE("HOME", home), "region", "home");
	finds(TABLE("HOME", home), "x", "home");
	finds(TABLE("HOME", home, "AWS_CONFIG_FILE", in_home(&arena, "config")), "region", "named");
	cr_assert_str_eq(profile_get(profile, "x"), "home");
	finds(TABLE("HOME", home, "AWS_SHARED_CREDENTIALS_FILE", "~/credentials"), "x", "named");
}

Test(shared_files, none_at_all_is_no_error)
{
	cr_assert(shared_files_profile(&arena, TABLE("HOME", home), &profile, &error), "%s", error.message);
	cr_assert_null(profile);
	cr_assert(shared_files_profile(&arena, TABLE("X", "y"), &profile, &error), "%s", error.message);
	cr_assert_null(profile);
}

Test(shared_files, what_is_named_must_be_there_and_readable)
{
	fails(TABLE("AWS_CONFIG_FILE", in_home(&arena, "gone")), "AWS_CONFIG_FILE: cannot read");
	fails(TABLE("AWS_SHARED_CREDENTIALS_FILE", home), "AWS_SHARED_CREDENTIALS_FILE: cannot read");
	fails(TABLE("AWS_PROFILE", "web", "HOME", home),
	      "AWS_PROFILE is \"web\", but neither shared file has that profile");
	home_write(&arena, ".aws/config", "[default]\nbroken\n");
	fails(TABLE("HOME", home), "AWS config file: line 2");
}

Test(shared_files, a_mebibyte_and_no_more)
{
	size_t size = 1024 * 1024;
	char *text = arena_alloc(&arena, size + 2);

	memset(text, '\n', size);
	memcpy(text + size - 14, "[default]\na=b\n", 14);
	home_write(&arena, "config", text);
	finds(TABLE("AWS_CONFIG_FILE", in_home(&arena, "config")), "a", "b");
	text[size] = '\n';
	home_write(&arena, "config", text);
	fails(TABLE("AWS_CONFIG_FILE", in_home(&arena, "config")), "is larger than 1048576 bytes");
}

Test(shared_files, other_profiles)
{
	const char *config = home_write(&arena, "config", "[profile a]\nx = 1\n[profile b]\nx = 2\n");
	const struct aws_environment *environment = TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "a");

	cr_assert(shared_files_other_profile(&arena, environment, "b", &profile, &error));
	cr_assert_str_eq(profile_get(profile, "x"), "2");
	cr_assert(shared_files_other_profile(&arena, environment, "c", &profile, &error));
	cr_assert_null(profile);
	cr_assert_not(
		shared_files_other_profile(&arena, TABLE("AWS_CONFIG_FILE", "/nowhere/at/all"), "b", &profile, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
}

Test(shared_files, services_of_the_active_profile)
{
	const char *config = home_write(&arena, "config",
	                                "[profile a]\nservices = local\n[profile b]\nservices = gone\n[profile c]\n"
	                                "[services local]\nec2 =\n  endpoint_url = http://x\n");

	cr_assert(shared_files_services(&arena, TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "a"), &profile, &error));
	cr_assert_str_eq(profile_get_below(profile, "ec2", "endpoint_url"), "http://x");
	cr_assert(shared_files_services(&arena, TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "c"), &profile, &error));
	cr_assert_null(profile);
	cr_assert(shared_files_services(&arena, TABLE("AWS_CONFIG_FILE", config), &profile, &error));
	cr_assert_null(profile);
	cr_assert_not(
		shared_files_services(&arena, TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "b"), &profile, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "services of AWS profile \"b\" is \"gone\""), "%s", error.message);
}

Test(shared_files, other_profiles_cost_nothing)
{
	const char *config = home_write(&arena, "config", "");
	FILE *file = fopen(config, "w");
	struct arena small;

	cr_assert_not_null(file);
	for (int i = 0; i < 20000; i++)
		fprintf(file, "[profile p%05d]\nregion = eu-west-1\n", i);
	fprintf(file, "[default]\nservices = s\n[services s]\nec2 =\n  endpoint_url = http://x\n");
	cr_assert_eq(fclose(file), 0);
	arena_init(&small, "small", 4096);
	cr_assert(shared_files_services(&small, TABLE("AWS_CONFIG_FILE", config), &profile, &error), "%s", error.message);
	cr_assert_str_eq(profile_get_below(profile, "ec2", "endpoint_url"), "http://x");
	arena_done(&small);
}
