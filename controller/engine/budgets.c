#include "budgets.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TRY_EVERY_MS 5000
#define TRY_AGAIN_MS 1000
/* Evictions are tried every few seconds: one that has not said no for so long holds up nothing. */
#define NAMED_MS 30000
/* One that nobody has run into for so long holds up nothing any more. */
#define FORGOTTEN_MS 600000

static struct budget *find(const struct budgets *budgets, const char *key)
{
	struct budget *budget = budgets->first;

	while (budget && !text_equal(budget->key, key))
		budget = budget->next;
	return budget;
}

static void budget_free(struct budget *budget)
{
	free(budget->key);
	free(budget->name);
	free(budget);
}

static void forget_old(struct budgets *budgets, struct instant now)
{
	for (struct budget **link = &budgets->first; *link;) {
		struct budget *budget = *link;

		if (instant_between_ms(budget->next_try, now) < FORGOTTEN_MS) {
			link = &budget->next;
			continue;
		}
		*link = budget->next;
		budget_free(budget);
	}
}

static char *copy(const char *string)
{
	char *copied = string ? strdup(string) : NULL;

	if (string && !copied)
		abort();
	return copied;
}

bool budgets_may_try(struct budgets *budgets, const char *key, struct instant now)
{
	struct budget *budget = find(budgets, key);

	if (!budget)
		return true;
	if (!instant_reached(budget->next_try, now))
		return false;
	budget->next_try = instant_after(now, TRY_EVERY_MS);
	return true;
}

void budgets_blocked(struct budgets *budgets, const char *key, const char *name, struct instant now, int64_t ms)
{
	struct budget *budget;

	forget_old(budgets, now);
	budget = find(budgets, key);
	if (!budget) {
		budget = calloc(1, sizeof(*budget));
		if (!budget)
			abort();
		budget->key = copy(key);
		budget->next = budgets->first;
		budgets->first = budget;
	}
	if (name && !text_equal(budget->name, name)) {
		free(budget->name);
		budget->name = copy(name);
	}
	budget->blocked_at = now;
	budget->next_try = instant_after(now, ms);
}

void budgets_let_go(struct budgets *budgets, const char *key, struct instant now)
{
	struct budget *budget = find(budgets, key);

	if (budget)
		budget->next_try = instant_after(now, TRY_AGAIN_MS);
}

const char *budgets_name(const struct budgets *budgets, const char *key, struct instant now)
{
	const struct budget *budget = find(budgets, key);

	return budget && instant_between_ms(budget->blocked_at, now) < NAMED_MS ? budget->name : NULL;
}

void budgets_done(struct budgets *budgets)
{
	struct budget *next;

	for (struct budget *budget = budgets->first; budget; budget = next) {
		next = budget->next;
		budget_free(budget);
	}
	*budgets = (struct budgets){0};
}
