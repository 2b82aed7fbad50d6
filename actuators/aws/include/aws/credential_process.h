/*
 * credential_process: the command line of a profile, and what the program says. Running it is not done here.
 *
 *   credential_process = /opt/bin/fetch --role "my role"        ─► "/opt/bin/fetch", "--role", "my role"
 *   {"Version": 1, "AccessKeyId": …, "SecretAccessKey": …, "SessionToken": …, "Expiration": "2030-01-01T00:00:00Z"}
 *
 * Everything returned belongs to the arena. The program's output holds secrets: no message repeats any of it.
 * Source: AWS SDKs and Tools Reference Guide, "Process credential provider".
 */
#ifndef AWS_CREDENTIAL_PROCESS_H
#define AWS_CREDENTIAL_PROCESS_H

#include <stddef.h>

#include "aws/credentials.h"

#define CREDENTIAL_PROCESS_MAX_BYTES 4096

/*
 * Splits as a POSIX shell splits words: blanks separate, quotes ("…", '…') and backslashes protect, nothing is
 * expanded and no shell is run. *argv ends with NULL and has at least one word. ERROR_INPUT: an open quote, a
 * trailing backslash, no word at all, a line longer than CREDENTIAL_PROCESS_MAX_BYTES.
 */
bool credential_process_split(struct arena *arena, const char *line, const char *const **argv, struct error *error);

/*
 * What the program wrote to its standard output. `body` need not end with a zero byte. `source` of `out` is left
 * NULL; without Expiration expires_at is 0. ERROR_INPUT: no JSON object, a Version other than 1, a key that is
 * missing or is no word, an Expiration that is no time. `out` is unchanged then.
 */
bool credential_process_hear(struct arena *arena, const char *body, size_t length, struct aws_credentials *out,
                             struct error *error);

#endif
