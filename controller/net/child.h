/*
 * A program while it runs (net/program.h): started, read from, and reaped. Private to net; never waits but in
 * child_reap.
 *
 * Its descriptors stand in the epoll given to it, all under one tag, level-triggered: child_look after each event.
 * Between child_give_up and child_reap it holds its process only; no zombie is left once child_reap is true.
 */
#ifndef NET_CHILD_H
#define NET_CHILD_H

#include <sys/queue.h>
#include <sys/types.h>

#include "base/text.h"
#include "net/http.h"
#include "net/program.h"

enum { CHILD_COMPLAINT_BYTES = 1024 };

struct child {
	TAILQ_ENTRY(child) all;
	void *owner; /* NULL: given up */
	uint64_t tag;
	int epoll;
	const struct program *program; /* until it is given up */
	pid_t pid;
	int process; /* a pidfd */
	int output;
	int complaints; /* -1: not ours to read */
	bool ended;
	bool overstepped; /* max_output_bytes */
	bool in_our_group;
	int how;  /* si_code */
	int with; /* si_status */
	struct text written;
	char complaint[CHILD_COMPLAINT_BYTES]; /* the end of it */
	size_t complaint_length;
};

TAILQ_HEAD(children, child);

int32_t child_deadline_ms(const struct program *program);

/* NULL and *error when it cannot be started. `arena` and `program` must live until child_give_up. */
struct child *child_start(struct arena *arena, const struct program *program, int epoll, uint64_t tag, void *owner,
                          struct error *error);

/* Takes what is there. True: there is an answer. */
bool child_look(struct child *child);

/* Once child_look was true. */
void child_answer(struct child *child, struct arena *arena, struct http_response *out);

void child_overdue(const struct program *program, struct error *out);

/* Kills it, if it has not ended; drops what it has written. */
void child_give_up(struct child *child);

/* Waits for its end, so long at most. False: it has not ended yet. */
bool child_reap(struct child *child, int timeout_ms);

/* Given up and reaped, or else a zombie is left. NULL is fine. */
void child_free(struct child *child);

#endif
