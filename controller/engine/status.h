/*
 * What a person sees: the status, and events. Written only when it differs from what is there.
 */
#ifndef ENGINE_STATUS_H
#define ENGINE_STATUS_H

#include "evacuation.h"

/* Most changes that a status lists, and the size it may have; failed, refused and waiting ones come first. */
#define STATUS_CHANGES_MAX 1000
#define STATUS_BYTES_MAX (256u << 10)

/* Write the status if it is due, tell transitions by events. */
void status_turn(struct evacuation *evacuation);

/* The whole .status, in `arena`. */
struct json *status_build(const struct evacuation *evacuation, struct arena *arena);

/* A condition of a status by its type, or NULL. */
const struct json *status_condition(const struct json *status, const char *type);

#endif
