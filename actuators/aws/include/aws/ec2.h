/*
 * What we ask of EC2: the zones of the account, and every subnet with its zone.
 *
 * Names and ids of zones are mapped per account, so these are asked with the credentials that own the resources.
 */
#ifndef AWS_EC2_H
#define AWS_EC2_H

#include "domain/scope.h"
#include "net/http.h"

struct zone {
	const char *id;   /* use1-az1 */
	const char *name; /* us-east-1a */
	const char *type; /* "availability-zone", "local-zone", "wavelength-zone" */
};

struct zones {
	struct zone *at;
	size_t count;
	size_t capacity;
};

/* DescribeAvailabilityZones, all zones of the region. Not paginated. */
void ec2_ask_zones(struct arena *arena, struct http_request *out);
bool ec2_hear_zones(struct arena *arena, const struct http_response *response, struct zones *out, struct error *error);

/* DescribeSubnets, 1,000 a page; `token` NULL for the first. Appends; *next_token NULL after the last page. */
void ec2_ask_subnets(struct arena *arena, const char *token, struct http_request *out);
bool ec2_hear_subnets(struct arena *arena, const struct http_response *response, struct subnets *out,
                      const char **next_token, struct error *error);

#endif
