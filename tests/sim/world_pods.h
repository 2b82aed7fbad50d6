/*
 * The pods of the simulated cluster. Private to world_pods.c (what becomes of them) and world_eviction.c (what the API says).
 */
#ifndef TESTS_SIM_WORLD_PODS_H
#define TESTS_SIM_WORLD_PODS_H

#include "world_parts.h"

#define PODS_MAX 4096
#define BUDGETS_MAX 64
#define VOLUMES_MAX 64

struct budget {
	char namespace_[64];
	char name[64];
	char owner[64];
	int allowed; /* out at a time */
	int out;     /* evicted, and nothing in their place yet */
	int most;    /* that may be out: `allowed`, or what was out when that was lowered */
};

struct volume {
	char claim[128]; /* "namespace/claim" */
	char zone_id[32];
};

struct pod {
	char namespace_[64];
	char name[96];
	char uid[40];
	char node[64]; /* "" = Pending */
	char owner_kind[32];
	char owner[64];
	char claim[64];
	int64_t grace_s;
	bool mirror;
	bool finished;
	bool terminating;
	bool gone;
	bool replaced; /* another one is made, or about to be */
	struct wallclock made;
	struct wallclock ends_at;  /* terminating */
	struct instant slipped_in; /* put on a node that was tainted already; 0 = was not */
	struct budget *owes;       /* counts against it until there is one in its place */
};

/* Pods are never freed before the end: what is due later means one of them. */
struct sim_pods {
	struct pod *at[PODS_MAX];
	size_t count;
	struct budget budgets[BUDGETS_MAX];
	size_t budget_count;
	struct volume volumes[VOLUMES_MAX];
	size_t volume_count;
	unsigned evictions;
};

/* One that is there. */
struct pod *pod_find(const struct world *world, const char *namespace_, const char *name);
/* A DaemonSet's, a mirror, or finished. */
bool pod_is_left(const struct pod *pod);
void pod_terminate(struct world *world, struct pod *pod);

#endif
