#include "kube/config.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBECONFIG_MAX_BYTES ((size_t)4 << 20)
#define PEM_MAX_BYTES ((size_t)1 << 20)
#define NAMESPACE_MAX_BYTES 256
#define SCRATCH_MAX_BYTES ((size_t)64 << 20)
#define TOKEN_ARENA_BYTES ((size_t)1 << 20)
#define TOKEN_MAX_AGE_MS 50000
#define TOKEN_RETRY_MS 10000

/* One load: `arena` for what stays, `scratch` for the file. */
struct load {
	struct arena *arena;
	struct arena scratch;
	const struct kube_config_request *request;
	struct kube_config *out;
	struct error *error;
	const char *file;   /* the kubeconfig */
	const char *folder; /* with its slash; "" = here */
	bool secure;
};

static const char *env(const struct load *load, const char *name)
{
	const char *value = load->request->getenv(load->request->getenv_context, name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* A member that is a string with something in it; NULL otherwise. */
static const char *filled(const struct json *object, const char *key)
{
	const char *value = json_get_string(object, key);

	return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_set(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);
	enum json_type type = json_type(value);

	if (type == JSON_STRING)
		return filled(object, key) != NULL;
	return type == JSON_OBJECT || type == JSON_ARRAY ? json_count(value) > 0 : type != JSON_NULL;
}

static const char *beside_file(struct load *load, const char *path)
{
	return *path == '/' ? arena_string(load->arena, path) : arena_printf(load->arena, "%s%s", load->folder, path);
}

/* A token as it goes into a header: nothing but visible ASCII. */
static bool put_token(struct kube_config *config, const char *bytes, size_t length, struct error *error)
{
	struct arena arena;
	const char *token;
	size_t token_length;
	bool good;

	arena_init(&arena, "token", TOKEN_ARENA_BYTES);
	if (length >= sizeof config->token) {
		good = error_set(error, ERROR_LIMIT, "the token is longer than %zu bytes", sizeof config->token - 1);
	} else {
		token = text_trim(&arena, bytes, length);
		token_length = strlen(token);
		good = token_length > 0;
		for (size_t i = 0; i < token_length; i++)
			good = good && token[i] > ' ' && token[i] < 0x7f;
		if (good)
			memcpy(config->token, token, token_length + 1);
		else
			error_set(error, ERROR_INPUT,
			          token_length == 0 ? "the token is empty" : "it is not a token: one line of ASCII is expected");
	}
	arena_done(&arena);
	return good;
}

static bool read_token(struct kube_config *config, struct error *error)
{
	struct arena arena;
	char *bytes;
	size_t length;
	bool good;

	arena_init(&arena, "token file", TOKEN_ARENA_BYTES);
	good = file_read(&arena, config->token_file, sizeof config->token - 1, &bytes, &length, error);
	if (good) {
		good = put_token(config, bytes, length, error);
		if (!good)
			error_wrap(error, "%s", config->token_file);
		explicit_bzero(bytes, length);
	}
	arena_done(&arena);
	return good;
}

bool kube_config_refresh_token(struct kube_config *config, struct instant now, bool force, struct error *error)
{
	if (config->token_file == NULL || (!force && instant_between_ms(config->token_read_at, now) < TOKEN_MAX_AGE_MS))
		return true;
	if (read_token(config, error)) {
		config->token_read_at = now;
		return true;
	}
	/* Not at each call: the old token may be good for hours. */
	config->token_read_at = instant_after(now, TOKEN_RETRY_MS - TOKEN_MAX_AGE_MS);
	return false;
}

static bool check_pem(const char *bytes, const char *what, struct error *error)
{
	if (strstr(bytes, "-----BEGIN ") != NULL)
		return true;
	return error_set(error, ERROR_INPUT, "%s holds no PEM block", what);
}

/* `<key>` is a path, `<key>-data` base64: the PEM of either in *out, NULL when there is neither. *file gets the path. */
static bool read_pem(struct load *load, const struct json *entry, const char *key, const char **out, const char **file)
{
	const char *data_key = arena_printf(&load->scratch, "%s-data", key);
	const char *data = filled(entry, data_key);
	const char *path = filled(entry, key);
	char *bytes;
	size_t length;

	*out = NULL;
	*file = NULL;
	if (data != NULL && path != NULL)
		return error_set(load->error, ERROR_INPUT, "has both %s and %s; keep one of them", key, data_key);
	if (data != NULL) {
		*out = text_base64_decode(load->arena, data, &length);
		if (*out == NULL)
			return error_set(load->error, ERROR_INPUT, "%s is not base64", data_key);
		return check_pem(*out, data_key, load->error);
	}
	if (path == NULL)
		return true;
	*file = beside_file(load, path);
	if (!file_read(load->arena, *file, PEM_MAX_BYTES, &bytes, &length, load->error)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "%s", key);
	}
	*out = bytes;
	return check_pem(bytes, arena_printf(&load->scratch, "%s %s", key, *file), load->error);
}

/* Scheme and host, with path, without query, fragment and slashes at the end. */
static bool read_server(struct load *load, const struct json *cluster)
{
	const char *server = filled(cluster, "server");
	const char *host;
	size_t length;

	if (server == NULL)
		return error_set(load->error, ERROR_INPUT, "has no server; give its URL, such as https://10.0.0.1:6443");
	load->secure = text_starts_with(server, "https://");
	host = server + strlen(load->secure ? "https://" : "http://");
	if (!load->secure && !text_starts_with(server, "http://"))
		return error_set(load->error, ERROR_INPUT, "server %s is no URL of https or http; write https://%s", server,
		                 server);
	for (length = strcspn(server, "?#"); length > (size_t)(host - server) && server[length - 1] == '/';)
		length--;
	if (length <= (size_t)(host - server) || *host == ':' || *host == '/')
		return error_set(load->error, ERROR_INPUT, "server %s names no host", server);
	for (size_t i = 0; i < length; i++) {
		if (server[i] <= ' ' || server[i] >= 0x7f || server[i] == '@')
			return error_set(load->error, ERROR_INPUT,
			                 "server is not a plain URL (blanks, user names and non-ASCII are not allowed)");
	}
	load->out->base_url = arena_copy(load->arena, server, length);
	return true;
}

static bool read_cluster(struct load *load, const struct json *cluster)
{
	struct http_tls *tls = &load->out->tls;
	const char *ca;
	bool has_ca;

	if (is_set(cluster, "proxy-url"))
		return error_set(load->error, ERROR_INPUT, "proxy-url is not supported; reach the server without a proxy");
	if (!read_server(load, cluster))
		return false;
	has_ca = is_set(cluster, "certificate-authority") || is_set(cluster, "certificate-authority-data");
	tls->insecure = json_bool(json_get(cluster, "insecure-skip-tls-verify"), false);
	if (tls->insecure && has_ca)
		return error_set(load->error, ERROR_INPUT,
		                 "has insecure-skip-tls-verify and a certificate authority; take insecure-skip-tls-verify out");
	if (!load->secure)
		return true;
	if (!read_pem(load, cluster, "certificate-authority", &ca, &tls->ca_file))
		return false;
	tls->ca_pem = tls->ca_file == NULL ? ca : NULL;
	tls->server_name = arena_string(load->arena, filled(cluster, "tls-server-name"));
	return true;
}

static bool refuse_unsupported(struct load *load, const struct json *user)
{
	static const struct {
		const char *key;
		const char *instead;
	} refused[] = {
		{"exec",
	     "is not supported; use a token, a tokenFile or a client certificate (a service account's token will do)"},
		{"auth-provider", "is not supported; use a token, a tokenFile or a client certificate"},
		{"username", "is not supported (basic authentication); use a token, a tokenFile or a client certificate"},
		{"password", "is not supported (basic authentication); use a token, a tokenFile or a client certificate"},
		{"as", "is not supported (impersonation); use the credentials of that user"},
		{"as-uid", "is not supported (impersonation); use the credentials of that user"},
		{"as-groups", "is not supported (impersonation); use the credentials of that user"},
		{"as-user-extra", "is not supported (impersonation); use the credentials of that user"},
	};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (is_set(user, refused[i].key))
			return error_set(load->error, ERROR_INPUT, "%s %s", refused[i].key, refused[i].instead);
	}
	return true;
}

