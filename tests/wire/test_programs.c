#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

static struct hearer *hearer;
static char folder[] = "/tmp/zonevac-program-XXXXXX";
static const char *const files[] = {"pids", "made", "plain", "lost", "text", "good"};

static void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	hearer = hearer_new();
	cr_assert_not_null(mkdtemp(folder));
}

static void end(void)
{
	if (hearer != NULL)
		hearer_free(hearer);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
	cr_expect_eq(errno, ECHILD);
	cr_expect_eq(chdir(folder), 0);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlink(files[i]);
	cr_expect_eq(rmdir(folder), 0);
}

TestSuite(wire_programs, .init = begin, .fini = end, .timeout = 60);

static const char *path_of(const char *name)
{
	return arena_printf(&hearer->arena, "%s/%s", folder, name);
}

static struct program *program_of(const char *first, const char *second, const char *third)
{
	struct program *program = ARENA_NEW(&hearer->arena, struct program);
	const char **argv = arena_array(&hearer->arena, 4, sizeof *argv);

	argv[0] = first;
	argv[1] = second;
	argv[2] = third;
	program->argv = argv;
	program->deadline_ms = 5000;
	return program;
}

static struct program *script(const char *text)
{
	return program_of("sh", "-c", text);
}

static const struct http_response *run(const struct program *program)
{
	int before = hearer->finished;
	uint64_t call;

	hearer->body_length = 0;
	hearer->body[0] = '\0';
	call = hearer->client->run(hearer->client, &hearer->arena, program, hearer);
	cr_assert_neq(call, 0);
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_eq(hearer->finished, before + 1);
	cr_assert_eq(hearer->last_call, call);
	cr_assert_eq(hearer->last_owner, hearer);
	return &hearer->response;
}

static void expect_output(const struct program *program, const char *output)
{
	const struct http_response *response = run(program);

	cr_assert_eq(response->error.kind, ERROR_NONE, "%s", response->error.message);
	cr_assert_eq(response->status, 200);
	cr_assert_str_eq(response->body, output);
	cr_assert_eq(response->body_length, strlen(output));
}

static void expect_failure(const struct program *program, enum error_kind kind, const char *sentence)
{
	const struct http_response *response = run(program);

	cr_assert_eq(response->error.kind, kind, "%s: %s", error_kind_name(response->error.kind), response->error.message);
	cr_assert_eq(response->status, 0);
	cr_assert_str_eq(response->body, "");
	cr_assert_str_eq(response->error.message, sentence);
}

static int64_t since_ms(struct instant started)
{
	return instant_between_ms(started, hearer->client->now(hearer->client));
}

static struct instant now(void)
{
	return hearer->client->now(hearer->client);
}

/* Gone, or a zombie whose parent is not us. */
static bool is_over(pid_t pid)
{
	char path[64], stat[512] = "";
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return true;
	if (fgets(stat, sizeof stat, file) == NULL)
		stat[0] = '\0';
	fclose(file);
	return strstr(stat, ") Z") != NULL || stat[0] == '\0';
}

static void expect_over(pid_t pid)
{
	for (int i = 0; i < 200 && !is_over(pid); i++)
		wire_pause_ms(10);
	cr_assert(is_over(pid), "%d still runs", pid);
}

/* Number `index` of what a program has written into a file; waits for it. */
static pid_t pid_in(const char *path, int index)
{
	int found[2] = {0};

	for (int i = 0; i < 300; i++) {
		FILE *file = fopen(path, "r");
		int count = file == NULL ? 0 : fscanf(file, "%d %d", &found[0], &found[1]);

		if (file != NULL)
			fclose(file);
		if (count == 2)
			return found[index];
		wire_pause_ms(10);
	}
	cr_assert(false, "no numbers in %s", path);
	return 0;
}

/* A shell with a child, neither of which ends; their numbers in a file. */
static struct program *endless(const char *path)
{
	return script(arena_printf(&hearer->arena, "sleep 600 & echo $$ $! > %s; wait", path));
}

