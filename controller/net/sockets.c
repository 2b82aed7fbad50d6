#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { USER_TIMEOUT_MS = 45 * 1000, DEAD_SILENCE_MS = 10 * 1000, KEEPALIVE_PROBES = 3, NO_PORT = -1 };

static void set_user_timeout(struct socket_known *known, int ms)
{
	unsigned int value = (unsigned int)ms;

	if (known->user_timeout_ms == ms)
		return;
	setsockopt(known->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
	known->user_timeout_ms = ms;
}

void sockets_add(struct sockets *sockets, int fd)
{
	struct socket_known known = {.fd = fd};
	int probes = KEEPALIVE_PROBES;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	set_user_timeout(&known, USER_TIMEOUT_MS);
	if (sockets->count < SOCKETS_MAX)
		sockets->at[sockets->count++] = known;
}

void sockets_close(struct sockets *sockets, int fd)
{
	struct linger at_once = {.l_onoff = 1};

	for (size_t i = 0; i < sockets->count; i++) {
		if (sockets->at[i].fd == fd) {
			sockets->at[i] = sockets->at[--sockets->count];
			break;
		}
	}
	if (sockets->dropping)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(fd);
}

static int local_port_of(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof address;

	if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		return 0;
	if (address.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
	return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port) : 0;
}

static struct socket_known *find(struct sockets *sockets, int local_port)
{
	for (size_t i = 0; i < sockets->count; i++) {
		struct socket_known *known = &sockets->at[i];

		if (known->local_port == 0)
			known->local_port = local_port_of(known->fd);
		if (local_port != 0 && known->local_port == local_port)
			return known;
	}
	return NULL;
}

static struct tcp_info info_of(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof info;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
		return (struct tcp_info){0};
	return info;
}

void sockets_limit(struct sockets *sockets, int local_port, int64_t ms)
{
	struct socket_known *known = find(sockets, local_port);
	int limit = ms < 0 || ms > USER_TIMEOUT_MS ? USER_TIMEOUT_MS : ms == 0 ? 1 : (int)ms;

	if (known == NULL)
		return;
	/* what another call has sent under the lower limit is still on its way */
	if (limit > known->user_timeout_ms && info_of(known->fd).tcpi_unacked > 0)
		return;
	set_user_timeout(known, limit);
}

static bool is_dead(int fd, int64_t waited_ms)
{
	struct tcp_info info = info_of(fd);

	/* the peer's kernel does not answer; or it does, and for a long time nobody behind it */
	return (info.tcpi_unacked > 0 && info.tcpi_retransmits > 0) ||
	       (waited_ms >= DEAD_SILENCE_MS && info.tcpi_last_data_recv >= waited_ms);
}

void sockets_bury(struct sockets *sockets, int local_port, int64_t waited_ms)
{
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	struct socket_known *known = find(sockets, local_port);

	if (known == NULL || !is_dead(known->fd, waited_ms))
		return;
	/* TCP's abort: unlike shutdown it forgets what was to be sent */
	if (connect(known->fd, &nowhere, sizeof nowhere) != 0)
		shutdown(known->fd, SHUT_RDWR);
	known->local_port = NO_PORT;
}
