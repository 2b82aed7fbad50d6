#include "kube/watch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"
#include "net/lines.h"

#define PAGE_ITEMS 500
#define PAGE_ITEMS_MAX 4000
#define PAGE_ITEMS_MIN 31
#define PAGES_AT_ONCE 200
#define PAGE_MAX_BYTES ((size_t)64 << 20)
#define PAGE_DEADLINE_MS 60000
#define STREAM_DEADLINE_MS 30000 /* to the end of the headers */
#define STREAM_IDLE_MS 180000
#define STREAM_LEAST_S 300
#define STREAM_SPREAD_S 300
#define STREAM_LATE_MS 30000 /* over what was asked for */
#define EVENT_MAX_BYTES ((size_t)16 << 20)
#define CONTINUE_MAX_BYTES 16384
#define BACKOFF_FIRST_MS 800
#define BACKOFF_LAST_MS 5000 /* client-go's is 30 s; a minute without news is too long where a zone is failing */
#define BACKOFF_RESET_MS 120000
#define RETRY_AFTER_MAX_MS 60000
#define SHORT_STREAM_MS 1000
#define PACE_MS 1000 /* between two calls, at least, where nothing failed and nothing new came either */
#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define FAR_AWAY_MS (INT64_MAX / 2)

struct watch {
	const char *path;
	char list_operation[64];
	char stream_operation[64];
	bool streaming; /* the list is complete: what is asked next is the stream */
	bool in_flight;
	struct instant asked_at;
	struct instant heard_at; /* the last whole event of this stream, or its beginning */
	int64_t lifetime_ms;     /* asked for, of this stream */
	struct instant due;
	int failures;
	struct instant backoff_until;
	char version[256];   /* resourceVersion to go on from */
	struct text onwards; /* the next page's token; "" = the list's first page */
	int page_items;      /* of this list; see resize_pages */
	int page_count;      /* of this list */
	struct lines lines;
	size_t heard_count; /* events of this stream */
	bool refused;       /* a chunk of this stream was */
	bool synced;
	char trouble[320];

	/* What waits to be taken, all in `arena`: first begin, the page's items and end, then the stream's events. */
	struct arena arena;
	bool begin;
	const struct json *items;
	size_t item_index;
	bool end;
	struct watch_event *events;
	size_t event_index;
	size_t event_count;
	size_t event_capacity;
};

struct watch *watch_new(const char *path, const char *name)
{
	struct watch *watch = calloc(1, sizeof *watch);

	if (watch == NULL)
		abort();
	watch->path = path;
	snprintf(watch->list_operation, sizeof watch->list_operation, "LIST %s", name);
	snprintf(watch->stream_operation, sizeof watch->stream_operation, "WATCH %s", name);
	watch->page_items = PAGE_ITEMS;
	text_init(&watch->onwards, CONTINUE_MAX_BYTES);
	lines_init(&watch->lines, EVENT_MAX_BYTES);
	arena_init(&watch->arena, "watch", ARENA_MAX_BYTES);
	return watch;
}

void watch_free(struct watch *watch)
{
	if (watch == NULL)
		return;
	text_done(&watch->onwards);
	lines_done(&watch->lines);
	arena_done(&watch->arena);
	free(watch);
}

struct instant watch_due(const struct watch *watch)
{
	return watch->in_flight ? (struct instant){FAR_AWAY_MS} : watch->due;
}

bool watch_synced(const struct watch *watch)
{
	return watch->synced;
}

const char *watch_trouble(const struct watch *watch)
{
	return watch->trouble;
}

static bool is_pending(const struct watch *watch)
{
	return watch->begin || watch->item_index < json_count(watch->items) || watch->end ||
	       watch->event_index < watch->event_count;
}

static void drop_taken(struct watch *watch)
{
	if (is_pending(watch))
		return;
	watch->items = NULL;
	watch->item_index = 0;
	watch->events = NULL;
	watch->event_index = 0;
	watch->event_count = 0;
	watch->event_capacity = 0;
	arena_reset(&watch->arena);
}

