#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"

static bool file_refuse(const char *path, int reason, struct error *error)
{
	enum error_kind kind = reason == ENOENT || reason == ENOTDIR ? ERROR_ABSENT : ERROR_INPUT;

	return error_set(error, kind, "cannot read %s: %s", path, strerrordesc_np(reason));
}

static bool descriptor_read(int descriptor, const char *path, struct text *content, struct error *error)
{
	char part[4096];

	for (;;) {
		ssize_t got = read(descriptor, part, sizeof(part));
		if (got == 0)
			return true;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return file_refuse(path, errno, error);
		text_append_bytes(content, part, (size_t)got);
		if (content->overflow)
			return error_set(error, ERROR_LIMIT, "%s is larger than %zu bytes", path, content->max_bytes);
	}
}

static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

/* Opens only what can be read to its end without waiting for anybody. -1: refused. */
static int regular_open(const char *path, struct error *error)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (descriptor < 0 || fstat(descriptor, &status) != 0) {
		file_refuse(path, errno, error);
	} else if (S_ISDIR(status.st_mode)) {
		file_refuse(path, EISDIR, error);
	} else if (!S_ISREG(status.st_mode) && !is_null_device(&status)) {
		error_set(error, ERROR_INPUT, "cannot read %s: it is not a regular file", path);
	} else {
		return descriptor;
	}
	if (descriptor >= 0)
		close(descriptor);
	return -1;
}

bool file_read(struct arena *arena, const char *path, size_t max_bytes, char **out, size_t *out_length,
               struct error *error)
{
	bool standard_input = strcmp(path, "-") == 0;
	const char *name = standard_input ? "standard input" : path;
	int descriptor = standard_input ? STDIN_FILENO : regular_open(path, error);
	struct text content;

	if (descriptor < 0)
		return false;
	text_init(&content, max_bytes);
	bool ok = descriptor_read(descriptor, name, &content, error);
	if (!standard_input)
		close(descriptor);
	if (ok) {
		*out_length = content.length;
		*out = text_take(&content, arena);
	}
	text_done(&content);
	return ok;
}

const char *file_named(const char *path)
{
	return text_equal(path, "-") ? "./-" : path;
}
