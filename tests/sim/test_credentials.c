/*
 * Keys that end, are rotated, revoked or not to be had while an evacuation runs; logins of the API server likewise.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;

static void setup(void)
{
	run_init(&run, 12);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(credentials, .init = setup, .fini = teardown, .timeout = 240);

static void in_every_kind(void)
{
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
}

static void in_many(void)
{
	run_add_many(&run);
	before = world_fingerprint(run.world, &arena);
}

static void restore(void)
{
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

static void assert_nothing_failed(void)
{
	cr_assert_eq(json_integer(json_path(world_evacuation(run.world, "out"), "status.failed"), -1), 0);
}

/* Of AWS, but for what is asked for the keys themselves. */
static unsigned calls_to_aws(void)
{
	static const char *const operations[] = {"DescribeAutoScalingGroups",
	                                         "UpdateAutoScalingGroup",
	                                         "DescribeServices",
	                                         "UpdateService",
	                                         "ListServices",
	                                         "ListClusters",
	                                         "GetFunction",
	                                         "ListFunctions",
	                                         "UpdateFunctionConfiguration",
	                                         "DescribeSubnets",
	                                         "DescribeAvailabilityZones",
	                                         "GetCallerIdentity",
	                                         "DescribeTable",
	                                         "GetItem",
	                                         "PutItem",
	                                         "UpdateItem",
	                                         "DeleteItem",
	                                         "Query"};
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		sum += world_calls(run.world, operations[i]);
	return sum;
}

/* Each fifth time there are none to be had, for three calls in a row. */
static void rotate(int64_t life_s)
{
	run_use_container(&run, life_s);
	world_fail_refreshes(run.world, 5);
	in_every_kind();
	run_hold(&run);
	run_for(&run, 20 * MINUTE_MS);
	assert_nothing_failed();
	restore();
	int64_t lived_s = world_now(run.world).ms / 1000 - 1000; /* the clock begins there */
	cr_assert_eq(world_refused_keys(run.world, "*"), 0, "no call was made with keys that had ended");
	cr_assert_geq(world_issued(run.world), lived_s / life_s);
	cr_assert_leq(world_issued(run.world), lived_s * 2 / life_s + 2, "%u keys in %lld s", world_issued(run.world),
	              (long long)lived_s);
}

Test(credentials, good_for_thirty_seconds)
{
	rotate(30);
}

Test(credentials, good_for_a_minute)
{
	rotate(60);
}

Test(credentials, good_for_five_minutes)
{
	rotate(300);
}

/* Without instances that stay nothing is left to ask for. */
static void begin_and_lose_the_source(enum world_fault fault)
{
	run_use_container(&run, 60);
	in_every_kind();
	world_pin_instances(run.world, "web", "use1-az1", true);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_service_outage(run.world, "credentials", 20 * MINUTE_MS, fault);
	run_for(&run, 2 * MINUTE_MS);
}

static void end_while_the_source_is_down(enum world_fault fault)
{
	begin_and_lose_the_source(fault);
	unsigned calls = calls_to_aws();
	run_for(&run, 17 * MINUTE_MS);
	cr_assert_eq(calls_to_aws(), calls, "%s: nothing is asked with keys that have ended", world_fault_name(fault));
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "CredentialsExpired");
	cr_assert_leq(world_outage_calls(run.world, 0, 60), 24);
	cr_assert_leq(world_outage_calls(run.world, 300, 1200), 15 * 8, "%s: %u calls in a quarter of an hour",
	              world_fault_name(fault), world_outage_calls(run.world, 300, 1200));
	world_pin_instances(run.world, "web", "use1-az1", false);
	run_must(&run, run_holding, 10 * MINUTE_MS, "it goes on by itself");
	assert_nothing_failed();
	restore();
}

Test(credentials, they_end_while_their_source_refuses_connections)
{
	end_while_the_source_is_down(WORLD_REFUSE);
}

Test(credentials, they_end_while_their_source_fails)
{
	end_while_the_source_is_down(WORLD_ERROR_BEFORE);
}

Test(credentials, they_end_while_their_source_is_silent)
{
	end_while_the_source_is_down(WORLD_SILENCE);
}

Test(credentials, they_end_while_their_source_talks_nonsense)
{
	end_while_the_source_is_down(WORLD_GARBAGE);
}

Test(credentials, a_slow_source_is_good_enough)
{
	run_use_container(&run, 60);
	in_every_kind();
	world_service_outage(run.world, "credentials", 60 * MINUTE_MS, WORLD_SLOW);
	run_story(&run);
	run_assert_as_before(&run, before, "in the end");
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
}

