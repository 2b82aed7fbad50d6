#include "aws/container.h"

#include <criterion/criterion.h>

#include "data.h"

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

TestSuite(container, .init = set_up, .fini = tear_down);

static bool hear(int status, const char *body, struct aws_credentials *out)
{
	struct http_response response = data_text(status, body);

	return container_hear(&arena, &response, out, &error);
}

Test(container, is_asked_with_its_token)
{
	struct http_request request;

	container_ask(&arena, "http://169.254.170.23/v1/credentials", "token-1", &request);
	cr_assert_str_eq(request.method, "GET");
	cr_assert_str_eq(request.url, "http://169.254.170.23/v1/credentials");
	cr_assert_str_eq(http_header(&request.headers, "Accept"), "application/json");
	cr_assert_str_eq(http_header(&request.headers, "Authorization"), "token-1");
	cr_assert_eq(request.deadline_ms, 2000);
	cr_assert_eq(request.max_response_bytes, 65536);
	cr_assert_str_eq(request.service, "container-credentials");
	cr_assert_null(request.body);
}

Test(container, is_asked_without_a_token_when_there_is_none)
{
	struct http_request request;

	container_ask(&arena, "http://169.254.170.2/foo?id=1", NULL, &request);
	cr_assert_str_eq(request.url, "http://169.254.170.2/foo?id=1");
	cr_assert_null(http_header(&request.headers, "Authorization"));
}

Test(container, gives_credentials)
{
	struct aws_credentials got;
	struct wallclock at;

	cr_assert(hear(200,
	               "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\",\"Expiration\":"
	               "\"2030-01-01T00:00:00Z\",\"AccountId\":\"123456789012\",\"Other\":[1]}",
	               &got),
	          "%s", error.message);
	cr_assert_str_eq(got.access_key_id, "a");
	cr_assert_str_eq(got.secret_access_key, "b");
	cr_assert_str_eq(got.session_token, "c");
	cr_assert(wallclock_parse("2030-01-01T00:00:00Z", &at));
	cr_assert_eq(got.expires_at.us, at.us);
	cr_assert_not(got.may_outlive);
}

Test(container, gives_keys_that_never_expire)
{
	struct aws_credentials got;

	cr_assert(hear(200, "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}", &got), "%s", error.message);
	cr_assert_null(got.session_token);
	cr_assert_eq(got.expires_at.us, 0);
	cr_assert(hear(200, "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":null,\"Expiration\":null}", &got));
	cr_assert_null(got.session_token);
}

Test(container, what_is_missing_or_wrong_is_named)
{
	static const struct {
		const char *body;
		const char *said;
	} cases[] = {
		{"{\"SecretAccessKey\":\"b\"}", "without AccessKeyId"},
		{"{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"b\"}", "without AccessKeyId"},
		{"{\"AccessKeyId\":7,\"SecretAccessKey\":\"b\"}", "without AccessKeyId"},
		{"{\"AccessKeyId\":\"a\"}", "without SecretAccessKey"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":[\"b\"]}", "without SecretAccessKey"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\"}", "without Expiration"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":5,\"Expiration\":\"2030-01-01T00:00:00Z\"}",
	     "without Token"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\",\"Expiration\":1893456000}",
	     "without Expiration"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\",\"Expiration\":\"soon\"}",
	     "Expiration that is no time"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c d\",\"Expiration\":\"2030-01-01T00:00:00Z\"}",
	     "not printable ASCII in Token"},
		{"{\"AccessKeyId\":\"a\\n\",\"SecretAccessKey\":\"b\"}", "not printable ASCII in AccessKeyId"},
		{"", "200 without a body"},
		{"Not JSON", "8 bytes that are no JSON object"},
		{"[]", "2 bytes that are no JSON object"},
		{"{\"AccessKeyId\":", "no JSON object"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct aws_credentials got;

		cr_assert_not(hear(200, cases[i].body, &got), "%s", cases[i].body);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s", error.message);
		cr_assert_not_null(strstr(error.message, cases[i].said), "%s: %s", cases[i].body, error.message);
		cr_assert_null(strstr(error.message, "Not JSON"));
	}
}

Test(container, says_why_not)
{
	struct aws_credentials got;
	struct http_response slow = data_text(429, "");

	cr_assert_not(hear(403, "{\"code\":\"AccessDeniedException\",\"message\":\"no\\nassociation\"}", &got));
	cr_assert_eq(error.kind, ERROR_DENIED);
	cr_assert_eq(error.http_status, 403);
	cr_assert_str_eq(error.code, "AccessDeniedException");
	cr_assert_str_eq(error.message,
	                 "the container credentials agent answered 403 AccessDeniedException: no association");
	cr_assert_not(hear(400, "{\"code\":7,\"message\":\"only this\"}", &got));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_str_eq(error.code, "");
	cr_assert_str_eq(error.message, "the container credentials agent answered 400: only this");
	cr_assert_not(hear(404, "Error not found", &got));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_str_eq(error.message, "the container credentials agent answered 404");
	cr_assert_not(hear(500, "<html>", &got));
	cr_assert_eq(error.kind, ERROR_SERVER);
	http_add_header(&slow.headers, &arena, "Retry-After", "3");
	cr_assert_not(container_hear(&arena, &slow, &got, &error));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
	cr_assert_eq(error.retry_after_ms, 3000);
	slow.body = "{\"message\":\"later\"}";
	slow.body_length = strlen(slow.body);
	cr_assert_not(container_hear(&arena, &slow, &got, &error));
	cr_assert_str_eq(error.message, "the container credentials agent answered 429: later");
	cr_assert_eq(error.retry_after_ms, 3000);
	cr_assert_not(hear(302, "", &got));
	cr_assert_eq(error.kind, ERROR_REJECTED);
}

Test(container, does_not_read_more_than_64_KiB)
{
	struct aws_credentials got;
	char *body = arena_alloc(&arena, 65538);

	memset(body, ' ', 65537);
	cr_assert_not(hear(200, body, &got));
	cr_assert_eq(error.kind, ERROR_LIMIT);
	body[65536] = '\0';
	cr_assert_not(hear(200, body, &got));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	body[65536] = ' ';
	memcpy(body, "{\"message\":\"much\"}", 18);
	cr_assert_not(hear(500, body, &got));
	cr_assert_eq(error.kind, ERROR_LIMIT);
	cr_assert_null(strstr(error.message, "much"));
}

Test(container, the_transports_error_is_taken_over)
{
	struct http_response response = {.body = ""};
	struct aws_credentials got;

	cr_assert_not(container_hear(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_UNREACHABLE);
	response.status = 200;
	error_set(&response.error, ERROR_TIMEOUT, "no answer within 2 s");
	cr_assert_not(container_hear(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_TIMEOUT);
	cr_assert_eq(error.http_status, 200);
	cr_assert_str_eq(error.message, "the container credentials agent: no answer within 2 s");
}
