#include "aws/protocol.h"

#include <criterion/criterion.h>
#include <string.h>

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

TestSuite(protocol, .init = set_up, .fini = tear_down);

static enum error_kind check(const char *service, struct http_response response)
{
	error = (struct error){0};
	return aws_check(aws_service_find(service), &response, &error) ? ERROR_NONE : error.kind;
}

static enum error_kind check_code(const char *service, int status, const char *code)
{
	enum aws_protocol protocol = aws_service_find(service)->protocol;
	bool json = protocol != AWS_QUERY && protocol != AWS_EC2_QUERY;
	const char *body =
		json ? arena_printf(&arena, "{\"__type\":\"%s\",\"message\":\"m\"}", code)
			 : arena_printf(&arena, "<ErrorResponse><Error><Code>%s</Code><Message>m</Message></Error></ErrorResponse>",
	                        code);

	return check(service, data_text(status, body));
}

Test(protocol, query_form)
{
	static const char *const names[] = {"web 1", "a&b=c", "\xc3\xbc"};
	struct http_request request;
	struct query query;

	query_begin(&query, &arena, aws_service_find("autoscaling"), "DescribeAutoScalingGroups", &request);
	query_add_list(&query, "AutoScalingGroupNames.member.%zu", names, 3);
	query_add_list(&query, "Filter.%zu.Name", names, 1);
	query_add(&query, "NextToken", "a+/=");
	query_end(&query);
	cr_assert_str_eq(request.body, "Action=DescribeAutoScalingGroups&Version=2011-01-01"
	                               "&AutoScalingGroupNames.member.1=web%201&AutoScalingGroupNames.member.2=a%26b%3Dc"
	                               "&AutoScalingGroupNames.member.3=%C3%BC&Filter.1.Name=web%201&NextToken=a%2B%2F%3D");
	cr_assert_eq(request.body_length, strlen(request.body));
	cr_assert_str_eq(request.service, "autoscaling");
	cr_assert_str_eq(request.operation, "DescribeAutoScalingGroups");
	cr_assert_str_eq(request.method, "POST");
	cr_assert_str_eq(request.path, "/");
	cr_assert_null(request.query);
	cr_assert_null(request.url);
	cr_assert_str_eq(http_header(&request.headers, "content-type"), "application/x-www-form-urlencoded; charset=utf-8");
}

Test(protocol, json_request)
{
	struct http_request request;
	struct json *body = json_new_object(&arena);

	aws_json_request(&arena, aws_service_find("dynamodb"), "DescribeTable", NULL, &request);
	cr_assert_str_eq(request.body, "{}");
	cr_assert_str_eq(http_header(&request.headers, "X-Amz-Target"), "DynamoDB_20120810.DescribeTable");
	cr_assert_str_eq(http_header(&request.headers, "Content-Type"), "application/x-amz-json-1.0");
	json_set_string(body, "TableName", "t");
	aws_json_request(&arena, aws_service_find("dynamodb"), "DescribeTable", body, &request);
	cr_assert_str_eq(request.body, "{\"TableName\":\"t\"}");
	cr_assert_eq(request.body_length, strlen(request.body));
}

Test(protocol, success_leaves_the_error_untouched)
{
	cr_assert_eq(check("ec2", data_text(200, "<x/>")), ERROR_NONE);
	cr_assert_eq(error.message[0], '\0');
	cr_assert_eq(check("dynamodb", data_text(204, "")), ERROR_NONE);
}

Test(protocol, transport_errors_are_taken_over)
{
	struct http_response response = {.status = 0, .body = ""};

	error_set(&response.error, ERROR_TIMEOUT, "no answer within 10 s");
	cr_assert_eq(check("ec2", response), ERROR_TIMEOUT);
	cr_assert_str_eq(error.message, "no answer within 10 s");
	response.status = 200;
	error_set(&response.error, ERROR_MALFORMED, "cut short");
	cr_assert_eq(check("ec2", response), ERROR_MALFORMED, "a 200 that was cut short is no success");
	cr_assert_eq(check("ec2", (struct http_response){.body = ""}), ERROR_UNREACHABLE);
}

Test(protocol, both_shapes_of_xml_errors)
{
	cr_assert_eq(check("autoscaling", data_response(&arena, 400, "aws/error_busy.xml")), ERROR_BUSY);
	cr_assert_str_eq(error.code, "ScalingActivityInProgress");
	cr_assert_str_eq(error.request_id, "b5a0b0f2-EXAMPLE");
	cr_assert_eq(error.http_status, 400);
	cr_assert_str_eq(error.message,
	                 "autoscaling answered 400 ScalingActivityInProgress: Activity 4a61 is in progress.");
	cr_assert_eq(check("ec2", data_response(&arena, 503, "aws/error_ec2.xml")), ERROR_THROTTLED);
	cr_assert_str_eq(error.code, "RequestLimitExceeded");
	cr_assert_str_eq(error.request_id, "ea966190-f9aa-478e-9ede-example");
}

