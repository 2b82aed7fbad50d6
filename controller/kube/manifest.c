#include "kube/manifest.h"

#include <string.h>

#include "base/text.h"
#include "kube/objects.h"

#define API_VERSION "zonevac.dev/v1alpha1"
#define KIND "ZonalEvacuation"
#define TAGS_MAX 32
#define NAMES_MAX 64
#define TEXT_MAX 256
/* A label's prefix, a slash and its name; the keys of AWS tags are shorter. */
#define TAG_KEY_MAX (253 + 1 + 63)
#define REGION_MAX 32
#define IN_FLIGHT_MAX 256
#define BATCH_INTERVAL_MAX_S 86400
#define IN_FLIGHT_DEFAULT 16
#define DRAIN_TIMEOUT_MAX_S 86400
#define EXPIRY_MAX_S 2592000
#define ZONES_MAX 16
#define NODES_PERCENT_DEFAULT 50
#define DRAIN_TIMEOUT_DEFAULT_S 900
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* Where we are in the object: each helper names the place in its error. */
struct place {
	struct arena *arena;
	struct error *error;
};

static bool refuse(const struct place *place, const char *path, const char *sentence)
{
	return error_set(place->error, ERROR_INPUT, "%s: %s", path, sentence);
}

static const char *below(const struct place *place, const char *path, const char *key)
{
	return arena_printf(place->arena, "%s.%s", path, key);
}

static const char *nth(const struct place *place, const char *path, size_t index)
{
	return arena_printf(place->arena, "%s[%zu]", path, index);
}

/* A null member counts as one that is not there, as it does for the API server. */
static const struct json *member(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);

	return json_type(value) == JSON_NULL ? NULL : value;
}

/* An object with no other members than those of `known` (ended by NULL): what is accepted is obeyed. */
static bool check_object(const struct place *place, const char *path, const struct json *object,
                         const char *const *known)
{
	struct string_list names = {0};

	if (json_type(object) != JSON_OBJECT)
		return refuse(place, path, object == NULL ? "is missing" : "must be an object");
	for (size_t i = 0; known[i] != NULL; i++)
		string_list_add(&names, place->arena, known[i]);
	for (size_t i = 0; i < json_count(object); i++) {
		const char *key = NULL;

		json_member(object, i, &key);
		if (!string_list_has(&names, key))
			return error_set(place->error, ERROR_INPUT, "%s.%.64s: no such field here; allowed are %s", path, key,
			                 string_list_join(&names, place->arena, ", "));
	}
	return true;
}

/* As the API server counts: a person writes in any language. */
static size_t count_characters(const char *string)
{
	size_t count = 0;

	for (const char *at = string; *at != '\0'; at++)
		count += ((unsigned char)*at & 0xc0) != 0x80;
	return count;
}

/* A string of 1 to `max` characters; NULL in *out when it is not there. */
static bool read_string(const struct place *place, const char *path, const struct json *value, size_t max,
                        const char **out)
{
	*out = json_string(value);
	if (value == NULL)
		return true;
	if (*out == NULL)
		return refuse(place, path, "must be a string (in YAML: put it in quotes)");
	if (**out == '\0')
		return refuse(place, path, "must not be empty");
	if (count_characters(*out) > max)
		return error_set(place->error, ERROR_INPUT, "%s: must not be longer than %zu characters", path, max);
	return true;
}

/* ^[a-z]{2,10}[0-9]+-az[0-9]+$ */
static bool is_zone_id(const char *string)
{
	size_t letters = strspn(string, LOWER);
	size_t digits = strspn(string + letters, DIGITS);
	const char *tail = string + letters + digits;

	return letters >= 2 && letters <= 10 && digits > 0 && text_starts_with(tail, "-az") && tail[3] != '\0' &&
	       tail[3 + strspn(tail + 3, DIGITS)] == '\0';
}

static const char *why_no_zone_id(const char *zone)
{
	size_t letters = strspn(zone, LOWER);
	size_t digits = strspn(zone + letters, DIGITS);

	if (strstr(zone, "-wl") != NULL)
		return "Wavelength Zones cannot be evacuated; give an Availability Zone's id, such as use1-az1";
	if (letters >= 2 && digits > 0 && zone[letters + digits] == '-' && strstr(zone, "-az") > zone + letters + digits)
		return "Local Zones cannot be evacuated; give an Availability Zone's id, such as use1-az1";
	if (letters == 2 && digits == 0 && zone[letters] == '-')
		return "is a zone's name, which differs from account to account; give the zone's id, such as use1-az1";
	return "must be an Availability Zone's id, such as use1-az1";
}

