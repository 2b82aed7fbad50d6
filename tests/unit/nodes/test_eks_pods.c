#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "nodes/eks_pods.h"

static struct arena arena;
static struct pods pods;
static struct http_request request;
static struct error error;
static const char *next;

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	pods = (struct pods){0};
	next = NULL;
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(eks_pods, .init = begin, .fini = end);

static struct http_response answer(int status, const char *body)
{
	return (struct http_response){.status = status, .body = body, .body_length = strlen(body)};
}

static struct wallclock at(const char *string)
{
	struct wallclock out;

	cr_assert(wallclock_parse(string, &out));
	return out;
}

/* Fates. */

#define NOW "2026-01-02T03:00:30Z"

static enum pod_fate fate(const struct pod *pod, bool node_ready)
{
	return eks_pod_fate(pod, node_ready, at(NOW));
}

Test(eks_pods, what_is_not_a_drains_business_is_left)
{
	cr_assert_eq(fate(&(struct pod){.owner_kind = "DaemonSet"}, true), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.owner_kind = "Node", .mirror = true}, true), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.mirror = true}, true), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.owner_kind = "Job", .finished = true}, true), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.finished = true}, true), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.owner_kind = "DaemonSet", .terminating = true}, false), POD_LEFT);
	cr_assert_eq(fate(&(struct pod){.finished = true, .terminating = true}, false), POD_LEFT);
}

Test(eks_pods, others_are_evictable_and_those_that_nobody_brings_back_are_not)
{
	cr_assert_eq(fate(&(struct pod){.owner_kind = "ReplicaSet"}, true), POD_EVICTABLE);
	cr_assert_eq(fate(&(struct pod){.owner_kind = "StatefulSet"}, false), POD_EVICTABLE);
	cr_assert_eq(fate(&(struct pod){0}, true), POD_UNREPLICATED);
	cr_assert_eq(fate(&(struct pod){0}, false), POD_UNREPLICATED);
}

Test(eks_pods, leaving_ones_are_waited_for_until_half_a_minute_after_their_grace)
{
	struct pod pod = {.owner_kind = "ReplicaSet", .terminating = true, .ends_at = at("2026-01-02T03:01:00Z")};

	cr_assert_eq(fate(&pod, true), POD_LEAVING);
	cr_assert_eq(fate(&pod, false), POD_STUCK, "its node is not ready");
	pod.ends_at = at("2026-01-02T03:00:01Z");
	cr_assert_eq(fate(&pod, true), POD_LEAVING);
	pod.ends_at = at("2026-01-02T03:00:00Z");
	cr_assert_eq(fate(&pod, true), POD_STUCK);
	pod.ends_at = (struct wallclock){0};
	cr_assert_eq(fate(&pod, true), POD_LEAVING, "it does not say when");
	pod.owner_kind = NULL;
	cr_assert_eq(fate(&pod, true), POD_LEAVING);
}

/* Lists. */

Test(eks_pods, are_asked_for_by_their_node)
{
	eks_pods_ask(&arena, "ip-10-0-0-1.ec2.internal", NULL, &request);
	cr_assert_str_eq(request.service, "kubernetes");
	cr_assert_str_eq(request.method, "GET");
	cr_assert_str_eq(request.path, "/api/v1/pods");
	cr_assert_str_eq(request.query, "limit=500&fieldSelector=spec.nodeName%3Dip-10-0-0-1.ec2.internal");
	cr_assert_geq(request.max_response_bytes, (size_t)16 << 20);
	eks_pods_ask(&arena, "a&b=c", "x/y+z=", &request);
	cr_assert_str_eq(request.query, "limit=500&fieldSelector=spec.nodeName%3Da%26b%3Dc&continue=x%2Fy%2Bz%3D");
}

static bool hear(const char *body)
{
	struct http_response response = answer(200, body);

	return eks_pods_hear(&arena, &response, &pods, &next, &error);
}

