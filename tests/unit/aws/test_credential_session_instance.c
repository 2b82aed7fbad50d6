#include "aws/credential_session.h"

#include "credential_story.h"

TestSuite(credential_session_instance, .init = set_up, .fini = tear_down);

/* Instance metadata. */

static void through_token(void)
{
	plan_instance();
	begin();
	expect("PUT", METADATA "api/token", 0);
	cr_assert_str_eq(http_header(&asked.request.headers, "X-aws-ec2-metadata-token-ttl-seconds"), "21600");
	hear(200, "t0ken");
}

static const char *metadata_token(void)
{
	return http_header(&asked.request.headers, "x-aws-ec2-metadata-token");
}

Test(credential_session_instance, an_instance_is_asked_in_three_steps)
{
	through_token();
	expect("GET", ROLES, 0);
	cr_assert_str_eq(metadata_token(), "t0ken");
	cr_assert_eq(asked.request.deadline_ms, 1000);
	hear(200, "role-name\nanother\n");
	expect("GET", ROLES "role-name", 0);
	cr_assert_str_eq(metadata_token(), "t0ken");
	hear(200, JSON("spam", "eggs", "spam-token", FUTURE));
	expect_credentials("spam", "profile prod, role role-name");
	cr_assert(session.credentials.may_outlive);
}

Test(credential_session_instance, an_instances_credentials_may_be_past_their_end)
{
	through_token();
	hear(200, "role-name");
	hear(200, JSON("spam", "eggs", "spam-token", PAST));
	expect_credentials("spam", "profile prod, role role-name");
}

Test(credential_session_instance, without_version_2_there_is_version_1)
{
	static const int statuses[] = {403, 404, 405};

	for (size_t i = 0; i < 3; i++) {
		plan_instance();
		begin();
		hear(statuses[i], "");
		expect("GET", ROLES, 0);
		cr_assert_null(metadata_token());
		hear(200, "role-name");
		expect("GET", ROLES "role-name", 0);
		cr_assert_null(metadata_token());
		hear(200, JSON("spam", "eggs", "spam-token", FUTURE));
		expect_credentials("spam", "profile prod, role role-name");
	}
}

Test(credential_session_instance, version_1_may_be_forbidden)
{
	plan_instance();
	plan.instance.no_v1 = true;
	begin();
	hear(404, "");
	expect_failure(ERROR_DENIED, "answered 404 instead of giving a token, and version 1");
	cr_assert_not_null(strstr(session.error.message, "AWS_EC2_METADATA_V1_DISABLED"));
}

Test(credential_session_instance, a_bad_request_for_a_token_is_final)
{
	plan_instance();
	begin();
	hear(400, "");
	expect_failure(ERROR_REJECTED, "the instance metadata service answered 400");
}

Test(credential_session_instance, version_1_that_wants_a_token_is_final)
{
	plan_instance();
	begin();
	hear(404, "");
	hear(401, "");
	expect_failure(ERROR_DENIED, "wants a token (401) and gives none");
}

Test(credential_session_instance, a_refused_token_is_replaced_once)
{
	through_token();
	hear(200, "role-name");
	expect("GET", ROLES "role-name", 0);
	hear(401, "");
	expect("PUT", METADATA "api/token", 0);
	cr_assert_null(metadata_token());
	hear(200, "t0ken2");
	expect("GET", ROLES "role-name", 0);
	cr_assert_str_eq(metadata_token(), "t0ken2");
	hear(200, JSON("spam", "eggs", "spam-token", FUTURE));
	expect_credentials("spam", "profile prod, role role-name");

	through_token();
	hear(401, "");
	hear(200, "t0ken2");
	expect("GET", ROLES, 0);
	hear(401, "");
	expect_failure(ERROR_DENIED, "refused (401) the token that it had just given");
	cr_assert_eq(session.error.http_status, 401);
}

Test(credential_session_instance, a_refused_token_is_not_sent_again)
{
	through_token();
	hear(401, "");
	hear(404, "");
	expect("GET", ROLES, 0);
	cr_assert_null(metadata_token());
}

Test(credential_session_instance, a_service_that_falls_silent_later_is_not_taken_for_absent)
{
	through_token();
	hear(401, "");
	for (int i = 0; i < 3; i++)
		hear_nothing(ERROR_TIMEOUT);
	expect_failure(ERROR_TIMEOUT, "AWS credentials from profile prod: the instance metadata service: nobody there");
	through_token();
	for (int i = 0; i < 3; i++)
		hear_nothing(ERROR_UNREACHABLE);
	expect_failure(ERROR_UNREACHABLE, "AWS credentials from profile prod: ");
}

Test(credential_session_instance, a_lost_answer_to_the_put_is_found_out)
{
	plan_instance();
	begin();
	expect("PUT", METADATA "api/token", 0);
	hear_nothing(ERROR_TIMEOUT);
	expect("PUT", METADATA "api/token", 500);
	hear_nothing(ERROR_TIMEOUT);
	expect("PUT", METADATA "api/token", 1000);
	hear_nothing(ERROR_TIMEOUT);
	expect("GET", ROLES, 0);
	cr_assert_null(metadata_token());
	hear(401, "");
	expect_failure(ERROR_DENIED, "HttpPutResponseHopLimit must be 2 or more, or the pod needs hostNetwork");
	cr_assert_not_null(strstr(session.error.message, "is there, but"));
}

