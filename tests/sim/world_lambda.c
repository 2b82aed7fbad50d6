/*
 * The API of Lambda: functions with their versions and aliases, and the one update that is made.
 */
#include "world_lambda.h"

#include <string.h>

#define ROOT "/2015-03-31/functions"
#define PAGE 3
#define SUBNETS_MAX 16
#define STALE_MS 10000

/* "/2015-03-31/functions/web/versions" to "web" and "versions"; the list of all is "" and "". */
static void route(struct arena *arena, const char *path, const char **id, const char **what)
{
	struct string_list parts = string_list_split(path + strlen(ROOT), "/", arena);
	*id = parts.count > 0 ? sim_percent_decode(arena, parts.at[0]) : "";
	*what = parts.count > 1 ? parts.at[1] : "";
}

bool sim_is_lambda(const struct sim_request *request)
{
	return text_starts_with(request->path, ROOT);
}

void sim_lambda_label(struct sim_request *request, struct arena *arena)
{
	static const struct {
		const char *method;
		const char *what;
		const char *operation;
	} operations[] = {
		{"GET", "", "GetFunction"},
		{"GET", "configuration", "GetFunctionConfiguration"},
		{"PUT", "configuration", "UpdateFunctionConfiguration"},
		{"GET", "versions", "ListVersionsByFunction"},
		{"GET", "aliases", "ListAliases"},
	};
	const char *id;
	const char *what;
	route(arena, request->path, &id, &what);
	request->operation = "a call to Lambda that is not served";
	if (id[0] == '\0' && strcmp(request->method, "GET") == 0)
		request->operation = "ListFunctions";
	for (size_t i = 0; id[0] != '\0' && i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(operations[i].method, request->method) == 0 && strcmp(operations[i].what, what) == 0)
			request->operation = operations[i].operation;
}

static void set_network(struct json *json, struct arena *arena, const char *subnets, const char *groups, bool ipv6)
{
	struct json *network = json_set_object(json, "VpcConfig");
	json_set(network, "SubnetIds", sim_csv_array(arena, subnets));
	json_set(network, "SecurityGroupIds", sim_csv_array(arena, groups));
	json_set_string(network, "VpcId", subnets[0] != '\0' ? "vpc-1" : "");
	json_set_bool(network, "Ipv6AllowedForDualStack", ipv6);
}

static struct json *configuration(struct arena *arena, const struct function *function, const char *arn,
                                  const char *version, unsigned revision)
{
	struct json *json = json_new_object(arena);
	json_set_string(json, "FunctionName", function->placed.name);
	json_set_string(json, "FunctionArn", arn);
	json_set_string(json, "Version", version);
	json_set_string(json, "RevisionId", function_revision(arena, revision));
	json_set_string(json, "Runtime", "provided.al2023");
	json_set_string(json, "PackageType", "Zip");
	json_set_string(json, "LastModified", "2025-11-01T00:00:00.000+0000");
	return json;
}

/* $LATEST; `whole` with what a list leaves out. */
static struct json *latest(struct world *world, struct sim_call *call, const struct function *function, bool whole)
{
	const struct sim_placed *placed = &function->placed;
	bool stale = call->fault == WORLD_STALE && placed->edited.ms != 0 &&
	             instant_between_ms(placed->edited, world->now) < STALE_MS;
	struct json *json = configuration(&call->arena, function, placed->arn, "$LATEST", function->revision - stale);
	if (!placed->bare)
		set_network(json, &call->arena, stale ? placed->previous : placed->subnets, function->groups, function->ipv6);
	if (!whole)
		return json;
	json_set_string(json, "State", "Active");
	json_set_string(json, "LastUpdateStatus", stale ? "Successful" : function->status);
	if (function->reason[0] != '\0') {
		json_set_string(json, "LastUpdateStatusReasonCode", function->reason);
		json_set_string(json, "LastUpdateStatusReason",
		                arena_printf(&call->arena, "The update could not be made: %s", function->reason));
	}
	return json;
}

static struct json *published(struct sim_call *call, const struct function *function, const struct version *version)
{
	struct arena *arena = &call->arena;
	struct json *json =
		configuration(arena, function, arena_printf(arena, "%s:%u", function->placed.arn, version->number),
	                  arena_printf(arena, "%u", version->number), version->number);
	if (version->subnets[0] != '\0')
		set_network(json, arena, version->subnets, version->groups, function->ipv6);
	return json;
}

