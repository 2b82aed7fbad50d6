#include "aws/region.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

static struct arena arena;
static struct error error;
static struct aws_endpoint endpoint;

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

static const char *url_of(const char *service, const char *region, const struct aws_environment *environment)
{
	cr_assert(aws_endpoint_of(&arena, aws_service_find(service), region, environment, &endpoint, &error), "%s",
	          error.message);
	cr_assert_str_eq(endpoint.signing_region, region);
	return endpoint.base_url;
}

static void refuses(const struct aws_environment *environment, const char *part)
{
	cr_assert_not(aws_endpoint_of(&arena, aws_service_find("ec2"), "us-east-1", environment, &endpoint, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, part), "%s", error.message);
}

Test(region, partitions)
{
	static const char *const pairs[][2] = {
		{"us-east-1", "aws"},
		{"mx-central-1", "aws"},
		{"ap-southeast-7", "aws"},
		{"us-gov-west-1", "aws-us-gov"},
		{"cn-north-1", "aws-cn"},
		{"eusc-de-east-1", "aws-eusc"},
		{"us-iso-east-1", "aws-iso"},
		{"us-isob-east-1", "aws-iso-b"},
		{"eu-isoe-west-1", "aws-iso-e"},
		{"us-isof-south-1", "aws-iso-f"},
		{"xx-new-1", "aws"},
		{"us-gov-1", "aws"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		cr_expect_str_eq(aws_partition(pairs[i][0]), pairs[i][1], "%s", pairs[i][0]);
	cr_assert_str_eq(aws_partition(NULL), "aws");
}

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

Test(region, default_endpoints)
{
	const struct aws_environment *none = TABLE("X", "y");

	cr_assert_str_eq(url_of("autoscaling", "us-east-1", none), "https://autoscaling.us-east-1.amazonaws.com");
	cr_assert_str_eq(endpoint.host, "autoscaling.us-east-1.amazonaws.com");
	cr_assert_str_eq(url_of("ec2", "cn-north-1", none), "https://ec2.cn-north-1.amazonaws.com.cn");
	cr_assert_str_eq(url_of("sts", "us-gov-west-1", none), "https://sts.us-gov-west-1.amazonaws.com");
	cr_assert_str_eq(url_of("dynamodb", "eusc-de-east-1", none), "https://dynamodb.eusc-de-east-1.amazonaws.eu");
}

Test(region, variants_by_flag)
{
	const struct aws_environment *fips = TABLE("AWS_USE_FIPS_ENDPOINT", "true");
	const struct aws_environment *dual = TABLE("AWS_USE_DUALSTACK_ENDPOINT", "True", "AWS_USE_FIPS_ENDPOINT", "false");
	const struct aws_environment *both = TABLE("AWS_USE_DUALSTACK_ENDPOINT", "true", "AWS_USE_FIPS_ENDPOINT", "true");

	cr_assert_str_eq(url_of("ec2", "us-east-1", fips), "https://ec2-fips.us-east-1.amazonaws.com");
	cr_assert_str_eq(url_of("ec2", "us-gov-west-1", fips), "https://ec2.us-gov-west-1.amazonaws.com");
	cr_assert_str_eq(url_of("ec2", "us-east-1", dual), "https://ec2.us-east-1.api.aws");
	cr_assert_str_eq(url_of("ec2", "us-east-1", both), "https://ec2-fips.us-east-1.api.aws");
	cr_assert_str_eq(url_of("ec2", "us-gov-west-1", both), "https://ec2-fips.us-gov-west-1.api.aws");
	refuses(TABLE("AWS_USE_FIPS_ENDPOINT", "yes"), "AWS_USE_FIPS_ENDPOINT is \"yes\"");
}

Test(region, overrides)
{
	cr_assert_str_eq(url_of("autoscaling", "us-east-1",
	                        TABLE("AWS_ENDPOINT_URL", "http://127.0.0.1:5000/", "AWS_ENDPOINT_URL_AUTO_SCALING",
	                              "https://gate.example:443/prefix//")),
	                 "https://gate.example:443/prefix");
	cr_assert_str_eq(endpoint.host, "gate.example");
	cr_assert_str_eq(url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "http://127.0.0.1:5000/")),
	                 "http://127.0.0.1:5000");
	cr_assert_str_eq(endpoint.host, "127.0.0.1:5000");
	url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "http://[::1]:80"));
	cr_assert_str_eq(endpoint.host, "[::1]");
	url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "https://[::1]"));
	cr_assert_str_eq(endpoint.host, "[::1]");
	cr_assert_str_eq(url_of("ec2", "us-east-1",
	                        TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")),
	                 "https://ec2.us-east-1.amazonaws.com");
}

Test(region, overrides_that_are_no_plain_url_are_refused)
{
	static const char *const bad[] = {"localhost:5000",   "ftp://x",    "http://",     "http:///x",
	                                  "http://user:pw@x", "http://x?y", "http://x#y",  "http://x y",
	                                  "http://x:80a",     "http://x\n", "http://[::1", "http://:80"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(TABLE("AWS_ENDPOINT_URL_EC2", bad[i]), "AWS_ENDPOINT_URL_EC2 is not a URL");
	refuses(TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_USE_FIPS_ENDPOINT", "true"), "no FIPS variant");
	refuses(TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_USE_DUALSTACK_ENDPOINT", "true"), "no dual-stack variant");
}

Test(region, no_endpoint_for_what_is_no_region)
{
	cr_assert_not(
		aws_endpoint_of(&arena, aws_service_find("ec2"), "x.evil.example/", TABLE("X", "y"), &endpoint, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
}

Test(region, url_of_a_request)
{
	struct http_request request = {.path = "/a%2Fb", .query = "x=1"};

	url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "http://127.0.0.1:5000/prefix/"));
	cr_assert_str_eq(aws_endpoint_url(&arena, &endpoint, &request), "http://127.0.0.1:5000/prefix/a%2Fb?x=1");
	request = (struct http_request){.path = "/", .query = ""};
	cr_assert_str_eq(aws_endpoint_url(&arena, &endpoint, &request), "http://127.0.0.1:5000/prefix/");
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
