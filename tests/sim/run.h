/*
 * An engine at work in a simulated world: what the scenarios share.
 */
#ifndef TESTS_SIM_RUN_H
#define TESTS_SIM_RUN_H

#include "engine/engine.h"
#include "world.h"

#define MINUTE_MS ((int64_t)60 * 1000)
#define RUN_VARIABLES_MAX 8

struct run {
	struct world *world;
	struct engine_settings settings;
	struct kube_config kube;
	struct aws_environment environment;
	const char *variables[RUN_VARIABLES_MAX][2]; /* of the environment, before the usual ones */
	size_t variable_count;
	struct engine *engine; /* NULL between two lives, and after its end */
	const char *targets;   /* of run_evacuate, JSON; NULL = nodes and groups */
	const char *spec_more; /* of what is applied, further members, JSON: ",\"a\":1"; NULL = none */
	char identity[64];
	unsigned lives;
	unsigned deaths; /* by world_kill_at */
	bool ended;      /* the engine came to its own end */
	int exit_code;   /* then */
};

/* An engine with usual settings in an empty world. */
void run_init(struct run *run, uint64_t seed);
void run_done(struct run *run);

/* Before it starts: an environment variable, "" takes a usual one away. Borrowed. */
void run_set_variable(struct run *run, const char *name, const char *value);
/* Its keys come from the container's endpoint and are good for so long (world_issue_credentials). */
void run_use_container(struct run *run, int64_t life_s);

typedef bool (*run_condition)(struct run *run);

/* Let it work until the condition holds, at most `limit_ms`; one that is killed is started anew. False: time is up, or the engine has ended. */
bool run_until(struct run *run, run_condition reached, int64_t limit_ms);

/* Let it work for so long. */
void run_for(struct run *run, int64_t ms);

/*
 * A region of three zones (use1-az1 is us-east-1c) and evacuations in it:
 *   subnets  a1 a2 (use1-az1)  b1 b2 (use1-az2)  c1 (use1-az4)
 *   groups   web a1,b1,c1 · api b1,a1,a2,c1 · batch a2,b2 · cache c1,a1 · idle a1,b1 (no instances) · db b1,c1 (not in use1-az1)
 *   nodes    node-a1, node-a2 (use1-az1; a2 cordoned, with a taint of somebody else's), node-b1, node-c1
 */
void run_add_region(struct run *run);
/* One group (web a1,b1) and one node in each of two zones. */
void run_add_small_region(struct run *run);
/*
 * One of each kind, and what hangs together: group web a1,b1; group workers a1,b1, whose instances are nodes, with two pods of one budget and one of
 * nobody's on the zone's; services shop/api a1,b1 and shop/jobs b1,a2; functions resize a1,b1 and mail c1,a2. run_evacuate takes out every kind.
 */
void run_add_every_kind(struct run *run);
void run_evacuate(struct run *run, const char *name, const char *zone_id, const char *mode);

/*
 * Some sixty resources of every kind: groups g00… (21), services shop/s00… and mill/s00… (14), functions f00… (15),
 * nodes n0… (6) and those of group workers, with two pods each.
 */
void run_add_many(struct run *run);
#define RUN_MANY 60

/* As run_evacuate in mode Evacuate, with targets of one's own: the JSON of the array. */
void run_apply(struct run *run, const char *name, const char *zone_id, const char *targets);
#define RUN_EVERY_KIND                                                                                                 \
	"[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}},{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}," \
	"{\"kind\":\"EcsService\",\"selector\":{\"all\":true}},{\"kind\":\"LambdaFunction\",\"selector\":{\"all\":true}}]"
/* `more`: further members of the nodes' target, from a comma on. */
#define RUN_NODES(more) "[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}" more "}]"
#define RUN_NODES_AND_GROUPS(more)                                 \
	"[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}" more "}," \
	"{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}]"
#define RUN_ALL_NODES "[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}}]"
#define RUN_ALL_GROUPS "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}]"

/* The process ends at once, what is in flight left alone; the next run starts another one. */
void run_stop(struct run *run);

/* Let it work until the condition holds; fails, with the timeline, when that takes longer than `limit_ms`. */
void run_must(struct run *run, run_condition reached, int64_t limit_ms, const char *what);

/* "out" of use1-az1, to Holding; deleted, to gone. */
void run_hold(struct run *run);
void run_restore(struct run *run);

/* Let it work until so many more calls of this operation have been submitted, at most a quarter of an hour. */
void run_to_calls(struct run *run, const char *operation, unsigned more);

/* "out" in mode Plan, to Planned, and its status written. */
void run_plan(struct run *run);

/* What the status of "out" has there, and the message of one of its conditions ("" when it has none). Until the next event of the world. */
const struct json *run_status(struct run *run, const char *path);
const char *run_message(struct run *run, const char *type);

/* Why an evacuation is Stalled; "" when it is not. */
const char *run_stalled_because(struct run *run, const char *name);

/* The record of a group, in use1-az1: its state; "" when there is none. */
const char *run_record_state(struct run *run, const char *group);

/* What the status of "out" says of a resource: its state and its reason; "" when there is none. Both live until the next event of the world. */
const char *run_state(struct run *run, const char *name);
const char *run_reason(struct run *run, const char *name);
#define assert_reason(name, part) \
	cr_assert(strstr(run_reason(&run, name), part), "%s: %s", name, run_reason(&run, name))

/* A pod in the namespace default, of a ReplicaSet and the like (NULL = nobody's), that ends 10 s after it is told to. */
void run_add_pod(struct run *run, const char *name, const char *node, const char *owner_kind, const char *owner);

/* The controller runs in a cluster, as pod zonevac-1 on that node; another one of its replicas on `replica_node` (NULL = none). */
void run_add_own_pods(struct run *run, const char *node, const char *replica_node);

/* Group workers a1,b1 with a cluster's tag, whose instances are nodes; the name of one in use1-az1. */
const char *run_add_node_group(struct run *run);

/* Conditions about the evacuation "out". */
bool run_holding(struct run *run);
bool run_gone(struct run *run);
bool run_stalled(struct run *run);

/* evacuate "out" of use1-az1, hold, delete, gone; asserts each. */
void run_story(struct run *run);

/* Assert that the world is as `before` says (world_fingerprint) and the journal empty. */
void run_assert_as_before(struct run *run, const char *before, const char *what);

#endif
