#include "ecs.h"

#include <signal.h>

TestSuite(ecs, .init = set_up, .fini = tear_down);

/* Discovery. */

static struct probe *learn_further(const struct probe *probe, const char *file)
{
	struct http_response response = data_response(&arena, 200, file);
	struct probes further = {0};
	struct resources resources = {0};

	cr_assert(service->learn(&scope, probe, &response, &arena, &resources, &further, &error), "%s", error.message);
	cr_assert_eq(resources.count, 0);
	return further.first;
}

static const char *header(const struct probe *probe, const char *name)
{
	return http_header(&probe->request.headers, name);
}

Test(ecs, survey_reads_all_clusters_and_all_their_services_by_ten)
{
	struct probes probes = {0};
	struct probe *probe;

	service->survey(&scope, &arena, &probes);
	cr_assert_null(probes.first->next);
	cr_assert_str_eq(probes.first->request.service, "ecs");
	cr_assert_str_eq(probes.first->request.operation, "ListClusters");
	cr_assert_str_eq(header(probes.first, "X-Amz-Target"), "AmazonEC2ContainerServiceV20141113.ListClusters");
	cr_assert_str_eq(header(probes.first, "Content-Type"), "application/x-amz-json-1.1");
	cr_assert_str_eq(probes.first->request.body, "{\"maxResults\":100}");
	probe = learn_further(probes.first, "aws/ecs_clusters_1.json");
	cr_assert_str_eq(probe->request.operation, "ListClusters");
	cr_assert_str_eq(probe->request.body, "{\"maxResults\":100,\"nextToken\":\"Y2x1c3Rlcg==\"}");
	cr_assert_str_eq(probe->next->request.operation, "ListServices");
	cr_assert_str_eq(probe->next->request.body, "{\"cluster\":\"" PREFIX "cluster/prod\",\"maxResults\":100}");
	cr_assert_not_null(strstr(probe->next->next->request.body, "cluster/stage_1-b\""));
	cr_assert_null(probe->next->next->next);
	probe = learn_further(probe, "aws/ecs_clusters_2.json");
	cr_assert_not_null(strstr(probe->request.body, "cluster/default\""));
	cr_assert_null(probe->next, "that was the last page");
}

/* The probe that asks for the services of the first cluster. */
static struct probe *services_probe(void)
{
	struct probes probes = {0};

	service->survey(&scope, &arena, &probes);
	return learn_further(probes.first, "aws/ecs_clusters_1.json")->next;
}

Test(ecs, services_are_described_by_ten_and_the_next_page_is_asked_at_once)
{
	struct probe *probe = learn_further(services_probe(), "aws/ecs_services_1.json");
	struct probe *last;

	cr_assert_str_eq(probe->request.operation, "ListServices");
	cr_assert_str_eq(probe->request.body,
	                 "{\"cluster\":\"" PREFIX "cluster/prod\",\"maxResults\":100,\"nextToken\":\"c2VydmljZQ==\"}");
	cr_assert_str_eq(probe->next->request.operation, "DescribeServices");
	cr_assert_not_null(strstr(probe->next->request.body, "web-10\"],\"include\":[\"TAGS\"]}"));
	cr_assert_str_eq(probe->next->next->request.body,
	                 "{\"cluster\":\"" PREFIX "cluster/prod\",\"services\":[\"" PREFIX "service/prod/web-11\",\"" PREFIX
	                 "service/prod/web-12\"],\"include\":[\"TAGS\"]}");
	cr_assert_null(probe->next->next->next);
	last = learn_further(probe, "aws/ecs_services_2.json");
	cr_assert_not_null(strstr(last->request.body, "last_one"));
	cr_assert_null(last->next);
	cr_assert_null(learn_further(probe, "aws/ecs_services_none.json"), "an empty cluster asks nothing more");
}

