/*
 * Which PodDisruptionBudgets hold up evictions: pods of one controller share a budget, so once it has said no to one of them the others
 * do not run into it as well, from however many nodes, but try one at a time. Pure store; keyed by the controller's UID.
 */
#ifndef ENGINE_BUDGETS_H
#define ENGINE_BUDGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/instant.h"

struct budget {
	struct budget *next;
	char *key;
	char *name; /* "default/web"; NULL = it was not told */
	struct instant blocked_at;
	struct instant next_try;
};

/* A zeroed one is empty. */
struct budgets {
	struct budget *first;
};

/* May a pod of this controller be evicted now? A known budget lets one try through, and the next one five seconds later. */
bool budgets_may_try(struct budgets *budgets, const char *key, struct instant now);

/* It said no: the next try after `ms`. `name` may be NULL. */
void budgets_blocked(struct budgets *budgets, const char *key, const char *name, struct instant now, int64_t ms);

/* It let one go: another one may try. */
void budgets_let_go(struct budgets *budgets, const char *key, struct instant now);

/* The budget that held up this controller's pods within the last half minute: its name, or NULL. */
const char *budgets_name(const struct budgets *budgets, const char *key, struct instant now);

void budgets_done(struct budgets *budgets);

#endif
