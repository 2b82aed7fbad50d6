#include "aws/credential_session.h"

#include "credential_story.h"

TestSuite(credential_session, .init = set_up, .fini = tear_down);

/* Keys. */

Test(credential_session, keys_need_no_call)
{
	plan_keys();
	begin();
	expect_credentials("AKIDSOURCE", "profile prod");
	cr_assert_str_eq(session.credentials.secret_access_key, "s0urce");
}

/* Roles. */

Test(credential_session, a_role_is_assumed_with_the_keys_of_its_source)
{
	plan_keys();
	plan_role("arn:aws:iam::1:role/a", "ext");
	begin();
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDSOURCE"));
	cr_assert_null(http_header(&asked.request.headers, "X-Amz-Security-Token"));
	cr_assert_str_eq(http_header(&asked.request.headers, "Host"), "sts.eu-west-1.amazonaws.com");
	cr_assert_not_null(strstr(asked.request.body, "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa&RoleSessionName=zonevac-1"
	                                              "&DurationSeconds=900&ExternalId=ext"));
	cr_assert_str_eq(asked.request.service, "sts");
	cr_assert_eq(asked.request.deadline_ms, 5000);
	hear(200, ROLE("AKIDROLE"));
	expect_credentials("AKIDROLE", "profile prod, role arn:aws:iam::1:role/a");
	cr_assert_str_eq(session.credentials.session_token, "role-token");
	cr_assert_eq(session.credentials.expires_at.us, now.us + 3600000000LL);
}

Test(credential_session, a_chain_of_roles_signs_each_with_the_one_before)
{
	plan_keys();
	plan_role("arn:b", NULL);
	plan_role("arn:a", NULL);
	begin();
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDSOURCE"));
	cr_assert_not_null(strstr(asked.request.body, "RoleArn=arn%3Ab"));
	hear(200, ROLE("AKIDB"));
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDB"));
	cr_assert_str_eq(http_header(&asked.request.headers, "X-Amz-Security-Token"), "role-token");
	cr_assert_not_null(strstr(asked.request.body, "RoleArn=arn%3Aa"));
	hear(200, ROLE("AKIDA"));
	expect_credentials("AKIDA", "profile prod, role arn:a");
}

Test(credential_session, the_longest_chain_comes_to_its_end)
{
	plan_keys();
	for (size_t i = 0; i < CREDENTIAL_ROLES_MAX; i++)
		plan_role("arn:a", NULL);
	begin();
	for (size_t i = 0; i < CREDENTIAL_ROLES_MAX; i++) {
		expect("POST", STS, 0);
		hear(200, ROLE("AKIDA"));
	}
	expect_credentials("AKIDA", "profile prod, role arn:a");
}

Test(credential_session, a_role_upon_each_source)
{
	plan_role("arn:a", NULL);
	plan_container();
	begin();
	expect("GET", "http://169.254.170.23/v1/credentials", 0);
	hear(200, JSON("AKIDCONTAINER", "x", "container-token", FUTURE));
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDCONTAINER"));
	cr_assert_str_eq(http_header(&asked.request.headers, "X-Amz-Security-Token"), "container-token");

	plan_instance();
	begin();
	expect("PUT", METADATA "api/token", 0);
	hear(200, "t0ken");
	hear(200, "r");
	hear(200, JSON("AKIDINSTANCE", "x", "y", PAST));
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDINSTANCE"));
	hear(200, ROLE("AKIDROLE"));
	expect_credentials("AKIDROLE", "profile prod, role arn:a");
	cr_assert_not(session.credentials.may_outlive, "what STS gives has an end");

	plan_web_identity();
	begin();
	hear(200, WEB("AKIDWEB"));
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDWEB"));

	plan_process();
	begin();
	cr_assert_eq(ask(), CREDENTIAL_WANT_PROGRAM);
	hear(200, "{\"Version\":1,\"AccessKeyId\":\"AKIDPROCESS\",\"SecretAccessKey\":\"eggs\"}");
	expect("POST", STS, 0);
	cr_assert(is_signed_by("AKIDPROCESS"));
	cr_assert_null(http_header(&asked.request.headers, "X-Amz-Security-Token"));
}

