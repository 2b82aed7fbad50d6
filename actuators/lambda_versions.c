/*
 * Published versions of a function: they keep the subnets they were published with, and aliases keep pointing to them.
 */
#include <string.h>

#include "base/text.h"
#include "domain/delta.h"
#include "lambda.h"

void lambda_versions_remark(const struct scope *scope, const struct change *change, enum direction direction,
                            struct arena *arena, struct probes *out)
{
	struct lambda_question *question = ARENA_NEW(arena, struct lambda_question);
	struct string_list reduced = delta_without(&change->order, &change->removed, arena);

	(void)scope;
	question->id = arena_string(arena, change->id);
	question->removed = string_list_copy(&change->removed, arena);
	question->reduced = string_list_copy(&reduced, arena);
	if (direction == DIRECTION_OUT)
		lambda_ask_list(out, LAMBDA_ALIASES, question, "ListAliases", lambda_path(question->id, "/aliases", arena),
		                arena);
	else if (reduced.count > 0)
		lambda_ask_list(out, LAMBDA_VERSIONS, question, "ListVersionsByFunction",
		                lambda_path(question->id, "/versions", arena), arena);
}

static bool is_published(const char *version)
{
	return text_all_digits(version); /* the other one is "$LATEST" */
}

static void add_remark(struct resources *resources, const struct lambda_question *question, const char *remark,
                       struct arena *arena)
{
	*resources_add(resources, arena) = (struct resource){.kind = LAMBDA_KIND, .id = question->id, .remark = remark};
}

/* Each version is asked of once, for all the aliases of the page that point to it. */
struct versions {
	struct lambda_question *at;
	size_t count;
	size_t capacity;
};

static void add_target(const struct lambda_hearing *hearing, const char *alias, const char *version,
                       struct versions *out)
{
	const struct lambda_question *asked = hearing->probe->context;
	size_t i = 0;

	if (!is_published(version))
		return;
	while (i < out->count && strcmp(out->at[i].version, version) != 0)
		i++;
	if (i == out->count) {
		out->at = arena_grow(hearing->arena, out->at, out->count, &out->capacity, sizeof(*out->at));
		out->at[out->count++] = (struct lambda_question){
			.id = asked->id, .removed = asked->removed, .version = arena_string(hearing->arena, version)};
	}
	string_list_add(&out->at[i].aliases, hearing->arena, arena_string(hearing->arena, alias));
}

static bool read_alias(const struct lambda_hearing *hearing, const struct json *alias, struct versions *out)
{
	const struct json *weights = json_path(alias, "RoutingConfig.AdditionalVersionWeights");
	const char *name = answer_text(alias, "Name");

	if (name == NULL)
		return error_set(hearing->error, ERROR_MALFORMED, "ListAliases: an alias of the answer has no Name");
	add_target(hearing, name, answer_text(alias, "FunctionVersion"), out);
	for (size_t i = 0; i < json_count(weights); i++) {
		const char *version = NULL;

		json_member(weights, i, &version);
		add_target(hearing, name, version, out);
	}
	return true;
}

static bool learn_aliases(const struct lambda_hearing *hearing)
{
	const struct json *aliases = json_get(hearing->root, "Aliases");
	struct versions versions = {0};

	if (json_type(aliases) != JSON_ARRAY)
		return lambda_lacks(hearing, "Aliases");
	for (size_t i = 0; i < json_count(aliases); i++) {
		if (!read_alias(hearing, json_at(aliases, i), &versions))
			return false;
	}
	for (size_t i = 0; i < versions.count; i++) {
		const struct lambda_question *question = &versions.at[i];

		lambda_ask(hearing->further, LAMBDA_VERSION, question, "GetFunction",
		           lambda_path(question->id, "", hearing->arena),
		           arena_printf(hearing->arena, "Qualifier=%s", question->version), hearing->arena);
	}
	lambda_ask_further(hearing);
	return true;
}

static bool learn_version(const struct lambda_hearing *hearing)
{
	const struct lambda_question *question = hearing->probe->context;
	const struct json *configuration = json_get(hearing->root, "Configuration");
	struct string_list subnets = json_strings(json_path(configuration, "VpcConfig.SubnetIds"), hearing->arena);
	struct string_list kept = delta_present(&subnets, &question->removed, hearing->arena);
	bool several = question->aliases.count > 1;

	if (json_type(configuration) != JSON_OBJECT)
		return lambda_lacks(hearing, "Configuration");
	if (kept.count > 0)
		add_remark(hearing->resources, question,
		           arena_printf(hearing->arena,
		                        "alias%s %s still point%s to version %s, which keeps %s (published versions cannot be "
		                        "changed; publish a new one and move the alias%s)",
		                        several ? "es" : "", string_list_join(&question->aliases, hearing->arena, ", "),
		                        several ? "" : "s", question->version, string_list_join(&kept, hearing->arena, ", "),
		                        several ? "es" : ""),
		           hearing->arena);
	return true;
}

static bool learn_versions(const struct lambda_hearing *hearing)
{
	const struct lambda_question *question = hearing->probe->context;
	const struct json *versions = json_get(hearing->root, "Versions");
	const char *without = string_list_join(&question->removed, hearing->arena, ", ");
	struct string_list found = {0};

	if (json_type(versions) != JSON_ARRAY)
		return lambda_lacks(hearing, "Versions");
	for (size_t i = 0; i < json_count(versions); i++) {
		const char *version = answer_text(json_at(versions, i), "Version");
		struct string_list subnets =
			json_strings(json_path(json_at(versions, i), "VpcConfig.SubnetIds"), hearing->arena);

		if (is_published(version) && string_list_same_set(&subnets, &question->reduced))
			string_list_add(&found, hearing->arena, version);
	}
	if (found.count > 0)
		add_remark(hearing->resources, question,
		           arena_printf(hearing->arena,
		                        found.count == 1
		                            ? "version %s was published without %s and stays so; publish a new one"
		                            : "versions %s were published without %s and stay so; publish new ones",
		                        string_list_join(&found, hearing->arena, ", "), without),
		           hearing->arena);
	lambda_ask_further(hearing);
	return true;
}

bool lambda_versions_learn(const struct lambda_hearing *hearing)
{
	switch (hearing->probe->step) {
	case LAMBDA_ALIASES:
		return learn_aliases(hearing);
	case LAMBDA_VERSION:
		return learn_version(hearing);
	default:
		return learn_versions(hearing);
	}
}

void lambda_versions_unknown(const struct lambda_question *question, const struct error *error, struct arena *arena,
                             struct resources *resources)
{
	add_remark(resources, question,
	           arena_printf(arena, "what its published versions use is not known: %s", error->message), arena);
}
