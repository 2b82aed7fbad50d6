/*
 * Condition, key condition and filter expressions: a recursive-descent reader that evaluates as it goes. Both sides of
 * AND and OR are always read, so that what is wrong with the text shows whatever the item is.
 *
 *   condition   = conjunction { OR conjunction }
 *   conjunction = negation { AND negation }
 *   negation    = NOT negation | "(" condition ")" | function | comparison
 *   comparison  = operand comparator operand | operand BETWEEN operand AND operand
 *               | operand IN "(" operand { "," operand } ")"
 *   operand     = path | :value | size "(" path ")"
 *   path        = name | #alias          (top level only: nested paths are refused)
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dynamo_internal.h"

enum { MAX_DEPTH = 32 };

/* Reserved words that a journal might use as a name, and some that only look like one: stricter than the service. */
static const char *const RESERVED[] = {
	"action",    "add",       "agent",    "all",         "and",       "any",        "as",         "at",
	"attach",    "attribute", "auto",     "backup",      "batch",     "before",     "between",    "by",
	"call",      "close",     "cluster",  "comment",     "condition", "connection", "constraint", "count",
	"counter",   "create",    "current",  "data",        "database",  "date",       "datetime",   "day",
	"default",   "delete",    "describe", "detach",      "do",        "domain",     "else",       "end",
	"event",     "exclude",   "exists",   "expression",  "filter",    "first",      "flag",       "for",
	"from",      "function",  "group",    "groups",      "hash",      "header",     "id",         "in",
	"index",     "instance",  "intent",   "is",          "item",      "items",      "join",       "key",
	"keys",      "kind",      "language", "last",        "level",     "limit",      "list",       "location",
	"lock",      "locks",     "log",      "map",         "message",   "method",     "name",       "names",
	"node",      "none",      "not",      "null",        "number",    "object",     "of",         "on",
	"open",      "operator",  "option",   "or",          "order",     "owner",      "parameters", "partition",
	"path",      "plan",      "policy",   "position",    "process",   "provider",   "query",      "range",
	"reason",    "record",    "region",   "remove",      "resource",  "restore",    "result",     "role",
	"rule",      "schema",    "scope",    "sequence",    "set",       "shift",      "size",       "source",
	"start",     "state",     "status",   "string",      "subnet",    "table",      "target",     "time",
	"timestamp", "to",        "token",    "transaction", "ttl",       "type",       "undo",       "update",
	"user",      "uuid",      "value",    "values",      "version",   "view",       "zone",
};

void dynamo_expression_init(struct dynamo_expression *x, struct arena *arena, const struct json *names,
                            const struct json *values)
{
	*x = (struct dynamo_expression){.arena = arena, .names = names, .values = values};
	for (size_t i = 0; i < json_count(values) && x->invalid == NULL; i++) {
		const char *key = NULL;

		x->invalid = dynamo_value_wrong(json_member(values, i, &key), arena);
	}
	if ((names != NULL && json_count(names) == 0) || (values != NULL && json_count(values) == 0))
		x->invalid = "ExpressionAttributeNames and ExpressionAttributeValues must not be empty";
}

