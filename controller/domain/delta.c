#include "domain/delta.h"

#include <string.h>

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

static const char *vpc_of(const struct scope *scope, const struct string_list *subnets)
{
	for (size_t i = 0; i < subnets->count; i++) {
		const struct subnet *subnet = scope_subnet(scope, subnets->at[i]);

		if (subnet != NULL)
			return subnet->vpc_id;
	}
	return NULL;
}

static bool differ(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Subnets of the account that may stand beside the others: nothing lies in two VPCs. */
static bool fits(const struct scope *scope, const char *id, const char *vpc)
{
	const struct subnet *subnet = scope_subnet(scope, id);

	return subnet != NULL && !differ(subnet->vpc_id, vpc);
}

struct string_list delta_missing(const struct scope *scope, const struct string_list *current,
                                 const struct string_list *removed, struct arena *arena)
{
	const char *vpc = vpc_of(scope, current);
	struct string_list out = {0};

	for (size_t i = 0; i < removed->count; i++)
		if (!string_list_has(current, removed->at[i]) && fits(scope, removed->at[i], vpc))
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

size_t delta_count_known(const struct scope *scope, const struct string_list *subnets)
{
	size_t count = 0;

	for (size_t i = 0; i < subnets->count; i++)
		count += scope_subnet(scope, subnets->at[i]) != NULL;
	return count;
}

const char *delta_last_reason(const struct scope *scope, const struct string_list *elsewhere, struct arena *arena)
{
	if (elsewhere->count == 0)
		return arena_printf(arena, "all its subnets are in %s", scope->zone_id);
	if (delta_count_known(scope, elsewhere) == 0)
		return arena_printf(arena, "outside %s it has only %s, which this account does not show", scope->zone_id,
		                    string_list_join(elsewhere, arena, ", "));
	return NULL;
}

struct string_list delta_next(const struct scope *scope, const struct change *change, const struct string_list *current,
                              enum direction direction, struct arena *arena)
{
	struct string_list missing;

	if (direction == DIRECTION_OUT)
		return delta_without(current, &change->removed, arena);
	missing = delta_missing(scope, current, &change->removed, arena);
	return delta_union(current, &missing, &change->order, arena);
}

const char *delta_unsettled(const struct scope *scope, const struct change *change, const struct string_list *current,
                            enum direction direction, struct arena *arena)
{
	struct string_list rest = direction == DIRECTION_OUT ? delta_present(current, &change->removed, arena)
	                                                     : delta_missing(scope, current, &change->removed, arena);
	const char *ids = string_list_join(&rest, arena, ", ");

	if (rest.count == 0)
		return NULL;
	return direction == DIRECTION_OUT ? arena_printf(arena, "its configuration still has %s", ids)
	                                  : arena_printf(arena, "its configuration does not have %s yet", ids);
}

static bool all_of_another_vpc(const struct scope *scope, const struct string_list *removed, const char *vpc)
{
	for (size_t i = 0; i < removed->count; i++)
		if (fits(scope, removed->at[i], vpc))
			return false;
	return delta_count_known(scope, removed) > 0;
}

enum stand delta_compare(const struct scope *scope, const struct change *change, const struct resource *resource,
                         struct arena *arena)
{
	if (resource == NULL)
		return STAND_GONE;
	if (differ(change->incarnation, resource->incarnation) || resource->subnets.count == 0)
		return STAND_SUPERSEDED;
	if (change->removed.count > 0 && delta_count_known(scope, &change->removed) == 0)
		return STAND_GONE;
	if (all_of_another_vpc(scope, &change->removed, vpc_of(scope, &resource->subnets)))
		return STAND_SUPERSEDED;
	return delta_missing(scope, &resource->subnets, &change->removed, arena).count == 0 ? STAND_BACK : STAND_OUT;
}
