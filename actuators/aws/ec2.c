#include "aws/ec2.h"

#include "aws/protocol.h"
#include "aws/xml.h"

#define SUBNETS_A_PAGE "1000"

static const char *not_empty(const char *string)
{
	return string != NULL && string[0] != '\0' ? string : NULL;
}

/* The element at `path` of a good answer, or NULL with the error. */
static const struct xml *hear(struct arena *arena, const struct http_response *response, const char *operation,
                              const char *path, struct error *error)
{
	const struct xml *root;
	const struct xml *found;

	if (!aws_check(aws_service_find("ec2"), response, error))
		return NULL;
	root = xml_parse(arena, response->body, response->body_length, error);
	if (root == NULL) {
		error_wrap(error, "%s", operation);
		return NULL;
	}
	found = xml_path(root, path);
	if (found == NULL)
		error_set(error, ERROR_MALFORMED, "%s: the answer is a <%.64s> without %s", operation, root->name, path);
	return found;
}

/* What an item must have. */
static bool take(const struct xml *item, const char *operation, const char *name, const char **out, struct error *error)
{
	*out = not_empty(xml_path_text(item, name));
	if (*out == NULL)
		return error_set(error, ERROR_MALFORMED, "%s: an item of the answer has no %s", operation, name);
	return true;
}

void ec2_ask_zones(struct arena *arena, struct http_request *out)
{
	struct query query;

	query_begin(&query, arena, aws_service_find("ec2"), "DescribeAvailabilityZones", out);
	query_add(&query, "AllAvailabilityZones", "true");
	query_end(&query);
}

bool ec2_hear_zones(struct arena *arena, const struct http_response *response, struct zones *out, struct error *error)
{
	static const char operation[] = "DescribeAvailabilityZones";
	const struct xml *set = hear(arena, response, operation, "availabilityZoneInfo", error);

	if (set == NULL)
		return false;
	for (const struct xml *item = xml_child(set, "item"); item != NULL; item = xml_next(item)) {
		const char *type = not_empty(xml_path_text(item, "zoneType"));
		struct zone zone = {.type = type != NULL ? type : "availability-zone"};

		if (!take(item, operation, "zoneId", &zone.id, error) || !take(item, operation, "zoneName", &zone.name, error))
			return false;
		out->at = arena_grow(arena, out->at, out->count, &out->capacity, sizeof(*out->at));
		out->at[out->count++] = zone;
	}
	return true;
}

void ec2_ask_subnets(struct arena *arena, const char *token, struct http_request *out)
{
	struct query query;

	query_begin(&query, arena, aws_service_find("ec2"), "DescribeSubnets", out);
	query_add(&query, "MaxResults", SUBNETS_A_PAGE);
	if (token != NULL)
		query_add(&query, "NextToken", token);
	query_end(&query);
}

bool ec2_hear_subnets(struct arena *arena, const struct http_response *response, struct subnets *out,
                      const char **next_token, struct error *error)
{
	static const char operation[] = "DescribeSubnets";
	const struct xml *root = hear(arena, response, operation, "", error);
	const struct xml *set = xml_child(root, "subnetSet");

	if (root == NULL)
		return false;
	if (set == NULL)
		return error_set(error, ERROR_MALFORMED, "%s: the answer is a <%.64s> without subnetSet", operation,
		                 root->name);
	for (const struct xml *item = xml_child(set, "item"); item != NULL; item = xml_next(item)) {
		struct subnet subnet;

		if (!take(item, operation, "subnetId", &subnet.id, error) ||
		    !take(item, operation, "availabilityZoneId", &subnet.zone_id, error) ||
		    !take(item, operation, "availabilityZone", &subnet.zone_name, error) ||
		    !take(item, operation, "vpcId", &subnet.vpc_id, error))
			return false;
		out->at = arena_grow(arena, out->at, out->count, &out->capacity, sizeof(*out->at));
		out->at[out->count++] = subnet;
	}
	*next_token = not_empty(xml_path_text(root, "nextToken"));
	return true;
}
