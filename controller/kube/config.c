#include "kube/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/pem.h"
#include "base/text.h"
#include "config_parts.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define PEM_MAX_BYTES ((size_t)1 << 20)
#define NAMESPACE_MAX_BYTES 256
#define SCRATCH_MAX_BYTES ((size_t)256 << 20)
#define TOKEN_ARENA_BYTES ((size_t)1 << 20)
#define PEM_ARENA_BYTES ((size_t)16 << 20)
#define TOKEN_MAX_AGE_MS 50000
#define FILES_MAX_AGE_MS 300000
#define RETRY_MS 10000

static const char *env(const struct config_load *load, const char *name)
{
	const char *value = load->request->getenv(load->request->getenv_context, name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* Tokens. */

bool config_check_token(const char *bytes, size_t length, struct error *error)
{
	if (length == 0)
		return error_set(error, ERROR_INPUT, "the token is empty");
	if (length >= sizeof((struct kube_config *)NULL)->token)
		return error_set(error, ERROR_LIMIT, "the token is longer than %zu bytes",
		                 sizeof((struct kube_config *)NULL)->token - 1);
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] <= ' ' || bytes[i] >= 0x7f)
			return error_set(error, ERROR_INPUT, "it is not a token: one line of ASCII is expected");
	}
	return true;
}

bool config_set_token(struct kube_config *config, const char *bytes, size_t length, struct error *error)
{
	static const char blanks[] = " \t\r\n\v\f";

	while (length > 0 && memchr(blanks, *bytes, sizeof blanks - 1) != NULL) {
		bytes++;
		length--;
	}
	while (length > 0 && memchr(blanks, bytes[length - 1], sizeof blanks - 1) != NULL)
		length--;
	if (!config_check_token(bytes, length, error))
		return false;
	memcpy(config->token, bytes, length);
	config->token[length] = '\0';
	return true;
}

bool config_read_token_file(struct kube_config *config, struct error *error)
{
	struct arena arena;
	char *bytes;
	size_t length;
	bool good;

	arena_init(&arena, "token file", TOKEN_ARENA_BYTES);
	good = file_read(&arena, config->token_file, sizeof config->token - 1, &bytes, &length, error);
	if (good) {
		good = config_set_token(config, bytes, length, error);
		if (!good)
			error_wrap(error, "%s", config->token_file);
		explicit_bzero(bytes, length);
	}
	arena_done(&arena);
	return good;
}

/* Certificates and keys. */

/* *out stays as it is without a file; else it gets the content, malloc'ed. */
static bool read_pem_file(const char *file, const char *what, char **out, struct error *error)
{
	struct arena arena;
	char *bytes;
	size_t length;
	bool good;

	if (file == NULL)
		return true;
	arena_init(&arena, "PEM file", PEM_ARENA_BYTES);
	good = file_read(&arena, file, PEM_MAX_BYTES, &bytes, &length, error);
	if (!good) {
		error->kind = ERROR_INPUT;
		error_wrap(error, "%s", what);
	} else {
		good = pem_check(bytes, arena_printf(&arena, "%s %s", what, file), error);
		if (good && (*out = strdup(bytes)) == NULL)
			abort();
		explicit_bzero(bytes, length);
	}
	arena_done(&arena);
	return good;
}

static void replace(char **held, char *fresh)
{
	if (fresh == NULL)
		return;
	config_forget(held);
	*held = fresh;
}

/* A certificate without its key is of no use: both or none. */
static bool read_pair(struct kube_config *config, struct error *error)
{
	char *cert = NULL;
	char *key = NULL;

	if (!read_pem_file(config->cert_file, "client-certificate", &cert, error) ||
	    !read_pem_file(config->key_file, "client-key", &key, error)) {
		config_forget(&cert);
		return false;
	}
	replace(&config->cert_pem, cert);
	replace(&config->key_pem, key);
	return true;
}

bool config_read_files(struct kube_config *config, struct error *error)
{
	struct error second;
	char *ca = NULL;
	bool good = read_pem_file(config->tls.ca_file, "certificate-authority", &ca, error);

	replace(&config->ca_pem, ca);
	return read_pair(config, good ? error : &second) && good;
}

/* Loading. */

