#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/pem.h"
#include "base/text.h"
#include "config_parts.h"
#include "net/proxy.h"

#define CREDENTIAL_MAX_BYTES 65536
#define HEADER_MAX_BYTES 8192

/* `<key>-data`, decoded, in *data; or the path under `<key>` in *file; NULL for what there is not. */
static bool read_pem(struct config_load *load, const struct config_entry *entry, const char *key, const char **data,
                     const char **file)
{
	const char *data_key = arena_printf(&load->scratch, "%s-data", key);
	const char *encoded = config_filled(entry->value, data_key);
	const char *path = config_filled(entry->value, key);
	size_t length;

	if (encoded != NULL && path != NULL)
		return error_set(load->error, ERROR_INPUT, "has both %s and %s; keep one of them", key, data_key);
	if (path != NULL)
		*file = config_beside(load, entry->folder, path);
	if (encoded == NULL)
		return true;
	*data = text_base64_decode(load->arena, encoded, &length);
	if (*data == NULL)
		return error_set(load->error, ERROR_INPUT, "%s is not base64", data_key);
	return pem_check(*data, data_key, load->error);
}

/* Scheme and host, with path, without query, fragment and slashes at the end. */
static bool read_server(struct config_load *load, const struct json *cluster)
{
	const char *server = config_filled(cluster, "server");
	const char *host;
	size_t length;

	if (server == NULL)
		return error_set(load->error, ERROR_INPUT, "has no server; give its URL, such as https://10.0.0.1:6443");
	length = strcspn(server, "?#");
	for (size_t i = 0; i < length; i++) {
		if (server[i] <= ' ' || server[i] >= 0x7f || server[i] == '@')
			return error_set(load->error, ERROR_INPUT,
			                 "server is not a plain URL (blanks, user names and non-ASCII are not allowed)");
	}
	load->secure = text_starts_with(server, "https://");
	host = server + strlen(load->secure ? "https://" : "http://");
	if (!load->secure && !text_starts_with(server, "http://"))
		return error_set(load->error, ERROR_INPUT, "server %.*s is no URL of https or http; write https://%.*s",
		                 (int)length, server, (int)length, server);
	while (length > (size_t)(host - server) && server[length - 1] == '/')
		length--;
	if (length <= (size_t)(host - server) || *host == ':' || *host == '/')
		return error_set(load->error, ERROR_INPUT, "server %.*s names no host", (int)strcspn(server, "?#"), server);
	load->out->base_url = arena_copy(load->arena, server, length);
	return true;
}

static bool read_proxy(struct config_load *load, const struct json *cluster)
{
	const char *given = config_filled(cluster, "proxy-url");

	if (given == NULL)
		return true;
	load->out->proxy_url = proxy_url(load->arena, given);
	if (load->out->proxy_url != NULL)
		return true;
	return error_set(load->error, ERROR_INPUT,
	                 "proxy-url is no URL of http, https or socks5; write it as http://proxy.example:3128");
}

bool config_cluster_read(struct config_load *load, const struct config_entry *cluster)
{
	struct http_tls *tls = &load->out->tls;
	const struct json *value = cluster->value;

	if (!read_server(load, value) || !read_proxy(load, value))
		return false;
	tls->insecure = json_bool(json_get(value, "insecure-skip-tls-verify"), false);
	if (tls->insecure &&
	    (config_is_set(value, "certificate-authority") || config_is_set(value, "certificate-authority-data")))
		return error_set(load->error, ERROR_INPUT,
		                 "has insecure-skip-tls-verify and a certificate authority; take insecure-skip-tls-verify out");
	if (!load->secure)
		return true;
	tls->server_name = arena_string(load->arena, config_filled(value, "tls-server-name"));
	return read_pem(load, cluster, "certificate-authority", &tls->ca_pem, &tls->ca_file);
}

/* As it may stand in a header. */
static bool check_value(struct config_load *load, const char *key, const char *value)
{
	bool good = value != NULL && strlen(value) <= HEADER_MAX_BYTES;

	for (const char *at = value; good && *at != '\0'; at++)
		good = !iscntrl((unsigned char)*at);
	return good || error_set(load->error, ERROR_INPUT, "%s is no text of one line", key);
}

static bool impersonate(struct config_load *load, const char *key, const char *header, const char *value)
{
	if (!check_value(load, key, value))
		return false;
	http_add_header(&load->out->impersonate, load->arena, header, arena_string(load->arena, value));
	return true;
}

static bool impersonate_all(struct config_load *load, const char *key, const char *header, const struct json *list)
{
	if (json_type(list) != JSON_ARRAY && json_type(list) != JSON_NULL)
		return error_set(load->error, ERROR_INPUT, "%s is no list of texts", key);
	for (size_t i = 0; i < json_count(list); i++) {
		if (!impersonate(load, key, header, json_string(json_at(list, i))))
			return false;
	}
	return true;
}

/* The server takes keys in lower case, decoded; whatever may not stand in a header's name comes as %XX. */
static const char *extra_header(struct arena *arena, const char *key)
{
	struct text name;

	text_init(&name, HEADER_MAX_BYTES);
	text_append(&name, "Impersonate-Extra-");
	for (; *key != '\0'; key++) {
		char byte = (char)tolower((unsigned char)*key);

		if (isascii(byte) && (isalnum((unsigned char)byte) || strchr("!#$&'*+-.^_`|~", byte) != NULL))
			text_append_bytes(&name, &byte, 1);
		else
			text_printf(&name, "%%%02X", (unsigned char)byte);
	}
	return text_take(&name, arena);
}

