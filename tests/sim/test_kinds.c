/*
 * Services and functions: out and back, what refuses, what waits, what their services do by themselves.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

#define OTHER_CLUSTER "22222222-2222-3333-4444-555555555555"

#define ALL_SERVICES "[{\"kind\":\"EcsService\",\"selector\":{\"all\":true}}]"
#define ALL_FUNCTIONS "[{\"kind\":\"LambdaFunction\",\"selector\":{\"all\":true}}]"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 1);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(resources, .init = setup, .fini = teardown, .timeout = 120);

static void hold(const char *targets)
{
	run_apply(&run, "out", "use1-az1", targets);
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
}

static void add_services(void)
{
	world_add_cluster(run.world, "shop");
	world_add_cluster(run.world, "empty");
	world_add_cluster(run.world, "back");
	world_add_service(run.world, "shop", "web", "subnet-a1,subnet-b1", 3, "team=web");
	world_add_service(run.world, "shop", "api", "subnet-b1,subnet-a2,subnet-a1", 2, NULL);
	world_add_service(run.world, "shop", "far", "subnet-b1,subnet-c1", 2, NULL);
	world_add_service(run.world, "shop", "none", "subnet-c1,subnet-a1", 0, NULL);
	world_add_service(run.world, "back", "web", "subnet-c1,subnet-a1", 1, NULL);
}

static void add_functions(void)
{
	world_add_function(run.world, "resize", "subnet-a1,subnet-b1", "team=web");
	world_add_function(run.world, "mail", "subnet-c1,subnet-a2", NULL);
	world_add_function(run.world, "report", "subnet-b1", NULL);
	world_add_function(run.world, "public", NULL, NULL);
	world_add_function(run.world, "audit", "subnet-a1,subnet-c1", NULL);
}

Test(resources, every_kind_leaves_and_comes_back)
{
	add_services();
	add_functions();
	const char *before = world_fingerprint(run.world, &arena);
	hold(RUN_EVERY_KIND);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-b1");
	cr_assert_str_eq(world_service(run.world, "shop", "api"), "subnet-b1");
	cr_assert_str_eq(world_service(run.world, "back", "web"), "subnet-c1");
	cr_assert_str_eq(world_service(run.world, "shop", "none"), "subnet-c1");
	cr_assert_str_eq(world_service_deployment(run.world, "shop", "web"), "COMPLETED");
	cr_assert_str_eq(world_service_security(run.world, "shop", "web"), "sg-1 DISABLED");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	cr_assert_str_eq(world_function(run.world, "mail"), "subnet-c1");
	cr_assert_str_eq(world_function_security(run.world, "resize"), "sg-1");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "True");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(resources, a_service_that_cannot_be_changed_is_refused_with_its_reason)
{
	world_add_cluster(run.world, "shop");
	world_add_special_service(run.world, &(struct world_service){.cluster = "shop",
	                                                             .name = "green",
	                                                             .subnets = "subnet-a1,subnet-b1",
	                                                             .desired = 1,
	                                                             .controller = "CODE_DEPLOY"});
	world_add_special_service(run.world, &(struct world_service){.cluster = "shop",
	                                                             .name = "own",
	                                                             .subnets = "subnet-a1,subnet-b1",
	                                                             .desired = 1,
	                                                             .controller = "EXTERNAL"});
	world_add_special_service(run.world, &(struct world_service){.cluster = "shop",
	                                                             .name = "blue",
	                                                             .subnets = "subnet-a1,subnet-b1",
	                                                             .desired = 1,
	                                                             .strategy = "BLUE_GREEN"});
	world_add_special_service(
		run.world, &(struct world_service){
					   .cluster = "shop", .name = "host", .desired = 1, .launch_type = "EC2", .no_awsvpc = true});
	world_add_service(run.world, "shop", "only", "subnet-a1,subnet-a2", 1, NULL);
	world_add_service(run.world, "shop", "web", "subnet-a1,subnet-b1", 1, NULL);
	const char *before = world_fingerprint(run.world, &arena);
	hold(ALL_SERVICES);
	assert_reason("green", "UnsupportedDeploymentController: ");
	assert_reason("own", "UnsupportedDeploymentController: ");
	assert_reason("blue", "UnsupportedDeploymentController: ");
	assert_reason("host", "NotAwsvpc: ");
	assert_reason("only", "LastSubnet: ");
	cr_assert_str_eq(run_state(&run, "web"), "Settled");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	cr_assert_str_eq(world_condition(run.world, "out", "Ready", NULL), "True");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

Test(resources, a_rollback_is_not_fought)
{
	add_services();
	world_break_deployments(run.world, "shop", "web", true);
	run_apply(&run, "out", "use1-az1", ALL_SERVICES);
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
	cr_assert_str_eq(run_state(&run, "web"), "Rival", "%s", run_reason(&run, "web"));
	assert_reason("web", "circuit breaker");
	const char *reason = NULL;
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", &reason), "False");
	cr_assert_str_eq(reason, "Rival");
	unsigned updates = world_calls(run.world, "UpdateService");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateService"), updates, "it would be rolled back again");
	run_stop(&run); /* nor does a process that comes later try again */
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateService"), updates, "a restart is no reason to try again");
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a1,subnet-b1");
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a1,subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
}

