/*
 * What becomes of Lambda functions: updates that take their time, and what their owners do.
 *
 * An accepted update shows the new configuration with LastUpdateStatus InProgress for 10 to 60 s; one that fails shows the old one again. RevisionId
 * changes when an update is accepted and when it has ended.
 */
#include "world_lambda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPDATE_MS 10000
#define UPDATE_SPREAD_MS 50000
#define NEVER_MS INT64_MAX

struct sim_lambda *sim_lambda_new(void)
{
	struct sim_lambda *lambda = calloc(1, sizeof(*lambda));
	if (lambda == NULL)
		abort();
	return lambda;
}

void sim_lambda_free(struct sim_lambda *lambda)
{
	for (size_t i = 0; i < lambda->function_count; i++) {
		sim_placed_done(&lambda->functions[i]->placed);
		free(lambda->functions[i]->before);
		free(lambda->functions[i]->taken_before);
		free(lambda->functions[i]);
	}
	free(lambda);
}

struct sim_placed *sim_lambda_placed(const struct world *world, size_t index)
{
	return index < world->lambda->function_count ? &world->lambda->functions[index]->placed : NULL;
}

struct function *function_find(const struct world *world, const char *id)
{
	for (size_t i = 0; i < world->lambda->function_count; i++) {
		struct function *function = world->lambda->functions[i];
		bool is = strcmp(function->placed.name, id) == 0 || strcmp(function->placed.arn, id) == 0;
		if (is && !function->placed.deleted)
			return function;
	}
	return NULL;
}

static struct function *function_get(struct world *world, const char *name)
{
	struct function *function = function_find(world, name);
	if (function == NULL)
		sim_broken(world, "there is no function %s", name);
	return function;
}

static void update_ends(struct world *world, void *context)
{
	struct function *function = context;
	if (function->placed.deleted || !instant_reached(function->due, world->now))
		return;
	bool fails = function->failing[0] != '\0';
	function->due.ms = NEVER_MS;
	function->revision++;
	function->status = fails ? "Failed" : "Successful";
	(void)snprintf(function->reason, sizeof(function->reason), "%s", function->failing);
	function->failing[0] = '\0';
	sim_note(world, "function %s: update %s %s", function->placed.name, function->status, function->reason);
	if (!fails)
		return;
	/* Nobody can know it any sooner than of a deed of somebody else. */
	function->placed.foreign_edit = world->now;
	sim_placed_set(world, &function->placed, function->before);
	sim_replace(&function->placed.taken, function->taken_before);
}

static void update_begins(struct world *world, struct function *function)
{
	int64_t after_ms = UPDATE_MS + sim_chance(world, UPDATE_SPREAD_MS);
	function->revision++;
	function->status = "InProgress";
	function->reason[0] = '\0';
	function->due = instant_after(world->now, after_ms);
	sim_schedule(world, after_ms, THING_ACTION, NULL, update_ends, function);
}

const char *function_revision(struct arena *arena, unsigned revision)
{
	return arena_printf(arena, "00000000-0000-4000-9000-%012u", revision);
}

void function_update(struct world *world, struct function *function, const char *subnets)
{
	struct sim_placed *placed = &function->placed;
	sim_replace(&function->before, placed->subnets);
	sim_replace(&function->taken_before, placed->taken);
	(void)snprintf(function->failing, sizeof(function->failing), "%s", function->fails_with);
	function->fails_with[0] = '\0';
	sim_placed_take(world, placed, subnets);
	sim_placed_set(world, placed, subnets);
	update_begins(world, function);
}

void world_add_function(struct world *world, const char *name, const char *subnets, const char *tags)
{
	struct sim_lambda *lambda = world->lambda;
	struct function *function = calloc(1, sizeof(*function));
	if (function == NULL || lambda->function_count == FUNCTIONS_MAX)
		abort();
	sim_placed_init(&function->placed, "function", name, subnets, tags);
	(void)snprintf(function->placed.arn, sizeof(function->placed.arn),
	               "arn:aws:lambda:" WORLD_REGION ":" WORLD_ACCOUNT ":function:%s", name);
	(void)snprintf(function->groups, sizeof(function->groups), "%s", subnets != NULL ? "sg-1" : "");
	function->revision = 1;
	function->status = "Successful";
	function->due.ms = NEVER_MS;
	function->before = sim_strdup("");
	function->taken_before = sim_strdup("");
	lambda->functions[lambda->function_count++] = function;
}

