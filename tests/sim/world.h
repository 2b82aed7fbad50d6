/*
 * A simulated world: a virtual clock, a Kubernetes API server at https://kube.sim and an AWS account at http://aws.sim, behind the client
 * seam (net/client.h), so that the real engine runs unchanged and a day passes in milliseconds.
 *
 * Shape of a call: submitted ── half the latency ──► served (the effect happens, in the order of arrival) ── the rest ──► told by wait.
 * Deterministic: everything that is chance comes from the seed. Wall clock at the start: 2026-01-02T03:04:05Z.
 *
 * After everything that happens the world checks the safety rules (world_check.c); when one is broken it prints its timeline and aborts,
 * as it does when the client's rules are broken. It keeps no promise about speed or about anything that the engine does not ask for.
 *
 * Ownership: strings handed out live until the next event of the world; strings handed in are copied. One thread.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "base/json.h"
#include "dynamo.h"
#include "net/client.h"

#define WORLD_KUBE_URL "https://kube.sim"
#define WORLD_AWS_URL "http://aws.sim"
#define WORLD_TABLE "zonevac-journal"
#define WORLD_ACCOUNT "123456789012"
#define WORLD_REGION "us-east-1"
#define WORLD_CLUSTER_UID "11111111-2222-3333-4444-555555555555"

struct world;

/*
 * A safety rule is broken: which one (its sentence without names in it), and the sentence. Does not return. Without a hook the timeline is
 * printed and the process aborts.
 */
typedef void (*world_broken_hook)(void *context, const char *rule, const char *sentence);

struct world *world_new(uint64_t seed);
void world_on_broken(struct world *world, world_broken_hook hook, void *context);
/* No timeline is kept from now on: what nobody reads costs a third of all time. */
void world_be_silent(struct world *world);
void world_free(struct world *world);
struct client *world_client(struct world *world);

/* The clock. `advance` lets time pass without a client: what is due happens, nothing is told. */
struct instant world_now(const struct world *world);
void world_advance(struct world *world, int64_t ms);

/* Setting up. Subnet lists are as AWS writes them: "subnet-a,subnet-b". Tags: "team=web,tier=db"; NULL = none. */
void world_add_zone(struct world *world, const char *zone_id, const char *zone_name);
void world_add_subnet(struct world *world, const char *subnet_id, const char *zone_id);
/* In another VPC than "vpc-1". */
void world_add_subnet_of(struct world *world, const char *subnet_id, const char *zone_id, const char *vpc_id);
void world_delete_subnet(struct world *world, const char *subnet_id);
void world_add_group(struct world *world, const char *name, const char *subnets, int desired, const char *tags);

struct world_node {
	const char *name;
	const char *zone_id;
	bool unschedulable;        /* cordoned by a person before */
	const char *foreign_taint; /* key of a NoSchedule taint of somebody else's; NULL = none */
};
void world_add_node(struct world *world, const struct world_node *node);

/*
 * Instances of the group are nodes of the cluster, from now on also those that it launches; when Auto Scaling ends an instance its node vanishes
 * with all pods. world_group_node: the name of the n-th of its nodes in that zone (NULL = all zones), NULL when there are not so many.
 */
void world_add_group_nodes(struct world *world, const char *group);
const char *world_group_node(struct world *world, const char *group, const char *zone_id, size_t index);

/* The kubelet of the node is dead: it is not Ready, and pods on it that are to end never do. */
void world_freeze_node(struct world *world, const char *name);

/* ECS. A service's tasks run at once; its name is "cluster/name" where a name of anything is asked for. */
struct world_service {
	const char *cluster;
	const char *name;
	const char *subnets;
	int desired;
	const char *tags;
	const char *controller;      /* "CODE_DEPLOY", "EXTERNAL"; NULL = not told, which is "ECS" */
	const char *strategy;        /* "BLUE_GREEN" …; NULL = not told, which is "ROLLING" */
	const char *launch_type;     /* NULL = "FARGATE"; "" = a capacity provider's */
	const char *security_groups; /* NULL = "sg-1" */
	const char *public_ip;       /* NULL = "DISABLED" */
	bool daemon;
	bool no_awsvpc;        /* its tasks have no network of their own */
	bool no_rollout_state; /* its deployments do not say how they get on */
};
void world_add_cluster(struct world *world, const char *name);
void world_add_service(struct world *world, const char *cluster, const char *name, const char *subnets, int desired,
                       const char *tags);
void world_add_special_service(struct world *world, const struct world_service *service);