static bool read_certificate(struct load *load, const struct json *user)
{
	struct http_tls *tls = &load->out->tls;
	const char *file;

	if (!read_pem(load, user, "client-certificate", &tls->cert_pem, &file) ||
	    !read_pem(load, user, "client-key", &tls->key_pem, &file))
		return false;
	if ((tls->cert_pem == NULL) != (tls->key_pem == NULL))
		return error_set(load->error, ERROR_INPUT, "has a client %s without its %s; give both",
		                 tls->key_pem == NULL ? "certificate" : "key", tls->key_pem == NULL ? "key" : "certificate");
	return true;
}

static bool read_user(struct load *load, const struct json *user)
{
	const char *token = filled(user, "token");
	const char *token_file = filled(user, "tokenFile");

	if (!refuse_unsupported(load, user))
		return false;
	/* Never a credential over a connection that anybody can read. */
	if (!load->secure)
		return true;
	if (!read_certificate(load, user))
		return false;
	if (token != NULL && !put_token(load->out, token, strlen(token), load->error)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "token");
	}
	if (token_file == NULL)
		return true;
	load->out->token_file = beside_file(load, token_file);
	if (read_token(load->out, load->error) || token != NULL)
		return true;
	load->error->kind = ERROR_INPUT;
	return error_wrap(load->error, "tokenFile");
}

