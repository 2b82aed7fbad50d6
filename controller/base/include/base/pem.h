/*
 * What can be said of a PEM file without a cryptographic library: enough that a broken one never takes the place of a good one.
 */
#ifndef BASE_PEM_H
#define BASE_PEM_H

#include <stdbool.h>

#include "base/error.h"

/*
 * At least one block, each with its end, certificates base64 of what begins as DER does, no key with a passphrase; explanations may stand around the
 * blocks. ERROR_INPUT: "<what> holds …"; never the content.
 */
bool pem_check(const char *bytes, const char *what, struct error *error);

/* Is one of the blocks a certificate? */
bool pem_has_certificate(const char *bytes);

#endif
