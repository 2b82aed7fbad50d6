#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "nodes/eks_node.h"

static struct arena arena;
static struct scope scope;
static struct resource node;
static struct decision decision;
static struct http_request request;
static struct error error;
static const char *settled_why;

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	scope = (struct scope){
		.zone_id = "use1-az1",
		.zone_name = "us-east-1a",
		.region = "us-east-1",
		.owner = "cluster-1",
		.evacuation = "out",
		.evacuation_uid = "ev-1",
	};
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(eks_node, .init = begin, .fini = end);

#define ANNOTATION "zonevac.dev/evacuated"
#define MARK                                                                                                                  \
	"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-1\\\",\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-1\\\"," \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false}"
#define MARK_PRIOR                                                                                                            \
	"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-1\\\",\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-1\\\"," \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":true}"
#define MARK_OTHER_ZONE                                                                                                        \
	"{\\\"zone\\\":\\\"use1-az2\\\",\\\"owner\\\":\\\"cluster-1\\\",\\\"evacuation\\\":\\\"out2\\\",\\\"uid\\\":\\\"ev-2\\\"," \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false}"
#define MARK_OTHER_OWNER                                                                                                      \
	"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-9\\\",\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-9\\\"," \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false}"
#define MARKED(mark) "\"annotations\":{\"" ANNOTATION "\":\"" mark "\"},"
#define OURS "{\"key\":\"" ANNOTATION "\",\"value\":\"use1-az1\",\"effect\":\"NoSchedule\"}"
#define OURS_NO_EXECUTE "{\"key\":\"" ANNOTATION "\",\"value\":\"use1-az1\",\"effect\":\"NoExecute\"}"
#define FOREIGN \
	"{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoExecute\",\"timeAdded\":\"2026-01-02T03:04:05Z\",\"x\":{\"y\":[1,2.50]}}"
#define PATCH_UID "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"n-1\"}"
#define TEST_ANNOTATION(value) \
	",{\"op\":\"test\",\"path\":\"/metadata/annotations/zonevac.dev~1evacuated\",\"value\":" value "}"
#define ADD_ANNOTATION(mark) \
	",{\"op\":\"add\",\"path\":\"/metadata/annotations/zonevac.dev~1evacuated\",\"value\":\"" mark "\"}"
#define REMOVE_ANNOTATION ",{\"op\":\"remove\",\"path\":\"/metadata/annotations/zonevac.dev~1evacuated\"}"
#define TEST_CORDON(value) ",{\"op\":\"test\",\"path\":\"/spec/unschedulable\",\"value\":" value "}"
#define ADD_CORDON ",{\"op\":\"add\",\"path\":\"/spec/unschedulable\",\"value\":true}"
#define REMOVE_CORDON ",{\"op\":\"remove\",\"path\":\"/spec/unschedulable\"}"
#define TEST_TAINTS(list) ",{\"op\":\"test\",\"path\":\"/spec/taints\",\"value\":" list "}"
#define ADD_TAINTS(list) ",{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":" list "}"
#define REPLACE_TAINTS(list) ",{\"op\":\"replace\",\"path\":\"/spec/taints\",\"value\":" list "}"
#define REMOVE_TAINTS ",{\"op\":\"remove\",\"path\":\"/spec/taints\"}"

/* `metadata` and `spec` end with a comma when they are not empty. */
static void read_node(const char *metadata, const char *labels, const char *spec)
{
	const char *text =
		arena_printf(&arena,
	                 "{\"metadata\":{%s\"name\":\"ip-10-0-0-1.ec2.internal\",\"uid\":\"n-1\",\"labels\":{%s}},"
	                 "\"spec\":{%s\"podCIDR\":\"10.1.0.0/24\"}}",
	                 metadata, labels, spec);
	const struct json *object = json_parse(&arena, text, strlen(text), &error);

	cr_assert_not_null(object, "%s: %s", text, error.message);
	cr_assert(eks_node_read(&arena, "cluster-1", object, &node, &error), "%s", error.message);
}

