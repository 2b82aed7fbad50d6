#include <criterion/criterion.h>
#include <string.h>

#include "net/proxy.h"

struct variable {
	const char *name;
	const char *value;
};

static struct arena arena;

static void begin(void)
{
	arena_init(&arena, "proxy", 1 << 20);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(net_proxy, .init = begin, .fini = end);

static const char *get(void *context, const char *name)
{
	for (const struct variable *variable = context; variable->name != NULL; variable++)
		if (strcmp(variable->name, name) == 0)
			return variable->value;
	return NULL;
}

static struct proxies load(struct variable *variables)
{
	struct proxies proxies;
	struct error error = {0};

	cr_assert(proxies_load(&arena, get, variables, &proxies, &error), "%s", error.message);
	return proxies;
}

static void expect(const char *what, const char *found, const char *wanted)
{
	cr_expect(found == NULL ? wanted == NULL : wanted != NULL && strcmp(found, wanted) == 0, "%s: %s, not %s", what,
	          found == NULL ? "NULL" : found, wanted == NULL ? "NULL" : wanted);
}

Test(net_proxy, url_is_made_whole)
{
	static const struct {
		const char *given, *whole;
	} cases[] = {
		{"proxy:3128", "http://proxy:3128"},
		{"proxy", "http://proxy:80"},
		{"10.0.0.1", "http://10.0.0.1:80"},
		{"http://proxy", "http://proxy:80"},
		{"HTTP://Proxy:8080/", "http://Proxy:8080"},
		{"http://proxy:8080/path?query#fragment", "http://proxy:8080"},
		{"https://proxy", "https://proxy:443"},
		{"socks5://proxy", "socks5://proxy:1080"},
		{"socks5h://proxy:9", "socks5h://proxy:9"},
		{"http://[fd00::1]:3128", "http://[fd00::1]:3128"},
		{"[fd00::1]", "http://[fd00::1]:80"},
		{"http://[fe80::1%25eth0]:1", "http://[fe80::1%25eth0]:1"},
		{"http://me:secret@proxy:3128", "http://me:secret@proxy:3128"},
		{"me:secret@proxy:3128", "http://me:secret@proxy:3128"},
		{"http://me@proxy", "http://me@proxy:80"},
		{"http://me:p@ss@proxy", "http://me:p%40ss@proxy:80"},
		{"http://me:p%40ss@proxy", "http://me:p%40ss@proxy:80"},
		{"", NULL},
		{"http://", NULL},
		{"http://:80", NULL},
		{"http://me@", NULL},
		{"http://me@:80", NULL},
		{"ftp://proxy", NULL},
		{"socks4://proxy", NULL},
		{"://proxy", NULL},
		{"http://proxy:", NULL},
		{"http://proxy:0", NULL},
		{"http://proxy:65536", NULL},
		{"http://proxy:http", NULL},
		{"http://proxy:80:80", NULL},
		{"http://fd00::1", NULL},
		{"http://[proxy]", NULL},
		{"http://[fd00::1", NULL},
		{"http://[]", NULL},
		{"http://pro xy", NULL},
		{"http://proxy\r\nX: 1", NULL},
		{"http://me:a/b@proxy", NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		expect(cases[i].given, proxy_url(&arena, cases[i].given), cases[i].whole);
}

Test(net_proxy, variables)
{
	static struct {
		struct variable variables[5];
		const char *https, *http;
	} cases[] = {
		{{{NULL, NULL}}, NULL, NULL},
		{{{"HTTPS_PROXY", "a:1"}}, "http://a:1", NULL},
		{{{"HTTP_PROXY", "a:1"}}, NULL, "http://a:1"},
		{{{"https_proxy", "a:1"}, {"HTTPS_PROXY", "b:1"}}, "http://a:1", NULL},
		{{{"https_proxy", ""}, {"HTTPS_PROXY", "b:1"}}, "http://b:1", NULL},
		{{{"http_proxy", "a:1"}, {"HTTP_PROXY", "b:1"}}, NULL, "http://a:1"},
		{{{"ALL_PROXY", "socks5://a"}}, "socks5://a:1080", "socks5://a:1080"},
		{{{"all_proxy", "a:1"}, {"ALL_PROXY", "b:1"}, {"HTTPS_PROXY", "c:1"}}, "http://c:1", "http://a:1"},
		{{{"HTTPS_PROXY", ""}, {"ALL_PROXY", ""}}, NULL, NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct proxies proxies = load(cases[i].variables);

		expect("https", proxies_find(&proxies, "https://sts.amazonaws.com/"), cases[i].https);
		expect("http", proxies_find(&proxies, "http://sts.amazonaws.com/"), cases[i].http);
	}
}

Test(net_proxy, variable_that_is_no_url_is_named_and_not_told)
{
	static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy",
	                                    "HTTP_PROXY",  "all_proxy",   "ALL_PROXY"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct variable variables[] = {{names[i], "http://me:secret@proxy:x"}, {NULL, NULL}};
		struct error error = {0};
		struct proxies proxies;

		cr_assert_not(proxies_load(&arena, get, variables, &proxies, &error));
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_eq(strncmp(error.message, names[i], strlen(names[i])), 0, "%s", error.message);
		cr_assert_null(strstr(error.message, "secret"));
	}
}

Test(net_proxy, lower_case_exceptions_count_first)
{
	struct variable variables[] = {
		{"HTTPS_PROXY", "p:1"}, {"no_proxy", "a.example"}, {"NO_PROXY", "b.example"}, {NULL, NULL}};
	struct proxies proxies = load(variables);

	expect("a", proxies_find(&proxies, "https://a.example/"), NULL);
	expect("b", proxies_find(&proxies, "https://b.example/"), "http://p:1");
}

static const struct {
	const char *except;
	const char *url;
	bool straight;
} exceptions[] = {
	{"example.com", "https://example.com/", true},
	{"example.com", "https://a.b.example.com/", true},
	{"example.com", "https://notexample.com/", false},
	{"example.com", "https://example.com.evil.net/", false},
	{"example.com", "https://example.org/", false},
	{"EXAMPLE.com", "https://Example.COM/", true},
	{"example.com.", "https://example.com/", true},
	{"example.com", "https://example.com./", true},
	{".example.com", "https://example.com/", false},
	{".example.com", "https://a.example.com/", true},
	{"*.example.com", "https://example.com/", false},
	{"*.example.com", "https://a.example.com/", true},
	{"*", "https://example.com/", true},
	{"a,*", "https://example.com/", true},
	{"*example.com", "https://a.example.com/", false},
	{"a.net, example.com ,b.net", "https://example.com/", true},
	{"a.net example.com", "https://example.com/", true},
	{",, ,example.com,", "https://example.com/", true},
	{",, ,", "https://example.com/", false},
	{"", "https://example.com/", false},
	{"example.com:443", "https://example.com/", true},
	{"example.com:443", "https://example.com:443/", true},
	{"example.com:443", "https://example.com:8443/", false},
	{"example.com:8443", "https://a.example.com:8443/x?y", true},
	{"example.com:80", "https://example.com/", false},
	{"example.com:x", "https://example.com/", false},
	{"*.example.com:8443", "https://a.example.com:8443/", true},
	{"com", "https://example.com/", true},
	{"10.1.2.3", "https://10.1.2.3/", true},
	{"10.1.2.3", "https://10.1.2.30/", false},
	{"2.3", "https://10.1.2.3/", false},
	{"10.1.2.3:443", "https://10.1.2.3/", true},
	{"10.1.2.3:80", "https://10.1.2.3/", false},
	{"::ffff:10.1.2.3", "https://10.1.2.3/", true},
	{"10.0.0.0/8", "https://10.255.0.1:6443/", true},
	{"10.0.0.0/8", "https://11.0.0.1/", false},
	{"10.128.0.0/9", "https://10.127.0.1/", false},
	{"10.128.0.0/9", "https://10.129.0.1/", true},
	{"10.1.2.3/32", "https://10.1.2.3/", true},
	{"10.1.2.2/31", "https://10.1.2.4/", false},
	{"0.0.0.0/0", "https://10.1.2.3/", true},
	{"0.0.0.0/0", "https://[2001:db8::1]/", false},
	{"0.0.0.0/0", "https://example.com/", false},
	{"10.0.0.0/33", "https://10.0.0.1/", false},
	{"10.0.0.0/", "https://10.0.0.1/", false},
	{"10.0.0.0/8x", "https://10.0.0.1/", false},
	{"/8", "https://10.0.0.1/", false},
	{"example.com/8", "https://example.com/", false},
	{"10.0.0.0/8:443", "https://10.0.0.1/", true},
	{"10.0.0.0/8:444", "https://10.0.0.1/", false},
	{"2001:db8::/32", "https://[2001:db8:1::1]/", true},
	{"2001:db8::/32", "https://[2001:db9::1]:443/", false},
	{"2001:db8::/127", "https://[2001:db8::2]/", false},
	{"::/0", "https://[2001:db8::2]/", true},
	{"::/0", "https://10.0.0.1/", false},
	{"::/129", "https://[2001:db8::2]/", false},
	{"[2001:db8::]/32", "https://[2001:db8:1::1]/", true},
	{"2001:db8::1", "https://[2001:0db8:0::1]/", true},
	{"2001:db8::1", "https://[2001:db8::2]/", false},
	{"[2001:db8::1]", "https://[2001:db8::1]:9/", true},
	{"[2001:db8::1]:9", "https://[2001:db8::1]:9/", true},
	{"[2001:db8::1]:9", "https://[2001:db8::1]/", false},
	{"example.com", "https://me:secret@example.com/", true},
	{"example.com", "https://example.com?x=@a", true},
	{"example.com", "https://example.com#@a", true},
	{"a", "https://example.com/@a", false},
	{"example.com", "https://example.com@evil.net/", false},
};

Test(net_proxy, exceptions)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
		struct variable variables[] = {{"HTTPS_PROXY", "p:1"}, {"NO_PROXY", exceptions[i].except}, {NULL, NULL}};
		struct proxies proxies = load(variables);
		const char *found = proxies_find(&proxies, exceptions[i].url);

		cr_expect_eq(found == NULL, exceptions[i].straight, "\"%s\" %s: %s", exceptions[i].except, exceptions[i].url,
		             found == NULL ? "straight" : found);
	}
}

Test(net_proxy, near_hosts)
{
	static const char *const near[] = {"localhost",
	                                   "LocalHost",
	                                   "localhost.",
	                                   "127.0.0.1",
	                                   "127.1",
	                                   "127.255.0.9",
	                                   "2130706433",
	                                   "[::1]",
	                                   "::1",
	                                   "[::ffff:127.0.0.1]",
	                                   "169.254.169.254",
	                                   "169.254.170.2",
	                                   "169.254.170.23",
	                                   "[fd00:ec2::254]",
	                                   "[fd00:ec2::23]",
	                                   "[fe80::1]",
	                                   "[fe80::1%25eth0]",
	                                   "[febf::1]",
	                                   "10.96.0.1"};
	static const char *const far[] = {"localhost.example.com",
	                                  "notlocalhost",
	                                  "128.0.0.1",
	                                  "169.253.1.1",
	                                  "[::2]",
	                                  "[fd00:ec3::1]",
	                                  "[fec0::1]",
	                                  "10.96.0.2",
	                                  "127.example.com",
	                                  "0.0.0.0",
	                                  "",
	                                  "example.com"};
	struct variable variables[] = {
		{"HTTPS_PROXY", "p:1"}, {"HTTP_PROXY", "p:1"}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {NULL, NULL}};
	struct proxies proxies = load(variables);

	for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
		cr_expect(proxies_is_near(&proxies, near[i]), "%s", near[i]);
		if (near[i][0] != ':')
			expect(near[i], proxies_find(&proxies, arena_printf(&arena, "http://%s:80/x", near[i])), NULL);
	}
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		cr_expect_not(proxies_is_near(&proxies, far[i]), "%s", far[i]);
		if (far[i][0] != '\0')
			expect(far[i], proxies_find(&proxies, arena_printf(&arena, "https://%s/", far[i])), "http://p:1");
	}
}

