/*
 * The settings: one table of name, kind, default and prose. Flags, variables, the keys of --config and the help come from it.
 *
 * Order: flag, variable ZONEVAC_<NAME>, file, default. In the file a key is the flag's name without dashes in front ("create-journal: true").
 */
#ifndef CONTROLLER_SETTINGS_H
#define CONTROLLER_SETTINGS_H

#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"

struct settings {
	const char *region;  /* NULL = AWS_REGION, AWS_DEFAULT_REGION, profile */
	const char *journal; /* "dynamodb:zonevac-journal" */
	const char *table;   /* the TABLE of it */
	bool create_journal;
	const char *kubeconfig;
	const char *context;
	const char *cluster_name;
	const char *listen; /* "" = serve nothing */
	bool leader_elect;
	const char *lease_namespace; /* NULL = the pod's namespace */
	long long resync_ms;
	long long poll_interval_ms;
	enum log_format log_format;
	bool log_format_given;
	enum log_level log_level;
};

typedef const char *(*settings_getenv)(void *context, const char *name);

/* `arguments` are those behind the verb. ERROR_INPUT names the flag, variable or key and what is allowed. `help` set when --help was among them. */
bool settings_load(struct arena *arena, int count, const char *const *arguments, settings_getenv getenv_of,
                   void *getenv_context, struct settings *out, bool *help, struct error *error);

/* The table as help text. */
void settings_print_help(FILE *out);

#endif