static bool web_has_failed(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "web"), "Failed") == 0;
}

Test(resources, a_deployment_that_fails_is_told)
{
	add_services();
	world_break_deployments(run.world, "shop", "web", false);
	run_apply(&run, "out", "use1-az1", ALL_SERVICES);
	run_must(&run, web_has_failed, 60 * MINUTE_MS, "Failed");
	const char *why = run_reason(&run, "web");
	cr_assert(strlen(why) > 10, "%s", why);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-b1");
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a1,subnet-b1");
}

/* Where another cluster holds the zone as well, it is done again under the lock, which stays until then; what fails again is told. */
Test(resources, what_failed_under_an_earlier_process_is_done_again_beside_another_owner)
{
	add_services();
	world_break_deployments(run.world, "shop", "web", false);
	run_apply(&run, "out", "use1-az1", ALL_SERVICES);
	run_to_calls(&run, "UpdateService", 1);
	run_for(&run, 100);
	run_stop(&run);
	world_join(run.world, "use1-az1", OTHER_CLUSTER);
	world_advance(run.world, 10 * MINUTE_MS);
	run_must(&run, web_has_failed, 30 * MINUTE_MS, "it fails once more");
	cr_assert_gt(world_calls(run.world, "UpdateService"), 1);
	assert_reason("web", "deployment");
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-b1");
	world_leave(run.world, "use1-az1", OTHER_CLUSTER);
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a1,subnet-b1");
}

/* What recovery rolls out may be rolled back as well: the record stays until that cannot be. */
Test(resources, a_rollback_of_the_recovery_is_put_back_again)
{
	add_services();
	const char *before = world_fingerprint(run.world, &arena);
	hold(ALL_SERVICES);
	world_break_deployments(run.world, "shop", "web", true);
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

static bool web_is_back(struct run *at)
{
	return strcmp(world_service(at->world, "shop", "web"), "subnet-a1,subnet-b1") == 0;
}

Test(resources, a_record_stays_while_its_recovery_rolls_out)
{
	add_services();
	hold(ALL_SERVICES);
	world_delete_evacuation(run.world, "out");
	run_must(&run, web_is_back, 10 * MINUTE_MS, "back");
	cr_assert_str_eq(world_service_deployment(run.world, "shop", "web"), "IN_PROGRESS");
	cr_assert_not_null(world_record(run.world, "use1-az1", world_service_arn(run.world, "shop", "web")));
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	cr_assert_eq(world_records(run.world), 0);
}

Test(resources, services_that_vanish_or_are_made_anew)
{
	add_services();
	hold(ALL_SERVICES);
	world_delete_service(run.world, "shop", "web");
	world_recreate_service(run.world, "shop", "api", "subnet-b1");
	world_delete_cluster(run.world, "back");
	world_edit_service(run.world, "shop", "none", "subnet-c1,subnet-b2");
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "api"), "subnet-b1", "another incarnation: nothing is added");
	const char *none = world_service(run.world, "shop", "none");
	cr_assert(strstr(none, "subnet-a1") && strstr(none, "subnet-b2") && strstr(none, "subnet-c1"), "%s", none);
	cr_assert_eq(world_records(run.world), 0);
}

Test(resources, security_groups_edited_meanwhile_survive)
{
	add_services();
	add_functions();
	hold(RUN_EVERY_KIND);
	world_secure_service(run.world, "shop", "web", "sg-7,sg-8");
	world_secure_function(run.world, "resize", "sg-9");
	run_restore(&run);
	cr_assert_str_eq(world_service_security(run.world, "shop", "web"), "sg-7,sg-8 DISABLED");
	cr_assert_str_eq(world_function_security(run.world, "resize"), "sg-9");
}

Test(resources, a_service_made_meanwhile_is_taken_in)
{
	add_services();
	hold(ALL_SERVICES);
	world_add_service(run.world, "empty", "late", "subnet-a1,subnet-b1", 1, NULL);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(world_service(run.world, "empty", "late"), "subnet-b1");
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "empty", "late"), "subnet-a1,subnet-b1");
}

