/*
 * The watch against servers that do anything: for a virtual hour one misbehaves, always in one way or each time in
 * another; then it heals. Never more than so many calls in a minute, and in the end what was handed out is the truth.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"
#include "kube/watch.h"

#define OBJECTS 40
#define HISTORY 60 /* older versions are compacted */
#define PAGE 7     /* whatever limit says */
#define STARTS_PER_MINUTE 62
#define CALLS_PER_MINUTE 600
#define HOUR_MS 3600000
#define HEAL_MS 900000

enum mood {
	FINE,
	END_AT_ONCE,
	END_AFTER_ONE,      /* with an event, at once */
	END_AFTER_BOOKMARK, /* with nothing but that, at once */
	END_AFTER_A_SECOND,
	BREAK_OFF,
	BREAK_AFTER_ONE,
	GONE_STATUS,
	GONE_EVENT,
	THROTTLE,
	THROTTLE_WITH_TIME,
	THROTTLE_EVENT,
	FAIL,
	DENY,
	REFUSE,
	TIME_OUT,
	PAGE_OF_HTML,
	GARBAGE_EVENT,
	UNKNOWN_EVENT,
	HALF_AN_EVENT,
	DRIP,
	NEVER_END,
	SAME_TOKEN,
	ENDLESS_PAGES,
	GONE_HALF_WAY,
	MOODS,
};

struct change {
	long version;
	int object;
	bool deleted;
};

struct server {
	uint64_t state; /* of chance */
	long version;
	long at[OBJECTS]; /* version of each; 0 = not there */
	struct change changes[100000];
	size_t change_count;
	long listed[OBJECTS]; /* the list that is being read page by page */
	long listed_version;
	int pages;
	enum mood mood;
	bool mixed;
};

static struct server server;
static struct watch *watch;
static struct arena arena;
static struct instant now;
static struct instant began;
static int starts[HOUR_MS / 60000 + 20];
static int calls[HOUR_MS / 60000 + 20];
static long known[OBJECTS];
static bool marked[OBJECTS];
static uint64_t seed;

static uint32_t chance(uint32_t below)
{
	server.state ^= server.state << 13;
	server.state ^= server.state >> 7;
	server.state ^= server.state << 17;
	return (uint32_t)(server.state >> 32) % below;
}

static uint32_t anything(void)
{
	return (uint32_t)chance(UINT32_MAX);
}

static void change_something(void)
{
	int object = (int)chance(OBJECTS);
	bool deleted = server.at[object] != 0 && chance(3) == 0;

	cr_assert_lt(server.change_count, sizeof server.changes / sizeof *server.changes);
	server.at[object] = deleted ? 0 : ++server.version;
	if (deleted)
		server.version++;
	server.changes[server.change_count++] = (struct change){server.version, object, deleted};
}

static void take_all(void)
{
	struct watch_event event;

	while (watch_take(watch, &event)) {
		const char *name = json_path_string(event.object, "metadata.name");
		const char *version = json_path_string(event.object, "metadata.resourceVersion");
		int object = name != NULL ? atoi(name + 1) : -1;

		switch (event.what) {
		case WATCH_LIST_BEGIN:
			memset(marked, 0, sizeof marked);
			break;
		case WATCH_OBJECT:
			known[object] = atol(version);
			marked[object] = true;
			break;
		case WATCH_DELETED:
			known[object] = 0;
			break;
		case WATCH_LIST_END:
			for (int i = 0; i < OBJECTS; i++)
				known[i] = marked[i] ? known[i] : 0;
			break;
		}
	}
}

static void end_with(enum error_kind kind, int status, int32_t retry_after_ms)
{
	struct error error;

	error_set(&error, kind, "as told");
	error.http_status = status;
	error.retry_after_ms = retry_after_ms;
	watch_hear_end(watch, now, anything(), NULL, &error);
}

static void end_clean(const char *body)
{
	struct http_response response = {.status = 200, .body = body, .body_length = strlen(body)};

	watch_hear_end(watch, now, anything(), &response, NULL);
}

/* In pieces of any length. False: the call has ended. */
static bool send(const char *bytes)
{
	size_t length = strlen(bytes);
	struct error error;

	while (length > 0) {
		size_t piece = 1 + chance((uint32_t)length);

		if (!watch_hear_chunk(watch, now, bytes, piece, &error)) {
			watch_hear_end(watch, now, anything(), NULL, &error);
			return false;
		}
		take_all();
		bytes += piece;
		length -= piece;
	}
	return true;
}

