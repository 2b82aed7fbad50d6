/*
 * Leader election by the client-go rules, as a pure state machine over one Lease object.
 *
 * Validity is judged only by the local time since the record was last seen to change, and by the record's own duration; a remote
 * renewTime is never compared with our clock. Lease 15 s, renew deadline 10 s, retry every 2 s (acquiring: 2 s to 4.4 s).
 * Times in the object are MicroTime with six digits.
 *
 *   GET ─► (absent) POST ─► leader ─► PUT every 2 s ⟲         any failed attempt: again at the next tick
 *    │        └─ held by another: wait ─► expired: PUT ─► leader  10 s without a renewal: lost, for good in this process
 *
 * A reluctant candidate (it sits in the zone that is being evacuated) takes only what it has seen free for 30 s, so that a better one is
 * first and yet somebody always leads.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "base/json.h"
#include "net/http.h"

struct lease {
	const char *namespace_;
	const char *name;
	const char *identity; /* hostname_uuid */

	bool leading;
	bool lost; /* led once and no longer: the process must end */
	bool released;
	bool reluctant;            /* see lease_set_reluctant */
	bool taken_reluctantly;    /* we lead because nobody better did; until we are reluctant no more */
	struct instant free_since; /* when it was first seen to be nobody's; 0 = it is somebody's */
	struct instant renewed_at; /* when the request of the last successful renewal was sent */
	struct wallclock acquired_at;
	int64_t transitions;
	struct instant due;
	struct instant observed_at; /* when the record was last seen to change */
	int64_t observed_duration_ms;
	char observed_holder[256];
	char observed_spec[1024]; /* to see a change */
	char resource_version[64];
	int asking;   /* which request is in flight: 0 = none */
	int next;     /* which one comes next */
	int releases; /* how often giving it up was tried */
	struct instant asked_at;
};

void lease_init(struct lease *lease, const char *namespace_, const char *name, const char *identity,
                struct instant now);

/* Whether somebody else should rather lead; when that ends, what is free is taken at once. It takes no lease away. */
void lease_set_reluctant(struct lease *lease, bool reluctant, struct instant now);

/* What to ask now (deadline 5 s); false while a call is in flight or before its time. */
bool lease_ask(struct lease *lease, struct instant now, struct wallclock wall, uint32_t random, struct arena *arena,
               struct http_request *out);

/* The answer: `error` NULL for a 2xx. */
void lease_hear(struct lease *lease, struct instant now, uint32_t random, struct arena *arena,
                const struct http_response *response, const struct error *error);

/* Until when (not included) an effect may be put on the wire, judged by what has been renewed so far. */
struct instant lease_until(const struct lease *lease);

/* May an effect be sent now? Leading, and renewed less than the renew deadline ago. Marks the lease lost when that time has passed. */
bool lease_valid(struct lease *lease, struct instant now);

/*
 * The next request towards giving it up (holderIdentity ""), when we lead and nothing of ours is in flight; false when there is nothing
 * (more) to do. One, as a rule; where the object must be read anew first, and after a failure, up to four: ask, hear, ask until it says
 * false. Nothing is renewed once this was asked.
 */
bool lease_ask_release(struct lease *lease, struct wallclock wall, struct arena *arena, struct http_request *out);

#endif