Test(ecs, malformed_lists_ask_and_append_nothing)
{
	static const char *const bodies[] = {"",
	                                     "{\"serviceArns\":[\"a\"",
	                                     "[]",
	                                     "{}",
	                                     "{\"serviceArns\":\"a\"}",
	                                     "{\"serviceArns\":[\"a\",7]}",
	                                     "<ListServicesResponse/>",
	                                     "{\"serviceArns\":[\"a\"],\"nextToken\":7}"};
	struct probe *probe = services_probe();

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct http_response response = data_text(200, bodies[i]);
		struct probes further = {0};
		struct resources resources = {0};

		cr_expect_not(service->learn(&scope, probe, &response, &arena, &resources, &further, &error), "%s", bodies[i]);
		cr_expect_eq(error.kind, ERROR_MALFORMED, "%s", bodies[i]);
		cr_expect_eq(strncmp(error.message, "ListServices: ", 14), 0, "%s", error.message);
		cr_expect_null(further.first);
		cr_expect_eq(resources.count, 0);
	}
}

Test(ecs, a_cluster_deleted_meanwhile_has_no_services)
{
	struct error absent = {.kind = ERROR_ABSENT, .code = "ClusterNotFoundException"};
	struct error busy = {.kind = ERROR_SERVER};
	struct probes probes = {0};
	struct resources resources = {0};
	struct probe *services = services_probe();
	struct probe *description = learn_further(services, "aws/ecs_services_2.json");

	service->survey(&scope, &arena, &probes);
	cr_expect(service->excuse(&scope, services, &absent, &arena, &resources));
	cr_expect(service->excuse(&scope, description, &absent, &arena, &resources));
	cr_expect_not(service->excuse(&scope, probes.first, &absent, &arena, &resources),
	              "which clusters there are is not told");
	cr_expect_not(service->excuse(&scope, services, &busy, &arena, &resources));
	cr_expect_not(service->excuse(&scope, description, &busy, &arena, &resources));
	cr_expect_eq(resources.count, 0);
}

static struct resources denied(const struct probe *probe)
{
	struct resources resources = {0};
	struct error no = {0};

	error_set(&no, ERROR_DENIED, "ecs answered 400 AccessDeniedException: no");
	cr_assert(service->excuse(&scope, probe, &no, &arena, &resources));
	return resources;
}

static void is_refused(const struct resource *resource, const char *reason)
{
	struct decision decision = plan_of(resource);

	cr_expect_eq(decision.verdict, VERDICT_REFUSED);
	cr_expect_eq(decision.guard, GUARD_TAGS_UNREADABLE);
	cr_expect_str_eq(decision.reason, reason);
	cr_expect_null(decision.change.id);
}

Test(ecs, a_cluster_that_may_not_be_read_keeps_none_of_the_others)
{
	struct resources resources = denied(services_probe());

	cr_assert_eq(resources.count, 1);
	cr_assert_str_eq(resources.at[0].kind, "EcsService");
	cr_assert_str_eq(resources.at[0].id, PREFIX "cluster/prod");
	cr_assert_str_eq(resources.at[0].name, "prod/*");
	cr_assert_str_eq(joined(&resources.at[0].names), "prod/*");
	is_refused(&resources.at[0], "its services may not be listed: ecs answered 400 AccessDeniedException: no");
}

Test(ecs, services_that_may_not_be_described_keep_none_of_the_others)
{
	struct probe *page = learn_further(services_probe(), "aws/ecs_services_1.json");
	struct resources resources = denied(page->next->next);

	cr_assert_eq(resources.count, 2);
	cr_assert_str_eq(resources.at[0].id, PREFIX "service/prod/web-11");
	cr_assert_str_eq(resources.at[1].id, PREFIX "service/prod/web-12");
	cr_assert_str_eq(resources.at[1].name, "web-12");
	cr_assert_str_eq(joined(&resources.at[1].names), "web-12,prod/web-12");
	is_refused(&resources.at[1], "it may not be described: ecs answered 400 AccessDeniedException: no");
}