/* What came after *version. */
static bool send_changes(long *version)
{
	for (size_t i = 0; i < server.change_count; i++) {
		const struct change *change = &server.changes[i];

		if (change->version <= *version)
			continue;
		*version = change->version;
		if (!send(arena_printf(
				&arena, "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"n%d\",\"resourceVersion\":\"%ld\"}}}\n",
				change->deleted  ? "DELETED"
				: chance(2) == 0 ? "ADDED"
								 : "MODIFIED",
				change->object, change->version)))
			return false;
	}
	return true;
}

/* It says that all before it was sent. */
static bool send_bookmark(long *version)
{
	return send_changes(version) &&
	       send(arena_printf(&arena,
	                         "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%ld\"}}}\n",
	                         server.version));
}

/* Fails before anything else is said. */
static bool fail_at_once(enum mood mood)
{
	switch (mood) {
	case BREAK_OFF:
		end_with(ERROR_UNREACHABLE, 0, 0);
		return true;
	case GONE_STATUS:
		end_with(ERROR_GONE, 410, 0);
		return true;
	case THROTTLE:
		end_with(ERROR_THROTTLED, 429, 0);
		return true;
	case THROTTLE_WITH_TIME:
		end_with(ERROR_THROTTLED, 429, (int32_t)(1000 + chance(600000)));
		return true;
	case FAIL:
		end_with(ERROR_SERVER, 503, 0);
		return true;
	case DENY:
		end_with(ERROR_DENIED, 403, 0);
		return true;
	case REFUSE:
		end_with(ERROR_REJECTED, 400, 0);
		return true;
	case TIME_OUT:
		now.ms += 30000;
		end_with(ERROR_TIMEOUT, 0, 0);
		return true;
	default:
		return false;
	}
}

/* Says something, or nothing, and ends at once. */
static bool end_soon(enum mood mood, long *version)
{
	switch (mood) {
	case END_AT_ONCE:
		break;
	case END_AFTER_ONE:
		change_something();
		if (!send_changes(version))
			return true;
		break;
	case END_AFTER_BOOKMARK:
		if (!send_bookmark(version))
			return true;
		break;
	case END_AFTER_A_SECOND:
		now.ms += 1000;
		break;
	case BREAK_AFTER_ONE:
		change_something();
		if (send_changes(version))
			end_with(ERROR_UNREACHABLE, 200, 0);
		return true;
	case UNKNOWN_EVENT:
		if (!send("{\"type\":\"SURPRISE\",\"object\":{}}\n"))
			return true;
		break;
	case HALF_AN_EVENT:
		if (!send("{\"type\":\"ADDED\",\"object\":{\"meta"))
			return true;
		break;
	case GONE_EVENT:
		cr_assert_not(send("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n"));
		return true;
	case THROTTLE_EVENT:
		cr_assert_not(send("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":429}}\n"));
		return true;
	case PAGE_OF_HTML:
		cr_assert_not(send("<html>\n"));
		return true;
	case GARBAGE_EVENT:
		cr_assert_not(send("{\"type\":\"ADDED\",\"object\":7}\n"));
		return true;
	default:
		return false;
	}
	end_clean("");
	return true;
}

static void stream(enum mood mood, long version, int64_t timeout_ms)
{
	struct instant until = instant_after(now, mood == NEVER_END ? HOUR_MS : timeout_ms);

	if (fail_at_once(mood))
		return;
	if (server.change_count > HISTORY && version < server.changes[server.change_count - HISTORY].version) {
		end_with(ERROR_GONE, 410, 0);
		return;
	}
	if (end_soon(mood, &version))
		return;
	while (!instant_reached(until, now)) {
		now = instant_earlier(instant_after(now, 1 + chance(60000)), until);
		if (mood == DRIP ? !send("\n") : (!server.mixed || chance(4) == 0) && !send_bookmark(&version))
			return;
		if (mood != DRIP && chance(2) == 0)
			change_something();
		if (mood != DRIP && !send_changes(&version))
			return;
	}
	end_clean("");
}

static const char *item_list(int from, int until)
{
	struct text items;

	text_init(&items, (size_t)1 << 20);
	for (int i = from; i < until; i++) {
		if (server.listed[i] != 0)
			text_printf(&items, "%s{\"metadata\":{\"name\":\"n%d\",\"resourceVersion\":\"%ld\"}}",
			            items.length ? "," : "", i, server.listed[i]);
	}
	return text_take(&items, &arena);
}

