#include "kube/lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kube/objects.h"

#define LEASE_DURATION_S 15
#define RENEW_DEADLINE_MS 10000
#define RETRY_MS 2000
#define RELUCTANCE_MS 30000
#define JITTER_MS 2400 /* 1.2 times the retry period */
#define CALL_DEADLINE_MS 5000
#define RELEASES_MAX 4

enum { ASKING_NOTHING, ASKING_GET, ASKING_POST, ASKING_PUT, ASKING_RELEASE };

static void put_string(char *to, size_t size, const char *from)
{
	size_t length = from != NULL ? strnlen(from, size - 1) : 0;

	memcpy(to, from != NULL ? from : "", length);
	to[length] = '\0';
}

void lease_init(struct lease *lease, const char *namespace_, const char *name, const char *identity, struct instant now)
{
	assert(*identity != '\0' && strlen(identity) < sizeof lease->observed_holder);
	*lease = (struct lease){
		.namespace_ = namespace_,
		.name = name,
		.identity = identity,
		.due = now,
		.observed_at = now,
		.next = ASKING_GET,
	};
}

void lease_set_reluctant(struct lease *lease, bool reluctant, struct instant now)
{
	if (lease->reluctant && !reluctant && lease->free_since.ms && !lease->leading)
		lease->due = instant_earlier(lease->due, now);
	lease->reluctant = reluctant;
	if (!reluctant)
		lease->taken_reluctantly = false;
}

static bool is_mine(const struct lease *lease)
{
	return strcmp(lease->observed_holder, lease->identity) == 0;
}

static const char *collection_path(const struct lease *lease, struct arena *arena)
{
	return arena_printf(arena, "/apis/coordination.k8s.io/v1/namespaces/%s/leases",
	                    text_percent(arena, lease->namespace_));
}

static const char *lease_path(const struct lease *lease, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", collection_path(lease, arena), text_percent(arena, lease->name));
}

static struct json *lease_object(const struct lease *lease, const char *holder, int64_t duration_s,
                                 struct wallclock wall, struct arena *arena)
{
	struct json *metadata;
	struct json *object =
		kube_new_object(arena, "coordination.k8s.io/v1", "Lease", lease->namespace_, lease->name, &metadata);
	struct json *spec;

	if (lease->resource_version[0] != '\0')
		json_set_string(metadata, "resourceVersion", lease->resource_version);
	spec = json_set_object(object, "spec");
	json_set_string(spec, "holderIdentity", holder);
	json_set_integer(spec, "leaseDurationSeconds", duration_s);
	/* Where somebody has taken it out there is none: an empty one would be refused. */
	json_set_string(spec, "acquireTime",
	                wallclock_micro(lease->acquired_at.us != 0 ? lease->acquired_at : wall, arena));
	json_set_string(spec, "renewTime", wallclock_micro(wall, arena));
	json_set_integer(spec, "leaseTransitions", lease->transitions);
	return object;
}

static void ask_get(struct lease *lease, struct arena *arena, struct http_request *out)
{
	kube_ask_get(arena, "GET leases", lease_path(lease, arena), out);
	lease->asking = ASKING_GET;
}

static void ask_create(struct lease *lease, struct wallclock wall, struct arena *arena, struct http_request *out)
{
	lease->resource_version[0] = '\0';
	lease->acquired_at = wall;
	lease->transitions = 0;
	kube_ask_write(arena, "POST leases", "POST", collection_path(lease, arena),
	               lease_object(lease, lease->identity, LEASE_DURATION_S, wall, arena), out);
	lease->asking = ASKING_POST;
}

static void ask_update(struct lease *lease, struct wallclock wall, struct arena *arena, struct http_request *out)
{
	if (!is_mine(lease)) {
		lease->acquired_at = wall;
		/* what the API server takes: 32 bits, not negative */
		lease->transitions = lease->transitions < INT32_MAX ? lease->transitions + 1 : 0;
	}
	kube_ask_write(arena, "PUT leases", "PUT", lease_path(lease, arena),
	               lease_object(lease, lease->identity, LEASE_DURATION_S, wall, arena), out);
	lease->asking = ASKING_PUT;
}

