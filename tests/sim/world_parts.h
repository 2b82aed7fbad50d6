/*
 * What the parts of the world share. Private to tests/sim.
 */
#ifndef TESTS_SIM_WORLD_PARTS_H
#define TESTS_SIM_WORLD_PARTS_H

#include "base/text.h"
#include "world.h"

#define SIM_ZONES_MAX 8
#define SIM_SUBNETS_MAX 64
#define SIM_GROUPS_MAX 512
#define SIM_INSTANCES_MAX 32
#define SIM_NODES_MAX 512
#define SIM_FAULTS_MAX 128
#define SIM_COUNTERS_MAX 64
#define SIM_PIECE_MAX_BYTES (4 * 1024 * 1024)

struct sim_zone {
	char id[32];
	char name[32];
};

struct sim_subnet {
	char id[32];
	size_t zone;
	char vpc[16];
	bool deleted;
	unsigned hidden; /* missing in so many answers more */
};

struct sim_instance {
	char id[24];
	size_t zone;
	bool terminating;
	bool pinned; /* does not go, whatever its group wants */
};

/* What groups, services and functions have in common: they are placed in subnets. Comma-separated lists. */
struct sim_placed {
	const char *kind; /* "group" */
	char name[128];   /* of a service "cluster/name" */
	char arn[256];
	char tags[256];
	char *subnets;
	char *previous; /* before its last edit: what a stale answer shows */
	char *taken;    /* subnets that the engine took out and that are not back */
	bool bare;      /* it has no subnets and never had */
	bool forgotten; /* a person deleted its record: none knows what was taken until it is written again */
	bool deleted;
	struct instant reborn;
	bool mistaken;   /* changed as if it were its predecessor: an update was on its way when it was made anew */
	bool unrecorded; /* a person deleted its record at some time */
	bool raced;      /* an update arrived within the read-to-write window after a foreign edit */
	struct instant edited;
	struct instant foreign_edit;
};

struct sim_group {
	struct sim_placed placed;
	int desired;
	bool moving;     /* a tick is due */
	bool has_nodes;  /* its instances join the cluster */
	unsigned hidden; /* missing in so many answers more */
	struct sim_instance instances[SIM_INSTANCES_MAX];
	size_t instance_count;
	const char *rival_subnet; /* NULL = no rival */
	int64_t rival_delay_ms;
	int rival_times;
};

/* What is known of a node besides its object. */
struct sim_node {
	char name[64];
	bool frozen;             /* its kubelet is dead: nothing on it ends */
	struct sim_group *group; /* whose instance it is; NULL = of no group */
	char instance[24];
};

/* One request as the servers see it; everything in the call's arena. */
struct sim_request {
	const char *method;
	const char *host;
	const char *path;
	const char *query; /* "" when there is none */
	struct http_headers headers;
	const char *body;
	size_t body_length;
	const char *operation; /* the world's own label */
	bool effect;
	bool counted; /* by "*" */
	int32_t deadline_ms;
	int32_t idle_ms;
	size_t max_response_bytes;
	bool stream;
	const char *service;      /* "kubernetes", "autoscaling" …, "credentials", "program" */
	struct instant not_after; /* ms 0 = at any time */
};

struct sim_answer {
	int status;
	const char *content_type;
	const char *body;
	enum error_kind transport; /* ERROR_NONE: there is an answer */
};

/* A running watch. */
struct sim_stream {
	bool open;
	size_t collection;
	uint64_t sent_version;
	bool bookmarks;
	bool frozen;
	bool scheduled; /* a delivery is due */
	bool ending;
	struct text pending;
	size_t pending_at;
	struct instant last_byte;
};