/* The entry `name` of the list `clusters`, `users` or `contexts`: what stands under `key` in it. */
static const struct json *find_entry(struct load *load, const struct json *config, const char *list_key,
                                     const char *key, const char *name)
{
	const struct json *list = json_get(config, list_key);
	const struct json *found = NULL;

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *entry = json_at(list, i);

		if (!text_equal(json_get_string(entry, "name"), name))
			continue;
		if (found != NULL) {
			error_set(load->error, ERROR_INPUT, "%s \"%s\" is there twice; keep one of them", key, name);
			return NULL;
		}
		found = entry;
	}
	if (json_type(json_get(found, key)) == JSON_OBJECT)
		return json_get(found, key);
	error_set(load->error, ERROR_INPUT, "%s \"%s\" %s; add it, or choose another context with --context", key, name,
	          found == NULL ? "is missing" : "has nothing in it");
	return NULL;
}

static bool read_context(struct load *load, const struct json *config, const char *name)
{
	const struct json *context = find_entry(load, config, "contexts", "context", name);
	const char *cluster_name = filled(context, "cluster");
	const char *user_name = filled(context, "user");
	const char *namespace_ = filled(context, "namespace");
	const struct json *entry;

	if (context == NULL)
		return false;
	if (cluster_name == NULL)
		return error_set(load->error, ERROR_INPUT, "context \"%s\" names no cluster", name);
	entry = find_entry(load, config, "clusters", "cluster", cluster_name);
	if (entry == NULL)
		return false;
	if (!read_cluster(load, entry))
		return error_wrap(load->error, "cluster \"%s\"", cluster_name);
	entry = user_name != NULL ? find_entry(load, config, "users", "user", user_name) : NULL;
	if (user_name != NULL && entry == NULL)
		return false;
	if (entry != NULL && !read_user(load, entry))
		return error_wrap(load->error, "user \"%s\"", user_name);
	load->out->namespace_ = arena_string(load->arena, namespace_ != NULL ? namespace_ : "default");
	return true;
}

static bool read_kubeconfig(struct load *load, const struct json *config)
{
	const char *name = load->request->context != NULL ? load->request->context : filled(config, "current-context");

	if (json_type(config) != JSON_OBJECT)
		return error_set(load->error, ERROR_INPUT, "is not a kubeconfig: clusters, users and contexts are expected");
	if (name == NULL)
		return error_set(load->error, ERROR_INPUT, "has no current-context; choose one with --context");
	load->out->source = arena_printf(load->arena, "kubeconfig %s (context %s)", load->file, name);
	return read_context(load, config, name);
}

/* `file` is there, or its absence is the answer (ERROR_ABSENT). */
static bool load_kubeconfig(struct load *load, const char *file)
{
	const char *slash = strrchr(file, '/');
	const struct json *config;
	char *bytes;
	size_t length;

	load->file = file;
	load->folder = slash == NULL ? "" : arena_copy(&load->scratch, file, (size_t)(slash - file) + 1);
	if (!file_read(&load->scratch, file, KUBECONFIG_MAX_BYTES, &bytes, &length, load->error))
		return error_wrap(load->error, "kubeconfig");
	config = yaml_parse(&load->scratch, bytes, length, load->error);
	if (config == NULL || !read_kubeconfig(load, config)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "kubeconfig %s", file);
	}
	return true;
}

