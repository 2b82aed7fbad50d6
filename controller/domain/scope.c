#include "domain/scope.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char *const EXCLUDE_TAG = "zonevac.dev/exclude";

static int compare_subnets(const void *a, const void *b)
{
	const struct subnet *left = a;
	const struct subnet *right = b;

	return strcmp(left->id, right->id);
}

void subnets_sort(struct subnets *subnets)
{
	if (subnets->count > 1)
		qsort(subnets->at, subnets->count, sizeof(*subnets->at), compare_subnets);
}

const struct subnet *scope_subnet(const struct scope *scope, const char *subnet_id)
{
	struct subnet wanted = {.id = subnet_id};

	if (subnet_id == NULL || scope->subnets.count == 0)
		return NULL;
	return bsearch(&wanted, scope->subnets.at, scope->subnets.count, sizeof(wanted), compare_subnets);
}

bool scope_holds(const struct scope *scope, const char *resource_id)
{
	return string_list_has_sorted(&scope->held_ids, resource_id);
}

bool scope_is_node(const struct scope *scope, const char *instance_id)
{
	return string_list_has_sorted(&scope->node_instances, instance_id);
}

bool scope_in_zone(const struct scope *scope, const char *subnet_id)
{
	const struct subnet *subnet = scope_subnet(scope, subnet_id);

	return subnet != NULL && text_equal(subnet->zone_id, scope->zone_id);
}

void tags_add(struct tags *tags, struct arena *arena, const char *key, const char *value)
{
	tags->at = arena_grow(arena, tags->at, tags->count, &tags->capacity, sizeof(*tags->at));
	tags->at[tags->count++] = (struct tag){key, value};
}

const char *tags_get(const struct tags *tags, const char *key)
{
	for (size_t i = 0; i < tags->count; i++)
		if (text_equal(tags->at[i].key, key))
			return tags->at[i].value;
	return NULL;
}

static bool has_tag(const struct tags *tags, const struct tag *wanted)
{
	const char *value = tags_get(tags, wanted->key);

	return value != NULL && text_equal(value, wanted->value);
}

static bool has_all_tags(const struct tags *tags, const struct tags *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!has_tag(tags, &wanted->at[i]))
			return false;
	return true;
}

static bool has_any_tag(const struct tags *tags, const struct tags *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (has_tag(tags, &wanted->at[i]))
			return true;
	return false;
}

/* "cluster/web" beside a plain "web": the part before the slash is not the resource's own name. */
static bool is_qualified(const struct string_list *names, const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL && string_list_has(names, slash + 1);
}

static bool glob_matches(const char *glob, const struct string_list *names)
{
	for (size_t i = 0; i < names->count; i++) {
		/* Else "prod*" would take every service of a cluster that is called prod. */
		int flags = is_qualified(names, names->at[i]) ? FNM_PATHNAME : 0;

		if (fnmatch(glob, names->at[i], flags) == 0)
			return true;
	}
	return false;
}

static bool any_glob_matches(const struct string_list *globs, const struct string_list *names)
{
	for (size_t i = 0; i < globs->count; i++)
		if (glob_matches(globs->at[i], names))
			return true;
	return false;
}

bool selector_may_match(const struct selector *selector, const struct string_list *names)
{
	if (any_glob_matches(&selector->exclude_names, names))
		return false;
	if (selector->match_names.count > 0)
		return any_glob_matches(&selector->match_names, names);
	return selector->all || selector->match_tags.count > 0;
}

bool selector_matches(const struct selector *selector, const struct tags *tags, const struct string_list *names)
{
	bool by_tags = selector->match_tags.count > 0;
	bool by_names = selector->match_names.count > 0;

	if (has_any_tag(tags, &selector->exclude_tags) || any_glob_matches(&selector->exclude_names, names))
		return false;
	if (selector->all)
		return true;
	if (!by_tags && !by_names)
		return false;
	return (!by_tags || has_all_tags(tags, &selector->match_tags)) &&
	       (!by_names || any_glob_matches(&selector->match_names, names));
}

/* Tags that tools leave, those that say most first: a Beanstalk environment has the tags of a stack, too. */
static const struct {
	const char *key;
	const char *what;
} owner_tags[] = {
	{"elasticbeanstalk:environment-name", "Elastic Beanstalk environment"},
	{"aws:cloudformation:stack-name", "CloudFormation stack"},
	{"eks:nodegroup-name", "EKS node group"},
	{"crossplane-name", "Crossplane resource"},
	{"services.k8s.aws/namespace", "the AWS controllers for Kubernetes in namespace"},
};

/* "managed-by", "ManagedBy", "managed_by" … are one word. */
static bool key_is(const char *key, const char *word)
{
	for (; *key != '\0'; key++) {
		if (*key == '-' || *key == '_' || *key == ' ')
			continue;
		if (tolower((unsigned char)*key) != *word)
			return false;
		word++;
	}
	return *word == '\0';
}

/* What nobody prescribes but many write. */
static const char *owner_by_custom(const struct tag *tag)
{
	if (tag->value[0] == '\0' || strcasecmp(tag->value, "false") == 0)
		return NULL;
	if (key_is(tag->key, "terraform"))
		return "Terraform";
	return key_is(tag->key, "managedby") || key_is(tag->key, "provisionedby") ? tag->value : NULL;
}

const char *tags_owner_sentence(const struct tags *tags, struct arena *arena)
{
	for (size_t i = 0; i < sizeof(owner_tags) / sizeof(owner_tags[0]); i++) {
		const char *value = tags_get(tags, owner_tags[i].key);

		if (value != NULL && value[0] != '\0')
			return arena_printf(arena, "its tags say that %s %s manages it", owner_tags[i].what, value);
	}
	for (size_t i = 0; i < tags->count; i++) {
		const char *owner = owner_by_custom(&tags->at[i]);

		if (owner != NULL)
			return arena_printf(arena, "its tags say that %s manages it", owner);
	}
	return NULL;
}

bool tags_exclude(const struct tags *tags)
{
	return text_equal(tags_get(tags, EXCLUDE_TAG), "true");
}
