#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"

static struct arena arena;
static struct http_request request;
static struct error error;

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	request = (struct http_request){0};
	error = (struct error){0};
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(objects, .init = begin, .fini = end);

static const struct json *parse(const char *text)
{
	const struct json *json = json_parse(&arena, text, strlen(text), &error);

	cr_assert_not_null(json, "%s", error.message);
	return json;
}

static const char *header(const char *name)
{
	return http_header(&request.headers, name);
}

Test(objects, get_is_relative_bounded_and_asks_for_json)
{
	kube_ask_get(&arena, "GET namespaces", "/api/v1/namespaces/kube-system", &request);
	cr_assert_str_eq(request.service, "kubernetes");
	cr_assert_str_eq(request.operation, "GET namespaces");
	cr_assert_str_eq(request.method, "GET");
	cr_assert_str_eq(request.path, "/api/v1/namespaces/kube-system");
	cr_assert_str_eq(header("accept"), "application/json");
	cr_assert_null(request.query);
	cr_assert_null(request.body);
	cr_assert_gt(request.deadline_ms, 0);
	cr_assert_gt(request.max_response_bytes, 0);
}

Test(objects, patch_has_its_content_type_and_field_manager)
{
	struct json *ops = json_new_array(&arena);

	kube_patch_op(ops, &arena, "test", "/a", json_new_null(&arena));
	kube_patch_op(ops, &arena, "remove", "/b", NULL);
	kube_ask_json_patch(&arena, "PATCH nodes", "/api/v1/nodes/a", ops, &request);
	cr_assert_str_eq(request.method, "PATCH");
	cr_assert_str_eq(header("Content-Type"), "application/json-patch+json");
	cr_assert_str_eq(request.query, "fieldManager=zonevac");
	cr_assert_str_eq(request.body,
	                 "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null},{\"op\":\"remove\",\"path\":\"/b\"}]");
	cr_assert_eq(request.body_length, strlen(request.body));
}

Test(objects, pointer_token_escapes_tilde_before_slash)
{
	cr_assert_str_eq(kube_pointer_token(&arena, "zonevac.dev/x"), "zonevac.dev~1x");
	cr_assert_str_eq(kube_pointer_token(&arena, "a~1/b"), "a~01~1b");
	cr_assert_str_eq(kube_pointer_token(&arena, ""), "");
}

#define WITH_FINALIZERS(list) "{\"metadata\":{\"name\":\"use1-az1\",\"resourceVersion\":\"7\",\"finalizers\":" list "}}"
#define TEST_VERSION "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"}"

Test(objects, first_finalizer_makes_the_list)
{
	kube_ask_add_finalizer(&arena, parse("{\"metadata\":{\"name\":\"use1-az1\",\"resourceVersion\":\"7\"}}"), &request);
	cr_assert_str_eq(request.path, "/apis/zonevac.dev/v1alpha1/zonalevacuations/use1-az1");
	cr_assert_str_eq(request.body, TEST_VERSION
	                 ",{\"op\":\"add\",\"path\":\"/metadata/finalizers\",\"value\":[\"zonevac.dev/recovery\"]}]");
}

Test(objects, further_finalizer_is_appended)
{
	kube_ask_add_finalizer(&arena, parse(WITH_FINALIZERS("[\"foregroundDeletion\"]")), &request);
	cr_assert_str_eq(request.body, TEST_VERSION
	                 ",{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"zonevac.dev/recovery\"}]");
}

Test(objects, finalizer_is_not_added_twice)
{
	const struct json *object = parse(WITH_FINALIZERS("[\"zonevac.dev/recovery\"]"));

	cr_assert(kube_has_finalizer(object));
	kube_ask_add_finalizer(&arena, object, &request);
	cr_assert_str_eq(request.body, TEST_VERSION "]");
}

