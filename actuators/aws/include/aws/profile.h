/*
 * The shared config and credentials files: parsing and merging. Pure; reading them is the caller's.
 *
 * Syntax as in the SDKs: sections `[default]`, `[profile name]` (config) and `[name]` (credentials); `key = value`,
 * keys without case; comments from `#` or `;`; an indented line continues the previous one. Where both files have a
 * profile's key, the credentials file wins.
 */
#ifndef AWS_PROFILE_H
#define AWS_PROFILE_H

#include "base/arena.h"
#include "base/error.h"

struct profile;

/*
 * Either text may be NULL. NULL (and no error) when neither has the profile. ERROR_INPUT: "line 3: …" with which file.
 */
bool profile_parse(struct arena *arena, const char *config_text, const char *credentials_text, const char *name,
                   const struct profile **out, struct error *error);

/* NULL-safe; NULL when the profile has no such key. */
const char *profile_get(const struct profile *profile, const char *key);

#endif
