#include "settings.h"

#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"

#define CONFIG_FILE_MAX (1u << 20)

enum setting_kind { SETTING_TEXT, SETTING_BOOL, SETTING_DURATION, SETTING_LOG_FORMAT, SETTING_LOG_LEVEL };

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t offset;
	const char *otherwise; /* default, as one would write it; NULL = none */
	const char *value;     /* what stands for it in the help */
	const char *prose;
};

#define AT(field) offsetof(struct settings, field)

static const struct setting table[] = {
	{"region", SETTING_TEXT, AT(region), NULL, "REGION",
     "region of the controller; default: AWS_REGION, AWS_DEFAULT_REGION, the profile's"},
	{"journal", SETTING_TEXT, AT(journal), "dynamodb:zonevac-journal", "dynamodb:TABLE",
     "where every open change is recorded"},
	{"create-journal", SETTING_BOOL, AT(create_journal), "false", "BOOL", "make the journal's table if it is missing"},
	{"kubeconfig", SETTING_TEXT, AT(kubeconfig), NULL, "FILE",
     "how to reach the cluster; default: KUBECONFIG, the pod's service account, ~/.kube/config"},
	{"context", SETTING_TEXT, AT(context), NULL, "NAME", "context of the kubeconfig; default: its current-context"},
	{"cluster-name", SETTING_TEXT, AT(cluster_name), NULL, "NAME",
     "readable name of this cluster, as in the tags of its Auto Scaling groups"},
	{"listen", SETTING_TEXT, AT(listen), "127.0.0.1:8080", "ADDRESS:PORT",
     "serve /healthz, /readyz and /metrics there"},
	{"leader-elect", SETTING_BOOL, AT(leader_elect), "true", "BOOL", "act only while holding the lease"},
	{"lease-namespace", SETTING_TEXT, AT(lease_namespace), NULL, "NAME", "namespace of the lease; default: the pod's"},
	{"resync", SETTING_DURATION, AT(resync_ms), "5m", "DURATION",
     "while a zone is held, look at everything again so often"},
	{"poll-interval", SETTING_DURATION, AT(poll_interval_ms), "5s", "DURATION", "look at what is settling so often"},
	{"log-format", SETTING_LOG_FORMAT, AT(log_format), NULL, "text|json", "default: json in a cluster, text elsewhere"},
	{"log-level", SETTING_LOG_LEVEL, AT(log_level), "info", "debug|info|warn|error", "least level that is logged"},
};

#define SETTINGS (sizeof(table) / sizeof(table[0]))

static const struct setting *find(const char *name, size_t length)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
			return &table[i];
	return NULL;
}

static bool set(struct arena *arena, struct settings *out, const struct setting *setting, const char *value,
                const char *where, struct error *error)
{
	void *field = (char *)out + setting->offset;

	switch (setting->kind) {
	case SETTING_TEXT:
		*(const char **)field = arena_string(arena, value);
		return true;
	case SETTING_BOOL:
		if (text_parse_bool(value, field))
			return true;
		return error_set(error, ERROR_INPUT, "%s is \"%s\"; it must be true or false", where, value);
	case SETTING_DURATION:
		if (text_parse_duration_ms(value, field) && *(long long *)field >= 100)
			return true;
		return error_set(error, ERROR_INPUT, "%s is \"%s\"; it must be a duration of at least 100ms such as 5m or 90s",
		                 where, value);
	case SETTING_LOG_FORMAT:
		out->log_format_given = true;
		*(enum log_format *)field = text_equal(value, "json") ? LOG_JSON : LOG_TEXT;
		if (text_equal(value, "json") || text_equal(value, "text"))
			return true;
		return error_set(error, ERROR_INPUT, "%s is \"%s\"; it must be text or json", where, value);
	case SETTING_LOG_LEVEL:
		if (log_parse_level(value, field))
			return true;
		return error_set(error, ERROR_INPUT, "%s is \"%s\"; it must be debug, info, warn or error", where, value);
	}
	return false;
}

static bool set_defaults(struct arena *arena, struct settings *out, struct error *error)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (table[i].otherwise && !set(arena, out, &table[i], table[i].otherwise, table[i].name, error))
			return false;
	out->log_format_given = false;
	return true;
}

/* Flags. */

struct given {
	const char *values[SETTINGS];
	const char *config;
};

static bool take_flag(struct arena *arena, int count, const char *const *arguments, int *at, struct given *given,
                      struct error *error)
{
	const char *flag = arguments[*at] + 2;
	const char *equals = strchr(flag, '=');
	size_t length = equals ? (size_t)(equals - flag) : strlen(flag);
	const struct setting *setting = find(flag, length);
	bool config = length == strlen("config") && strncmp(flag, "config", length) == 0;
	const char *value = equals ? equals + 1 : NULL;

	if (!setting && !config)
		return error_set(error, ERROR_INPUT, "there is no flag --%s; `zonevac controller --help` lists them",
		                 arena_copy(arena, flag, length));
	if (!value && setting && setting->kind == SETTING_BOOL)
		value = "true";
	else if (!value && *at + 1 < count)
		value = arguments[++*at];
	if (!value)
		return error_set(error, ERROR_INPUT, "--%s needs a value: --%s %s", flag, flag,
		                 setting ? setting->value : "FILE");
	if (config)
		given->config = value;
	else
		given->values[setting - table] = value;
	return true;
}