Test(wire_programs, output_is_the_answer)
{
	expect_output(script("echo hello; echo noise >&2"), "hello\n");
	expect_output(script("true"), "");
}

Test(wire_programs, arguments_go_as_they_are)
{
	expect_output(program_of("printf", "%s", "a  b;$HOME `id` \"'*"), "a  b;$HOME `id` \"'*");
}

Test(wire_programs, environment_is_ours_and_more)
{
	static const char *const changes[] = {"CHANGED=new", "ADDED=a=b", NULL};
	struct program *program = script("echo $INHERITED $CHANGED $ADDED; env | grep -c CHANGED=");

	setenv("INHERITED", "ours", 1);
	setenv("CHANGED", "old", 1);
	setenv("CHANGED_NOT", "ours", 1);
	program->environment = changes;
	expect_output(program, "ours new a=b\n1\n");
	expect_output(script("echo $CHANGED $CHANGED_NOT"), "old ours\n");
}

Test(wire_programs, has_nothing_to_read)
{
	expect_output(program_of("cat", NULL, NULL), "");
}

Test(wire_programs, exit_code_and_last_complaint)
{
	expect_failure(
		script("echo output; echo first >&2; printf 'last \\033[31mline\\001\\302\\205\\377 \\303\\251\\n\\n' >&2;"
	           "exit 3 # secret"),
		ERROR_REJECTED, "sh ended with exit code 3: last [31mline \xc3\xa9");
	expect_failure(script("echo 'denied: SecretAccessKey=\"wJalrXUtnFEMI/K7MDENG\", Bearer abc.def' >&2; exit 3"),
	               ERROR_REJECTED, "sh ended with exit code 3: denied: SecretAccessKey=\"***\", Bearer ***");
	expect_failure(script("exit 255"), ERROR_REJECTED, "sh ended with exit code 255");
	expect_failure(script("printf 'no end' >&2; exit 1"), ERROR_REJECTED, "sh ended with exit code 1: no end");
	expect_failure(script("printf '\\n \\n\\t' >&2; exit 1"), ERROR_REJECTED, "sh ended with exit code 1");
}

Test(wire_programs, complaint_has_a_maximum)
{
	const char *message;

	run(script("head -c 700 /dev/zero | tr '\\0' x >&2; exit 1"));
	message = strstr(hearer->response.error.message, ": ") + 2;
	cr_assert_eq(strlen(message), 200);
	cr_assert_eq(strspn(message, "x"), 200);
	/* a line of which only the end was kept */
	run(script("head -c 100000 /dev/zero | tr '\\0' y >&2; exit 1"));
	cr_assert_eq(strlen(strstr(hearer->response.error.message, ": y") + 2), 200);
}

Test(wire_programs, ended_by_a_signal)
{
	expect_failure(script("kill -9 $$"), ERROR_UNREACHABLE, "sh was ended by signal 9 (Killed)");
	expect_failure(script("kill -TERM $$"), ERROR_UNREACHABLE, "sh was ended by signal 15 (Terminated)");
}

static const char *write_file(const char *name, const char *text, mode_t mode)
{
	const char *path = path_of(name);
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	chmod(path, mode);
	return path;
}

