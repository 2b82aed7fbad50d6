#include "kube/objects.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define CALL_DEADLINE_MS 10000
#define ANSWER_MAX_BYTES ((size_t)4 << 20)
#define STATUS_MAX_BYTES ((size_t)64 << 10) /* a Status larger than this is not read for its sentence */
#define STATUS_ARENA_BYTES ((size_t)16 << 20)
#define QUOTE_MAX_BYTES 256
#define NOTE_MAX_BYTES 1024
#define NAME_MAX_BYTES 253
#define RETRY_AFTER_MAX_S 600

static void ask(struct arena *arena, const char *operation, const char *method, const char *path,
                struct http_request *out)
{
	*out = (struct http_request){
		.service = "kubernetes",
		.operation = operation,
		.method = method,
		.path = path,
		.deadline_ms = CALL_DEADLINE_MS,
		.max_response_bytes = ANSWER_MAX_BYTES,
	};
	http_add_header(&out->headers, arena, "Accept", "application/json");
}

static void ask_with_body(struct arena *arena, const char *content_type, const struct json *body,
                          struct http_request *out)
{
	http_add_header(&out->headers, arena, "Content-Type", content_type);
	out->query = "fieldManager=" KUBE_FIELD_MANAGER;
	out->body = json_print(body, arena);
	out->body_length = strlen(out->body);
}

void kube_ask_get(struct arena *arena, const char *operation, const char *path, struct http_request *out)
{
	ask(arena, operation, "GET", path, out);
}

void kube_ask_json_patch(struct arena *arena, const char *operation, const char *path, const struct json *ops,
                         struct http_request *out)
{
	ask(arena, operation, "PATCH", path, out);
	ask_with_body(arena, "application/json-patch+json", ops, out);
}

struct json *kube_new_object(struct arena *arena, const char *api_version, const char *kind, const char *namespace_,
                             const char *name, struct json **metadata)
{
	struct json *object = json_new_object(arena);

	json_set_string(object, "apiVersion", api_version);
	json_set_string(object, "kind", kind);
	*metadata = json_set_object(object, "metadata");
	json_set_string(*metadata, "name", name);
	json_set_string(*metadata, "namespace", namespace_);
	return object;
}

void kube_ask_write(struct arena *arena, const char *operation, const char *method, const char *path,
                    const struct json *object, struct http_request *out)
{
	ask(arena, operation, method, path, out);
	ask_with_body(arena, "application/json", object, out);
}

void kube_patch_op(struct json *ops, struct arena *arena, const char *op, const char *path, struct json *value)
{
	struct json *one = json_new_object(arena);

	json_set_string(one, "op", op);
	json_set_string(one, "path", path);
	json_set(one, "value", value);
	json_add(ops, one);
}

const char *kube_pointer_token(struct arena *arena, const char *key)
{
	char *token = arena_alloc(arena, 2 * strlen(key) + 1);
	char *at = token;

	for (; *key != '\0'; key++) {
		if (*key == '~' || *key == '/') {
			*at++ = '~';
			*at++ = *key == '~' ? '0' : '1';
		} else {
			*at++ = *key;
		}
	}
	return token;
}

static const char *evacuation_path(struct arena *arena, const char *name, const char *subresource)
{
	return arena_printf(arena, KUBE_EVACUATIONS_PATH "/%s%s", text_percent(arena, name), subresource);
}

/* Where our finalizer stands; the count of the list when it does not. */
static size_t finalizer_index(const struct json *finalizers)
{
	size_t index = 0;

	while (index < json_count(finalizers) && !text_equal(json_string(json_at(finalizers, index)), KUBE_FINALIZER))
		index++;
	return index;
}

bool kube_has_finalizer(const struct json *object)
{
	const struct json *finalizers = json_path(object, "metadata.finalizers");

	return finalizer_index(finalizers) < json_count(finalizers);
}

static struct json *ops_for_version(struct arena *arena, const struct json *object)
{
	struct json *ops = json_new_array(arena);
	const char *version = json_path_string(object, "metadata.resourceVersion");

