#include "child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mask.h"

enum {
	DEFAULT_DEADLINE_MS = 60 * 1000,
	DEFAULT_OUTPUT_BYTES = 1024 * 1024,
	READ_BYTES = 16 * 1024,
	MAX_READS = 64, /* together what a pipe holds at most: nothing of the dead is left behind, and nobody starves */
	MAX_NAME_CHARACTERS = 100,
	MAX_COMPLAINT_CHARACTERS = 200,
	MAX_SENTENCE_BYTES = 1200,
	FIRST_INHERITED = 3,
};

int32_t child_deadline_ms(const struct program *program)
{
	return program->deadline_ms > 0 ? program->deadline_ms : DEFAULT_DEADLINE_MS;
}

static size_t max_output_bytes(const struct program *program)
{
	return program->max_output_bytes > 0 ? program->max_output_bytes : DEFAULT_OUTPUT_BYTES;
}

/* Words. */

static void append_printable(struct text *out, const char *bytes, size_t length, size_t max_characters)
{
	for (size_t size; length > 0 && max_characters > 0; bytes += size, length -= size) {
		unsigned char first = (unsigned char)*bytes;

		size = text_utf8(bytes, length);
		if (size == 0 || first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)bytes[1] < 0xa0)) {
			size = size == 0 ? 1 : size;
			continue;
		}
		text_append_bytes(out, bytes, size);
		max_characters--;
	}
}

static void sentence_begin(struct text *out, const struct program *program)
{
	text_init(out, MAX_SENTENCE_BYTES);
	append_printable(out, program->argv[0], strlen(program->argv[0]), MAX_NAME_CHARACTERS);
}

static void sentence_end(struct text *sentence, enum error_kind kind, struct error *out)
{
	error_set(out, kind, "%s", sentence->at);
	text_done(sentence);
}

void child_overdue(const struct program *program, struct error *out)
{
	struct text sentence;

	sentence_begin(&sentence, program);
	text_printf(&sentence, " did not end within %d ms and was killed", child_deadline_ms(program));
	sentence_end(&sentence, ERROR_TIMEOUT, out);
}

static void explain_start(const struct program *program, int number, struct error *out)
{
	bool ours = number == EAGAIN || number == ENOMEM || number == EMFILE || number == ENFILE || number == ENOSYS;
	struct text sentence;

	sentence_begin(&sentence, program);
	if (number == ENOENT)
		text_append(&sentence, " cannot be run: it, or the interpreter that it names, is not there");
	else if (number == EACCES)
		text_append(&sentence, " cannot be run: it is not an executable file, or not one for us");
	else
		text_printf(&sentence, " cannot be run: %s", strerror(number));
	sentence_end(&sentence, ours ? ERROR_UNREACHABLE : ERROR_INPUT, out);
}

/* Of what a stranger wrote, what may stand in a log or a status. */
static void append_shown(struct text *out, const char *bytes, size_t length)
{
	char shown[MASK_MAX_BYTES];
	struct text printable;

	text_init(&printable, sizeof shown);
	append_printable(&printable, bytes, length, MAX_COMPLAINT_CHARACTERS);
	snprintf(shown, sizeof shown, "%.*s", (int)printable.length, printable.at != NULL ? printable.at : "");
	text_done(&printable);
	mask_secrets(shown);
	text_printf(out, ": %s", shown);
}

/* The last line that is not blank. */
static void append_complaint(struct text *out, const struct child *child)
{
	const char *bytes = child->complaint;
	size_t length = child->complaint_length;
	size_t start;

	while (length > 0 && (unsigned char)bytes[length - 1] <= ' ')
		length--;
	for (start = length; start > 0 && bytes[start - 1] != '\n' && bytes[start - 1] != '\r';)
		start--;
	if (start == length)
		return;
	append_shown(out, bytes + start, length - start);
}

static void explain_end(const struct child *child, struct error *out)
{
	struct text sentence;
	enum error_kind kind = ERROR_UNREACHABLE;

	sentence_begin(&sentence, child->program);
	if (child->overstepped) {
		kind = ERROR_LIMIT;
		text_printf(&sentence, " wrote more than %zu bytes", max_output_bytes(child->program));
	} else if (child->how == CLD_EXITED) {
		kind = ERROR_REJECTED;
		text_printf(&sentence, " ended with exit code %d", child->with);
		append_complaint(&sentence, child);
	} else if (child->how == CLD_KILLED || child->how == CLD_DUMPED) {
		text_printf(&sentence, " was ended by signal %d (%s)", child->with, strsignal(child->with));
	} else {
		text_append(&sentence, " has ended, and somebody else was told how");
	}
	sentence_end(&sentence, kind, out);
}

/* Starting. */

static bool is_replaced(const char *const *changes, const char *variable)
{
	size_t length = strcspn(variable, "=");

	for (; changes != NULL && *changes != NULL; changes++)
		if (strncmp(*changes, variable, length) == 0 && (*changes)[length] == '=')
			return true;
	return false;
}

static char **environment_make(struct arena *arena, const char *const *changes)
{
	size_t count = 1;
	char **made;
	char **next;

	for (size_t i = 0; environ[i] != NULL; i++)
		count++;
	for (size_t i = 0; changes != NULL && changes[i] != NULL; i++)
		count++;
	made = next = arena_array(arena, count, sizeof *made);
	for (size_t i = 0; environ[i] != NULL; i++)
		if (!is_replaced(changes, environ[i]))
			*next++ = environ[i];
	for (; changes != NULL && *changes != NULL; changes++)
		*next++ = arena_string(arena, *changes);
	return made;
}

