/*
 * Reading a small file whole: manifests, tokens, CA bundles, configuration.
 *
 * Never waits for anybody: only regular files are read (and /dev/null, which is empty); a directory, a FIFO, a socket or a
 * device is refused. Standard input may be anything, and is waited for.
 *
 * Errors: ERROR_ABSENT when it is not there, ERROR_INPUT when it cannot be read or is no regular file, ERROR_LIMIT when
 * it is larger than max_bytes; the sentence names the path and the reason, never the content.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* NUL-terminated copy in `arena`; "-" is standard input. */
bool file_read(struct arena *arena, const char *path, size_t max_bytes, char **out, size_t *out_length,
               struct error *error);

/*
 * The path to give to file_read for one that stands in a setting: there "-" is a file of that name and must not wait for
 * standard input. Everything else is itself.
 */
const char *file_named(const char *path);

#endif
