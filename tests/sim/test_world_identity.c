/*
 * The world itself: who may ask, clocks, outages, slow connections, a client that is stopped, and two of them.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "ask.h"
#include "base/text.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/zonevac/leases"
#define NODE "/api/v1/nodes/n"
#define LABEL "[{\"op\":\"add\",\"path\":\"/metadata/labels/a\",\"value\":\"b\"}]"
#define GROUPS "Action=DescribeAutoScalingGroups&Version=2011-01-01"
#define SUBNETS "Action=DescribeSubnets&Version=2016-11-15"

static struct ask ask;

static void setup(void)
{
	ask_init(&ask, 3);
	world_add_zone(ask.world, "use1-az1", "us-east-1b");
	world_add_node(ask.world, &(struct world_node){.name = "n", .zone_id = "use1-az1"});
	world_make_table(ask.world);
}

static void teardown(void)
{
	ask_done(&ask);
}

TestSuite(world_identity, .init = setup, .fini = teardown, .timeout = 60);

static void assert_says(const struct http_response *response, int status, const char *word)
{
	const char *type = http_header(&response->headers, "x-amzn-ErrorType");
	cr_assert_eq(response->status, status, "%d %s", response->status, response->body);
	cr_assert(strstr(response->body, word) || text_equal(type, word), "%s instead of %s", response->body, word);
}

static void assert_each_says(int query, const char *in_query, int ec2, const char *in_ec2, int json,
                             const char *in_json, int rest)
{
	assert_says(ask_aws(&ask, "autoscaling", NULL, GROUPS), query, in_query);
	assert_says(ask_aws(&ask, "ec2", NULL, SUBNETS), ec2, in_ec2);
	assert_says(ask_aws(&ask, "dynamodb", "DescribeTable", "{\"TableName\":\"" WORLD_TABLE "\"}"), json, in_json);
	assert_says(ask_aws(&ask, "ecs", "ListClusters", "{}"), json, in_json);
	assert_says(ask_lambda(&ask, "GET", "", NULL), rest, in_json);
}

Test(world_identity, keys_are_good_until_they_end)
{
	world_issue_credentials(ask.world, 60);
	cr_assert_not_null(json_get_string(ask_credentials(&ask), "Expiration"));
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, GROUPS)->status, 200);
	cr_assert_eq(ask_lambda(&ask, "GET", "", NULL)->status, 200);
	world_advance(ask.world, 60000);
	assert_each_says(403, "ExpiredToken", 400, "RequestExpired", 400, "ExpiredTokenException", 403);
	cr_assert_eq(world_refused_keys(ask.world, "*"), 5);
	cr_assert_eq(world_refused_keys(ask.world, "ecs"), 1);
	ask_credentials(&ask);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, GROUPS)->status, 200);
	world_revoke_credentials(ask.world);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, GROUPS)->status, 403);
	cr_assert_eq(world_issued(ask.world), 2);
}

Test(world_identity, keys_that_nobody_issued_are_unknown)
{
	world_issue_credentials(ask.world, 60);
	assert_each_says(403, "InvalidClientTokenId", 401, "AuthFailure", 400, "UnrecognizedClientException", 403);
	ask_credentials(&ask);
	ask.token = "another";
	assert_each_says(403, "InvalidClientTokenId", 401, "AuthFailure", 400, "UnrecognizedClientException", 403);
}

Test(world_identity, clocks_may_differ_by_five_minutes)
{
	world_set_skew(ask.world, 4 * 60000);
	cr_assert_eq(ask_aws(&ask, "ec2", NULL, SUBNETS)->status, 200);
	world_set_skew(ask.world, -6 * 60000);
	assert_each_says(403, "SignatureDoesNotMatch", 400, "RequestExpired", 400, "InvalidSignatureException", 403);
	world_set_skew(ask.world, 6 * 60000);
	assert_each_says(403, "SignatureDoesNotMatch", 401, "AuthFailure", 400, "InvalidSignatureException", 403);
	cr_assert_eq(world_refused_clocks(ask.world, "lambda"), 2);
	cr_assert_eq(world_refused_keys(ask.world, "*"), 0);
}

static const char *date_of_answer(void)
{
	return http_header(&ask_aws(&ask, "ec2", NULL, SUBNETS)->headers, "Date");
}

Test(world_identity, dates_are_written_on_the_way)
{
	const size_t day = strlen("Fri, 02 Jan 2026");
	const char *right = date_of_answer();
	world_set_date(ask.world, 0, "yesterday", 1);
	cr_assert_str_eq(date_of_answer(), "yesterday");
	cr_assert_eq(strncmp(date_of_answer(), right, day), 0);
	world_set_date(ask.world, 24 * 60 * 60000, NULL, 2);
	cr_assert_neq(strncmp(date_of_answer(), right, day), 0);
	cr_assert_neq(strncmp(date_of_answer(), right, day), 0);
	cr_assert_eq(strncmp(date_of_answer(), right, day), 0);
}

static bool answers(const char *service, const char *body, const char *word)
{
	return strstr(ask_aws(&ask, service, NULL, body)->body, word) != NULL;
}

Test(world_identity, another_account_sees_nothing_of_ours)
{
	static const char who[] = "Action=GetCallerIdentity&Version=2011-06-15";
	world_add_subnet(ask.world, "subnet-a", "use1-az1");
	world_add_group(ask.world, "web", "subnet-a", 1, NULL);
	world_issue_credentials(ask.world, 60);
	ask_credentials(&ask);
	world_hide_elsewhere(ask.world, false);
	world_set_account(ask.world, "999999999999");
	cr_assert(answers("sts", who, WORLD_ACCOUNT), "of the account in which they were issued");
	cr_assert(answers("autoscaling", GROUPS, "subnet-a"));
	ask_credentials(&ask);
	cr_assert(answers("sts", who, "999999999999"));
	cr_assert_not(answers("autoscaling", GROUPS, "subnet-a"));
	assert_says(ask_aws(&ask, "dynamodb", "DescribeTable", "{\"TableName\":\"" WORLD_TABLE "\"}"), 400,
	            "ResourceNotFoundException");
	world_set_account(ask.world, WORLD_ACCOUNT);
	ask_credentials(&ask);
	cr_assert(answers("autoscaling", GROUPS, "subnet-a"));
}

Test(world_identity, every_fifth_refresh_fails_three_times)
{
	world_issue_credentials(ask.world, 60);
	world_fail_refreshes(ask.world, 5);
	for (int i = 0; i < 14; i++) {
		const struct json *keys = ask_credentials(&ask);
		bool fails = i % 7 >= 4;
		cr_assert_eq(json_get_string(keys, "Token") == NULL, fails, "call %d", i);
	}
	cr_assert_eq(world_issued(ask.world), 8);
}

static void log_in(const char *expected_token)
{
	const struct json *login = ask_json(&ask, ask_login(&ask));
	cr_assert_str_eq(json_get_string(login, "apiVersion"), "client.authentication.k8s.io/v1");
	cr_assert_str_eq(json_path_string(login, "status.token"), expected_token);
}

Test(world_identity, only_logins_are_good_for_the_api_server)
{
	world_issue_logins(ask.world, 60);
	cr_assert_eq(ask_kube(&ask, "GET", NODE, NULL)->status, 401);
	log_in("token-of-login-1");
	log_in("token-of-login-2");
	cr_assert_eq(world_calls(ask.world, "RUN aws"), 2);
	cr_assert_eq(world_refused_keys(ask.world, "kubernetes"), 1);
	world_service_outage(ask.world, "program", 1000, WORLD_REFUSE);
	cr_assert_eq(ask_login(&ask)->error.kind, ERROR_REJECTED);
}

Test(world_identity, a_service_is_out_of_order_and_its_calls_are_counted)
{
	world_service_outage(ask.world, "ec2", 10000, WORLD_ERROR_BEFORE);
	cr_assert_eq(ask_aws(&ask, "ec2", NULL, SUBNETS)->status, 500);
	cr_assert_eq(ask_aws(&ask, "autoscaling", NULL, GROUPS)->status, 200);
	world_advance(ask.world, 5000);
	cr_assert_eq(ask_aws(&ask, "ec2", NULL, SUBNETS)->status, 500);
	world_advance(ask.world, 5000);
	cr_assert_eq(ask_aws(&ask, "ec2", NULL, SUBNETS)->status, 200);
	cr_assert_eq(world_outage_calls(ask.world, 0, 5), 1);
	cr_assert_eq(world_outage_calls(ask.world, 0, 60), 3);
	world_service_outage(ask.world, "ec2", 60000, WORLD_SILENCE);
	cr_assert_eq(ask_aws(&ask, "ec2", NULL, SUBNETS)->error.kind, ERROR_TIMEOUT);
}

Test(world_identity, haste_is_seen)
{
	world_set_retry_after(ask.world, 20);
	world_service_outage(ask.world, "ec2", 60000, WORLD_ERROR_BEFORE);
	cr_assert_str_eq(http_header(&ask_aws(&ask, "ec2", NULL, SUBNETS)->headers, "Retry-After"), "20");
	world_advance(ask.world, 20000);
	ask_aws(&ask, "ec2", NULL, SUBNETS);
	cr_assert_eq(world_hasty_calls(ask.world), 0);
	world_advance(ask.world, 19000);
	ask_aws(&ask, "ec2", NULL, SUBNETS);
	cr_assert_eq(world_hasty_calls(ask.world), 1);
}

static void take_lease(void)
{
	const char *body =
		"{\"metadata\":{\"name\":\"zonevac\"},\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15}}";
	cr_assert_eq(ask_kube(&ask, "POST", LEASES, body)->status, 201);
}

static int label_now(void)
{
	const struct http_response *response = ask_kube(&ask, "PATCH", NODE, LABEL);
	return response->status != 0 ? response->status : -(int)response->error.kind;
}

Test(world_identity, what_connects_too_late_is_not_sent)
{
	take_lease();
	world_slow_connect(ask.world, 3000);
	ask.not_after = instant_after(world_now(ask.world), 2000);
	cr_assert_eq(label_now(), -(int)ERROR_STALE);
	cr_assert_eq(world_effects(ask.world), 0);
	ask.not_after = instant_after(world_now(ask.world), 4000);
	cr_assert_eq(label_now(), 200);
	world_slow_connect(ask.world, 60000);
	cr_assert_eq(label_now(), -(int)ERROR_TIMEOUT, "its deadline is 10 s");
}

Test(world_identity, what_goes_on_the_wire_after_the_lease_breaks_the_rule, .signal = SIGABRT)
{
	take_lease();
	world_advance(ask.world, 5000);
	world_slow_connect(ask.world, 6000);
	label_now();
}

/* A call of a stopped client is on its way, its answer waits; what it had not sent waits too. */
Test(world_identity, a_stopped_client_hears_nothing)
{
	struct client *client = world_client(ask.world);
	struct instant start = world_now(ask.world);
	ask_submit(&ask, "GET", WORLD_KUBE_URL NODE, NULL, false);
	world_pause(ask.world, client, 20000);
	cr_assert(world_paused(ask.world, client));
	cr_assert_eq(ask_wait(&ask, 1000).what, CLIENT_DUE);
	cr_assert_eq(instant_between_ms(start, world_now(ask.world)), 20000);
	struct client_event event = ask_wait(&ask, 1000);
	cr_assert_eq(event.what, CLIENT_FINISHED);
	cr_assert_eq(event.response->status, 200);
	cr_assert_not(world_paused(ask.world, client));
}