Test(ecs, neither_a_denied_look_nor_a_denied_list_of_clusters_is_excused)
{
	struct error no = {.kind = ERROR_DENIED, .code = "AccessDeniedException"};
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	const struct change *changes[] = {&change};
	struct probes looks = {0};
	struct probes surveys = {0};
	struct resources resources = {0};

	service->look(&scope, changes, 1, &arena, &looks);
	service->survey(&scope, &arena, &surveys);
	cr_expect_not(service->excuse(&scope, looks.first, &no, &arena, &resources), "it would be taken for gone");
	cr_expect_not(service->excuse(&scope, surveys.first, &no, &arena, &resources));
	cr_expect_eq(resources.count, 0);
}

Test(ecs, nothing_is_changed_and_no_record_ended_of_what_could_not_be_read)
{
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	struct resource unread = {.kind = "EcsService", .id = change.id, .name = "web", .tags_unreadable = "it may not"};
	struct http_request request;
	const char *why = NULL;

	cr_expect_eq(service->compare(&scope, &change, &unread, &arena), STAND_OUT);
	cr_expect_eq(service->settled(&scope, &change, &unread, DIRECTION_OUT, &arena, &why), SETTLING_PENDING);
	cr_expect_str_eq(why, "it may not");
	cr_expect_eq(service->settled(&scope, &change, &unread, DIRECTION_BACK, &arena, &why), SETTLING_PENDING);
	service->update(&scope, &change, &unread, DIRECTION_BACK, &arena, &request);
	cr_expect_str_eq(request.body,
	                 "{\"cluster\":\"" PREFIX "cluster/prod\",\"service\":\"" PREFIX "service/prod/web\"}");
}

static struct change known_as(const char *id, const char *cluster)
{
	struct change change = {.id = id};
	struct json *detail = json_new_object(&arena);

	json_set_string(detail, "cluster", cluster);
	change.detail = cluster != NULL ? detail : NULL;
	return change;
}

Test(ecs, looks_at_ten_with_one_question_a_cluster)
{
	struct change kept = known_as(PREFIX "service/short", PREFIX "cluster/prod");
	struct change arn = known_as("arn:aws-us-gov:ecs:us-gov-west-1:123456789012:service/stage_1-b/Web_2-x", NULL);
	struct change same = known_as(PREFIX "service/prod/web", PREFIX "cluster/prod");
	struct change nameless = known_as(PREFIX "service/lonely", NULL);
	const struct change *changes[] = {&kept, &arn, &same, &nameless};
	struct probes probes = {0};
	struct probe *probe;

	cr_assert_eq(service->look_max, 10);
	service->look(&scope, changes, 4, &arena, &probes);
	probe = probes.first;
	cr_assert_str_eq(probe->request.body, "{\"cluster\":\"" PREFIX "cluster/prod\",\"services\":[\"" PREFIX
	                                      "service/short\",\"" PREFIX "service/prod/web\"],\"include\":[\"TAGS\"]}");
	probe = probe->next;
	cr_assert_str_eq(probe->request.body,
	                 "{\"cluster\":\"stage_1-b\",\"services\":[\"arn:aws-us-gov:ecs:us-gov-west-1:123456789012:service"
	                 "/stage_1-b/Web_2-x\"],\"include\":[\"TAGS\"]}");
	probe = probe->next;
	cr_assert_str_eq(probe->request.body,
	                 "{\"cluster\":\"default\",\"services\":[\"" PREFIX "service/lonely\"],\"include\":[\"TAGS\"]}");
	cr_assert_null(probe->next);
	cr_assert_str_eq(probe->request.operation, "DescribeServices");
}

