/*
 * What the files of the in-memory DynamoDB share. Not for tests: they see dynamo.h.
 */
#ifndef TESTS_SUPPORT_DYNAMO_INTERNAL_H
#define TESTS_SUPPORT_DYNAMO_INTERNAL_H

#include "dynamo.h"

struct dynamo_item {
	struct arena arena;
	struct json *json;
	const char *partition;
	const char *sort;
	uint64_t written; /* which write of its table it was */
};

/* Keys are strings; `range` and the index may be NULL. */
struct dynamo_table {
	const char *name;
	const char *hash;
	const char *range;
	const char *index_name;
	const char *index_hash;
	const char *index_range;
	int describes_left; /* > 0: still CREATING */
	bool backups;
	bool protection;
	struct dynamo_item **items; /* sorted by partition, then sort */
	size_t count;
	size_t capacity;
	uint64_t writes;
};

struct dynamo {
	struct arena arena;
	struct dynamo_table *tables;
	size_t table_count;
	size_t table_capacity;
	size_t page_items;
	unsigned lag;
	int creating_describes;
	bool items_on_refusal;
};

/* One request on its way through. */
struct dynamo_request {
	struct dynamo *dynamo;
	struct arena *arena;
	const struct json *body;
	int status;
	const char *reply;
};

/* dynamo.c */
struct dynamo_table *dynamo_table_find(const struct dynamo *dynamo, const char *name);
/* The position of the item with that key, or where it would be. */
size_t dynamo_position(const struct dynamo_table *table, const char *partition, const char *sort, bool *found);
/* Does a read of the base table as consistent as `request` asks show it? */
bool dynamo_shows(const struct dynamo_request *request, const struct dynamo_table *table,
                  const struct dynamo_item *item);
void dynamo_store(struct dynamo_table *table, const struct json *item);
void dynamo_remove(struct dynamo_table *table, size_t position);
void dynamo_reply(struct dynamo_request *request, const struct json *body);
void dynamo_fail(struct dynamo_request *request, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void dynamo_invalid(struct dynamo_request *request, const char *message);
/* All members of the body are in `allowed` (NULL at the end); else ValidationException. */
bool dynamo_members_known(struct dynamo_request *request, const char *const *allowed);

/* dynamo_table.c */
void dynamo_create_table(struct dynamo_request *request);
void dynamo_describe_table(struct dynamo_request *request);
void dynamo_describe_backups(struct dynamo_request *request);
void dynamo_update_backups(struct dynamo_request *request);

/* dynamo_items.c and dynamo_query.c: the table is there and ACTIVE. */
void dynamo_put_item(struct dynamo_request *request, struct dynamo_table *table);
void dynamo_update_item(struct dynamo_request *request, struct dynamo_table *table);
void dynamo_delete_item(struct dynamo_request *request, struct dynamo_table *table);
void dynamo_get_item(struct dynamo_request *request, struct dynamo_table *table);
void dynamo_query(struct dynamo_request *request, struct dynamo_table *table);

/* dynamo_value.c: attribute values such as {"S":"a"}. */
/* What is wrong with the value, in words, or NULL. */
const char *dynamo_value_wrong(const struct json *value, struct arena *arena);
/* The one member's name ("SS") and content. */
const char *dynamo_value_type(const struct json *value, const struct json **content);
bool dynamo_value_equal(const struct json *a, const struct json *b);
/* False when they cannot be ordered; *order as of strcmp. */
bool dynamo_value_order(const struct json *a, const struct json *b, int *order);
bool dynamo_value_contains(const struct json *container, const struct json *member);
/* -1 when it has no size. */
int64_t dynamo_value_size(const struct json *value);
bool dynamo_is_set(const struct json *value);
/* The sum (sign 1) or difference (sign -1) of two numbers; NULL when they are not numbers. */
struct json *dynamo_value_add(const struct json *a, const struct json *b, int sign, struct arena *arena);

/* dynamo_expression.c and dynamo_update.c. */
enum dynamo_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NAME, TOKEN_VALUE, TOKEN_SIGN };

struct dynamo_expression {
	struct arena *arena;
	const struct json *names;
	const struct json *values;
	struct string_list used;    /* placeholders met so far */
	const char *invalid;        /* what is wrong with the text; NULL = nothing */
	const char *failed;         /* update: why it cannot be applied to this item */
	struct string_list equated; /* attributes compared by =, since the last reset by the caller */
	struct string_list named;   /* attributes met, likewise */
	bool beyond_keys;           /* OR, NOT, or a function that key conditions do not have, likewise */

	/* The evaluation at hand. */
	const struct json *item; /* NULL = none */
	const char *at;
	enum dynamo_token_kind kind;
	const char *token; /* text of the current token */
	int depth;
};

void dynamo_expression_init(struct dynamo_expression *x, struct arena *arena, const struct json *names,
                            const struct json *values);
bool dynamo_condition(struct dynamo_expression *x, const char *text, const struct json *item);
/* A changed copy of `item` (which has the key attributes at least). */
struct json *dynamo_update(struct dynamo_expression *x, const char *text, const struct json *item,
                           const struct dynamo_table *table);
/* After all expressions of a request: placeholders that nobody used. Sets x->invalid. */
void dynamo_expression_finish(struct dynamo_expression *x);

/* Of the parser, for dynamo_update.c. */
void expression_begin(struct dynamo_expression *x, const char *text, const struct json *item);
void expression_next(struct dynamo_expression *x);
void expression_wrong(struct dynamo_expression *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool expression_is(const struct dynamo_expression *x, enum dynamo_token_kind kind, const char *text);
bool expression_accept(struct dynamo_expression *x, enum dynamo_token_kind kind, const char *text);
void expression_expect(struct dynamo_expression *x, const char *sign);
/* An attribute's name, alias resolved; "" after an error. */
const char *expression_path(struct dynamo_expression *x);
/* A :value; NULL after an error. */
const struct json *expression_value(struct dynamo_expression *x);

#endif
