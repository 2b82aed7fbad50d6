/*
 * The AWS services we call, as data: names, protocols, versions, quotas. Facts: the services' public models.
 */
#ifndef AWS_SERVICE_H
#define AWS_SERVICE_H

#include <stddef.h>

enum aws_protocol { AWS_QUERY, AWS_EC2_QUERY, AWS_JSON_1_0, AWS_JSON_1_1, AWS_REST_JSON };

struct aws_service {
	const char *name;          /* as in http_request.service: "autoscaling" */
	const char *signing_name;  /* "autoscaling" */
	const char *host_prefix;   /* "autoscaling" in autoscaling.us-east-1.amazonaws.com */
	const char *env_suffix;    /* "AUTO_SCALING" in AWS_ENDPOINT_URL_AUTO_SCALING */
	const char *api_version;   /* "2011-01-01" */
	const char *target_prefix; /* awsJson: "DynamoDB_20120810"; else NULL */
	enum aws_protocol protocol;
};

/* NULL when it is none of AWS's ("kubernetes"). */
const struct aws_service *aws_service_find(const char *name);

/* The n-th of the table, or NULL. */
const struct aws_service *aws_service_at(size_t index);

/* A call class shares one token bucket per account and region. */
struct aws_quota {
	const char *call_class; /* "autoscaling", "ec2 read" … */
	double rate_per_s;
	double burst_count;
};

/* Where AWS publishes no number, a cautious one of ours; never NULL for a known service. */
const struct aws_quota *aws_quota_find(const char *service, const char *operation);

#endif