struct instant lease_until(const struct lease *lease)
{
	return instant_after(lease->renewed_at, RENEW_DEADLINE_MS);
}

bool lease_valid(struct lease *lease, struct instant now)
{
	if (lease->leading && instant_reached(lease_until(lease), now)) {
		lease->leading = false;
		lease->lost = true;
	}
	return lease->leading;
}

bool lease_ask(struct lease *lease, struct instant now, struct wallclock wall, uint32_t random, struct arena *arena,
               struct http_request *out)
{
	(void)random;
	lease_valid(lease, now);
	if (lease->lost || lease->released || lease->releases > 0 || lease->asking != ASKING_NOTHING ||
	    !instant_reached(lease->due, now))
		return false;
	if (lease->next == ASKING_PUT)
		ask_update(lease, wall, arena, out);
	else if (lease->next == ASKING_POST)
		ask_create(lease, wall, arena, out);
	else
		ask_get(lease, arena, out);
	out->deadline_ms = CALL_DEADLINE_MS;
	lease->asked_at = now;
	return true;
}

bool lease_ask_release(struct lease *lease, struct wallclock wall, struct arena *arena, struct http_request *out)
{
	if (!lease->leading || lease->released || lease->asking != ASKING_NOTHING || lease->releases >= RELEASES_MAX)
		return false;
	lease->releases++;
	if (lease->resource_version[0] == '\0') {
		ask_get(lease, arena, out);
	} else {
		lease->acquired_at = wall;
		kube_ask_write(arena, "PUT leases", "PUT", lease_path(lease, arena), lease_object(lease, "", 1, wall, arena),
		               out);
		lease->asking = ASKING_RELEASE;
	}
	out->deadline_ms = CALL_DEADLINE_MS;
	return true;
}

/* The record as bounded text, to see a change. The times stand before the holder, the one part that can be long. */
static const char *record_text(const struct json *spec, struct arena *arena)
{
	const char *holder = json_get_string(spec, "holderIdentity");
	const char *acquired = json_get_string(spec, "acquireTime");
	const char *renewed = json_get_string(spec, "renewTime");

	return arena_printf(arena, "%.64s|%.64s|%lld|%lld|%.512s", renewed != NULL ? renewed : "",
	                    acquired != NULL ? acquired : "",
	                    (long long)json_integer(json_get(spec, "leaseDurationSeconds"), 0),
	                    (long long)json_integer(json_get(spec, "leaseTransitions"), 0), holder != NULL ? holder : "");
}

static int64_t duration_ms(const struct json *spec)
{
	int64_t duration_s = json_integer(json_get(spec, "leaseDurationSeconds"), 0);

	if (duration_s < 0)
		return 0;
	return (duration_s < INT32_MAX ? duration_s : INT32_MAX) * 1000;
}

static void note_record(struct lease *lease, const struct json *spec, struct instant now, struct arena *arena)
{
	const char *text = record_text(spec, arena);

	if (strcmp(text, lease->observed_spec) != 0) {
		put_string(lease->observed_spec, sizeof lease->observed_spec, text);
		lease->observed_at = now;
	}
	put_string(lease->observed_holder, sizeof lease->observed_holder, json_get_string(spec, "holderIdentity"));
	lease->observed_duration_ms = duration_ms(spec);
	lease->transitions = json_integer(json_get(spec, "leaseTransitions"), 0);
	if (is_mine(lease) && !wallclock_parse(json_get_string(spec, "acquireTime"), &lease->acquired_at))
		lease->acquired_at = (struct wallclock){0};
}

/* Take in the object of an answer. False when it is not a Lease. */
static bool note_answer(struct lease *lease, struct instant now, struct arena *arena,
                        const struct http_response *response)
{
	struct error ignored;
	const struct json *object = json_parse(arena, response->body, response->body_length, &ignored);
	const char *version = json_path_string(object, "metadata.resourceVersion");

	if (version == NULL || *version == '\0' || strlen(version) >= sizeof lease->resource_version)
		return false;
	put_string(lease->resource_version, sizeof lease->resource_version, version);
	note_record(lease, json_get(object, "spec"), now, arena);
	return true;
}

