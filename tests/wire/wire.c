#include "wire.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/curl_client.h"

void wire_pause_ms(int ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL);
}

static void *run_peer(void *argument)
{
	struct wire_peer *peer = argument;
	struct wire_server *server = peer->server;
	bool ok = true;

	if (server->tls != NULL) {
		peer->tls = SSL_new(server->tls);
		SSL_set_fd(peer->tls, peer->fd);
		ok = SSL_accept(peer->tls) == 1;
	}
	if (ok) {
		atomic_fetch_add(&server->handshakes, 1);
		server->serve(peer);
	}
	if (peer->tls != NULL) {
		SSL_shutdown(peer->tls);
		SSL_free(peer->tls);
	}
	shutdown(peer->fd, SHUT_WR);
	close(peer->fd);
	peer->fd = -1;
	return NULL;
}

static void *run_acceptor(void *argument)
{
	struct wire_server *server = argument;

	for (;;) {
		struct timeval patience = {.tv_sec = WIRE_PATIENCE_MS / 1000};
		int fd = accept(server->listener, NULL, NULL);
		int count = atomic_load(&server->connections);
		struct wire_peer *peer;

		if (fd < 0 || count == WIRE_MAX_CONNECTIONS)
			return NULL;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
		peer = &server->peers[count];
		*peer = (struct wire_peer){.server = server, .fd = fd, .number = count + 1};
		atomic_store(&server->connections, count + 1);
		cr_assert_eq(pthread_create(&server->threads[count], NULL, run_peer, peer), 0);
	}
}

struct wire_server *wire_server_start(void (*serve)(struct wire_peer *peer), SSL_CTX *tls)
{
	struct wire_server *server = calloc(1, sizeof *server);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;

	server->serve = serve;
	server->tls = tls;
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(server->listener, (struct sockaddr *)&address, length), 0);
	cr_assert_eq(listen(server->listener, 512), 0);
	cr_assert_eq(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
	server->port = ntohs(address.sin_port);
	cr_assert_eq(pthread_create(&server->acceptor, NULL, run_acceptor, server), 0);
	return server;
}

void wire_server_stop(struct wire_server *server)
{
	int count;

	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->acceptor, NULL);
	close(server->listener);
	count = atomic_load(&server->connections);
	for (int i = 0; i < count; i++) {
		if (server->peers[i].fd >= 0)
			shutdown(server->peers[i].fd, SHUT_RDWR);
		pthread_join(server->threads[i], NULL);
	}
	SSL_CTX_free(server->tls);
	free(server);
}

const char *wire_url(const struct wire_server *server, const char *path)
{
	static _Thread_local char url[8][256];
	static _Thread_local unsigned next;
	char *at = url[next++ % 8];

	snprintf(at, sizeof url[0], "%s://127.0.0.1:%d%s", server->tls == NULL ? "http" : "https", server->port, path);
	return at;
}

bool wire_write(struct wire_peer *peer, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written =
			peer->tls != NULL ? SSL_write(peer->tls, bytes, (int)length) : send(peer->fd, bytes, length, MSG_NOSIGNAL);

		if (written <= 0)
			return false;
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

bool wire_say(struct wire_peer *peer, const char *string)
{
	return wire_write(peer, string, strlen(string));
}

long wire_read(struct wire_peer *peer, char *bytes, size_t length)
{
	return peer->tls != NULL ? SSL_read(peer->tls, bytes, (int)length) : recv(peer->fd, bytes, length, 0);
}

bool wire_hear_request(struct wire_peer *peer)
{
	static const size_t most = sizeof peer->server->last_request - 1;
	char *request = calloc(1, most + 1);
	size_t length = 0;
	bool whole = false;

	while (!whole && length < most) {
		long got = wire_read(peer, request + length, most - length);
		const char *end;
		const char *declared;

		if (got <= 0)
			break;
		length += (size_t)got;
		end = strstr(request, "\r\n\r\n");
		declared = strcasestr(request, "\r\ncontent-length:");
		whole =
			end != NULL && length >= (size_t)(end + 4 - request) + (declared == NULL ? 0 : (size_t)atol(declared + 17));
	}
	if (whole) {
		memcpy(peer->server->last_request, request, length + 1);
		atomic_fetch_add(&peer->server->requests, 1);
	}
	free(request);
	return whole;
}

void wire_reset(struct wire_peer *peer)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	close(dup(peer->fd));
	dup2(open("/dev/null", 0), peer->fd);
}

