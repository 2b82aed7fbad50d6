#include "actuators/registry.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "data.h"
#include "domain/delta.h"

static struct arena arena;
static struct error error;
static struct scope scope;
static const struct actuator *const group = &auto_scaling_group;

static void add_subnet(const char *id, const char *zone_id, const char *zone_name, const char *vpc_id)
{
	struct subnets *subnets = &scope.subnets;

	subnets->at = arena_grow(&arena, subnets->at, subnets->count, &subnets->capacity, sizeof(*subnets->at));
	subnets->at[subnets->count++] = (struct subnet){id, zone_id, zone_name, vpc_id};
}

static void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	error = (struct error){0};
	scope =
		(struct scope){.zone_id = "use1-az1", .zone_name = "us-east-1a", .region = "us-east-1", .cluster_name = "prod"};
	add_subnet("subnet-0a1", "use1-az1", "us-east-1a", "vpc-0main");
	add_subnet("subnet-0a2", "use1-az1", "us-east-1a", "vpc-0main");
	add_subnet("subnet-0b1", "use1-az2", "us-east-1b", "vpc-0main");
	add_subnet("subnet-0c1", "use1-az4", "us-east-1c", "vpc-0main");
	add_subnet("subnet-0x1", "use1-az1", "us-east-1a", "vpc-0other");
	add_subnet("subnet-0x2", "use1-az2", "us-east-1b", "vpc-0other");
	subnets_sort(&scope.subnets);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(group, .init = set_up, .fini = tear_down);

static struct string_list list(const char *joined)
{
	return string_list_split(joined, ",", &arena);
}

static const char *joined(const struct string_list *strings)
{
	return string_list_join(strings, &arena, ",");
}

/* All groups of recorded answers, by name. */
static struct resources resources;

static const struct resource *learn_group(const char *file, const char *name)
{
	struct http_response response = data_response(&arena, 200, file);
	struct probes probes = {0};
	struct probes further = {0};

	resources = (struct resources){0};
	group->survey(&scope, &arena, &probes);
	cr_assert(group->learn(&scope, probes.first, &response, &arena, &resources, &further, &error), "%s", error.message);
	for (size_t i = 0; i < resources.count; i++) {
		if (strcmp(resources.at[i].name, name) == 0)
			return &resources.at[i];
	}
	cr_assert_fail("%s has no group %s", file, name);
	return NULL;
}

static struct decision plan_of(const struct resource *resource)
{
	struct decision decision;

	group->plan(&scope, resource, &arena, &decision);
	return decision;
}

static void refuses(const char *file, const char *name, enum guard guard, const char *reason)
{
	struct decision decision = plan_of(learn_group(file, name));

	cr_expect_eq(decision.verdict, VERDICT_REFUSED, "%s", name);
	cr_expect_eq(decision.guard, guard, "%s", name);
	cr_assert_not_null(decision.reason, "%s", name);
	cr_expect_str_eq(decision.reason, reason, "%s", name);
	if (guard_is_overridable(guard))
		cr_expect_str_eq(joined(&decision.change.removed), "subnet-0a1", "%s: what overriding it would take", name);
}

/* web-1 with other subnets. */
static struct resource with_subnets(const char *subnets)
{
	struct resource resource = *learn_group("aws/groups_page_1.xml", "web-1");

	resource.subnets = list(subnets);
	return resource;
}

static struct change change_of(const char *removed, const char *order)
{
	struct change change = {.kind = "AutoScalingGroup"};
	const struct resource *resource = learn_group("aws/groups_page_1.xml", "web-1");

	change.id = change.incarnation = resource->id;
	change.name = resource->name;
	change.removed = list(removed);
	change.order = list(order);
	return change;
}

