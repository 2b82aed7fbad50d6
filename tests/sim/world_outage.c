/*
 * Services that are out of order for a while, how often they are asked meanwhile, and whether Retry-After is obeyed.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTAGES_MAX 8
#define SECONDS_MAX 3600
#define SAID_MAX 512

struct outage {
	char service[24];
	struct instant from;
	struct instant until;
	enum world_fault fault;
	unsigned calls[SECONDS_MAX]; /* in each second */
};

/* A call that was told when to come again. */
struct said {
	uint64_t what;
	struct instant not_before;
};

struct sim_outages {
	struct outage at[OUTAGES_MAX];
	size_t count;
	int64_t retry_after_s;
	struct said said[SAID_MAX];
	size_t said_next;
	unsigned hasty;
};

struct sim_outages *sim_outages_new(void)
{
	struct sim_outages *outages = calloc(1, sizeof(*outages));
	if (outages == NULL)
		abort();
	return outages;
}

void sim_outages_free(struct sim_outages *outages)
{
	free(outages);
}

/* FNV-1a. */
static uint64_t digest(uint64_t from, const char *string)
{
	for (; *string != '\0'; string++)
		from = (from ^ (unsigned char)*string) * 0x100000001b3ULL;
	return (from ^ 0xff) * 0x100000001b3ULL;
}

static uint64_t call_digest(const struct sim_request *request)
{
	uint64_t sum = digest(0xcbf29ce484222325ULL, request->method);
	sum = digest(sum, request->host);
	sum = digest(sum, request->path);
	sum = digest(sum, request->query);
	return digest(sum, request->body);
}

static bool has_own_pace(const struct sim_request *request)
{
	return strstr(request->operation, " leases") != NULL;
}

static void count_haste(struct world *world, const struct sim_request *request)
{
	struct sim_outages *outages = world->outages;
	if (outages->retry_after_s == 0 || has_own_pace(request))
		return;
	uint64_t what = call_digest(request);
	for (size_t i = 0; i < SAID_MAX; i++)
		if (outages->said[i].what == what && !instant_reached(outages->said[i].not_before, world->now)) {
			outages->hasty++;
			sim_note(world, "%s comes again %lld ms too early", request->operation,
			         (long long)instant_between_ms(world->now, outages->said[i].not_before));
			return;
		}
}

enum world_fault sim_outage_of(struct world *world, const struct sim_request *request)
{
	struct sim_outages *outages = world->outages;
	enum world_fault fault = WORLD_NO_FAULT;
	count_haste(world, request);
	for (size_t i = 0; i < outages->count; i++) {
		struct outage *outage = &outages->at[i];
		if (strcmp(outage->service, request->service) != 0)
			continue;
		int64_t second = instant_between_ms(outage->from, world->now) / 1000;
		if (second < SECONDS_MAX)
			outage->calls[second]++;
		if (!instant_reached(outage->until, world->now))
			fault = outage->fault;
	}
	return fault;
}

void sim_outage_said(struct world *world, const struct sim_request *request, int64_t after_s)
{
	struct sim_outages *outages = world->outages;
	if (outages->retry_after_s == 0 || after_s == 0)
		return;
	struct said *said = &outages->said[outages->said_next++ % SAID_MAX];
	*said = (struct said){call_digest(request), instant_after(world->now, after_s * 1000)};
}

int64_t sim_retry_after_s(const struct world *world, const struct sim_call *call)
{
	int status = call->answer.status;
	int64_t set_s = world->outages->retry_after_s;
	if (call->no_retry_after)
		return 0;
	if (set_s > 0 && (status == 429 || status == 500 || status == 503))
		return set_s;
	return status == 429 ? 1 : 0;
}

void world_set_retry_after(struct world *world, int64_t seconds)
{
	world->outages->retry_after_s = seconds;
}

unsigned world_hasty_calls(const struct world *world)
{
	return world->outages->hasty;
}

void world_service_outage(struct world *world, const char *service, int64_t ms, enum world_fault fault)
{
	struct sim_outages *outages = world->outages;
	if (outages->count == OUTAGES_MAX)
		sim_broken(world, "more than %d outages", OUTAGES_MAX);
	struct outage *outage = &outages->at[outages->count++];
	(void)snprintf(outage->service, sizeof(outage->service), "%s", service);
	outage->from = world->now;
	outage->until = instant_after(world->now, ms);
	outage->fault = fault;
	sim_note(world, "%s is out of order for %lld ms: %s", service, (long long)ms, world_fault_name(fault));
	if (strcmp(service, "kubernetes") != 0)
		return;
	if (fault == WORLD_SILENCE)
		world_freeze_watches(world, true);
	else
		world_end_watches(world);
}

unsigned world_outage_calls(const struct world *world, int64_t from_s, int64_t to_s)
{
	const struct sim_outages *outages = world->outages;
	unsigned sum = 0;
	if (outages->count == 0)
		return 0;
	for (int64_t second = from_s; second < to_s && second < SECONDS_MAX; second++)
		sum += outages->at[outages->count - 1].calls[second];
	return sum;
}

void world_calm(struct world *world)
{
	for (size_t i = 0; i < world->outages->count; i++)
		world->outages->at[i].until = instant_earlier(world->outages->at[i].until, world->now);
	world->kube_back = world->aws_back = world->now;
	world->fault_count = 0;
	world->kill_at = 0;
	world->connect_ms = 0;
	world->dates.left = 0;
	for (size_t i = 0; i < world->subnet_count; i++)
		world->subnets[i].hidden = 0;
	for (size_t i = 0; i < world->group_count; i++)
		world->groups[i]->hidden = 0;
	world_freeze_watches(world, false);
	sim_note(world, "all is calm");
}
