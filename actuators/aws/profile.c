#include "aws/profile.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

struct property {
	struct property *next;
	const char *key;
	const char *value;
};

struct profile {
	struct property *properties;
};

/* How much a section counts; of two with the same key the weightier wins, of equals the later. */
enum weight { WEIGHT_OTHER, WEIGHT_BARE_DEFAULT, WEIGHT_CONFIG, WEIGHT_CREDENTIALS };

struct weighed {
	struct property property; /* first, so that the list of the profile is made of these */
	enum weight weight;
	char *continued;   /* the value, once more lines were added to it */
	size_t room_bytes; /* of `continued` */
};

struct reading {
	struct arena *arena;
	const char *file; /* "config file" or "credentials file" */
	bool is_config;
	const char *name;
	struct profile *profile; /* NULL until the profile is seen */
	bool in_section;
	enum weight weight;
	bool in_property;          /* a continuation may follow */
	struct weighed *continued; /* NULL: the property is not ours */
	size_t line;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct weighed *find(const struct profile *profile, const char *key)
{
	for (struct property *at = profile != NULL ? profile->properties : NULL; at != NULL; at = at->next) {
		if (strcasecmp(at->key, key) == 0)
			return (struct weighed *)at;
	}
	return NULL;
}

const char *profile_get(const struct profile *profile, const char *key)
{
	const struct weighed *found = find(profile, key);

	return found != NULL ? found->property.value : NULL;
}

/* What a section's name (between the brackets, trimmed) has to do with our profile. */
static enum weight weigh_section(const struct reading *reading, const char *title)
{
	static const char prefix[] = "profile";
	size_t size = sizeof(prefix) - 1;

	if (!reading->is_config)
		return strcmp(title, reading->name) == 0 ? WEIGHT_CREDENTIALS : WEIGHT_OTHER;
	if (strcmp(title, "default") == 0)
		return strcmp(reading->name, "default") == 0 ? WEIGHT_BARE_DEFAULT : WEIGHT_OTHER;
	if (strncmp(title, prefix, size) != 0 || !blank(title[size]))
		return WEIGHT_OTHER;
	for (title += size; blank(*title); title++)
		;
	return strcmp(title, reading->name) == 0 ? WEIGHT_CONFIG : WEIGHT_OTHER;
}

static bool complain(const struct reading *reading, struct error *error, const char *what)
{
	return error_set(error, ERROR_INPUT, "AWS %s: line %zu: %s", reading->file, reading->line, what);
}

static bool read_section(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *end = memchr(line, ']', length);
	const char *rest;

	if (end == NULL)
		return complain(reading, error, "a section begins with \"[\" but has no \"]\"");
	for (rest = end + 1; rest < line + length && blank(*rest); rest++)
		;
	if (rest < line + length && *rest != '#' && *rest != ';')
		return complain(reading, error, "there is something behind the \"]\" of a section");
	reading->weight = weigh_section(reading, text_trim(reading->arena, line + 1, (size_t)(end - line - 1)));
	reading->in_section = true;
	reading->in_property = false;
	reading->continued = NULL;
	if (reading->weight != WEIGHT_OTHER && reading->profile == NULL)
		reading->profile = ARENA_NEW(reading->arena, struct profile);
	return true;
}

/* A comment behind a value needs white space before it, because secrets may contain "#". */
static size_t length_without_comment(const char *line, size_t length)
{
	for (size_t i = 1; i < length; i++) {
		if ((line[i] == '#' || line[i] == ';') && blank(line[i - 1]))
			return i;
	}
	return length;
}

static void keep_property(struct reading *reading, const char *key, const char *value)
{
	struct weighed *found = find(reading->profile, key);

	if (found != NULL && found->weight > reading->weight)
		return;
	if (found == NULL) {
		found = ARENA_NEW(reading->arena, struct weighed);
		found->property.key = key;
		found->property.next = reading->profile->properties;
		reading->profile->properties = &found->property;
	}
	found->property.value = value;
	found->room_bytes = 0;
	found->weight = reading->weight;
	reading->continued = found;
}

static bool read_property(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *equals;
	char *key;

	length = length_without_comment(line, length);
	equals = memchr(line, '=', length);
	if (equals == NULL)
		return complain(reading, error, "neither a section nor \"key = value\"");
	if (!reading->in_section)
		return complain(reading, error, "\"key = value\" before the first section");
	key = text_trim(reading->arena, line, (size_t)(equals - line));
	if (key[0] == '\0')
		return complain(reading, error, "there is no key before the \"=\"");
	reading->in_property = true;
	reading->continued = NULL;
	if (reading->weight != WEIGHT_OTHER)
		keep_property(reading, key, text_trim(reading->arena, equals + 1, (size_t)(line + length - equals - 1)));
	return true;
}

static void continue_value(struct arena *arena, struct weighed *weighed, const char *more)
{
	size_t length = strlen(weighed->property.value);
	size_t more_length = strlen(more);
	char *value = weighed->continued;

	if (length + more_length + 2 > weighed->room_bytes) {
		weighed->room_bytes = 2 * (length + more_length + 2);
		value = arena_alloc(arena, weighed->room_bytes);
		memcpy(value, weighed->property.value, length);
	}
	value[length] = '\n';
	memcpy(value + length + 1, more, more_length + 1);
	weighed->continued = value;
	weighed->property.value = value;
}

static bool read_continuation(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *more = text_trim(reading->arena, line, length);

	if (!reading->in_property)
		return complain(reading, error, "an indented line continues a property, but there is none before it");
	if (reading->continued != NULL)
		continue_value(reading->arena, reading->continued, more);
	return true;
}

static bool read_line(struct reading *reading, const char *line, size_t length, struct error *error)
{
	size_t indent = 0;

	while (length > 0 && blank(line[length - 1]))
		length--;
	while (indent < length && blank(line[indent]))
		indent++;
	if (indent == length || line[0] == '#' || line[0] == ';')
		return true;
	if (indent > 0)
		return read_continuation(reading, line, length, error);
	if (line[0] == '[')
		return read_section(reading, line, length, error);
	return read_property(reading, line, length, error);
}

static bool read_file_text(struct reading *reading, const char *text, struct error *error)
{
	if (text == NULL)
		return true;
	if (text_starts_with(text, "\xef\xbb\xbf"))
		text += 3;
	for (reading->line = 1; *text != '\0'; reading->line++) {
		size_t length = strcspn(text, "\n");

		if (!read_line(reading, text, length, error))
			return false;
		text += length + (text[length] == '\n');
	}
	return true;
}

bool profile_parse(struct arena *arena, const char *config_text, const char *credentials_text, const char *name,
                   const struct profile **out, struct error *error)
{
	struct reading config = {.arena = arena, .file = "config file", .is_config = true, .name = name};
	struct reading credentials = {.arena = arena, .file = "credentials file", .name = name};

	if (!read_file_text(&config, config_text, error))
		return false;
	credentials.profile = config.profile;
	if (!read_file_text(&credentials, credentials_text, error))
		return false;
	*out = credentials.profile;
	return true;
}
