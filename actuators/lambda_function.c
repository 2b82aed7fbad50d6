/*
 * LambdaFunction: the subnets in the VPC configuration of an AWS Lambda function.
 *
 * ListFunctions shows which functions have subnets in the zone; tags and state are only in GetFunction, which is asked of
 * those and of the held ones alone. All others come as the list shows them, without tags: there is nothing to do with them.
 * UpdateFunctionConfiguration sets the whole VpcConfig: security groups and the IPv6 member go back as read, and RevisionId
 * makes it a compare-and-set. An empty list of subnets would take the function out of its VPC and is never sent. A 200
 * only means accepted: LastUpdateStatus tells how it ends, and when it fails the former configuration keeps serving.
 *
 * Only $LATEST can be changed. Published versions keep the subnets they were published with: that is remarked, and
 * nothing is published here, since the code of $LATEST may not be meant to run yet. Not looked at: versions that are
 * called by their number, without an alias; subnets of the capacity providers of managed instances, which cannot be changed.
 *
 * Lambda shows no time of creation, so a function has no incarnation.
 *
 * Sources: Lambda API reference (2015-03-31), developer guide "Lambda function states" and "Lambda quotas".
 */
#include <assert.h>
#include <string.h>

#include "actuators/registry.h"
#include "aws/protocol.h"
#include "domain/delta.h"
#include "lambda.h"

#define SERVICE "lambda"
#define FUNCTIONS "/2015-03-31/functions"
#define A_PAGE "MaxItems=50"

enum ipv6 { IPV6_ABSENT, IPV6_FALSE, IPV6_TRUE };

/* What only this file understands of a function; resource.facts. Members are NULL where the answer has none. */
struct function {
	const char *revision_id;
	const char *state; /* "Active", "Pending" … */
	const char *state_reason;
	const char *update_status; /* "Successful", "InProgress", "Failed"; NULL when it was never updated, and in a list */
	const char *update_reason;
	const char *update_reason_code;
	const char *master_arn;        /* it is a replica at the edge of the function named */
	const char *capacity_provider; /* it runs on managed instances there */
	struct string_list security_groups;
	enum ipv6 ipv6;
};

static const struct function *function_of(const struct resource *resource)
{
	return resource->facts;
}

/* Questions. */

