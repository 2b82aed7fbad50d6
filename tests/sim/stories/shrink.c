/*
 * Shrinking: what is left out as long as the same rule is broken. Events in ever smaller runs, then things, then traits, numbers and times.
 */
#include <string.h>
#include <time.h>

#include "trial.h"

struct shrinker {
	struct story *best;
	const char *rule;
	time_t deadline;
	unsigned trials;
};

static bool try(struct shrinker *shrinker, const struct story *story)
{
	struct verdict verdict;
	if (time(NULL) >= shrinker->deadline)
		return false;
	shrinker->trials++;
	trial_play(story, false, &verdict);
	if (!verdict.broken || strcmp(verdict.rule, shrinker->rule) != 0)
		return false;
	*shrinker->best = *story;
	return true;
}

static void drop_events(struct story *story, size_t from, size_t count)
{
	memmove(&story->events[from], &story->events[from + count],
	        (story->event_count - from - count) * sizeof(story->events[0]));
	story->event_count -= count;
}

static void drop_thing(struct story *story, size_t from)
{
	memmove(&story->things[from], &story->things[from + 1], (story->thing_count - from - 1) * sizeof(story->things[0]));
	story->thing_count--;
}

static bool shrink_events(struct shrinker *shrinker)
{
	bool better = false;
	for (size_t run = shrinker->best->event_count / 2 + 1; run > 0; run /= 2)
		for (size_t from = 0; from + run <= shrinker->best->event_count;) {
			struct story story = *shrinker->best;
			drop_events(&story, from, run);
			if (try(shrinker, &story))
				better = true;
			else
				from++;
		}
	return better;
}

static bool shrink_things(struct shrinker *shrinker)
{
	bool better = false;
	for (size_t i = 0; i < shrinker->best->thing_count;) {
		struct story story = *shrinker->best;
		drop_thing(&story, i);
		if (try(shrinker, &story))
			better = true;
		else
			i++;
	}
	return better;
}

static bool simplify_thing(struct shrinker *shrinker, size_t i)
{
	struct story story = *shrinker->best;
	bool better = false;
	story.things[i].traits = 0;
	if (shrinker->best->things[i].traits != 0)
		better = try(shrinker, &story);
	story = *shrinker->best;
	story.things[i].count = 0;
	if (shrinker->best->things[i].count > 0)
		better = try(shrinker, &story) || better;
	return better;
}

/* One number of an event at a time: nothing, else half of it. */
static bool lessen(struct shrinker *shrinker, size_t i, int64_t *(*number)(struct story_event *event))
{
	struct story story = *shrinker->best;
	int64_t *value = number(&story.events[i]);
	int64_t was = *value;
	if (was == 0)
		return false;
	*value = 0;
	if (try(shrinker, &story))
		return true;
	story = *shrinker->best;
	*value = was > 2000 ? was / 2000 * 1000 : was / 2;
	return *value != was && *value != 0 && try(shrinker, &story);
}

static int64_t *first_of(struct story_event *event)
{
	return &event->a;
}

static int64_t *options_of(struct story_event *event)
{
	static int64_t none;
	return event->verb == VERB_APPLY ? &event->b : (none = 0, &none);
}

/* Times stay in order: an earlier one moves no further than to the one before it. */
static bool in_order(const struct story *story)
{
	for (size_t i = 1; i < story->event_count; i++)
		if (story->events[i].at_ms < story->events[i - 1].at_ms)
			return false;
	return true;
}

static bool pull_together(struct shrinker *shrinker, size_t i)
{
	struct story story = *shrinker->best;
	int64_t before = i > 0 ? story.events[i - 1].at_ms : 0;
	int64_t gap = story.events[i].at_ms - before;
	if (gap == 0)
		return false;
	int64_t less = gap > 1000 ? gap / 2 : gap;
	for (size_t later = i; later < story.event_count; later++)
		story.events[later].at_ms -= less;
	return in_order(&story) && try(shrinker, &story);
}

static bool shrink_numbers(struct shrinker *shrinker)
{
	bool better = false;
	for (size_t i = 0; i < shrinker->best->thing_count; i++)
		better = simplify_thing(shrinker, i) || better;
	for (size_t i = 0; i < shrinker->best->event_count; i++) {
		better = lessen(shrinker, i, options_of) || better;
		better = lessen(shrinker, i, first_of) || better;
		better = pull_together(shrinker, i) || better;
	}
	return better;
}

static bool shrink_cast(struct shrinker *shrinker)
{
	struct story story = *shrinker->best;
	if (story.cast == CAST_ONE)
		return false;
	story.cast = CAST_ONE;
	return try(shrinker, &story);
}

unsigned story_shrink(struct story *story, const char *rule, int seconds)
{
	struct shrinker shrinker = {story, rule, time(NULL) + seconds, 0};
	bool better = true;
	while (better && time(NULL) < shrinker.deadline) {
		better = shrink_events(&shrinker);
		better = shrink_things(&shrinker) || better;
		better = shrink_cast(&shrinker) || better;
		better = shrink_numbers(&shrinker) || better;
	}
	return shrinker.trials;
}