static bool read_extra(struct config_load *load, const struct json *extra)
{
	const char *key;

	if (json_type(extra) != JSON_OBJECT && json_type(extra) != JSON_NULL)
		return error_set(load->error, ERROR_INPUT, "as-user-extra is no object of lists");
	for (size_t i = 0; i < json_count(extra); i++) {
		const struct json *list = json_member(extra, i, &key);
		const char *header = extra_header(load->arena, key);

		if (header == NULL || *key == '\0')
			return error_set(load->error, ERROR_INPUT, "as-user-extra has a key that is empty or too long");
		if (!impersonate_all(load, "as-user-extra", header, list))
			return false;
	}
	return true;
}

static bool read_impersonation(struct config_load *load, const struct json *user)
{
	static const char *const others[] = {"as-uid", "as-groups", "as-user-extra"};

	for (size_t i = 0; i < sizeof others / sizeof *others && !config_is_set(user, "as"); i++) {
		if (config_is_set(user, others[i]))
			return error_set(load->error, ERROR_INPUT, "has %s without as; say whom to act as", others[i]);
	}
	if (config_is_set(user, "as") && !impersonate(load, "as", "Impersonate-User", json_get_string(user, "as")))
		return false;
	if (config_is_set(user, "as-uid") &&
	    !impersonate(load, "as-uid", "Impersonate-Uid", json_get_string(user, "as-uid")))
		return false;
	return impersonate_all(load, "as-groups", "Impersonate-Group", json_get(user, "as-groups")) &&
	       read_extra(load, json_get(user, "as-user-extra"));
}

static bool read_certificate(struct config_load *load, const struct config_entry *user)
{
	struct kube_config *out = load->out;
	bool has_cert;
	bool has_key;

	if (!read_pem(load, user, "client-certificate", &out->tls.cert_pem, &out->cert_file) ||
	    !read_pem(load, user, "client-key", &out->tls.key_pem, &out->key_file))
		return false;
	has_cert = out->tls.cert_pem != NULL || out->cert_file != NULL;
	has_key = out->tls.key_pem != NULL || out->key_file != NULL;
	if (has_cert != has_key)
		return error_set(load->error, ERROR_INPUT, "has a client %s without its %s; give both",
		                 has_cert ? "certificate" : "key", has_cert ? "key" : "certificate");
	return true;
}

static bool read_basic(struct config_load *load, const struct json *user)
{
	const char *name = config_filled(user, "username");
	const char *password = config_filled(user, "password");
	struct text both;

	if (name == NULL && password == NULL) {
		if (!config_is_set(user, "username") && !config_is_set(user, "password"))
			return true;
		return error_set(load->error, ERROR_INPUT, "username and password are no texts; put them in quotes");
	}
	if (config_is_set(user, "token") || config_is_set(user, "tokenFile"))
		return error_set(load->error, ERROR_INPUT, "has a token and a user name or password; keep one of them");
	if (name != NULL && strchr(name, ':') != NULL)
		return error_set(load->error, ERROR_INPUT, "username has a colon, which basic authentication cannot carry");
	if ((name != NULL && !check_value(load, "username", name)) ||
	    (password != NULL && !check_value(load, "password", password)))
		return false;
	text_init(&both, CREDENTIAL_MAX_BYTES);
	text_append(&both, "Basic ");
	name = arena_printf(&load->scratch, "%s:%s", name != NULL ? name : "", password != NULL ? password : "");
	text_append_base64(&both, name, strlen(name));
	load->out->basic = text_take(&both, load->arena);
	return true;
}

static bool read_token(struct config_load *load, const struct config_entry *user)
{
	const char *token = config_filled(user->value, "token");
	const char *token_file = config_filled(user->value, "tokenFile");

	if (token != NULL && !config_set_token(load->out, token, strlen(token), load->error)) {
		load->error->kind = ERROR_INPUT;
		return error_wrap(load->error, "token");
	}
	if (token_file == NULL)
		return true;
	load->out->token_file = config_beside(load, user->folder, token_file);
	if (config_read_token_file(load->out, load->error) || token != NULL)
		return true;
	load->error->kind = ERROR_INPUT;
	return error_wrap(load->error, "tokenFile");
}

bool config_user_read(struct config_load *load, const struct config_entry *cluster, const struct config_entry *user)
{
	struct kube_config *out = load->out;

	if (config_is_set(user->value, "auth-provider"))
		return error_set(load->error, ERROR_INPUT,
		                 "auth-provider is not supported; use exec, a token, a tokenFile or a client certificate");
	if (!read_impersonation(load, user->value))
		return false;
	/* Never a credential over a connection that anybody can read. */
	if (!load->secure)
		return true;
	if (!read_certificate(load, user) || !read_basic(load, user->value) || !read_token(load, user))
		return false;
	if (!config_is_set(user->value, "exec") || !config_exec_read(load, cluster, user))
		return !config_is_set(user->value, "exec");
	/* As kubectl does: who gives another credential means that one. */
	if (out->token[0] != '\0' || out->token_file != NULL || out->basic != NULL || out->tls.cert_pem != NULL ||
	    out->cert_file != NULL)
		out->exec = NULL;
	return true;
}
