/*
 * AutoScalingGroup: the subnets of an EC2 Auto Scaling group.
 *
 * One call reads everything (DescribeAutoScalingGroups), one sets the subnets (UpdateAutoScalingGroup with
 * VPCZoneIdentifier alone: sent together with zones the two must agree, and zones follow from subnets anyway). There is
 * no compare-and-set, so a request is always built from what was just read. Taking subnets out makes Auto Scaling
 * launch elsewhere and then terminate here, by itself.
 *
 * What is not asked for, and why. Instance refreshes: one that is under way forbids other launch templates but not other
 * subnets, and what it replaces from then on starts elsewhere. Warm pools: their instances lie in the same subnets and
 * are not among those that a group lists; asking about each pool would cost a call a group, so that a remark says that
 * there is one. The kind of a placement group: instances in two zones show that it is not the one that lies in one.
 *
 * Sources: EC2 Auto Scaling API reference (2011-01-01), user guide "Availability Zone rebalancing",
 * "Warm pools", "Instance refresh".
 */
#include <assert.h>
#include <string.h>

#include "actuators/registry.h"
#include "aws/protocol.h"
#include "aws/xml.h"
#include "domain/delta.h"

#define KIND "AutoScalingGroup"
#define SERVICE "autoscaling"
#define GROUPS_A_PAGE "100"
#define NAMES_A_LOOK 50
#define EXAMPLES_A_SENTENCE 3

enum step { STEP_SURVEY, STEP_LOOK };

struct instance {
	const char *id;
	const char *zone_id;
	const char *zone_name;
	const char *state; /* "InService", "Terminating:Wait" … */
	bool protected_from_scale_in;
};

/* What only this file understands of a group; resource.facts. */
struct group {
	const char *status;          /* NULL unless it is being deleted */
	const char *operator_name;   /* the AWS service that owns it; NULL = nobody */
	const char *placement_group; /* NULL = none */
	struct string_list zones;    /* names and ids, as the group lists them */
	struct string_list suspended;
	size_t wanted_count; /* of instances; 0 also where its capacity is counted in something else */
	struct instance *instances;
	size_t instance_count;
};

