#include "aws/protocol.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "aws/xml.h"

#define FORM_MAX_BYTES (256 * 1024)
#define ERROR_BODY_MAX_BYTES (64 * 1024)
#define RETRY_AFTER_MAX_MS (10 * 60 * 1000)

/*
 * Which words of a service mean what, whatever the status. Source: SDKs and tools reference, "Retry behavior"; the
 * services' models.
 */
static const struct {
	const char *code;
	enum error_kind kind;
} known_codes[] = {
	{"Throttling", ERROR_THROTTLED},
	{"ThrottlingException", ERROR_THROTTLED},
	{"ThrottledException", ERROR_THROTTLED},
	{"RequestThrottled", ERROR_THROTTLED},
	{"RequestThrottledException", ERROR_THROTTLED},
	{"TooManyRequestsException", ERROR_THROTTLED},
	{"ProvisionedThroughputExceededException", ERROR_THROTTLED},
	{"TransactionInProgressException", ERROR_THROTTLED},
	{"RequestLimitExceeded", ERROR_THROTTLED},
	{"BandwidthLimitExceeded", ERROR_THROTTLED},
	{"LimitExceededException", ERROR_THROTTLED},
	{"SlowDown", ERROR_THROTTLED},
	{"PriorRequestNotComplete", ERROR_THROTTLED},
	{"EC2ThrottledException", ERROR_THROTTLED},
	{"RateExceeded", ERROR_THROTTLED},
	{"ExpiredToken", ERROR_EXPIRED},
	{"ExpiredTokenException", ERROR_EXPIRED},
	{"RequestExpired", ERROR_EXPIRED},
	{"TokenRefreshRequired", ERROR_EXPIRED},
	{"AuthFailure", ERROR_EXPIRED},
	{"IDPRejectedClaim", ERROR_DENIED},
	{"IncompleteSignature", ERROR_DENIED},
	{"IncompleteSignatureException", ERROR_DENIED},
	{"InvalidAccessKeyId", ERROR_EXPIRED},
	{"InvalidClientTokenId", ERROR_EXPIRED},
	{"InvalidIdentityToken", ERROR_DENIED},
	{"InvalidSignatureException", ERROR_DENIED},
	{"MissingAuthenticationToken", ERROR_DENIED},
	{"MissingAuthenticationTokenException", ERROR_DENIED},
	{"NotAuthorized", ERROR_DENIED},
	{"OptInRequired", ERROR_DENIED},
	{"RequestInTheFuture", ERROR_DENIED},
	{"RequestTimeTooSkewed", ERROR_DENIED},
	{"SignatureDoesNotMatch", ERROR_DENIED},
	{"UnauthorizedOperation", ERROR_DENIED},
	{"UnrecognizedClientException", ERROR_EXPIRED},
	{"ResourceContention", ERROR_BUSY},
	{"ResourceContentionFault", ERROR_BUSY},
	{"ResourceInUse", ERROR_BUSY},
	{"ResourceInUseException", ERROR_BUSY},
	{"ResourceInUseFault", ERROR_BUSY},
	{"ScalingActivityInProgress", ERROR_BUSY},
	{"ScalingActivityInProgressFault", ERROR_BUSY},
	{"ResourceConflictException", ERROR_BUSY},
	{"ReplicatedWriteConflictException", ERROR_BUSY},
	{"ResourceNotFoundException", ERROR_ABSENT},
	{"ClusterNotFoundException", ERROR_ABSENT},
	{"ServiceNotActiveException", ERROR_ABSENT},
	{"ServiceNotFoundException", ERROR_ABSENT},
	{"ConditionalCheckFailedException", ERROR_CONFLICT},
	{"PreconditionFailedException", ERROR_CONFLICT},
	{"IDPCommunicationError", ERROR_SERVER},
	{"InternalError", ERROR_SERVER},
	{"InternalFailure", ERROR_SERVER},
	{"InternalServerError", ERROR_SERVER},
	{"RequestTimeout", ERROR_SERVER},
	{"RequestTimeoutException", ERROR_SERVER},
	{"ServiceException", ERROR_SERVER},
	{"ServiceUnavailable", ERROR_SERVER},
	{"Unavailable", ERROR_SERVER},
};

