#include "aws/credential_session.h"

#include "credential_story.h"

TestSuite(credential_session_faults, .init = set_up, .fini = tear_down);

/* Each source against each fault: how often it is asked, and what comes of it. */

enum { WEB_IDENTITY, ASSUMED, CONTAINER, PUT_TOKEN, GET_ROLE, GET_CREDENTIALS, SOURCES };

static const char *const source_names[SOURCES] = {"web identity", "role",      "container",
                                                  "token",        "role name", "instance credentials"};

/* Brings the session to where that source is asked. */
static void arrive_at(int source)
{
	memset(plan.roles, 0, sizeof(plan.roles));
	plan.role_count = 0;
	if (source == WEB_IDENTITY) {
		plan_web_identity();
	} else if (source == ASSUMED) {
		plan_keys();
		plan_role("arn:a", NULL);
	} else if (source == CONTAINER) {
		plan_container();
	} else {
		plan_instance();
	}
	begin();
	ask();
	if (source >= GET_ROLE)
		hear(200, "t0ken");
	if (source == GET_CREDENTIALS)
		hear(200, "role-name");
}

enum shape { TRUNCATED, WRONG_TYPES, MISSING, EXPIRED, BLANK, SHAPES };

#define SHAPES_OF(operation)                                                                                    \
	{                                                                                                           \
		"<" operation "Response><" operation "Result><Credentials><AccessKeyId>s3cr",                           \
			"<" operation "Response><" operation "Result><Credentials>s3cret</Credentials></" operation         \
			"Result></" operation "Response>",                                                                  \
			XML(operation, "s3cret", "s3cret", "", FUTURE), XML(operation, "s3cret", "s3cret", "s3cret", PAST), \
			XML(operation, "s3cret", "s3cret", "s3 cret", FUTURE)                                               \
	}
#define SHAPES_OF_JSON                                                                                              \
	{                                                                                                               \
		"{\"AccessKeyId\":\"s3cret\",\"Secre", "{\"AccessKeyId\":5,\"SecretAccessKey\":[\"s3cret\"],\"Token\":{}}", \
			"{\"AccessKeyId\":\"s3cret\",\"Token\":\"s3cret\",\"Expiration\":\"" FUTURE "\"}",                      \
			JSON("s3cret", "s3cret", "s3cret", PAST), JSON("s3cret", "s3cret", "s3 cret", FUTURE)                   \
	}

static const char *const bodies[SOURCES][SHAPES] = {
	[WEB_IDENTITY] = SHAPES_OF("AssumeRoleWithWebIdentity"),
	[ASSUMED] = SHAPES_OF("AssumeRole"),
	[CONTAINER] = SHAPES_OF_JSON,
	[PUT_TOKEN] = {"<html>s3cret", "{\"s3cret\":1}", "\n", NULL, "s3 cret"},
	[GET_ROLE] = {"<html>s3cret", "{\"s3cret\":1}", "\n", NULL, "s3 cret"},
	[GET_CREDENTIALS] = SHAPES_OF_JSON,
};