static void ask_page(struct watch *watch, struct arena *arena, struct http_request *out)
{
	kube_ask_get(arena, watch->list_operation, watch->path, out);
	out->query = arena_printf(arena, "limit=%d", watch->page_items);
	if (watch->onwards.length > 0)
		out->query = arena_printf(arena, "%s&continue=%s", out->query, text_percent(arena, watch->onwards.at));
	out->deadline_ms = PAGE_DEADLINE_MS;
	out->max_response_bytes = PAGE_MAX_BYTES;
}

static void ask_stream(struct watch *watch, uint32_t random, struct arena *arena, struct http_request *out)
{
	unsigned timeout_s = STREAM_LEAST_S + random % STREAM_SPREAD_S;

	kube_ask_get(arena, watch->stream_operation, watch->path, out);
	out->query = arena_printf(arena, "watch=1&resourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=%u",
	                          text_percent(arena, watch->version), timeout_s);
	watch->lifetime_ms = (int64_t)timeout_s * 1000;
	out->stream = true;
	out->deadline_ms = STREAM_DEADLINE_MS;
	out->idle_ms = STREAM_IDLE_MS;
}

bool watch_ask(struct watch *watch, struct instant now, uint32_t random, struct arena *arena, struct http_request *out)
{
	if (watch->in_flight || is_pending(watch) || !instant_reached(watch->due, now))
		return false;
	if (watch->streaming)
		ask_stream(watch, random, arena, out);
	else
		ask_page(watch, arena, out);
	lines_clear(&watch->lines);
	watch->heard_count = 0;
	watch->refused = false;
	watch->in_flight = true;
	watch->asked_at = now;
	watch->heard_at = now;
	return true;
}

static void push(struct watch *watch, enum watch_what what, const struct json *object)
{
	watch->events =
		arena_grow(&watch->arena, watch->events, watch->event_count, &watch->event_capacity, sizeof *watch->events);
	watch->events[watch->event_count++] = (struct watch_event){what, object};
}

/* An object without a version leaves ours as it is. */
static bool move_version(struct watch *watch, const struct json *object)
{
	const char *version = json_path_string(object, "metadata.resourceVersion");
	size_t length = version != NULL ? strlen(version) : 0;

	if (length == 0 || length >= sizeof watch->version)
		return false;
	memcpy(watch->version, version, length + 1);
	return true;
}

static bool hear_line(struct watch *watch, const char *line, size_t length, struct error *error)
{
	const struct json *event = json_parse(&watch->arena, line, length, error);
	const char *type = json_get_string(event, "type");
	const struct json *object = json_get(event, "object");

	if (event == NULL)
		return false;
	if (type == NULL || json_type(object) != JSON_OBJECT)
		return error_set(error, ERROR_MALFORMED, "an event without a type or an object");
	watch->heard_count++;
	watch->trouble[0] = '\0';
	if (text_equal(type, "ERROR"))
		return kube_status_error(object, error);
	if (text_equal(type, "ADDED") || text_equal(type, "MODIFIED"))
		push(watch, WATCH_OBJECT, object);
	else if (text_equal(type, "DELETED"))
		push(watch, WATCH_DELETED, object);
	else if (!text_equal(type, "BOOKMARK"))
		return true;
	move_version(watch, object);
	return true;
}

/* Bytes keep the connection's own limit away, but only events are news; and no stream outlives what was asked for. */
static bool is_alive(const struct watch *watch, struct instant now, struct error *error)
{
	if (instant_between_ms(watch->heard_at, now) >= STREAM_IDLE_MS)
		return error_set(error, ERROR_TIMEOUT, "no whole event for %d s", STREAM_IDLE_MS / 1000);
	if (instant_between_ms(watch->asked_at, now) > watch->lifetime_ms + STREAM_LATE_MS)
		return error_set(error, ERROR_TIMEOUT, "it does not end when it should");
	return true;
}

