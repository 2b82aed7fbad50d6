#include "window.h"

void window_init(struct window *window, size_t max)
{
	window->max = window->now = max;
}

void window_hear(struct window *window, const struct error *error)
{
	enum error_kind kind = error ? error->kind : ERROR_NONE;

	if (kind == ERROR_UNREACHABLE || kind == ERROR_TIMEOUT)
		window->now = 1;
	else if (kind == ERROR_THROTTLED)
		window->now = window->now > 1 ? window->now / 2 : 1;
	else if (kind != ERROR_STALE && kind != ERROR_CANCELED) /* those were never sent */
		window->now = window->now * 2 < window->max ? window->now * 2 : window->max;
}
