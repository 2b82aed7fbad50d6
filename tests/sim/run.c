#include "run.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define STEPS_MAX 4000000

static const char *environment_get(void *context, const char *name)
{
	static const char *const table[][2] = {
		{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"}, {"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
		{"AWS_REGION", WORLD_REGION},         {"AWS_ENDPOINT_URL", WORLD_AWS_URL},
		{"AWS_CONFIG_FILE", "/dev/null"},     {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"},
	};
	const struct run *run = context;
	for (size_t i = 0; i < run->variable_count; i++)
		if (strcmp(run->variables[i][0], name) == 0)
			return run->variables[i][1];
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i][0], name) == 0)
			return table[i][1];
	return NULL;
}

void run_init(struct run *run, uint64_t seed)
{
	memset(run, 0, sizeof(*run));
	log_configure(getenv("SIM_LOG") != NULL ? LOG_DEBUG : LOG_ERROR, LOG_TEXT);
	run->world = world_new(seed);
	run->environment = (struct aws_environment){environment_get, run};
	run->kube.base_url = WORLD_KUBE_URL;
	run->kube.namespace_ = "zonevac";
	run->kube.source = "simulated";
	(void)snprintf(run->kube.token, sizeof(run->kube.token), "token");
	run->settings = (struct engine_settings){
		.region = WORLD_REGION,
		.table = WORLD_TABLE,
		.leader_elect = true,
		.lease_namespace = "zonevac",
		.identity = run->identity,
		.resync_ms = 5 * MINUTE_MS,
		.poll_ms = 5000,
		.kube = &run->kube,
		.environment = &run->environment,
	};
}

void run_set_variable(struct run *run, const char *name, const char *value)
{
	cr_assert_lt(run->variable_count, RUN_VARIABLES_MAX);
	run->variables[run->variable_count][0] = name;
	run->variables[run->variable_count++][1] = value;
}

void run_use_container(struct run *run, int64_t life_s)
{
	run_set_variable(run, "AWS_ACCESS_KEY_ID", "");
	run_set_variable(run, "AWS_SECRET_ACCESS_KEY", "");
	run_set_variable(run, "AWS_CONTAINER_CREDENTIALS_FULL_URI", WORLD_CREDENTIALS_URL);
	run_set_variable(run, "AWS_CONTAINER_AUTHORIZATION_TOKEN", WORLD_POD_TOKEN);
	world_issue_credentials(run->world, life_s);
}

/* A test's process ends without the leak check of an ordinary one, so it is asked for here: whatever the engine had is given back. */
#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void);
#endif

static void assert_no_leaks(void)
{
#ifdef __SANITIZE_ADDRESS__
	if (__lsan_do_recoverable_leak_check() != 0)
		abort(); /* an assertion would not count: this may run after the test */
#endif
}

void run_done(struct run *run)
{
	engine_free(run->engine);
	kube_config_done(&run->kube);
	world_free(run->world);
	memset(run, 0, sizeof(*run));
	assert_no_leaks();
}

static void live(struct run *run)
{
	(void)snprintf(run->identity, sizeof(run->identity), "sim_%u", ++run->lives);
	run->engine = engine_new(&run->settings, world_client(run->world));
}

static void die(struct run *run)
{
	engine_free(run->engine);
	run->engine = NULL;
	run->deaths++;
	world_revive(run->world);
}

bool run_until(struct run *run, run_condition reached, int64_t limit_ms)
{
	struct instant limit = instant_after(world_now(run->world), limit_ms);
	for (long steps = 0; !reached(run); steps++) {
		if (run->ended || instant_reached(limit, world_now(run->world)))
			return false;
		cr_assert(steps < STEPS_MAX, "the engine steps for ever");
		if (run->engine == NULL)
			live(run);
		bool goes_on = engine_step(run->engine);
		if (world_killed(run->world)) {
			die(run);
		} else if (!goes_on) {
			run->ended = true;
			run->exit_code = engine_exit_code(run->engine);
			engine_free(run->engine);
			run->engine = NULL;
		}
	}
	return true;
}

static bool never(struct run *run)
{
	(void)run;
	return false;
}