Test(objects, only_our_finalizer_is_removed_wherever_it_stands)
{
	kube_ask_remove_finalizer(
		&arena, parse(WITH_FINALIZERS("[\"a/b\",\"zonevac.dev/recovery\",\"foregroundDeletion\"]")), &request);
	cr_assert_str_eq(request.body, TEST_VERSION
	                 ",{\"op\":\"test\",\"path\":\"/metadata/finalizers/1\",\"value\":\"zonevac.dev/recovery\"},"
	                 "{\"op\":\"remove\",\"path\":\"/metadata/finalizers/1\"}]");
}

Test(objects, foreign_finalizers_are_not_ours)
{
	const struct json *object = parse(WITH_FINALIZERS("[\"foregroundDeletion\"]"));

	cr_assert_not(kube_has_finalizer(object));
	kube_ask_remove_finalizer(&arena, object, &request);
	cr_assert_str_eq(request.body, TEST_VERSION "]");
}

Test(objects, status_is_replaced_whole_and_guarded_by_uid)
{
	kube_ask_status(&arena, "use1-az1", "u-1", parse("{\"phase\":\"Holding\"}"), &request);
	cr_assert_str_eq(request.path, "/apis/zonevac.dev/v1alpha1/zonalevacuations/use1-az1/status");
	cr_assert_str_eq(request.body, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u-1\"},"
	                               "{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"phase\":\"Holding\"}}]");
}

Test(objects, names_are_encoded_in_paths)
{
	kube_ask_status(&arena, "a b", "u", parse("{}"), &request);
	cr_assert_str_eq(request.path, "/apis/zonevac.dev/v1alpha1/zonalevacuations/a%20b/status");
}

static const struct json *ask_event(const char *name, const char *note)
{
	struct kube_event event = {
		.regarding_kind = "ZonalEvacuation",
		.regarding_api_version = "zonevac.dev/v1alpha1",
		.regarding_name = name,
		.regarding_uid = "u-1",
		.type = "Normal",
		.reason = "Evacuated",
		.action = "Evacuate",
		.note = note,
		.reporting_instance = "zonevac-7d9-abcde",
	};

	kube_ask_event(&arena, &event, (struct wallclock){1767323045123456}, 0xabcdef01, &request);
	return parse(request.body);
}

Test(objects, event_has_the_shape_the_api_demands)
{
	const struct json *event = ask_event("use1-az1", "52 of 52 changes are settled");

	cr_assert_str_eq(request.method, "POST");
	cr_assert_str_eq(request.path, "/apis/events.k8s.io/v1/namespaces/default/events");
	cr_assert_str_eq(json_get_string(event, "apiVersion"), "events.k8s.io/v1");
	cr_assert_str_eq(json_path_string(event, "metadata.namespace"), "default");
	cr_assert_str_eq(json_path_string(event, "metadata.name"), "use1-az1.6475ef64ed580abcdef01");
	cr_assert_str_eq(json_get_string(event, "eventTime"), "2026-01-02T03:04:05.123456Z");
	cr_assert_str_eq(json_get_string(event, "reportingController"), "zonevac.dev/controller");
	cr_assert_str_eq(json_get_string(event, "reportingInstance"), "zonevac-7d9-abcde");
	cr_assert_str_eq(json_get_string(event, "action"), "Evacuate");
	cr_assert_str_eq(json_get_string(event, "reason"), "Evacuated");
	cr_assert_str_eq(json_get_string(event, "type"), "Normal");
	cr_assert_str_eq(json_get_string(event, "note"), "52 of 52 changes are settled");
	cr_assert_str_eq(json_path_string(event, "regarding.kind"), "ZonalEvacuation");
	cr_assert_str_eq(json_path_string(event, "regarding.uid"), "u-1");
	cr_assert_null(json_path(event, "regarding.namespace"));
	cr_assert_null(json_get(event, "deprecatedCount"));
}

