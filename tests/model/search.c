/*
 * Breadth first through all states that can be reached; then, backwards over the edges, which of them can reach a quiet end.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOWHERE UINT32_MAX

struct search {
	struct play play;
	struct state *states;
	uint32_t *parents;
	uint32_t count, room, max;
	uint32_t *table; /* index + 1 */
	uint32_t table_size;
	uint32_t *edges; /* of state i: from edges_at[i] to edges_at[i + 1] */
	size_t edges_count, edges_room;
	size_t *edges_at;
	uint32_t at;
	bool cut;
	/* Retelling: the line that leads from `at` to `wanted`. */
	const struct state *wanted;
	char line[256];
};

static void *grow(void *old, size_t count, size_t size)
{
	void *grown = realloc(old, count * size);

	if (!grown)
		abort();
	return grown;
}

static uint64_t hash_of(const struct state *state)
{
	const uint8_t *bytes = (const uint8_t *)state;
	uint64_t hash = 0x243f6a8885a308d3u, word;
	size_t i = 0;

	for (; i + 8 <= sizeof(*state); i += 8) {
		memcpy(&word, bytes + i, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (word = 0; i < sizeof(*state); i++)
		word = word << 8 | bytes[i];
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* The same in every respect that counts is the same state. */
static int compare_air(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct air));
}

static bool looks_count(enum step step)
{
	return step == STEP_INTENT || step == STEP_JOIN || step == STEP_EXTEND || step == STEP_REDO ||
	       step == STEP_UPDATE || step == STEP_BACK_UPDATE;
}

/* Who wrote an attempt is asked of an Intent, and of a Restoring one how old it is. */
static void forget_row(struct row *row, bool kept)
{
	if (row->state != RECORD_INTENT)
		row->writer = 0;
	if (row->state != RECORD_RESTORING || !kept)
		row->age = 0;
}

static bool knows_nothing(enum step step)
{
	return step == STEP_STOPPED || step == STEP_OBSERVE || step == STEP_HOLD || step == STEP_BACK_OBSERVE ||
	       step == STEP_UNREGISTER;
}

static void forget_what_does_not_count(struct actor *actor, bool rewrites, bool joint)
{
	enum step step = (enum step)actor->step;
	bool flying = step == STEP_FLIGHT || step == STEP_BACK_FLIGHT;

	if (step == STEP_OVER) {
		*actor =
			(struct actor){.step = actor->step, .owner = actor->owner, .zone = actor->zone, .crashed = actor->crashed};
		return;
	}
	if (!looks_count(step)) {
		actor->looked = 0;
		actor->fresh = 0;
		if (!flying)
			actor->before_edit = 0;
	}
	if (knows_nothing(step)) {
		actor->row = (struct row){0};
		actor->match = actor->updates = actor->intends = 0;
	}
	if (step != STEP_FLIGHT && step != STEP_BACK_REWRITE && !looks_count(step) && !rewrites)
		actor->change = 0;
	if (step != STEP_BACK_CLOSE)
		actor->claim_past = 0;
	forget_row(&actor->row, joint);
	if (!actor->row.is)
		actor->match = 0;
}

static void normalise(const struct story *story, struct state *state)
{
	bool joint = story->parts[1].owner && story->parts[0].zone == story->parts[1].zone;
	bool recovers = false;

	for (int i = 0; i < ACTORS; i++)
		recovers |= story->parts[i].recover;
	for (int i = 0; i < ACTORS; i++)
		forget_what_does_not_count(&state->actors[i], recovers, joint);
	for (int zone = 0; zone < ZONES; zone++)
		forget_row(&state->rows[zone], joint);
	qsort(state->airs, AIRS, sizeof(state->airs[0]), compare_air);
}

static void enlarge_table(struct search *search)
{
	uint32_t size = search->table_size ? search->table_size * 2 : 1u << 16;

	free(search->table);
	search->table = calloc(size, sizeof(*search->table));
	if (!search->table)
		abort();
	search->table_size = size;
	for (uint32_t i = 0; i < search->count; i++) {
		uint32_t slot = (uint32_t)hash_of(&search->states[i]) & (size - 1);

		while (search->table[slot])
			slot = (slot + 1) & (size - 1);
		search->table[slot] = i + 1;
	}
}

static uint32_t add_state(struct search *search, const struct state *state, uint32_t parent)
{
	uint32_t slot;

	if (search->count * 2 >= search->table_size)
		enlarge_table(search);
	slot = (uint32_t)hash_of(state) & (search->table_size - 1);
	while (search->table[slot]) {
		if (memcmp(&search->states[search->table[slot] - 1], state, sizeof(*state)) == 0)
			return search->table[slot] - 1;
		slot = (slot + 1) & (search->table_size - 1);
	}
	if (search->count == search->room) {
		search->room = search->room ? search->room * 2 : 1u << 15;
		search->states = grow(search->states, search->room, sizeof(*search->states));
		search->parents = grow(search->parents, search->room, sizeof(*search->parents));
		search->edges_at = grow(search->edges_at, (size_t)search->room + 1, sizeof(*search->edges_at));
	}
	search->states[search->count] = *state;
	search->parents[search->count] = parent;
	search->table[slot] = search->count + 1;
	return search->count++;
}

static void on_next(void *self, const struct state *next, const char *line)
{
	struct search *search = self;
	struct state state = *next;
	uint32_t index;

	(void)line;
	normalise(search->play.story, &state);
	if (search->count >= search->max) {
		search->cut = true;
		return;
	}
	index = add_state(search, &state, search->at);
	if (search->edges_count == search->edges_room) {
		search->edges_room = search->edges_room ? search->edges_room * 2 : 1u << 17;
		search->edges = grow(search->edges, search->edges_room, sizeof(*search->edges));
	}
	search->edges[search->edges_count++] = index;
}

/* The first state that must not be; NOWHERE when there is none. */
static uint32_t explore(struct search *search, const char **why)
{
	struct state first;

	world_begin(search->play.story, &first);
	normalise(search->play.story, &first);
	add_state(search, &first, NOWHERE);
	for (search->at = 0; search->at < search->count && !search->cut; search->at++) {
		struct state from = search->states[search->at];

		*why = property_broken(&search->play, &from);
		if (*why)
			return search->at;
		search->edges_at[search->at] = search->edges_count;
		world_expand(&search->play, &from);
		search->edges_at[search->at + 1] = search->edges_count;
	}
	return NOWHERE;
}

/* The edges turned round, then breadth first from all quiet ends. */
static uint32_t find_stuck(const struct search *search)
{
	size_t *at = calloc((size_t)search->count + 2, sizeof(*at));
	uint32_t *from = malloc((search->edges_count + 1) * sizeof(*from));
	uint32_t *queue = malloc(((size_t)search->count + 1) * sizeof(*queue));
	bool *good = calloc(search->count, sizeof(*good));
	uint32_t head = 0, tail = 0, stuck = NOWHERE;

	if (!at || !from || !queue || !good)
		abort();
	for (size_t e = 0; e < search->edges_count; e++)
		at[search->edges[e] + 2]++;
	for (size_t i = 2; i < (size_t)search->count + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t i = 0; i < search->count; i++)
		for (size_t e = search->edges_at[i]; e < search->edges_at[i + 1]; e++)
			from[at[search->edges[e] + 1]++] = i;
	for (uint32_t i = 0; i < search->count; i++)
		if (property_quiet(&search->states[i])) {
			good[i] = true;
			queue[tail++] = i;
		}
	while (head < tail) {
		uint32_t to = queue[head++];

		for (size_t e = at[to]; e < at[to + 1]; e++)
			if (!good[from[e]]) {
				good[from[e]] = true;
				queue[tail++] = from[e];
			}
	}
	for (uint32_t i = 0; i < search->count && stuck == NOWHERE; i++)
		if (!good[i])
			stuck = i;
	free(at);
	free(from);
	free(queue);
	free(good);
	return stuck;
}

/* Telling it. */

static void on_retold(void *self, const struct state *next, const char *line)
{
	struct search *search = self;
	struct state state = *next;

	normalise(search->play.story, &state);
	if (!search->line[0] && memcmp(&state, search->wanted, sizeof(state)) == 0)
		snprintf(search->line, sizeof(search->line), "%s", line);
}

static size_t tell_way(struct search *search, uint32_t to, bool print)
{
	struct play play = search->play;
	uint32_t parent = search->parents[to];
	size_t steps;

	if (parent == NOWHERE)
		return 0;
	steps = tell_way(search, parent, print) + 1;
	if (!print)
		return steps;
	play.telling = true;
	play.emit = on_retold;
	search->wanted = &search->states[to];
	search->line[0] = '\0';
	world_expand(&play, &search->states[parent]);
	printf("    %2zu  %s\n", steps, search->line);
	return steps;
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void search_run(const struct story *story, enum drop drop, size_t states_max, bool print, struct result *out)
{
	struct search search = {.play = {.story = story, .drop = drop, .emit = on_next}, .max = (uint32_t)states_max};
	double began = now_seconds();
	const char *why = NULL;
	uint32_t bad;

	search.play.self = &search;
	bad = explore(&search, &why);
	if (bad == NOWHERE && !search.cut) {
		bad = find_stuck(&search);
		why = bad == NOWHERE ? NULL : "from here on no quiet end can be reached";
	}
	*out = (struct result){.states = search.count, .broken = why, .cut = search.cut};
	if (bad != NOWHERE)
		out->steps = tell_way(&search, bad, print);
	if (bad != NOWHERE && print)
		printf("        => %s\n", why);
	out->seconds = now_seconds() - began;
	free(search.states);
	free(search.parents);
	free(search.table);
	free(search.edges);
	free(search.edges_at);
}
