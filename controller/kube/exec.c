#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/pem.h"
#include "base/text.h"
#include "config_parts.h"

#define API_GROUP "client.authentication.k8s.io/"
#define EXEC_EXTENSION "client.authentication.k8s.io/exec"
#define EXEC_DEADLINE_MS 60000
#define EXEC_MAX_BYTES ((size_t)1 << 20)
#define ANSWER_ARENA_BYTES ((size_t)64 << 20)
#define INFO_MAX_BYTES ((size_t)4 << 20)
#define HINT_MAX_BYTES 256
#define RENEW_EARLY_MS 60000

/* One line that can be shown. */
static const char *one_line(struct arena *arena, const char *string)
{
	char *line;

	if (string == NULL)
		return NULL;
	line = arena_copy(arena, string, text_cut(string, strlen(string), HINT_MAX_BYTES));
	for (char *at = line; *at != '\0'; at++) {
		if (iscntrl((unsigned char)*at))
			*at = ' ';
	}
	return text_trim(arena, line, strlen(line));
}

static bool read_arguments(struct config_load *load, const struct config_entry *user, struct kube_exec *exec)
{
	const struct json *value = json_get(user->value, "exec");
	const struct json *args = json_get(value, "args");
	const char *command = config_filled(value, "command");
	const char **argv = arena_array(load->arena, json_count(args) + 2, sizeof *argv);

	if (command == NULL)
		return error_set(load->error, ERROR_INPUT, "has no command; name the plugin");
	if (json_type(args) != JSON_ARRAY && json_type(args) != JSON_NULL)
		return error_set(load->error, ERROR_INPUT, "args is no list");
	/* A name alone is looked up in PATH. */
	argv[0] =
		strchr(command, '/') != NULL ? config_beside(load, user->folder, command) : arena_string(load->arena, command);
	for (size_t i = 0; i < json_count(args); i++) {
		argv[i + 1] = arena_string(load->arena, json_string(json_at(args, i)));
		if (argv[i + 1] == NULL)
			return error_set(load->error, ERROR_INPUT, "args[%zu] is no text; put it in quotes", i);
	}
	exec->argv = argv;
	return true;
}

static bool read_environment(struct config_load *load, const struct json *value, struct kube_exec *exec)
{
	const struct json *list = json_get(value, "env");
	const char **environment = arena_array(load->arena, json_count(list) + 1, sizeof *environment);

	if (json_type(list) != JSON_ARRAY && json_type(list) != JSON_NULL)
		return error_set(load->error, ERROR_INPUT, "env is no list of name and value");
	for (size_t i = 0; i < json_count(list); i++) {
		const char *name = config_filled(json_at(list, i), "name");
		const char *text = json_get_string(json_at(list, i), "value");

		if (name == NULL || strchr(name, '=') != NULL)
			return error_set(load->error, ERROR_INPUT, "env[%zu] has no name of a variable", i);
		if (text == NULL && config_is_set(json_at(list, i), "value"))
			return error_set(load->error, ERROR_INPUT, "env[%zu].value is no text; put it in quotes", i);
		environment[i] = arena_printf(load->arena, "%s=%s", name, text != NULL ? text : "");
	}
	exec->environment = environment;
	return true;
}

/* v1 wants it said, v1beta1 takes IfAvailable. */
static bool read_mode(struct config_load *load, const struct json *value, struct kube_exec *exec)
{
	const char *mode = config_filled(value, "interactiveMode");

	if (mode == NULL && text_equal(exec->api_version, API_GROUP "v1"))
		return error_set(load->error, ERROR_INPUT,
		                 "has no interactiveMode, which v1 demands; write interactiveMode: IfAvailable");
	if (mode == NULL || text_equal(mode, "IfAvailable")) {
		exec->interactive = load->request->terminal;
		return true;
	}
	if (text_equal(mode, "Never"))
		return true;
	if (!text_equal(mode, "Always"))
		return error_set(load->error, ERROR_INPUT, "interactiveMode is none of Never, IfAvailable and Always");
	exec->interactive = true;
	if (load->request->terminal)
		return true;
	return error_set(load->error, ERROR_INPUT,
	                 "interactiveMode is Always, but standard input is no terminal; use other credentials here");
}

static bool read_version(struct config_load *load, const struct json *value, struct kube_exec *exec)
{
	const char *version = config_filled(value, "apiVersion");

	if (version == NULL)
		return error_set(load->error, ERROR_INPUT, "has no apiVersion; write " API_GROUP "v1");
	if (!text_equal(version, API_GROUP "v1") && !text_equal(version, API_GROUP "v1beta1"))
		return error_set(load->error, ERROR_INPUT,
		                 "apiVersion is neither " API_GROUP "v1 nor v1beta1; update the kubeconfig (aws eks "
		                 "update-kubeconfig does it for EKS)");
	exec->api_version = arena_string(load->arena, version);
	return true;
}

