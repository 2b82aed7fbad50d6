/* The region's registration and the table itself. */
#include <criterion/criterion.h>
#include <string.h>

#include "aws/protocol.h"
#include "base/text.h"
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

TestSuite(dynamodb_table, .init = start, .fini = end);

static struct region_item read_region(const char *zone_id)
{
	struct http_request request;
	struct http_response response;
	struct region_item region;
	struct error error = {0};

	dynamodb_ask_region(&world.arena, TABLE, &request);
	response = world_send(&world, &request);
	cr_assert(dynamodb_hear_region(&world.arena, &response, zone_id, &region, &error), "%s", error.message);
	return region;
}

/* True when it was written, false on a conflict. */
static bool hear(const struct http_request *request)
{
	struct http_response response = world_send(&world, request);
	struct error error = {0};
	bool written = aws_check(aws_service_find("dynamodb"), &response, &error);

	cr_assert(written || error.kind == ERROR_CONFLICT, "%s", error.message);
	return written;
}

static bool put_in(const char *zone_id, const char *owner, const struct region_item *as_read)
{
	struct http_request request;

	dynamodb_ask_register(&world.arena, TABLE, zone_id, owner, as_read, &request);
	return hear(&request);
}

static bool take_out(const char *zone_id, const char *owner, const struct region_item *as_read)
{
	struct http_request request;

	dynamodb_ask_unregister(&world.arena, TABLE, zone_id, owner, as_read, &request);
	return hear(&request);
}

static const struct json *attribute(const char *zone_id)
{
	return json_get(dynamo_item(world.dynamo, TABLE, "#region", "active"),
	                arena_printf(&world.arena, "zone:%s", zone_id));
}

Test(dynamodb_table, the_first_owner_makes_the_item)
{
	struct region_item region = read_region("z1");

	cr_assert_not(region.exists);
	cr_assert(put_in("z1", ME, &region));
	region = read_region("z1");
	cr_assert(region.exists);
	cr_assert_eq(region.revision, 1);
	cr_assert_eq(region.zones.count, (size_t)1);
	cr_assert_str_eq(region.owners.at[0], ME);
}

Test(dynamodb_table, another_zone_is_seen)
{
	struct region_item region = read_region("z1");

	cr_assert(put_in("z1", OTHER, &region));
	region = read_region("z2");
	cr_assert_eq(region.zones.count, (size_t)1);
	cr_assert_str_eq(region.zones.at[0], "z1");
	cr_assert_eq(region.owners.count, (size_t)0, "nobody holds the zone asked for");
}

Test(dynamodb_table, of_two_that_read_the_same_one_writes)
{
	struct region_item nothing = read_region("z1");
	struct region_item first;

	cr_assert(put_in("z1", ME, &nothing));
	cr_assert_not(put_in("z2", OTHER, &nothing), "two zones must not slip in together");
	first = read_region("z2");
	cr_assert(put_in("z1", OTHER, &first));
	cr_assert_not(put_in("z2", "third", &first));
	cr_assert_eq(read_region("z1").owners.count, (size_t)2);
	cr_assert_null(attribute("z2"));
}

Test(dynamodb_table, an_unregistering_counts_as_a_change)
{
	struct region_item region = read_region("z1");
	struct region_item read;

	cr_assert(put_in("z1", ME, &region));
	read = read_region("z1");
	cr_assert(take_out("z1", ME, &read));
	cr_assert_not(put_in("z1", OTHER, &read));
	cr_assert_not(take_out("z1", ME, &read));
}

Test(dynamodb_table, the_last_owner_takes_the_attribute_along)
{
	struct region_item region = read_region("z1");

	cr_assert(put_in("z1", ME, &region));
	region = read_region("z1");
	cr_assert(put_in("z1", OTHER, &region));
	region = read_region("z1");
	cr_assert(take_out("z1", ME, &region));
	cr_assert_eq(json_count(json_get(attribute("z1"), "SS")), (size_t)1);
	region = read_region("z1");
	cr_assert_eq(region.owners.count, (size_t)1);
	cr_assert(take_out("z1", OTHER, &region));
	cr_assert_null(attribute("z1"));
	region = read_region("z1");
	cr_assert(region.exists);
	cr_assert_eq(region.zones.count, (size_t)0);
	cr_assert_eq(region.revision, 4);
}

Test(dynamodb_table, the_last_owners_request_names_the_removal)
{
	struct region_item region = {.exists = true, .revision = 7};
	struct http_request request;

	region.owners = world_list(&world, ME);
	dynamodb_ask_unregister(&world.arena, TABLE, "z1", ME, &region, &request);
	cr_assert_not_null(strstr(request.body, "REMOVE #zone"), "not every back end drops a set with its last member");
	cr_assert_null(strstr(request.body, "DELETE"));
}

Test(dynamodb_table, who_is_not_in_takes_nobody_out)
{
	struct region_item region = read_region("z1");

	cr_assert(put_in("z1", OTHER, &region));
	region = read_region("z1");
	cr_assert(take_out("z1", ME, &region));
	cr_assert_eq(read_region("z1").owners.count, (size_t)1);
}

Test(dynamodb_table, a_person_unregisters_the_zone_for_all)
{
	struct region_item region = read_region("z1");

	cr_assert(put_in("z1", ME, &region));
	region = read_region("z1");
	cr_assert(put_in("z1", OTHER, &region));
	region = read_region("z1");
	cr_assert_eq(region.owners.count, (size_t)2);
	cr_assert(take_out("z1", NULL, &region));
	cr_assert_null(attribute("z1"));
}

