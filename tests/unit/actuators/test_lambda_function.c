#include "actuators/registry.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "aws/protocol.h"
#include "base/text.h"
#include "domain/delta.h"
#include "lambda_answers.h"

TestSuite(function, .init = set_up, .fini = tear_down);

static struct change change_of(const char *removed, const char *order)
{
	return (struct change){
		.kind = "LambdaFunction", .id = WEB, .name = "web", .removed = list(removed), .order = list(order)};
}

static struct probe *survey(void)
{
	struct probes probes = {0};

	function->survey(&scope, &arena, &probes);
	cr_assert_null(probes.first->next);
	return probes.first;
}

static struct probe *look(void)
{
	struct change change = change_of("", "");
	const struct change *changes[] = {&change};
	struct probes probes = {0};

	function->look(&scope, changes, 1, &arena, &probes);
	cr_assert_null(probes.first->next);
	return probes.first;
}

/* A function of GetFunction's answer; `members` are added to its configuration. */
static struct resource seen(const char *subnets, const char *members)
{
	struct string_list ids = list(subnets);
	const char *quote = ids.count > 0 ? "\"" : "";
	const char *body =
		arena_printf(&arena,
	                 "{\"Configuration\":{\"FunctionName\":\"web\",\"FunctionArn\":\"" WEB "\",\"RevisionId\":\"r-1\","
	                 "\"VpcConfig\":{\"SubnetIds\":[%s%s%s],\"SecurityGroupIds\":[\"sg-2\",\"sg-1\"]}%s%s}}",
	                 quote, string_list_join(&ids, &arena, "\",\""), quote, members[0] == '\0' ? "" : ",", members);

	cr_assert(learn(look(), data_text(200, body)), "%s", error.message);
	cr_assert_eq(found.count, 1);
	return found.at[0];
}

static struct decision plan_of(const struct resource *resource)
{
	struct decision decision;

	function->plan(&scope, resource, &arena, &decision);
	return decision;
}

Test(function, survey_reads_fifty_a_page_to_the_last)
{
	const struct probe *first = survey();

	cr_assert_str_eq(first->request.method, "GET");
	cr_assert_str_eq(first->request.path, "/2015-03-31/functions");
	cr_assert_str_eq(first->request.query, "MaxItems=50");
	cr_assert_str_eq(first->request.service, "lambda");
	cr_assert_str_eq(first->request.operation, "ListFunctions");
	cr_assert_null(first->request.body);
	learn_file(first, "aws/lambda_functions_page_1.json");
	cr_assert_str_eq(further.last->request.path, "/2015-03-31/functions");
	cr_assert_str_eq(further.last->request.query, "Marker=bWFya2Vy%2B%2F8%3D%3A2&MaxItems=50");
	learn_file(further.last, "aws/lambda_functions_page_2.json");
	cr_assert_str_eq(further.last->request.operation, "GetFunction", "a last page asks for no further one");
}

Test(function, survey_asks_more_only_of_what_lies_in_the_zone)
{
	learn_file(survey(), "aws/lambda_functions_page_1.json");
	cr_assert_eq(found.count, 1, "without subnets it is not one of ours");
	cr_assert_str_eq(found.at[0].name, "elsewhere");
	cr_assert_eq(plan_of(&found.at[0]).verdict, VERDICT_NOTHING);
	cr_assert_str_eq(further.first->request.method, "GET");
	cr_assert_str_eq(further.first->request.path, WEB_PATH);
	cr_assert_null(further.first->request.query);
	cr_assert_str_eq(further.first->request.operation, "GetFunction");
	cr_assert_eq(further.first->next, further.last, "web, then the next page");
	learn_file(further.first, "aws/lambda_function.json");
	cr_assert_eq(found.count, 1);
	cr_assert_null(further.first);
	cr_assert_str_eq(tags_get(&found.at[0].tags, "team"), "web & shop");
}

