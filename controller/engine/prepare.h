/*
 * Making a request ready to go: what the journal's calls look like on the wire, whom it goes to, who we are there, through which proxy, and until
 * when it may be put on the wire.
 */
#ifndef ENGINE_PREPARE_H
#define ENGINE_PREPARE_H

#include <stdbool.h>

struct engine;
struct exchange;

/* JOURNAL: the call as a request. */
void prepare_journal(struct engine *engine, struct exchange *exchange);

/* URL, credentials, trust, proxy, deadlines. Again for each attempt: signatures and tokens age. */
void prepare_request(struct engine *engine, struct exchange *exchange);

/* Read the kubeconfig's files again that are due (token, certificates), or all of them; a failure is told once a minute. */
void prepare_read_files(struct engine *engine, bool force);

#endif
