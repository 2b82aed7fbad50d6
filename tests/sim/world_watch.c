/*
 * Running watches: lines of the log as chunks, cut where chance wants it.
 */
#include "world_parts.h"

#include <stdlib.h>
#include <string.h>

#define BOOKMARK_MS 60000

void sim_watch_open(struct world *world, struct sim_call *call, size_t collection)
{
	struct sim_stream *stream = &call->stream;
	stream->open = true;
	stream->collection = collection;
	stream->last_byte = world->now;
	text_init(&stream->pending, SIM_PIECE_MAX_BYTES);
	call->answer = (struct sim_answer){200, "application/json", NULL, ERROR_NONE};
	sim_schedule(world, call->request.idle_ms, THING_IDLE, call, NULL, NULL);
	if (stream->bookmarks)
		sim_schedule(world, BOOKMARK_MS, THING_BOOKMARK, call, NULL, NULL);
	sim_watch_poke(world, collection);
}

static void schedule_delivery(struct world *world, struct sim_call *call, int64_t after_ms)
{
	if (!call->stream.scheduled && !call->stream.frozen && !call->stream.ending) {
		call->stream.scheduled = true;
		sim_schedule(world, after_ms, THING_STREAM, call, NULL, NULL);
	}
}

void sim_watch_poke(struct world *world, size_t collection)
{
	for (struct sim_call *call = world->calls; call != NULL; call = call->next)
		if (call->stream.open && call->stream.collection == collection)
			schedule_delivery(world, call, 1 + sim_chance(world, 6));
}

static void append_event(struct sim_stream *stream, const char *type, const char *object)
{
	text_printf(&stream->pending, "{\"type\":\"%s\",\"object\":%s}\n", type, object);
	if (stream->pending.overflow)
		abort();
}

static void gather(struct world *world, struct sim_call *call)
{
	struct sim_stream *stream = &call->stream;
	if (stream->sent_version < sim_kube_compacted(world)) {
		append_event(stream, "ERROR",
		             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		             "\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}");
		stream->ending = true;
		sim_schedule(world, 20, THING_REPLY, call, NULL, NULL);
		return;
	}
	const char *type;
	const char *text;
	while (sim_kube_log_line(world, stream->collection, &stream->sent_version, &type, &text))
		append_event(stream, type, text);
}

/* A piece of what is pending: seldom where a line ends. */
bool sim_watch_deliver(struct world *world, struct sim_call *call, struct client_event *out)
{
	struct sim_stream *stream = &call->stream;
	stream->scheduled = false;
	if (stream->frozen)
		return false;
	if (!stream->ending)
		gather(world, call);
	size_t left = stream->pending.length - stream->pending_at;
	if (left == 0)
		return false;
	size_t length = sim_chance(world, 3) == 0 ? 1 + sim_chance(world, (uint32_t)left) : left;
	const char *bytes = arena_copy(&world->looks, stream->pending.at + stream->pending_at, length);
	*out = (struct client_event){CLIENT_CHUNK, call->number, call->owner, NULL, bytes, length};
	stream->last_byte = world->now;
	stream->pending_at += length;
	if (stream->pending_at < stream->pending.length) {
		stream->scheduled = true;
		sim_schedule(world, 1, THING_STREAM, call, NULL, NULL);
	} else {
		text_clear(&stream->pending);
		stream->pending_at = 0;
	}
	return true;
}

void sim_watch_bookmark(struct world *world, struct sim_call *call)
{
	struct sim_stream *stream = &call->stream;
	const char *api_version;
	const char *kind = sim_kube_kind(stream->collection, &api_version);
	if (stream->frozen || stream->ending)
		return;
	gather(world, call);
	stream->sent_version = sim_kube_version(world);
	append_event(stream, "BOOKMARK",
	             arena_printf(&world->scratch,
	                          "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\","
	                          "\"creationTimestamp\":null}}",
	                          kind, api_version, (unsigned long long)stream->sent_version));
	schedule_delivery(world, call, 1);
	sim_schedule(world, BOOKMARK_MS, THING_BOOKMARK, call, NULL, NULL);
}

void world_end_watches(struct world *world)
{
	for (struct sim_call *call = world->calls; call != NULL; call = call->next)
		if (call->stream.open && !call->stream.ending)
			sim_schedule(world, 1, THING_STREAM_END, call, NULL, NULL);
}

void world_freeze_watches(struct world *world, bool frozen)
{
	for (struct sim_call *call = world->calls; call != NULL; call = call->next)
		if (call->stream.open) {
			call->stream.frozen = frozen;
			schedule_delivery(world, call, 1);
		}
}