/* Lambda. Subnets NULL: the function is in no VPC. */
void world_add_function(struct world *world, const char *name, const char *subnets, const char *tags);
/* A version with the function's subnets of this moment; its number. An alias that points to one (0 = $LATEST). */
unsigned world_publish_version(struct world *world, const char *name);
void world_alias(struct world *world, const char *name, const char *alias, unsigned version);
/* Its tags may not be read by whoever asks. */
void world_hide_tags(struct world *world, const char *name);

/*
 * Pods end `grace_s` after they are evicted or deleted. What a controller owns (a DaemonSet apart) is made anew some 5 s later, on a node that is neither
 * tainted nor cordoned and in its volume's zone, and is Pending while there is none; of a StatefulSet under the same name, after the old one has ended.
 * A taint NoExecute deletes what does not tolerate it: all but DaemonSets' pods and mirrors.
 */
struct world_pod {
	const char *namespace_;
	const char *name;
	const char *node;
	const char *owner_kind; /* "ReplicaSet", "StatefulSet", "DaemonSet"; NULL = nobody's */
	const char *owner;
	const char *claim; /* of a PersistentVolumeClaim; NULL = none */
	int64_t grace_s;
	bool mirror; /* of a static pod */
	bool finished;
};
void world_add_pod(struct world *world, const struct world_pod *pod);
/*
 * The pods of that owner may be evicted `allowed` at a time: one counts until the pod in its place has a node. Said again of the same name: another
 * number. Two budgets for one owner: no eviction at all, as of the API server.
 */
void world_add_budget(struct world *world, const char *namespace_, const char *name, const char *owner, int allowed);
/* A volume that can only be used in that zone, bound to "namespace/claim". */
void world_add_volume(struct world *world, const char *claim, const char *zone_id);

/* A person's word for what the rules forbid: changing a group whose nodes still hold pods; evicting pods that nobody brings back. */
void world_allow_undrained(struct world *world);
void world_allow_unreplicated(struct world *world);

/* The journal's table, ready for use. Without it the table is missing. */
void world_make_table(struct world *world);
struct dynamo *world_dynamo(struct world *world);
/* It is deleted with all that it holds; and stands there again with what it held then, as from its backup. */
void world_lose_table(struct world *world);
void world_bring_table_back(struct world *world);

/* What people do with kubectl: create (or replace the spec of) a ZonalEvacuation from JSON; delete it. */
void world_apply(struct world *world, const char *json);
void world_delete_evacuation(struct world *world, const char *name);

/* What people and others do meanwhile; each is exempt from the rules that bind the engine. */
void world_edit_group(struct world *world, const char *name, const char *subnets);
void world_delete_group(struct world *world, const char *name);
void world_delete_node(struct world *world, const char *name);
void world_uncordon_node(struct world *world, const char *name);
void world_cordon_node(struct world *world, const char *name);
/* One more taint, NoSchedule, without a value. */
void world_taint_node(struct world *world, const char *name, const char *key);
void world_tag_group(struct world *world, const char *name, const char *tags);
void world_label_node(struct world *world, const char *name, const char *key, const char *value); /* NULL: taken off */
/* All annotations and taints are taken off in an editor; a cordon stays. */
void world_strip_node(struct world *world, const char *name);
/* Deleted, and made anew from a dump of it: another UID, all else as it was. */
void world_recreate_node(struct world *world, const char *name);
/* An annotation of a ZonalEvacuation; its metadata.uid, "" when there is none. */
void world_annotate_evacuation(struct world *world, const char *name, const char *key, const char *value);
const char *world_evacuation_uid(struct world *world, const char *name);
/* A person lets go of what is out: records and marks may be left without an evacuation. */
void world_allow_orphans(struct world *world);
/* Somebody else's finalizer is put on it. */
void world_add_finalizer(struct world *world, const char *name, const char *finalizer);
/* The object vanishes, finalizer or not. */
void world_wipe_evacuation(struct world *world, const char *name);
/* An item of the journal, as DynamoDB JSON; the record of a group, a service or a function. */
void world_put_item(struct world *world, const char *json);
void world_delete_item(struct world *world, const char *zone_id, const char *resource_id);
void world_delete_record(struct world *world, const char *zone_id, const char *name);
/* Of a service: another network makes a new deployment. Deleted, it is still described as INACTIVE; made anew, it has the same ARN. */
void world_edit_service(struct world *world, const char *cluster, const char *name, const char *subnets);
void world_secure_service(struct world *world, const char *cluster, const char *name, const char *security_groups);
void world_tag_service(struct world *world, const char *cluster, const char *name, const char *tags);
void world_delete_service(struct world *world, const char *cluster, const char *name);
void world_recreate_service(struct world *world, const char *cluster, const char *name, const char *subnets);
void world_delete_cluster(struct world *world, const char *name);
/* The next deployment's tasks do not start: it fails after a while. With `rollback` what was before it comes back. */
void world_break_deployments(struct world *world, const char *cluster, const char *name, bool rollback);
/* Of a function: what its owner says holds at once; "" takes it out of its VPC. */
void world_edit_function(struct world *world, const char *name, const char *subnets);
void world_secure_function(struct world *world, const char *name, const char *security_groups);
void world_tag_function(struct world *world, const char *name, const char *tags);
void world_delete_function(struct world *world, const char *name);
/* An update of somebody else's that leaves the network alone, InProgress for 10 to 60 s. */
void world_touch_function(struct world *world, const char *name);
/* The next update (of the engine's) ends Failed, "SubnetOutOfIPAddresses", and the old configuration serves. */
void world_fail_update(struct world *world, const char *name, const char *reason);
/* Instances of the group in that zone do not go, whatever the group wants, until they are let go. */
void world_pin_instances(struct world *world, const char *group, const char *zone_id, bool pinned);
void world_at(struct world *world, int64_t after_ms, void (*run)(struct world *world, void *context), void *context);