/* What the owner says holds at once, whatever was under way. */
static void owner_sets(struct world *world, struct function *function, const char *subnets, const char *groups)
{
	function->revision++;
	function->status = "Successful";
	function->reason[0] = '\0';
	function->failing[0] = '\0';
	function->due.ms = NEVER_MS;
	function->placed.foreign_edit = world->now;
	(void)snprintf(function->groups, sizeof(function->groups), "%s", groups);
	sim_placed_set(world, &function->placed, subnets);
	function->placed.bare = subnets[0] == '\0';
	if (function->placed.bare)
		sim_replace(&function->placed.taken, "");
	sim_check(world);
}

void world_edit_function(struct world *world, const char *name, const char *subnets)
{
	struct function *function = function_get(world, name);
	sim_note(world, "the owner edits %s", name);
	owner_sets(world, function, subnets, arena_string(&world->scratch, function->groups));
}

void world_secure_function(struct world *world, const char *name, const char *security_groups)
{
	struct function *function = function_get(world, name);
	sim_note(world, "the owner gives %s the security groups %s", name, security_groups);
	owner_sets(world, function, arena_string(&world->scratch, function->placed.subnets), security_groups);
}

void world_tag_function(struct world *world, const char *name, const char *tags)
{
	struct sim_placed *placed = &function_get(world, name)->placed;
	(void)snprintf(placed->tags, sizeof(placed->tags), "%s", tags);
	sim_note(world, "the owner tags %s: %s", name, tags);
}

void world_hide_tags(struct world *world, const char *name)
{
	function_get(world, name)->tags_hidden = true;
}

void world_touch_function(struct world *world, const char *name)
{
	struct function *function = function_get(world, name);
	if (strcmp(function->status, "InProgress") == 0)
		return;
	sim_note(world, "somebody else updates %s", name);
	update_begins(world, function);
}

void world_delete_function(struct world *world, const char *name)
{
	function_get(world, name)->placed.deleted = true;
	sim_note(world, "the owner deletes %s", name);
}

void world_fail_update(struct world *world, const char *name, const char *reason)
{
	struct function *function = function_get(world, name);
	(void)snprintf(function->fails_with, sizeof(function->fails_with), "%s", reason);
}

unsigned world_publish_version(struct world *world, const char *name)
{
	struct function *function = function_get(world, name);
	if (function->version_count == VERSIONS_MAX)
		sim_broken(world, "more than %d versions", VERSIONS_MAX);
	struct version *version = &function->versions[function->version_count++];
	version->number = (unsigned)function->version_count;
	(void)snprintf(version->subnets, sizeof(version->subnets), "%s", function->placed.subnets);
	(void)snprintf(version->groups, sizeof(version->groups), "%s", function->groups);
	sim_note(world, "the owner publishes %s:%u in %s", name, version->number, version->subnets);
	return version->number;
}

void world_alias(struct world *world, const char *name, const char *alias, unsigned version)
{
	struct function *function = function_get(world, name);
	size_t at = 0;
	while (at < function->alias_count && strcmp(function->aliases[at].name, alias) != 0)
		at++;
	if (at == ALIASES_MAX)
		sim_broken(world, "more than %d aliases", ALIASES_MAX);
	function->alias_count += at == function->alias_count;
	(void)snprintf(function->aliases[at].name, sizeof(function->aliases[at].name), "%s", alias);
	function->aliases[at].version = version;
}

const char *world_function(struct world *world, const char *name)
{
	const struct function *function = function_find(world, name);
	return function != NULL ? arena_string(&world->looks, function->placed.subnets) : NULL;
}

const char *world_function_security(struct world *world, const char *name)
{
	return arena_string(&world->looks, function_get(world, name)->groups);
}

const char *world_function_status(struct world *world, const char *name)
{
	return function_get(world, name)->status;
}

const char *world_function_arn(struct world *world, const char *name)
{
	return function_get(world, name)->placed.arn;
}

void sim_lambda_print(const struct world *world, struct text *out)
{
	for (size_t i = 0; i < world->lambda->function_count; i++) {
		const struct function *function = world->lambda->functions[i];
		if (!function->placed.deleted)
			text_printf(out, "function %s %s %s\n", function->placed.name, function->placed.subnets, function->groups);
	}
}
