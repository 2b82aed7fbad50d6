/*
 * The world itself: if it were wrong, what the scenarios say would mean nothing.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "ask.h"
#include "world_parts.h"

#define ZEV "/apis/zonevac.dev/v1alpha1/zonalevacuations"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/zonevac/leases"
#define EVACUATION \
	"{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":\"e\"},\"spec\":{\"zoneId\":\"use1-az1\"}}"

static struct ask ask;

static void setup(void)
{
	ask_init(&ask, 1);
	world_add_zone(ask.world, "use1-az1", "us-east-1b");
	world_add_zone(ask.world, "use1-az2", "us-east-1a");
	world_add_subnet(ask.world, "subnet-a", "use1-az1");
	world_add_subnet(ask.world, "subnet-b", "use1-az2");
}

static void teardown(void)
{
	ask_done(&ask);
}

TestSuite(world, .init = setup, .fini = teardown, .timeout = 60);

static const char *patched(const char *object, const char *ops)
{
	struct error error;
	const char *failure = "";
	struct json *old = json_parse(&ask.arena, object, strlen(object), &error);
	struct json *new = sim_json_patch(&ask.arena, old, json_parse(&ask.arena, ops, strlen(ops), &error), &failure);
	return new != NULL ? json_print(new, &ask.arena) : failure;
}

Test(world, json_patch_applies_as_rfc_6902_says)
{
	cr_assert_str_eq(patched("{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b~1c\",\"value\":[1,2]}]"),
	                 "{\"a\":1,\"b/c\":[1,2]}");
	cr_assert_str_eq(
		patched("{\"a\":[1,3]}",
	            "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":2},{\"op\":\"add\",\"path\":\"/a/-\",\"value\":4}]"),
		"{\"a\":[1,2,3,4]}");
	cr_assert_str_eq(patched("{\"a\":[1,2],\"b\":{\"c\":1}}",
	                         "[{\"op\":\"remove\",\"path\":\"/a/0\"},{\"op\":\"remove\",\"path\":\"/b/c\"}]"),
	                 "{\"a\":[2],\"b\":{}}");
	cr_assert_str_eq(
		patched("{\"a\":{\"b\":1}}",
	            "[{\"op\":\"test\",\"path\":\"/a/b\",\"value\":1},{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":2}]"),
		"{\"a\":{\"b\":2}}");
	cr_assert_str_eq(patched("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]"), "{}");
}

Test(world, json_patch_refuses_what_does_not_apply)
{
	cr_assert(strstr(patched("{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]"), "failed"));
	cr_assert(strstr(patched("{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]"), "failed"));
	cr_assert(strstr(patched("{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]"), "no such path"));
	cr_assert(strstr(patched("{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]"), "no such path"));
	cr_assert(strstr(patched("{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]"), "no such path"));
	cr_assert(strstr(patched("{\"a\":[]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":1}]"), "no such path"));
}

Test(world, a_call_takes_time_and_waiting_ends_when_due)
{
	struct client *client = world_client(ask.world);
	struct instant before = client->now(client);
	const struct http_response *response = ask_kube(&ask, "GET", "/api/v1/namespaces/kube-system", NULL);
	int64_t took_ms = instant_between_ms(before, client->now(client));
	cr_assert_eq(response->status, 200);
	cr_assert(took_ms >= 5 && took_ms <= 20, "took %lld ms", (long long)took_ms);
	cr_assert_str_eq(json_path_string(ask_json(&ask, response), "metadata.uid"), WORLD_CLUSTER_UID);
	before = client->now(client);
	cr_assert_eq(ask_wait(&ask, 5000).what, CLIENT_DUE);
	cr_assert_eq(instant_between_ms(before, client->now(client)), 5000);
	client->wake(client);
	cr_assert_eq(ask_wait(&ask, 5000).what, CLIENT_WOKEN);
	cr_assert_str_eq(
		wallclock_amz((struct wallclock){client->wall(client).us / 3600000000LL * 3600000000LL}, &ask.arena),
		"20260102T030000Z");
}

Test(world, main_and_status_writes_keep_to_their_part)
{
	world_apply(ask.world, EVACUATION);
	const char *both = "[{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"phase\":\"Pending\"}},"
					   "{\"op\":\"replace\",\"path\":\"/spec/zoneId\",\"value\":\"use1-az2\"}]";
	const struct json *object = ask_json(&ask, ask_kube(&ask, "PATCH", ZEV "/e/status", both));
	cr_assert_str_eq(json_path_string(object, "status.phase"), "Pending");
	cr_assert_str_eq(json_path_string(object, "spec.zoneId"), "use1-az1");
	cr_assert_eq(json_integer(json_path(object, "metadata.generation"), 0), 1);
	both =
		"[{\"op\":\"remove\",\"path\":\"/status\"},{\"op\":\"replace\",\"path\":\"/spec/zoneId\",\"value\":\"use1-az2\"}]";
	object = ask_json(&ask, ask_kube(&ask, "PATCH", ZEV "/e", both));
	cr_assert_str_eq(json_path_string(object, "status.phase"), "Pending");
	cr_assert_str_eq(json_path_string(object, "spec.zoneId"), "use1-az2");
	cr_assert_eq(json_integer(json_path(object, "metadata.generation"), 0), 2);
	cr_assert_eq(
		ask_kube(&ask, "PATCH", ZEV "/e", "[{\"op\":\"test\",\"path\":\"/spec/zoneId\",\"value\":\"x\"}]")->status,
		422);
	cr_assert_eq(ask_kube(&ask, "PATCH", ZEV "/nobody", "[]")->status, 404);
	cr_assert_str_eq(world_phases_seen(ask.world, "e"), "Pending");
}

Test(world, a_finalizer_holds_a_deleted_object)
{
	world_apply(ask.world, EVACUATION);
	cr_assert_eq(
		ask_kube(&ask, "PATCH", ZEV "/e", "[{\"op\":\"add\",\"path\":\"/metadata/finalizers\",\"value\":[\"x/y\"]}]")
			->status,
		200);
	world_delete_evacuation(ask.world, "e");
	const struct json *object = world_evacuation(ask.world, "e");
	cr_assert(json_path_string(object, "metadata.deletionTimestamp"));
	cr_assert_eq(json_integer(json_path(object, "metadata.generation"), 0), 2);
	cr_assert_eq(
		ask_kube(&ask, "PATCH", ZEV "/e", "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"z\"}]")
			->status,
		422);
	cr_assert_eq(ask_kube(&ask, "PATCH", ZEV "/e", "[{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"}]")->status,
	             200);
	cr_assert_null(world_evacuation(ask.world, "e"));
	world_apply(ask.world, EVACUATION);
	world_delete_evacuation(ask.world, "e");
	cr_assert_null(world_evacuation(ask.world, "e"), "without a finalizer it goes at once");
}

/* The lines of a watch until one has this type; NULL after a minute. */
static const struct json *watch_until(uint64_t call, const char *type)
{
	struct text text;
	text_init(&text, 1 << 20);
	struct error error;
	const struct json *found = NULL;
	struct instant end = instant_after(world_now(ask.world), 90000);
	while (found == NULL && !instant_reached(end, world_now(ask.world))) {
		struct client_event event = ask_wait(&ask, 1000);
		if (event.what != CLIENT_CHUNK || event.call != call)
			continue;
		text_append_bytes(&text, event.bytes, event.length);
		struct string_list lines = string_list_split(text.at, "\n", &ask.arena);
		for (size_t i = 0; i < lines.count; i++) {
			const struct json *line = json_parse(&ask.arena, lines.at[i], strlen(lines.at[i]), &error);
			if (text_equal(json_get_string(line, "type"), type))
				found = line;
		}
	}
	text_done(&text);
	return found;
}

