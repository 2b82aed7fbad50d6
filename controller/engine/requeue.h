/*
 * The one place that decides about repeating a call. Pure.
 *
 * What was only asked may be asked again; an effect that met silence may have landed, so it is told to its step, which
 * looks before it writes again. What is refused because of the credentials is asked once more, with fresh ones, however
 * often it was asked before. Backoff as in the SDKs' standard mode, but for half of it being certain: min(20 s,
 * base * 2^n), base 1 s for throttling, 2 s for what is busy and 0.25 s otherwise; a Retry-After is obeyed up to a
 * minute.
 */
#ifndef ENGINE_REQUEUE_H
#define ENGINE_REQUEUE_H

#include "base/error.h"

struct requeue_case {
	bool effect;      /* silence is told, not repeated */
	bool once;        /* never repeated */
	bool renewed;     /* has been repeated with fresh credentials */
	int attempts;     /* calls sent so far, this one included */
	int attempts_max; /* what a person allows (AWS_MAX_ATTEMPTS); 0 = what is good */
	uint32_t random;
};

enum requeue_what { REQUEUE_TELL, REQUEUE_AGAIN };

struct requeue {
	enum requeue_what what;
	int64_t delay_ms;
	bool throttled; /* the limiter should know */
	bool costs;     /* the repeat is paid for (retry_quota.h): the service is in trouble */
};

/* How often a call is sent at the most before its error is told. */
#define REQUEUE_ATTEMPTS_MAX 5
/* Throttling and "busy" pass by themselves: more patience. */
#define REQUEUE_PATIENT_MAX 12

struct requeue requeue_decide(const struct requeue_case *call, const struct error *error);

/* The same backoff for whoever starts over after a failure: failures counts from 1. */
int64_t requeue_backoff_ms(int failures, int64_t base_ms, int64_t max_ms, uint32_t random);

#endif
