/*
 * Update expressions: SET, REMOVE, ADD and DELETE, each at most once. Right-hand sides see the item as it was; two
 * actions on one attribute are refused; a set that loses its last member is gone.
 */
#include <string.h>

#include "base/text.h"
#include "dynamo_internal.h"

struct update {
	struct dynamo_expression *x;
	struct json *out;
	const struct dynamo_table *table;
	struct string_list touched;
};

static void fail(struct update *update, const char *message)
{
	if (update->x->failed == NULL)
		update->x->failed = message;
}

/* The attribute an action is about. */
static const char *read_target(struct update *update)
{
	const char *name = expression_path(update->x);

	if (text_equal(name, update->table->hash) || text_equal(name, update->table->range))
		expression_wrong(update->x, "Cannot update attribute %s. This attribute is part of the key", name);
	else if (string_list_has(&update->touched, name))
		expression_wrong(update->x, "Invalid UpdateExpression: Two document paths overlap with each other; path: %s",
		                 name);
	else
		string_list_add(&update->touched, update->x->arena, name);
	return name;
}

static const struct json *read_set_operand(struct update *update);

static const struct json *read_if_not_exists(struct update *update)
{
	struct dynamo_expression *x = update->x;
	const struct json *present;
	const struct json *otherwise;

	expression_next(x);
	expression_expect(x, "(");
	present = json_get(x->item, expression_path(x));
	expression_expect(x, ",");
	otherwise = read_set_operand(update);
	expression_expect(x, ")");
	return present != NULL ? present : otherwise;
}

static const struct json *read_set_operand(struct update *update)
{
	struct dynamo_expression *x = update->x;
	const struct json *value;

	if (x->kind == TOKEN_VALUE)
		return expression_value(x);
	if (x->kind == TOKEN_WORD && text_equal(x->token, "if_not_exists"))
		return read_if_not_exists(update);
	value = json_get(x->item, expression_path(x));
	if (value == NULL)
		fail(update, "The provided expression refers to an attribute that does not exist in the item");
	return value;
}

static const struct json *read_set_value(struct update *update)
{
	struct dynamo_expression *x = update->x;
	const struct json *left = read_set_operand(update);
	int sign = expression_is(x, TOKEN_SIGN, "-") ? -1 : 1;
	const struct json *sum;

	if (!expression_accept(x, TOKEN_SIGN, "+") && !expression_accept(x, TOKEN_SIGN, "-"))
		return left;
	sum = dynamo_value_add(left, read_set_operand(update), sign, x->arena);
	if (sum == NULL)
		fail(update, "An operand in the update expression has an incorrect data type");
	return sum;
}

static void read_set(struct update *update)
{
	struct dynamo_expression *x = update->x;

	do {
		const char *name = read_target(update);
		const struct json *value;

		expression_expect(x, "=");
		value = read_set_value(update);
		if (value != NULL)
			json_set(update->out, name, json_copy(x->arena, value));
	} while (expression_accept(x, TOKEN_SIGN, ","));
}

static void read_remove(struct update *update)
{
	do
		json_remove(update->out, read_target(update));
	while (expression_accept(update->x, TOKEN_SIGN, ","));
}

static const struct json *members(const struct json *set)
{
	const struct json *content = NULL;

	dynamo_value_type(set, &content);
	return content;
}

static bool has_member(const struct json *set, const struct json *member)
{
	for (size_t i = 0; i < json_count(members(set)); i++)
		if (json_equal(json_at(members(set), i), member))
			return true;
	return false;
}

/* Those of `a` that `b` does not have. */
static struct json *set_minus(const struct json *a, const struct json *b, struct arena *arena)
{
	struct json *out = json_new_array(arena);

	for (size_t i = 0; i < json_count(members(a)); i++)
		if (!has_member(b, json_at(members(a), i)))
			json_add(out, json_copy(arena, json_at(members(a), i)));
	return out;
}

