/*
 * A story: a small world, who acts in it, and what happens when. All of it is data, so that a story can be made from a seed, printed, read,
 * played and shrunk.
 *
 * As text, one thing or event a line, "-" for nothing:
 *   story SEED CAST ZONES
 *   thing KIND NAME PLACE COUNT TRAITS
 *   event AT_MS VERB WHO WHAT A B
 */
#ifndef TESTS_SIM_STORY_H
#define TESTS_SIM_STORY_H

#include "base/text.h"

#define STORY_THINGS_MAX 24
#define STORY_EVENTS_MAX 64

/* Who runs: one controller; two replicas of one cluster; the controllers of two clusters in one account; one controller without a lease. */
enum story_cast { CAST_ONE, CAST_REPLICAS, CAST_CLUSTERS, CAST_ALONE, CASTS };

/* place: subnets, of a node its zone. count: instances, tasks, pods. */
enum story_kind { THING_GROUP, THING_SERVICE, THING_FUNCTION, THING_NODE, STORY_KINDS };

enum story_trait {
	TRAIT_NODES = 1,         /* group: its instances are nodes of the cluster */
	TRAIT_NO_ROLLOUT = 1,    /* service: its deployments do not say how they get on */
	TRAIT_DAEMON = 2,        /* service */
	TRAIT_CODE_DEPLOY = 4,   /* service */
	TRAIT_TAGS_HIDDEN = 1,   /* function */
	TRAIT_CORDONED = 1,      /* node: by a person, before */
	TRAIT_FOREIGN_TAINT = 2, /* node */
	TRAIT_BUDGET = 4,        /* node: of its pods one at a time may be evicted */
	TRAIT_BARE_POD = 8,      /* node: one of its pods is nobody's */
};

enum story_verb {
	/* who: an evacuation, "name" or "name@2" of the second cluster */
	VERB_APPLY, /* what: zone:mode:kinds (N, G, S, F); a: expires after so many seconds, 0 = never; b: story_option */
	VERB_DELETE,
	VERB_ABANDON, /* deleted, and let go; what it leaves is put back by another one in the end */
	/* the machinery */
	VERB_KILL,   /* a: at the nth effect from now; b: 1 = after it */
	VERB_FAULT,  /* who: the operation; a: its nth call; b: enum world_fault */
	VERB_LATE,   /* a: late calls arrive so many ms after they were submitted */
	VERB_OUTAGE, /* who: kube, aws, or a service of AWS; a: ms; b: enum world_fault, of a service */
	VERB_PAUSE,  /* a: ms; b: which client */
	VERB_STEAL,  /* the lease; a: ms */
	VERB_SKEW,   /* a: ms */
	VERB_SLOW,   /* a: ms that a connection takes */
	VERB_END_WATCHES,
	VERB_COMPACT,
	VERB_FREEZE_WATCHES, /* a: ms */
	VERB_HIDE,           /* who: a subnet; a: answers */
	VERB_LOSE_TABLE,     /* a: ms until there is one again; b: 1 = from its backup, 0 = an empty one */
	/* owners; who: a thing */
	VERB_ADD,    /* what: a subnet */
	VERB_REMOVE, /* what: a subnet */
	VERB_MOVE,   /* to the other VPC */
	VERB_RIVAL,  /* of a group; what: a subnet; a: ms after which it is put back; b: times */
	VERB_DESTROY,
	VERB_RECREATE,
	VERB_EXCLUDE, /* a: 1 = tagged, 0 = no more */
	VERB_SECURE,  /* other security groups */
	VERB_TOUCH,   /* of a function: an update of something else */
	VERB_BREAK, /* of a service: the next deployment fails; b: 1 = and is rolled back. Of a function: its next update fails */
	VERB_PIN,    /* of a group: its instances do not go; what: zone; a: ms */
	VERB_FORGET, /* its record is deleted; what: zone */
	VERB_UNCORDON,
	VERB_STRIP, /* a node, of all annotations and taints */
	VERB_JOIN,  /* a new node; who: its name; what: zone */
	VERB_FREEZE_NODE,
	VERBS
};

enum story_option {
	OPTION_HALF = 1,         /* only what has an even number in its name */
	OPTION_EXCLUDE = 2,      /* but not what has a 1 in its name */
	OPTION_TAINT = 4,        /* eviction: Taint */
	OPTION_NO_EVICTION = 8,  /* eviction: None */
	OPTION_SHORT_DRAIN = 16, /* 30 s, then Taint */
	OPTION_UNREPLICATED = 32,
	OPTION_UNDRAINED = 64,
	OPTION_OTHER_ZONES = 128, /* guards.allowOtherZones */
	OPTION_BATCHES = 256,     /* pacing: a third at a time, 15 s apart */
	OPTION_PLANNED = 512,     /* planHash: of its plan, when it has one */
};

struct story_thing {
	enum story_kind kind;
	char name[32];
	char place[96];
	int count;
	unsigned traits;
};

struct story_event {
	int64_t at_ms;
	enum story_verb verb;
	char who[32];
	char what[64];
	int64_t a, b;
};

struct story {
	uint64_t seed;
	enum story_cast cast;
	int zones; /* 1..3 */
	struct story_thing things[STORY_THINGS_MAX];
	size_t thing_count;
	struct story_event events[STORY_EVENTS_MAX]; /* in the order of time */
	size_t event_count;
};

/* What may be asked of the maker beside the seed. */
struct story_taste {
	bool other_zones; /* in every story, not in one of five: evacuations that allow another zone's at the same time */
};

void story_make(struct story *out, uint64_t seed, const struct story_taste *taste);

/* story_text.c */
extern const char *const story_casts[CASTS];
extern const char *const story_verbs[VERBS];
void story_print(const struct story *story, struct text *out);
/* False, and a sentence, when it is no story. */
bool story_read(const char *text, struct story *out, char *why, size_t why_size);

#endif
