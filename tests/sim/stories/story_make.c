/*
 * A story from a seed.
 */
#include "story.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	struct story *story;
	const struct story_taste *taste;
	uint64_t dice;
	int64_t anchors_ms[12]; /* when something is applied or deleted: most happens soon after that */
	size_t anchor_count;
	bool hidden;
	bool both; /* zones may be out at once */
};

static const char *const zones[] = {"use1-az1", "use1-az2", "use1-az4"};

/* splitmix64 */
static uint32_t roll(struct maker *maker, uint32_t below)
{
	uint64_t z = (maker->dice += 0x9e3779b97f4a7c15ULL);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (uint32_t)((z ^ (z >> 31)) % below);
}

static bool chance(struct maker *maker, uint32_t percent)
{
	return roll(maker, 100) < percent;
}

/* Things */

static void add_subnet(char *list, size_t size, const char *subnet)
{
	size_t length = strlen(list);
	(void)snprintf(list + length, size - length, "%s%s", length > 0 ? "," : "", subnet);
}

/* Two subnets a zone: "subnet-b2". */
static const char *subnet_of(int zone, uint32_t nth)
{
	static const char *const names[3][2] = {
		{"subnet-a1", "subnet-a2"}, {"subnet-b1", "subnet-b2"}, {"subnet-c1", "subnet-c2"}};
	return names[zone][nth % 2];
}

/* Mostly the first zone and another one, in any order. */
static void place(struct maker *maker, char *list, size_t size)
{
	int count = maker->story->zones;
	int first = (int)roll(maker, (uint32_t)count);
	list[0] = '\0';
	for (int i = 0; i < count; i++) {
		int zone = (first + i) % count;
		if (i > 0 && !chance(maker, zone == 0 ? 80 : 60) && !(i == count - 1 && strchr(list, ',') == NULL))
			continue;
		uint32_t nth = roll(maker, 2);
		add_subnet(list, size, subnet_of(zone, nth));
		if (chance(maker, 20))
			add_subnet(list, size, subnet_of(zone, nth + 1));
	}
}

static void fill_thing(struct maker *maker, struct story_thing *thing, int number)
{
	int hazard = (int)roll(maker, 100);
	switch (thing->kind) {
	case THING_GROUP:
		(void)snprintf(thing->name, sizeof(thing->name), "g%d", number);
		thing->count = (int)roll(maker, 4);
		thing->traits = hazard < 15 ? TRAIT_NODES : 0;
		break;
	case THING_SERVICE:
		(void)snprintf(thing->name, sizeof(thing->name), "%s/s%d", hazard % 3 == 0 ? "mill" : "shop", number);
		thing->count = (int)roll(maker, 3);
		thing->traits = hazard < 8    ? TRAIT_NO_ROLLOUT
		                : hazard < 14 ? TRAIT_DAEMON
		                : hazard < 17 ? TRAIT_CODE_DEPLOY
		                              : 0;
		break;
	case THING_FUNCTION:
		(void)snprintf(thing->name, sizeof(thing->name), "f%d", number);
		thing->traits = hazard < 4 ? TRAIT_TAGS_HIDDEN : 0;
		break;
	default:
		(void)snprintf(thing->name, sizeof(thing->name), "n%d", number);
		thing->count = (int)roll(maker, 3);
		thing->traits = roll(maker, 16) & (chance(maker, 50) ? 15 : TRAIT_BUDGET);
		(void)snprintf(thing->place, sizeof(thing->place), "%s", zones[roll(maker, (uint32_t)maker->story->zones)]);
		return;
	}
	place(maker, thing->place, sizeof(thing->place));
}

static void make_things(struct maker *maker)
{
	struct story *story = maker->story;
	uint32_t size = roll(maker, 100);
	uint32_t count = 1 + roll(maker, size < 80 ? 3 : size < 98 ? 7 : 20);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = roll(maker, 100);
		struct story_thing *thing = &story->things[story->thing_count++];
		thing->kind = kind < 38 ? THING_GROUP : kind < 60 ? THING_SERVICE : kind < 80 ? THING_FUNCTION : THING_NODE;
		fill_thing(maker, thing, (int)i);
	}
}

/* Events */

static struct story_event *add(struct maker *maker, int64_t at_ms, enum story_verb verb, const char *who,
                               const char *what)
{
	struct story *story = maker->story;
	static struct story_event spare;
	if (story->event_count == STORY_EVENTS_MAX)
		return &spare;
	struct story_event *event = &story->events[story->event_count++];
	event->at_ms = at_ms;
	event->verb = verb;
	(void)snprintf(event->who, sizeof(event->who), "%s", who);
	(void)snprintf(event->what, sizeof(event->what), "%s", what);
	return event;
}

