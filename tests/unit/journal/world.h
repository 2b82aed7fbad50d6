/*
 * A journal table in memory and the way to it: requests of journal/dynamodb.h go through the DynamoDB double and come
 * back as responses.
 */
#ifndef TESTS_UNIT_JOURNAL_WORLD_H
#define TESTS_UNIT_JOURNAL_WORLD_H

#include "dynamo.h"
#include "journal/dynamodb.h"

#define TABLE "zonevac-journal"
#define ZONE "use1-az1"
#define RESOURCE "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:u:autoScalingGroupName/web"
#define ME "cluster-me"
#define OTHER "cluster-other"
#define MINE "attempt-mine"
#define THEIRS "attempt-theirs"

/* 2026-01-02T03:04:05Z */
#define NOW_US INT64_C(1767323045000000)
#define MINUTE_US INT64_C(60000000)

struct world {
	struct arena arena; /* of one exchange: reset freely */
	struct dynamo *dynamo;
};

/* With the table made by dynamodb_ask_create. */
void world_init(struct world *world);
void world_done(struct world *world);

struct http_response world_send(struct world *world, const struct http_request *request);
struct http_response world_answer(int status, const char *body);

/* The whole exchange, with the read when the refusal has no item. Asserts that there is no error. */
void world_call(struct world *world, const struct journal_call *call, struct journal_outcome *out);

/* Put `record` as it is, whatever was there. */
void world_prepare(struct world *world, const struct record *record);
void world_clear(struct world *world);

/* What the table has of (ZONE, RESOURCE): false when nothing. */
bool world_read(struct world *world, struct record *out);

struct string_list world_list(struct world *world, const char *words);
bool records_equal(const struct record *a, const struct record *b);

/* A record of RESOURCE: removed a1, owners `owners` (words), state and attempt as given. */
struct record world_record(struct world *world, enum record_state state, const char *owners, const char *attempt);
struct journal_call world_verb(enum journal_verb verb);

#endif