static uint64_t submit_by(struct client *client)
{
	struct http_request *request = ARENA_NEW(&ask.arena, struct http_request);
	*request = (struct http_request){.method = "GET", .url = WORLD_KUBE_URL NODE, .deadline_ms = 10000};
	request->max_response_bytes = 65536;
	http_add_header(&request->headers, &ask.arena, "Authorization", "Bearer token");
	return client->submit(client, &ask.arena, request, client);
}

Test(world_identity, two_clients_take_turns)
{
	struct client *one = world_client(ask.world);
	struct client *two = world_second_client(ask.world);
	struct client_event event;
	uint64_t of_one = submit_by(one);
	world_advance(ask.world, 1);
	uint64_t of_two = submit_by(two);
	unsigned told_one = 0;
	unsigned told_two = 0;
	for (int i = 0; i < 10; i++) {
		one->wait(one, instant_after(one->now(one), 1000), &event);
		told_one += event.what == CLIENT_FINISHED && event.call == of_one;
		cr_assert(event.what != CLIENT_FINISHED || event.call == of_one);
		two->wait(two, instant_after(two->now(two), 1000), &event);
		told_two += event.what == CLIENT_FINISHED && event.call == of_two;
		cr_assert(event.what != CLIENT_FINISHED || event.call == of_two);
	}
	cr_assert_eq(told_one, 1);
	cr_assert_eq(told_two, 1);
}

static void lead(struct client *client, const char *method, const char *path, const char *body)
{
	struct http_request *request = ARENA_NEW(&ask.arena, struct http_request);
	*request = (struct http_request){
		.method = method, .url = path, .deadline_ms = 10000, .body = body, .body_length = strlen(body)};
	request->max_response_bytes = 65536;
	http_add_header(&request->headers, &ask.arena, "Authorization", "Bearer token");
	client->submit(client, &ask.arena, request, client);
	world_advance(ask.world, 100);
}

Test(world_identity, two_that_lead_break_the_rule, .signal = SIGABRT)
{
	lead(world_client(ask.world), "POST", WORLD_KUBE_URL LEASES,
	     "{\"metadata\":{\"name\":\"zonevac\"},\"spec\":{\"holderIdentity\":\"one\"}}");
	lead(world_second_client(ask.world), "PUT", WORLD_KUBE_URL LEASES "/zonevac",
	     "{\"metadata\":{\"name\":\"zonevac\"},\"spec\":{\"holderIdentity\":\"two\"}}");
}
