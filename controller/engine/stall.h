/*
 * The sentence of a condition Stalled: what is wrong and the way out.
 */
#ifndef ENGINE_STALL_H
#define ENGINE_STALL_H

#include "base/error.h"
#include "phase.h"

void stall_set(struct stall *stall, const char *reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* From an error of AWS or the journal: the reason by its kind ("AccessDenied", "<subject>Unreachable" …), its sentence, what to do. */
void stall_from_error(struct stall *stall, const char *subject, const struct error *error);

#endif
