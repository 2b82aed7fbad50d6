/*
 * What stays in memory of Lambda's answers, and that it does not lean on them.
 */
#include "actuators/registry.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "data.h"

#define WEB "arn:aws:lambda:us-east-1:123456789012:function:web"

static struct arena arena;
static struct error error;
static struct scope scope;
static const struct actuator *const function = &lambda_function;

/* What the last learned answer gave. */
static struct resources found;
static struct probes further;

static void set_up(void)
{
	static struct subnet subnets[] = {{.id = "subnet-0a1", .zone_id = "use1-az1", .vpc_id = "vpc-0main"},
	                                  {.id = "subnet-0b1", .zone_id = "use1-az2", .vpc_id = "vpc-0main"}};

	arena_init(&arena, "test", 4 * 1024 * 1024);
	scope = (struct scope){.zone_id = "use1-az1", .subnets = {.at = subnets, .count = 2}};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(kept, .init = set_up, .fini = tear_down);

static const struct change web = {.kind = "LambdaFunction", .id = WEB, .name = "web"};

static bool learn(const struct probe *probe, const struct http_response *response, struct arena *kept)
{
	found = (struct resources){0};
	further = (struct probes){0};
	return function->learn(&scope, probe, response, kept, &found, &further, &error);
}

/* Fifty functions of ten kilobytes each, most of which is none of our business. */
static struct http_response large_page(const char *subnets, struct arena *answer)
{
	struct text body;

	text_init(&body, 1024 * 1024);
	text_append(&body, "{\"Functions\":[");
	for (int i = 0; i < 50; i++) {
		text_printf(&body, "%s{\"FunctionName\":\"f%d\",\"FunctionArn\":\"arn:aws:lambda:us-east-1:1:function:f%d\"",
		            i > 0 ? "," : "", i, i);
		text_printf(&body,
		            ",\"RevisionId\":\"r-%d\",\"VpcConfig\":{\"SubnetIds\":[%s],\"SecurityGroupIds\":[\"sg-1\"]}", i,
		            subnets);
		text_append(&body, ",\"Environment\":{\"Variables\":{");
		for (int k = 0; k < 100; k++)
			text_printf(&body, "%s\"PASSWORD_%d\":\"%0*d\"", k > 0 ? "," : "", k, 80, k);
		text_append(&body, "}}}");
	}
	text_append(&body, "]}");
	cr_assert_geq(body.length, (size_t)400000);
	return data_text(200, text_take(&body, answer));
}

Test(kept, nothing_but_what_is_kept_stays_in_memory)
{
	static const struct {
		const char *subnets;
		size_t most_bytes;
	} pages[] = {{"\"subnet-0a1\",\"subnet-0b1\"", 64000}, {"\"subnet-0b1\",\"subnet-0c1\"", 64000}, {"", 8000}};
	struct probes probes = {0};

	function->survey(&scope, &arena, &probes);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		struct arena answer;
		struct arena kept;
		struct http_response response;

		arena_init(&answer, "answer", 4 * 1024 * 1024);
		arena_init(&kept, "kept", 4 * 1024 * 1024);
		response = large_page(pages[i].subnets, &answer);
		cr_assert(learn(probes.first, &response, &kept), "%s", error.message);
		arena_done(&answer);
		cr_expect_null(kept.deferred, "no document is held");
		cr_expect_lt(kept.used_bytes, pages[i].most_bytes, "[%s]: %zu bytes", pages[i].subnets, kept.used_bytes);
		cr_expect_eq(found.count, i == 1 ? 50 : 0);
		arena_done(&kept);
	}
}

Test(kept, what_is_kept_outlives_the_answer)
{
	const struct change *const changes[] = {&web};
	struct change change = web;
	struct probes probes = {0};
	struct arena answer;
	struct http_response response;
	struct http_request request;

	function->look(&scope, changes, 1, &arena, &probes);
	arena_init(&answer, "answer", 4 * 1024 * 1024);
	response = data_response(&answer, 200, "aws/lambda_function.json");
	cr_assert(learn(probes.first, &response, &arena), "%s", error.message);
	arena_done(&answer);
	cr_assert_str_eq(found.at[0].id, WEB);
	cr_assert_str_eq(found.at[0].names.at[0], "web");
	cr_assert_str_eq(tags_get(&found.at[0].tags, "team"), "web & shop");
	change.removed = string_list_split("subnet-0a1", ",", &arena);
	function->update(&scope, &change, &found.at[0], DIRECTION_OUT, &arena, &request);
	cr_assert_str_eq(
		request.body,
		"{\"VpcConfig\":{\"SubnetIds\":[\"subnet-0b1\",\"subnet-0c1\",\"subnet-0a2\"],\"SecurityGroupIds\":"
		"[\"sg-0web\",\"sg-0db\"],\"Ipv6AllowedForDualStack\":false},"
		"\"RevisionId\":\"11111111-0000-4000-8000-000000000318\"}");
}