Test(credential_session, a_call_is_signed_anew_with_the_time_of_each_try)
{
	char *first;

	plan_keys();
	plan_role("arn:a", NULL);
	begin();
	expect("POST", STS, 0);
	first = arena_string(&arena, http_header(&asked.request.headers, "Authorization"));
	hear(403, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>Signature expired: it is late"
	          "</Message></Error></ErrorResponse>");
	now = wallclock_after_ms(now, 1000);
	expect("POST", STS, 500);
	cr_assert_str_neq(http_header(&asked.request.headers, "Authorization"), first);
	cr_assert_str_eq(http_header(&asked.request.headers, "X-Amz-Date"), "20300101T000001Z");
	hear(200, ROLE("AKIDROLE"));
	expect_credentials("AKIDROLE", "profile prod, role arn:a");
}

Test(credential_session, asked_again_without_an_answer_it_says_the_same)
{
	plan_web_identity();
	begin();
	expect("POST", STS, 0);
	expect("POST", STS, 0);
	hear_nothing(ERROR_TIMEOUT);
	expect("POST", STS, 500);
	expect("POST", STS, 500);
	hear(200, WEB("AKIDWEB"));
	expect_credentials("AKIDWEB", "profile prod, role arn:aws:iam::1:role/web");
}

Test(credential_session, an_endpoint_with_a_path_keeps_it)
{
	plan.sts = (struct aws_endpoint){"sts", "http://127.0.0.1:4566/sts", "127.0.0.1:4566", "eu-west-1"};
	plan_keys();
	plan_role("arn:a", NULL);
	begin();
	expect("POST", "http://127.0.0.1:4566/sts/", 0);
	cr_assert_str_eq(http_header(&asked.request.headers, "Host"), "127.0.0.1:4566");
}

Test(credential_session, a_role_that_is_denied_is_named)
{
	plan_keys();
	plan_role("arn:b", NULL);
	plan_role("arn:a", NULL);
	begin();
	ask();
	hear(200, ROLE("AKIDB"));
	hear(403, FAULT("AccessDenied"));
	expect_failure(ERROR_DENIED,
	               "AWS credentials from profile prod: AssumeRole arn:a: sts answered 403 AccessDenied: because");
	cr_assert_str_eq(session.error.code, "AccessDenied");
	cr_assert_eq(session.error.http_status, 403);
}

Test(credential_session, what_has_expired_stays_so)
{
	plan_keys();
	plan_role("arn:a", NULL);
	begin();
	ask();
	hear(400, FAULT("ExpiredTokenException"));
	expect_failure(ERROR_EXPIRED, "AssumeRole arn:a: sts answered 400 ExpiredTokenException");
}

/* Web identity. */

Test(credential_session, a_web_identity_goes_unsigned_with_its_token)
{
	plan_web_identity();
	begin();
	expect("POST", STS, 0);
	cr_assert_null(http_header(&asked.request.headers, "Authorization"));
	cr_assert_str_eq(asked.request.body,
	                 "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fweb"
	                 "&RoleSessionName=sname&DurationSeconds=3600&WebIdentityToken=totally.a.token");
	hear(200, WEB("AKIDWEB"));
	expect_credentials("AKIDWEB", "profile prod, role arn:aws:iam::1:role/web");
}

Test(credential_session, a_token_that_was_just_rotated_is_read_anew)
{
	static const char *const codes[] = {FAULT("InvalidIdentityToken"), FAULT("ExpiredTokenException")};

	for (size_t i = 0; i < 2; i++) {
		plan_web_identity();
		begin();
		expect("POST", STS, 0);
		write_token("another.token", 13);
		hear(400, codes[i]);
		expect("POST", STS, 500);
		cr_assert_not_null(strstr(asked.request.body, "&WebIdentityToken=another.token"), "%s", asked.request.body);
		hear(200, WEB("AKIDWEB"));
		expect_credentials("AKIDWEB", "profile prod, role arn:aws:iam::1:role/web");
	}
}

