#include "aws/region.h"

#include <criterion/criterion.h>

Test(partition, of_a_region)
{
	static const char *const pairs[][2] = {
		{"us-east-1", "aws"},
		{"mx-central-1", "aws"},
		{"ap-southeast-7", "aws"},
		{"us-gov-west-1", "aws-us-gov"},
		{"cn-north-1", "aws-cn"},
		{"eusc-de-east-1", "aws-eusc"},
		{"us-iso-east-1", "aws-iso"},
		{"us-isob-east-1", "aws-iso-b"},
		{"eu-isoe-west-1", "aws-iso-e"},
		{"us-isof-south-1", "aws-iso-f"},
		{"xx-new-1", "aws"},
		{"us-gov-1", "aws"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		cr_expect_str_eq(aws_partition(pairs[i][0]), pairs[i][1], "%s", pairs[i][0]);
	cr_assert_str_eq(aws_partition(NULL), "aws");
}