bool watch_hear_chunk(struct watch *watch, struct instant now, const char *bytes, size_t length, struct error *error)
{
	size_t heard = watch->heard_count;
	size_t line_length;

	assert(watch->in_flight && watch->streaming);
	drop_taken(watch);
	watch->refused = !lines_feed(&watch->lines, bytes, length, error);
	while (!watch->refused) {
		const char *line = lines_next(&watch->lines, &line_length);

		if (line == NULL)
			break;
		watch->refused = !hear_line(watch, line, line_length, error);
	}
	if (watch->heard_count > heard)
		watch->heard_at = now;
	watch->refused = watch->refused || !is_alive(watch, now, error);
	return !watch->refused;
}

static int64_t jitter_ms(uint32_t random, int64_t most_ms)
{
	return (int64_t)((uint64_t)random * (uint64_t)most_ms / UINT32_MAX);
}

/*
 * Later by 0.8 s times two to the power of the failures, times one to two; not before the service's own time, and up to
 * a quarter after it: everybody was told the same.
 */
static void back_off(struct watch *watch, struct instant now, uint32_t random, int32_t retry_after_ms, const char *why)
{
	int64_t delay_ms = BACKOFF_FIRST_MS;

	if (watch->failures > 0 && instant_between_ms(watch->backoff_until, now) >= BACKOFF_RESET_MS)
		watch->failures = 0;
	for (int i = 0; i < watch->failures && delay_ms < BACKOFF_LAST_MS; i++)
		delay_ms *= 2;
	if (delay_ms > BACKOFF_LAST_MS)
		delay_ms = BACKOFF_LAST_MS;
	delay_ms += jitter_ms(random, delay_ms);
	if (retry_after_ms > RETRY_AFTER_MAX_MS)
		retry_after_ms = RETRY_AFTER_MAX_MS;
	if (delay_ms < retry_after_ms)
		delay_ms = retry_after_ms + jitter_ms(random, retry_after_ms / 4);
	if (watch->failures < INT16_MAX)
		watch->failures++;
	watch->due = instant_after(now, delay_ms);
	watch->backoff_until = watch->due;
	snprintf(watch->trouble, sizeof watch->trouble, "%s: %s",
	         watch->streaming ? watch->stream_operation : watch->list_operation, why);
}

static void start_over(struct watch *watch)
{
	watch->streaming = false;
	watch->page_count = 0;
	text_clear(&watch->onwards);
}

/*
 * The token of the page after this one, "" for the last. False when there is none to go on from and no version either,
 * or when it leads to where we are.
 */
static bool note_page(struct watch *watch, const struct json *page)
{
	const char *onwards = json_path_string(page, "metadata.continue");

	if (onwards != NULL && *onwards != '\0' && text_equal(onwards, watch->onwards.at))
		return false;
	text_clear(&watch->onwards);
	if (onwards != NULL)
		text_append(&watch->onwards, onwards);
	return !watch->onwards.overflow && (watch->onwards.length > 0 || move_version(watch, page));
}

static bool hear_page(struct watch *watch, const struct http_response *response, struct error *error)
{
	bool first = watch->onwards.length == 0;
	const struct json *page = json_parse(&watch->arena, response->body, response->body_length, error);
	const struct json *items = json_get(page, "items");

	if (page == NULL)
		return false;
	if (json_type(page) != JSON_OBJECT || (items != NULL && json_type(items) != JSON_ARRAY) ||
	    !note_page(watch, page)) {
		text_clear(&watch->onwards);
		return error_set(error, ERROR_MALFORMED, "the answer is not a list of the API");
	}
	watch->begin = first;
	watch->items = items;
	watch->item_index = 0;
	watch->end = watch->onwards.length == 0;
	watch->streaming = watch->end;
	watch->page_count = watch->end ? 0 : watch->page_count + 1;
	if (watch->end)
		watch->page_items = PAGE_ITEMS;
	watch->trouble[0] = '\0';
	return true;
}

