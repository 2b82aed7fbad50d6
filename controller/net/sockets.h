/*
 * The sockets that curl has open: what they are set to, and which of them are dead. Private to net; knows TCP, not
 * curl.
 *
 * Found by their local port, which is what curl tells of the connection that a call goes out on. A connection of HTTP/2
 * outlives the call that it kept waiting, so that a dead one would be given to the next call: sockets_bury ends it.
 */
#ifndef NET_SOCKETS_H
#define NET_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOCKETS_MAX = 1024 };

struct socket_known {
	int fd;
	int local_port; /* 0: not asked yet */
	int user_timeout_ms;
};

struct sockets {
	struct socket_known at[SOCKETS_MAX]; /* what is beyond is not known, and nothing is done to it */
	size_t count;
	bool dropping; /* what is closed now drops what its peer has not acknowledged */
};

/* A new one: keepalive, and how long what is sent may stay without acknowledgement. */
void sockets_add(struct sockets *sockets, int fd);

/* Closes it. */
void sockets_close(struct sockets *sockets, int fd);

/*
 * What is sent on this one from now on is given up by the kernel when it has not been acknowledged for so long, even
 * while we are stopped; at most, and where ms < 0, the usual time.
 */
void sockets_limit(struct sockets *sockets, int local_port, int64_t ms);

/* Breaks the connection if it is dead, as far as a call that has waited so long for an answer on it can know. */
void sockets_bury(struct sockets *sockets, int local_port, int64_t waited_ms);

#endif