struct sim_call {
	struct sim_call *next;
	uint64_t number;
	struct sim_client *client;
	void *owner;
	struct arena *client_arena;
	struct arena arena;
	struct sim_request request;
	struct sim_answer answer;
	struct sim_stream stream;
	struct instant submitted;
	int64_t latency_ms;
	const char *error_type; /* header x-amzn-ErrorType of the answer; NULL = none */
	bool no_retry_after;    /* a 429 that does not say when */
	enum world_fault fault;
	bool sent;      /* it is on the wire */
	bool abandoned; /* cancelled, or its client is dead: nothing is told */
};

enum sim_thing_kind {
	THING_SEND,
	THING_SERVE,
	THING_REPLY,
	THING_STREAM,
	THING_BOOKMARK,
	THING_STREAM_END,
	THING_IDLE,
	THING_ACTION
};

struct sim_thing {
	struct sim_thing *next;
	struct instant due;
	uint64_t sequence;
	enum sim_thing_kind kind;
	struct sim_call *call;
	void (*run)(struct world *world, void *context);
	void *context;
};

struct sim_fault {
	char operation[64];
	unsigned left; /* calls until it strikes; 0 = spent */
	enum world_fault fault;
};

struct sim_counter {
	char operation[64];
	unsigned count;
};

/* One process that lives in the world, and what is known of it. */
struct sim_client {
	struct client client; /* first: the seam's functions get this */
	struct world *world;
	size_t cluster; /* whose API server it speaks to */
	bool used;
	bool killed;
	bool woken;
	uint64_t chance;
	unsigned idle_waits;          /* waits that ended at once, in a row */
	struct instant until;         /* of its last wait */
	struct instant paused_until;  /* it is stopped: nothing is told to it, and nothing of it goes on the wire */
	struct sim_told *told;        /* what came for it while another one waited */
	char lease_identity[256];     /* of its last life, from its own writes */
	struct instant lease_renewed; /* when the last renewal that succeeded was submitted */
	bool leads;
};

/* A read of the journal that does not ask for consistency misses so many of the last writes. */
#define SIM_JOURNAL_LAG 16
#define SIM_CLIENTS 2
#define SIM_CLUSTERS 2

struct sim_kube;     /* world_kube.c */
struct sim_identity; /* world_identity.c */
struct sim_outages;  /* world_outage.c */
struct sim_ecs;      /* world_ecs.c */
struct sim_lambda;   /* world_lambda.c */
struct sim_pods;     /* world_pods.c */

/* What something on the way makes of Date. */
struct sim_dates {
	int64_t ahead_ms;
	const char *text; /* instead of a date */
	unsigned left;    /* answers */
};

struct world {
	struct sim_client clients[SIM_CLIENTS];
	struct instant now;
	int64_t skew_ms;    /* how far the clients' wall clock is ahead */
	int64_t connect_ms; /* from submit to the wire */
	uint64_t seed;
	uint64_t chance; /* the world's own */
	uint64_t sequence;
	uint64_t last_call;
	struct sim_call *calls;
	struct sim_thing *things; /* sorted by due, sequence */

	unsigned effects;
	unsigned kill_at; /* 0 = never */
	enum world_kill kill_when;
	bool killed; /* a client of it is, and nobody has seen to that yet */
	unsigned dead_waits;

	struct instant kube_back; /* out of reach until then */
	struct instant aws_back;
	int64_t stop_ms; /* a client that is stopped stays so */
	int64_t late_ms; /* from submit to arrival of a late call */
	struct sim_fault faults[SIM_FAULTS_MAX];
	size_t fault_count;
	struct sim_counter counters[SIM_COUNTERS_MAX];
	size_t counter_count;

	struct sim_zone zones[SIM_ZONES_MAX];
	size_t zone_count;
	struct sim_subnet subnets[SIM_SUBNETS_MAX];
	size_t subnet_count;
	struct sim_group *groups[SIM_GROUPS_MAX];
	size_t group_count;
	unsigned instances_made;

