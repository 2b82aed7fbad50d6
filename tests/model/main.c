/*
 *   model                        every story with all conditions: each must hold; then each condition dropped in the story that needs it: each must
 *                                break. A table; exit 1 when anything is otherwise
 *   model --drop NAME            the same condition dropped, with the counter-example told step by step
 *   model --story NAME           this story alone; with --drop: the condition dropped in it
 *   model --list                 the names of both
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX 12000000

static bool wrong;

static const struct story *find_story(const char *name)
{
	for (size_t i = 0; i < stories_count; i++)
		if (strcmp(stories[i].name, name) == 0)
			return &stories[i];
	fprintf(stderr, "model: no story %s\n", name);
	exit(2);
}

static enum drop find_drop(const char *name)
{
	for (int i = 0; i < DROPS; i++)
		if (strcmp(drops[i].name, name) == 0)
			return (enum drop)i;
	fprintf(stderr, "model: no condition %s\n", name);
	exit(2);
}

static void list(void)
{
	printf("stories\n");
	for (size_t i = 0; i < stories_count; i++)
		printf("  %-18s %s\n", stories[i].name, stories[i].about);
	printf("conditions\n");
	for (int i = 1; i < DROPS; i++)
		printf("  %-20s %s%s\n", drops[i].name, drops[i].says, drops[i].story ? "" : " (spare)");
}

/* Told with its counter-example when it breaks and that is not what is expected, or is asked for. */
static void run(const struct story *story, enum drop drop, bool breaks, bool told)
{
	struct result result;

	search_run(story, drop, STATES_MAX, told || !breaks, &result);
	printf("%-18s %-20s %9zu states %6.1f s  ", story->name, drop ? drops[drop].name : "all conditions", result.states,
	       result.seconds);
	if (result.broken)
		printf("%zu steps to: %s\n", result.steps, result.broken);
	else
		printf("%s\n", result.cut ? "too many states" : "holds");
	fflush(stdout);
	wrong |= result.cut || (result.broken != NULL) != breaks;
}

static void run_everything(void)
{
	for (size_t i = 0; i < stories_count; i++)
		run(&stories[i], DROP_NOTHING, false, false);
	for (int i = 1; i < DROPS; i++)
		if (drops[i].story)
			run(find_story(drops[i].story), (enum drop)i, true, false);
		else
			for (size_t s = 0; s < stories_count; s++)
				if (stories[s].small)
					run(&stories[s], (enum drop)i, false, false);
}

int main(int argc, char **argv)
{
	const struct story *story = NULL;
	enum drop drop = DROP_NOTHING;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--story") == 0 && i + 1 < argc) {
			story = find_story(argv[++i]);
		} else if (strcmp(argv[i], "--drop") == 0 && i + 1 < argc) {
			drop = find_drop(argv[++i]);
		} else if (strcmp(argv[i], "--list") == 0) {
			list();
			return 0;
		} else {
			fprintf(stderr, "usage: model [--story NAME] [--drop NAME] [--list]\n");
			return 2;
		}
	}
	book_open();
	if (drop && !story)
		story = drops[drop].story ? find_story(drops[drop].story) : &stories[0];
	if (story)
		run(story, drop, drop && drops[drop].story, true);
	else
		run_everything();
	book_shut();
	return wrong ? 1 : 0;
}
