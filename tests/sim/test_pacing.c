/*
 * Batches, out and back: whoever watches the world from outside sees no more at work than was asked for, and the intervals kept, whenever the controller
 * dies.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

#define WATCHED_MAX 16
/* The annotation of a node tells its time in whole seconds, and so does the status; while nobody is alive nothing is watched. */
#define TOLERANCE_MS 3000

/* What is seen of one kind: in the journal for a group, on the node and of its pods for a node. */
struct watched {
	const char *prefix;
	bool nodes;
	size_t count;
	size_t size;         /* of a batch */
	int64_t interval_ms; /* between two */
	bool begun[WATCHED_MAX], rested[WATCHED_MAX];
	size_t working, most;    /* at work, the most at a time */
	size_t members, batches; /* of the batch in progress, and so many of them */
	size_t sizes[WATCHED_MAX];
	struct instant last_rest;
};

static struct run run;
static struct arena arena;
static const char *before;
static struct watched groups, nodes;
static bool back;
static unsigned watched_effects;
static struct instant watched_at;

static void setup_with(uint64_t seed)
{
	back = false;
	watched_effects = 0;
	watched_at = (struct instant){0};
	groups = (struct watched){.prefix = "g"};
	nodes = (struct watched){.prefix = "n", .nodes = true};
	run_init(&run, seed);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void setup(void)
{
	setup_with(11);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(pacing, .init = setup, .fini = teardown, .timeout = 600);

static const char *name_of(const struct watched *watched, size_t i)
{
	static char name[32];
	(void)snprintf(name, sizeof(name), "%s%u", watched->prefix, (unsigned)i);
	return name;
}

static void look_at_group(const char *name, bool *begun, bool *rested)
{
	const char *state = run_record_state(&run, name);
	if (back) {
		*begun = strcmp(state, "Restoring") == 0;
		*rested = state[0] == '\0';
	} else {
		*rested = strcmp(state, "Settled") == 0 || strcmp(state, "Applied") == 0;
		*begun = state[0] != '\0';
	}
}

static void look_at_node(const char *name, bool *begun, bool *rested)
{
	const struct json *annotations = json_path(world_node(run.world, name), "metadata.annotations");
	const char *mark = json_get_string(annotations, "zonevac.dev/evacuated");
	*begun = mark != NULL && strstr(mark, "\"drain\":\"") != NULL;
	*rested = *begun && world_pods_on(run.world, name) == 0;
}

static void began(struct watched *watched, size_t i)
{
	struct instant now = world_now(run.world);
	int64_t since_ms = instant_between_ms(watched->last_rest, now);
	watched->begun[i] = true;
	watched->working++;
	if (watched->members == watched->size ||
	    (watched->members > 0 && watched->working == 1 && since_ms >= watched->interval_ms - TOLERANCE_MS)) {
		cr_assert_eq(watched->working, 1, "%s begins although %zu of the batch before are at work", name_of(watched, i),
		             watched->working - 1);
		cr_assert_geq(since_ms, watched->interval_ms - TOLERANCE_MS, "%s begins %lld ms after the last rest",
		              name_of(watched, i), (long long)since_ms);
		watched->members = 0;
	}
	if (watched->members == 0)
		watched->batches++;
	watched->members++;
	watched->sizes[watched->batches - 1] = watched->members;
	if (watched->working > watched->most)
		watched->most = watched->working;
}

static void look_at(const struct watched *watched, size_t i, bool *begun, bool *rested)
{
	if (watched->nodes)
		look_at_node(name_of(watched, i), begun, rested);
	else
		look_at_group(name_of(watched, i), begun, rested);
}

static void watch(struct watched *watched)
{
	bool begun, rested;
	for (int pass = 0; pass < 2; pass++) /* what is begun in the same step is begun after what came to rest in it */
		for (size_t i = 0; i < watched->count; i++) {
			look_at(watched, i, &begun, &rested);
			if (pass > 0 && begun && !watched->begun[i])
				began(watched, i);
			if (rested && !watched->rested[i] && watched->begun[i]) {
				watched->rested[i] = true;
				watched->working--;
				watched->last_rest = world_now(run.world);
			}
		}
	cr_assert_leq(watched->working, watched->size, "%zu of %s are at work", watched->working, watched->prefix);
}

/* After each effect; what happens by itself, such as the end of a pod, is seen within a second. */
static bool watched_until(run_condition reached)
{
	unsigned effects = world_effects(run.world);
	if (effects == watched_effects && instant_between_ms(watched_at, world_now(run.world)) < 1000)
		return false;
	watched_effects = effects;
	watched_at = world_now(run.world);
	watch(&groups);
	if (!back)
		watch(&nodes);
	return reached(&run);
}

static bool watched_never(struct run *at)
{
	(void)at;
	(void)watched_until(run_holding);
	return false;
}

static bool holding(struct run *at)
{
	(void)at;
	return watched_until(run_holding);
}

static bool gone(struct run *at)
{
	(void)at;
	return watched_until(run_gone);
}

static void turn_back(void)
{
	struct watched fresh = {
		.prefix = groups.prefix, .count = groups.count, .size = groups.size, .interval_ms = groups.interval_ms};
	groups = fresh;
	back = true;
	world_delete_evacuation(run.world, "out");
}

static void pace(int percent, int interval_s)
{
	static char more[96];
	(void)snprintf(more, sizeof(more),
	               ",\"pacing\":{\"batchPercent\":%d,\"batchIntervalSeconds\":%d},"
	               "\"guards\":{\"maxNodesPercent\":100}",
	               percent, interval_s);
	run.spec_more = more;
	groups.interval_ms = nodes.interval_ms = interval_s * 1000;
	groups.size = (groups.count * (size_t)percent + 99) / 100;
	nodes.size = (nodes.count * (size_t)percent + 99) / 100;
}

static void add(size_t group_count, size_t node_count)
{
	char name[32];
	run_add_small_region(&run);
	world_delete_group(run.world, "web");
	world_delete_node(run.world, "node-a1");
	for (size_t i = 0; i < group_count; i++) {
		(void)snprintf(name, sizeof(name), "g%zu", i);
		world_add_group(run.world, name, "subnet-a1,subnet-b1", 1, NULL);
	}
	for (size_t i = 0; i < node_count; i++) {
		(void)snprintf(name, sizeof(name), "n%zu", i);
		world_add_node(run.world, &(struct world_node){name, "use1-az1", false, NULL});
		(void)snprintf(name, sizeof(name), "p%zu", i);
		char node[32];
		(void)snprintf(node, sizeof(node), "n%zu", i);
		run_add_pod(&run, name, node, "ReplicaSet", name);
	}
	groups.count = group_count;
	nodes.count = node_count;
	before = world_fingerprint(run.world, &arena);
}

static void evacuate(void)
{
	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
}

static void assert_sizes(const struct watched *watched, size_t batches, size_t last)
{
	cr_assert_eq(watched->batches, batches, "%s: %zu batches", watched->prefix, watched->batches);
	for (size_t i = 0; i < batches; i++)
		cr_assert_eq(watched->sizes[i], i + 1 < batches ? watched->size : last, "%s: batch %zu has %zu",
		             watched->prefix, i + 1, watched->sizes[i]);
	cr_assert_eq(watched->most, watched->size);
}

Test(pacing, out_and_back_in_batches)
{
	add(7, 5);
	pace(30, 600);
	evacuate();
	run_must(&run, holding, 120 * MINUTE_MS, "holding");
	assert_sizes(&groups, 3, 1);
	assert_sizes(&nodes, 3, 1);
	cr_assert_str_eq(world_phases_seen(run.world, "out"), "Applying Holding");
	turn_back();
	run_must(&run, gone, 120 * MINUTE_MS, "gone");
	assert_sizes(&groups, 3, 1);
	run_assert_as_before(&run, before, "back");
}

Test(pacing, without_an_interval_a_batch_follows_when_the_one_before_has_come_to_rest)
{
	add(6, 4);
	pace(50, 0);
	evacuate();
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	assert_sizes(&groups, 2, 3);
	assert_sizes(&nodes, 2, 2);
	turn_back();
	run_must(&run, gone, 60 * MINUTE_MS, "gone");
	assert_sizes(&groups, 2, 3);
	run_assert_as_before(&run, before, "back");
}

static bool first_batch_rests(struct run *at)
{
	(void)at;
	(void)watched_until(run_holding);
	return groups.members == groups.size && groups.working == 0 && nodes.members == nodes.size && nodes.working == 0;
}

static size_t first_waiting_node(void)
{
	size_t i = 0;
	while (i < nodes.count && nodes.begun[i])
		i++;
	return i;
}

Test(pacing, all_nodes_are_tainted_at_once_and_the_status_says_what_waits)
{
	add(4, 4);
	pace(50, 3600);
	evacuate();
	run_must(&run, first_batch_rests, 20 * MINUTE_MS, "the first batch at rest");
	run_for(&run, MINUTE_MS);
	for (size_t i = 0; i < nodes.count; i++)
		cr_assert(world_node_tainted(run.world, name_of(&nodes, i)));
	cr_assert_str_eq(world_phase(run.world, "out"), "Applying");
	cr_assert_str_eq(run_state(&run, "g3"), "Planned");
	assert_reason("g3", "batch 2 of 2 begins at 2026-01-02T04:");
	const char *waiting = name_of(&nodes, first_waiting_node());
	cr_assert_str_eq(run_state(&run, waiting), "Applied");
	assert_reason(waiting, "batch 2 of 2 begins at 2026-01-02T04:");
	cr_assert(strstr(run_message(&run, "Reconciling"), "EksNode: batch 1 of 2, the next at 2026-01-02T04:"), "%s",
	          run_message(&run, "Reconciling"));
	cr_assert(strstr(run_message(&run, "Reconciling"), "AutoScalingGroup: batch 1 of 2, the next at"), "%s",
	          run_message(&run, "Reconciling"));
	unsigned writes = world_calls(run.world, "PATCH zonalevacuations/status");
	unsigned calls = world_calls(run.world, "*");
	run_for(&run, 4 * MINUTE_MS);
	cr_assert_leq(world_calls(run.world, "PATCH zonalevacuations/status"), writes, "nothing new is to be told");
	cr_assert_leq(world_calls(run.world, "*") - calls, 30, "and little to be asked");
}

Test(pacing, edited_it_holds_for_what_is_not_begun)
{
	add(10, 0);
	pace(10, 86400);
	evacuate();
	nodes.size = nodes.members = 0;
	run_must(&run, first_batch_rests, 20 * MINUTE_MS, "the first batch at rest");
	run_for(&run, 30 * MINUTE_MS);
	cr_assert_eq(groups.batches, 1);
	pace(50, 60);
	evacuate();
	nodes.size = nodes.members = 0;
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	cr_assert_eq(groups.most, 5);
	cr_assert_eq(groups.batches, 3);
	pace(100, 0);
	evacuate();
	turn_back();
	groups.size = 10;
	run_must(&run, gone, 10 * MINUTE_MS, "gone");
	cr_assert_eq(groups.batches, 1);
	run_assert_as_before(&run, before, "back");
}

Test(pacing, what_comes_up_later_forms_further_batches)
{
	char name[32];
	add(4, 4);
	pace(50, 600);
	evacuate();
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	for (size_t i = 4; i < 8; i++) {
		(void)snprintf(name, sizeof(name), "g%zu", i);
		world_add_group(run.world, name, "subnet-a1,subnet-b1", 1, NULL);
	}
	groups.count = 8;
	groups.size = 4;
	(void)run_until(&run, watched_never, 30 * MINUTE_MS);
	cr_assert(run_holding(&run));
	for (size_t i = 0; i < groups.count; i++)
		cr_assert_str_eq(world_group(run.world, name_of(&groups, i)), "subnet-b1");
	cr_assert_eq(groups.batches, 3);
}

Test(pacing, what_somebody_puts_back_is_taken_out_again_batch_by_batch)
{
	add(6, 0);
	pace(34, 600);
	evacuate();
	nodes.size = nodes.members = 0;
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	run_for(&run, 11 * MINUTE_MS);
	for (size_t i = 0; i < groups.count; i++)
		world_edit_group(run.world, name_of(&groups, i), "subnet-a1,subnet-b1");
	run_for(&run, 8 * MINUTE_MS);
	size_t out = 0;
	for (size_t i = 0; i < groups.count; i++)
		out += strcmp(world_group(run.world, name_of(&groups, i)), "subnet-b1") == 0;
	cr_assert_eq(out, 3, "%zu are out again: more than a batch", out);
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
	for (size_t i = 0; i < groups.count; i++)
		cr_assert_str_eq(world_group(run.world, name_of(&groups, i)), "subnet-b1");
}

/* One update in the first batch is refused time and again: the second one waits a quarter of an hour for it, and no longer. */
Test(pacing, what_fails_holds_up_the_next_batch_for_a_while)
{
	add(4, 0);
	world_add_cluster(run.world, "shop");
	world_add_service(run.world, "shop", "s0", "subnet-a1,subnet-b1", 1, NULL);
	world_add_service(run.world, "shop", "s1", "subnet-a1,subnet-b1", 1, NULL);
	world_break_deployments(run.world, "shop", "s0", false);
	pace(50, 10);
	run_apply(&run, "out", "use1-az1", RUN_EVERY_KIND);
	run_for(&run, 14 * MINUTE_MS);
	cr_assert_str_eq(world_service(run.world, "shop", "s1"), "subnet-a1,subnet-b1");
	run_must(&run, run_holding, 60 * MINUTE_MS, "holding");
	cr_assert_str_eq(world_service(run.world, "shop", "s1"), "subnet-b1");
}

/* Its taint ends pods at once, so NoExecute is given batch by batch. */
Test(pacing, taints_that_evict_come_in_batches)
{
	add(0, 4);
	pace(50, 600);
	run_apply(&run, "out", "use1-az1", RUN_NODES(",\"eviction\":\"Taint\""));
	groups.size = groups.members = 0;
	run_must(&run, first_batch_rests, 10 * MINUTE_MS, "the first batch at rest");
	run_for(&run, MINUTE_MS);
	for (size_t i = 0; i < 4; i++) {
		cr_assert(world_node_tainted(run.world, name_of(&nodes, i)));
		cr_assert_eq(world_pods_on(run.world, name_of(&nodes, i)), nodes.begun[i] ? 0 : 1);
	}
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	assert_sizes(&nodes, 2, 2);
	run_restore(&run);
	run_assert_as_before(&run, before, "back");
}

/* The controller's own pods end their batch. */
Test(pacing, our_own_pods_are_the_last_of_their_batch)
{
	add(0, 4);
	run_add_own_pods(&run, "n0", NULL);
	pace(50, 60);
	before = world_fingerprint(run.world, &arena);
	evacuate();
	groups.size = groups.members = 0;
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	assert_sizes(&nodes, 2, 2);
}

static bool second_batch_rests(struct run *at)
{
	(void)at;
	(void)watched_until(run_holding);
	return nodes.batches == 2 && nodes.members == nodes.size && nodes.working == 0;
}

static bool third_batch_begins(struct run *at)
{
	(void)at;
	(void)watched_until(run_holding);
	return nodes.batches == 3;
}

/* A node's annotation says that its batch is over. */
Test(pacing, a_restart_does_not_begin_with_the_first_batch)
{
	add(0, 8);
	pace(25, 600);
	evacuate();
	run_must(&run, second_batch_rests, 60 * MINUTE_MS, "two batches at rest");
	run_for(&run, MINUTE_MS);
	run_stop(&run);
	run_must(&run, third_batch_begins, 11 * MINUTE_MS, "the third batch");
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	assert_sizes(&nodes, 4, 2);
}

static unsigned story(unsigned kill_at, enum world_kill when)
{
	unsigned effects;
	setup_with(3);
	add(3, 3);
	pace(50, 30);
	if (kill_at)
		world_kill_at(run.world, kill_at, when);
	evacuate();
	run_must(&run, holding, 60 * MINUTE_MS, "holding");
	cr_assert_eq(groups.working + nodes.working, 0);
	turn_back();
	run_must(&run, gone, 60 * MINUTE_MS, "gone");
	run_assert_as_before(&run, before, "back");
	cr_assert_eq(run.deaths, kill_at ? 1 : 0);
	effects = world_effects(run.world);
	teardown();
	return effects;
}

/* Before the one, after the next; SIM_EVERY_CALL=1: before and after each. */
Test(pacing, killed_at_every_effect)
{
	teardown(); /* each story has a world of its own */
	unsigned effects = story(0, WORLD_KILL_BEFORE);
	bool both = getenv("SIM_EVERY_CALL") != NULL;
	for (unsigned n = 1; n <= effects; n++) {
		if (both || n % 2 == 0)
			story(n, WORLD_KILL_BEFORE);
		if (both || n % 2 == 1)
			story(n, WORLD_KILL_AFTER);
	}
	setup();
	fprintf(stderr, "pacing: killed at each of %u effects\n", effects);
}
