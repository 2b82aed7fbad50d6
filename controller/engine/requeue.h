/*
 * The one place that decides about repeating a call. Pure.
 *
 * What was only asked may be asked again; an effect that met silence may have landed, so it is told to its step, which looks before it
 * writes again. Backoff as in the SDKs' standard mode: chance times min(20 s, base * 2^n), base 1 s for throttling and 0.25 s otherwise; a
 * Retry-After is obeyed up to a minute.
 */
#ifndef ENGINE_REQUEUE_H
#define ENGINE_REQUEUE_H

#include "base/error.h"

struct requeue_case {
	bool effect;  /* silence is told, not repeated */
	bool once;    /* never repeated */
	int attempts; /* calls sent so far, this one included */
	uint32_t random;
};

enum requeue_what { REQUEUE_TELL, REQUEUE_AGAIN };

struct requeue {
	enum requeue_what what;
	int64_t delay_ms;
	bool refresh_credentials; /* before it is sent again */
	bool throttled;           /* the limiter should know */
};

/* How often a call is sent at the most before its error is told. */
#define REQUEUE_ATTEMPTS_MAX 5
/* Throttling and "busy" pass by themselves: more patience. */
#define REQUEUE_PATIENT_MAX 12

struct requeue requeue_decide(const struct requeue_case *call, const struct error *error);

/* The same backoff for whoever starts over after a failure: failures counts from 1. */
int64_t requeue_backoff_ms(int failures, int64_t base_ms, int64_t max_ms, uint32_t random);

#endif