Test(ecs, services_of_one_cluster_are_looked_at_together)
{
	struct change kept = known_as(PREFIX "service/short", PREFIX "cluster/prod");
	struct change same = known_as(PREFIX "service/prod/web", PREFIX "cluster/prod");
	struct change other = known_as(PREFIX "service/stage/web", PREFIX "cluster/stage");
	struct change bare = known_as(PREFIX "service/prod/web", NULL);

	cr_assert_str_eq(service->look_group(&kept), PREFIX "cluster/prod");
	cr_assert_str_eq(service->look_group(&same), service->look_group(&kept));
	cr_assert_str_eq(service->look_group(&other), PREFIX "cluster/stage");
	cr_assert_eq(service->look_group(&same), json_get_string(same.detail, "cluster"), "it lives as long as the change");
	cr_assert_str_eq(service->look_group(&bare), "prod/web");
	cr_assert_eq(service->look_group(&bare), bare.id + strlen(PREFIX "service/"));
}

/* Planning. */

Test(ecs, plan_takes_every_subnet_of_the_zone_and_keeps_the_cluster)
{
	struct decision decision = plan_of(described("web"));

	cr_assert_eq(decision.verdict, VERDICT_CHANGE);
	cr_assert_eq(decision.guard, GUARD_NONE);
	cr_assert_null(decision.reason);
	cr_assert_null(decision.wait);
	cr_assert_null(decision.rolled_back);
	cr_assert_str_eq(decision.change.kind, "EcsService");
	cr_assert_str_eq(decision.change.id, PREFIX "service/prod/web");
	cr_assert_str_eq(decision.change.name, "web");
	cr_assert_str_eq(decision.change.incarnation, "1719852357.044");
	cr_assert_str_eq(joined(&decision.change.removed), "subnet-0a1,subnet-0a2");
	cr_assert_str_eq(joined(&decision.change.order), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
	cr_assert_str_eq(json_print(decision.change.detail, &arena), "{\"cluster\":\"" PREFIX "cluster/prod\"}");
	cr_expect_eq(plan_of(described("Short-1_x")).verdict, VERDICT_CHANGE,
	             "no controller and no strategy are ECS and ROLLING");
	cr_expect_eq(plan_of(described("daemon")).verdict, VERDICT_CHANGE);
}

Test(ecs, a_deployment_of_somebody_else_is_not_waited_for)
{
	struct decision decision = plan_of(web_with("{\"deployments\":[{\"id\":\"ecs-svc/7\",\"status\":\"PRIMARY\","
	                                            "\"rolloutState\":\"IN_PROGRESS\"}]}"));

	cr_assert_eq(decision.verdict, VERDICT_CHANGE);
	cr_assert_null(decision.wait);
}

Test(ecs, services_outside_the_zone_are_nothing_before_any_refusal)
{
	struct resource elsewhere = web_in("subnet-0b1,subnet-0unknown");
	struct resource leaving = *described("leaving");
	struct resource deployed = *described("codedeploy");

	leaving.subnets = deployed.subnets = elsewhere.subnets;
	cr_expect_eq(plan_of(&elsewhere).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(&leaving).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(&deployed).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(described("anywhere")).verdict, VERDICT_NOTHING, "its machines are in no zone");
	cr_expect_eq(plan_of(web_with("{\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[]}}}")).verdict,
	             VERDICT_NOTHING);
}

static void refuses(const struct resource *resource, enum guard guard, const char *part)
{
	struct decision decision = plan_of(resource);

	cr_expect_eq(decision.verdict, VERDICT_REFUSED, "%s", part);
	cr_expect_eq(decision.guard, guard, "%s instead of %s", guard_name(decision.guard), guard_name(guard));
	cr_assert_not_null(decision.reason, "%s", part);
	cr_expect_not_null(strstr(decision.reason, part), "%s", decision.reason);
	cr_expect_null(decision.rolled_back);
}

Test(ecs, refusals)
{
	struct resource pinned = web_in("subnet-0a1,subnet-0a2");
	struct resource half_known = web_in("subnet-0a1,subnet-0gone");
	struct resource unreadable = web_in("subnet-0a1,subnet-0b1");

	unreadable.tags_unreadable = "its tags may not be read";
	refuses(described("leaving"), GUARD_BEING_DELETED, "it is being deleted (DRAINING)");
	refuses(described("codedeploy"), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER, "AppSpec");
	refuses(described("external"), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER, "create a task set");
	refuses(web_with("{\"deploymentController\":{\"type\":\"NEW\"}}"), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
	        "its deployment controller is NEW");
	refuses(web_with("{\"resourceManagementType\":\"ECS\"}"), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
	        "UpdateExpressGatewayService");
	refuses(&unreadable, GUARD_TAGS_UNREADABLE, "its tags may not be read");
	refuses(&pinned, GUARD_LAST_SUBNET, "all its subnets are in use1-az1");
	refuses(&half_known, GUARD_LAST_SUBNET, "outside use1-az1 it has only subnet-0gone");
	refuses(described("bridge"), GUARD_NOT_AWSVPC, "Auto Scaling group of these instances");
}

Test(ecs, strategies_that_shift_traffic_are_refused)
{
	static const char *const strategies[] = {"BLUE_GREEN", "LINEAR", "CANARY"};

	for (size_t i = 0; i < 3; i++) {
		const char *other = arena_printf(&arena, "{\"deploymentConfiguration\":{\"strategy\":\"%s\"}}", strategies[i]);

		refuses(web_with(other), GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER, strategies[i]);
	}
}

Test(ecs, without_a_network_of_their_own_only_tasks_that_run_or_will_are_refused)
{
	const char *none = "{\"networkConfiguration\":{},\"desiredCount\":0,\"runningCount\":0}";
	const char *last = "{\"networkConfiguration\":null,\"desiredCount\":0,\"runningCount\":1}";
	const char *gone = "{\"networkConfiguration\":null,\"status\":\"DRAINING\",\"runningCount\":1}";

	cr_expect_eq(plan_of(web_with(none)).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(web_with(gone)).verdict, VERDICT_NOTHING);
	refuses(web_with(last), GUARD_NOT_AWSVPC, "no subnet to take out");
}

Test(ecs, guards_are_judged_in_their_order)
{
	struct resource resource =
		*web_with("{\"status\":\"DRAINING\",\"deploymentController\":{\"type\":\"CODE_DEPLOY\"}}");

	cr_expect_eq(plan_of(&resource).guard, GUARD_BEING_DELETED);
	resource = *web_with("{\"deploymentController\":{\"type\":\"CODE_DEPLOY\"}}");
	resource.tags_unreadable = "no";
	cr_expect_eq(plan_of(&resource).guard, GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER);
	resource = web_in("subnet-0a1");
	resource.tags_unreadable = "no";
	cr_expect_eq(plan_of(&resource).guard, GUARD_TAGS_UNREADABLE);
}

/* Acting. */

static const char *update_body(const struct change *change, const struct resource *resource, enum direction direction)
{
	struct http_request request;

	service->update(&scope, change, resource, direction, &arena, &request);
	cr_expect_str_eq(request.operation, "UpdateService");
	cr_expect_str_eq(request.service, "ecs");
	cr_expect_str_eq(http_header(&request.headers, "X-Amz-Target"), "AmazonEC2ContainerServiceV20141113.UpdateService");
	return request.body;
}

Test(ecs, update_sends_the_network_back_as_read_without_the_subnets_and_nothing_else)
{
	const struct resource *web = described("web");
	struct decision decision = plan_of(web);

	cr_assert_str_eq(update_body(&decision.change, web, DIRECTION_OUT),
	                 "{\"cluster\":\"" PREFIX "cluster/prod\",\"service\":\"" PREFIX "service/prod/web\","
	                 "\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-0b1\",\"subnet-0c1\"],"
	                 "\"securityGroups\":[\"sg-0web\",\"sg-0db\"],\"assignPublicIp\":\"ENABLED\"}}}");
}

Test(ecs, update_leaves_out_what_was_not_there)
{
	const struct resource *old = described("Short-1_x");
	struct decision decision = plan_of(old);
	const struct resource *nulls =
		web_with("{\"networkConfiguration\":{\"awsvpcConfiguration\":{\"assignPublicIp\":null,\"securityGroups\":[],"
	             "\"subnets\":[\"subnet-0a1\",\"subnet-0b1\"]}}}");

	cr_assert_str_eq(update_body(&decision.change, old, DIRECTION_OUT),
	                 "{\"cluster\":\"" PREFIX "cluster/prod\",\"service\":\"" PREFIX "service/Short-1_x\","
	                 "\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-0b1\"]}}}");
	cr_assert_not_null(strstr(update_body(&decision.change, nulls, DIRECTION_OUT),
	                          "{\"subnets\":[\"subnet-0b1\"],\"securityGroups\":[]}"));
}

Test(ecs, update_is_built_from_what_is_there_now)
{
	struct change change = change_of("subnet-0a1,subnet-0deleted", "subnet-0a1,subnet-0b1,subnet-0deleted");
	struct resource resource = web_in("subnet-0c1,subnet-0new,subnet-0b1");

	cr_assert_not_null(strstr(update_body(&change, &resource, DIRECTION_BACK),
	                          "\"subnets\":[\"subnet-0c1\",\"subnet-0new\",\"subnet-0a1\",\"subnet-0b1\"],"));
	resource.subnets = list("subnet-0new,subnet-0a1,subnet-0a2,subnet-0b1");
	cr_assert_not_null(strstr(update_body(&change, &resource, DIRECTION_OUT),
	                          "\"subnets\":[\"subnet-0new\",\"subnet-0a2\",\"subnet-0b1\"],"),
	                   "what somebody added stays");
}

Test(ecs, update_that_would_leave_no_subnet_is_a_bug, .signal = SIGABRT)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "");
	struct resource resource = web_in("subnet-0a1,subnet-0a2");

	update_body(&change, &resource, DIRECTION_OUT);
}

