/*
 * The world's pods, budgets and nodes of groups: if they were wrong, what the scenarios say would mean nothing.
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

TestSuite(world_pods, .init = setup, .fini = teardown, .timeout = 60);

#define EVACUATION                                                                                        \
	"{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":\"e\"," \
	"\"finalizers\":[\"zonevac.dev/recovery\"]},\"spec\":{\"zoneId\":\"use1-az1\"}}"
#define TAINT(effect)                                                                                                                                                \
	"[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"zonevac.dev/evacuated\":\"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"" WORLD_CLUSTER_UID \
	"\\\"}\"}},{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":[{\"key\":\"zonevac.dev/evacuated\",\"effect\":\"" effect                                         \
	"\"}]}]"

static void add_pod(const char *name, const char *node, const char *owner_kind)
{
	const char *owner = owner_kind != NULL ? "web" : NULL;
	world_add_pod(ask.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = name,
	                                             .node = node,
	                                             .owner_kind = owner_kind,
	                                             .owner = owner,
	                                             .grace_s = 30});
}

/* n1 in the zone that is evacuated and n2 outside. */
static void add_nodes(void)
{
	world_apply(ask.world, EVACUATION);
	world_add_node(ask.world, &(struct world_node){.name = "n1", .zone_id = "use1-az1"});
	world_add_node(ask.world, &(struct world_node){.name = "n2", .zone_id = "use1-az2"});
}

static void taint(const char *node, const char *ops)
{
	cr_assert_eq(ask_kube(&ask, "PATCH", arena_printf(&ask.arena, "/api/v1/nodes/%s", node), ops)->status, 200);
}

static const struct http_response *evict_uid(const char *name, const char *uid)
{
	return ask_kube(&ask, "POST", arena_printf(&ask.arena, "/api/v1/namespaces/default/pods/%s/eviction", name),
	                arena_printf(&ask.arena,
	                             "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\","
	                             "\"namespace\":\"default\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}}}",
	                             name, uid));
}

static const struct http_response *evict(const char *name)
{
	return evict_uid(name, json_path_string(world_pod(ask.world, "default", name), "metadata.uid"));
}

Test(world_pods, pods_are_listed_by_node_in_pages)
{
	add_nodes();
	for (int i = 0; i < 6; i++)
		add_pod(arena_printf(&ask.arena, "web-%d", i), i == 0 ? "n2" : "n1", "ReplicaSet");
	const char *path = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=500";
	const struct json *list = ask_json(&ask, ask_kube(&ask, "GET", path, NULL));
	cr_assert_str_eq(json_get_string(list, "kind"), "PodList");
	cr_assert_eq(json_count(json_get(list, "items")), 4);
	const char *next = json_path_string(list, "metadata.continue");
	list = ask_json(&ask, ask_kube(&ask, "GET", arena_printf(&ask.arena, "%s&continue=%s", path, next), NULL));
	cr_assert_eq(json_count(json_get(list, "items")), 1);
	cr_assert_null(json_path_string(list, "metadata.continue"));
	cr_assert_eq(world_calls(ask.world, "LIST pods"), 2);
	const struct json *pod = ask_json(&ask, ask_kube(&ask, "GET", "/api/v1/namespaces/default/pods/web-0", NULL));
	cr_assert_str_eq(json_path_string(pod, "spec.nodeName"), "n2");
	cr_assert_eq(ask_kube(&ask, "GET", "/api/v1/namespaces/other/pods/web-0", NULL)->status, 404);
	cr_assert_eq(world_pods_on(ask.world, "n1"), 5);
}

Test(world_pods, an_evicted_pod_ends_and_is_made_anew_elsewhere)
{
	add_nodes();
	taint("n1", TAINT("NoSchedule"));
	add_pod("web-1", "n1", "ReplicaSet");
	unsigned effects = world_effects(ask.world);
	cr_assert_eq(evict_uid("web-1", "another")->status, 409);
	cr_assert_eq(evict("web-1")->status, 201);
	cr_assert_eq(world_effects(ask.world), effects + 2);
	cr_assert(json_path_string(world_pod(ask.world, "default", "web-1"), "metadata.deletionTimestamp"));
	world_advance(ask.world, 6000);
	cr_assert_eq(world_pods_on(ask.world, "n2"), 1, "made anew while the old one ends");
	cr_assert_eq(world_pods_on(ask.world, "n1"), 1);
	world_advance(ask.world, 30000);
	cr_assert_eq(world_pods_on(ask.world, "n1"), 0);
	cr_assert_eq(evict_uid("web-1", "x")->status, 404);
	cr_assert_eq(world_evictions(ask.world), 1);
}