Test(function, survey_asks_more_of_the_held_ones_wherever_they_lie)
{
	string_list_add(&scope.held_ids, &arena, "arn:aws:lambda:us-east-1:123456789012:function:detached");
	string_list_add(&scope.held_ids, &arena, "arn:aws:lambda:us-east-1:123456789012:function:elsewhere");
	learn_file(survey(), "aws/lambda_functions_page_1.json");
	cr_assert_eq(found.count, 0);
	cr_assert_not_null(strstr(further.first->next->request.path, "function%3Aelsewhere"));
	cr_assert_not_null(strstr(further.first->next->next->request.path, "function%3Adetached"));
	cr_assert_eq(further.first->next->next->next, further.last);
}

Test(function, learns_identity_subnets_and_tags)
{
	const struct resource *web;

	learn_file(look(), "aws/lambda_function.json");
	cr_assert_eq(found.count, 1);
	web = &found.at[0];
	cr_assert_str_eq(web->kind, "LambdaFunction");
	cr_assert_str_eq(web->id, WEB);
	cr_assert_null(web->incarnation);
	cr_assert_str_eq(joined(&web->names), "web");
	cr_assert_str_eq(joined(&web->subnets), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2", "order is kept");
	cr_assert_eq(web->tags.count, 2);
	cr_assert_str_eq(tags_get(&web->tags, "empty"), "");
	cr_assert_null(web->tags_unreadable);
}

Test(function, names_of_all_partitions)
{
	static const char *const arns[][2] = {
		{"arn:aws:lambda:us-east-1:123456789012:function:web:$LATEST", WEB_PATH},
		{"arn:aws-cn:lambda:cn-north-1:123456789012:function:a_b-C",
	     "/2015-03-31/functions/arn%3Aaws-cn%3Alambda%3Acn-north-1%3A123456789012%3Afunction%3Aa_b-C"},
		{"arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:LATEST",
	     "/2015-03-31/functions/arn%3Aaws-us-gov%3Alambda%3Aus-gov-west-1%3A123456789012%3Afunction%3ALATEST"},
	};

	for (size_t i = 0; i < 3; i++) {
		const char *body = arena_printf(&arena,
		                                "{\"Functions\":[{\"FunctionName\":\"f\",\"FunctionArn\":\"%s\","
		                                "\"VpcConfig\":{\"SubnetIds\":[\"subnet-0a1\"]}}]}",
		                                arns[i][0]);

		cr_assert(learn(survey(), data_text(200, body)), "%s", error.message);
		cr_expect_str_eq(further.first->request.path, arns[i][1]);
	}
}

Test(function, look_asks_by_arn)
{
	const struct probe *probe = look();

	cr_assert_eq(function->look_max, 1);
	cr_assert_str_eq(probe->request.method, "GET");
	cr_assert_str_eq(probe->request.path, WEB_PATH);
	cr_assert_null(probe->request.query);
	cr_assert_null(probe->request.body);
	cr_assert_str_eq(probe->request.operation, "GetFunction", "which has a quota of its own");
}

Test(function, malformed_answers_append_nothing)
{
	static const struct {
		const char *body;
		const char *part;
	} lists[] = {
		{"{}", "ListFunctions: the answer has no Functions"},
		{"[]", "no Functions"},
		{"{\"Functions\":null}", "no Functions"},
		{"<html>", "ListFunctions"},
		{"{\"Functions\":[{\"FunctionArn\":\"arn:x\"}]}", "no FunctionName"},
		{"{\"Functions\":[7]}", "no FunctionName"},
		{"{\"Functions\":[{\"FunctionName\":\"f\",\"FunctionArn\":\"a\",\"VpcConfig\":{\"SubnetIds\":[\"s\",1]}}]}",
	     "the VpcConfig of f lists something that is no id"},
		{"{\"Functions\":[{\"FunctionName\":\"f\",\"FunctionArn\":\"a\",\"VpcConfig\":{\"SubnetIds\":[\"s\"],"
	     "\"SecurityGroupIds\":[null]}}]}",
	     "no id"},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		cr_expect_not(learn(survey(), data_text(200, lists[i].body)), "%s", lists[i].body);
		cr_expect_eq(error.kind, ERROR_MALFORMED);
		cr_expect_not_null(strstr(error.message, lists[i].part), "%s", error.message);
		cr_expect(found.count == 0 && further.first == NULL);
	}
	cr_expect_not(learn(survey(), data_response(&arena, 200, "aws/lambda_functions_nameless.json")));
	cr_expect(found.count == 0 && further.first == NULL, "a page is learned whole or not at all");
	cr_expect_not(learn(look(), data_text(200, "{\"Tags\":{}}")));
	cr_expect_str_eq(error.message, "GetFunction: the answer has no Configuration");
	cr_expect_not(learn(look(), data_text(200, "{\"Configuration\":{}}")));
	cr_expect_eq(found.count, 0);
}

Test(function, tags_that_cannot_be_read_refuse)
{
	struct decision decision;

	learn_file(look(), "aws/lambda_function_tags_error.json");
	cr_assert_str_eq(found.at[0].tags_unreadable, "AccessDeniedException: not authorized to perform: lambda:ListTags");
	decision = plan_of(&found.at[0]);
	cr_assert_eq(decision.verdict, VERDICT_REFUSED);
	cr_assert_eq(decision.guard, GUARD_TAGS_UNREADABLE);
	cr_assert_str_eq(decision.reason, "its tags, which may say that it is to be left alone, cannot be read: "
	                                  "AccessDeniedException: not authorized to perform: lambda:ListTags");
}

static bool excused(const struct probe *probe, enum error_kind kind)
{
	struct error why = {0};

	found = (struct resources){0};
	error_set(&why, kind, "lambda answered so");
	return function->excuse(&scope, probe, &why, &arena, &found);
}

Test(function, excuses_absence_and_what_may_not_be_read)
{
	const struct probe *list_probe = survey();
	const struct probe *look_probe = look();

	learn_file(list_probe, "aws/lambda_functions_page_1.json");
	cr_assert(excused(further.first, ERROR_DENIED));
	cr_assert_eq(found.count, 1);
	cr_assert_str_eq(found.at[0].id, WEB);
	cr_assert_eq(found.at[0].subnets.count, 4);
	cr_assert_str_eq(found.at[0].tags_unreadable, "lambda answered so");
	cr_assert_eq(plan_of(&found.at[0]).guard, GUARD_TAGS_UNREADABLE);
	cr_assert(excused(further.first, ERROR_ABSENT), "deleted since it was listed");
	cr_assert_eq(found.count, 0);
	cr_assert_not(excused(further.first, ERROR_THROTTLED));
	cr_assert(excused(look_probe, ERROR_ABSENT));
	cr_assert_eq(found.count, 0);
	cr_assert_not(excused(look_probe, ERROR_DENIED));
	cr_assert_not(excused(look_probe, ERROR_SERVER));
	cr_assert_not(excused(list_probe, ERROR_DENIED));
	cr_assert_not(excused(list_probe, ERROR_ABSENT));
}

Test(function, plan_takes_every_subnet_of_the_zone)
{
	struct decision decision;

	learn_file(look(), "aws/lambda_function.json");
	decision = plan_of(&found.at[0]);
	cr_assert_eq(decision.verdict, VERDICT_CHANGE);
	cr_assert_eq(decision.guard, GUARD_NONE);
	cr_assert_null(decision.reason);
	cr_assert_null(decision.wait);
	cr_assert_null(decision.change.incarnation);
	cr_assert_str_eq(decision.change.kind, "LambdaFunction");
	cr_assert_str_eq(decision.change.id, WEB);
	cr_assert_str_eq(decision.change.name, "web");
	cr_assert_str_eq(joined(&decision.change.removed), "subnet-0a1,subnet-0a2");
	cr_assert_str_eq(joined(&decision.change.order), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
}

Test(function, plan_has_nothing_to_do_outside_the_zone)
{
	struct resource resource = seen("", "");

	cr_expect_eq(plan_of(&resource).verdict, VERDICT_NOTHING, "no VPC");
	resource = seen("subnet-0b1,subnet-0unknown", "\"State\":\"Deleting\"");
	cr_expect_eq(plan_of(&resource).verdict, VERDICT_NOTHING);
	resource = seen("subnet-0a1,subnet-0b1", "\"MasterArn\":\"" WEB ":3\"");
	cr_expect_eq(plan_of(&resource).verdict, VERDICT_NOTHING, "a replica at the edge");
}

static void refuses(struct resource resource, enum guard guard, const char *reason)
{
	struct decision decision = plan_of(&resource);

	cr_expect_eq(decision.verdict, VERDICT_REFUSED, "%s", reason);
	cr_expect_eq(decision.guard, guard, "%s", reason);
	cr_expect_str_eq(decision.reason, reason);
	cr_expect_null(decision.wait);
}

Test(function, refusals)
{
	refuses(seen("subnet-0a1,subnet-0a2", ""), GUARD_LAST_SUBNET, "all its subnets are in use1-az1");
	refuses(seen("subnet-0a1,subnet-0gone", "\"LastUpdateStatus\":\"InProgress\""), GUARD_LAST_SUBNET,
	        "outside use1-az1 it has only subnet-0gone, which this account does not show");
	refuses(seen("subnet-0a1,subnet-0b1", "\"State\":\"Deleting\""), GUARD_BEING_DELETED, "it is being deleted");
	refuses(seen("", "\"CapacityProviderConfig\":{\"other\":{}}"), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
	        "its subnets are those of the capacity provider that it does not name and cannot be changed");
}

Test(function, managed_instances_are_found_without_subnets_and_refused)
{
	struct probe *managed;

	learn_file(survey(), "aws/lambda_functions_page_2.json");
	managed = further.last;
	cr_assert_str_eq(managed->request.operation, "GetFunction");
	cr_assert(excused(managed, ERROR_DENIED));
	cr_assert_str_eq(found.at[0].name, "managed");
	refuses(found.at[0], GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
	        "its subnets are those of the capacity provider "
	        "arn:aws:lambda:us-east-1:123456789012:capacity-provider:fleet and cannot be changed");
}

static const char *wait_of(const char *members)
{
	struct resource resource = seen("subnet-0a1,subnet-0b1", members);
	struct decision decision = plan_of(&resource);

	cr_expect_eq(decision.verdict, VERDICT_CHANGE);
	return decision.wait != NULL ? decision.wait : "none";
}

Test(function, plan_waits_while_no_update_is_taken)
{
	cr_expect_str_eq(wait_of("\"LastUpdateStatus\":\"InProgress\",\"State\":\"Active\""),
	                 "an update of it is in progress");
	cr_expect_str_eq(wait_of("\"LastUpdateStatus\":\"InProgress\",\"LastUpdateStatusReason\":\"Creating.\""),
	                 "an update of it is in progress (Creating.)");
	cr_expect_str_eq(wait_of("\"State\":\"Pending\",\"StateReason\":\"It is being restored.\""),
	                 "it is not ready yet (It is being restored.)");
	cr_expect_str_eq(wait_of("\"State\":\"Inactive\",\"LastUpdateStatus\":\"Successful\""), "none");
	cr_expect_str_eq(wait_of("\"State\":\"Active\",\"LastUpdateStatus\":\"Failed\""), "none");
	cr_expect_str_eq(wait_of(""), "none");
}

static struct http_request updated(const struct change *change, const struct resource *resource,
                                   enum direction direction)
{
	struct http_request request;

	function->update(&scope, change, resource, direction, &arena, &request);
	return request;
}

Test(function, update_sets_the_whole_vpc_configuration_and_nothing_else)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
	struct http_request request;

	learn_file(look(), "aws/lambda_function.json");
	request = updated(&change, &found.at[0], DIRECTION_OUT);
	cr_assert_str_eq(request.method, "PUT");
	cr_assert_str_eq(request.path, WEB_PATH "/configuration");
	cr_assert_null(request.query);
	cr_assert_str_eq(request.operation, "UpdateFunctionConfiguration");
	cr_assert_str_eq(request.operation, function->update_operation);
	cr_assert_str_eq(request.service, "lambda");
	cr_assert_str_eq(http_header(&request.headers, "Content-Type"), "application/json");
	cr_assert_str_eq(request.body, "{\"VpcConfig\":{\"SubnetIds\":[\"subnet-0b1\",\"subnet-0c1\"],"
	                               "\"SecurityGroupIds\":[\"sg-0web\",\"sg-0db\"],\"Ipv6AllowedForDualStack\":false},"
	                               "\"RevisionId\":\"11111111-0000-4000-8000-000000000318\"}");
	cr_assert_eq(request.body_length, strlen(request.body));
}

Test(function, update_is_built_from_what_is_there_now)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0b1,subnet-0a2");
	struct resource resource = seen("subnet-0new,subnet-0b1,subnet-0a2", "");

	cr_assert_str_eq(updated(&change, &resource, DIRECTION_OUT).body,
	                 "{\"VpcConfig\":{\"SubnetIds\":[\"subnet-0new\",\"subnet-0b1\"],"
	                 "\"SecurityGroupIds\":[\"sg-2\",\"sg-1\"]},\"RevisionId\":\"r-1\"}",
	                 "what somebody added stays; what is not there is not sent");
	change.removed = list("subnet-0a1,subnet-0deleted");
	resource = seen("subnet-0b1,subnet-0new", "");
	cr_assert_str_eq(updated(&change, &resource, DIRECTION_BACK).body,
	                 "{\"VpcConfig\":{\"SubnetIds\":[\"subnet-0a1\",\"subnet-0b1\",\"subnet-0new\"],"
	                 "\"SecurityGroupIds\":[\"sg-2\",\"sg-1\"]},\"RevisionId\":\"r-1\"}",
	                 "a subnet that no longer exists is not put back");
}

