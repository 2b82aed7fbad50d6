/*
 * The metadata service of an EC2 instance: a session's token (version 2), the role's name, its credentials, the region.
 *
 *   PUT /latest/api/token   x-aws-ec2-metadata-token-ttl-seconds: 21600    ─► token
 *   GET /latest/meta-data/iam/security-credentials/                        ─► name of the role
 *   GET /latest/meta-data/iam/security-credentials/NAME                    ─► {"Code": "Success", "AccessKeyId": …, …}
 *   GET /latest/meta-data/placement/region                                 ─► us-east-1
 *   each GET with x-aws-ec2-metadata-token; without it that is version 1
 *
 * Nothing here decides what is tried next: credential_session.h does. Errors: credential_answer.h. Source: Amazon EC2
 * User Guide, "Use the Instance Metadata Service".
 */
#ifndef AWS_INSTANCE_METADATA_H
#define AWS_INSTANCE_METADATA_H

#include "aws/credentials.h"
#include "net/http.h"

/* Where and how long: as planned. `token` NULL asks as version 1 does. */
struct instance_metadata {
	const char *base_url; /* no slash at the end */
	int32_t timeout_ms;
	const char *token;
};

void instance_metadata_ask_token(struct arena *arena, const struct instance_metadata *service,
                                 struct http_request *out);
void instance_metadata_ask_role(struct arena *arena, const struct instance_metadata *service, struct http_request *out);
/* `role` as instance_metadata_hear_role had it. */
void instance_metadata_ask_credentials(struct arena *arena, const struct instance_metadata *service, const char *role,
                                       struct http_request *out);
void instance_metadata_ask_region(struct arena *arena, const struct instance_metadata *service,
                                  struct http_request *out);

/* The PUT says that there is no version 2 here: 403, 404, 405. */
bool instance_metadata_has_no_token(const struct http_response *response);

/* What was heard is copied into `arena`. */
bool instance_metadata_hear_token(struct arena *arena, const struct http_response *response, const char **token,
                                  struct error *error);

/* The first line. ERROR_ABSENT on 404: the instance has no role. */
bool instance_metadata_hear_role(struct arena *arena, const struct http_response *response, const char **role,
                                 struct error *error);

/*
 * may_outlive is set: the service goes on handing out the last ones when it cannot get others, and AWS goes on taking
 * them; so an Expiration in the past is no error. A Code other than Success is one (REJECTED), whatever the status.
 * `source` is left NULL.
 */
bool instance_metadata_hear_credentials(struct arena *arena, const struct http_response *response,
                                        struct aws_credentials *out, struct error *error);

bool instance_metadata_hear_region(struct arena *arena, const struct http_response *response, const char **region,
                                   struct error *error);

#endif
