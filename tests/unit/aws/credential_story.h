/*
 * Stories of a credential session: plan, begin, expect a call, hear an answer, expect the end.
 */
#ifndef TESTS_UNIT_AWS_CREDENTIAL_STORY_H
#define TESTS_UNIT_AWS_CREDENTIAL_STORY_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aws/credential_session.h"
#include "data.h"

#define STS "https://sts.eu-west-1.amazonaws.com/"
#define METADATA "http://169.254.169.254/latest/"
#define ROLES METADATA "meta-data/iam/security-credentials/"
#define FUTURE "2030-01-01T01:00:00Z"
#define PAST "2029-12-31T23:59:59Z"

#define JSON(key, secret, token, expiration)                                             \
	"{\"AccessKeyId\":\"" key "\",\"SecretAccessKey\":\"" secret "\",\"Token\":\"" token \
	"\",\"Expiration\":\"" expiration "\"}"
#define XML(operation, key, secret, token, expiration)                                                       \
	"<" operation "Response><" operation "Result><Credentials><AccessKeyId>" key                             \
	"</AccessKeyId><SecretAccessKey>" secret "</SecretAccessKey><SessionToken>" token                        \
	"</SessionToken><Expiration>" expiration "</Expiration></Credentials></" operation "Result></" operation \
	"Response>"
#define ROLE(key) XML("AssumeRole", key, "role-secret", "role-token", FUTURE)
#define WEB(key) XML("AssumeRoleWithWebIdentity", key, "web-secret", "web-token", FUTURE)
#define FAULT(code) "<ErrorResponse><Error><Code>" code "</Code><Message>because</Message></Error></ErrorResponse>"

static struct arena arena;
static struct arena exchange;
static struct wallclock now;
static struct credential_plan plan;
static struct credential_session session;
static struct credential_ask asked;
static char token_file[] = "/tmp/credential_session_XXXXXX";

static inline void set_up(void)
{
	int descriptor = mkstemp(token_file);

	cr_assert(descriptor >= 0);
	close(descriptor);
	arena_init(&arena, "test", 4 * 1024 * 1024);
	arena_init(&exchange, "exchange", 1024 * 1024);
	cr_assert(wallclock_parse("2030-01-01T00:00:00Z", &now));
	plan = (struct credential_plan){
		.source = "profile prod",
		.sts = {"sts", "https://sts.eu-west-1.amazonaws.com", "sts.eu-west-1.amazonaws.com", "eu-west-1"}};
}

static inline void tear_down(void)
{
	unlink(token_file);
	arena_done(&exchange);
	arena_done(&arena);
}

static inline void write_token(const char *bytes, size_t length)
{
	FILE *file = fopen(token_file, "w");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static inline void plan_keys(void)
{
	plan.kind = CREDENTIAL_KEYS;
	plan.keys = (struct aws_credentials){.access_key_id = "AKIDSOURCE", .secret_access_key = "s0urce"};
}

static inline void plan_web_identity(void)
{
	write_token("totally.a.token\n", 16);
	plan.kind = CREDENTIAL_WEB_IDENTITY;
	plan.web_identity.role = (struct credential_role){"arn:aws:iam::1:role/web", "sname", NULL, 3600};
	plan.web_identity.token_file = token_file;
}

static inline void plan_container(void)
{
	plan.kind = CREDENTIAL_CONTAINER;
	plan.container.url = "http://169.254.170.23/v1/credentials";
}

static inline void plan_instance(void)
{
	plan.kind = CREDENTIAL_INSTANCE;
	plan.instance.base_url = "http://169.254.169.254";
	plan.instance.timeout_ms = 1000;
	plan.instance.attempts = 3;
	plan.instance.named = false;
}

static inline void plan_process(void)
{
	static const char *const argv[] = {"/opt/fetch", "--s3cret", NULL};

	plan.kind = CREDENTIAL_PROCESS;
	plan.argv = argv;
}

static inline void plan_role(const char *arn, const char *external_id)
{
	plan.roles[plan.role_count++] = (struct credential_role){arn, "zonevac-1", external_id, 900};
}

static inline void begin(void)
{
	credential_session_init(&session, &arena, &plan);
}

static inline enum credential_want ask(void)
{
	arena_reset(&exchange);
	return credential_session_ask(&session, now, &exchange, &asked);
}

/* The next thing is this call, after so long. */
static inline void expect(const char *method, const char *url, int64_t after_ms)
{
	cr_assert_eq(ask(), CREDENTIAL_WANT_CALL, "%s: %s", url, session.error.message);
	cr_assert_str_eq(asked.request.method, method);
	cr_assert_str_eq(asked.request.url, url);
	cr_assert_eq(asked.after_ms, after_ms, "%s after %lld ms", url, (long long)asked.after_ms);
	cr_assert_eq(asked.request.max_response_bytes, 65536);
}

static inline void hear(int status, const char *body)
{
	struct http_response response = data_text(status, body);

	credential_session_hear(&session, now, &response);
}

static inline void hear_nothing(enum error_kind kind)
{
	struct http_response response = {.body = ""};

	error_set(&response.error, kind, "nobody there");
	credential_session_hear(&session, now, &response);
}

static inline void expect_credentials(const char *key, const char *source)
{
	cr_assert_eq(ask(), CREDENTIAL_HAVE, "%s", session.error.message);
	cr_assert_str_eq(session.credentials.access_key_id, key);
	cr_assert_str_eq(session.credentials.source, source);
	cr_assert_eq(asked.after_ms, 0);
	cr_assert_eq(session.error.kind, ERROR_NONE);
}

static inline void expect_failure(enum error_kind kind, const char *said)
{
	cr_assert_eq(ask(), CREDENTIAL_FAILED);
	cr_assert_eq(session.error.kind, kind, "%s", session.error.message);
	cr_assert_not_null(strstr(session.error.message, said), "%s", session.error.message);
	cr_assert_eq(ask(), CREDENTIAL_FAILED, "a failure is final");
}

static inline bool is_signed_by(const char *key)
{
	const char *authorization = http_header(&asked.request.headers, "Authorization");
	const char *start =
		arena_printf(&arena, "AWS4-HMAC-SHA256 Credential=%s/20300101/eu-west-1/sts/aws4_request, SignedHeaders=", key);

	return authorization != NULL && strncmp(authorization, start, strlen(start)) == 0;
}

#endif