static void retry(struct lease *lease, struct instant now, uint32_t random)
{
	lease->next = ASKING_GET;
	lease->resource_version[0] = '\0';
	if (lease->leading) {
		struct instant tick = instant_after(lease->asked_at, RETRY_MS);

		lease->due = instant_reached(tick, now) ? now : tick;
	} else {
		lease->due = instant_after(now, RETRY_MS + (int64_t)((uint64_t)random * JITTER_MS / UINT32_MAX));
	}
}

/* It is nobody's: take it by `next`, at once or, reluctantly, once it has been so for a while. */
static void take(struct lease *lease, struct instant now, uint32_t random, int next)
{
	if (!lease->free_since.ms)
		lease->free_since = now;
	if (lease->reluctant && !lease->leading && instant_between_ms(lease->free_since, now) < RELUCTANCE_MS) {
		retry(lease, now, random);
		return;
	}
	lease->next = next;
	lease->due = now;
}

static void judge(struct lease *lease, struct instant now, uint32_t random)
{
	bool held = lease->observed_holder[0] != '\0' && !is_mine(lease);

	if (lease->leading && !is_mine(lease)) {
		lease->leading = false;
		lease->lost = true;
	} else if (held && instant_between_ms(lease->observed_at, now) < lease->observed_duration_ms) {
		lease->free_since = (struct instant){0};
		retry(lease, now, random);
	} else if (is_mine(lease)) {
		lease->next = ASKING_PUT;
		lease->due = now;
	} else {
		take(lease, now, random, ASKING_PUT);
	}
}

static void hear_get(struct lease *lease, struct instant now, uint32_t random, struct arena *arena,
                     const struct http_response *response, const struct error *error)
{
	if (error != NULL && error->kind == ERROR_ABSENT) {
		take(lease, now, random, ASKING_POST);
		lease->released = lease->releases > 0;
	} else if (error != NULL || !note_answer(lease, now, arena, response)) {
		retry(lease, now, random);
	} else {
		judge(lease, now, random);
	}
}

static void hear_write(struct lease *lease, struct instant now, uint32_t random, struct arena *arena,
                       const struct http_response *response, const struct error *error)
{
	if (error == NULL && note_answer(lease, now, arena, response) && is_mine(lease)) {
		if (!lease->leading)
			lease->taken_reluctantly = lease->reluctant;
		lease->leading = true;
		lease->free_since = (struct instant){0};
		lease->renewed_at = lease->asked_at;
		lease->next = ASKING_PUT;
		lease->due = instant_after(lease->asked_at, RETRY_MS);
		return;
	}
	retry(lease, now, random);
	/* Somebody else wrote: what there is now is worth a look at once, for us alone as leader. */
	if (error != NULL && error->kind == ERROR_CONFLICT && lease->leading)
		lease->due = now;
}

static void hear_release(struct lease *lease, const struct error *error)
{
	if (error == NULL || error->kind == ERROR_ABSENT) {
		lease->released = true;
		lease->leading = false;
	} else {
		lease->resource_version[0] = '\0';
	}
}

void lease_hear(struct lease *lease, struct instant now, uint32_t random, struct arena *arena,
                const struct http_response *response, const struct error *error)
{
	int asked = lease->asking;

	assert(asked != ASKING_NOTHING);
	lease->asking = ASKING_NOTHING;
	/* Whoever found it lost has begun to end: no answer makes that undone. */
	if (lease->lost)
		return;
	if (asked == ASKING_GET)
		hear_get(lease, now, random, arena, response, error);
	else if (asked == ASKING_RELEASE)
		hear_release(lease, error);
	else
		hear_write(lease, now, random, arena, response, error);
	lease_valid(lease, now);
}