static bool read_zone(const struct place *place, const struct json *spec, struct manifest *out)
{
	if (!read_string(place, "spec.zoneId", member(spec, "zoneId"), TEXT_MAX, &out->zone_id))
		return false;
	if (out->zone_id == NULL)
		return refuse(place, "spec.zoneId", "is missing; give the zone's id, such as use1-az1");
	return is_zone_id(out->zone_id) || refuse(place, "spec.zoneId", why_no_zone_id(out->zone_id));
}

static bool read_region(const struct place *place, const struct json *spec, struct manifest *out)
{
	const char *region;

	if (!read_string(place, "spec.region", member(spec, "region"), REGION_MAX, &region))
		return false;
	out->region = region;
	if (region == NULL)
		return true;
	if (strspn(region, LOWER DIGITS "-") != strlen(region) || strspn(region, LOWER) < 2 || strchr(region, '-') == NULL)
		return refuse(place, "spec.region", "must be a region, such as us-east-1");
	return true;
}

static bool read_mode(const struct place *place, const struct json *spec, struct manifest *out)
{
	const char *mode;

	out->mode = MODE_EVACUATE;
	if (!read_string(place, "spec.mode", member(spec, "mode"), TEXT_MAX, &mode))
		return false;
	if (text_equal(mode, "Plan"))
		out->mode = MODE_PLAN;
	else if (mode != NULL && !text_equal(mode, "Evacuate"))
		return refuse(place, "spec.mode", "must be Evacuate or Plan");
	return true;
}

static bool read_plan_hash(const struct place *place, const struct json *spec, struct manifest *out)
{
	const struct json *value = member(spec, "planHash");
	const char *hash = json_string(value);
	size_t prefix = strlen("sha256:");

	if (value == NULL || (hash != NULL && *hash == '\0'))
		return true;
	out->plan_hash = hash;
	if (hash == NULL || !text_starts_with(hash, "sha256:") || strlen(hash) != prefix + 64 ||
	    strspn(hash + prefix, DIGITS "abcdef") != 64)
		return refuse(place, "spec.planHash",
		              "must be a plan's hash as status.planHash tells it: sha256: and 64 digits");
	return true;
}

static bool read_tags(const struct place *place, const char *path, const struct json *map, struct tags *out)
{
	if (map == NULL)
		return true;
	if (json_type(map) != JSON_OBJECT)
		return refuse(place, path, "must be a map of tags to values");
	if (json_count(map) > TAGS_MAX)
		return error_set(place->error, ERROR_INPUT, "%s: at most %d tags are allowed", path, TAGS_MAX);
	for (size_t i = 0; i < json_count(map); i++) {
		const char *key = NULL;
		const char *value = json_string(json_member(map, i, &key));

		if (*key == '\0' || count_characters(key) > TAG_KEY_MAX ||
		    (value != NULL && count_characters(value) > TEXT_MAX))
			return error_set(place->error, ERROR_INPUT, "%s: a tag has 1 to %d characters and its value at most %d",
			                 path, TAG_KEY_MAX, TEXT_MAX);
		if (value == NULL)
			return error_set(place->error, ERROR_INPUT, "%s.%s: must be a string (in YAML: put it in quotes)", path,
			                 key);
		tags_add(out, place->arena, key, value);
	}
	return true;
}

static bool read_names(const struct place *place, const char *path, const struct json *list, struct string_list *out)
{
	if (list == NULL)
		return true;
	if (json_type(list) != JSON_ARRAY)
		return refuse(place, path, "must be a list of names");
	if (json_count(list) > NAMES_MAX)
		return error_set(place->error, ERROR_INPUT, "%s: at most %d names are allowed", path, NAMES_MAX);
	for (size_t i = 0; i < json_count(list); i++) {
		const char *name;

		if (!read_string(place, nth(place, path, i), json_at(list, i), TEXT_MAX, &name))
			return false;
		if (name == NULL)
			return refuse(place, nth(place, path, i), "must be a string");
		string_list_add(out, place->arena, name);
	}
	return true;
}

static bool read_exclude(const struct place *place, const char *path, const struct json *exclude, struct selector *out)
{
	static const char *const known[] = {"matchTags", "matchNames", NULL};

	if (exclude == NULL)
		return true;
	return check_object(place, path, exclude, known) &&
	       read_tags(place, below(place, path, "matchTags"), member(exclude, "matchTags"), &out->exclude_tags) &&
	       read_names(place, below(place, path, "matchNames"), member(exclude, "matchNames"), &out->exclude_names);
}

