/*
 * Requests and errors of the Query, JSON and REST-JSON protocols.
 *
 *   query: POST /  Action=UpdateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName=web&VPCZoneIdentifier=subnet-a%2Csubnet-b
 *   json:  POST /  X-Amz-Target: DynamoDB_20120810.Query   {"TableName":…}
 *   rest:  PUT /2015-03-31/functions/arn%3Aaws%3Alambda%3A…/configuration   {"VpcConfig":…}
 */
#ifndef AWS_PROTOCOL_H
#define AWS_PROTOCOL_H

#include "aws/service.h"
#include "base/instant.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http.h"

/* Query and ec2Query. Build: begin, parameters, end. */
struct query {
	struct text form;
	struct http_request *request;
	struct arena *arena;
};

void query_begin(struct query *query, struct arena *arena, const struct aws_service *service, const char *operation,
                 struct http_request *out);
void query_add(struct query *query, const char *name, const char *value);
/* "Name.member.1" and the like: `format` has one %zu for the 1-based position. */
void query_add_list(struct query *query, const char *format, const char *const *values, size_t count);
void query_end(struct query *query);

/* awsJson: `body` NULL is {}. */
void aws_json_request(struct arena *arena, const struct aws_service *service, const char *operation,
                      const struct json *body, struct http_request *out);

/*
 * restJson: `path` and `query` (NULL = none) as they go on the wire; what stands in a label or a value of theirs is encoded
 * by text_percent, "/" and ":" too. `body` NULL: none is sent.
 */
void aws_rest_request(struct arena *arena, const struct aws_service *service, const char *operation, const char *method,
                      const char *path, const char *query, const struct json *body, struct http_request *out);

/*
 * What kind of answer it is. True for 2xx (ERROR_MALFORMED when it comes in an encoding, which we never ask for).
 * Otherwise fills `error` (kind, status, code, request id, message,
 * retry_after_ms) from whatever the body is: XML, JSON, HTML, nothing; a transport error is taken over.
 * retry_after_ms: x-amz-retry-after (ms), else Retry-After (seconds or a date), at most 10 minutes.
 *
 * `code` is the service's word as sent (Query services drop the suffix Fault or Exception themselves), without
 * namespace. A word that is known decides the kind, whatever the status: THROTTLED, EXPIRED, DENIED, BUSY, ABSENT,
 * CONFLICT. Else the status does: 401 and 403 DENIED, 409 and 412 CONFLICT, 429 THROTTLED, 408 and 5xx SERVER, all
 * others REJECTED; so a 404 of a proxy is never taken for an absent table.
 */
bool aws_check(const struct aws_service *service, const struct http_response *response, struct error *error);

/*
 * Does the service's word allow for a clock that is off? Some of these words are also said of a wrong key: sign once more
 * only when aws_server_time tells another time than the one that was signed with.
 */
bool aws_is_skew(const struct error *error);

/*
 * The time at which AWS answered, to the second: the Date of an answer that names a request id, so that it is AWS's own
 * and no proxy's, and is from no cache. False when it is none of these.
 */
bool aws_server_time(const struct http_response *response, struct wallclock *out);

#endif
