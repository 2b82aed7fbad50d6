#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "nodes/eks_node.h"

static struct arena arena;
static struct scope scope;
static struct resource node;
static struct pods pods;
static struct probes probes;
static struct resources resources;
static struct error error;
static const struct change change = {
	.kind = EKS_NODE_KIND, .id = "cluster-1/node a", .name = "node a", .incarnation = "n-1"};

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	scope = (struct scope){.zone_id = "use1-az1", .owner = "cluster-1"};
	cr_assert(wallclock_parse("2026-01-02T03:04:05Z", &scope.now));
	pods = (struct pods){0};
	probes = (struct probes){0};
	resources = (struct resources){0};
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(eks_node_load, .init = begin, .fini = end);

#define OURS "{\"key\":\"zonevac.dev/evacuated\",\"value\":\"use1-az1\",\"effect\":\"NoSchedule\"}"
#define OURS_NO_EXECUTE "{\"key\":\"zonevac.dev/evacuated\",\"value\":\"use1-az1\",\"effect\":\"NoExecute\"}"
#define MARKED                                                                                                      \
	",\"annotations\":{\"zonevac.dev/evacuated\":\"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-1\\\"," \
	"\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-1\\\",\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false}\"}"

static void read_node(const char *metadata, const char *taints, const char *ready)
{
	const char *text = arena_printf(&arena,
	                                "{\"metadata\":{\"name\":\"node a\",\"uid\":\"n-1\"%s},\"spec\":{\"taints\":[%s]},"
	                                "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
	                                metadata, taints, ready);

	cr_assert(eks_node_read(&arena, "cluster-1", json_parse(&arena, text, strlen(text), &error), &node, &error), "%s",
	          error.message);
	node.load = &pods;
}

static void read_out(void)
{
	read_node(MARKED, OURS, "True");
}

static struct pod *add_pod(const char *name, const char *owner_kind)
{
	struct pod *pod;

	pods.at = arena_grow(&arena, pods.at, pods.count, &pods.capacity, sizeof *pods.at);
	pod = &pods.at[pods.count++];
	*pod = (struct pod){.namespace_name = "default", .name = name, .uid = "u", .owner_kind = owner_kind};
	return pod;
}

static struct pod *add_leaving(const char *name, int64_t ended_s_ago)
{
	struct pod *pod = add_pod(name, "ReplicaSet");

	pod->terminating = true;
	pod->ends_at = wallclock_after_ms(scope.now, -1000 * ended_s_ago);
	return pod;
}

static const char *why;

static enum settling settled(void)
{
	why = NULL;
	return eks_node.settled(&scope, &change, &node, DIRECTION_OUT, &arena, &why);
}

static void expect_sentence(const char *expected)
{
	const char *sentence = eks_node_load_sentence(&scope, &node, &arena);

	if (expected == NULL)
		cr_assert_null(sentence, "%s", sentence);
	else
		cr_assert_str_eq(sentence, expected);
}

Test(eks_node_load, without_pods_there_is_none)
{
	read_out();
	cr_assert_eq(eks_node_load(&scope, &node), 0);
	expect_sentence(NULL);
	node.load = NULL;
	cr_assert_eq(eks_node_load(&scope, &node), 0);
	expect_sentence(NULL);
}

Test(eks_node_load, counts_what_is_to_go)
{
	read_out();
	add_pod("web-1", "ReplicaSet");
	add_leaving("web-2", -10);
	add_pod("agent", "DaemonSet");
	add_pod("debug", NULL);
	add_leaving("hung", 31);
	cr_assert_eq(eks_node_load(&scope, &node), 2);
	expect_sentence("2 pods to go (default/web-1, default/web-2); 1 pod without a controller stays (default/debug); "
	                "1 pod is terminating and nobody ends it (default/hung)");
	scope.evict_unreplicated = true;
	cr_assert_eq(eks_node_load(&scope, &node), 3);
	expect_sentence("3 pods to go (default/web-1, default/web-2, default/debug); "
	                "1 pod is terminating and nobody ends it (default/hung)");
}

