#include "aws/service.h"

#include <criterion/criterion.h>
#include <string.h>

Test(service, table_is_complete_and_found_by_name)
{
	size_t count = 0;

	for (const struct aws_service *service = aws_service_at(0); service != NULL; service = aws_service_at(++count)) {
		const struct aws_quota *quota = aws_quota_find(service->name, "Anything");

		cr_expect_eq(aws_service_find(service->name), service);
		cr_expect(service->signing_name != NULL && service->host_prefix != NULL && service->env_suffix != NULL);
		cr_expect_eq(strlen(service->api_version), 10);
		cr_expect_eq(service->target_prefix != NULL,
		             service->protocol == AWS_JSON_1_0 || service->protocol == AWS_JSON_1_1);
		cr_expect(quota != NULL && quota->rate_per_s > 0 && quota->burst_count >= 1, "%s has no quota", service->name);
	}
	cr_assert_eq(count, 6);
	cr_assert_null(aws_service_find("kubernetes"));
	cr_assert_null(aws_service_find(NULL));
	cr_assert_null(aws_quota_find("kubernetes", "GET"));
	cr_assert_null(aws_quota_find(NULL, NULL));
}

Test(service, quotas)
{
	const struct aws_quota *read = aws_quota_find("ec2", "DescribeSubnets");

	cr_assert_eq(read->rate_per_s, 20);
	cr_assert_eq(read->burst_count, 100);
	cr_assert_eq(aws_quota_find("autoscaling", "UpdateAutoScalingGroup"),
	             aws_quota_find("autoscaling", "DescribeAutoScalingGroups"),
	             "Auto Scaling has one bucket for all calls");
	cr_assert_eq(aws_quota_find("autoscaling", NULL)->rate_per_s, 10);
	cr_assert_eq(aws_quota_find("dynamodb", "Query")->rate_per_s, 1000);
	cr_assert_eq(aws_quota_find("sts", "GetCallerIdentity")->rate_per_s, 100);
}

Test(service, ecs_counts_changes_services_and_clusters_apart)
{
	cr_assert_eq(aws_quota_find("ecs", "UpdateService")->rate_per_s, 5);
	cr_assert_eq(aws_quota_find("ecs", "UpdateService")->burst_count, 50);
	cr_assert_eq(aws_quota_find("ecs", "ListClusters")->rate_per_s, 20);
	cr_assert_eq(aws_quota_find("ecs", "ListClusters")->burst_count, 50);
	cr_assert_eq(aws_quota_find("ecs", "ListServices"), aws_quota_find("ecs", "DescribeServices"));
	cr_assert_eq(aws_quota_find("ecs", "DescribeServices")->burst_count, 100);
	cr_assert_neq(aws_quota_find("ecs", "ListServices"), aws_quota_find("ecs", "ListClusters"));
}

Test(service, lambda_reads_one_function_apart_from_all_else)
{
	const struct aws_quota *others = aws_quota_find("lambda", "UpdateFunctionConfiguration");

	cr_assert_eq(aws_quota_find("lambda", "GetFunction")->rate_per_s, 100);
	cr_assert_leq(others->rate_per_s, 10, "15 a second are shared with the customer's own deployments");
	cr_assert_leq(others->burst_count, 15);
	cr_assert_eq(aws_quota_find("lambda", "ListFunctions"), others);
	cr_assert_eq(aws_quota_find("lambda", "ListAliases"), others);
}

Test(service, no_two_services_share_a_bucket)
{
	for (size_t i = 0; aws_service_at(i) != NULL; i++) {
		for (size_t k = 0; k < i; k++) {
			const char *one = aws_quota_find(aws_service_at(i)->name, "Anything")->call_class;
			const char *other = aws_quota_find(aws_service_at(k)->name, "Anything")->call_class;

			cr_expect_str_neq(one, other);
		}
	}
}
