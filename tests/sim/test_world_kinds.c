/*
 * The world's services and functions: if they were wrong, what the scenarios say would mean nothing.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "base/text.h"

static struct ask ask;

static void setup(void)
{
	ask_init(&ask, 1);
	world_add_zone(ask.world, "use1-az1", "us-east-1b");
	world_add_zone(ask.world, "use1-az2", "us-east-1a");
	world_add_subnet(ask.world, "subnet-a", "use1-az1");
	world_add_subnet(ask.world, "subnet-b", "use1-az2");
	world_make_table(ask.world);
}

static void teardown(void)
{
	ask_done(&ask);
}

TestSuite(world_kinds, .init = setup, .fini = teardown, .timeout = 60);

static const char *error_code(const struct http_response *response)
{
	const char *header = http_header(&response->headers, "x-amzn-ErrorType");
	return header != NULL ? header : json_get_string(ask_json(&ask, response), "__type");
}

static void plant(const char *arn, const char *state)
{
	ask_plant(&ask, arn, state);
}

/* ECS. */

static const struct http_response *ecs(const char *operation, const char *body)
{
	return ask_aws(&ask, "ecs", operation, body);
}

static const struct json *describe(const char *name)
{
	const char *body = arena_printf(&ask.arena, "{\"cluster\":\"blue\",\"services\":[\"%s\"]}", name);
	return json_at(json_get(ask_json(&ask, ecs("DescribeServices", body)), "services"), 0);
}

#define NETWORK(subnets, rest)                                                                                           \
	"{\"cluster\":\"blue\",\"service\":\"web\",\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[" subnets \
	"]" rest "}}}"
#define SAME ",\"securityGroups\":[\"sg-1\"],\"assignPublicIp\":\"DISABLED\""

static void add_web(void)
{
	world_add_cluster(ask.world, "blue");
	world_add_service(ask.world, "blue", "web", "subnet-a,subnet-b", 4, "team=web");
}

Test(world_kinds, clusters_and_services_come_in_pages)
{
	for (int i = 0; i < 4; i++)
		world_add_cluster(ask.world, arena_printf(&ask.arena, "c%d", i));
	for (int i = 0; i < 5; i++)
		world_add_service(ask.world, "c0", arena_printf(&ask.arena, "s%d", i), "subnet-b", 1, NULL);
	const struct json *list = ask_json(&ask, ecs("ListClusters", "{}"));
	cr_assert_eq(json_count(json_get(list, "clusterArns")), 3);
	const char *token = json_get_string(list, "nextToken");
	list = ask_json(&ask, ecs("ListClusters", arena_printf(&ask.arena, "{\"nextToken\":\"%s\"}", token)));
	cr_assert_eq(json_count(json_get(list, "clusterArns")), 1);
	cr_assert_null(json_get(list, "nextToken"));
	list = ask_json(&ask, ecs("ListServices", "{\"cluster\":\"c0\",\"maxResults\":100}"));
	cr_assert_eq(json_count(json_get(list, "serviceArns")), 3);
	token = json_get_string(list, "nextToken");
	list = ask_json(&ask,
	                ecs("ListServices", arena_printf(&ask.arena, "{\"cluster\":\"c0\",\"nextToken\":\"%s\"}", token)));
	cr_assert_eq(json_count(json_get(list, "serviceArns")), 2);
	cr_assert_eq(ecs("ListServices", "{\"cluster\":\"c0\",\"nextToken\":\"garbage\"}")->status, 400);
	cr_assert_str_eq(error_code(ecs("ListServices", "{\"cluster\":\"nobody\"}")), "ClusterNotFoundException");
	world_delete_cluster(ask.world, "c0");
	cr_assert_str_eq(error_code(ecs("ListServices", "{\"cluster\":\"c0\"}")), "ClusterNotFoundException");
}

