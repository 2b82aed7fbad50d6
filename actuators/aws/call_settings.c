#include "aws/region.h"

#include "aws/shared_files.h"
#include "base/file.h"
#include "base/pem.h"
#include "base/text.h"
#include "setting.h"

#define CA_BUNDLE_MAX_BYTES (4 * 1024 * 1024)
#define ATTEMPTS_MAX 20

bool aws_ca_bundle(struct arena *arena, const struct aws_environment *environment, const char **ca_file,
                   struct error *error)
{
	const struct profile *profile = NULL;
	struct setting setting;
	char *pem;
	size_t length;

	*ca_file = NULL;
	if (!shared_files_profile(arena, environment, &profile, error))
		return false;
	setting = setting_find(arena, environment, profile, "AWS_CA_BUNDLE", "ca_bundle");
	if (setting.value == NULL)
		return true;
	*ca_file = setting_path(arena, environment, setting.value);
	if (!file_read(arena, *ca_file, CA_BUNDLE_MAX_BYTES, &pem, &length, error)) {
		error->kind = ERROR_INPUT;
		return error_wrap(error, "%s", setting.from);
	}
	if (!pem_has_certificate(pem))
		return error_set(error, ERROR_INPUT, "%s: %s holds no certificate (PEM)", setting.from, *ca_file);
	return pem_check(pem, arena_printf(arena, "%s: %s", setting.from, *ca_file), error);
}

static bool is_retry_mode(const char *mode)
{
	return text_equal(mode, "standard") || text_equal(mode, "legacy") || text_equal(mode, "adaptive");
}

bool aws_max_attempts(struct arena *arena, const struct aws_environment *environment, int *out, struct error *error)
{
	const struct profile *profile = NULL;
	struct setting attempts;
	struct setting mode;
	long long count;

	*out = 0;
	if (!shared_files_profile(arena, environment, &profile, error))
		return false;
	mode = setting_find(arena, environment, profile, "AWS_RETRY_MODE", "retry_mode");
	attempts = setting_find(arena, environment, profile, "AWS_MAX_ATTEMPTS", "max_attempts");
	if (mode.value != NULL && !is_retry_mode(mode.value))
		return error_set(error, ERROR_INPUT, "%s is \"%.32s\", which is none of standard, adaptive and legacy",
		                 mode.from, mode.value);
	if (attempts.value == NULL)
		return true;
	if (!text_parse_integer(attempts.value, 1, ATTEMPTS_MAX, &count))
		return error_set(error, ERROR_INPUT, "%s is \"%.32s\", which is not a whole number from 1 to %d", attempts.from,
		                 attempts.value, ATTEMPTS_MAX);
	*out = (int)count;
	return true;
}
