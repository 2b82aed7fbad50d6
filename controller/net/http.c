#include "net/http.h"

#include <strings.h>

#include "base/text.h"

enum { MAX_RETRY_AFTER_S = 600 };

static struct http_header *find(const struct http_headers *headers, const char *name)
{
	for (size_t i = 0; i < headers->count; i++)
		if (strcasecmp(headers->at[i].name, name) == 0)
			return &headers->at[i];
	return NULL;
}

void http_add_header(struct http_headers *headers, struct arena *arena, const char *name, const char *value)
{
	headers->at = arena_grow(arena, headers->at, headers->count, &headers->capacity, sizeof *headers->at);
	headers->at[headers->count++] = (struct http_header){.name = name, .value = value};
}

const char *http_header(const struct http_headers *headers, const char *name)
{
	const struct http_header *header = find(headers, name);

	return header == NULL ? NULL : header->value;
}

static void remove_all(struct http_headers *headers, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < headers->count; i++)
		if (strcasecmp(headers->at[i].name, name) != 0)
			headers->at[kept++] = headers->at[i];
	headers->count = kept;
}

void http_set_header(struct http_headers *headers, struct arena *arena, const char *name, const char *value)
{
	remove_all(headers, name);
	http_add_header(headers, arena, name, value);
}

const char *http_url(struct arena *arena, const char *base_url, const struct http_request *request)
{
	bool has_query = request->query != NULL && request->query[0] != '\0';

	return arena_printf(arena, "%s%s%s%s", base_url, request->path, has_query ? "?" : "",
	                    has_query ? request->query : "");
}

int32_t http_retry_after_ms(const struct http_response *response)
{
	const char *value = http_header(&response->headers, "Retry-After");
	long long seconds;

	if (!text_all_digits(value))
		return 0;
	if (!text_parse_integer(value, 0, MAX_RETRY_AFTER_S, &seconds))
		seconds = MAX_RETRY_AFTER_S;
	return (int32_t)(seconds * 1000);
}
