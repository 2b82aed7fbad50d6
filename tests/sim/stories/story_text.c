/*
 * A story as text, one line a thing or event.
 */
#include "story.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const story_casts[CASTS] = {"one", "replicas", "clusters", "alone"};

static const char *const kinds[STORY_KINDS] = {"group", "service", "function", "node"};

const char *const story_verbs[VERBS] = {
	[VERB_APPLY] = "apply",       [VERB_DELETE] = "delete",
	[VERB_ABANDON] = "abandon",   [VERB_KILL] = "kill",
	[VERB_FAULT] = "fault",       [VERB_LATE] = "late",
	[VERB_OUTAGE] = "outage",     [VERB_PAUSE] = "pause",
	[VERB_STEAL] = "steal",       [VERB_SKEW] = "skew",
	[VERB_SLOW] = "slow",         [VERB_END_WATCHES] = "end-watches",
	[VERB_COMPACT] = "compact",   [VERB_FREEZE_WATCHES] = "freeze-watches",
	[VERB_HIDE] = "hide",         [VERB_LOSE_TABLE] = "lose-table",
	[VERB_ADD] = "add",           [VERB_REMOVE] = "remove",
	[VERB_MOVE] = "move",         [VERB_RIVAL] = "rival",
	[VERB_DESTROY] = "destroy",   [VERB_RECREATE] = "recreate",
	[VERB_EXCLUDE] = "exclude",   [VERB_SECURE] = "secure",
	[VERB_TOUCH] = "touch",       [VERB_BREAK] = "break",
	[VERB_PIN] = "pin",           [VERB_FORGET] = "forget",
	[VERB_UNCORDON] = "uncordon", [VERB_STRIP] = "strip",
	[VERB_JOIN] = "join",         [VERB_FREEZE_NODE] = "freeze-node",
};

static const char *word(const char *string)
{
	return string[0] != '\0' ? string : "-";
}

void story_print(const struct story *story, struct text *out)
{
	text_printf(out, "story %" PRIu64 " %s %d\n", story->seed, story_casts[story->cast], story->zones);
	for (size_t i = 0; i < story->thing_count; i++) {
		const struct story_thing *thing = &story->things[i];
		text_printf(out, "thing %s %s %s %d %u\n", kinds[thing->kind], thing->name, word(thing->place), thing->count,
		            thing->traits);
	}
	for (size_t i = 0; i < story->event_count; i++) {
		const struct story_event *event = &story->events[i];
		text_printf(out, "event %" PRId64 " %s %s %s %" PRId64 " %" PRId64 "\n", event->at_ms, story_verbs[event->verb],
		            word(event->who), word(event->what), event->a, event->b);
	}
}

static int word_index(const char *const *words, int count, const char *wanted)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], wanted) == 0)
			return i;
	return -1;
}

static void drop_dash(char *string)
{
	if (strcmp(string, "-") == 0)
		string[0] = '\0';
}

static bool read_head(const char *line, struct story *out)
{
	char cast[16];
	if (sscanf(line, "story %" SCNu64 " %15s %d", &out->seed, cast, &out->zones) != 3)
		return false;
	int index = word_index(story_casts, CASTS, cast);
	out->cast = (enum story_cast)index;
	return index >= 0 && out->zones >= 1 && out->zones <= 3;
}

static bool read_thing(const char *line, struct story *out)
{
	char kind[16];
	if (out->thing_count == STORY_THINGS_MAX)
		return false;
	struct story_thing *thing = &out->things[out->thing_count++];
	if (sscanf(line, "thing %15s %31s %95s %d %u", kind, thing->name, thing->place, &thing->count, &thing->traits) != 5)
		return false;
	int index = word_index(kinds, STORY_KINDS, kind);
	thing->kind = (enum story_kind)index;
	drop_dash(thing->place);
	return index >= 0;
}

static bool read_event(const char *line, struct story *out)
{
	char verb[24];
	if (out->event_count == STORY_EVENTS_MAX)
		return false;
	struct story_event *event = &out->events[out->event_count++];
	if (sscanf(line, "event %" SCNd64 " %23s %31s %63s %" SCNd64 " %" SCNd64, &event->at_ms, verb, event->who,
	           event->what, &event->a, &event->b) != 6)
		return false;
	int index = word_index(story_verbs, VERBS, verb);
	event->verb = (enum story_verb)index;
	drop_dash(event->who);
	drop_dash(event->what);
	return index >= 0;
}

static bool read_line(const char *line, struct story *out)
{
	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (strncmp(line, "story ", 6) == 0)
		return read_head(line, out);
	return strncmp(line, "thing ", 6) == 0 ? read_thing(line, out) : read_event(line, out);
}

bool story_read(const char *text, struct story *out, char *why, size_t why_size)
{
	char line[256];
	memset(out, 0, sizeof(*out));
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)(length < sizeof(line) ? length : sizeof(line) - 1), text);
		text += length + (text[length] == '\n');
		if (!read_line(line, out)) {
			(void)snprintf(why, why_size, "not a line of a story: %s", line);
			return false;
		}
	}
	(void)snprintf(why, why_size, "it has no line that begins with \"story\"");
	return out->zones > 0;
}
