#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"
#include "kube/manifest.h"

static struct arena arena;
static struct manifest manifest;
static struct error error;

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	error = (struct error){0};
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(manifest, .init = begin, .fini = end);

static bool read_yaml(const char *yaml)
{
	const struct json *object = yaml_parse(&arena, yaml, strlen(yaml), &error);

	cr_assert_not_null(object, "%s", error.message);
	return manifest_read(&arena, object, &manifest, &error);
}

static bool read_spec(const char *spec)
{
	return read_yaml(arena_printf(
		&arena, "{apiVersion: zonevac.dev/v1alpha1, kind: ZonalEvacuation, metadata: {name: use1-az1}, spec: {%s}}",
		spec));
}

#define HEX_62 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"
#define GOOD_TARGET "targets: [{kind: EksNode, selector: {all: true}}]"

Test(manifest, the_least_is_enough)
{
	cr_assert(read_spec("zoneId: use1-az1, " GOOD_TARGET), "%s", error.message);
	cr_assert_str_eq(manifest.name, "use1-az1");
	cr_assert_str_eq(manifest.zone_id, "use1-az1");
	cr_assert_null(manifest.region);
	cr_assert_null(manifest.uid);
	cr_assert_eq(manifest.mode, MODE_EVACUATE);
	cr_assert_eq(manifest.max_in_flight, 16);
	cr_assert_eq(manifest.batch_percent, 100);
	cr_assert_eq(manifest.batch_interval_s, 0);
	cr_assert_eq(manifest.min_remaining_zones, 1);
	cr_assert_eq(manifest.max_nodes_percent, 50);
	cr_assert_not(manifest.allow_other_zones);
	cr_assert_eq(manifest.expires_after_s, 0);
	cr_assert_eq(manifest.target_count, 1);
	cr_assert_str_eq(manifest.targets[0].kind, "EksNode");
	cr_assert(manifest.targets[0].selector.all);
	cr_assert_not(manifest.deleting);
	cr_assert_not(manifest.finalizer);
}

Test(manifest, everything_is_read)
{
	const struct selector *selector = &manifest.targets[1].selector;

	cr_assert(read_yaml("apiVersion: zonevac.dev/v1alpha1\n"
	                    "kind: ZonalEvacuation\n"
	                    "metadata:\n"
	                    "  name: out\n"
	                    "  uid: u-1\n"
	                    "  resourceVersion: '42'\n"
	                    "  generation: 3\n"
	                    "  creationTimestamp: '2026-01-02T03:04:05Z'\n"
	                    "  deletionTimestamp: '2026-01-02T04:04:05Z'\n"
	                    "  finalizers: [other/x, zonevac.dev/recovery]\n"
	                    "spec:\n"
	                    "  zoneId: apne1-az4\n"
	                    "  region: ap-northeast-1\n"
	                    "  mode: Plan\n"
	                    "  pacing: {maxInFlight: 256, batchPercent: 1, batchIntervalSeconds: 86400}\n"
	                    "  expiresAfterSeconds: 2592000\n"
	                    "  targets:\n"
	                    "  - kind: EksNode\n"
	                    "    selector: {all: true, exclude: {matchNames: ['*-pinned']}}\n"
	                    "  - kind: AutoScalingGroup\n"
	                    "    selector:\n"
	                    "      matchTags: {team: web, tier: ''}\n"
	                    "      matchNames: ['web-*', api]\n"
	                    "      exclude: {matchTags: {keep: 'true'}}\n"
	                    "status: {phase: Holding}\n"),
	          "%s", error.message);
	cr_assert_str_eq(manifest.uid, "u-1");
	cr_assert_str_eq(manifest.resource_version, "42");
	cr_assert_eq(manifest.generation, 3);
	cr_assert_str_eq(manifest.created_at, "2026-01-02T03:04:05Z");
	cr_assert(manifest.deleting);
	cr_assert(manifest.finalizer);
	cr_assert_eq(manifest.expires_after_s, 2592000);
	cr_assert_str_eq(manifest.region, "ap-northeast-1");
	cr_assert_eq(manifest.mode, MODE_PLAN);
	cr_assert_eq(manifest.max_in_flight, 256);
	cr_assert_eq(manifest.batch_percent, 1);
	cr_assert_eq(manifest.batch_interval_s, 86400);
	cr_assert_eq(manifest.target_count, 2);
	cr_assert_eq(manifest.targets[0].selector.exclude_names.count, 1);
	cr_assert_not(selector->all);
	cr_assert_str_eq(tags_get(&selector->match_tags, "team"), "web");
	cr_assert_str_eq(tags_get(&selector->match_tags, "tier"), "");
	cr_assert_eq(selector->match_names.count, 2);
	cr_assert_str_eq(selector->match_names.at[0], "web-*");
	cr_assert_str_eq(tags_get(&selector->exclude_tags, "keep"), "true");
}