static const struct pod *hear_one(const char *metadata, const char *rest)
{
	pods = (struct pods){0};
	cr_assert(
		hear(arena_printf(&arena,
	                      "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},"
	                      "\"items\":[{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"uid\":\"u-1\"%s}%s}]}",
	                      metadata, rest)),
		"%s", error.message);
	cr_assert_eq(pods.count, 1);
	return &pods.at[0];
}

Test(eks_pods, are_read)
{
	const struct pod *pod = hear_one(
		",\"ownerReferences\":[{\"kind\":\"Node\",\"uid\":\"o-0\"},"
		"{\"kind\":\"ReplicaSet\",\"uid\":\"o-1\",\"controller\":true}]",
		",\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},"
		"{\"name\":\"b\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}},"
		"{\"name\":\"c\",\"persistentVolumeClaim\":{\"claimName\":\"logs\"}}]},\"status\":{\"phase\":\"Running\"}");

	cr_assert_str_eq(pod->namespace_name, "shop");
	cr_assert_str_eq(pod->name, "web-1");
	cr_assert_str_eq(pod->uid, "u-1");
	cr_assert_str_eq(pod->owner_kind, "ReplicaSet");
	cr_assert_str_eq(pod->owner_uid, "o-1");
	cr_assert_not(pod->finished || pod->mirror || pod->terminating);
	cr_assert_eq(pod->claims.count, 2);
	cr_assert_str_eq(pod->claims.at[0], "shop/data");
	cr_assert_str_eq(pod->claims.at[1], "shop/logs");
	cr_assert_str_eq(eks_pod_name(pod, &arena), "shop/web-1");
	cr_assert_null(next);
}

Test(eks_pods, special_ones_are_told_apart)
{
	cr_assert(hear_one("", ",\"status\":{\"phase\":\"Succeeded\"}")->finished);
	cr_assert(hear_one("", ",\"status\":{\"phase\":\"Failed\"}")->finished);
	cr_assert_not(hear_one("", ",\"status\":{\"phase\":\"Pending\"}")->finished);
	cr_assert(hear_one(",\"annotations\":{\"kubernetes.io/config.mirror\":\"\"}", "")->mirror);
	cr_assert_not(hear_one(",\"annotations\":{\"kubernetes.io/config.hash\":\"x\"}", "")->mirror);
	cr_assert_null(hear_one(",\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"uid\":\"o\"}]", "")->owner_kind,
	               "an owner that is no controller does not bring it back");
	cr_assert(hear_one(",\"deletionTimestamp\":\"" NOW "\"", "")->terminating);
	cr_assert_eq(pods.at[0].ends_at.us, at(NOW).us);
	cr_assert(hear_one(",\"deletionTimestamp\":\"soon\"", "")->terminating);
	cr_assert_eq(pods.at[0].ends_at.us, 0);
}

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"a\",\"uid\":\"u\"}}"

Test(eks_pods, pages_are_appended)
{
	cr_assert(
		hear("{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"t1\"},\"items\":[" ITEM("p1") "," ITEM("p2") "]}"));
	cr_assert_str_eq(next, "t1");
	cr_assert(hear("{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"\"},\"items\":[" ITEM("p3") "]}"));
	cr_assert_null(next);
	cr_assert_eq(pods.count, 3);
	cr_assert_str_eq(pods.at[0].name, "p1");
	cr_assert_str_eq(pods.at[2].name, "p3");
	cr_assert(hear("{\"kind\":\"PodList\",\"metadata\":{},\"items\":null}"));
	cr_assert_eq(pods.count, 3);
}

