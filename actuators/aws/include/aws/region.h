/*
 * Regions, partitions and endpoints, as data.
 *
 * Regional endpoints only (static stability: never a global one). Precedence: AWS_ENDPOINT_URL_<SERVICE>,
 * AWS_ENDPOINT_URL, the default.
 */
#ifndef AWS_REGION_H
#define AWS_REGION_H

#include "aws/credentials.h"
#include "aws/service.h"
#include "net/http.h"

struct aws_endpoint {
	const char *base_url; /* "https://autoscaling.us-east-1.amazonaws.com", no slash at the end; may have a path */
	const char *host;     /* value of the Host header: with the port if it is not the default */
	const char *signing_region; /* "us-east-1" */
};

/* "aws", "aws-cn", …: for ARNs. An unknown region is in "aws". Never NULL. */
const char *aws_partition(const char *region);

/* "us-east-1" and the like: letters, digits, dashes, ending in a number. */
bool aws_region_valid(const char *region);

/* "use1-az1": `^[a-z]{2,10}[0-9]+-az[0-9]+$`. */
bool aws_zone_id_valid(const char *zone_id);

/* From AWS_REGION, AWS_DEFAULT_REGION, the profile. ERROR_ABSENT with what to do. Reads the config file. */
bool aws_region_load(struct arena *arena, const struct aws_environment *environment, const char **out,
                     struct error *error);

/*
 * ERROR_INPUT when an override is not an http(s) URL, or AWS_USE_FIPS_ENDPOINT or AWS_USE_DUALSTACK_ENDPOINT is not
 * true or false, or is true beside an override. AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true leaves overrides aside.
 */
bool aws_endpoint_of(struct arena *arena, const struct aws_service *service, const char *region,
                     const struct aws_environment *environment, struct aws_endpoint *out, struct error *error);

/* The URL of a request at an endpoint: base, path, query. */
const char *aws_endpoint_url(struct arena *arena, const struct aws_endpoint *endpoint,
                             const struct http_request *request);

#endif
