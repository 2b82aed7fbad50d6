/*
 * An environment out of a table: pairs of name and value, ended by NULL.
 */
#ifndef TESTS_UNIT_AWS_ENVIRONMENT_H
#define TESTS_UNIT_AWS_ENVIRONMENT_H

#include <string.h>

#include "aws/credentials.h"

static inline const char *table_get(void *context, const char *name)
{
	for (const char *const *pair = context; *pair != NULL; pair += 2) {
		if (strcmp(pair[0], name) == 0)
			return pair[1];
	}
	return NULL;
}

#define TABLE(...) (&(struct aws_environment){table_get, (const char *[]){__VA_ARGS__, NULL}})

#endif
