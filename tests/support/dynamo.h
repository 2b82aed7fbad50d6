/*
 * A DynamoDB in memory for tests: the awsJson 1.0 operations that the journal uses, with condition and update
 * expressions evaluated for real, so that what is sent is what is tested.
 *
 * Operations: CreateTable, DescribeTable, DescribeContinuousBackups, UpdateContinuousBackups, PutItem, UpdateItem, DeleteItem, GetItem, Query (base
 * table and index). Enforces: key schema, empty sets refused, unused or missing expression names and values refused,
 * reserved words need a #alias, members it does not know refused, UpdateItem upserts, ConsistentRead refused on an index,
 * pages of `page_items`; reads that do not ask for consistency may lag (dynamo_set_lag). Not there: nested document paths, ProjectionExpression, keys other than S, an index that lags.
 */
#ifndef TESTS_SUPPORT_DYNAMO_H
#define TESTS_SUPPORT_DYNAMO_H

#include "base/json.h"

struct dynamo;

struct dynamo *dynamo_new(void);
void dynamo_free(struct dynamo *dynamo);

/* Query pages hold at most so many items; 0 = no pages. */
void dynamo_set_page(struct dynamo *dynamo, size_t page_items);

/* A read of the base table without ConsistentRead does not show what the last so many writes wrote; 0 = it never lags. */
void dynamo_set_lag(struct dynamo *dynamo, unsigned writes);

/* A new table answers CREATING to so many DescribeTable calls. */
void dynamo_set_creating(struct dynamo *dynamo, int describes);

/* When false, refused writes come back without the old item (as dynalite does). */
void dynamo_set_items_on_refusal(struct dynamo *dynamo, bool on);

/* "PutItem" and the JSON body; returns the HTTP status, *out the JSON body in `arena`. */
int dynamo_handle(struct dynamo *dynamo, const char *operation, const char *body, size_t body_length,
                  struct arena *arena, const char **out);

/* Direct looks, for assertions: an item as DynamoDB JSON (borrowed until the next write), or NULL. */
const struct json *dynamo_item(const struct dynamo *dynamo, const char *table, const char *partition, const char *sort);
size_t dynamo_item_count(const struct dynamo *dynamo, const char *table);
const struct json *dynamo_item_at(const struct dynamo *dynamo, const char *table, size_t index);

/* Put or delete directly, past all conditions: tests that prepare a situation. The table must exist. */
void dynamo_put(struct dynamo *dynamo, const char *table, const struct json *item);
void dynamo_delete(struct dynamo *dynamo, const char *table, const char *partition, const char *sort);

#endif
