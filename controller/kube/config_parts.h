/*
 * The parts of loading a kubeconfig, for controller/kube/config*.c and exec.c only: which file has which entry
 * (config_merge.c), what an entry of a cluster or user says (config_file.c), what user.exec says (exec.c).
 *
 * Each refuses by ERROR_INPUT with what to do; callers put the entry and the file before it.
 */
#ifndef KUBE_CONFIG_PARTS_H
#define KUBE_CONFIG_PARTS_H

#include "base/json.h"
#include "kube/config.h"

#define CONFIG_FILES_MAX 32

/* One load: `arena` for what stays, `scratch` for the files. */
struct config_load {
	struct arena *arena;
	struct arena scratch;
	const struct kube_config_request *request;
	struct kube_config *out;
	struct error *error;
	bool secure; /* the server is https */
};

struct config_file {
	const char *path;
	const char *folder; /* with its slash; "" = here */
	const struct json *content;
};

/* The files in their order; the first that has something counts. */
struct config_files {
	struct config_file at[CONFIG_FILES_MAX];
	size_t count;
	const char *names; /* for sentences and the source */
};

/* One of clusters, users or contexts. */
struct config_entry {
	const char *name;
	const char *folder; /* relative paths start here */
	const char *file;
	const struct json *value; /* an object */
};

/* A member that is a string with something in it; NULL otherwise. */
const char *config_filled(const struct json *object, const char *key);

/* Is there anything but null, an empty string, list or object? */
bool config_is_set(const struct json *object, const char *key);

/* A path as the entry means it, in the load's arena. */
const char *config_beside(struct config_load *load, const char *folder, const char *path);

/* ERROR_ABSENT: the file is not there. */
bool config_files_add(struct config_load *load, struct config_files *files, const char *path);

/* KUBECONFIG: those that are there, at least one. */
bool config_files_split(struct config_load *load, struct config_files *files, const char *variable);

/* The context that was asked for, else the first current-context. NULL: error. */
const char *config_files_context(struct config_load *load, const struct config_files *files);

bool config_files_find(struct config_load *load, const struct config_files *files, const char *list_key,
                       const char *key, const char *name, struct config_entry *out);

/* A token as it goes into a header: nothing but visible ASCII, not too long, blanks around it aside. */
bool config_check_token(const char *bytes, size_t length, struct error *error);

bool config_set_token(struct kube_config *config, const char *bytes, size_t length, struct error *error);
bool config_read_token_file(struct kube_config *config, struct error *error);

/* Whatever is configured of CA, certificate and key files; the old stays where reading fails. */
bool config_read_files(struct kube_config *config, struct error *error);

bool config_cluster_read(struct config_load *load, const struct config_entry *cluster);
bool config_user_read(struct config_load *load, const struct config_entry *cluster, const struct config_entry *user);
bool config_exec_read(struct config_load *load, const struct config_entry *cluster, const struct config_entry *user);

/* Wipes and frees. */
void config_login_done(struct kube_login *login);
void config_forget(char **secret);

#endif