static bool take_flags(struct arena *arena, int count, const char *const *arguments, struct given *given, bool *help,
                       struct error *error)
{
	for (int i = 0; i < count; i++) {
		if (text_equal(arguments[i], "--help") || text_equal(arguments[i], "-h")) {
			*help = true;
			return true;
		}
		if (!text_starts_with(arguments[i], "--"))
			return error_set(
				error, ERROR_INPUT,
				"\"%s\" is not a flag; flags begin with --, and the value of a BOOL is written --flag=false; see "
				"`zonevac controller --help`",
				arguments[i]);
		if (!take_flag(arena, count, arguments, &i, given, error))
			return false;
	}
	return true;
}

/* The file. */

static const char *scalar(struct arena *arena, const struct json *value)
{
	switch (json_type(value)) {
	case JSON_STRING:
		return json_string(value);
	case JSON_BOOL:
	case JSON_INTEGER:
		return json_print(value, arena);
	default:
		return NULL;
	}
}

static bool take_file(struct arena *arena, const char *path, struct settings *out, struct error *error)
{
	char *text;
	size_t length;
	const struct json *file, *value;
	const char *key;

	if (!file_read(arena, path, CONFIG_FILE_MAX, &text, &length, error)) {
		error->kind = ERROR_INPUT; /* whoever named it meant it */
		return error_wrap(error, "--config");
	}
	file = yaml_parse(arena, text, length, error);
	if (!file)
		return error_wrap(error, "--config %s", path);
	if (json_type(file) != JSON_OBJECT)
		return error_set(error, ERROR_INPUT, "--config %s: it must be a mapping of setting names to values", path);
	for (size_t i = 0; (value = json_member(file, i, &key)) != NULL; i++) {
		const struct setting *setting = find(key, strlen(key));

		if (!setting)
			return error_set(error, ERROR_INPUT,
			                 "--config %s: there is no setting \"%s\"; `zonevac controller --help` lists them", path,
			                 key);
		if (!scalar(arena, value))
			return error_set(error, ERROR_INPUT, "--config %s: %s must be a single value", path, key);
		if (!set(arena, out, setting, scalar(arena, value), arena_printf(arena, "--config %s: %s", path, key), error))
			return false;
	}
	return true;
}

/* "create-journal" to "ZONEVAC_CREATE_JOURNAL". */
static const char *variable_of(struct arena *arena, const char *name)
{
	char *variable = arena_printf(arena, "ZONEVAC_%s", name);

	for (char *at = variable; *at; at++)
		*at = *at == '-' ? '_' : (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
	return variable;
}

/* RFC 1123 label, as Kubernetes wants the name of a namespace. */
static bool is_namespace(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 63 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
	       name[0] != '-' && name[length - 1] != '-';
}

static bool check(struct settings *settings, struct error *error)
{
	if (settings->lease_namespace && !is_namespace(settings->lease_namespace))
		return error_set(
			error, ERROR_INPUT,
			"--lease-namespace is \"%s\"; a namespace has 1 to 63 lower-case letters, digits and dashes, none at its ends",
			settings->lease_namespace);
	if (!text_starts_with(settings->journal, "dynamodb:") || settings->journal[strlen("dynamodb:")] == '\0')
		return error_set(error, ERROR_INPUT, "--journal is \"%s\"; it must be dynamodb:TABLE", settings->journal);
	settings->table = settings->journal + strlen("dynamodb:");
	if (strlen(settings->table) < 3 || strlen(settings->table) > 255 ||
	    strspn(settings->table, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
	        strlen(settings->table))
		return error_set(
			error, ERROR_INPUT,
			"--journal names the table \"%s\"; a table's name has 3 to 255 letters, digits, dashes, dots or underscores",
			settings->table);
	return true;
}

bool settings_load(struct arena *arena, int count, const char *const *arguments, settings_getenv getenv_of,
                   void *getenv_context, struct settings *out, bool *help, struct error *error)
{
	struct given given = {0};

	*out = (struct settings){0};
	*help = false;
	if (!take_flags(arena, count, arguments, &given, help, error))
		return false;
	if (*help)
		return true;
	if (!set_defaults(arena, out, error))
		return false;
	if (!given.config)
		given.config = getenv_of(getenv_context, "ZONEVAC_CONFIG");
	if (given.config && given.config[0] && !take_file(arena, given.config, out, error))
		return false;
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *variable = variable_of(arena, table[i].name);
		const char *value = getenv_of(getenv_context, variable);

		if (value && value[0] && !set(arena, out, &table[i], value, variable, error))
			return false;
		if (given.values[i] &&
		    !set(arena, out, &table[i], given.values[i], arena_printf(arena, "--%s", table[i].name), error))
			return false;
	}
	return check(out, error);
}

void settings_print_help(FILE *out)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		bool flag = table[i].kind == SETTING_BOOL;

		fprintf(out, "  --%s%s%s%s\n      %s", table[i].name, flag ? "[=" : " ", table[i].value, flag ? "]" : "",
		        table[i].prose);
		if (table[i].otherwise)
			fprintf(out, " (default %s)", table[i].otherwise);
		fprintf(out, "\n");
	}
	fprintf(
		out,
		"  --config FILE\n      YAML file of the settings above, each under its flag's name\n"
		"\nEach has a variable too: --create-journal is ZONEVAC_CREATE_JOURNAL. Order: flag, variable, file, default.\n"
		"AWS credentials and endpoints come from the SDKs' own variables and files (AWS_PROFILE, AWS_ENDPOINT_URL, ...).\n");
}
