/*
 * The services of the simulated ECS. Private to world_ecs.c (what the API says) and world_services.c (what becomes of them).
 */
#ifndef TESTS_SIM_WORLD_ECS_H
#define TESTS_SIM_WORLD_ECS_H

#include "world_parts.h"

#define CLUSTERS_MAX 32
#define SERVICES_MAX 256
#define DEPLOYMENTS_MAX 4

struct network {
	char subnets[600];
	char groups[200]; /* securityGroups */
	char public_ip[16];
};

struct deployment {
	char id[40];
	bool primary;
	const char *rollout; /* "COMPLETED" … */
	char reason[160];
	struct network network;
	int running;
	struct wallclock made;
};

enum broken { BROKEN_NOT, BROKEN_FAILS, BROKEN_ROLLS_BACK };

struct cluster {
	char name[64];
	char arn[160];
	bool deleted;
};

struct service {
	struct sim_placed placed;
	struct cluster *cluster;
	char name[64];
	char controller[16]; /* "" = not told */
	char strategy[16];
	char launch_type[24];
	bool daemon;
	bool no_awsvpc;
	bool no_rollout_state;
	int desired;
	char groups[200];
	char public_ip[16];
	struct wallclock made;
	struct deployment deployments[DEPLOYMENTS_MAX]; /* the primary first */
	size_t deployment_count;
	struct instant due; /* of the next step of the rollout; ticks that come earlier are of one that was superseded */
	bool half;          /* half of the tasks have moved */
	bool rolling_back;
	enum broken breaks;
	char *taken_before; /* what was taken when the rollout began: so again when it is rolled back */
};

struct sim_ecs {
	struct cluster *clusters[CLUSTERS_MAX];
	size_t cluster_count;
	struct service *services[SERVICES_MAX];
	size_t service_count;
	unsigned long long deployments_made;
};

/* By name or ARN; NULL = the cluster "default", as of ECS. A deleted one is none. */
struct cluster *cluster_find(const struct world *world, const char *id);
struct service *service_find(const struct world *world, const struct cluster *cluster, const char *id);
int service_running(const struct service *service);
void network_fill(struct network *network, const char *subnets, const char *groups, const char *public_ip);
/* Whoever asks for it: a new deployment begins when it is another network. */
void service_set_network(struct world *world, struct service *service, const struct network *network);

#endif
