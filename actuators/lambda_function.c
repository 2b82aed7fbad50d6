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
	const char *marker = answer_text(hearing->root, "NextMarker");

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

/* Ids are sent back whole, so that one that is passed over would be taken out. */
static bool read_ids(const struct json *list, struct arena *arena, struct string_list *out)
{
	return json_type(list) == JSON_NULL || answer_strings(list, arena, out);
}

static void read_provider(const struct json *configuration, struct arena *arena, struct function *out)
{
	static const char managed[] = "LambdaManagedInstancesCapacityProviderConfig";
	const struct json *provider = json_get(configuration, "CapacityProviderConfig");

	if (json_count(provider) == 0)
		return;
	out->capacity_provider = answer_copy(json_get(provider, managed), "CapacityProviderArn", arena);
	if (out->capacity_provider == NULL)
		out->capacity_provider = "that it does not name";
}

static struct function *read_facts(const struct json *configuration, struct arena *arena)
{
	struct function *function = ARENA_NEW(arena, struct function);

	function->revision_id = answer_copy(configuration, "RevisionId", arena);
	function->state = answer_copy(configuration, "State", arena);
	function->state_reason = answer_copy(configuration, "StateReason", arena);
	function->update_status = answer_copy(configuration, "LastUpdateStatus", arena);
	function->update_reason = answer_copy(configuration, "LastUpdateStatusReason", arena);
	function->update_reason_code = answer_copy(configuration, "LastUpdateStatusReasonCode", arena);
	function->master_arn = answer_copy(configuration, "MasterArn", arena);
	function->ipv6 = ipv6_of(json_get(configuration, "VpcConfig"));
	read_provider(configuration, arena, function);
	return function;
}

/* The ARN, copied, without the qualifier that some answers add. */
static const char *unqualified(const char *arn, struct arena *arena)
{
	static const char latest[] = ":$LATEST";
	size_t length = strlen(arn);
	size_t end = length - (length >= strlen(latest) ? strlen(latest) : 0);

	return arena_copy(arena, arn, strcmp(arn + end, latest) == 0 ? end : length);
}

static bool check_identity(const struct lambda_hearing *hearing, const struct json *configuration)
{
	static const char *const needed[] = {"FunctionName", "FunctionArn"};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (answer_text(configuration, needed[i]) == NULL)
			return error_set(hearing->error, ERROR_MALFORMED, "%s: a function of the answer has no %s",
			                 hearing->probe->request.operation, needed[i]);
	}
	return true;
}

/* One that has passed check_identity. */
static bool read_function(const struct lambda_hearing *hearing, const struct json *configuration, struct resource *out)
{
	const struct json *vpc = json_get(configuration, "VpcConfig");
	struct arena *arena = hearing->arena;
	struct function *function = read_facts(configuration, arena);

	*out = (struct resource){
		.kind = LAMBDA_KIND,
		.id = unqualified(answer_text(configuration, "FunctionArn"), arena),
		.name = answer_copy(configuration, "FunctionName", arena),
		.facts = function,
	};
	string_list_add(&out->names, arena, out->name);
	if (read_ids(json_get(vpc, "SubnetIds"), arena, &out->subnets) &&
	    read_ids(json_get(vpc, "SecurityGroupIds"), arena, &function->security_groups))
		return true;
	return error_set(hearing->error, ERROR_MALFORMED, "%s: the VpcConfig of %s lists something that is no id",
	                 hearing->probe->request.operation, out->name);
}

bool lambda_lacks(const struct lambda_hearing *hearing, const char *member)
{
	return error_set(hearing->error, ERROR_MALFORMED, "%s: the answer has no %s", hearing->probe->request.operation,
	                 member);
}