void run_for(struct run *run, int64_t ms)
{
	(void)run_until(run, never, ms);
}

static void add_zones(struct world *world)
{
	world_add_zone(world, "use1-az1", "us-east-1c");
	world_add_zone(world, "use1-az2", "us-east-1a");
	world_add_zone(world, "use1-az4", "us-east-1b");
	world_add_subnet(world, "subnet-a1", "use1-az1");
	world_add_subnet(world, "subnet-a2", "use1-az1");
	world_add_subnet(world, "subnet-b1", "use1-az2");
	world_add_subnet(world, "subnet-b2", "use1-az2");
	world_add_subnet(world, "subnet-c1", "use1-az4");
}

void run_add_region(struct run *run)
{
	struct world *world = run->world;
	add_zones(world);
	world_make_table(world);
	world_add_group(world, "web", "subnet-a1,subnet-b1,subnet-c1", 6, "team=web");
	world_add_group(world, "api", "subnet-b1,subnet-a1,subnet-a2,subnet-c1", 4, "team=web");
	world_add_group(world, "batch", "subnet-a2,subnet-b2", 2, "team=data");
	world_add_group(world, "cache", "subnet-c1,subnet-a1", 3, NULL);
	world_add_group(world, "idle", "subnet-a1,subnet-b1", 0, NULL);
	world_add_group(world, "db", "subnet-b1,subnet-c1", 2, NULL);
	world_add_node(world, &(struct world_node){"node-a1", "use1-az1", false, NULL});
	world_add_node(world, &(struct world_node){"node-a2", "use1-az1", true, "example.com/special"});
	world_add_node(world, &(struct world_node){"node-b1", "use1-az2", false, NULL});
	world_add_node(world, &(struct world_node){"node-c1", "use1-az4", false, NULL});
}

void run_add_small_region(struct run *run)
{
	struct world *world = run->world;
	add_zones(world);
	world_make_table(world);
	world_add_group(world, "web", "subnet-a1,subnet-b1", 2, NULL);
	world_add_node(world, &(struct world_node){"node-a1", "use1-az1", false, NULL});
	world_add_node(world, &(struct world_node){"node-b1", "use1-az2", false, NULL});
}

void run_add_every_kind(struct run *run)
{
	struct world *world = run->world;
	const char *node;
	add_zones(world);
	world_make_table(world);
	world_add_group(world, "web", "subnet-a1,subnet-b1", 2, NULL);
	world_add_group(world, "workers", "subnet-a1,subnet-b1", 2, "kubernetes.io/cluster/prod=owned");
	world_add_group_nodes(world, "workers");
	node = world_group_node(world, "workers", "use1-az1", 0);
	for (int i = 0; i < 2; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "web-%d", i);
		world_add_pod(world, &(struct world_pod){.namespace_ = "default",
		                                         .name = name,
		                                         .node = node,
		                                         .owner_kind = "ReplicaSet",
		                                         .owner = "web",
		                                         .grace_s = 5});
	}
	world_add_pod(world, &(struct world_pod){.namespace_ = "default", .name = "alone", .node = node});
	world_add_budget(world, "default", "web", "web", 1);
	world_add_cluster(world, "shop");
	world_add_service(world, "shop", "api", "subnet-a1,subnet-b1", 2, NULL);
	world_add_service(world, "shop", "jobs", "subnet-b1,subnet-a2", 0, NULL);
	world_add_function(world, "resize", "subnet-a1,subnet-b1", NULL);
	world_add_function(world, "mail", "subnet-c1,subnet-a2", NULL);
	run->targets = RUN_EVERY_KIND;
}

static void add_pods(struct run *run, const char *node)
{
	for (int i = 0; i < 2; i++) {
		char name[96];
		(void)snprintf(name, sizeof(name), "%s-%d", node, i);
		run_add_pod(run, name, node, "ReplicaSet", name);
	}
}

