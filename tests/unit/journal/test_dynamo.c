/* The double itself: it must refuse what DynamoDB refuses, or the other tests prove nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "world.h"

static struct world world;
static const char *answer;

static void start(void)
{
	world_init(&world);
}

static void end(void)
{
	world_done(&world);
}

TestSuite(dynamo, .init = start, .fini = end);

static int send(const char *operation, const char *body)
{
	return dynamo_handle(world.dynamo, operation, body, strlen(body), &world.arena, &answer);
}

#define KEY "\"Key\":{\"zoneId\":{\"S\":\"z\"},\"resourceId\":{\"S\":\"r\"}}"
#define AT "{\"TableName\":\"" TABLE "\","

static int update(const char *expression, const char *rest)
{
	return send("UpdateItem", arena_printf(&world.arena, AT KEY ",\"UpdateExpression\":\"%s\"%s}", expression, rest));
}

static int update_if(const char *condition, const char *rest)
{
	return send("UpdateItem", arena_printf(&world.arena, AT KEY ",\"ConditionExpression\":\"%s\"%s}", condition, rest));
}

static const char *item(void)
{
	const struct json *at = dynamo_item(world.dynamo, TABLE, "z", "r");

	return at == NULL ? "" : json_print(at, &world.arena);
}

static bool says(const char *words)
{
	return strstr(answer, words) != NULL;
}

#define VALUES(pairs) ",\"ExpressionAttributeValues\":{" pairs "}"
#define NAMES(pairs) ",\"ExpressionAttributeNames\":{" pairs "}"

Test(dynamo, an_update_without_condition_makes_a_ghost)
{
	cr_assert_eq(update("SET a = :a", VALUES("\":a\":{\"S\":\"x\"}")), 200);
	cr_assert_not_null(strstr(item(), "\"a\""));
	cr_assert_eq(dynamo_item_count(world.dynamo, TABLE), (size_t)1);
	cr_assert_not_null(dynamo_item_at(world.dynamo, TABLE, 0));
	cr_assert_null(dynamo_item_at(world.dynamo, TABLE, 1));
}

Test(dynamo, reserved_words_need_an_alias)
{
	cr_assert_eq(update("SET state = :a", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert(says("reserved keyword"));
	cr_assert_eq(update("SET #s = :a", NAMES("\"#s\":\"state\"") VALUES("\":a\":{\"S\":\"x\"}")), 200);
}

Test(dynamo, names_and_values_are_all_defined_and_all_used)
{
	cr_assert_eq(update("SET #b = :a", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert_eq(update("SET b = :b", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert_eq(update("SET b = :a", VALUES("\":a\":{\"S\":\"x\"},\":b\":{\"S\":\"x\"}")), 400);
	cr_assert(says("unused"));
	cr_assert_eq(update("SET b = :a", NAMES("\"#x\":\"x\"") VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert_eq(update("REMOVE b", VALUES("")), 400);
	cr_assert_str_eq(item(), "", "nothing was written");
}

Test(dynamo, sets_are_never_empty_nor_have_doubles)
{
	cr_assert_eq(update("SET a = :a", VALUES("\":a\":{\"SS\":[]}")), 400);
	cr_assert_eq(update("SET a = :a", VALUES("\":a\":{\"SS\":[\"x\",\"x\"]}")), 400);
	cr_assert_eq(update("ADD a :a", VALUES("\":a\":{\"SS\":[\"x\"]}")), 200);
	cr_assert_eq(update("ADD a :a", VALUES("\":a\":{\"SS\":[\"x\",\"y\"]}")), 200);
	cr_assert_not_null(strstr(item(), "{\"SS\":[\"x\",\"y\"]}"));
	cr_assert_eq(update("DELETE a :a", VALUES("\":a\":{\"SS\":[\"x\",\"y\"]}")), 200);
	cr_assert_null(strstr(item(), "\"a\""), "a set that lost its last member is gone");
}

Test(dynamo, updates_see_the_item_as_it_was)
{
	cr_assert_eq(update("SET a = :a, b = :b", VALUES("\":a\":{\"N\":\"1\"},\":b\":{\"N\":\"5\"}")), 200);
	cr_assert_eq(update("SET a = b, b = a + :c ADD n :c", VALUES("\":c\":{\"N\":\"2\"}")), 200);
	cr_assert_not_null(strstr(item(), "\"a\":{\"N\":\"5\"}"));
	cr_assert_not_null(strstr(item(), "\"b\":{\"N\":\"3\"}"));
	cr_assert_not_null(strstr(item(), "\"n\":{\"N\":\"2\"}"));
	cr_assert_eq(
		update("SET a = if_not_exists(a, :c) - :c, d = if_not_exists(d, :c) REMOVE b", VALUES("\":c\":{\"N\":\"2\"}")),
		200);
	cr_assert_not_null(strstr(item(), "\"a\":{\"N\":\"3\"}"));
	cr_assert_not_null(strstr(item(), "\"d\":{\"N\":\"2\"}"));
	cr_assert_null(strstr(item(), "\"b\""));
}

Test(dynamo, what_updates_must_not)
{
	cr_assert_eq(update("SET zoneId = :a", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert(says("part of the key"));
	cr_assert_eq(update("SET a = :a, a = :a", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert(says("overlap"));
	cr_assert_eq(update("SET a = :a SET b = :a", VALUES("\":a\":{\"S\":\"x\"}")), 400);
	cr_assert_eq(update("SET a = nowhere", ""), 400);
	cr_assert_eq(update("SET a = nowhere + :a", VALUES("\":a\":{\"N\":\"1\"}")), 400);
	cr_assert_eq(update("SET a = :a + :a", VALUES("\":a\":{\"S\":\"1\"}")), 400);
	cr_assert_eq(update("ADD a :a", VALUES("\":a\":{\"S\":\"1\"}")), 400);
	cr_assert_eq(update("SET a :a", VALUES("\":a\":{\"S\":\"1\"}")), 400);
	cr_assert_eq(update("SET resourceType = :a", VALUES("\":a\":{\"N\":\"1\"}")), 400);
	cr_assert(says("Index Key"));
	cr_assert_str_eq(item(), "");
}

/* Of an item {n: 5, s: "abc", set: {x, y}, list: ["a"]}: 200 or ConditionalCheckFailedException. */
static bool holds(const char *condition, const char *values)
{
	int status = update_if(condition, values);

	cr_assert(status == 200 || says("ConditionalCheckFailedException"), "%s: %s", condition, answer);
	return status == 200;
}

