/*
 * A set of probes of one actuator, read in parallel: a survey of all resources of a kind, or a look at some of them.
 *
 * Ownership: counted. The resources, and what their actuator keeps of them, live as long as somebody holds the inquiry.
 */
#ifndef ENGINE_INQUIRY_H
#define ENGINE_INQUIRY_H

#include "actuators/actuator.h"
#include "exchange.h"

struct facts;

struct inquiry {
	struct engine *engine;
	struct place *place;
	const struct actuator *actuator;
	const struct scope *scope; /* that the questions are about */
	struct facts
		*facts; /* that it is part of, held; NULL: a survey is held by its facts, a node's scope is the inquiry's own */
	struct arena arena;
	struct resources resources;
	struct probes queue;
	size_t pending;
	struct exchange **exchanges; /* in flight, to be taken back when it fails */
	size_t exchange_count;
	size_t exchange_capacity;
	bool done; /* it has ended, failed or not */
	bool failed;
	struct error error;
	struct instant sent_at; /* of the first answer's request: the age of what was read */
	int references;
	void (*ended)(void *self, struct inquiry *inquiry);
	void *self;

	struct inquiry *next_look; /* looks under way, so that the engine's end finds them */
	struct exchange **waiting; /* a look: who is to be told */
	size_t waiting_count;
};

/* All resources of the kind. `ended` is called later, once, with inquiry->failed or its resources. The caller holds one reference. */
struct inquiry *inquiry_survey(struct engine *engine, struct place *place, const struct actuator *actuator,
                               struct facts *facts, void (*ended)(void *self, struct inquiry *inquiry), void *self);

/* Look at the items of `exchanges` (ASK_LOOK, all of one place and actuator, at most look_max) and tell each. */
void inquiry_look(struct engine *engine, struct exchange *const *exchanges, size_t count);

/* What the change of `item` could not move (actuator->remark, which must be there). As a survey; NULL when there is nothing to be asked. */
struct inquiry *inquiry_remark(struct item *item, void (*ended)(void *self, struct inquiry *inquiry), void *self);

/* The engine ends: drop the looks under way. */
void inquiry_cancel_looks(struct engine *engine);

/* Nobody is to be told any more; gives the caller's reference back. NULL is fine. */
void inquiry_cancel(struct inquiry *inquiry);

struct inquiry *inquiry_hold(struct inquiry *inquiry);
void inquiry_release(struct inquiry *inquiry);

/* NULL when the answers did not mention it. */
const struct resource *inquiry_find(const struct inquiry *inquiry, const char *id);

#endif
