#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"
#include "kube/watch.h"

static struct arena arena;
static struct watch *watch;
static struct http_request request;
static struct instant now;
static struct error error;
static struct text taken; /* "begin +a +b end -c " */

static void begin(void)
{
	arena_init(&arena, "test", (size_t)256 << 20);
	watch = watch_new(KUBE_NODES_PATH, "nodes");
	now = (struct instant){5000};
	text_init(&taken, (size_t)1 << 20);
}

static void end(void)
{
	watch_free(watch);
	text_done(&taken);
	arena_done(&arena);
}

TestSuite(watch, .init = begin, .fini = end);

static const char *take_all(void)
{
	static const char *const words[] = {
		[WATCH_LIST_BEGIN] = "begin", [WATCH_OBJECT] = "+", [WATCH_DELETED] = "-", [WATCH_LIST_END] = "end"};
	struct watch_event event;

	text_clear(&taken);
	while (watch_take(watch, &event)) {
		const char *name = json_path_string(event.object, "metadata.name");

		text_printf(&taken, "%s%s ", words[event.what], name != NULL ? name : "");
	}
	return taken.at;
}

static bool ask(void)
{
	return watch_ask(watch, now, 0, &arena, &request);
}

static void expect(const char *query)
{
	cr_assert_leq(watch_due(watch).ms, now.ms);
	cr_assert(ask());
	cr_assert_str_eq(request.path, "/api/v1/nodes");
	cr_assert_str_eq(request.query, query);
	cr_assert_gt(watch_due(watch).ms, now.ms + 3600000, "nothing is due while a call is in flight");
	cr_assert_not(ask());
}

static void page(const char *body)
{
	struct http_response response = {.status = 200, .body = body, .body_length = strlen(body)};

	watch_hear_end(watch, now, 0, &response, NULL);
}

static void fail_with(enum error_kind kind, int http_status, uint32_t random)
{
	struct error failed;

	error_set(&failed, kind, "it failed");
	failed.http_status = http_status;
	watch_hear_end(watch, now, random, NULL, &failed);
}

static bool chunk(const char *bytes)
{
	return watch_hear_chunk(watch, now, bytes, strlen(bytes), &error);
}

static void end_clean(void)
{
	struct http_response response = {.status = 200, .body = ""};

	watch_hear_end(watch, now, 0, &response, NULL);
}

/* What the engine does with a chunk that was refused. */
static void end_refused(void)
{
	watch_hear_end(watch, now, 0, NULL, &error);
}

static int64_t delay(void)
{
	return watch_due(watch).ms - now.ms;
}

static void list(const char *version)
{
	expect("limit=500");
	page(arena_printf(&arena, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}",
	                  version));
	cr_assert_str_eq(take_all(), "begin +a end ");
}

#define STREAM(version) "watch=1&resourceVersion=" version "&allowWatchBookmarks=true&timeoutSeconds=300"
#define EVENT(type, name, version) \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}}\n"
#define GONE_EVENT \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n"

static void stream(const char *version)
{
	list(version);
	expect(arena_printf(&arena, STREAM("%s"), version));
}

Test(watch, lists_page_by_page_and_holds_one)
{
	expect("limit=500");
	cr_assert_str_eq(request.operation, "LIST nodes");
	cr_assert_eq(request.deadline_ms, 60000);
	cr_assert_eq(request.max_response_bytes, (size_t)64 << 20);
	cr_assert_not(request.stream);
	page(
		"{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t/1+=\"},\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}");
	cr_assert_not(ask(), "the page before was not taken");
	cr_assert_str_eq(take_all(), "begin +a +b ");
	cr_assert_not(watch_synced(watch));
	expect("limit=500&continue=t%2F1%2B%3D");
	page("{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t2\"},\"items\":[]}");
	cr_assert_str_eq(take_all(), "");
	expect("limit=500&continue=t2");
	page("{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{\"name\":\"c\"}}]}");
	cr_assert_not(watch_synced(watch));
	cr_assert_str_eq(take_all(), "+c end ");
	cr_assert(watch_synced(watch));
	expect(STREAM("9"));
	cr_assert_str_eq(request.operation, "WATCH nodes");
	cr_assert(request.stream);
	cr_assert_eq(request.deadline_ms, 30000);
	cr_assert_eq(request.idle_ms, 180000);
}

