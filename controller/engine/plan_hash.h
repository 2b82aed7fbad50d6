/*
 * What a plan amounts to, in one word: a hash over its changes, so that who looked at a plan can say that it is this one that may be done, and
 * no other. Pure. Nodes are not in it: they come and go by themselves, and what is done to them takes nothing away from their owner.
 *
 * Hashed are zone, account and region, then for each change, sorted by kind and id: kind, id and the subnets that it removes, sorted. Each is preceded
 * by its length, so that no two plans are written alike. Names, reasons and refusals are not in it.
 */
#ifndef ENGINE_PLAN_HASH_H
#define ENGINE_PLAN_HASH_H

#include "base/string_list.h"

/* "sha256:" and 64 hexadecimal digits. */
#define PLAN_HASH_LENGTH 71

struct plan_change {
	const char *kind;
	const char *id;
	const char *name; /* for people; not hashed */
	struct string_list removed;
};

/* Sorted by kind and id, each once, after plan_list_sort. */
struct plan_list {
	struct plan_change *at;
	size_t count;
	size_t capacity;
};

struct plan_about {
	const char *zone_id;
	const char *account_id;
	const char *region;
};

/* Append, copied into `arena`. `name` NULL = the id. */
void plan_list_add(struct plan_list *list, struct arena *arena, const char *kind, const char *id, const char *name,
                   const struct string_list *removed);

/* Sort; what is there twice becomes one that removes the subnets of both. */
void plan_list_sort(struct plan_list *list, struct arena *arena);

/* NULL when it is not in the (sorted) list. */
const struct plan_change *plan_list_find(const struct plan_list *list, const char *kind, const char *id);

/* Of a sorted list; in `arena`. */
const char *plan_hash(const struct plan_about *about, const struct plan_list *list, struct arena *arena);

/*
 * What `now` has that `before` had not, and the other way round, both sorted: "2 are new (the first is AutoScalingGroup web), 1 is no longer in
 * it (EcsService api)". NULL when they are equal.
 */
const char *plan_difference(const struct plan_list *before, const struct plan_list *now, struct arena *arena);

#endif
