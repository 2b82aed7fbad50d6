/*
 * LIST and WATCH of one collection as a pure state machine: it says what to ask, is told what came, and hands out what
 * changed.
 *
 *   LIST (pages of 500, RV "") ──► WATCH from the list's RV ⟲ clean end: again from the last RV, at once, but not
 *     ▲   ▲                          │                         before 1 to 2 s after it was asked for
 *     │   └──────── 410, other ◄─────┤                         (under 1 s without an event: with backoff)
 *     │        (a stream that has worked and is cut: as a clean end)
 *     └── backoff 0.8 s · 2ⁿ, at most 5 s, jitter ×1..2, reset after 2 min without failure
 *
 * Rules (api-concepts, client-go's reflector): bookmarks advance the RV and nothing else; an ERROR event's object has
 * no RV; 410 or reason Expired/Gone in either shape (HTTP status or in-stream) means LIST anew; 429 and refused
 * connections repeat the WATCH from the same RV; no byte (the client's idle_ms), or bytes without a whole event, for
 * 180 s means dead; so does a stream that goes on 30 s after the end that was asked for. An event is at most 16 MiB.
 *
 * Never a hot loop, whatever the server does: at most 200 pages of one list come one upon the other, then one a second;
 * a page whose token leads to itself is a failure; each failure backs off. Retry-After is obeyed up to 60 s, and up to
 * a quarter of it longer. A list whose token grows old half-way (410: it is slower than the server compacts) starts
 * anew with pages twice as large, up to 4,000; one with a page over 64 MiB with pages half as large, down to 31.
 *
 * Ownership: an event's object lives until the next call of any function here. Take all there is after each chunk and
 * each end: nothing is asked while something waits to be taken, and that is what keeps no more than one page, or one
 * chunk's events, in memory. A list that has to start anew half-way begins with another WATCH_LIST_BEGIN.
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H

#include "base/json.h"
#include "net/http.h"

enum watch_what {
	WATCH_LIST_BEGIN, /* a complete list follows; what is not in it is gone */
	WATCH_OBJECT,     /* added, changed, or listed */
	WATCH_DELETED,    /* the last state */
	WATCH_LIST_END,
};

struct watch_event {
	enum watch_what what;
	const struct json *object;
};

struct watch;

/* `path` (e.g. KUBE_NODES_PATH) and `name` ("nodes", for operation labels) must outlive it. */
struct watch *watch_new(const char *path, const char *name);
void watch_free(struct watch *watch);

/* When watch_ask has next something to ask; far away while a call is in flight. */
struct instant watch_due(const struct watch *watch);

/* What to ask now: a page of the LIST, or (out->stream) the WATCH. False: a call is in flight, or it is not time. */
bool watch_ask(struct watch *watch, struct instant now, uint32_t random, struct arena *arena, struct http_request *out);

/*
 * A chunk of the stream. False (ERROR_MALFORMED, ERROR_LIMIT, ERROR_TIMEOUT, or what an ERROR event says): cancel the call
 * and tell watch_hear_end with that error.
 */
bool watch_hear_chunk(struct watch *watch, struct instant now, const char *bytes, size_t length, struct error *error);

/*
 * The call has ended. `error` is NULL for a 2xx that ended cleanly; else what kube_check or the transport said.
 * `response` may be NULL.
 */
void watch_hear_end(struct watch *watch, struct instant now, uint32_t random, const struct http_response *response,
                    const struct error *error);

/* The next thing that changed; false when there is none. */
bool watch_take(struct watch *watch, struct watch_event *out);

/* The first list is complete. */
bool watch_synced(const struct watch *watch);

/* Why it is not getting on; "" when it is. Good until the next call. */
const char *watch_trouble(const struct watch *watch);

#endif