Test(manifest, bad_specs_are_named_by_their_place)
{
	static const struct {
		const char *spec;
		const char *message;
	} cases[] = {
		{GOOD_TARGET, "spec.zoneId: is missing"},
		{"zoneId: '', " GOOD_TARGET, "spec.zoneId: must not be empty"},
		{"zoneId: 1, " GOOD_TARGET, "spec.zoneId: must be a string"},
		{"zoneId: us-east-1a, " GOOD_TARGET, "spec.zoneId: is a zone's name"},
		{"zoneId: use1-bos1-az1, " GOOD_TARGET, "spec.zoneId: Local Zones cannot"},
		{"zoneId: use1-wl1-bos-wlz1, " GOOD_TARGET, "spec.zoneId: Wavelength Zones cannot"},
		{"zoneId: use1-az, " GOOD_TARGET, "spec.zoneId: must be an Availability Zone's id"},
		{"zoneId: use1-az1x, " GOOD_TARGET, "spec.zoneId: must be an Availability Zone's id"},
		{"zoneId: USE1-AZ1, " GOOD_TARGET, "spec.zoneId: must be an Availability Zone's id"},
		{"zoneId: u1-az1, " GOOD_TARGET, "spec.zoneId: must be an Availability Zone's id"},
		{"zoneId: use1-az1, region: Virginia, " GOOD_TARGET, "spec.region: must be a region"},
		{"zoneId: use1-az1, region: us-east-1/x, " GOOD_TARGET, "spec.region: must be a region"},
		{"zoneId: use1-az1, mode: evacuate, " GOOD_TARGET, "spec.mode: must be Evacuate or Plan"},
		{"zoneId: use1-az1, mode: true, " GOOD_TARGET, "spec.mode: must be a string"},
		{"zoneId: use1-az1", "spec.targets: must be a list"},
		{"zoneId: use1-az1, targets: []", "spec.targets: must be a list"},
		{"zoneId: use1-az1, targets: {kind: EksNode}", "spec.targets: must be a list"},
		{"zoneId: use1-az1, targets: [EksNode]", "spec.targets[0]: must be an object"},
		{"zoneId: use1-az1, targets: [{selector: {all: true}}]",
	     "spec.targets[0].kind: is missing; give EksNode, AutoScalingGroup, EcsService or LambdaFunction"},
		{"zoneId: use1-az1, targets: [{kind: Bucket, selector: {all: true}}]",
	     "spec.targets[0].kind: must be one of EksNode, AutoScalingGroup, EcsService, LambdaFunction"},
		{"zoneId: use1-az1, targets: [{kind: EksNode}]", "spec.targets[0].selector: is missing"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {}}]", "spec.targets[0].selector: selects nothing"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: false}}]",
	     "spec.targets[0].selector: selects nothing"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchTags: {}, matchNames: []}}]", "selects nothing"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {exclude: {matchNames: [a]}}}]", "selects nothing"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true, matchNames: [a]}}]", "has all: true and"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: 'yes'}}]", "selector.all: must be true or false"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchTags: {a: 1}}}]",
	     "selector.matchTags.a: must be a string"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchTags: [a]}}]",
	     "selector.matchTags: must be a map"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchNames: a}}]",
	     "selector.matchNames: must be a list"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchNames: [a, ''] }}]",
	     "selector.matchNames[1]: must not be empty"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchNames: [~]}}]",
	     "selector.matchNames[0]: must be a string"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true, exclude: {all: true}}}]",
	     "selector.exclude.all: no such field here; allowed are matchTags, matchNames"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true}}, {kind: EksNode, selector: {all: true}}]",
	     "spec.targets[1].kind: EksNode is there twice"},
		{"zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true}, grace: 1}]",
	     "spec.targets[0].grace: no such field here; allowed are kind, selector, eviction, drainTimeoutSeconds, "
	     "onDrainTimeout"},
		{"zoneId: use1-az1, expiry: 1, " GOOD_TARGET,
	     "spec.expiry: no such field here; allowed are zoneId, region, mode, planHash, targets, pacing, guards"},
		{"zoneId: use1-az1, planHash: x, " GOOD_TARGET,
	     "spec.planHash: must be a plan's hash as status.planHash tells it"},
		{"zoneId: use1-az1, planHash: 5, " GOOD_TARGET, "spec.planHash: must be a plan's hash"},
		{"zoneId: use1-az1, planHash: 'sha256:" HEX_62 "0', " GOOD_TARGET, "spec.planHash: must be a plan's hash"},
		{"zoneId: use1-az1, planHash: 'sha256:" HEX_62 "0A', " GOOD_TARGET, "spec.planHash: must be a plan's hash"},
		{"zoneId: use1-az1, planHash: 'sha256:" HEX_62 "012', " GOOD_TARGET, "spec.planHash: must be a plan's hash"},
		{"zoneId: use1-az1, pacing: {batch: 5}, " GOOD_TARGET, "spec.pacing.batch: no such field"},
		{"zoneId: use1-az1, guards: {minRemainingZones: 0}, " GOOD_TARGET,
	     "spec.guards.minRemainingZones: must be a whole number from 1 to 16"},
		{"zoneId: use1-az1, guards: {allowOtherZones: 'yes'}, " GOOD_TARGET,
	     "spec.guards.allowOtherZones: must be true or false"},
		{"zoneId: use1-az1, guards: {maxNodesPercent: 101}, " GOOD_TARGET,
	     "spec.guards.maxNodesPercent: must be a whole number from 1 to 100"},
		{"zoneId: use1-az1, expiresAfterSeconds: -1, " GOOD_TARGET,
	     "spec.expiresAfterSeconds: must be a whole number from 0 to 2592000"},
		{"zoneId: use1-az1, expiresAfterSeconds: 2592001, " GOOD_TARGET, "spec.expiresAfterSeconds"},
		{"zoneId: use1-az1, expiresAfterSeconds: '8', " GOOD_TARGET, "spec.expiresAfterSeconds"},
		{"zoneId: use1-az1, pacing: {maxInFlight: 0}, " GOOD_TARGET,
	     "spec.pacing.maxInFlight: must be a whole number from 1 to 256"},
		{"zoneId: use1-az1, pacing: {maxInFlight: 257}, " GOOD_TARGET, "spec.pacing.maxInFlight"},
		{"zoneId: use1-az1, pacing: {maxInFlight: 1.5}, " GOOD_TARGET, "spec.pacing.maxInFlight"},
		{"zoneId: use1-az1, pacing: {maxInFlight: '8'}, " GOOD_TARGET, "spec.pacing.maxInFlight"},
		{"zoneId: use1-az1, pacing: {batchPercent: 0}, " GOOD_TARGET,
	     "spec.pacing.batchPercent: must be a whole number from 1 to 100"},
		{"zoneId: use1-az1, pacing: {batchPercent: 101}, " GOOD_TARGET, "spec.pacing.batchPercent"},
		{"zoneId: use1-az1, pacing: {batchIntervalSeconds: -1}, " GOOD_TARGET,
	     "spec.pacing.batchIntervalSeconds: must be a whole number from 0 to 86400"},
		{"zoneId: use1-az1, pacing: {batchIntervalSeconds: 86401}, " GOOD_TARGET, "spec.pacing.batchIntervalSeconds"},
		{"zoneId: use1-az1, pacing: 8, " GOOD_TARGET, "spec.pacing: must be an object"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_not(read_spec(cases[i].spec), "%s", cases[i].spec);
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, cases[i].message), "%s: %s", cases[i].spec, error.message);
	}
}