static bool read_selector(const struct place *place, const char *path, const struct json *selector,
                          struct selector *out)
{
	static const char *const known[] = {"all", "matchTags", "matchNames", "exclude", NULL};
	const struct json *all = member(selector, "all");
	bool matches;

	if (!check_object(place, path, selector, known) ||
	    !read_tags(place, below(place, path, "matchTags"), member(selector, "matchTags"), &out->match_tags) ||
	    !read_names(place, below(place, path, "matchNames"), member(selector, "matchNames"), &out->match_names) ||
	    !read_exclude(place, below(place, path, "exclude"), member(selector, "exclude"), out))
		return false;
	if (all != NULL && json_type(all) != JSON_BOOL)
		return refuse(place, below(place, path, "all"), "must be true or false");
	out->all = json_bool(all, false);
	matches = out->match_tags.count > 0 || out->match_names.count > 0;
	if (!out->all && !matches)
		return refuse(place, path, "selects nothing; give all: true, matchTags or matchNames");
	if (out->all && matches)
		return refuse(place, path,
		              "has all: true and matchTags or matchNames; keep one of them (exclude goes with both)");
	return true;
}

static bool read_whole_number(const struct place *place, const char *path, const struct json *value, int64_t min,
                              int64_t max, int64_t *out)
{
	if (value == NULL)
		return true;
	*out = json_integer(value, min - 1);
	if (json_type(value) != JSON_INTEGER || *out < min || *out > max)
		return error_set(place->error, ERROR_INPUT, "%s: must be a whole number from %lld to %lld", path,
		                 (long long)min, (long long)max);
	return true;
}

static bool read_flag(const struct place *place, const char *path, const struct json *value, bool *out)
{
	if (value == NULL)
		return true;
	*out = json_bool(value, false);
	return json_type(value) == JSON_BOOL || refuse(place, path, "must be true or false");
}

/* Which of `words` (ended by NULL) it is; *out stays as it is when it is not there. */
static bool read_word(const struct place *place, const char *path, const struct json *value, const char *const *words,
                      int *out)
{
	struct string_list allowed = {0};
	const char *word;

	if (!read_string(place, path, value, TEXT_MAX, &word))
		return false;
	for (int i = 0; words[i] != NULL; i++) {
		string_list_add(&allowed, place->arena, words[i]);
		if (text_equal(word, words[i])) {
			*out = i;
			return true;
		}
	}
	if (word == NULL)
		return true;
	return error_set(place->error, ERROR_INPUT, "%s: must be one of %s", path,
	                 string_list_join(&allowed, place->arena, ", "));
}

/* What becomes of a node's pods. */
static bool read_drain(const struct place *place, const char *path, const struct json *target,
                       struct manifest_target *out)
{
	static const char *const fields[] = {"eviction", "drainTimeoutSeconds", "onDrainTimeout"};
	static const char *const evictions[] = {
		[EVICTION_DRAIN] = "Drain", [EVICTION_TAINT] = "Taint", [EVICTION_NONE] = "None", NULL};
	static const char *const timeouts[] = {[ON_DRAIN_TIMEOUT_KEEP] = "Keep", [ON_DRAIN_TIMEOUT_TAINT] = "Taint", NULL};
	int eviction = EVICTION_DRAIN;
	int on_timeout = ON_DRAIN_TIMEOUT_KEEP;

	for (size_t i = 0; i < sizeof fields / sizeof *fields && !text_equal(out->kind, "EksNode"); i++) {
		if (member(target, fields[i]) != NULL)
			return refuse(place, below(place, path, fields[i]), "is for the kind EksNode only");
	}
	out->drain_timeout_s = DRAIN_TIMEOUT_DEFAULT_S;
	if (!read_word(place, below(place, path, fields[0]), member(target, fields[0]), evictions, &eviction) ||
	    !read_whole_number(place, below(place, path, fields[1]), member(target, fields[1]), 1, DRAIN_TIMEOUT_MAX_S,
	                       &out->drain_timeout_s) ||
	    !read_word(place, below(place, path, fields[2]), member(target, fields[2]), timeouts, &on_timeout))
		return false;
	out->eviction = (enum eviction)eviction;
	out->on_timeout = (enum on_drain_timeout)on_timeout;
	return true;
}