Test(objects, event_note_is_cut_at_a_character)
{
	char note[1100];
	const char *cut;

	memset(note, 'x', sizeof note);
	memcpy(note + 1023, "\xc3\xa9", 2);
	note[sizeof note - 1] = '\0';
	cut = json_get_string(ask_event("a", note), "note");
	cr_assert_eq(strlen(cut), 1023);
	memcpy(note + 1022, "\xc3\xa9y", 3);
	cut = json_get_string(ask_event("a", note), "note");
	cr_assert_eq(strlen(cut), 1024);
}

Test(objects, event_name_stays_a_dns_name)
{
	char name[254];
	const char *event_name;

	memset(name, '.', sizeof name);
	memset(name, 'a', 200);
	name[253] = '\0';
	event_name = json_path_string(ask_event(name, "n"), "metadata.name");
	cr_assert_leq(strlen(event_name), 253);
	cr_assert_null(strstr(event_name, ".."));
}

static bool check(int status, const char *body)
{
	struct http_response response = {.status = status, .body = body, .body_length = strlen(body)};

	error = (struct error){0};
	http_add_header(&response.headers, &arena, "Audit-Id", "audit-1");
	return kube_check(&response, &error);
}

static const char *status_body(const char *reason, int code, const char *more)
{
	return arena_printf(
		&arena,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"the\\nmessage\","
		"\"reason\":\"%s\"%s,\"code\":%d}",
		reason, more, code);
}

Test(objects, check_takes_success)
{
	cr_assert(check(200, "{\"kind\":\"Node\"}"));
	cr_assert(check(201, ""));
	cr_assert(check(200, "{\"kind\":\"Status\",\"status\":\"Success\"}"));
	cr_assert_eq(error.kind, ERROR_NONE);
}

Test(objects, check_reads_failure_in_a_success)
{
	cr_assert_not(check(
		201,
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"more than one PodDisruptionBudget\",\"code\":500}"));
	cr_assert_eq(error.kind, ERROR_SERVER);
	cr_assert_eq(error.http_status, 500);
	cr_assert_not_null(strstr(error.message, "more than one PodDisruptionBudget"));
}

Test(objects, check_maps_status_and_reason)
{
	static const struct {
		int status;
		const char *reason;
		enum error_kind kind;
	} cases[] = {
		{400, "BadRequest", ERROR_REJECTED},
		{401, "Unauthorized", ERROR_EXPIRED},
		{403, "Forbidden", ERROR_DENIED},
		{404, "NotFound", ERROR_ABSENT},
		{409, "Conflict", ERROR_CONFLICT},
		{409, "AlreadyExists", ERROR_CONFLICT},
		{410, "Expired", ERROR_GONE},
		{410, "Gone", ERROR_GONE},
		{413, "RequestEntityTooLarge", ERROR_REJECTED},
		{415, "UnsupportedMediaType", ERROR_REJECTED},
		{429, "TooManyRequests", ERROR_THROTTLED},
		{500, "InternalError", ERROR_SERVER},
		{503, "ServiceUnavailable", ERROR_SERVER},
		{504, "Timeout", ERROR_SERVER},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_not(check(cases[i].status, status_body(cases[i].reason, cases[i].status, "")));
		cr_assert_eq(error.kind, cases[i].kind, "%s", cases[i].reason);
		cr_assert_str_eq(error.code, cases[i].reason);
		cr_assert_eq(error.http_status, cases[i].status);
		cr_assert_str_eq(error.request_id, "audit-1");
		cr_assert_not_null(strstr(error.message, "the message"), "%s", error.message);
	}
}

