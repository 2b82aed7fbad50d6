#include "process.h"

#include "state.h"

static void process_ask(struct process *process);

static void process_heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct process *process = self;

	(void)exchange;
	process->exchange = NULL;
	process->step = process->step->hear(process->self, answer);
	process->engine->moved = true;
	if (process->step)
		process_ask(process);
	else if (process->ended)
		process->ended(process->self);
}

static void process_ask(struct process *process)
{
	struct engine *engine = process->engine;
	struct exchange *exchange = exchange_new(engine, process_heard, process);

	process->step->ask(process->self, engine_now(engine), engine_wall(engine), &exchange->arena, &exchange->ask);
	process->exchange = exchange;
	exchange_queue(engine, exchange);
}

void process_start(struct process *process, struct engine *engine, void *self, const struct step *first,
                   void (*ended)(void *self))
{
	*process = (struct process){.engine = engine, .self = self, .step = first, .ended = ended};
	process_ask(process);
}

bool process_running(const struct process *process)
{
	return process->step != NULL;
}

bool process_stop(struct process *process)
{
	if (!process->step)
		return true;
	if (process->exchange && process->exchange->state == EXCHANGE_IN_FLIGHT && process->exchange->ask.effect)
		return false;
	process_abort(process);
	return true;
}

void process_abort(struct process *process)
{
	if (!process->step)
		return;
	exchange_cancel(process->engine, process->exchange);
	process->exchange = NULL;
	process->step = NULL;
	if (process->ended)
		process->ended(process->self);
}
