#include "domain/delta.h"

static void add_once(struct string_list *list, struct arena *arena, const char *id)
{
	if (!string_list_has(list, id))
		string_list_add(list, arena, id);
}

void delta_split(const struct scope *scope, const struct string_list *current, struct arena *arena,
                 struct string_list *in_zone, struct string_list *elsewhere)
{
	*in_zone = (struct string_list){0};
	*elsewhere = (struct string_list){0};
	for (size_t i = 0; i < current->count; i++)
		add_once(scope_in_zone(scope, current->at[i]) ? in_zone : elsewhere, arena, current->at[i]);
}

struct string_list delta_without(const struct string_list *current, const struct string_list *removed,
                                 struct arena *arena)
{
	struct string_list out = {0};

	for (size_t i = 0; i < current->count; i++)
		if (!string_list_has(removed, current->at[i]))
			string_list_add(&out, arena, current->at[i]);
	return out;
}

struct string_list delta_missing(const struct scope *scope, const struct string_list *current,
                                 const struct string_list *removed, struct arena *arena)
{
	struct string_list out = {0};

	for (size_t i = 0; i < removed->count; i++)
		if (!string_list_has(current, removed->at[i]) && scope_subnet(scope, removed->at[i]) != NULL)
			add_once(&out, arena, removed->at[i]);
	return out;
}

struct string_list delta_present(const struct string_list *current, const struct string_list *removed,
                                 struct arena *arena)
{
	struct string_list out = {0};

	for (size_t i = 0; i < removed->count; i++)
		if (string_list_has(current, removed->at[i]))
			add_once(&out, arena, removed->at[i]);
	return out;
}

/* Where `id` belongs in `list`: next to its neighbour of `order` that is there. */
static size_t place_of(const struct string_list *list, const char *id, const struct string_list *order)
{
	size_t stood = string_list_find(order, id);

	for (size_t earlier = stood; stood < order->count && earlier-- > 0;) {
		size_t at = string_list_find(list, order->at[earlier]);

		if (at < list->count)
			return at + 1;
	}
	for (size_t later = stood + 1; later < order->count; later++) {
		size_t at = string_list_find(list, order->at[later]);

		if (at < list->count)
			return at;
	}
	return list->count;
}

static void insert_at(struct string_list *list, struct arena *arena, size_t place, const char *id)
{
	string_list_add(list, arena, id);
	for (size_t i = list->count - 1; i > place; i--)
		list->at[i] = list->at[i - 1];
	list->at[place] = id;
}

struct string_list delta_union(const struct string_list *current, const struct string_list *missing,
                               const struct string_list *order, struct arena *arena)
{
	struct string_list out = {0};

	for (size_t i = 0; i < current->count; i++)
		string_list_add(&out, arena, current->at[i]);
	for (size_t i = 0; i < missing->count; i++)
		if (!string_list_has(&out, missing->at[i]))
			insert_at(&out, arena, place_of(&out, missing->at[i], order), missing->at[i]);
	return out;
}

struct string_list delta_join(const struct string_list *a, const struct string_list *b, struct arena *arena)
{
	struct string_list out = {0};

	for (size_t i = 0; i < a->count; i++)
		add_once(&out, arena, a->at[i]);
	for (size_t i = 0; i < b->count; i++)
		add_once(&out, arena, b->at[i]);
	return out;
}
