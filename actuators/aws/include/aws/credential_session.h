/*
 * A credential plan carried out: what to send next, what came back, in the end credentials or an error. A pure state
 * machine; it reads token files (each time anew: they rotate), nothing else.
 *
 *   source ─► keys ────────────────────────────────────────────┐
 *          ─► STS AssumeRoleWithWebIdentity ───────────────────┤
 *          ─► GET container ───────────────────────────────────┼─► AssumeRole ─► AssumeRole … ─► credentials
 *          ─► PUT token ─► GET role's name ─► GET credentials ─┤
 *          ─► run credential_process ──────────────────────────┘
 *
 * What may pass by itself is tried three times in all (instance metadata as often as planned), after 0.5 s and 1 s, or
 * when Retry-After says, at most 10 s: no answer, a broken one, 5xx, throttling; of STS also IDPCommunicationError, a
 * token that was just rotated (InvalidIdentityToken, ExpiredTokenException: its file is read anew) and a clock that was
 * off. STS calls are signed anew each time. All else is an error at once, a program's failure too: nothing falls
 * through to another source. So is what has expired on arrival, but for instance metadata.
 *
 * Instance metadata: version 1 (no token) is used when the service has no version 2 (403, 404, 405), unless the plan
 * forbids it. When the answer to the PUT does not arrive in time, one request of version 1 tells why: a 401 means that
 * the service is there and the answer was lost on its way into a pod; silence means that it is not there. A token that
 * is refused is replaced once.
 *
 * Errors: session->error. ERROR_ABSENT: nothing is configured and the last resort, instance metadata, does not answer
 * or has no role. All others begin with the source's name. No token, key or unreadable body is ever repeated.
 *
 * Deadlines: STS 5 s a call, container 2 s, instance metadata as planned, a program 60 s. Bodies: 64 KiB at most.
 */
#ifndef AWS_CREDENTIAL_SESSION_H
#define AWS_CREDENTIAL_SESSION_H

#include "aws/credential_plan.h"
#include "net/http.h"
#include "net/program.h"

enum credential_want {
	CREDENTIAL_WANT_CALL,    /* request is filled, url and headers and all: send it as it is */
	CREDENTIAL_WANT_PROGRAM, /* program is filled */
	CREDENTIAL_HAVE,         /* session->credentials */
	CREDENTIAL_FAILED,       /* session->error */
};

struct credential_ask {
	int64_t after_ms; /* wait so long first */
	/*
	 * `service` is "sts", "container-credentials" or "instance-metadata": the first goes like all calls to AWS (proxy,
	 * CA bundle), the others never through a proxy.
	 */
	struct http_request request;
	struct program program;
};

struct credential_session {
	const struct credential_plan *plan;
	struct arena *arena;                /* the result's */
	struct aws_credentials credentials; /* of the source, then of each role */
	struct error error;                 /* of the last try */
	int step;
	size_t role; /* the next one to assume */
	int tries;   /* of this step, those that failed */
	const char *metadata_token;
	const char *metadata_role;
	bool metadata_v1;
	bool metadata_guess;   /* that there is version 1, because the answer to the PUT did not come */
	bool metadata_renewed; /* the token was refused once */
	bool for_region;       /* only the region is asked for */
	const char *region;    /* the answer to that */
};

/* `plan` and `arena` outlive it. */
void credential_session_init(struct credential_session *session, struct arena *arena,
                             const struct credential_plan *plan);

/*
 * As above, for the region of the instance: WANT_CALLs, then HAVE with session->region, or FAILED (ERROR_ABSENT:
 * nothing answers). The plan's kind is CREDENTIAL_INSTANCE.
 */
void credential_session_init_region(struct credential_session *session, struct arena *arena,
                                    const struct credential_plan *plan);

/*
 * What now? `wall`: AWS's time, for signatures. `arena`: the exchange's; what is asked lives in it (up to 256 KiB).
 * `out` is filled from scratch. Asked again without an answer between it says the same again, with a new signature.
 */
enum credential_want credential_session_ask(struct credential_session *session, struct wallclock wall,
                                            struct arena *arena, struct credential_ask *out);

/* The answer to the call or the program, whatever it is (response->error, any status). Then ask again. */
void credential_session_hear(struct credential_session *session, struct wallclock wall,
                             const struct http_response *response);

#endif
