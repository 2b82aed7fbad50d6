#include "ecs.h"

TestSuite(ecs_settling, .init = set_up, .fini = tear_down);

/* Rollbacks. */

#define WITH "\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-0a1\",\"subnet-0b1\"]}}"
#define WITHOUT "\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-0b1\"]}}"
#define BREAKER "ECS deployment circuit breaker: "
#define PRIMARY(reason, network)                                             \
	"{\"id\":\"p\",\"status\":\"PRIMARY\",\"rolloutState\":\"IN_PROGRESS\"," \
	"\"rolloutStateReason\":\"" reason "\"," network "}"
#define OTHER(state, network)                                              \
	",{\"id\":\"o\",\"status\":\"ACTIVE\",\"rolloutState\":\"" state "\"," \
	"\"rolloutStateReason\":\"of o\"," network "}"

static const char *rolled_back(const char *deployments)
{
	const char *other = arena_printf(&arena, "{\"deployments\":[%s]}", deployments);
	struct decision decision = plan_of(web_with(other));

	cr_assert_eq(decision.verdict, VERDICT_CHANGE, "a rollback refuses nothing");
	return decision.rolled_back;
}

Test(ecs_settling, a_failed_deployment_without_the_subnets_tells_a_rollback)
{
	struct http_response response = data_response(&arena, 200, "aws/ecs_rolled_back.json");
	struct decision decision = plan_of(learn_one(response, "rolled-back"));

	cr_assert_eq(decision.verdict, VERDICT_CHANGE);
	cr_assert_not_null(decision.rolled_back);
	cr_assert_str_eq(decision.rolled_back,
	                 "its deployment ecs-svc/2, without them, was not kept: " BREAKER "tasks failed to start.");
}

Test(ecs_settling, a_rollback_is_told_while_it_runs_and_when_only_the_primary_speaks_of_it)
{
	const char *running =
		rolled_back(PRIMARY(BREAKER "rolling back to deploymentId 1.", WITH) OTHER("IN_PROGRESS", WITHOUT));
	const char *alone = rolled_back(PRIMARY("Rolled Back by an alarm", WITH));
	const char *silent =
		rolled_back(PRIMARY("in progress", WITH) ",{\"id\":\"o\",\"rolloutState\":\"FAILED\"," WITHOUT "}");

	cr_assert_str_eq(running,
	                 "its deployment o, without them, was not kept: " BREAKER "rolling back to deploymentId 1.");
	cr_assert_str_eq(alone, "ECS rolled its last deployment back: Rolled Back by an alarm");
	cr_assert_str_eq(silent, "its deployment o, without them, was not kept: in progress");
}

Test(ecs_settling, what_failed_with_the_subnets_was_none_of_ours)
{
	const char *rolling = PRIMARY(BREAKER "rolling back to deploymentId 1.", WITH) OTHER("FAILED", WITH);

	cr_expect_null(rolled_back(rolling));
	cr_expect_null(rolled_back(PRIMARY("in progress", WITH) OTHER("FAILED", WITH)));
	cr_expect_null(rolled_back(PRIMARY("in progress", WITH) OTHER("COMPLETED", WITHOUT)),
	               "somebody put it back: a rival, but no rollback");
	cr_expect_null(rolled_back(PRIMARY("in progress", WITH) ",{\"rolloutState\":\"FAILED\"}"),
	               "a deployment without a network tells nothing");
	cr_expect_null(rolled_back(""));
}

/* Settling. */

#define OUT_NETWORK "\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-0b1\",\"subnet-0c1\"]}}"

static enum settling settles(const char *members, enum direction direction, const char *removed, const char **why)
{
	struct change change = change_of(removed, removed);
	const struct resource *resource =
		web_with(arena_printf(&arena, "{%s%s%s}", OUT_NETWORK, members[0] != '\0' ? "," : "", members));

	*why = "untouched";
	return service->settled(&scope, &change, resource, direction, &arena, why);
}

static void is_done(const char *members)
{
	const char *why;

	cr_expect_eq(settles(members, DIRECTION_OUT, "subnet-0a1", &why), SETTLING_DONE, "%s: %s", members, why);
	cr_expect_null(why);
}