const char *lambda_text(const struct json *json, const char *path)
{
	const char *text = json_path_string(json, path);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

const char *lambda_path(const char *id, const char *below, struct arena *arena)
{
	return arena_printf(arena, FUNCTIONS "/%s%s", text_percent(arena, id), below);
}

void lambda_ask(struct probes *out, enum lambda_step step, const struct lambda_question *question,
                const char *operation, const char *path, const char *query, struct arena *arena)
{
	struct probe *probe = probes_add(out, arena);

	probe->step = (int)step;
	probe->context = question;
	aws_rest_request(arena, aws_service_find(SERVICE), operation, "GET", path, query, NULL, &probe->request);
}

void lambda_ask_list(struct probes *out, enum lambda_step step, const struct lambda_question *question,
                     const char *operation, const char *path, struct arena *arena)
{
	lambda_ask(out, step, question, operation, path, A_PAGE, arena);
}

void lambda_ask_further(const struct lambda_hearing *hearing)
{
	const struct probe *probe = hearing->probe;
	const char *marker = lambda_text(hearing->root, "NextMarker");

	if (marker != NULL)
		lambda_ask(hearing->further, (enum lambda_step)probe->step, probe->context, probe->request.operation,
		           probe->request.path,
		           arena_printf(hearing->arena, "Marker=%s&" A_PAGE, text_percent(hearing->arena, marker)),
		           hearing->arena);
}

static void function_survey(const struct scope *scope, struct arena *arena, struct probes *out)
{
	(void)scope;
	lambda_ask_list(out, LAMBDA_LIST, NULL, "ListFunctions", FUNCTIONS, arena);
}

static void function_look(const struct scope *scope, const struct change *const *changes, size_t count,
                          struct arena *arena, struct probes *out)
{
	struct lambda_question *question = ARENA_NEW(arena, struct lambda_question);

	(void)scope;
	assert(count == 1);
	question->id = arena_string(arena, changes[0]->id);
	lambda_ask(out, LAMBDA_LOOK, question, "GetFunction", lambda_path(question->id, "", arena), NULL, arena);
}

/* Answers. */

static enum ipv6 ipv6_of(const struct json *vpc)
{
	const struct json *allowed = json_get(vpc, "Ipv6AllowedForDualStack");

	if (json_type(allowed) != JSON_BOOL)
		return IPV6_ABSENT;
	return json_bool(allowed, false) ? IPV6_TRUE : IPV6_FALSE;
}

static const struct function *read_facts(const struct json *configuration, struct arena *arena)
{
	static const char managed[] = "LambdaManagedInstancesCapacityProviderConfig";
	const struct json *vpc = json_get(configuration, "VpcConfig");
	const struct json *provider = json_get(configuration, "CapacityProviderConfig");
	struct function *function = ARENA_NEW(arena, struct function);

	function->revision_id = lambda_text(configuration, "RevisionId");
	function->state = lambda_text(configuration, "State");
	function->state_reason = lambda_text(configuration, "StateReason");
	function->update_status = lambda_text(configuration, "LastUpdateStatus");
	function->update_reason = lambda_text(configuration, "LastUpdateStatusReason");
	function->update_reason_code = lambda_text(configuration, "LastUpdateStatusReasonCode");
	function->master_arn = lambda_text(configuration, "MasterArn");
	if (json_count(provider) > 0) {
		function->capacity_provider = lambda_text(json_get(provider, managed), "CapacityProviderArn");
		if (function->capacity_provider == NULL)
			function->capacity_provider = "that it does not name";
	}
	function->security_groups = json_strings(json_get(vpc, "SecurityGroupIds"), arena);
	function->ipv6 = ipv6_of(vpc);
	return function;
}

/* The ARN without the qualifier that some answers add. */
static const char *unqualified(const char *arn, struct arena *arena)
{
	static const char latest[] = ":$LATEST";
	size_t length = strlen(arn);
	size_t end = length - (length >= strlen(latest) ? strlen(latest) : 0);

	return strcmp(arn + end, latest) == 0 ? arena_copy(arena, arn, end) : arn;
}

static bool read_function(const struct lambda_hearing *hearing, const struct json *configuration, struct resource *out)
{
	const char *arn = lambda_text(configuration, "FunctionArn");

	*out = (struct resource){.kind = LAMBDA_KIND, .name = lambda_text(configuration, "FunctionName")};
	if (out->name == NULL || arn == NULL)
		return error_set(hearing->error, ERROR_MALFORMED, "%s: a function of the answer has no %s",
		                 hearing->probe->request.operation, out->name == NULL ? "FunctionName" : "FunctionArn");
	out->id = unqualified(arn, hearing->arena);
	string_list_add(&out->names, hearing->arena, out->name);
	out->subnets = json_strings(json_path(configuration, "VpcConfig.SubnetIds"), hearing->arena);
	out->facts = read_facts(configuration, hearing->arena);
	/* They are sent back whole, so one that is passed over would be taken out. */
	if (out->subnets.count == json_count(json_path(configuration, "VpcConfig.SubnetIds")) &&
	    function_of(out)->security_groups.count == json_count(json_path(configuration, "VpcConfig.SecurityGroupIds")))
		return true;
	return error_set(hearing->error, ERROR_MALFORMED, "%s: the VpcConfig of %s lists something that is no id",
	                 hearing->probe->request.operation, out->name);
}

bool lambda_lacks(const struct lambda_hearing *hearing, const char *member)
{
	return error_set(hearing->error, ERROR_MALFORMED, "%s: the answer has no %s", hearing->probe->request.operation,
	                 member);
}

/* Whose tags and state matter. */
static bool is_asked_of(const struct scope *scope, const struct resource *listed)
{
	if (function_of(listed)->capacity_provider != NULL || scope_holds(scope, listed->id))
		return true;
	for (size_t i = 0; i < listed->subnets.count; i++) {
		if (scope_in_zone(scope, listed->subnets.at[i]))
			return true;
	}
	return false;
}

static void take_listed(const struct lambda_hearing *hearing, const struct resource *listed)
{
	struct lambda_question *question;

	if (!is_asked_of(hearing->scope, listed)) {
		if (listed->subnets.count > 0)
			*resources_add(hearing->resources, hearing->arena) = *listed;
		return;
	}
	question = ARENA_NEW(hearing->arena, struct lambda_question);
	question->id = listed->id;
	question->listed = listed;
	lambda_ask(hearing->further, LAMBDA_TAGS, question, "GetFunction", lambda_path(listed->id, "", hearing->arena),
	           NULL, hearing->arena);
}

static bool learn_list(const struct lambda_hearing *hearing)
{
	const struct json *functions = json_get(hearing->root, "Functions");
	struct resource *heard = arena_array(hearing->arena, json_count(functions), sizeof(*heard));

	if (json_type(functions) != JSON_ARRAY)
		return lambda_lacks(hearing, "Functions");
	for (size_t i = 0; i < json_count(functions); i++) {
		if (!read_function(hearing, json_at(functions, i), &heard[i]))
			return false;
	}
	for (size_t i = 0; i < json_count(functions); i++)
		take_listed(hearing, &heard[i]);
	lambda_ask_further(hearing);
	return true;
}

static void read_tags(const struct lambda_hearing *hearing, struct resource *out)
{
	const struct json *tags = json_get(hearing->root, "Tags");
	const struct json *unreadable = json_get(hearing->root, "TagsError");

	for (size_t i = 0; i < json_count(tags); i++) {
		const char *key = NULL;
		const char *value = json_string(json_member(tags, i, &key));

		if (value != NULL)
			tags_add(&out->tags, hearing->arena, key, value);
	}
	if (unreadable != NULL) {
		const char *code = lambda_text(unreadable, "ErrorCode");
		const char *message = lambda_text(unreadable, "Message");

		out->tags_unreadable = arena_printf(hearing->arena, "%s: %s", code != NULL ? code : "TagsError",
		                                    message != NULL ? message : "is lambda:ListTags allowed?");
	}
}

static bool learn_function(const struct lambda_hearing *hearing)
{
	const struct json *configuration = json_get(hearing->root, "Configuration");
	struct resource heard;

	if (json_type(configuration) != JSON_OBJECT)
		return lambda_lacks(hearing, "Configuration");
	if (!read_function(hearing, configuration, &heard))
		return false;
	read_tags(hearing, &heard);
	*resources_add(hearing->resources, hearing->arena) = heard;
	return true;
}

static bool function_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                           struct arena *arena, struct resources *resources, struct probes *further,
                           struct error *error)
{
	const struct json *root = json_parse(arena, response->body, response->body_length, error);
	const struct lambda_hearing hearing = {scope, probe, root, arena, resources, further, error};

