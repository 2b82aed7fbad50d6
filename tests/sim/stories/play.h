/*
 * A story at play: the world it is about, who acts in it, and what its owners want it to be in the end. Private to tests/sim/stories.
 *
 * A broken rule, of the world or of the story, is told to the hook, which does not return.
 */
#ifndef TESTS_SIM_STORIES_PLAY_H
#define TESTS_SIM_STORIES_PLAY_H

#include "engine/engine.h"
#include "story.h"
#include "world_parts.h"

#define PLAY_ACTORS SIM_CLIENTS
#define PLAY_EVACUATIONS_MAX 16

struct actor {
	struct client *client;
	struct engine *engine; /* NULL: its process is dead, and begins anew at `born` */
	struct instant born;
	struct engine_settings settings;
	struct kube_config kube;
	char identity[32];
	unsigned lives;
};

/* What becomes of a thing when nobody but its owner has a say in it. */
struct owned {
	char wanted[256]; /* subnets, as a set unless nobody touched it */
	char either[256]; /* of which nobody can say */
	char security[32];
	bool touched; /* the order may be another one */
	bool excused; /* its record was deleted: nobody knows any more */
	bool gone;
	bool excluded;    /* at some time */
	bool rolled_back; /* its service may take back what it does */
	bool uncordoned;
	bool stripped;
};

struct play;

struct deed {
	struct play *play;
	const struct story_event *event;
};

/* What an evacuation claimed when it was last looked at. */
struct claim {
	char name[40];
	bool evacuated;
};

struct play {
	const struct story *story;
	struct world *world;
	struct arena arena; /* as long as the play */
	struct actor actors[PLAY_ACTORS];
	size_t actor_count;
	struct owned owned[STORY_THINGS_MAX];
	struct deed deeds[STORY_EVENTS_MAX];
	struct claim claims[PLAY_EVACUATIONS_MAX];
	size_t claim_count;
	const char *before;    /* the world's fingerprint */
	uint64_t seen_version; /* of the API servers' objects, together */
	bool hidden;           /* a subnet was missing from an answer: what stands in it is not seen */
	bool several_zones;    /* may be out at once: what each record knows of the order has gaps */
	bool table_lost;       /* at some time */
	bool abandoned;        /* something was let go: what is left is taken over in the end */
	bool interfered;       /* an owner changed something that stays */
};

/* What was played, for the record. */
struct play_record {
	int64_t virtual_ms;
	unsigned effects;
	unsigned deaths;
};

/* Play it to its end. `aloud`: with a timeline, printed to stderr when it is over. */
void story_play(const struct story *story, bool aloud, world_broken_hook hook, void *context, struct play_record *out);

/* deeds.c: set up the things, and what happens to them. */
void play_set_up(struct play *play);
void play_do(struct world *world, void *deed);
/* objects.c */
void play_apply(struct play *play, const struct story_event *event);
void play_abandon(struct play *play, const struct story_event *event);
/* "name@2" to its name and the cluster it is in, which all looks are about from then on. In the play's arena. */
const char *play_evacuation(struct play *play, const char *who);

/* A new evacuation of the zone in that cluster, of all kinds. */
void play_apply_heir(struct play *play, size_t cluster, size_t zone);

/* rules.c */
void play_check_claims(struct play *play);
void play_check_end(struct play *play);
struct sim_placed *play_placed(struct play *play, const struct story_thing *thing); /* NULL: it is gone */
/* All evacuations are where nothing moves any more; there is none. */
bool play_at_rest(struct play *play);
bool play_is_over(struct play *play);

#endif
