/*
 * A client that sends nothing: its clocks are set by hand, and what was submitted last is kept for the test to answer.
 */
#ifndef UNIT_ENGINE_FAKE_CLIENT_H
#define UNIT_ENGINE_FAKE_CLIENT_H

#include "engine/engine.h"
#include "net/client.h"

struct fake {
	struct client client;
	struct instant now;
	struct wallclock wall;
	int runs;    /* programs begun */
	int submits; /* requests sent */
	void *owner; /* of the last of either */

	/* An engine on top, with a kubeconfig and an environment that are empty. */
	struct kube_config kube;
	struct aws_environment environment;
	struct engine_settings settings;
	struct engine *engine;
};

void fake_init(struct fake *fake);
void fake_done(struct fake *fake);

/* Both clocks go on. */
void fake_pass(struct fake *fake, int64_t ms);

/* The last one submitted ends so; the body of a program is what it wrote. */
void fake_answer(struct fake *fake, int status, const char *body);

#endif
