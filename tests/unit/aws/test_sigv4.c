#include "aws/sigv4.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

#define SUITE_VARIABLE "ZONEVAC_BOTOCORE_SOURCE"
#define SUITE_CASES_LEAST 34

static struct arena arena;

static struct aws_credentials suite_credentials = {
	.access_key_id = "AKIDEXAMPLE",
	.secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};

static struct sigv4_scope scope;

static void set_up(void)
{
	arena_init(&arena, "test", 64 * 1024 * 1024);
	scope = (struct sigv4_scope){.credentials = &suite_credentials, .region = "us-east-1", .signing_name = "service"};
	cr_assert(wallclock_parse("2015-08-30T12:36:00Z", &scope.at));
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(sigv4, .init = set_up, .fini = tear_down);

static struct http_request plain_request(const char *path, const char *query)
{
	struct http_request request = {.method = "GET", .path = path, .query = query};

	http_add_header(&request.headers, &arena, "Host", "example.amazonaws.com");
	http_add_header(&request.headers, &arena, "X-Amz-Date", "20150830T123600Z");
	return request;
}

/* The n-th line (from 0) of the canonical request. */
static const char *canonical_line(const struct http_request *request, size_t line)
{
	const char *names;
	const char *text = sigv4_canonical_request(&arena, &scope, request, &names);

	for (; line > 0; line--)
		text = strchr(text, '\n') + 1;
	return arena_copy(&arena, text, strcspn(text, "\n"));
}

/* Published for get-vanilla. */
Test(sigv4, signs_the_vanilla_request)
{
	struct http_request request = plain_request("/", NULL);
	const char *names;
	const char *canonical = sigv4_canonical_request(&arena, &scope, &request, &names);
	const char *to_sign = sigv4_string_to_sign(&arena, &scope, canonical);

	cr_assert_str_eq(names, "host;x-amz-date");
	cr_assert_str_eq(to_sign, "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n"
	                          "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63");
	cr_assert_str_eq(sigv4_signature(&arena, &scope, to_sign),
	                 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

/*
 * The signing key published for these credentials, day, region and service is
 * 938127b5336810ddb6a5d6af445fcac9e371f9ed418ed386b022aed82901be75.
 */
Test(sigv4, derives_the_published_key)
{
	cr_assert_str_eq(sigv4_signature(&arena, &scope, "zonevac"),
	                 "aeb489b1bee65d66b9fe5931b8b6354e02e3a85deff6d6e312369b089df27386");
}

/* The example of the general reference: IAM, GET ?Action=ListUsers&Version=2010-05-08. */
Test(sigv4, signs_the_list_users_example)
{
	struct http_request request = {.method = "GET", .path = "/", .query = "Action=ListUsers&Version=2010-05-08"};
	const char *names;
	const char *to_sign;

	scope.signing_name = "iam";
	http_add_header(&request.headers, &arena, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
	http_add_header(&request.headers, &arena, "Host", "iam.amazonaws.com");
	http_add_header(&request.headers, &arena, "X-Amz-Date", "20150830T123600Z");
	to_sign = sigv4_string_to_sign(&arena, &scope, sigv4_canonical_request(&arena, &scope, &request, &names));
	cr_assert_str_eq(sigv4_signature(&arena, &scope, to_sign),
	                 "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

Test(sigv4, normalizes_and_encodes_the_path_again)
{
	struct http_request request = plain_request("/2015-03-31/functions/arn%3Aaws%3Alambda/./x/../configuration/", NULL);

	cr_assert_str_eq(canonical_line(&request, 1), "/2015-03-31/functions/arn%253Aaws%253Alambda/configuration/");
	request.path = "/a/b/../../../..";
	cr_assert_str_eq(canonical_line(&request, 1), "/");
	request.path = "";
	cr_assert_str_eq(canonical_line(&request, 1), "/");
}

Test(sigv4, keeps_the_path_when_told_so)
{
	struct http_request request = plain_request("/my-object//example//photo.user%20x", NULL);

	scope.keep_path = true;
	cr_assert_str_eq(canonical_line(&request, 1), "/my-object//example//photo.user%20x");
}

Test(sigv4, takes_the_path_of_the_url_when_there_is_one)
{
	struct http_request request = plain_request("/managedresources", "b=1");

	request.url = "https://gate.example:8443/prefix/managedresources?b=1";
	cr_assert_str_eq(canonical_line(&request, 1), "/prefix/managedresources");
	cr_assert_str_eq(canonical_line(&request, 2), "b=1");
	request.url = "https://gate.example?b=1";
	cr_assert_str_eq(canonical_line(&request, 1), "/");
}

Test(sigv4, sorts_the_query_by_encoded_name_then_value)
{
	struct http_request request = plain_request("/", "b=2&a=%7e&a&%C3%BC=1&a=%2f&&b=%zz&c=1=2&d=%4");

	cr_assert_str_eq(canonical_line(&request, 2), "%C3%BC=1&a=&a=%2F&a=~&b=%25zz&b=2&c=1%3D2&d=%254");
	request.query = "%00=%00%61&%0A";
	cr_assert_str_eq(canonical_line(&request, 2), "%00=%00a&%0A=", "no byte ends a name or a value");
}

Test(sigv4, leaves_out_headers_that_proxies_change)
{
	struct http_request request = plain_request("/", NULL);
	const char *names;

	http_add_header(&request.headers, &arena, "User-Agent", "zonevac");
	http_add_header(&request.headers, &arena, "Authorization", "old");
	http_add_header(&request.headers, &arena, "Proxy-Connection", "close");
	http_add_header(&request.headers, &arena, "X-Amzn-Trace-Id", "Root=1");
	http_add_header(&request.headers, &arena, "X-Amz-Target", "  A \t B\r\n  C ");
	sigv4_canonical_request(&arena, &scope, &request, &names);
	cr_assert_str_eq(names, "host;x-amz-date;x-amz-target");
	cr_assert_str_eq(canonical_line(&request, 5), "x-amz-target:A B C");
}

static size_t count_headers(const struct http_request *request, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < request->headers.count; i++)
		count += strcmp(request->headers.at[i].name, name) == 0;
	return count;
}

Test(sigv4, signing_again_replaces_date_token_and_signature)
{
	struct aws_credentials temporary = suite_credentials;
	struct http_request request = {.method = "POST", .path = "/", .body = "Param1=value1", .body_length = 13};
	const char *first;

	temporary.session_token = "TOKEN";
	scope.credentials = &temporary;
	sigv4_sign(&arena, &scope, "example.amazonaws.com", &request);
	first = http_header(&request.headers, "Authorization");
	cr_assert_str_eq(http_header(&request.headers, "X-Amz-Security-Token"), "TOKEN");
	cr_assert(strstr(first, "SignedHeaders=host;x-amz-date;x-amz-security-token,") != NULL, "%s", first);

	scope.credentials = &suite_credentials;
	scope.at = wallclock_after_ms(scope.at, 1000);
	sigv4_sign(&arena, &scope, "other.amazonaws.com", &request);
	cr_assert_null(http_header(&request.headers, "X-Amz-Security-Token"));
	cr_assert_str_eq(http_header(&request.headers, "X-Amz-Date"), "20150830T123601Z");
	cr_assert_str_eq(http_header(&request.headers, "Host"), "other.amazonaws.com");
	cr_assert_str_neq(http_header(&request.headers, "Authorization"), first);
	cr_assert_eq(count_headers(&request, "Host"), 1);
	cr_assert_eq(count_headers(&request, "Authorization"), 1);
	cr_assert_eq(count_headers(&request, "X-Amz-Date"), 1);
}

Test(sigv4, date_of_scope_and_header_are_of_the_same_instant)
{
	struct http_request request = {.method = "GET", .path = "/"};

	cr_assert(wallclock_parse("2015-12-31T23:59:59.999999Z", &scope.at));
	sigv4_sign(&arena, &scope, "h", &request);
	cr_assert_str_eq(http_header(&request.headers, "X-Amz-Date"), "20151231T235959Z");
	cr_assert(strstr(http_header(&request.headers, "Authorization"), "AKIDEXAMPLE/20151231/us-east-1") != NULL);
}

/* AWS's published suite. */

static const char *read_case(const char *folder, const char *name, const char *ending)
{
	struct error error;
	size_t length;
	char *text;
	char *out;

	if (!file_read(&arena, arena_printf(&arena, "%s/%s.%s", folder, name, ending), 65536, &text, &length, &error))
		return NULL;
	out = text;
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\r')
			*out++ = text[i];
	}
	*out = '\0';
	return text;
}

static void add_header_line(struct http_request *request, const char *line, size_t length)
{
	struct http_headers *headers = &request->headers;
	const char *colon = memchr(line, ':', length);

	if (line[0] == ' ' || line[0] == '\t') {
		cr_assert_gt(headers->count, 0);
		headers->at[headers->count - 1].value =
			arena_printf(&arena, "%s\n%.*s", headers->at[headers->count - 1].value, (int)length, line);
		return;
	}
	cr_assert_not_null(colon);
	http_add_header(headers, &arena, arena_copy(&arena, line, (size_t)(colon - line)),
	                arena_copy(&arena, colon + 1, length - (size_t)(colon + 1 - line)));
}

/*
 * Request line (a path may contain blanks), headers (folded or not), a blank line and the body, each of the last two
 * optional.
 */
static struct http_request parse_request(const char *text)
{
	struct http_request request = {0};
	size_t length = strcspn(text, "\n");
	char *line = arena_copy(&arena, text, length);
	char *version = strrchr(line, ' ');
	char *target = strchr(line, ' ');
	char *query;

	cr_assert(version != NULL && target != version);
	*version = '\0';
	*target++ = '\0';
	query = strchr(target, '?');
	if (query != NULL)
		*query++ = '\0';
	request.method = line;
	request.path = target;
	request.query = query;
	text += length + (text[length] == '\n');
	while (*text != '\0' && *text != '\n') {
		length = strcspn(text, "\n");
		add_header_line(&request, text, length);
		text += length + (text[length] == '\n');
	}
	if (*text == '\n' && text[1] != '\0') {
		request.body = text + 1;
		request.body_length = strlen(text + 1);
	}
	return request;
}

/* Credentials of a case: those of the suite, with the token that its canonical request names. */
static struct aws_credentials case_credentials(const char *canonical)
{
	static const char header[] = "\nx-amz-security-token:";
	struct aws_credentials credentials = suite_credentials;
	const char *token = strstr(canonical, header);

	if (token != NULL) {
		token += strlen(header);
		credentials.session_token = arena_copy(&arena, token, strcspn(token, "\n"));
	}
	return credentials;
}

static void check_case(const char *folder, const char *name)
{
	const char *text = read_case(folder, name, "req");
	const char *wanted_canonical = read_case(folder, name, "creq");
	const char *wanted_to_sign = read_case(folder, name, "sts");
	const char *wanted_header = read_case(folder, name, "authz");
	struct aws_credentials credentials;
	struct http_request request;
	const char *canonical;
	const char *to_sign;
	const char *names;

	cr_assert(wanted_canonical != NULL && wanted_to_sign != NULL && wanted_header != NULL, "%s is incomplete", name);
	credentials = case_credentials(wanted_canonical);
	scope.credentials = &credentials;
	request = parse_request(text);
	if (credentials.session_token != NULL)
		http_set_header(&request.headers, &arena, "X-Amz-Security-Token", credentials.session_token);
	canonical = sigv4_canonical_request(&arena, &scope, &request, &names);
	cr_expect_str_eq(canonical, wanted_canonical, "%s: canonical request", name);
	to_sign = sigv4_string_to_sign(&arena, &scope, canonical);
	cr_expect_str_eq(to_sign, wanted_to_sign, "%s: string to sign", name);
	cr_expect(strstr(wanted_header, sigv4_signature(&arena, &scope, to_sign)) != NULL, "%s: signature", name);
	sigv4_sign(&arena, &scope, http_header(&request.headers, "Host"), &request);
	cr_expect_str_eq(http_header(&request.headers, "Authorization"), wanted_header, "%s: Authorization", name);
}

/* The signed request as a whole: every line of it but the first is a header that we send, or the body. */
static void check_signed(const char *folder, const char *name)
{
	const char *text = read_case(folder, name, "req");
	struct http_request wanted = parse_request(read_case(folder, name, "sreq"));
	struct aws_credentials credentials = case_credentials(read_case(folder, name, "creq"));
	struct http_request request = parse_request(text);

	scope.credentials = &credentials;
	sigv4_sign(&arena, &scope, http_header(&request.headers, "Host"), &request);
	cr_expect_eq(request.headers.count, wanted.headers.count, "%s: signed request has other headers", name);
	for (size_t i = 0; i < wanted.headers.count; i++) {
		const char *value = http_header(&request.headers, wanted.headers.at[i].name);

		cr_expect_not_null(value, "%s: %s is not sent", name, wanted.headers.at[i].name);
		if (strcmp(wanted.headers.at[i].name, "Authorization") == 0)
			cr_expect_str_eq(text_trim(&arena, wanted.headers.at[i].value, strlen(wanted.headers.at[i].value)), value);
	}
}

/* The signed requests (.sreq) that cannot apply; all other stages of these cases do. */
static const char *why_not_signed(const char *name)
{
	static const struct {
		const char *name;
		const char *reason;
	} asides[] = {
		{"post-sts-header-after", "it adds the token after signing; we always sign it"},
		{"get-vanilla-with-session-token", "it carries the signature of get-vanilla, unlike its own .authz"},
	};

	for (size_t i = 0; i < sizeof(asides) / sizeof(asides[0]); i++) {
		if (strcmp(asides[i].name, name) == 0)
			return asides[i].reason;
	}
	return NULL;
}

static size_t check_folder(const char *folder, int depth)
{
	DIR *directory = opendir(folder);
	size_t count = 0;

	cr_assert_not_null(directory, "%s cannot be read", folder);
	for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
		const char *inner = arena_printf(&arena, "%s/%s", folder, entry->d_name);
		struct stat status;

		if (entry->d_name[0] == '.' || stat(inner, &status) != 0 || !S_ISDIR(status.st_mode))
			continue;
		if (read_case(inner, entry->d_name, "req") == NULL) {
			count += depth > 0 ? check_folder(inner, depth - 1) : 0;
			continue;
		}
		check_case(inner, entry->d_name);
		if (why_not_signed(entry->d_name) != NULL)
			fprintf(stderr, "SigV4 suite: %s: .sreq left aside: %s\n", entry->d_name, why_not_signed(entry->d_name));
		else
			check_signed(inner, entry->d_name);
		count++;
	}
	closedir(directory);
	return count;
}

Test(sigv4, passes_the_published_suite)
{
	const char *folder = getenv(SUITE_VARIABLE);
	size_t count;

	if (folder == NULL || folder[0] == '\0')
		cr_skip_test(
			SUITE_VARIABLE
			" is not set: it names the unpacked source of botocore, which carries AWS's published signing cases");
	folder = arena_printf(&arena, "%s/tests/unit/auth/aws4_testsuite", folder);
	count = check_folder(folder, 2);
	fprintf(stderr, "SigV4 suite: %zu cases, each stage compared\n", count);
	cr_assert_geq(count, SUITE_CASES_LEAST, "only %zu cases in %s", count, folder);
}