void expression_wrong(struct dynamo_expression *x, const char *format, ...)
{
	char message[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (x->invalid == NULL)
		x->invalid = arena_string(x->arena, message);
	x->kind = TOKEN_END;
	x->token = "";
	x->at = "";
}

static size_t word_length(const char *at)
{
	size_t length = 0;

	while (isalnum((unsigned char)at[length]) || at[length] == '_')
		length++;
	return length;
}

static size_t sign_length(const char *at)
{
	if (strncmp(at, "<>", 2) == 0 || strncmp(at, "<=", 2) == 0 || strncmp(at, ">=", 2) == 0)
		return 2;
	return strchr("=<>(),+-", *at) != NULL ? 1 : 0;
}

static void take_token(struct dynamo_expression *x, enum dynamo_token_kind kind, size_t length)
{
	x->kind = kind;
	x->token = arena_copy(x->arena, x->at, length);
	x->at += length;
}

void expression_next(struct dynamo_expression *x)
{
	while (isspace((unsigned char)*x->at))
		x->at++;
	if (*x->at == '\0')
		take_token(x, TOKEN_END, 0);
	else if (*x->at == '#' && word_length(x->at + 1) > 0)
		take_token(x, TOKEN_NAME, 1 + word_length(x->at + 1));
	else if (*x->at == ':' && word_length(x->at + 1) > 0)
		take_token(x, TOKEN_VALUE, 1 + word_length(x->at + 1));
	else if (word_length(x->at) > 0)
		take_token(x, TOKEN_WORD, word_length(x->at));
	else if (sign_length(x->at) > 0)
		take_token(x, TOKEN_SIGN, sign_length(x->at));
	else
		expression_wrong(x, "Invalid expression: Syntax error; token: \"%.20s\"", x->at);
}

void expression_begin(struct dynamo_expression *x, const char *text, const struct json *item)
{
	x->item = item;
	x->at = text;
	x->depth = 0;
	if (*text == '\0')
		expression_wrong(x, "Invalid expression: The expression can not be empty;");
	expression_next(x);
}

bool expression_is(const struct dynamo_expression *x, enum dynamo_token_kind kind, const char *text)
{
	return x->kind == kind && strcasecmp(x->token, text) == 0;
}

bool expression_accept(struct dynamo_expression *x, enum dynamo_token_kind kind, const char *text)
{
	if (!expression_is(x, kind, text))
		return false;
	expression_next(x);
	return true;
}

void expression_expect(struct dynamo_expression *x, const char *sign)
{
	if (!expression_accept(x, TOKEN_SIGN, sign))
		expression_wrong(x, "Invalid expression: Syntax error; \"%s\" expected, token: \"%s\"", sign, x->token);
}

static void use(struct dynamo_expression *x, const char *token)
{
	if (!string_list_has(&x->used, token))
		string_list_add(&x->used, x->arena, token);
}

static bool is_reserved(const char *word)
{
	for (size_t i = 0; i < sizeof(RESERVED) / sizeof(RESERVED[0]); i++)
		if (strcasecmp(word, RESERVED[i]) == 0)
			return true;
	return false;
}

const char *expression_path(struct dynamo_expression *x)
{
	const char *name = x->token;

	if (x->kind == TOKEN_NAME) {
		name = json_get_string(x->names, x->token);
		if (name == NULL)
			expression_wrong(
				x, "An expression attribute name used in the document path is not defined; attribute name: %s",
				x->token);
		use(x, x->token);
	} else if (x->kind != TOKEN_WORD) {
		expression_wrong(x, "Invalid expression: Syntax error; attribute expected, token: \"%s\"", x->token);
		name = NULL;
	} else if (is_reserved(name)) {
		expression_wrong(x, "Attribute name is a reserved keyword; reserved keyword: %s", name);
	}
	if (x->invalid != NULL || name == NULL)
		return "";
	string_list_add(&x->named, x->arena, name);
	expression_next(x);
	return name;
}

const struct json *expression_value(struct dynamo_expression *x)
{
	const struct json *value = json_get(x->values, x->token);

	if (x->kind != TOKEN_VALUE || value == NULL) {
		expression_wrong(x, "An expression attribute value used in expression is not defined; attribute value: %s",
		                 x->token);
		return NULL;
	}
	use(x, x->token);
	expression_next(x);
	return value;
}

static const struct json *read_size(struct dynamo_expression *x)
{
	struct json *out = json_new_object(x->arena);
	int64_t size;

	expression_next(x);
	expression_expect(x, "(");
	size = dynamo_value_size(json_get(x->item, expression_path(x)));
	expression_expect(x, ")");
	x->beyond_keys = true;
	json_set_string(out, "N", arena_printf(x->arena, "%lld", (long long)size));
	return size < 0 ? NULL : out;
}

/* NULL when the item has no such attribute. *name gets the attribute, or NULL when it is none. */
static const struct json *read_operand(struct dynamo_expression *x, const char **name)
{
	*name = NULL;
	if (x->kind == TOKEN_VALUE)
		return expression_value(x);
	if (expression_is(x, TOKEN_WORD, "size"))
		return read_size(x);
	*name = expression_path(x);
	return json_get(x->item, *name);
}

static bool compare(const char *comparator, const struct json *a, const struct json *b)
{
	int order = 0;

	if (text_equal(comparator, "="))
		return dynamo_value_equal(a, b);
	if (text_equal(comparator, "<>"))
		return !dynamo_value_equal(a, b);
	if (!dynamo_value_order(a, b, &order))
		return false;
	if (text_equal(comparator, "<"))
		return order < 0;
	if (text_equal(comparator, "<="))
		return order <= 0;
	return text_equal(comparator, ">") ? order > 0 : order >= 0;
}

static bool read_in(struct dynamo_expression *x, const struct json *left)
{
	bool found = false;

	x->beyond_keys = true;
	expression_expect(x, "(");
	do {
		const char *name;
		const struct json *right = read_operand(x, &name);

		found = found || dynamo_value_equal(left, right);
	} while (expression_accept(x, TOKEN_SIGN, ","));
	expression_expect(x, ")");
	return found;
}

static bool read_between(struct dynamo_expression *x, const struct json *left)
{
	const char *name;
	const struct json *low = read_operand(x, &name);
	const struct json *high;

	if (!expression_accept(x, TOKEN_WORD, "AND"))
		expression_wrong(x, "Invalid expression: Syntax error; AND expected, token: \"%s\"", x->token);
	high = read_operand(x, &name);
	return compare(">=", left, low) && compare("<=", left, high);
}

static bool read_comparison(struct dynamo_expression *x)
{
	const char *name;
	const char *other;
	const struct json *left = read_operand(x, &name);
	const char *comparator = x->token;

	if (expression_accept(x, TOKEN_WORD, "IN"))
		return read_in(x, left);
	if (expression_accept(x, TOKEN_WORD, "BETWEEN"))
		return read_between(x, left);
	if (x->kind != TOKEN_SIGN || strchr("=<>", x->token[0]) == NULL) {
		expression_wrong(x, "Invalid expression: Syntax error; comparator expected, token: \"%s\"", x->token);
		return false;
	}
	if (text_equal(comparator, "=") && name != NULL)
		string_list_add(&x->equated, x->arena, name);
	expression_next(x);
	return compare(comparator, left, read_operand(x, &other));
}

static bool begins_with(const struct json *value, const struct json *prefix)
{
	const char *string = json_get_string(value, "S");
	const char *start = json_get_string(prefix, "S");

	return string != NULL && start != NULL && text_starts_with(string, start);
}

static bool read_function(struct dynamo_expression *x, const char *function)
{
	bool alone = text_equal(function, "attribute_exists") || text_equal(function, "attribute_not_exists");
	const struct json *value;
	const struct json *argument = NULL;
	const char *name;

	expression_next(x);
	expression_expect(x, "(");
	value = json_get(x->item, expression_path(x));
	if (!alone) {
		expression_expect(x, ",");
		argument = read_operand(x, &name);
	}
	expression_expect(x, ")");
	if (text_equal(function, "begins_with"))
		return begins_with(value, argument);
	x->beyond_keys = true;
	if (text_equal(function, "attribute_type"))
		return value != NULL && text_equal(dynamo_value_type(value, NULL), json_get_string(argument, "S"));
	if (text_equal(function, "contains"))
		return dynamo_value_contains(value, argument);
	return (value != NULL) == text_equal(function, "attribute_exists");
}

static bool is_function(const struct dynamo_expression *x)
{
	static const char *const functions[] = {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with",
	                                        "contains"};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (x->kind == TOKEN_WORD && text_equal(x->token, functions[i]))
			return true;
	return false;
}

static bool read_condition(struct dynamo_expression *x);

static bool read_negation(struct dynamo_expression *x)
{
	bool result;

	if (++x->depth > MAX_DEPTH) {
		expression_wrong(x, "Invalid expression: too deep");
		return false;
	}
	if (expression_accept(x, TOKEN_WORD, "NOT")) {
		x->beyond_keys = true;
		result = !read_negation(x);
	} else if (expression_accept(x, TOKEN_SIGN, "(")) {
		result = read_condition(x);
		expression_expect(x, ")");
	} else if (is_function(x)) {
		result = read_function(x, x->token);
	} else {
		result = read_comparison(x);
	}
	x->depth--;
	return result;
}

static bool read_conjunction(struct dynamo_expression *x)
{
	bool result = read_negation(x);

	while (expression_accept(x, TOKEN_WORD, "AND"))
		result = read_negation(x) && result;
	return result;
}

static bool read_condition(struct dynamo_expression *x)
{
	bool result = read_conjunction(x);

	while (expression_accept(x, TOKEN_WORD, "OR")) {
		x->beyond_keys = true;
		result = read_conjunction(x) || result;
	}
	return result;
}

bool dynamo_condition(struct dynamo_expression *x, const char *text, const struct json *item)
{
	bool result;

	expression_begin(x, text, item);
	result = read_condition(x);
	if (x->kind != TOKEN_END)
		expression_wrong(x, "Invalid expression: Syntax error; token: \"%s\"", x->token);
	return result && x->invalid == NULL;
}

static void refuse_unused(struct dynamo_expression *x, const struct json *tokens, const char *what)
{
	for (size_t i = 0; i < json_count(tokens); i++) {
		const char *key = NULL;

		json_member(tokens, i, &key);
		if (!string_list_has(&x->used, key))
			expression_wrong(x, "Value provided in %s unused in expressions: keys: {%s}", what, key);
	}
}

void dynamo_expression_finish(struct dynamo_expression *x)
{
	refuse_unused(x, x->names, "ExpressionAttributeNames");
	refuse_unused(x, x->values, "ExpressionAttributeValues");
}
