#include "aws/service.h"

#include <string.h>

static const struct aws_service services[] = {
	{"autoscaling", "autoscaling", "autoscaling", "AUTO_SCALING", "2011-01-01", NULL, AWS_QUERY},
	{"dynamodb", "dynamodb", "dynamodb", "DYNAMODB", "2012-08-10", "DynamoDB_20120810", AWS_JSON_1_0},
	{"ec2", "ec2", "ec2", "EC2", "2016-11-15", NULL, AWS_EC2_QUERY},
	{"ecs", "ecs", "ecs", "ECS", "2014-11-13", "AmazonEC2ContainerServiceV20141113", AWS_JSON_1_1},
	{"lambda", "lambda", "lambda", "LAMBDA", "2015-03-31", NULL, AWS_REST_JSON},
	{"sts", "sts", "sts", "STS", "2011-06-15", NULL, AWS_QUERY},
};

/* `prefix` of the operation's name; the first line that fits counts, so a service's last line has "". */
static const struct {
	const char *service;
	const char *prefix;
	struct aws_quota quota;
} quotas[] = {
	/* One bucket for all calls of an account and region; AWS names no number, this one is ours. */
	{"autoscaling", "", {"autoscaling", 10, 20}},
	/* On demand: limited by the table, not by the API. */
	{"dynamodb", "", {"dynamodb", 1000, 1000}},
	/*
	 * Source: EC2 API developer guide, "Request throttling": non-mutating calls; it has one bucket for each API, we
	 * share one.
	 */
	{"ec2", "", {"ec2 read", 20, 100}},
	/* Source: ECS developer guide, "Request throttling for the Amazon ECS API". */
	{"ecs", "UpdateService", {"ecs service modify", 5, 50}},
	{"ecs", "ListClusters", {"ecs cluster read", 20, 50}},
	{"ecs", "", {"ecs service read", 20, 100}},
	/*
	 * Source: Lambda developer guide, "Lambda quotas": GetFunction has 100 a second of its own; all other calls of the
	 * control plane share 15 with the customer's own deployments, of which we leave a third.
	 */
	{"lambda", "GetFunction", {"lambda get", 100, 100}},
	{"lambda", "", {"lambda control plane", 10, 10}},
	{"sts", "", {"sts", 100, 100}},
};

const struct aws_service *aws_service_find(const char *name)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		if (name != NULL && strcmp(services[i].name, name) == 0)
			return &services[i];
	}
	return NULL;
}

const struct aws_service *aws_service_at(size_t index)
{
	return index < sizeof(services) / sizeof(services[0]) ? &services[index] : NULL;
}

const struct aws_quota *aws_quota_find(const char *service, const char *operation)
{
	for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		const char *prefix = quotas[i].prefix;

		if (service == NULL || strcmp(quotas[i].service, service) != 0)
			continue;
		if (prefix[0] == '\0' || (operation != NULL && strncmp(operation, prefix, strlen(prefix)) == 0))
			return &quotas[i].quota;
	}
	return NULL;
}
