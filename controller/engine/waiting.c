#include "waiting.h"

#include <assert.h>
#include <stdlib.h>

#include "exchange.h"

static bool before(const struct exchange *a, const struct exchange *b)
{
	return a->ask.due.ms < b->ask.due.ms;
}

static void put(struct waiting *waiting, size_t index, struct exchange *exchange)
{
	waiting->at[index] = exchange;
	exchange->waiting_index = index;
}

static void sift_up(struct waiting *waiting, size_t index)
{
	struct exchange *exchange = waiting->at[index];

	while (index > 0 && before(exchange, waiting->at[(index - 1) / 2])) {
		put(waiting, index, waiting->at[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	put(waiting, index, exchange);
}

static void sift_down(struct waiting *waiting, size_t index)
{
	struct exchange *exchange = waiting->at[index];
	size_t child;

	while ((child = 2 * index + 1) < waiting->count) {
		if (child + 1 < waiting->count && before(waiting->at[child + 1], waiting->at[child]))
			child++;
		if (!before(waiting->at[child], exchange))
			break;
		put(waiting, index, waiting->at[child]);
		index = child;
	}
	put(waiting, index, exchange);
}

void waiting_add(struct waiting *waiting, struct exchange *exchange)
{
	if (waiting->count == waiting->capacity) {
		waiting->capacity = waiting->capacity ? waiting->capacity * 2 : 64;
		waiting->at = reallocarray(waiting->at, waiting->capacity, sizeof(struct exchange *));
		if (!waiting->at)
			abort();
	}
	put(waiting, waiting->count++, exchange);
	sift_up(waiting, exchange->waiting_index);
}

void waiting_remove(struct waiting *waiting, struct exchange *exchange)
{
	size_t index = exchange->waiting_index;
	struct exchange *last = waiting->at[--waiting->count];

	assert(exchange == last || waiting->at[index] == exchange);
	if (exchange == last)
		return;
	put(waiting, index, last);
	sift_up(waiting, index);
	sift_down(waiting, last->waiting_index);
}

struct exchange *waiting_first(const struct waiting *waiting)
{
	return waiting->count ? waiting->at[0] : NULL;
}

void waiting_done(struct waiting *waiting)
{
	free(waiting->at);
	*waiting = (struct waiting){0};
}
