/*
 * The functions of the simulated Lambda. Private to world_lambda.c (what the API says) and world_functions.c (what becomes of them).
 */
#ifndef TESTS_SIM_WORLD_LAMBDA_H
#define TESTS_SIM_WORLD_LAMBDA_H

#include "world_parts.h"

#define FUNCTIONS_MAX 256
#define VERSIONS_MAX 32
#define ALIASES_MAX 16

struct version {
	unsigned number;
	char subnets[600];
	char groups[200];
};

struct alias {
	char name[64];
	unsigned version; /* 0 = $LATEST */
};

struct function {
	struct sim_placed placed;
	char groups[200];
	bool ipv6;
	unsigned revision;
	bool tags_hidden;
	const char *status; /* LastUpdateStatus */
	char reason[64];    /* LastUpdateStatusReasonCode; "" = none */
	struct instant due; /* when the update in progress ends */
	char *before;       /* what its failure brings back, and what was taken then */
	char *taken_before;
	char fails_with[64]; /* the next update; "" = it does not fail */
	char failing[64];    /* the one in progress */
	struct version versions[VERSIONS_MAX];
	size_t version_count;
	struct alias aliases[ALIASES_MAX];
	size_t alias_count;
};

struct sim_lambda {
	struct function *functions[FUNCTIONS_MAX];
	size_t function_count;
};

/* By name or ARN; NULL when there is none. */
struct function *function_find(const struct world *world, const char *id);
const char *function_revision(struct arena *arena, unsigned revision);
/* The engine's update: it ends later, or fails and shows the old subnets again. */
void function_update(struct world *world, struct function *function, const char *subnets);

#endif
