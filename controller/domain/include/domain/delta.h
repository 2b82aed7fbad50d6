/*
 * Subnet arithmetic shared by every kind that has a list of subnets. A change is a delta, never a copy of the whole:
 * taking out keeps the order of what stays; putting back adds what we took and nothing else.
 */
#ifndef DOMAIN_DELTA_H
#define DOMAIN_DELTA_H

#include "domain/change.h"

/* Split `current` into what lies in the zone and what does not. Order is kept; a repeated id is removed once and kept once. */
void delta_split(const struct scope *scope, const struct string_list *current, struct arena *arena,
                 struct string_list *in_zone, struct string_list *elsewhere);

/* `current` without those of `removed`. */
struct string_list delta_without(const struct string_list *current, const struct string_list *removed,
                                 struct arena *arena);

/*
 * Those of `removed` that are not in `current` and that the account still has (scope), in the VPC where `current` lies: what remains to be put back. A
 * resource that moved into another VPC while it was held may have lost subnets in both.
 */
struct string_list delta_missing(const struct scope *scope, const struct string_list *current,
                                 const struct string_list *removed, struct arena *arena);

/* Those of `removed` that `current` holds. */
struct string_list delta_present(const struct string_list *current, const struct string_list *removed,
                                 struct arena *arena);

/*
 * `current` plus `missing`, each put next to its neighbour of `order` (the list as first read) that is still there: behind the nearest
 * earlier one, else before the nearest later one, else at the end. What stands in `current` keeps its order.
 */
struct string_list delta_union(const struct string_list *current, const struct string_list *missing,
                               const struct string_list *order, struct arena *arena);

/* The two joined, first `a` then what `b` has more. */
struct string_list delta_join(const struct string_list *a, const struct string_list *b, struct arena *arena);

/* How many of `subnets` the account has. */
size_t delta_count_known(const struct scope *scope, const struct string_list *subnets);

/*
 * Why what lies elsewhere is not enough to go on with (GUARD_LAST_SUBNET): a sentence, or NULL when it is. A subnet that
 * the account does not show does not count as one that remains.
 */
const char *delta_last_reason(const struct scope *scope, const struct string_list *elsewhere, struct arena *arena);

/*
 * The list that an update sets: `current` without the change, or with what of it is missing. The caller asserts that it
 * is not empty.
 */
struct string_list delta_next(const struct scope *scope, const struct change *change, const struct string_list *current,
                              enum direction direction, struct arena *arena);

/* What `current` still lacks of the effect of an update, a sentence; NULL when it reads back as asked. */
const char *delta_unsettled(const struct scope *scope, const struct change *change, const struct string_list *current,
                            enum direction direction, struct arena *arena);

/*
 * Restoring, where a resource with a list of subnets stands; NULL: it is gone. An incarnation that one of the two lacks
 * tells nothing, nor does a subnet that the account does not show tell the VPC. In another VPC it is when nothing of what was taken out lies in its own.
 */
enum stand delta_compare(const struct scope *scope, const struct change *change, const struct resource *resource,
                         struct arena *arena);

#endif
