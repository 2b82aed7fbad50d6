/*
 * One region as the engine meets it: endpoints, limiters, the journal's table, the account.
 */
#ifndef ENGINE_PLACE_H
#define ENGINE_PLACE_H

#include "actuators/actuator.h"
#include "aws/region.h"
#include "aws/service.h"
#include "net/limiter.h"
#include "process.h"
#include "retry_quota.h"

#define PLACE_SERVICES_MAX 16

struct place_limiter {
	const char *call_class;
	struct limiter limiter;
};

struct place {
	struct place *next;
	struct engine *engine;
	const char *region;
	const struct aws_service *services[PLACE_SERVICES_MAX];
	struct aws_endpoint endpoints[PLACE_SERVICES_MAX];
	struct retry_quota quotas[PLACE_SERVICES_MAX];
	size_t service_count;
	struct error endpoint_error; /* kind ERROR_NONE = the settings are fine */
	struct place_limiter limiters[PLACE_SERVICES_MAX * 2];
	size_t limiter_count;

	struct wallclock ghosts_until; /* a record that was put and met silence may yet appear until then; 0 = none can */

	/* The table. Once ready it stays so until a call says that it is missing. */
	bool table_ready;
	bool table_needed; /* something is to be written into it: a missing one may be made. Plans only read */
	struct instant table_unready_since; /* it is there, and not usable yet; 0 = it is not so */
	struct process table_process;
	struct error table_error; /* why it is not ready; kind ERROR_NONE while it is being found out */
	struct instant table_due;
	int table_failures;
};

/* The place of a region, made at first use. NULL and *error when an endpoint setting is wrong. */
struct place *place_of(struct engine *engine, const char *region, struct error *error);

void place_done(struct place *place);

/* NULL when the service is none of AWS's. */
const struct aws_endpoint *place_endpoint(const struct place *place, const struct aws_service *service);

/* What repeats of calls to a service of AWS's are paid from. */
struct retry_quota *place_quota(struct place *place, const char *service);

/* The bucket of a call; NULL when it has none. */
struct limiter *place_limiter(struct place *place, const char *service, const char *operation, struct instant now);

/* How many updates of a kind its service's quota lets go within a second, a fifth left to looks; at least one. */
size_t place_changes_a_second(const struct actuator *actuator);

/* See to the table: describe it; make it if that is asked for and something `needs` it. True when it is ready. */
bool place_table(struct place *place, bool needs);

/* Is it known whether there is a table to be read? */
bool place_table_known(const struct place *place);

/* Is something of the region out? Then a missing table is one that was lost: a person decides whether an empty one takes its place. */
bool place_is_held(const struct place *place);

/* A call said that the table is not there. */
void place_table_lost(struct place *place, const struct error *error);

#endif