Test(group, survey_reads_a_hundred_a_page_to_the_last)
{
	struct http_response first = data_response(&arena, 200, "aws/groups_page_1.xml");
	struct http_response second = data_response(&arena, 200, "aws/groups_page_2.xml");
	struct probes probes = {0};
	struct probes further = {0};
	struct probes last = {0};
	struct resources found = {0};

	group->survey(&scope, &arena, &probes);
	cr_assert_null(probes.first->next);
	cr_assert_str_eq(probes.first->request.body, "Action=DescribeAutoScalingGroups&Version=2011-01-01&MaxRecords=100");
	cr_assert(group->learn(&scope, probes.first, &first, &arena, &found, &further, &error), "%s", error.message);
	cr_assert_eq(found.count, 3);
	cr_assert_str_eq(further.first->request.body, "Action=DescribeAutoScalingGroups&Version=2011-01-01&MaxRecords=100"
	                                              "&NextToken=eyJ2IjoiMiIsInRva2VuIjoiYSsvPSJ9");
	cr_assert(group->learn(&scope, further.first, &second, &arena, &found, &last, &error), "%s", error.message);
	cr_assert_eq(found.count, 12);
	cr_assert_null(last.first);
}

Test(group, learns_identity_subnets_and_tags)
{
	const struct resource *web = learn_group("aws/groups_page_1.xml", "web-1");

	cr_assert_str_eq(web->kind, "AutoScalingGroup");
	cr_assert_str_eq(web->id, "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:"
	                          "11111111-0000-4000-8000-000000000001:autoScalingGroupName/web-1");
	cr_assert_str_eq(web->incarnation, web->id);
	cr_assert_str_eq(joined(&web->names), "web-1");
	cr_assert_str_eq(joined(&web->subnets), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2",
	                 "blanks are trimmed, order is kept");
	cr_assert_str_eq(tags_get(&web->tags, "team"), "web & shop");
	cr_assert_str_eq(tags_get(&web->tags, "empty"), "");
	cr_assert_eq(web->tags.count, 3);
}

Test(group, learns_nothing_from_an_empty_answer)
{
	struct http_response response = data_response(&arena, 200, "aws/groups_none.xml");
	struct probe probe = {0};
	struct probes further = {0};
	struct resources found = {0};

	cr_assert(group->learn(&scope, &probe, &response, &arena, &found, &further, &error));
	cr_assert_eq(found.count, 0);
	cr_assert_null(further.first);
}

Test(group, malformed_answers_append_nothing)
{
	static const char *const files[] = {"aws/groups_nameless.xml", "aws/zones.xml", "aws/error_proxy.html"};
	static const char *const parts[] = {"has no AutoScalingGroupARN", "without AutoScalingGroups", "document type"};

	for (size_t i = 0; i < 3; i++) {
		struct http_response response = data_response(&arena, 200, files[i]);
		struct probe probe = {0};
		struct probes further = {0};
		struct resources found = {0};

		cr_expect_not(group->learn(&scope, &probe, &response, &arena, &found, &further, &error));
		cr_expect_eq(error.kind, ERROR_MALFORMED);
		cr_expect_not_null(strstr(error.message, parts[i]), "%s", error.message);
		cr_expect_eq(found.count, 0);
		cr_expect_null(further.first);
	}
}

Test(group, looks_by_name_and_keeps_the_names_on_further_pages)
{
	struct change a = {.name = "web 1", .id = "arn:x:autoScalingGroupName/web 1"};
	struct change b = {.id = "arn:aws:autoscaling:us-east-1:1:autoScalingGroup:u:autoScalingGroupName/by/arn"};
	const struct change *changes[] = {&a, &b};
	struct http_response response = data_response(&arena, 200, "aws/groups_page_1.xml");
	struct probes probes = {0};
	struct probes further = {0};
	struct resources found = {0};

	cr_assert_eq(group->look_max, 50);
	group->look(&scope, changes, 2, &arena, &probes);
	cr_assert_null(probes.first->next);
	cr_assert_str_eq(probes.first->request.body,
	                 "Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.member.1=web%201"
	                 "&AutoScalingGroupNames.member.2=by%2Farn&MaxRecords=100");
	cr_assert(group->learn(&scope, probes.first, &response, &arena, &found, &further, &error));
	cr_assert_eq(found.count, 3);
	cr_assert_not_null(strstr(further.first->request.body, "AutoScalingGroupNames.member.2=by%2Farn"));
	cr_assert_not_null(strstr(further.first->request.body, "&NextToken="));
}

