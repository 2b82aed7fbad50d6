/*
 * Nothing is claimed that is not so, nothing is believed at the first glance, and one that waits holds up nobody.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static struct run run;
static struct arena arena;
static const char *before;
static char token_path[] = "/tmp/zonevac-sim-token-XXXXXX";

static void setup(void)
{
	run_init(&run, 9);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_region(&run);
	before = world_fingerprint(run.world, &arena);
}

static void teardown(void)
{
	if (run.kube.token_file != NULL)
		(void)unlink(run.kube.token_file);
	run_done(&run);
	arena_done(&arena);
}

TestSuite(claims, .init = setup, .fini = teardown, .timeout = 240);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)
#define assert_condition(type, status) \
	cr_assert_str_eq(world_condition(run.world, "out", type, NULL), status, "%s", type)

static void finish(void)
{
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* Applied is not Settled. */

static void assert_only_applied(void)
{
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Applied");
	cr_assert_gt(world_group_instances(run.world, "web", "use1-az1"), 0);
	assert_condition("Evacuated", "False");
	assert_condition("Complete", "False");
	cr_assert_str_eq(json_path_string(world_evacuation(run.world, "out"), "status.progress"), "6/7");
}

/* Instances of a group that stay in the zone to the deadline of half an hour, and long after. */
Test(claims, what_is_applied_at_the_deadline_is_not_evacuated_until_the_instances_have_left)
{
	world_pin_instances(run.world, "web", "use1-az1", true);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, run_holding, 90 * MINUTE_MS, "it holds");
	run_for(&run, 3000);
	cr_assert_str_eq(run_record_state(&run, "web"), "Applied");
	assert_only_applied();
	run_for(&run, 20 * MINUTE_MS);
	assert_only_applied();
	run_stop(&run);
	run_for(&run, 20 * MINUTE_MS);
	assert_only_applied();
	world_pin_instances(run.world, "web", "use1-az1", false);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_eq(world_group_instances(run.world, "web", "use1-az1"), 0);
	cr_assert_str_eq(world_change_state(run.world, "out", "web"), "Settled");
	assert_condition("Evacuated", "True");
	assert_condition("Complete", "True");
	finish();
}

static void unlabel_zone_id(const char *node)
{
	world_label_node(run.world, node, "topology.k8s.aws/zone-id", NULL);
}

