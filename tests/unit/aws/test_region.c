#include "aws/region.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(region, .init = set_up, .fini = tear_down);

Test(region, names)
{
	static const char *const good[] = {"us-east-1", "us-gov-west-1", "eusc-de-east-1", "ap-southeast-10"};
	static const char *const bad[] = {"",           "us-east",
	                                  "us-east-1a", "us-east-1.evil.example",
	                                  "US-EAST-1",  "us--1",
	                                  "-1",         "us_east-1",
	                                  "us-east-1/", "a234567890123456789012345678901234567890-1"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(aws_region_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(aws_region_valid(bad[i]), "%s", bad[i]);
	cr_assert_not(aws_region_valid(NULL));
}

Test(region, zone_ids)
{
	static const char *const good[] = {"use1-az1", "apse10-az12", "usgw1-az3", "eusc1-az1"};
	static const char *const bad[] = {"",         "us-east-1a",       "use1-az", "use1-bos1-az1",
	                                  "u1-az1",   "abcdefghijk1-az1", "use-az1", "use1-az1 ",
	                                  "USE1-az1", "use1-wl1-bos-wlz1"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(aws_zone_id_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(aws_zone_id_valid(bad[i]), "%s", bad[i]);
	cr_assert_not(aws_zone_id_valid(NULL));
}

static const char *load(const struct aws_environment *environment)
{
	const char *region = NULL;

	return aws_region_load(&arena, environment, &region, &error) ? region : NULL;
}

Test(region, load_order)
{
	char path[] = "/tmp/zonevac-config-XXXXXX";
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, "[default]\nregion = eu-west-1\n[profile bad]\nregion = nowhere\n", 60), 60);
	close(file);
	cr_assert_str_eq(load(TABLE("AWS_REGION", "us-west-2", "AWS_DEFAULT_REGION", "us-east-2", "AWS_CONFIG_FILE", path)),
	                 "us-west-2");
	cr_assert_str_eq(load(TABLE("AWS_DEFAULT_REGION", "us-east-2", "AWS_CONFIG_FILE", path)), "us-east-2");
	cr_assert_str_eq(load(TABLE("AWS_CONFIG_FILE", path)), "eu-west-1");
	cr_assert_null(load(TABLE("AWS_CONFIG_FILE", path, "AWS_PROFILE", "bad")));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "AWS profile \"bad\" is \"nowhere\""), "%s", error.message);
	unlink(path);
	cr_assert_null(load(TABLE("X", "y")));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_not_null(strstr(error.message, "AWS_REGION"));
	cr_assert_null(load(TABLE("AWS_REGION", "us-east-1a")));
	cr_assert_eq(error.kind, ERROR_INPUT);
}
