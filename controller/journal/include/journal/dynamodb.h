/*
 * The journal in DynamoDB: each call as a request, each answer as a domain value. Pure; service "dynamodb", awsJson 1.0.
 *
 * Errors of all `hear`: as aws_check, but for the conditional refusals, which are outcomes. ERROR_ABSENT (code ResourceNotFoundException) means that
 * the table is missing. ERROR_MALFORMED for an item that is not a record (says which attribute of which key).
 */
#ifndef JOURNAL_DYNAMODB_H
#define JOURNAL_DYNAMODB_H

#include "journal/journal.h"
#include "net/http.h"

#define DYNAMODB_INDEX "resourceType-zoneId-index"

/* One conditional write (PutItem, UpdateItem or DeleteItem; ReturnValues and ReturnValuesOnConditionCheckFailure ALL_*). */
void dynamodb_ask_call(struct arena *arena, const char *table, const struct journal_call *call,
                       struct http_request *out);

/*
 * 200, or the refusal judged from the old item it carries. When a back end refuses without the item (`*needs_read` set, result true, outcome not
 * filled) ask dynamodb_ask_read and give the answer to dynamodb_hear_read. There is no item either when no record exists, so a CLOSE of none takes the
 * read as well.
 */
bool dynamodb_hear_call(struct arena *arena, const struct journal_call *call, const struct http_response *response,
                        struct journal_outcome *out, bool *needs_read, struct error *error);
void dynamodb_ask_read(struct arena *arena, const char *table, const struct journal_call *call,
                       struct http_request *out);
bool dynamodb_hear_read(struct arena *arena, const struct journal_call *call, const struct http_response *response,
                        struct journal_outcome *out, struct error *error);

/*
 * All records of a zone: Query of the base table, consistent; `start` NULL, or *next of the page before. Appends. An item that is no record
 * becomes one with `unreadable` set.
 */
void dynamodb_ask_zone(struct arena *arena, const char *table, const char *zone_id, const struct json *start,
                       struct http_request *out);
bool dynamodb_hear_records(struct arena *arena, const struct http_response *response, struct records *out,
                           const struct json **next, struct error *error);

/*
 * Register `owner` for `zone_id` in the region's item: UpdateItem that adds the owner to this zone's set, only if no other zone's attribute exists.
 * The other zones are not known beforehand, so: read (consistent), refuse when another zone is there, else UpdateItem conditional on the item being
 * as read (each zone's attribute absent but ours: the condition names `revision` N, which every register and unregister raises by one).
 */
struct region_item {
	bool exists;
	int64_t revision;
	struct string_list zones;  /* that hold a non-empty set */
	struct string_list owners; /* of the zone asked for */
};
void dynamodb_ask_region(struct arena *arena, const char *table, struct http_request *out);
bool dynamodb_hear_region(struct arena *arena, const struct http_response *response, const char *zone_id,
                          struct region_item *out, struct error *error);
void dynamodb_ask_register(struct arena *arena, const char *table, const char *zone_id, const char *owner,
                           const struct region_item *as_read, struct http_request *out);
/*
 * Both are refused with ERROR_CONFLICT (by aws_check) when somebody else wrote in between: read again. `owner` NULL: for all owners. Unregistering one
 * who is not in it, or in no item, raises the revision all the same, so that no registration built on an older one can land. The last owner takes the
 * zone's attribute along: a set is never empty.
 */
void dynamodb_ask_unregister(struct arena *arena, const char *table, const char *zone_id, const char *owner,
                             const struct region_item *as_read, struct http_request *out);

/*
 * The table itself, by DescribeTable; ERROR_INPUT when its keys or index are not ours. The index may be in the making: nobody here waits for it.
 */
struct dynamodb_table {
	const char *status; /* AWS's word, borrowed from the answer; "" = none */
	bool ready;         /* ACTIVE, or UPDATING, when it stays usable */
	bool is_protected;  /* against deletion */
};
void dynamodb_ask_describe(struct arena *arena, const char *table, struct http_request *out);
bool dynamodb_hear_describe(struct arena *arena, const struct http_response *response, const char *table,
                            struct dynamodb_table *out, struct error *error);
/* CreateTable (on demand, deletion protection). */
void dynamodb_ask_create(struct arena *arena, const char *table, struct http_request *out);
/* Point-in-time recovery of a table that is ACTIVE: DescribeContinuousBackups (*on), UpdateContinuousBackups (switches it on). */
void dynamodb_ask_backups(struct arena *arena, const char *table, struct http_request *out);
bool dynamodb_hear_backups(struct arena *arena, const struct http_response *response, bool *on, struct error *error);
void dynamodb_ask_switch_on_backups(struct arena *arena, const char *table, struct http_request *out);

#endif
