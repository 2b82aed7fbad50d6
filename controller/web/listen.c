#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

enum { BACKLOG = 64 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t size_of(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

static bool set_host(union address *out, const char *host, size_t length, uint16_t port)
{
	char name[INET6_ADDRSTRLEN + 1];
	bool bracketed = length >= 2 && host[0] == '[' && host[length - 1] == ']';

	if (bracketed) {
		host++;
		length -= 2;
	}
	if (length >= sizeof name)
		return false;
	memcpy(name, host, length);
	name[length] = '\0';
	*out = (union address){0};
	if (bracketed || length == 0) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons(port);
		return length == 0 ? !bracketed : inet_pton(AF_INET6, name, &out->v6.sin6_addr) == 1;
	}
	out->v4.sin_family = AF_INET;
	out->v4.sin_port = htons(port);
	return inet_pton(AF_INET, name, &out->v4.sin_addr) == 1;
}

static bool parse(const char *text, union address *out, struct error *error)
{
	const char *colon = strrchr(text, ':');
	long long port;

	if (colon == NULL || !text_parse_integer(colon + 1, 0, 65535, &port) ||
	    !set_host(out, text, (size_t)(colon - text), (uint16_t)port))
		return error_set(error, ERROR_INPUT,
		                 "\"%s\" is no address to listen on: want 127.0.0.1:8080, [::1]:8080 or :8080", text);
	return true;
}

static int open_at(const union address *address)
{
	int off = 0, on = 1, kept;
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (address->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	if (bind(fd, &address->any, size_of(address)) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	kept = errno;
	close(fd);
	errno = kept;
	return -1;
}

int listen_open(const char *text, int *out_port, struct error *error)
{
	union address address;
	socklen_t length = sizeof address;
	int fd;

	if (!parse(text, &address, error))
		return -1;
	fd = open_at(&address);
	if (fd < 0 && *text == ':' && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
		/* a kernel without IPv6 */
		address = (union address){.v4 = {.sin_family = AF_INET, .sin_port = address.v6.sin6_port}};
		fd = open_at(&address);
	}
	if (fd < 0 || getsockname(fd, &address.any, &length) != 0) {
		error_set(error, ERROR_REJECTED, "cannot listen on %s: %s", text, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*out_port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
	return fd;
}