/* A file that was named must be there. */
static bool load_named(struct load *load, const char *file, const char *named_by)
{
	if (load_kubeconfig(load, file))
		return true;
	if (load->error->kind == ERROR_ABSENT) {
		load->error->kind = ERROR_INPUT;
		error_wrap(load->error, "%s", named_by);
	}
	return false;
}

static bool load_from_variable(struct load *load, const char *variable)
{
	struct string_list files = string_list_split(variable, ":", &load->scratch);

	for (size_t i = 1; i < files.count; i++) {
		if (!text_equal(files.at[i], files.at[0]))
			return error_set(
				load->error, ERROR_INPUT,
				"KUBECONFIG names several files (%s); merging them is not supported: name one there, or give "
				"--kubeconfig (kubectl config view --flatten makes one of them)",
				variable);
	}
	return load_named(load, files.at[0], "KUBECONFIG");
}

static bool read_pod_namespace(struct load *load, const char *folder)
{
	const char *path = arena_printf(&load->scratch, "%s/namespace", folder);
	const char *given = env(load, "POD_NAMESPACE");
	struct error ignored;
	char *bytes;
	size_t length;

	if (given != NULL)
		load->out->namespace_ = arena_string(load->arena, given);
	else if (file_read(&load->scratch, path, NAMESPACE_MAX_BYTES, &bytes, &length, &ignored))
		load->out->namespace_ = text_trim(load->arena, bytes, length);
	if (load->out->namespace_ == NULL || *load->out->namespace_ == '\0')
		load->out->namespace_ = "default";
	return true;
}

static bool load_in_cluster(struct load *load, const char *host, const char *port)
{
	const char *folder =
		load->request->service_account_dir != NULL ? load->request->service_account_dir : SERVICE_ACCOUNT_DIR;
	struct kube_config *out = load->out;
	bool bare_ipv6 = strchr(host, ':') != NULL && *host != '[';
	char *ca;
	size_t length;

	out->source = "in-cluster";
	out->base_url = arena_printf(load->arena, bare_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
	out->token_file = arena_printf(load->arena, "%s/token", folder);
	out->tls.ca_file = arena_printf(load->arena, "%s/ca.crt", folder);
	if (!read_token(out, load->error) ||
	    !file_read(&load->scratch, out->tls.ca_file, PEM_MAX_BYTES, &ca, &length, load->error) ||
	    !check_pem(ca, out->tls.ca_file, load->error)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "in-cluster (mount a service account's token, or give --kubeconfig)");
	}
	return read_pod_namespace(load, folder);
}

static bool load_from_home(struct load *load)
{
	const char *home = env(load, "HOME");
	const char *file = home != NULL ? arena_printf(&load->scratch, "%s/.kube/config", home) : NULL;

	if (file != NULL && load_kubeconfig(load, file))
		return true;
	if (file != NULL && load->error->kind != ERROR_ABSENT)
		return false;
	return error_set(load->error, ERROR_ABSENT,
	                 "no cluster is configured: give --kubeconfig, set KUBECONFIG, or run in a pod (%s%s)",
	                 file != NULL ? file : "HOME is not set", file != NULL ? " is not there" : "");
}

static bool load_any(struct load *load)
{
	const char *variable = env(load, "KUBECONFIG");
	const char *host = env(load, "KUBERNETES_SERVICE_HOST");
	const char *port = env(load, "KUBERNETES_SERVICE_PORT");

	if (load->request->kubeconfig != NULL)
		return load_named(load, load->request->kubeconfig, "--kubeconfig");
	if (variable != NULL && strspn(variable, ": \t") < strlen(variable))
		return load_from_variable(load, variable);
	/* A context can only be one of a kubeconfig. */
	if (host != NULL && port != NULL && load->request->context == NULL)
		return load_in_cluster(load, host, port);
	return load_from_home(load);
}

bool kube_config_load(struct arena *arena, const struct kube_config_request *request, struct kube_config *out,
                      struct error *error)
{
	struct load load = {.arena = arena, .request = request, .out = out, .error = error};
	bool good;

	*out = (struct kube_config){0};
	arena_init(&load.scratch, "kubeconfig", SCRATCH_MAX_BYTES);
	good = load_any(&load);
	arena_done(&load.scratch);
	return good;
}