#define ZONE_ID "\"topology.k8s.aws/zone-id\":\"use1-az1\""

static void read_in_zone(const char *metadata, const char *spec)
{
	read_node(metadata, ZONE_ID, spec);
}

static enum verdict plan(void)
{
	eks_node.plan(&scope, &node, &arena, &decision);
	return decision.verdict;
}

static const char *patch(const struct change *change, enum direction direction)
{
	eks_node.update(&scope, change, &node, direction, &arena, &request);
	return request.body;
}

static const char *patch_out(void)
{
	cr_assert_eq(plan(), VERDICT_CHANGE);
	return patch(&decision.change, DIRECTION_OUT);
}

static const char *patch_back(void)
{
	struct change change;

	cr_assert(eks_node.carries(&scope, &node, &arena, &change));
	cr_assert_eq(eks_node.compare(&scope, &change, &node, &arena), STAND_OUT);
	return patch(&change, DIRECTION_BACK);
}

static enum stand stand(const char *incarnation)
{
	struct change change = {.kind = EKS_NODE_KIND, .incarnation = incarnation};

	return eks_node.compare(&scope, &change, &node, &arena);
}

static enum settling settled(enum direction direction)
{
	struct change change = {.kind = EKS_NODE_KIND, .incarnation = "n-1"};
	const char *why = NULL;
	enum settling settling = eks_node.settled(&scope, &change, &node, direction, &arena, &why);

	if (settling != SETTLING_DONE)
		cr_assert_not_null(why);
	settled_why = why;
	return settling;
}

Test(eks_node, is_read_as_a_resource)
{
	read_node("", "\"team\":\"web\",\"" ANNOTATION "\":\"x\"", "\"providerID\":\"aws:///us-east-1a/i-0abc\",");
	cr_assert_str_eq(node.kind, "EksNode");
	cr_assert_str_eq(node.id, "cluster-1/ip-10-0-0-1.ec2.internal");
	cr_assert_str_eq(node.name, "ip-10-0-0-1.ec2.internal");
	cr_assert_str_eq(node.incarnation, "n-1");
	cr_assert_eq(node.names.count, 1);
	cr_assert_eq(node.subnets.count, 0);
	cr_assert_str_eq(tags_get(&node.tags, "team"), "web");
}

Test(eks_node, without_a_name_or_uid_is_malformed)
{
	static const char *const bad[] = {"{}", "{\"metadata\":{\"name\":\"a\"}}",
	                                  "{\"metadata\":{\"name\":\"\",\"uid\":\"u\"}}", "[]"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_assert_not(eks_node_read(&arena, "o", json_parse(&arena, bad[i], strlen(bad[i]), &error), &node, &error));
		cr_assert_eq(error.kind, ERROR_MALFORMED);
	}
}

Test(eks_node, takes_a_few_kilobytes)
{
	struct arena own;
	struct text labels;
	struct resource resource;
	const char *text;

	text_init(&labels, 65536);
	for (int i = 0; i < 30; i++)
		text_printf(&labels, "%s\"example.com/label-%02d\":\"some-value-of-it-%02d\"", i == 0 ? "" : ",", i, i);
	text = arena_printf(
		&arena, "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"labels\":{%s}},\"spec\":{\"taints\":[" OURS "]}}",
		labels.at);
	arena_init(&own, "node", (size_t)1 << 20);
	cr_assert(eks_node_read(&own, "o", json_parse(&arena, text, strlen(text), &error), &resource, &error));
	cr_assert_lt(own.used_bytes, 4096);
	arena_done(&own);
	text_done(&labels);
}

static void expect_zone(const char *labels, const char *spec, bool in_zone, bool is_known)
{
	bool known = !is_known;

	read_node("", labels, spec);
	cr_assert_eq(eks_node_in_zone(&scope, &node, &known), in_zone, "%s %s", labels, spec);
	cr_assert_eq(known, is_known, "%s %s", labels, spec);
}

