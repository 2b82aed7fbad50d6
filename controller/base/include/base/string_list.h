/*
 * A list of strings in an arena: subnet ids, owners, names. Order is kept; the strings are borrowed unless a
 * function says that it copies.
 */
#ifndef BASE_STRING_LIST_H
#define BASE_STRING_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct string_list {
	const char **at;
	size_t count;
	size_t capacity;
};

/* Append; the string is borrowed. */
void string_list_add(struct string_list *list, struct arena *arena, const char *string);

bool string_list_has(const struct string_list *list, const char *string);

/* Sort by strcmp; then string_list_has_sorted may be asked, which is false for NULL. */
void string_list_sort(struct string_list *list);
bool string_list_has_sorted(const struct string_list *list, const char *string);

/* The position of the first equal string, or list->count. */
size_t string_list_find(const struct string_list *list, const char *string);

/* Same strings in the same order. */
bool string_list_equal(const struct string_list *a, const struct string_list *b);

/* Same strings, order and repetition aside. */
bool string_list_same_set(const struct string_list *a, const struct string_list *b);

/* A deep copy into `arena`. */
struct string_list string_list_copy(const struct string_list *list, struct arena *arena);

/* "a,b,c" in `arena`. */
const char *string_list_join(const struct string_list *list, struct arena *arena, const char *separator);

/* Split at any of `separators`, trim blanks, leave empty parts out; copies into `arena`. */
struct string_list string_list_split(const char *string, const char *separators, struct arena *arena);

#endif