Test(world_kinds, a_service_is_described_as_it_is)
{
	add_web();
	world_add_special_service(ask.world, &(struct world_service){.cluster = "blue",
	                                                             .name = "daemon",
	                                                             .controller = "CODE_DEPLOY",
	                                                             .launch_type = "",
	                                                             .daemon = true,
	                                                             .no_awsvpc = true});
	const struct http_response *response =
		ecs("DescribeServices",
	        "{\"cluster\":\"blue\",\"services\":[\"web\",\"daemon\",\"nobody\"],\"include\":[\"TAGS\"]}");
	const struct json *answer = ask_json(&ask, response);
	cr_assert_str_eq(json_get_string(json_at(json_get(answer, "failures"), 0), "reason"), "MISSING");
	const struct json *web = json_at(json_get(answer, "services"), 0);
	const struct json *daemon = json_at(json_get(answer, "services"), 1);
	cr_assert_eq(json_count(json_path(web, "networkConfiguration.awsvpcConfiguration.subnets")), 2);
	cr_assert_null(json_get(web, "deploymentController"));
	cr_assert_str_eq(json_get_string(json_at(json_get(web, "tags"), 0), "value"), "web");
	cr_assert_str_eq(json_get_string(json_at(json_get(web, "deployments"), 0), "rolloutState"), "COMPLETED");
	cr_assert_gt(json_number(json_get(web, "createdAt"), 0), 1.7e9);
	cr_assert_null(json_get(daemon, "networkConfiguration"));
	cr_assert_null(json_get(daemon, "launchType"));
	cr_assert_str_eq(json_path_string(daemon, "deploymentController.type"), "CODE_DEPLOY");
	cr_assert_null(json_get(describe("web"), "tags"), "tags only when they are asked for");
	struct text many;
	text_init(&many, 1024);
	text_append(&many, "{\"cluster\":\"blue\",\"services\":[\"s\"");
	for (int i = 0; i < 10; i++)
		text_append(&many, ",\"s\"");
	text_append(&many, "]}");
	cr_assert_str_eq(error_code(ecs("DescribeServices", many.at)), "InvalidParameterException");
	text_done(&many);
}

Test(world_kinds, an_update_of_a_service_is_a_deployment)
{
	add_web();
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))->status, 200);
	cr_assert_str_eq(world_service(ask.world, "blue", "web"), "subnet-b");
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "IN_PROGRESS");
	const struct json *deployments = json_get(describe("web"), "deployments");
	cr_assert_eq(json_count(deployments), 2);
	cr_assert_str_eq(json_get_string(json_at(deployments, 1), "status"), "ACTIVE");
	cr_assert_eq(world_effects(ask.world), 1);
	world_advance(ask.world, 15000);
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "IN_PROGRESS");
	world_advance(ask.world, 30000);
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "COMPLETED");
	cr_assert_eq(json_count(json_get(describe("web"), "deployments")), 1);
	cr_assert_eq(json_integer(json_get(describe("web"), "runningCount"), 0), 4);
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))->status, 200);
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "COMPLETED", "nothing to deploy");
	plant(world_service_arn(ask.world, "blue", "web"), "Restoring");
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-a\",\"subnet-b\"", SAME))->status, 200);
}

Test(world_kinds, an_update_of_a_service_is_refused)
{
	add_web();
	cr_assert_str_eq(error_code(ecs("UpdateService", NETWORK("", SAME))), "InvalidParameterException");
	cr_assert_str_eq(error_code(ecs("UpdateService", NETWORK("\"subnet-x\"", SAME))), "InvalidParameterException");
	world_fault(ask.world, "UpdateService", 1, WORLD_THROTTLE);
	cr_assert_str_eq(error_code(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))), "ThrottlingException");
	world_delete_service(ask.world, "blue", "web");
	cr_assert_str_eq(error_code(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))), "ServiceNotActiveException");
	cr_assert_str_eq(json_get_string(describe("web"), "status"), "INACTIVE");
	cr_assert_null(world_service(ask.world, "blue", "web"));
	cr_assert_eq(json_count(json_get(ask_json(&ask, ecs("ListServices", "{\"cluster\":\"blue\"}")), "serviceArns")), 0);
}

Test(world_kinds, a_service_deployed_by_others_is_refused)
{
	world_add_cluster(ask.world, "blue");
	world_add_special_service(
		ask.world, &(struct world_service){
					   .cluster = "blue", .name = "web", .subnets = "subnet-a,subnet-b", .controller = "EXTERNAL"});
	cr_assert_str_eq(error_code(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))), "InvalidParameterException");
}

Test(world_kinds, a_broken_deployment_rolls_back)
{
	add_web();
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	world_break_deployments(ask.world, "blue", "web", true);
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))->status, 200);
	int64_t waited_ms = 0;
	while (strcmp(world_service(ask.world, "blue", "web"), "subnet-a,subnet-b") != 0 && (waited_ms += 500) < 60000)
		world_advance(ask.world, 500);
	const struct json *deployments = json_get(describe("web"), "deployments");
	cr_assert_eq(json_count(deployments), 2);
	cr_assert(strstr(json_get_string(json_at(deployments, 0), "rolloutStateReason"),
	                 "ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/"));
	cr_assert_str_eq(json_get_string(json_at(deployments, 1), "rolloutState"), "FAILED");
	world_advance(ask.world, 40000);
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "COMPLETED");
	world_delete_item(ask.world, "use1-az1", world_service_arn(ask.world, "blue", "web"));
	(void)ask_kube(&ask, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"x\"}}");
	cr_assert_eq(world_records(ask.world), 0, "nothing is out any more, so no record is missed");
}