#define NAME_A "\"topology.kubernetes.io/zone\":\"us-east-1a\""
#define NAME_B "\"topology.kubernetes.io/zone\":\"us-east-1b\""
#define PROVIDER(id) "\"providerID\":\"" id "\","

Test(eks_node, zone_is_told_by_label_then_name_then_provider)
{
	expect_zone(ZONE_ID "," NAME_B, "", true, true);
	expect_zone("\"topology.k8s.aws/zone-id\":\"use1-az2\"," NAME_A, "", false, true);
	expect_zone(NAME_A, PROVIDER("aws:///us-east-1b/i-1"), true, true);
	expect_zone(NAME_B, PROVIDER("aws:///us-east-1a/i-1"), false, true);
	expect_zone("", PROVIDER("aws:///us-east-1a/i-1"), true, true);
	expect_zone("", PROVIDER("aws:///us-east-1/i-1"), false, true);
	expect_zone("", PROVIDER("aws:///us-east-1aa/i-1"), false, true);
	expect_zone("", PROVIDER("aws:////i-1"), false, false);
	expect_zone("", PROVIDER("eks-hybrid:///us-east-1a/x"), false, true);
	expect_zone("", "", false, false);
	scope.zone_name = NULL;
	expect_zone(ZONE_ID, "", true, true);
	expect_zone(NAME_A, "", false, false);
	expect_zone("", PROVIDER("aws:///us-east-1a/i-1"), false, false);
}

Test(eks_node, fargate_is_left_alone)
{
	expect_zone(ZONE_ID ",\"eks.amazonaws.com/compute-type\":\"fargate\"", "", false, true);
	expect_zone(NAME_A, PROVIDER("aws:///us-east-1a/1234/fargate-ip-10-0-0-1"), false, true);
	cr_assert_eq(plan(), VERDICT_NOTHING);
}

Test(eks_node, virtual_and_hybrid_ones_are_left_alone)
{
	expect_zone(ZONE_ID ",\"type\":\"virtual-kubelet\"", "", false, true);
	expect_zone(ZONE_ID ",\"type\":\"spot\"", "", true, true);
	expect_zone(ZONE_ID, "\"taints\":[{\"key\":\"virtual-kubelet.io/provider\",\"effect\":\"NoSchedule\"}],", false,
	            true);
	expect_zone(ZONE_ID, PROVIDER("eks-hybrid:///us-east-1/cluster/mi-1"), false, true);
	cr_assert_eq(plan(), VERDICT_NOTHING);
	cr_assert_null(decision.reason);
}

static void expect_instance(const char *provider, const char *instance)
{
	read_node("", "", arena_printf(&arena, "\"providerID\":\"%s\",", provider));
	if (instance == NULL) {
		cr_assert_null(eks_node_instance(&node, &arena), "%s", provider);
		cr_assert_eq(node.instances.count, 0, "%s", provider);
	} else {
		cr_assert_str_eq(eks_node_instance(&node, &arena), instance);
		cr_assert_eq(node.instances.count, 1);
		cr_assert_str_eq(node.instances.at[0], instance);
	}
}

Test(eks_node, instance_is_what_the_provider_id_ends_in)
{
	expect_instance("aws:///us-east-1a/i-0abc", "i-0abc");
	expect_instance("aws:////i-0abc", "i-0abc");
	expect_instance("i-0abc", "i-0abc");
	expect_instance("aws:///us-east-1a/fargate-ip-10-0-0-1", NULL);
	expect_instance("aws:///us-east-1a/", NULL);
	expect_instance("aws:///i-0abc", NULL);
	expect_instance("i-0abc/x", NULL);
	expect_instance("eks-hybrid:///us-east-1/cluster/i-1", NULL);
	expect_instance("kind://docker/kind/kind-worker", NULL);
	expect_instance("", NULL);
	read_node("", "", "");
	cr_assert_null(eks_node_instance(&node, &arena));
	cr_assert_eq(node.instances.count, 0);
}

