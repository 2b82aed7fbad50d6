#include "aws/profile.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

/* A file of a mebibyte, all of it lines of a few letters. */
#define SCRATCH_MAX_BYTES ((size_t)64 * 1024 * 1024)

/* Also a setting below another one, which has neither lines added to it nor anything below. */
struct property {
	struct property *next;
	const char *key;
	const char *value;
	struct property *below;
	char *joined; /* the value, once lines were added to it */
	size_t joined_bytes;
};

struct profile {
	struct property *properties;
};

/* How a section's name begins, and whether it must. */
enum naming { NAMING_BARE, NAMING_PROFILE, NAMING_SERVICES };

struct reading {
	struct arena *arena;   /* of what is kept */
	struct arena *scratch; /* of what is only looked at: other profiles may be many */
	const char *file;      /* "config file" or "credentials file" */
	enum naming naming;
	const char *name;
	struct profile *profile;    /* NULL until its section is seen */
	bool is_prefixed;           /* [profile default] was seen, so that [default] counts no more */
	bool in_section;            /* of whatever kind */
	bool is_ours;               /* and it is the one that is read */
	bool in_property;           /* a continuation may follow */
	bool is_empty;              /* and it is a setting below the property, as that has no value */
	struct property *continued; /* NULL: the property is not ours */
	size_t line;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct property *find(struct property *list, const char *key)
{
	while (list != NULL && strcasecmp(list->key, key) != 0)
		list = list->next;
	return list;
}

const char *profile_get(const struct profile *profile, const char *key)
{
	const struct property *found = profile != NULL ? find(profile->properties, key) : NULL;

	return found != NULL ? found->value : NULL;
}

const char *profile_get_below(const struct profile *profile, const char *key, const char *below)
{
	const struct property *above = profile != NULL ? find(profile->properties, key) : NULL;
	const struct property *found = above != NULL ? find(above->below, below) : NULL;

	return found != NULL ? found->value : NULL;
}

static bool complain(const struct reading *reading, struct error *error, const char *what)
{
	return error_set(error, ERROR_INPUT, "AWS %s: line %zu: %s", reading->file, reading->line, what);
}

/* The name behind "profile " or "services ", or NULL when the section does not begin so. */
static const char *name_behind(const char *title, const char *prefix)
{
	if (!text_starts_with(title, prefix) || !blank(title[strlen(prefix)]))
		return NULL;
	for (title += strlen(prefix); blank(*title); title++)
		;
	return title;
}

static bool is_our_section(struct reading *reading, const char *title)
{
	const char *name = title;

	if (strpbrk(reading->name, " \t\r") != NULL)
		return false;
	if (reading->naming == NAMING_SERVICES)
		return text_equal(name_behind(title, "services"), reading->name);
	if (reading->naming == NAMING_PROFILE)
		name = name_behind(title, "profile");
	if (reading->naming == NAMING_PROFILE && name == NULL)
		return text_equal(title, "default") && text_equal(reading->name, "default") && !reading->is_prefixed;
	if (!text_equal(name, reading->name))
		return false;
	if (reading->naming == NAMING_PROFILE && !reading->is_prefixed && reading->profile != NULL)
		reading->profile->properties = NULL;
	reading->is_prefixed = true;
	return true;
}

static bool read_section(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *end;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '#' || line[i] == ';')
			length = i;
	}
	end = memchr(line, ']', length);
	if (end == NULL)
		return complain(reading, error, "a section begins with \"[\" but has no \"]\"");
	reading->in_section = true;
	reading->is_ours = is_our_section(reading, text_trim(reading->scratch, line + 1, (size_t)(end - line - 1)));
	reading->in_property = false;
	reading->continued = NULL;
	if (reading->is_ours && reading->profile == NULL)
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

/* The last one counts, as in the SDKs. */
static struct property *keep(struct arena *arena, struct property **list, const char *key, const char *value)
{
	struct property *found = find(*list, key);

	if (found == NULL) {
		found = ARENA_NEW(arena, struct property);
		found->next = *list;
		*list = found;
	}
	*found =
		(struct property){.next = found->next, .key = arena_string(arena, key), .value = arena_string(arena, value)};
	return found;
}