/* spec.cluster of what the plugin is told, but for the CA: that may change. */
static const struct json *cluster_info(struct config_load *load, const struct config_entry *cluster)
{
	struct json *info = json_new_object(load->arena);
	const struct json *extensions = json_get(cluster->value, "extensions");

	json_set_string(info, "server", load->out->base_url);
	json_set_string(info, "tls-server-name", load->out->tls.server_name);
	if (load->out->tls.insecure)
		json_set_bool(info, "insecure-skip-tls-verify", true);
	json_set_string(info, "proxy-url", load->out->proxy_url);
	if (json_bool(json_get(cluster->value, "disable-compression"), false))
		json_set_bool(info, "disable-compression", true);
	for (size_t i = 0; i < json_count(extensions); i++) {
		const struct json *extension = json_get(json_at(extensions, i), "extension");

		if (extension != NULL && text_equal(json_get_string(json_at(extensions, i), "name"), EXEC_EXTENSION))
			json_set(info, "config", json_copy(load->arena, extension));
	}
	return info;
}

bool config_exec_read(struct config_load *load, const struct config_entry *cluster, const struct config_entry *user)
{
	const struct json *value = json_get(user->value, "exec");
	struct kube_exec *exec = ARENA_NEW(load->arena, struct kube_exec);

	if (json_type(value) != JSON_OBJECT)
		return error_set(load->error, ERROR_INPUT, "exec is no object of apiVersion, command and others");
	if (!read_version(load, value, exec) || !read_arguments(load, user, exec) || !read_environment(load, value, exec) ||
	    !read_mode(load, value, exec))
		return error_wrap(load->error, "exec");
	exec->install_hint = one_line(load->arena, config_filled(value, "installHint"));
	if (json_bool(json_get(value, "provideClusterInfo"), false))
		exec->cluster = cluster_info(load, cluster);
	load->out->exec = exec;
	return true;
}

/* Running it. */

static struct json *told_cluster(const struct kube_config *config, struct arena *arena)
{
	struct json *cluster = json_copy(arena, config->exec->cluster);
	const char *ca = config->ca_pem != NULL ? config->ca_pem : config->tls.ca_pem;
	struct text encoded;

	if (ca == NULL)
		return cluster;
	text_init(&encoded, INFO_MAX_BYTES);
	text_append_base64(&encoded, ca, strlen(ca));
	json_set_string(cluster, "certificate-authority-data", encoded.at);
	text_done(&encoded);
	return cluster;
}

/* KUBERNETES_EXEC_INFO: the question to which the answer is an ExecCredential. */
static const char *exec_info(const struct kube_config *config, struct arena *arena)
{
	struct json *info = json_new_object(arena);
	struct json *spec;

	json_set_string(info, "kind", "ExecCredential");
	json_set_string(info, "apiVersion", config->exec->api_version);
	spec = json_set_object(info, "spec");
	if (config->exec->cluster != NULL)
		json_set(spec, "cluster", told_cluster(config, arena));
	json_set_bool(spec, "interactive", config->exec->interactive);
	return arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", json_print(info, arena));
}

void kube_login_program(const struct kube_config *config, struct arena *arena, struct program *out)
{
	const char *const *own = config->exec->environment;
	const char **environment;
	size_t count = 0;

	while (own[count] != NULL)
		count++;
	environment = arena_array(arena, count + 2, sizeof *environment);
	for (size_t i = 0; i < count; i++)
		environment[i] = own[i];
	environment[count] = exec_info(config, arena);
	*out = (struct program){
		.argv = config->exec->argv,
		.environment = environment,
		.interactive = config->exec->interactive,
		.deadline_ms = EXEC_DEADLINE_MS,
		.max_output_bytes = EXEC_MAX_BYTES,
	};
}

/* Its answer. */

/* A text with something in it, or nothing at all; false for anything else. */
static bool read_text(const struct json *status, const char *key, const char **out, struct error *error)
{
	*out = config_filled(status, key);
	if (*out != NULL || !config_is_set(status, key))
		return true;
	return error_set(error, ERROR_MALFORMED, "status.%s is no text", key);
}

static bool read_pem_text(const struct json *status, const char *key, const char **out, struct error *error)
{
	if (!read_text(status, key, out, error))
		return false;
	if (*out == NULL || pem_check(*out, key, error))
		return true;
	error->kind = ERROR_MALFORMED;
	return error_wrap(error, "status");
}

