#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "kube/config.h"

/* "PEM" as base64 is enough to look like one. */
#define PEM "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

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
	static const char *const names[] = {"config",     "other",     "token",        "ca.crt", "client.crt",
	                                    "client.key", "namespace", ".kube/config", NULL};
	char path[256];

	for (size_t i = 0; names[i] != NULL; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/.kube", folder);
	rmdir(path);
	rmdir(folder);
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
	return kube_config_load(&arena, &request, &config, &error);
}

static bool load_with(const char *cluster, const char *user)
{
	request.kubeconfig = write_file("config", kubeconfig(cluster, user));
	return load();
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
	cr_assert_null(config.tls.ca_pem);
	cr_assert_str_eq(config.tls.cert_pem, PEM);
	cr_assert_str_eq(config.tls.key_pem, PEM "\n");
	cr_assert_str_eq(config.token, "from-file");
	cr_assert_str_eq(config.token_file, in_folder("token"));
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
	cr_assert_null(config.tls.cert_pem);
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
		{SERVER, "exec: {command: aws}", "user \"u\": exec is not supported; use"},
		{SERVER, "auth-provider: {name: gcp}", "user \"u\": auth-provider is not supported"},
		{SERVER, "username: a, password: b", "user \"u\": username is not supported"},
		{SERVER, "as: admin", "user \"u\": as is not supported"},
		{SERVER, "as-groups: [a]", "user \"u\": as-groups is not supported"},
		{SERVER ", proxy-url: 'http://p:3128'", "token: t", "cluster \"c\": proxy-url is not supported"},
		{"insecure-skip-tls-verify: true", "token: t", "cluster \"c\": has no server"},
		{"server: 'https://'", "token: t", "cluster \"c\": server https:// names no host"},
		{"server: '10.0.0.1:6443'", "token: t", "is no URL of https or http"},
		{"server: 'https://me:pw@h'", "token: t", "server is not a plain URL"},
		{SERVER ", insecure-skip-tls-verify: true, certificate-authority: ca.crt", "token: t",
	     "take insecure-skip-tls-verify out"},
		{SERVER ", certificate-authority-data: '%%%'", "token: t", "certificate-authority-data is not base64"},
		{SERVER ", certificate-authority-data: QUJD", "token: t", "certificate-authority-data holds no PEM block"},
		{SERVER ", certificate-authority: nowhere.crt", "token: t", "cluster \"c\": certificate-authority: "},
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

Test(config, the_token_is_never_in_an_error)
{
	cr_assert_not(load_with(SERVER, "token: 'top secret'"));
	cr_assert_null(strstr(error.message, "top"));
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

Test(config, several_files_are_refused_in_words)
{
	write_file("config", kubeconfig(SERVER, "token: t"));
	set_variable("KUBECONFIG", arena_printf(&arena, "%s:%s", in_folder("config"), in_folder("other")));
	cr_assert_not(load());
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "KUBECONFIG names several files"), "%s", error.message);
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
	cr_assert(kube_config_refresh_token(&config, now, false, &error));
	write_file("token", "second\n");
	now.ms += 49999;
	cr_assert(kube_config_refresh_token(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	now.ms += 1;
	cr_assert(kube_config_refresh_token(&config, now, false, &error));
	cr_assert_str_eq(config.token, "second");
	write_file("token", "third\n");
	cr_assert(kube_config_refresh_token(&config, now, true, &error));
	cr_assert_str_eq(config.token, "third");
}

Test(config, the_old_token_stays_when_the_new_one_cannot_be_read)
{
	struct instant now = {1000000};

	be_in_cluster("10.96.0.1");
	cr_assert(load());
	unlink(in_folder("token"));
	cr_assert_not(kube_config_refresh_token(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	cr_assert(kube_config_refresh_token(&config, now, false, &error), "not at each call");
	write_file("token", "");
	now.ms += 10000;
	cr_assert_not(kube_config_refresh_token(&config, now, false, &error));
	cr_assert_str_eq(config.token, "pod-token");
	write_file("token", "new");
	now.ms += 10000;
	cr_assert(kube_config_refresh_token(&config, now, false, &error));
	cr_assert_str_eq(config.token, "new");
}
