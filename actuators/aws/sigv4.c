#include "aws/sigv4.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/text.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define HASH_BYTES 32
#define CANONICAL_MAX_BYTES (1024 * 1024)

/* A header with its name in lower case, or a parameter of the query, ready to be sorted. */
struct pair {
	const char *name;
	const char *value;
	size_t position;
};

/* Proxies and clients may change these on the way, so they are left out of the signature. */
static const char *const unsigned_headers[] = {
	"authorization",     "connection", "expect",     "keep-alive",      "te", "trailer",
	"transfer-encoding", "upgrade",    "user-agent", "x-amzn-trace-id", NULL,
};
static const char *const unsigned_prefixes[] = {"proxy-", "sec-websocket-", NULL};

static void sha256(const void *bytes, size_t length, unsigned char out[HASH_BYTES])
{
	unsigned int out_length = 0;
	int hashed = EVP_Digest(bytes, length, out, &out_length, EVP_sha256(), NULL);

	assert(hashed == 1 && out_length == HASH_BYTES);
	(void)hashed;
}

/* One for all the steps of a signature: looking the algorithms up costs more than running them. */
static EVP_MAC_CTX *hmac_new(void)
{
	static char digest[] = "SHA256";
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
	int set = context != NULL ? EVP_MAC_CTX_set_params(context, parameters) : 0;

	assert(set == 1);
	(void)set;
	EVP_MAC_free(mac);
	return context;
}

/* `out` may be `key`. */
static void hmac(EVP_MAC_CTX *context, const void *key, size_t key_length, const char *message,
                 unsigned char out[HASH_BYTES])
{
	size_t length = 0;
	bool made = EVP_MAC_init(context, key, key_length, NULL) == 1 &&
	            EVP_MAC_update(context, (const unsigned char *)message, strlen(message)) == 1 &&
	            EVP_MAC_final(context, out, &length, HASH_BYTES) == 1;

	assert(made && length == HASH_BYTES);
	(void)made;
}

static void append_sha256(struct text *text, const char *bytes, size_t length)
{
	unsigned char hash[HASH_BYTES];

	sha256(bytes != NULL ? bytes : "", bytes != NULL ? length : 0, hash);
	text_append_hex(text, hash, sizeof(hash));
}

const char *sigv4_hash(struct arena *arena, const char *bytes, size_t length)
{
	struct text text;

	text_init(&text, 2 * HASH_BYTES + 1);
	append_sha256(&text, bytes, length);
	return text_take(&text, arena);
}

static bool is_unsigned(const char *lower_name)
{
	for (size_t i = 0; unsigned_headers[i] != NULL; i++) {
		if (strcmp(lower_name, unsigned_headers[i]) == 0)
			return true;
	}
	for (size_t i = 0; unsigned_prefixes[i] != NULL; i++) {
		if (text_starts_with(lower_name, unsigned_prefixes[i]))
			return true;
	}
	return false;
}

static int compare_headers(const void *left, const void *right)
{
	const struct pair *a = left;
	const struct pair *b = right;
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : (a->position > b->position) - (a->position < b->position);
}

static int compare_parameters(const void *left, const void *right)
{
	const struct pair *a = left;
	const struct pair *b = right;
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : strcmp(a->value, b->value);
}

/*
 * The path as it goes on the wire: of the URL where there is one, because an endpoint may put a path of its own before
 * ours.
 */
static const char *wire_path(struct arena *arena, const struct http_request *request)
{
	const char *start = request->url != NULL ? strstr(request->url, "://") : NULL;

	if (start == NULL)
		return request->path != NULL ? request->path : "/";
	start += 3;
	start += strcspn(start, "/?#");
	return arena_copy(arena, start, strcspn(start, "?#"));
}

/* Drop empty and "." segments, let ".." take its predecessor away; keep a slash at the end. */
static const char *normalized_path(struct arena *arena, const char *path)
{
	size_t length = strlen(path);
	char *out = arena_alloc(arena, length + 2);
	size_t used = 0;

	for (const char *at = path; *at != '\0';) {
		size_t size = strcspn(at, "/");

		if (size == 2 && at[0] == '.' && at[1] == '.') {
			while (used > 0 && out[--used] != '/')
				;
		} else if (size > 0 && !(size == 1 && at[0] == '.')) {
			out[used++] = '/';
			memcpy(out + used, at, size);
			used += size;
		}
		at += size + (at[size] == '/');
	}
	if (used == 0 || (length > 0 && path[length - 1] == '/'))
		out[used++] = '/';
	out[used] = '\0';
	return out;
}