static void prepare(void)
{
	cr_assert_eq(
		update(
			"SET n = :n, s = :s, members = :set, l = :l",
			VALUES(
				"\":n\":{\"N\":\"5\"},\":s\":{\"S\":\"abc\"},\":set\":{\"SS\":[\"x\",\"y\"]},\":l\":{\"L\":[{\"S\":\"a\"}]}")),
		200);
}

Test(dynamo, conditions_compare)
{
	prepare();
	cr_assert(holds("n = :v", VALUES("\":v\":{\"N\":\"5.0\"}")));
	cr_assert_not(holds("n = :v", VALUES("\":v\":{\"S\":\"5\"}")), "types are told apart");
	cr_assert(holds("n <> :v", VALUES("\":v\":{\"S\":\"5\"}")));
	cr_assert(holds("n > :v", VALUES("\":v\":{\"N\":\"4\"}")));
	cr_assert_not(holds("n > :v", VALUES("\":v\":{\"N\":\"10\"}")), "numbers are no strings");
	cr_assert(holds("n <= :v AND n >= :v", VALUES("\":v\":{\"N\":\"5\"}")));
	cr_assert(holds("s < :v", VALUES("\":v\":{\"S\":\"abd\"}")));
	cr_assert(holds("members = :v", VALUES("\":v\":{\"SS\":[\"y\",\"x\"]}")), "sets have no order");
	cr_assert_not(holds("members = :v", VALUES("\":v\":{\"SS\":[\"x\"]}")));
	cr_assert(holds("l = :v", VALUES("\":v\":{\"L\":[{\"S\":\"a\"}]}")));
	cr_assert_not(holds("absent = :v", VALUES("\":v\":{\"N\":\"1\"}")));
	cr_assert_not(holds("absent < :v", VALUES("\":v\":{\"N\":\"1\"}")));
	cr_assert(holds("n BETWEEN :v AND :w", VALUES("\":v\":{\"N\":\"1\"},\":w\":{\"N\":\"5\"}")));
	cr_assert(holds("n IN (:v, :w)", VALUES("\":v\":{\"N\":\"1\"},\":w\":{\"N\":\"5\"}")));
}