Test(watch, empty_list_is_a_list)
{
	expect("limit=500");
	page("{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":null}");
	cr_assert_str_eq(take_all(), "begin end ");
	cr_assert(watch_synced(watch));
}

Test(watch, stream_lasts_five_to_ten_minutes)
{
	list("9");
	cr_assert(watch_ask(watch, now, UINT32_MAX, &arena, &request));
	cr_assert(text_starts_with(request.query, "watch=1&resourceVersion=9&allowWatchBookmarks=true&timeoutSeconds="));
	for (uint32_t random = 0; random < 1000; random++) {
		long long seconds = 0;

		page("");
		now = watch_due(watch);
		cr_assert(watch_ask(watch, now, random, &arena, &request));
		cr_assert(text_parse_integer(strrchr(request.query, '=') + 1, 300, 599, &seconds), "%s", request.query);
	}
}

Test(watch, events_are_handed_on_and_move_the_version)
{
	stream("9");
	cr_assert(chunk(EVENT("ADDED", "b", "10") EVENT("MODIFIED", "a", "11") EVENT("DELETED", "b", "12")));
	cr_assert_str_eq(take_all(), "+b +a -b ");
	now.ms += 400000;
	end_clean();
	expect(STREAM("12"));
}

Test(watch, bookmarks_move_the_version_and_nothing_else)
{
	stream("9");
	cr_assert(chunk(EVENT("BOOKMARK", "", "77")));
	cr_assert_str_eq(take_all(), "");
	now.ms += 400000;
	end_clean();
	expect(STREAM("77"));
}

Test(watch, unknown_types_and_blank_lines_are_skipped)
{
	stream("9");
	cr_assert(chunk("\n" EVENT("ADDED", "c", "10") "\r\n" EVENT("SURPRISE", "b", "50")));
	cr_assert_str_eq(take_all(), "+c ");
	now.ms += 400000;
	end_clean();
	expect(STREAM("10"));
}

Test(watch, chunks_may_end_at_any_byte)
{
	static const char all[] = EVENT("ADDED", "b", "10") EVENT("BOOKMARK", "", "11") EVENT("DELETED", "b", "12");

	stream("9");
	for (size_t cut = 0; cut <= strlen(all); cut++) {
		const char *first = arena_copy(&arena, all, cut);

		cr_assert(chunk(first));
		text_clear(&taken);
		take_all();
		first = arena_string(&arena, taken.at);
		cr_assert(chunk(all + cut));
		cr_assert_str_eq(arena_printf(&arena, "%s%s", first, take_all()), "+b -b ", "cut at %zu", cut);
	}
	for (size_t i = 0; i < strlen(all); i++)
		cr_assert(watch_hear_chunk(watch, now, all + i, 1, &error));
	cr_assert_str_eq(take_all(), "+b -b ");
}

Test(watch, an_unfinished_event_is_forgotten_with_its_stream)
{
	stream("9");
	cr_assert(chunk("{\"type\":\"ADDED\",\"obj"));
	now.ms += 2000;
	end_clean();
	now = watch_due(watch);
	expect(STREAM("9"));
	cr_assert(chunk(EVENT("ADDED", "b", "10")));
	cr_assert_str_eq(take_all(), "+b ");
}

Test(watch, gone_in_the_stream_lists_anew)
{
	stream("9");
	cr_assert(chunk(EVENT("ADDED", "b", "10")));
	take_all();
	cr_assert_not(chunk(GONE_EVENT));
	cr_assert_eq(error.kind, ERROR_GONE);
	end_refused();
	cr_assert_geq(delay(), 800);
	cr_assert_not_null(strstr(watch_trouble(watch), "WATCH nodes: "));
	now = watch_due(watch);
	list("20");
	cr_assert_str_eq(watch_trouble(watch), "");
	cr_assert(watch_synced(watch));
	expect(STREAM("20"));
}