void wire_set_deaf(struct wire_peer *peer, bool deaf)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &drop};

	cr_assert_eq(setsockopt(peer->fd, SOL_SOCKET, deaf ? SO_ATTACH_FILTER : SO_DETACH_FILTER, &program, sizeof program),
	             0);
}

struct hearer *hearer_new(void)
{
	struct hearer *hearer = calloc(1, sizeof *hearer);
	struct error error = {0};

	arena_init(&hearer->arena, "hearer", 256 * 1024 * 1024);
	hearer->client = curl_client_new("zonevac-test/1", &error);
	cr_assert_not_null(hearer->client, "%s", error.message);
	return hearer;
}

void hearer_free(struct hearer *hearer)
{
	curl_client_free(hearer->client);
	arena_done(&hearer->arena);
	free(hearer);
}

struct http_request *hearer_request(struct hearer *hearer, const char *url)
{
	struct http_request *request = ARENA_NEW(&hearer->arena, struct http_request);

	request->method = "GET";
	request->url = arena_string(&hearer->arena, url);
	request->deadline_ms = 5000;
	request->idle_ms = 5000;
	request->max_response_bytes = 128 * 1024;
	return request;
}

uint64_t hearer_submit(struct hearer *hearer, const struct http_request *request)
{
	return hearer->client->submit(hearer->client, &hearer->arena, request, hearer);
}

static void keep(struct hearer *hearer, const char *bytes, size_t length)
{
	cr_assert_leq(hearer->body_length + length, sizeof hearer->body - 1);
	memcpy(hearer->body + hearer->body_length, bytes, length);
	hearer->body_length += length;
	hearer->body[hearer->body_length] = '\0';
}

enum client_happening hearer_listen(struct hearer *hearer, int64_t ms)
{
	struct client *client = hearer->client;
	struct client_event event;

	client->wait(client, instant_after(client->now(client), ms), &event);
	switch (event.what) {
	case CLIENT_FINISHED:
		hearer->finished++;
		hearer->response = *event.response;
		if (event.response->body_length > 0) {
			hearer->body_length = 0;
			keep(hearer, event.response->body, event.response->body_length);
		}
		break;
	case CLIENT_CHUNK:
		hearer->chunks++;
		keep(hearer, event.bytes, event.length);
		break;
	case CLIENT_WOKEN:
		hearer->woken++;
		break;
	case CLIENT_DUE:
		hearer->due++;
		break;
	}
	hearer->last_call = event.call;
	hearer->last_owner = event.owner;
	return event.what;
}

const struct http_response *hearer_ask(struct hearer *hearer, const struct http_request *request)
{
	int before = hearer->finished;
	uint64_t call = hearer_submit(hearer, request);

	hearer->body_length = 0;
	hearer->body[0] = '\0';
	cr_assert_neq(call, 0);
	for (int i = 0; i < 1000 && hearer->finished == before; i++)
		cr_assert_neq(hearer_listen(hearer, WIRE_PATIENCE_MS), CLIENT_DUE, "nothing was told");
	cr_assert_eq(hearer->finished, before + 1);
	cr_assert_eq(hearer->last_call, call);
	cr_assert_eq(hearer->last_owner, hearer);
	return &hearer->response;
}

const struct http_response *hearer_get(struct hearer *hearer, const char *url)
{
	return hearer_ask(hearer, hearer_request(hearer, url));
}