Test(world, a_watch_tells_what_changes)
{
	uint64_t call =
		ask_submit(&ask, "GET",
	               WORLD_KUBE_URL "/api/v1/nodes?watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=300",
	               NULL, true);
	world_add_node(ask.world, &(struct world_node){"n1", "use1-az1", true, "x"});
	const struct json *line = watch_until(call, "ADDED");
	cr_assert_str_eq(json_path_string(line, "object.metadata.name"), "n1");
	world_uncordon_node(ask.world, "n1");
	cr_assert(watch_until(call, "MODIFIED"));
	cr_assert(watch_until(call, "BOOKMARK"));
	world_delete_node(ask.world, "n1");
	cr_assert(watch_until(call, "DELETED"));
	world_compact(ask.world);
	world_add_node(ask.world, &(struct world_node){"n2", "use1-az1", false, NULL});
	call = ask_submit(&ask, "GET", WORLD_KUBE_URL "/api/v1/nodes?watch=1&resourceVersion=1", NULL, true);
	struct client_event event = ask_wait(&ask, 1000);
	bool gone = event.what == CLIENT_FINISHED && event.response->status == 410;
	cr_assert(gone || (event.what == CLIENT_CHUNK && watch_until(call, "nothing") == NULL));
}

Test(world, a_watch_ends_at_its_time_and_a_silent_one_is_dead)
{
	ask_submit(&ask, "GET", WORLD_KUBE_URL "/api/v1/nodes?watch=1&resourceVersion=500&timeoutSeconds=30", NULL, true);
	struct client_event event = ask_wait(&ask, 60000);
	cr_assert_eq(event.what, CLIENT_FINISHED);
	cr_assert_eq(event.response->status, 200);
	ask_submit(&ask, "GET",
	           WORLD_KUBE_URL "/api/v1/nodes?watch=1&resourceVersion=500&timeoutSeconds=3000&allowWatchBookmarks=1",
	           NULL, true);
	(void)ask_wait(&ask, 100);
	world_freeze_watches(ask.world, true);
	event = ask_wait(&ask, 400000);
	cr_assert_eq(event.what, CLIENT_FINISHED);
	cr_assert_eq(event.response->error.kind, ERROR_TIMEOUT);
}