Test(eks_node_load, nobody_ends_pods_of_a_node_that_is_not_ready)
{
	read_node(MARKED, OURS, "Unknown");
	add_leaving("web-1", -10);
	add_leaving("web-2", -10);
	cr_assert_eq(eks_node_load(&scope, &node), 0);
	expect_sentence("2 pods are terminating and nobody ends them (default/web-1, default/web-2)");
	add_pod("web-3", "ReplicaSet");
	cr_assert_eq(eks_node_load(&scope, &node), 1);
}

Test(eks_node_load, sentence_has_three_examples)
{
	read_out();
	for (int i = 1; i <= 3; i++)
		add_pod(arena_printf(&arena, "p%d", i), "Job");
	expect_sentence("3 pods to go (default/p1, default/p2, default/p3)");
	add_pod("p4", "Job");
	expect_sentence("4 pods to go (default/p1, default/p2, default/p3, …)");
}

Test(eks_node_load, settles_when_the_pods_are_gone)
{
	read_out();
	node.load = NULL;
	cr_assert_eq(settled(), SETTLING_PENDING);
	cr_assert_str_eq(why, "its pods have not been looked at yet");
	node.load = &pods;
	cr_assert_eq(settled(), SETTLING_DONE);
	cr_assert_null(why);
	add_pod("web-1", "ReplicaSet");
	cr_assert_eq(settled(), SETTLING_PENDING);
	cr_assert_str_eq(why, "1 pod to go (default/web-1)");
}

Test(eks_node_load, settles_with_what_stays_and_says_so)
{
	read_out();
	add_pod("debug", NULL);
	add_leaving("hung", 31);
	cr_assert_eq(settled(), SETTLING_DONE);
	cr_assert_str_eq(why, "1 pod without a controller stays (default/debug); "
	                      "1 pod is terminating and nobody ends it (default/hung)");
	scope.evict_unreplicated = true;
	cr_assert_eq(settled(), SETTLING_PENDING);
}

Test(eks_node_load, pods_matter_only_where_they_are_evicted)
{
	read_out();
	add_pod("web-1", "ReplicaSet");
	scope.eviction = EVICTION_NONE;
	cr_assert_eq(settled(), SETTLING_DONE);
	node.load = NULL;
	cr_assert_eq(settled(), SETTLING_DONE);
	scope.eviction = EVICTION_TAINT;
	node.load = &pods;
	cr_assert_eq(settled(), SETTLING_PENDING);
	cr_assert_str_eq(why, "the taint or the annotation is not there yet");
	read_node(MARKED, OURS "," OURS_NO_EXECUTE, "True");
	cr_assert_eq(settled(), SETTLING_PENDING);
	cr_assert_str_eq(why, "1 pod to go (default/web-1)");
	read_node(MARKED, "", "True");
	scope.eviction = EVICTION_NONE;
	cr_assert_eq(settled(), SETTLING_PENDING);
}

static size_t nudges(void)
{
	size_t count = 0;

	probes = (struct probes){0};
	eks_node.nudge(&scope, &change, &node, &arena, &probes);
	for (const struct probe *probe = probes.first; probe != NULL; probe = probe->next)
		count++;
	return count;
}

Test(eks_node_load, nudges_are_evictions)
{
	read_out();
	add_pod("agent", "DaemonSet");
	add_pod("web-1", "ReplicaSet");
	add_leaving("web-2", -10);
	add_pod("debug", NULL);
	add_pod("job-1", "Job");
	cr_assert_eq(nudges(), 2);
	cr_assert_eq(probes.first->context, &pods.at[1]);
	cr_assert_str_eq(probes.first->request.path, "/api/v1/namespaces/default/pods/web-1/eviction");
	cr_assert_str_eq(probes.first->request.method, "POST");
	cr_assert_eq(probes.last->context, &pods.at[4]);
	scope.evict_unreplicated = true;
	cr_assert_eq(nudges(), 3);
	cr_assert_eq(probes.first->next->context, &pods.at[3]);
}