Test(protocol, json_errors_by_header_type_or_code)
{
	struct http_response response = data_response(&arena, 400, "aws/error_dynamodb_conflict.json");

	http_add_header(&response.headers, &arena, "x-amzn-RequestId", "R1");
	cr_assert_eq(check("dynamodb", response), ERROR_CONFLICT);
	cr_assert_str_eq(error.code, "ConditionalCheckFailedException");
	cr_assert_str_eq(error.request_id, "R1");
	cr_assert_eq(check("dynamodb", data_response(&arena, 400, "aws/error_dynamodb_absent.json")), ERROR_ABSENT);
	cr_assert_eq(check("dynamodb", data_response(&arena, 400, "aws/error_expired.json")), ERROR_EXPIRED);
	cr_assert_not_null(strstr(error.message, "is expired"));
	cr_assert_eq(check("dynamodb", data_text(400, "{\"code\":\"ThrottlingException\"}")), ERROR_THROTTLED);
	response = data_text(400, "{\"__type\":\"other\"}");
	http_add_header(&response.headers, &arena, "X-Amzn-ErrorType",
	                "ResourceInUseException:http://internal.example/x#y");
	cr_assert_eq(check("dynamodb", response), ERROR_BUSY);
	cr_assert_str_eq(error.code, "ResourceInUseException");
	cr_assert_str_eq(error.message, "dynamodb answered 400 ResourceInUseException");
}

Test(protocol, codes_decide_before_the_status)
{
	static const char *const throttling[] = {
		"Throttling",
		"ThrottlingException",
		"ThrottledException",
		"RequestThrottledException",
		"RequestThrottled",
		"TooManyRequestsException",
		"ProvisionedThroughputExceededException",
		"TransactionInProgressException",
		"RequestLimitExceeded",
		"BandwidthLimitExceeded",
		"LimitExceededException",
		"SlowDown",
		"PriorRequestNotComplete",
		"EC2ThrottledException",
	};
	static const char *const denied[] = {"SignatureDoesNotMatch", "AccessDenied", "AccessDeniedException",
	                                     "UnauthorizedOperation", "InvalidSignatureException"};
	/* Keys that are not known (any more): fresh ones may be. */
	static const char *const unknown[] = {"InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure",
	                                      "InvalidAccessKeyId"};

	for (size_t i = 0; i < sizeof(throttling) / sizeof(throttling[0]); i++) {
		cr_expect_eq(check_code("ec2", 400, throttling[i]), ERROR_THROTTLED, "%s", throttling[i]);
		cr_expect_eq(check_code("dynamodb", 503, throttling[i]), ERROR_THROTTLED, "%s", throttling[i]);
	}
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		cr_expect_eq(check_code("sts", 400, denied[i]), ERROR_DENIED, "%s", denied[i]);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		cr_expect_eq(check_code("sts", 403, unknown[i]), ERROR_EXPIRED, "%s", unknown[i]);
	cr_expect_eq(check_code("sts", 403, "ExpiredToken"), ERROR_EXPIRED);
	cr_expect_eq(check_code("autoscaling", 500, "ResourceContention"), ERROR_BUSY);
	cr_expect_eq(check_code("autoscaling", 400, "ResourceInUse"), ERROR_BUSY);
	cr_expect_eq(check_code("autoscaling", 400, "LimitExceeded"), ERROR_REJECTED,
	             "a quota that is used up is no throttling");
	cr_expect_eq(check_code("autoscaling", 400, "ValidationError"), ERROR_REJECTED);
	cr_expect_eq(check_code("autoscaling", 500, "ServiceLinkedRoleFailure"), ERROR_SERVER);
	cr_expect_eq(check_code("dynamodb", 400, "RequestTimeoutException"), ERROR_SERVER);
	cr_expect_eq(check_code("ecs", 400, "ClusterNotFoundException"), ERROR_ABSENT);
	cr_expect_eq(check_code("ecs", 400, "ServiceNotFoundException"), ERROR_ABSENT);
	cr_expect_eq(check_code("ecs", 400, "ServiceNotActiveException"), ERROR_ABSENT);
	cr_expect_eq(check_code("ecs", 400, "InvalidParameterException"), ERROR_REJECTED);
	cr_expect_eq(check_code("ecs", 500, "ServerException"), ERROR_SERVER);
}

