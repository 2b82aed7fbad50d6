#include "aws/credential_session.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "aws/container.h"
#include "aws/credential_answer.h"
#include "aws/credential_process.h"
#include "aws/instance_metadata.h"
#include "aws/sigv4.h"
#include "aws/sts.h"
#include "base/file.h"
#include "base/text.h"

#define TRIES 3
#define PAUSE_MIN_MS 500
#define PAUSE_MAX_MS 1000
#define RETRY_AFTER_MAX_MS 10000
#define PROGRAM_DEADLINE_MS 60000
/* Source: STS API reference, WebIdentityToken. */
#define TOKEN_MIN_LENGTH 4
#define TOKEN_MAX_LENGTH 20000
#define FILE_MAX_BYTES (32 * 1024)

#define IN_A_POD "in a pod, the instance's HttpPutResponseHopLimit must be 2 or more, or the pod needs hostNetwork"

enum step {
	STEP_KEYS,
	STEP_WEB_IDENTITY,
	STEP_CONTAINER,
	STEP_PROCESS,
	STEP_METADATA_TOKEN,
	STEP_METADATA_ROLE,
	STEP_METADATA_CREDENTIALS,
	STEP_METADATA_REGION,
	STEP_ROLE,
	STEP_HAVE,
	STEP_FAILED,
};

static bool is_final(int step)
{
	return step == STEP_HAVE || step == STEP_FAILED;
}

static void go(struct credential_session *session, enum step next)
{
	assert(!is_final(session->step));
	assert((int)next > session->step || next == STEP_METADATA_TOKEN || next == STEP_ROLE);
	session->step = (int)next;
	session->tries = 0;
	if (next != STEP_FAILED)
		session->error = (struct error){0};
}

static void go_after_source(struct credential_session *session)
{
	go(session, session->role < session->plan->role_count ? STEP_ROLE : STEP_HAVE);
}

static void go_after_token(struct credential_session *session)
{
	if (session->for_region)
		go(session, STEP_METADATA_REGION);
	else
		go(session, session->metadata_role == NULL ? STEP_METADATA_ROLE : STEP_METADATA_CREDENTIALS);
}

static void start(struct credential_session *session, struct arena *arena, const struct credential_plan *plan)
{
	*session = (struct credential_session){.plan = plan, .arena = arena};
}

void credential_session_init(struct credential_session *session, struct arena *arena,
                             const struct credential_plan *plan)
{
	start(session, arena, plan);
	switch (plan->kind) {
	case CREDENTIAL_KEYS:
		session->step = STEP_KEYS;
		break;
	case CREDENTIAL_WEB_IDENTITY:
		session->step = STEP_WEB_IDENTITY;
		break;
	case CREDENTIAL_CONTAINER:
		session->step = STEP_CONTAINER;
		break;
	case CREDENTIAL_INSTANCE:
		session->step = STEP_METADATA_TOKEN;
		break;
	case CREDENTIAL_PROCESS:
		session->step = STEP_PROCESS;
		break;
	}
}

void credential_session_init_region(struct credential_session *session, struct arena *arena,
                                    const struct credential_plan *plan)
{
	assert(plan->kind == CREDENTIAL_INSTANCE);
	start(session, arena, plan);
	session->step = STEP_METADATA_TOKEN;
	session->for_region = true;
}

/* Asking. */

static bool is_printable(const char *token, bool blanks)
{
	for (; *token != '\0'; token++) {
		if (!isgraph((unsigned char)*token) && !(blanks && *token == ' '))
			return false;
	}
	return true;
}

/* The trimmed content of a token's file, or NULL. `blanks`: it may be of the form "Basic …". */
static const char *read_token(struct arena *arena, const char *what, const char *path, bool blanks, struct error *error)
{
	size_t length = 0;
	char *content = NULL;
	const char *token;

	if (!file_read(arena, file_named(path), FILE_MAX_BYTES, &content, &length, error)) {
		error->kind = ERROR_INPUT;
		error_wrap(error, "%s", what);
		return NULL;
	}
	token = text_trim(arena, content, length);
	if (token[0] == '\0' && length == strlen(content))
		error_set(error, ERROR_INPUT, "%s: %s is empty", what, path);
	else if (strlen(content) != length || !is_printable(token, blanks))
		error_set(error, ERROR_INPUT, "%s: %s contains a blank, a line break or another unprintable character", what,
		          path);
	else if (strlen(token) < TOKEN_MIN_LENGTH || strlen(token) > TOKEN_MAX_LENGTH)
		error_set(error, ERROR_INPUT, "%s: %s holds %zu characters, a token has %d to %d", what, path, strlen(token),
		          TOKEN_MIN_LENGTH, TOKEN_MAX_LENGTH);
	else
		return token;
	return NULL;
}

