#include "hub.h"

#include <sys/epoll.h>

static int on_interest(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct hub *hub = user;
	struct epoll_event event = {.data.u64 = (uint64_t)hub->index << 32 | (uint32_t)fd};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(hub->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what != CURL_POLL_OUT)
		event.events |= EPOLLIN;
	if (what != CURL_POLL_IN)
		event.events |= EPOLLOUT;
	if (known == NULL)
		curl_multi_assign(hub->multi, fd, hub);
	/* a number that was closed and opened again may be known to one side only: then the other way */
	if (epoll_ctl(hub->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	return epoll_ctl(hub->epoll, known == NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
	struct hub *hub = user;

	(void)multi;
	hub->armed = timeout_ms >= 0;
	hub->due = instant_after(call_boottime(), timeout_ms);
	return 0;
}

bool hub_init(struct hub *hub, uint32_t index, int epoll, long max_pooled,
              void (*finished)(struct call *call, CURLcode code))
{
	*hub = (struct hub){.multi = curl_multi_init(), .epoll = epoll, .index = index, .finished = finished};
	return hub->multi != NULL && curl_multi_setopt(hub->multi, CURLMOPT_SOCKETFUNCTION, on_interest) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_SOCKETDATA, hub) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_TIMERDATA, hub) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX) == CURLM_OK &&
	       curl_multi_setopt(hub->multi, CURLMOPT_MAXCONNECTS, max_pooled) == CURLM_OK;
}

void hub_done(struct hub *hub)
{
	curl_multi_cleanup(hub->multi);
	hub->multi = NULL;
}

bool hub_add(struct hub *hub, struct call *call)
{
	return curl_multi_add_handle(hub->multi, call->easy) == CURLM_OK;
}

void hub_remove(struct hub *hub, struct call *call)
{
	curl_multi_remove_handle(hub->multi, call->easy);
}

static int curl_mask(uint32_t events)
{
	int mask = 0;

	/* an error alone would be reported without its reason; reading and writing find it out */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		mask |= CURL_CSELECT_IN;
	if (events & (EPOLLOUT | EPOLLERR))
		mask |= CURL_CSELECT_OUT;
	return mask;
}

void hub_take_event(struct hub *hub, int fd, uint32_t events)
{
	int running;

	curl_multi_socket_action(hub->multi, fd, curl_mask(events), &running);
}

static void collect(struct hub *hub)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(hub->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		char *call = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		hub->finished((struct call *)(void *)call, code);
	}
}

void hub_tick(struct hub *hub)
{
	int running;

	if (hub->armed && instant_reached(hub->due, call_boottime())) {
		hub->armed = false;
		curl_multi_socket_action(hub->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	collect(hub);
}