Test(dynamo, conditions_call_functions)
{
	prepare();
	cr_assert(holds("attribute_exists(n) AND attribute_not_exists(absent)", ""));
	cr_assert_not(holds("attribute_not_exists(n)", ""));
	cr_assert(holds("contains(members, :v)", VALUES("\":v\":{\"S\":\"x\"}")));
	cr_assert_not(holds("contains(members, :v)", VALUES("\":v\":{\"S\":\"xy\"}")));
	cr_assert(holds("contains(l, :v)", VALUES("\":v\":{\"S\":\"a\"}")));
	cr_assert(holds("contains(s, :v)", VALUES("\":v\":{\"S\":\"bc\"}")));
	cr_assert_not(holds("contains(absent, :v)", VALUES("\":v\":{\"S\":\"bc\"}")));
	cr_assert(holds("size(members) = :v", VALUES("\":v\":{\"N\":\"2\"}")));
	cr_assert_not(holds("size(absent) > :v", VALUES("\":v\":{\"N\":\"-5\"}")));
	cr_assert(holds("begins_with(s, :v)", VALUES("\":v\":{\"S\":\"ab\"}")));
	cr_assert(holds("attribute_type(s, :v)", VALUES("\":v\":{\"S\":\"S\"}")));
}

Test(dynamo, and_binds_more_than_or)
{
	prepare();
	cr_assert(holds("attribute_exists(n) OR attribute_exists(n) AND attribute_exists(absent)", ""));
	cr_assert_not(holds("(attribute_exists(n) OR attribute_exists(n)) AND attribute_exists(absent)", ""));
	cr_assert_not(holds("NOT attribute_exists(n) OR attribute_exists(absent)", ""));
	cr_assert(holds("NOT (attribute_exists(n) AND attribute_exists(absent))", ""));
	cr_assert(holds("not attribute_exists(absent)", ""));
}

Test(dynamo, conditions_that_cannot_be_read)
{
	static const char *const wrong[] = {"",
	                                    "n =",
	                                    "n",
	                                    "(attribute_exists(n)",
	                                    "attribute_exists(n))",
	                                    "attribute_exists(n) n",
	                                    "contains(n)",
	                                    "n = = n",
	                                    "a.b = n",
	                                    "n ! n"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(update_if(wrong[i], ""), 400);
		cr_assert(says("ValidationException"), "%s: %s", wrong[i], answer);
	}
}

Test(dynamo, refused_writes_carry_the_old_item_if_asked)
{
	static const char ask[] = ",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"";

	prepare();
	cr_assert_eq(update_if("attribute_exists(absent)", ""), 400);
	cr_assert_not(says("\"Item\""));
	cr_assert_eq(update_if("attribute_exists(absent)", ask), 400);
	cr_assert(says("\"Item\":{"));
	dynamo_set_items_on_refusal(world.dynamo, false);
	cr_assert_eq(update_if("attribute_exists(absent)", ask), 400);
	cr_assert_not(says("\"Item\""));
}

Test(dynamo, put_get_delete)
{
	cr_assert_eq(
		send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"z\"},\"resourceId\":{\"S\":\"r\"},\"a\":{\"BOOL\":true}}}"),
		200);
	cr_assert_eq(send("GetItem", AT KEY ",\"ConsistentRead\":true}"), 200);
	cr_assert(says("\"BOOL\":true"));
	cr_assert_eq(send("DeleteItem", AT KEY ",\"ConditionExpression\":\"attribute_not_exists(a)\"}"), 400);
	cr_assert_eq(send("DeleteItem", AT KEY ",\"ReturnValues\":\"ALL_OLD\"}"), 200);
	cr_assert(says("\"Attributes\":{"));
	cr_assert_eq(send("DeleteItem", AT KEY "}"), 200, "deleting what is not there succeeds");
	cr_assert_eq(send("GetItem", AT KEY "}"), 200);
	cr_assert_str_eq(answer, "{}");
}

