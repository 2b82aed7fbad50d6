#include "domain/scope.h"

#include <criterion/criterion.h>

#include "base/text.h"

static struct arena arena;

static void start(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(scope, .init = start, .fini = end);

static struct string_list names(const char *first, const char *second)
{
	struct string_list list = {0};

	if (first != NULL)
		string_list_add(&list, &arena, first);
	if (second != NULL)
		string_list_add(&list, &arena, second);
	return list;
}

static bool matches(const struct selector *selector, const struct tags *tags, const char *name)
{
	struct string_list one = names(name, NULL);

	return selector_matches(selector, tags, &one);
}

static void add_subnet(struct subnets *subnets, const char *id, const char *zone_id)
{
	subnets->at = arena_grow(&arena, subnets->at, subnets->count, &subnets->capacity, sizeof(*subnets->at));
	subnets->at[subnets->count++] = (struct subnet){.id = id, .zone_id = zone_id};
}

Test(scope, finds_subnets_once_sorted)
{
	struct scope scope = {.zone_id = "use1-az1"};

	cr_assert_null(scope_subnet(&scope, "subnet-a"), "an empty account has none");
	add_subnet(&scope.subnets, "subnet-c", "use1-az2");
	add_subnet(&scope.subnets, "subnet-a", "use1-az1");
	add_subnet(&scope.subnets, "subnet-b", "use1-az1");
	subnets_sort(&scope.subnets);
	cr_assert_str_eq(scope.subnets.at[0].id, "subnet-a");
	cr_assert_str_eq(scope_subnet(&scope, "subnet-c")->zone_id, "use1-az2");
	cr_assert_null(scope_subnet(&scope, "subnet-d"));
	cr_assert_null(scope_subnet(&scope, NULL));
	cr_assert(scope_in_zone(&scope, "subnet-b"));
	cr_assert_not(scope_in_zone(&scope, "subnet-c"));
	cr_assert_not(scope_in_zone(&scope, "subnet-d"), "an unknown subnet is not in the zone");
}

Test(scope, tags_are_looked_up_exactly)
{
	struct tags tags = {0};

	cr_assert_null(tags_get(&tags, "team"));
	tags_add(&tags, &arena, "team", "web");
	cr_assert_str_eq(tags_get(&tags, "team"), "web");
	cr_assert_null(tags_get(&tags, "Team"));
}

Test(scope, only_the_word_true_keeps_a_resource_out)
{
	struct tags kept = {0};
	struct tags taken = {0};

	cr_assert_not(tags_exclude(&taken));
	tags_add(&kept, &arena, "zonevac.dev/exclude", "true");
	tags_add(&taken, &arena, "zonevac.dev/exclude", "false");
	cr_assert(tags_exclude(&kept));
	cr_assert_not(tags_exclude(&taken));
}

Test(scope, an_empty_selector_selects_nothing)
{
	struct selector selector = {0};
	struct tags tags = {0};

	cr_assert_not(matches(&selector, &tags, "web"));
	selector.exclude_names = names("db", NULL);
	cr_assert_not(matches(&selector, &tags, "web"), "saying what not is not saying what");
}

Test(scope, all_takes_everything_that_is_not_excluded)
{
	struct selector selector = {.all = true, .exclude_names = names("*-pinned", "db")};
	struct tags plain = {0};
	struct tags tier = {0};

	tags_add(&selector.exclude_tags, &arena, "tier", "db");
	tags_add(&selector.exclude_tags, &arena, "keep", "yes");
	tags_add(&tier, &arena, "tier", "db");
	cr_assert(matches(&selector, &plain, "web"));
	cr_assert_not(matches(&selector, &plain, "web-pinned"));
	cr_assert_not(matches(&selector, &plain, "db"));
	cr_assert_not(matches(&selector, &tier, "web"), "one of the excluding tags is enough");
}

Test(scope, match_tags_are_anded)
{
	struct selector selector = {0};
	struct tags tags = {0};

	tags_add(&selector.match_tags, &arena, "team", "web");
	tags_add(&selector.match_tags, &arena, "stage", "prod");
	tags_add(&tags, &arena, "team", "web");
	cr_assert_not(matches(&selector, &tags, "x"));
	tags_add(&tags, &arena, "stage", "test");
	cr_assert_not(matches(&selector, &tags, "x"));
	tags.at[1].value = "prod";
	cr_assert(matches(&selector, &tags, "x"));
}

Test(scope, match_names_are_ored_globs)
{
	struct selector selector = {.match_names = names("web-*", "api-[0-9]")};
	struct tags tags = {0};

	cr_assert(matches(&selector, &tags, "web-1"));
	cr_assert(matches(&selector, &tags, "api-7"));
	cr_assert_not(matches(&selector, &tags, "api-x"));
	cr_assert_not(matches(&selector, &tags, "my-web-1"));
}

Test(scope, tags_and_names_are_anded_when_both_are_there)
{
	struct selector selector = {.match_names = names("web-*", NULL)};
	struct tags tags = {0};

	tags_add(&selector.match_tags, &arena, "team", "web");
	cr_assert_not(matches(&selector, &tags, "web-1"));
	tags_add(&tags, &arena, "team", "web");
	cr_assert(matches(&selector, &tags, "web-1"));
	cr_assert_not(matches(&selector, &tags, "api-1"));
}

Test(scope, a_service_answers_to_its_name_and_to_cluster_and_name)
{
	struct tags tags = {0};
	struct string_list service = names("api", "prod/api");
	struct selector by_name = {.match_names = names("api", NULL)};
	struct selector by_both = {.match_names = names("prod/*", NULL)};
	struct selector by_cluster = {.match_names = names("prod*", NULL)};

	cr_assert(selector_matches(&by_name, &tags, &service));
	cr_assert(selector_matches(&by_both, &tags, &service));
	cr_assert_not(selector_matches(&by_cluster, &tags, &service),
	              "prod* is about services called prod, not about clusters");
}

Test(scope, a_slash_in_a_plain_name_is_a_letter_like_any)
{
	struct tags tags = {0};
	struct selector selector = {.match_names = names("team*", NULL)};

	cr_assert(matches(&selector, &tags, "team/web"));
}

static const char *owner_by(const char *key, const char *value)
{
	struct tags tags = {0};

	tags_add(&tags, &arena, "team", "terraform");
	tags_add(&tags, &arena, key, value);
	return tags_owner_sentence(&tags, &arena);
}

Test(scope, tags_tell_who_manages_a_resource)
{
	cr_expect_str_eq(owner_by("aws:cloudformation:stack-name", "web"),
	                 "its tags say that CloudFormation stack web manages it");
	cr_expect_str_eq(owner_by("elasticbeanstalk:environment-name", "shop"),
	                 "its tags say that Elastic Beanstalk environment shop manages it");
	cr_expect_str_eq(owner_by("eks:nodegroup-name", "workers"), "its tags say that EKS node group workers manages it");
	cr_expect_str_eq(owner_by("Managed_By", "Pulumi"), "its tags say that Pulumi manages it");
	cr_expect_str_eq(owner_by("managed-by", "terraform"), "its tags say that terraform manages it");
	cr_expect_str_eq(owner_by("provisionedBy", "cdktf"), "its tags say that cdktf manages it");
	cr_expect_str_eq(owner_by("Terraform", "true"), "its tags say that Terraform manages it");
}

Test(scope, tags_that_name_no_manager_say_nothing)
{
	struct tags none = {0};

	cr_expect_null(tags_owner_sentence(&none, &arena));
	cr_expect_null(owner_by("Name", "managed-by-nobody"));
	cr_expect_null(owner_by("Terraform", "False"));
	cr_expect_null(owner_by("ManagedBy", ""));
	cr_expect_null(owner_by("ManagedByTeam", "web"), "a longer word is another one");
	cr_expect_null(owner_by("managed", "web"));
	cr_expect_null(owner_by("aws:cloudformation:stack-name", ""));
}

Test(scope, a_service_that_manages_counts_before_what_people_write)
{
	struct tags tags = {0};

	tags_add(&tags, &arena, "managed-by", "terraform");
	tags_add(&tags, &arena, "aws:cloudformation:stack-name", "awseb-e-1-stack");
	cr_expect_str_eq(tags_owner_sentence(&tags, &arena),
	                 "its tags say that CloudFormation stack awseb-e-1-stack manages it");
	tags_add(&tags, &arena, "elasticbeanstalk:environment-name", "shop");
	cr_expect_str_eq(tags_owner_sentence(&tags, &arena),
	                 "its tags say that Elastic Beanstalk environment shop manages it",
	                 "the stack is only how Beanstalk does it");
}