static void read_object(const char *text)
{
	cr_assert(eks_node_read(&arena, "cluster-1", json_parse(&arena, text, strlen(text), &error), &node, &error), "%s",
	          error.message);
}

Test(eks_node, readiness_and_age_are_read)
{
	read_object("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\"},"
	            "\"status\":{\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"False\"},"
	            "{\"type\":\"Ready\",\"status\":\"True\"}]}}");
	cr_assert(eks_node_is_ready(&node));
	cr_assert_str_eq(wallclock_rfc3339(eks_node_created_at(&node), &arena), "2026-01-02T03:04:05Z");
	read_object("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"creationTimestamp\":\"yesterday\"},"
	            "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
	cr_assert_not(eks_node_is_ready(&node));
	cr_assert_eq(eks_node_created_at(&node).us, 0);
	read_object("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}}");
	cr_assert_not(eks_node_is_ready(&node));
	cr_assert_eq(eks_node_created_at(&node).us, 0);
}

Test(eks_node, provider_is_told_for_a_person)
{
	static const struct {
		const char *labels;
		const char *provider;
	} cases[] = {
		{"\"karpenter.sh/nodepool\":\"default\"", "NodePool default"},
		{"\"karpenter.sh/nodepool\":\"general\",\"eks.amazonaws.com/compute-type\":\"auto\"", "NodePool general"},
		{"\"karpenter.sh/provisioner-name\":\"old\"", "Provisioner old"},
		{"\"eks.amazonaws.com/nodegroup\":\"web\",\"alpha.eksctl.io/nodegroup-name\":\"x\"", "node group web"},
		{"\"alpha.eksctl.io/nodegroup-name\":\"self\"", "node group self"},
		{"\"eks.amazonaws.com/compute-type\":\"auto\"", "EKS Auto Mode"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		read_node("", cases[i].labels, "");
		cr_assert_str_eq(eks_node_provider(&node, &arena), cases[i].provider);
	}
	read_node("", "\"team\":\"web\",\"karpenter.sh/nodepool\":\"\"", "");
	cr_assert_null(eks_node_provider(&node, &arena));
}

Test(eks_node, bare_node_is_tainted_cordoned_and_annotated)
{
	read_in_zone("", "");
	cr_assert_str_eq(patch_out(),
	                 PATCH_UID ",{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null}"
	                           ",{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}}" ADD_ANNOTATION(MARK)
	                               TEST_CORDON("null") ADD_CORDON TEST_TAINTS("null") ADD_TAINTS("[" OURS "]") "]");
	cr_assert_str_eq(request.method, "PATCH");
	cr_assert_str_eq(request.path, "/api/v1/nodes/ip-10-0-0-1.ec2.internal");
	cr_assert_str_eq(http_header(&request.headers, "Content-Type"), "application/json-patch+json");
	cr_assert_not(json_bool(json_get(decision.change.detail, "priorUnschedulable"), true));
	cr_assert_str_eq(json_get_string(decision.change.detail, "node"), "n-1");
	cr_assert_str_eq(decision.change.incarnation, "n-1");
	cr_assert_eq(decision.change.removed.count, 0);
}

Test(eks_node, foreign_taints_and_annotations_survive_verbatim)
{
	read_in_zone("\"annotations\":{\"a\":\"b\"},", "\"taints\":[" FOREIGN "],\"unschedulable\":false,");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("null") ADD_ANNOTATION(MARK) TEST_CORDON("false")
	                                  ADD_CORDON TEST_TAINTS("[" FOREIGN "]") ADD_TAINTS("[" FOREIGN "," OURS "]") "]");
}

Test(eks_node, cordoned_before_is_written_down)
{
	read_in_zone("\"annotations\":{},", "\"unschedulable\":true,");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("null") ADD_ANNOTATION(MARK_PRIOR) TEST_CORDON("true")
	                                  TEST_TAINTS("null") ADD_TAINTS("[" OURS "]") "]");
	cr_assert(json_bool(json_get(decision.change.detail, "priorUnschedulable"), false));
}