Test(claims, nodes_of_a_zone_that_only_aws_can_tell_are_not_claimed_without_aws)
{
	unlabel_zone_id("node-a1");
	unlabel_zone_id("node-a2");
	world_aws_outage(run.world, 30 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	cr_assert_not(run_holding(&run));
	assert_condition("Evacuated", "False");
	assert_condition("Complete", "False");
	assert_condition("Ready", "False");
	cr_assert_str_neq(run_stalled_because(&run, "out"), "", "it says what it waits for");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds, once AWS is back");
	run_for(&run, 3000);
	cr_assert(world_node_tainted(run.world, "node-a1") && world_node_tainted(run.world, "node-a2"));
	cr_assert_not(world_node_tainted(run.world, "node-b1"));
	assert_condition("Evacuated", "True");
}

Test(claims, nodes_whose_labels_tell_their_zone_are_held_without_aws)
{
	world_aws_outage(run.world, 60 * MINUTE_MS);
	run_apply(&run, "out", "use1-az1", RUN_ALL_NODES);
	run_for(&run, MINUTE_MS);
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	cr_assert(world_node_tainted(run.world, "node-a1") && world_node_tainted(run.world, "node-a2"));
	assert_condition("Evacuated", "True");
	cr_assert_str_eq(run_stalled_because(&run, "out"), "");
}

static bool resize_failed(struct run *at)
{
	return strcmp(run_state(at, "resize"), "Failed") == 0;
}

/* What failed and is tried again is neither failed nor out. */
Test(claims, what_is_tried_again_is_not_evacuated_until_it_is_out)
{
	teardown();
	run_init(&run, 9);
	arena_init(&arena, "test", 64 * 1024 * 1024);
	run_add_every_kind(&run);
	before = world_fingerprint(run.world, &arena);
	world_fail_update(run.world, "resize", "SubnetOutOfIPAddresses");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_must(&run, resize_failed, 30 * MINUTE_MS, "its update failed");
	struct instant limit = instant_after(world_now(run.world), 10 * MINUTE_MS);
	while (strcmp(world_condition(run.world, "out", "Evacuated", NULL), "True") != 0) {
		cr_assert_not(instant_reached(limit, world_now(run.world)), "it is out at last");
		run_for(&run, 10);
	}
	cr_assert_str_eq(world_function(run.world, "resize"), "subnet-b1");
	cr_assert_str_eq(run_state(&run, "resize"), "Settled");
	finish();
}

/* Just taken out, and the first look at it shows it as it was before that. */
Test(claims, an_old_answer_does_not_close_a_record)
{
	static const char *const looks[] = {"DescribeAutoScalingGroups", "DescribeServices", "GetFunction"};
	for (size_t i = 0; i < 3; i++) {
		teardown();
		run_init(&run, 9);
		arena_init(&arena, "test", 64 * 1024 * 1024);
		run_add_every_kind(&run);
		before = world_fingerprint(run.world, &arena);
		run_evacuate(&run, "out", "use1-az1", "Evacuate");
		run_for(&run, 3000);
		world_delete_evacuation(run.world, "out");
		for (unsigned nth = 1; nth <= 4; nth++)
			world_fault(run.world, looks[i], nth, WORLD_STALE);
		run_must(&run, run_gone, 30 * MINUTE_MS, looks[i]);
		run_assert_as_before(&run, before, looks[i]);
	}
}

/* Absence. */

Test(claims, a_subnet_missing_from_one_answer_is_not_lost)
{
	run_hold(&run);
	world_hide_subnet(run.world, "subnet-a2", 1);
	finish();
}

Test(claims, a_group_missing_from_one_answer_is_not_lost)
{
	run_hold(&run);
	world_hide_group(run.world, "web", 1);
	finish();
}

Test(claims, a_subnet_missing_from_each_answer_of_a_process_that_dies_is_not_lost)
{
	run_hold(&run);
	world_hide_subnet(run.world, "subnet-a2", 1);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 30000);
	assert_group("api", "subnet-b1,subnet-a1,subnet-c1");
	world_hide_subnet(run.world, "subnet-a2", 1);
	run_stop(&run);
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

/* A minute passes after the one answer, but nobody could look again meanwhile. */
Test(claims, a_subnet_missing_from_the_only_answer_of_a_minute_is_not_lost)
{
	run_hold(&run);
	world_hide_subnet(run.world, "subnet-a2", 1);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 10000);
	for (unsigned i = 1; i <= 30; i++)
		world_fault(run.world, "DescribeSubnets", i, WORLD_ERROR_BEFORE);
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(run_record_state(&run, "api"), "Restoring");
	cr_assert_str_eq(run_record_state(&run, "batch"), "Restoring");
	run_must(&run, run_gone, 60 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

static bool api_and_batch_are_closed(struct run *at)
{
	return run_record_state(at, "api")[0] == '\0' && run_record_state(at, "batch")[0] == '\0';
}

Test(claims, a_subnet_is_believed_deleted_after_a_minute_and_a_second_observation)
{
	run_hold(&run);
	world_delete_subnet(run.world, "subnet-a2");
	struct instant deleted = world_now(run.world);
	unsigned observations = world_calls(run.world, "DescribeSubnets");
	world_delete_evacuation(run.world, "out");
	run_for(&run, 10000);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-a1,subnet-c1");
	run_for(&run, 45000);
	cr_assert_str_eq(run_record_state(&run, "api"), "Restoring");
	cr_assert_str_eq(run_record_state(&run, "batch"), "Restoring");
	run_must(&run, api_and_batch_are_closed, 10 * MINUTE_MS, "it is believed at last");
	cr_assert_geq(instant_between_ms(deleted, world_now(run.world)), MINUTE_MS);
	cr_assert_geq(world_calls(run.world, "DescribeSubnets") - observations, 2);
	run_must(&run, run_gone, 10 * MINUTE_MS, "gone");
	assert_group("api", "subnet-b1,subnet-a1,subnet-c1");
	assert_group("batch", "subnet-b2");
	cr_assert_eq(world_records(run.world), 0);
}

/* What waits holds up nobody. */

#define MANY 30
#define MANY_SUBNETS "subnet-a1,subnet-b1"

static int many_back(void)
{
	int back = 0;
	for (int i = 0; i < MANY; i++)
		back += strcmp(world_group(run.world, arena_printf(&arena, "many-%02d", i)), MANY_SUBNETS) == 0;
	return back;
}

/* A process dies over many updates without an answer: each record stays open until none of them can land, and no group waits for another's. */
Test(claims, records_that_wait_hold_up_no_group)
{
	for (int i = 0; i < MANY; i++)
		world_add_group(run.world, arena_printf(&arena, "many-%02d", i), MANY_SUBNETS, 1, NULL);
	before = world_fingerprint(run.world, &arena);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_to_calls(&run, "UpdateAutoScalingGroup", MANY + 5);
	run_for(&run, 50);
	run_stop(&run);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 90000);
	cr_assert_eq(many_back(), MANY, "%d of %d are back", many_back(), MANY);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_gt(world_records(run.world), 0, "records wait");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

/* The journal. */

static void put_record(const char *type, const char *owner)
{
	char json[1024];
	(void)snprintf(
		json, sizeof(json),
		"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"strange\"},\"resourceType\":{\"S\":\"%s\"},"
		"\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},\"order\":{\"L\":[]},\"state\":{\"S\":\"Settled\"},"
		"\"owners\":{\"SS\":[\"%s\"]},\"undone\":{\"N\":\"0\"},\"attempt\":{\"S\":\"x\"},"
		"\"createdAt\":{\"S\":\"2026-01-01T00:00:00Z\"},\"updatedAt\":{\"S\":\"2026-01-01T00:00:00Z\"}}",
		type, owner);
	world_put_item(run.world, json);
}

static void assert_all_but_the_strange_is_back(const char *reason)
{
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	assert_group("api", "subnet-b1,subnet-a1,subnet-a2,subnet-c1");
	assert_group("batch", "subnet-a2,subnet-b2");
	cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_tainted(run.world, "node-a2"));
	cr_assert_eq(world_records(run.world), 1);
	cr_assert_not_null(world_record(run.world, "use1-az1", "strange"));
	cr_assert_not_null(world_evacuation(run.world, "out"));
	cr_assert_str_eq(run_stalled_because(&run, "out"), reason);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1, "the zone is not given up while something may be out");
}