/* Is the page worth asking for again with its token? Not where the answer is about that, or will be the same. */
static bool is_page_repeatable(const struct error *error)
{
	switch (error->kind) {
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_THROTTLED:
	case ERROR_EXPIRED:
	case ERROR_DENIED:
	case ERROR_SERVER:
	case ERROR_STALE:
	case ERROR_CANCELED:
		return true;
	default:
		return false;
	}
}

/* A token that has grown old wants fewer pages, an answer that was too large wants more of them. */
static void resize_pages(struct watch *watch, const struct error *error)
{
	if (error->kind == ERROR_GONE && watch->onwards.length > 0 && watch->page_items < PAGE_ITEMS_MAX)
		watch->page_items *= 2;
	if (error->kind == ERROR_LIMIT && watch->page_items > PAGE_ITEMS_MIN)
		watch->page_items /= 2;
}

static void hear_page_end(struct watch *watch, struct instant now, uint32_t random,
                          const struct http_response *response, const struct error *error)
{
	struct error own;

	if (error == NULL && hear_page(watch, response, &own)) {
		watch->due = watch->page_count > PAGES_AT_ONCE ? instant_after(now, PACE_MS) : now;
		return;
	}
	if (error == NULL)
		error = &own;
	resize_pages(watch, error);
	if (!is_page_repeatable(error))
		start_over(watch);
	back_off(watch, now, random, error->retry_after_ms, error->message);
}

/* Does the version still stand? Where the API server gave no answer of its own, it does. */
static bool is_resumable(const struct watch *watch, const struct error *error)
{
	switch (error->kind) {
	case ERROR_THROTTLED:
	case ERROR_UNREACHABLE:
	case ERROR_TIMEOUT:
	case ERROR_CANCELED:
	case ERROR_STALE:
		return true;
	case ERROR_MALFORMED:
		return !watch->refused && error->http_status == 200;
	default:
		return false;
	}
}

static void go_on(struct watch *watch, struct instant now, uint32_t random)
{
	struct instant earliest = instant_after(watch->asked_at, PACE_MS + jitter_ms(random, PACE_MS));

	watch->due = instant_reached(earliest, now) ? now : earliest;
	watch->trouble[0] = '\0';
}

/* It worked, and then the network or a proxy cut it: the next one may be asked for as after a clean end. */
static bool was_cut(const struct watch *watch, struct instant now, const struct error *error)
{
	return is_resumable(watch, error) && error->http_status == 200 &&
	       (watch->heard_count > 0 || instant_between_ms(watch->asked_at, now) >= SHORT_STREAM_MS);
}

static void hear_stream_end(struct watch *watch, struct instant now, uint32_t random, const struct error *error)
{
	if (error == NULL && watch->heard_count == 0 && instant_between_ms(watch->asked_at, now) < SHORT_STREAM_MS) {
		back_off(watch, now, random, 0, "it ended at once, without an event");
		return;
	}
	if (error == NULL || was_cut(watch, now, error)) {
		go_on(watch, now, random);
		return;
	}
	back_off(watch, now, random, error->retry_after_ms, error->message);
	if (!is_resumable(watch, error))
		start_over(watch);
}

void watch_hear_end(struct watch *watch, struct instant now, uint32_t random, const struct http_response *response,
                    const struct error *error)
{
	assert(watch->in_flight);
	watch->in_flight = false;
	drop_taken(watch);
	if (watch->streaming)
		hear_stream_end(watch, now, random, error);
	else
		hear_page_end(watch, now, random, response, error);
}

bool watch_take(struct watch *watch, struct watch_event *out)
{
	drop_taken(watch);
	if (watch->begin) {
		watch->begin = false;
		*out = (struct watch_event){WATCH_LIST_BEGIN, NULL};
	} else if (watch->item_index < json_count(watch->items)) {
		*out = (struct watch_event){WATCH_OBJECT, json_at(watch->items, watch->item_index++)};
	} else if (watch->end) {
		watch->end = false;
		watch->synced = true;
		*out = (struct watch_event){WATCH_LIST_END, NULL};
	} else if (watch->event_index < watch->event_count) {
		*out = watch->events[watch->event_index++];
	} else {
		return false;
	}
	return true;
}
