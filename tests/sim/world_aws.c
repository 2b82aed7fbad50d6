/*
 * The AWS endpoint: EC2, STS, Auto Scaling (Query), DynamoDB and ECS (JSON) told apart by headers, Lambda by its path.
 */
#include "world_parts.h"

#include <stdlib.h>
#include <string.h>

#define STALE_MS 10000
#define ANSWER_MAX_BYTES (8 * 1024 * 1024)

struct form {
	struct string_list names;
	struct string_list values;
};

const char *sim_header_or(const struct sim_request *request, const char *name, const char *otherwise)
{
	const char *value = http_header(&request->headers, name);
	return value != NULL ? value : otherwise;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

const char *sim_percent_decode(struct arena *arena, const char *string)
{
	char *out = arena_alloc(arena, strlen(string) + 1);
	size_t length = 0;
	for (const char *at = string; *at != '\0'; at++) {
		bool escaped = at[0] == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0;
		out[length++] = escaped ? (char)(hex_digit(at[1]) * 16 + hex_digit(at[2])) : *at == '+' ? ' ' : *at;
		at += escaped ? 2 : 0;
	}
	return out;
}

static struct form form_parse(struct arena *arena, const char *body)
{
	struct form form = {0};
	struct string_list pairs = string_list_split(body, "&", arena);
	for (size_t i = 0; i < pairs.count; i++) {
		const char *equals = strchr(pairs.at[i], '=');
		size_t length = equals != NULL ? (size_t)(equals - pairs.at[i]) : strlen(pairs.at[i]);
		string_list_add(&form.names, arena, sim_percent_decode(arena, arena_copy(arena, pairs.at[i], length)));
		string_list_add(&form.values, arena, sim_percent_decode(arena, equals != NULL ? equals + 1 : ""));
	}
	return form;
}

const char *sim_form_value(struct arena *arena, const char *form, const char *name)
{
	struct form parsed = form_parse(arena, form);
	size_t at = string_list_find(&parsed.names, name);
	return at < parsed.names.count ? parsed.values.at[at] : NULL;
}

static const char *form_get(const struct form *form, const char *name)
{
	size_t at = string_list_find(&form->names, name);
	return at < form->names.count ? form->values.at[at] : NULL;
}

enum protocol { PROTOCOL_QUERY, PROTOCOL_DYNAMO, PROTOCOL_ECS, PROTOCOL_LAMBDA };

static enum protocol protocol_of(const struct sim_request *request)
{
	const char *target = http_header(&request->headers, "X-Amz-Target");
	if (sim_is_lambda(request))
		return PROTOCOL_LAMBDA;
	if (target == NULL)
		return PROTOCOL_QUERY;
	return text_starts_with(target, "AmazonEC2ContainerServiceV20141113.") ? PROTOCOL_ECS : PROTOCOL_DYNAMO;
}

static void label_query(struct sim_request *request, struct arena *arena)
{
	struct form form = form_parse(arena, request->body);
	const char *action = form_get(&form, "Action");
	request->operation = action != NULL ? action : "an AWS call without Action";
}

static void label_target(struct sim_request *request)
{
	const char *target = http_header(&request->headers, "X-Amz-Target");
	const char *dot = strchr(target, '.');
	request->operation = dot != NULL ? dot + 1 : target;
}

/* The credential's scope says who is asked; what is not signed can only be for STS. */
static const char *signed_service(const struct sim_request *request, struct arena *arena)
{
	struct string_list scope = string_list_split(sim_header_or(request, "Authorization", ""), "/", arena);
	return scope.count >= 5 ? scope.at[3] : "sts";
}

void sim_aws_label(struct sim_request *request, struct arena *arena)
{
	static const char *const effects[] = {"UpdateAutoScalingGroup",
	                                      "UpdateService",
	                                      "UpdateFunctionConfiguration",
	                                      "PutItem",
	                                      "UpdateItem",
	                                      "DeleteItem",
	                                      "CreateTable",
	                                      "UpdateContinuousBackups"};
	enum protocol protocol = protocol_of(request);
	request->service = signed_service(request, arena);
	if (protocol == PROTOCOL_LAMBDA)
		sim_lambda_label(request, arena);
	else if (protocol == PROTOCOL_QUERY)
		label_query(request, arena);
	else
		label_target(request);
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		request->effect = request->effect || strcmp(request->operation, effects[i]) == 0;
}

void sim_aws_xml(struct sim_call *call, int status, const char *body)
{
	call->answer = (struct sim_answer){status, "text/xml", body, ERROR_NONE};
}

void sim_aws_json(struct sim_call *call, int status, const struct json *body)
{
	static const char *const types[] = {
		[PROTOCOL_QUERY] = "application/json",
		[PROTOCOL_DYNAMO] = "application/x-amz-json-1.0",
		[PROTOCOL_ECS] = "application/x-amz-json-1.1",
		[PROTOCOL_LAMBDA] = "application/json",
	};
	call->answer =
		(struct sim_answer){status, types[protocol_of(&call->request)], json_print(body, &call->arena), ERROR_NONE};
}

static void error_json(struct sim_call *call, int status, const char *type, const char *message)
{
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "__type", type);
	json_set_string(body, "message", message);
	sim_aws_json(call, status, body);
}