Test(eks_pods, what_is_not_a_list_of_pods_appends_nothing)
{
	static const char *const bad[] = {
		"",
		"<html>proxy</html>",
		"{\"kind\":\"PodList\",\"items\":[" ITEM("p1"),
		"[]",
		"null",
		"{\"kind\":\"Status\",\"status\":\"Failure\"}",
		"{\"kind\":\"NodeList\",\"items\":[]}",
		"{\"kind\":\"PodList\",\"items\":{}}",
		"{\"kind\":\"PodList\",\"items\":[" ITEM("p1") ",{}]}",
		"{\"kind\":\"PodList\",\"items\":[" ITEM("p1") "," ITEM("") "]}",
		"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}]}",
		"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}]}",
		"{\"kind\":\"PodList\",\"items\":[7]}",
	};

	cr_assert(hear("{\"kind\":\"PodList\",\"metadata\":{},\"items\":[" ITEM("p0") "]}"));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_assert_not(hear(bad[i]), "%s", bad[i]);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s: %s", bad[i], error.message);
		cr_assert_eq(pods.count, 1);
		cr_assert_str_eq(pods.at[0].name, "p0");
	}
}

Test(eks_pods, a_token_has_a_maximum)
{
	char *token = arena_alloc(&arena, 16386);

	memset(token, 'x', 16385);
	cr_assert_not(
		hear(arena_printf(&arena, "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"%s\"},\"items\":[]}", token)));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	token[16384] = '\0';
	cr_assert(
		hear(arena_printf(&arena, "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"%s\"},\"items\":[]}", token)));
	cr_assert_str_eq(next, token);
}

Test(eks_pods, a_full_page_is_kept_small)
{
	struct text page;
	size_t before;

	text_init(&page, (size_t)16 << 20);
	text_append(&page, "{\"kind\":\"PodList\",\"metadata\":{},\"items\":[");
	for (int i = 0; i < 500; i++)
		text_printf(
			&page,
			"%s{\"metadata\":{\"name\":\"pod-%d\",\"namespace\":\"a\",\"uid\":\"u-%d\"},\"spec\":{\"x\":\"%02000d\"}}",
			i == 0 ? "" : ",", i, i, 0);
	text_append(&page, "]}");
	before = arena.used_bytes;
	cr_assert(hear(page.at), "%s", error.message);
	cr_assert_eq(pods.count, 500);
	cr_assert_lt(arena.used_bytes - before, 512 * 1024);
	text_done(&page);
}

/* Evictions. */

static const struct pod web = {.namespace_name = "shop", .name = "web-1", .uid = "u-1", .owner_kind = "ReplicaSet"};
static const char *budget;
static const char *why;

Test(eks_pods, eviction_means_this_very_pod)
{
	eks_pod_ask_eviction(&arena, &web, &request);
	cr_assert_str_eq(request.method, "POST");
	cr_assert_str_eq(request.path, "/api/v1/namespaces/shop/pods/web-1/eviction");
	cr_assert_str_eq(http_header(&request.headers, "Content-Type"), "application/json");
	cr_assert_str_eq(
		request.body,
		"{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"web-1\",\"namespace\":"
		"\"shop\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"u-1\"}}}");
	cr_assert_geq(request.deadline_ms, 35000);
}

static enum eviction_answer hear_eviction(int status, const char *body)
{
	struct http_response response = answer(status, body);
	enum eviction_answer heard = eks_pod_hear_eviction(&arena, &web, &response, &budget, &why);

	cr_assert_eq(heard == EVICTION_ACCEPTED || heard == EVICTION_GONE, why == NULL, "%d %s", status, body);
	if (heard != EVICTION_BUDGET)
		cr_assert_null(budget);
	return heard;
}

#define STATUS(rest) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}," rest "}"
#define FAILURE(code, reason, message, rest) \
	STATUS("\"status\":\"Failure\",\"message\":\"" message "\",\"reason\":\"" reason "\"," rest "\"code\":" code)
#define SEVERAL "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
#define CAUSE(reason, message) "\"details\":{\"causes\":[{\"reason\":\"" reason "\",\"message\":\"" message "\"}]},"
#define VIOLATES "Cannot evict pod as it would violate the pod's disruption budget."

