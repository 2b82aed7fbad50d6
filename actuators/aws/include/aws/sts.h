/*
 * What we ask of STS: who we are, and to be somebody else. Query protocol; the regional endpoint, never the global one.
 *
 * AssumeRole is signed with the credentials that assume; AssumeRoleWithWebIdentity carries its proof in the form and
 * goes unsigned.
 *
 *   AssumeRole:                RoleArn, RoleSessionName, DurationSeconds, ExternalId
 *   AssumeRoleWithWebIdentity: RoleArn, RoleSessionName, DurationSeconds, WebIdentityToken
 *   <AssumeRoleResponse><AssumeRoleResult><Credentials>
 *     <AccessKeyId/><SecretAccessKey/><SessionToken/><Expiration>2030-01-01T00:00:00Z</Expiration>
 *
 * Errors: those of aws_check (protocol.h), with the service's own message but never a piece of a body that could not be
 * read; ERROR_MALFORMED for a good answer without credentials in it. Nothing looks at a clock: what has expired already
 * is taken as it is.
 */
#ifndef AWS_STS_H
#define AWS_STS_H

#include "aws/credential_plan.h"
#include "net/http.h"

/* GetCallerIdentity: whose account. */
void sts_ask_identity(struct arena *arena, struct http_request *out);
bool sts_hear_identity(struct arena *arena, const struct http_response *response, const char **account_id,
                       struct error *error);

void sts_ask_role(struct arena *arena, const struct credential_role *role, struct http_request *out);
/* `source` and `may_outlive` of `out` are left NULL and false; all else is in `arena`. */
bool sts_hear_role(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                   struct error *error);

/* `token`: what the file holds, at most 20,000 characters. A role's external_id has no place here. */
void sts_ask_web_identity(struct arena *arena, const struct credential_role *role, const char *token,
                          struct http_request *out);
bool sts_hear_web_identity(struct arena *arena, const struct http_response *response, struct aws_credentials *out,
                           struct error *error);

/*
 * Can the very same call, signed anew and with the token file read anew, end otherwise in a second? Beside what any
 * service may say in trouble: a clock that was off (it is corrected from that answer), and of a web identity
 * IDPCommunicationError and a token that was just rotated (InvalidIdentityToken, ExpiredTokenException). An expired
 * token of AssumeRole stays expired.
 */
bool sts_may_pass(const struct error *error, bool web_identity);

#endif
