/*
 * How to reach the API server: a kubeconfig, or the pod's own service account.
 *
 * Order: `--kubeconfig` (one file), KUBECONFIG (several, merged as kubectl does: of each cluster, user, context and of
 * current-context the first file that has it counts, whole; files that are not there are left out), in-cluster,
 * ~/.kube/config.
 *
 * Supported: server with base path, tls-server-name, certificate-authority(-data), insecure-skip-tls-verify, proxy-url;
 * token, tokenFile, client-certificate(-data), client-key(-data), username and password, exec (v1 and v1beta1; left out
 * where the user has another credential too), impersonation (as, as-uid, as-groups, as-user-extra); namespace.
 * auth-provider and keys with a passphrase are refused in words. Relative paths are taken from the folder of the file
 * that has them. Credentials go only to https; whom to act as is said over http too.
 *
 * What changes on disk is followed: a token file is read again when it is older than 50 s and after a 401; client
 * certificate, key and CA files every 5 min and after a 401 or a failed handshake. When reading fails, or what is read
 * is no token or no whole PEM, the old one stays in use, in memory: what is broken on disk breaks no connection.
 * An exec plugin is run again a minute before what it gave expires, and after a 401 (kube_login_*, below).
 *
 * No sentence of an error has a token, a password, a key or anything that an exec plugin said to its standard output.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/instant.h"
#include "net/http.h"
#include "net/program.h"

struct json;

/* user.exec */
struct kube_exec {
	const char *api_version;        /* client.authentication.k8s.io/v1 or .../v1beta1 */
	const char *const *argv;        /* command (a relative path is taken from the kubeconfig's folder) and args */
	const char *const *environment; /* "NAME=value"; NULL at the end */
	const char *install_hint;       /* one line; NULL = none */
	const struct json *cluster;     /* provideClusterInfo: spec.cluster, but for the CA; NULL = not provided */
	bool interactive;
};

/* What an exec plugin gave last. */
struct kube_login {
	bool good;                   /* there is something to go with */
	struct wallclock expires_at; /* 0 = never */
	struct wallclock due_at;     /* when it is to be run again; 0 = never */
	char *token;                 /* malloc'ed; NULL = none */
	char *cert_pem;
	char *key_pem;
};

struct kube_config {
	const char *base_url;         /* "https://10.0.0.1:443", no slash at the end; may have a path */
	const char *namespace_;       /* of the context, or of the pod; never NULL */
	const char *source;           /* "kubeconfig /home/a/.kube/config (context kind)", "in-cluster": for logs */
	const char *proxy_url;        /* proxy-url, made whole; NULL = what the environment says */
	const struct kube_exec *exec; /* NULL = none */
	struct http_headers impersonate;

	/* What may change; read with kube_config_prepare. */
	struct http_tls tls;    /* as the kubeconfig has it; ca_file is where ca_pem, below, comes from */
	const char *token_file; /* NULL = the token does not change */
	const char *cert_file;  /* NULL = they do not change */
	const char *key_file;
	const char *basic; /* "Basic ..."; NULL = none */
	char token[16384]; /* "" = none */
	struct instant token_read_at;
	struct instant files_read_at;
	char *cert_pem; /* as last read from files; malloc'ed */
	char *key_pem;
	char *ca_pem;
	struct kube_login login;
};

struct kube_config_request {
	const char *kubeconfig; /* --kubeconfig; NULL = not given */
	const char *context;    /* --context; NULL = current-context */
	const char *(*getenv)(void *context, const char *name);
	void *getenv_context;
	const char *service_account_dir; /* NULL = /var/run/secrets/kubernetes.io/serviceaccount */
	bool terminal;                   /* standard input is a terminal: exec plugins may ask */
};

/*
 * ERROR_ABSENT when nothing is configured, ERROR_INPUT when it is wrong; each with file, entry and what to do. Reads
 * files; never waits (base/file.h). On failure there is nothing to give back.
 */
bool kube_config_load(struct arena *arena, const struct kube_config_request *request, struct kube_config *out,
                      struct error *error);

/* Wipes and frees what was read later. The arena's part stays. A zeroed struct is fine. */
void kube_config_done(struct kube_config *config);

/*
 * Read again what is due, or all of it if `force` (after a 401 or a failed handshake). False (error filled, the old
 * stays in use) when something cannot be read; that is tried again 10 s later.
 */
bool kube_config_refresh(struct kube_config *config, struct instant now, bool force, struct error *error);

/*
 * Give a request what this cluster wants: url, tls (in `arena`, so that a later change does not touch it),
 * Authorization, Impersonate-... The proxy is set only when proxy_url is. Replaces what an earlier call set; call it
 * before each attempt.
 */
void kube_config_prepare(const struct kube_config *config, struct arena *arena, struct http_request *request);

/*
 * Logging in by an exec plugin. Only with config->exec.
 *
 * kube_login_program: what to run (deadline 60 s, 1 MiB), KUBERNETES_EXEC_INFO in its environment.
 * kube_login_hear: its answer (net/program.h), an ExecCredential of the very apiVersion asked for. False, and what was
 * there stays: the program failed (with installHint when it was not found), ERROR_MALFORMED for anything else than the
 * protocol says, ERROR_EXPIRED for what has already expired.
 * kube_login_due: should it be run now? Never good so far, or within a minute of its end (of a life under 3 min: a
 * third of it).
 */
void kube_login_program(const struct kube_config *config, struct arena *arena, struct program *out);
bool kube_login_hear(struct kube_config *config, struct wallclock wall, const struct http_response *response,
                     struct error *error);
bool kube_login_due(const struct kube_config *config, struct wallclock wall);

#endif
