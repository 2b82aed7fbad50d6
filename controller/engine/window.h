/*
 * How many calls may be in flight to one server at once: all while it is well, one after it gave no answer, half as many when it asks for less; each
 * answer doubles it again. So a server that comes back is not met by everything that waited for it, each on a connection of its own. Pure.
 */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

#include <stddef.h>

#include "base/error.h"

struct window {
	size_t max;
	size_t now; /* 1 … max */
};

void window_init(struct window *window, size_t max);

/* What an answer says of the server; `error` NULL: it was fine. */
void window_hear(struct window *window, const struct error *error);

#endif
