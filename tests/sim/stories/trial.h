/*
 * Stories played in processes of their own: a broken rule, an assertion, a crash or an endless loop ends that process and nothing else.
 */
#ifndef TESTS_SIM_STORIES_TRIAL_H
#define TESTS_SIM_STORIES_TRIAL_H

#include <sys/types.h>

#include "story.h"
#include "world.h"

#define FAULT_KINDS (WORLD_STOP + 1)

/* How a story ended; shared between the process that plays and the one that asked for it. */
struct verdict {
	bool broken;
	char rule[192];     /* the same for all stories that break the same rule */
	char sentence[512]; /* of this one */
};

struct tally {
	uint64_t stories;
	uint64_t casts[CASTS];
	uint64_t verbs[VERBS];
	uint64_t faults[FAULT_KINDS];
	uint64_t virtual_ms;
	uint64_t effects;
	uint64_t deaths;
};

/* Seeds from `next`, every `stride`th, below `end`. Written by the worker alone while it lives. */
struct lane {
	uint64_t next;
	uint64_t stride;
	uint64_t end;
	uint64_t seed; /* of the story that is played */
	struct tally tally;
	struct verdict verdict;
};

/* Zeroed memory that a child's writes are seen in. Aborts when there is none. */
void *trial_share(size_t bytes);

/* A child that plays the lane to its end; it exits with 0, or earlier with its verdict said (trial_judge). */
pid_t trial_start(struct lane *lane, const struct story_taste *taste);

/* What the end of a child (of waitpid) means: true = all is well. Fills the verdict when it could not do so itself. */
bool trial_judge(int status, struct verdict *verdict);

/* One story in a child. `aloud`: it prints its timeline to stderr. */
void trial_play(const struct story *story, bool aloud, struct verdict *verdict);

/* shrink.c: the smallest story found in so many seconds that breaks the same rule; how many were tried. */
unsigned story_shrink(struct story *story, const char *rule, int seconds);

#endif