Test(function, update_keeps_the_ipv6_member_as_read)
{
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	const char *body = "{\"Configuration\":{\"FunctionName\":\"web\",\"FunctionArn\":\"" WEB "\",\"VpcConfig\":{"
					   "\"SubnetIds\":[\"subnet-0a1\",\"subnet-0b1\"],\"SecurityGroupIds\":[\"sg-1\"],"
					   "\"Ipv6AllowedForDualStack\":true}}}";

	cr_assert(learn(look(), data_text(200, body)), "%s", error.message);
	cr_assert_str_eq(updated(&change, &found.at[0], DIRECTION_OUT).body,
	                 "{\"VpcConfig\":{\"SubnetIds\":[\"subnet-0b1\"],\"SecurityGroupIds\":[\"sg-1\"],"
	                 "\"Ipv6AllowedForDualStack\":true}}",
	                 "and without a revision none is sent");
}

Test(function, update_that_would_detach_a_function_is_a_bug, .signal = SIGABRT)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0a2");
	struct resource resource = seen("subnet-0a1,subnet-0a2", "");

	updated(&change, &resource, DIRECTION_OUT);
}

Test(function, update_of_a_function_without_subnets_is_a_bug, .signal = SIGABRT)
{
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	struct resource resource = seen("", "");

	updated(&change, &resource, DIRECTION_BACK);
}

