#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "config_shapes.h"
#include "kube/config.h"

static struct arena arena;
static struct kube_config config;
static struct kube_config_request request;
static struct error error;
static char folder[64];
static const char *variables[16]; /* name, value, … */

static const char *get_variable(void *context, const char *name)
{
	(void)context;
	for (size_t i = 0; i + 1 < sizeof variables / sizeof *variables && variables[i] != NULL; i += 2) {
		if (strcmp(variables[i], name) == 0)
			return variables[i + 1];
	}
	return NULL;
}

static void set_variable(const char *name, const char *value)
{
	size_t i = 0;

	while (variables[i] != NULL)
		i += 2;
	variables[i] = name;
	variables[i + 1] = value;
}

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	snprintf(folder, sizeof folder, "/tmp/zonevac-config-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	memset(variables, 0, sizeof variables);
	request = (struct kube_config_request){.getenv = get_variable, .service_account_dir = folder};
	error = (struct error){0};
}

static void end(void)
{
	static const char *const names[] = {"config",     "other",     "token",        "ca.crt",     "client.crt",
	                                    "client.key", "namespace", ".kube/config", "sub/config", NULL};
	char path[256];

	for (size_t i = 0; names[i] != NULL; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/.kube", folder);
	rmdir(path);
	snprintf(path, sizeof path, "%s/sub", folder);
	rmdir(path);
	rmdir(folder);
	kube_config_done(&config);
	arena_done(&arena);
}

TestSuite(config, .init = begin, .fini = end);

static const char *in_folder(const char *name)
{
	return arena_printf(&arena, "%s/%s", folder, name);
}

static const char *write_file(const char *name, const char *content)
{
	const char *path = in_folder(name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(content, file);
	fclose(file);
	return path;
}

static const char *kubeconfig(const char *cluster, const char *user)
{
	return arena_printf(&arena,
	                    "apiVersion: v1\nkind: Config\ncurrent-context: main\npreferences: {}\n"
	                    "clusters:\n- name: c\n  cluster: {%s}\n"
	                    "users:\n- name: u\n  user: {%s}\n"
	                    "contexts:\n- name: main\n  context: {cluster: c, user: u}\n"
	                    "- name: other\n  context: {cluster: c, user: u, namespace: team}\n"
	                    "- name: nobody\n  context: {cluster: c}\n"
	                    "- name: lost\n  context: {cluster: nowhere, user: u}\n"
	                    "- name: stranger\n  context: {cluster: c, user: nobody}\n",
	                    cluster, user);
}

static bool load(void)
{
	kube_config_done(&config);
	return kube_config_load(&arena, &request, &config, &error);
}

static bool load_with(const char *cluster, const char *user)
{
	request.kubeconfig = write_file("config", kubeconfig(cluster, user));
	return load();
}

/* What a request gets. */
static struct http_request *prepare(void)
{
	static struct http_request prepared;

	prepared = (struct http_request){.path = "/api/v1/nodes"};
	kube_config_prepare(&config, &arena, &prepared);
	return &prepared;
}

static const char *header(const char *name)
{
	return http_header(&prepare()->headers, name);
}

#define SERVER "server: 'https://10.0.0.1:6443'"

Test(config, kubeconfig_with_data_and_token)
{
	cr_assert(
		load_with(SERVER ", certificate-authority-data: " PEM_BASE64 ", tls-server-name: kubernetes", "token: secret"),
		"%s", error.message);
	cr_assert_str_eq(config.base_url, "https://10.0.0.1:6443");
	cr_assert_str_eq(config.namespace_, "default");
	cr_assert_str_eq(config.tls.ca_pem, PEM);
	cr_assert_null(config.tls.ca_file);
	cr_assert_str_eq(config.tls.server_name, "kubernetes");
	cr_assert_not(config.tls.insecure);
	cr_assert_str_eq(config.token, "secret");
	cr_assert_null(config.token_file);
	cr_assert_str_eq(config.source, arena_printf(&arena, "kubeconfig %s (context main)", request.kubeconfig));
}

Test(config, relative_paths_start_at_the_files_folder)
{
	write_file("ca.crt", PEM);
	write_file("client.crt", PEM);
	write_file("client.key", PEM "\n");
	write_file("token", " from-file\n");
	cr_assert(load_with(SERVER ", certificate-authority: ca.crt",
	                    "client-certificate: client.crt, client-key: ./client.key, tokenFile: token, token: old"),
	          "%s", error.message);
	cr_assert_str_eq(config.tls.ca_file, in_folder("ca.crt"));
	cr_assert_str_eq(prepare()->tls->ca_pem, PEM);
	cr_assert_null(prepare()->tls->ca_file);
	cr_assert_str_eq(prepare()->tls->cert_pem, PEM);
	cr_assert_str_eq(prepare()->tls->key_pem, PEM "\n");
	cr_assert_str_eq(config.token, "from-file");
	cr_assert_str_eq(config.token_file, in_folder("token"));
}

/* A file of that name, not standard input, for which one would wait. */
Test(config, a_dash_is_a_file)
{
	cr_assert_eq(chdir(folder), 0);
	write_file("-", kubeconfig(SERVER, "tokenFile: \"./-\""));
	request.kubeconfig = "-";
	cr_assert_not(load(), "it is no token");
	cr_assert_not_null(strstr(error.message, "tokenFile: "), "%s", error.message);
	write_file("config", kubeconfig(SERVER, "tokenFile: \"-\""));
	write_file("-", "from-dash");
	request.kubeconfig = "config";
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.token, "from-dash");
	unlink("-");
}

Test(config, base_path_is_kept_query_and_slashes_are_not)
{
	cr_assert(load_with("server: 'https://rancher.example/k8s/clusters/c-1//?x=1#y'", "token: t"), "%s", error.message);
	cr_assert_str_eq(config.base_url, "https://rancher.example/k8s/clusters/c-1");
	cr_assert(load_with("server: 'https://[fd00::1]:6443/'", "token: t"));
	cr_assert_str_eq(config.base_url, "https://[fd00::1]:6443");
}

Test(config, no_credentials_over_http)
{
	cr_assert(load_with("server: 'http://127.0.0.1:8001'", "token: secret, client-certificate: missing.crt"), "%s",
	          error.message);
	cr_assert_str_eq(config.base_url, "http://127.0.0.1:8001");
	cr_assert_str_eq(config.token, "");
	cr_assert_null(config.token_file);
	cr_assert_null(prepare()->tls->cert_pem);
	cr_assert_null(header("Authorization"));
	cr_assert(load_with("server: 'http://127.0.0.1:8001'", "username: a, password: b, " EXEC_V1 ", as: eve"), "%s",
	          error.message);
	cr_assert_null(header("Authorization"));
	cr_assert_null(config.exec);
	cr_assert_str_eq(header("Impersonate-User"), "eve");
}

Test(config, context_is_chosen)
{
	request.context = "other";
	cr_assert(load_with(SERVER, "token: t"), "%s", error.message);
	cr_assert_str_eq(config.namespace_, "team");
	request.context = "nobody";
	cr_assert(load_with(SERVER, "token: t"), "%s", error.message);
	cr_assert_str_eq(config.token, "");
}

Test(config, entries_that_are_missing_are_named)
{
	static const char *const cases[][2] = {{"gone", "context \"gone\" is missing"},
	                                       {"lost", "cluster \"nowhere\" is missing"},
	                                       {"stranger", "user \"nobody\" is missing"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		request.context = cases[i][0];
		cr_assert_not(load_with(SERVER, "token: t"));
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, cases[i][1]), "%s", error.message);
		cr_assert_not_null(strstr(error.message, request.kubeconfig), "%s", error.message);
	}
}