	char account[16];         /* of whoever asks; what is there stays in WORLD_ACCOUNT */
	const char *asker;        /* the account of the call that is being served */
	struct dynamo *elsewhere; /* the journal of any other account; NULL = it sees ours, and all else */
	struct sim_dates dates;
	struct sim_identity *identity;
	struct sim_outages *outages;
	struct dynamo *dynamo;
	struct dynamo *backup;                /* of a table that was lost */
	struct instant lost_at;               /* what was on its way then still arrives */
	struct sim_kube *kubes[SIM_CLUSTERS]; /* the second one: NULL = there is one cluster */
	struct sim_kube *kube;                /* of whoever is served, looked at, or acts */
	struct sim_ecs *ecs;
	struct sim_lambda *lambda;
	struct sim_pods *pods;
	struct sim_node nodes[SIM_NODES_MAX];
	size_t node_count;
	bool
		unfinalized; /* by a person's hand something of ours has no evacuation with our finalizer: that is not asked for */
	bool undrained_allowed; /* a group may be changed though its nodes are not drained */
	bool orphans_allowed;
	bool unreplicated_allowed; /* pods without a controller may be evicted */

	struct instant shared_since;  /* two zones are registered since then; 0 = they are not */
	const char *closing;          /* what is wrong when the record is closed now; NULL = nothing */
	struct instant serving_since; /* when the call that is being served was submitted */
	struct instant thief_until;   /* a lease that was taken is held so long; ms 0 = for ever */
	bool lease_used;              /* some life asked for the lease: effects need it from then on */

	struct arena scratch; /* of one thing */
	struct arena looks;   /* what the looks hand out, until the next thing */
	struct text timeline;
	bool silent;                   /* no timeline is kept */
	world_broken_hook told_broken; /* NULL: the process aborts */
	void *told_context;
};

/* world.c */
uint32_t sim_chance(struct world *world, uint32_t below);
uint64_t sim_chance_next(uint64_t *state);
struct wallclock sim_wall(const struct world *world);
void sim_schedule(struct world *world, int64_t after_ms, enum sim_thing_kind kind, struct sim_call *call,
                  void (*run)(struct world *world, void *context), void *context);