Test(eks_node, nothing_is_left_to_do)
{
	read_in_zone(MARKED(MARK), "\"taints\":[" FOREIGN "," OURS "],\"unschedulable\":true,");
	cr_assert_eq(plan(), VERDICT_NOTHING);
	scope.eviction = EVICTION_NONE;
	cr_assert_eq(plan(), VERDICT_NOTHING);
	cr_assert_eq(settled(DIRECTION_OUT), SETTLING_DONE);
	cr_assert_null(settled_why);
	cr_assert_eq(settled(DIRECTION_BACK), SETTLING_PENDING);
}

Test(eks_node, who_uncordons_is_not_fought)
{
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS "],");
	cr_assert_eq(plan(), VERDICT_NOTHING);
}

Test(eks_node, the_taint_alone_is_put_back)
{
	read_in_zone(MARKED(MARK), "\"taints\":[" FOREIGN "],");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"" MARK "\"") TEST_TAINTS("[" FOREIGN "]")
	                                  ADD_TAINTS("[" FOREIGN "," OURS "]") "]");
	read_in_zone(MARKED(MARK), "\"unschedulable\":true,");
	cr_assert_eq(plan(), VERDICT_CHANGE);
	cr_assert_not(json_bool(json_get(decision.change.detail, "priorUnschedulable"), true),
	              "what was before stays written down");
}

Test(eks_node, another_value_of_our_key_makes_way)
{
	read_in_zone("\"annotations\":{},",
	             "\"taints\":[{\"key\":\"" ANNOTATION "\",\"value\":\"x\",\"effect\":\"NoSchedule\"}],");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("null") ADD_ANNOTATION(MARK) TEST_CORDON("null")
	                                  ADD_CORDON TEST_TAINTS("[{\"key\":\"" ANNOTATION
	                                                         "\",\"value\":\"x\",\"effect\":\"NoSchedule\"}]")
	                                      ADD_TAINTS("[" OURS "]") "]");
}

#define MARK_AT(at)                                                                                                           \
	"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-1\\\",\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-1\\\"," \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false,\\\"at\\\":\\\"" at "\\\"}"

static void set_now(const char *now)
{
	cr_assert(wallclock_parse(now, &scope.now));
}

static const char *marked_at(void)
{
	return wallclock_rfc3339(eks_node_marked_at(&scope, &node), &arena);
}

Test(eks_node, annotation_says_when_and_keeps_that)
{
	struct change change;

	set_now("2026-01-02T03:04:05Z");
	read_in_zone("\"annotations\":{},", "");
	cr_assert_str_eq(marked_at(), "");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("null") ADD_ANNOTATION(MARK_AT("2026-01-02T03:04:05Z"))
	                                  TEST_CORDON("null") ADD_CORDON TEST_TAINTS("null") ADD_TAINTS("[" OURS "]") "]");
	read_in_zone(MARKED(MARK_AT("2026-01-01T00:00:00Z")), "");
	cr_assert_str_eq(marked_at(), "2026-01-01T00:00:00Z");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"" MARK_AT("2026-01-01T00:00:00Z") "\"")
	                                  TEST_TAINTS("null") ADD_TAINTS("[" OURS "]") "]");
	cr_assert(eks_node.carries(&scope, &node, &arena, &change));
	cr_assert_str_eq(json_get_string(change.detail, "at"), "2026-01-01T00:00:00Z");
}

Test(eks_node, the_annotation_says_which_evacuation_wrote_it)
{
	const char *uid = scope.evacuation_uid;

	read_in_zone(MARKED(MARK), "");
	cr_assert(eks_node_is_marked_by(&scope, &node));
	scope.evacuation_uid = "another";
	cr_assert_not(eks_node_is_marked_by(&scope, &node));
	scope.evacuation_uid = uid;
	read_in_zone(MARKED(MARK_OTHER_ZONE), "");
	cr_assert_not(eks_node_is_marked_by(&scope, &node));
}