Test(credential_session, a_token_file_is_looked_at_before_it_is_sent)
{
	static char much[20002];
	static const struct {
		const char *bytes;
		size_t length;
		const char *said;
	} cases[] = {
		{"", 0, "is empty"},
		{" \n\n", 3, "is empty"},
		{"abc", 3, "holds 3 characters, a token has 4 to 20000"},
		{"s3cret token", 12, "contains a blank"},
		{"s3cret\r\ntoken", 13, "contains a blank, a line break"},
		{"s3cret\0token", 12, "another unprintable character"},
		{"s3cret\xff", 7, "another unprintable character"},
		{much, 20001, "holds 20001 characters"},
	};

	memset(much, 's', 20001);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plan_web_identity();
		write_token(cases[i].bytes, cases[i].length);
		begin();
		expect_failure(ERROR_INPUT, cases[i].said);
		cr_assert_not_null(strstr(session.error.message, token_file), "%s", session.error.message);
		cr_assert_not_null(strstr(session.error.message, "the web identity token: "), "%s", session.error.message);
		cr_assert_null(strstr(session.error.message, "s3cret"), "%s", session.error.message);
	}
	write_token(much, 20000);
	begin();
	expect("POST", STS, 0);
	cr_assert_eq(asked.request.body_length, strlen(asked.request.body));
	cr_assert_gt(asked.request.body_length, 20000);
}

Test(credential_session, a_token_file_that_is_not_there_is_named)
{
	plan_web_identity();
	plan.web_identity.token_file = "/nowhere/token";
	begin();
	expect_failure(ERROR_INPUT,
	               "AWS credentials from profile prod: the web identity token: cannot read /nowhere/token: ");
	plan.web_identity.token_file = "/tmp";
	begin();
	expect_failure(ERROR_INPUT, "the web identity token: ");
	plan.web_identity.token_file = "-";
	begin();
	expect_failure(ERROR_INPUT, "cannot read ./-");
}

Test(credential_session, a_token_file_that_goes_between_two_tries_is_an_error)
{
	plan_web_identity();
	begin();
	hear(503, "");
	unlink(token_file);
	expect_failure(ERROR_INPUT, "cannot read");
}

/* Containers. */

Test(credential_session, a_container_needs_no_token)
{
	plan_container();
	plan.container.url = "http://169.254.170.2/foo?id=1";
	begin();
	expect("GET", "http://169.254.170.2/foo?id=1", 0);
	cr_assert_null(http_header(&asked.request.headers, "Authorization"));
	cr_assert_eq(asked.request.deadline_ms, 2000);
	hear(200, JSON("AKIDCONTAINER", "secret", "token", FUTURE));
	expect_credentials("AKIDCONTAINER", "profile prod");
}

Test(credential_session, a_containers_token_may_have_blanks)
{
	plan_container();
	plan.container.token = "Basic auth-token";
	begin();
	expect("GET", plan.container.url, 0);
	cr_assert_str_eq(http_header(&asked.request.headers, "Authorization"), "Basic auth-token");
}

Test(credential_session, a_containers_token_file_wins_and_is_read_at_each_try)
{
	plan_container();
	plan.container.token = "unused";
	plan.container.token_file = token_file;
	write_token("First auth token", 16);
	begin();
	expect("GET", plan.container.url, 0);
	cr_assert_str_eq(http_header(&asked.request.headers, "Authorization"), "First auth token");
	hear(500, "");
	write_token("Second auth token\n", 18);
	expect("GET", plan.container.url, 500);
	cr_assert_str_eq(http_header(&asked.request.headers, "Authorization"), "Second auth token");
	hear(200, JSON("AKIDCONTAINER", "secret", "token", FUTURE));
	begin();
	write_token("Third auth token", 16);
	expect("GET", plan.container.url, 0);
	cr_assert_str_eq(http_header(&asked.request.headers, "Authorization"), "Third auth token");
}

