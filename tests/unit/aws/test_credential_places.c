#include "plans.h"

TestSuite(credential_places, .init = set_up, .fini = tear_down);

Test(credential_places, containers)
{
	static const struct scenario scenarios[] = {
		{"ContainerProvider, noop_if_env_var_is_not_set",
	     {TOKEN, "x", "AWS_EC2_METADATA_DISABLED", "true"},
	     .part = "no AWS credentials",
	     .is_absent = true},
		{"ContainerProvider, retrieve_from_provider_if_env_var_present",
	     {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/latest/credentials?id=foo"},
	     .plan = "container http://169.254.170.2/latest/credentials?id=foo - from container"},
		{"ContainerProvider, can_use_full_url",
	     {FULL, "http://localhost/foo"},
	     .plan = "container http://localhost/foo - from container"},
		{"ContainerProvider, can_pass_basic_auth_token",
	     {FULL, "http://localhost/foo", TOKEN, "Basic auth-token"},
	     .plan = "container http://localhost/foo Basic auth-token from container"},
		{"ContainerProvider, can_pass_auth_token_from_file",
	     {FULL, "http://localhost/foo", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token", TOKEN, "unused\r\n"},
	     .plan = "container http://localhost/foo file /token from container"},
		{"ContainerProvider, throws_error_on_illegal_header",
	     {FULL, "http://localhost/foo", TOKEN, "invalid\r\ntoken"},
	     .part = TOKEN " contains a line break"},
		{NULL,
	     {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/a", FULL, "ftp://x"},
	     .plan = "container http://169.254.170.2/a - from container"},
		{NULL,
	     {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.example/a"},
	     .part = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\""},
		{NULL, {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/a\r\nX: y"}, .part = "RELATIVE_URI contains"},
		{NULL, {FULL, "ftp://localhost/"}, .part = FULL " is not a URL"},
		{NULL, {FULL, "/v1/credentials"}, .part = FULL " is not a URL"},
		{NULL, {FULL, "http://"}, .part = FULL " is not a URL"},
		{NULL, {FULL, "http://localhost/a b"}, .part = FULL " contains"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_places, container_addresses_that_are_allowed)
{
	static const char *const allowed[] = {
		"http://localhost",
		"http://LocalHost:80/x",
		"http://127.0.0.1:51679/x",
		"http://127.255.0.9/",
		"http://[::1]/x",
		"http://[0:0::1]:8080/x",
		"http://169.254.170.2?x",
		"http://169.254.170.23/v1/credentials",
		"http://[fd00:ec2::23]/v1/credentials",
		"HTTP://[FD00:0EC2::0023]:80/",
		"https://example.com/x",
		"https://10.0.0.1:8443/x",
	};
	static const char *const refused[] = {
		"http://example.com/",
		"http://10.0.0.1/",
		"http://169.254.170.3/",
		"http://169.254.169.254/",
		"http://[fd00:ec2::254]/",
		"http://[::ffff:127.0.0.1]/",
		"http://127.0.0.1.example.com/",
		"http://localhost.x/",
		"http://localhost@example.com/",
		"http://127.0.0.1:80@example.com/",
		"http://localhost\\@example.com/",
		"http://127.1/",
		"http://0x7f000001/",
		"http://2130706433/",
		"http://0/",
		"http://[::1",
		"http://:80/",
		"http://169.254.170.23#@example.com@",
	};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		cr_assert(make((const char *[]){FULL, allowed[i], NULL}, NULL, NULL), "%s: %s", allowed[i], error.message);
		cr_assert_str_eq(plan.container.url, allowed[i]);
	}
	for (size_t i = 0; i + 1 < sizeof(refused) / sizeof(refused[0]); i++) {
		cr_assert_not(make((const char *[]){FULL, refused[i], NULL}, NULL, NULL), "%s", refused[i]);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, FULL), "%s", error.message);
	}
}

Test(credential_places, instance_metadata)
{
#define LAST " from instance metadata"
	static const struct scenario scenarios[] = {
		{"InstanceMetadataProvider, load_from_instance_metadata",
	     {NULL},
	     .plan = "instance http://169.254.169.254 1000 ms 3 times" LAST},
		{NULL, {"AWS_EC2_METADATA_DISABLED", "false"}, .plan = "instance http://169.254.169.254 1000 ms 3 times" LAST},
		{NULL, {"AWS_EC2_METADATA_DISABLED", "yes"}, .part = "AWS_EC2_METADATA_DISABLED is"},
		{NULL,
	     {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ipv6"},
	     .plan = "instance http://[fd00:ec2::254] 1000 ms 3 times" LAST},
		{NULL,
	     {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv4"},
	     "[default]\nec2_metadata_service_endpoint_mode = IPv6\n",
	     .plan = "instance http://169.254.169.254 1000 ms 3 times" LAST},
		{NULL,
	     {NULL},
	     "[default]\nec2_metadata_service_endpoint_mode = IPv6\nec2_metadata_v1_disabled = true\n",
	     .plan = "instance http://[fd00:ec2::254] 1000 ms 3 times, no v1" LAST},
		{NULL,
	     {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338//", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
	      "ipv6"},
	     .plan = "instance http://127.0.0.1:1338 1000 ms 3 times" LAST},
		{NULL,
	     {"AWS_PROFILE", "x"},
	     "[profile x]\nec2_metadata_service_endpoint = http://127.0.0.1:1/p/\n",
	     .plan = "instance http://127.0.0.1:1/p 1000 ms 3 times" LAST},
		{NULL,
	     {"AWS_METADATA_SERVICE_TIMEOUT", "5", "AWS_METADATA_SERVICE_NUM_ATTEMPTS", "10",
	      "AWS_EC2_METADATA_V1_DISABLED", "True"},
	     .plan = "instance http://169.254.169.254 5000 ms 10 times, no v1" LAST},
		{NULL,
	     {NULL},
	     "[default]\nmetadata_service_timeout = 2\nmetadata_service_num_attempts = 1\n",
	     .plan = "instance http://169.254.169.254 2000 ms 1 times" LAST},
		{NULL, {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "5"}, .part = "is neither IPv4 nor IPv6"},
		{NULL,
	     {NULL},
	     "[default]\nec2_metadata_v1_disabled = 1\n",
	     .part = "ec2_metadata_v1_disabled of AWS profile \"default\""},
		{NULL, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "169.254.169.254"}, .part = "is not a URL"},
		{NULL, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://x/?y"}, .part = "must end with the path"},
		{NULL,
	     {"AWS_METADATA_SERVICE_TIMEOUT", "0"},
	     .part = "AWS_METADATA_SERVICE_TIMEOUT is not a number from 1 to 60"},
		{NULL, {"AWS_METADATA_SERVICE_NUM_ATTEMPTS", "11"}, .part = "is not a number from 1 to 10"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_places, instance_metadata_alone_for_the_region)
{
	const char *config = home_write(&arena, "config", "[default]\nec2_metadata_service_endpoint_mode = IPv6\n" KEYS);

	cr_assert(credential_plan_instance(&arena,
	                                   TABLE("AWS_CONFIG_FILE", config, "AWS_ACCESS_KEY_ID", "a", "HOME", home,
	                                         "AWS_METADATA_SERVICE_TIMEOUT", "3"),
	                                   &plan, &error),
	          "%s", error.message);
	cr_assert_str_eq(describe(), "instance http://[fd00:ec2::254] 3000 ms 3 times from instance metadata");
	cr_assert_not(
		credential_plan_instance(&arena, TABLE("HOME", home, "AWS_EC2_METADATA_DISABLED", "true"), &plan, &error));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_not(credential_plan_instance(&arena, TABLE("HOME", home, "AWS_PROFILE", "gone"), &plan, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
}
