#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "config_shapes.h"
#include "kube/config.h"

#define NOW ((struct wallclock){1767323045000000}) /* 2026-01-02T03:04:05Z */

static struct arena arena;
static struct kube_config config;
static struct program program;
static struct error error;
static bool terminal;
static char path[] = "/tmp/zonevac-exec-XXXXXX";

static void begin(void)
{
	int descriptor = mkstemp(path);

	cr_assert_geq(descriptor, 0);
	close(descriptor);
	arena_init(&arena, "test", (size_t)64 << 20);
}

static void end(void)
{
	unlink(path);
	kube_config_done(&config);
	arena_done(&arena);
}

TestSuite(exec, .init = begin, .fini = end);

static const char *get_nothing(void *context, const char *name)
{
	(void)context;
	(void)name;
	return NULL;
}

static bool load_with(const char *cluster, const char *user)
{
	struct kube_config_request request = {.kubeconfig = path, .getenv = get_nothing, .terminal = terminal};
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fprintf(file,
	        "current-context: m\ncontexts:\n- {name: m, context: {cluster: c, user: u}}\n"
	        "clusters:\n- name: c\n  cluster: {server: 'https://h:6443/', %s}\nusers:\n- name: u\n  user: {%s}\n",
	        cluster, user);
	fclose(file);
	kube_config_done(&config);
	return kube_config_load(&arena, &request, &config, &error);
}

static void load(const char *user)
{
	cr_assert(load_with("", user), "%s", error.message);
	cr_assert_not_null(config.exec);
	kube_login_program(&config, &arena, &program);
}

static const char *variable(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; program.environment[i] != NULL; i++) {
		if (strncmp(program.environment[i], name, length) == 0 && program.environment[i][length] == '=')
			return program.environment[i] + length + 1;
	}
	return NULL;
}

static const char *header(const char *name)
{
	struct http_request request = {.path = "/"};

	kube_config_prepare(&config, &arena, &request);
	return http_header(&request.headers, name);
}

static bool hear(const char *output)
{
	struct http_response response = {.status = 200, .body = output, .body_length = strlen(output)};

	error = (struct error){0};
	return kube_login_hear(&config, NOW, &response, &error);
}

/* As `aws eks get-token` writes it. */
#define GET_TOKEN(version, until, token)                                                             \
	"{\"kind\": \"ExecCredential\", \"apiVersion\": \"" API version "\", \"spec\": {}, \"status\": " \
	"{\"expirationTimestamp\": \"" until "\", \"token\": \"" token "\"}}\n"
#define STATUS(members) "{\"apiVersion\":\"" API "v1\",\"kind\":\"ExecCredential\",\"status\":{" members "}}"

Test(exec, what_is_run_for_eks)
{
	static const char *const argv[] = {"aws", "eks", "get-token", "--cluster-name", "demo"};

	load(EXEC_V1);
	for (size_t i = 0; i < sizeof argv / sizeof *argv; i++)
		cr_assert_str_eq(program.argv[i], argv[i]);
	cr_assert_null(program.argv[5]);
	cr_assert_str_eq(variable("AWS_PROFILE"), "ops");
	cr_assert_str_eq(variable("KUBERNETES_EXEC_INFO"),
	                 "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "v1\",\"spec\":{\"interactive\":false}}");
	cr_assert_eq(program.deadline_ms, 60000);
	cr_assert_eq(program.max_output_bytes, (size_t)1 << 20);
	cr_assert_not(program.interactive);
}

Test(exec, a_path_is_beside_the_kubeconfig_a_name_is_not)
{
	load("exec: {apiVersion: " API "v1beta1, command: ./bin/login}");
	cr_assert_str_eq(program.argv[0], "/tmp/./bin/login");
	cr_assert_null(program.argv[1]);
	load("exec: {apiVersion: " API "v1beta1, command: /opt/login}");
	cr_assert_str_eq(program.argv[0], "/opt/login");
	load("exec: {apiVersion: " API "v1beta1, command: login}");
	cr_assert_str_eq(program.argv[0], "login");
}

