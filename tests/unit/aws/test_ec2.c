#include "aws/ec2.h"

#include <criterion/criterion.h>
#include <string.h>

#include "data.h"

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(ec2, .init = set_up, .fini = tear_down);

Test(ec2, zones_with_their_names_and_types)
{
	struct http_response response = data_response(&arena, 200, "aws/zones.xml");
	struct http_request request;
	struct zones zones = {0};

	ec2_ask_zones(&arena, &request);
	cr_assert_str_eq(request.body, "Action=DescribeAvailabilityZones&Version=2016-11-15&AllAvailabilityZones=true");
	cr_assert(ec2_hear_zones(&arena, &response, &zones, &error), "%s", error.message);
	cr_assert_eq(zones.count, 4);
	cr_assert_str_eq(zones.at[1].id, "use1-az1");
	cr_assert_str_eq(zones.at[1].name, "us-east-1a");
	cr_assert_str_eq(zones.at[1].type, "availability-zone");
	cr_assert_str_eq(zones.at[3].type, "local-zone");
}

Test(ec2, subnets_of_two_pages)
{
	struct http_response first = data_response(&arena, 200, "aws/subnets_page_1.xml");
	struct http_response second = data_response(&arena, 200, "aws/subnets_page_2.xml");
	struct http_request request;
	struct subnets subnets = {0};
	const char *token = NULL;

	ec2_ask_subnets(&arena, token, &request);
	cr_assert_str_eq(request.body, "Action=DescribeSubnets&Version=2016-11-15&MaxResults=1000");
	cr_assert(ec2_hear_subnets(&arena, &first, &subnets, &token, &error), "%s", error.message);
	cr_assert_str_eq(token, "AB+/cd==");
	ec2_ask_subnets(&arena, token, &request);
	cr_assert_not_null(strstr(request.body, "&NextToken=AB%2B%2Fcd%3D%3D"));
	cr_assert(ec2_hear_subnets(&arena, &second, &subnets, &token, &error), "%s", error.message);
	cr_assert_null(token);
	cr_assert_eq(subnets.count, 6);
	cr_assert_str_eq(subnets.at[0].id, "subnet-0c1");
	cr_assert_str_eq(subnets.at[4].zone_id, "use1-az1");
	cr_assert_str_eq(subnets.at[4].zone_name, "us-east-1a");
	cr_assert_str_eq(subnets.at[4].vpc_id, "vpc-0other");
}

Test(ec2, what_an_answer_lacks_is_named)
{
	struct http_response incomplete = data_response(&arena, 200, "aws/subnets_incomplete.xml");
	struct http_response other = data_response(&arena, 200, "aws/zones.xml");
	struct http_response html = data_response(&arena, 200, "aws/error_proxy.html");
	struct subnets subnets = {0};
	struct zones zones = {0};
	const char *token;

	cr_assert_not(ec2_hear_subnets(&arena, &incomplete, &subnets, &token, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_str_eq(error.message, "DescribeSubnets: an item of the answer has no availabilityZoneId");
	cr_assert_not(ec2_hear_subnets(&arena, &other, &subnets, &token, &error));
	cr_assert_not_null(strstr(error.message, "<DescribeAvailabilityZonesResponse> without subnetSet"), "%s",
	                   error.message);
	cr_assert_not(ec2_hear_zones(&arena, &incomplete, &zones, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(ec2_hear_zones(&arena, &html, &zones, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}

Test(ec2, errors_come_through)
{
	struct http_response response = data_response(&arena, 503, "aws/error_ec2.xml");
	struct zones zones = {0};

	cr_assert_not(ec2_hear_zones(&arena, &response, &zones, &error));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
}
