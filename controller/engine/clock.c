#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "aws/protocol.h"
#include "state.h"

/* Less is a clock that is being disciplined. */
#define JUMP_US (60 * INT64_C(1000000))
#define TOLERANCE_US (300 * INT64_C(1000000))

void clock_note(struct engine *engine, const struct http_response *response, bool accepted)
{
	struct wallclock server;
	int64_t off_us;
	char seconds[32];

	if (!aws_server_time(response, &server))
		return;
	engine->clock_known = true;
	off_us = server.us - engine_wall(engine).us;
	if (accepted || llabs(off_us) < TOLERANCE_US)
		return;
	engine->clock_offset_us += off_us;
	engine->clock_set_at = engine_now(engine);
	snprintf(seconds, sizeof(seconds), "%+lld", (long long)(engine->clock_offset_us / 1000000));
	log_event(LOG_WARN, "this machine's clock differs from AWS's, whose time is used from now on", "added_s", seconds,
	          NULL);
}

void clock_watch(struct engine *engine)
{
	struct instant now = engine_now(engine);
	struct wallclock wall = engine->client->wall(engine->client);
	int64_t jump_us = wall.us - engine->clock_seen.us - instant_between_ms(engine->clock_seen_at, now) * 1000;

	if (engine->clock_known && llabs(jump_us) >= JUMP_US)
		engine->clock_offset_us -= jump_us;
	engine->clock_seen_at = now;
	engine->clock_seen = wall;
}

bool clock_set_since(const struct engine *engine, struct instant then)
{
	return engine->clock_set_at.ms != 0 && engine->clock_set_at.ms >= then.ms;
}