static void refused(const char *spec, const char *message)
{
	cr_assert_not(read_spec(spec), "%s", spec);
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, message), "%s: %s", spec, error.message);
}

Test(manifest, all_kinds_are_known)
{
	static const char *const kinds[] = {"EksNode", "AutoScalingGroup", "EcsService", "LambdaFunction"};

	cr_assert(read_spec("zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true}}, "
	                    "{kind: AutoScalingGroup, selector: {all: true}}, {kind: EcsService, selector: {all: true}}, "
	                    "{kind: LambdaFunction, selector: {all: true}}]"),
	          "%s", error.message);
	cr_assert_eq(manifest.target_count, 4);
	for (size_t i = 0; i < 4; i++)
		cr_assert_str_eq(manifest.targets[i].kind, kinds[i]);
}

#define NODES(fields) "zoneId: use1-az1, targets: [{kind: EksNode, selector: {all: true}, " fields "}]"

Test(manifest, a_node_is_drained_where_nothing_else_is_said)
{
	cr_assert(read_spec("zoneId: use1-az1, " GOOD_TARGET));
	cr_assert_eq(manifest.targets[0].eviction, EVICTION_DRAIN);
	cr_assert_eq(manifest.targets[0].drain_timeout_s, 900);
	cr_assert_eq(manifest.targets[0].on_timeout, ON_DRAIN_TIMEOUT_KEEP);
	cr_assert(read_spec(NODES("eviction: ~, drainTimeoutSeconds: ~, onDrainTimeout: ~")), "%s", error.message);
	cr_assert_eq(manifest.targets[0].drain_timeout_s, 900);
}

