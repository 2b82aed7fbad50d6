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
	cr_assert_eq(count, 4);
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