Test(eks_node, annotation_without_a_time_is_one_as_well)
{
	read_in_zone(MARKED(MARK), "");
	cr_assert_eq(eks_node_marked_at(&scope, &node).us, 0);
	read_in_zone(MARKED(MARK_AT("soon")), "");
	cr_assert_eq(eks_node_marked_at(&scope, &node).us, 0);
	read_in_zone(MARKED(MARK_OTHER_ZONE), "");
	cr_assert_eq(eks_node_marked_at(&scope, &node).us, 0);
	read_in_zone(MARKED(MARK_AT("2026-01-01T00:00:00Z")), "");
	scope.zone_id = "use1-az2";
	cr_assert_eq(eks_node_marked_at(&scope, &node).us, 0, "another zone's time is not this one's");
}

#define MARK_DRAIN(drain)                                                                                                        \
	"{\\\"zone\\\":\\\"use1-az1\\\",\\\"owner\\\":\\\"cluster-1\\\",\\\"evacuation\\\":\\\"out\\\",\\\"uid\\\":\\\"ev-1\\\","    \
	"\\\"node\\\":\\\"n-1\\\",\\\"priorUnschedulable\\\":false,\\\"at\\\":\\\"2026-01-01T00:00:00Z\\\",\\\"drain\\\":\\\"" drain \
	"\\\"}"

Test(eks_node, the_beginning_of_a_paced_drain_is_added_to_the_annotation)
{
	read_in_zone(MARKED(MARK_AT("2026-01-01T00:00:00Z")), "\"taints\":[" OURS "],");
	cr_assert_eq(plan(), VERDICT_NOTHING);
	cr_assert_eq(eks_node_drained_since(&scope, &node).us, 0);
	cr_assert(wallclock_parse("2026-01-02T03:14:05Z", &scope.drained_since));
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"" MARK_AT("2026-01-01T00:00:00Z") "\"")
	                                  ADD_ANNOTATION(MARK_DRAIN("2026-01-02T03:14:05Z")) "]");
	read_in_zone(MARKED(MARK_DRAIN("2026-01-02T03:04:05Z")), "\"taints\":[" OURS "],");
	cr_assert_eq(plan(), VERDICT_NOTHING, "what stands there stays");
	cr_assert_str_eq(wallclock_rfc3339(eks_node_drained_since(&scope, &node), &arena), "2026-01-02T03:04:05Z");
	scope.zone_id = "use1-az2";
	cr_assert_eq(eks_node_drained_since(&scope, &node).us, 0);
}

Test(eks_node, taint_mode_wants_both_effects)
{
	scope.eviction = EVICTION_TAINT;
	read_in_zone("\"annotations\":{},", "\"taints\":[" FOREIGN "],");
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("null") ADD_ANNOTATION(MARK) TEST_CORDON("null")
	                                  ADD_CORDON TEST_TAINTS("[" FOREIGN "]")
	                                      ADD_TAINTS("[" FOREIGN "," OURS "," OURS_NO_EXECUTE "]") "]");
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS "," FOREIGN "],");
	cr_assert_eq(settled(DIRECTION_OUT), SETTLING_PENDING);
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"" MARK "\"") TEST_TAINTS("[" OURS "," FOREIGN "]")
	                                  ADD_TAINTS("[" FOREIGN "," OURS "," OURS_NO_EXECUTE "]") "]");
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS_NO_EXECUTE "],");
	cr_assert_eq(plan(), VERDICT_CHANGE);
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS_NO_EXECUTE "," OURS "],");
	cr_assert_eq(plan(), VERDICT_NOTHING);
}

