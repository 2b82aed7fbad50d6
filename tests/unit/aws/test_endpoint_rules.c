/*
 * The endpoint cases and the partitions that botocore's source distribution carries (Apache-2.0), read from the folder that
 * ZONEVAC_BOTOCORE_SOURCE names; without it the tests are skipped. ./dev fetches it.
 */
#include "aws/region.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "environment.h"

#define FOLDER_VARIABLE "ZONEVAC_BOTOCORE_SOURCE"
#define CASES_LEAST 40

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(endpoint_rules, .init = set_up, .fini = tear_down);

static const struct json *read_json(const char *name)
{
	const char *folder = getenv(FOLDER_VARIABLE);
	const struct json *json;
	size_t length;
	char *text;

	if (folder == NULL || folder[0] == '\0')
		cr_skip_test(FOLDER_VARIABLE " is not set: it names the unpacked source of botocore");
	cr_assert(file_read(&arena, arena_printf(&arena, "%s/%s", folder, name), 16 * 1024 * 1024, &text, &length, &error),
	          "%s", error.message);
	json = json_parse(&arena, text, length, &error);
	cr_assert_not_null(json, "%s: %s", name, error.message);
	return json;
}

static bool has_account_host(const char *url)
{
	return url != NULL && (strstr(url, ".ddb.") != NULL || strstr(url, ".search-ddb.") != NULL);
}

/* Why a case is about something that we do not do on purpose; NULL when it is to be met. */
static const char *why_aside(const struct json *params, const struct json *expected)
{
	const char *region = json_get_string(params, "Region");
	const char *url = json_path_string(expected, "endpoint.url");
	const char *refusal = json_get_string(expected, "error");

	if (has_account_host(url) || (refusal != NULL && strcasestr(refusal, "account") != NULL))
		return "account-based endpoints: the regional one serves every account";
	if (url == NULL)
		return NULL;
	if (region == NULL)
		return "no region: nothing can be signed without one";
	if (strcmp(region, "local") == 0)
		return "region \"local\": that is an override";
	if (strcmp(region, "aws-global") == 0 || json_bool(json_get(params, "UseGlobalEndpoint"), false))
		return "global endpoints: a region must not depend on another one";
	if (json_bool(json_get(params, "IsSearchOperation"), false) && strstr(url, "search-") != NULL)
		return "search endpoints: we search nothing";
	return NULL;
}

static const char *flag(const struct json *params, const char *name)
{
	return json_bool(json_get(params, name), false) ? "true" : "";
}

static void check_case(const char *service, const struct json *one)
{
	const struct json *params = json_get(one, "params");
	const char *expected = json_path_string(one, "expect.endpoint.url");
	const char *endpoint = json_get_string(params, "Endpoint");
	const struct aws_environment *environment =
		TABLE("AWS_USE_FIPS_ENDPOINT", flag(params, "UseFIPS"), "AWS_USE_DUALSTACK_ENDPOINT",
	          flag(params, "UseDualStack"), "AWS_ENDPOINT_URL", endpoint != NULL ? endpoint : "");
	const char *region = json_get_string(params, "Region");
	struct aws_endpoint out = {0};
	bool good = aws_endpoint_of(&arena, aws_service_find(service), region, environment, &out, &error);
	const char *what = json_print(one, &arena);

	if (expected == NULL) {
		cr_expect_not(good, "%s: %s", service, what);
		cr_expect_eq(error.kind, ERROR_INPUT, "%s: %s", service, what);
		return;
	}
	cr_assert(good, "%s: %s: %s", service, what, error.message);
	cr_expect_str_eq(out.base_url, expected, "%s: %s", service, what);
	cr_expect_str_eq(out.signing_region, region, "%s: %s", service, what);
	cr_expect_str_eq(out.service, service);
}

/* How many cases of one reason were left aside. */
struct aside {
	const char *why;
	size_t count;
};

static void count_aside(struct aside *asides, const char *why)
{
	while (asides->why != NULL && asides->why != why)
		asides++;
	asides->why = why;
	asides->count++;
}

static void check_service(const char *service)
{
	const struct json *cases =
		json_get(read_json(arena_printf(&arena, "tests/functional/endpoint-rules/%s/endpoint-tests-1.json", service)),
	             "testCases");
	struct aside asides[16] = {{0}};
	size_t met = 0;

	for (size_t i = 0; i < json_count(cases); i++) {
		const struct json *one = json_at(cases, i);
		const char *why = why_aside(json_get(one, "params"), json_get(one, "expect"));

		if (why != NULL) {
			count_aside(asides, why);
			continue;
		}
		check_case(service, one);
		met++;
	}
	fprintf(stderr, "endpoint rules: %s: %zu of %zu cases met\n", service, met, json_count(cases));
	for (const struct aside *aside = asides; aside->why != NULL; aside++)
		fprintf(stderr, "endpoint rules: %s: %zu aside: %s\n", service, aside->count, aside->why);
	cr_assert_geq(met, CASES_LEAST, "%s: only %zu cases met", service, met);
}

Test(endpoint_rules, every_service_meets_its_cases)
{
	for (size_t i = 0; aws_service_at(i) != NULL; i++)
		check_service(aws_service_at(i)->name);
}

static const char *url_of(const char *region, const char *fips, const char *dual_stack)
{
	struct aws_endpoint out = {0};

	cr_assert(aws_endpoint_of(&arena, aws_service_find("lambda"), region,
	                          TABLE("AWS_USE_FIPS_ENDPOINT", fips, "AWS_USE_DUALSTACK_ENDPOINT", dual_stack), &out,
	                          &error),
	          "%s: %s", region, error.message);
	return out.base_url;
}

/* Lambda, which has no rule of its own in any partition. */
static void check_region(const char *region, const char *name, const struct json *outputs)
{
	const char *plain = json_get_string(outputs, "dnsSuffix");
	const char *dual_stack = json_get_string(outputs, "dualStackDnsSuffix");

	cr_expect_str_eq(aws_partition(region), name, "%s", region);
	cr_expect_str_eq(url_of(region, "", ""), arena_printf(&arena, "https://lambda.%s.%s", region, plain));
	cr_expect(json_bool(json_get(outputs, "supportsFIPS"), false) &&
	              json_bool(json_get(outputs, "supportsDualStack"), false),
	          "%s lacks what our table says that it has", name);
	cr_expect_str_eq(url_of(region, "true", ""), arena_printf(&arena, "https://lambda-fips.%s.%s", region, plain));
	cr_expect_str_eq(url_of(region, "", "true"), arena_printf(&arena, "https://lambda.%s.%s", region, dual_stack));
	cr_expect_str_eq(url_of(region, "true", "true"),
	                 arena_printf(&arena, "https://lambda-fips.%s.%s", region, dual_stack));
}

Test(endpoint_rules, partitions_are_those_of_the_data)
{
	const struct json *partitions = json_get(read_json("botocore/data/partitions.json"), "partitions");
	size_t count = 0;

	for (size_t i = 0; i < json_count(partitions); i++) {
		const struct json *partition = json_at(partitions, i);
		const struct json *regions = json_get(partition, "regions");
		const char *region;

		for (size_t k = 0; json_member(regions, k, &region) != NULL; k++) {
			if (strstr(region, "-global") != NULL)
				continue;
			check_region(region, json_get_string(partition, "id"), json_get(partition, "outputs"));
			count++;
		}
	}
	fprintf(stderr, "endpoint rules: %zu regions of %zu partitions agree\n", count, json_count(partitions));
	cr_assert_eq(json_count(partitions), 8, "a partition has come or gone: %zu", json_count(partitions));
	cr_assert_geq(count, 45);
}
