#include "base/string_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void string_list_add(struct string_list *list, struct arena *arena, const char *string)
{
	list->at = arena_grow(arena, list->at, list->count, &list->capacity, sizeof(*list->at));
	list->at[list->count++] = string;
}

size_t string_list_find(const struct string_list *list, const char *string)
{
	size_t i = 0;

	while (i < list->count && !text_equal(list->at[i], string))
		i++;
	return i;
}

bool string_list_has(const struct string_list *list, const char *string)
{
	return string_list_find(list, string) < list->count;
}

bool string_list_equal(const struct string_list *a, const struct string_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!text_equal(a->at[i], b->at[i]))
			return false;
	}
	return true;
}

static bool has_all(const struct string_list *list, const struct string_list *wanted)
{
	for (size_t i = 0; i < wanted->count; i++) {
		if (!string_list_has(list, wanted->at[i]))
			return false;
	}
	return true;
}

bool string_list_same_set(const struct string_list *a, const struct string_list *b)
{
	return has_all(a, b) && has_all(b, a);
}

struct string_list string_list_copy(const struct string_list *list, struct arena *arena)
{
	struct string_list copy = {.count = list->count, .capacity = list->count};

	copy.at = arena_array(arena, list->count, sizeof(*copy.at));
	for (size_t i = 0; i < list->count; i++)
		copy.at[i] = arena_string(arena, list->at[i]);
	return copy;
}

const char *string_list_join(const struct string_list *list, struct arena *arena, const char *separator)
{
	size_t gap = strlen(separator);
	size_t total = 1;

	for (size_t i = 0; i < list->count; i++)
		total += strlen(list->at[i]) + gap;
	char *joined = arena_alloc(arena, total);
	char *end = joined;
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			end = mempcpy(end, separator, gap);
		end = mempcpy(end, list->at[i], strlen(list->at[i]));
	}
	return joined;
}

struct string_list string_list_split(const char *string, const char *separators, struct arena *arena)
{
	struct string_list list = {0};
	const char *at = string ? string : "";

	while (*at) {
		size_t length = strcspn(at, separators);
		const char *part = text_trim(arena, at, length);
		if (*part)
			string_list_add(&list, arena, part);
		at += length;
		if (*at)
			at++;
	}
	return list;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void string_list_sort(struct string_list *list)
{
	if (list->count > 1)
		qsort(list->at, list->count, sizeof(*list->at), compare_strings);
}

bool string_list_has_sorted(const struct string_list *list, const char *string)
{
	return string != NULL && list->count > 0 &&
	       bsearch(&string, list->at, list->count, sizeof(*list->at), compare_strings) != NULL;
}