Test(exec, interactive_only_with_a_terminal)
{
	static const char *const modes[] = {"Never", "IfAvailable", "Always"};

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		const char *user =
			arena_printf(&arena, "exec: {apiVersion: " API "v1, command: x, interactiveMode: %s}", modes[i]);

		terminal = true;
		load(user);
		cr_assert_eq(program.interactive, i > 0, "%s", modes[i]);
		cr_assert_not_null(strstr(variable("KUBERNETES_EXEC_INFO"), i > 0 ? ":true" : ":false"));
		terminal = false;
		if (i == 2) {
			cr_assert_not(load_with("", user));
			cr_assert_not_null(strstr(error.message, "Always"), "%s", error.message);
		} else {
			load(user);
			cr_assert_not(program.interactive);
		}
	}
}

Test(exec, what_the_kubeconfig_must_say)
{
	static const char *const cases[][2] = {
		{"exec: {apiVersion: " API "v1, command: aws}", "has no interactiveMode"},
		{"exec: {apiVersion: " API "v1, command: aws, interactiveMode: Sometimes}", "interactiveMode is none of"},
		{"exec: {command: aws}", "has no apiVersion"},
		{"exec: {apiVersion: " API "v1alpha1, command: aws}", "update-kubeconfig"},
		{"exec: {apiVersion: " API "v1beta1}", "has no command"},
		{"exec: {apiVersion: " API "v1beta1, command: a, args: b}", "args is no list"},
		{"exec: {apiVersion: " API "v1beta1, command: a, args: [b, 1]}", "args[1] is no text"},
		{"exec: {apiVersion: " API "v1beta1, command: a, env: [{value: b}]}", "env[0] has no name"},
		{"exec: {apiVersion: " API "v1beta1, command: a, env: [{name: A=B, value: b}]}", "env[0] has no name"},
		{"exec: {apiVersion: " API "v1beta1, command: a, env: [{name: A, value: 1}]}", "env[0].value is no text"},
		{"exec: [a]", "exec is no object"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_not(load_with("", cases[i][0]), "%s", cases[i][0]);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, "user \"u\": exec"), "%s", error.message);
		cr_assert_not_null(strstr(error.message, cases[i][1]), "%s", error.message);
		cr_assert_not_null(strstr(error.message, path), "%s", error.message);
	}
}

Test(exec, another_credential_goes_first)
{
	cr_assert(load_with("", "token: t, " EXEC_V1), "%s", error.message);
	cr_assert_null(config.exec);
	cr_assert_str_eq(header("Authorization"), "Bearer t");
	cr_assert(load_with("", "client-certificate-data: " PEM_BASE64 ", client-key-data: " PEM_BASE64 ", " EXEC_V1));
	cr_assert_null(config.exec);
}

Test(exec, cluster_info_with_the_ca_as_data)
{
	const struct json *cluster;
	const char *info;

	cr_assert(load_with("certificate-authority-data: " PEM_BASE64 ", tls-server-name: k, disable-compression: true, "
	                    "proxy-url: 'http://p:1', extensions: [{name: other, extension: 1}, "
	                    "{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
	                    "exec: {apiVersion: " API "v1beta1, command: x, provideClusterInfo: true}"),
	          "%s", error.message);
	kube_login_program(&config, &arena, &program);
	info = variable("KUBERNETES_EXEC_INFO");
	cluster = json_path(json_parse(&arena, info, strlen(info), &error), "spec.cluster");
	cr_assert_str_eq(json_print(cluster, &arena),
	                 "{\"server\":\"https://h:6443\",\"tls-server-name\":\"k\",\"proxy-url\":\"http://p:1\","
	                 "\"disable-compression\":true,\"config\":{\"audience\":\"a\"},"
	                 "\"certificate-authority-data\":\"" PEM_BASE64 "\"}");
	kube_login_program(&config, &arena, &program);
	cr_assert_str_eq(variable("KUBERNETES_EXEC_INFO"), info, "asked twice, said twice");
}