static void page(enum mood mood, const char *token)
{
	int from = token != NULL ? atoi(token) : 0;
	const char *next = from + PAGE < OBJECTS ? arena_printf(&arena, "%d-%ld", from + PAGE, server.listed_version) : "";

	if (fail_at_once(mood))
		return;
	if (mood == PAGE_OF_HTML || mood == GARBAGE_EVENT) {
		end_clean(mood == PAGE_OF_HTML ? "<html>" : "{\"items\":[");
		return;
	}
	if (mood == GONE_HALF_WAY && token != NULL) {
		end_with(ERROR_GONE, 410, 0);
		return;
	}
	if (token == NULL) {
		memcpy(server.listed, server.at, sizeof server.at);
		server.listed_version = server.version;
	}
	if (mood == SAME_TOKEN)
		next = token != NULL ? token : next;
	if (mood == ENDLESS_PAGES)
		next = arena_printf(&arena, "0-%d", ++server.pages);
	end_clean(arena_printf(&arena, "{\"metadata\":{\"resourceVersion\":\"%ld\",\"continue\":\"%s\"},\"items\":[%s]}",
	                       server.listed_version, next,
	                       item_list(from, from + PAGE < OBJECTS ? from + PAGE : OBJECTS)));
}

static const char *member(const char *query, const char *name)
{
	const char *found = strstr(query, name);

	return found != NULL ? found + strlen(name) : NULL;
}

static void count(bool start)
{
	size_t minute = (size_t)(instant_between_ms(began, now) / 60000);

	cr_assert_lt(minute, sizeof calls / sizeof *calls);
	cr_assert_leq(++calls[minute], CALLS_PER_MINUTE, "seed %llu, mood %d: calls in minute %zu",
	              (unsigned long long)seed, (int)server.mood, minute);
	if (start)
		cr_assert_leq(++starts[minute], STARTS_PER_MINUTE, "seed %llu, mood %d: lists and streams in minute %zu",
		              (unsigned long long)seed, (int)server.mood, minute);
}

static void serve(void)
{
	enum mood mood = server.mixed ? (enum mood)chance(MOODS) : server.mood;
	struct http_request request;
	const char *token;

	cr_assert(watch_ask(watch, now, anything(), &arena, &request), "it said that it was due");
	token = member(request.query, "continue=");
	count(token == NULL);
	now.ms += chance(5);
	if (chance(3) == 0)
		change_something();
	if (request.stream)
		stream(mood, atol(member(request.query, "resourceVersion=")),
		       atol(member(request.query, "timeoutSeconds=")) * 1000);
	else
		page(mood, token);
	take_all();
}

static void run_until(struct instant until)
{
	while (now.ms < until.ms) {
		struct instant due = watch_due(watch);

		cr_assert_leq(instant_between_ms(now, due), 75000, "never asleep for longer");
		if (now.ms < due.ms)
			now = due;
		serve();
		arena_reset(&arena);
	}
}

static void check_truth(void)
{
	for (int i = 0; i < OBJECTS; i++)
		cr_assert_eq(known[i], server.at[i], "seed %llu: object %d is %ld, not %ld", (unsigned long long)seed, i,
		             server.at[i], known[i]);
	cr_assert(watch_synced(watch));
	cr_assert_str_eq(watch_trouble(watch), "");
}

static void live(enum mood mood, bool mixed)
{
	server = (struct server){.state = seed * 2654435761U + 88172645463325252U, .mood = mood, .mixed = mixed};
	memset(starts, 0, sizeof starts);
	memset(calls, 0, sizeof calls);
	memset(known, 0, sizeof known);
	arena_init(&arena, "test", (size_t)256 << 20);
	watch = watch_new(KUBE_NODES_PATH, "nodes");
	now = began = (struct instant){1000000};
	for (int i = 0; i < 30; i++)
		change_something();
	run_until(instant_after(began, HOUR_MS));
	server.mixed = false;
	server.mood = FINE;
	began = now;
	memset(starts, 0, sizeof starts);
	memset(calls, 0, sizeof calls);
	run_until(instant_after(now, HEAL_MS));
	check_truth();
	watch_free(watch);
	arena_done(&arena);
}

Test(watch_random, a_server_that_always_misbehaves_in_one_way, .timeout = 120)
{
	for (int mood = 0; mood < MOODS; mood++) {
		seed = (uint64_t)mood + 1;
		live((enum mood)mood, false);
	}
}

Test(watch_random, a_server_that_misbehaves_in_all_ways, .timeout = 120)
{
	const char *given = getenv("ZONEVAC_TEST_SEED");

	for (int i = 0; i < 40; i++) {
		seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)i + 100;
		live(FINE, true);
	}
}