Test(manifest, evictions_are_read)
{
	cr_assert(read_spec(NODES("eviction: Drain, drainTimeoutSeconds: 1, onDrainTimeout: Taint")), "%s", error.message);
	cr_assert_eq(manifest.targets[0].eviction, EVICTION_DRAIN);
	cr_assert_eq(manifest.targets[0].drain_timeout_s, 1);
	cr_assert_eq(manifest.targets[0].on_timeout, ON_DRAIN_TIMEOUT_TAINT);
	cr_assert(read_spec(NODES("eviction: Taint, drainTimeoutSeconds: 86400, onDrainTimeout: Keep")));
	cr_assert_eq(manifest.targets[0].eviction, EVICTION_TAINT);
	cr_assert_eq(manifest.targets[0].drain_timeout_s, 86400);
	cr_assert_eq(manifest.targets[0].on_timeout, ON_DRAIN_TIMEOUT_KEEP);
	cr_assert(read_spec(NODES("eviction: None")));
	cr_assert_eq(manifest.targets[0].eviction, EVICTION_NONE);
}

Test(manifest, evictions_have_bounds)
{
	refused(NODES("eviction: Delete"), "spec.targets[0].eviction: must be one of Drain, Taint, None");
	refused(NODES("eviction: true"), "spec.targets[0].eviction: must be a string");
	refused(NODES("eviction: ''"), "spec.targets[0].eviction: must not be empty");
	refused(NODES("onDrainTimeout: Drain"), "spec.targets[0].onDrainTimeout: must be one of Keep, Taint");
	refused(NODES("drainTimeoutSeconds: 0"), "drainTimeoutSeconds: must be a whole number from 1 to 86400");
	refused(NODES("drainTimeoutSeconds: 86401"), "drainTimeoutSeconds: must be a whole number");
	refused(NODES("drainTimeoutSeconds: '900'"), "drainTimeoutSeconds: must be a whole number");
	refused(NODES("drainTimeoutSeconds: 0.5"), "drainTimeoutSeconds: must be a whole number");
}

Test(manifest, only_nodes_have_an_eviction)
{
	static const char *const kinds[] = {"AutoScalingGroup", "EcsService", "LambdaFunction"};
	static const char *const fields[] = {"eviction: Drain", "drainTimeoutSeconds: 900", "onDrainTimeout: Keep"};

	for (size_t i = 0; i < 3; i++) {
		refused(arena_printf(&arena, "zoneId: use1-az1, targets: [{kind: %s, selector: {all: true}, %s}]", kinds[i],
		                     fields[i]),
		        "is for the kind EksNode only");
	}
}

#define ALLOW(list) "zoneId: use1-az1, guards: {allow: [" list "]}, " GOOD_TARGET

Test(manifest, allowances_are_read)
{
	cr_assert(read_spec(ALLOW("{guard: ManagedByEks, reason: we know, matchNames: ['eks-*', b]}, "
	                          "{guard: Unreplicated, reason: 'weiß ich'}, {guard: NodesNotDrained, reason: x}, "
	                          "{guard: OtherCluster, reason: y, matchNames: []}")),
	          "%s", error.message);
	cr_assert_eq(manifest.allowance_count, 4);
	cr_assert_eq(manifest.allowances[0].guard, GUARD_MANAGED_BY_EKS);
	cr_assert_str_eq(manifest.allowances[0].reason, "we know");
	cr_assert_eq(manifest.allowances[0].match_names.count, 2);
	cr_assert_str_eq(manifest.allowances[0].match_names.at[0], "eks-*");
	cr_assert_eq(manifest.allowances[1].guard, GUARD_UNREPLICATED);
	cr_assert_eq(manifest.allowances[1].match_names.count, 0);
	cr_assert_eq(manifest.allowances[2].guard, GUARD_NODES_NOT_DRAINED);
	cr_assert_eq(manifest.allowances[3].guard, GUARD_OTHER_CLUSTER);
	cr_assert(read_spec("zoneId: use1-az1, guards: {}, " GOOD_TARGET));
	cr_assert_eq(manifest.allowance_count, 0);
	cr_assert(read_spec("zoneId: use1-az1, guards: {allow: ~}, " GOOD_TARGET));
}