/* Keys are single words; what is none is left out, as the SDKs do. */
static bool is_key(const char *key)
{
	return strpbrk(key, " \t\r[]\"'") == NULL;
}

static bool read_property(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *equals;
	const char *value;
	const char *key;

	length = length_without_comment(line, length);
	equals = memchr(line, '=', length);
	if (equals == NULL)
		return complain(reading, error, "neither a section nor \"key = value\"");
	if (!reading->in_section)
		return complain(reading, error, "\"key = value\" before the first section");
	key = text_trim(reading->scratch, line, (size_t)(equals - line));
	if (key[0] == '\0')
		return complain(reading, error, "there is no key before the \"=\"");
	value = text_trim(reading->scratch, equals + 1, (size_t)(line + length - equals - 1));
	reading->in_property = true;
	reading->is_empty = value[0] == '\0';
	reading->continued = NULL;
	if (reading->is_ours && is_key(key))
		reading->continued = keep(reading->arena, &reading->profile->properties, key, value);
	return true;
}

static void continue_value(struct arena *arena, struct property *property, const char *more)
{
	size_t length = strlen(property->value);
	size_t more_length = strlen(more);
	char *value = property->joined;

	if (length + more_length + 2 > property->joined_bytes) {
		property->joined_bytes = 2 * (length + more_length + 2);
		value = arena_alloc(arena, property->joined_bytes);
		memcpy(value, property->value, length);
	}
	value[length] = '\n';
	memcpy(value + length + 1, more, more_length + 1);
	property->joined = value;
	property->value = value;
}

static bool read_continuation(struct reading *reading, const char *line, size_t length, struct error *error)
{
	const char *more = text_trim(reading->scratch, line, length);
	const char *equals = strchr(more, '=');
	const char *key;

	if (!reading->in_property)
		return complain(reading, error, "an indented line continues a property, but there is none before it");
	if (reading->is_empty && (equals == NULL || equals == more))
		return complain(reading, error, "an indented line below \"key =\" must be \"key = value\" itself");
	if (reading->continued == NULL)
		return true;
	continue_value(reading->arena, reading->continued, more);
	if (!reading->is_empty)
		return true;
	key = text_trim(reading->scratch, more, (size_t)(equals - more));
	if (is_key(key))
		keep(reading->arena, &reading->continued->below, key,
		     text_trim(reading->scratch, equals + 1, strlen(equals + 1)));
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

static bool read_lines(struct reading *reading, const char *text, struct error *error)
{
	for (reading->line = 1; *text != '\0'; reading->line++) {
		size_t length = strcspn(text, "\n");

		if (!read_line(reading, text, length, error))
			return false;
		text += length + (text[length] == '\n');
	}
	return true;
}

static bool read_file_text(struct reading *reading, const char *text, struct error *error)
{
	struct arena scratch;
	bool good;

	if (text == NULL)
		return true;
	if (text_starts_with(text, "\xef\xbb\xbf"))
		text += 3;
	arena_init(&scratch, "shared file", SCRATCH_MAX_BYTES);
	reading->scratch = &scratch;
	good = read_lines(reading, text, error);
	reading->scratch = NULL;
	arena_done(&scratch);
	return good;
}

bool profile_parse(struct arena *arena, const char *config_text, const char *credentials_text, const char *name,
                   const struct profile **out, struct error *error)
{
	struct reading config = {.arena = arena, .file = "config file", .naming = NAMING_PROFILE, .name = name};
	struct reading credentials = {.arena = arena, .file = "credentials file", .naming = NAMING_BARE, .name = name};

	if (!read_file_text(&config, config_text, error))
		return false;
	credentials.profile = config.profile;
	if (!read_file_text(&credentials, credentials_text, error))
		return false;
	*out = credentials.profile;
	return true;
}

bool profile_parse_services(struct arena *arena, const char *config_text, const char *name, const struct profile **out,
                            struct error *error)
{
	struct reading config = {.arena = arena, .file = "config file", .naming = NAMING_SERVICES, .name = name};

	if (!read_file_text(&config, config_text, error))
		return false;
	*out = config.profile;
	return true;
}