Test(eks_pods, accepted_is_not_gone_and_gone_is_gone)
{
	cr_assert_eq(hear_eviction(201, STATUS("\"status\":\"Success\",\"code\":201")), EVICTION_ACCEPTED);
	cr_assert_eq(hear_eviction(200, STATUS("\"status\":\"Success\"")), EVICTION_ACCEPTED);
	cr_assert_eq(hear_eviction(201, ""), EVICTION_ACCEPTED);
	cr_assert_eq(hear_eviction(404, FAILURE("404", "NotFound", "pods web-1 not found", "")), EVICTION_GONE);
	cr_assert_eq(hear_eviction(409, FAILURE("409", "Conflict", "the UID in the precondition differs", "")),
	             EVICTION_GONE);
}

Test(eks_pods, budget_is_named)
{
	cr_assert_eq(
		hear_eviction(429, FAILURE("429", "TooManyRequests", VIOLATES,
	                               CAUSE("DisruptionBudget", "The disruption budget web needs 3 healthy pods and "
	                                                         "has 3 currently"))),
		EVICTION_BUDGET);
	cr_assert_str_eq(budget, "shop/web");
	cr_assert_str_eq(why, "The disruption budget web needs 3 healthy pods and has 3 currently");
	cr_assert_eq(
		hear_eviction(429, FAILURE("429", "TooManyRequests", VIOLATES,
	                               CAUSE("DisruptionBudget",
	                                     "The disruption budget a.b-c is still being processed by the server."))),
		EVICTION_BUDGET);
	cr_assert_str_eq(budget, "shop/a.b-c");
}

Test(eks_pods, budget_may_not_be_told)
{
	static const char *const causes[] = {
		CAUSE("DisruptionBudget", "something else"),
		CAUSE("DisruptionBudget", "The disruption budget "),
		CAUSE("DisruptionBudget", "The disruption budget web"),
		"\"details\":{\"causes\":[{\"reason\":\"Other\"},{\"reason\":\"DisruptionBudget\"}]},",
	};

	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		cr_assert_eq(
			hear_eviction(429, arena_printf(&arena, STATUS("\"status\":\"Failure\",%s\"code\":429"), causes[i])),
			EVICTION_BUDGET);
		cr_assert_null(budget);
	}
	cr_assert_not_null(strstr(why, "429"), "%s", why);
}

Test(eks_pods, overload_is_no_budget)
{
	cr_assert_eq(hear_eviction(429, FAILURE("429", "TooManyRequests", "too many requests", "")), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(429, "Too many requests, please try again later."), EVICTION_BUSY);
	cr_assert_not_null(strstr(why, "please try again later"), "%s", why);
	cr_assert_eq(hear_eviction(500, FAILURE("500", "InternalError", "failed calling webhook", "")), EVICTION_BUSY);
	cr_assert_not_null(strstr(why, "failed calling webhook"), "%s", why);
	cr_assert_eq(hear_eviction(503, "<html><body>no backend</body></html>"), EVICTION_BUSY);
	cr_assert_not_null(strstr(why, "proxy"), "%s", why);
	cr_assert_eq(hear_eviction(504, FAILURE("504", "Timeout", "the budget kept changing", "")), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(401, FAILURE("401", "Unauthorized", "Unauthorized", "")), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(302, ""), EVICTION_BUSY);
}

Test(eks_pods, what_is_not_the_api_servers_word_is_not_believed)
{
	cr_assert_eq(hear_eviction(404, "<html>not found</html>"), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(404, "404 page not found"), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(409, ""), EVICTION_BUSY);
	cr_assert_eq(hear_eviction(200, "<html>log in</html>"), EVICTION_BUSY);
	cr_assert_not_null(strstr(why, "proxy"), "%s", why);
}

Test(eks_pods, no_answer_is_busy)
{
	struct http_response response = {.body = ""};

	error_set(&response.error, ERROR_UNREACHABLE, "connection refused");
	cr_assert_eq(eks_pod_hear_eviction(&arena, &web, &response, &budget, &why), EVICTION_BUSY);
	cr_assert_str_eq(why, "connection refused");
	response = answer(201, "{\"kind\":\"Sta");
	error_set(&response.error, ERROR_MALFORMED, "it broke off");
	cr_assert_eq(eks_pod_hear_eviction(&arena, &web, &response, &budget, &why), EVICTION_BUSY);
	cr_assert_str_eq(why, "it broke off");
}