static bool ask_web_identity(struct credential_session *session, struct arena *arena, struct http_request *out)
{
	const struct credential_plan *plan = session->plan;
	const char *token =
		read_token(arena, "the web identity token", plan->web_identity.token_file, false, &session->error);

	if (token == NULL)
		return false;
	sts_ask_web_identity(arena, &plan->web_identity.role, token, out);
	out->url = aws_endpoint_url(arena, &plan->sts, out);
	return true;
}

static bool ask_container(struct credential_session *session, struct arena *arena, struct http_request *out)
{
	const struct credential_plan *plan = session->plan;
	const char *token = plan->container.token;

	if (plan->container.token_file != NULL) {
		token =
			read_token(arena, "the container's authorization token", plan->container.token_file, true, &session->error);
		if (token == NULL)
			return false;
	}
	container_ask(arena, plan->container.url, token, out);
	return true;
}

static void ask_role(struct credential_session *session, struct wallclock wall, struct arena *arena,
                     struct http_request *out)
{
	const struct aws_endpoint *sts = &session->plan->sts;
	struct sigv4_scope scope = {
		.credentials = &session->credentials, .region = sts->signing_region, .signing_name = "sts", .at = wall};

	sts_ask_role(arena, &session->plan->roles[session->role], out);
	out->url = aws_endpoint_url(arena, sts, out);
	sigv4_sign(arena, &scope, sts->host, out);
}

static void ask_metadata(const struct credential_session *session, struct arena *arena, struct http_request *out)
{
	struct instance_metadata service = {.base_url = session->plan->instance.base_url,
	                                    .timeout_ms = session->plan->instance.timeout_ms,
	                                    .token = session->metadata_token};

	if (session->step == STEP_METADATA_TOKEN)
		instance_metadata_ask_token(arena, &service, out);
	else if (session->step == STEP_METADATA_ROLE)
		instance_metadata_ask_role(arena, &service, out);
	else if (session->step == STEP_METADATA_CREDENTIALS)
		instance_metadata_ask_credentials(arena, &service, session->metadata_role, out);
	else
		instance_metadata_ask_region(arena, &service, out);
}

static int64_t pause_ms(const struct credential_session *session)
{
	int64_t pause = session->tries > 1 ? PAUSE_MAX_MS : PAUSE_MIN_MS;
	int64_t wished = session->error.retry_after_ms;

	if (session->tries == 0)
		return 0;
	if (wished > RETRY_AFTER_MAX_MS)
		wished = RETRY_AFTER_MAX_MS;
	return wished > pause ? wished : pause;
}

static void fail(struct credential_session *session)
{
	/* Of ABSENT the sentence is about all sources. */
	if (session->error.kind != ERROR_ABSENT && !session->for_region)
		error_wrap(&session->error, "AWS credentials from %s", session->plan->source);
	go(session, STEP_FAILED);
}

/* Of keys with an end there may be nothing left, and nobody but who set them has others. */
static bool take_keys(struct credential_session *session, struct wallclock wall)
{
	const struct credential_plan *plan = session->plan;

	if (aws_credentials_expired(&plan->keys, wall))
		return error_set(&session->error, ERROR_EXPIRED,
		                 "AWS_CREDENTIAL_EXPIRATION says that the keys have expired: set new ones and start anew, or "
		                 "unset them all for credentials that renew themselves");
	aws_credentials_copy(session->arena, &plan->keys, &session->credentials);
	session->credentials.source = plan->source;
	go_after_source(session);
	return true;
}

enum credential_want credential_session_ask(struct credential_session *session, struct wallclock wall,
                                            struct arena *arena, struct credential_ask *out)
{
	bool good = true;

	*out = (struct credential_ask){0};
	if (session->step == STEP_KEYS && !take_keys(session, wall)) {
		fail(session);
		return CREDENTIAL_FAILED;
	}
	switch ((enum step)session->step) {
	case STEP_HAVE:
		return CREDENTIAL_HAVE;
	case STEP_KEYS:
	case STEP_FAILED:
		return CREDENTIAL_FAILED;
	case STEP_PROCESS:
		out->program = (struct program){.argv = session->plan->argv,
		                                .deadline_ms = PROGRAM_DEADLINE_MS,
		                                .max_output_bytes = CREDENTIAL_ANSWER_MAX_BYTES};
		return CREDENTIAL_WANT_PROGRAM;
	case STEP_WEB_IDENTITY:
		good = ask_web_identity(session, arena, &out->request);
		break;
	case STEP_CONTAINER:
		good = ask_container(session, arena, &out->request);
		break;
	case STEP_ROLE:
		ask_role(session, wall, arena, &out->request);
		break;
	case STEP_METADATA_TOKEN:
	case STEP_METADATA_ROLE:
	case STEP_METADATA_CREDENTIALS:
	case STEP_METADATA_REGION:
		ask_metadata(session, arena, &out->request);
		break;
	}
	if (good) {
		out->after_ms = pause_ms(session);
		return CREDENTIAL_WANT_CALL;
	}
	fail(session);
	return CREDENTIAL_FAILED;
}