static void append_path(struct text *text, struct arena *arena, const char *path)
{
	path = normalized_path(arena, path);
	while (*path != '\0') {
		size_t size = strcspn(path, "/");

		text_append_percent(text, arena_copy(arena, path, size));
		if (path[size] == '/')
			text_append(text, "/");
		path += size + (path[size] == '/');
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that `wire` begins with; *size gets how much of it that takes. */
static char decoded(const char *wire, size_t length, size_t *size)
{
	int high = wire[0] == '%' && length > 2 ? hex_value(wire[1]) : -1;
	int low = high >= 0 ? hex_value(wire[2]) : -1;

	*size = low >= 0 ? 3 : 1;
	return low >= 0 ? (char)(high * 16 + low) : wire[0];
}

/* Decoded and encoded again, so that every spelling of a byte becomes the canonical one. */
static const char *recoded(struct arena *arena, const char *wire, size_t length)
{
	struct text text;
	size_t size;

	text_init(&text, 3 * length);
	for (size_t i = 0; i < length; i += size) {
		char byte[2] = {decoded(wire + i, length - i, &size), '\0'};

		if (byte[0] == '\0')
			text_append(&text, "%00");
		else
			text_append_percent(&text, byte);
	}
	return text_take(&text, arena);
}

static size_t count_parts(const char *query)
{
	size_t count = 1;

	for (; *query != '\0'; query++)
		count += *query == '&';
	return count;
}

static void append_query(struct text *text, struct arena *arena, const char *query)
{
	struct pair *pairs = arena_array(arena, count_parts(query), sizeof(*pairs));
	size_t count = 0;

	while (*query != '\0') {
		size_t size = strcspn(query, "&");
		size_t name_size = strcspn(query, "=&");

		if (size > 0) {
			bool has_value = name_size < size;

			pairs[count].name = recoded(arena, query, name_size);
			pairs[count].value = has_value ? recoded(arena, query + name_size + 1, size - name_size - 1) : "";
			count++;
		}
		query += size + (query[size] == '&');
	}
	qsort(pairs, count, sizeof(*pairs), compare_parameters);
	for (size_t i = 0; i < count; i++)
		text_printf(text, "%s%s=%s", i > 0 ? "&" : "", pairs[i].name, pairs[i].value);
}

static const char *lower_case(struct arena *arena, const char *string)
{
	char *lower = arena_string(arena, string);

	for (char *at = lower; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return lower;
}

/* Without blanks at the ends, every run of white space one space. */
static void append_value(struct text *text, const char *value)
{
	static const char blanks[] = " \t\n\v\f\r";
	bool begun = false;

	for (value += strspn(value, blanks); *value != '\0'; value += strspn(value, blanks)) {
		size_t size = strcspn(value, blanks);

		text_append(text, begun ? " " : "");
		text_append_bytes(text, value, size);
		value += size;
		begun = true;
	}
}

static const char *append_headers(struct text *text, struct arena *arena, const struct http_headers *headers)
{
	struct pair *pairs = arena_array(arena, headers->count + 1, sizeof(*pairs));
	struct text names;
	size_t count = 0;

	for (size_t i = 0; i < headers->count; i++) {
		const char *name = lower_case(arena, headers->at[i].name);

		if (!is_unsigned(name))
			pairs[count++] = (struct pair){name, headers->at[i].value, i};
	}
	qsort(pairs, count, sizeof(*pairs), compare_headers);
	text_init(&names, CANONICAL_MAX_BYTES);
	for (size_t i = 0; i < count; i++) {
		bool repeated = i > 0 && strcmp(pairs[i].name, pairs[i - 1].name) == 0;

		if (!repeated) {
			text_printf(&names, "%s%s", i > 0 ? ";" : "", pairs[i].name);
			text_printf(text, "%s%s:", i > 0 ? "\n" : "", pairs[i].name);
		} else {
			text_append(text, ",");
		}
		append_value(text, pairs[i].value);
	}
	text_append(text, count > 0 ? "\n" : "");
	return text_take(&names, arena);
}

const char *sigv4_canonical_request(struct arena *arena, const struct sigv4_scope *scope,
                                    const struct http_request *request, const char **signed_headers)
{
	const char *path = wire_path(arena, request);
	struct text text;
	const char *out;

	text_init(&text, CANONICAL_MAX_BYTES);
	text_printf(&text, "%s\n", request->method);
	if (scope->keep_path)
		text_append(&text, path[0] != '\0' ? path : "/");
	else
		append_path(&text, arena, path);
	text_append(&text, "\n");
	append_query(&text, arena, request->query != NULL ? request->query : "");
	text_append(&text, "\n");
	*signed_headers = append_headers(&text, arena, &request->headers);
	text_printf(&text, "\n%s\n", *signed_headers);
	append_sha256(&text, request->body, request->body_length);
	out = text_take(&text, arena);
	assert(out != NULL);
	return out;
}

/* "20150830/us-east-1/service/aws4_request" */
static const char *credential_scope(struct arena *arena, const struct sigv4_scope *scope)
{
	return arena_printf(arena, "%.8s/%s/%s/aws4_request", wallclock_amz(scope->at, arena), scope->region,
	                    scope->signing_name);
}

const char *sigv4_string_to_sign(struct arena *arena, const struct sigv4_scope *scope, const char *canonical_request)
{
	struct text text;

	text_init(&text, 4096);
	text_printf(&text, "%s\n%s\n%s\n", ALGORITHM, wallclock_amz(scope->at, arena), credential_scope(arena, scope));
	append_sha256(&text, canonical_request, strlen(canonical_request));
	return text_take(&text, arena);
}

const char *sigv4_signature(struct arena *arena, const struct sigv4_scope *scope, const char *string_to_sign)
{
	const char *date = arena_copy(arena, wallclock_amz(scope->at, arena), 8);
	char *secret = arena_printf(arena, "AWS4%s", scope->credentials->secret_access_key);
	EVP_MAC_CTX *context = hmac_new();
	unsigned char key[HASH_BYTES];
	struct text text;

	hmac(context, secret, strlen(secret), date, key);
	hmac(context, key, sizeof(key), scope->region, key);
	hmac(context, key, sizeof(key), scope->signing_name, key);
	hmac(context, key, sizeof(key), "aws4_request", key);
	hmac(context, key, sizeof(key), string_to_sign, key);
	EVP_MAC_CTX_free(context);
	OPENSSL_cleanse(secret, strlen(secret));
	text_init(&text, 2 * HASH_BYTES + 1);
	text_append_hex(&text, key, sizeof(key));
	return text_take(&text, arena);
}

static void drop_header(struct http_headers *headers, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < headers->count; i++) {
		if (strcasecmp(headers->at[i].name, name) != 0)
			headers->at[kept++] = headers->at[i];
	}
	headers->count = kept;
}

void sigv4_sign(struct arena *arena, const struct sigv4_scope *scope, const char *host, struct http_request *request)
{
	static const char *const ours[] = {"Host", "X-Amz-Date", "X-Amz-Security-Token", "Authorization"};
	const char *canonical_request;
	const char *signed_headers;
	const char *signature;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		drop_header(&request->headers, ours[i]);
	http_add_header(&request->headers, arena, "Host", host);
	http_add_header(&request->headers, arena, "X-Amz-Date", wallclock_amz(scope->at, arena));
	if (scope->credentials->session_token != NULL)
		http_add_header(&request->headers, arena, "X-Amz-Security-Token",
		                arena_string(arena, scope->credentials->session_token));
	canonical_request = sigv4_canonical_request(arena, scope, request, &signed_headers);
	signature = sigv4_signature(arena, scope, sigv4_string_to_sign(arena, scope, canonical_request));
	http_add_header(&request->headers, arena, "Authorization",
	                arena_printf(arena, "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", ALGORITHM,
	                             scope->credentials->access_key_id, credential_scope(arena, scope), signed_headers,
	                             signature));
}
