#include "actuators/registry.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lambda_answers.h"

TestSuite(versions, .init = set_up, .fini = tear_down);

static struct probe *remark(const char *order, enum direction direction)
{
	struct change change = {.kind = "LambdaFunction", .id = WEB, .name = "web"};
	struct probes probes = {0};

	change.removed = string_list_split("subnet-0a1,subnet-0a2", ",", &arena);
	change.order = string_list_split(order, ",", &arena);
	function->remark(&scope, &change, direction, &arena, &probes);
	cr_assert_eq(probes.first, probes.last);
	return probes.first;
}

/* The probes of the first page of aliases: version 7, version 8, the next page. */
static struct probe *ask_versions(void)
{
	learn_file(remark("subnet-0a1,subnet-0b1", DIRECTION_OUT), "aws/lambda_aliases_page_1.json");
	return further.first;
}

Test(versions, out_asks_for_all_aliases_and_once_for_each_version)
{
	const struct probe *first = remark("subnet-0a1,subnet-0b1", DIRECTION_OUT);
	const struct probe *version;

	cr_assert_str_eq(first->request.method, "GET");
	cr_assert_str_eq(first->request.path, WEB_PATH "/aliases");
	cr_assert_str_eq(first->request.query, "MaxItems=50");
	cr_assert_str_eq(first->request.operation, "ListAliases");
	version = ask_versions();
	cr_assert_eq(found.count, 0);
	cr_assert_str_eq(version->request.path, WEB_PATH);
	cr_assert_str_eq(version->request.query, "Qualifier=7");
	cr_assert_str_eq(version->request.operation, "GetFunction");
	cr_assert_str_eq(version->next->request.query, "Qualifier=8", "the one that gets a share of the traffic");
	cr_assert_eq(version->next->next, further.last, "nothing is asked of $LATEST");
	cr_assert_str_eq(further.last->request.path, WEB_PATH "/aliases");
	cr_assert_str_eq(further.last->request.query, "Marker=more&MaxItems=50");
	learn_file(further.last, "aws/lambda_aliases_page_2.json");
	cr_assert_str_eq(further.first->request.query, "Qualifier=3");
	cr_assert_eq(further.first, further.last);
}

Test(versions, out_remarks_aliases_whose_version_stays_in_the_zone)
{
	const struct probe *version = ask_versions();

	learn_file(version, "aws/lambda_version_7.json");
	cr_assert_eq(found.count, 1);
	cr_assert_str_eq(found.at[0].id, WEB);
	cr_assert_str_eq(found.at[0].kind, "LambdaFunction");
	cr_assert_str_eq(found.at[0].remark,
	                 "aliases live, beta still point to version 7, which keeps subnet-0a1, subnet-0a2 (published "
	                 "versions cannot be changed; publish a new one and move the aliases)");
	cr_assert_null(further.first);
	learn_file(version->next, "aws/lambda_version_8.json");
	cr_assert_eq(found.count, 0);
	learn_file(version->next, "aws/lambda_version_7.json");
	cr_assert_str_eq(found.at[0].remark,
	                 "alias live still points to version 8, which keeps subnet-0a1, subnet-0a2 (published versions "
	                 "cannot be changed; publish a new one and move the alias)");
}

Test(versions, back_remarks_what_was_published_without_the_subnets)
{
	const struct probe *first = remark("subnet-0a1,subnet-0b1,subnet-0c1,subnet-0a2", DIRECTION_BACK);

	cr_assert_str_eq(first->request.path, WEB_PATH "/versions");
	cr_assert_str_eq(first->request.query, "MaxItems=50");
	cr_assert_str_eq(first->request.operation, "ListVersionsByFunction");
	learn_file(first, "aws/lambda_versions_page_1.json");
	cr_assert_eq(found.count, 1);
	cr_assert_str_eq(found.at[0].id, WEB);
	cr_assert_str_eq(found.at[0].remark,
	                 "version 8 was published without subnet-0a1, subnet-0a2 and stays so; publish a new one",
	                 "not $LATEST, nor what never had them all");
	cr_assert_str_eq(further.first->request.query, "Marker=m%202&MaxItems=50");
	cr_assert_str_eq(further.first->request.path, WEB_PATH "/versions");
	learn_file(further.first, "aws/lambda_versions_page_2.json");
	cr_assert_str_eq(found.at[0].remark,
	                 "versions 10, 11 were published without subnet-0a1, subnet-0a2 and stay so; publish new ones");
	cr_assert_null(further.first);
}

Test(versions, back_asks_nothing_when_the_list_is_not_known)
{
	cr_assert_null(remark("", DIRECTION_BACK));
}

Test(versions, malformed_answers_append_nothing)
{
	const struct probe *aliases = remark("subnet-0a1,subnet-0b1", DIRECTION_OUT);
	const struct probe *versions = remark("subnet-0a1,subnet-0b1", DIRECTION_BACK);
	const struct probe *version = ask_versions();

	cr_expect_not(learn(aliases, data_text(200, "{\"Aliases\":{}}")));
	cr_expect_str_eq(error.message, "ListAliases: the answer has no Aliases");
	cr_expect_not(learn(aliases, data_text(200, "{\"Aliases\":[{\"Name\":\"a\",\"FunctionVersion\":\"1\"},{}]}")));
	cr_expect_str_eq(error.message, "ListAliases: an alias of the answer has no Name");
	cr_expect_eq(error.kind, ERROR_MALFORMED);
	cr_expect_null(further.first);
	cr_expect_not(learn(versions, data_text(200, "{}")));
	cr_expect_str_eq(error.message, "ListVersionsByFunction: the answer has no Versions");
	cr_expect_not(learn(version, data_text(200, "[]")));
	cr_expect_str_eq(error.message, "GetFunction: the answer has no Configuration");
	cr_expect_eq(found.count, 0);
}

static bool excused(const struct probe *probe, enum error_kind kind)
{
	struct error no = {0};

	found = (struct resources){0};
	error_set(&no, kind, "lambda answered 403");
	return function->excuse(&scope, probe, &no, &arena, &found);
}

Test(versions, what_may_not_be_read_is_remarked)
{
	const struct probe *probes[] = {remark("subnet-0a1,subnet-0b1", DIRECTION_OUT),
	                                remark("subnet-0a1,subnet-0b1", DIRECTION_BACK), ask_versions()};

	for (size_t i = 0; i < 3; i++) {
		cr_expect(excused(probes[i], ERROR_ABSENT));
		cr_expect_eq(found.count, 0);
		cr_expect_not(excused(probes[i], ERROR_SERVER));
		cr_assert(excused(probes[i], ERROR_DENIED));
		cr_expect_str_eq(found.at[0].id, WEB);
		cr_expect_str_eq(found.at[0].remark, "what its published versions use is not known: lambda answered 403");
	}
}