void run_add_many(struct run *run)
{
	static const char *const subnets[] = {"subnet-a1,subnet-b1", "subnet-a2,subnet-b1,subnet-c1",
	                                      "subnet-b2,subnet-a1"};
	struct world *world = run->world;
	char name[16];
	add_zones(world);
	world_make_table(world);
	world_add_cluster(world, "shop");
	world_add_cluster(world, "mill");
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "g%02d", i);
		world_add_group(world, name, subnets[i % 3], 2 + i % 3, NULL);
	}
	for (int i = 0; i < 14; i++) {
		(void)snprintf(name, sizeof(name), "s%02d", i);
		world_add_service(world, i % 2 ? "shop" : "mill", name, subnets[i % 3], 2, NULL);
	}
	for (int i = 0; i < 15; i++) {
		(void)snprintf(name, sizeof(name), "f%02d", i);
		world_add_function(world, name, subnets[i % 3], NULL);
	}
	for (int i = 0; i < 8; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		world_add_node(world, &(struct world_node){.name = name, .zone_id = i < 4 ? "use1-az1" : "use1-az2"});
		add_pods(run, name);
	}
	run_add_node_group(run);
	for (size_t i = 0; world_group_node(world, "workers", "use1-az1", i) != NULL; i++) {
		char node[96];
		(void)snprintf(node, sizeof(node), "%s", world_group_node(world, "workers", "use1-az1", i));
		add_pods(run, node);
	}
	run->targets = RUN_EVERY_KIND;
}

#define NODES_AND_GROUPS \
	"[{\"kind\":\"EksNode\",\"selector\":{\"all\":true}},{\"kind\":\"AutoScalingGroup\",\"selector\":{\"all\":true}}]"

static void apply(struct run *run, const char *name, const char *zone_id, const char *mode, const char *targets)
{
	char json[2048];
	(void)snprintf(
		json, sizeof(json),
		"{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":\"%s\"},"
		"\"spec\":{\"zoneId\":\"%s\",\"mode\":\"%s\",\"targets\":%s%s}}",
		name, zone_id, mode, targets, run->spec_more != NULL ? run->spec_more : "");
	world_apply(run->world, json);
}

void run_evacuate(struct run *run, const char *name, const char *zone_id, const char *mode)
{
	apply(run, name, zone_id, mode, run->targets != NULL ? run->targets : NODES_AND_GROUPS);
}

void run_apply(struct run *run, const char *name, const char *zone_id, const char *targets)
{
	apply(run, name, zone_id, "Evacuate", targets);
}

void run_stop(struct run *run)
{
	engine_free(run->engine);
	run->engine = NULL;
	world_revive(run->world);
}

void run_must(struct run *run, run_condition reached, int64_t limit_ms, const char *what)
{
	bool got_there = run_until(run, reached, limit_ms);
	if (!got_there)
		world_print_timeline(run->world);
	cr_assert(got_there, "not so: %s; phase %s", what, world_phase(run->world, "out"));
}

void run_hold(struct run *run)
{
	run_evacuate(run, "out", "use1-az1", "Evacuate");
	run_must(run, run_holding, 30 * MINUTE_MS, "it holds");
}

static bool is_planned(struct run *run)
{
	return strcmp(world_phase(run->world, "out"), "Planned") == 0;
}

void run_plan(struct run *run)
{
	run_evacuate(run, "out", "use1-az1", "Plan");
	run_must(run, is_planned, MINUTE_MS, "it is planned");
	run_for(run, 3000);
}

void run_restore(struct run *run)
{
	world_delete_evacuation(run->world, "out");
	run_must(run, run_gone, 30 * MINUTE_MS, "it is gone");
}

void run_to_calls(struct run *run, const char *operation, unsigned more)
{
	unsigned before = world_calls(run->world, operation);
	struct instant limit = instant_after(world_now(run->world), 15 * MINUTE_MS);
	while (world_calls(run->world, operation) - before < more) {
		cr_assert_not(instant_reached(limit, world_now(run->world)), "less than %u more calls of %s", more, operation);
		run_for(run, 1);
	}
}

const struct json *run_status(struct run *run, const char *path)
{
	return json_path(json_path(world_evacuation(run->world, "out"), "status"), path);
}

const char *run_message(struct run *run, const char *type)
{
	const struct json *conditions = run_status(run, "conditions");
	for (size_t i = 0; i < json_count(conditions); i++)
		if (text_equal(json_get_string(json_at(conditions, i), "type"), type))
			return json_get_string(json_at(conditions, i), "message");
	return "";
}

