#include "base/yaml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/text.h"

#define YAML_MAX_DEPTH 64
#define YAML_MAX_ALIASED_NODES 10000
#define SCALAR_BYTES_PER_NODE 1024

struct anchor {
	const char *name;
	struct json *value;
	size_t node_count;
};

struct reader {
	yaml_parser_t parser;
	struct arena *arena;
	struct error *error;
	struct anchor *anchors;
	size_t anchor_count, anchor_capacity;
	size_t node_count;    /* made so far; a long scalar counts for more */
	size_t aliased_count; /* of these, made by following aliases */
};

static struct json *refuse(struct reader *reader, yaml_mark_t mark, const char *why)
{
	error_set(reader->error, ERROR_INPUT, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1, why);
	return NULL;
}

static bool next_event(struct reader *reader, yaml_event_t *event)
{
	yaml_parser_t *parser = &reader->parser;

	if (yaml_parser_parse(parser, event))
		return true;
	if (parser->error == YAML_MEMORY_ERROR)
		abort();
	/* A reader error (encoding) has an offset only; the mark is where the parser was. */
	yaml_mark_t mark = parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark;
	refuse(reader, mark, parser->problem ? parser->problem : "not YAML");
	return false;
}

static bool is_one_of(const char *string, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(string, *words) == 0)
			return true;
	}
	return false;
}

static size_t digits(const char *at)
{
	return strspn(at, "0123456789");
}

/* YAML 1.2.2, section 10.3.2: [-+]? [0-9]+, 0o [0-7]+, 0x [0-9a-fA-F]+ */
static bool integer_resolve(const char *plain, long long *out)
{
	const char *first = plain + (*plain == '-' || *plain == '+');
	char *end;

	if (text_starts_with(plain, "0o") || text_starts_with(plain, "0x")) {
		bool octal = plain[1] == 'o';
		size_t length = strspn(plain + 2, octal ? "01234567" : "0123456789abcdefABCDEF");
		if (!length || plain[2 + length] || length > (octal ? 20 : 15))
			return false;
		*out = strtoll(plain + 2, &end, octal ? 8 : 16);
		return true;
	}
	if (!digits(first) || first[digits(first)])
		return false;
	return text_parse_integer(*plain == '+' ? first : plain, LLONG_MIN, LLONG_MAX, out);
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool number_resolve(const char *plain, double *out)
{
	const char *at = plain + (*plain == '-' || *plain == '+');
	size_t whole = digits(at);

	at += whole;
	if (*at == '.') {
		size_t fraction = digits(++at);
		if (!whole && !fraction)
			return false;
		at += fraction;
	} else if (!whole) {
		return false;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '-' || *at == '+';
		if (!digits(at))
			return false;
		at += digits(at);
	}
	if (*at)
		return false;
	*out = strtod(plain, NULL);
	return *out - *out == 0;
}

static struct json *plain_resolve(struct reader *reader, const char *plain)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {"true", "True", "TRUE", NULL};
	static const char *const falses[] = {"false", "False", "FALSE", NULL};
	long long integer;
	double number;

	if (is_one_of(plain, nulls))
		return json_new_null(reader->arena);
	if (is_one_of(plain, trues) || is_one_of(plain, falses))
		return json_new_bool(reader->arena, is_one_of(plain, trues));
	if (integer_resolve(plain, &integer))
		return json_new_integer(reader->arena, integer);
	if (number_resolve(plain, &number))
		return json_new_number(reader->arena, number);
	return json_new_string(reader->arena, plain);
}

static struct json *scalar_read(struct reader *reader, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (strlen(value) != event->data.scalar.length)
		return refuse(reader, event->start_mark, "a NUL character is not allowed");
	if (tag && strcmp(tag, "!") != 0 && !text_starts_with(tag, "tag:yaml.org,2002:"))
		return refuse(reader, event->start_mark, "tags of one's own are not allowed");
	if (tag && (strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0))
		plain = false;
	else if (tag)
		plain = true;
	return plain ? plain_resolve(reader, value) : json_new_string(reader->arena, value);
}

static void anchor_keep(struct reader *reader, const char *name, struct json *value, size_t node_count)
{
	reader->anchors = arena_grow(reader->arena, reader->anchors, reader->anchor_count, &reader->anchor_capacity,
	                             sizeof(*reader->anchors));
	reader->anchors[reader->anchor_count++] =
		(struct anchor){.name = arena_string(reader->arena, name), .value = value, .node_count = node_count};
}

/* The last anchor of a name counts; one that is not complete yet is not there, so that there are no cycles. */
static struct json *alias_read(struct reader *reader, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;

	for (size_t i = reader->anchor_count; i-- > 0;) {
		const struct anchor *anchor = &reader->anchors[i];
		if (strcmp(anchor->name, name) != 0)
			continue;
		reader->node_count += anchor->node_count;
		reader->aliased_count += anchor->node_count;
		if (reader->aliased_count > YAML_MAX_ALIASED_NODES)
			return refuse(reader, event->start_mark, "aliases unfold to more than 10,000 nodes");
		return json_copy(reader->arena, anchor->value);
	}
	return refuse(reader, event->start_mark, "alias of an anchor that is not there");
}