Test(dynamo, keys_and_values_are_checked)
{
	cr_assert_eq(send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"z\"}}}"), 400);
	cr_assert_eq(send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"\"},\"resourceId\":{\"S\":\"r\"}}}"), 400);
	cr_assert_eq(
		send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"z\"},\"resourceId\":{\"S\":\"r\"},\"n\":{\"N\":1}}}"), 400);
	cr_assert_eq(
		send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"z\"},\"resourceId\":{\"S\":\"r\"},\"n\":{\"X\":\"\"}}}"),
		400);
	cr_assert_eq(send("GetItem", AT "\"Key\":{\"zoneId\":{\"S\":\"z\"}}}"), 400);
	cr_assert_eq(send("GetItem", AT KEY ",\"ConsistentReads\":true}"), 400, "a misspelt member");
	cr_assert_eq(send("PutItem", AT KEY ",\"ReturnValues\":\"ALL_NEW\"}"), 400);
	cr_assert_eq(send("GetItem", "{\"TableName\":\"other\"," KEY "}"), 400);
	cr_assert(says("ResourceNotFoundException"));
	cr_assert_eq(send("Scan", AT "\"Limit\":1}"), 400);
	cr_assert_eq(send("GetItem", "[]"), 400);
}

static void fill(void)
{
	static const char *const keys[][3] = {{"z1", "r1", "A"}, {"z1", "r2", "B"}, {"z2", "r1", "A"}, {"z0", "r9", "A"}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		cr_assert_eq(
			send(
				"PutItem",
				arena_printf(
					&world.arena,
					AT
					"\"Item\":{\"zoneId\":{\"S\":\"%s\"},\"resourceId\":{\"S\":\"%s\"},\"resourceType\":{\"S\":\"%s\"}}}",
					keys[i][0], keys[i][1], keys[i][2])),
			200);
	cr_assert_eq(send("PutItem", AT "\"Item\":{\"zoneId\":{\"S\":\"z1\"},\"resourceId\":{\"S\":\"r3\"}}}"), 200);
}

#define BY_TYPE                                                                                            \
	"\"IndexName\":\"resourceType-zoneId-index\",\"KeyConditionExpression\":\"resourceType = :t\"" VALUES( \
		"\":t\":{\"S\":\"A\"}")
#define BY_ZONE "\"KeyConditionExpression\":\"zoneId = :z\"" VALUES("\":z\":{\"S\":\"z1\"}")

Test(dynamo, queries_of_table_and_index)
{
	fill();
	cr_assert_eq(send("Query", AT BY_ZONE ",\"ConsistentRead\":true}"), 200);
	cr_assert(says("\"Count\":3"));
	cr_assert_eq(send("Query", AT BY_TYPE "}"), 200);
	cr_assert(says("\"Count\":3"), "an item without the index's keys is not in it");
	cr_assert_lt(strstr(answer, "\"z0\""), strstr(answer, "\"z2\""), "sorted by the range key");
	cr_assert_eq(send("Query", AT BY_TYPE ",\"ConsistentRead\":true}"), 400);
	cr_assert_eq(send("Query", AT "\"KeyConditionExpression\":\"resourceId = :z\"" VALUES("\":z\":{\"S\":\"r1\"}") "}"),
	             400);
	cr_assert_eq(send("Query", AT
	                  "\"KeyConditionExpression\":\"zoneId = :z OR zoneId = :z\"" VALUES("\":z\":{\"S\":\"r1\"}") "}"),
	             400);
	cr_assert_eq(send("Query", AT "\"KeyConditionExpression\":\"zoneId = :z AND resourceId > :r\"" VALUES(
								   "\":z\":{\"S\":\"z1\"},\":r\":{\"S\":\"r1\"}") "}"),
	             200);
	cr_assert(says("\"Count\":2"));
	cr_assert_eq(
		send("Query", AT "\"KeyConditionExpression\":\"zoneId = :z\",\"FilterExpression\":\"resourceType = :t\"" VALUES(
						  "\":z\":{\"S\":\"z1\"},\":t\":{\"S\":\"B\"}") "}"),
		200);
	cr_assert(says("\"Count\":1"));
	cr_assert(says("\"ScannedCount\":3"));
}

Test(dynamo, pages_of_the_index_go_on_from_an_opaque_key)
{
	struct error error = {0};
	const struct json *next;

	fill();
	dynamo_set_page(world.dynamo, 2);
	cr_assert_eq(send("Query", AT BY_TYPE "}"), 200);
	next = json_get(json_parse(&world.arena, answer, strlen(answer), &error), "LastEvaluatedKey");
	cr_assert_eq(json_count(next), (size_t)3, "table and index keys");
	cr_assert_eq(send("Query", arena_printf(&world.arena, AT BY_TYPE ",\"ExclusiveStartKey\":%s}",
	                                        json_print(next, &world.arena))),
	             200);
	cr_assert(says("\"Count\":1"));
	cr_assert(says("\"z2\""));
	cr_assert_not(says("LastEvaluatedKey"));
	cr_assert_eq(send("Query", AT BY_TYPE ",\"ExclusiveStartKey\":{\"zoneId\":{\"S\":\"z1\"}}}"), 400);
}

Test(dynamo, tables)
{
	cr_assert_eq(send("CreateTable", AT "\"BillingMode\":\"PAY_PER_REQUEST\"}"), 400);
	cr_assert(says("ResourceInUseException"));
	cr_assert_eq(send("CreateTable",
	                  "{\"TableName\":\"t\",\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],"
	                  "\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}]}"),
	             400);
	cr_assert_eq(
		send(
			"CreateTable",
			"{\"TableName\":\"t\",\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],"
			"\"AttributeDefinitions\":[{\"AttributeName\":\"b\",\"AttributeType\":\"S\"}]}"),
		400);
	dynamo_set_creating(world.dynamo, 1);
	cr_assert_eq(
		send(
			"CreateTable",
			"{\"TableName\":\"t\",\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":[{\"AttributeName\":\"a\",\"KeyType\":\"HASH\"}],"
			"\"AttributeDefinitions\":[{\"AttributeName\":\"a\",\"AttributeType\":\"S\"}]}"),
		200);
	cr_assert_eq(send("GetItem", "{\"TableName\":\"t\",\"Key\":{\"a\":{\"S\":\"x\"}}}"), 400,
	             "not before it is ACTIVE");
	cr_assert_eq(send("DescribeTable", "{\"TableName\":\"t\"}"), 200);
	cr_assert(says("CREATING"));
	cr_assert_eq(send("DescribeTable", "{\"TableName\":\"t\"}"), 200);
	cr_assert(says("ACTIVE"));
	cr_assert_eq(send("GetItem", "{\"TableName\":\"t\",\"Key\":{\"a\":{\"S\":\"x\"}}}"), 200);
}

Test(dynamo, direct_looks_and_puts)
{
	struct json *put = json_new_object(&world.arena);
	struct error error = {0};

	json_set(put, "zoneId", json_parse(&world.arena, "{\"S\":\"z\"}", 9, &error));
	json_set(put, "resourceId", json_parse(&world.arena, "{\"S\":\"r\"}", 9, &error));
	dynamo_put(world.dynamo, TABLE, put);
	dynamo_put(world.dynamo, TABLE, put);
	cr_assert_eq(dynamo_item_count(world.dynamo, TABLE), (size_t)1);
	dynamo_delete(world.dynamo, TABLE, "z", "r");
	dynamo_delete(world.dynamo, TABLE, "z", "r");
	cr_assert_null(dynamo_item(world.dynamo, TABLE, "z", "r"));
	cr_assert_eq(dynamo_item_count(world.dynamo, "none"), (size_t)0);
	dynamo_free(NULL);
}