static void anchor(struct maker *maker, int64_t at_ms)
{
	if (maker->anchor_count < sizeof(maker->anchors_ms) / sizeof(maker->anchors_ms[0]))
		maker->anchors_ms[maker->anchor_count++] = at_ms;
}

static int64_t options(struct maker *maker)
{
	static const int64_t some[] = {OPTION_HALF,        OPTION_EXCLUDE,      OPTION_TAINT,     OPTION_NO_EVICTION,
	                               OPTION_SHORT_DRAIN, OPTION_UNREPLICATED, OPTION_UNDRAINED, OPTION_BATCHES};
	int64_t set = chance(maker, 30) ? some[roll(maker, sizeof(some) / sizeof(some[0]))] : 0;
	if (chance(maker, 8))
		set |= some[roll(maker, 2)];
	return maker->both && chance(maker, 80) ? set | OPTION_OTHER_ZONES : set;
}

static void apply(struct maker *maker, int64_t at_ms, const char *name, int zone, const char *mode)
{
	static const char *const kinds[] = {"NGSF", "NGSF", "NGSF", "GSF", "G", "S", "F", "N", "NG"};
	char what[64];
	(void)snprintf(what, sizeof(what), "%s:%s:%s", zones[zone], mode,
	               kinds[roll(maker, sizeof(kinds) / sizeof(kinds[0]))]);
	struct story_event *event = add(maker, at_ms, VERB_APPLY, name, what);
	event->a = chance(maker, 12) ? (int64_t[]){1, 2, 5, 10, 20, 40, 60, 300}[roll(maker, 8)] : 0;
	event->b = options(maker);
	anchor(maker, at_ms);
}

/* Most evacuations take half a minute, some several. */
static int64_t duration_ms(struct maker *maker)
{
	uint32_t kind = roll(maker, 100);
	return kind < 45   ? roll(maker, 8000)
	       : kind < 85 ? roll(maker, 40000)
	       : kind < 95 ? roll(maker, 90000)
	                   : roll(maker, 400000);
}

static void delete_later(struct maker *maker, int64_t at_ms, const char *name)
{
	if (!chance(maker, 75))
		return; /* it is deleted in the end */
	at_ms += duration_ms(maker);
	add(maker, at_ms, chance(maker, 4) ? VERB_ABANDON : VERB_DELETE, name, "");
	anchor(maker, at_ms);
}

static int other_zone(struct maker *maker)
{
	int count = maker->story->zones;
	return count == 1 ? 0 : 1 + (int)roll(maker, (uint32_t)count - 1);
}

/* Edits of the object: mode, targets, expiry. */
static void edit_object(struct maker *maker)
{
	int64_t at_ms = duration_ms(maker);
	if (chance(maker, 15)) {
		apply(maker, 0, "out", 0, "Plan");
		apply(maker, at_ms, "out", 0, "Evacuate");
		maker->story->events[maker->story->event_count - 1].b |= chance(maker, 60) ? OPTION_PLANNED : 0;
	} else {
		apply(maker, 0, "out", 0, "Evacuate");
		for (uint32_t i = 0; i < (chance(maker, 25) ? 1 + roll(maker, 2) : 0); i++)
			apply(maker, duration_ms(maker), "out", 0, "Evacuate");
	}
}

static void make_evacuations(struct maker *maker)
{
	edit_object(maker);
	delete_later(maker, 0, "out");
	uint32_t kind = maker->both && chance(maker, 50) ? 15 : roll(maker, 100);
	int64_t at_ms = chance(maker, 50) ? 0 : duration_ms(maker);
	if (maker->story->cast == CAST_CLUSTERS) {
		apply(maker, at_ms, "out@2", chance(maker, 75) ? 0 : other_zone(maker), "Evacuate");
		delete_later(maker, at_ms, "out@2");
	}
	if (kind < 15) {
		apply(maker, at_ms, "next", 0, "Evacuate");
		delete_later(maker, at_ms, "next");
	} else if (kind < 30) {
		apply(maker, at_ms, "other", other_zone(maker), "Evacuate");
		delete_later(maker, at_ms, "other");
	} else if (kind < 38) { /* once more, under the same name */
		apply(maker, at_ms + roll(maker, 120000), "out", 0, "Evacuate");
	}
}

static int64_t moment(struct maker *maker)
{
	int64_t from = maker->anchors_ms[roll(maker, (uint32_t)maker->anchor_count)];
	uint32_t kind = roll(maker, 100);
	return from + (kind < 50 ? roll(maker, 2500) : kind < 95 ? roll(maker, 25000) : roll(maker, 300000));
}

static int64_t patience_ms(struct maker *maker)
{
	return chance(maker, 85) ? roll(maker, 20000) : roll(maker, 150000);
}

