#include "aws/credential_process.h"

#include <criterion/criterion.h>
#include <string.h>

#define MARK "ZYXWsecret"

static struct arena arena;
static struct error error;
static struct aws_credentials credentials;

static void set_up(void)
{
	arena_init(&arena, "test", 1024 * 1024);
	error = (struct error){0};
	credentials = (struct aws_credentials){.access_key_id = "before"};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(credential_process, .init = set_up, .fini = tear_down);

Test(credential_process, words_as_a_shell_splits_them)
{
	static const struct {
		const char *line;
		const char *words; /* each in <> */
	} cases[] = {
		{"my-process", "<my-process>"},
		{" my-process --foo \"one two\"  three\t", "<my-process><--foo><one two><three>"},
		{"'/opt/my tools/get' 'a \"b\" \\c'", "</opt/my tools/get><a \"b\" \\c>"},
		{"\"/opt/my tools/get\" \"a 'b'\"", "</opt/my tools/get><a 'b'>"},
		{"a\\ b \\\"c\\\\", "<a b><\"c\\>"},
		{"\"\\\"\\\\\\$\\`\\n\"", "<\"\\$`\\n>"},
		{"a'b'\"c\"d", "<abcd>"},
		{"a '' \"\"", "<a><><>"},
		{"a\n--b\\\nc \"d\\\ne\"", "<a><--bc><de>"},
		{"a $HOME `id` ~ * | b > c # d", "<a><$HOME><`id`><~><*><|><b><>><c><#><d>"},
		{"a 'b\\'c' '", "<a><b\\c >"},
		{"a -token=\xc3\xa9", "<a><-token=\xc3\xa9>"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *argv = NULL;
		const char *words = "";

		cr_assert(credential_process_split(&arena, cases[i].line, &argv, &error), "%s", error.message);
		for (; *argv != NULL; argv++)
			words = arena_printf(&arena, "%s<%s>", words, *argv);
		cr_assert_str_eq(words, cases[i].words, "%s: %s", cases[i].line, words);
	}
}

Test(credential_process, lines_that_are_refused_and_not_repeated)
{
	static const char *const lines[] = {"", " \t\n", "'" MARK, "a \"" MARK, "a " MARK "\\", "\"\" " MARK, "a \"\\"};
	const char *const *argv;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		error = (struct error){0};
		cr_assert_not(credential_process_split(&arena, lines[i], &argv, &error), "%s", lines[i]);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, "credential_process"), "%s", error.message);
		cr_assert_null(strstr(error.message, MARK), "%s", error.message);
	}
}

Test(credential_process, the_longest_line_and_one_more)
{
	char *line = arena_alloc(&arena, CREDENTIAL_PROCESS_MAX_BYTES + 2);
	const char *const *argv;
	size_t count = 0;

	for (size_t i = 0; i < CREDENTIAL_PROCESS_MAX_BYTES; i++)
		line[i] = i % 2 == 0 ? 'a' : ' ';
	cr_assert(credential_process_split(&arena, line, &argv, &error), "%s", error.message);
	while (argv[count] != NULL)
		count++;
	cr_assert_eq(count, CREDENTIAL_PROCESS_MAX_BYTES / 2);
	line[CREDENTIAL_PROCESS_MAX_BYTES] = 'b';
	cr_assert_not(credential_process_split(&arena, line, &argv, &error));
	cr_assert_not_null(strstr(error.message, "longer than 4096"), "%s", error.message);
}

static bool hear(const char *body)
{
	return credential_process_hear(&arena, body, strlen(body), &credentials, &error);
}

Test(credential_process, everything_there_is)
{
	cr_assert(hear("{\"Version\": 1, \"AccessKeyId\": \"foo\", \"SecretAccessKey\": \"bar\", \"SessionToken\": \"baz\","
	               "\"Expiration\": \"2030-01-01T00:00:00Z\", \"AccountId\": \"123\"}\n"),
	          "%s", error.message);
	cr_assert_str_eq(credentials.access_key_id, "foo");
	cr_assert_str_eq(credentials.secret_access_key, "bar");
	cr_assert_str_eq(credentials.session_token, "baz");
	cr_assert_eq(credentials.expires_at.us, (int64_t)1893456000 * 1000000);
	cr_assert_null(credentials.source);
	cr_assert_not(credentials.may_outlive);
}

