/*
 * Records as DynamoDB items and back; and what a table's attribute values look like. Of this layer only.
 */
#ifndef JOURNAL_DYNAMODB_ITEM_H
#define JOURNAL_DYNAMODB_ITEM_H

#include "domain/record.h"

/* {"S": "…"}, {"N": "…"}, {"L": [{"S": …}]}, {"SS": […]}. */
struct json *dynamodb_string(struct arena *arena, const char *string);
struct json *dynamodb_integer(struct arena *arena, int64_t value);
struct json *dynamodb_list(struct arena *arena, const struct string_list *list);
struct json *dynamodb_set(struct arena *arena, const struct string_list *list);
/* A time that sorts as text: fixed width, UTC. */
struct json *dynamodb_time(struct arena *arena, struct wallclock at);

/* The strings of an L of S or of an SS; false for anything else. */
bool dynamodb_read_strings(const struct json *value, struct arena *arena, struct string_list *out);
/* A whole number; false for anything else. */
bool dynamodb_read_integer(const struct json *value, int64_t *out);

struct json *dynamodb_item_of_record(struct arena *arena, const struct record *record);

/* ERROR_MALFORMED: which attribute of which key is not as the table says. Borrows from `item`. */
bool dynamodb_record_of_item(struct arena *arena, const struct json *item, struct record *out, struct error *error);

#endif