Test(world_pods, a_budget_lets_so_many_go_at_a_time)
{
	add_nodes();
	taint("n1", TAINT("NoSchedule"));
	add_pod("web-1", "n1", "ReplicaSet");
	add_pod("web-2", "n1", "ReplicaSet");
	world_add_budget(ask.world, "default", "web", "web", 1);
	cr_assert_eq(evict("web-1")->status, 201);
	const struct http_response *refused = evict("web-2");
	cr_assert_eq(refused->status, 429);
	cr_assert_null(http_header(&refused->headers, "Retry-After"));
	const struct json *causes = json_path(ask_json(&ask, refused), "details.causes");
	cr_assert_str_eq(json_get_string(json_at(causes, 0), "reason"), "DisruptionBudget");
	cr_assert(strstr(json_get_string(json_at(causes, 0), "message"), "The disruption budget web needs"));
	cr_assert_eq(evict("web-1")->status, 201, "it is going already, no budget is asked");
	world_advance(ask.world, 6000);
	cr_assert_eq(evict("web-2")->status, 201);
	add_pod("web-3", "n1", "ReplicaSet");
	world_add_budget(ask.world, "default", "web-too", "web", 5);
	const struct http_response *ambiguous = evict("web-3");
	cr_assert_eq(ambiguous->status, 201);
	cr_assert_str_eq(json_get_string(ask_json(&ask, ambiguous), "status"), "Failure");
	cr_assert_eq(world_evictions(ask.world), 2);
}

Test(world_pods, without_a_node_to_go_to_a_pod_is_pending)
{
	add_nodes();
	taint("n1", TAINT("NoSchedule"));
	world_add_volume(ask.world, "default/data", "use1-az1");
	world_add_budget(ask.world, "default", "db", "db", 1);
	world_add_pod(ask.world, &(struct world_pod){.namespace_ = "default",
	                                             .name = "db-0",
	                                             .node = "n1",
	                                             .owner_kind = "StatefulSet",
	                                             .owner = "db",
	                                             .claim = "data",
	                                             .grace_s = 5});
	cr_assert_eq(evict("db-0")->status, 201);
	world_advance(ask.world, 60000);
	const struct json *pod = world_pod(ask.world, "default", "db-0");
	cr_assert_str_eq(json_path_string(pod, "status.phase"), "Pending");
	cr_assert_null(json_path_string(pod, "spec.nodeName"));
	world_strip_node(ask.world, "n1");
	world_advance(ask.world, 20000);
	pod = world_pod(ask.world, "default", "db-0");
	cr_assert_str_eq(json_path_string(pod, "spec.nodeName"), "n1");
	world_add_volume(ask.world, "default/more", "use1-az2");
	world_add_volume(ask.world, "default/most", "use1-az2");
	const struct json *list = ask_json(&ask, ask_kube(&ask, "GET", "/api/v1/persistentvolumes?limit=500", NULL));
	cr_assert_eq(json_count(json_get(list, "items")), 2);
	cr_assert(json_path_string(list, "metadata.continue"));
	cr_assert_str_eq(json_path_string(json_at(json_get(list, "items"), 0), "spec.claimRef.name"), "data");
}

Test(world_pods, no_execute_asks_no_budget)
{
	add_nodes();
	add_pod("web-1", "n1", "ReplicaSet");
	add_pod("lone", "n1", NULL);
	add_pod("agent", "n1", "DaemonSet");
	world_add_pod(ask.world,
	              &(struct world_pod){.namespace_ = "default", .name = "static", .node = "n1", .mirror = true});
	world_add_budget(ask.world, "default", "web", "web", 0);
	cr_assert_eq(world_pods_on(ask.world, "n1"), 2);
	taint("n1", TAINT("NoExecute"));
	world_advance(ask.world, 40000);
	cr_assert_eq(world_pods_on(ask.world, "n1"), 0);
	cr_assert_eq(world_pods_on(ask.world, "n2"), 1);
	cr_assert(world_pod(ask.world, "default", "agent"));
	cr_assert(world_pod(ask.world, "default", "static"));
	cr_assert_eq(world_evictions(ask.world), 0);
}

