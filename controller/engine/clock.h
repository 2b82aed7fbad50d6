/*
 * AWS's time. Signatures are refused when our clock is more than five minutes off, so the Date of each answer of AWS's is compared with it, and from
 * five minutes on the difference is kept: engine_wall is then AWS's time, for signatures, the journal and whatever else is written down.
 * Measuring (instants) is not touched.
 *
 * Source: the SDKs' practice (reference implementations correct from 300 s on, and repeat the refused call once).
 */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <stdbool.h>

#include "base/instant.h"
#include "net/http.h"

struct engine;

/*
 * Compare, and correct if need be. Only what is really AWS's answer counts. `accepted`: it took what was signed by our clock, which is right
 * then, whatever Date something on the way has put in.
 */
void clock_note(struct engine *engine, const struct http_response *response, bool accepted);

/* After each wait: a clock that AWS agreed with, or that was corrected, and that has jumped since goes on from where it was. */
void clock_watch(struct engine *engine);

/* Has it been corrected since then? */
bool clock_set_since(const struct engine *engine, struct instant then);

#endif
