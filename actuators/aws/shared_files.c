#include "aws/shared_files.h"

#include "base/file.h"
#include "base/text.h"

#define FILE_MAX_BYTES (1024 * 1024)

const char *shared_files_profile_name(const struct aws_environment *environment)
{
	const char *name = aws_env(environment, "AWS_PROFILE");

	return name != NULL ? name : "default";
}

/* Where a file is, or NULL when there is no home to look for it in. */
static const char *path_of(struct arena *arena, const struct aws_environment *environment, const char *named,
                           const char *in_home)
{
	const char *home = aws_env(environment, "HOME");

	if (named == NULL)
		return home != NULL ? arena_printf(arena, "%s/%s", home, in_home) : NULL;
	if (text_starts_with(named, "~/") && home != NULL)
		return arena_printf(arena, "%s/%s", home, named + 2);
	return text_equal(named, "-") ? "./-" : named;
}

static bool read_shared(struct arena *arena, const struct aws_environment *environment, const char *variable,
                        const char *in_home, char **out, struct error *error)
{
	const char *named = aws_env(environment, variable);
	const char *path = path_of(arena, environment, named, in_home);
	struct error failure = {0};
	size_t length = 0;

	*out = NULL;
	if (path == NULL || file_read(arena, path, FILE_MAX_BYTES, out, &length, &failure))
		return true;
	*out = NULL;
	if (failure.kind == ERROR_ABSENT && named == NULL)
		return true;
	*error = failure;
	error->kind = ERROR_INPUT;
	return named != NULL ? error_wrap(error, "%s", variable) : error_wrap(error, "AWS shared files");
}

bool shared_files_profile(struct arena *arena, const struct aws_environment *environment, const struct profile **out,
                          struct error *error)
{
	const char *name = shared_files_profile_name(environment);
	char *config = NULL;
	char *credentials = NULL;

	if (!read_shared(arena, environment, "AWS_CONFIG_FILE", ".aws/config", &config, error) ||
	    !read_shared(arena, environment, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", &credentials, error))
		return false;
	if (!profile_parse(arena, config, credentials, name, out, error))
		return false;
	if (*out == NULL && aws_env(environment, "AWS_PROFILE") != NULL)
		return error_set(error, ERROR_INPUT, "AWS_PROFILE is \"%s\", but neither shared file has that profile", name);
	return true;
}