Test(credential_process, token_and_end_may_be_missing)
{
	static const char *const bodies[] = {
		"{\"Version\":1,\"AccessKeyId\":\"foo\",\"SecretAccessKey\":\"bar\"}",
		"{\"Version\":1,\"AccessKeyId\":\"foo\",\"SecretAccessKey\":\"bar\",\"SessionToken\":null,\"Expiration\":null}",
		"{\"Version\":1,\"AccessKeyId\":\"foo\",\"SecretAccessKey\":\"bar\",\"SessionToken\":\"\",\"Expiration\":\"\"}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		cr_assert(hear(bodies[i]), "%s", error.message);
		cr_assert_str_eq(credentials.secret_access_key, "bar");
		cr_assert_null(credentials.session_token);
		cr_assert_eq(credentials.expires_at.us, 0);
	}
	cr_assert(hear("{\"Version\":1,\"AccessKeyId\":\"foo\",\"SecretAccessKey\":\"bar\",\"SessionToken\":\"baz\"}"));
	cr_assert_str_eq(credentials.session_token, "baz");
	cr_assert(hear(
		"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Expiration\":\"2030-01-01T02:00:00+02:00\"}"));
	cr_assert_eq(credentials.expires_at.us, (int64_t)1893456000 * 1000000);
}

Test(credential_process, only_as_long_as_it_is)
{
	const char *body = "{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}garbage";

	cr_assert(credential_process_hear(&arena, body, strlen(body) - strlen("garbage"), &credentials, &error));
	cr_assert_not(hear(body));
}

Test(credential_process, answers_that_are_refused_and_not_repeated)
{
	static const struct {
		const char *body;
		const char *part;
	} cases[] = {
		{"", "is not a JSON object"},
		{MARK, "is not a JSON object"},
		{"[\"" MARK "\"]", "is not a JSON object"},
		{"{\"SecretAccessKey\":\"" MARK "\"", "is not a JSON object"},
		{"{\"SecretAccessKey\":\"" MARK "\"} more", "is not a JSON object"},
		{"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" MARK "\"}", "\"Version\": 1"},
		{"{\"Version\":100,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" MARK "\"}", "\"Version\": 1"},
		{"{\"Version\":\"1\",\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" MARK "\"}", "\"Version\": 1"},
		{"{\"Version\":1,\"SecretAccessKey\":\"" MARK "\"}", "has no AccessKeyId"},
		{"{\"Version\":1,\"AccessKeyId\":\"\",\"SecretAccessKey\":\"" MARK "\"}", "has no AccessKeyId"},
		{"{\"Version\":1,\"AccessKeyId\":\"" MARK "\"}", "has no SecretAccessKey"},
		{"{\"Version\":1,\"AccessKeyId\":7,\"SecretAccessKey\":\"" MARK "\"}", "AccessKeyId is not a string"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" MARK "\\u0000\"}",
	     "SecretAccessKey is not a string"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"" MARK "\\n\"}", "SecretAccessKey contains"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"SessionToken\":\"" MARK " \"}",
	     "SessionToken contains"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"SessionToken\":{\"x\":\"" MARK "\"}}",
	     "SessionToken is not a string"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Expiration\":\"" MARK "\"}",
	     "Expiration is not"},
		{"{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Expiration\":1893456000}",
	     "Expiration is not"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		error = (struct error){0};
		cr_assert_not(hear(cases[i].body), "%s", cases[i].body);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, cases[i].part), "%s", error.message);
		cr_assert_null(strstr(error.message, MARK), "%s", error.message);
		cr_assert_str_eq(credentials.access_key_id, "before");
	}
}
