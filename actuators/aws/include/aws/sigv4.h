/*
 * AWS Signature Version 4 as a function of its inputs: request, credentials, region, service, time.
 *
 * Source: AWS, "Create a signed AWS API request"; checked stage by stage against AWS's published test suite.
 */
#ifndef AWS_SIGV4_H
#define AWS_SIGV4_H

#include "aws/credentials.h"
#include "base/instant.h"
#include "net/http.h"

struct sigv4_scope {
	const struct aws_credentials *credentials;
	const char *region;
	const char *signing_name;
	struct wallclock at;
	bool keep_path; /* S3 only: path neither normalised nor encoded a second time */
};

/* SHA-256 of `length` bytes (NULL: of none), 64 lower-case hexadecimal digits in `arena`. */
const char *sigv4_hash(struct arena *arena, const char *bytes, size_t length);

/*
 * The stages, each in `arena`; `request` has Host, X-Amz-Date (and token) among its headers. `*signed_headers` gets the
 * list. The path is that of `request->url` once the engine has set it (an endpoint may have a path of its own), before
 * that `request->path`.
 */
const char *sigv4_canonical_request(struct arena *arena, const struct sigv4_scope *scope,
                                    const struct http_request *request, const char **signed_headers);
const char *sigv4_string_to_sign(struct arena *arena, const struct sigv4_scope *scope, const char *canonical_request);
const char *sigv4_signature(struct arena *arena, const struct sigv4_scope *scope, const char *string_to_sign);

/*
 * Set Host (from `host`), X-Amz-Date, X-Amz-Security-Token when there is one, and Authorization. Signing again replaces
 * them, so that a repeated request is signed with a fresh date and fresh credentials.
 */
void sigv4_sign(struct arena *arena, const struct sigv4_scope *scope, const char *host, struct http_request *request);

#endif