static bool read_expiry(const struct json *status, struct wallclock wall, struct kube_login *out, struct error *error)
{
	const char *stamp;
	int64_t early_us;

	if (!read_text(status, "expirationTimestamp", &stamp, error))
		return false;
	if (stamp == NULL)
		return true;
	if (strchr(stamp, '-') == NULL || !wallclock_parse(stamp, &out->expires_at))
		return error_set(error, ERROR_MALFORMED, "status.expirationTimestamp is no time of RFC 3339");
	if (out->expires_at.us <= wall.us)
		return error_set(error, ERROR_EXPIRED, "what it gave has already expired");
	early_us = (out->expires_at.us - wall.us) / 3;
	if (early_us > (int64_t)RENEW_EARLY_MS * 1000)
		early_us = (int64_t)RENEW_EARLY_MS * 1000;
	out->due_at = (struct wallclock){out->expires_at.us - early_us};
	return true;
}

static void copy_in(char **out, const char *string)
{
	if (string == NULL)
		return;
	*out = strdup(string);
	if (*out == NULL)
		abort();
}

static bool read_status(const struct json *status, struct wallclock wall, struct kube_login *out, struct error *error)
{
	const char *token;
	const char *cert;
	const char *key;

	if (json_type(status) != JSON_OBJECT)
		return error_set(error, ERROR_MALFORMED, "it gave no status");
	if (!read_text(status, "token", &token, error) || !read_pem_text(status, "clientCertificateData", &cert, error) ||
	    !read_pem_text(status, "clientKeyData", &key, error) || !read_expiry(status, wall, out, error))
		return false;
	if ((cert == NULL) != (key == NULL))
		return error_set(error, ERROR_MALFORMED, "it gave a client %s without its %s",
		                 key == NULL ? "certificate" : "key", key == NULL ? "key" : "certificate");
	if (token == NULL && cert == NULL)
		return error_set(error, ERROR_MALFORMED, "it gave neither a token nor a client certificate");
	if (token != NULL && !config_check_token(token, strlen(token), error)) {
		error->kind = ERROR_MALFORMED;
		return error_wrap(error, "status.token");
	}
	copy_in(&out->token, token);
	copy_in(&out->cert_pem, cert);
	copy_in(&out->key_pem, key);
	out->good = true;
	return true;
}

static bool read_answer(const struct kube_config *config, struct wallclock wall, struct arena *arena,
                        const struct http_response *response, struct kube_login *out, struct error *error)
{
	struct error ignored; /* a parser's words may quote what it read */
	const struct json *answer = json_parse(arena, response->body, response->body_length, &ignored);

	if (json_type(answer) != JSON_OBJECT)
		return error_set(error, ERROR_MALFORMED, "its standard output is no object of JSON");
	if (!text_equal(json_get_string(answer, "kind"), "ExecCredential"))
		return error_set(error, ERROR_MALFORMED, "its answer is no ExecCredential");
	if (!text_equal(json_get_string(answer, "apiVersion"), config->exec->api_version))
		return error_set(error, ERROR_MALFORMED, "its answer is not of apiVersion %s, which the kubeconfig asks for",
		                 config->exec->api_version);
	return read_status(json_get(answer, "status"), wall, out, error);
}

/* Why it did not run. */
static bool explain(const struct kube_exec *exec, const struct http_response *response, struct error *error)
{
	*error = response->error;
	if (error->kind == ERROR_NONE)
		error_set(error, ERROR_UNREACHABLE, "it gave no answer");
	if (error->kind == ERROR_INPUT && exec->install_hint != NULL)
		error_set(error, ERROR_INPUT, "%s; %s", response->error.message, exec->install_hint);
	return error_wrap(error, "exec plugin");
}

void config_forget(char **secret)
{
	if (*secret != NULL)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

void config_login_done(struct kube_login *login)
{
	config_forget(&login->token);
	config_forget(&login->cert_pem);
	config_forget(&login->key_pem);
	*login = (struct kube_login){0};
}

bool kube_login_hear(struct kube_config *config, struct wallclock wall, const struct http_response *response,
                     struct error *error)
{
	struct kube_login fresh = {0};
	struct arena arena;
	bool good;

	if (response->status != 200 || response->error.kind != ERROR_NONE)
		return explain(config->exec, response, error);
	arena_init(&arena, "exec plugin", ANSWER_ARENA_BYTES);
	good = read_answer(config, wall, &arena, response, &fresh, error);
	arena_done(&arena);
	if (!good)
		return error_wrap(error, "exec plugin %s", config->exec->argv[0]);
	config_login_done(&config->login);
	config->login = fresh;
	return true;
}

bool kube_login_due(const struct kube_config *config, struct wallclock wall)
{
	const struct kube_login *login = &config->login;

	return !login->good || (login->due_at.us != 0 && wall.us >= login->due_at.us);
}
