#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

static int ends[2];
static int standard_error;
static char written[65536];

static void set_up(void)
{
	cr_assert_eq(pipe(ends), 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	standard_error = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
}

static void tear_down(void)
{
	dup2(standard_error, STDERR_FILENO);
}

TestSuite(log, .init = set_up, .fini = tear_down);

/* What was written since the last call. */
static const char *logged(void)
{
	ssize_t length = read(ends[0], written, sizeof(written) - 1);

	written[length < 0 ? 0 : length] = '\0';
	return written;
}

Test(log, levels_by_name)
{
	enum log_level level = LOG_INFO;

	cr_assert(log_parse_level("debug", &level));
	cr_assert_eq(level, LOG_DEBUG);
	cr_assert(log_parse_level("error", &level));
	cr_assert_eq(level, LOG_ERROR);
	cr_assert(!log_parse_level("ERROR", &level));
	cr_assert(!log_parse_level(NULL, &level));
}

Test(log, text_line)
{
	log_configure(LOG_INFO, LOG_TEXT);
	log_event(LOG_INFO, "group changed", "zone", "use1-az1", "left", NULL, "reason", "a \"b\"", "empty", "", NULL);
	const char *line = logged();
	cr_assert_eq(strspn(line, "0123456789:"), 8, "%s", line);
	cr_assert_str_eq(line + 8, " info  group changed zone=use1-az1 reason=\"a \\\"b\\\"\" empty=\"\"\n");
	log_event(LOG_ERROR, "x", NULL);
	cr_assert_str_eq(logged() + 8, " error x\n");
}

Test(log, json_line)
{
	struct arena arena;
	struct error error;
	struct wallclock at;

	arena_init(&arena, "test", 1 << 20);
	log_configure(LOG_INFO, LOG_JSON);
	log_event(LOG_WARN, "say \"it\"", "zone", "use1-az1", "path", "a\\b\x01", NULL);
	const char *line = logged();
	struct json *json = json_parse(&arena, line, strlen(line), &error);
	cr_assert_not_null(json, "%s", line);
	cr_assert_str_eq(json_get_string(json, "level"), "warn");
	cr_assert_str_eq(json_get_string(json, "message"), "say \"it\"");
	cr_assert_str_eq(json_get_string(json, "zone"), "use1-az1");
	cr_assert_str_eq(json_get_string(json, "path"), "a\\b\x01");
	cr_assert(wallclock_parse(json_get_string(json, "time"), &at));
	cr_assert(at.us > 1700000000000000);
	arena_done(&arena);
}

Test(log, least_level_holds)
{
	log_configure(LOG_WARN, LOG_TEXT);
	log_event(LOG_INFO, "quiet", NULL);
	cr_assert_str_eq(logged(), "");
	log_event(LOG_WARN, "loud", NULL);
	cr_assert_str_eq(logged() + 8, " warn  loud\n");
}

Test(log, nothing_forges_a_line_or_reaches_the_terminal)
{
	log_configure(LOG_INFO, LOG_TEXT);
	log_event(LOG_INFO, "a\nb", "k", "x\n12:00:00 error forged", "e", "\x1b[2J", "c1", "\xc2\x9b", "bad", "\xff!",
	          NULL);
	cr_assert_str_eq(logged() + 8,
	                 " info  a\\nb k=\"x\\n12:00:00 error forged\" e=\"\\u001b[2J\" c1=\\u009b bad=\xef\xbf\xbd!\n");
	log_configure(LOG_INFO, LOG_JSON);
	log_event(LOG_INFO, "a\r\nb", "k", "\t\x7f\xff", NULL);
	const char *line = logged();
	cr_assert_not_null(strstr(line, "\"message\":\"a\\r\\nb\",\"k\":\"\\t\\u007f\xef\xbf\xbd\"}\n"), "%s", line);
}

Test(log, long_values_are_cut_between_characters)
{
	char value[6000];

	for (size_t i = 0; i < 5997; i += 3)
		memcpy(value + i, "\xe2\x82\xac", 3);
	value[5997] = '\0';
	log_configure(LOG_INFO, LOG_JSON);
	log_event(LOG_INFO, "m", "k", value, "z", "end", NULL);
	const char *at = strstr(logged(), "\"k\":\"");
	cr_assert_not_null(at);
	cr_assert_eq(strcspn(at + 5, "\""), 4095);
	cr_assert(text_starts_with(at + 5 + 4095, "\",\"z\":\"end\"}\n"));
}

Test(log, errno_is_kept)
{
	close(STDERR_FILENO);
	errno = ENOENT;
	log_event(LOG_ERROR, "to nobody", NULL);
	cr_assert_eq(errno, ENOENT);
}