static const char *text_of(const struct xml *xml, const char *path)
{
	const char *text = xml_path_text(xml, path);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

static const struct group *group_of(const struct resource *resource)
{
	return resource->facts;
}

/* Questions. */

static void ask_groups(struct probe *probe, const struct string_list *names, const char *token, struct arena *arena)
{
	struct query query;

	probe->context = names;
	query_begin(&query, arena, aws_service_find(SERVICE), "DescribeAutoScalingGroups", &probe->request);
	if (names != NULL)
		query_add_list(&query, "AutoScalingGroupNames.member.%zu", names->at, names->count);
	query_add(&query, "MaxRecords", GROUPS_A_PAGE);
	if (token != NULL)
		query_add(&query, "NextToken", token);
	query_end(&query);
}

static void group_survey(const struct scope *scope, struct arena *arena, struct probes *out)
{
	(void)scope;
	ask_groups(probes_add(out, arena), NULL, NULL, arena);
}

/* A record keeps the name, but the ARN has it too. */
static const char *name_of(const struct change *change)
{
	static const char mark[] = ":autoScalingGroupName/";
	const char *found = change->name == NULL ? strstr(change->id, mark) : NULL;

	if (change->name != NULL)
		return change->name;
	return found != NULL ? found + strlen(mark) : change->id;
}

static void group_look(const struct scope *scope, const struct change *const *changes, size_t count,
                       struct arena *arena, struct probes *out)
{
	struct string_list *names = ARENA_NEW(arena, struct string_list);
	struct probe *probe;

	(void)scope;
	assert(count > 0 && count <= NAMES_A_LOOK);
	for (size_t i = 0; i < count; i++)
		string_list_add(names, arena, arena_string(arena, name_of(changes[i])));
	probe = probes_add(out, arena);
	probe->step = STEP_LOOK;
	ask_groups(probe, names, NULL, arena);
}

/* Answers. */

static void add_texts(const struct xml *list, const char *path, struct arena *arena, struct string_list *out)
{
	for (const struct xml *member = xml_child(list, "member"); member != NULL; member = xml_next(member)) {
		const char *text = path != NULL ? text_of(member, path) : member->text;

		if (text != NULL && text[0] != '\0')
			string_list_add(out, arena, text);
	}
}

static void read_instances(const struct xml *list, struct arena *arena, struct group *out)
{
	size_t capacity = 0;

	for (const struct xml *member = xml_child(list, "member"); member != NULL; member = xml_next(member)) {
		out->instances = arena_grow(arena, out->instances, out->instance_count, &capacity, sizeof(*out->instances));
		out->instances[out->instance_count++] = (struct instance){
			.id = text_of(member, "InstanceId"),
			.zone_id = text_of(member, "AvailabilityZoneId"),
			.zone_name = text_of(member, "AvailabilityZone"),
			.state = text_of(member, "LifecycleState"),
			.protected_from_scale_in = text_equal(text_of(member, "ProtectedFromScaleIn"), "true"),
		};
	}
}

/* Capacity may be counted in vCPUs, in MiB, or in weights of the instances' types. */
static size_t read_wanted(const struct xml *member)
{
	const char *unit = text_of(member, "DesiredCapacityType");
	const char *desired = text_of(member, "DesiredCapacity");
	long long count = 0;

	if (unit != NULL && strcmp(unit, "units") != 0)
		return 0;
	for (const struct xml *at = xml_child(xml_child(member, "Instances"), "member"); at != NULL; at = xml_next(at)) {
		if (text_of(at, "WeightedCapacity") != NULL)
			return 0;
	}
	return text_parse_integer(desired, 0, INT32_MAX, &count) ? (size_t)count : 0;
}

static const struct group *read_facts(const struct xml *member, struct arena *arena)
{
	struct group *group = ARENA_NEW(arena, struct group);

	group->status = text_of(member, "Status");
	group->operator_name = text_of(member, "Operator/Principal");
	group->placement_group = text_of(member, "PlacementGroup");
	add_texts(xml_child(member, "AvailabilityZones"), NULL, arena, &group->zones);
	add_texts(xml_child(member, "AvailabilityZoneIds"), NULL, arena, &group->zones);
	add_texts(xml_child(member, "SuspendedProcesses"), "ProcessName", arena, &group->suspended);
	read_instances(xml_child(member, "Instances"), arena, group);
	group->wanted_count = read_wanted(member);
	return group;
}

static const char *zone_word(const struct scope *scope)
{
	return scope->zone_name != NULL ? scope->zone_name : scope->zone_id;
}

static const char *warm_pool_remark(const struct scope *scope, const struct xml *member, struct arena *arena)
{
	const struct xml *pool = xml_child(member, "WarmPoolConfiguration");
	const char *size = text_of(member, "WarmPoolSize");

	if (pool == NULL || xml_child(pool, "Status") != NULL || text_equal(size, "0"))
		return NULL;
	return arena_printf(arena,
	                    "its warm pool%s is not waited for: instances of it may still lie in %s (aws autoscaling "
	                    "describe-warm-pool lists them)",
	                    size != NULL ? arena_printf(arena, " of %.16s", size) : "", zone_word(scope));
}

/* Is it there, and in the zone? */
static bool counts(const struct scope *scope, const struct instance *instance)
{
	const char *state = instance->state != NULL ? instance->state : "";

	if (text_starts_with(state, "Terminated") || text_starts_with(state, "Warmed:Terminated") ||
	    strcmp(state, "Detached") == 0)
		return false;
	if (instance->zone_id != NULL)
		return strcmp(instance->zone_id, scope->zone_id) == 0;
	return instance->zone_name != NULL && text_equal(instance->zone_name, scope->zone_name);
}

static struct string_list instances_in_zone(const struct scope *scope, const struct group *group, struct arena *arena)
{
	struct string_list ids = {0};

	for (size_t i = 0; i < group->instance_count; i++) {
		if (group->instances[i].id != NULL && counts(scope, &group->instances[i]))
			string_list_add(&ids, arena, group->instances[i].id);
	}
	return ids;
}

static void read_tags(const struct xml *list, struct arena *arena, struct tags *out)
{
	for (const struct xml *tag = xml_child(list, "member"); tag != NULL; tag = xml_next(tag)) {
		const char *value = xml_path_text(tag, "Value");

		if (text_of(tag, "Key") != NULL)
			tags_add(out, arena, text_of(tag, "Key"), value != NULL ? value : "");
	}
}

static bool read_group(const struct scope *scope, const struct xml *member, struct arena *arena, struct resource *out,
                       struct error *error)
{
	const char *subnets = text_of(member, "VPCZoneIdentifier");

	*out = (struct resource){.kind = KIND};
	out->name = text_of(member, "AutoScalingGroupName");
	out->id = text_of(member, "AutoScalingGroupARN");
	if (out->name == NULL || out->id == NULL)
		return error_set(error, ERROR_MALFORMED, "DescribeAutoScalingGroups: a group of the answer has no %s",
		                 out->name == NULL ? "AutoScalingGroupName" : "AutoScalingGroupARN");
	out->incarnation = out->id;
	string_list_add(&out->names, arena, out->name);
	out->subnets = string_list_split(subnets != NULL ? subnets : "", ",", arena);
	read_tags(xml_child(member, "Tags"), arena, &out->tags);
	out->carries_ecs = tags_get(&out->tags, "AmazonECSManaged") != NULL;
	out->facts = read_facts(member, arena);
	out->instances = instances_in_zone(scope, group_of(out), arena);
	out->remark = warm_pool_remark(scope, member, arena);
	return true;
}

static void ask_further(const struct probe *probe, const char *token, struct arena *arena, struct probes *further)
{
	struct probe *next = probes_add(further, arena);

	next->step = probe->step;
	ask_groups(next, probe->context, token, arena);
}

static bool group_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                        struct arena *arena, struct resources *resources, struct probes *further, struct error *error)
{
	const struct xml *root = xml_parse(arena, response->body, response->body_length, error);
	const struct xml *result = xml_child(root, "DescribeAutoScalingGroupsResult");
	const struct xml *groups = xml_child(result, "AutoScalingGroups");
	struct resources heard = {0};

	if (root == NULL)
		return error_wrap(error, "DescribeAutoScalingGroups");
	if (groups == NULL)
		return error_set(error, ERROR_MALFORMED,
		                 "DescribeAutoScalingGroups: the answer is a <%.64s> without AutoScalingGroups", root->name);
	for (const struct xml *member = xml_child(groups, "member"); member != NULL; member = xml_next(member)) {
		if (!read_group(scope, member, arena, resources_add(&heard, arena), error))
			return false;
	}
	for (size_t i = 0; i < heard.count; i++)
		*resources_add(resources, arena) = heard.at[i];
	if (text_of(result, "NextToken") != NULL)
		ask_further(probe, text_of(result, "NextToken"), arena, further);
	return true;
}

