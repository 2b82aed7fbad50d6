/*
 * Credentials of a container: ECS tasks and EKS Pod Identity, an agent on the node that is asked by GET.
 *
 *   GET http://169.254.170.23/v1/credentials   Authorization: <token>
 *   {"AccessKeyId": …, "SecretAccessKey": …, "Token": …, "Expiration": "2030-01-01T00:00:00Z", "AccountId": …}
 *   {"code": "AccessDeniedException", "message": …}
 *
 * Which addresses may be asked is decided in credential_plan.h. Errors: credential_answer.h.
 */
#ifndef AWS_CONTAINER_H
#define AWS_CONTAINER_H

#include "aws/credentials.h"
#include "net/http.h"

/* `token` NULL: no Authorization. Deadline 2 s; not for a proxy. */
void container_ask(struct arena *arena, const char *url, const char *token, struct http_request *out);

/*
 * Without a Token they may be without an Expiration too (0: never); a Token alone is MALFORMED: nobody could know when
 * to come back. `source` is left NULL. What has expired already is taken as it is.
 */
bool container_hear(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                    struct error *error);

#endif