static enum stand stands(const char *removed, const struct resource *resource)
{
	struct change change = change_of(removed, "subnet-0a1,subnet-0b1");

	return function->compare(&scope, &change, resource, &arena);
}

Test(function, compare_does_without_an_incarnation)
{
	struct resource resource = seen("subnet-0b1", "");

	cr_expect_eq(stands("subnet-0a1", &resource), STAND_OUT);
	cr_expect_eq(stands("subnet-0a1", NULL), STAND_GONE);
	cr_expect_eq(stands("subnet-0deleted", &resource), STAND_GONE);
	resource = seen("subnet-0b1,subnet-0a1", "");
	cr_expect_eq(stands("subnet-0a1", &resource), STAND_BACK);
	resource = seen("", "");
	cr_expect_eq(stands("subnet-0a1", &resource), STAND_SUPERSEDED, "it left its VPC");
	resource = seen("subnet-0x2", "");
	cr_expect_eq(stands("subnet-0a1", &resource), STAND_SUPERSEDED, "another VPC");
}

static const char *why;

static enum settling settles(const char *subnets, const char *members, enum direction direction)
{
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	struct resource resource = seen(subnets, members);

	why = "untouched";
	return function->settled(&scope, &change, &resource, direction, &arena, &why);
}

Test(function, settled_when_the_update_is_through_and_reads_back_as_asked)
{
	cr_expect_eq(settles("subnet-0b1", "\"State\":\"Active\",\"LastUpdateStatus\":\"Successful\"", DIRECTION_OUT),
	             SETTLING_DONE);
	cr_expect_null(why);
	cr_expect_eq(settles("subnet-0b1", "", DIRECTION_OUT), SETTLING_DONE, "never updated");
	cr_expect_eq(settles("subnet-0b1,subnet-0a1", "\"LastUpdateStatus\":\"Successful\"", DIRECTION_BACK),
	             SETTLING_DONE);
	cr_expect_null(why);
	cr_expect_eq(settles("subnet-0b1,subnet-0a1", "\"LastUpdateStatus\":\"Successful\"", DIRECTION_OUT),
	             SETTLING_PENDING);
	cr_expect_str_eq(why, "its configuration still has subnet-0a1");
	cr_expect_eq(settles("subnet-0b1", "\"LastUpdateStatus\":\"Successful\"", DIRECTION_BACK), SETTLING_PENDING);
	cr_expect_str_eq(why, "its configuration does not have subnet-0a1 yet");
}