static bool actions_set(posix_spawn_file_actions_t *actions, const struct program *program, int output, int complaints)
{
	if (!program->interactive && (posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	                              posix_spawn_file_actions_adddup2(actions, complaints, 2) != 0))
		return false;
	/* descriptors of libraries are not all closed by exec */
	return posix_spawn_file_actions_adddup2(actions, output, 1) == 0 &&
	       posix_spawn_file_actions_addclosefrom_np(actions, FIRST_INHERITED) == 0;
}

static int spawn(struct child *child, struct arena *arena, int output, int complaints)
{
	const struct program *program = child->program;
	int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (child->in_our_group ? 0 : POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	char *const *argv;
	int number;

	/* posix_spawn's parameter is not const, and it does not write to it */
	memcpy(&argv, &program->argv, sizeof argv);
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
		abort();
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, (short)flags);
	number = ENOMEM;
	if (actions_set(&actions, program, output, complaints))
		number = posix_spawnp(&child->pid, argv[0], &actions, &attributes, argv,
		                      environment_make(arena, program->environment));
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return number;
}

static bool watch(const struct child *child, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = child->tag};

	return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && epoll_ctl(child->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void drop(struct child *child, int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(child->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* 0 or errno. */
static int start(struct child *child, struct arena *arena)
{
	int output[2] = {-1, -1};
	int complaints[2] = {-1, -1};
	int number;

	if (pipe2(output, O_CLOEXEC) != 0)
		return errno;
	child->output = output[0];
	if (!child->program->interactive && pipe2(complaints, O_CLOEXEC) != 0) {
		number = errno;
		close(output[1]);
		return number;
	}
	child->complaints = complaints[0];
	number = spawn(child, arena, output[1], complaints[1]);
	close(output[1]);
	if (complaints[1] >= 0)
		close(complaints[1]);
	if (number != 0)
		return number;
	child->process = pidfd_open(child->pid, 0);
	if (child->process < 0 || !watch(child, child->process) || !watch(child, child->output) ||
	    (child->complaints >= 0 && !watch(child, child->complaints)))
		return errno;
	return 0;
}

static void kill_it(const struct child *child)
{
	if (!child->in_our_group)
		kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL); /* it may have left its group */
}

struct child *child_start(struct arena *arena, const struct program *program, int epoll, uint64_t tag, void *owner,
                          struct error *error)
{
	struct child *child = calloc(1, sizeof *child);
	int number;

	if (child == NULL)
		abort();
	assert(program->argv[0] != NULL);
	*child = (struct child){.owner = owner,
	                        .tag = tag,
	                        .epoll = epoll,
	                        .program = program,
	                        .process = -1,
	                        .output = -1,
	                        .complaints = -1,
	                        .in_our_group = program->interactive};
	text_init(&child->written, max_output_bytes(program));
	number = start(child, arena);
	if (number == 0)
		return child;
	if (child->pid > 0) {
		kill_it(child);
		waitpid(child->pid, NULL, 0); /* killed a moment ago, and without a pidfd there is no other way */
	}
	explain_start(program, number, error);
	child_free(child);
	return NULL;
}

/* Reading. */

static void keep_output(struct child *child, const char *bytes, size_t length)
{
	if (length > child->written.max_bytes - child->written.length)
		child->overstepped = true;
	else
		text_append_bytes(&child->written, bytes, length);
}

static void keep_complaint(struct child *child, const char *bytes, size_t length)
{
	size_t kept = child->complaint_length;

	if (length >= sizeof child->complaint) {
		bytes += length - sizeof child->complaint;
		length = sizeof child->complaint;
	}
	if (kept + length > sizeof child->complaint) {
		size_t over = kept + length - sizeof child->complaint;

		memmove(child->complaint, child->complaint + over, kept - over);
		kept -= over;
	}
	memcpy(child->complaint + kept, bytes, length);
	child->complaint_length = kept + length;
}

static void take(struct child *child, int *fd, void (*keep)(struct child *child, const char *bytes, size_t length))
{
	char bytes[READ_BYTES];

	for (int i = 0; i < MAX_READS && *fd >= 0 && !child->overstepped; i++) {
		ssize_t length = read(*fd, bytes, sizeof bytes);

		if (length < 0 && errno == EAGAIN)
			return;
		if (length > 0)
			keep(child, bytes, (size_t)length);
		else if (length == 0 || errno != EINTR)
			drop(child, fd);
	}
}

bool child_reap(struct child *child, int timeout_ms)
{
	struct pollfd process = {.fd = child->process, .events = POLLIN};
	siginfo_t info = {0};

	if (child->ended || poll(&process, 1, timeout_ms) <= 0)
		return child->ended;
	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return false;
	child->ended = true;
	child->how = info.si_code;
	child->with = info.si_status;
	return true;
}

bool child_look(struct child *child)
{
	/* in this order: what the dead have written is all there */
	bool ended = child_reap(child, 0);

	take(child, &child->output, keep_output);
	take(child, &child->complaints, keep_complaint);
	return ended || child->overstepped;
}

void child_answer(struct child *child, struct arena *arena, struct http_response *out)
{
	*out = (struct http_response){.body = ""};
	if (child->overstepped || child->how != CLD_EXITED || child->with != 0) {
		explain_end(child, &out->error);
		return;
	}
	out->status = 200;
	out->body_length = child->written.length;
	if (out->body_length > 0)
		out->body = text_take(&child->written, arena);
}

void child_give_up(struct child *child)
{
	child->owner = NULL;
	if (!child->ended)
		kill_it(child);
	child->program = NULL;
	drop(child, &child->output);
	drop(child, &child->complaints);
	if (child->ended)
		drop(child, &child->process);
	text_done(&child->written);
}

void child_free(struct child *child)
{
	if (child == NULL)
		return;
	drop(child, &child->output);
	drop(child, &child->complaints);
	drop(child, &child->process);
	text_done(&child->written);
	free(child);
}
