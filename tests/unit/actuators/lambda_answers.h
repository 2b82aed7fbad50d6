/*
 * The function web of the small account, and what its actuator learns from an answer.
 */
#ifndef TESTS_UNIT_ACTUATORS_LAMBDA_ANSWERS_H
#define TESTS_UNIT_ACTUATORS_LAMBDA_ANSWERS_H

#include "account.h"

#define WEB "arn:aws:lambda:us-east-1:123456789012:function:web"
#define WEB_PATH "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Aweb"

static const struct actuator *const function = &lambda_function;

/* What the last learned answer gave. */
static struct resources found;
static struct probes further;

static inline bool learn(const struct probe *probe, struct http_response response)
{
	found = (struct resources){0};
	further = (struct probes){0};
	return function->learn(&scope, probe, &response, &arena, &found, &further, &error);
}

static inline void learn_file(const struct probe *probe, const char *file)
{
	cr_assert(learn(probe, data_response(&arena, 200, file)), "%s", error.message);
}

#endif
