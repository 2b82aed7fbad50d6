/*
 * The places over HTTP that hand out credentials, as variables and profiles describe them: the container's agent and
 * the metadata service of the instance. A part of credential_plan.c, and private to it.
 */
#ifndef CREDENTIAL_PLACES_H
#define CREDENTIAL_PLACES_H

#include "aws/credential_plan.h"
#include "aws/profile.h"

/* What the making of a plan has at hand. */
struct credential_planning {
	struct arena *arena;
	const struct aws_environment *environment;
	const char *unique;
	struct credential_plan *out;
	struct error *error;
};

/* As profile_get, and NULL for an empty value, too. */
const char *credential_setting(const struct profile *profile, const char *key);

/* As aws_env, copied into the arena. */
const char *credential_variable(const struct credential_planning *planning, const char *name);

/* One of AWS_CONTAINER_CREDENTIALS_…_URI is set. */
bool credential_places_has_container(const struct credential_planning *planning);

/* Needs the above. ERROR_INPUT as in credential_plan.h. */
bool credential_places_container(struct credential_planning *planning);

/* `profile`: the active one, may be NULL. ERROR_ABSENT when it is disabled. */
bool credential_places_instance(struct credential_planning *planning, const struct profile *profile);

#endif
