/*
 * Regions, partitions and endpoints, as data; and how calls to them are to be made.
 *
 * Regional endpoints only (static stability: never a global one). Precedence: AWS_ENDPOINT_URL_<SERVICE>,
 * AWS_ENDPOINT_URL, the services section of the active profile, its endpoint_url, the default. FIPS and dual-stack:
 * AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT, else the profile's use_fips_endpoint and
 * use_dualstack_endpoint. What reads the profile reads the shared files (shared_files.h, with its errors).
 *
 * Source: the SDKs' partitions file and endpoint rule sets; SDKs and tools reference, "Service-specific endpoints".
 */
#ifndef AWS_REGION_H
#define AWS_REGION_H

#include "aws/credentials.h"
#include "aws/service.h"
#include "net/http.h"

struct aws_endpoint {
	const char *service;  /* as in http_request.service */
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
 * ERROR_INPUT when `region` is none, an override is not an http(s) URL, a switch is not true or false, FIPS or dual-stack
 * is asked for beside an override or where the region's partition has none, or the override of DynamoDB is its
 * dual-stack endpoint. AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true (ignore_configured_endpoint_urls) leaves overrides aside.
 */
bool aws_endpoint_of(struct arena *arena, const struct aws_service *service, const char *region,
                     const struct aws_environment *environment, struct aws_endpoint *out, struct error *error);

/*
 * By what AWS's endpoints are trusted: AWS_CA_BUNDLE, else the profile's ca_bundle. *ca_file NULL: the system's roots.
 * ERROR_INPUT when the file is not there or holds no certificate.
 */
bool aws_ca_bundle(struct arena *arena, const struct aws_environment *environment, const char **ca_file,
                   struct error *error);

/*
 * How often a call may be sent in all (AWS_MAX_ATTEMPTS, max_attempts; 1 to 20): 0 when nothing is said. AWS_RETRY_MODE
 * and retry_mode: "standard" is what we do, "legacy" and "adaptive" are taken as standard. ERROR_INPUT for all else.
 */
bool aws_max_attempts(struct arena *arena, const struct aws_environment *environment, int *out, struct error *error);

/* The URL of a request at an endpoint: base, path, query. */
const char *aws_endpoint_url(struct arena *arena, const struct aws_endpoint *endpoint,
                             const struct http_request *request);

#endif