Test(function, not_settled_while_the_update_is_under_way)
{
	static const char progress[] = "\"LastUpdateStatus\":\"InProgress\",\"LastUpdateStatusReason\":\"Creating.\"";

	cr_expect_eq(settles("subnet-0b1", progress, DIRECTION_OUT), SETTLING_PENDING);
	cr_expect_str_eq(why, "an update of it is in progress (Creating.)");
	cr_expect_eq(settles("subnet-0b1,subnet-0a1", progress, DIRECTION_BACK), SETTLING_PENDING);
	cr_expect_eq(settles("subnet-0b1", "\"State\":\"Pending\"", DIRECTION_OUT), SETTLING_PENDING);
	cr_expect_str_eq(why, "it is not ready yet");
}

Test(function, a_failed_update_is_a_failure_with_its_reason)
{
	static const char failed[] = "\"State\":\"Active\",\"LastUpdateStatus\":\"Failed\",\"LastUpdateStatusReason\":"
								 "\"no free addresses\",\"LastUpdateStatusReasonCode\":\"SubnetOutOfIPAddresses\"";

	cr_expect_eq(settles("subnet-0b1", failed, DIRECTION_OUT), SETTLING_FAILED);
	cr_expect_str_eq(why, "its last update failed, and the configuration before it keeps serving: no free addresses "
	                      "(SubnetOutOfIPAddresses)");
	cr_expect_eq(settles("subnet-0b1,subnet-0a1", failed, DIRECTION_BACK), SETTLING_FAILED);
	cr_expect_eq(settles("subnet-0b1", "\"LastUpdateStatus\":\"Failed\"", DIRECTION_BACK), SETTLING_FAILED);
	cr_expect_not_null(strstr(why, "no reason is given (no code)"), "%s", why);
}