/* Planning. */

static bool lies_in_zone(const struct scope *scope, const struct resource *resource)
{
	const struct string_list *zones = &group_of(resource)->zones;

	for (size_t i = 0; i < resource->subnets.count; i++) {
		if (scope_in_zone(scope, resource->subnets.at[i]))
			return true;
	}
	/* Without subnets of its own it uses the default ones of the zones it lists. */
	return resource->subnets.count == 0 && (string_list_has(zones, scope->zone_id) ||
	                                        (scope->zone_name != NULL && string_list_has(zones, scope->zone_name)));
}

/* The cluster that a tag names, or NULL. */
static const char *cluster_of_tag(const struct tag *tag)
{
	static const char owned[] = "kubernetes.io/cluster/";
	static const char scaled[] = "k8s.io/cluster-autoscaler/";
	const char *name;

	if (strcmp(tag->key, "eks:cluster-name") == 0)
		return tag->value;
	if (text_starts_with(tag->key, owned))
		return tag->key + strlen(owned);
	if (!text_starts_with(tag->key, scaled))
		return NULL;
	/* The autoscaler's own words stand in the same place as a cluster's name. */
	name = tag->key + strlen(scaled);
	return strcmp(name, "enabled") == 0 || strchr(name, '/') != NULL ? NULL : name;
}

/* The cluster that its tags name, `own` (may be NULL) aside; NULL when they name none. */
static const char *cluster_of_tags(const struct tags *tags, const char *own)
{
	for (size_t i = 0; i < tags->count; i++) {
		const char *name = cluster_of_tag(&tags->at[i]);

		if (name != NULL && !text_equal(name, own))
			return name;
	}
	return NULL;
}

/* Whatever its tags say, and wherever its instances lie. */
static bool carries_nodes(const struct scope *scope, const struct group *group)
{
	for (size_t i = 0; i < group->instance_count; i++) {
		if (scope_is_node(scope, group->instances[i].id))
			return true;
	}
	return false;
}

/* A placement group of the kind that holds its instances close together lies in one zone. */
static bool spans_zones(const struct group *group)
{
	for (size_t i = 1; i < group->instance_count; i++) {
		const char *first = group->instances[0].zone_name;
		const char *zone = group->instances[i].zone_name;

		if (first != NULL && zone != NULL && strcmp(first, zone) != 0)
			return true;
	}
	return false;
}