Test(world, lists_come_in_pages)
{
	for (int i = 0; i < 5; i++)
		world_add_node(ask.world, &(struct world_node){arena_printf(&ask.arena, "n%d", i), "use1-az1", false, NULL});
	const struct json *list = ask_json(&ask, ask_kube(&ask, "GET", "/api/v1/nodes?limit=2", NULL));
	cr_assert_eq(json_count(json_get(list, "items")), 2);
	const char *next = json_path_string(list, "metadata.continue");
	list = ask_json(&ask,
	                ask_kube(&ask, "GET", arena_printf(&ask.arena, "/api/v1/nodes?limit=10&continue=%s", next), NULL));
	cr_assert_eq(json_count(json_get(list, "items")), 3);
	cr_assert_null(json_path_string(list, "metadata.continue"));
}

Test(world, a_lease_is_written_only_over_what_was_read)
{
	const char *lease = "{\"metadata\":{\"name\":\"zonevac\"},\"spec\":{\"holderIdentity\":\"me\"}}";
	const struct json *made = ask_json(&ask, ask_kube(&ask, "POST", LEASES, lease));
	const char *version = json_path_string(made, "metadata.resourceVersion");
	cr_assert_eq(ask_kube(&ask, "POST", LEASES, lease)->status, 409);
	const char *put = arena_printf(
		&ask.arena,
		"{\"metadata\":{\"name\":\"zonevac\",\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"you\"}}",
		version);
	cr_assert_eq(ask_kube(&ask, "PUT", LEASES "/zonevac", put)->status, 200);
	cr_assert_eq(ask_kube(&ask, "PUT", LEASES "/zonevac", put)->status, 409);
	cr_assert_eq(world_effects(ask.world), 0);
}

#define UPDATE "Action=UpdateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName=web&VPCZoneIdentifier="
#define DESCRIBE "Action=DescribeAutoScalingGroups&Version=2011-01-01"