static void is_pending(const char *members, const char *sentence)
{
	const char *why;

	cr_expect_eq(settles(members, DIRECTION_OUT, "subnet-0a1", &why), SETTLING_PENDING, "%s", members);
	cr_assert_not_null(why, "%s", members);
	cr_expect_str_eq(why, sentence);
}

#define ONE(state, running, failed)                                                \
	"{\"id\":\"ecs-svc/1\",\"status\":\"PRIMARY\",\"rolloutState\":\"" state "\"," \
	"\"desiredCount\":4,\"runningCount\":" running ",\"failedTasks\":" failed ",\"createdAt\":1751879000.5}"

Test(ecs_settling, out_is_settled_when_the_only_deployment_runs_all_that_is_desired)
{
	is_done("");
	is_done("\"deployments\":[]");
	is_done("\"deployments\":null");
	is_done("\"deployments\":[{\"id\":\"ecs-svc/1\",\"status\":\"PRIMARY\"}]");
	is_done("\"deployments\":[" ONE("COMPLETED", "4", "3") "]");
	is_done("\"deployments\":[" ONE("COMPLETED", "4", "0") ",{\"status\":\"INACTIVE\"}]");
	is_done("\"desiredCount\":0,\"runningCount\":0");
	is_done("\"schedulingStrategy\":\"DAEMON\",\"desiredCount\":2,\"runningCount\":2");
}

Test(ecs_settling, out_is_pending_with_a_sentence)
{
	is_pending("\"runningCount\":2,\"deployments\":[" ONE("IN_PROGRESS", "2", "1") "]",
	           "2 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS, 1 failed");
	is_pending("\"deployments\":[" ONE("IN_PROGRESS", "4", "0") "]",
	           "4 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS");
	is_pending("\"pendingCount\":1,\"deployments\":[]", "4 of 4 tasks run; 1 pending");
	is_pending("\"pendingCount\":3,\"runningCount\":1,\"deployments\":[]", "1 of 4 tasks run; 3 pending");
	is_pending("\"deployments\":[" ONE("IN_PROGRESS", "1", "0") ",{\"status\":\"ACTIVE\",\"runningCount\":3}]",
	           "1 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS; 3 of older deployments still run");
	is_pending("\"deployments\":[" ONE("COMPLETED", "4", "0") ",{\"status\":\"DRAINING\",\"runningCount\":0}]",
	           "4 of 4 tasks run; its deployment ecs-svc/1 is COMPLETED; an older deployment is not gone yet");
	is_pending("\"deployments\":null,\"runningCount\":5", "5 of 4 tasks run");
}

Test(ecs_settling, what_ecs_says_of_tasks_it_cannot_start_is_told_only_of_this_deployment)
{
	is_pending("\"runningCount\":0,\"deployments\":[" ONE(
				   "IN_PROGRESS", "0",
				   "0") "],\"events\":["
	                    "{\"createdAt\":1751879003,\"message\":\"(service web) has started 1 tasks\"},"
	                    "{\"createdAt\":1751879002,\"message\":\"(service web) was unable to place a task\"},"
	                    "{\"createdAt\":1751879001,\"message\":\"(service web) was unable to do another thing\"}]",
	           "0 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS; "
	           "ECS says: (service web) was unable to place a task");
	is_pending("\"runningCount\":0,\"deployments\":[" ONE(
				   "IN_PROGRESS", "0",
				   "0") "],\"events\":["
	                    "{\"createdAt\":1751879000,\"message\":\"(service web) was unable to place a task\"}]",
	           "0 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS");
}

Test(ecs_settling, a_failed_deployment_is_a_failure_with_its_reason)
{
	const char *why;

	cr_expect_eq(settles("\"deployments\":[{\"id\":\"ecs-svc/1\",\"status\":\"PRIMARY\",\"rolloutState\":\"FAILED\","
	                     "\"rolloutStateReason\":\"tasks failed to start.\"}]",
	                     DIRECTION_OUT, "subnet-0a1", &why),
	             SETTLING_FAILED);
	cr_expect_str_eq(why, "its deployment ecs-svc/1 failed: tasks failed to start.");
	cr_expect_eq(settles("\"deployments\":[" ONE("FAILED", "0", "9") "]", DIRECTION_OUT, "subnet-0a1", &why),
	             SETTLING_FAILED);
	cr_expect_str_eq(why, "its deployment ecs-svc/1 failed: ECS does not say why");
}

