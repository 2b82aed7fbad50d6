/*
 * Finding and reading the shared config and credentials files: AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, else
 * ~/.aws/config and ~/.aws/credentials; the profile AWS_PROFILE, else "default". What they say is profile.h's.
 *
 * Bounds: 1 MiB a file. A default file that is not there, or in a folder closed to us, is an empty one; one that a variable names must be there.
 */
#ifndef AWS_SHARED_FILES_H
#define AWS_SHARED_FILES_H

#include "aws/credentials.h"
#include "aws/profile.h"

/* Never NULL. */
const char *shared_files_profile_name(const struct aws_environment *environment);

/*
 * NULL (and no error) when there is no such profile and none was asked for. ERROR_INPUT when AWS_PROFILE names one that
 * is in neither file, or a file cannot be read or understood.
 */
bool shared_files_profile(struct arena *arena, const struct aws_environment *environment, const struct profile **out,
                          struct error *error);

/* Any other profile of them (source_profile). NULL (and no error) when neither file has it. */
bool shared_files_other_profile(struct arena *arena, const struct aws_environment *environment, const char *name,
                                const struct profile **out, struct error *error);

/*
 * The section `[services NAME]` that the active profile names, to be read with profile_get_below; NULL when it names
 * none. ERROR_INPUT when it is not there.
 */
bool shared_files_services(struct arena *arena, const struct aws_environment *environment, const struct profile **out,
                           struct error *error);

#endif