/* What nobody may override. */
static void guard_for_good(const struct scope *scope, const struct resource *resource,
                           const struct string_list *elsewhere, struct arena *arena, struct decision *out)
{
	const struct group *group = group_of(resource);
	const char *last = delta_last_reason(scope, elsewhere, arena);

	if (group->status != NULL)
		decision_refuse(out, GUARD_BEING_DELETED, arena_printf(arena, "it is being deleted (%s)", group->status));
	else if (group->operator_name != NULL)
		decision_refuse(out, GUARD_OPERATOR, arena_printf(arena, "only %s may change it", group->operator_name));
	else if (resource->subnets.count == 0)
		decision_refuse(out, GUARD_NO_SUBNETS, "it names zones instead of subnets, so there is no subnet to take out");
	else if (last != NULL)
		decision_refuse(out, GUARD_LAST_SUBNET, last);
	else if (group->placement_group != NULL && !spans_zones(group) && !scope_holds(scope, resource->id))
		decision_refuse(
			out, GUARD_PLACEMENT_GROUP,
			arena_printf(arena,
		                 "its placement group %s may be of the kind that lies in one zone: no instances in two zones "
		                 "show that it is not",
		                 group->placement_group));
}

static const char *unasked_sentence(const char *cluster, const char *managed, struct arena *arena)
{
	return arena_printf(
		arena,
		"its tags say that it carries nodes of the cluster %s%s: taking a subnet out ends instances "
		"without asking any PodDisruptionBudget, and the cluster cannot be asked whether they are drained",
		cluster, managed);
}

static const char *other_sentence(const struct scope *scope, const char *cluster, const char *managed,
                                  struct arena *arena)
{
	const char *hint = scope->cluster_name != NULL ? "" : "; --cluster-name NAME tells whether it is this one";

	return arena_printf(arena,
	                    "its tags say that it belongs to the cluster %s%s, and no node of this cluster is among its "
	                    "instances%s",
	                    cluster, managed, hint);
}

/*
 * What may be overridden. One reason is told at a time: the graver one, which names the node group as well, so that
 * whoever overrides it knows of both.
 */
static void guard_cluster(const struct scope *scope, const struct resource *resource, struct arena *arena,
                          struct decision *out)
{
	const char *any = cluster_of_tags(&resource->tags, NULL);
	const char *other = cluster_of_tags(&resource->tags, scope->cluster_name);
	const char *node_group = tags_get(&resource->tags, "eks:nodegroup-name");
	const char *managed = node_group != NULL ? arena_printf(arena, " (EKS node group %s)", node_group) : "";

	if (any != NULL && !scope->has_cluster)
		decision_refuse(out, GUARD_NODES_NOT_DRAINED, unasked_sentence(any, managed, arena));
	else if (other != NULL && !carries_nodes(scope, group_of(resource)))
		decision_refuse(out, GUARD_OTHER_CLUSTER, other_sentence(scope, other, managed, arena));
	else if (node_group != NULL)
		decision_refuse(
			out, GUARD_MANAGED_BY_EKS,
			arena_printf(
				arena,
				"EKS manages it as node group %s: allow it (spec.guards.allow with guard ManagedByEks), or use "
				"an EKS zonal shift",
				node_group));
	if (node_group != NULL && out->guard != GUARD_MANAGED_BY_EKS)
		out->guard_behind = GUARD_MANAGED_BY_EKS;
}

static void group_plan(const struct scope *scope, const struct resource *resource, struct arena *arena,
                       struct decision *out)
{
	struct string_list in_zone = {0};
	struct string_list elsewhere = {0};

	*out = (struct decision){.verdict = VERDICT_NOTHING};
	if (!lies_in_zone(scope, resource))
		return;
	delta_split(scope, &resource->subnets, arena, &in_zone, &elsewhere);
	out->verdict = VERDICT_CHANGE;
	out->change = (struct change){
		.kind = KIND,
		.id = resource->id,
		.name = resource->name,
		.incarnation = resource->incarnation,
		.removed = in_zone,
		.order = resource->subnets,
	};
	guard_for_good(scope, resource, &elsewhere, arena, out);
	if (out->verdict == VERDICT_CHANGE)
		guard_cluster(scope, resource, arena, out);
}

/* Settling. */

/* The instances still in the zone, and what keeps some of them. */
struct remainder {
	size_t count;
	size_t protected_count;
	size_t standby_count;
	size_t hooked_count; /* waiting for a lifecycle hook */
	size_t warm_count;   /* of the warm pool */
	size_t serving_elsewhere_count;
	struct string_list examples;
};

static struct remainder remainder_of(const struct scope *scope, const struct group *group, struct arena *arena)
{
	struct remainder remainder = {0};

