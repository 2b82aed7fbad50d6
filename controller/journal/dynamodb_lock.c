#include "journal/dynamodb_lock.h"

#include "aws/protocol.h"
#include "dynamodb_item.h"

static const char *const LOCK_PARTITION = "#lock";

static void set_key(struct json *object, struct arena *arena, const struct resource_lock *lock)
{
	json_set(object, "zoneId", dynamodb_string(arena, LOCK_PARTITION));
	json_set(object, "resourceId", dynamodb_string(arena, lock->resource_id));
}

static struct json *holder(struct arena *arena, const struct resource_lock *lock)
{
	return dynamodb_string(arena, arena_printf(arena, "%s %s", lock->owner, lock->zone_id));
}

void dynamodb_ask_lock(struct arena *arena, const char *table, const struct resource_lock *lock, struct wallclock now,
                       struct http_request *out)
{
	struct json *body = json_new_object(arena);
	struct json *item = json_set_object(body, "Item");
	struct json *names = json_set_object(body, "ExpressionAttributeNames");
	struct json *values = json_set_object(body, "ExpressionAttributeValues");

	json_set_string(body, "TableName", table);
	set_key(item, arena, lock);
	json_set(item, "holder", holder(arena, lock));
	json_set(item, "attempt", dynamodb_string(arena, lock->attempt));
	json_set(item, "until", dynamodb_time(arena, wallclock_after_ms(now, LOCK_WORK_MS + LOCK_LANDING_MS)));
	json_set_string(names, "#zoneId", "zoneId");
	json_set_string(names, "#holder", "holder");
	json_set_string(names, "#until", "until");
	json_set(values, ":holder", holder(arena, lock));
	json_set(values, ":now", dynamodb_time(arena, now));
	json_set_string(body, "ConditionExpression", "attribute_not_exists(#zoneId) OR #holder = :holder OR #until < :now");
	aws_json_request(arena, aws_service_find("dynamodb"), "PutItem", body, out);
}

void dynamodb_ask_unlock(struct arena *arena, const char *table, const struct resource_lock *lock,
                         struct http_request *out)
{
	struct json *body = json_new_object(arena);

	json_set_string(body, "TableName", table);
	set_key(json_set_object(body, "Key"), arena, lock);
	json_set_string(json_set_object(body, "ExpressionAttributeNames"), "#attempt", "attempt");
	json_set(json_set_object(body, "ExpressionAttributeValues"), ":attempt", dynamodb_string(arena, lock->attempt));
	json_set_string(body, "ConditionExpression", "#attempt = :attempt");
	aws_json_request(arena, aws_service_find("dynamodb"), "DeleteItem", body, out);
}