Test(config, what_is_wrong_is_named_by_file_and_entry)
{
	static const char *const cases[][3] = {
		{SERVER, "auth-provider: {name: gcp}", "user \"u\": auth-provider is not supported"},
		{SERVER, "auth-provider: {name: gcp}, " EXEC_V1, "user \"u\": auth-provider is not supported"},
		{SERVER, "token: t, username: a", "user \"u\": has a token and a user name"},
		{SERVER, "tokenFile: t, password: a", "user \"u\": has a token and a user name"},
		{SERVER, "username: 'a:b', password: c", "user \"u\": username has a colon"},
		{SERVER, "username: a, password: \"b\\nc\"", "user \"u\": password is no text of one line"},
		{SERVER, "username: 1, password: 2", "user \"u\": username and password are no texts"},
		{SERVER, "token: t, as-uid: '1'", "user \"u\": has as-uid without as"},
		{SERVER, "token: t, as-groups: [a]", "user \"u\": has as-groups without as"},
		{SERVER, "token: t, as-user-extra: {a: [b]}", "user \"u\": has as-user-extra without as"},
		{SERVER, "token: t, as: \"a\\r\\nX: y\"", "user \"u\": as is no text of one line"},
		{SERVER, "token: t, as: a, as-groups: [b, 1]", "user \"u\": as-groups is no text of one line"},
		{SERVER, "token: t, as: a, as-groups: b", "user \"u\": as-groups is no list"},
		{SERVER, "token: t, as: a, as-user-extra: {a: b}", "user \"u\": as-user-extra is no list"},
		{SERVER ", proxy-url: 'ftp://p:3128'", "token: t", "cluster \"c\": proxy-url is no URL"},
		{SERVER, "client-certificate-data: " PEM_BASE64 ", client-key-data: " LOCKED_BASE64,
	     "user \"u\": client-key-data holds a key with a passphrase"},
		{"insecure-skip-tls-verify: true", "token: t", "cluster \"c\": has no server"},
		{"server: 'https://'", "token: t", "cluster \"c\": server https:// names no host"},
		{"server: '10.0.0.1:6443'", "token: t", "is no URL of https or http"},
		{"server: 'https://me:pw@h'", "token: t", "server is not a plain URL"},
		{SERVER ", insecure-skip-tls-verify: true, certificate-authority: ca.crt", "token: t",
	     "take insecure-skip-tls-verify out"},
		{SERVER ", certificate-authority-data: '%%%'", "token: t", "certificate-authority-data is not base64"},
		{SERVER ", certificate-authority-data: QUJD", "token: t", "certificate-authority-data holds no PEM block"},
		{SERVER ", certificate-authority: nowhere.crt", "token: t", "certificate-authority: cannot read "},
		{SERVER ", certificate-authority: ca.crt, certificate-authority-data: " PEM_BASE64, "token: t",
	     "has both certificate-authority and"},
		{SERVER, "client-certificate-data: " PEM_BASE64, "user \"u\": has a client certificate without its key"},
		{SERVER, "client-key-data: " PEM_BASE64, "user \"u\": has a client key without its certificate"},
		{SERVER, "tokenFile: nowhere", "user \"u\": tokenFile: "},
		{SERVER, "token: \"a\\nHost: b\"", "user \"u\": token: it is not a token"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_not(load_with(cases[i][0], cases[i][1]), "%s", cases[i][2]);
		cr_assert_eq(error.kind, ERROR_INPUT, "%s", error.message);
		cr_assert_not_null(strstr(error.message, cases[i][2]), "%s: %s", cases[i][2], error.message);
		cr_assert_not_null(strstr(error.message, request.kubeconfig), "%s", error.message);
	}
}

/* Every secret is the word MARKER, in a shape that is refused; or stands beside what is. */
Test(config, secrets_are_never_in_an_error)
{
	static const char *const cases[][2] = {
		{SERVER, "token: 'MARKER MARKER'"},
		{SERVER, "token: MARKER, as-uid: x"},
		{SERVER, "tokenFile: token"},
		{SERVER, "username: a, password: \"MARKER\\n\""},
		{SERVER, "username: a, password: MARKER, token: t"},
		{SERVER, "username: 'a:b', password: MARKER"},
		{SERVER, "client-key-data: MARKER!"},
		{SERVER, "client-key-data: TUFSS0VS"}, /* MARKER */
		{SERVER, "client-key: client.key, client-certificate-data: " PEM_BASE64},
		{SERVER ", proxy-url: 'ftp://user:MARKER@proxy'", "token: t"},
		{SERVER ", proxy-url: 'http://user:MARKER@'", "token: t"},
		{"server: 'https://user:MARKER@host'", "token: t"},
		{"server: 'ftp://host?token=MARKER'", "token: t"},
		{"server: 'https://?token=MARKER'", "token: t"},
		{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [--token, MARKER]}"},
		{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [--token, MARKER, 1]}"},
		{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, env: [{name: A, value: MARKER}]}"},
		{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, env: [{name: A=MARKER}]}"},
	};

	write_file("token", "MARKER MARKER\n");
	write_file("client.key", "-----BEGIN PRIVATE KEY-----\nMARKER\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_not(load_with(cases[i][0], cases[i][1]), "%s", cases[i][1]);
		cr_assert_null(strstr(error.message, "MARKER"), "%s", error.message);
		cr_assert_null(strstr(error.code, "MARKER"));
	}
}

Test(config, broken_and_empty_files)
{
	static const char *const contents[] = {"{", "[]", "", "just a word", "clusters: []", "a: 1\n---\nb: 2\n"};

	for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
		request.kubeconfig = write_file("config", contents[i]);
		cr_assert_not(load(), "%s", contents[i]);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, request.kubeconfig), "%s", error.message);
	}
}