	for (size_t i = 0; i < group->instance_count; i++) {
		const struct instance *instance = &group->instances[i];

		if (!counts(scope, instance)) {
			remainder.serving_elsewhere_count += text_equal(instance->state, "InService");
			continue;
		}
		remainder.count++;
		remainder.protected_count += instance->protected_from_scale_in;
		remainder.standby_count += text_equal(instance->state, "Standby");
		remainder.hooked_count += instance->state != NULL && strstr(instance->state, ":Wait") != NULL;
		remainder.warm_count += instance->state != NULL && text_starts_with(instance->state, "Warmed:");
		if (instance->id != NULL && remainder.examples.count < EXAMPLES_A_SENTENCE)
			string_list_add(&remainder.examples, arena, instance->id);
	}
	return remainder;
}

static void add_cause(struct string_list *causes, struct arena *arena, size_t count, const char *what)
{
	if (count > 0)
		string_list_add(causes, arena, arena_printf(arena, "%zu %s", count, what));
}

static void add_capacity(struct string_list *causes, struct arena *arena, size_t serving_count, size_t wanted_count)
{
	if (serving_count < wanted_count)
		string_list_add(causes, arena,
		                arena_printf(arena, "elsewhere %zu of the %zu it wants %s in service", serving_count,
		                             wanted_count, serving_count == 1 ? "is" : "are"));
}

/* Only the processes that move instances out of a zone explain why they stay. */
static void add_suspended(struct string_list *causes, struct arena *arena, const struct group *group)
{
	static const char *const needed[] = {"AZRebalance", "Launch", "Terminate"};
	struct string_list found = {0};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (string_list_has(&group->suspended, needed[i]))
			string_list_add(&found, arena, needed[i]);
	}
	if (found.count > 0)
		string_list_add(causes, arena, arena_printf(arena, "suspended: %s", string_list_join(&found, arena, ", ")));
}

static const char *pending_sentence(const struct scope *scope, const struct group *group,
                                    const struct remainder *remainder, struct arena *arena)
{
	struct string_list causes = {0};
	const char *of_which;

	add_capacity(&causes, arena, remainder->serving_elsewhere_count, group->wanted_count);
	add_cause(&causes, arena, remainder->protected_count, "protected from scale-in");
	add_cause(&causes, arena, remainder->standby_count, "in Standby");
	add_cause(&causes, arena, remainder->hooked_count, "waiting for a lifecycle hook");
	add_cause(&causes, arena, remainder->warm_count, "of its warm pool");
	add_suspended(&causes, arena, group);
	of_which = causes.count > 0 ? arena_printf(arena, "; %s", string_list_join(&causes, arena, "; ")) : "";
	return arena_printf(arena, "%zu of its instances %s still in %s (%s%s)%s", remainder->count,
	                    remainder->count == 1 ? "is" : "are", zone_word(scope),
	                    string_list_join(&remainder->examples, arena, ", "),
	                    remainder->count > remainder->examples.count ? ", …" : "", of_which);
}

static enum settling group_settled(const struct scope *scope, const struct change *change,
                                   const struct resource *resource, enum direction direction, struct arena *arena,
                                   const char **why)
{
	struct remainder remainder;

	*why = delta_unsettled(scope, change, &resource->subnets, direction, arena);
	if (*why != NULL)
		return SETTLING_PENDING;
	if (direction == DIRECTION_BACK)
		return SETTLING_DONE;
	remainder = remainder_of(scope, group_of(resource), arena);
	if (remainder.count == 0)
		return SETTLING_DONE;
	*why = pending_sentence(scope, group_of(resource), &remainder, arena);
	return SETTLING_PENDING;
}

/* Acting. */

static void group_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                         enum direction direction, struct arena *arena, struct http_request *out)
{
	struct string_list next = delta_next(scope, change, &resource->subnets, direction, arena);
	struct query query;

	assert(resource->subnets.count > 0 && next.count > 0);
	query_begin(&query, arena, aws_service_find(SERVICE), "UpdateAutoScalingGroup", out);
	query_add(&query, "AutoScalingGroupName", resource->name);
	query_add(&query, "VPCZoneIdentifier", string_list_join(&next, arena, ","));
	query_end(&query);
}

const struct actuator auto_scaling_group = {
	.kind = KIND,
	.service = SERVICE,
	.update_operation = "UpdateAutoScalingGroup",
	.survey = group_survey,
	.look_max = NAMES_A_LOOK,
	.look = group_look,
	.learn = group_learn,
	.plan = group_plan,
	.compare = delta_compare,
	.settled = group_settled,
	.update = group_update,
};