/* Most functions have no subnets at all: nothing of them is kept. */
static bool is_kept(const struct lambda_hearing *hearing, const struct json *configuration)
{
	const char *arn = answer_text(configuration, "FunctionArn");

	return json_count(json_path(configuration, "VpcConfig.SubnetIds")) > 0 ||
	       json_count(json_get(configuration, "CapacityProviderConfig")) > 0 ||
	       scope_holds(hearing->scope, unqualified(arn, hearing->arena));
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
	size_t count = json_type(functions) == JSON_ARRAY ? json_count(functions) : 0;
	struct resource **heard = arena_array(hearing->arena, count, sizeof(struct resource *));

	if (json_type(functions) != JSON_ARRAY)
		return lambda_lacks(hearing, "Functions");
	for (size_t i = 0; i < count; i++) {
		if (!check_identity(hearing, json_at(functions, i)))
			return false;
		if (!is_kept(hearing, json_at(functions, i)))
			continue;
		heard[i] = ARENA_NEW(hearing->arena, struct resource);
		if (!read_function(hearing, json_at(functions, i), heard[i]))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (heard[i] != NULL)
			take_listed(hearing, heard[i]);
	}
	lambda_ask_further(hearing);
	return true;
}

static void read_tags(const struct lambda_hearing *hearing, struct resource *out)
{
	const struct json *tags = json_get(hearing->root, "Tags");
	const struct json *unreadable = json_get(hearing->root, "TagsError");
	struct arena *arena = hearing->arena;

	for (size_t i = 0; i < json_count(tags); i++) {
		const char *key = NULL;
		const char *value = json_string(json_member(tags, i, &key));

		if (value != NULL)
			tags_add(&out->tags, arena, arena_string(arena, key), arena_string(arena, value));
	}
	if (unreadable != NULL) {
		const char *code = answer_text(unreadable, "ErrorCode");
		const char *message = answer_text(unreadable, "Message");

		out->tags_unreadable = arena_printf(arena, "%s: %s", code != NULL ? code : "TagsError",
		                                    message != NULL ? message : "is lambda:ListTags allowed?");
	}
}

static bool learn_function(const struct lambda_hearing *hearing)
{
	const struct json *configuration = json_get(hearing->root, "Configuration");
	struct resource heard;

	if (json_type(configuration) != JSON_OBJECT)
		return lambda_lacks(hearing, "Configuration");
	if (!check_identity(hearing, configuration) || !read_function(hearing, configuration, &heard))
		return false;
	read_tags(hearing, &heard);
	*resources_add(hearing->resources, hearing->arena) = heard;
	return true;
}

static bool learn_answer(const struct lambda_hearing *hearing)
{
	switch (hearing->probe->step) {
	case LAMBDA_LIST:
		return learn_list(hearing);
	case LAMBDA_TAGS:
	case LAMBDA_LOOK:
		return learn_function(hearing);
	default:
		return lambda_versions_learn(hearing);
	}
}

static bool function_learn(const struct scope *scope, const struct probe *probe, const struct http_response *response,
                           struct arena *arena, struct resources *resources, struct probes *further,
                           struct error *error)
{
	struct lambda_hearing hearing = {scope, probe, NULL, arena, resources, further, error};
	struct arena answer;
	bool good;

	arena_init(&answer, "lambda answer", ANSWER_ARENA_MAX_BYTES);
	hearing.root = json_parse(&answer, response->body, response->body_length, error);
	good = hearing.root != NULL ? learn_answer(&hearing) : error_wrap(error, "%s", probe->request.operation);
	arena_done(&answer);
	return good;
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
		decision_refuse(out, GUARD_UNSUPPORTED_DEPLOYMENT_CONTROLLER,
		                arena_printf(arena, "its subnets are those of the capacity provider %s and cannot be changed",
		                             function->capacity_provider));
	else if (text_equal(function->state, "Deleting"))
		decision_refuse(out, GUARD_BEING_DELETED, "it is being deleted");
	else if (resource->tags_unreadable != NULL)
		decision_refuse(out, GUARD_TAGS_UNREADABLE,
		                arena_printf(arena, "its tags, which may say that it is to be left alone, cannot be read: %s",
		                             resource->tags_unreadable));
	else if (last != NULL)
		decision_refuse(out, GUARD_LAST_SUBNET, last);
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