static void error_rest(struct sim_call *call, int status, const char *code, const char *message)
{
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "Type", status >= 500 ? "Service" : "User");
	json_set_string(body, "message", message);
	sim_aws_json(call, status, body);
	call->error_type = code;
}

static void error_query(struct sim_call *call, int status, const char *code, const char *message)
{
	static const char ec2[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>%s</Code><Message>%s</Message>"
		"</Error></Errors><RequestID>sim</RequestID></Response>";
	static const char other[] =
		"<ErrorResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><Error><Type>Sender</Type>"
		"<Code>%s</Code><Message>%s</Message></Error><RequestId>sim</RequestId></ErrorResponse>";
	if (strcmp(call->request.service, "ec2") == 0)
		sim_aws_xml(call, status, arena_printf(&call->arena, ec2, code, message));
	else
		sim_aws_xml(call, status, arena_printf(&call->arena, other, code, message));
}

void sim_aws_error(struct sim_call *call, int status, const char *code, const char *message)
{
	switch (protocol_of(&call->request)) {
	case PROTOCOL_QUERY:
		error_query(call, status, code, message);
		return;
	case PROTOCOL_DYNAMO:
		error_json(call, status, arena_printf(&call->arena, "com.amazonaws.dynamodb.v20120810#%s", code), message);
		return;
	case PROTOCOL_ECS:
		error_json(call, status, code, message);
		return;
	case PROTOCOL_LAMBDA:
		error_rest(call, status, code, message);
		return;
	}
	abort();
}

void sim_aws_throttle(struct sim_call *call)
{
	enum protocol protocol = protocol_of(&call->request);
	if (protocol == PROTOCOL_LAMBDA)
		sim_aws_error(call, 429, "TooManyRequestsException", "Rate exceeded");
	else if (protocol != PROTOCOL_QUERY)
		sim_aws_error(call, 400, "ThrottlingException", "Rate of requests exceeds the allowed throughput.");
	else if (strcmp(call->request.service, "ec2") == 0)
		sim_aws_error(call, 503, "RequestLimitExceeded", "Request limit exceeded.");
	else
		sim_aws_error(call, 400, "Throttling", "Rate exceeded");
}

void sim_aws_busy(struct sim_call *call)
{
	switch (protocol_of(&call->request)) {
	case PROTOCOL_QUERY:
		sim_aws_error(call, 400, "ScalingActivityInProgress", "Scaling activity in progress");
		return;
	case PROTOCOL_DYNAMO:
		sim_aws_error(call, 500, "InternalServerError", "The server encountered an internal error");
		return;
	case PROTOCOL_ECS:
		sim_aws_error(call, 500, "ServerException", "Service Unavailable. Please try again later.");
		return;
	case PROTOCOL_LAMBDA:
		sim_aws_error(call, 409, "ResourceConflictException",
		              "The operation cannot be performed at this time. An update is in progress for resource");
		return;
	}
	abort();
}

static void serve_zones(struct world *world, struct sim_call *call)
{
	struct text text;
	text_init(&text, ANSWER_MAX_BYTES);
	text_append(&text, "<DescribeAvailabilityZonesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
	                   "<requestId>sim</requestId><availabilityZoneInfo>");
	for (size_t i = 0; i < world->zone_count; i++)
		text_printf(
			&text,
			"<item><optInStatus>opt-in-not-required</optInStatus><messageSet/><regionName>" WORLD_REGION
			"</regionName><zoneName>%s</zoneName><zoneId>%s</zoneId><groupName>" WORLD_REGION
			"-zg-1</groupName><networkBorderGroup>" WORLD_REGION
			"</networkBorderGroup><zoneType>availability-zone</zoneType><zoneState>available</zoneState></item>",
			world->zones[i].name, world->zones[i].id);
	text_append(&text, "</availabilityZoneInfo></DescribeAvailabilityZonesResponse>");
	sim_aws_xml(call, 200, text_take(&text, &call->arena));
}

/* From `token` (a position) at most `limit`. */
static bool page(const struct form *form, const char *limit_name, long long limit_max, long long limit_default,
                 size_t *from, size_t *limit)
{
	const char *token = form_get(form, "NextToken");
	const char *limit_text = form_get(form, limit_name);
	long long count = limit_default;
	if (!sim_page_token(token, from))
		return false;
	if (limit_text != NULL && !text_parse_integer(limit_text, 1, limit_max, &count))
		return false;
	*limit = (size_t)count;
	return true;
}

static void serve_subnets(struct world *world, struct sim_call *call, const struct form *form)
{
	size_t from;
	size_t limit;
	if (!page(form, "MaxResults", 1000, SIM_SUBNETS_MAX, &from, &limit)) {
		sim_aws_error(call, 400, "InvalidParameterValue", "MaxResults or NextToken");
		return;
	}
	struct text text;
	text_init(&text, ANSWER_MAX_BYTES);
	text_append(
		&text,
		"<DescribeSubnetsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>sim</requestId><subnetSet>");
	size_t i = from;
	for (; i < world->subnet_count && i < from + limit; i++) {
		struct sim_subnet *subnet = &world->subnets[i];
		bool hidden = subnet->hidden > 0;
		subnet->hidden -= hidden;
		if (!subnet->deleted && !hidden)
			text_printf(&text,
			            "<item><subnetId>%s</subnetId><state>available</state><vpcId>%s</vpcId><availabilityZone>%s"
			            "</availabilityZone><availabilityZoneId>%s</availabilityZoneId><ownerId>" WORLD_ACCOUNT
			            "</ownerId></item>",
			            subnet->id, subnet->vpc, world->zones[subnet->zone].name, world->zones[subnet->zone].id);
	}
	text_append(&text, "</subnetSet>");
	if (i < world->subnet_count)
		text_printf(&text, "<nextToken>page-%zu</nextToken>", i);
	text_append(&text, "</DescribeSubnetsResponse>");
	sim_aws_xml(call, 200, text_take(&text, &call->arena));
}

static void print_instances(const struct world *world, const struct sim_group *group, struct text *text)
{
	text_append(text, "<Instances>");
	for (size_t i = 0; i < group->instance_count; i++) {
		const struct sim_instance *instance = &group->instances[i];
		text_printf(text,
		            "<member><InstanceId>%s</InstanceId><AvailabilityZone>%s</AvailabilityZone><AvailabilityZoneId>%s"
		            "</AvailabilityZoneId><LifecycleState>%s</LifecycleState><HealthStatus>Healthy</HealthStatus>"
		            "<ProtectedFromScaleIn>false</ProtectedFromScaleIn></member>",
		            instance->id, world->zones[instance->zone].name, world->zones[instance->zone].id,
		            instance->terminating ? "Terminating" : "InService");
	}
	text_append(text, "</Instances>");
}

static void print_tags(const struct sim_group *group, struct arena *arena, struct text *text)
{
	struct string_list tags = string_list_split(group->placed.tags, ",", arena);
	text_append(text, "<Tags>");
	for (size_t i = 0; i < tags.count; i++) {
		const char *equals = strchr(tags.at[i], '=');
		size_t length = equals != NULL ? (size_t)(equals - tags.at[i]) : strlen(tags.at[i]);
		text_printf(
			text,
			"<member><ResourceId>%s</ResourceId><ResourceType>auto-scaling-group</ResourceType><Key>%.*s</Key><Value>%s"
			"</Value><PropagateAtLaunch>false</PropagateAtLaunch></member>",
			group->placed.name, (int)length, tags.at[i], equals != NULL ? equals + 1 : "");
	}
	text_append(text, "</Tags>");
}

static void print_group(struct world *world, const struct sim_group *group, bool stale, struct arena *arena,
                        struct text *text)
{
	stale = stale && group->placed.edited.ms != 0 && instant_between_ms(group->placed.edited, world->now) < STALE_MS;
	const char *subnets = stale ? group->placed.previous : group->placed.subnets;
	struct string_list list = sim_list(world, subnets);
	bool zones[SIM_ZONES_MAX] = {false};
	text_printf(
		text,
		"<member><AutoScalingGroupName>%s</AutoScalingGroupName><AutoScalingGroupARN>%s</AutoScalingGroupARN>"
		"<MinSize>0</MinSize><MaxSize>%d</MaxSize><DesiredCapacity>%d</DesiredCapacity><DefaultCooldown>300</DefaultCooldown>"
		"<CreatedTime>2025-11-01T00:00:00.000Z</CreatedTime><HealthCheckType>EC2</HealthCheckType><SuspendedProcesses/>"
		"<LoadBalancerNames/><TargetGroupARNs/><EnabledMetrics/><VPCZoneIdentifier>%s</VPCZoneIdentifier><AvailabilityZones>",
		group->placed.name, group->placed.arn, group->desired * 2, group->desired, subnets);
	for (size_t i = 0; i < list.count; i++) {
		const struct sim_subnet *subnet = sim_subnet_find(world, list.at[i]);
		if (subnet != NULL && !zones[subnet->zone])
			text_printf(text, "<member>%s</member>", world->zones[subnet->zone].name);
		if (subnet != NULL)
			zones[subnet->zone] = true;
	}
	text_append(text, "</AvailabilityZones>");
	print_instances(world, group, text);
	print_tags(group, arena, text);
	text_append(text, "</member>");
}

/* The names asked for; none asked: all. */
static struct string_list group_names(struct world *world, struct arena *arena, const struct form *form)
{
	struct string_list names = {0};
	for (size_t i = 0; i < form->names.count; i++)
		if (text_starts_with(form->names.at[i], "AutoScalingGroupNames.member."))
			string_list_add(&names, arena, form->values.at[i]);
	if (names.count == 0)
		for (size_t i = 0; i < world->group_count; i++)
			string_list_add(&names, arena, world->groups[i]->placed.name);
	return names;
}

static void serve_groups(struct world *world, struct sim_call *call, const struct form *form)
{
	size_t from;
	size_t limit;
	if (!page(form, "MaxRecords", 100, 50, &from, &limit)) {
		sim_aws_error(call, 400, "InvalidNextToken", "The NextToken value is not valid.");
		return;
	}
	struct string_list names = group_names(world, &call->arena, form);
	struct text text;
	text_init(&text, ANSWER_MAX_BYTES);
	text_append(&text, "<DescribeAutoScalingGroupsResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">"
	                   "<DescribeAutoScalingGroupsResult><AutoScalingGroups>");
	size_t i = from;
	for (; i < names.count && i < from + limit; i++) {
		struct sim_group *group = sim_group_find(world, names.at[i]);
		bool hidden = group != NULL && group->hidden > 0;
		if (hidden)
			group->hidden--;
		else if (group != NULL)
			print_group(world, group, call->fault == WORLD_STALE, &call->arena, &text);
	}
	text_append(&text, "</AutoScalingGroups>");
	if (i < names.count)
		text_printf(&text, "<NextToken>page-%zu</NextToken>", i);
	text_append(&text,
	            "</DescribeAutoScalingGroupsResult><ResponseMetadata><RequestId>sim</RequestId></ResponseMetadata>"
	            "</DescribeAutoScalingGroupsResponse>");
	sim_aws_xml(call, 200, text_take(&text, &call->arena));
}

static void rival_strikes(struct world *world, void *context)
{
	struct sim_group *group = context;
	if (group->placed.deleted || sim_list_has(world, group->placed.subnets, group->rival_subnet))
		return;
	group->placed.foreign_edit = world->now;
	sim_note(world, "a rival puts %s back", group->rival_subnet);
	sim_group_set(world, group, sim_list_with(world, group->placed.subnets, group->rival_subnet));
}

static void provoke_rival(struct world *world, struct sim_group *group, const char *after)
{
	bool strikes = group->rival_subnet != NULL && group->rival_times > 0 &&
	               sim_list_has(world, group->placed.subnets, group->rival_subnet) &&
	               !sim_list_has(world, after, group->rival_subnet);
	if (strikes) {
		group->rival_times--;
		sim_schedule(world, group->rival_delay_ms, THING_ACTION, NULL, rival_strikes, group);
	}
}

static const char *update_trouble(struct world *world, const struct sim_group *group, const struct form *form,
                                  const char **code)
{
	const char *subnets = form_get(form, "VPCZoneIdentifier");
	*code = "ValidationError";
	if (group == NULL)
		return "AutoScalingGroup name not found";
	if (form->names.count != 4)
		sim_broken(world, "an update of %s that sends more than VPCZoneIdentifier", group->placed.name);
	struct string_list list = sim_list(world, subnets != NULL ? subnets : "");
	if (list.count == 0)
		return "At least one Availability Zone or VPC Subnet is required.";
	if (sim_unknown_subnet(world, subnets) == NULL)
		return NULL;
	*code = "InvalidSubnetID.NotFound";
	return "The subnet ID does not exist";
}

static void serve_update(struct world *world, struct sim_call *call, const struct form *form)
{
	const char *name = form_get(form, "AutoScalingGroupName");
	struct sim_group *group = name != NULL ? sim_group_find(world, name) : NULL;
	const char *code;
	const char *trouble = update_trouble(world, group, form, &code);
	if (trouble != NULL) {
		sim_aws_error(call, 400, code, trouble);
		return;
	}
	const char *after = form_get(form, "VPCZoneIdentifier");
	sim_check_update(world, &group->placed, after, call->abandoned);
	sim_check_group(world, group, after, call->abandoned);
	sim_placed_take(world, &group->placed, after);
	provoke_rival(world, group, after);
	sim_group_set(world, group, after);
	sim_aws_xml(
		call, 200,
		"<UpdateAutoScalingGroupResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><ResponseMetadata>"
		"<RequestId>sim</RequestId></ResponseMetadata></UpdateAutoScalingGroupResponse>");
}

static void serve_identity(const struct world *world, struct sim_call *call)
{
	sim_aws_xml(
		call, 200,
		arena_printf(
			&call->arena,
			"<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult><Arn>"
			"arn:aws:iam::%s:user/sim</Arn><UserId>AIDASIM</UserId><Account>%s</Account></GetCallerIdentityResult>"
			"<ResponseMetadata><RequestId>sim</RequestId></ResponseMetadata></GetCallerIdentityResponse>",
			world->asker, world->asker));
}

static void serve_query(struct world *world, struct sim_call *call)
{
	struct form form = form_parse(&call->arena, call->request.body);
	const char *action = call->request.operation;
	if (form_get(&form, "Version") == NULL)
		sim_aws_error(call, 400, "MissingParameter", "Version");
	else if (strcmp(action, "DescribeAvailabilityZones") == 0)
		serve_zones(world, call);
	else if (strcmp(action, "DescribeSubnets") == 0)
		serve_subnets(world, call, &form);
	else if (strcmp(action, "DescribeAutoScalingGroups") == 0)
		serve_groups(world, call, &form);
	else if (strcmp(action, "UpdateAutoScalingGroup") == 0)
		serve_update(world, call, &form);
	else if (strcmp(action, "GetCallerIdentity") == 0)
		serve_identity(world, call);
	else if (strncmp(action, "AssumeRole", strlen("AssumeRole")) == 0)
		sim_sts_serve(world, call);
	else
		sim_aws_error(call, 400, "InvalidAction", action);
}

static void serve_dynamo(struct world *world, struct sim_call *call)
{
	const char *body = NULL;
	if (strcmp(call->request.operation, "DeleteItem") == 0)
		sim_expect_close(world, call);
	int status = dynamo_handle(world->dynamo, call->request.operation, call->request.body, call->request.body_length,
	                           &call->arena, &body);
	call->answer = (struct sim_answer){status, "application/x-amz-json-1.0", body, ERROR_NONE};
	if (status == 200 && world->closing != NULL)
		sim_broken(world, "the record of %s", world->closing);
	world->closing = NULL;
}

const char *sim_journal_note(struct world *world, struct sim_call *call)
{
	struct error error;
	if (strcmp(call->request.service, "dynamodb") != 0)
		return "";
	const struct json *body = json_parse(&call->arena, call->request.body, call->request.body_length, &error);
	const struct json *key = json_get(body, "Key") != NULL ? json_get(body, "Key") : json_get(body, "Item");
	const char *zone = json_get_string(json_get(key, "zoneId"), "S");
	const char *id = json_get_string(json_get(key, "resourceId"), "S");
	if (zone == NULL || id == NULL)
		return "";
	const struct json *item = dynamo_item(world->dynamo, WORLD_TABLE, zone, id);
	const char *state = json_get_string(json_get(item, "state"), "S");
	const char *name = strrchr(id, '/') != NULL ? strrchr(id, '/') : strrchr(id, ':');
	const struct json *owners = json_path(item, "owners.SS");
	return arena_printf(&call->arena, " %s %s%s", name != NULL ? name + 1 : id,
	                    item == NULL    ? "no record"
	                    : state != NULL ? state
	                                    : "",
	                    json_count(owners) > 1 ? ", two owners" : "");
}

static void serve(struct world *world, struct sim_call *call)
{
	switch (protocol_of(&call->request)) {
	case PROTOCOL_QUERY:
		serve_query(world, call);
		return;
	case PROTOCOL_DYNAMO:
		serve_dynamo(world, call);
		return;
	case PROTOCOL_ECS:
		sim_ecs_serve(world, call);
		return;
	case PROTOCOL_LAMBDA:
		sim_lambda_serve(world, call);
		return;
	}
	abort();
}

void world_hide_elsewhere(struct world *world, bool table)
{
	struct dynamo *ours = world->dynamo;
	world->elsewhere = world->dynamo = dynamo_new();
	if (table)
		world_make_table(world);
	world->dynamo = ours;
}

static void serve_elsewhere(struct world *world, struct sim_call *call)
{
	struct dynamo *ours = world->dynamo;
	size_t groups = world->group_count;
	world->dynamo = world->elsewhere;
	world->group_count = 0;
	serve(world, call);
	world->dynamo = ours;
	world->group_count = groups;
}

void sim_aws_serve(struct world *world, struct sim_call *call)
{
	if (!sim_identity_aws(world, call))
		return;
	if (world->elsewhere != NULL && strcmp(world->asker, WORLD_ACCOUNT) != 0)
		serve_elsewhere(world, call);
	else
		serve(world, call);
}

void world_make_table(struct world *world)
{
	static const char body[] =
		"{\"TableName\":\"" WORLD_TABLE "\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":["
		"{\"AttributeName\":\"zoneId\",\"AttributeType\":\"S\"},{\"AttributeName\":\"resourceId\",\"AttributeType\":\"S\"},"
		"{\"AttributeName\":\"resourceType\",\"AttributeType\":\"S\"}],\"KeySchema\":[{\"AttributeName\":\"zoneId\",\"KeyType\":\"HASH\"},"
		"{\"AttributeName\":\"resourceId\",\"KeyType\":\"RANGE\"}],\"GlobalSecondaryIndexes\":[{\"IndexName\":"
		"\"resourceType-zoneId-index\",\"KeySchema\":[{\"AttributeName\":\"resourceType\",\"KeyType\":\"HASH\"},"
		"{\"AttributeName\":\"zoneId\",\"KeyType\":\"RANGE\"}],\"Projection\":{\"ProjectionType\":\"ALL\"}}]}";
	const char *answer;
	int status = dynamo_handle(world->dynamo, "CreateTable", body, sizeof(body) - 1, &world->scratch, &answer);
	if (status != 200)
		sim_broken(world, "the table cannot be made: %s", answer);
	sim_note(world, "the journal's table is there");
}

struct dynamo *world_dynamo(struct world *world)
{
	return world->dynamo;
}