/* The status says where it looked, so that a person knows what to mend. */
Test(credentials, none_at_the_start_is_told_and_nodes_go_on)
{
	run_use_container(&run, 3600);
	in_every_kind();
	world_service_outage(run.world, "credentials", 10 * MINUTE_MS, WORLD_REFUSE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "NoCredentials");
	cr_assert(strstr(json_print(world_evacuation(run.world, "out"), &arena), "container"));
	cr_assert(world_node_tainted(run.world, world_group_node(run.world, "workers", "use1-az1", 0)));
	cr_assert_eq(calls_to_aws(), 0);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it goes on by itself");
	restore();
}

/* Everything in flight is refused at once; one refresh is for all of it. */
static void revoke_now(const char *when)
{
	unsigned issued = world_issued(run.world);
	unsigned refused = world_refused_keys(run.world, "*");
	world_revoke_credentials(run.world);
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_leq(world_issued(run.world), issued + 1, "%s: %u refreshes", when, world_issued(run.world) - issued);
	cr_assert_leq(world_refused_keys(run.world, "*") - refused, RUN_MANY, "%s: %u refused", when,
	              world_refused_keys(run.world, "*") - refused);
}

Test(credentials, revoked_in_the_midst)
{
	run_use_container(&run, 6 * 3600);
	in_many();
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	unsigned refused = world_refused_keys(run.world, "*");
	revoke_now("evacuating");
	cr_assert_gt(world_refused_keys(run.world, "*"), refused, "it was in the midst");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	assert_nothing_failed();
	revoke_now("holding");
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	revoke_now("restoring");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
	cr_assert_leq(world_issued(run.world), 4);
}

/* Also when some calls were sent in the very moment in which the fresh ones came. */
Test(credentials, revoked_at_many_moments)
{
	static const uint64_t seeds[] = {7, 97, 108, 137};
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		char when[32];
		teardown();
		run_init(&run, seeds[i]);
		arena_init(&arena, "test", 64 * 1024 * 1024);
		run_use_container(&run, 6 * 3600);
		run_add_many(&run);
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		run_to_calls(&run, "UpdateAutoScalingGroup", 1 + (unsigned)(seeds[i] % 7));
		(void)snprintf(when, sizeof(when), "seed %u", (unsigned)seeds[i]);
		revoke_now(when);
	}
}

/* What AWS no longer knows is not tried again by everything that waits, however long no others are to be had. */
Test(credentials, revoked_while_the_source_is_down)
{
	run_use_container(&run, 6 * 3600);
	in_many();
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 2);
	world_service_outage(run.world, "credentials", 20 * MINUTE_MS, WORLD_REFUSE);
	world_revoke_credentials(run.world);
	run_for(&run, 19 * MINUTE_MS);
	cr_assert_leq(world_refused_keys(run.world, "*"), 400, "%u calls refused", world_refused_keys(run.world, "*"));
	cr_assert_str_neq(run_stalled_because(&run, "out"), "");
	run_must(&run, run_holding, 10 * MINUTE_MS, "it goes on by itself");
	assert_nothing_failed();
	restore();
}

/* Fresh ones are as bad as the old: a person has to act, and no service is asked in vain meanwhile. */
Test(credentials, revoked_again_and_again)
{
	run_use_container(&run, 6 * 3600);
	in_every_kind();
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	unsigned calls = calls_to_aws();
	unsigned issued = world_issued(run.world);
	for (int i = 0; i < 600; i++) {
		world_revoke_credentials(run.world);
		run_for(&run, 1000);
	}
	calls = calls_to_aws() - calls;
	cr_assert_leq(calls, 600, "%u calls in ten minutes", calls);
	cr_assert_leq(world_issued(run.world) - issued, 70, "%u refreshes", world_issued(run.world) - issued);
	run_must(&run, run_holding, 30 * MINUTE_MS, "it goes on by itself");
	restore();
}

/* Keys that nobody issued here: AWS does not know them. */
Test(credentials, unknown_keys_are_told_and_not_hammered)
{
	in_every_kind();
	world_issue_credentials(run.world, 3600);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_neq(run_stalled_because(&run, "out"), "");
	unsigned calls = calls_to_aws();
	run_for(&run, 10 * MINUTE_MS);
	calls = calls_to_aws() - calls;
	cr_assert_leq(calls, 200, "%u calls in ten minutes", calls);
	world_issue_credentials(run.world, 0); /* they have been made known */
	run_must(&run, run_holding, 30 * MINUTE_MS, "it goes on by itself");
	restore();
}

/* A token on disk is exchanged at STS, as service accounts of EKS do. */
static char token_file[64];