	if (root == NULL)
		return error_wrap(error, "%s", probe->request.operation);
	switch (probe->step) {
	case LAMBDA_LIST:
		return learn_list(&hearing);
	case LAMBDA_TAGS:
	case LAMBDA_LOOK:
		return learn_function(&hearing);
	default:
		return lambda_versions_learn(&hearing);
	}
}

static bool function_excuse(const struct scope *scope, const struct probe *probe, const struct error *error,
                            struct arena *arena, struct resources *resources)
{
	const struct lambda_question *question = probe->context;

	(void)scope;
	if (probe->step == LAMBDA_LIST || (error->kind != ERROR_ABSENT && error->kind != ERROR_DENIED))
		return false;
	if (error->kind == ERROR_ABSENT)
		return true;
	if (probe->step == LAMBDA_LOOK)
		return false;
	if (probe->step == LAMBDA_TAGS) {
		struct resource *added = resources_add(resources, arena);

		*added = *question->listed;
		added->tags_unreadable = arena_string(arena, error->message);
		return true;
	}
	lambda_versions_unknown(question, error, arena, resources);
	return true;
}

/* Planning. */

static void refuse(struct decision *out, enum guard guard, const char *reason)
{
	out->verdict = VERDICT_REFUSED;
	out->guard = guard;
	out->reason = reason;
}

static const char *with_reason(const char *sentence, const char *reason, struct arena *arena)
{
	return reason != NULL ? arena_printf(arena, "%s (%s)", sentence, reason) : sentence;
}

/* While one of these lasts the service takes no update. */
static const char *busy_reason(const struct function *function, struct arena *arena)
{
	if (text_equal(function->state, "Pending"))
		return with_reason("it is not ready yet", function->state_reason, arena);
	if (text_equal(function->update_status, "InProgress"))
		return with_reason("an update of it is in progress", function->update_reason, arena);
	return NULL;
}

