#include "hold.h"

#include <stdio.h>

#include "base/text.h"

enum { HOLDS_MAX = sizeof(((struct holds *)NULL)->at) / sizeof(struct hold) };

static size_t find(const struct holds *holds, const void *where, const char *operation)
{
	size_t i = 0;

	while (i < HOLDS_MAX && !(holds->at[i].where == where && text_equal(holds->at[i].operation, operation)))
		i++;
	return i;
}

void holds_set(struct holds *holds, const void *where, const char *operation, struct instant until)
{
	size_t i = find(holds, where, operation);

	if (i == HOLDS_MAX) {
		i = holds->next;
		holds->next = (holds->next + 1) % HOLDS_MAX;
		holds->at[i].where = where;
		snprintf(holds->at[i].operation, sizeof(holds->at[i].operation), "%s", operation);
	}
	holds->at[i].until = until;
}

struct instant holds_until(const struct holds *holds, const void *where, const char *operation)
{
	size_t i = find(holds, where, operation);

	return i < HOLDS_MAX ? holds->at[i].until : (struct instant){0};
}