Test(ecs_settling, out_is_not_settled_while_the_configuration_has_it)
{
	const char *why;

	cr_assert_eq(settles("", DIRECTION_OUT, "subnet-0a1,subnet-0b1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "its configuration still has subnet-0b1");
}

/* As long as it may be rolled back, the record is still needed. */
Test(ecs_settling, back_is_settled_once_its_deployment_cannot_be_rolled_back)
{
	const char *why;

	cr_assert_eq(settles("\"deployments\":[" ONE("IN_PROGRESS", "0", "0") "]", DIRECTION_BACK,
	                     "subnet-0b1,subnet-0deleted", &why),
	             SETTLING_PENDING);
	cr_assert_not_null(why);
	cr_assert_eq(
		settles("\"deployments\":[" ONE("COMPLETED", "0", "0") "]", DIRECTION_BACK, "subnet-0b1,subnet-0deleted", &why),
		SETTLING_DONE);
	cr_assert_null(why);
	cr_assert_eq(
		settles("\"deployments\":[" ONE("FAILED", "0", "9") "]", DIRECTION_BACK, "subnet-0b1,subnet-0deleted", &why),
		SETTLING_DONE);
	cr_assert_eq(settles("", DIRECTION_BACK, "subnet-0a1,subnet-0b1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "its configuration does not have subnet-0a1 yet");
}

Test(ecs_settling, back_without_a_state_is_settled_once_no_older_deployment_is_left)
{
	static const char primary[] = "{\"id\":\"p\",\"status\":\"PRIMARY\",\"desiredCount\":4,\"runningCount\":1}";
	const char *two = arena_printf(&arena, "\"deployments\":[%s,{\"status\":\"ACTIVE\",\"runningCount\":3}]", primary);
	const char *one = arena_printf(&arena, "\"deployments\":[%s,{\"status\":\"INACTIVE\"}]", primary);
	const char *done = "\"deployments\":[" ONE("COMPLETED", "4", "0") ",{\"status\":\"ACTIVE\",\"runningCount\":1}]";
	const char *why;

	cr_assert_eq(settles(two, DIRECTION_BACK, "subnet-0b1", &why), SETTLING_PENDING);
	cr_assert_str_eq(why, "1 of 4 tasks run; 3 of older deployments still run");
	cr_assert_eq(settles(one, DIRECTION_BACK, "subnet-0b1", &why), SETTLING_DONE);
	cr_assert_null(why);
	cr_assert_eq(settles("\"deployments\":null", DIRECTION_BACK, "subnet-0b1", &why), SETTLING_DONE);
	cr_assert_eq(settles(done, DIRECTION_BACK, "subnet-0b1", &why), SETTLING_DONE, "its state says more");
}

#define DAEMON "\"schedulingStrategy\":\"DAEMON\",\"desiredCount\":4,"

Test(ecs_settling, a_daemon_service_tells_why_tasks_are_missing)
{
	static const char stuck[] = DAEMON "\"runningCount\":3,\"deployments\":[" ONE("IN_PROGRESS", "3", "0") "]";
	static const char full[] = DAEMON "\"runningCount\":4,\"deployments\":[" ONE("IN_PROGRESS", "4", "0") "]";
	const char *why;

	is_pending(stuck,
	           "3 of 4 tasks run; it is a DAEMON service: tasks on container instances in the zone cannot be "
	           "placed without a subnet there, until these instances leave the service's cluster; its deployment "
	           "ecs-svc/1 is IN_PROGRESS");
	is_pending(full, "4 of 4 tasks run; its deployment ecs-svc/1 is IN_PROGRESS");
	cr_assert_eq(settles(stuck, DIRECTION_BACK, "subnet-0b1", &why), SETTLING_PENDING);
	cr_assert_null(strstr(why, "DAEMON"), "the zone has its subnet again: %s", why);
}