static enum error_kind check(int status, const char *file, const char *type)
{
	struct http_response response = data_response(&arena, status, file);

	http_add_header(&response.headers, &arena, "X-Amzn-Errortype", type);
	http_add_header(&response.headers, &arena, "Retry-After", "3");
	return aws_check(aws_service_find("lambda"), &response, &error) ? ERROR_NONE : error.kind;
}

Test(function, errors_are_told_by_the_header_alone)
{
	static const char busy[] = "aws/error_lambda_busy.json";

	cr_expect_eq(check(409, busy, "ResourceConflictException:http://internal.example/x/"), ERROR_BUSY);
	cr_expect_str_eq(error.code, "ResourceConflictException");
	cr_expect_str_eq(error.message,
	                 "lambda answered 409 ResourceConflictException: An update is in progress for resource: " WEB);
	cr_expect_eq(check(404, "aws/error_lambda_absent.json", "ResourceNotFoundException"), ERROR_ABSENT);
	cr_expect_not_null(strstr(error.message, "Function not found"), "%s", error.message);
	cr_expect_eq(check(412, busy, "PreconditionFailedException"), ERROR_CONFLICT);
	cr_expect_eq(check(429, busy, "TooManyRequestsException"), ERROR_THROTTLED);
	cr_expect_eq(error.retry_after_ms, 3000);
	cr_expect_eq(check(500, busy, "ServiceException"), ERROR_SERVER);
	cr_expect_eq(check(400, busy, "InvalidParameterValueException"), ERROR_REJECTED);
	cr_expect_eq(check(400, busy, "CodeVerificationFailedException"), ERROR_REJECTED);
	cr_expect_eq(check(403, busy, "AccessDeniedException"), ERROR_DENIED);
}