/* Where it stands. */

static enum stand stands(const struct change *change, const struct resource *resource)
{
	return service->compare(&scope, change, resource, &arena);
}

Test(ecs, compare)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0b1,subnet-0a2");
	struct resource resource = web_in("subnet-0b1");

	cr_expect_eq(stands(&change, &resource), STAND_OUT);
	resource.subnets = list("subnet-0b1,subnet-0a1");
	cr_expect_eq(stands(&change, &resource), STAND_OUT, "part of it is still missing");
	resource.subnets = list("subnet-0a2,subnet-0b1,subnet-0a1");
	cr_expect_eq(stands(&change, &resource), STAND_BACK);
	cr_expect_eq(stands(&change, NULL), STAND_GONE);
	cr_expect_eq(stands(&change, described("leaving")), STAND_GONE, "ECS changes nothing of it any more");
	resource.subnets = list("subnet-0x2");
	cr_expect_eq(stands(&change, &resource), STAND_SUPERSEDED, "another VPC");
	cr_expect_eq(stands(&change, described("bridge")), STAND_SUPERSEDED, "no network of its own any more");
	resource.subnets = list("subnet-0b1");
	resource.incarnation = "1719852357.045";
	cr_expect_eq(stands(&change, &resource), STAND_SUPERSEDED, "made anew under the same name");
	change.incarnation = NULL;
	cr_expect_eq(stands(&change, &resource), STAND_OUT);
}

Test(ecs, a_service_whose_subnets_only_its_task_sets_tell_is_never_updated)
{
	struct change change = change_of("subnet-0a2", "subnet-0a2");

	change.incarnation = NULL;
	cr_assert_eq(stands(&change, described("external")), STAND_SUPERSEDED);
}