Test(group, plan_takes_every_subnet_of_the_zone)
{
	struct decision decision = plan_of(learn_group("aws/groups_page_1.xml", "web-1"));

	cr_assert_eq(decision.verdict, VERDICT_CHANGE);
	cr_assert_eq(decision.guard, GUARD_NONE);
	cr_assert_null(decision.reason);
	cr_assert_str_eq(decision.change.kind, "AutoScalingGroup");
	cr_assert_str_eq(decision.change.name, "web-1");
	cr_assert_str_eq(decision.change.incarnation, decision.change.id);
	cr_assert_str_eq(joined(&decision.change.removed), "subnet-0a1,subnet-0a2");
	cr_assert_str_eq(joined(&decision.change.order), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
}

Test(group, groups_outside_the_zone_are_nothing_before_any_refusal)
{
	cr_expect_eq(plan_of(learn_group("aws/groups_page_1.xml", "elsewhere")).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(learn_group("aws/groups_page_2.xml", "placed-elsewhere")).verdict, VERDICT_NOTHING);
	cr_expect_eq(plan_of(learn_group("aws/groups_page_2.xml", "zones-elsewhere")).verdict, VERDICT_NOTHING);
}

Test(group, refusals)
{
	refuses("aws/groups_page_1.xml", "pinned", GUARD_LAST_SUBNET, "all its subnets are in use1-az1");
	refuses("aws/groups_page_2.xml", "half-known", GUARD_LAST_SUBNET,
	        "outside use1-az1 it has only subnet-0gone, which this account does not show");
	refuses("aws/groups_page_2.xml", "operated", GUARD_OPERATOR, "only batch.amazonaws.com may change it");
	refuses("aws/groups_page_2.xml", "going", GUARD_BEING_DELETED, "it is being deleted (Delete in progress)");
	refuses(
		"aws/groups_page_2.xml", "clustered", GUARD_PLACEMENT_GROUP,
		"its placement group tight may be of the kind that lies in one zone: no instances in two zones show that it "
		"is not");
	refuses("aws/groups_page_2.xml", "zones-only", GUARD_NO_SUBNETS,
	        "it names zones instead of subnets, so there is no subnet to take out");
}

/* The connected cluster is prod, and these are its nodes. */
static void connect_cluster(void)
{
	scope.has_cluster = true;
	scope.node_instances = list("i-0node1,i-0node2");
}

static enum guard guard_of(const char *name)
{
	return plan_of(learn_group("aws/groups_clusters.xml", name)).guard;
}

static void is_changed(const char *name)
{
	struct decision decision = plan_of(learn_group("aws/groups_clusters.xml", name));

	cr_expect_eq(decision.verdict, VERDICT_CHANGE, "%s: %s", name, decision.reason);
	cr_expect_eq(decision.guard, GUARD_NONE, "%s", name);
	cr_expect_str_eq(joined(&decision.change.removed), "subnet-0a1", "%s", name);
}

Test(group, without_a_cluster_to_ask_a_cluster_tag_refuses)
{
	refuses("aws/groups_clusters.xml", "prod-empty", GUARD_NODES_NOT_DRAINED,
	        "its tags say that it carries nodes of the cluster prod: taking a subnet out ends instances without asking "
	        "any PodDisruptionBudget, and the cluster cannot be asked whether they are drained");
	cr_expect_eq(guard_of("staging-nodes"), GUARD_NODES_NOT_DRAINED);
	scope.cluster_name = NULL;
	cr_expect_eq(guard_of("prod-nodes"), GUARD_NODES_NOT_DRAINED);
	is_changed("untagged-nodes");
	is_changed("autoscaled");
}

Test(group, the_cluster_is_told_by_its_nodes_whatever_the_tags_say)
{
	connect_cluster();
	is_changed("prod-empty");
	is_changed("prod-nodes");
	is_changed("untagged-nodes");
	is_changed("misnamed-nodes");
	is_changed("autoscaled");
	scope.cluster_name = NULL;
	is_changed("prod-nodes");
	is_changed("misnamed-nodes");
}

Test(group, another_clusters_group_is_refused)
{
	connect_cluster();
	refuses("aws/groups_clusters.xml", "staging-nodes", GUARD_OTHER_CLUSTER,
	        "its tags say that it belongs to the cluster staging, and no node of this cluster is among its instances");
	scope.cluster_name = NULL;
	refuses("aws/groups_clusters.xml", "staging-nodes", GUARD_OTHER_CLUSTER,
	        "its tags say that it belongs to the cluster staging, and no node of this cluster is among its instances; "
	        "--cluster-name NAME tells whether it is this one");
	cr_expect_eq(guard_of("prod-empty"), GUARD_OTHER_CLUSTER, "nothing tells that it is this one");
	scope.cluster_name = "staging";
	is_changed("staging-nodes");
}

Test(group, a_node_group_of_eks_is_refused_with_the_way_out)
{
	connect_cluster();
	refuses(
		"aws/groups_clusters.xml", "prod-workers", GUARD_MANAGED_BY_EKS,
		"EKS manages it as node group workers: allow it (spec.guards.allow with guard ManagedByEks), or use an EKS zonal "
		"shift");
}

Test(group, who_overrides_the_graver_guard_reads_of_the_node_group)
{
	refuses(
		"aws/groups_clusters.xml", "prod-workers", GUARD_NODES_NOT_DRAINED,
		"its tags say that it carries nodes of the cluster prod (EKS node group workers): taking a subnet out ends "
		"instances without asking any PodDisruptionBudget, and the cluster cannot be asked whether they are drained");
	connect_cluster();
	refuses("aws/groups_clusters.xml", "staging-workers", GUARD_OTHER_CLUSTER,
	        "its tags say that it belongs to the cluster staging (EKS node group workers), and no node of this cluster "
	        "is among its instances");
}

Test(group, learns_which_instances_lie_in_the_zone)
{
	cr_expect_str_eq(joined(&learn_group("aws/groups_deep.xml", "states")->instances), "i-1,i-2,i-6,i-8");
	cr_expect_str_eq(joined(&learn_group("aws/groups_clusters.xml", "untagged-nodes")->instances), "i-0free");
	cr_expect_eq(learn_group("aws/groups_clusters.xml", "misnamed-nodes")->instances.count, 0);
	cr_expect_str_eq(joined(&learn_group("aws/groups_settling.xml", "leaving")->instances), "i-1,i-2,i-3,i-4",
	                 "by name where an instance has no zone id");
}

Test(group, learns_which_groups_carry_ecs)
{
	cr_assert(learn_group("aws/groups_deep.xml", "ecs-capacity")->carries_ecs, "the tag has no value");
	cr_assert_not(learn_group("aws/groups_deep.xml", "warm")->carries_ecs);
}

Test(group, a_warm_pool_is_a_remark)
{
	cr_expect_str_eq(
		learn_group("aws/groups_deep.xml", "warm")->remark,
		"its warm pool of 3 is not waited for: instances of it may still lie in us-east-1a (aws autoscaling "
		"describe-warm-pool lists them)");
	cr_expect_str_eq(learn_group("aws/groups_deep.xml", "warm-unsized")->remark,
	                 "its warm pool is not waited for: instances of it may still lie in us-east-1a (aws autoscaling "
	                 "describe-warm-pool lists them)");
	cr_expect_null(learn_group("aws/groups_deep.xml", "warm-empty")->remark);
	cr_expect_null(learn_group("aws/groups_deep.xml", "warm-ending")->remark);
	cr_expect_null(learn_group("aws/groups_deep.xml", "ecs-capacity")->remark);
	cr_expect_eq(plan_of(learn_group("aws/groups_deep.xml", "warm")).verdict, VERDICT_CHANGE);
}

Test(group, instances_in_two_zones_acquit_a_placement_group)
{
	cr_assert_eq(plan_of(learn_group("aws/groups_deep.xml", "spread")).verdict, VERDICT_CHANGE);
	cr_assert_eq(plan_of(learn_group("aws/groups_deep.xml", "tight")).guard, GUARD_PLACEMENT_GROUP);
}

Test(group, last_subnet_is_not_hidden_by_what_may_be_overridden)
{
	struct resource resource = *learn_group("aws/groups_page_2.xml", "eks-workers");

	cr_assert_eq(plan_of(&resource).guard, GUARD_NODES_NOT_DRAINED);
	resource.subnets = list("subnet-0a1,subnet-0a2");
	cr_assert_eq(plan_of(&resource).guard, GUARD_LAST_SUBNET);
	connect_cluster();
	cr_assert_eq(plan_of(&resource).guard, GUARD_LAST_SUBNET);
}

/*
 * Every list of up to five subnets, one of them unknown: plan and update never empty a group and touch nothing
 * else.
 */

static const char *const all_subnets[] = {"subnet-0a1", "subnet-0b1", "subnet-0lost", "subnet-0a2", "subnet-0c1"};

#define SUBNET_COUNT 5

static struct string_list numbered(size_t number, size_t turn)
{
	struct string_list subnets = {0};

	for (size_t i = 0; i < SUBNET_COUNT; i++) {
		if ((number >> i) & 1)
			string_list_add(&subnets, &arena, all_subnets[(i + turn) % SUBNET_COUNT]);
	}
	return subnets;
}

/* The list that an update would set. */
static struct string_list updated(const struct change *change, const struct resource *resource,
                                  enum direction direction)
{
	static const char mark[] = "&VPCZoneIdentifier=";
	struct http_request request;
	const char *found;
	struct text plain;
	char *text;

	group->update(&scope, change, resource, direction, &arena, &request);
	found = strstr(request.body, mark);
	cr_assert_not_null(found, "%s", request.body);
	text_init(&plain, 65536);
	for (const char *at = found + strlen(mark); *at != '\0' && *at != '&'; at++) {
		bool comma = strncmp(at, "%2C", 3) == 0;

		text_append_bytes(&plain, comma ? "," : at, 1);
		at += comma ? 2 : 0;
	}
	text = text_take(&plain, &arena);
	return list(text);
}

static bool keeps_order(const struct string_list *part, const struct string_list *whole)
{
	size_t last = 0;

	for (size_t i = 0; i < part->count; i++) {
		size_t at = string_list_find(whole, part->at[i]);

		if (at < last || at == whole->count)
			return false;
		last = at;
	}
	return true;
}

Test(group, plan_and_update_never_empty_reorder_or_touch_others)
{
	size_t changed = 0;

	for (size_t turn = 0; turn < SUBNET_COUNT; turn++) {
		for (size_t number = 0; number < 1u << SUBNET_COUNT; number++) {
			struct resource resource = with_subnets("");
			struct decision decision;
			struct string_list next;

			resource.subnets = numbered(number, turn);
			decision = plan_of(&resource);
			if (decision.verdict != VERDICT_CHANGE)
				continue;
			changed++;
			next = updated(&decision.change, &resource, DIRECTION_OUT);
			cr_expect_gt(next.count, 0);
			cr_expect(keeps_order(&next, &resource.subnets));
			cr_expect_eq(next.count + decision.change.removed.count, resource.subnets.count);
			for (size_t i = 0; i < next.count; i++)
				cr_expect_not(scope_in_zone(&scope, next.at[i]));
			for (size_t i = 0; i < decision.change.removed.count; i++)
				cr_expect(scope_in_zone(&scope, decision.change.removed.at[i]));
			resource.subnets = next;
			next = updated(&decision.change, &resource, DIRECTION_BACK);
			cr_expect(string_list_equal(&next, &decision.change.order), "%s instead of %s", joined(&next),
			          joined(&decision.change.order));
		}
	}
	cr_assert_gt(changed, 50);
}

Test(group, update_names_the_group_and_its_subnets_and_nothing_else)
{
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	struct resource resource = with_subnets("subnet-0a1,subnet-0b1,subnet-0c1");
	struct http_request request;

	resource.name = "web & co";
	group->update(&scope, &change, &resource, DIRECTION_OUT, &arena, &request);
	cr_assert_str_eq(request.body,
	                 "Action=UpdateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName=web%20%26%20co"
	                 "&VPCZoneIdentifier=subnet-0b1%2Csubnet-0c1");
	cr_assert_str_eq(request.operation, "UpdateAutoScalingGroup");
	cr_assert_str_eq(request.service, "autoscaling");
}

Test(group, update_is_built_from_what_is_there_now)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0b1,subnet-0a2");
	struct resource resource = with_subnets("subnet-0new,subnet-0b1,subnet-0a2,subnet-0c1");
	struct string_list next = updated(&change, &resource, DIRECTION_OUT);

	cr_assert_str_eq(joined(&next), "subnet-0new,subnet-0b1,subnet-0c1", "what somebody added stays");
	resource.subnets = list("subnet-0c1,subnet-0new,subnet-0b1");
	next = updated(&change, &resource, DIRECTION_BACK);
	cr_assert_eq(next.count, 5);
	cr_assert(keeps_order(&resource.subnets, &next), "%s", joined(&next));
	change.removed = list("subnet-0a1,subnet-0deleted");
	next = updated(&change, &resource, DIRECTION_BACK);
	cr_assert_not(string_list_has(&next, "subnet-0deleted"), "a subnet that no longer exists is not put back");
	cr_assert(string_list_has(&next, "subnet-0a1"));
}

