/*
 * The SDKs' retry quota: repeats are paid for from a bucket, so that a service that is down is not asked three times as often as one that is well.
 * One bucket a service and region, and one for the API server. Pure. First attempts are never held back by it.
 *
 * Source: the SDKs' standard mode: 500 tokens, 5 for a repeat, 10 after silence; a success gives back what its last repeat took, or 1.
 */
#ifndef ENGINE_RETRY_QUOTA_H
#define ENGINE_RETRY_QUOTA_H

#include <stdbool.h>

#include "base/error.h"

struct retry_quota {
	int spent; /* of the whole bucket: so that all zero is a full one */
};

/* Pay for a repeat after `error`. False: the bucket does not have it; nothing is taken. *taken what it cost. */
bool retry_quota_take(struct retry_quota *quota, const struct error *error, int *taken);

/* A call has succeeded; `taken`: what its last repeat cost, 0 = it had none. */
void retry_quota_return(struct retry_quota *quota, int taken);

#endif
