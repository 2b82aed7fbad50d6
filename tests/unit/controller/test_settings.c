#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "settings.h"

struct variable {
	const char *name;
	const char *value;
};

static const char *lookup(void *context, const char *name)
{
	for (const struct variable *variable = context; variable && variable->name; variable++)
		if (text_equal(variable->name, name))
			return variable->value;
	return NULL;
}

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, "test", 1u << 20);
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(settings, .init = set_up, .fini = tear_down);

static bool load(const char *const *arguments, struct variable *variables, struct settings *out, struct error *error)
{
	int count = 0;
	bool help;

	while (arguments && arguments[count])
		count++;
	return settings_load(&arena, count, arguments, lookup, variables, out, &help, error);
}

static const char *write_file(const char *text)
{
	char *path = arena_string(&arena, "/tmp/zonevac-settings-XXXXXX");
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	return path;
}

Test(settings, defaults)
{
	struct settings settings;
	struct error error = {0};

	cr_assert(load(NULL, NULL, &settings, &error), "%s", error.message);
	cr_assert_str_eq(settings.table, "zonevac-journal");
	cr_assert_str_eq(settings.listen, "127.0.0.1:8080");
	cr_assert(settings.leader_elect);
	cr_assert_not(settings.create_journal);
	cr_assert_eq(settings.resync_ms, 300000);
	cr_assert_eq(settings.poll_interval_ms, 5000);
	cr_assert_null(settings.region);
	cr_assert_not(settings.log_format_given);
}

Test(settings, flag_before_variable_before_file_before_default)
{
	const char *path = write_file("resync: 1m\npoll-interval: 2s\ncluster-name: of-file\ncreate-journal: true\n");
	const char *arguments[] = {"--config", path, "--resync=3m", NULL};
	struct variable variables[] = {{"ZONEVAC_RESYNC", "2m"}, {"ZONEVAC_POLL_INTERVAL", "1s"}, {0}};
	struct settings settings;
	struct error error = {0};

	cr_assert(load(arguments, variables, &settings, &error), "%s", error.message);
	unlink(path);
	cr_assert_eq(settings.resync_ms, 180000);
	cr_assert_eq(settings.poll_interval_ms, 1000);
	cr_assert_str_eq(settings.cluster_name, "of-file");
	cr_assert(settings.create_journal);
}

Test(settings, both_forms_of_a_flag_and_a_bare_switch)
{
	const char *arguments[] = {"--journal", "dynamodb:other", "--leader-elect=false", "--create-journal", NULL};
	struct settings settings;
	struct error error = {0};

	cr_assert(load(arguments, NULL, &settings, &error), "%s", error.message);
	cr_assert_str_eq(settings.table, "other");
	cr_assert_not(settings.leader_elect);
	cr_assert(settings.create_journal);
}

static void refused(const char *one, const char *two, const char *says)
{
	const char *arguments[] = {one, two, NULL};
	struct settings settings;
	struct error error = {0};

	cr_assert_not(load(arguments, NULL, &settings, &error), "%s should be refused", one);
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, says), "\"%s\" should say \"%s\"", error.message, says);
}

Test(settings, what_is_wrong_is_named_with_what_is_allowed)
{
	refused("--regon", "x", "there is no flag --regon");
	refused("us-east-1", NULL, "is not a flag");
	refused("--region", NULL, "--region needs a value");
	refused("--resync", "soon", "--resync is \"soon\"; it must be a duration");
	refused("--resync", "0s", "at least 100ms");
	refused("--leader-elect=perhaps", NULL, "must be true or false");
	refused("--log-format", "xml", "text or json");
	refused("--log-level", "loud", "debug, info, warn or error");
	refused("--journal", "file:x", "dynamodb:TABLE");
	refused("--journal", "dynamodb:", "dynamodb:TABLE");
	refused("--journal", "dynamodb:a b", "3 to 255");
	refused("--lease-namespace", "../../api", "--lease-namespace is \"../../api\"");
	refused("--lease-namespace=", NULL, "1 to 63");
	refused("--config", "/nonexistent/zonevac.yaml", "/nonexistent/zonevac.yaml");
}

Test(settings, a_wrong_file_names_file_and_key)
{
	const char *unknown = write_file("regoin: x\n");
	const char *nested = write_file("resync: {a: 1}\n");
	const char *list = write_file("- a\n");

	refused("--config", unknown, "there is no setting \"regoin\"");
	refused("--config", nested, "resync must be a single value");
	refused("--config", list, "must be a mapping");
	unlink(unknown);
	unlink(nested);
	unlink(list);
}

Test(settings, a_wrong_variable_is_named)
{
	struct variable variables[] = {{"ZONEVAC_LEADER_ELECT", "yes"}, {0}};
	struct settings settings;
	struct error error = {0};

	cr_assert_not(load(NULL, variables, &settings, &error));
	cr_assert_not_null(strstr(error.message, "ZONEVAC_LEADER_ELECT is \"yes\""), "%s", error.message);
}

Test(settings, help_is_asked_for)
{
	const char *arguments[] = {"--help", NULL};
	struct settings settings;
	struct error error = {0};
	bool help = false;

	cr_assert(settings_load(&arena, 1, arguments, lookup, NULL, &settings, &help, &error));
	cr_assert(help);
}