/* Somebody who puts `subnet` back `delay_ms` after the engine took it out of the group, `times` times at most. */
void world_rival(struct world *world, const char *group, const char *subnet, int64_t delay_ms, int times);

/*
 * Another cluster wants out what is out of that zone: it joins the records of groups, and the zone's registration. What is being put back, and was not
 * touched for ten minutes, is Applied again; what was touched since it leaves to us. It leaves again where it is not the last.
 */
void world_join(struct world *world, const char *zone_id, const char *owner);
void world_leave(struct world *world, const char *zone_id, const char *owner);

/* Another identity writes itself into the lease now and keeps renewing it, for ever or for so long. */
void world_steal_lease(struct world *world);
void world_borrow_lease(struct world *world, int64_t ms);

/* Watches with an older resourceVersion than now's are answered 410 from now on, running ones end with an ERROR event. */
void world_compact(struct world *world);

/* End all running watches cleanly, or let them fall silent (no events, no bookmarks) until they are ended. */
void world_end_watches(struct world *world);
void world_freeze_watches(struct world *world, bool frozen);

/* Nobody answers there for so long: all calls but those in flight are refused. */
void world_kube_outage(struct world *world, int64_t ms);
void world_aws_outage(struct world *world, int64_t ms);

/* The next so many answers to DescribeSubnets, or DescribeAutoScalingGroups, do not show it. */
void world_hide_subnet(struct world *world, const char *subnet_id, unsigned answers);
void world_hide_group(struct world *world, const char *name, unsigned answers);

/*
 * Calls to AWS are made with credentials of that account from now on; what is there stays in WORLD_ACCOUNT. Keys that
 * were issued stay of the account that it was then. world_hide_elsewhere: who asks with another account's sees none of
 * the groups, and a journal of that account's own: an empty table, or none. Before, they see what WORLD_ACCOUNT sees.
 */
void world_set_account(struct world *world, const char *account_id);
void world_hide_elsewhere(struct world *world, bool table);

/*
 * Who may ask. As long as nothing is said here any key of AWS is good, and any token for the API server.
 *
 * world_set_token: only this bearer token is good from now on (borrowed): with another one each call to the API server
 * is answered 401.
 *
 * world_issue_credentials: only keys that were issued here are good, for `life_s` each: by WORLD_CREDENTIALS_URL
 * (Authorization: WORLD_POD_TOKEN) and by STS's AssumeRole and AssumeRoleWithWebIdentity (for at most
 * DurationSeconds). With others, and with those that have ended or were revoked, calls are refused in the words of the
 * service that was asked. world_fail_refreshes: each time `every` - 1 were issued, the next three calls for them fail.
 *
 * world_issue_logins: only tokens that a program gave out are good for the API server, for `life_s` each. Whatever
 * program is run, it answers with an ExecCredential of the version it is told in KUBERNETES_EXEC_INFO. Revoked ones
 * are answered 401.
 */
#define WORLD_CREDENTIALS_URL "http://169.254.170.23/v1/credentials"
#define WORLD_POD_TOKEN "pod-token"
void world_set_token(struct world *world, const char *token);
void world_issue_credentials(struct world *world, int64_t life_s);
void world_fail_refreshes(struct world *world, unsigned every);
void world_revoke_credentials(struct world *world);
void world_issue_logins(struct world *world, int64_t life_s);
void world_revoke_logins(struct world *world);

