#include "aws/sts.h"

#include <criterion/criterion.h>

#include "data.h"

#define CREDENTIALS(key, secret, token, expiration)                                                                    \
	"<Credentials><AccessKeyId>" key "</AccessKeyId><SecretAccessKey>" secret "</SecretAccessKey><SessionToken>" token \
	"</SessionToken><Expiration>" expiration "</Expiration></Credentials>"
#define ROLE(inside) "<AssumeRoleResponse><AssumeRoleResult>" inside "</AssumeRoleResult></AssumeRoleResponse>"
#define WEB(inside)                                                               \
	"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>" inside \
	"</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
#define FAULT(code, message)                                                          \
	"<ErrorResponse><Error><Type>Sender</Type><Code>" code "</Code><Message>" message \
	"</Message></Error><RequestId>id-1</RequestId></ErrorResponse>"

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

TestSuite(sts, .init = set_up, .fini = tear_down);

Test(sts, whose_account)
{
	struct http_response response = data_response(&arena, 200, "aws/identity.xml");
	struct http_request request;
	const char *account = NULL;

	sts_ask_identity(&arena, &request);
	cr_assert_str_eq(request.body, "Action=GetCallerIdentity&Version=2011-06-15");
	cr_assert_str_eq(request.service, "sts");
	cr_assert(sts_hear_identity(&arena, &response, &account, &error), "%s", error.message);
	cr_assert_str_eq(account, "123456789012");
	response = data_text(200, "<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>");
	cr_assert_not(sts_hear_identity(&arena, &response, &account, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	response = data_text(503, "");
	cr_assert_not(sts_hear_identity(&arena, &response, &account, &error));
	cr_assert_eq(error.kind, ERROR_SERVER);
}

Test(sts, a_role_is_asked_for_by_all_that_is_planned)
{
	struct credential_role role = {"arn:aws:iam::123456789012:role/a+b", "me@home", "ext/1=2", 1234};
	struct http_request request;

	sts_ask_role(&arena, &role, &request);
	cr_assert_str_eq(request.method, "POST");
	cr_assert_str_eq(request.body, "Action=AssumeRole&Version=2011-06-15"
	                               "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fa%2Bb&RoleSessionName=me%40home"
	                               "&DurationSeconds=1234&ExternalId=ext%2F1%3D2");
	cr_assert_eq(request.body_length, strlen(request.body));
	cr_assert_eq(request.deadline_ms, 5000);
	cr_assert_eq(request.max_response_bytes, 65536);
	role = (struct credential_role){"arn", "me", NULL, 0};
	sts_ask_role(&arena, &role, &request);
	cr_assert_str_eq(request.body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn&RoleSessionName=me");
}

Test(sts, a_web_identity_carries_its_token)
{
	struct credential_role role = {"arn", "sname", "not sent", 3600};
	struct http_request request;

	sts_ask_web_identity(&arena, &role, "totally.a.token+", &request);
	cr_assert_str_eq(request.body,
	                 "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn&RoleSessionName=sname"
	                 "&DurationSeconds=3600&WebIdentityToken=totally.a.token%2B");
	cr_assert_null(http_header(&request.headers, "Authorization"));
}

Test(sts, credentials_are_read)
{
	struct http_response response = data_text(
		200, ROLE(CREDENTIALS("foo", "bar", "baz", "2030-01-01T00:00:00.5Z") "<AssumedRoleUser><Arn>invalid-arn</Arn>"
	                                                                         "</AssumedRoleUser>"));
	struct aws_credentials got;
	struct wallclock at;

	cr_assert(sts_hear_role(&arena, &response, &got, &error), "%s", error.message);
	cr_assert_str_eq(got.access_key_id, "foo");
	cr_assert_str_eq(got.secret_access_key, "bar");
	cr_assert_str_eq(got.session_token, "baz");
	cr_assert(wallclock_parse("2030-01-01T00:00:00.5Z", &at));
	cr_assert_eq(got.expires_at.us, at.us);
	cr_assert_not(got.may_outlive);
	cr_assert_not(sts_hear_web_identity(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	response = data_text(200, WEB(CREDENTIALS("foo", "bar", "baz", "2030-01-01T00:00:00Z")));
	cr_assert(sts_hear_web_identity(&arena, &response, &got, &error), "%s", error.message);
	cr_assert_str_eq(got.session_token, "baz");
}

Test(sts, what_is_missing_or_wrong_is_named)
{
	static const struct {
		const char *body;
		const char *said;
	} cases[] = {
		{"", "0 bytes that are no XML"},
		{"<html>", "6 bytes that are no XML"},
		{"<html/>", "without AssumeRoleResult/Credentials"},
		{ROLE(""), "without AssumeRoleResult/Credentials"},
		{ROLE("<Credentials/>"), "without AccessKeyId"},
		{ROLE(CREDENTIALS("", "b", "c", "2030-01-01T00:00:00Z")), "without AccessKeyId"},
		{ROLE(CREDENTIALS("a", "", "c", "2030-01-01T00:00:00Z")), "without SecretAccessKey"},
		{ROLE(CREDENTIALS("a", "b", "", "2030-01-01T00:00:00Z")), "without SessionToken"},
		{ROLE(CREDENTIALS("a", "b", "c", "")), "without Expiration"},
		{ROLE(CREDENTIALS("a", "b", "c", "tomorrow")), "Expiration that is no time"},
		{ROLE(CREDENTIALS("a", "b", "c d", "2030-01-01T00:00:00Z")), "not printable ASCII in SessionToken"},
		{ROLE(CREDENTIALS("a", "b\nb", "c", "2030-01-01T00:00:00Z")), "not printable ASCII in SecretAccessKey"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_response response = data_text(200, cases[i].body);
		struct aws_credentials got;

		cr_assert_not(sts_hear_role(&arena, &response, &got, &error), "%s", cases[i].body);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s", error.message);
		cr_assert_not_null(strstr(error.message, cases[i].said), "%s: %s", cases[i].body, error.message);
	}
}

Test(sts, says_itself_why_not)
{
	struct http_response response = data_text(403, FAULT("AccessDenied", "User: x is not authorized"));
	struct aws_credentials got;

	cr_assert_not(sts_hear_role(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_DENIED);
	cr_assert_str_eq(error.code, "AccessDenied");
	cr_assert_str_eq(error.request_id, "id-1");
	cr_assert_str_eq(error.message, "sts answered 403 AccessDenied: User: x is not authorized");
}

Test(sts, what_is_no_error_of_its_own_is_not_repeated)
{
	static const char *const bodies[] = {"<html>s3cret</html>", "s3cret", "{\"message\":\"s3cret\"}",
	                                     "<ErrorResponse><Error><Message>s3cret</Message></Error></ErrorResponse>"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct http_response response = data_text(502, bodies[i]);
		struct aws_credentials got;

		http_add_header(&response.headers, &arena, "Retry-After", "7");
		cr_assert_not(sts_hear_role(&arena, &response, &got, &error));
		cr_assert_eq(error.kind, ERROR_SERVER);
		cr_assert_eq(error.http_status, 502);
		cr_assert_eq(error.retry_after_ms, 7000);
		cr_assert_null(strstr(error.message, "s3cret"), "%s", error.message);
		cr_assert_not_null(strstr(error.message, "sts answered 502"), "%s", error.message);
	}
}

Test(sts, does_not_read_more_than_64_KiB)
{
	char *body = arena_alloc(&arena, 65538);
	struct aws_credentials got;
	struct http_response response;

	memset(body, 'a', 65537);
	response = data_text(500, body);
	cr_assert_not(sts_hear_role(&arena, &response, &got, &error));
	cr_assert_eq(error.kind, ERROR_LIMIT);
}

Test(sts, what_may_pass)
{
	static const struct {
		int status;
		const char *code;
		const char *message;
		bool role;
		bool web_identity;
	} cases[] = {
		{400, "IDPCommunicationError", "x", true, true},
		{400, "InvalidIdentityToken", "x", false, true},
		{400, "ExpiredTokenException", "x", false, true},
		{400, "ExpiredToken", "x", false, true},
		{403, "IDPRejectedClaim", "x", false, false},
		{403, "AccessDenied", "x", false, false},
		{403, "RegionDisabledException", "x", false, false},
		{400, "MalformedPolicyDocument", "x", false, false},
		{400, "PackedPolicyTooLarge", "x", false, false},
		{403, "InvalidClientTokenId", "x", false, false},
		{400, "ValidationError", "x", false, false},
		{400, "Throttling", "x", true, true},
		{503, "ServiceUnavailable", "x", true, true},
		{500, "InternalFailure", "x", true, true},
		{403, "SignatureDoesNotMatch", "x", false, false},
		{403, "SignatureDoesNotMatch", "Signature expired: 2026 is now earlier than 2027", true, true},
		{403, "SignatureDoesNotMatch", "Signature not yet current: 2028 is still later", true, true},
		{400, "RequestExpired", "x", true, true},
		{403, "RequestTimeTooSkewed", "x", true, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_response response = data_text(
			cases[i].status,
			arena_printf(&arena, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>",
		                 cases[i].code, cases[i].message));
		struct aws_credentials got;

		cr_assert_not(sts_hear_role(&arena, &response, &got, &error));
		cr_assert_eq(sts_may_pass(&error, false), cases[i].role, "%s", error.message);
		cr_assert_eq(sts_may_pass(&error, true), cases[i].web_identity, "%s", error.message);
	}
}

Test(sts, a_token_that_is_quoted_is_not_repeated)
{
	struct http_response response =
		data_text(400, FAULT("ValidationError", "Value 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzM2NyZXQifQ.c2ln-_' at "
	                                            "'webIdentityToken' is wrong; eyJ"));
	struct aws_credentials got;

	cr_assert_not(sts_hear_web_identity(&arena, &response, &got, &error));
	cr_assert_str_eq(error.message,
	                 "sts answered 400 ValidationError: Value '***' at 'webIdentityToken' is wrong; ***");
	cr_assert_eq(error.kind, ERROR_REJECTED);
}
