/*
 * Signs requests for whoever wants to compare: one JSON object a line in, one a line out.
 *
 *   in:  {"base_url", "path", "query"?, "method", "headers": [["Name", "value"]…], "body_hex", "access", "secret", "token"?, "region",
 *         "service", "at": "2026-01-02T03:04:05Z", "keep_path"}
 *   out: {"url", "host", "canonical", "authorization"}
 *
 * The way is that of the controller: endpoint, URL, signature. A line that is none ends it with status 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/region.h"
#include "aws/sigv4.h"
#include "base/json.h"
#include "base/text.h"

#define ARENA_MAX_BYTES (64 * 1024 * 1024)

static const char *environment_get(void *context, const char *name)
{
	const char *const *base_url = context;

	return strcmp(name, "AWS_ENDPOINT_URL") == 0 ? *base_url : NULL;
}

static bool read_body(struct arena *arena, const char *hex, struct http_request *out)
{
	size_t length = strlen(hex) / 2;
	char *body = arena_alloc(arena, length + 1);

	for (size_t i = 0; i < length; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
		char *end;

		body[i] = (char)strtol(pair, &end, 16);
		if (*end != '\0')
			return false;
	}
	out->body = length > 0 ? body : NULL;
	out->body_length = length;
	return strlen(hex) % 2 == 0;
}

static void read_headers(struct arena *arena, const struct json *pairs, struct http_request *out)
{
	for (size_t i = 0; i < json_count(pairs); i++) {
		const struct json *pair = json_at(pairs, i);

		http_add_header(&out->headers, arena, json_string(json_at(pair, 0)), json_string(json_at(pair, 1)));
	}
}

static bool sign(struct arena *arena, const struct json *line, struct error *error)
{
	const char *base_url = json_get_string(line, "base_url");
	struct aws_environment environment = {environment_get, &base_url};
	struct aws_credentials credentials = {
		.access_key_id = json_get_string(line, "access"),
		.secret_access_key = json_get_string(line, "secret"),
		.session_token = json_get_string(line, "token"),
	};
	struct sigv4_scope scope = {
		.credentials = &credentials,
		.region = json_get_string(line, "region"),
		.signing_name = json_get_string(line, "service"),
		.keep_path = json_bool(json_get(line, "keep_path"), false),
	};
	struct http_request request = {
		.method = json_get_string(line, "method"),
		.path = json_get_string(line, "path"),
		.query = json_get_string(line, "query"),
	};
	struct json *out = json_new_object(arena);
	struct aws_endpoint endpoint;
	const char *signed_headers;

	if (!aws_endpoint_of(arena, aws_service_find("ec2"), scope.region, &environment, &endpoint, error))
		return false;
	if (!wallclock_parse(json_get_string(line, "at"), &scope.at) ||
	    !read_body(arena, json_get_string(line, "body_hex"), &request))
		return error_set(error, ERROR_INPUT, "\"at\" is no time or \"body_hex\" is no hex");
	read_headers(arena, json_get(line, "headers"), &request);
	request.url = aws_endpoint_url(arena, &endpoint, &request);
	sigv4_sign(arena, &scope, endpoint.host, &request);
	json_set_string(out, "url", request.url);
	json_set_string(out, "host", endpoint.host);
	json_set_string(out, "canonical", sigv4_canonical_request(arena, &scope, &request, &signed_headers));
	json_set_string(out, "authorization", http_header(&request.headers, "Authorization"));
	puts(json_print(out, arena));
	return true;
}

int main(void)
{
	struct error error = {0};
	size_t capacity = 0;
	char *line = NULL;
	bool good = true;
	ssize_t length;

	while (good && (length = getline(&line, &capacity, stdin)) > 0) {
		struct arena arena;
		const struct json *asked;

		arena_init(&arena, "signer", ARENA_MAX_BYTES);
		asked = json_parse(&arena, line, (size_t)length, &error);
		good = asked != NULL && sign(&arena, asked, &error);
		arena_done(&arena);
	}
	free(line);
	if (!good)
		fprintf(stderr, "signer: %s\n", error.message);
	return good ? 0 : 1;
}