Test(dynamodb_table, registering_twice_is_registering_once)
{
	struct region_item region = read_region("z1");

	cr_assert(put_in("z1", ME, &region));
	region = read_region("z1");
	cr_assert(put_in("z1", ME, &region));
	cr_assert_eq(read_region("z1").owners.count, (size_t)1);
}

Test(dynamodb_table, the_regions_item_is_no_record_of_a_zone)
{
	struct region_item region = read_region(ZONE);
	struct record record;

	cr_assert(put_in(ZONE, ME, &region));
	cr_assert_not(world_read(&world, &record));
}

Test(dynamodb_table, a_region_item_without_revision_is_refused)
{
	struct http_response response =
		world_answer(200, "{\"Item\":{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"}}}");
	struct region_item region;
	struct error error = {0};

	cr_assert_not(dynamodb_hear_region(&world.arena, &response, "z1", &region, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}

static bool describe(const char *table, struct dynamodb_table *out, struct error *error)
{
	struct http_request request;
	struct http_response response;

	dynamodb_ask_describe(&world.arena, table, &request);
	response = world_send(&world, &request);
	return dynamodb_hear_describe(&world.arena, &response, table, out, error);
}

static bool backups(const char *table, bool *on)
{
	struct http_request request;
	struct http_response response;
	struct error error = {0};

	dynamodb_ask_backups(&world.arena, table, &request);
	response = world_send(&world, &request);
	return dynamodb_hear_backups(&world.arena, &response, on, &error);
}

Test(dynamodb_table, a_new_table_is_ready_after_a_while)
{
	struct http_request request;
	struct error error = {0};
	struct dynamodb_table table;
	bool on = false;

	cr_assert_not(describe("another", &table, &error));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	dynamo_set_creating(world.dynamo, 1);
	dynamodb_ask_create(&world.arena, "another", &request);
	cr_assert_eq(world_send(&world, &request).status, 200);
	cr_assert_not_null(strstr(request.body, "\"DeletionProtectionEnabled\":true"));
	dynamodb_ask_switch_on_backups(&world.arena, "another", &request);
	cr_assert_eq(world_send(&world, &request).status, 400, "not while it is being made");
	cr_assert(describe("another", &table, &error));
	cr_assert_not(table.ready);
	cr_assert_str_eq(table.status, "CREATING");
	cr_assert(describe("another", &table, &error));
	cr_assert(table.ready && table.is_protected);
	cr_assert(backups("another", &on) && !on);
	cr_assert_eq(world_send(&world, &request).status, 200);
	cr_assert(backups("another", &on) && on);
	cr_assert_not(backups("none", &on));
}

static const char *described(const char *hash, const char *type, const char *index, const char *projection,
                             const char *status)
{
	return arena_printf(
		&world.arena,
		"{\"Table\":{\"TableStatus\":\"%s\",\"AttributeDefinitions\":[{\"AttributeName\":\"zoneId\",\"AttributeType\":\"%s\"}],"
		"\"KeySchema\":[{\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"resourceId\",\"KeyType\":\"RANGE\"}],"
		"\"GlobalSecondaryIndexes\":[{\"IndexName\":\"%s\",\"IndexStatus\":\"CREATING\",\"Projection\":{\"ProjectionType\":\"%s\"},"
		"\"KeySchema\":[{\"AttributeName\":\"resourceType\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"zoneId\",\"KeyType\":\"RANGE\"}]}]}}",
		status, type, hash, index, projection);
}

static enum error_kind judged(const char *body, struct dynamodb_table *out)
{
	struct http_response response = world_answer(200, body);
	struct error error = {0};

	if (!dynamodb_hear_describe(&world.arena, &response, TABLE, out, &error))
		cr_assert_not_null(strstr(error.message, TABLE), "%s", error.message);
	return error.kind;
}

/* Nobody waits for the index, which may be in the making for hours where there is one to be added. */
Test(dynamodb_table, a_table_that_is_not_ours_is_refused_in_words)
{
	struct dynamodb_table table;

	cr_assert_eq(judged(described("zoneId", "S", DYNAMODB_INDEX, "ALL", "ACTIVE"), &table), ERROR_NONE);
	cr_assert(table.ready && !table.is_protected);
	cr_assert_eq(judged(described("zoneId", "S", DYNAMODB_INDEX, "ALL", "UPDATING"), &table), ERROR_NONE);
	cr_assert(table.ready && !table.is_protected);
	cr_assert_eq(judged(described("zoneId", "S", DYNAMODB_INDEX, "ALL", "ARCHIVED"), &table), ERROR_NONE);
	cr_assert_not(table.ready);
	cr_assert_eq(judged(described("pk", "S", DYNAMODB_INDEX, "ALL", "ACTIVE"), &table), ERROR_INPUT);
	cr_assert_eq(judged(described("zoneId", "N", DYNAMODB_INDEX, "ALL", "ACTIVE"), &table), ERROR_INPUT);
	cr_assert_eq(judged(described("zoneId", "S", "byType", "ALL", "ACTIVE"), &table), ERROR_INPUT);
	cr_assert_eq(judged(described("zoneId", "S", DYNAMODB_INDEX, "KEYS_ONLY", "ACTIVE"), &table), ERROR_INPUT);
}
