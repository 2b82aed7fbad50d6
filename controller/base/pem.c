#include "base/pem.h"

#include <string.h>

#include "base/arena.h"
#include "base/text.h"

#define PEM_BEGIN "-----BEGIN "
#define PEM_END "-----END "

/* A DER sequence, whole: its length is what it says. */
static bool is_sequence(const unsigned char *der, size_t length)
{
	size_t size_bytes = 0;
	size_t size = 0;

	if (length < 2 || der[0] != 0x30)
		return false;
	if (der[1] < 0x80)
		return der[1] == length - 2;
	size_bytes = der[1] & 0x7f;
	if (size_bytes == 0 || size_bytes > 4 || length < 2 + size_bytes)
		return false;
	for (size_t i = 0; i < size_bytes; i++)
		size = size << 8 | der[2 + i];
	return size == length - 2 - size_bytes;
}

/* What stands between a certificate's two lines: DER in base64. */
static bool is_certificate(const char *from, const char *until)
{
	struct arena arena;
	const char *der;
	size_t length;
	bool good;

	arena_init(&arena, "certificate", 2 * (size_t)(until - from) + 65536);
	der = text_base64_decode(&arena, arena_copy(&arena, from, (size_t)(until - from)), &length);
	good = der != NULL && is_sequence((const unsigned char *)der, length);
	arena_done(&arena);
	return good;
}

/* Explanations may stand around the blocks, as in bundles of the system. */
bool pem_check(const char *bytes, const char *what, struct error *error)
{
	static const char label[] = "CERTIFICATE-----";
	const char *block = strstr(bytes, PEM_BEGIN);

	if (block == NULL)
		return error_set(error, ERROR_INPUT, "%s holds no PEM block", what);
	if (strstr(bytes, "-----BEGIN ENCRYPTED") != NULL || strstr(bytes, "Proc-Type: 4,ENCRYPTED") != NULL)
		return error_set(error, ERROR_INPUT, "%s holds a key with a passphrase; take the passphrase off", what);
	for (; block != NULL; block = strstr(block, PEM_BEGIN)) {
		const char *end;

		block += strlen(PEM_BEGIN);
		end = strstr(block, PEM_END);
		if (end == NULL || memmem(block, (size_t)(end - block), PEM_BEGIN, strlen(PEM_BEGIN)) != NULL)
			return error_set(error, ERROR_INPUT, "%s holds a PEM block without its end", what);
		if (text_starts_with(block, label) && !is_certificate(block + strlen(label), end))
			return error_set(error, ERROR_INPUT, "%s holds a certificate that is none", what);
		block = end;
	}
	return true;
}

bool pem_has_certificate(const char *bytes)
{
	return strstr(bytes, PEM_BEGIN "CERTIFICATE-----") != NULL ||
	       strstr(bytes, PEM_BEGIN "TRUSTED CERTIFICATE-----") != NULL;
}