Test(world_kinds, a_record_closed_over_a_restoring_that_rolls_back_is_caught, .signal = SIGABRT)
{
	add_web();
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))->status, 200);
	world_advance(ask.world, 60000);
	plant(world_service_arn(ask.world, "blue", "web"), "Restoring");
	world_break_deployments(ask.world, "blue", "web", true);
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-a\",\"subnet-b\"", SAME))->status, 200);
	world_delete_item(ask.world, "use1-az1", world_service_arn(ask.world, "blue", "web"));
	world_advance(ask.world, 60000);
}

Test(world_kinds, a_broken_deployment_without_rollback_stays)
{
	add_web();
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	world_break_deployments(ask.world, "blue", "web", false);
	cr_assert_eq(ecs("UpdateService", NETWORK("\"subnet-b\"", SAME))->status, 200);
	world_advance(ask.world, 300000);
	cr_assert_str_eq(world_service_deployment(ask.world, "blue", "web"), "FAILED");
	cr_assert_str_eq(world_service(ask.world, "blue", "web"), "subnet-b");
	cr_assert_eq(json_count(json_get(describe("web"), "deployments")), 2);
}

Test(world_kinds, owners_edit_and_make_services_anew)
{
	add_web();
	double made = json_number(json_get(describe("web"), "createdAt"), 0);
	world_edit_service(ask.world, "blue", "web", "subnet-b");
	world_secure_service(ask.world, "blue", "web", "sg-2");
	cr_assert_str_eq(world_service_security(ask.world, "blue", "web"), "sg-2 DISABLED");
	cr_assert_str_eq(world_service(ask.world, "blue", "web"), "subnet-b");
	world_advance(ask.world, 60000);
	world_recreate_service(ask.world, "blue", "web", "subnet-a");
	cr_assert_gt(json_number(json_get(describe("web"), "createdAt"), 0), made + 50);
	cr_assert(strstr(world_fingerprint(ask.world, &ask.arena), "service blue/web subnet-a sg-2 DISABLED"));
}

Test(world_kinds, a_service_changed_without_a_record_is_caught, .signal = SIGABRT)
{
	add_web();
	(void)ecs("UpdateService", NETWORK("\"subnet-b\"", SAME));
}

Test(world_kinds, security_groups_left_out_are_caught, .signal = SIGABRT)
{
	add_web();
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	(void)ecs("UpdateService", NETWORK("\"subnet-b\"", ",\"assignPublicIp\":\"DISABLED\""));
}

Test(world_kinds, a_public_ip_left_out_is_caught, .signal = SIGABRT)
{
	world_add_cluster(ask.world, "blue");
	world_add_special_service(
		ask.world, &(struct world_service){
					   .cluster = "blue", .name = "web", .subnets = "subnet-a,subnet-b", .public_ip = "ENABLED"});
	plant(world_service_arn(ask.world, "blue", "web"), "Intent");
	(void)ecs("UpdateService", NETWORK("\"subnet-b\"", ",\"securityGroups\":[\"sg-1\"]"));
}

/* Lambda. */

static const struct json *function_get(const char *path)
{
	return ask_json(&ask, ask_lambda(&ask, "GET", path, NULL));
}

static const struct http_response *function_put(const char *subnets, const char *revision)
{
	return ask_lambda(&ask, "PUT", "/fn/configuration",
	                  arena_printf(&ask.arena,
	                               "{\"VpcConfig\":{\"SubnetIds\":[%s],\"SecurityGroupIds\":[\"sg-1\"],"
	                               "\"Ipv6AllowedForDualStack\":false},\"RevisionId\":\"%s\"}",
	                               subnets, revision));
}

static const char *revision(void)
{
	return json_path_string(function_get("/fn"), "Configuration.RevisionId");
}

static void add_fn(void)
{
	world_add_function(ask.world, "fn", "subnet-a,subnet-b", "team=web");
}