Test(group, update_that_would_empty_a_group_is_a_bug, .signal = SIGABRT)
{
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0a2");
	struct resource resource = with_subnets("subnet-0a1,subnet-0a2");
	struct http_request request;

	group->update(&scope, &change, &resource, DIRECTION_OUT, &arena, &request);
}

static enum stand stands(struct change change, const struct resource *resource)
{
	return group->compare(&scope, &change, resource, &arena);
}

Test(group, compare)
{
	struct resource resource = with_subnets("subnet-0b1");
	struct change change = change_of("subnet-0a1,subnet-0a2", "subnet-0a1,subnet-0b1,subnet-0a2");

	cr_expect_eq(stands(change, &resource), STAND_OUT);
	resource.subnets = list("subnet-0b1,subnet-0a1");
	cr_expect_eq(stands(change, &resource), STAND_OUT, "part of it is still missing");
	resource.subnets = list("subnet-0a2,subnet-0b1,subnet-0a1");
	cr_expect_eq(stands(change, &resource), STAND_BACK);
	cr_expect_eq(stands(change_of("subnet-0a1,subnet-0deleted", ""), &resource), STAND_BACK,
	             "what no longer exists is not missing");
	cr_expect_eq(stands(change_of("subnet-0deleted", ""), &resource), STAND_GONE);
	cr_expect_eq(stands(change, NULL), STAND_GONE);
	resource.subnets = list("");
	cr_expect_eq(stands(change, &resource), STAND_SUPERSEDED, "no subnets at all");
	resource.subnets = list("subnet-0x2");
	cr_expect_eq(stands(change, &resource), STAND_SUPERSEDED, "another VPC");
	resource.subnets = list("subnet-0lost");
	cr_expect_eq(stands(change, &resource), STAND_OUT, "an unknown subnet says nothing about the VPC");
	resource.subnets = list("subnet-0b1");
	change.incarnation = "arn:older";
	cr_expect_eq(stands(change, &resource), STAND_SUPERSEDED, "made anew under the same name");
	change.incarnation = NULL;
	cr_expect_eq(stands(change, &resource), STAND_OUT);
}