/* Lambda */

static bool resize_waits(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "resize"), "Waiting") == 0;
}

Test(resources, an_update_of_somebody_else_is_waited_for)
{
	add_functions();
	const char *before = world_fingerprint(run.world, &arena);
	world_touch_function(run.world, "resize");
	run_apply(&run, "out", "use1-az1", ALL_FUNCTIONS);
	run_must(&run, resize_waits, 2 * MINUTE_MS, "Waiting");
	assert_reason("resize", "progress");
	run_for(&run, 2000);
	cr_assert(resize_waits(&run) && !run_holding(&run), "phase %s", world_phase(run.world, "out"));
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	world_touch_function(run.world, "resize");
	run_restore(&run);
	run_assert_as_before(&run, before, "restored");
}

static bool resize_has_failed(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "resize"), "Failed") == 0;
}

static bool resize_has_settled(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "resize"), "Settled") == 0;
}

/* Each update of it fails. */
static bool holding_though_it_fails(struct run *at)
{
	world_fail_update(at->world, "resize", "the subnet has no free addresses");
	return run_holding(at);
}

Test(resources, a_function_whose_update_fails_is_told_why_and_tried_again)
{
	add_functions();
	world_fail_update(run.world, "resize", "the subnet has no free addresses");
	run_apply(&run, "out", "use1-az1", ALL_FUNCTIONS);
	run_must(&run, resize_has_failed, 10 * MINUTE_MS, "Failed");
	assert_reason("resize", "the subnet has no free addresses");
	run_must(&run, holding_though_it_fails, 30 * MINUTE_MS, "holding what it could");
	cr_assert(resize_has_failed(&run), "%s", run_state(&run, "resize"));
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	run_must(&run, resize_has_settled, 10 * MINUTE_MS, "Settled");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	run_restore(&run);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
}

Test(resources, unreadable_tags_are_refused_not_assumed)
{
	add_functions();
	world_hide_tags(run.world, "resize");
	hold("[{\"kind\":\"LambdaFunction\",\"selector\":{\"all\":true,\"exclude\":{\"matchTags\":{\"tier\":\"db\"}}}}]");
	assert_reason("resize", "TagsUnreadable: ");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
	cr_assert_str_eq(world_function(run.world, "mail"), "subnet-c1");
	run_restore(&run);
}

Test(resources, a_held_function_that_is_tagged_is_put_back)
{
	add_functions();
	hold("[{\"kind\":\"LambdaFunction\",\"selector\":{\"matchTags\":{\"team\":\"web\"}}}]");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	cr_assert_str_eq(world_function(run.world, "mail"), "subnet-c1,subnet-a2", "not selected");
	world_tag_function(run.world, "resize", "team=web,zonevac.dev/exclude=true");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
	run_restore(&run);
	cr_assert_eq(world_records(run.world), 0);
}

Test(resources, an_alias_that_stays_in_the_zone_is_told)
{
	add_functions();
	unsigned version = world_publish_version(run.world, "resize");
	world_alias(run.world, "resize", "live", version);
	world_alias(run.world, "mail", "latest", 0);
	hold(ALL_FUNCTIONS);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "resize"), "Settled");
	assert_reason("resize", "alias live");
	assert_reason("resize", "subnet-a1");
	cr_assert_str_eq(run_reason(&run, "mail"), "");
	run_restore(&run);
}

Test(resources, a_version_published_without_the_subnets_is_told_at_recovery)
{
	add_functions();
	hold(ALL_FUNCTIONS);
	(void)world_publish_version(run.world, "resize");
	run_restore(&run);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
	cr_assert_eq(world_events(run.world, "LeftAsItIs"), 1);
}

/* One kind that fails does not keep the others. */
Test(resources, one_kind_that_cannot_be_read_stops_nobody_else)
{
	add_services();
	add_functions();
	for (unsigned n = 1; n <= 30; n++)
		world_fault(run.world, "ListFunctions", n, WORLD_ERROR_BEFORE);
	run_apply(&run, "out", "use1-az1", RUN_EVERY_KIND);
	run_for(&run, 90000);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-b1", "services do not wait for functions");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_phase(run.world, "out"), "Applying", "never done while a kind has not been seen");
	cr_assert(run_stalled(&run), "and said");
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	run_restore(&run);
}