static bool read_context(struct config_load *load, const struct config_files *files, const struct json *context)
{
	const char *cluster_name = config_filled(context, "cluster");
	const char *user_name = config_filled(context, "user");
	const char *namespace_ = config_filled(context, "namespace");
	struct config_entry cluster;
	struct config_entry user;

	if (cluster_name == NULL)
		return error_set(load->error, ERROR_INPUT, "kubeconfig %s: the context names no cluster", files->names);
	if (!config_files_find(load, files, "clusters", "cluster", cluster_name, &cluster))
		return false;
	if (!config_cluster_read(load, &cluster))
		return error_wrap(load->error, "kubeconfig %s: cluster \"%s\"", cluster.file, cluster_name);
	if (user_name != NULL && !config_files_find(load, files, "users", "user", user_name, &user))
		return false;
	if (user_name != NULL && !config_user_read(load, &cluster, &user))
		return error_wrap(load->error, "kubeconfig %s: user \"%s\"", user.file, user_name);
	load->out->namespace_ = arena_string(load->arena, namespace_ != NULL ? namespace_ : "default");
	if (!config_read_files(load->out, load->error))
		return error_wrap(load->error, "kubeconfig %s", files->names);
	return true;
}

static bool read_kubeconfig(struct config_load *load, const struct config_files *files)
{
	const char *name = config_files_context(load, files);
	struct config_entry context;

	if (name == NULL || !config_files_find(load, files, "contexts", "context", name, &context) ||
	    !read_context(load, files, context.value)) {
		load->error->kind = ERROR_INPUT;
		return false;
	}
	load->out->source = arena_printf(load->arena, "kubeconfig %s (context %s)", files->names, name);
	return true;
}

static bool load_named(struct config_load *load, const char *path)
{
	struct config_files files = {0};

	if (config_files_add(load, &files, path))
		return read_kubeconfig(load, &files);
	load->error->kind = ERROR_INPUT;
	return error_wrap(load->error, "--kubeconfig");
}

static bool load_from_variable(struct config_load *load, const char *variable)
{
	struct config_files files = {0};

	return config_files_split(load, &files, variable) && read_kubeconfig(load, &files);
}

static void read_pod_namespace(struct config_load *load, const char *folder)
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
}

static bool load_in_cluster(struct config_load *load, const char *host, const char *port)
{
	const char *folder =
		load->request->service_account_dir != NULL ? load->request->service_account_dir : SERVICE_ACCOUNT_DIR;
	struct kube_config *out = load->out;
	bool bare_ipv6 = strchr(host, ':') != NULL && *host != '[';

	out->source = "in-cluster";
	out->base_url = arena_printf(load->arena, bare_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
	out->token_file = arena_printf(load->arena, "%s/token", folder);
	out->tls.ca_file = arena_printf(load->arena, "%s/ca.crt", folder);
	if (!config_read_token_file(out, load->error) || !config_read_files(out, load->error)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "in-cluster (mount a service account's token, or give --kubeconfig)");
	}
	read_pod_namespace(load, folder);
	return true;
}

static bool load_from_home(struct config_load *load)
{
	const char *home = env(load, "HOME");
	const char *path = home != NULL ? arena_printf(&load->scratch, "%s/.kube/config", home) : NULL;
	struct config_files files = {0};

	if (path != NULL && config_files_add(load, &files, path))
		return read_kubeconfig(load, &files);
	if (path != NULL && load->error->kind != ERROR_ABSENT)
		return false;
	return error_set(load->error, ERROR_ABSENT,
	                 "no cluster is configured: give --kubeconfig, set KUBECONFIG, or run in a pod (%s%s)",
	                 path != NULL ? path : "HOME is not set", path != NULL ? " is not there" : "");
}

static bool load_any(struct config_load *load)
{
	const char *variable = env(load, "KUBECONFIG");
	const char *host = env(load, "KUBERNETES_SERVICE_HOST");
	const char *port = env(load, "KUBERNETES_SERVICE_PORT");

	if (load->request->kubeconfig != NULL)
		return load_named(load, load->request->kubeconfig);
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
	struct config_load load = {.arena = arena, .request = request, .out = out, .error = error};
	bool good;

	*out = (struct kube_config){0};
	arena_init(&load.scratch, "kubeconfig", SCRATCH_MAX_BYTES);
	good = load_any(&load);
	arena_done(&load.scratch);
	if (!good)
		kube_config_done(out);
	return good;
}

