#include "aws/instance_metadata.h"

#include <criterion/criterion.h>

#include "data.h"

static struct arena arena;
static struct error error;
static const struct instance_metadata service = {"http://[fd00:ec2::254]", 1000, "t0ken=="};

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(instance_metadata, .init = set_up, .fini = tear_down);

Test(instance_metadata, a_session_is_asked_for_by_put)
{
	struct http_request request;

	instance_metadata_ask_token(&arena, &service, &request);
	cr_assert_str_eq(request.method, "PUT");
	cr_assert_str_eq(request.url, "http://[fd00:ec2::254]/latest/api/token");
	cr_assert_str_eq(http_header(&request.headers, "x-aws-ec2-metadata-token-ttl-seconds"), "21600");
	cr_assert_null(http_header(&request.headers, "x-aws-ec2-metadata-token"));
	cr_assert_eq(request.deadline_ms, 1000);
	cr_assert_eq(request.max_response_bytes, 65536);
	cr_assert_str_eq(request.service, "instance-metadata");
}

Test(instance_metadata, each_get_carries_the_token)
{
	struct http_request request;

	instance_metadata_ask_role(&arena, &service, &request);
	cr_assert_str_eq(request.method, "GET");
	cr_assert_str_eq(request.url, "http://[fd00:ec2::254]/latest/meta-data/iam/security-credentials/");
	cr_assert_str_eq(http_header(&request.headers, "x-aws-ec2-metadata-token"), "t0ken==");
	instance_metadata_ask_credentials(&arena, &service, "a+=,.@-_Z", &request);
	cr_assert_str_eq(request.url, "http://[fd00:ec2::254]/latest/meta-data/iam/security-credentials/a+=,.@-_Z");
	cr_assert_str_eq(http_header(&request.headers, "x-aws-ec2-metadata-token"), "t0ken==");
	instance_metadata_ask_region(&arena, &service, &request);
	cr_assert_str_eq(request.url, "http://[fd00:ec2::254]/latest/meta-data/placement/region");
	cr_assert_str_eq(http_header(&request.headers, "x-aws-ec2-metadata-token"), "t0ken==");
}

Test(instance_metadata, version_1_carries_none)
{
	struct instance_metadata first = {"http://169.254.169.254", 1000, NULL};
	struct http_request request;

	instance_metadata_ask_role(&arena, &first, &request);
	cr_assert_str_eq(request.url, "http://169.254.169.254/latest/meta-data/iam/security-credentials/");
	cr_assert_eq(request.headers.count, 0);
}

Test(instance_metadata, tells_that_it_has_no_tokens)
{
	static const int yes[] = {403, 404, 405};
	static const int no[] = {200, 400, 401, 429, 500, 503};
	struct http_response response = {.body = ""};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		response.status = yes[i];
		cr_assert(instance_metadata_has_no_token(&response), "%d", yes[i]);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		response.status = no[i];
		cr_assert_not(instance_metadata_has_no_token(&response), "%d", no[i]);
	}
	response.status = 403;
	error_set(&response.error, ERROR_UNREACHABLE, "broke");
	cr_assert_not(instance_metadata_has_no_token(&response));
}