static struct json *set_plus(const struct json *a, const struct json *b, struct arena *arena)
{
	struct json *out = json_copy(arena, members(a));

	for (size_t i = 0; i < json_count(members(b)); i++)
		if (!has_member(a, json_at(members(b), i)))
			json_add(out, json_copy(arena, json_at(members(b), i)));
	return out;
}

static void put_set(struct update *update, const char *name, const char *type, struct json *content)
{
	struct json *set = json_new_object(update->x->arena);

	json_remove(update->out, name);
	if (json_count(content) == 0)
		return;
	json_set(set, type, content);
	json_set(update->out, name, set);
}

static void add_to(struct update *update, const char *name, const struct json *value)
{
	struct arena *arena = update->x->arena;
	const struct json *old = json_get(update->x->item, name);
	const char *type = dynamo_value_type(value, NULL);

	if (!dynamo_is_set(value) && !text_equal(type, "N"))
		expression_wrong(update->x, "Incorrect operand type for operator or function; operator: ADD, operand type: %s",
		                 type);
	else if (old == NULL)
		json_set(update->out, name, json_copy(arena, value));
	else if (!text_equal(type, dynamo_value_type(old, NULL)))
		fail(update, "An operand in the update expression has an incorrect data type");
	else if (dynamo_is_set(value))
		put_set(update, name, type, set_plus(old, value, arena));
	else
		json_set(update->out, name, dynamo_value_add(old, value, 1, arena));
}

static void delete_from(struct update *update, const char *name, const struct json *value)
{
	const struct json *old = json_get(update->x->item, name);
	const char *type = dynamo_value_type(value, NULL);

	if (!dynamo_is_set(value))
		expression_wrong(update->x,
		                 "Incorrect operand type for operator or function; operator: DELETE, operand type: %s", type);
	else if (old != NULL && !text_equal(type, dynamo_value_type(old, NULL)))
		fail(update, "An operand in the update expression has an incorrect data type");
	else if (old != NULL)
		put_set(update, name, type, set_minus(old, value, update->x->arena));
}

static void read_pairs(struct update *update, void (*act)(struct update *, const char *, const struct json *))
{
	do {
		const char *name = read_target(update);
		const struct json *value = expression_value(update->x);

		if (value != NULL)
			act(update, name, value);
	} while (expression_accept(update->x, TOKEN_SIGN, ","));
}

enum clause { CLAUSE_SET, CLAUSE_REMOVE, CLAUSE_ADD, CLAUSE_DELETE, CLAUSE_COUNT };

static enum clause read_clause_name(struct dynamo_expression *x)
{
	static const char *const names[] = {"SET", "REMOVE", "ADD", "DELETE"};

	for (size_t i = 0; i < CLAUSE_COUNT; i++)
		if (expression_accept(x, TOKEN_WORD, names[i]))
			return (enum clause)i;
	expression_wrong(x, "Invalid UpdateExpression: Syntax error; token: \"%s\"", x->token);
	return CLAUSE_COUNT;
}

static void read_clause(struct update *update, bool *seen)
{
	enum clause clause = read_clause_name(update->x);

	if (clause == CLAUSE_COUNT)
		return;
	if (seen[clause])
		expression_wrong(update->x,
		                 "Invalid UpdateExpression: a section can only be used once in an update expression");
	seen[clause] = true;
	if (clause == CLAUSE_SET)
		read_set(update);
	else if (clause == CLAUSE_REMOVE)
		read_remove(update);
	else
		read_pairs(update, clause == CLAUSE_ADD ? add_to : delete_from);
}

struct json *dynamo_update(struct dynamo_expression *x, const char *text, const struct json *item,
                           const struct dynamo_table *table)
{
	struct update update = {.x = x, .out = json_copy(x->arena, item), .table = table};
	bool seen[CLAUSE_COUNT] = {false};

	expression_begin(x, text, item);
	do
		read_clause(&update, seen);
	while (x->kind != TOKEN_END);
	return update.out;
}
