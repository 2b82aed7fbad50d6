#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

static struct arena arena;
static char path[] = "/tmp/zonevac-test-file-XXXXXX";

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 20);
	int descriptor = mkstemp(path);
	char content[10000];
	memset(content, 'x', sizeof(content));
	content[5000] = '\0';
	cr_assert_eq((int)write(descriptor, content, sizeof(content)), (int)sizeof(content));
	close(descriptor);
}

static void tear_down(void)
{
	unlink(path);
	arena_done(&arena);
}

TestSuite(file, .init = set_up, .fini = tear_down);

Test(file, whole_content_with_length_and_terminator)
{
	struct error error = {0};
	char *content;
	size_t length;

	cr_assert(file_read(&arena, path, 10000, &content, &length, &error));
	cr_assert_eq(length, 10000);
	cr_assert_eq(content[4999], 'x');
	cr_assert_eq(content[5000], '\0');
	cr_assert_eq(content[9999], 'x');
	cr_assert_eq(content[10000], '\0');
	cr_assert_eq(error.kind, ERROR_NONE, "untouched on success");
}

Test(file, larger_than_the_maximum)
{
	struct error error;
	char *content;
	size_t length;

	cr_assert(!file_read(&arena, path, 9999, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_LIMIT);
	cr_assert_not_null(strstr(error.message, path));
	cr_assert_null(strstr(error.message, "xxx"), "never the content");
}

Test(file, absent_and_unreadable)
{
	struct error error;
	char *content;
	size_t length;

	cr_assert(!file_read(&arena, "/nonexistent/file", 100, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert_str_eq(error.message, "cannot read /nonexistent/file: No such file or directory");
	cr_assert(!file_read(&arena, "/etc/passwd/x", 100, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_ABSENT);
	cr_assert(!file_read(&arena, "/tmp", 100, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "directory"));
}

Test(file, empty_file_is_an_empty_string)
{
	struct error error;
	char *content;
	size_t length = 1;

	cr_assert(file_read(&arena, "/dev/null", 100, &content, &length, &error));
	cr_assert_eq(length, 0);
	cr_assert_str_eq(content, "");
}

/* Criterion ends a test that takes this long: what blocks fails. */
Test(file, a_fifo_does_not_block, .timeout = 5)
{
	struct error error;
	char *content;
	size_t length;
	int writer;

	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert(!file_read(&arena, path, 100, &content, &length, &error), "nobody writes");
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, path), "%s", error.message);
	cr_assert_not_null(strstr(error.message, "not a regular file"), "%s", error.message);
	writer = open(path, O_RDWR);
	cr_assert_geq(writer, 0);
	cr_assert(!file_read(&arena, path, 100, &content, &length, &error), "somebody does, but says nothing");
	cr_assert_eq(error.kind, ERROR_INPUT);
	close(writer);
}

Test(file, sockets_and_devices_are_refused, .timeout = 5)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error error;
	char *content;
	size_t length;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(path);
	memcpy(address.sun_path, path, strlen(path));
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert(!file_read(&arena, path, 100, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	close(listener);
	cr_assert(!file_read(&arena, "/dev/zero", 100, &content, &length, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "not a regular file"), "%s", error.message);
}

Test(file, a_link_to_a_file_is_a_file)
{
	struct error error;
	char *content;
	char link[64];
	size_t length;

	snprintf(link, sizeof(link), "%s.link", path);
	cr_assert_eq(symlink(path, link), 0);
	cr_assert(file_read(&arena, link, 10000, &content, &length, &error));
	cr_assert_eq(length, 10000);
	unlink(link);
}

Test(file, dash_is_standard_input)
{
	struct error error;
	char *content;
	size_t length;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq((int)write(ends[1], "from a pipe", 11), 11);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	cr_assert(file_read(&arena, "-", 100, &content, &length, &error));
	cr_assert_str_eq(content, "from a pipe");
	cr_assert_neq(fcntl(STDIN_FILENO, F_GETFD), -1, "left open");
}

Test(file, dash_in_a_setting_is_a_file)
{
	cr_assert_str_eq(file_named("-"), "./-");
	cr_assert_str_eq(file_named("--"), "--");
	cr_assert_str_eq(file_named("/a/-"), "/a/-");
}