static void add_fault(struct maker *maker, int64_t at_ms)
{
	static const char *const operations[] = {"*",
	                                         "*",
	                                         "*",
	                                         "PutItem",
	                                         "UpdateItem",
	                                         "DeleteItem",
	                                         "Query",
	                                         "UpdateAutoScalingGroup",
	                                         "UpdateService",
	                                         "UpdateFunctionConfiguration",
	                                         "DescribeAutoScalingGroups",
	                                         "DescribeServices",
	                                         "GetFunction",
	                                         "DescribeSubnets",
	                                         "PATCH nodes",
	                                         "PATCH zonalevacuations",
	                                         "PATCH zonalevacuations/status",
	                                         "PUT leases",
	                                         "POST pods/eviction"};
	static const enum world_fault faults[] = {WORLD_THROTTLE, WORLD_ERROR_BEFORE, WORLD_ERROR_AFTER, WORLD_REFUSE,
	                                          WORLD_BREAK,    WORLD_LOSE_REPLY,   WORLD_LATE,        WORLD_BUSY,
	                                          WORLD_STALE,    WORLD_SILENCE,      WORLD_SLOW,        WORLD_STOP};
	uint32_t which = roll(maker, sizeof(operations) / sizeof(operations[0]));
	char operation[32];
	(void)snprintf(operation, sizeof(operation), "%s", operations[which]);
	for (char *at = operation; *at != '\0'; at++) /* words of a story have no blanks */
		*at = *at == ' ' ? '+' : *at;
	struct story_event *event = add(maker, at_ms, VERB_FAULT, operation, "");
	event->a = 1 + roll(maker, which < 3 ? 20 : 4);
	event->b = faults[roll(maker, sizeof(faults) / sizeof(faults[0]))];
}

static void add_outage(struct maker *maker, int64_t at_ms)
{
	static const char *const who[] = {"kube", "aws", "kubernetes", "autoscaling", "ec2", "lambda", "dynamodb", "ecs"};
	static const enum world_fault faults[] = {WORLD_THROTTLE, WORLD_ERROR_BEFORE, WORLD_REFUSE, WORLD_SILENCE};
	struct story_event *event = add(maker, at_ms, VERB_OUTAGE, who[roll(maker, sizeof(who) / sizeof(who[0]))], "");
	event->a = patience_ms(maker);
	event->b = faults[roll(maker, 4)];
}

static void add_machinery(struct maker *maker, int64_t at_ms)
{
	static const enum story_verb verbs[] = {VERB_LATE,           VERB_SLOW,    VERB_SKEW, VERB_END_WATCHES,
	                                        VERB_FREEZE_WATCHES, VERB_COMPACT, VERB_HIDE};
	uint32_t kind = roll(maker, 100);
	struct story_event *event;
	if (kind < 32) {
		event = add(maker, at_ms, VERB_KILL, "", "");
		event->a = 1 + roll(maker, 10);
		event->b = roll(maker, 2);
	} else if (kind < 66) {
		add_fault(maker, at_ms);
	} else if (kind < 74) {
		add_outage(maker, at_ms);
	} else if (kind < 82) {
		event = add(maker, at_ms, VERB_PAUSE, "", "");
		event->a = chance(maker, 80) ? 6000 + roll(maker, 16000) : roll(maker, 120000);
		event->b = maker->story->cast == CAST_ONE || maker->story->cast == CAST_ALONE ? 0 : roll(maker, 2);
	} else if (kind < 86) {
		add(maker, at_ms, VERB_STEAL, "", "")->a = patience_ms(maker);
	} else if (kind < 88) {
		event = add(maker, at_ms, VERB_LOSE_TABLE, "", "");
		event->a = patience_ms(maker);
		event->b = chance(maker, 60);
	} else {
		uint32_t last = maker->hidden ? 1 : 0; /* a subnet is hidden once, so that no two answers are without it */
		event = add(maker, at_ms, verbs[roll(maker, sizeof(verbs) / sizeof(verbs[0]) - last)], "", "");
		event->a = event->verb == VERB_LATE   ? 10000 + roll(maker, 270000)
		           : event->verb == VERB_SLOW ? roll(maker, 6000)
		           : event->verb == VERB_SKEW ? (int64_t)roll(maker, 1200000) - 600000
		           : event->verb == VERB_HIDE ? 1 /* two answers, a minute apart, are believed */
		                                      : patience_ms(maker);
		maker->hidden = maker->hidden || event->verb == VERB_HIDE;
		if (event->verb == VERB_HIDE)
			(void)snprintf(event->who, sizeof(event->who), "%s", subnet_of(0, roll(maker, 2)));
	}
}