Test(world_kinds, functions_come_in_pages_and_in_part)
{
	add_fn();
	for (int i = 0; i < 4; i++)
		world_add_function(ask.world, arena_printf(&ask.arena, "other%d", i), NULL, NULL);
	const struct json *list = function_get("/?MaxItems=50");
	const struct json *first = json_at(json_get(list, "Functions"), 0);
	cr_assert_eq(json_count(json_get(list, "Functions")), 3);
	cr_assert_null(json_get(first, "State"));
	cr_assert_null(json_get(first, "LastUpdateStatus"));
	cr_assert_eq(json_count(json_path(first, "VpcConfig.SubnetIds")), 2);
	cr_assert_null(json_get(json_at(json_get(list, "Functions"), 1), "VpcConfig"));
	const char *marker = json_get_string(list, "NextMarker");
	list = function_get(arena_printf(&ask.arena, "?Marker=%s", marker));
	cr_assert_eq(json_count(json_get(list, "Functions")), 2);
	cr_assert_null(json_get(list, "NextMarker"));
	cr_assert_eq(ask_lambda(&ask, "GET", "?Marker=x", NULL)->status, 400);
	cr_assert_eq(world_calls(ask.world, "ListFunctions"), 3);
}

Test(world_kinds, a_function_is_got_by_name_or_arn)
{
	add_fn();
	const struct json *function = function_get("/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Afn");
	cr_assert_str_eq(json_path_string(function, "Configuration.LastUpdateStatus"), "Successful");
	cr_assert_str_eq(json_path_string(function, "Configuration.State"), "Active");
	cr_assert_str_eq(json_path_string(function, "Tags.team"), "web");
	world_hide_tags(ask.world, "fn");
	function = function_get("/fn");
	cr_assert_null(json_get(function, "Tags"));
	cr_assert_str_eq(json_path_string(function, "TagsError.ErrorCode"), "AccessDeniedException");
	const struct http_response *nobody = ask_lambda(&ask, "GET", "/nobody", NULL);
	cr_assert_eq(nobody->status, 404);
	cr_assert_str_eq(error_code(nobody), "ResourceNotFoundException");
	world_fault(ask.world, "GetFunction", 1, WORLD_THROTTLE);
	const struct http_response *throttled = ask_lambda(&ask, "GET", "/fn", NULL);
	cr_assert_eq(throttled->status, 429);
	cr_assert(http_header(&throttled->headers, "Retry-After"));
}

Test(world_kinds, an_update_of_a_function_takes_its_time)
{
	add_fn();
	plant(world_function_arn(ask.world, "fn"), "Intent");
	const char *old = revision();
	const struct json *answer = ask_json(&ask, function_put("\"subnet-b\"", old));
	cr_assert_str_eq(json_get_string(answer, "LastUpdateStatus"), "InProgress");
	const char *accepted = json_get_string(answer, "RevisionId");
	cr_assert_str_neq(accepted, old);
	cr_assert_eq(world_effects(ask.world), 1);
	const struct http_response *busy = function_put("\"subnet-b\"", accepted);
	cr_assert_eq(busy->status, 409);
	cr_assert_str_eq(error_code(busy), "ResourceConflictException");
	world_advance(ask.world, 60000);
	cr_assert_str_eq(world_function_status(ask.world, "fn"), "Successful");
	cr_assert_str_eq(world_function(ask.world, "fn"), "subnet-b");
	cr_assert_str_neq(revision(), accepted);
	const struct http_response *old_revision = function_put("\"subnet-b\"", old);
	cr_assert_eq(old_revision->status, 412);
	cr_assert_str_eq(error_code(old_revision), "PreconditionFailedException");
	cr_assert_str_eq(error_code(function_put("\"subnet-x\"", revision())), "InvalidParameterValueException");
}

Test(world_kinds, a_failed_update_brings_the_old_subnets_back)
{
	add_fn();
	plant(world_function_arn(ask.world, "fn"), "Intent");
	world_fail_update(ask.world, "fn", "SubnetOutOfIPAddresses");
	cr_assert_eq(function_put("\"subnet-b\"", revision())->status, 200);
	world_advance(ask.world, 60000);
	const struct json *function = json_get(function_get("/fn"), "Configuration");
	cr_assert_str_eq(json_get_string(function, "LastUpdateStatus"), "Failed");
	cr_assert_str_eq(json_get_string(function, "LastUpdateStatusReasonCode"), "SubnetOutOfIPAddresses");
	cr_assert_str_eq(world_function(ask.world, "fn"), "subnet-a,subnet-b");
	cr_assert_eq(function_put("\"subnet-b\"", revision())->status, 200);
	world_advance(ask.world, 60000);
	cr_assert_str_eq(world_function(ask.world, "fn"), "subnet-b");
	world_fail_update(ask.world, "fn", "InternalError");
	plant(world_function_arn(ask.world, "fn"), "Restoring");
	cr_assert_eq(function_put("\"subnet-a\",\"subnet-b\"", revision())->status, 200);
	world_advance(ask.world, 60000);
	cr_assert_str_eq(world_function(ask.world, "fn"), "subnet-b", "a restoring that fails leaves it out");
}

