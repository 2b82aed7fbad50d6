#include <criterion/criterion.h>
#include <string.h>

#include "actuators/registry.h"
#include "data.h"
#include "ecs_described.h"

#define PREFIX "arn:aws:ecs:us-east-1:123456789012:"

static struct arena arena;
static struct error error;
static struct resources found;

static void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	error = (struct error){0};
	found = (struct resources){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(ecs_described, .init = set_up, .fini = tear_down);

/* A look. */
static bool hear(struct http_response response)
{
	const struct scope scope = {.zone_id = "use1-az1"};
	const struct change change = {.id = PREFIX "service/prod/web"};
	const struct change *const changes[] = {&change};
	struct probes probes = {0};
	struct probes further = {0};
	bool good;

	ecs_service.look(&scope, changes, 1, &arena, &probes);
	good = ecs_service.learn(&scope, probes.first, &response, &arena, &found, &further, &error);
	cr_assert_null(further.first, "a description asks for nothing more");
	return good;
}

static const struct resource *named(const char *name)
{
	for (size_t i = 0; i < found.count; i++) {
		if (strcmp(found.at[i].name, name) == 0)
			return &found.at[i];
	}
	return NULL;
}

static const char *joined(const struct string_list *list)
{
	return string_list_join(list, &arena, ",");
}

Test(ecs_described, learns_identity_subnets_and_tags)
{
	const struct resource *web;

	cr_assert(hear(data_response(&arena, 200, "aws/ecs_described.json")), "%s", error.message);
	web = named("web");
	cr_assert_str_eq(web->kind, "EcsService");
	cr_assert_str_eq(web->id, PREFIX "service/prod/web");
	cr_assert_str_eq(web->incarnation, "1719852357.044");
	cr_assert_str_eq(joined(&web->names), "web,prod/web");
	cr_assert_str_eq(joined(&web->subnets), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
	cr_assert_str_eq(tags_get(&web->tags, "team"), "web & shop");
	cr_assert_str_eq(tags_get(&web->tags, "empty"), "");
	cr_assert_str_eq(tags_get(&web->tags, "bare"), "");
	cr_assert_eq(web->tags.count, 3);
	cr_assert_null(web->tags_unreadable);
}

Test(ecs_described, a_short_arn_a_whole_second_and_no_tags)
{
	const struct resource *old;

	cr_assert(hear(data_response(&arena, 200, "aws/ecs_described.json")));
	old = named("Short-1_x");
	cr_assert_str_eq(old->id, PREFIX "service/Short-1_x");
	cr_assert_str_eq(joined(&old->names), "Short-1_x,prod/Short-1_x");
	cr_assert_str_eq(old->incarnation, "1500000000.000");
	cr_assert_eq(old->tags.count, 0);
}

Test(ecs_described, missing_and_inactive_services_are_absent)
{
	cr_assert(hear(data_response(&arena, 200, "aws/ecs_described.json")));
	cr_assert_eq(found.count, 8);
	cr_assert_null(named("gone"));
	cr_assert_null(named("lost"));
	cr_assert_not_null(named("leaving"));
}

Test(ecs_described, task_sets_tell_the_subnets_where_others_deploy)
{
	cr_assert(hear(data_response(&arena, 200, "aws/ecs_described.json")));
	cr_assert_str_eq(joined(&named("external")->subnets), "subnet-0a1,subnet-0b1");
	cr_assert_str_eq(joined(&named("codedeploy")->subnets), "subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2");
	cr_assert_eq(named("bridge")->subnets.count, 0);
}

Test(ecs_described, an_incarnation_does_not_depend_on_how_its_number_is_written)
{
	static const char *const written[] = {"1719852357.044", "1.719852357044E9", "1719852357.0440"};

	for (size_t i = 0; i < 3; i++) {
		const char *body =
			arena_printf(&arena,
		                 "{\"services\":[{\"serviceArn\":\"a\",\"serviceName\":\"s\",\"clusterArn\":\"c\","
		                 "\"createdAt\":%s}]}",
		                 written[i]);

		found = (struct resources){0};
		cr_assert(hear(data_text(200, body)), "%s", error.message);
		cr_expect_str_eq(found.at[0].incarnation, "1719852357.044", "%s", written[i]);
	}
}

Test(ecs_described, the_least_that_a_service_must_tell)
{
	cr_assert(hear(data_text(
		200, "{\"services\":[{\"serviceArn\":\"a\",\"serviceName\":\"s\",\"clusterArn\":\"c\",\"tags\":null}]}")));
	cr_assert_str_eq(joined(&found.at[0].names), "s,c/s");
	cr_assert_null(found.at[0].incarnation);
	cr_assert_eq(found.at[0].subnets.count, 0);
}

Test(ecs_described, other_failures_are_errors_in_words)
{
	cr_assert_not(hear(data_text(200, "{\"services\":[],\"failures\":[{\"arn\":\"a\",\"reason\":\"MISSING\"},"
	                                  "{\"arn\":\"arn:b\",\"reason\":\"ACCESS_DENIED\",\"detail\":\"not yours\"}]}")));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_str_eq(error.message, "DescribeServices: ecs does not describe arn:b: ACCESS_DENIED: not yours");
	cr_assert_not(hear(data_text(200, "{\"services\":[],\"failures\":[{\"arn\":\"" PREFIX
	                                  "service/prod/web\",\"reason\":\"ACCESS_DENIED\"}]}")),
	              "a look believes no absence");
	cr_assert_eq(found.count, 0);
	cr_assert_not(hear(data_text(200, "{\"services\":[],\"failures\":[{}]}")));
	cr_assert_str_eq(error.message, "DescribeServices: ecs does not describe a service: no reason is told");
}

static bool hear_survey(const char *body)
{
	struct ecs_question question = {.cluster = PREFIX "cluster/prod", .survey = true};

	string_list_add(&question.services, &arena, PREFIX "service/prod/web");
	string_list_add(&question.services, &arena, PREFIX "service/prod/api");
	return ecs_hear_services(&question, json_parse(&arena, body, strlen(body), &error), &arena, &found, &error);
}

Test(ecs_described, a_survey_appends_what_ecs_does_not_describe)
{
	cr_assert(hear_survey("{\"services\":[{\"serviceArn\":\"a\",\"serviceName\":\"s\",\"clusterArn\":\"c\"}],"
	                      "\"failures\":[{\"arn\":\"" PREFIX "service/web\",\"reason\":\"ACCESS_DENIED\","
	                      "\"detail\":\"not yours\"},{\"arn\":\"" PREFIX
	                      "service/prod/api\",\"reason\":\"MISSING\"}]}"),
	          "%s", error.message);
	cr_assert_eq(found.count, 2);
	cr_assert_str_eq(named("web")->id, PREFIX "service/prod/web", "as it was asked of");
	cr_assert_str_eq(named("web")->tags_unreadable, "ECS does not describe it: ACCESS_DENIED: not yours");
	cr_assert_str_eq(joined(&named("web")->names), "web,prod/web");
	cr_assert_null(named("web")->facts);
	cr_assert_null(named("s")->tags_unreadable);
}

Test(ecs_described, a_failure_of_nothing_that_was_asked_of_is_an_error)
{
	cr_assert_not(hear_survey("{\"services\":[],\"failures\":[{\"arn\":\"arn:b\",\"reason\":\"ACCESS_DENIED\"}]}"));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_not(hear_survey("{\"services\":[],\"failures\":[{\"reason\":\"ACCESS_DENIED\"}]}"));
	cr_assert_eq(found.count, 0);
}

/* A good service, then one that has `member` in place of what it should have. */
static const char *with_second(const char *member)
{
	return arena_printf(&arena,
	                    "{\"services\":[{\"serviceArn\":\"a\",\"serviceName\":\"s\",\"clusterArn\":\"c\"},"
	                    "{\"serviceArn\":\"b\",\"serviceName\":\"t\",\"clusterArn\":\"c\",%s}]}",
	                    member);
}

static void is_malformed(const char *body, const char *part)
{
	error = (struct error){0};
	cr_expect_not(hear(data_text(200, body)), "%s", body);
	cr_expect_eq(error.kind, ERROR_MALFORMED, "%s", body);
	cr_expect_not_null(strstr(error.message, part), "%s of %s", error.message, body);
	cr_expect_not_null(strstr(error.message, "DescribeServices: "), "%s", error.message);
	cr_expect_eq(found.count, 0, "%s", body);
}

Test(ecs_described, malformed_answers_append_nothing)
{
	is_malformed("", "");
	is_malformed("<html>", "");
	is_malformed("{\"services\":[{\"serviceArn\":\"a\",\"serviceName\":\"s\",\"cluste", "");
	is_malformed("[]", "no list of services");
	is_malformed("{}", "no list of services");
	is_malformed("{\"services\":{}}", "no list of services");
	is_malformed("{\"services\":[],\"failures\":{}}", "failures of the answer are no list");
	is_malformed("{\"services\":[null]}", "no serviceArn");
	is_malformed(with_second("\"serviceArn\":7"), "no serviceArn");
	is_malformed(with_second("\"serviceArn\":\"\""), "no serviceArn");
	is_malformed(with_second("\"serviceName\":null"), "no serviceName");
	is_malformed(with_second("\"clusterArn\":[]"), "no clusterArn");
	is_malformed(with_second("\"networkConfiguration\":\"x\""), "networkConfiguration of b is no object");
	is_malformed(with_second("\"networkConfiguration\":{\"awsvpcConfiguration\":7}"), "subnets of b");
	is_malformed(with_second("\"networkConfiguration\":{\"awsvpcConfiguration\":{}}"), "subnets of b");
	is_malformed(with_second("\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"x\",7]}}"),
	             "subnets of b");
	is_malformed(with_second("\"networkConfiguration\":{\"awsvpcConfiguration\":"
	                         "{\"subnets\":[\"x\"],\"securityGroups\":\"sg\"}}"),
	             "securityGroups of b");
	is_malformed(with_second("\"networkConfiguration\":{\"awsvpcConfiguration\":"
	                         "{\"subnets\":[\"x\"],\"assignPublicIp\":true}}"),
	             "assignPublicIp of b");
	is_malformed(with_second("\"tags\":{}"), "tags of b are no list");
	is_malformed(with_second("\"tags\":[{\"value\":\"v\"}]"), "tag of b has no key");
}

Test(ecs_described, every_cut_of_an_answer_is_malformed)
{
	struct http_response whole = data_response(&arena, 200, "aws/ecs_rolled_back.json");

	for (size_t length = 0; length + 2 < whole.body_length; length += 7) {
		struct http_response cut = whole;

		cut.body_length = length;
		cr_expect_not(hear(cut), "%zu bytes", length);
		cr_expect_eq(error.kind, ERROR_MALFORMED);
	}
	cr_expect_eq(found.count, 0);
}
