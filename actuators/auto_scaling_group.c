/*
 * AutoScalingGroup: the subnets of an EC2 Auto Scaling group.
 *
 * One call reads everything (DescribeAutoScalingGroups), one sets the subnets (UpdateAutoScalingGroup with
 * VPCZoneIdentifier alone: sent together with zones the two must agree, and zones follow from subnets anyway). There is
 * no compare-and-set, so a request is always built from what was just read. Taking subnets out makes Auto Scaling
 * launch elsewhere and then terminate here, by itself.
 *
 * Sources: EC2 Auto Scaling API reference (2011-01-01), user guide "Availability Zone rebalancing".
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
	return group;
}

static bool read_group(const struct xml *member, struct arena *arena, struct resource *out, struct error *error)
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
	for (const struct xml *tag = xml_child(xml_child(member, "Tags"), "member"); tag != NULL; tag = xml_next(tag)) {
		const char *value = xml_path_text(tag, "Value");

		if (text_of(tag, "Key") != NULL)
			tags_add(&out->tags, arena, text_of(tag, "Key"), value != NULL ? value : "");
	}
	out->facts = read_facts(member, arena);
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

	(void)scope;
	if (root == NULL)
		return error_wrap(error, "DescribeAutoScalingGroups");
	if (groups == NULL)
		return error_set(error, ERROR_MALFORMED,
		                 "DescribeAutoScalingGroups: the answer is a <%.64s> without AutoScalingGroups", root->name);
	for (const struct xml *member = xml_child(groups, "member"); member != NULL; member = xml_next(member)) {
		if (!read_group(member, arena, resources_add(&heard, arena), error))
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

static size_t count_known(const struct scope *scope, const struct string_list *subnets)
{
	size_t count = 0;

	for (size_t i = 0; i < subnets->count; i++)
		count += scope_subnet(scope, subnets->at[i]) != NULL;
	return count;
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

/* The cluster that its tags name, whichever it is. */
static const char *any_cluster(const struct tags *tags)
{
	const char *name = NULL;

	for (size_t i = 0; i < tags->count && name == NULL; i++)
		name = cluster_of_tag(&tags->at[i]);
	return name;
}

static const char *other_cluster(const struct scope *scope, const struct tags *tags)
{
	for (size_t i = 0; scope->cluster_name != NULL && i < tags->count; i++) {
		const char *name = cluster_of_tag(&tags->at[i]);

		if (name != NULL && strcmp(name, scope->cluster_name) != 0)
			return name;
	}
	return NULL;
}

static void refuse(struct decision *out, enum guard guard, const char *reason)
{
	out->verdict = VERDICT_REFUSED;
	out->guard = guard;
	out->reason = reason;
}

static void refuse_last(const struct scope *scope, const struct string_list *elsewhere, struct arena *arena,
                        struct decision *out)
{
	if (elsewhere->count == 0)
		refuse(out, GUARD_LAST_SUBNET, arena_printf(arena, "all its subnets are in %s", scope->zone_id));
	else
		refuse(out, GUARD_LAST_SUBNET,
		       arena_printf(arena, "outside %s it has only %s, which this account does not show", scope->zone_id,
		                    string_list_join(elsewhere, arena, ", ")));
}

/* Those that nobody may override first, so that overriding one of the others cannot hide them. */
static void guard_group(const struct scope *scope, const struct resource *resource, const struct string_list *elsewhere,
                        struct arena *arena, struct decision *out)
{
	const struct group *group = group_of(resource);
	const char *cluster = other_cluster(scope, &resource->tags);
	const char *node_group = tags_get(&resource->tags, "eks:nodegroup-name");

	if (group->status != NULL)
		refuse(out, GUARD_BEING_DELETED, arena_printf(arena, "it is being deleted (%s)", group->status));
	else if (group->operator_name != NULL)
		refuse(out, GUARD_OPERATOR, arena_printf(arena, "only %s may change it", group->operator_name));
	else if (resource->subnets.count == 0)
		refuse(out, GUARD_NO_SUBNETS, "it names zones instead of subnets, so there is no subnet to take out");
	else if (count_known(scope, elsewhere) == 0)
		refuse_last(scope, elsewhere, arena, out);
	else if (group->placement_group != NULL)
		refuse(out, GUARD_PLACEMENT_GROUP,
		       arena_printf(arena, "its placement group %s ties it to its zones", group->placement_group));
	else if (cluster != NULL)
		refuse(out, GUARD_OTHER_CLUSTER,
		       arena_printf(arena, "its tags say that it belongs to the cluster %s", cluster));
	else if (node_group != NULL)
		refuse(out, GUARD_MANAGED_BY_EKS, arena_printf(arena, "EKS manages it as node group %s", node_group));
	else if (any_cluster(&resource->tags) != NULL)
		refuse(out, GUARD_NODES_NOT_DRAINED,
		       arena_printf(
				   arena,
				   "it carries nodes of the cluster %s, and taking a subnet out ends instances without asking any "
				   "PodDisruptionBudget; this version does not drain them first",
				   any_cluster(&resource->tags)));
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
	guard_group(scope, resource, &elsewhere, arena, out);
}

/* Where it stands. */

static const char *vpc_of(const struct scope *scope, const struct string_list *subnets)
{
	for (size_t i = 0; i < subnets->count; i++) {
		const struct subnet *subnet = scope_subnet(scope, subnets->at[i]);

		if (subnet != NULL)
			return subnet->vpc_id;
	}
	return NULL;
}