/* Hearing. */

/* Credentials have come, called `source` from now on. */
static bool arrive(struct credential_session *session, struct wallclock wall, const struct aws_credentials *got,
                   const char *source)
{
	if (aws_credentials_expired(got, wall))
		return error_set(&session->error, ERROR_EXPIRED,
		                 "they had expired when they arrived (is this machine's clock right?)");
	aws_credentials_copy(session->arena, got, &session->credentials);
	session->credentials.source = source;
	return true;
}

static bool hear_web_identity(struct credential_session *session, struct wallclock wall, struct arena *arena,
                              const struct http_response *response)
{
	const struct credential_plan *plan = session->plan;
	const char *arn = plan->web_identity.role.arn;
	struct aws_credentials got;

	if (!sts_hear_web_identity(arena, response, &got, &session->error) ||
	    !arrive(session, wall, &got, arena_printf(session->arena, "%s, role %s", plan->source, arn)))
		return error_wrap(&session->error, "AssumeRoleWithWebIdentity %s", arn);
	go_after_source(session);
	return true;
}

static bool hear_role(struct credential_session *session, struct wallclock wall, struct arena *arena,
                      const struct http_response *response)
{
	const char *arn = session->plan->roles[session->role].arn;
	struct aws_credentials got;

	if (!sts_hear_role(arena, response, &got, &session->error) ||
	    !arrive(session, wall, &got, arena_printf(session->arena, "%s, role %s", session->plan->source, arn)))
		return error_wrap(&session->error, "AssumeRole %s", arn);
	session->role++;
	go_after_source(session);
	return true;
}

static bool hear_container(struct credential_session *session, struct wallclock wall, struct arena *arena,
                           const struct http_response *response)
{
	struct aws_credentials got;

	if (!container_hear(arena, response, &got, &session->error) || !arrive(session, wall, &got, session->plan->source))
		return false;
	go_after_source(session);
	return true;
}

static bool hear_process(struct credential_session *session, struct wallclock wall, struct arena *arena,
                         const struct http_response *response)
{
	struct aws_credentials got = {0};

	if (response->error.kind != ERROR_NONE || response->status != 200) {
		session->error = response->error;
		if (session->error.kind == ERROR_NONE)
			error_set(&session->error, ERROR_UNREACHABLE, "the program gave no answer");
		return error_wrap(&session->error, "credential_process");
	}
	if (!credential_process_hear(arena, response->body, response->body_length, &got, &session->error) ||
	    !arrive(session, wall, &got, session->plan->source))
		return error_wrap(&session->error, "credential_process");
	go_after_source(session);
	return true;
}

static bool hear_metadata_token(struct credential_session *session, struct arena *arena,
                                const struct http_response *response)
{
	const char *token;

	if (instance_metadata_has_no_token(response)) {
		if (session->plan->instance.no_v1)
			return error_set(
				&session->error, ERROR_DENIED,
				"the instance metadata service answered %d instead of giving a token, and version 1 of it, "
				"without tokens, is forbidden by AWS_EC2_METADATA_V1_DISABLED or ec2_metadata_v1_disabled",
				response->status);
		session->metadata_v1 = true;
	} else if (instance_metadata_hear_token(arena, response, &token, &session->error)) {
		session->metadata_token = arena_string(session->arena, token);
	} else {
		return false;
	}
	go_after_token(session);
	return true;
}

/* 401 to a GET. True: there is something left to do. */
static bool hear_unauthorized(struct credential_session *session)
{
	if (session->metadata_token != NULL && !session->metadata_renewed) {
		session->metadata_renewed = true;
		session->metadata_token = NULL;
		go(session, STEP_METADATA_TOKEN);
		return true;
	}
	if (session->metadata_guess)
		error_set(
			&session->error, ERROR_DENIED,
			"the instance metadata service is there, but its answer to the request for a token did not arrive: " IN_A_POD);
	else if (session->metadata_v1)
		error_set(&session->error, ERROR_DENIED, "the instance metadata service wants a token (401) and gives none");
	else
		error_set(&session->error, ERROR_DENIED,
		          "the instance metadata service refused (401) the token that it had just given");
	session->error.http_status = 401;
	return false;
}