Test(config, an_entry_that_is_there_twice_is_refused)
{
	request.kubeconfig = write_file(
		"config",
		"current-context: a\ncontexts:\n- {name: a, context: {cluster: c}}\n- {name: a, context: {cluster: d}}\n");
	cr_assert_not(load());
	cr_assert_not_null(strstr(error.message, "context \"a\" is there twice"), "%s", error.message);
}

Test(config, a_file_that_was_named_must_be_there)
{
	request.kubeconfig = in_folder("nowhere");
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "--kubeconfig"));
	request.kubeconfig = NULL;
	set_variable("KUBECONFIG", in_folder("nowhere"));
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "KUBECONFIG"));
}

Test(config, variable_names_one_file)
{
	const char *path = write_file("config", kubeconfig(SERVER, "token: t"));

	set_variable("KUBECONFIG", arena_printf(&arena, ":%s::%s:", path, path));
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.token, "t");
}

static void name_files(const char *first, const char *second)
{
	set_variable("KUBECONFIG", arena_printf(&arena, "%s:%s:%s", in_folder("nowhere"), first, second));
}

Test(config, of_several_files_the_first_that_has_an_entry_counts_whole)
{
	const char *first = write_file("config", "contexts:\n- {name: x, context: {cluster: c, user: u, namespace: one}}\n"
	                                         "clusters:\n- {name: c, cluster: {server: 'https://one'}}\n");
	const char *second =
		write_file("other", "current-context: x\n"
	                        "contexts:\n- {name: x, context: {cluster: d, user: v, namespace: two}}\n"
	                        "clusters:\n- {name: c, cluster: {server: 'https://two', tls-server-name: two}}\n"
	                        "users:\n- {name: u, user: {token: two}}\n");

	name_files(first, second);
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.namespace_, "one");
	cr_assert_str_eq(config.base_url, "https://one");
	cr_assert_null(config.tls.server_name, "entries of one name are not combined");
	cr_assert_str_eq(config.token, "two");
	cr_assert_str_eq(config.source, arena_printf(&arena, "kubeconfig %s:%s (context x)", first, second));
}