	kube_patch_op(ops, arena, "test", "/metadata/resourceVersion",
	              json_new_string(arena, version != NULL ? version : ""));
	return ops;
}

static void ask_evacuation_patch(struct arena *arena, const struct json *object, const struct json *ops,
                                 struct http_request *out)
{
	const char *name = json_path_string(object, "metadata.name");

	kube_ask_json_patch(arena, "PATCH zonalevacuations", evacuation_path(arena, name != NULL ? name : "", ""), ops,
	                    out);
}

void kube_ask_add_finalizer(struct arena *arena, const struct json *object, struct http_request *out)
{
	struct json *ops = ops_for_version(arena, object);

	if (json_count(json_path(object, "metadata.finalizers")) == 0) {
		struct json *list = json_new_array(arena);

		json_add_string(list, KUBE_FINALIZER);
		kube_patch_op(ops, arena, "add", "/metadata/finalizers", list);
	} else if (!kube_has_finalizer(object)) {
		kube_patch_op(ops, arena, "add", "/metadata/finalizers/-", json_new_string(arena, KUBE_FINALIZER));
	}
	ask_evacuation_patch(arena, object, ops, out);
}

void kube_ask_remove_finalizer(struct arena *arena, const struct json *object, struct http_request *out)
{
	struct json *ops = ops_for_version(arena, object);

	if (kube_has_finalizer(object)) {
		size_t index = finalizer_index(json_path(object, "metadata.finalizers"));
		const char *path = arena_printf(arena, "/metadata/finalizers/%zu", index);

		kube_patch_op(ops, arena, "test", path, json_new_string(arena, KUBE_FINALIZER));
		kube_patch_op(ops, arena, "remove", path, NULL);
	}
	ask_evacuation_patch(arena, object, ops, out);
}

void kube_ask_status(struct arena *arena, const char *name, const char *uid, const struct json *status,
                     struct http_request *out)
{
	struct json *ops = json_new_array(arena);

	kube_patch_op(ops, arena, "test", "/metadata/uid", json_new_string(arena, uid));
	/* "add" puts it there whether or not the object has one: a new object has none. */
	kube_patch_op(ops, arena, "add", "/status", json_copy(arena, status));
	kube_ask_json_patch(arena, "PATCH zonalevacuations/status", evacuation_path(arena, name, "/status"), ops, out);
}

/* At most `max` bytes of it, cut where a character begins. */
static const char *cut(struct arena *arena, const char *string, size_t max)
{
	size_t length = strnlen(string, max + 1);

	if (length > max) {
		length = max;
		while (length > 0 && ((unsigned char)string[length] & 0xc0) == 0x80)
			length--;
	}
	return arena_copy(arena, string, length);
}

static const char *event_name(struct arena *arena, const char *regarding, struct wallclock now, uint32_t unique)
{
	const char *suffix = arena_printf(arena, ".%llx%08x", (unsigned long long)now.us, (unsigned)unique);
	size_t length = strnlen(regarding, NAME_MAX_BYTES - strlen(suffix));

	while (length > 0 && !isalnum((unsigned char)regarding[length - 1]))
		length--;
	return arena_printf(arena, "%.*s%s", (int)length, regarding, suffix);
}

static struct json *event_object(struct arena *arena, const struct kube_event *event, struct wallclock now,
                                 uint32_t unique)
{
	struct json *metadata;
	struct json *object = kube_new_object(arena, "events.k8s.io/v1", "Event", "default",
	                                      event_name(arena, event->regarding_name, now, unique), &metadata);
	struct json *regarding;

	json_set_string(object, "eventTime", wallclock_micro(now, arena));
	json_set_string(object, "reportingController", "zonevac.dev/controller");
	json_set_string(object, "reportingInstance", cut(arena, event->reporting_instance, 128));
	json_set_string(object, "action", event->action);
	json_set_string(object, "reason", event->reason);
	json_set_string(object, "type", event->type);
	json_set_string(object, "note", cut(arena, event->note, NOTE_MAX_BYTES));
	regarding = json_set_object(object, "regarding");
	json_set_string(regarding, "apiVersion", event->regarding_api_version);
	json_set_string(regarding, "kind", event->regarding_kind);
	json_set_string(regarding, "name", event->regarding_name);
	json_set_string(regarding, "uid", event->regarding_uid);
	return object;
}