Test(credential_session_instance, a_lost_answer_to_the_put_may_leave_version_1)
{
	plan_instance();
	plan.instance.attempts = 1;
	begin();
	hear_nothing(ERROR_TIMEOUT);
	expect("GET", ROLES, 0);
	hear(200, "role-name");
	hear_nothing(ERROR_TIMEOUT);
	expect_failure(ERROR_TIMEOUT, "the instance metadata service: nobody there");

	plan.instance.attempts = 2;
	begin();
	hear_nothing(ERROR_TIMEOUT);
	hear_nothing(ERROR_TIMEOUT);
	expect("GET", ROLES, 0);
	hear(200, "role-name");
	expect("GET", ROLES "role-name", 0);
	hear(503, "");
	expect("GET", ROLES "role-name", 500);
	hear(200, JSON("spam", "eggs", "spam-token", FUTURE));
	expect_credentials("spam", "profile prod, role role-name");
}

Test(credential_session_instance, silence_of_the_last_resort_means_that_there_are_none)
{
	static const enum error_kind kinds[] = {ERROR_UNREACHABLE, ERROR_TIMEOUT};

	for (size_t i = 0; i < 2; i++) {
		plan_instance();
		begin();
		for (int n = 0; n < 3; n++)
			hear_nothing(kinds[i]);
		if (kinds[i] == ERROR_TIMEOUT)
			hear_nothing(kinds[i]);
		expect_failure(ERROR_ABSENT, "there are no AWS credentials: set AWS_ACCESS_KEY_ID");
		cr_assert_eq(strncmp(session.error.message, "there are", 9), 0, "%s", session.error.message);
		cr_assert_not_null(strstr(session.error.message, "AWS_WEB_IDENTITY_TOKEN_FILE"));
		cr_assert_not_null(strstr(session.error.message, "AWS_PROFILE"));
		cr_assert_not_null(strstr(session.error.message, "AWS_CONTAINER_CREDENTIALS_FULL_URI"));
		cr_assert_not_null(strstr(session.error.message, "http://169.254.169.254"));
		cr_assert_not_null(strstr(session.error.message, "or the pod needs hostNetwork)"), "%s", session.error.message);
	}
}

Test(credential_session_instance, without_version_1_silence_is_not_looked_into)
{
	plan_instance();
	plan.instance.no_v1 = true;
	begin();
	for (int n = 0; n < 3; n++)
		hear_nothing(ERROR_TIMEOUT);
	expect_failure(ERROR_ABSENT, "HttpPutResponseHopLimit");
}

Test(credential_session_instance, silence_of_what_a_profile_names_is_an_error)
{
	plan_instance();
	plan.instance.named = true;
	plan.instance.attempts = 1;
	begin();
	hear_nothing(ERROR_TIMEOUT);
	hear_nothing(ERROR_TIMEOUT);
	expect_failure(ERROR_TIMEOUT, "AWS credentials from profile prod: the instance metadata service at "
	                              "http://169.254.169.254 does not answer (in a pod, ");
	cr_assert_not_null(strstr(session.error.message, "nobody there"));
}

Test(credential_session_instance, an_instance_without_a_role_has_no_credentials)
{
	through_token();
	hear(404, "<html>");
	expect_failure(ERROR_ABSENT, "there are no AWS credentials: the instance has no role");
}

Test(credential_session_instance, an_instances_error_may_come_as_200)
{
	through_token();
	hear(200, "role-name");
	hear(200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"error\"}");
	expect_failure(ERROR_REJECTED, "AssumeRoleUnauthorizedAccess: error");
}

/* The region. */

static void begin_region(void)
{
	plan_instance();
	plan.source = NULL;
	credential_session_init_region(&session, &arena, &plan);
}

Test(credential_session_instance, the_region_of_the_instance)
{
	begin_region();
	expect("PUT", METADATA "api/token", 0);
	hear(200, "t0ken");
	expect("GET", METADATA "meta-data/placement/region", 0);
	cr_assert_str_eq(metadata_token(), "t0ken");
	hear(200, "us-mars-2\n");
	cr_assert_eq(ask(), CREDENTIAL_HAVE);
	cr_assert_str_eq(session.region, "us-mars-2");
}

Test(credential_session_instance, the_region_by_version_1_after_another_token)
{
	begin_region();
	hear(404, "");
	expect("GET", METADATA "meta-data/placement/region", 0);
	cr_assert_null(metadata_token());
	hear(503, "");
	expect("GET", METADATA "meta-data/placement/region", 500);
	hear(200, "us-mars-2");
	cr_assert_eq(ask(), CREDENTIAL_HAVE);
	begin_region();
	hear(200, "t0ken");
	hear(401, "");
	expect("PUT", METADATA "api/token", 0);
	hear(200, "t0ken2");
	expect("GET", METADATA "meta-data/placement/region", 0);
	cr_assert_str_eq(metadata_token(), "t0ken2");
}

Test(credential_session_instance, no_region_says_why_not)
{
	begin_region();
	for (int i = 0; i < 3; i++)
		hear_nothing(ERROR_UNREACHABLE);
	expect_failure(ERROR_ABSENT, "http://169.254.169.254 does not answer (in a pod, ");
	begin_region();
	hear(200, "t0ken");
	for (int i = 0; i < 3; i++)
		hear(200, "<html>");
	expect_failure(ERROR_MALFORMED, "no region");
	begin_region();
	hear(200, "t0ken");
	hear(404, "");
	expect_failure(ERROR_REJECTED, "the instance metadata service answered 404");
}