Test(manifest, bad_allowances_are_named_by_their_place)
{
	refused(ALLOW("{guard: LastSubnet, reason: x}"),
	        "spec.guards.allow[0].guard: is no guard that may be overridden; those that may be overridden are "
	        "MaxNodesPercent, MinRemainingZones, ManagedByEks, OtherCluster, NodesNotDrained, Unreplicated");
	refused(ALLOW("{guard: Nonsense, reason: x}"), "spec.guards.allow[0].guard: is no guard that may");
	refused(ALLOW("{guard: Unreplicated, reason: x}, {reason: x}"), "spec.guards.allow[1].guard: is missing");
	refused(ALLOW("{guard: Unreplicated}"), "spec.guards.allow[0].reason: is missing");
	refused(ALLOW("{guard: Unreplicated, reason: ''}"), "spec.guards.allow[0].reason: must not be empty");
	refused(ALLOW("{guard: Unreplicated, reason: x, until: y}"),
	        "spec.guards.allow[0].until: no such field here; allowed are guard, reason, matchNames");
	refused(ALLOW("{guard: Unreplicated, reason: x, matchNames: a}"), "allow[0].matchNames: must be a list");
	refused(ALLOW("Unreplicated"), "spec.guards.allow[0]: must be an object");
	refused("zoneId: use1-az1, guards: {allow: {}}, " GOOD_TARGET, "spec.guards.allow: must be a list");
	refused(
		"zoneId: use1-az1, guards: {maxPodsPercent: 5}, " GOOD_TARGET,
		"spec.guards.maxPodsPercent: no such field here; allowed are minRemainingZones, maxNodesPercent, allowOtherZones, allow");
	refused("zoneId: use1-az1, guards: [], " GOOD_TARGET, "spec.guards: must be an object");
}

static const char *allow_many(size_t count, const char *letter, size_t letters)
{
	struct text spec;

	text_init(&spec, 65536);
	text_append(&spec, "zoneId: use1-az1, " GOOD_TARGET ", guards: {allow: [");
	for (size_t i = 0; i < count; i++) {
		text_append(&spec, "{guard: Unreplicated, reason: '");
		for (size_t k = 0; k < letters; k++)
			text_append(&spec, letter);
		text_append(&spec, "'},");
	}
	text_append(&spec, "]}");
	return text_take(&spec, &arena);
}

Test(manifest, allowances_are_bounded)
{
	cr_assert(read_spec(allow_many(16, "ü", 256)), "%s", error.message);
	cr_assert_eq(manifest.allowance_count, 16);
	refused(allow_many(17, "x", 1), "spec.guards.allow: must not have more than 16 entries");
	refused(allow_many(1, "x", 257), "spec.guards.allow[0].reason: must not be longer than 256 characters");
	refused(allow_many(1, "ü", 257), "spec.guards.allow[0].reason: must not be longer than 256 characters");
}

static const char *repeated(const char *letter, size_t count)
{
	struct text text;

	text_init(&text, 4096);
	for (size_t i = 0; i < count; i++)
		text_append(&text, letter);
	return text_take(&text, &arena);
}

static const char *tagged(const char *letter, size_t key, size_t value)
{
	return arena_printf(&arena, "zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchTags: {%s: '%s'}}}]",
	                    repeated(letter, key), repeated(letter, value));
}

static const char *called(const char *letter, size_t count)
{
	return arena_printf(&arena, "zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchNames: ['%s']}}]",
	                    repeated(letter, count));
}

Test(manifest, characters_are_counted_not_bytes)
{
	static const char *const letters[] = {"x", "ü", "€", "😀"};

	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
		cr_expect(read_spec(tagged(letters[i], 317, 256)), "%s", error.message);
		cr_expect(read_spec(called(letters[i], 256)), "%s", error.message);
		refused(tagged(letters[i], 318, 1), "matchTags: a tag has 1 to 317 characters and its value at most 256");
		refused(tagged(letters[i], 1, 257), "matchTags: a tag has 1 to 317 characters and its value at most 256");
		refused(called(letters[i], 257), "matchNames[0]: must not be longer than 256 characters");
	}
}