Test(world, aws_answers_by_service)
{
	for (int i = 0; i < 60; i++)
		world_add_group(ask.world, arena_printf(&ask.arena, "g%02d", i), "subnet-a, subnet-b", 2, "team=web");
	cr_assert_eq(ask_kube(&ask, "GET", "/nonsense", NULL)->status, 404);
	const struct http_response *zones =
		ask_aws(&ask, "ec2", NULL, "Action=DescribeAvailabilityZones&Version=2016-11-15");
	cr_assert(strstr(zones->body, "<zoneName>us-east-1b</zoneName><zoneId>use1-az1</zoneId>"));
	const struct http_response *subnets =
		ask_aws(&ask, "ec2", NULL, "Action=DescribeSubnets&Version=2016-11-15&MaxResults=1");
	cr_assert(strstr(subnets->body, "<nextToken>page-1</nextToken>"));
	const struct http_response *groups = ask_aws(&ask, "autoscaling", NULL, DESCRIBE);
	cr_assert(strstr(groups->body, "<NextToken>page-50</NextToken>"));
	cr_assert(strstr(groups->body, "<Key>team</Key><Value>web</Value>"));
	groups = ask_aws(&ask, "autoscaling", NULL, DESCRIBE "&AutoScalingGroupNames.member.1=g07");
	cr_assert(strstr(groups->body, ">g07<") && !strstr(groups->body, ">g08<"));
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-b")->status, 400);
	cr_assert_eq(ask_aws(&ask, "dynamodb", "DescribeTable", "{\"TableName\":\"zonevac-journal\"}")->status, 400);
	world_make_table(ask.world);
	cr_assert_eq(ask_aws(&ask, "dynamodb", "DescribeTable", "{\"TableName\":\"zonevac-journal\"}")->status, 200);
}

Test(world, aws_refuses_what_is_not_signed)
{
	ask_submit(&ask, "POST", WORLD_AWS_URL "/", DESCRIBE, false);
	cr_assert_eq(ask_wait(&ask, 1000).response->status, 403);
}

static void plant(const char *state)
{
	ask_plant(&ask, world_group_arn(ask.world, "web"), state);
}

Test(world, instances_follow_the_subnets)
{
	world_make_table(ask.world);
	world_add_group(ask.world, "web", "subnet-a,subnet-b", 4, NULL);
	cr_assert_eq(world_group_instances(ask.world, "web", "use1-az1"), 2);
	plant("Intent");
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-b")->status, 200);
	cr_assert_str_eq(world_group(ask.world, "web"), "subnet-b");
	world_advance(ask.world, 200000);
	cr_assert_eq(world_group_instances(ask.world, "web", "use1-az1"), 0);
	cr_assert_eq(world_group_instances(ask.world, "web", NULL), 4);
	plant("Restoring");
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-a,subnet-b")->status, 200);
	world_advance(ask.world, 200000);
	cr_assert_eq(world_group_instances(ask.world, "web", "use1-az1"), 2);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE)->status, 400);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-x")->status, 400);
}

Test(world, a_change_without_a_record_is_caught, .signal = SIGABRT)
{
	world_make_table(ask.world);
	world_add_group(ask.world, "web", "subnet-a,subnet-b", 2, NULL);
	(void)ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-b");
}

Test(world, a_lost_record_is_caught, .signal = SIGABRT)
{
	world_make_table(ask.world);
	world_add_group(ask.world, "web", "subnet-a,subnet-b", 2, NULL);
	plant("Intent");
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE "subnet-b")->status, 200);
	(void)ask_aws(
		&ask, "dynamodb", "DeleteItem",
		arena_printf(&ask.arena,
	                 "{\"TableName\":\"%s\",\"Key\":{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"}}}",
	                 WORLD_TABLE, world_group_arn(ask.world, "web")));
}

