/*
 * How to reach the API server: a kubeconfig, or the pod's own service account.
 *
 * Order: `--kubeconfig`, KUBECONFIG (one file; several are a later part and refused in words), in-cluster, ~/.kube/config. Supported: server
 * with base path, certificate-authority(-data), insecure-skip-tls-verify, tls-server-name, token, tokenFile, client-certificate(-data),
 * client-key(-data), namespace. exec plugins, auth-provider, proxy-url, impersonation and basic auth are refused in words.
 * Relative paths are taken from the file's own folder.
 * Credentials go only to https. A token file (and the in-cluster token) is read again when it is older than 50 s and after a 401; when
 * reading fails the old token stays in use.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/instant.h"
#include "net/http.h"

struct kube_config {
	const char *base_url;   /* "https://10.0.0.1:443", no slash at the end; may have a path */
	const char *namespace_; /* of the context, or of the pod; never NULL */
	struct http_tls tls;
	const char *token_file; /* NULL = the token does not change */
	const char *source;     /* "kubeconfig /home/a/.kube/config (context kind)", "in-cluster": for logs */
	char token[16384];      /* "" = none */
	struct instant token_read_at;
};

struct kube_config_request {
	const char *kubeconfig; /* --kubeconfig; NULL = not given */
	const char *context;    /* --context; NULL = current-context */
	const char *(*getenv)(void *context, const char *name);
	void *getenv_context;
	const char *service_account_dir; /* NULL = /var/run/secrets/kubernetes.io/serviceaccount */
};

/* ERROR_ABSENT when nothing is configured, ERROR_INPUT when it is wrong; each with file, entry and what to do. Reads files. */
bool kube_config_load(struct arena *arena, const struct kube_config_request *request, struct kube_config *out,
                      struct error *error);

/* Read the token anew if it is due, or if `force` (after a 401). False (error filled, old token kept) when it cannot be read. */
bool kube_config_refresh_token(struct kube_config *config, struct instant now, bool force, struct error *error);

#endif
