#include "aws/xml.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include <expat.h>

#include "base/text.h"

#define XML_MAX_BYTES (16 * 1024 * 1024)
#define XML_MAX_DEPTH 64
#define XML_MAX_ELEMENTS 2000000
#define NAME_BUCKETS 128

/* Names repeat thousands of times in an answer: each is kept once. */
struct name {
	struct name *next;
	const char *string;
};

struct reading {
	struct arena *arena;
	XML_Parser parser;
	struct xml *root;
	struct xml *open[XML_MAX_DEPTH]; /* from the root to the element being read */
	struct xml *last[XML_MAX_DEPTH]; /* the last child of each so far */
	size_t depth;
	size_t element_count;
	struct text text;
	struct name *names[NAME_BUCKETS];
	const char *refusal; /* why we stopped it ourselves */
	enum error_kind refusal_kind;
};

static void refuse(struct reading *reading, enum error_kind kind, const char *why)
{
	if (reading->refusal == NULL) {
		reading->refusal = why;
		reading->refusal_kind = kind;
	}
	XML_StopParser(reading->parser, XML_FALSE);
}

static const char *name_once(struct reading *reading, const char *string)
{
	const char *colon = strrchr(string, ':');
	unsigned hash = 5381;
	struct name **bucket;
	struct name *name;

	if (colon != NULL)
		string = colon + 1;
	for (const char *at = string; *at != '\0'; at++)
		hash = hash * 33 + (unsigned char)*at;
	bucket = &reading->names[hash % NAME_BUCKETS];
	for (name = *bucket; name != NULL; name = name->next) {
		if (strcmp(name->string, string) == 0)
			return name->string;
	}
	name = ARENA_NEW(reading->arena, struct name);
	name->string = arena_string(reading->arena, string);
	name->next = *bucket;
	*bucket = name;
	return name->string;
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct reading *reading = data;
	struct xml *xml;

	(void)attributes;
	if (reading->refusal != NULL)
		return;
	if (reading->depth == XML_MAX_DEPTH) {
		refuse(reading, ERROR_LIMIT, "elements are nested deeper than 64");
		return;
	}
	if (reading->element_count++ == XML_MAX_ELEMENTS) {
		refuse(reading, ERROR_LIMIT, "there are more than 2,000,000 elements");
		return;
	}
	xml = ARENA_NEW(reading->arena, struct xml);
	xml->name = name_once(reading, name);
	xml->text = "";
	if (reading->depth == 0)
		reading->root = xml;
	else if (reading->last[reading->depth - 1] != NULL)
		reading->last[reading->depth - 1]->next = xml;
	else
		reading->open[reading->depth - 1]->first_child = xml;
	if (reading->depth > 0)
		reading->last[reading->depth - 1] = xml;
	reading->open[reading->depth] = xml;
	reading->last[reading->depth] = NULL;
	reading->depth++;
	text_clear(&reading->text);
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
	struct reading *reading = data;
	struct xml *xml;

	(void)name;
	if (reading->refusal != NULL)
		return;
	xml = reading->open[--reading->depth];
	if (xml->first_child == NULL && reading->text.length > 0)
		xml->text = arena_copy(reading->arena, reading->text.at, reading->text.length);
	text_clear(&reading->text);
}

static void XMLCALL on_text(void *data, const XML_Char *bytes, int length)
{
	struct reading *reading = data;

	text_append_bytes(&reading->text, bytes, (size_t)length);
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id,
                               int has_internal_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	refuse(data, ERROR_MALFORMED, "there is a document type declaration (is it HTML?)");
}

/* What stands there, fit for a sentence. */
static const char *excerpt(struct arena *arena, const char *bytes, size_t length)
{
	size_t count = length < 40 ? length : 40;
	char *out = arena_copy(arena, bytes, count);

	for (size_t i = 0; i < count; i++) {
		if (!isprint((unsigned char)out[i]))
			out[i] = ' ';
	}
	return out;
}

static bool tell_failure(const struct reading *reading, const char *bytes, size_t length, struct error *error)
{
	unsigned long line = (unsigned long)XML_GetCurrentLineNumber(reading->parser);
	XML_Index index = XML_GetCurrentByteIndex(reading->parser);
	size_t offset = index >= 0 && (size_t)index <= length ? (size_t)index : length;
	const char *why = reading->refusal;

	if (why == NULL)
		why = XML_ErrorString(XML_GetErrorCode(reading->parser));
	if (offset == length)
		return error_set(error, ERROR_MALFORMED, "not well-formed XML: line %lu: %s at the end", line, why);
	return error_set(error, reading->refusal != NULL ? reading->refusal_kind : ERROR_MALFORMED,
	                 "not XML that can be read: line %lu: %s: \"%s\"", line, why,
	                 excerpt(reading->arena, bytes + offset, length - offset));
}

const struct xml *xml_parse(struct arena *arena, const char *bytes, size_t length, struct error *error)
{
	struct reading reading = {.arena = arena};
	bool good;

	if (length > XML_MAX_BYTES) {
		error_set(error, ERROR_LIMIT, "%zu bytes of XML are more than the 16 MiB that are read", length);
		return NULL;
	}
	reading.parser = XML_ParserCreate("UTF-8");
	if (reading.parser == NULL) {
		error_set(error, ERROR_LIMIT, "no memory left to read XML");
		return NULL;
	}
	text_init(&reading.text, XML_MAX_BYTES + 1);
	XML_SetUserData(reading.parser, &reading);
	XML_SetElementHandler(reading.parser, on_start, on_end);
	XML_SetCharacterDataHandler(reading.parser, on_text);
	XML_SetStartDoctypeDeclHandler(reading.parser, on_doctype);
	good = XML_Parse(reading.parser, bytes, (int)length, XML_TRUE) == XML_STATUS_OK && reading.refusal == NULL;
	if (!good)
		tell_failure(&reading, bytes, length, error);
	XML_ParserFree(reading.parser);
	text_done(&reading.text);
	return good ? reading.root : NULL;
}

static const struct xml *find_named(const struct xml *xml, const char *name, size_t length)
{
	for (; xml != NULL; xml = xml->next) {
		if (strncmp(xml->name, name, length) == 0 && xml->name[length] == '\0')
			return xml;
	}
	return NULL;
}

const struct xml *xml_child(const struct xml *xml, const char *name)
{
	return xml != NULL ? find_named(xml->first_child, name, strlen(name)) : NULL;
}

const struct xml *xml_path(const struct xml *xml, const char *path)
{
	while (xml != NULL && *path != '\0') {
		size_t length = strcspn(path, "/");

		xml = find_named(xml->first_child, path, length);
		path += length + (path[length] == '/');
	}
	return xml;
}

const char *xml_path_text(const struct xml *xml, const char *path)
{
	const struct xml *found = xml_path(xml, path);

	return found != NULL ? found->text : NULL;
}

const struct xml *xml_next(const struct xml *xml)
{
	return xml != NULL ? find_named(xml->next, xml->name, strlen(xml->name)) : NULL;
}