Test(manifest, null_members_count_as_absent)
{
	cr_assert(read_spec("zoneId: use1-az1, region: null, mode: ~, pacing: ~, " GOOD_TARGET), "%s", error.message);
	cr_assert_null(manifest.region);
	cr_assert_eq(manifest.max_in_flight, 16);
}

Test(manifest, lists_are_bounded)
{
	struct text many;

	text_init(&many, 65536);
	text_append(&many, "zoneId: use1-az1, targets: [{kind: EksNode, selector: {matchNames: [");
	for (int i = 0; i < 65; i++)
		text_printf(&many, "n%d,", i);
	text_append(&many, "]}}]");
	cr_assert_not(read_spec(many.at));
	cr_assert_not_null(strstr(error.message, "at most 64 names"), "%s", error.message);
	text_clear(&many);
	text_append(&many, "zoneId: use1-az1, targets: [");
	for (int i = 0; i < 17; i++)
		text_append(&many, "{kind: EksNode, selector: {all: true}},");
	text_append(&many, "]");
	cr_assert_not(read_spec(many.at));
	cr_assert_not_null(strstr(error.message, "more than 16 entries"), "%s", error.message);
	text_done(&many);
}

Test(manifest, metadata_is_there_even_when_the_spec_is_refused)
{
	cr_assert_not(read_yaml("{apiVersion: zonevac.dev/v1alpha1, kind: ZonalEvacuation, "
	                        "metadata: {name: out, uid: u-1, finalizers: [zonevac.dev/recovery]}, spec: {}}"));
	cr_assert_str_eq(manifest.name, "out");
	cr_assert_str_eq(manifest.uid, "u-1");
	cr_assert(manifest.finalizer);
}

Test(manifest, a_plan_may_be_named)
{
	cr_assert(read_spec("zoneId: use1-az1, planHash: 'sha256:" HEX_62 "0a', " GOOD_TARGET), "%s", error.message);
	cr_assert_str_eq(manifest.plan_hash, "sha256:" HEX_62 "0a");
	cr_assert(read_spec("zoneId: use1-az1, planHash: '', " GOOD_TARGET), "%s", error.message);
	cr_assert_null(manifest.plan_hash);
	cr_assert(read_spec("zoneId: use1-az1, planHash: ~, " GOOD_TARGET), "%s", error.message);
	cr_assert_null(manifest.plan_hash);
}

Test(manifest, the_zone_is_known_even_where_the_rest_is_refused)
{
	cr_assert_not(
		read_yaml("{apiVersion: zonevac.dev/v1alpha1, kind: ZonalEvacuation, metadata: {name: out, uid: u-1}, "
	              "spec: {zoneId: use1-az1, region: us-east-1, planHash: x, targets: []}}"));
	cr_assert_not_null(strstr(error.message, "spec.planHash"), "%s", error.message);
	cr_assert_str_eq(manifest.zone_id, "use1-az1");
	cr_assert_str_eq(manifest.region, "us-east-1");
}

Test(manifest, other_kinds_and_versions_are_refused)
{
	cr_assert_not(read_yaml("{apiVersion: v1, kind: ZonalEvacuation, metadata: {name: a}}"));
	cr_assert_not_null(strstr(error.message, "apiVersion: must be zonevac.dev/v1alpha1"));
	cr_assert_not(read_yaml("{apiVersion: zonevac.dev/v1alpha1, kind: Pod, metadata: {name: a}}"));
	cr_assert_not_null(strstr(error.message, "kind: must be ZonalEvacuation"));
	cr_assert_not(read_yaml("{metadata: {name: a}, spec: {}}"));
	cr_assert_not_null(strstr(error.message, "apiVersion"));
	cr_assert_not(read_yaml("{apiVersion: zonevac.dev/v1alpha1, kind: ZonalEvacuation, spec: {}}"));
	cr_assert_not_null(strstr(error.message, "metadata.name: is missing"));
	cr_assert_not(read_yaml("{apiVersion: zonevac.dev/v1alpha1, kind: ZonalEvacuation, metadata: {name: a}}"));
	cr_assert_not_null(strstr(error.message, "spec: is missing"));
	cr_assert_not(read_yaml("[]"));
}
