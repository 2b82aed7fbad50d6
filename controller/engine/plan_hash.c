#include "plan_hash.h"

#include <stdlib.h>
#include <string.h>

#include "aws/sigv4.h"
#include "base/text.h"
#include "domain/delta.h"

#define HASHED_MAX_BYTES (256u << 20)
#define NAME_SHOWN_BYTES 80

void plan_list_add(struct plan_list *list, struct arena *arena, const char *kind, const char *id, const char *name,
                   const struct string_list *removed)
{
	list->at = arena_grow(arena, list->at, list->count, &list->capacity, sizeof(*list->at));
	list->at[list->count++] = (struct plan_change){.kind = arena_string(arena, kind),
	                                               .id = arena_string(arena, id),
	                                               .name = arena_string(arena, name ? name : id),
	                                               .removed = string_list_copy(removed, arena)};
}

static int compare(const void *a, const void *b)
{
	const struct plan_change *first = a;
	const struct plan_change *second = b;
	int order = strcmp(first->kind, second->kind);

	return order ? order : strcmp(first->id, second->id);
}

void plan_list_sort(struct plan_list *list, struct arena *arena)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->at, list->count, sizeof(*list->at), compare);
	for (size_t i = 1; i < list->count; i++)
		if (compare(&list->at[kept], &list->at[i]) == 0)
			list->at[kept].removed = delta_join(&list->at[kept].removed, &list->at[i].removed, arena);
		else
			list->at[++kept] = list->at[i];
	list->count = kept + 1;
	for (size_t i = 0; i < list->count; i++)
		string_list_sort(&list->at[i].removed);
}

const struct plan_change *plan_list_find(const struct plan_list *list, const char *kind, const char *id)
{
	const struct plan_change key = {.kind = kind, .id = id};

	return list->count ? bsearch(&key, list->at, list->count, sizeof(key), compare) : NULL;
}

static void write_word(struct text *text, const char *word)
{
	text_printf(text, "%zu:%s,", strlen(word), word);
}

const char *plan_hash(const struct plan_about *about, const struct plan_list *list, struct arena *arena)
{
	struct text text;
	const char *hash;

	text_init(&text, HASHED_MAX_BYTES);
	write_word(&text, about->zone_id);
	write_word(&text, about->account_id);
	write_word(&text, about->region);
	for (size_t i = 0; i < list->count; i++) {
		const struct plan_change *change = &list->at[i];

		write_word(&text, change->kind);
		write_word(&text, change->id);
		text_printf(&text, "%zu;", change->removed.count);
		for (size_t k = 0; k < change->removed.count; k++)
			write_word(&text, change->removed.at[k]);
	}
	hash = sigv4_hash(arena, text.at, text.length);
	text_done(&text);
	return arena_printf(arena, "sha256:%s", hash);
}

/* Changes that are in one of two plans only, or in both with different subnets. */
struct share {
	size_t count;
	const struct plan_change *first;
};

static void count(struct share *share, const struct plan_change *change)
{
	if (share->count++ == 0)
		share->first = change;
}

static void tell(struct string_list *parts, struct arena *arena, const struct share *share, const char *one,
                 const char *many)
{
	if (share->count)
		string_list_add(parts, arena,
		                arena_printf(arena, "%zu %s (%s%s %.*s)", share->count, share->count == 1 ? one : many,
		                             share->count == 1 ? "" : "the first is ", share->first->kind,
		                             (int)text_cut(share->first->name, strlen(share->first->name), NAME_SHOWN_BYTES),
		                             share->first->name));
}

const char *plan_difference(const struct plan_list *before, const struct plan_list *now, struct arena *arena)
{
	struct share added = {0}, gone = {0}, other = {0};
	struct string_list parts = {0};
	size_t i = 0, k = 0;

	while (i < before->count || k < now->count) {
		int order = i == before->count ? 1 : k == now->count ? -1 : compare(&before->at[i], &now->at[k]);

		if (order < 0) {
			count(&gone, &before->at[i++]);
		} else if (order > 0) {
			count(&added, &now->at[k++]);
		} else {
			if (!string_list_equal(&before->at[i].removed, &now->at[k].removed))
				count(&other, &now->at[k]);
			i++;
			k++;
		}
	}
	tell(&parts, arena, &added, "is new", "are new");
	tell(&parts, arena, &gone, "is no longer in it", "are no longer in it");
	tell(&parts, arena, &other, "has other subnets in the zone", "have other subnets in the zone");
	return parts.count ? string_list_join(&parts, arena, ", ") : NULL;
}