void kube_config_done(struct kube_config *config)
{
	config_forget(&config->cert_pem);
	config_forget(&config->key_pem);
	config_forget(&config->ca_pem);
	config_login_done(&config->login);
	explicit_bzero(config->token, sizeof config->token);
}

/* What has changed on disk. */

static bool is_due(struct instant *read_at, struct instant now, int64_t max_age_ms, bool force)
{
	return force || instant_between_ms(*read_at, now) >= max_age_ms;
}

/* Not at each call: the old one may be good for hours. */
static struct instant read_again_soon(struct instant now, int64_t max_age_ms)
{
	return instant_after(now, RETRY_MS - max_age_ms);
}

static bool refresh_token(struct kube_config *config, struct instant now, bool force, struct error *error)
{
	bool good;

	if (config->token_file == NULL || !is_due(&config->token_read_at, now, TOKEN_MAX_AGE_MS, force))
		return true;
	good = config_read_token_file(config, error);
	config->token_read_at = good ? now : read_again_soon(now, TOKEN_MAX_AGE_MS);
	return good;
}

static bool refresh_files(struct kube_config *config, struct instant now, bool force, struct error *error)
{
	bool good;

	if (!is_due(&config->files_read_at, now, FILES_MAX_AGE_MS, force))
		return true;
	good = config_read_files(config, error);
	config->files_read_at = good ? now : read_again_soon(now, FILES_MAX_AGE_MS);
	return good;
}

bool kube_config_refresh(struct kube_config *config, struct instant now, bool force, struct error *error)
{
	struct error second;
	bool good = refresh_token(config, now, force, error);

	return refresh_files(config, now, force, good ? error : &second) && good;
}

/* Requests. */

/* Without what an earlier call has set. */
static void drop_ours(struct http_headers *headers)
{
	size_t kept = 0;

	for (size_t i = 0; i < headers->count; i++) {
		const char *name = headers->at[i].name;

		if (strcasecmp(name, "Authorization") != 0 && strncasecmp(name, "Impersonate-", strlen("Impersonate-")) != 0)
			headers->at[kept++] = headers->at[i];
	}
	headers->count = kept;
}

static bool same_tls(const struct http_tls *a, const struct http_tls *b)
{
	return a != NULL && text_equal(a->ca_pem, b->ca_pem) && text_equal(a->cert_pem, b->cert_pem) &&
	       text_equal(a->key_pem, b->key_pem) && text_equal(a->server_name, b->server_name) &&
	       a->insecure == b->insecure;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	return a != NULL ? a : b != NULL ? b : c;
}

/* A copy, once per request: repeating it does not fill the arena. */
static void give_tls(const struct kube_config *config, struct arena *arena, struct http_request *request)
{
	struct http_tls wanted = config->tls;
	struct http_tls *own;

	wanted.ca_file = NULL;
	wanted.ca_pem = first_of(config->ca_pem, config->tls.ca_pem, NULL);
	wanted.cert_pem = first_of(config->login.cert_pem, config->cert_pem, config->tls.cert_pem);
	wanted.key_pem = first_of(config->login.key_pem, config->key_pem, config->tls.key_pem);
	if (same_tls(request->tls, &wanted))
		return;
	own = ARENA_NEW(arena, struct http_tls);
	*own = wanted;
	own->ca_pem = arena_string(arena, wanted.ca_pem);
	own->cert_pem = arena_string(arena, wanted.cert_pem);
	own->key_pem = arena_string(arena, wanted.key_pem);
	request->tls = own;
}

static const char *authorization(const struct kube_config *config, struct arena *arena)
{
	const char *token = config->login.token != NULL ? config->login.token : config->token;

	if (!text_starts_with(config->base_url, "https://"))
		return NULL;
	return *token != '\0' ? arena_printf(arena, "Bearer %s", token) : config->basic;
}

void kube_config_prepare(const struct kube_config *config, struct arena *arena, struct http_request *request)
{
	const char *proof = authorization(config, arena);

	request->url = http_url(arena, config->base_url, request);
	give_tls(config, arena, request);
	if (config->proxy_url != NULL)
		request->proxy = config->proxy_url;
	drop_ours(&request->headers);
	if (proof != NULL)
		http_add_header(&request->headers, arena, "Authorization", proof);
	for (size_t i = 0; i < config->impersonate.count; i++)
		http_add_header(&request->headers, arena, config->impersonate.at[i].name, config->impersonate.at[i].value);
}