void sim_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void sim_broken(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *sim_strdup(const char *string);

/* world_cluster.c */
void sim_clusters_free(struct world *world);
size_t sim_cluster_count(const struct world *world);
const char *sim_cluster_uid(size_t cluster);
void sim_cluster_found(struct world *world, size_t cluster); /* an API server with its namespaces */

/* world_client.c: clocks, chance, waiting */
void sim_clients_init(struct world *world);
void sim_clients_free(struct world *world);
void sim_client_forget(struct sim_client *client, uint64_t call);

/* world_calls.c: what becomes of a call */
void sim_calls_init(struct client *client);
void sim_calls_drop(struct world *world);
/* Run what is due until then, in order, to the first thing that is to be told. False when nothing is due any more. */
bool sim_run_next(struct world *world, struct instant until, struct sim_client **to, struct client_event *out);

/* Comma-separated lists, in the scratch arena. */
struct string_list sim_list(struct world *world, const char *csv);
bool sim_list_has(struct world *world, const char *csv, const char *item);
const char *sim_list_without(struct world *world, const char *csv, const char *item);
const char *sim_list_with(struct world *world, const char *csv, const char *item);

/* world_kube.c */
struct sim_kube *sim_kube_new(void);
void sim_kube_free(struct sim_kube *kube);
void sim_kube_label(struct sim_request *request, struct arena *arena);
void sim_kube_serve(struct world *world, struct sim_call *call);
void sim_kube_throttle(struct sim_call *call);
void sim_kube_status(struct sim_call *call, int status, const char *reason, const char *message);
const struct json *sim_kube_object(const struct world *world, const char *resource, const char *name);
size_t sim_kube_count(const struct world *world, const char *resource);
const struct json *sim_kube_object_at(const struct world *world, const char *resource, size_t index);
/* Put past all rules of the API but versions and watches: set-up and people's edits. NULL object: remove. */
void sim_kube_put(struct world *world, const char *resource, const char *namespace_, const char *name,
                  const struct json *object);
/* A parameter of a query string, as it is written there; NULL = none. */
const char *sim_query_get(struct arena *arena, const char *query, const char *key);
const char *sim_kube_phases(const struct world *world, const char *name);

/* world_watch.c: what sim_kube_put and the API's writes tell the watches */
void sim_watch_open(struct world *world, struct sim_call *call, size_t collection);
void sim_watch_poke(struct world *world, size_t collection);
bool sim_watch_deliver(struct world *world, struct sim_call *call, struct client_event *out);
void sim_watch_bookmark(struct world *world, struct sim_call *call);
bool sim_kube_log_line(const struct world *world, size_t collection, uint64_t *version, const char **type,
                       const char **text);
uint64_t sim_kube_version(const struct world *world);
uint64_t sim_kube_compacted(const struct world *world);
const char *sim_kube_kind(size_t collection, const char **api_version);

/* world_patch.c: RFC 6902. NULL and *failure (a sentence) when it does not apply. */
struct json *sim_json_patch(struct arena *arena, const struct json *object, const struct json *ops,
                            const char **failure);

/* world_aws.c */
void sim_aws_label(struct sim_request *request, struct arena *arena);
void sim_aws_serve(struct world *world, struct sim_call *call);
/* What a record is after a call to the journal, for the timeline: " web Intent of 1". */
const char *sim_journal_note(struct world *world, struct sim_call *call);
void sim_aws_xml(struct sim_call *call, int status, const char *body);
/* A member of a form; NULL = none. */
const char *sim_form_value(struct arena *arena, const char *form, const char *name);
void sim_aws_throttle(struct sim_call *call);
void sim_aws_busy(struct sim_call *call);
const char *sim_header_or(const struct sim_request *request, const char *name, const char *otherwise);

const char *sim_percent_decode(struct arena *arena, const char *string);
/* An error in the words of the service that was asked. */
void sim_aws_error(struct sim_call *call, int status, const char *code, const char *message);
void sim_aws_json(struct sim_call *call, int status, const struct json *body);

/* world_account.c: the groups and their instances */
struct sim_group *sim_group_find(const struct world *world, const char *name);
const struct sim_subnet *sim_subnet_find(const struct world *world, const char *id);
size_t sim_zone_index(struct world *world, const char *zone_id);
void sim_group_set(struct world *world, struct sim_group *group, const char *subnets);
void sim_account_free(struct world *world);

/* world_placed.c */
void sim_placed_init(struct sim_placed *placed, const char *kind, const char *name, const char *subnets,
                     const char *tags);
void sim_placed_done(struct sim_placed *placed);
/* Somebody (whoever) changed the list: what the engine took and that is back is no longer taken. */
void sim_placed_set(struct world *world, struct sim_placed *placed, const char *subnets);
/* The engine changes the list: what it takes out is to be remembered. Before the list is set. */
void sim_placed_take(struct world *world, struct sim_placed *placed, const char *after);
/* The first subnet of the list that does not exist; NULL = all do. */
const char *sim_unknown_subnet(struct world *world, const char *subnets);
/* All there ever were: groups, services, functions; NULL after the last. */
struct sim_placed *sim_placed_at(const struct world *world, size_t index);
/* By its name, which has to exist. */
struct sim_placed *sim_placed_get(struct world *world, const char *name);
void sim_replace(char **string, const char *with);
/* JSON arrays of strings, from and to comma-separated lists. */
struct json *sim_csv_array(struct arena *arena, const char *csv);
const char *sim_array_csv(struct arena *arena, const struct json *array);
/* "page-7" to 7; NULL is 0. False when it is no token of ours. */
bool sim_page_token(const char *token, size_t *from);

/* world_ecs.c */
struct sim_ecs *sim_ecs_new(void);
void sim_ecs_free(struct sim_ecs *ecs);
void sim_ecs_serve(struct world *world, struct sim_call *call);
struct sim_placed *sim_ecs_placed(const struct world *world, size_t index);
void sim_ecs_print(const struct world *world, struct text *out);

/* world_lambda.c */
struct sim_lambda *sim_lambda_new(void);
void sim_lambda_free(struct sim_lambda *lambda);
bool sim_is_lambda(const struct sim_request *request);
void sim_lambda_label(struct sim_request *request, struct arena *arena);
void sim_lambda_serve(struct world *world, struct sim_call *call);
struct sim_placed *sim_lambda_placed(const struct world *world, size_t index);
void sim_lambda_print(const struct world *world, struct text *out);

/* world_nodes.c */
struct sim_node *sim_node_find(struct world *world, const char *name);
void sim_node_forget(struct world *world, const char *name);
void sim_node_add(struct world *world, const struct world_node *node, const char *instance);
/* The instances of a group changed: those that are new join some time later. */
void sim_group_nodes(struct world *world, struct sim_group *group);
void sim_instance_ends(struct world *world, const struct sim_instance *instance);

/* world_pods.c, world_eviction.c */
struct sim_pods *sim_pods_new(void);
void sim_pods_free(struct sim_pods *pods);
void sim_pods_serve(struct world *world, struct sim_call *call, const char *namespace_, const char *name,
                    const char *subresource);
void sim_pods_node_changed(struct world *world, const char *node);
void sim_pods_node_gone(struct world *world, const char *node);
/* A pod on that node that a drain waits for; NULL = none. */
const char *sim_pods_undrained(struct world *world, const char *node);
void sim_pods_check(struct world *world);

/* world_identity.c */
struct sim_identity *sim_identity_new(void);
void sim_identity_free(struct sim_identity *identity);
/* Is it signed in form, in time, with keys that are good? False: it is answered with what the service says to that. */
bool sim_identity_aws(struct world *world, struct sim_call *call);
/* May the API server serve it? */
bool sim_identity_kube(struct world *world, const struct sim_call *call);
bool sim_is_credentials(const struct sim_request *request);
void sim_credentials_serve(struct world *world, struct sim_call *call);
/* AssumeRole and AssumeRoleWithWebIdentity. */
void sim_sts_serve(struct world *world, struct sim_call *call);
void sim_program_serve(struct world *world, struct sim_call *call);

/* world_outage.c */
struct sim_outages *sim_outages_new(void);
void sim_outages_free(struct sim_outages *outages);
/* Counts the call when its service is out of order; what it is to suffer. */
enum world_fault sim_outage_of(struct world *world, const struct sim_request *request);
/* An answer said when to come again (0 = it did not). */
void sim_outage_said(struct world *world, const struct sim_request *request, int64_t after_s);
int64_t sim_retry_after_s(const struct world *world, const struct sim_call *call);

/* world_check.c */
void sim_check(struct world *world);
void sim_check_update(struct world *world, struct sim_placed *placed, const char *after, bool late);
/* An update that says more than where it is placed: the rest has to be as it is. */
void sim_check_rest(struct world *world, const struct sim_placed *placed, const char *what, const char *is,
                    const char *sent, bool late);
/* Before a DeleteItem is served: world->closing. */
void sim_expect_close(struct world *world, struct sim_call *call);
void sim_check_group(struct world *world, const struct sim_group *group, const char *after, bool late);
void sim_check_eviction(struct world *world, const char *pod, const char *node, bool late);
/* When it is submitted, and when it is put on the wire. */
void sim_check_lease(struct world *world, const struct sim_client *client, const struct sim_request *request,
                     const char *what);
void sim_check_leaders(struct world *world);
const struct json *sim_record_naming(struct world *world, const struct sim_placed *placed, const char *subnet_id);

#endif
