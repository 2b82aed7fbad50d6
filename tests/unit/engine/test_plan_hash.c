#include <criterion/criterion.h>
#include <string.h>

#include "plan_hash.h"

static struct arena arena;
static const struct plan_about about = {"use1-az1", "123456789012", "us-east-1"};

static void begin(void)
{
	arena_init(&arena, "test", (size_t)1 << 20);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(plan_hash, .init = begin, .fini = end);

static void add(struct plan_list *list, const char *kind, const char *id, const char *subnets)
{
	const struct string_list removed = string_list_split(subnets, ",", &arena);

	plan_list_add(list, &arena, kind, id, NULL, &removed);
}

static struct plan_list list_of(const char *const (*changes)[3], size_t count)
{
	struct plan_list list = {0};

	for (size_t i = 0; i < count; i++)
		add(&list, changes[i][0], changes[i][1], changes[i][2]);
	plan_list_sort(&list, &arena);
	return list;
}
#define LIST(...)                                  \
	list_of((const char *const[][3]){__VA_ARGS__}, \
	        sizeof((const char *const[][3]){__VA_ARGS__}) / sizeof(const char *[3]))

static const char *hash(const struct plan_list *list)
{
	return plan_hash(&about, list, &arena);
}

/* sha256sum of what the header says is hashed: whoever keeps a hash must find it again after an upgrade. */
Test(plan_hash, is_what_it_has_always_been)
{
	const struct plan_list none = {0};
	const struct plan_list list =
		LIST({"AutoScalingGroup", "arn:web", "subnet-a,subnet-b"}, {"EcsService", "arn:api", "subnet-a"});

	cr_assert_eq(strlen(hash(&none)), PLAN_HASH_LENGTH);
	cr_assert_str_eq(hash(&none), "sha256:f2c5d414ec35314eee05c6e1d12033814994b14c36e3bcc5b53d474c0d893fa3");
	cr_assert_str_eq(hash(&list), "sha256:7e13a3238568ebc8eb8ac401b13fd0e9b98690ec4f2340025ba32c261cb3ae56");
}

Test(plan_hash, order_and_names_do_not_matter)
{
	const struct plan_list one =
		LIST({"EcsService", "b", "s1,s2"}, {"AutoScalingGroup", "c", "s3"}, {"EcsService", "a", "s1"});
	const struct plan_list other =
		LIST({"EcsService", "a", "s1"}, {"EcsService", "b", "s2,s1"}, {"AutoScalingGroup", "c", "s3"});

	cr_assert_str_eq(hash(&one), hash(&other));
	one.at[0].name = "another";
	cr_assert_str_eq(hash(&one), hash(&other));
}

Test(plan_hash, every_field_matters)
{
	const struct plan_list list = LIST({"EcsService", "a", "s1,s2"}, {"EcsService", "b", "s1"});
	const struct plan_list others[] = {
		LIST({"EcsService", "a", "s1,s2"}),
		LIST({"EcsService", "a", "s1,s2"}, {"LambdaFunction", "b", "s1"}),
		LIST({"EcsService", "a", "s1,s2"}, {"EcsService", "c", "s1"}),
		LIST({"EcsService", "a", "s1,s2"}, {"EcsService", "b", "s2"}),
		LIST({"EcsService", "a", "s1"}, {"EcsService", "b", "s1,s2"}),
		LIST({"EcsService", "a", "s1,s2"}, {"EcsService", "b", ""}),
		LIST({"EcsService", "a", "s1,s2"}, {"EcsService", "b", "s1"}, {"EcsService", "c", "s1"}),
		LIST({"EcsService", "a", "s1 s2"}, {"EcsService", "b", "s1"}),
	};
	const struct plan_about abouts[] = {{"use1-az2", "123456789012", "us-east-1"},
	                                    {"use1-az1", "123456789013", "us-east-1"},
	                                    {"use1-az1", "123456789012", "us-east-2"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert_str_neq(hash(&list), hash(&others[i]), "%zu", i);
	for (size_t i = 0; i < sizeof(abouts) / sizeof(abouts[0]); i++)
		cr_assert_str_neq(hash(&list), plan_hash(&abouts[i], &list, &arena), "%zu", i);
}

Test(plan_hash, what_is_there_twice_is_one)
{
	const struct plan_list twice =
		LIST({"EcsService", "a", "s2"}, {"EcsService", "b", "s1"}, {"EcsService", "a", "s1,s2"});

	cr_assert_eq(twice.count, 2);
	cr_assert_str_eq(string_list_join(&plan_list_find(&twice, "EcsService", "a")->removed, &arena, ","), "s1,s2");
	cr_assert_null(plan_list_find(&twice, "LambdaFunction", "a"));
	cr_assert_null(plan_list_find(&(struct plan_list){0}, "EcsService", "a"));
}

Test(plan_hash, what_differs_is_said)
{
	const struct plan_list before =
		LIST({"EcsService", "a", "s1"}, {"EcsService", "b", "s1"}, {"EcsService", "d", "s1"});
	const struct plan_list after =
		LIST({"AutoScalingGroup", "x", "s1"}, {"EcsService", "b", "s2"}, {"EcsService", "c", "s1"});

	cr_assert_null(plan_difference(&before, &before, &arena));
	cr_assert_str_eq(plan_difference(&before, &after, &arena),
	                 "2 are new (the first is AutoScalingGroup x), 2 are no longer in it (the first is EcsService a), "
	                 "1 has other subnets in the zone (EcsService b)");
	cr_assert_str_eq(plan_difference(&(struct plan_list){0}, &before, &arena), "3 are new (the first is EcsService a)");
}