Test(protocol, statuses_decide_where_there_is_no_word)
{
	cr_expect_eq(check("ec2", data_text(401, "")), ERROR_DENIED);
	cr_expect_eq(check("ec2", data_text(403, "")), ERROR_DENIED);
	cr_expect_eq(check("dynamodb", data_text(404, "not here")), ERROR_REJECTED, "a proxy's 404 is no missing table");
	cr_expect_eq(check("ec2", data_text(409, "")), ERROR_CONFLICT);
	cr_expect_eq(check("ec2", data_text(429, "")), ERROR_THROTTLED);
	cr_expect_eq(check("ec2", data_text(301, "")), ERROR_REJECTED);
	cr_expect_eq(check("ec2", data_text(500, "")), ERROR_SERVER);
	cr_expect_str_eq(error.message, "ec2 answered 500 without a body");
}

Test(protocol, bodies_of_somebody_else_are_said_to_be_that)
{
	char *huge = arena_alloc(&arena, 100001);

	cr_assert_eq(check("autoscaling", data_response(&arena, 502, "aws/error_proxy.html")), ERROR_SERVER);
	cr_assert_not_null(
		strstr(error.message, "autoscaling answered 502 with something that is no XML error: \"<!DOCTYPE html>"), "%s",
		error.message);
	cr_assert_null(strchr(error.message, '\n'));
	cr_assert_eq(error.code[0], '\0');
	cr_assert_eq(check("dynamodb", data_response(&arena, 502, "aws/error_proxy.html")), ERROR_SERVER);
	cr_assert_not_null(strstr(error.message, "no JSON error"), "%s", error.message);
	cr_assert_eq(check("ec2", data_text(400, "<other/>")), ERROR_REJECTED);
	cr_assert_not_null(strstr(error.message, "no XML error"), "%s", error.message);
	cr_assert_eq(check("dynamodb", data_text(400, "[]")), ERROR_REJECTED);
	memset(huge, '<', 100000);
	cr_assert_eq(check("ec2", data_text(503, huge)), ERROR_SERVER);
}

Test(protocol, signature_errors_do_not_repeat_the_token)
{
	cr_assert_eq(check("autoscaling", data_response(&arena, 403, "aws/error_signature.xml")), ERROR_DENIED);
	cr_assert_not_null(strstr(error.message, "Check your AWS Secret Access Key and signing method."));
	cr_assert_null(strstr(error.message, "TOKEN"), "%s", error.message);
}

Test(protocol, late_signatures_may_be_signed_again)
{
	cr_assert_eq(check("autoscaling", data_response(&arena, 403, "aws/error_late.xml")), ERROR_EXPIRED);
	cr_assert_not_null(strstr(error.message, "is this machine's clock right?"), "%s", error.message);
	cr_assert_eq(check_code("ec2", 400, "RequestExpired"), ERROR_EXPIRED);
}

Test(protocol, retry_after)
{
	struct http_response response = data_response(&arena, 400, "aws/error_throttling.xml");

	cr_assert_eq(check("autoscaling", response), ERROR_THROTTLED);
	cr_assert_eq(error.retry_after_ms, 0);
	http_add_header(&response.headers, &arena, "Retry-After", "7");
	check("autoscaling", response);
	cr_assert_eq(error.retry_after_ms, 7000);
	http_add_header(&response.headers, &arena, "x-amz-retry-after", "250");
	check("autoscaling", response);
	cr_assert_eq(error.retry_after_ms, 250);
}

static int32_t wait_of(const char *name, const char *value, const char *date)
{
	struct http_response response = data_text(503, "");

	http_add_header(&response.headers, &arena, name, value);
	if (date != NULL)
		http_add_header(&response.headers, &arena, "Date", date);
	check("ec2", response);
	return error.retry_after_ms;
}

Test(protocol, retry_after_that_is_odd)
{
	cr_expect_eq(wait_of("x-amz-retry-after", "0", NULL), 0);
	cr_expect_eq(wait_of("x-amz-retry-after", "1500", NULL), 1500);
	cr_expect_eq(wait_of("x-amz-retry-after", "99999999999", NULL), 600000, "ten minutes are the most");
	cr_expect_eq(wait_of("x-amz-retry-after", "soon", NULL), 0);
	cr_expect_eq(wait_of("x-amz-retry-after", "-5", NULL), 0);
	cr_expect_eq(wait_of("Retry-After", "86400", NULL), 600000);
	cr_expect_eq(wait_of("Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT", "Fri, 02 Jan 2026 03:04:05 GMT"), 10000);
	cr_expect_eq(wait_of("Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT", "Fri, 02 Jan 2026 03:04:05 GMT"), 0);
	cr_expect_eq(wait_of("Retry-After", "Sat, 02 Jan 2027 03:04:00 GMT", "Fri, 02 Jan 2026 03:04:05 GMT"), 600000);
	cr_expect_eq(wait_of("Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT", NULL), 0, "by whose clock?");
}