Test(config, of_several_files_the_first_current_context_counts)
{
	const char *first = write_file("config", "current-context: ''\n");
	const char *second = write_file("other", kubeconfig(SERVER, "token: t"));

	name_files(first, second);
	cr_assert(load(), "%s", error.message);
	cr_assert_not_null(strstr(config.source, "(context main)"), "%s", config.source);
	write_file("config", "current-context: other\n");
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.namespace_, "team");
	write_file("config", "");
	cr_assert(load(), "an empty file says nothing: %s", error.message);
}

Test(config, of_several_files_each_has_its_own_folder)
{
	mkdir(in_folder("sub"), 0700);
	write_file("sub/config", "users:\n- {name: u, user: {tokenFile: ../token}}\n");
	write_file("other", "current-context: x\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n"
	                    "clusters:\n- {name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}\n");
	write_file("ca.crt", PEM);
	write_file("token", "beside");
	name_files(in_folder("sub/config"), in_folder("other"));
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.token, "beside");
	cr_assert_str_eq(config.token_file, in_folder("sub/../token"));
	cr_assert_str_eq(config.tls.ca_file, in_folder("ca.crt"));
}

Test(config, of_several_files_a_broken_one_is_named)
{
	write_file("config", kubeconfig(SERVER, "token: t"));
	write_file("other", "{");
	name_files(in_folder("config"), in_folder("other"));
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, in_folder("other")), "%s", error.message);
	write_file("other", "users:\n- {name: u, user: {auth-provider: {name: x}}}\n");
	name_files(in_folder("other"), in_folder("config"));
	memmove(variables, variables + 2, sizeof variables - 2 * sizeof *variables);
	cr_assert_not(load());
	cr_assert_not_null(strstr(error.message, arena_printf(&arena, "kubeconfig %s: user \"u\": ", in_folder("other"))),
	                   "%s", error.message);
}