Test(credential_session, a_containers_token_file_holds_one_line)
{
	plan_container();
	plan.container.token_file = token_file;
	write_token("s3cret\r\nX-Other: header", 23);
	begin();
	expect_failure(ERROR_INPUT, "the container's authorization token: ");
	cr_assert_null(strstr(session.error.message, "s3cret"));
	plan.container.token_file = "/some/path/token.jwt";
	begin();
	expect_failure(ERROR_INPUT, "cannot read /some/path/token.jwt");
}

Test(credential_session, a_container_that_refuses_says_why)
{
	plan_container();
	begin();
	hear(400, "{\"code\":\"ResourceNotFoundException\",\"message\":\"no association for this pod\"}");
	expect_failure(ERROR_REJECTED, "AWS credentials from profile prod: the container credentials agent answered 400 "
	                               "ResourceNotFoundException: no association for this pod");
}

Test(credential_session, retry_after_is_heeded_up_to_ten_seconds)
{
	static const struct {
		const char *value;
		int64_t after_ms;
	} cases[] = {{"0", 500}, {"3", 3000}, {"600", 10000}, {"soon", 500}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_response response = data_text(429, "");

		plan_container();
		begin();
		http_add_header(&response.headers, &arena, "Retry-After", cases[i].value);
		credential_session_hear(&session, now, &response);
		expect("GET", plan.container.url, cases[i].after_ms);
		hear(500, "");
		expect("GET", plan.container.url, 1000);
	}
}

/* Programs. */

Test(credential_session, a_program_is_run)
{
	plan_process();
	begin();
	cr_assert_eq(ask(), CREDENTIAL_WANT_PROGRAM);
	cr_assert_str_eq(asked.program.argv[0], "/opt/fetch");
	cr_assert_eq(asked.program.deadline_ms, 60000);
	cr_assert_eq(asked.program.max_output_bytes, 65536);
	cr_assert_not(asked.program.interactive);
	cr_assert_null(asked.program.environment);
	hear(200, "{\"Version\":1,\"AccessKeyId\":\"spam\",\"SecretAccessKey\":\"eggs\",\"SessionToken\":\"t\","
	          "\"Expiration\":\"" FUTURE "\"}");
	expect_credentials("spam", "profile prod");
	cr_assert_eq(session.credentials.expires_at.us, now.us + 3600000000LL);
}

Test(credential_session, a_program_is_run_once)
{
	plan_process();
	begin();
	hear_nothing(ERROR_REJECTED);
	expect_failure(ERROR_REJECTED, "AWS credentials from profile prod: credential_process: nobody there");
	begin();
	hear_nothing(ERROR_TIMEOUT);
	expect_failure(ERROR_TIMEOUT, "credential_process: ");
	begin();
	hear(200, "{\"Version\":100,\"AccessKeyId\":\"s3cret\"}");
	expect_failure(ERROR_INPUT, "credential_process: ");
	cr_assert_null(strstr(session.error.message, "s3cret"));
	begin();
	hear(0, "");
	expect_failure(ERROR_UNREACHABLE, "the program gave no answer");
	begin();
	hear(200, "{\"Version\":1,\"AccessKeyId\":\"spam\",\"SecretAccessKey\":\"eggs\",\"SessionToken\":\"t\","
	          "\"Expiration\":\"" PAST "\"}");
	expect_failure(ERROR_EXPIRED, "credential_process: they had expired when they arrived");
}

Test(credential_session, keys_that_have_an_end_are_good_until_then)
{
	plan_keys();
	cr_assert(wallclock_parse(FUTURE, &plan.keys.expires_at));
	begin();
	expect_credentials("AKIDSOURCE", "profile prod");
	plan.keys.expires_at = now;
	begin();
	expect_failure(ERROR_EXPIRED,
	               "AWS credentials from profile prod: AWS_CREDENTIAL_EXPIRATION says that the keys have "
	               "expired: set new ones");
	plan_role("arn:a", NULL);
	begin();
	expect_failure(ERROR_EXPIRED, "AWS_CREDENTIAL_EXPIRATION");
}
