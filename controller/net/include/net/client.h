/*
 * The one seam to the outside world: clocks, chance and HTTP. The real one is curl_client.h; the tests' one runs on a
 * virtual clock (tests/sim).
 *
 * Rules, the same for each world:
 * - All of it is called from one thread, but for wake, which any thread and a signal handler may call.
 * - submit never answers within itself: what happens to a call is told by wait, later, exactly once (CLIENT_FINISHED),
 *   with any number of CLIENT_CHUNK before it for a stream. The request's memory must live until then.
 * - cancel makes sure that nothing more is told of the call. An effect may still have landed.
 * - wait returns one happening. To wait with nothing in flight and nothing due (`until` more than an hour away) is a
 *   bug and asserted.
 * - The bytes of a chunk are good until the next wait; the response lives in the arena given to submit.
 * - The arena must have room for the body, 64 KiB of headers, and as much again for what is sent of them.
 * - A body over max_response_bytes, cut short or of another length than declared ends the call with response->error
 *   set.
 * - A program (program.h) is a call too: run starts it, wait tells its end, cancel ends it and all that it started.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "base/instant.h"
#include "net/http.h"
#include "net/program.h"

enum client_happening {
	CLIENT_FINISHED, /* call, owner, response */
	CLIENT_CHUNK,    /* call, owner, bytes, length: a piece of a stream's body (status 200 only) */
	CLIENT_WOKEN,    /* somebody called wake */
	CLIENT_DUE,      /* `until` has come */
};

struct client_event {
	enum client_happening what;
	uint64_t call;
	void *owner;
	const struct http_response *response;
	const char *bytes;
	size_t length;
};

struct client {
	struct instant (*now)(struct client *client);
	struct wallclock (*wall)(struct client *client);
	uint32_t (*random)(struct client *client);

	/* Returns the call's number, never 0. `request->url` must be set. */
	uint64_t (*submit)(struct client *client, struct arena *arena, const struct http_request *request, void *owner);
	/* Starts a program; the same rules as for submit. Its answer: program.h. */
	uint64_t (*run)(struct client *client, struct arena *arena, const struct program *program, void *owner);
	void (*cancel)(struct client *client, uint64_t call);
	void (*wait)(struct client *client, struct instant until, struct client_event *out);
	void (*wake)(struct client *client);
};

#endif