static enum settling settles(const char *name, enum direction direction, const char *removed, const char **why)
{
	struct change change = change_of(removed, removed);

	return group->settled(&scope, &change, learn_group("aws/groups_settling.xml", name), direction, &arena, why);
}

Test(group, out_is_settled_when_no_instance_is_left_in_the_zone)
{
	const char *why = "x";

	cr_assert_eq(settles("gone-out", DIRECTION_OUT, "subnet-0a1", &why), SETTLING_DONE);
	cr_assert_null(why);
	cr_assert_eq(settles("last-one", DIRECTION_OUT, "subnet-0a1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why,
	                 "1 of its instances is still in us-east-1a (i-1); elsewhere 0 of the 3 it wants are in service");
	cr_assert_eq(settles("leaving", DIRECTION_OUT, "subnet-0a1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "4 of its instances are still in us-east-1a (i-1, i-2, i-3, …); "
	                      "elsewhere 2 of the 3 it wants are in service; 1 protected from scale-in; 1 in Standby; "
	                      "1 waiting for a lifecycle hook; suspended: AZRebalance");
}

static void pends(const char *name, const char *sentence)
{
	const char *why = NULL;
	struct change change = change_of("subnet-0a1", "subnet-0a1,subnet-0b1");
	const struct resource *resource = learn_group("aws/groups_deep.xml", name);

	cr_expect_eq(group->settled(&scope, &change, resource, DIRECTION_OUT, &arena, &why), SETTLING_PENDING, "%s", name);
	cr_assert_not_null(why, "%s", name);
	cr_expect_str_eq(why, sentence, "%s", name);
}

Test(group, while_out_is_not_settled_it_says_how_far_the_replacements_are)
{
	pends("short", "1 of its instances is still in us-east-1a (i-1); elsewhere 0 of the 2 it wants are in service");
	pends("halfway", "1 of its instances is still in us-east-1a (i-1); elsewhere 1 of the 2 it wants is in service");
	pends("replaced", "1 of its instances is still in us-east-1a (i-1)");
	pends("in-units", "1 of its instances is still in us-east-1a (i-1); elsewhere 0 of the 4 it wants are in service");
	pends("weighted", "1 of its instances is still in us-east-1a (i-1)");
	pends("in-vcpus", "1 of its instances is still in us-east-1a (i-1)");
}

Test(group, hooks_hold_instances_that_come_as_well)
{
	pends("hooked", "2 of its instances are still in us-east-1a (i-1, i-2); 1 waiting for a lifecycle hook; "
	                "1 of its warm pool");
}

Test(group, out_is_not_settled_while_the_configuration_has_it)
{
	const char *why;

	cr_assert_eq(settles("gone-out", DIRECTION_OUT, "subnet-0a1,subnet-0b1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "its configuration still has subnet-0b1");
}

Test(group, back_is_settled_by_the_configuration)
{
	const char *why;

	cr_assert_eq(settles("leaving", DIRECTION_BACK, "subnet-0b1,subnet-0deleted", &why), SETTLING_DONE);
	cr_assert_null(why);
	cr_assert_eq(settles("leaving", DIRECTION_BACK, "subnet-0b1,subnet-0a1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "its configuration does not have subnet-0a1 yet");
}
