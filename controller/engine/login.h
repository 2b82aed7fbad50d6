/*
 * Logging in to the API server by an exec plugin (kubeconfig: users[].user.exec): it is run when it is due, a minute before what it gave
 * expires, and once after a 401, whoever heard it. Calls wait while there is nothing to go with; what was given last stays in use when the
 * plugin fails. Without exec in the kubeconfig nothing here does anything.
 */
#ifndef ENGINE_LOGIN_H
#define ENGINE_LOGIN_H

#include "base/error.h"
#include "base/instant.h"

struct engine;
struct exchange;

struct login {
	struct exchange *exchange; /* the plugin is running */
	bool refused;              /* the API server has answered 401; until the next run has ended */
	struct instant ran_at;
	struct instant due; /* not before */
	int failures;
};

void login_turn(struct engine *engine);
struct instant login_due(const struct engine *engine, struct instant otherwise);

/* Is there something to go to the API server with? */
bool login_may_go(const struct engine *engine);

/* The API server has answered 401 to a call sent at `sent_at`. */
void login_refused(struct engine *engine, struct instant sent_at);

#endif