const char *run_stalled_because(struct run *run, const char *name)
{
	const char *reason;
	bool stalled = strcmp(world_condition(run->world, name, "Stalled", &reason), "True") == 0;
	return stalled ? reason : "";
}

const char *run_record_state(struct run *run, const char *group)
{
	const struct json *record = world_record(run->world, "use1-az1", world_group_arn(run->world, group));
	const char *state = json_get_string(json_get(record, "state"), "S");
	return state != NULL ? state : "";
}

const char *run_state(struct run *run, const char *name)
{
	return world_change_state(run->world, "out", name);
}

const char *run_reason(struct run *run, const char *name)
{
	const struct json *changes = json_path(world_evacuation(run->world, "out"), "status.changes");
	for (size_t i = 0; i < json_count(changes); i++)
		if (text_equal(json_get_string(json_at(changes, i), "name"), name)) {
			const char *reason = json_get_string(json_at(changes, i), "reason");
			return reason != NULL ? reason : "";
		}
	return "";
}

void run_add_pod(struct run *run, const char *name, const char *node, const char *owner_kind, const char *owner)
{
	world_add_pod(run->world, &(struct world_pod){.namespace_ = "default",
	                                              .name = name,
	                                              .node = node,
	                                              .owner_kind = owner_kind,
	                                              .owner = owner,
	                                              .grace_s = 10});
}

static void add_own_pod(struct run *run, const char *name, const char *node)
{
	world_add_pod(run->world, &(struct world_pod){.namespace_ = "zonevac-system",
	                                              .name = name,
	                                              .node = node,
	                                              .owner_kind = "ReplicaSet",
	                                              .owner = "zonevac",
	                                              .grace_s = 5});
}

void run_add_own_pods(struct run *run, const char *node, const char *replica_node)
{
	run->settings.pod_namespace = "zonevac-system";
	run->settings.pod_name = "zonevac-1";
	add_own_pod(run, "zonevac-1", node);
	if (replica_node != NULL)
		add_own_pod(run, "zonevac-2", replica_node);
}

const char *run_add_node_group(struct run *run)
{
	world_add_group(run->world, "workers", "subnet-a1,subnet-b1", 4, "kubernetes.io/cluster/prod=owned");
	world_add_group_nodes(run->world, "workers");
	return world_group_node(run->world, "workers", "use1-az1", 0);
}

bool run_holding(struct run *run)
{
	return strcmp(world_phase(run->world, "out"), "Holding") == 0;
}

bool run_gone(struct run *run)
{
	return world_evacuation(run->world, "out") == NULL;
}

bool run_stalled(struct run *run)
{
	return strcmp(world_condition(run->world, "out", "Stalled", NULL), "True") == 0;
}

void run_story(struct run *run)
{
	run_evacuate(run, "out", "use1-az1", "Evacuate");
	bool holding = run_until(run, run_holding, 60 * MINUTE_MS);
	if (!holding)
		world_print_timeline(run->world);
	cr_assert(holding, "not Holding after an hour, but %s", world_phase(run->world, "out"));
	world_delete_evacuation(run->world, "out");
	bool gone = run_until(run, run_gone, 60 * MINUTE_MS);
	if (!gone)
		world_print_timeline(run->world);
	cr_assert(gone, "not gone an hour after it was deleted, but %s", world_phase(run->world, "out"));
}

void run_assert_as_before(struct run *run, const char *before, const char *what)
{
	struct arena arena;
	arena_init(&arena, "fingerprint", 16 * 1024 * 1024);
	const char *after = world_fingerprint(run->world, &arena);
	bool same =
		strcmp(before, after) == 0 && world_records(run->world) == 0 && world_zone_owners(run->world, "use1-az1") == 0;
	if (!same)
		world_print_timeline(run->world);
	cr_assert(same, "%s: the world is not as it was.\nbefore:\n%s\nafter (%zu records, %zu owners of the zone):\n%s",
	          what, before, world_records(run->world), world_zone_owners(run->world, "use1-az1"), after);
	arena_done(&arena);
}
