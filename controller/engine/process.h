/*
 * A long process as a table of named steps: `ask` says what to send, `hear` takes the answer and names the next step (NULL: finished).
 *
 * A step does no I/O and reads no clock. It may look at whatever `self` points to and only fills the ask.
 */
#ifndef ENGINE_PROCESS_H
#define ENGINE_PROCESS_H

#include "exchange.h"

struct step {
	const char *name;
	void (*ask)(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);
	const struct step *(*hear)(void *self, const struct answer *answer);
};

struct process {
	struct engine *engine;
	void *self;
	const struct step *step; /* NULL = not running */
	struct exchange *exchange;
	void (*ended)(void *self); /* may be NULL: finished, stopped or aborted */
};

void process_start(struct process *process, struct engine *engine, void *self, const struct step *first,
                   void (*ended)(void *self));

bool process_running(const struct process *process);

/* Stop now if nothing that it has sent can still change anything; false when it is to be asked again after the answer. */
bool process_stop(struct process *process);

/* Stop whatever happens (the engine ends, or the lease is gone). */
void process_abort(struct process *process);

#endif