/* As a kube-apiserver says it: statuses that stand for two things each. */
Test(objects, check_tells_apart_what_has_one_status)
{
	static const struct {
		int status;
		const char *reason;
		const char *details;
		enum error_kind kind;
		const char *code;
		int32_t retry_after_ms;
	} cases[] = {
		{409, "Conflict", "{\"name\":\"n1\",\"kind\":\"nodes\"}", ERROR_CONFLICT, "Conflict", 0},
		{409, "AlreadyExists", "{\"name\":\"n1\",\"kind\":\"nodes\"}", ERROR_CONFLICT, "AlreadyExists", 0},
		{422, "Invalid", "{}", ERROR_REJECTED, "PatchTestFailed", 0},
		{422, "Invalid",
	     "{\"name\":\"n1\",\"kind\":\"Node\",\"causes\":[{\"reason\":\"FieldValueInvalid\",\"field\":\"metadata.uid\"}]}",
	     ERROR_REJECTED, "Invalid", 0},
		{422, "Invalid", "{\"name\":\"n1\",\"kind\":\"Node\"}", ERROR_REJECTED, "Invalid", 0},
		{429, "TooManyRequests", "{\"retryAfterSeconds\":1}", ERROR_THROTTLED, "TooManyRequests", 1000},
		{429, "TooManyRequests",
	     "{\"causes\":[{\"reason\":\"DisruptionBudget\",\"message\":\"The disruption budget web needs 3\"}]}",
	     ERROR_THROTTLED, "DisruptionBudget", 0},
		{429, "TooManyRequests", "{\"causes\":[{\"reason\":\"DisruptionBudget\"}],\"retryAfterSeconds\":10}",
	     ERROR_THROTTLED, "DisruptionBudget", 10000},
		{403, "Forbidden", "{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}", ERROR_DENIED, "NamespaceTerminating",
	     0},
		{403, "Forbidden", "{\"name\":\"n1\",\"kind\":\"nodes\"}", ERROR_DENIED, "Forbidden", 0},
		{500, "ServerTimeout", "{\"retryAfterSeconds\":2}", ERROR_SERVER, "ServerTimeout", 2000},
		{504, "Timeout", "{\"retryAfterSeconds\":10}", ERROR_SERVER, "Timeout", 10000},
		{504, "Timeout", "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}",
	     ERROR_SERVER, "ResourceVersionTooLarge", 1000},
		{405, "MethodNotAllowed", "{}", ERROR_REJECTED, "MethodNotAllowed", 0},
		{406, "NotAcceptable", "{}", ERROR_REJECTED, "NotAcceptable", 0},
		{400, "Expired", "{}", ERROR_GONE, "Expired", 0},
		{409, "", "{}", ERROR_CONFLICT, "Conflict", 0},
		{422, "", "{}", ERROR_REJECTED, "PatchTestFailed", 0},
		{429, "", "{}", ERROR_THROTTLED, "TooManyRequests", 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *details = arena_printf(&arena, ",\"details\":%s", cases[i].details);

		cr_assert_not(check(cases[i].status, status_body(cases[i].reason, cases[i].status, details)));
		cr_assert_eq(error.kind, cases[i].kind, "%zu: %s", i, error_kind_name(error.kind));
		cr_assert_str_eq(error.code, cases[i].code, "%zu: %s", i, error.code);
		cr_assert_eq(error.retry_after_ms, cases[i].retry_after_ms, "%zu: %d", i, error.retry_after_ms);
	}
}

Test(objects, check_takes_only_the_api_at_its_word)
{
	static const char *const pages[] = {"<html><body>Sign in</body></html>", "\n <!DOCTYPE html>", "ok", "[]", "\"x\""};

	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
		cr_assert_not(check(200, pages[i]), "%s", pages[i]);
		cr_assert_eq(error.kind, ERROR_MALFORMED, "%s", pages[i]);
		cr_assert_eq(error.http_status, 200);
	}
	cr_assert(check(200, " \n{\"kind\":\"Node\"}"));
	cr_assert(check(204, ""));
	cr_assert(check(200, " \n"));
}