void kube_ask_event(struct arena *arena, const struct kube_event *event, struct wallclock now, uint32_t unique,
                    struct http_request *out)
{
	kube_ask_write(arena, "POST events", "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
	               event_object(arena, event, now, unique), out);
}

struct meaning {
	int status;
	enum error_kind kind;
	const char *reason; /* what the API server would say, for answers of others */
};

static struct meaning meaning_of(int status)
{
	static const struct meaning known[] = {
		{400, ERROR_REJECTED, "BadRequest"},
		{401, ERROR_EXPIRED, "Unauthorized"},
		{403, ERROR_DENIED, "Forbidden"},
		{404, ERROR_ABSENT, "NotFound"},
		{409, ERROR_CONFLICT, "Conflict"},
		{410, ERROR_GONE, "Gone"},
		{413, ERROR_REJECTED, "RequestEntityTooLarge"},
		{415, ERROR_REJECTED, "UnsupportedMediaType"},
		{422, ERROR_REJECTED, "Invalid"},
		{429, ERROR_THROTTLED, "TooManyRequests"},
		{503, ERROR_SERVER, "ServiceUnavailable"},
		{504, ERROR_SERVER, "Timeout"},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].status == status)
			return known[i];
	}
	if (status >= 500)
		return (struct meaning){status, ERROR_SERVER, "InternalError"};
	if (status >= 400)
		return (struct meaning){status, ERROR_REJECTED, ""};
	return (struct meaning){status, ERROR_MALFORMED, ""};
}

/* One line that can be shown: control characters become blanks. */
static const char *quote(struct arena *arena, const char *string)
{
	char *line = arena_string(arena, cut(arena, string, QUOTE_MAX_BYTES));

	for (char *at = line; *at != '\0'; at++) {
		if (iscntrl((unsigned char)*at))
			*at = ' ';
	}
	return text_trim(arena, line, strlen(line));
}

static bool is_status(const struct json *json)
{
	return text_equal(json_get_string(json, "kind"), "Status");
}

static void set_code(struct error *error, const char *code)
{
	size_t length = strnlen(code, sizeof error->code - 1);

	memcpy(error->code, code, length);
	error->code[length] = '\0';
}

static bool has_cause(const struct json *status, const char *reason)
{
	const struct json *causes = json_path(status, "details.causes");

	for (size_t i = 0; i < json_count(causes); i++) {
		if (text_equal(json_get_string(json_at(causes, i), "reason"), reason))
			return true;
	}
	return false;
}

/*
 * What the reason leaves open: one status for two things. A validation names the object and the fields; of a patch that
 * does not fit the API server says neither (apiserver, handlers/patch.go).
 */
static const char *closer_reason(const struct json *status, int code, const char *reason)
{
	static const struct {
		int code;
		const char *cause;
	} causes[] = {{403, "NamespaceTerminating"}, {429, "DisruptionBudget"}, {504, "ResourceVersionTooLarge"}};

	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		if (causes[i].code == code && has_cause(status, causes[i].cause))
			return causes[i].cause;
	}
	if (code == 422 && text_equal(reason, "Invalid") && json_path(status, "details.name") == NULL &&
	    json_count(json_path(status, "details.causes")) == 0)
		return "PatchTestFailed";
	return reason;
}