Test(exec, cluster_info_has_the_ca_that_is_in_use)
{
	cr_assert(load_with("insecure-skip-tls-verify: true",
	                    "exec: {apiVersion: " API "v1beta1, command: x, provideClusterInfo: true}"));
	kube_login_program(&config, &arena, &program);
	cr_assert_not_null(strstr(variable("KUBERNETES_EXEC_INFO"), "\"insecure-skip-tls-verify\":true"));
	cr_assert_null(strstr(variable("KUBERNETES_EXEC_INFO"), "certificate-authority-data"));
	config.ca_pem = strdup(PEM);
	kube_login_program(&config, &arena, &program);
	cr_assert_not_null(strstr(variable("KUBERNETES_EXEC_INFO"), PEM_BASE64));
}

Test(exec, a_token_as_eks_gives_it)
{
	load(EXEC_V1);
	cr_assert(kube_login_due(&config, NOW));
	cr_assert_null(header("Authorization"));
	cr_assert(hear(GET_TOKEN("v1", "2026-01-02T03:18:05Z", "k8s-aws-v1.aHR0cHM6Ly9zdHM")), "%s", error.message);
	cr_assert(config.login.good);
	cr_assert_str_eq(header("Authorization"), "Bearer k8s-aws-v1.aHR0cHM6Ly9zdHM");
	cr_assert_not(kube_login_due(&config, wallclock_after_ms(NOW, 779999)));
	cr_assert(kube_login_due(&config, wallclock_after_ms(NOW, 780000)), "a minute before its end");
	cr_assert(hear(GET_TOKEN("v1", "2026-01-02T03:34:05Z", "second")), "%s", error.message);
	cr_assert_str_eq(header("Authorization"), "Bearer second");
}

Test(exec, beta_is_answered_in_beta)
{
	load("exec: {apiVersion: " API "v1beta1, command: aws}");
	cr_assert(hear(GET_TOKEN("v1beta1", "2026-01-02T03:18:05Z", "t")), "%s", error.message);
	cr_assert_not(hear(GET_TOKEN("v1", "2026-01-02T03:18:05Z", "other")));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_str_eq(header("Authorization"), "Bearer t", "what was there stays");
}

Test(exec, a_short_life_is_renewed_after_two_thirds_of_it)
{
	load(EXEC_V1);
	cr_assert(hear(GET_TOKEN("v1", "2026-01-02T03:05:35Z", "t")));
	cr_assert_not(kube_login_due(&config, wallclock_after_ms(NOW, 59999)));
	cr_assert(kube_login_due(&config, wallclock_after_ms(NOW, 60000)));
	cr_assert(hear(STATUS("\"token\":\"t\"")));
	cr_assert_not(kube_login_due(&config, wallclock_after_ms(NOW, (int64_t)1 << 40)), "no end, never again");
}

Test(exec, a_certificate_with_its_key)
{
	struct http_request request = {.path = "/"};

	load(EXEC_V1);
	cr_assert(hear(STATUS("\"token\":\"t\"")));
	cr_assert(
		hear(STATUS("\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\","
	                "\"clientKeyData\":\"-----BEGIN PRIVATE KEY-----\\nMAAA\\n-----END PRIVATE KEY-----\\n\"")),
		"%s", error.message);
	kube_config_prepare(&config, &arena, &request);
	cr_assert_str_eq(request.tls->cert_pem, PEM);
	cr_assert_str_eq(request.tls->key_pem, KEY);
	cr_assert_null(http_header(&request.headers, "Authorization"), "the token before it is not left");
}

