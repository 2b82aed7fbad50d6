/*
 * A setting that a variable or, where there is none, the active profile of the shared files says. Private to this layer.
 */
#ifndef AWS_SETTING_H
#define AWS_SETTING_H

#include "aws/credentials.h"
#include "aws/profile.h"

struct setting {
	const char *value; /* NULL = nobody says anything */
	const char *from;  /* for messages: "AWS_CA_BUNDLE", "ca_bundle of AWS profile \"prod\"" */
};

/* `profile` may be NULL; an empty value says nothing. */
struct setting setting_find(struct arena *arena, const struct aws_environment *environment,
                            const struct profile *profile, const char *variable, const char *key);

/* The file that a setting names: "~/" is in HOME, where there is one, and "-" is a file of that name; in `arena`. */
const char *setting_path(struct arena *arena, const struct aws_environment *environment, const char *named);

/* True and false in any case of letters; nothing said is false. ERROR_INPUT for all else. */
bool setting_flag(const struct setting *setting, bool *out, struct error *error);

#endif