/* The configuration that ?Qualifier= means: a version or an alias of one; NULL when there is none. */
static struct json *qualified(struct world *world, struct sim_call *call, const struct function *function)
{
	const char *qualifier = sim_query_get(&call->arena, call->request.query, "Qualifier");
	if (qualifier == NULL || strcmp(sim_percent_decode(&call->arena, qualifier), "$LATEST") == 0)
		return latest(world, call, function, true);
	for (size_t i = 0; i < function->alias_count; i++)
		if (strcmp(function->aliases[i].name, qualifier) == 0)
			qualifier = arena_printf(&call->arena, "%u", function->aliases[i].version);
	if (strcmp(qualifier, "0") == 0)
		return latest(world, call, function, true);
	for (size_t i = 0; i < function->version_count; i++)
		if (strcmp(arena_printf(&call->arena, "%u", function->versions[i].number), qualifier) == 0) {
			struct json *json = published(call, function, &function->versions[i]);
			json_set_string(json, "State", "Active");
			json_set_string(json, "LastUpdateStatus", "Successful");
			return json;
		}
	return NULL;
}

/* The page of `all` that is asked for. */
static void answer_page(struct sim_call *call, const char *name, const struct json *all)
{
	const char *marker = sim_query_get(&call->arena, call->request.query, "Marker");
	size_t i;
	if (!sim_page_token(marker != NULL ? sim_percent_decode(&call->arena, marker) : NULL, &i)) {
		sim_aws_error(call, 400, "InvalidParameterValueException", "The marker is not valid.");
		return;
	}
	struct json *answer = json_new_object(&call->arena);
	struct json *items = json_set_array(answer, name);
	for (; i < json_count(all) && json_count(items) < PAGE; i++)
		json_add(items, json_copy(&call->arena, json_at(all, i)));
	if (i < json_count(all))
		json_set_string(answer, "NextMarker", arena_printf(&call->arena, "page-%zu", i));
	sim_aws_json(call, 200, answer);
}

static void list_functions(struct world *world, struct sim_call *call)
{
	bool versions = text_equal(sim_query_get(&call->arena, call->request.query, "FunctionVersion"), "ALL");
	struct json *all = json_new_array(&call->arena);
	for (size_t i = 0; i < world->lambda->function_count; i++) {
		const struct function *function = world->lambda->functions[i];
		if (function->placed.deleted)
			continue;
		json_add(all, latest(world, call, function, false));
		for (size_t j = 0; versions && j < function->version_count; j++)
			json_add(all, published(call, function, &function->versions[j]));
	}
	answer_page(call, "Functions", all);
}

static void list_versions(struct world *world, struct sim_call *call, const struct function *function)
{
	struct json *all = json_new_array(&call->arena);
	struct json *first = latest(world, call, function, false);
	json_set_string(first, "FunctionArn", arena_printf(&call->arena, "%s:$LATEST", function->placed.arn));
	json_add(all, first);
	for (size_t i = 0; i < function->version_count; i++)
		json_add(all, published(call, function, &function->versions[i]));
	answer_page(call, "Versions", all);
}

static void list_aliases(struct sim_call *call, const struct function *function)
{
	struct json *all = json_new_array(&call->arena);
	for (size_t i = 0; i < function->alias_count; i++) {
		const struct alias *alias = &function->aliases[i];
		struct json *json = json_new_object(&call->arena);
		json_set_string(json, "Name", alias->name);
		json_set_string(json, "AliasArn", arena_printf(&call->arena, "%s:%s", function->placed.arn, alias->name));
		json_set_string(json, "FunctionVersion",
		                alias->version > 0 ? arena_printf(&call->arena, "%u", alias->version) : "$LATEST");
		json_add(all, json);
	}
	answer_page(call, "Aliases", all);
}

static struct json *tags_json(struct arena *arena, const char *csv)
{
	struct json *json = json_new_object(arena);
	struct string_list tags = string_list_split(csv, ",", arena);
	for (size_t i = 0; i < tags.count; i++) {
		const char *equals = strchr(tags.at[i], '=');
		size_t length = equals != NULL ? (size_t)(equals - tags.at[i]) : strlen(tags.at[i]);
		json_set_string(json, arena_copy(arena, tags.at[i], length), equals != NULL ? equals + 1 : "");
	}
	return json;
}

static void get_function(struct world *world, struct sim_call *call, const struct function *function, bool bare)
{
	struct json *found = qualified(world, call, function);
	if (found == NULL) {
		sim_aws_error(call, 404, "ResourceNotFoundException", "Function not found.");
		return;
	}
	if (bare) {
		sim_aws_json(call, 200, found);
		return;
	}
	struct json *answer = json_new_object(&call->arena);
	json_set(answer, "Configuration", found);
	if (function->tags_hidden) {
		struct json *error = json_set_object(answer, "TagsError");
		json_set_string(error, "ErrorCode", "AccessDeniedException");
		json_set_string(error, "Message", "not authorized to perform: lambda:ListTags");
	} else if (function->placed.tags[0] != '\0') {
		json_set(answer, "Tags", tags_json(&call->arena, function->placed.tags));
	}
	sim_aws_json(call, 200, answer);
}