static void use_web_identity(int64_t life_s)
{
	(void)snprintf(token_file, sizeof(token_file), "/tmp/sim-token-XXXXXX");
	int file = mkstemp(token_file);
	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, "a.web.token", 11), 11);
	close(file);
	run_set_variable(&run, "AWS_ACCESS_KEY_ID", "");
	run_set_variable(&run, "AWS_SECRET_ACCESS_KEY", "");
	run_set_variable(&run, "AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/zonevac");
	run_set_variable(&run, "AWS_WEB_IDENTITY_TOKEN_FILE", token_file);
	world_issue_credentials(run.world, life_s);
}

Test(credentials, a_web_identity_is_exchanged_again_and_again)
{
	use_web_identity(60);
	world_fail_refreshes(run.world, 5);
	in_every_kind();
	run_hold(&run);
	run_for(&run, 10 * MINUTE_MS);
	restore();
	cr_assert_gt(world_calls(run.world, "AssumeRoleWithWebIdentity"), 10);
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
	(void)unlink(token_file);
}

Test(credentials, a_web_identity_while_sts_is_down)
{
	use_web_identity(60);
	in_every_kind();
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_service_outage(run.world, "sts", 10 * MINUTE_MS, WORLD_ERROR_BEFORE);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_leq(world_outage_calls(run.world, 0, 60), 24);
	cr_assert_leq(world_outage_calls(run.world, 300, 600), 5 * 8, "%u calls in five minutes",
	              world_outage_calls(run.world, 300, 600));
	cr_assert_eq(world_refused_keys(run.world, "*"), 0);
	run_must(&run, run_holding, 20 * MINUTE_MS, "it goes on by itself");
	restore();
	(void)unlink(token_file);
}

/* Logins. */

static const char *const plugin[] = {"aws", "eks", "get-token", "--cluster-name", "prod", NULL};
static const char *const no_variables[] = {NULL};
static const struct kube_exec exec_aws = {
	.api_version = "client.authentication.k8s.io/v1",
	.argv = plugin,
	.environment = no_variables,
	.install_hint = "install the AWS CLI",
};

static void use_plugin(int64_t life_s)
{
	run.kube.exec = &exec_aws;
	run.kube.token[0] = '\0';
	world_issue_logins(run.world, life_s);
	in_every_kind();
}

Test(credentials, a_plugin_is_run_before_its_token_ends)
{
	use_plugin(240);
	run_hold(&run);
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_not(run.ended);
	restore();
	int64_t lived_s = world_now(run.world).ms / 1000 - 1000;
	cr_assert_eq(world_refused_keys(run.world, "kubernetes"), 0);
	cr_assert_leq(world_calls(run.world, "RUN aws"), lived_s / 150 + 2, "%u runs in %lld s",
	              world_calls(run.world, "RUN aws"), (long long)lived_s);
}

Test(credentials, a_refused_token_runs_the_plugin_once)
{
	use_plugin(3600);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	run_for(&run, 12000); /* it was run a while ago */
	unsigned runs = world_calls(run.world, "RUN aws");
	world_revoke_logins(run.world);
	run_must(&run, run_holding, 30 * MINUTE_MS, "holding");
	cr_assert_eq(world_calls(run.world, "RUN aws"), runs + 1);
	cr_assert_not(run.ended, "the lease was kept");
	cr_assert_eq(run.lives, 1);
	restore();
}

static void fail_plugin(enum world_fault fault)
{
	run.settings.leader_elect = false; /* the process stays */
	use_plugin(240);
	run_hold(&run);
	world_service_outage(run.world, "program", 15 * MINUTE_MS, fault);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_leq(world_outage_calls(run.world, 0, 900), 40, "%s: %u runs in a quarter of an hour",
	              world_fault_name(fault), world_outage_calls(run.world, 0, 900));
	cr_assert_leq(world_refused_keys(run.world, "kubernetes"), 900, "%s: %u calls refused", world_fault_name(fault),
	              world_refused_keys(run.world, "kubernetes"));
	restore();
}

Test(credentials, a_plugin_that_fails_is_not_run_in_a_storm)
{
	fail_plugin(WORLD_REFUSE);
}

Test(credentials, a_plugin_that_hangs_is_not_run_in_a_storm)
{
	fail_plugin(WORLD_SILENCE);
}

Test(credentials, a_plugin_that_talks_nonsense_is_not_run_in_a_storm)
{
	fail_plugin(WORLD_GARBAGE);
}

Test(credentials, a_plugin_that_fails_at_the_start)
{
	use_plugin(3600);
	world_service_outage(run.world, "program", 5 * MINUTE_MS, WORLD_REFUSE);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_leq(world_outage_calls(run.world, 0, 300), 20, "%u runs", world_outage_calls(run.world, 0, 300));
	cr_assert_eq(world_refused_keys(run.world, "kubernetes"), 0, "nothing is asked without a token");
	run_must(&run, run_holding, 30 * MINUTE_MS, "it goes on by itself");
	restore();
}
