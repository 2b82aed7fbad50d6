/*
 * Evacuations in a story: applied, deleted, let go.
 */
#include "play.h"

#include <stdio.h>
#include <string.h>

const char *play_evacuation(struct play *play, const char *who)
{
	const char *at = strchr(who, '@');
	world_turn_to_cluster(play->world, at != NULL && play->story->cast == CAST_CLUSTERS ? 1 : 0);
	return at != NULL ? arena_copy(&play->arena, who, (size_t)(at - who)) : who;
}

static void add_selector(struct text *json, int64_t options)
{
	if ((options & OPTION_HALF) != 0)
		text_printf(json, "\"selector\":{\"matchNames\":[\"*0*\",\"*2*\",\"*4*\",\"*6*\",\"*8*\"]");
	else
		text_printf(json, "\"selector\":{\"all\":true");
	text_printf(json, "%s}", options & OPTION_EXCLUDE ? ",\"exclude\":{\"matchNames\":[\"*1*\"]}" : "");
}

static void add_target(struct text *json, char kind, int64_t options)
{
	const char *name = kind == 'N'   ? "EksNode"
	                   : kind == 'G' ? "AutoScalingGroup"
	                   : kind == 'S' ? "EcsService"
	                                 : "LambdaFunction";
	text_printf(json, "%s{\"kind\":\"%s\",", json->at[json->length - 1] == '[' ? "" : ",", name);
	add_selector(json, options);
	if (kind == 'N' && (options & OPTION_TAINT) != 0)
		text_printf(json, ",\"eviction\":\"Taint\"");
	else if (kind == 'N' && (options & OPTION_NO_EVICTION) != 0)
		text_printf(json, ",\"eviction\":\"None\"");
	else if (kind == 'N' && (options & OPTION_SHORT_DRAIN) != 0)
		text_printf(json, ",\"drainTimeoutSeconds\":30,\"onDrainTimeout\":\"Taint\"");
	text_printf(json, "}");
}

static void add_guards(struct play *play, struct text *json, int64_t options)
{
	const char *allowed = options & OPTION_UNREPLICATED ? "Unreplicated"
	                      : options & OPTION_UNDRAINED  ? "NodesNotDrained"
	                                                    : NULL;
	if ((options & OPTION_UNREPLICATED) != 0)
		world_allow_unreplicated(play->world);
	if ((options & OPTION_UNDRAINED) != 0)
		world_allow_undrained(play->world);
	text_printf(json, ",\"guards\":{\"maxNodesPercent\":100%s",
	            options & OPTION_OTHER_ZONES ? ",\"allowOtherZones\":true" : "");
	if (allowed != NULL)
		text_printf(json, ",\"allow\":[{\"guard\":\"%s\",\"reason\":\"a story\",\"matchNames\":[\"*\"]}]", allowed);
	text_printf(json, "}");
}

static void add_pace(struct text *json, int64_t options)
{
	if ((options & OPTION_BATCHES) != 0)
		text_printf(json, ",\"pacing\":{\"batchPercent\":34,\"batchIntervalSeconds\":15}");
}

static void add_plan_hash(struct play *play, struct text *json, const char *name, int64_t options)
{
	const char *hash = json_path_string(world_evacuation(play->world, name), "status.planHash");
	if ((options & OPTION_PLANNED) != 0 && hash != NULL)
		text_printf(json, ",\"planHash\":\"%s\"", hash);
}

void play_apply(struct play *play, const struct story_event *event)
{
	char zone[16], mode[16], kinds[8];
	const char *name = play_evacuation(play, event->who);
	struct text json;
	play->several_zones = play->several_zones || (event->b & OPTION_OTHER_ZONES) != 0;
	if (sscanf(event->what, "%15[^:]:%15[^:]:%7s", zone, mode, kinds) != 3)
		sim_broken(play->world, "not an evacuation: %s", event->what);
	text_init(&json, 4096);
	text_printf(&json,
	            "{\"apiVersion\":\"zonevac.dev/v1alpha1\",\"kind\":\"ZonalEvacuation\",\"metadata\":{\"name\":\"%s\"},"
	            "\"spec\":{\"zoneId\":\"%s\",\"mode\":\"%s\",\"targets\":[",
	            name, zone, mode);
	for (const char *kind = kinds; *kind != '\0'; kind++)
		add_target(&json, *kind, event->b);
	text_printf(&json, "]");
	if (event->a > 0)
		text_printf(&json, ",\"expiresAfterSeconds\":%lld", (long long)event->a);
	add_guards(play, &json, event->b);
	add_pace(&json, event->b);
	add_plan_hash(play, &json, name, event->b);
	text_printf(&json, "}}");
	world_apply(play->world, json.at);
	text_done(&json);
	world_turn_to_cluster(play->world, 0);
}

void play_apply_heir(struct play *play, size_t cluster, size_t zone)
{
	struct story_event event = {.verb = VERB_APPLY, .b = play->several_zones ? OPTION_OTHER_ZONES : 0};
	(void)snprintf(event.who, sizeof(event.who), "heir%zu%s", zone, cluster > 0 ? "@2" : "");
	(void)snprintf(event.what, sizeof(event.what), "%s:Evacuate:NGSF", play->world->zones[zone].id);
	play_apply(play, &event);
}

void play_abandon(struct play *play, const struct story_event *event)
{
	const char *name = play_evacuation(play, event->who);
	if (world_evacuation(play->world, name) != NULL) {
		play->abandoned = play->interfered = true;
		world_allow_orphans(play->world);
		world_annotate_evacuation(play->world, name, "zonevac.dev/abandon", world_evacuation_uid(play->world, name));
		world_delete_evacuation(play->world, name);
	}
	world_turn_to_cluster(play->world, 0);
}