/*
 * What a clock that is off may be behind. Some are said of a wrong key or signature too: only the Date of the answer
 * tells. Source: SDKs and tools reference, clock skew.
 */
static const char *const skew_codes[] = {
	"AuthFailure",
	"InvalidSignatureException",
	"RequestExpired",
	"RequestInTheFuture",
	"RequestTimeTooSkewed",
	"SignatureDoesNotMatch",
	NULL,
};

/* By which of these a service says which request it was; something in between has none of them. */
static const char *const request_id_headers[] = {"x-amzn-requestid", "x-amz-request-id", "x-amzn-request-id", NULL};

void query_begin(struct query *query, struct arena *arena, const struct aws_service *service, const char *operation,
                 struct http_request *out)
{
	*out = (struct http_request){.service = service->name, .operation = operation, .method = "POST", .path = "/"};
	http_add_header(&out->headers, arena, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
	query->arena = arena;
	query->request = out;
	text_init(&query->form, FORM_MAX_BYTES);
	text_append(&query->form, "Action=");
	text_append_percent(&query->form, operation);
	text_append(&query->form, "&Version=");
	text_append_percent(&query->form, service->api_version);
}

void query_add(struct query *query, const char *name, const char *value)
{
	text_append(&query->form, "&");
	text_append_percent(&query->form, name);
	text_append(&query->form, "=");
	text_append_percent(&query->form, value);
}

void query_add_list(struct query *query, const char *format, const char *const *values, size_t count)
{
	const char *place = strstr(format, "%zu");

	assert(place != NULL);
	for (size_t i = 0; i < count; i++) {
		const char *name = arena_printf(query->arena, "%.*s%zu%s", (int)(place - format), format, i + 1, place + 3);

		query_add(query, name, values[i]);
	}
}

void query_end(struct query *query)
{
	query->request->body_length = query->form.length;
	query->request->body = text_take(&query->form, query->arena);
	assert(query->request->body != NULL);
}

void aws_json_request(struct arena *arena, const struct aws_service *service, const char *operation,
                      const struct json *body, struct http_request *out)
{
	assert(service->target_prefix != NULL);
	*out = (struct http_request){.service = service->name, .operation = operation, .method = "POST", .path = "/"};
	http_add_header(&out->headers, arena, "Content-Type",
	                service->protocol == AWS_JSON_1_0 ? "application/x-amz-json-1.0" : "application/x-amz-json-1.1");
	http_add_header(&out->headers, arena, "X-Amz-Target",
	                arena_printf(arena, "%s.%s", service->target_prefix, operation));
	out->body = body != NULL ? json_print(body, arena) : "{}";
	out->body_length = strlen(out->body);
}

void aws_rest_request(struct arena *arena, const struct aws_service *service, const char *operation, const char *method,
                      const char *path, const char *query, const struct json *body, struct http_request *out)
{
	assert(service->protocol == AWS_REST_JSON && path[0] == '/');
	*out = (struct http_request){
		.service = service->name, .operation = operation, .method = method, .path = path, .query = query};
	if (body == NULL)
		return;
	http_add_header(&out->headers, arena, "Content-Type", "application/json");
	out->body = json_print(body, arena);
	out->body_length = strlen(out->body);
}

/* What an error answer says, as far as it says it. */
struct complaint {
	const char *code;
	const char *message;
	const char *request_id;
	const char *not_what; /* the body is no "XML" or no "JSON"; NULL = it is */
};

static const char *first_of(const char *a, const char *b)
{
	return a != NULL && a[0] != '\0' ? a : b;
}

static bool is_query(const struct aws_service *service)
{
	return service->protocol == AWS_QUERY || service->protocol == AWS_EC2_QUERY;
}

/* <ErrorResponse><Error>… of awsQuery or <Response><Errors><Error>… of ec2Query, whichever came. */
static void read_xml(struct arena *arena, const struct http_response *response, struct complaint *out)
{
	struct error ignored;
	const struct xml *root = xml_parse(arena, response->body, response->body_length, &ignored);
	const struct xml *said = xml_child(root, "Error");

	if (said == NULL)
		said = xml_path(root, "Errors/Error");
	out->code = xml_path_text(said, "Code");
	out->message = xml_path_text(said, "Message");
	out->request_id = first_of(xml_path_text(root, "RequestId"), xml_path_text(root, "RequestID"));
	if (root == NULL || said == NULL)
		out->not_what = "XML error";
}

/* "com.amazonaws.dynamodb.v20120810#Name:http://…/" is Name. */
static const char *bare_name(struct arena *arena, const char *type)
{
	const char *name = type != NULL ? arena_copy(arena, type, strcspn(type, ":")) : NULL;
	const char *hash = name != NULL ? strchr(name, '#') : NULL;

	return hash != NULL ? hash + 1 : name;
}

static void read_json(struct arena *arena, const struct http_response *response, struct complaint *out)
{
	struct error ignored;
	const struct json *body = json_parse(arena, response->body, response->body_length, &ignored);
	const char *type = http_header(&response->headers, "x-amzn-errortype");

	type = first_of(type, first_of(json_get_string(body, "__type"), json_get_string(body, "code")));
	out->code = bare_name(arena, type);
	out->message = first_of(json_get_string(body, "message"), json_get_string(body, "Message"));
	if (json_type(body) != JSON_OBJECT)
		out->not_what = "JSON error";
}

bool aws_is_skew(const struct error *error)
{
	for (size_t i = 0; skew_codes[i] != NULL; i++) {
		if (strcmp(error->code, skew_codes[i]) == 0)
			return true;
	}
	return false;
}

static const char *header_request_id(const struct http_response *response)
{
	const char *id = NULL;

	for (size_t i = 0; request_id_headers[i] != NULL && (id == NULL || id[0] == '\0'); i++)
		id = http_header(&response->headers, request_id_headers[i]);
	return first_of(id, NULL);
}

bool aws_server_time(const struct http_response *response, struct wallclock *out)
{
	/* An answer out of a cache has the date of its making. */
	if (header_request_id(response) == NULL || http_header(&response->headers, "Age") != NULL)
		return false;
	return wallclock_parse_http(http_header(&response->headers, "Date"), out);
}

static bool is_clock_complaint(const struct complaint *complaint)
{
	const char *message = complaint->message != NULL ? complaint->message : "";

	return strstr(message, "Signature expired") != NULL || strstr(message, "Signature not yet current") != NULL ||
	       text_equal(complaint->code, "RequestExpired") || text_equal(complaint->code, "RequestTimeTooSkewed") ||
	       text_equal(complaint->code, "RequestInTheFuture");
}

static enum error_kind kind_of_status(int status)
{
	if (status >= 500)
		return ERROR_SERVER;
	switch (status) {
	case 401:
	case 403:
		return ERROR_DENIED;
	case 408:
		return ERROR_SERVER;
	case 409:
	case 412:
		return ERROR_CONFLICT;
	case 429:
		return ERROR_THROTTLED;
	default:
		return ERROR_REJECTED;
	}
}

static enum error_kind kind_of(const struct complaint *complaint, int status)
{
	const char *code = complaint->code != NULL ? complaint->code : "";