Test(wire_programs, not_to_be_run)
{
	const char *absent = " cannot be run: it, or the interpreter that it names, is not there";
	const char *refused = " cannot be run: it is not an executable file, or not one for us";
	const char *path = write_file("plain", "#!/bin/sh\n", 0644);

	expect_failure(program_of("zonevac-no-such-program", "secret", NULL), ERROR_INPUT,
	               arena_printf(&hearer->arena, "zonevac-no-such-program%s", absent));
	expect_failure(program_of("/nonexistent/x", NULL, NULL), ERROR_INPUT,
	               arena_printf(&hearer->arena, "/nonexistent/x%s", absent));
	expect_failure(program_of(path, NULL, NULL), ERROR_INPUT, arena_printf(&hearer->arena, "%s%s", path, refused));
	expect_failure(program_of(folder, NULL, NULL), ERROR_INPUT, arena_printf(&hearer->arena, "%s%s", folder, refused));
	path = write_file("lost", "#!/nonexistent/interpreter\n", 0755);
	expect_failure(program_of(path, NULL, NULL), ERROR_INPUT, arena_printf(&hearer->arena, "%s%s", path, absent));
	/* a shell would try to make sense of it */
	path = write_file("text", "echo hello\n", 0755);
	expect_failure(program_of(path, NULL, NULL), ERROR_INPUT,
	               arena_printf(&hearer->arena, "%s cannot be run: Exec format error", path));
	expect_failure(program_of("", NULL, NULL), ERROR_INPUT, absent);
}

Test(wire_programs, by_a_path_and_by_a_relative_one)
{
	const char *path = write_file("good", "#!/bin/sh\necho good\n", 0755);

	expect_output(program_of(path, NULL, NULL), "good\n");
	cr_assert_eq(chdir(folder), 0);
	expect_output(program_of("./good", NULL, NULL), "good\n");
}

Test(wire_programs, never_ending_one_and_its_children_are_killed_at_the_deadline)
{
	const char *path = path_of("pids");
	struct program *program = endless(path);
	struct instant started = now();

	program->deadline_ms = 2000;
	expect_failure(program, ERROR_TIMEOUT, "sh did not end within 2000 ms and was killed");
	cr_assert(since_ms(started) >= 1995 && since_ms(started) < WIRE_PATIENCE_MS, "%lld ms",
	          (long long)since_ms(started));
	expect_over(pid_in(path, 0));
	expect_over(pid_in(path, 1));
	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "it is not left as a zombie");
}

Test(wire_programs, one_that_heeds_no_signal_is_killed)
{
	struct program *program = script("trap '' TERM INT HUP; exec 2>&-; while true; do sleep 1; done");

	program->deadline_ms = 300;
	expect_failure(program, ERROR_TIMEOUT, "sh did not end within 300 ms and was killed");
}

Test(wire_programs, canceled_one_is_killed_and_never_told)
{
	const char *path = path_of("pids");
	uint64_t call = hearer->client->run(hearer->client, &hearer->arena, endless(path), hearer);
	pid_t pid;

	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
	pid = pid_in(path, 0);
	hearer->client->cancel(hearer->client, call);
	expect_over(pid_in(path, 1));
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	expect_over(pid);
	cr_assert_eq(kill(pid, 0), -1, "it is not left as a zombie");
	cr_assert_eq(hearer->finished, 0);
}

Test(wire_programs, canceled_before_it_was_begun)
{
	const char *path = path_of("made");
	uint64_t call = hearer->client->run(hearer->client, &hearer->arena,
	                                    script(arena_printf(&hearer->arena, "echo > %s", path)), hearer);

	hearer->client->cancel(hearer->client, call);
	cr_assert_eq(hearer_listen(hearer, 200), CLIENT_DUE);
	cr_assert_eq(access(path, F_OK), -1);
}

Test(wire_programs, client_is_freed_while_one_runs)
{
	const char *path = path_of("pids");
	pid_t first, second;

	hearer->client->run(hearer->client, &hearer->arena, endless(path), hearer);
	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
	first = pid_in(path, 0);
	second = pid_in(path, 1);
	hearer_free(hearer);
	hearer = NULL;
	cr_assert_eq(kill(first, 0), -1, "it is not left as a zombie");
	expect_over(second);
}

Test(wire_programs, closes_its_output_and_goes_on)
{
	struct instant started = now();
	clock_t busy = clock();

	expect_output(script("echo early; exec >&- 2>&-; sleep 0.5"), "early\n");
	cr_assert_geq(since_ms(started), 495);
	cr_assert_lt(clock() - busy, CLOCKS_PER_SEC / 5, "a closed pipe keeps nobody busy");
}