static struct json *node_read(struct reader *reader, const yaml_event_t *event, int depth);

static struct json *sequence_read(struct reader *reader, int depth)
{
	struct json *array = json_new_array(reader->arena);

	for (;;) {
		yaml_event_t event;
		if (!next_event(reader, &event))
			return NULL;
		bool last = event.type == YAML_SEQUENCE_END_EVENT;
		struct json *element = last ? NULL : node_read(reader, &event, depth + 1);
		yaml_event_delete(&event);
		if (last)
			return array;
		if (!element)
			return NULL;
		json_add(array, element);
	}
}

/* The text of a key; whatever a plain scalar would be as a value, as a key it is text. */
static const char *key_read(struct reader *reader, const yaml_event_t *event)
{
	if (event->type != YAML_SCALAR_EVENT) {
		refuse(reader, event->start_mark, "a key must be plain or quoted text");
		return NULL;
	}
	const char *key = (const char *)event->data.scalar.value;
	if (strlen(key) != event->data.scalar.length) {
		refuse(reader, event->start_mark, "a NUL character is not allowed");
		return NULL;
	}
	if (strcmp(key, "<<") == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
		refuse(reader, event->start_mark, "merge keys (<<) are not supported: write the members out");
		return NULL;
	}
	size_t weight = event->data.scalar.length / SCALAR_BYTES_PER_NODE;
	reader->node_count += weight;
	if (event->data.scalar.anchor)
		anchor_keep(reader, (const char *)event->data.scalar.anchor, scalar_read(reader, event), weight + 1);
	return arena_string(reader->arena, key);
}

static bool pair_read(struct reader *reader, struct json *object, const yaml_event_t *key_event, int depth)
{
	const char *key = key_read(reader, key_event);
	size_t before = json_count(object);
	yaml_event_t event;

	if (!key || !next_event(reader, &event))
		return false;
	struct json *value = node_read(reader, &event, depth + 1);
	yaml_event_delete(&event);
	if (!value)
		return false;
	json_set(object, key, value);
	if (json_count(object) > before)
		return true;
	error_set(reader->error, ERROR_INPUT, "line %zu, column %zu: the key \"%s\" is there twice",
	          key_event->start_mark.line + 1, key_event->start_mark.column + 1, key);
	return false;
}

static struct json *mapping_read(struct reader *reader, int depth)
{
	struct json *object = json_new_object(reader->arena);

	for (;;) {
		yaml_event_t event;
		if (!next_event(reader, &event))
			return NULL;
		bool last = event.type == YAML_MAPPING_END_EVENT;
		bool ok = last || pair_read(reader, object, &event, depth);
		yaml_event_delete(&event);
		if (!ok || last)
			return ok ? object : NULL;
	}
}

static struct json *node_read(struct reader *reader, const yaml_event_t *event, int depth)
{
	size_t before = reader->node_count++;
	const yaml_char_t *anchor = NULL;
	struct json *value = NULL;

	if (depth > YAML_MAX_DEPTH)
		return refuse(reader, event->start_mark, "nested more than 64 deep");
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		reader->node_count = before;
		return alias_read(reader, event);
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		reader->node_count += event->data.scalar.length / SCALAR_BYTES_PER_NODE;
		value = scalar_read(reader, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		value = sequence_read(reader, depth);
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		value = mapping_read(reader, depth);
		break;
	default:
		return refuse(reader, event->start_mark, "a value is missing");
	}
	if (value && anchor)
		anchor_keep(reader, (const char *)anchor, value, reader->node_count - before);
	return value;
}

/* The events around a document carry nothing: only what comes next matters. */
static bool next_event_of_note(struct reader *reader, yaml_event_t *event)
{
	for (;;) {
		if (!next_event(reader, event))
			return false;
		if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_START_EVENT &&
		    event->type != YAML_DOCUMENT_END_EVENT)
			return true;
		yaml_event_delete(event);
	}
}

static struct json *document_read(struct reader *reader)
{
	yaml_event_t event;

	if (!next_event_of_note(reader, &event))
		return NULL;
	bool empty = event.type == YAML_STREAM_END_EVENT;
	struct json *root = empty ? json_new_null(reader->arena) : node_read(reader, &event, 1);
	yaml_event_delete(&event);
	if (empty || !root || !next_event_of_note(reader, &event))
		return empty ? root : NULL;
	if (event.type != YAML_STREAM_END_EVENT)
		root = refuse(reader, event.start_mark, "a second document begins here; only one is allowed");
	yaml_event_delete(&event);
	return root;
}

struct json *yaml_parse(struct arena *arena, const char *bytes, size_t length, struct error *error)
{
	struct reader reader = {.arena = arena, .error = error};

	if (!yaml_parser_initialize(&reader.parser))
		abort();
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, length);
	struct json *root = document_read(&reader);
	yaml_parser_delete(&reader.parser);
	return root;
}