Test(config, at_least_one_of_the_files_must_be_there)
{
	name_files(in_folder("nobody"), in_folder("nothing"));
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "none of which is there"), "%s", error.message);
}

Test(config, a_fifo_does_not_block, .timeout = 5)
{
	request.kubeconfig = in_folder("config");
	cr_assert_eq(mkfifo(request.kubeconfig, 0600), 0);
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "not a regular file"), "%s", error.message);
}

Test(config, basic_authentication)
{
	cr_assert(load_with(SERVER, "username: Aladdin, password: 'open sesame'"), "%s", error.message);
	cr_assert_str_eq(header("Authorization"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	cr_assert(load_with(SERVER, "username: a"), "%s", error.message);
	cr_assert_str_eq(header("Authorization"), "Basic YTo=");
}

Test(config, proxy_of_the_cluster)
{
	cr_assert(load_with(SERVER, "token: t"));
	cr_assert_null(prepare()->proxy);
	cr_assert(load_with(SERVER ", proxy-url: 'socks5://proxy:1080'", "token: t"), "%s", error.message);
	cr_assert_str_eq(prepare()->proxy, "socks5://proxy:1080");
}

Test(config, impersonation_is_said_in_headers)
{
	const struct http_headers *headers;
	size_t groups = 0;

	cr_assert(load_with(SERVER, "token: t, as: eve, as-uid: '7', as-groups: [a, 'b c'], "
	                            "as-user-extra: {Scopes: [x, y], 'example.com/a%b é': [z]}"),
	          "%s", error.message);
	headers = &prepare()->headers;
	for (size_t i = 0; i < headers->count; i++)
		groups += strcmp(headers->at[i].name, "Impersonate-Group") == 0;
	cr_assert_eq(groups, 2);
	cr_assert_str_eq(header("Impersonate-User"), "eve");
	cr_assert_str_eq(header("Impersonate-Uid"), "7");
	cr_assert_str_eq(header("Impersonate-Group"), "a");
	cr_assert_str_eq(header("Impersonate-Extra-scopes"), "x");
	cr_assert_str_eq(header("Impersonate-Extra-example.com%2Fa%25b%20%C3%A9"), "z");
	cr_assert_str_eq(header("Authorization"), "Bearer t");
}

Test(config, a_request_is_prepared_again)
{
	struct http_request again = {.path = "/api/v1/nodes", .query = "limit=1"};
	const struct http_tls *tls;
	size_t count;
	size_t used;

	write_file("ca.crt", PEM);
	cr_assert(load_with("server: 'https://h/base/', certificate-authority: ca.crt",
	                    "token: one, as: eve, as-groups: [a, b]"));
	http_add_header(&again.headers, &arena, "Accept", "application/json");
	kube_config_prepare(&config, &arena, &again);
	cr_assert_str_eq(again.url, "https://h/base/api/v1/nodes?limit=1");
	count = again.headers.count;
	cr_assert_eq(count, 5);
	tls = again.tls;
	memcpy(config.token, "two", 4);
	used = arena.used_bytes;
	kube_config_prepare(&config, &arena, &again);
	cr_assert_eq(again.headers.count, count, "replaced, not added");
	cr_assert_str_eq(http_header(&again.headers, "Authorization"), "Bearer two");
	cr_assert_eq(again.tls, tls, "what has not changed is not copied again");
	cr_assert_lt(arena.used_bytes - used, 1024);
	cr_assert_str_eq(http_header(&again.headers, "accept"), "application/json");
}

static void be_in_cluster(const char *host)
{
	set_variable("KUBERNETES_SERVICE_HOST", host);
	set_variable("KUBERNETES_SERVICE_PORT", "443");
	write_file("token", "pod-token\n");
	write_file("ca.crt", PEM);
	write_file("namespace", "zonevac-system\n");
}

Test(config, in_cluster)
{
	be_in_cluster("10.96.0.1");
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.base_url, "https://10.96.0.1:443");
	cr_assert_str_eq(config.token, "pod-token");
	cr_assert_str_eq(config.token_file, in_folder("token"));
	cr_assert_str_eq(config.tls.ca_file, in_folder("ca.crt"));
	cr_assert_str_eq(config.namespace_, "zonevac-system");
	cr_assert_str_eq(config.source, "in-cluster");
}

Test(config, in_cluster_ipv6_gets_brackets)
{
	be_in_cluster("fd00:10:96::1");
	set_variable("POD_NAMESPACE", "mine");
	cr_assert(load(), "%s", error.message);
	cr_assert_str_eq(config.base_url, "https://[fd00:10:96::1]:443");
	cr_assert_str_eq(config.namespace_, "mine");
}

Test(config, in_cluster_needs_token_and_ca)
{
	be_in_cluster("10.96.0.1");
	unlink(in_folder("ca.crt"));
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "ca.crt"), "%s", error.message);
	write_file("ca.crt", PEM);
	write_file("token", " \n");
	cr_assert_not(load());
	cr_assert_not_null(strstr(error.message, "token is empty"), "%s", error.message);
}

