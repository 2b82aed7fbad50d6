/*
 * What an error of a call means for the call itself, for others like it, and for who we are: once more or told, and when; the holds of Retry-After, the
 * retry quota, the limiter, credentials and clock. What is decided is requeue.h's; here it is carried out.
 */
#ifndef ENGINE_REPEAT_H
#define ENGINE_REPEAT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/instant.h"

struct engine;
struct exchange;

/* True: it has been queued again. False: its error is to be told. */
bool repeat_call(struct engine *engine, struct exchange *exchange, const struct error *error);

/* It was answered well. */
void repeat_succeeded(struct engine *engine, const struct exchange *exchange);

/* Must it wait because of what another call was told? Then its due time is set. */
bool repeat_is_held(const struct engine *engine, struct exchange *exchange, struct instant now);

#endif