Test(protocol, rest_request)
{
	struct http_request request;
	struct json *body = json_new_object(&arena);

	aws_rest_request(&arena, aws_service_find("lambda"), "GetFunction", "GET",
	                 arena_printf(&arena, "/2015-03-31/functions/%s", text_percent(&arena, "arn:aws:lambda:f/~a b")),
	                 "Qualifier=7", NULL, &request);
	cr_assert_str_eq(request.service, "lambda");
	cr_assert_str_eq(request.operation, "GetFunction");
	cr_assert_str_eq(request.method, "GET");
	cr_assert_str_eq(request.path, "/2015-03-31/functions/arn%3Aaws%3Alambda%3Af%2F~a%20b");
	cr_assert_str_eq(request.query, "Qualifier=7");
	cr_assert_null(request.body);
	cr_assert_eq(request.body_length, 0);
	cr_assert_eq(request.headers.count, 0, "without a body there is no type of one");
	json_set_string(body, "RevisionId", "r");
	aws_rest_request(&arena, aws_service_find("lambda"), "UpdateFunctionConfiguration", "PUT", "/p", NULL, body,
	                 &request);
	cr_assert_str_eq(request.body, "{\"RevisionId\":\"r\"}");
	cr_assert_eq(request.body_length, strlen(request.body));
	cr_assert_null(request.query);
	cr_assert_str_eq(http_header(&request.headers, "Content-Type"), "application/json");
	cr_assert_null(http_header(&request.headers, "X-Amz-Target"));
}

Test(protocol, rest_errors_by_the_header)
{
	struct http_response response = data_text(409, "{\"Type\":\"User\",\"message\":\"m\"}");

	http_add_header(&response.headers, &arena, "X-Amzn-Errortype", "ResourceConflictException:http://x.example/y#z");
	cr_assert_eq(check("lambda", response), ERROR_BUSY);
	cr_assert_str_eq(error.code, "ResourceConflictException");
	cr_assert_str_eq(error.message, "lambda answered 409 ResourceConflictException: m");
	response.headers.at[0].value = "PreconditionFailedException";
	response.status = 412;
	cr_assert_eq(check("lambda", response), ERROR_CONFLICT);
	response.headers.at[0].value = "ServiceException";
	response.status = 500;
	cr_assert_eq(check("lambda", response), ERROR_SERVER);
	response.headers.at[0].value = "ResourceNotFoundException";
	response.status = 404;
	cr_assert_eq(check("lambda", response), ERROR_ABSENT);
	cr_assert_eq(check("lambda", data_text(404, "{\"message\":\"no route\"}")), ERROR_REJECTED,
	             "a proxy's 404 is no missing function");
}

/* Restated from botocore's scenarios of its standard retry mode (tests/unit/retries/test_standard.py). */
Test(protocol, words_and_statuses_that_may_be_repeated)
{
	static const struct {
		int status;
		const char *code; /* NULL = an empty body */
		enum error_kind kind;
	} cases[] = {
		{400, "RequestTimeout", ERROR_SERVER},
		{400, "RequestTimeoutException", ERROR_SERVER},
		{400, "PriorRequestNotComplete", ERROR_THROTTLED},
		{500, NULL, ERROR_SERVER},
		{502, NULL, ERROR_SERVER},
		{503, NULL, ERROR_SERVER},
		{504, NULL, ERROR_SERVER},
		{509, NULL, ERROR_SERVER},
		{500, "InternalServiceError", ERROR_SERVER},
		{500, "InternalServerError", ERROR_SERVER},
		{502, "BadError", ERROR_SERVER},
		{503, "SlowDown", ERROR_THROTTLED},
		{502, "EC2ThrottledException", ERROR_THROTTLED},
		{429, NULL, ERROR_THROTTLED},
		{429, "NotAThrottlingError", ERROR_THROTTLED},
		{429, "ThrottlingException", ERROR_THROTTLED},
		{400, "IDPCommunicationError", ERROR_SERVER},
		{400, "NotAThrottlingError", ERROR_REJECTED},
		{400, NULL, ERROR_REJECTED},
		{400, "IDPRejectedClaim", ERROR_DENIED},
		{400, "InvalidIdentityToken", ERROR_DENIED},
		{400, "ReplicatedWriteConflictException", ERROR_BUSY},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *code = cases[i].code;

		for (size_t k = 0; aws_service_at(k) != NULL; k++) {
			const char *service = aws_service_at(k)->name;
			enum error_kind kind = code != NULL ? check_code(service, cases[i].status, code)
			                                    : check(service, data_text(cases[i].status, ""));

			cr_expect_eq(kind, cases[i].kind, "%s: %d %s: %s", service, cases[i].status, code != NULL ? code : "",
			             error_kind_name(kind));
			cr_expect_eq(error.http_status, cases[i].status);
		}
	}
	cr_expect_eq(check("ec2", data_text(200, "")), ERROR_NONE);
}