static void restore_past_the_strange(const char *reason)
{
	world_delete_evacuation(run.world, "out");
	run_for(&run, 10 * MINUTE_MS);
	assert_all_but_the_strange_is_back(reason);
	run_stop(&run);
	run_for(&run, 30 * MINUTE_MS);
	assert_all_but_the_strange_is_back(reason);
	world_delete_item(run.world, "use1-az1", "strange");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone, once the item is deleted");
	run_assert_as_before(&run, before, "in the end");
}

/* As the journal has them: of another owner, and of ours but about another account's group. */
static const char *record_json(const char *resource_id, const char *owner)
{
	return arena_printf(
		&arena,
		"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},"
		"\"resourceType\":{\"S\":\"AutoScalingGroup\"},\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a1\"}]},"
		"\"order\":{\"L\":[]},\"state\":{\"S\":\"Settled\"},\"owners\":{\"SS\":[\"%s\"]},"
		"\"attempt\":{\"S\":\"theirs/0/1\"},\"createdAt\":{\"S\":\"2026-01-02T03:04:05Z\"},"
		"\"updatedAt\":{\"S\":\"2026-01-02T03:04:05Z\"},"
		"\"detail\":{\"M\":{\"schema\":{\"N\":\"1\"},\"name\":{\"S\":\"web\"}}}}",
		resource_id, owner);
}

/* What others hold comes first in the partition, and fills its first pages. */
Test(claims, records_of_others_hide_none_of_ours)
{
	dynamo_set_page(world_dynamo(run.world), 2);
	for (int i = 0; i < 5; i++)
		world_put_item(run.world, record_json(arena_printf(&arena, "arn:0%d", i), "another-cluster"));
	run_hold(&run);
	world_delete_evacuation(run.world, "out");
	while (strcmp(run_record_state(&run, "web"), "Restoring") != 0)
		run_for(&run, 1);
	run_stop(&run); /* the next one knows only what it reads */
	run_must(&run, run_gone, 60 * MINUTE_MS, "gone");
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_eq(world_records(run.world), 5);
	for (int i = 0; i < 5; i++)
		world_delete_item(run.world, "use1-az1", arena_printf(&arena, "arn:0%d", i));
	run_assert_as_before(&run, before, "in the end");
}

/* A process that comes right after the one that wrote them finds no less than that did. */
Test(claims, records_written_a_moment_ago_are_found)
{
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_to_calls(&run, "UpdateAutoScalingGroup", 5);
	run_for(&run, 200);
	run_stop(&run);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "in the end");
}

Test(claims, a_record_of_another_account_is_left_alone)
{
	const char *arn = "arn:aws:autoscaling:us-east-1:999999999999:autoScalingGroup:x:autoScalingGroupName/web";
	run_hold(&run);
	world_put_item(run.world, record_json(arn, WORLD_CLUSTER_UID));
	world_delete_evacuation(run.world, "out");
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_not_null(world_record(run.world, "use1-az1", arn));
	cr_assert_not(run_gone(&run), "it keeps the object");
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	world_delete_item(run.world, "use1-az1", arn);
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone, once it is deleted");
	run_assert_as_before(&run, before, "in the end");
}

Test(claims, an_item_that_is_no_record_keeps_only_the_object)
{
	run_hold(&run);
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"strange\"},\"note\":{\"S\":\"x\"}}");
	run_for(&run, 15 * MINUTE_MS);
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	restore_past_the_strange("UnreadableRecord");
}

Test(claims, a_record_of_an_unknown_kind_keeps_only_the_object)
{
	run_hold(&run);
	put_record("FutureKind", WORLD_CLUSTER_UID);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert(run_holding(&run), "phase %s", world_phase(run.world, "out"));
	restore_past_the_strange("UnknownKind");
}