Test(exec, anything_else_is_malformed_and_quotes_nothing)
{
	static const char *const answers[] = {
		"",
		"MARKER",
		"{\"MARKER\":",
		"[\"MARKER\"]",
		"null",
		"{\"kind\":\"MARKER\",\"apiVersion\":\"" API "v1\",\"status\":{\"token\":\"MARKER\"}}",
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"MARKER\",\"status\":{\"token\":\"MARKER\"}}",
		"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"MARKER\"}}",
		GET_TOKEN("v1beta1", "2026-01-02T03:18:05Z", "MARKER"),
		GET_TOKEN("v1", "2026-01-02T03:18:05Z", "MARKER") "MARKER",
		GET_TOKEN("v1", "tomorrow MARKER", "MARKER"),
		GET_TOKEN("v1", "20260102T031805Z", "MARKER"),
		GET_TOKEN("v1", "2026-01-02T03:18:05Z", "MAR KER"),
		GET_TOKEN("v1", "2026-01-02T03:18:05Z", "MARKER\\n"),
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "v1\"}",
		"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API "v1\",\"status\":null}",
		STATUS(""),
		STATUS("\"token\":\"\""),
		STATUS("\"token\":[\"MARKER\"]"),
		STATUS("\"token\":\"MARKER\",\"expirationTimestamp\":5"),
		STATUS("\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\""),
		STATUS("\"clientKeyData\":\"-----BEGIN PRIVATE KEY-----\\nMARKER\\n-----END PRIVATE KEY-----\\n\""),
		STATUS(
			"\"token\":\"t\",\"clientKeyData\":\"-----BEGIN PRIVATE KEY-----\\nMARKER\\n-----END PRIVATE KEY-----\\n\""),
		STATUS("\"clientCertificateData\":\"" PEM_BASE64 "\",\"clientKeyData\":\"TUFSS0VS\""),
		STATUS("\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\","
	           "\"clientKeyData\":\"-----BEGIN PRIVATE KEY-----\\nMARKER\""),
	};

	load(EXEC_V1);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		cr_assert_not(hear(answers[i]), "%s", answers[i]);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s: %s", answers[i], error.message);
		cr_assert_null(strstr(error.message, "MARKER"), "%s", error.message);
		cr_assert_null(strstr(error.message, "MAR KER"), "%s", error.message);
		cr_assert_not_null(strstr(error.message, "exec plugin aws: "), "%s", error.message);
		cr_assert_not(config.login.good);
	}
}

Test(exec, a_token_that_is_too_long_is_malformed)
{
	char *token = arena_alloc(&arena, 20001);

	memset(token, 'x', 20000);
	load(EXEC_V1);
	cr_assert_not(hear(arena_printf(&arena, STATUS("\"token\":\"%s\""), token)));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
}

Test(exec, what_has_expired_is_not_taken)
{
	load(EXEC_V1);
	cr_assert(hear(GET_TOKEN("v1", "2026-01-02T03:18:05Z", "good")));
	cr_assert_not(hear(GET_TOKEN("v1", "2026-01-02T03:04:05Z", "old")));
	cr_assert_eq(error.kind, ERROR_EXPIRED);
	cr_assert_str_eq(header("Authorization"), "Bearer good");
}

Test(exec, a_failure_is_told_with_the_hint_where_it_helps)
{
	struct http_response response = {.body = ""};

	load("exec: {apiVersion: " API "v1beta1, command: aws, installHint: \"aws is needed\\nSee the manual\"}");
	error_set(&response.error, ERROR_INPUT, "aws: not found");
	cr_assert_not(kube_login_hear(&config, NOW, &response, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_str_eq(error.message, "exec plugin: aws: not found; aws is needed See the manual");
	error_set(&response.error, ERROR_REJECTED, "aws: exit code 255");
	cr_assert_not(kube_login_hear(&config, NOW, &response, &error));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_str_eq(error.message, "exec plugin: aws: exit code 255");
	error_set(&response.error, ERROR_TIMEOUT, "aws: took longer than 60 s");
	cr_assert_not(kube_login_hear(&config, NOW, &response, &error));
	cr_assert_eq(error.kind, ERROR_TIMEOUT);
	response.error = (struct error){0};
	cr_assert_not(kube_login_hear(&config, NOW, &response, &error));
	cr_assert_eq(error.kind, ERROR_UNREACHABLE);
	cr_assert(kube_login_due(&config, NOW));
}