Test(watch, what_came_before_an_error_is_still_handed_out)
{
	stream("9");
	cr_assert_not(chunk(EVENT("ADDED", "b", "10") GONE_EVENT));
	end_refused();
	now = watch_due(watch);
	cr_assert_not(ask());
	cr_assert_str_eq(take_all(), "+b ");
	expect("limit=500");
}

Test(watch, gone_as_a_status_lists_anew)
{
	stream("9");
	fail_with(ERROR_GONE, 410, 0);
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, error_event_has_no_version)
{
	stream("9");
	cr_assert_not(chunk(
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"metadata\":{\"resourceVersion\":\"\"},\"code\":429}}\n"));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
	end_refused();
	now = watch_due(watch);
	expect(STREAM("9"));
}

Test(watch, no_answer_and_throttling_keep_the_version)
{
	static const enum error_kind kinds[] = {ERROR_UNREACHABLE, ERROR_THROTTLED, ERROR_TIMEOUT, ERROR_CANCELED};

	stream("9");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		fail_with(kinds[i], 0, 0);
		cr_assert_geq(delay(), 800);
		now = watch_due(watch);
		expect(STREAM("9"));
	}
	fail_with(ERROR_MALFORMED, 200, 0);
	now = watch_due(watch);
	expect(STREAM("9"));
}

Test(watch, other_failures_list_anew)
{
	static const enum error_kind kinds[] = {ERROR_SERVER, ERROR_DENIED, ERROR_ABSENT, ERROR_EXPIRED, ERROR_REJECTED};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		stream("9");
		fail_with(kinds[i], 500, 0);
		now = watch_due(watch);
	}
	expect("limit=500");
}

Test(watch, html_in_the_stream_is_refused_and_lists_anew)
{
	stream("9");
	cr_assert_not(chunk("<html>\n"));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	end_refused();
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, an_event_without_an_object_is_refused)
{
	stream("9");
	cr_assert_not(chunk("{\"type\":\"ADDED\"}\n"));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	end_refused();
	now = watch_due(watch);
	stream("10");
}

Test(watch, a_line_that_is_too_long_is_refused)
{
	char *bytes = arena_alloc(&arena, (size_t)1 << 20);
	bool good = true;

	stream("9");
	memset(bytes, 'x', (size_t)1 << 20);
	for (int i = 0; good && i < 17; i++)
		good = watch_hear_chunk(watch, now, bytes, (size_t)1 << 20, &error);
	cr_assert_not(good);
	cr_assert_eq(error.kind, ERROR_LIMIT);
	end_refused();
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, clean_end_goes_on_at_once_a_very_short_one_does_not)
{
	stream("9");
	now.ms += 999;
	end_clean();
	cr_assert_geq(delay(), 800);
	cr_assert_not(ask());
	now = watch_due(watch);
	expect(STREAM("9"));
	cr_assert(chunk(EVENT("BOOKMARK", "", "10")));
	now.ms += 10;
	end_clean();
	cr_assert_eq(delay(), 990, "a second after it was asked for");
	now = watch_due(watch);
	expect(STREAM("10"));
	now.ms += 1000;
	end_clean();
	expect(STREAM("10"));
}

Test(watch, a_stream_that_worked_and_was_cut_goes_on_as_after_a_clean_end)
{
	stream("9");
	for (int i = 0; i < 8; i++) {
		now.ms += 5000;
		cr_assert(chunk(EVENT("MODIFIED", "a", "10")));
		take_all();
		fail_with(ERROR_UNREACHABLE, 200, 0);
		cr_assert_eq(delay(), 0, "%d", i);
		cr_assert_str_eq(watch_trouble(watch), "");
		expect(STREAM("10"));
	}
	now.ms += 10;
	fail_with(ERROR_UNREACHABLE, 200, 0); /* at once, without an event */
	cr_assert_geq(delay(), 800);
	now = watch_due(watch);
	expect(STREAM("10"));
	now.ms += 5000;
	fail_with(ERROR_UNREACHABLE, 0, 0); /* no connection */
	cr_assert_geq(delay(), 800);
}