static void add_deed_on_group(struct maker *maker, int64_t at_ms, const struct story_thing *thing)
{
	struct story_event *event;
	switch (roll(maker, 4)) {
	case 0:
		event = add(maker, at_ms, VERB_RIVAL, thing->name, subnet_of(0, roll(maker, 2)));
		event->a = roll(maker, 30000);
		event->b = 1 + roll(maker, 4);
		break;
	case 1:
		add(maker, at_ms, VERB_PIN, thing->name, zones[0])->a = patience_ms(maker);
		break;
	case 2:
		add(maker, at_ms, VERB_FORGET, thing->name, zones[0]);
		break;
	default:
		add(maker, at_ms, VERB_RECREATE, thing->name, "");
	}
}

static void add_deed_on_node(struct maker *maker, int64_t at_ms, const struct story_thing *thing)
{
	static const enum story_verb verbs[] = {VERB_UNCORDON, VERB_STRIP, VERB_FREEZE_NODE, VERB_DESTROY, VERB_EXCLUDE};
	char name[32];
	if (chance(maker, 25)) {
		(void)snprintf(name, sizeof(name), "%.24s-new", thing->name);
		add(maker, at_ms, VERB_JOIN, name, zones[0]);
		return;
	}
	add(maker, at_ms, verbs[roll(maker, sizeof(verbs) / sizeof(verbs[0]))], thing->name, "")->a = roll(maker, 2);
}

static void add_deed(struct maker *maker, int64_t at_ms)
{
	static const enum story_verb special[] = {VERB_SECURE, VERB_TOUCH, VERB_BREAK, VERB_FORGET, VERB_RECREATE};
	struct story *story = maker->story;
	const struct story_thing *thing = &story->things[roll(maker, (uint32_t)story->thing_count)];
	if (thing->kind == THING_NODE) {
		add_deed_on_node(maker, at_ms, thing);
		return;
	}
	if (chance(maker, 10)) { /* while it is held */
		add(maker, maker->anchors_ms[0] + 15000 + roll(maker, 45000), VERB_ADD, thing->name,
		    subnet_of(0, roll(maker, 2)));
		return;
	}
	int zone = (int)roll(maker, (uint32_t)story->zones);
	const char *subnet = subnet_of(zone, roll(maker, 2));
	uint32_t kind = roll(maker, 100);
	if (kind < 30)
		add(maker, at_ms, VERB_ADD, thing->name, subnet);
	else if (kind < 50)
		add(maker, at_ms, VERB_REMOVE, thing->name, subnet);
	else if (kind < 62)
		add(maker, at_ms, VERB_EXCLUDE, thing->name, "")->a = chance(maker, 65);
	else if (kind < 66)
		add(maker, at_ms, VERB_MOVE, thing->name, "");
	else if (kind < 71)
		add(maker, at_ms, VERB_DESTROY, thing->name, "");
	else if (thing->kind == THING_GROUP)
		add_deed_on_group(maker, at_ms, thing);
	else
		add(maker, at_ms, special[roll(maker, 5)], thing->name, zones[0])->b = roll(maker, 2);
}

/* Stable: what was added first comes first. */
static void sort_events(struct story *story)
{
	for (size_t i = 1; i < story->event_count; i++) {
		struct story_event event = story->events[i];
		size_t at = i;
		for (; at > 0 && story->events[at - 1].at_ms > event.at_ms; at--)
			story->events[at] = story->events[at - 1];
		story->events[at] = event;
	}
}

void story_make(struct story *out, uint64_t seed, const struct story_taste *taste)
{
	struct maker maker = {.story = out, .taste = taste, .dice = seed * 0x2545f4914f6cdd1dULL + 11};
	memset(out, 0, sizeof(*out));
	out->seed = seed;
	uint32_t cast = roll(&maker, 100);
	out->cast = cast < 50 ? CAST_ONE : cast < 68 ? CAST_ALONE : cast < 86 ? CAST_REPLICAS : CAST_CLUSTERS;
	maker.both = taste->other_zones || chance(&maker, 20);
	uint32_t zone_count = roll(&maker, 100);
	out->zones = zone_count < 4 ? 1 : zone_count < 40 ? 2 : 3;
	make_things(&maker);
	make_evacuations(&maker);
	uint32_t troubles = chance(&maker, 10) ? 0 : 1 + roll(&maker, chance(&maker, 80) ? 5 : 16);
	uint32_t deeds = chance(&maker, 45) ? 0 : 1 + roll(&maker, 4);
	for (uint32_t i = 0; i < troubles; i++)
		add_machinery(&maker, moment(&maker));
	for (uint32_t i = 0; i < deeds; i++)
		add_deed(&maker, moment(&maker));
	sort_events(out);
}