Test(eks_node, no_execute_stays_until_recovery)
{
	static const enum eviction others[] = {EVICTION_DRAIN, EVICTION_NONE};

	for (size_t i = 0; i < 2; i++) {
		scope.eviction = others[i];
		read_in_zone(MARKED(MARK), "\"taints\":[" OURS "," OURS_NO_EXECUTE "],");
		cr_assert_eq(plan(), VERDICT_NOTHING);
		read_in_zone(MARKED(MARK), "\"taints\":[" OURS_NO_EXECUTE "],");
		cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"" MARK "\"") TEST_TAINTS("[" OURS_NO_EXECUTE "]")
		                                  ADD_TAINTS("[" OURS "," OURS_NO_EXECUTE "]") "]");
	}
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS "," FOREIGN "," OURS_NO_EXECUTE "],");
	cr_assert_str_eq(patch_back(), PATCH_UID TEST_TAINTS("[" OURS "," FOREIGN "," OURS_NO_EXECUTE "]") REPLACE_TAINTS(
									   "[" FOREIGN "]") TEST_ANNOTATION("\"" MARK "\"") REMOVE_ANNOTATION "]");
}

Test(eks_node, no_execute_alone_is_still_ours)
{
	struct change change = {.kind = EKS_NODE_KIND, .incarnation = "n-1"};

	read_in_zone("", "\"taints\":[" OURS_NO_EXECUTE "],");
	cr_assert_eq(stand("n-1"), STAND_OUT);
	cr_assert_eq(settled(DIRECTION_BACK), SETTLING_PENDING);
	cr_assert_str_eq(patch(&change, DIRECTION_BACK), PATCH_UID TEST_TAINTS("[" OURS_NO_EXECUTE "]") REMOVE_TAINTS "]");
}

Test(eks_node, held_for_another_zone_is_refused)
{
	read_in_zone(MARKED(MARK_OTHER_ZONE), "");
	cr_assert_eq(plan(), VERDICT_REFUSED);
	cr_assert_eq(decision.guard, GUARD_OTHER_ZONE);
	cr_assert_not_null(strstr(decision.reason, "use1-az2"));
	cr_assert_eq(stand("n-1"), STAND_BACK);
}

Test(eks_node, held_by_another_owner_is_refused_and_not_restored)
{
	struct change change;

	read_in_zone(MARKED(MARK_OTHER_OWNER), "\"taints\":[" OURS "],");
	cr_assert_eq(plan(), VERDICT_REFUSED);
	cr_assert_eq(decision.guard, GUARD_OTHER_CLUSTER);
	cr_assert_eq(stand("n-1"), STAND_BACK);
	cr_assert_not(eks_node.carries(&scope, &node, &arena, &change));
}

Test(eks_node, an_annotation_that_cannot_be_read_is_replaced)
{
	struct change change;

	read_in_zone(MARKED("mine"), "");
	cr_assert_not(eks_node.carries(&scope, &node, &arena, &change));
	cr_assert_str_eq(patch_out(), PATCH_UID TEST_ANNOTATION("\"mine\"") ADD_ANNOTATION(MARK) TEST_CORDON("null")
	                                  ADD_CORDON TEST_TAINTS("null") ADD_TAINTS("[" OURS "]") "]");
}

Test(eks_node, elsewhere_is_nothing_and_unknown_says_why)
{
	read_node("", "\"topology.k8s.aws/zone-id\":\"use1-az2\"", "");
	cr_assert_eq(plan(), VERDICT_NOTHING);
	cr_assert_null(decision.reason);
	read_node("", "", "");
	cr_assert_eq(plan(), VERDICT_NOTHING);
	cr_assert_not_null(decision.reason);
}

Test(eks_node, goes_back_and_is_uncordoned_when_we_cordoned)
{
	read_in_zone(MARKED(MARK), "\"taints\":[" OURS "],\"unschedulable\":true,");
	cr_assert_str_eq(patch_back(), PATCH_UID TEST_TAINTS("[" OURS "]") REMOVE_TAINTS TEST_ANNOTATION("\"" MARK "\"")
	                                   REMOVE_ANNOTATION TEST_CORDON("true") REMOVE_CORDON "]");
}

