/*
 * Plain questions to the world through the client seam, for the world's own tests: one call, waited for.
 */
#ifndef TESTS_SIM_ASK_H
#define TESTS_SIM_ASK_H

#include "world.h"

struct ask {
	struct world *world;
	struct arena arena;
	const char *key;          /* signed with; NULL = some */
	const char *token;        /* of the session; NULL = none */
	struct instant not_after; /* of what is asked next */
};

void ask_init(struct ask *ask, uint64_t seed);
void ask_done(struct ask *ask);

/* A signed-looking AWS request (Query when `target` is NULL) or a request to the API server; NULL when the client died meanwhile. */
const struct http_response *ask_kube(struct ask *ask, const char *method, const char *path_and_query, const char *body);
const struct http_response *ask_aws(struct ask *ask, const char *service, const char *target, const char *body);
/* The path behind "/2015-03-31/functions". */
const struct http_response *ask_lambda(struct ask *ask, const char *method, const char *path_and_query,
                                       const char *body);

/* A record that subnet-a (use1-az1) was taken out of what has this ARN, or is about to be: put past the journal's rules. */
void ask_plant(struct ask *ask, const char *arn, const char *state);

/* Submit without waiting; a stream when `stream`. */
uint64_t ask_submit(struct ask *ask, const char *method, const char *url, const char *body, bool stream);

/* The next happening. */
struct client_event ask_wait(struct ask *ask, int64_t ms);

/* Keys from the container's endpoint; the answer's body, or NULL. They are used from then on. */
const struct json *ask_credentials(struct ask *ask);

/* Runs an exec plugin; the answer to it. */
const struct http_response *ask_login(struct ask *ask);

/* The body as JSON, or NULL. */
const struct json *ask_json(struct ask *ask, const struct http_response *response);

#endif