/* True: it may be. Else the call is answered. */
static bool may_update(struct world *world, struct sim_call *call, const struct function *function,
                       const struct json *body)
{
	const struct json *subnets = json_path(body, "VpcConfig.SubnetIds");
	const char *revision = json_get_string(body, "RevisionId");
	const char *is = function_revision(&call->arena, function->revision);
	const char *unknown = sim_unknown_subnet(world, sim_array_csv(&call->arena, subnets));
	if (strcmp(function->status, "InProgress") == 0)
		sim_aws_error(call, 409, "ResourceConflictException",
		              arena_printf(&call->arena,
		                           "The operation cannot be performed at this time. An update is in progress for "
		                           "resource: %s",
		                           function->placed.arn));
	else if (!text_equal(revision, is))
		sim_aws_error(call, 412, "PreconditionFailedException",
		              "The Revision Id provided does not match the latest Revision Id.");
	else if (unknown != NULL || json_count(subnets) > SUBNETS_MAX)
		sim_aws_error(call, 400, "InvalidParameterValueException",
		              unknown != NULL ? arena_printf(&call->arena, "The subnet ID '%s' does not exist", unknown)
		                              : "too many subnets");
	else
		return true;
	return false;
}

static void check_whole(struct world *world, const struct function *function, const struct json *body)
{
	const struct json *network = json_get(body, "VpcConfig");
	if (json_count(body) != 2 || network == NULL || json_get_string(body, "RevisionId") == NULL)
		sim_broken(world, "an update of %s that is not its network and the revision that was seen",
		           function->placed.name);
	if (json_count(network) != 3 || json_get(network, "SubnetIds") == NULL ||
	    json_get(network, "SecurityGroupIds") == NULL || json_get(network, "Ipv6AllowedForDualStack") == NULL)
		sim_broken(world, "an update of %s that says its network in part", function->placed.name);
	if (json_count(json_get(network, "SubnetIds")) == 0)
		sim_broken(world, "an update that takes %s out of its VPC", function->placed.name);
}

static void update_function(struct world *world, struct sim_call *call, struct function *function)
{
	struct error error;
	const struct json *body = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	check_whole(world, function, body);
	if (!may_update(world, call, function, body))
		return;
	struct sim_placed *placed = &function->placed;
	const struct json *network = json_get(body, "VpcConfig");
	const char *after = sim_array_csv(&call->arena, json_get(network, "SubnetIds"));
	const char *groups = sim_array_csv(&call->arena, json_get(network, "SecurityGroupIds"));
	bool ipv6 = json_bool(json_get(network, "Ipv6AllowedForDualStack"), false);
	sim_check_update(world, placed, after, call->abandoned);
	sim_check_rest(world, placed, "SecurityGroupIds", function->groups, groups, call->abandoned);
	sim_check_rest(world, placed, "Ipv6AllowedForDualStack", function->ipv6 ? "true" : "false", ipv6 ? "true" : "false",
	               call->abandoned);
	function_update(world, function, after);
	sim_aws_json(call, 200, latest(world, call, function, true));
}

static void serve_function(struct world *world, struct sim_call *call, const char *id)
{
	const char *operation = call->request.operation;
	struct function *function = function_find(world, id);
	if (function == NULL)
		sim_aws_error(call, 404, "ResourceNotFoundException", arena_printf(&call->arena, "Function not found: %s", id));
	else if (strcmp(operation, "GetFunction") == 0)
		get_function(world, call, function, false);
	else if (strcmp(operation, "GetFunctionConfiguration") == 0)
		get_function(world, call, function, true);
	else if (strcmp(operation, "UpdateFunctionConfiguration") == 0)
		update_function(world, call, function);
	else if (strcmp(operation, "ListVersionsByFunction") == 0)
		list_versions(world, call, function);
	else if (strcmp(operation, "ListAliases") == 0)
		list_aliases(call, function);
	else
		sim_aws_error(call, 404, "UnknownOperationException", operation);
}

void sim_lambda_serve(struct world *world, struct sim_call *call)
{
	const char *id;
	const char *what;
	route(&call->arena, call->request.path, &id, &what);
	if (strcmp(call->request.operation, "ListFunctions") == 0)
		list_functions(world, call);
	else
		serve_function(world, call, id);
}