Test(eks_pods, what_needs_a_person_is_refused)
{
	cr_assert_eq(hear_eviction(201, STATUS("\"status\":\"Failure\",\"message\":\"" SEVERAL "\",\"code\":500")),
	             EVICTION_REFUSED);
	cr_assert_not_null(strstr(why, "more than one PodDisruptionBudget"), "%s", why);
	cr_assert_eq(hear_eviction(500, STATUS("\"status\":\"Failure\",\"message\":\"" SEVERAL "\",\"code\":500")),
	             EVICTION_REFUSED);
	cr_assert_eq(hear_eviction(403, FAILURE("403", "Forbidden", "pods web-1 is forbidden: no", "")), EVICTION_REFUSED);
	cr_assert_not_null(strstr(why, "is forbidden: no"), "%s", why);
	cr_assert_eq(hear_eviction(403, FAILURE("403", "Forbidden", "pdb disruptions allowed is negative",
	                                        CAUSE("DisruptionBudget", "x"))),
	             EVICTION_REFUSED);
	cr_assert_eq(hear_eviction(400, FAILURE("400", "BadRequest", "name in URL does not match", "")), EVICTION_REFUSED);
	cr_assert_eq(hear_eviction(422, FAILURE("422", "Invalid", "no", "")), EVICTION_REFUSED);
}

Test(eks_pods, who_ends_with_its_namespace_needs_nobody)
{
	cr_assert_eq(hear_eviction(403, FAILURE("403", "Forbidden", "shop is being terminated",
	                                        CAUSE("NamespaceTerminating", "namespace shop is being terminated"))),
	             EVICTION_ACCEPTED);
}

/* Volumes. */

static struct scope scope;
static struct string_list claims;

static void begin_volumes(void)
{
	begin();
	scope = (struct scope){.zone_id = "use1-az1", .zone_name = "us-east-1a"};
	claims = (struct string_list){0};
}

TestSuite(eks_volumes, .init = begin_volumes, .fini = end);

static bool hear_volumes(const char *body)
{
	struct http_response response = answer(200, body);

	return eks_volumes_hear(&scope, &arena, &response, &claims, &next, &error);
}

#define CLAIM "\"claimRef\":{\"namespace\":\"shop\",\"name\":\"data\"}"
#define IN(key, values) "{\"key\":\"" key "\",\"operator\":\"In\",\"values\":[" values "]}"
#define TERM(expressions) "{\"matchExpressions\":[" expressions "]}"
#define ZONE "topology.kubernetes.io/zone"

static bool is_pinned_by(const char *terms)
{
	claims = (struct string_list){0};
	cr_assert(
		hear_volumes(arena_printf(&arena,
	                              "{\"kind\":\"PersistentVolumeList\",\"metadata\":{},\"items\":[{\"spec\":{" CLAIM
	                              ",\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[%s]}}}}]}",
	                              terms)),
		"%s", error.message);
	if (claims.count > 0)
		cr_assert_str_eq(claims.at[0], "shop/data");
	return claims.count == 1;
}

Test(eks_volumes, are_all_asked_for)
{
	eks_volumes_ask(&arena, NULL, &request);
	cr_assert_str_eq(request.path, "/api/v1/persistentvolumes");
	cr_assert_str_eq(request.query, "limit=500");
	eks_volumes_ask(&arena, "a=b", &request);
	cr_assert_str_eq(request.query, "limit=500&continue=a%3Db");
}