Test(net_proxy, cluster_in_ipv6_and_by_name)
{
	struct variable six[] = {{"HTTPS_PROXY", "p:1"}, {"KUBERNETES_SERVICE_HOST", "fd12::1"}, {NULL, NULL}};
	struct variable name[] = {{"HTTPS_PROXY", "p:1"}, {"KUBERNETES_SERVICE_HOST", "Api.example"}, {NULL, NULL}};
	struct proxies proxies = load(six);

	expect("six", proxies_find(&proxies, "https://[fd12:0::1]:443/api"), NULL);
	expect("another", proxies_find(&proxies, "https://[fd12::2]:443/api"), "http://p:1");
	proxies = load(name);
	expect("name", proxies_find(&proxies, "https://api.example:6443/"), NULL);
	expect("below", proxies_find(&proxies, "https://x.api.example:6443/"), "http://p:1");
}

Test(net_proxy, without_any)
{
	struct proxies none = {0};

	cr_assert_null(proxies_find(NULL, "https://example.com/"));
	cr_assert_null(proxies_find(&none, "https://example.com/"));
	cr_assert(proxies_is_near(NULL, "127.0.0.1"));
	cr_assert_not(proxies_is_near(NULL, "10.96.0.1"));
}

Test(net_proxy, what_is_no_url_goes_straight)
{
	struct variable variables[] = {{"ALL_PROXY", "p:1"}, {NULL, NULL}};
	struct proxies proxies = load(variables);

	cr_assert_null(proxies_find(&proxies, ""));
	cr_assert_null(proxies_find(&proxies, "example.com"));
	cr_assert_null(proxies_find(&proxies, "ftp://example.com/"));
	cr_assert_null(proxies_find(&proxies, "https://"));
	cr_assert_null(proxies_find(&proxies, "https://[fd00::1"));
	cr_assert_null(proxies_find(&proxies, "https://host:99999/"));
}