Test(wire_programs, what_it_leaves_behind_is_left_alone)
{
	struct instant started = now();
	pid_t left;

	cr_assert_eq(run(script("sleep 30 & echo $!"))->status, 200);
	cr_assert_lt(since_ms(started), 5000);
	left = atoi(hearer->body);
	cr_assert_gt(left, 1);
	wire_pause_ms(50);
	cr_assert_not(is_over(left));
	kill(left, SIGKILL);
}

Test(wire_programs, output_has_a_maximum)
{
	struct program *program = script("head -c 100000000 /dev/zero");
	struct instant started = now();

	expect_failure(program, ERROR_LIMIT, "sh wrote more than 1048576 bytes");
	cr_assert_lt(since_ms(started), WIRE_PATIENCE_MS);
	program = program_of("printf", "hello", NULL);
	program->max_output_bytes = 5;
	expect_output(program, "hello");
	program->max_output_bytes = 4;
	expect_failure(program, ERROR_LIMIT, "printf wrote more than 4 bytes");
}

Test(wire_programs, endless_output_is_cut_and_its_writers_are_killed)
{
	const char *path = path_of("pids");

	expect_failure(script(arena_printf(&hearer->arena, "yes & echo $$ $! > %s; wait", path)), ERROR_LIMIT,
	               "sh wrote more than 1048576 bytes");
	expect_over(pid_in(path, 0));
	expect_over(pid_in(path, 1));
	cr_assert_eq(hearer_listen(hearer, 50), CLIENT_DUE);
}

Test(wire_programs, complaints_without_end_are_dropped)
{
	expect_output(script("head -c 100000000 /dev/zero >&2; echo done"), "done\n");
}

Test(wire_programs, more_than_a_pipe_holds_arrives_whole)
{
	struct program *program = script("head -c 200000 /dev/zero | tr '\\0' z");

	cr_assert_eq(run(program)->status, 200);
	cr_assert_eq(hearer->body_length, 200000);
	cr_assert_eq(strspn(hearer->body, "z"), 200000);
}

Test(wire_programs, bytes_arrive_as_they_are)
{
	cr_assert_eq(run(script("printf 'a\\000\\001\\377\\n'"))->status, 200);
	cr_assert_eq(hearer->response.body_length, 5);
	cr_assert_eq(memcmp(hearer->response.body, "a\0\1\377\n", 5), 0);
}

Test(wire_programs, no_signal_is_blocked_or_ignored)
{
	const unsigned long long of_the_c_library = 0x180000000; /* 32 and 33, which nobody else may use */
	unsigned long long blocked, ignored;
	sigset_t set;

	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	cr_assert_eq(run(script("exec grep -E '^Sig(Blk|Ign)' /proc/self/status"))->status, 200);
	cr_assert_eq(sscanf(hearer->body, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2, "%s", hearer->body);
	cr_assert_eq(blocked, 0);
	cr_assert_eq(ignored & ~of_the_c_library, 0);
}

static int count_descriptors(void)
{
	DIR *all = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(all) != NULL)
		count++;
	closedir(all);
	return count;
}