Test(instance_metadata, a_token_is_one_word)
{
	struct http_response good = data_text(200, "AQAEA-_=+/.~==\n");
	struct http_response html = data_text(200, "<html>welcome</html>");
	struct http_response blank = data_text(200, "a b");
	struct http_response none = data_text(200, "");
	struct http_response refused = data_text(400, "");
	char *much = arena_alloc(&arena, 2000);
	struct http_response big;
	const char *token = NULL;

	cr_assert(instance_metadata_hear_token(&arena, &good, &token, &error), "%s", error.message);
	cr_assert_str_eq(token, "AQAEA-_=+/.~==");
	cr_assert_not(instance_metadata_hear_token(&arena, &html, &token, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_str_eq(error.message, "the instance metadata service answered 200 with 20 bytes that are no token");
	cr_assert_not(instance_metadata_hear_token(&arena, &blank, &token, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(instance_metadata_hear_token(&arena, &none, &token, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(instance_metadata_hear_token(&arena, &refused, &token, &error));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	memset(much, 'a', 1999);
	big = data_text(200, much);
	cr_assert_not(instance_metadata_hear_token(&arena, &big, &token, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}

Test(instance_metadata, the_roles_name_is_the_first_line)
{
	struct http_response two = data_text(200, "first-role\r\nsecond-role\n");
	struct http_response one = data_text(200, "role+=,.@-_");
	struct http_response path = data_text(200, "../../api/token");
	struct http_response none = data_text(404, "<html>not found</html>");
	const char *role = NULL;

	cr_assert(instance_metadata_hear_role(&arena, &two, &role, &error), "%s", error.message);
	cr_assert_str_eq(role, "first-role");
	cr_assert(instance_metadata_hear_role(&arena, &one, &role, &error), "%s", error.message);
	cr_assert_str_eq(role, "role+=,.@-_");
	cr_assert_not(instance_metadata_hear_role(&arena, &path, &role, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(instance_metadata_hear_role(&arena, &none, &role, &error));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_not_null(strstr(error.message, "no role"));
}

Test(instance_metadata, credentials_may_outlive_their_end)
{
	struct http_response response = data_text(
		200, "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"spam\",\"SecretAccessKey\":\"eggs\","
			 "\"Token\":\"spam-token\",\"Expiration\":\"2001-02-03T04:05:06Z\"}");
	struct http_response no_code =
		data_text(200, "{\"AccessKeyId\":\"spam\",\"SecretAccessKey\":\"eggs\",\"Token\":\"spam-token\","
	                   "\"Expiration\":\"2030-01-01T00:00:00Z\"}");
	struct aws_credentials got;
	struct wallclock at;

	cr_assert(instance_metadata_hear_credentials(&arena, &response, &got, &error), "%s", error.message);
	cr_assert_str_eq(got.access_key_id, "spam");
	cr_assert_str_eq(got.secret_access_key, "eggs");
	cr_assert_str_eq(got.session_token, "spam-token");
	cr_assert(got.may_outlive);
	cr_assert(wallclock_parse("2001-02-03T04:05:06Z", &at));
	cr_assert_eq(got.expires_at.us, at.us);
	cr_assert(instance_metadata_hear_credentials(&arena, &no_code, &got, &error), "%s", error.message);
}

Test(instance_metadata, an_error_may_come_as_200)
{
	struct http_response response =
		data_text(200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"EC2 cannot assume the role x\"}");
	struct aws_credentials got;

	cr_assert_not(instance_metadata_hear_credentials(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_str_eq(error.code, "AssumeRoleUnauthorizedAccess");
	cr_assert_str_eq(error.message, "the instance metadata service has no credentials for the instance's role: "
	                                "AssumeRoleUnauthorizedAccess: EC2 cannot assume the role x");
	response = data_text(200, "{\"Code\":\"Failed\"}");
	cr_assert_not(instance_metadata_hear_credentials(&arena, &response, &got, &error));
	cr_assert_not_null(strstr(error.message, "role: Failed"), "%s", error.message);
}

Test(instance_metadata, each_field_must_be_there)
{
	static const struct {
		const char *body;
		const char *said;
	} cases[] = {
		{"{\"Code\":\"Success\"}", "without AccessKeyId"},
		{"{\"AccessKeyId\":\"a\"}", "without SecretAccessKey"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}", "without Token"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\"}", "without Expiration"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\",\"Expiration\":\"May 20th, 2020 19:00:00\"}",
	     "Expiration that is no time"},
		{"{\"AccessKeyId\":true,\"SecretAccessKey\":\"b\"}", "without AccessKeyId"},
		{"<html></html>", "no JSON object"},
		{"", "without a body"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_response response = data_text(200, cases[i].body);
		struct aws_credentials got;

		cr_assert_not(instance_metadata_hear_credentials(&arena, &response, &got, &error), "%s", cases[i].body);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s", error.message);
		cr_assert_not_null(strstr(error.message, cases[i].said), "%s: %s", cases[i].body, error.message);
	}
}

Test(instance_metadata, a_region_is_one)
{
	struct http_response good = data_text(200, "us-gov-west-1\n");
	struct http_response html = data_text(200, "<html>");
	struct http_response none = data_text(404, "");
	const char *region = NULL;

	cr_assert(instance_metadata_hear_region(&arena, &good, &region, &error), "%s", error.message);
	cr_assert_str_eq(region, "us-gov-west-1");
	cr_assert_not(instance_metadata_hear_region(&arena, &html, &region, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(instance_metadata_hear_region(&arena, &none, &region, &error));
	cr_assert_eq(error.kind, ERROR_REJECTED);
}