	/* A late signature is good again with a fresh date, as an expired token is with a fresh one. */
	if (strstr(complaint->message != NULL ? complaint->message : "", "Signature expired") != NULL)
		return ERROR_EXPIRED;
	for (size_t i = 0; i < sizeof(known_codes) / sizeof(known_codes[0]); i++) {
		if (strcmp(code, known_codes[i].code) == 0)
			return known_codes[i].kind;
	}
	if (text_starts_with(code, "AccessDenied"))
		return ERROR_DENIED;
	return kind_of_status(status);
}

/*
 * One line, printable; ends before the canonical request, which a signature error repeats together with the session
 * token.
 */
static const char *one_line(struct arena *arena, const char *message, size_t length)
{
	static const char canonical[] = "The Canonical String";
	char *line = text_trim(arena, message, length);
	char *secret = strstr(line, canonical);

	if (secret != NULL)
		*secret = '\0';
	for (char *at = line; *at != '\0';) {
		size_t size = text_utf8(at, strlen(at));

		if (size == 0 || iscntrl((unsigned char)*at))
			*at = size == 0 ? '?' : ' ';
		at += size == 0 ? 1 : size;
	}
	return text_trim(arena, line, strlen(line));
}

static void tell(struct arena *arena, const struct aws_service *service, const struct http_response *response,
                 const struct complaint *complaint, struct error *error)
{
	enum error_kind kind = kind_of(complaint, response->status);
	const char *clock = is_clock_complaint(complaint) ? " (is this machine's clock right?)" : "";
	const char *code = first_of(complaint->code, "");
	size_t shown = response->body_length < 80 ? response->body_length : 80;

	if (complaint->message != NULL && complaint->message[0] != '\0')
		error_set(error, kind, "%s answered %d%s%s: %s%s", service->name, response->status, code[0] != '\0' ? " " : "",
		          code, one_line(arena, complaint->message, strlen(complaint->message)), clock);
	else if (code[0] != '\0')
		error_set(error, kind, "%s answered %d %s%s", service->name, response->status, code, clock);
	else if (response->body_length == 0)
		error_set(error, kind, "%s answered %d without a body", service->name, response->status);
	else if (complaint->not_what != NULL)
		error_set(error, kind, "%s answered %d with something that is no %s: \"%s\"", service->name, response->status,
		          complaint->not_what, one_line(arena, response->body, shown));
	else
		error_set(error, kind, "%s answered %d and does not say why", service->name, response->status);
}

static void keep_word(char *field, size_t size_bytes, const char *word)
{
	size_t length = word != NULL ? strnlen(word, size_bytes - 1) : 0;

	if (length > 0)
		memcpy(field, word, length);
	field[length] = '\0';
}

/* "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", by the clock of who says it. */
static int64_t until_date_ms(const struct http_response *response)
{
	struct wallclock now;
	struct wallclock then;

	if (!wallclock_parse_http(http_header(&response->headers, "Date"), &now) ||
	    !wallclock_parse_http(http_header(&response->headers, "Retry-After"), &then) || then.us <= now.us)
		return 0;
	return (then.us - now.us) / 1000;
}

static int32_t retry_after_ms(const struct http_response *response)
{
	const char *hint = http_header(&response->headers, "x-amz-retry-after");
	long long ms = 0;

	if (hint == NULL || !text_parse_integer(hint, 0, LLONG_MAX, &ms))
		ms = http_retry_after_ms(response);
	if (ms == 0)
		ms = until_date_ms(response);
	return (int32_t)(ms < RETRY_AFTER_MAX_MS ? ms : RETRY_AFTER_MAX_MS);
}

/* We ask for no encoding, so that nobody has to unpack what may become any size. */
static bool check_encoding(const struct aws_service *service, const struct http_response *response, struct error *error)
{
	const char *encoding = http_header(&response->headers, "Content-Encoding");

	if (encoding == NULL || encoding[0] == '\0' || strcasecmp(encoding, "identity") == 0)
		return true;
	error_set(error, ERROR_MALFORMED, "%s answered %d in the encoding \"%.32s\", which was not asked for",
	          service->name, response->status, encoding);
	error->http_status = response->status;
	return false;
}

bool aws_check(const struct aws_service *service, const struct http_response *response, struct error *error)
{
	struct complaint complaint = {0};
	struct arena arena;

	if (response->error.kind != ERROR_NONE) {
		*error = response->error;
		error->http_status = response->status;
		return false;
	}
	if (response->status >= 200 && response->status < 300)
		return check_encoding(service, response, error);
	if (response->status == 0)
		return error_set(error, ERROR_UNREACHABLE, "%s gave no answer", service->name);
	arena_init(&arena, "error answer", 64 * 1024 * 1024);
	if (response->body_length > ERROR_BODY_MAX_BYTES)
		complaint.not_what = is_query(service) ? "XML error" : "JSON error";
	else if (is_query(service))
		read_xml(&arena, response, &complaint);
	else
		read_json(&arena, response, &complaint);
	tell(&arena, service, response, &complaint, error);
	error->http_status = response->status;
	error->retry_after_ms = retry_after_ms(response);
	keep_word(error->code, sizeof(error->code), complaint.code);
	keep_word(error->request_id, sizeof(error->request_id),
	          first_of(complaint.request_id, header_request_id(response)));
	arena_done(&arena);
	return false;
}
