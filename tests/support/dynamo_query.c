/* Query of the base table and of the index, in pages. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dynamo_internal.h"

struct query {
	struct dynamo_request *request;
	const struct dynamo_table *table;
	struct dynamo_expression x;
	bool by_index;
	const char *hash;
	const char *range; /* may be NULL */
	const struct dynamo_item **found;
	size_t count;
};

static bool indexed(const struct query *query, const struct json *item)
{
	return json_get(item, query->hash) != NULL && (query->range == NULL || json_get(item, query->range) != NULL);
}

/* Key conditions: the hash key by =, the range key if anything, nothing else. */
static void check_key_condition(struct query *query, const char *condition)
{
	struct dynamo_expression *x = &query->x;

	dynamo_condition(x, condition, NULL);
	if (x->beyond_keys)
		expression_wrong(x, "Invalid operator used in KeyConditionExpression");
	if (!string_list_has(&x->equated, query->hash))
		expression_wrong(x, "Query condition missed key schema element: %s", query->hash);
	for (size_t i = 0; i < x->named.count; i++)
		if (!text_equal(x->named.at[i], query->hash) && !text_equal(x->named.at[i], query->range))
			expression_wrong(x, "Query key condition not supported: %s", x->named.at[i]);
}

static bool start(struct query *query)
{
	const struct json *body = query->request->body;
	const char *condition = json_get_string(body, "KeyConditionExpression");
	const char *filter = json_get_string(body, "FilterExpression");

	if (condition == NULL) {
		dynamo_invalid(query->request,
		               "Either the KeyConditions or KeyConditionExpression parameter must be specified");
		return false;
	}
	dynamo_expression_init(&query->x, query->request->arena, json_get(body, "ExpressionAttributeNames"),
	                       json_get(body, "ExpressionAttributeValues"));
	check_key_condition(query, condition);
	if (filter != NULL)
		dynamo_condition(&query->x, filter, NULL);
	dynamo_expression_finish(&query->x);
	if (query->x.invalid != NULL)
		dynamo_invalid(query->request, query->x.invalid);
	return query->x.invalid == NULL;
}

static const char *attribute_string(const struct json *item, const char *attribute)
{
	const char *string = attribute == NULL ? "" : json_get_string(json_get(item, attribute), "S");

	return string == NULL ? "" : string;
}

static int compare_found(const void *a, const void *b, void *payload)
{
	const struct dynamo_item *left = *(const struct dynamo_item *const *)a;
	const struct dynamo_item *right = *(const struct dynamo_item *const *)b;
	const struct query *query = payload;
	int order = strcmp(attribute_string(left->json, query->range), attribute_string(right->json, query->range));

	if (order == 0)
		order = strcmp(left->partition, right->partition);
	return order != 0 ? order : strcmp(left->sort, right->sort);
}

static void collect(struct query *query)
{
	const char *condition = json_get_string(query->request->body, "KeyConditionExpression");

	query->found = arena_array(query->request->arena, query->table->count, sizeof(const struct dynamo_item *));
	for (size_t i = 0; i < query->table->count; i++) {
		const struct json *item = query->table->items[i]->json;

		if (!query->by_index && !dynamo_shows(query->request, query->table, query->table->items[i]))
			continue;
		if (indexed(query, item) && dynamo_condition(&query->x, condition, item))
			query->found[query->count++] = query->table->items[i];
	}
	if (query->count > 1)
		qsort_r(query->found, query->count, sizeof(*query->found), compare_found, query);
}

static struct json *key_of(const struct query *query, const struct json *item)
{
	const char *attributes[] = {query->table->hash, query->table->range, query->by_index ? query->hash : NULL,
	                            query->by_index ? query->range : NULL};
	struct json *key = json_new_object(query->request->arena);

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i] != NULL)
			json_set(key, attributes[i], json_copy(query->request->arena, json_get(item, attributes[i])));
	return key;
}

/* The first item after ExclusiveStartKey, which need not exist any more; false when the key is not one. */
static bool find_start(struct query *query, size_t *first)
{
	const struct json *key = json_get(query->request->body, "ExclusiveStartKey");
	struct dynamo_item wanted = {.json = json_copy(query->request->arena, key)};
	const struct dynamo_item *borrowed = &wanted;

	*first = 0;
	if (key == NULL)
		return true;
	if (!json_equal(key_of(query, key), key) ||
	    !dynamo_condition(&query->x, json_get_string(query->request->body, "KeyConditionExpression"), key))
		return false;
	wanted.partition = attribute_string(key, query->table->hash);
	wanted.sort = attribute_string(key, query->table->range);
	while (*first < query->count && compare_found(&query->found[*first], &borrowed, query) <= 0)
		++*first;
	return true;
}

static size_t page_size(const struct query *query)
{
	int64_t limit = json_integer(json_get(query->request->body, "Limit"), 0);
	size_t page = query->request->dynamo->page_items;

	if (limit > 0 && (page == 0 || (size_t)limit < page))
		page = (size_t)limit;
	return page;
}

static void reply_page(struct query *query, size_t first)
{
	const char *filter = json_get_string(query->request->body, "FilterExpression");
	struct json *body = json_new_object(query->request->arena);
	struct json *items = json_set_array(body, "Items");
	size_t page = page_size(query);
	size_t end = page == 0 || page > query->count - first ? query->count : first + page;

	for (size_t i = first; i < end; i++)
		if (filter == NULL || dynamo_condition(&query->x, filter, query->found[i]->json))
			json_add(items, json_copy(query->request->arena, query->found[i]->json));
	json_set_integer(body, "Count", (int64_t)json_count(items));
	json_set_integer(body, "ScannedCount", (int64_t)(end - first));
	/* As the service does: a page that is full names its last key even if nothing follows. */
	if (page != 0 && end - first == page)
		json_set(body, "LastEvaluatedKey", key_of(query, query->found[end - 1]->json));
	dynamo_reply(query->request, body);
}

static bool choose_index(struct query *query)
{
	const struct json *body = query->request->body;
	const char *index = json_get_string(body, "IndexName");

	query->by_index = index != NULL;
	query->hash = query->by_index ? query->table->index_hash : query->table->hash;
	query->range = query->by_index ? query->table->index_range : query->table->range;
	if (query->by_index && !text_equal(index, query->table->index_name))
		dynamo_invalid(query->request, "The table does not have the specified index");
	else if (query->by_index && json_bool(json_get(body, "ConsistentRead"), false))
		dynamo_invalid(query->request, "Consistent reads are not supported on global secondary indexes");
	else
		return true;
	return false;
}

void dynamo_query(struct dynamo_request *request, struct dynamo_table *table)
{
	struct query query = {.request = request, .table = table};
	size_t first;

	if (!choose_index(&query) || !start(&query))
		return;
	collect(&query);
	if (find_start(&query, &first))
		reply_page(&query, first);
	else
		dynamo_invalid(request, "The provided starting key is invalid");
}
