/* The lock of a resource, against a table that behaves like DynamoDB: who gets it over whom, and who may give it back. */
#include <criterion/criterion.h>

#include "aws/protocol.h"
#include "journal/dynamodb_lock.h"
#include "world.h"

static struct world world;

static void start(void)
{
	world_init(&world);
}

static void end(void)
{
	world_done(&world);
}

TestSuite(dynamodb_lock, .init = start, .fini = end);

static bool hear(const struct http_request *request)
{
	struct http_response response = world_send(&world, request);
	struct error error = {0};
	bool written = aws_check(aws_service_find("dynamodb"), &response, &error);

	cr_assert(written || error.kind == ERROR_CONFLICT, "%s", error.message);
	return written;
}

static struct resource_lock lock(const char *owner, const char *zone_id, const char *attempt)
{
	return (struct resource_lock){RESOURCE, owner, zone_id, attempt};
}

static bool take(struct resource_lock wanted, int64_t after_us)
{
	struct http_request request;

	dynamodb_ask_lock(&world.arena, TABLE, &wanted, (struct wallclock){NOW_US + after_us}, &request);
	return hear(&request);
}

static bool give_back(struct resource_lock held)
{
	struct http_request request;

	dynamodb_ask_unlock(&world.arena, TABLE, &held, &request);
	return hear(&request);
}

#define LIFE_US ((int64_t)(LOCK_WORK_MS + LOCK_LANDING_MS) * 1000)

Test(dynamodb_lock, who_may_take_it_over_another)
{
	static const struct {
		const char *owner, *zone_id, *attempt;
		int64_t after_us;
		bool got;
	} cases[] = {
		{ME, "use1-az1", MINE, 0, true},           /* by mistake twice */
		{ME, "use1-az1", THEIRS, MINUTE_US, true}, /* the next process of the same evacuation */
		{ME, "use1-az2", MINE, 0, false},          /* our own other zone */
		{OTHER, "use1-az1", MINE, 0, false},       /* another cluster that wants the same out */
		{OTHER, "use1-az2", THEIRS, 0, false},
		{OTHER, "use1-az2", THEIRS, LIFE_US - 1, false}, /* a late update may still land */
		{OTHER, "use1-az2", THEIRS, LIFE_US, false},     /* its last moment */
		{OTHER, "use1-az2", THEIRS, LIFE_US + 1, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		dynamo_delete(world.dynamo, TABLE, "#lock", RESOURCE);
		cr_assert(take(lock(ME, "use1-az1", MINE), 0), "none exists");
		cr_assert_eq(take(lock(cases[i].owner, cases[i].zone_id, cases[i].attempt), cases[i].after_us), cases[i].got,
		             "case %zu", i);
	}
}

Test(dynamodb_lock, only_the_attempt_that_has_it_gives_it_back)
{
	cr_assert(take(lock(ME, "use1-az1", MINE), 0));
	cr_assert_not(give_back(lock(ME, "use1-az1", THEIRS)));
	cr_assert(take(lock(ME, "use1-az1", THEIRS), MINUTE_US), "taken over");
	cr_assert_not(give_back(lock(ME, "use1-az1", MINE)), "a late word of the one before");
	cr_assert(give_back(lock(ME, "use1-az1", THEIRS)));
	cr_assert_not(give_back(lock(ME, "use1-az1", THEIRS)), "it is gone");
	cr_assert(take(lock(OTHER, "use1-az2", MINE), 0));
}

Test(dynamodb_lock, it_is_no_record)
{
	struct record record;

	cr_assert(take(lock(ME, ZONE, MINE), 0));
	cr_assert_not(world_read(&world, &record));
}

Test(dynamodb_lock, it_outlives_whatever_is_sent_under_it)
{
	/* AWS refuses a signature that is older than five minutes. */
	cr_assert_gt(LOCK_LANDING_MS, 5 * 60 * 1000);
}