Test(eks_volumes, one_zone_pins_whichever_label_names_it)
{
	cr_assert(is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\""))));
	cr_assert(is_pinned_by(TERM(IN("topology.ebs.csi.aws.com/zone", "\"us-east-1a\""))));
	cr_assert(is_pinned_by(TERM(IN("failure-domain.beta.kubernetes.io/zone", "\"us-east-1a\""))));
	cr_assert(is_pinned_by(TERM(IN("topology.k8s.aws/zone-id", "\"use1-az1\""))));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"us-east-1b\""))));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"use1-az1\""))));
	cr_assert_not(is_pinned_by(TERM(IN("topology.k8s.aws/zone-id", "\"us-east-1a\""))));
}

Test(eks_volumes, another_zone_beside_it_frees)
{
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\",\"us-east-1b\""))));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\"")) "," TERM(IN(ZONE, "\"us-east-1b\""))));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\"")) "," TERM(IN("disk", "\"ssd\""))));
	cr_assert(
		is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\"")) "," TERM(IN("topology.ebs.csi.aws.com/zone", "\"us-east-1a\""))));
}

Test(eks_volumes, other_expressions_only_narrow)
{
	cr_assert(is_pinned_by(TERM(IN("disk", "\"ssd\"") "," IN(ZONE, "\"us-east-1a\""))));
	cr_assert_not(is_pinned_by(TERM(IN("kubernetes.io/hostname", "\"us-east-1a\""))));
	cr_assert_not(is_pinned_by(TERM("{\"key\":\"" ZONE "\",\"operator\":\"NotIn\",\"values\":[\"us-east-1a\"]}")));
	cr_assert_not(is_pinned_by(TERM("{\"key\":\"" ZONE "\",\"operator\":\"Exists\"}")));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, ""))));
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "7"))));
	cr_assert_not(is_pinned_by(TERM("")));
	cr_assert_not(is_pinned_by("{}"));
	cr_assert_not(is_pinned_by(""));
}

Test(eks_volumes, without_the_zones_name_only_its_id_counts)
{
	scope.zone_name = NULL;
	cr_assert_not(is_pinned_by(TERM(IN(ZONE, "\"us-east-1a\""))));
	cr_assert(is_pinned_by(TERM(IN("topology.k8s.aws/zone-id", "\"use1-az1\""))));
}

#define VOLUME(spec, status) "{\"spec\":{" spec "},\"status\":{" status "}}"
#define PINNED "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[" TERM(IN(ZONE, "\"us-east-1a\"")) "]}}"
#define CLAIM_OF(name) "\"claimRef\":{\"namespace\":\"shop\",\"name\":\"" name "\"}"

Test(eks_volumes, claims_are_added_page_by_page)
{
	cr_assert(hear_volumes("{\"kind\":\"PersistentVolumeList\",\"metadata\":{\"continue\":\"t\"},\"items\":[" VOLUME(
		CLAIM_OF("a") "," PINNED, "\"phase\":\"Bound\"") "," VOLUME(CLAIM_OF("free"), "") "," VOLUME(PINNED, "") "]}"));
	cr_assert_str_eq(next, "t");
	cr_assert(hear_volumes("{\"kind\":\"PersistentVolumeList\",\"metadata\":{},\"items\":[" VOLUME(
		CLAIM_OF("b") "," PINNED, "") "," VOLUME(CLAIM_OF("old") "," PINNED, "\"phase\":\"Released\"") "]}"));
	cr_assert_null(next);
	cr_assert_eq(claims.count, 2);
	cr_assert_str_eq(claims.at[0], "shop/a");
	cr_assert_str_eq(claims.at[1], "shop/b");
}

Test(eks_volumes, what_is_not_a_list_of_volumes_is_malformed)
{
	static const char *const bad[] = {"<html>", "{}", "{\"kind\":\"PodList\",\"items\":[]}",
	                                  "{\"kind\":\"PersistentVolumeList\",\"items\":7}"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_assert_not(hear_volumes(bad[i]), "%s", bad[i]);
		cr_assert_eq(error.kind, ERROR_MALFORMED);
		cr_assert_eq(claims.count, 0);
	}
}