/*
 * How many keys (tokens) were issued; how many calls of a service ("autoscaling", "kubernetes"; "*" = all of AWS) were
 * refused for their keys, or for the clock.
 */
unsigned world_issued(const struct world *world);
unsigned world_refused_keys(const struct world *world, const char *service);
unsigned world_refused_clocks(const struct world *world, const char *service);

/*
 * Clocks. The clients' wall clock is so far ahead of everybody else's (negative: behind). AWS refuses what was signed
 * more than five minutes before or after its own time; every answer tells that in the header Date.
 */
void world_set_skew(struct world *world, int64_t ms);
/*
 * Something on the way writes its own Date into AWS's next so many answers: so far ahead of the right one (negative:
 * behind), or that text (borrowed; NULL = none).
 */
void world_set_date(struct world *world, int64_t ms, const char *text, unsigned answers);

/* From submit to the wire: so long a connection takes. A call whose not_after has come by then is not sent. */
void world_slow_connect(struct world *world, int64_t ms);

/*
 * A second client of the same world, for another replica. They take turns: a wait ends, with CLIENT_WOKEN, also when
 * the other one has something to do. The lease is watched for both, and that never both have it. world_end_client: its
 * process has ended.
 */
struct client *world_second_client(struct world *world);
void world_end_client(struct world *world, struct client *client);

/*
 * With two clients, death strikes the one that sent the effect. Free its engine, then let it go (nothing waits for it) until a new process
 * begins there.
 */
bool world_client_killed(const struct world *world, struct client *client);
void world_bury_client(struct world *world, struct client *client);
void world_begin_client(struct world *world, struct client *client);

/*
 * A second cluster in the same account, whose UID is WORLD_SECOND_UID: the second client speaks to its API server, which has nodes and pods of nobody.
 * People's deeds and all looks are about the cluster that was named last (0, 1); 0 after each thing that happens.
 */
#define WORLD_SECOND_UID "99999999-2222-3333-4444-555555555555"
void world_add_second_cluster(struct world *world);
void world_turn_to_cluster(struct world *world, size_t cluster);

/*
 * The client's process is stopped (SIGSTOP) for so long: it hears nothing, its wait does not return, what it has not
 * sent is not sent.
 */
void world_pause(struct world *world, struct client *client, int64_t ms);
bool world_paused(const struct world *world, struct client *client);

/*
 * Faults of one call: the nth (from 1, counted from now) whose operation is `operation`. Operations are AWS's names
 * ("UpdateAutoScalingGroup"), "VERB resource" for Kubernetes ("PATCH nodes", "PATCH zonalevacuations/status", "LIST nodes",
 * "PUT leases", "POST pods/eviction", "LIST pods"), or "*" for any call but those of leases and watches.
 */
enum world_fault {
	WORLD_NO_FAULT,
	WORLD_THROTTLE,     /* the service's own "slow down"; nothing happens */
	WORLD_ERROR_BEFORE, /* 500 with an HTML page; nothing happens */
	WORLD_ERROR_AFTER,  /* the same, but it did happen */
	WORLD_REFUSE,       /* no connection; nothing happens */
	WORLD_BREAK,        /* it happens, the connection breaks before the answer */
	WORLD_LOSE_REPLY,   /* it happens, silence until the deadline */
	WORLD_LATE,         /* silence until the deadline; it happens later, see world_set_late */
	WORLD_BUSY, /* ScalingActivityInProgress (409 for Kubernetes and Lambda, ServerException of ECS); nothing happens */
	WORLD_STALE, /* DescribeAutoScalingGroups, DescribeServices, GetFunction: what was edited less than 10 s ago as before */
	WORLD_SILENCE, /* silence until the deadline; nothing happens */
	WORLD_GARBAGE, /* 200 with an HTML page; nothing happens */
	WORLD_SLOW,    /* it happens, but nine tenths of the deadline pass */
	WORLD_STOP, /* nothing is wrong with it, but its client is stopped as soon as it is submitted, see world_set_stop */
};
const char *world_fault_name(enum world_fault fault);
/* A late call arrives so long after it was submitted (40 s when not set; longer than its deadline). */
void world_set_late(struct world *world, int64_t ms);
/* A client is stopped for so long (20 s when not set). */
void world_set_stop(struct world *world, int64_t ms);
void world_fault(struct world *world, const char *operation, unsigned nth, enum world_fault fault);
/* All faults and outages are over, what is frozen, hidden or slow is so no more; what is on its way stays so. */
void world_calm(struct world *world);

