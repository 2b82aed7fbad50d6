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

struct world *world_new(uint64_t seed);
void world_free(struct world *world);
struct client *world_client(struct world *world);

/* The clock. `advance` lets time pass without a client: what is due happens, nothing is told. */
struct instant world_now(const struct world *world);
void world_advance(struct world *world, int64_t ms);

/* Setting up. Subnet lists are as AWS writes them: "subnet-a,subnet-b". Tags: "team=web,tier=db"; NULL = none. */
void world_add_zone(struct world *world, const char *zone_id, const char *zone_name);
void world_add_subnet(struct world *world, const char *subnet_id, const char *zone_id);
void world_delete_subnet(struct world *world, const char *subnet_id);
void world_add_group(struct world *world, const char *name, const char *subnets, int desired, const char *tags);

struct world_node {
	const char *name;
	const char *zone_id;
	bool unschedulable;        /* cordoned by a person before */
	const char *foreign_taint; /* key of a NoSchedule taint of somebody else's; NULL = none */
};
void world_add_node(struct world *world, const struct world_node *node);

/* The journal's table, ready for use. Without it the table is missing. */
void world_make_table(struct world *world);
struct dynamo *world_dynamo(struct world *world);

/* What people do with kubectl: create (or replace the spec of) a ZonalEvacuation from JSON; delete it. */
void world_apply(struct world *world, const char *json);
void world_delete_evacuation(struct world *world, const char *name);

/* What people and others do meanwhile; each is exempt from the rules that bind the engine. */
void world_edit_group(struct world *world, const char *name, const char *subnets);
void world_delete_group(struct world *world, const char *name);
void world_delete_node(struct world *world, const char *name);
void world_uncordon_node(struct world *world, const char *name);
void world_tag_group(struct world *world, const char *name, const char *tags);
void world_label_node(struct world *world, const char *name, const char *key, const char *value); /* NULL: taken off */
/* All annotations and taints are taken off in an editor; a cordon stays. */
void world_strip_node(struct world *world, const char *name);
/* Deleted, and made anew from a dump of it: another UID, all else as it was. */
void world_recreate_node(struct world *world, const char *name);
/* The object vanishes, finalizer or not. */
void world_wipe_evacuation(struct world *world, const char *name);
/* An item of the journal, as DynamoDB JSON; a group's record. */
void world_put_item(struct world *world, const char *json);
void world_delete_item(struct world *world, const char *zone_id, const char *resource_id);
void world_delete_record(struct world *world, const char *zone_id, const char *group);
/* Instances of the group in that zone do not go, whatever the group wants, until they are let go. */
void world_pin_instances(struct world *world, const char *group, const char *zone_id, bool pinned);
void world_at(struct world *world, int64_t after_ms, void (*run)(struct world *world, void *context), void *context);

/* Somebody who puts `subnet` back `delay_ms` after the engine took it out of the group, `times` times at most. */
void world_rival(struct world *world, const char *group, const char *subnet, int64_t delay_ms, int times);

/* Another cluster wants out what is out of that zone: it joins the records of groups, and the zone's registration. */
void world_join(struct world *world, const char *zone_id, const char *owner);

/* Another identity writes itself into the lease now and keeps renewing it. */
void world_steal_lease(struct world *world);

/* Watches with an older resourceVersion than now's are answered 410 from now on, running ones end with an ERROR event. */
void world_compact(struct world *world);

/* End all running watches cleanly, or let them fall silent (no events, no bookmarks) until they are ended. */
void world_end_watches(struct world *world);
void world_freeze_watches(struct world *world, bool frozen);

/* Nobody answers there for so long: all calls but those in flight are refused. */
void world_kube_outage(struct world *world, int64_t ms);
void world_aws_outage(struct world *world, int64_t ms);

/* The next so many answers to DescribeSubnets do not show it. */
void world_hide_subnet(struct world *world, const char *subnet_id, unsigned answers);

/* Calls to AWS are made with credentials of that account from now on; what is there stays in WORLD_ACCOUNT. */
void world_set_account(struct world *world, const char *account_id);

/* Only this bearer token is good from now on (borrowed): with another one each call to the API server is answered 401. */
void world_set_token(struct world *world, const char *token);

/*
 * Faults of one call: the nth (from 1, counted from now) whose operation is `operation`. Operations are AWS's names
 * ("UpdateAutoScalingGroup"), "VERB resource" for Kubernetes ("PATCH nodes", "PATCH zonalevacuations/status", "LIST nodes",
 * "PUT leases"), or "*" for any call but those of leases and watches.
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
	WORLD_BUSY,         /* ScalingActivityInProgress (409 for Kubernetes); nothing happens */
	WORLD_STALE,        /* DescribeAutoScalingGroups: a group edited less than 10 s ago as it was before */
};
const char *world_fault_name(enum world_fault fault);
/* A late call arrives so long after it was submitted (40 s when not set; longer than its deadline). */
void world_set_late(struct world *world, int64_t ms);
void world_fault(struct world *world, const char *operation, unsigned nth, enum world_fault fault);

/* How many calls of an operation ("*" as above) were submitted so far. */
unsigned world_calls(const struct world *world, const char *operation);

/*
 * Death. An effect is any request that changes AWS, the journal or the API server, but for leases and events. Effect number n (from 1) does
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
size_t world_events(struct world *world, const char *reason);

/* Groups, nodes, evacuations (without status) and open records as text: equal texts are equal worlds, whatever happened in between. */
const char *world_fingerprint(struct world *world, struct arena *arena);

/* Print the timeline to stderr. */
void world_print_timeline(const struct world *world);

/* Phases in the order in which the object showed them since it was applied: "Pending Observing Applying Holding". */
const char *world_phases_seen(struct world *world, const char *name);

#endif
