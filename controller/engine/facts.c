#include "facts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"

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

const struct record *facts_record(const struct facts *facts, const char *resource_id)
{
	for (size_t i = 0; i < facts->records.count; i++)
		if (text_equal(facts->records.at[i].resource_id, resource_id))
			return &facts->records.at[i];
	return NULL;
}