static void serve_always(struct wire_peer *peer)
{
	while (wire_hear_request(peer))
		wire_say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* 3 is the folder that it lists. */
Test(wire_programs, inherits_no_descriptor)
{
	struct wire_server *server = wire_server_start(serve_always, NULL);
	int open_to_all = open("/dev/null", O_RDONLY);

	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	expect_output(program_of("ls", "/proc/self/fd", NULL), "0\n1\n2\n3\n");
	close(open_to_all);
	wire_server_stop(server);
}

Test(wire_programs, sockets_are_closed_by_exec)
{
	struct wire_server *server = wire_server_start(serve_always, NULL);
	int lowest = dup(0);

	close(lowest);
	cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	for (int fd = lowest; fd < lowest + 20; fd++) {
		int peer = server->peers[0].fd;

		if (fd != peer && fcntl(fd, F_GETFD) >= 0)
			cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%d", fd);
	}
	wire_server_stop(server);
}

Test(wire_programs, descriptors_do_not_grow)
{
	struct program *slow = script("sleep 5");
	int before;

	slow->deadline_ms = 20;
	run(script("true"));
	before = count_descriptors();
	for (int i = 0; i < 10; i++) {
		run(script("echo x; exit 1"));
		run(program_of("/nonexistent/x", NULL, NULL));
		run(slow);
		hearer->client->cancel(hearer->client, hearer->client->run(hearer->client, &hearer->arena, slow, hearer));
	}
	cr_assert_eq(hearer_listen(hearer, 100), CLIENT_DUE);
	cr_assert_eq(count_descriptors(), before);
}

Test(wire_programs, many_at_once)
{
	enum { COUNT = 80 };
	bool seen[COUNT + 1] = {false};

	for (int i = 0; i < COUNT; i++)
		hearer->client->run(hearer->client, &hearer->arena, program_of("sleep", "0.3", NULL), hearer);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
		cr_assert_eq(hearer->response.status, 200, "%s", hearer->response.error.message);
		cr_assert_not(seen[hearer->last_call]);
		seen[hearer->last_call] = true;
	}
}

Test(wire_programs, calls_go_on_meanwhile)
{
	struct wire_server *server = wire_server_start(serve_always, NULL);
	const char *path = path_of("go");
	const char *text = arena_printf(&hearer->arena, "while [ ! -e %s ]; do sleep 0.05; done; echo late", path);
	uint64_t call = hearer->client->run(hearer->client, &hearer->arena, script(text), hearer);

	for (int i = 0; i < 5; i++)
		cr_assert_eq(hearer_get(hearer, wire_url(server, "/"))->status, 200);
	fclose(fopen(path, "w"));
	cr_assert_eq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_FINISHED);
	cr_assert_eq(hearer->last_call, call);
	cr_assert_str_eq(hearer->response.body, "late\n");
	unlink(path);
	wire_server_stop(server);
}

static const char group_script[] = "cut -d' ' -f5 /proc/$$/stat; echo $$";

Test(wire_programs, has_a_group_of_its_own)
{
	int group, pid;

	cr_assert_eq(run(script(group_script))->status, 200);
	cr_assert_eq(sscanf(hearer->body, "%d %d", &group, &pid), 2);
	cr_assert_eq(group, pid);
}

Test(wire_programs, interactive_one_shares_our_terminal)
{
	struct program *program = script("read line; echo got $line; echo please touch >&2; cut -d' ' -f5 /proc/$$/stat");
	char expected[64], asked[64] = "";
	int input[2], complaints[2], saved = dup(2);

	cr_assert_eq(pipe(input) | pipe(complaints), 0);
	dup2(input[0], 0);
	dup2(complaints[1], 2);
	cr_assert_eq(write(input[1], "typed\n", 6), 6);
	program->interactive = true;
	snprintf(expected, sizeof expected, "got typed\n%d\n", getpgrp());
	run(program);
	dup2(saved, 2);
	cr_assert_str_eq(hearer->body, expected);
	cr_assert_gt(read(complaints[0], asked, sizeof asked - 1), 0);
	cr_assert_str_eq(asked, "please touch\n");
}

Test(wire_programs, interactive_one_is_killed_alone)
{
	const char *path = path_of("pids");
	struct program *program = endless(path);

	program->interactive = true;
	program->deadline_ms = 2000;
	expect_failure(program, ERROR_TIMEOUT, "sh did not end within 2000 ms and was killed");
	expect_over(pid_in(path, 0));
	cr_assert_not(is_over(pid_in(path, 1)));
	kill(pid_in(path, 1), SIGKILL);
}