static void judge_function(const struct scope *scope, const struct resource *resource,
                           const struct string_list *elsewhere, struct arena *arena, struct decision *out)
{
	const struct function *function = function_of(resource);
	const char *last = delta_last_reason(scope, elsewhere, arena);

	if (function->capacity_provider != NULL)
		refuse(out, GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
		       arena_printf(arena, "its subnets are those of the capacity provider %s and cannot be changed",
		                    function->capacity_provider));
	else if (text_equal(function->state, "Deleting"))
		refuse(out, GUARD_BEING_DELETED, "it is being deleted");
	else if (resource->tags_unreadable != NULL)
		refuse(out, GUARD_TAGS_UNREADABLE,
		       arena_printf(arena, "its tags, which may say that it is to be left alone, cannot be read: %s",
		                    resource->tags_unreadable));
	else if (last != NULL)
		refuse(out, GUARD_LAST_SUBNET, last);
	else
		out->wait = busy_reason(function, arena);
}

static void function_plan(const struct scope *scope, const struct resource *resource, struct arena *arena,
                          struct decision *out)
{
	const struct function *function = function_of(resource);
	struct string_list elsewhere = {0};
	struct string_list removed = {0};

	*out = (struct decision){.verdict = VERDICT_NOTHING};
	delta_split(scope, &resource->subnets, arena, &removed, &elsewhere);
	if (function->master_arn != NULL || (removed.count == 0 && function->capacity_provider == NULL))
		return;
	out->verdict = VERDICT_CHANGE;
	out->change = (struct change){
		.kind = LAMBDA_KIND,
		.id = resource->id,
		.name = resource->name,
		.incarnation = resource->incarnation,
		.removed = removed,
		.order = resource->subnets,
	};
	judge_function(scope, resource, &elsewhere, arena, out);
}

/* Settling. */

static enum settling function_settled(const struct scope *scope, const struct change *change,
                                      const struct resource *resource, enum direction direction, struct arena *arena,
                                      const char **why)
{
	const struct function *function = function_of(resource);

	if (text_equal(function->update_status, "Failed")) {
		*why = arena_printf(arena, "its last update failed, and the configuration before it keeps serving: %s (%s)",
		                    function->update_reason != NULL ? function->update_reason : "no reason is given",
		                    function->update_reason_code != NULL ? function->update_reason_code : "no code");
		return SETTLING_FAILED;
	}
	*why = busy_reason(function, arena);
	if (*why == NULL)
		*why = delta_unsettled(scope, change, &resource->subnets, direction, arena);
	return *why == NULL ? SETTLING_DONE : SETTLING_PENDING;
}

/* Acting. */

static void function_update(const struct scope *scope, const struct change *change, const struct resource *resource,
                            enum direction direction, struct arena *arena, struct http_request *out)
{
	const struct function *function = function_of(resource);
	struct string_list next = delta_next(scope, change, &resource->subnets, direction, arena);
	struct json *body = json_new_object(arena);
	struct json *vpc = json_set_object(body, "VpcConfig");

	assert(resource->subnets.count > 0 && next.count > 0);
	json_set(vpc, "SubnetIds", json_new_strings(arena, &next));
	json_set(vpc, "SecurityGroupIds", json_new_strings(arena, &function->security_groups));
	if (function->ipv6 != IPV6_ABSENT)
		json_set_bool(vpc, "Ipv6AllowedForDualStack", function->ipv6 == IPV6_TRUE);
	json_set_string(body, "RevisionId", function->revision_id);
	aws_rest_request(arena, aws_service_find(SERVICE), "UpdateFunctionConfiguration", "PUT",
	                 lambda_path(resource->id, "/configuration", arena), NULL, body, out);
}

const struct actuator lambda_function = {
	.kind = LAMBDA_KIND,
	.service = SERVICE,
	.update_operation = "UpdateFunctionConfiguration",
	.survey = function_survey,
	.look_max = 1,
	.look = function_look,
	.learn = function_learn,
	.excuse = function_excuse,
	.plan = function_plan,
	.compare = delta_compare,
	.settled = function_settled,
	.update = function_update,
	.remark = lambda_versions_remark,
};