Test(world_pods, on_a_frozen_node_nothing_ends)
{
	add_nodes();
	add_pod("web-1", "n1", "ReplicaSet");
	world_freeze_node(ask.world, "n1");
	const struct json *condition = json_at(json_path(world_node(ask.world, "n1"), "status.conditions"), 0);
	cr_assert_str_eq(json_get_string(condition, "status"), "False");
	condition = json_at(json_path(world_node(ask.world, "n2"), "status.conditions"), 0);
	cr_assert_str_eq(json_get_string(condition, "status"), "True");
	cr_assert_eq(evict("web-1")->status, 201);
	world_advance(ask.world, 600000);
	cr_assert_eq(world_pods_on(ask.world, "n1"), 1);
	world_delete_node(ask.world, "n1");
	cr_assert_eq(world_pods_on(ask.world, "n1"), 0);
}

#define UPDATE_GROUP \
	"Action=UpdateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName=workers&VPCZoneIdentifier=subnet-b"

static const char *add_workers(void)
{
	world_apply(ask.world, EVACUATION);
	world_add_group(ask.world, "workers", "subnet-a,subnet-b", 4, NULL);
	world_add_group_nodes(ask.world, "workers");
	ask_plant(&ask, world_group_arn(ask.world, "workers"), "Intent");
	const char *node = arena_string(&ask.arena, world_group_node(ask.world, "workers", "use1-az1", 0));
	add_pod("web-1", node, "ReplicaSet");
	return node;
}

Test(world_pods, nodes_come_and_go_with_the_instances_of_their_group)
{
	const char *node = add_workers();
	const char *provider = json_path_string(world_node(ask.world, node), "spec.providerID");
	cr_assert(text_starts_with(provider, "aws:///us-east-1b/i-0"));
	cr_assert(world_group_node(ask.world, "workers", NULL, 3));
	cr_assert_null(world_group_node(ask.world, "workers", "use1-az1", 2));
	const char *before = world_fingerprint(ask.world, &ask.arena);
	world_allow_undrained(ask.world);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE_GROUP)->status, 200);
	world_advance(ask.world, 300000);
	cr_assert_null(world_node(ask.world, node));
	cr_assert_null(world_pod(ask.world, "default", "web-1"));
	cr_assert_null(world_group_node(ask.world, "workers", "use1-az1", 0));
	cr_assert(world_group_node(ask.world, "workers", "use1-az2", 3), "those launched since have joined");
	world_edit_group(ask.world, "workers", "subnet-a,subnet-b");
	world_advance(ask.world, 300000);
	cr_assert_str_eq(world_fingerprint(ask.world, &ask.arena), before, "who the nodes are does not matter");
}

Test(world_pods, a_group_changed_before_its_nodes_are_drained_is_caught, .signal = SIGABRT)
{
	(void)add_workers();
	(void)ask_aws(&ask, "autoscaling", NULL, UPDATE_GROUP);
}

Test(world_pods, a_group_may_be_changed_when_its_nodes_are_drained)
{
	const char *node = add_workers();
	taint(node, TAINT("NoSchedule"));
	taint(world_group_node(ask.world, "workers", "use1-az1", 1), TAINT("NoSchedule"));
	add_pod("agent", node, "DaemonSet");
	add_pod("lone", node, NULL);
	cr_assert_eq(evict("web-1")->status, 201);
	world_advance(ask.world, 40000);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, UPDATE_GROUP)->status, 200);
}

Test(world_pods, a_pod_evicted_where_nothing_is_evacuated_is_caught, .signal = SIGABRT)
{
	add_nodes();
	add_pod("web-1", "n2", "ReplicaSet");
	(void)evict("web-1");
}

Test(world_pods, an_evicted_daemon_is_caught, .signal = SIGABRT)
{
	add_nodes();
	add_pod("agent", "n1", "DaemonSet");
	(void)evict("agent");
}

Test(world_pods, an_evicted_pod_that_nobody_brings_back_is_caught, .signal = SIGABRT)
{
	add_nodes();
	add_pod("lone", "n1", NULL);
	(void)evict("lone");
}

Test(world_pods, an_eviction_can_be_the_last_effect)
{
	add_nodes();
	add_pod("web-1", "n1", "ReplicaSet");
	world_kill_at(ask.world, 1, WORLD_KILL_BEFORE);
	cr_assert_null(evict("web-1"));
	cr_assert_eq(world_evictions(ask.world), 0);
	world_revive(ask.world);
	cr_assert_eq(evict("web-1")->status, 201);
}