Test(objects, check_reads_any_failure_in_a_success)
{
	cr_assert_not(check(200, status_body("TooManyRequests", 429, ",\"details\":{\"retryAfterSeconds\":3}")));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
	cr_assert_eq(error.http_status, 429);
	cr_assert_eq(error.retry_after_ms, 3000);
	cr_assert_not(check(200, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":200}"));
	cr_assert_eq(error.kind, ERROR_SERVER);
}

Test(objects, the_header_is_above_the_body_and_neither_is_believed_without_end)
{
	const char *body = status_body("TooManyRequests", 429, ",\"details\":{\"retryAfterSeconds\":5}");
	struct http_response response = {.status = 429, .body = body, .body_length = strlen(body)};

	http_add_header(&response.headers, &arena, "Retry-After", "7");
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.retry_after_ms, 7000);
	http_set_header(&response.headers, &arena, "Retry-After", "86400");
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.retry_after_ms, 600000);
	http_set_header(&response.headers, &arena, "Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT");
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.retry_after_ms, 5000, "a date says nothing without their clock");
}

Test(objects, check_obeys_retry_after_of_body_and_header)
{
	struct http_response response = {.status = 429, .body = "Too many requests, please try again later.\n"};

	check(429, status_body("TooManyRequests", 429, ",\"details\":{\"retryAfterSeconds\":5}"));
	cr_assert_eq(error.retry_after_ms, 5000);
	check(429, status_body("TooManyRequests", 429, ",\"details\":{\"retryAfterSeconds\":99999999999}"));
	cr_assert_eq(error.retry_after_ms, 600000);
	response.body_length = strlen(response.body);
	http_add_header(&response.headers, &arena, "Retry-After", "2");
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.kind, ERROR_THROTTLED);
	cr_assert_eq(error.retry_after_ms, 2000);
	cr_assert_not_null(strstr(error.message, "Too many requests, please try again later."));
	cr_assert_null(strchr(error.message, '\n'));
}

Test(objects, check_reads_text_and_html)
{
	cr_assert_not(check(503, "<html><body>503 Service Unavailable</body></html>"));
	cr_assert_eq(error.kind, ERROR_SERVER);
	cr_assert_str_eq(error.code, "ServiceUnavailable");
	cr_assert_null(strstr(error.message, "<html>"));
	cr_assert_not(check(404, "404 page not found\n"));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_not_null(strstr(error.message, "404 page not found"));
	cr_assert_not(check(502, ""));
	cr_assert_eq(error.kind, ERROR_SERVER);
	cr_assert_not(check(302, "<a href=/login>"));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_not(check(409, "{\"kind\":\"Status\",\"reason\":"));
	cr_assert_eq(error.kind, ERROR_CONFLICT);
}

Test(objects, check_takes_over_what_the_transport_says)
{
	struct http_response response = {.status = 200, .body = "{"};

	error_set(&response.error, ERROR_MALFORMED, "cut short");
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.kind, ERROR_MALFORMED);
	cr_assert_eq(error.http_status, 200);
	response = (struct http_response){.body = ""};
	cr_assert_not(kube_check(&response, &error));
	cr_assert_eq(error.kind, ERROR_UNREACHABLE);
}

Test(objects, status_of_an_event_is_read_alike)
{
	cr_assert_not(kube_status_error(parse("{\"kind\":\"Status\",\"message\":\"too old\",\"code\":410}"), &error));
	cr_assert_eq(error.kind, ERROR_GONE);
	cr_assert_not(
		kube_status_error(parse("{\"kind\":\"Status\",\"message\":\"too old\",\"reason\":\"Expired\"}"), &error));
	cr_assert_eq(error.kind, ERROR_GONE);
	cr_assert_not(kube_status_error(parse("{\"kind\":\"Status\",\"reason\":\"Gone\"}"), &error));
	cr_assert_eq(error.kind, ERROR_GONE);
	cr_assert_not(kube_status_error(parse("{}"), &error));
	cr_assert_eq(error.kind, ERROR_SERVER);
}
