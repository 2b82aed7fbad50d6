/*
 * A listening socket from an address as a person writes it: "127.0.0.1:8080", ":8080", "[::1]:8080". Numbers only, no
 * names. Private to web.
 */
#ifndef WEB_LISTEN_H
#define WEB_LISTEN_H

#include "base/error.h"

/* Returns the socket (non-blocking) or -1. ERROR_INPUT for a bad address, ERROR_REJECTED when it cannot be bound. */
int listen_open(const char *address, int *out_port, struct error *error);

#endif