/*
 * A service is out of order for so long: each call to it suffers `fault`. "autoscaling", "ec2", "ecs", "lambda",
 * "dynamodb", "sts"; "kubernetes" (running watches end, or are silent for good when it is WORLD_SILENCE);
 * "credentials" (WORLD_CREDENTIALS_URL); "program" (WORLD_REFUSE: it ends with 1). world_outage_calls: how many were
 * submitted from the one second to the other of the last outage.
 */
void world_service_outage(struct world *world, const char *service, int64_t ms, enum world_fault fault);
unsigned world_outage_calls(const struct world *world, int64_t from_s, int64_t to_s);

/*
 * Answers 429, 500 and 503 say Retry-After from now on, so many seconds (otherwise: 429 alone, 1 s).
 * world_hasty_calls: how often the very same call came again sooner than that. Leases are not counted, they have their
 * own pace.
 */
void world_set_retry_after(struct world *world, int64_t seconds);
unsigned world_hasty_calls(const struct world *world);

/* How many calls of an operation ("*" as above) were submitted so far. */
unsigned world_calls(const struct world *world, const char *operation);

/*
 * Death. An effect is any request that changes AWS, the journal or the API server (evictions too), but for leases and events. Effect number n (from 1) does
 * not happen (BEFORE), or happens and is never answered (AFTER); from then on the client is dead: what it submits is swallowed, wait returns
 * at once. What was in flight arrives or not, by the seed: at once, seconds later, or (a change of a resource) as late as its
 * signature is good for. Free the engine, revive, make a new one.
 */
enum world_kill { WORLD_KILL_BEFORE, WORLD_KILL_AFTER };
void world_kill_at(struct world *world, unsigned n, enum world_kill when);
bool world_killed(const struct world *world);
void world_revive(struct world *world);
unsigned world_effects(const struct world *world);

/* Looks, for assertions and for deciding how long to run. */
const char *world_group(struct world *world, const char *name); /* its subnets; NULL when there is none */
int world_group_instances(struct world *world, const char *name, const char *zone_id); /* zone NULL = all */
bool world_group_raced(struct world *world, const char *name); /* an update came within a second of a foreign edit */
const char *world_group_arn(struct world *world, const char *name);
/* Services and functions: subnets, NULL when there is none. */
const char *world_service(struct world *world, const char *cluster, const char *name);
const char *world_service_arn(struct world *world, const char *cluster, const char *name);
const char *world_service_security(struct world *world, const char *cluster, const char *name); /* "sg-1 DISABLED" */
/* How the primary deployment gets on: "COMPLETED", "IN_PROGRESS", "FAILED". */
const char *world_service_deployment(struct world *world, const char *cluster, const char *name);
const char *world_function(struct world *world, const char *name);
const char *world_function_arn(struct world *world, const char *name);
const char *world_function_security(struct world *world, const char *name);                  /* "sg-1" */
const char *world_function_status(struct world *world, const char *name);                    /* its LastUpdateStatus */
const struct json *world_pod(struct world *world, const char *namespace_, const char *name); /* NULL when it is gone */
/* Pods on the node but for DaemonSets', mirrors and finished ones; ending ones count. */
size_t world_pods_on(struct world *world, const char *node);
unsigned world_evictions(const struct world *world); /* that were granted */
const struct json *world_node(struct world *world, const char *name);
bool world_node_tainted(struct world *world, const char *name);
bool world_node_cordoned(struct world *world, const char *name);
const struct json *world_evacuation(struct world *world, const char *name);
const char *world_phase(struct world *world, const char *name); /* "" when there is none */
/* "True", "False", "" and, in *reason (may be NULL), the reason. */
const char *world_condition(struct world *world, const char *name, const char *type, const char **reason);
/* The state of one entry of status.changes; "" when it is not listed. */
const char *world_change_state(struct world *world, const char *evacuation, const char *resource_name);
size_t world_records(struct world *world); /* open records, the region's item aside */
const struct json *world_record(struct world *world, const char *zone_id, const char *resource_id);
size_t world_zone_owners(struct world *world, const char *zone_id); /* registered in the region's item */
/* Who has the lease; "" = nobody. */
const char *world_lease_holder(struct world *world);
size_t world_events(struct world *world, const char *reason);

/*
 * Groups, services, functions, nodes, evacuations (without status) and open records as text: equal texts are equal worlds, whatever happened in
 * between. Pods are not in it, and nodes of groups only while something of ours is left on them.
 */
const char *world_fingerprint(struct world *world, struct arena *arena);

/* Print the timeline to stderr. */
void world_print_timeline(const struct world *world);

/* Phases in the order in which the object showed them since it was applied: "Pending Observing Applying Holding". */
const char *world_phases_seen(struct world *world, const char *name);

#endif