Test(protocol, tokens_that_are_over)
{
	cr_expect_eq(check_code("sts", 400, "ExpiredTokenException"), ERROR_EXPIRED);
	cr_expect_eq(check_code("dynamodb", 400, "ExpiredTokenException"), ERROR_EXPIRED);
	cr_expect_eq(check_code("ec2", 400, "TokenRefreshRequired"), ERROR_EXPIRED);
	cr_expect_eq(check_code("ec2", 400, "RequestExpired"), ERROR_EXPIRED);
}

Test(protocol, words_behind_which_a_clock_may_be)
{
	static const char *const skewed[] = {"RequestTimeTooSkewed",      "RequestExpired", "RequestInTheFuture",
	                                     "InvalidSignatureException", "AuthFailure",    "SignatureDoesNotMatch"};
	static const char *const others[] = {"ExpiredToken", "AccessDenied", "InvalidClientTokenId", "Throttling", ""};

	for (size_t i = 0; i < sizeof(skewed) / sizeof(skewed[0]); i++) {
		cr_expect_neq(check_code("ec2", 403, skewed[i]), ERROR_NONE);
		cr_expect(aws_is_skew(&error), "%s", skewed[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		check_code("ec2", 403, others[i]);
		cr_expect_not(aws_is_skew(&error), "%s", others[i]);
	}
}

static struct http_response dated(const char *date, const char *id_name)
{
	struct http_response response = data_text(403, "");

	if (date != NULL)
		http_add_header(&response.headers, &arena, "date", date);
	if (id_name != NULL)
		http_add_header(&response.headers, &arena, id_name, "b5a0b0f2");
	return response;
}

Test(protocol, time_is_told_by_answers_of_aws)
{
	const char *date = "Fri, 02 Jan 2026 03:04:05 GMT";
	struct http_response response = dated(date, "x-amzn-RequestId");
	struct wallclock at = {7};

	cr_assert(aws_server_time(&response, &at));
	cr_assert_eq(at.us, INT64_C(1767323045000000));
	response = dated(date, "x-amz-request-id");
	cr_assert(aws_server_time(&response, &at));
	at.us = 7;
	response = dated(date, NULL);
	cr_assert_not(aws_server_time(&response, &at), "a proxy's answer names no request");
	response = dated(NULL, "x-amzn-RequestId");
	cr_assert_not(aws_server_time(&response, &at));
	response = dated("2026-01-02T03:04:05Z", "x-amzn-RequestId");
	cr_assert_not(aws_server_time(&response, &at));
	response = dated(date, "x-amzn-RequestId");
	http_add_header(&response.headers, &arena, "Age", "3600");
	cr_assert_not(aws_server_time(&response, &at), "a cached answer has an old date");
	cr_assert_eq(at.us, 7);
}

Test(protocol, encodings_nobody_asked_for)
{
	struct http_response response = data_text(200, "\x1f\x8b");

	http_add_header(&response.headers, &arena, "Content-Encoding", "gzip");
	cr_assert_eq(check("ec2", response), ERROR_MALFORMED);
	cr_assert_str_eq(error.message, "ec2 answered 200 in the encoding \"gzip\", which was not asked for");
	cr_assert_eq(error.http_status, 200);
	response.status = 503;
	cr_assert_eq(check("ec2", response), ERROR_SERVER, "what a status says needs no body");
	cr_assert_not_null(strstr(error.message, "no XML error: \"?"), "bytes that are no text are not repeated: %s",
	                   error.message);
	http_set_header(&response.headers, &arena, "Content-Encoding", "Identity");
	response.status = 200;
	cr_assert_eq(check("ec2", response), ERROR_NONE);
}
