#include "aws/shared_files.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "setting.h"

#define FILE_MAX_BYTES (1024 * 1024)
#define SCRATCH_MAX_BYTES ((size_t)4 * 1024 * 1024)

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
	return setting_path(arena, environment, named);
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
	/* In a folder that is closed to us there is nothing for us, as in one that is not there. */
	if (named == NULL && (failure.kind == ERROR_ABSENT || access(path, F_OK) != 0))
		return true;
	*error = failure;
	error->kind = ERROR_INPUT;
	return named != NULL ? error_wrap(error, "%s", variable) : error_wrap(error, "AWS shared files");
}

static bool read_config(struct arena *arena, const struct aws_environment *environment, char **out, struct error *error)
{
	return read_shared(arena, environment, "AWS_CONFIG_FILE", ".aws/config", out, error);
}

/* The parser knows the files by their kind; a person by where they are. */
static void tell_paths(struct arena *arena, const struct aws_environment *environment, struct error *error)
{
	const char *config = path_of(arena, environment, aws_env(environment, "AWS_CONFIG_FILE"), ".aws/config");
	const char *credentials =
		path_of(arena, environment, aws_env(environment, "AWS_SHARED_CREDENTIALS_FILE"), ".aws/credentials");

	error_wrap(error, "%s",
	           strstr(error->message, "credentials file") != NULL && credentials != NULL ? credentials
	           : config != NULL                                                          ? config
	                                                                                     : "AWS shared files");
}

bool shared_files_other_profile(struct arena *arena, const struct aws_environment *environment, const char *name,
                                const struct profile **out, struct error *error)
{
	struct arena scratch; /* the files go again at once: they are read often, and the arena may stay for good */
	char *config = NULL;
	char *credentials = NULL;
	bool good;

	arena_init(&scratch, "shared files", SCRATCH_MAX_BYTES);
	good = read_config(&scratch, environment, &config, error) &&
	       read_shared(&scratch, environment, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", &credentials, error);
	if (good && !profile_parse(arena, config, credentials, name, out, error)) {
		good = false;
		tell_paths(&scratch, environment, error);
	}
	arena_done(&scratch);
	return good;
}

bool shared_files_profile(struct arena *arena, const struct aws_environment *environment, const struct profile **out,
                          struct error *error)
{
	const char *name = shared_files_profile_name(environment);

	if (!shared_files_other_profile(arena, environment, name, out, error))
		return false;
	if (*out == NULL && aws_env(environment, "AWS_PROFILE") != NULL)
		return error_set(error, ERROR_INPUT,
		                 "AWS_PROFILE is \"%s\", but neither shared file has that profile: write [profile %s] into the "
		                 "config file (AWS_CONFIG_FILE), or unset it",
		                 name, name);
	return true;
}

static bool read_services(struct arena *arena, const struct aws_environment *environment, const char *name,
                          const struct profile **out, struct error *error)
{
	struct arena scratch;
	char *config = NULL;
	bool good;

	arena_init(&scratch, "config file", SCRATCH_MAX_BYTES);
	good =
		read_config(&scratch, environment, &config, error) && profile_parse_services(arena, config, name, out, error);
	arena_done(&scratch);
	return good;
}

bool shared_files_services(struct arena *arena, const struct aws_environment *environment, const struct profile **out,
                           struct error *error)
{
	const struct profile *profile = NULL;
	const char *name;

	*out = NULL;
	if (!shared_files_profile(arena, environment, &profile, error))
		return false;
	name = profile_get(profile, "services");
	if (name == NULL || name[0] == '\0')
		return true;
	if (!read_services(arena, environment, name, out, error))
		return false;
	if (*out == NULL)
		return error_set(error, ERROR_INPUT,
		                 "services of AWS profile \"%s\" is \"%s\", but the config file has no section [services %s]",
		                 shared_files_profile_name(environment), name, name);
	return true;
}