/* A status with this body; or a body of that shape, with 200; or an error of the transport. */
static const struct fault {
	const char *name;
	int status;
	const char *body;
	int shape; /* -1: `body` */
	enum error_kind transport;
	struct {
		int tries;
		enum error_kind kind; /* ERROR_NONE: it comes off well, or goes on otherwise */
	} outcome[SOURCES];
} faults[] = {
#define ALL(tries, kind)                                                           \
	{                                                                              \
		{tries, kind}, {tries, kind}, {tries, kind}, {tries, kind}, {tries, kind}, \
		{                                                                          \
			tries, kind                                                            \
		}                                                                          \
	}
	{"no answer",
     0,
     "",
     -1,
     ERROR_UNREACHABLE,
     {{3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_ABSENT},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE}}},
	{"timeout",
     0,
     "",
     -1,
     ERROR_TIMEOUT,
     {{3, ERROR_TIMEOUT},
      {3, ERROR_TIMEOUT},
      {3, ERROR_TIMEOUT},
      {3, ERROR_NONE},
      {3, ERROR_TIMEOUT},
      {3, ERROR_TIMEOUT}}},
	{"cut short", 200, "", -1, ERROR_MALFORMED, ALL(3, ERROR_MALFORMED)},
	{"too long", 200, "", -1, ERROR_LIMIT, ALL(1, ERROR_LIMIT)},
	{"cannot be sent", 0, "", -1, ERROR_INPUT, ALL(1, ERROR_INPUT)},
	{"status 0",
     0,
     "",
     -1,
     ERROR_NONE,
     {{3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_ABSENT},
      {3, ERROR_UNREACHABLE},
      {3, ERROR_UNREACHABLE}}},
	{"500 HTML", 500, "<html><p>s3cret</p></html>", -1, ERROR_NONE, ALL(3, ERROR_SERVER)},
	{"503 empty", 503, "", -1, ERROR_NONE, ALL(3, ERROR_SERVER)},
	{"429", 429, "s3cret", -1, ERROR_NONE, ALL(3, ERROR_THROTTLED)},
	{"408", 408, "s3cret", -1, ERROR_NONE, ALL(3, ERROR_SERVER)},
	{"400", 400, "s3cret", -1, ERROR_NONE, ALL(1, ERROR_REJECTED)},
	{"401",
     401,
     "s3cret",
     -1,
     ERROR_NONE,
     {{1, ERROR_DENIED}, {1, ERROR_DENIED}, {1, ERROR_DENIED}, {1, ERROR_DENIED}, {1, ERROR_NONE}, {1, ERROR_NONE}}},
	{"403",
     403,
     "s3cret",
     -1,
     ERROR_NONE,
     {{1, ERROR_DENIED}, {1, ERROR_DENIED}, {1, ERROR_DENIED}, {1, ERROR_NONE}, {1, ERROR_DENIED}, {1, ERROR_DENIED}}},
	{"404",
     404,
     "s3cret",
     -1,
     ERROR_NONE,
     {{1, ERROR_REJECTED},
      {1, ERROR_REJECTED},
      {1, ERROR_REJECTED},
      {1, ERROR_NONE},
      {1, ERROR_ABSENT},
      {1, ERROR_REJECTED}}},
	{"302", 302, "s3cret", -1, ERROR_NONE, ALL(1, ERROR_REJECTED)},
	{"200 empty", 200, "", -1, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"200 HTML", 200, "<html><p>s3cret</p></html>", -1, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"truncated", 200, NULL, TRUNCATED, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"wrong types", 200, NULL, WRONG_TYPES, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"missing field", 200, NULL, MISSING, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"blank in token", 200, NULL, BLANK, ERROR_NONE, ALL(3, ERROR_MALFORMED)},
	{"expired on arrival",
     200,
     NULL,
     EXPIRED,
     ERROR_NONE,
     {{1, ERROR_EXPIRED}, {1, ERROR_EXPIRED}, {1, ERROR_EXPIRED}, {0, ERROR_NONE}, {0, ERROR_NONE}, {1, ERROR_NONE}}},
};

/* How often the fault is heard until the session goes elsewhere or ends. */
static int suffer(const struct fault *fault, int source)
{
	const char *body = fault->shape < 0 ? fault->body : bodies[source][fault->shape];
	int step = session.step;
	int tries = 0;

	while (session.step == step && ask() == CREDENTIAL_WANT_CALL) {
		struct http_response response = data_text(fault->status, body);

		cr_assert_eq(asked.after_ms, tries == 0 ? 0 : tries == 1 ? 500 : 1000);
		if (fault->transport != ERROR_NONE)
			error_set(&response.error, fault->transport, "the transport's reason");
		credential_session_hear(&session, now, &response);
		cr_assert_lt(++tries, 10, "%s: %s", source_names[source], fault->name);
	}
	return tries;
}

Test(credential_session_faults, every_source_against_every_fault)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		for (int source = 0; source < SOURCES; source++) {
			const struct fault *fault = &faults[i];
			int tries;

			if (fault->outcome[source].tries == 0)
				continue;
			arrive_at(source);
			tries = suffer(fault, source);
			cr_assert_eq(tries, fault->outcome[source].tries, "%s: %s: %d tries", source_names[source], fault->name,
			             tries);
			cr_assert_eq(session.error.kind, fault->outcome[source].kind, "%s: %s: %s: %s", source_names[source],
			             fault->name, error_kind_name(session.error.kind), session.error.message);
			cr_assert_eq(ask() == CREDENTIAL_FAILED, fault->outcome[source].kind != ERROR_NONE, "%s: %s",
			             source_names[source], fault->name);
			cr_assert_null(strstr(session.error.message, "s3cr"), "%s", session.error.message);
		}
	}
}

