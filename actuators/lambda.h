/*
 * What the files of LambdaFunction share: questions, and answers on their way through `learn`. Of this layer only.
 */
#ifndef ACTUATORS_LAMBDA_H
#define ACTUATORS_LAMBDA_H

#include "actuators/actuator.h"
#include "answer.h"

#define LAMBDA_KIND "LambdaFunction"

/* Which question a probe is. */
enum lambda_step {
	LAMBDA_LIST,     /* discovery */
	LAMBDA_TAGS,     /* GetFunction of one that the list showed */
	LAMBDA_LOOK,     /* GetFunction of one that was changed */
	LAMBDA_ALIASES,  /* which versions are pointed to … */
	LAMBDA_VERSION,  /* … and what one of these uses */
	LAMBDA_VERSIONS, /* all published versions, at recovery */
};

/* What a probe is about: its context; NULL for LAMBDA_LIST. */
struct lambda_question {
	const char *id;                /* ARN, unqualified */
	const struct resource *listed; /* LAMBDA_TAGS: as the list showed it */
	struct string_list removed;    /* of versions: the subnets of the change */
	struct string_list reduced;    /* LAMBDA_VERSIONS: what the change left */
	struct string_list aliases;    /* LAMBDA_VERSION: those that point to `version` */
	const char *version;
};

struct lambda_hearing {
	const struct scope *scope;
	const struct probe *probe;
	const struct json *root; /* of the answer, which ends when it has been learned: what is kept of it is copied */
	struct arena *arena;
	struct resources *resources;
	struct probes *further;
	struct error *error;
};

/* "/2015-03-31/functions/<ARN>" and `below`. */
const char *lambda_path(const char *id, const char *below, struct arena *arena);

/* A GET; `query` may be NULL. */
void lambda_ask(struct probes *out, enum lambda_step step, const struct lambda_question *question,
                const char *operation, const char *path, const char *query, struct arena *arena);

/* The first page of a list, and the next one of the same question, if there is one. */
void lambda_ask_list(struct probes *out, enum lambda_step step, const struct lambda_question *question,
                     const char *operation, const char *path, struct arena *arena);
void lambda_ask_further(const struct lambda_hearing *hearing);

/* ERROR_MALFORMED. Returns false. */
bool lambda_lacks(const struct lambda_hearing *hearing, const char *member);

/* lambda_versions.c: what a change cannot move. The slot `remark`, and its answers. */
void lambda_versions_remark(const struct scope *scope, const struct change *change, enum direction direction,
                            struct arena *arena, struct probes *out);
bool lambda_versions_learn(const struct lambda_hearing *hearing);

/* They may not be read. */
void lambda_versions_unknown(const struct lambda_question *question, const struct error *error, struct arena *arena,
                             struct resources *resources);

#endif