Test(eks_node, stays_cordoned_when_it_was_before)
{
	read_in_zone(MARKED(MARK_PRIOR), "\"taints\":[" OURS "," FOREIGN "],\"unschedulable\":true,");
	cr_assert_str_eq(patch_back(), PATCH_UID TEST_TAINTS("[" OURS "," FOREIGN "]") REPLACE_TAINTS("[" FOREIGN "]")
	                                   TEST_ANNOTATION("\"" MARK_PRIOR "\"") REMOVE_ANNOTATION "]");
}

Test(eks_node, taint_that_is_gone_and_cordon_that_is_off_are_left)
{
	read_in_zone(MARKED(MARK), "\"taints\":[" FOREIGN "],");
	cr_assert_str_eq(patch_back(), PATCH_UID TEST_ANNOTATION("\"" MARK "\"") REMOVE_ANNOTATION "]");
}

Test(eks_node, taint_without_annotation_goes_and_the_cordon_is_as_the_change_says)
{
	struct change change = {.kind = EKS_NODE_KIND, .incarnation = "n-1"};
	struct json *detail = json_new_object(&arena);

	read_in_zone("", "\"taints\":[" OURS "],\"unschedulable\":true,");
	cr_assert_eq(stand("n-1"), STAND_OUT);
	cr_assert_str_eq(patch(&change, DIRECTION_BACK), PATCH_UID TEST_TAINTS("[" OURS "]") REMOVE_TAINTS "]");
	json_set_bool(detail, "priorUnschedulable", false);
	change.detail = detail;
	cr_assert_str_eq(patch(&change, DIRECTION_BACK),
	                 PATCH_UID TEST_TAINTS("[" OURS "]") REMOVE_TAINTS TEST_CORDON("true") REMOVE_CORDON "]");
}

Test(eks_node, stands_and_settles)
{
	read_in_zone("", "\"taints\":[" FOREIGN "],\"unschedulable\":true,");
	cr_assert_eq(stand("n-1"), STAND_BACK);
	cr_assert_eq(stand("n-0"), STAND_SUPERSEDED);
	cr_assert_eq(settled(DIRECTION_BACK), SETTLING_DONE);
	cr_assert_eq(settled(DIRECTION_OUT), SETTLING_PENDING);
	read_in_zone(MARKED(MARK), "");
	cr_assert_eq(stand("n-1"), STAND_OUT);
	cr_assert_eq(settled(DIRECTION_OUT), SETTLING_PENDING);
	cr_assert_eq(settled(DIRECTION_BACK), SETTLING_PENDING);
}

Test(eks_node, carries_its_own_journal)
{
	struct change change;

	read_in_zone("", "\"taints\":[" OURS "],");
	cr_assert_not(eks_node.carries(&scope, &node, &arena, &change));
	read_in_zone(MARKED(MARK_PRIOR), "");
	cr_assert(eks_node.carries(&scope, &node, &arena, &change));
	cr_assert_str_eq(change.id, node.id);
	cr_assert_str_eq(change.incarnation, "n-1");
	cr_assert(json_bool(json_get(change.detail, "priorUnschedulable"), false));
	cr_assert_str_eq(json_get_string(change.detail, "uid"), "ev-1");
	cr_assert_str_eq(json_get_string(change.detail, "zone"), "use1-az1");
}

Test(eks_node, survey_asks_nothing_of_anybody)
{
	struct probes probes = {0};

	eks_node.survey(&scope, &arena, &probes);
	cr_assert_null(probes.first);
}

Test(eks_node, one_that_could_not_be_read_is_left_alone)
{
	bool known;

	node = (struct resource){.kind = EKS_NODE_KIND, .name = "broken"};
	cr_assert_not(eks_node_in_zone(&scope, &node, &known));
	cr_assert_not(known);
	cr_assert_eq(plan(), VERDICT_NOTHING);
}
