/*
 * Running another program, as a value: what credential_process of AWS and exec plugins of Kubernetes ask for.
 *
 * No shell: `argv` goes to the program as it is. It inherits our environment and `environment` on top, our working
 * directory, and no descriptor of ours but 0, 1 and 2; no signal is blocked or ignored in it. Its standard input is
 * /dev/null. It is the head of a process group of its own, which is killed as a whole when the deadline comes, when it
 * writes too much, or when the call is taken back. An interactive one has our standard input and our standard error
 * (what it asks a person is to be seen) and stays in our process group, as a terminal wants it; of it only the program
 * itself is killed.
 *
 * Its answer comes when it ends, with what it has written by then; it may close its standard output before. What it
 * leaves running behind itself is left alone, and is not waited for.
 *
 * The answer is an http_response. Exit code 0: status 200, the body is what it wrote to standard output. Else status 0
 * and `error`: INPUT (not found, not executable), REJECTED (another exit code, with it and the last line of what it
 * wrote to standard error, 200 characters of it at most, what looks like a secret masked (base/mask.h), unprintable ones left out), UNREACHABLE (ended by a signal, or
 * we have no means to start one), TIMEOUT, LIMIT. Sentences name argv[0] only: arguments may be secrets.
 */
#ifndef NET_PROGRAM_H
#define NET_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program {
	const char *const *argv;        /* NULL at the end; argv[0] is a path, or a name to be found in our PATH */
	const char *const *environment; /* "NAME=value", each in place of one that is there; NULL at the end; NULL = none */
	bool interactive;
	int32_t deadline_ms;     /* 0 = 60 s */
	size_t max_output_bytes; /* 0 = 1 MiB; standard error has no limit, all but its end is dropped */
};

#endif