static bool read_kind(const struct place *place, const char *path, const struct json *target, struct manifest *out)
{
	static const char *const kinds[] = {"EksNode", "AutoScalingGroup", "EcsService", "LambdaFunction", NULL};
	const char *kind_path = below(place, path, "kind");
	int kind = -1;

	if (!read_word(place, kind_path, member(target, "kind"), kinds, &kind))
		return false;
	if (kind < 0)
		return refuse(place, kind_path, "is missing; give EksNode, AutoScalingGroup, EcsService or LambdaFunction");
	out->targets[out->target_count].kind = kinds[kind];
	for (size_t i = 0; i < out->target_count; i++) {
		if (text_equal(out->targets[i].kind, kinds[kind]))
			return error_set(place->error, ERROR_INPUT, "%s: %s is there twice; one entry a kind is allowed", kind_path,
			                 kinds[kind]);
	}
	return true;
}

static bool read_target(const struct place *place, const char *path, const struct json *target, struct manifest *out)
{
	static const char *const known[] = {"kind", "selector", "eviction", "drainTimeoutSeconds", "onDrainTimeout", NULL};
	struct manifest_target *entry = &out->targets[out->target_count];

	if (!check_object(place, path, target, known) || !read_kind(place, path, target, out) ||
	    !read_selector(place, below(place, path, "selector"), member(target, "selector"), &entry->selector) ||
	    !read_drain(place, path, target, entry))
		return false;
	out->target_count++;
	return true;
}

static bool read_targets(const struct place *place, const struct json *spec, struct manifest *out)
{
	const struct json *targets = member(spec, "targets");

	if (json_type(targets) != JSON_ARRAY || json_count(targets) == 0)
		return refuse(place, "spec.targets",
		              "must be a list of 1 to 16 entries, such as {kind: EksNode, selector: {all: true}}");
	if (json_count(targets) > MANIFEST_TARGETS_MAX)
		return refuse(place, "spec.targets", "must not have more than 16 entries");
	for (size_t i = 0; i < json_count(targets); i++) {
		if (!read_target(place, nth(place, "spec.targets", i), json_at(targets, i), out))
			return false;
	}
	return true;
}

static bool read_pacing(const struct place *place, const struct json *spec, struct manifest *out)
{
	static const char *const known[] = {"maxInFlight", "batchPercent", "batchIntervalSeconds", NULL};
	const struct json *pacing = member(spec, "pacing");

	if (pacing == NULL)
		return true;
	return check_object(place, "spec.pacing", pacing, known) &&
	       read_whole_number(place, "spec.pacing.maxInFlight", member(pacing, "maxInFlight"), 1, IN_FLIGHT_MAX,
	                         &out->max_in_flight) &&
	       read_whole_number(place, "spec.pacing.batchPercent", member(pacing, "batchPercent"), 1, 100,
	                         &out->batch_percent) &&
	       read_whole_number(place, "spec.pacing.batchIntervalSeconds", member(pacing, "batchIntervalSeconds"), 0,
	                         BATCH_INTERVAL_MAX_S, &out->batch_interval_s);
}

static const char *overridable_guards(struct arena *arena)
{
	struct string_list names = {0};

	for (int guard = GUARD_NONE + 1; guard < GUARDS; guard++) {
		if (guard_is_overridable((enum guard)guard))
			string_list_add(&names, arena, guard_name((enum guard)guard));
	}
	return string_list_join(&names, arena, ", ");
}

static bool read_guard(const struct place *place, const char *path, const struct json *value, enum guard *out)
{
	const char *name;

	if (!read_string(place, path, value, TEXT_MAX, &name))
		return false;
	*out = guard_parse(name);
	if (!guard_is_overridable(*out))
		return error_set(place->error, ERROR_INPUT, "%s: %s; those that may be overridden are %s", path,
		                 name == NULL ? "is missing" : "is no guard that may be overridden",
		                 overridable_guards(place->arena));
	return true;
}

static bool read_reason(const struct place *place, const char *path, const struct json *value, const char **out)
{
	if (!read_string(place, path, value, TEXT_MAX, out))
		return false;
	return *out != NULL || refuse(place, path, "is missing; say why the guard may be overridden");
}

static bool read_allowance(const struct place *place, const char *path, const struct json *entry, struct allowance *out)
{
	static const char *const known[] = {"guard", "reason", "matchNames", NULL};

	return check_object(place, path, entry, known) &&
	       read_guard(place, below(place, path, "guard"), member(entry, "guard"), &out->guard) &&
	       read_reason(place, below(place, path, "reason"), member(entry, "reason"), &out->reason) &&
	       read_names(place, below(place, path, "matchNames"), member(entry, "matchNames"), &out->match_names);
}