static enum stand group_compare(const struct scope *scope, const struct change *change, const struct resource *resource,
                                struct arena *arena)
{
	const char *here;
	const char *there;

	if (resource == NULL)
		return STAND_GONE;
	if (change->incarnation != NULL && strcmp(change->incarnation, resource->incarnation) != 0)
		return STAND_SUPERSEDED;
	if (resource->subnets.count == 0)
		return STAND_SUPERSEDED;
	if (change->removed.count > 0 && count_known(scope, &change->removed) == 0)
		return STAND_GONE;
	here = vpc_of(scope, &resource->subnets);
	there = vpc_of(scope, &change->removed);
	if (here != NULL && there != NULL && strcmp(here, there) != 0)
		return STAND_SUPERSEDED;
	return delta_missing(scope, &resource->subnets, &change->removed, arena).count == 0 ? STAND_BACK : STAND_OUT;
}

/* Settling. */

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

/* The instances still in the zone, and what keeps some of them. */
struct remainder {
	size_t count;
	size_t protected_count;
	size_t standby_count;
	size_t hooked_count; /* waiting for a lifecycle hook */
	struct string_list examples;
};

static struct remainder remainder_of(const struct scope *scope, const struct group *group, struct arena *arena)
{
	struct remainder remainder = {0};

	for (size_t i = 0; i < group->instance_count; i++) {
		const struct instance *instance = &group->instances[i];

		if (!counts(scope, instance))
			continue;
		remainder.count++;
		remainder.protected_count += instance->protected_from_scale_in;
		remainder.standby_count += text_equal(instance->state, "Standby");
		remainder.hooked_count += text_equal(instance->state, "Terminating:Wait");
		if (instance->id != NULL && remainder.examples.count < EXAMPLES_A_SENTENCE)
			string_list_add(&remainder.examples, arena, instance->id);
	}
	return remainder;
}

static const char *zone_word(const struct scope *scope)
{
	return scope->zone_name != NULL ? scope->zone_name : scope->zone_id;
}

static void add_cause(struct string_list *causes, struct arena *arena, size_t count, const char *what)
{
	if (count > 0)
		string_list_add(causes, arena, arena_printf(arena, "%zu %s", count, what));
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

	add_cause(&causes, arena, remainder->protected_count, "protected from scale-in");
	add_cause(&causes, arena, remainder->standby_count, "in Standby");
	add_cause(&causes, arena, remainder->hooked_count, "waiting for a lifecycle hook");
	add_suspended(&causes, arena, group);
	of_which = causes.count > 0 ? arena_printf(arena, "; %s", string_list_join(&causes, arena, "; ")) : "";
	return arena_printf(arena, "%zu of its instances %s still in %s (%s%s)%s", remainder->count,
	                    remainder->count == 1 ? "is" : "are", zone_word(scope),
	                    string_list_join(&remainder->examples, arena, ", "),
	                    remainder->count > remainder->examples.count ? ", …" : "", of_which);
}

static enum settling settled_out(const struct scope *scope, const struct change *change,
                                 const struct resource *resource, struct arena *arena, const char **why)
{
	struct string_list present = delta_present(&resource->subnets, &change->removed, arena);
	struct remainder remainder = remainder_of(scope, group_of(resource), arena);

	if (present.count > 0) {
		*why = arena_printf(arena, "its configuration still has %s", string_list_join(&present, arena, ", "));
		return SETTLING_PENDING;
	}
	if (remainder.count > 0) {
		*why = pending_sentence(scope, group_of(resource), &remainder, arena);
		return SETTLING_PENDING;
	}
	return SETTLING_DONE;
}

static enum settling group_settled(const struct scope *scope, const struct change *change,
                                   const struct resource *resource, enum direction direction, struct arena *arena,
                                   const char **why)
{
	struct string_list missing;

	*why = NULL;
	if (direction == DIRECTION_OUT)
		return settled_out(scope, change, resource, arena, why);
	missing = delta_missing(scope, &resource->subnets, &change->removed, arena);
	if (missing.count == 0)
		return SETTLING_DONE;
	*why = arena_printf(arena, "its configuration does not have %s yet", string_list_join(&missing, arena, ", "));
	return SETTLING_PENDING;
}

/* Acting. */

static void group_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                         enum direction direction, struct arena *arena, struct http_request *out)
{
	struct string_list next;
	struct query query;

	assert(resource->subnets.count > 0);
	if (direction == DIRECTION_OUT) {
		next = delta_without(&resource->subnets, &change->removed, arena);
	} else {
		struct string_list missing = delta_missing(scope, &resource->subnets, &change->removed, arena);

		next = delta_union(&resource->subnets, &missing, &change->order, arena);
	}
	assert(next.count > 0);
	query_begin(&query, arena, aws_service_find(SERVICE), "UpdateAutoScalingGroup", out);
	query_add(&query, "AutoScalingGroupName", resource->name);
	query_add(&query, "VPCZoneIdentifier", string_list_join(&next, arena, ","));
	query_end(&query);
}

const struct actuator auto_scaling_group = {
	.kind = KIND,
	.service = SERVICE,
	.survey = group_survey,
	.look_max = NAMES_A_LOOK,
	.look = group_look,
	.learn = group_learn,
	.plan = group_plan,
	.compare = group_compare,
	.settled = group_settled,
	.update = group_update,
};