/* What a Status says, on the arena's time. */
static bool explain_status(struct arena *arena, const struct json *status, int http_status, struct error *error)
{
	int64_t code = json_integer(json_get(status, "code"), http_status);
	int64_t retry_s = json_integer(json_path(status, "details.retryAfterSeconds"), 0);
	const char *reason = json_get_string(status, "reason");
	const char *message = json_get_string(status, "message");
	struct meaning meaning = meaning_of(code >= 400 && code <= 599 ? (int)code : 500);

	if (reason == NULL || *reason == '\0')
		reason = meaning.reason;
	if (text_equal(reason, "Expired") || text_equal(reason, "Gone"))
		meaning.kind = ERROR_GONE;
	error_set(error, meaning.kind, "the API server says %d %s: %s", meaning.status, quote(arena, reason),
	          message != NULL && *message != '\0' ? quote(arena, message) : "nothing more");
	error->http_status = meaning.status;
	set_code(error, closer_reason(status, meaning.status, reason));
	if (retry_s > 0)
		error->retry_after_ms = (int32_t)(retry_s < RETRY_AFTER_MAX_S ? retry_s : RETRY_AFTER_MAX_S) * 1000;
	return false;
}

bool kube_status_error(const struct json *status, struct error *error)
{
	struct arena arena;

	arena_init(&arena, "kube status", STATUS_ARENA_BYTES);
	explain_status(&arena, status, 500, error);
	arena_done(&arena);
	return false;
}

/* An answer of something that is not the API server, or of one that is too busy to speak JSON. */
static bool explain_text(struct arena *arena, const struct http_response *response, struct error *error)
{
	struct meaning meaning = meaning_of(response->status);
	const char *body = quote(arena, response->body != NULL ? response->body : "");
	const char *what = body;

	if (*body == '\0')
		what = "an answer without a body";
	else if (*body == '<')
		what = "a page that is not of the API (is a proxy in between?)";
	error_set(error, meaning.kind, "the API server says %d: %s", response->status, what);
	error->http_status = response->status;
	set_code(error, meaning.reason);
	return false;
}

static const struct json *parse_status(struct arena *arena, const struct http_response *response)
{
	struct error ignored;
	const struct json *json;

	if (response->body == NULL || response->body_length > STATUS_MAX_BYTES ||
	    strstr(response->body, "\"Status\"") == NULL)
		return NULL;
	json = json_parse(arena, response->body, response->body_length, &ignored);
	return is_status(json) ? json : NULL;
}

/* The API answers with an object, or with nothing. */
static bool is_of_the_api(const struct http_response *response)
{
	const char *body = response->body != NULL ? response->body : "";

	body += strspn(body, " \t\r\n");
	return *body == '\0' || *body == '{';
}

static bool take_over(const struct http_response *response, struct error *error)
{
	*error = response->error;
	if (error->kind == ERROR_NONE)
		error_set(error, ERROR_UNREACHABLE, "no answer from the API server");
	error->http_status = response->status;
	return false;
}

static bool explain(struct arena *arena, const struct http_response *response, struct error *error)
{
	const struct json *status = parse_status(arena, response);
	const char *audit_id = http_header(&response->headers, "Audit-Id");
	int32_t retry_after_ms = http_retry_after_ms(response);

	if (response->status >= 200 && response->status < 300) {
		if (!is_of_the_api(response))
			explain_text(arena, response, error);
		else if (text_equal(json_get_string(status, "status"), "Failure"))
			explain_status(arena, status, 500, error);
		else
			return true;
	} else if (status != NULL) {
		explain_status(arena, status, response->status, error);
	} else {
		explain_text(arena, response, error);
	}
	if (retry_after_ms > 0)
		error->retry_after_ms = retry_after_ms;
	if (audit_id != NULL) {
		size_t length = strnlen(audit_id, sizeof error->request_id - 1);

		memcpy(error->request_id, audit_id, length);
		error->request_id[length] = '\0';
	}
	return false;
}

bool kube_check(const struct http_response *response, struct error *error)
{
	struct arena arena;
	bool good;

	if (response->status == 0 || response->error.kind != ERROR_NONE)
		return take_over(response, error);
	arena_init(&arena, "kube answer", STATUS_ARENA_BYTES);
	good = explain(&arena, response, error);
	arena_done(&arena);
	return good;
}
