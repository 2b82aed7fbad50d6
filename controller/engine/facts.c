#include "facts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_ARENA_MAX (512u << 20)

struct facts *facts_new(void)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		abort();
	arena_init(&facts->arena, "facts", FACTS_ARENA_MAX);
	facts->references = 1;
	return facts;
}

struct facts *facts_hold(struct facts *facts)
{
	facts->references++;
	return facts;
}

void facts_release(struct facts *facts)
{
	if (!facts)
		return;
	assert(facts->references > 0);
	if (--facts->references > 0)
		return;
	for (size_t i = 0; i < facts->survey_count; i++)
		inquiry_release(facts->surveys[i]);
	arena_done(&facts->arena);
	free(facts);
}

const struct inquiry *facts_unseen(const struct facts *facts)
{
	for (size_t i = 0; i < facts->survey_count; i++)
		if (facts->surveys[i]->failed || !facts->surveys[i]->done)
			return facts->surveys[i];
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	const struct record *first = a;
	const struct record *second = b;

	return strcmp(first->resource_id, second->resource_id);
}

void facts_sort_records(struct facts *facts)
{
	if (facts->records.count)
		qsort(facts->records.at, facts->records.count, sizeof(struct record), compare_ids);
}

const struct record *facts_record(const struct facts *facts, const char *resource_id)
{
	struct record key = {.resource_id = resource_id};

	if (!facts->records.count)
		return NULL;
	return bsearch(&key, facts->records.at, facts->records.count, sizeof(struct record), compare_ids);
}
