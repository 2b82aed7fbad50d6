/*
 * The shared config and credentials files: parsing and merging. Pure; reading them is the caller's.
 *
 * Syntax as in the SDKs (their common parser, aws-c-sdkutils, is the measure):
 *
 *   [default]                in both files; in the config file [profile default] puts it out of force
 *   [profile name]           in the config file; [name] and [sso-session name] are no profiles there
 *   [name]                   in the credentials file; [profile name] is no profile there
 *   key = value # comment    keys without case; the last one counts; a comment has a blank before it
 *     more                   an indented line is added to the value behind a line feed, comments and all
 *   s3 =
 *     endpoint_url = …       … or, below a key without a value, is a setting of its own
 *
 * Where both files have a profile's key, the credentials file wins. Keys that are no word are left out. Names are
 * words: no section fits one that has blanks.
 */
#ifndef AWS_PROFILE_H
#define AWS_PROFILE_H

#include "base/arena.h"
#include "base/error.h"

struct profile;

/*
 * Either text may be NULL. NULL (and no error) when neither has the profile. ERROR_INPUT: "line 3: …" with which file,
 * never with what the line says.
 */
bool profile_parse(struct arena *arena, const char *config_text, const char *credentials_text, const char *name,
                   const struct profile **out, struct error *error);

/* NULL-safe; NULL when the profile has no such key. */
const char *profile_get(const struct profile *profile, const char *key);

/* A setting below another one, of a profile or of a section of services. NULL-safe; NULL when there is none. */
const char *profile_get_below(const struct profile *profile, const char *key, const char *below);

/*
 * The section `[services NAME]` of the config file, to be read with profile_get_below ("auto_scaling", "endpoint_url").
 * NULL (and no error) when there is none.
 */
bool profile_parse_services(struct arena *arena, const char *config_text, const char *name, const struct profile **out,
                            struct error *error);

#endif