Test(credential_session_faults, more_than_64_KiB_are_not_read)
{
	char *body = arena_alloc(&arena, 65538);

	memset(body, ' ', 65537);
	for (int source = 0; source < SOURCES; source++) {
		arrive_at(source);
		hear(200, body);
		expect_failure(ERROR_LIMIT, "answered 200 with more than 65536 bytes");
	}
}

Test(credential_session_faults, big_answers_cost_the_result_nothing)
{
	char *body = arena_alloc(&arena, 65537);
	size_t used;

	for (size_t i = 0; i < 16384; i++)
		memcpy(body + 4 * i, "<a/>", 4);
	memcpy(body, "<b> ", 4);
	memcpy(body + 65532, "</b>", 4);
	arrive_at(WEB_IDENTITY);
	used = arena.used_bytes;
	for (int i = 0; i < 3; i++)
		hear(200, body);
	expect_failure(ERROR_MALFORMED, "without AssumeRoleWithWebIdentityResult/Credentials");
	cr_assert_eq(arena.used_bytes, used);
}

/* Recovery at each try of each source. */
Test(credential_session_faults, what_passes_leaves_no_trace)
{
	static const char *const good[SOURCES] = {
		[WEB_IDENTITY] = WEB("AKIDX"), [ASSUMED] = ROLE("AKIDX"), [CONTAINER] = JSON("AKIDX", "b", "c", FUTURE),
		[PUT_TOKEN] = "t0ken",         [GET_ROLE] = "role-name",  [GET_CREDENTIALS] = JSON("AKIDX", "b", "c", FUTURE)};

	for (int source = 0; source < SOURCES; source++) {
		for (int failures = 0; failures < 3; failures++) {
			arrive_at(source);
			for (int i = 0; i < failures; i++)
				hear(503, "");
			hear(200, good[source]);
			cr_assert_eq(session.error.kind, ERROR_NONE, "%s", session.error.message);
			if (source == PUT_TOKEN || source == GET_ROLE)
				cr_assert_eq(ask(), CREDENTIAL_WANT_CALL);
			else
				cr_assert_eq(ask(), CREDENTIAL_HAVE);
			cr_assert_eq(asked.after_ms, 0, "the next step begins afresh");
		}
	}
}

/* No secret in any message, wherever it stands. */
Test(credential_session_faults, secrets_appear_in_no_message)
{
	static const char secret[] = "s3cret";
	static const char *const answers[] = {"s3cret",
	                                      "<html>s3cret</html>",
	                                      "<s3cret/>",
	                                      "{\"s3cret\":\"s3cret\"}",
	                                      "\"s3cret\"",
	                                      "[\"s3cret\"",
	                                      "<ErrorResponse><Error><Message>s3cret</Message></Error></ErrorResponse>",
	                                      "<ErrorResponse><s3cret></ErrorResponse>",
	                                      JSON("s3cret", "s3cret", "s3cret\\n", "s3cret"),
	                                      JSON("s3cret", "s3cret", "s3cret", "s3cret"),
	                                      XML("AssumeRole", "s3cret", "s3cret", "s3cret", "s3cret"),
	                                      XML("AssumeRoleWithWebIdentity", "s3cret", "s3cret", "s3cret", "s3cret")};
	static const int statuses[] = {200, 301, 400, 401, 403, 404, 429, 500};

	for (int source = 0; source < SOURCES; source++) {
		for (size_t a = 0; a < sizeof(answers) / sizeof(answers[0]); a++) {
			for (size_t s = 0; s < sizeof(statuses) / sizeof(statuses[0]); s++) {
				arrive_at(source);
				plan.keys.secret_access_key = secret;
				plan.keys.session_token = secret;
				plan.container.token = secret;
				write_token("s3cret-token", 12);
				for (int i = 0; i < 12 && ask() == CREDENTIAL_WANT_CALL; i++) {
					hear(statuses[s], answers[a]);
					cr_assert_null(strstr(session.error.message, secret), "%d %s: %s", statuses[s], answers[a],
					               session.error.message);
				}
				plan.container.token = NULL;
			}
		}
	}
}