static bool read_guards(const struct place *place, const struct json *spec, struct manifest *out)
{
	static const char *const known[] = {"minRemainingZones", "maxNodesPercent", "allowOtherZones", "allow", NULL};
	const struct json *guards = member(spec, "guards");
	const struct json *allow = member(guards, "allow");

	if (guards == NULL)
		return true;
	if (!check_object(place, "spec.guards", guards, known) ||
	    !read_whole_number(place, "spec.guards.minRemainingZones", member(guards, "minRemainingZones"), 1, ZONES_MAX,
	                       &out->min_remaining_zones) ||
	    !read_whole_number(place, "spec.guards.maxNodesPercent", member(guards, "maxNodesPercent"), 1, 100,
	                       &out->max_nodes_percent) ||
	    !read_flag(place, "spec.guards.allowOtherZones", member(guards, "allowOtherZones"), &out->allow_other_zones))
		return false;
	if (allow != NULL && json_type(allow) != JSON_ARRAY)
		return refuse(place, "spec.guards.allow", "must be a list, such as [{guard: ManagedByEks, reason: …}]");
	if (json_count(allow) > MANIFEST_ALLOWANCES_MAX)
		return refuse(place, "spec.guards.allow", "must not have more than 16 entries");
	for (size_t i = 0; i < json_count(allow); i++) {
		if (!read_allowance(place, nth(place, "spec.guards.allow", i), json_at(allow, i), &out->allowances[i]))
			return false;
		out->allowance_count++;
	}
	return true;
}

static bool read_spec(const struct place *place, const struct json *spec, struct manifest *out)
{
	static const char *const known[] = {
		"zoneId", "region", "mode", "planHash", "targets", "pacing", "guards", "expiresAfterSeconds", NULL};

	if (json_type(spec) != JSON_OBJECT)
		return check_object(place, "spec", spec, known);
	/* Which zone it is about is known even where the rest is refused: what was taken out of it must still find its way back. */
	return read_zone(place, spec, out) && read_region(place, spec, out) && check_object(place, "spec", spec, known) &&
	       read_mode(place, spec, out) && read_plan_hash(place, spec, out) && read_targets(place, spec, out) &&
	       read_pacing(place, spec, out) && read_guards(place, spec, out) &&
	       read_whole_number(place, "spec.expiresAfterSeconds", member(spec, "expiresAfterSeconds"), 0, EXPIRY_MAX_S,
	                         &out->expires_after_s);
}

static void read_metadata(const struct json *object, struct manifest *out)
{
	const struct json *metadata = json_get(object, "metadata");

	out->name = json_get_string(metadata, "name");
	out->uid = json_get_string(metadata, "uid");
	out->resource_version = json_get_string(metadata, "resourceVersion");
	out->generation = json_integer(json_get(metadata, "generation"), 0);
	out->created_at = json_get_string(metadata, "creationTimestamp");
	out->deleting = json_get_string(metadata, "deletionTimestamp") != NULL;
	out->finalizer = kube_has_finalizer(object);
}

/* What the API server stores is of our kind by its path; a file may be of any. */
static bool check_kind(const struct place *place, const struct json *object)
{
	const char *version = json_get_string(object, "apiVersion");
	const char *kind = json_get_string(object, "kind");
	bool stored = json_path_string(object, "metadata.uid") != NULL;

	if ((version != NULL || !stored) && !text_equal(version, API_VERSION))
		return refuse(place, "apiVersion", "must be " API_VERSION);
	if ((kind != NULL || !stored) && !text_equal(kind, KIND))
		return refuse(place, "kind", "must be " KIND);
	return true;
}

bool manifest_read(struct arena *arena, const struct json *object, struct manifest *out, struct error *error)
{
	const struct place place = {arena, error};

	*out = (struct manifest){.max_in_flight = IN_FLIGHT_DEFAULT,
	                         .batch_percent = 100,
	                         .min_remaining_zones = 1,
	                         .max_nodes_percent = NODES_PERCENT_DEFAULT};
	if (json_type(object) != JSON_OBJECT)
		return error_set(error, ERROR_INPUT, "it is not a " KIND ": an object is expected");
	read_metadata(object, out);
	if (!check_kind(&place, object))
		return false;
	if (out->name == NULL || *out->name == '\0')
		return refuse(&place, "metadata.name", "is missing; give it a name, such as the zone's id");
	if (strlen(out->name) > 253)
		return refuse(&place, "metadata.name", "must not be longer than 253 bytes");
	return read_spec(&place, member(object, "spec"), out);
}
