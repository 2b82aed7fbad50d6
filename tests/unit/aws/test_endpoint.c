#include "aws/region.h"

#include <criterion/criterion.h>
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

TestSuite(endpoint, .init = set_up, .fini = tear_down);

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

Test(endpoint, default_endpoints)
{
	const struct aws_environment *none = TABLE("X", "y");

	cr_assert_str_eq(url_of("autoscaling", "us-east-1", none), "https://autoscaling.us-east-1.amazonaws.com");
	cr_assert_str_eq(endpoint.host, "autoscaling.us-east-1.amazonaws.com");
	cr_assert_str_eq(url_of("ec2", "cn-north-1", none), "https://ec2.cn-north-1.amazonaws.com.cn");
	cr_assert_str_eq(url_of("sts", "us-gov-west-1", none), "https://sts.us-gov-west-1.amazonaws.com");
	cr_assert_str_eq(url_of("dynamodb", "eusc-de-east-1", none), "https://dynamodb.eusc-de-east-1.amazonaws.eu");
}

Test(endpoint, variants_by_flag)
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

Test(endpoint, overrides)
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
	url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "https://x:/y"));
	cr_assert_str_eq(endpoint.host, "x");
	cr_assert_str_eq(url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL_EC2", "https://ec2.us-east-1.api.aws")),
	                 "https://ec2.us-east-1.api.aws", "only DynamoDB's rules refuse it");
	cr_assert_str_eq(url_of("ec2", "us-east-1",
	                        TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")),
	                 "https://ec2.us-east-1.amazonaws.com");
}

Test(endpoint, overrides_that_are_no_plain_url_are_refused)
{
	static const char *const bad[] = {"localhost:5000",   "ftp://x",    "http://",     "http:///x",
	                                  "http://user:pw@x", "http://x?y", "http://x#y",  "http://x y",
	                                  "http://x:80a",     "http://x\n", "http://[::1", "http://:80"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(TABLE("AWS_ENDPOINT_URL_EC2", bad[i]), "AWS_ENDPOINT_URL_EC2 is not a URL");
	refuses(TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_USE_FIPS_ENDPOINT", "true"), "no FIPS variant");
	refuses(TABLE("AWS_ENDPOINT_URL", "http://x", "AWS_USE_DUALSTACK_ENDPOINT", "true"), "no dual-stack variant");
}

Test(endpoint, no_endpoint_for_what_is_no_region)
{
	cr_assert_not(
		aws_endpoint_of(&arena, aws_service_find("ec2"), "x.evil.example/", TABLE("X", "y"), &endpoint, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
}

Test(endpoint, url_of_a_request)
{
	struct http_request request = {.path = "/a%2Fb", .query = "x=1"};

	url_of("ec2", "us-east-1", TABLE("AWS_ENDPOINT_URL", "http://127.0.0.1:5000/prefix/"));
	cr_assert_str_eq(aws_endpoint_url(&arena, &endpoint, &request), "http://127.0.0.1:5000/prefix/a%2Fb?x=1");
	request = (struct http_request){.path = "/", .query = ""};
	cr_assert_str_eq(aws_endpoint_url(&arena, &endpoint, &request), "http://127.0.0.1:5000/prefix/");
}

/* A config file whose default profile has `lines`; further sections may follow in them. */
static const char *config_file(const char *lines)
{
	char *path = arena_string(&arena, "/tmp/zonevac-config-XXXXXX");
	const char *text = arena_printf(&arena, "[default]\n%s", lines);
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	return path;
}

Test(endpoint, profile_says_what_no_variable_says)
{
	const char *config = config_file("endpoint_url = https://all.example/\nservices = mine\n[services mine]\n"
	                                 "auto_scaling =\n  endpoint_url = https://groups.example:8443/x\n");

	cr_assert_str_eq(url_of("autoscaling", "us-east-1", TABLE("AWS_CONFIG_FILE", config)),
	                 "https://groups.example:8443/x");
	cr_assert_str_eq(endpoint.host, "groups.example:8443");
	cr_assert_str_eq(endpoint.service, "autoscaling");
	cr_assert_str_eq(url_of("ec2", "us-east-1", TABLE("AWS_CONFIG_FILE", config)), "https://all.example");
	cr_assert_str_eq(
		url_of("autoscaling", "us-east-1", TABLE("AWS_CONFIG_FILE", config, "AWS_ENDPOINT_URL", "http://variable")),
		"http://variable");
	cr_assert_str_eq(url_of("autoscaling", "us-east-1",
	                        TABLE("AWS_CONFIG_FILE", config, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")),
	                 "https://autoscaling.us-east-1.amazonaws.com");
	unlink(config);
}

Test(endpoint, profile_has_the_switches_too)
{
	const char *config = config_file("use_fips_endpoint = true\nuse_dualstack_endpoint = TRUE\n"
	                                 "ignore_configured_endpoint_urls = true\nendpoint_url = http://x\n");
	const char *bad = config_file("use_fips_endpoint = 1\n");

	cr_assert_str_eq(url_of("ec2", "us-east-1", TABLE("AWS_CONFIG_FILE", config)),
	                 "https://ec2-fips.us-east-1.api.aws");
	cr_assert_str_eq(url_of("ec2", "us-east-1", TABLE("AWS_CONFIG_FILE", config, "AWS_USE_FIPS_ENDPOINT", "false")),
	                 "https://ec2.us-east-1.api.aws", "a variable counts more than the profile");
	cr_assert_str_eq(url_of("ec2", "us-east-1",
	                        TABLE("AWS_CONFIG_FILE", config, "AWS_USE_FIPS_ENDPOINT", "false",
	                              "AWS_USE_DUALSTACK_ENDPOINT", "false", "AWS_ENDPOINT_URL", "http://x")),
	                 "https://ec2.us-east-1.amazonaws.com");
	refuses(TABLE("AWS_CONFIG_FILE", bad), "use_fips_endpoint of AWS profile \"default\" is \"1\"");
	unlink(config);
	unlink(bad);
}

Test(endpoint, profile_is_refused_by_the_names_it_uses)
{
	const char *config = config_file("endpoint_url = gate.example\n");
	const char *both = config_file("endpoint_url = http://gate.example\nuse_dualstack_endpoint = true\n");

	refuses(TABLE("AWS_CONFIG_FILE", config), "endpoint_url of AWS profile \"default\" is not a URL");
	refuses(TABLE("AWS_CONFIG_FILE", both), "use_dualstack_endpoint of AWS profile \"default\" are both set");
	refuses(TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "absent"), "\"absent\"");
	unlink(config);
	unlink(both);
}

Test(endpoint, dual_stack_of_dynamodb_is_no_override)
{
	const char *const table = "https://dynamodb.us-east-1.api.aws/";

	cr_assert_not(aws_endpoint_of(&arena, aws_service_find("dynamodb"), "us-east-1", TABLE("AWS_ENDPOINT_URL", table),
	                              &endpoint, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "set AWS_USE_DUALSTACK_ENDPOINT=true"), "%s", error.message);
	cr_assert_str_eq(url_of("dynamodb", "eu-west-1", TABLE("AWS_ENDPOINT_URL", table)),
	                 "https://dynamodb.us-east-1.api.aws", "another region's is somebody's own business");
}