Test(config, order_of_the_sources)
{
	be_in_cluster("10.96.0.1");
	mkdir(in_folder(".kube"), 0700);
	write_file(".kube/config", kubeconfig(SERVER, "token: home"));
	set_variable("HOME", folder);
	cr_assert(load());
	cr_assert_str_eq(config.source, "in-cluster");
	request.context = "other";
	cr_assert(load(), "a context can only be one of a kubeconfig: %s", error.message);
	cr_assert_str_eq(config.token, "home");
	set_variable("KUBECONFIG", write_file("other", kubeconfig(SERVER, "token: variable")));
	request.context = NULL;
	cr_assert(load());
	cr_assert_str_eq(config.token, "variable");
	request.kubeconfig = write_file("config", kubeconfig(SERVER, "token: flag"));
	cr_assert(load());
	cr_assert_str_eq(config.token, "flag");
}

Test(config, nothing_is_configured)
{
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_ABSENT);
	set_variable("HOME", folder);
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_not_null(strstr(error.message, "give --kubeconfig"));
}

Test(config, token_is_read_again_when_it_is_old)
{
	struct instant now = {1000000};

	be_in_cluster("10.96.0.1");
	cr_assert(load());
	cr_assert(kube_config_refresh(&config, now, false, &error));
	write_file("token", "second\n");
	now.ms += 49999;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	now.ms += 1;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	cr_assert_str_eq(config.token, "second");
	write_file("token", "third\n");
	cr_assert(kube_config_refresh(&config, now, true, &error));
	cr_assert_str_eq(config.token, "third");
}