static bool take_metadata(struct credential_session *session, struct arena *arena, const struct http_response *response)
{
	struct aws_credentials got;
	const char *word = NULL;

	if (session->step == STEP_METADATA_REGION) {
		if (!instance_metadata_hear_region(arena, response, &word, &session->error))
			return false;
		session->region = arena_string(session->arena, word);
		go(session, STEP_HAVE);
	} else if (session->step == STEP_METADATA_ROLE) {
		if (!instance_metadata_hear_role(arena, response, &word, &session->error))
			return false;
		session->metadata_role = arena_string(session->arena, word);
		go(session, STEP_METADATA_CREDENTIALS);
	} else {
		if (!instance_metadata_hear_credentials(arena, response, &got, &session->error))
			return false;
		aws_credentials_copy(session->arena, &got, &session->credentials);
		session->credentials.source =
			arena_printf(session->arena, "%s, role %s", session->plan->source, session->metadata_role);
		go_after_source(session);
	}
	session->metadata_guess = false;
	return true;
}

static bool hear_metadata(struct credential_session *session, struct arena *arena, const struct http_response *response)
{
	if (response->error.kind == ERROR_NONE && response->status == 401)
		return hear_unauthorized(session);
	return take_metadata(session, arena, response);
}

static bool is_metadata(const struct credential_session *session)
{
	return session->step >= STEP_METADATA_TOKEN && session->step <= STEP_METADATA_REGION;
}

static bool is_silence(const struct error *error)
{
	return error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNREACHABLE;
}

/* The service never said a word. */
static void explain_silence(struct credential_session *session)
{
	const char *url = session->plan->instance.base_url;
	struct error said = session->error;

	if (session->for_region)
		error_set(&session->error, ERROR_ABSENT, "the instance metadata service at %s does not answer (" IN_A_POD ")",
		          url);
	else if (session->plan->instance.named)
		error_set(&session->error, said.kind, "the instance metadata service at %s does not answer (" IN_A_POD "): %s",
		          url, said.message);
	else
		error_set(
			&session->error, ERROR_ABSENT,
			"there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_ROLE_ARN and "
			"AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_PROFILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI; the last resort, "
			"the instance metadata service at %s, does not answer (" IN_A_POD ")",
			url);
}

/* Of an instance without a role. */
static void explain_absence(struct credential_session *session)
{
	struct error said = session->error;

	error_set(&session->error, ERROR_ABSENT,
	          "there are no AWS credentials: %s; attach one, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
	          "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_PROFILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI",
	          said.message);
	session->error.http_status = said.http_status;
}

static bool may_pass(const struct credential_session *session)
{
	switch ((enum step)session->step) {
	case STEP_PROCESS:
		return false;
	case STEP_WEB_IDENTITY:
		return sts_may_pass(&session->error, true);
	case STEP_ROLE:
		return sts_may_pass(&session->error, false);
	default:
		return credential_answer_may_pass(&session->error);
	}
}

static int tries_allowed(const struct credential_session *session)
{
	if (!is_metadata(session))
		return TRIES;
	/* A guess is there to tell why, not to wait. */
	return session->metadata_guess ? 1 : session->plan->instance.attempts;
}

/* The try failed: once more, another way, or the end. */
static void give_way(struct credential_session *session)
{
	bool first_words = is_metadata(session) && !session->metadata_renewed &&
	                   (session->step == STEP_METADATA_TOKEN || session->metadata_guess);

	session->tries++;
	if (may_pass(session) && session->tries < tries_allowed(session))
		return;
	if (first_words && session->error.kind == ERROR_TIMEOUT && !session->metadata_guess &&
	    !session->plan->instance.no_v1) {
		session->metadata_v1 = true;
		session->metadata_guess = true;
		go_after_token(session);
		return;
	}
	if (first_words && is_silence(&session->error))
		explain_silence(session);
	else if (session->error.kind == ERROR_ABSENT && !session->for_region)
		explain_absence(session);
	fail(session);
}

void credential_session_hear(struct credential_session *session, struct wallclock wall,
                             const struct http_response *response)
{
	struct arena arena;
	bool good = false;

	assert(!is_final(session->step) && session->step != STEP_KEYS);
	arena_init(&arena, "credentials' answer", 64 * 1024 * 1024);
	if (session->step == STEP_WEB_IDENTITY)
		good = hear_web_identity(session, wall, &arena, response);
	else if (session->step == STEP_ROLE)
		good = hear_role(session, wall, &arena, response);
	else if (session->step == STEP_CONTAINER)
		good = hear_container(session, wall, &arena, response);
	else if (session->step == STEP_PROCESS)
		good = hear_process(session, wall, &arena, response);
	else if (session->step == STEP_METADATA_TOKEN)
		good = hear_metadata_token(session, &arena, response);
	else
		good = hear_metadata(session, &arena, response);
	if (!good)
		give_way(session);
	arena_done(&arena);
}