Test(watch, streams_that_end_at_once_with_an_event_are_paced_with_jitter)
{
	struct http_response response = {.status = 200, .body = ""};

	stream("9");
	cr_assert(chunk(EVENT("BOOKMARK", "", "10")));
	watch_hear_end(watch, now, UINT32_MAX, &response, NULL);
	cr_assert_eq(delay(), 2000);
	cr_assert_str_eq(watch_trouble(watch), "");
}

Test(watch, a_stream_that_only_drips_is_dead)
{
	stream("9");
	now.ms += 179999;
	cr_assert(chunk("\n"));
	now.ms += 1;
	cr_assert_not(chunk("{\"type\":"));
	cr_assert_eq(error.kind, ERROR_TIMEOUT);
	end_refused();
	cr_assert_geq(delay(), 800);
	now = watch_due(watch);
	expect(STREAM("9"));
	now.ms += 150000;
	cr_assert(chunk(EVENT("BOOKMARK", "", "10")));
	now.ms += 150000;
	cr_assert(chunk("\n"), "counted from the last event");
}

Test(watch, a_stream_that_does_not_end_is_ended)
{
	stream("9");
	for (int i = 0; i < 3; i++) {
		now.ms += 110000;
		cr_assert(chunk(EVENT("MODIFIED", "a", "10")), "%d", i);
		take_all();
	}
	now.ms += 1;
	cr_assert_not(chunk(EVENT("MODIFIED", "b", "11")));
	cr_assert_eq(error.kind, ERROR_TIMEOUT);
	cr_assert_str_eq(take_all(), "+b ", "what it said counts");
	end_refused();
	now = watch_due(watch);
	expect(STREAM("11"));
}

Test(watch, backoff_doubles_with_jitter_up_to_its_maximum)
{
	static const int64_t expected[] = {800, 1600, 3200, 5000, 5000};

	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		expect("limit=500");
		fail_with(ERROR_UNREACHABLE, 0, i % 2 == 0 ? 0 : UINT32_MAX);
		cr_assert_eq(delay(), expected[i] * (i % 2 == 0 ? 1 : 2), "failure %zu", i);
		now = watch_due(watch);
	}
	cr_assert_not_null(strstr(watch_trouble(watch), "LIST nodes: it failed"));
	now.ms += 121000;
	expect("limit=500");
	fail_with(ERROR_UNREACHABLE, 0, 0);
	cr_assert_eq(delay(), 800);
}

Test(watch, the_services_own_time_is_waited_for)
{
	struct error throttled;

	error_set(&throttled, ERROR_THROTTLED, "later");
	throttled.retry_after_ms = 7000;
	expect("limit=500");
	watch_hear_end(watch, now, 0, NULL, &throttled);
	cr_assert_eq(delay(), 7000);
	now = watch_due(watch);
	throttled.retry_after_ms = 600000;
	expect("limit=500");
	watch_hear_end(watch, now, 0, NULL, &throttled);
	cr_assert_eq(delay(), 60000);
	now = watch_due(watch);
	expect("limit=500");
	watch_hear_end(watch, now, UINT32_MAX, NULL, &throttled);
	cr_assert_eq(delay(), 75000, "not all at the same moment");
}

Test(watch, throttled_at_the_start_of_a_stream_waits_and_keeps_the_version)
{
	struct error throttled;

	stream("9");
	error_set(&throttled, ERROR_THROTTLED, "later");
	throttled.http_status = 429;
	throttled.retry_after_ms = 5000;
	watch_hear_end(watch, now, 0, NULL, &throttled);
	cr_assert_eq(delay(), 5000);
	now = watch_due(watch);
	expect(STREAM("9"));
}

Test(watch, a_server_that_lags_behind_is_listed_anew_without_a_version)
{
	struct error lagging;

	stream("9");
	error_set(&lagging, ERROR_SERVER, "too large resource version");
	lagging.http_status = 504;
	lagging.retry_after_ms = 1000;
	watch_hear_end(watch, now, 0, NULL, &lagging);
	cr_assert_eq(delay(), 1000);
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, a_failed_page_is_asked_again_an_old_token_starts_over)
{
	expect("limit=500");
	page("{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t1\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}");
	cr_assert_str_eq(take_all(), "begin +a ");
	expect("limit=500&continue=t1");
	fail_with(ERROR_SERVER, 503, 0);
	now = watch_due(watch);
	expect("limit=500&continue=t1");
	fail_with(ERROR_GONE, 410, 0);
	now = watch_due(watch);
	expect("limit=1000");
	page("{\"metadata\":{\"resourceVersion\":\"12\"},\"items\":[{\"metadata\":{\"name\":\"b\"}}]}");
	cr_assert_str_eq(take_all(), "begin +b end ");
	expect(STREAM("12"));
}