Test(resources, a_rival_is_told_with_his_traces)
{
	world_tag_group(run.world, "web", "aws:cloudformation:stack-name=shop");
	world_rival(run.world, "web", "subnet-a1", 20000, 20);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_for(&run, 60 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "web"), "Rival", "%s", run_reason(&run, "web"));
	assert_reason("web", "CloudFormation");
	assert_reason("web", "subnet-a1");
	run_restore(&run);
}

/* What went wrong once. */

Test(resources, deletion_ends_after_an_update_that_failed)
{
	add_functions();
	world_fail_update(run.world, "resize", "the subnet has no free addresses");
	run_apply(&run, "out", "use1-az1", ALL_FUNCTIONS);
	run_must(&run, resize_has_failed, 10 * MINUTE_MS, "Failed");
	run_restore(&run);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
}

static void fail_again(struct world *world, void *context)
{
	world_fail_update(world, "resize", "the subnet has no free addresses");
	world_at(world, 1000, fail_again, context);
}

Test(resources, an_update_that_fails_at_recovery_is_not_sent_again_and_again)
{
	add_functions();
	hold(ALL_FUNCTIONS);
	fail_again(run.world, NULL);
	unsigned updates = world_calls(run.world, "UpdateFunctionConfiguration");
	world_delete_evacuation(run.world, "out");
	run_must(&run, resize_has_failed, 10 * MINUTE_MS, "Failed");
	assert_reason("resize", "the subnet has no free addresses");
	run_for(&run, 60 * MINUTE_MS);
	updates = world_calls(run.world, "UpdateFunctionConfiguration") - updates;
	cr_assert_leq(updates, 40, "%u updates in an hour", updates);
	cr_assert_neq(world_records(run.world), 0, "what was taken out is still known");
}

Test(resources, a_held_function_that_the_journal_lost_is_not_forgotten)
{
	add_functions();
	hold("[{\"kind\":\"LambdaFunction\",\"selector\":{\"matchTags\":{\"team\":\"web\"}}}]");
	run_for(&run, MINUTE_MS);
	run_stop(&run);
	world_delete_record(run.world, "use1-az1", "resize");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "resize"), "Settled", "%s", run_reason(&run, "resize"));
	run_restore(&run);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1,subnet-a1", "only their order is lost");
}

Test(resources, backing_one_out_survives_an_outage)
{
	add_functions();
	hold(ALL_FUNCTIONS);
	world_tag_function(run.world, "resize", "zonevac.dev/exclude=true");
	run_to_calls(&run, "UpdateItem", 1);
	world_aws_outage(run.world, 60000);
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1", "it is not taken out again");
	run_restore(&run);
}

Test(resources, a_refused_one_that_is_deleted_is_no_longer_told)
{
	world_add_cluster(run.world, "shop");
	world_add_service(run.world, "shop", "only", "subnet-a1,subnet-a2", 1, NULL);
	hold(ALL_SERVICES);
	assert_reason("only", "LastSubnet: ");
	world_delete_service(run.world, "shop", "only");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_str_eq(run_state(&run, "only"), "");
	run_restore(&run);
}

Test(resources, a_service_made_anew_while_it_is_held_comes_back_as_it_was_made)
{
	add_services();
	hold(ALL_SERVICES);
	world_recreate_service(run.world, "shop", "web", "subnet-a2,subnet-c1,subnet-b2");
	run_for(&run, 20 * MINUTE_MS);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-c1,subnet-b2", "%s", run_reason(&run, "web"));
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a2,subnet-c1,subnet-b2");
	cr_assert_eq(world_records(run.world), 0);
}

Test(resources, a_service_made_anew_comes_back_after_a_restart_too)
{
	add_services();
	hold(ALL_SERVICES);
	world_recreate_service(run.world, "shop", "web", "subnet-a2,subnet-c1,subnet-b2");
	run_for(&run, 20 * MINUTE_MS);
	run_stop(&run);
	run_for(&run, MINUTE_MS);
	run_restore(&run);
	cr_assert_str_eq(world_service(run.world, "shop", "web"), "subnet-a2,subnet-c1,subnet-b2");
}

Test(resources, a_service_that_does_not_answer_keeps_nobody_else)
{
	add_services();
	add_functions();
	for (unsigned n = 1; n <= 25; n++)
		world_fault(run.world, "ListClusters", n, WORLD_LATE);
	run_apply(&run, "out", "use1-az1", RUN_EVERY_KIND);
	run_for(&run, 25000);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	cr_assert_not(run_stalled(&run), "not yet: it may just be much to read");
	run_for(&run, 15000);
	cr_assert(run_stalled(&run), "and said");
	run_restore(&run);
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-a1,subnet-b1");
}
