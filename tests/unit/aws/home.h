/*
 * A folder of a test's own for shared files and tokens, gone at its end.
 */
#ifndef TESTS_UNIT_AWS_HOME_H
#define TESTS_UNIT_AWS_HOME_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

static char home[64];

static inline void home_make(void)
{
	snprintf(home, sizeof(home), "/tmp/zonevac-aws-XXXXXX");
	cr_assert_not_null(mkdtemp(home));
}

static inline const char *in_home(struct arena *arena, const char *name)
{
	return arena_printf(arena, "%s/%s", home, name);
}

/* Only "config", "credentials" and those of them in ".aws" are cleared away in the end. */
static inline const char *home_write(struct arena *arena, const char *name, const char *text)
{
	const char *path = in_home(arena, name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file, "%s", path);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
	return path;
}

static inline void home_clear(struct arena *arena)
{
	unlink(in_home(arena, "config"));
	unlink(in_home(arena, "credentials"));
	unlink(in_home(arena, ".aws/config"));
	unlink(in_home(arena, ".aws/credentials"));
	rmdir(in_home(arena, ".aws"));
	rmdir(home);
}

#endif