Test(config, the_old_token_stays_when_the_new_one_cannot_be_read)
{
	struct instant now = {1000000};

	be_in_cluster("10.96.0.1");
	cr_assert(load());
	unlink(in_folder("token"));
	cr_assert_not(kube_config_refresh(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	cr_assert(kube_config_refresh(&config, now, false, &error), "not at each call");
	write_file("token", "");
	now.ms += 10000;
	cr_assert_not(kube_config_refresh(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	write_file("token", "new");
	now.ms += 10000;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	cr_assert_str_eq(config.token, "new");
}

static void be_with_files(void)
{
	write_file("ca.crt", PEM);
	write_file("client.crt", PEM);
	write_file("client.key", KEY);
	cr_assert(
		load_with(SERVER ", certificate-authority: ca.crt", "client-certificate: client.crt, client-key: client.key"),
		"%s", error.message);
}

static void expect_files(const char *ca, const char *cert, const char *key)
{
	const struct http_tls *tls = prepare()->tls;

	cr_assert_str_eq(tls->ca_pem, ca);
	cr_assert_str_eq(tls->cert_pem, cert);
	cr_assert_str_eq(tls->key_pem, key);
}

Test(config, certificates_are_read_again_every_five_minutes)
{
	struct instant now = {1000000};
	const struct http_tls *before;

	be_with_files();
	cr_assert(kube_config_refresh(&config, now, false, &error));
	before = prepare()->tls;
	write_file("ca.crt", PEM PEM);
	write_file("client.crt", OTHER_PEM);
	write_file("client.key", KEY KEY);
	now.ms += 299999;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	expect_files(PEM, PEM, KEY);
	now.ms += 1;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	expect_files(PEM PEM, OTHER_PEM, KEY KEY);
	cr_assert_str_eq(before->ca_pem, PEM, "what was handed out stays");
	write_file("ca.crt", OTHER_PEM);
	cr_assert(kube_config_refresh(&config, now, true, &error));
	expect_files(OTHER_PEM, OTHER_PEM, KEY KEY);
}

Test(config, what_is_broken_on_disk_breaks_nothing)
{
	static const char *const broken[] = {
		"",
		"not PEM",
		"-----BEGIN CERTIFICATE-----\nMAA=\n",
		"-----BEGIN CERTIFICATE-----\nMAA=\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nM!AA\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
	};
	struct instant now = {1000000};

	be_with_files();
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		write_file("ca.crt", broken[i]);
		cr_assert_not(kube_config_refresh(&config, now, true, &error), "%s", broken[i]);
		cr_assert_not_null(strstr(error.message, in_folder("ca.crt")), "%s", error.message);
		expect_files(PEM, PEM, KEY);
	}
	cr_assert(kube_config_refresh(&config, now, false, &error), "not at each call");
	write_file("ca.crt", OTHER_PEM);
	unlink(in_folder("client.key"));
	write_file("client.crt", OTHER_PEM);
	now.ms += 10000;
	cr_assert_not(kube_config_refresh(&config, now, false, &error), "soon again");
	cr_assert_not_null(strstr(error.message, in_folder("client.key")), "%s", error.message);
	expect_files(OTHER_PEM, PEM, KEY);
	write_file("client.key", KEY KEY);
	now.ms += 10000;
	cr_assert(kube_config_refresh(&config, now, false, &error));
	expect_files(OTHER_PEM, OTHER_PEM, KEY KEY);
}

Test(config, the_ca_of_the_pod_is_followed_too)
{
	be_in_cluster("10.96.0.1");
	cr_assert(load());
	cr_assert_str_eq(prepare()->tls->ca_pem, PEM);
	cr_assert_str_eq(header("Authorization"), "Bearer pod-token");
	write_file("ca.crt", PEM OTHER_PEM);
	cr_assert(kube_config_refresh(&config, (struct instant){400000}, false, &error));
	cr_assert_str_eq(prepare()->tls->ca_pem, PEM OTHER_PEM);
}

Test(config, a_bundle_may_explain_itself)
{
	write_file("ca.crt", "# Some CA\n" PEM "\nsubject=/CN=x\n" OTHER_PEM "trailing words\n");
	cr_assert(load_with(SERVER ", certificate-authority: ca.crt", "token: t"), "%s", error.message);
}