Test(eks_node_load, only_a_drain_nudges_and_only_where_nothing_new_comes)
{
	add_pod("web-1", "ReplicaSet");
	read_node("", OURS, "True");
	cr_assert_eq(nudges(), 0);
	read_node(MARKED, "", "True");
	cr_assert_eq(nudges(), 0);
	read_node(MARKED, OURS "," OURS_NO_EXECUTE, "True");
	cr_assert_eq(nudges(), 1);
	scope.eviction = EVICTION_NONE;
	cr_assert_eq(nudges(), 0);
	scope.eviction = EVICTION_TAINT;
	cr_assert_eq(nudges(), 0);
	scope.eviction = EVICTION_DRAIN;
	node.load = NULL;
	cr_assert_eq(nudges(), 0);
}

/* Looks. */

static bool learn(const struct probe *probe, const char *body, struct probes *further)
{
	struct http_response response = {.status = 200, .body = body, .body_length = strlen(body)};

	return eks_node.learn(&scope, probe, &response, &arena, &resources, further, &error);
}

#define POD(name) "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" name "\",\"uid\":\"u-" name "\"}}"
#define PAGE(metadata, items) "{\"kind\":\"PodList\",\"metadata\":{" metadata "},\"items\":[" items "]}"

static const struct probe *look(void)
{
	const struct change *changes[] = {&change};

	eks_node.look(&scope, changes, 1, &arena, &probes);
	cr_assert_not_null(probes.first);
	cr_assert_eq(probes.first, probes.last);
	return probes.first;
}

Test(eks_node_load, look_asks_for_the_pods)
{
	struct probes further = {0};
	const struct pods *load;
	const struct probe *probe = look();

	cr_assert_str_eq(probe->request.path, "/api/v1/pods");
	cr_assert_str_eq(probe->request.query, "limit=500&fieldSelector=spec.nodeName%3Dnode%20a");
	cr_assert(learn(probe, PAGE("", POD("a") "," POD("b")), &further), "%s", error.message);
	cr_assert_null(further.first);
	cr_assert_eq(resources.count, 1);
	cr_assert_str_eq(resources.at[0].kind, "EksNode");
	cr_assert_str_eq(resources.at[0].id, "cluster-1/node a");
	cr_assert_str_eq(resources.at[0].name, "node a");
	cr_assert_null(resources.at[0].facts);
	load = resources.at[0].load;
	cr_assert_eq(load->count, 2);
	cr_assert_str_eq(load->at[1].name, "b");
}

Test(eks_node_load, a_node_without_pods_was_looked_at_all_the_same)
{
	struct probes further = {0};

	cr_assert(learn(look(), PAGE("", ""), &further));
	cr_assert_eq(resources.count, 1);
	cr_assert_not_null(resources.at[0].load);
	cr_assert_eq(((const struct pods *)resources.at[0].load)->count, 0);
}

Test(eks_node_load, half_the_pods_are_none)
{
	struct probes further = {0};
	struct probes last = {0};
	const struct pods *load;

	cr_assert(learn(look(), PAGE("\"continue\":\"t/1\"", POD("a") "," POD("b")), &further));
	cr_assert_eq(resources.count, 0);
	cr_assert_str_eq(further.first->request.query, "limit=500&fieldSelector=spec.nodeName%3Dnode%20a&continue=t%2F1");
	cr_assert_not(learn(further.first, PAGE("", "{}"), &last));
	cr_assert_eq(resources.count, 0);
	cr_assert(learn(further.first, PAGE("", POD("c")), &last));
	cr_assert_null(last.first);
	cr_assert_eq(resources.count, 1);
	load = resources.at[0].load;
	cr_assert_eq(load->count, 3);
	cr_assert_str_eq(load->at[0].name, "a");
	cr_assert_str_eq(load->at[2].name, "c");
}

Test(eks_node_load, name_is_taken_from_the_id_where_the_record_has_none)
{
	const struct change nameless = {.kind = EKS_NODE_KIND, .id = "cluster-1/node-b"};
	const struct change *changes[] = {&nameless};

	eks_node.look(&scope, changes, 1, &arena, &probes);
	cr_assert_str_eq(probes.first->request.query, "limit=500&fieldSelector=spec.nodeName%3Dnode-b");
}

Test(eks_node_load, what_is_no_pod_list_is_malformed)
{
	struct probes further = {0};

	cr_assert_not(learn(look(), "<html>", &further));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not_null(strstr(error.message, "the pods of node node a"), "%s", error.message);
	cr_assert_eq(resources.count, 0);
	cr_assert_null(further.first);
}
