/*
 * Plans of credentials checked by tables: what is set and written, and in a line what is planned.
 */
#ifndef TESTS_UNIT_AWS_PLANS_H
#define TESTS_UNIT_AWS_PLANS_H

#include "aws/credential_plan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "environment.h"
#include "home.h"

/* ARNs that differ in the last letter. */
#define ROLE(letter) "arn:aws:iam::111122223333:role/" letter
#define KEYS "aws_access_key_id = akid\naws_secret_access_key = skid\n"
#define FULL "AWS_CONTAINER_CREDENTIALS_FULL_URI"
#define TOKEN "AWS_CONTAINER_AUTHORIZATION_TOKEN"
#define CHAIN                                                                      \
	"[profile development]\nrole_arn = " ROLE(                                     \
		"d") "\nsource_profile = longterm\n"                                       \
			 "[profile longterm]\n" KEYS "[profile non-static]\nrole_arn = " ROLE( \
				 "n") "\ncredential_source = Environment\n"                        \
					  "[profile chained]\nrole_arn = " ROLE("c") "\nsource_profile = development\n"

static struct arena arena;
static struct error error;
static struct credential_plan plan;

static void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	error = (struct error){0};
	home_make();
}

static void tear_down(void)
{
	home_clear(&arena);
	arena_done(&arena);
}

struct scenario {
	const char *like; /* the test of botocore's that it restates: class, name; NULL = ours */
	const char *variables[16];
	const char *config;
	const char *credentials;
	const char *plan; /* as `describe` has it; NULL = it fails */
	const char *part; /* of the sentence then */
	bool is_absent;   /* ERROR_ABSENT, not ERROR_INPUT */
};

static const char *describe_role(const struct credential_role *role)
{
	return arena_printf(&arena, "%s(%s%s%s, %d)", role->arn + strlen(ROLE("")), role->session_name,
	                    role->external_id != NULL ? ", " : "", role->external_id != NULL ? role->external_id : "",
	                    (int)role->duration_s);
}

static const char *describe_source(void)
{
	const char *words = "process";

	switch (plan.kind) {
	case CREDENTIAL_KEYS:
		return arena_printf(&arena, "keys %s %s %s", plan.keys.access_key_id, plan.keys.secret_access_key,
		                    plan.keys.session_token != NULL ? plan.keys.session_token : "-");
	case CREDENTIAL_WEB_IDENTITY:
		return arena_printf(&arena, "web %s %s", plan.web_identity.token_file, describe_role(&plan.web_identity.role));
	case CREDENTIAL_CONTAINER:
		return arena_printf(&arena, "container %s %s%s", plan.container.url,
		                    plan.container.token_file != NULL ? "file " : "",
		                    plan.container.token_file != NULL ? plan.container.token_file
		                    : plan.container.token != NULL    ? plan.container.token
		                                                      : "-");
	case CREDENTIAL_INSTANCE:
		return arena_printf(&arena, "instance %s %d ms %d times%s%s", plan.instance.base_url,
		                    (int)plan.instance.timeout_ms, plan.instance.attempts, plan.instance.no_v1 ? ", no v1" : "",
		                    plan.instance.named ? ", named" : "");
	case CREDENTIAL_PROCESS:
		for (const char *const *word = plan.argv; *word != NULL; word++)
			words = arena_printf(&arena, "%s <%s>", words, *word);
		return words;
	}
	return "?";
}

/* "SOURCE > ROLE > ROLE from WHERE". */
static const char *describe(void)
{
	const char *text = describe_source();

	for (size_t i = 0; i < plan.role_count; i++)
		text = arena_printf(&arena, "%s > %s", text, describe_role(&plan.roles[i]));
	return arena_printf(&arena, "%s from %s", text, plan.source);
}

static bool make(const char *const *variables, const char *config, const char *credentials)
{
	const char *table[40] = {"AWS_CONFIG_FILE", home_write(&arena, "config", config != NULL ? config : ""),
	                         "AWS_SHARED_CREDENTIALS_FILE",
	                         home_write(&arena, "credentials", credentials != NULL ? credentials : "")};

	for (size_t i = 0; variables[i] != NULL; i++)
		table[i + 4] = variables[i];
	error = (struct error){0};
	return credential_plan_make(&arena, &(struct aws_environment){table_get, table}, "eu-west-1", "pod-1", &plan,
	                            &error);
}

static void check(const struct scenario *scenario, size_t index)
{
	const char *name = arena_printf(&arena, "%zu: %s", index, scenario->like != NULL ? scenario->like : "ours");
	bool is_made = make(scenario->variables, scenario->config, scenario->credentials);

	if (scenario->plan != NULL) {
		cr_assert(is_made, "%s: %s", name, error.message);
		cr_assert_str_eq(describe(), scenario->plan, "%s: %s", name, describe());
		cr_assert_str_eq(plan.keys.source, plan.source, "%s", name);
		return;
	}
	cr_assert_not(is_made, "%s: %s", name, is_made ? describe() : "");
	cr_assert_eq(error.kind, scenario->is_absent ? ERROR_ABSENT : ERROR_INPUT, "%s: %s", name, error.message);
	cr_assert_not_null(strstr(error.message, scenario->part), "%s: %s", name, error.message);
}

#define CHECK_ALL(scenarios)                                                \
	for (size_t i = 0; i < sizeof(scenarios) / sizeof((scenarios)[0]); i++) \
	check(&(scenarios)[i], i)

#endif