Test(world_kinds, others_update_functions_too)
{
	add_fn();
	const char *old = revision();
	world_touch_function(ask.world, "fn");
	cr_assert_eq(function_put("\"subnet-b\"", revision())->status, 409);
	world_advance(ask.world, 60000);
	cr_assert_eq(function_put("\"subnet-b\"", old)->status, 412);
	world_edit_function(ask.world, "fn", "subnet-b");
	world_secure_function(ask.world, "fn", "sg-2");
	cr_assert(strstr(world_fingerprint(ask.world, &ask.arena), "function fn subnet-b sg-2"));
	world_delete_function(ask.world, "fn");
	cr_assert_null(world_function(ask.world, "fn"));
	cr_assert_eq(ask_lambda(&ask, "GET", "/fn", NULL)->status, 404);
}

Test(world_kinds, published_versions_keep_their_subnets)
{
	add_fn();
	cr_assert_eq(world_publish_version(ask.world, "fn"), 1);
	world_edit_function(ask.world, "fn", "subnet-b");
	cr_assert_eq(world_publish_version(ask.world, "fn"), 2);
	world_alias(ask.world, "fn", "live", 1);
	const struct json *versions = json_get(function_get("/fn/versions"), "Versions");
	cr_assert_eq(json_count(versions), 3);
	cr_assert_str_eq(json_get_string(json_at(versions, 0), "Version"), "$LATEST");
	cr_assert_eq(json_count(json_path(json_at(versions, 1), "VpcConfig.SubnetIds")), 2);
	cr_assert_eq(json_count(json_path(json_at(versions, 2), "VpcConfig.SubnetIds")), 1);
	const struct json *alias = json_at(json_get(function_get("/fn/aliases"), "Aliases"), 0);
	cr_assert_str_eq(json_get_string(alias, "FunctionVersion"), "1");
	const struct json *one = json_get(function_get("/fn?Qualifier=1"), "Configuration");
	cr_assert_str_eq(json_get_string(one, "Version"), "1");
	cr_assert_eq(json_count(json_path(one, "VpcConfig.SubnetIds")), 2);
	cr_assert_eq(ask_lambda(&ask, "GET", "/fn?Qualifier=3", NULL)->status, 404);
	world_publish_version(ask.world, "fn");
	const char *marker = json_get_string(function_get("/fn/versions"), "NextMarker");
	versions = function_get(arena_printf(&ask.arena, "/fn/versions?Marker=%s", marker));
	cr_assert_eq(json_count(json_get(versions, "Versions")), 1);
}

Test(world_kinds, a_function_changed_without_a_record_is_caught, .signal = SIGABRT)
{
	add_fn();
	(void)function_put("\"subnet-b\"", revision());
}

Test(world_kinds, a_function_taken_out_of_its_vpc_is_caught, .signal = SIGABRT)
{
	add_fn();
	plant(world_function_arn(ask.world, "fn"), "Intent");
	(void)function_put("", revision());
}

Test(world_kinds, a_record_closed_over_a_failed_restoring_is_caught, .signal = SIGABRT)
{
	add_fn();
	plant(world_function_arn(ask.world, "fn"), "Intent");
	cr_assert_eq(function_put("\"subnet-b\"", revision())->status, 200);
	world_advance(ask.world, 60000);
	plant(world_function_arn(ask.world, "fn"), "Restoring");
	world_fail_update(ask.world, "fn", "InternalError");
	cr_assert_eq(function_put("\"subnet-a\",\"subnet-b\"", revision())->status, 200);
	world_delete_item(ask.world, "use1-az1", world_function_arn(ask.world, "fn"));
	world_advance(ask.world, 60000);
}

Test(world_kinds, an_update_of_a_function_can_be_the_last_effect)
{
	add_fn();
	plant(world_function_arn(ask.world, "fn"), "Intent");
	const char *now = revision();
	world_kill_at(ask.world, 1, WORLD_KILL_AFTER);
	cr_assert_null(function_put("\"subnet-b\"", now));
	cr_assert_str_eq(world_function(ask.world, "fn"), "subnet-b");
	world_revive(ask.world);
}