static void page_to(const char *token)
{
	page(arena_printf(&arena, "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"%s\"},\"items\":[]}", token));
	take_all();
}

Test(watch, a_list_slower_than_compaction_takes_larger_pages)
{
	static const char *const sizes[] = {"limit=500", "limit=1000", "limit=2000", "limit=4000", "limit=4000"};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		expect(sizes[i]);
		page_to("t");
		expect(arena_printf(&arena, "%s&continue=t", sizes[i]));
		fail_with(ERROR_GONE, 410, 0);
		now = watch_due(watch);
	}
	expect("limit=4000");
	page("{\"metadata\":{\"resourceVersion\":\"12\"},\"items\":[]}");
	take_all();
	expect(STREAM("12"));
	fail_with(ERROR_GONE, 410, 0);
	now = watch_due(watch);
	expect("limit=500");
	fail_with(ERROR_GONE, 410, 0);
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, a_page_that_is_too_large_is_asked_for_in_smaller_ones)
{
	static const char *const sizes[] = {"limit=500", "limit=250", "limit=125", "limit=62", "limit=31", "limit=31"};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		expect(sizes[i]);
		fail_with(ERROR_LIMIT, 200, 0);
		now = watch_due(watch);
	}
	expect("limit=31");
	page_to("t");
	expect("limit=31&continue=t");
	fail_with(ERROR_GONE, 410, 0);
	now = watch_due(watch);
	expect("limit=62");
}

Test(watch, a_token_that_is_refused_starts_over)
{
	static const enum error_kind kinds[] = {ERROR_REJECTED, ERROR_ABSENT, ERROR_MALFORMED};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		expect("limit=500");
		page_to("t");
		expect("limit=500&continue=t");
		fail_with(kinds[i], 400, 0);
		cr_assert_geq(delay(), 800);
		now = watch_due(watch);
	}
	expect("limit=500");
}

Test(watch, a_token_that_leads_to_itself_is_a_failure)
{
	expect("limit=500");
	page_to("t");
	expect("limit=500&continue=t");
	page_to("t");
	cr_assert_geq(delay(), 800);
	cr_assert_not_null(strstr(watch_trouble(watch), "not a list"), "%s", watch_trouble(watch));
	now = watch_due(watch);
	expect("limit=500");
}

Test(watch, pages_without_end_are_paced)
{
	struct instant began = now;
	int count = 0;

	while (instant_between_ms(began, now) < 60000) {
		cr_assert(ask());
		page_to(arena_printf(&arena, "t%d", ++count));
		now = watch_due(watch);
	}
	cr_assert_geq(count, 200);
	cr_assert_leq(count, 261);
}

Test(watch, what_is_no_list_is_a_failure)
{
	static const char *const bodies[] = {"",
	                                     "<html>",
	                                     "[]",
	                                     "null",
	                                     "{}",
	                                     "{\"metadata\":{\"resourceVersion\":\"\"},\"items\":[]}",
	                                     "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":{}}",
	                                     "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[}"};

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		expect("limit=500");
		page(bodies[i]);
		cr_assert_geq(delay(), 800, "%s", bodies[i]);
		cr_assert_str_eq(take_all(), "");
		now = watch_due(watch);
	}
	cr_assert_not(watch_synced(watch));
}

Test(watch, many_events_are_handed_out_one_by_one)
{
	struct watch_event event;

	stream("9");
	for (int i = 0; i < 20000; i++) {
		cr_assert(chunk(EVENT("MODIFIED", "a", "10")));
		cr_assert(watch_take(watch, &event));
		cr_assert_str_eq(json_path_string(event.object, "metadata.name"), "a");
		cr_assert_not(watch_take(watch, &event));
	}
}
