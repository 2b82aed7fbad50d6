/*
 * One of curl's multis on an epoll: a pool of connections and the calls that run on it. Private to net.
 */
#ifndef NET_HUB_H
#define NET_HUB_H

#include "call.h"

struct hub {
	CURLM *multi;
	int epoll;
	uint32_t index; /* its events carry this, and below it the descriptor */
	bool armed;
	struct instant due; /* of curl's timers, while armed */
	void (*finished)(struct call *call, CURLcode code);
};

/* `finished` is called from hub_tick only. False: hub_done is due all the same. */
bool hub_init(struct hub *hub, uint32_t index, int epoll, long max_pooled,
              void (*finished)(struct call *call, CURLcode code));

/* No calls on it any more. A zeroed one is fine. */
void hub_done(struct hub *hub);

bool hub_add(struct hub *hub, struct call *call);
void hub_remove(struct hub *hub, struct call *call);

/* Of epoll, for one of its descriptors. */
void hub_take_event(struct hub *hub, int fd, uint32_t events);

/* Curl's timers, if they are due, and the calls that have ended. */
void hub_tick(struct hub *hub);

#endif