Test(claims, a_record_of_an_unknown_kind_of_another_owner_keeps_nobody)
{
	run_hold(&run);
	put_record("FutureKind", "another-cluster");
	run_restore(&run);
	cr_assert_eq(world_records(run.world), 1);
	world_delete_item(run.world, "use1-az1", "strange");
	run_assert_as_before(&run, before, "in the end");
}

Test(claims, a_record_deleted_while_its_group_is_held_is_written_again)
{
	run_hold(&run);
	world_delete_record(run.world, "use1-az1", "web");
	world_delete_record(run.world, "use1-az1", "api");
	run_for(&run, 7 * MINUTE_MS);
	cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
	cr_assert_str_eq(run_record_state(&run, "api"), "Settled");
	assert_group("web", "subnet-b1,subnet-c1");
	run_stop(&run);
	finish();
}

/* Another account. */

static unsigned aws_writes(void)
{
	return world_calls(run.world, "UpdateAutoScalingGroup") + world_calls(run.world, "PutItem") +
	       world_calls(run.world, "UpdateItem") + world_calls(run.world, "DeleteItem");
}

Test(claims, credentials_of_another_account_stall_and_touch_nothing)
{
	run_hold(&run);
	run_for(&run, MINUTE_MS);
	world_set_account(run.world, "999999999999");
	unsigned writes = aws_writes();
	run_for(&run, 7 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherAccount");
	run_stop(&run);
	run_for(&run, MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherAccount");
	world_delete_evacuation(run.world, "out");
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherAccount");
	cr_assert_eq(aws_writes(), writes);
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_str_eq(json_path_string(world_evacuation(run.world, "out"), "status.accountId"), WORLD_ACCOUNT);
	cr_assert_not(world_node_tainted(run.world, "node-a1"), "nodes do not wait for AWS");
	world_set_account(run.world, WORLD_ACCOUNT);
	run_must(&run, run_gone, 30 * MINUTE_MS, "gone, with the credentials given back");
	run_assert_as_before(&run, before, "in the end");
}

/* Tokens. */

static void write_token(const char *token)
{
	FILE *file = fopen(token_path, "w");
	cr_assert_not_null(file);
	cr_assert_geq(fputs(token, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static void use_token_file(void)
{
	int descriptor = mkstemp(token_path);
	cr_assert_geq(descriptor, 0);
	(void)close(descriptor);
	write_token("first");
	world_set_token(run.world, "first");
	run.kube.token_file = token_path;
}

static void replace_token(const char *token)
{
	write_token(token);
	world_set_token(run.world, token);
}

/* The token was read a moment ago, so that its age alone is no reason to read it again before the lease is lost. */
Test(claims, a_token_refused_at_the_lease_is_read_again)
{
	use_token_file();
	run_for(&run, 20000);
	unsigned renewals = world_calls(run.world, "PUT leases");
	replace_token("second");
	run_for(&run, 20000);
	cr_assert_not(run.ended, "the lease is kept");
	cr_assert_gt(world_calls(run.world, "PUT leases"), renewals);
	cr_assert_str_eq(run.kube.token, "second");
	run_hold(&run);
	finish();
}

Test(claims, a_token_refused_at_a_watch_is_read_again)
{
	run.settings.leader_elect = false;
	use_token_file();
	run_for(&run, 5000);
	unsigned watches = world_calls(run.world, "WATCH zonalevacuations");
	replace_token("second");
	world_end_watches(run.world);
	run_for(&run, 10000);
	cr_assert_str_eq(run.kube.token, "second");
	cr_assert_gt(world_calls(run.world, "WATCH zonalevacuations"), watches);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 5000);
	cr_assert(world_node_tainted(run.world, "node-a1"), "the watch tells of it at once");
	run_must(&run, run_holding, 30 * MINUTE_MS, "holds");
	finish();
}

/* A typo in a selector looks like this: nothing was done, so nothing is claimed. */
Test(claims, what_selects_nothing_is_neither_evacuated_nor_complete)
{
	const char *reason;

	run_apply(&run, "out", "use1-az1", "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"wbe-*\"]}}]");
	run_must(&run, run_holding, 5 * MINUTE_MS, "there is nothing to wait for");
	run_for(&run, 2000);
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", &reason), "False");
	cr_assert_str_eq(reason, "NothingSelected");
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", &reason), "False");
}

/* Nodes are taken without asking AWS; when the journal then says that another cluster holds another zone, they are given back. */
Test(claims, nodes_are_given_back_when_the_journal_refuses_the_zone)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az2\":{\"SS\":[\"another-cluster\"]}}");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "OtherZone");
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	cr_assert_not(world_node_cordoned(run.world, "node-a1"));
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	run_restore(&run);
}
