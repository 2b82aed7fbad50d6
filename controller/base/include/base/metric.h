/*
 * Counters, gauges and histograms in Prometheus text form (exposition format 0.0.4).
 *
 * The families are one table (metric.c): name, type, labels, help. Values belong to the engine thread; `metric_print`
 * makes the text that the engine publishes in its snapshot, so the web thread never touches a metric.
 * Too few or too many label values, or observing what is no histogram, is a bug and ends the process.
 * Bounds: at most 4,096 series of a family; a further one is counted in the series "other".
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include "base/text.h"

enum metric_family {
	METRIC_BUILD_INFO,         /* version */
	METRIC_LEADER,             /* - */
	METRIC_EVACUATION_PHASE,   /* evacuation, zone, phase */
	METRIC_CHANGES,            /* evacuation, kind, state */
	METRIC_REQUESTS_TOTAL,     /* service, operation, code */
	METRIC_REQUEST_DURATION,   /* service, operation; histogram, seconds */
	METRIC_THROTTLED_TOTAL,    /* service, operation */
	METRIC_CREDENTIALS_EXPIRY, /* seconds until; absent when they do not expire */
	METRIC_ORPHANS,            /* open records of this owner without an object */
	METRIC_FAMILIES
};

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Label values in the family's order, ended by NULL. */
void metric_add(struct metrics *metrics, enum metric_family family, double amount, ...) __attribute__((sentinel));
void metric_set(struct metrics *metrics, enum metric_family family, double value, ...) __attribute__((sentinel));
void metric_observe(struct metrics *metrics, enum metric_family family, double seconds, ...) __attribute__((sentinel));
/* Forget all series of a family (gauges that are set anew at each publication). */
void metric_clear(struct metrics *metrics, enum metric_family family);

void metric_print(const struct metrics *metrics, struct text *out);

#endif