Test(world, a_taint_without_an_annotation_is_caught, .signal = SIGABRT)
{
	world_add_node(ask.world, &(struct world_node){"n1", "use1-az1", false, NULL});
	(void)ask_kube(
		&ask, "PATCH", "/api/v1/nodes/n1",
		"[{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":[{\"key\":\"zonevac.dev/evacuated\",\"effect\":\"NoSchedule\"}]}]");
}

Test(world, an_effect_without_the_lease_is_caught, .signal = SIGABRT)
{
	world_apply(ask.world, EVACUATION);
	(void)ask_kube(&ask, "POST", LEASES, "{\"metadata\":{\"name\":\"zonevac\"},\"spec\":{\"holderIdentity\":\"me\"}}");
	(void)ask_wait(&ask, 9000);
	cr_assert_eq(ask_kube(&ask, "PATCH", ZEV "/e", "[]")->status, 200, "still good");
	(void)ask_wait(&ask, 2000);
	(void)ask_kube(&ask, "PATCH", ZEV "/e", "[]");
}

Test(world, waiting_for_nothing_is_caught, .signal = SIGABRT)
{
	(void)ask_wait(&ask, 2 * 3600 * 1000);
}

static const char *kill_and_see(enum world_kill when)
{
	world_apply(ask.world, EVACUATION);
	world_kill_at(ask.world, 2, when);
	const char *ops = "[{\"op\":\"replace\",\"path\":\"/spec/zoneId\",\"value\":\"first\"}]";
	cr_assert_eq(ask_kube(&ask, "PATCH", ZEV "/e", ops)->status, 200);
	ops = "[{\"op\":\"replace\",\"path\":\"/spec/zoneId\",\"value\":\"second\"}]";
	cr_assert_null(ask_kube(&ask, "PATCH", ZEV "/e", ops));
	cr_assert(world_killed(ask.world));
	cr_assert_null(ask_kube(&ask, "PATCH", ZEV "/e", ops), "the dead are not served");
	world_revive(ask.world);
	cr_assert_not(world_killed(ask.world));
	cr_assert_eq(world_effects(ask.world), 2);
	return json_path_string(ask_json(&ask, ask_kube(&ask, "GET", ZEV "/e", NULL)), "spec.zoneId");
}

Test(world, killed_before_an_effect_it_does_not_happen)
{
	cr_assert_str_eq(kill_and_see(WORLD_KILL_BEFORE), "first");
}

Test(world, killed_after_an_effect_it_has_happened)
{
	cr_assert_str_eq(kill_and_see(WORLD_KILL_AFTER), "second");
}

static const struct http_response *fault_and_ask(enum world_fault fault)
{
	const char *ops = "[{\"op\":\"replace\",\"path\":\"/spec/zoneId\",\"value\":\"changed\"}]";
	world_apply(ask.world, EVACUATION);
	world_fault(ask.world, "PATCH zonalevacuations", 2, fault);
	cr_assert_eq(ask_kube(&ask, "PATCH", ZEV "/e", "[]")->status, 200, "only the second is hit");
	return ask_kube(&ask, "PATCH", ZEV "/e", ops);
}

static bool changed(void)
{
	return text_equal(json_path_string(world_evacuation(ask.world, "e"), "spec.zoneId"), "changed");
}

Test(world, faults_before_the_effect)
{
	cr_assert_eq(fault_and_ask(WORLD_THROTTLE)->status, 429);
	cr_assert_eq(fault_and_ask(WORLD_ERROR_BEFORE)->status, 500);
	cr_assert_eq(fault_and_ask(WORLD_REFUSE)->error.kind, ERROR_UNREACHABLE);
	cr_assert_not(changed());
}

Test(world, faults_after_the_effect)
{
	cr_assert_eq(fault_and_ask(WORLD_ERROR_AFTER)->status, 500);
	cr_assert(changed());
	cr_assert_eq(fault_and_ask(WORLD_BREAK)->error.kind, ERROR_UNREACHABLE);
	cr_assert(changed());
	struct instant before = world_now(ask.world);
	cr_assert_eq(fault_and_ask(WORLD_LOSE_REPLY)->error.kind, ERROR_TIMEOUT);
	cr_assert(changed());
	cr_assert_geq(instant_between_ms(before, world_now(ask.world)), 10000);
}

Test(world, a_late_effect_happens_after_its_caller_gave_up)
{
	cr_assert_eq(fault_and_ask(WORLD_LATE)->error.kind, ERROR_TIMEOUT);
	cr_assert_not(changed());
	(void)ask_wait(&ask, 40000);
	cr_assert(changed());
}

Test(world, the_same_seed_is_the_same_world)
{
	struct ask one;
	struct ask other;
	ask_init(&one, 1);
	ask_init(&other, 1);
	for (int i = 0; i < 20; i++) {
		(void)ask_kube(&one, "GET", "/api/v1/nodes", NULL);
		(void)ask_kube(&other, "GET", "/api/v1/nodes", NULL);
	}
	cr_assert_eq(world_now(one.world).ms, world_now(other.world).ms);
	cr_assert_eq(world_client(one.world)->random(world_client(one.world)),
	             world_client(other.world)->random(world_client(other.world)));
	ask_done(&one);
	ask_done(&other);
}
