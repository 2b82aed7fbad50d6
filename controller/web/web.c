#include "web/web.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "listen.h"

enum {
	HEART_LIMIT_MS = 60 * 1000,
	MAX_CONNECTIONS = 64,
	MAX_REQUEST_BYTES = 8 * 1024,
	MAX_REQUEST_S = 5,
	KEEPALIVE_S = 60,
	PIECE_BYTES = 16 * 1024,
	MAX_HEADER_BYTES = 1024,
	/* beside the connections: the listener, what wakes the loop, and one that is about to be turned away */
	OTHER_DESCRIPTORS = 8,
};

/* A snapshot and how many answers are being written from it; the one that is current counts as one. */
struct edition {
	struct snapshot *snapshot;
	int readers;
};

struct web {
	struct lws_context *context;
	struct lws_vhost *host;
	pthread_t thread;
	pthread_mutex_t lock; /* of `current` and of the readers of every edition */
	struct edition *current;
	atomic_llong last_beat_ms;
	atomic_llong heart_limit_ms;
	atomic_bool stopping;
	int listener;
	int port;
	int open_count;
};

/* An answer being written. */
struct answer {
	struct edition *edition; /* what `body` is borrowed from; NULL: a literal or `sentence` */
	const char *body;
	size_t length;
	size_t sent;
	char sentence[160];
};

/* Editions. */

static struct edition *edition_new(struct snapshot *snapshot)
{
	struct edition *edition = malloc(sizeof *edition);

	if (edition == NULL)
		abort();
	*edition = (struct edition){.snapshot = snapshot, .readers = 1};
	return edition;
}

static struct edition *edition_borrow(struct web *web)
{
	struct edition *edition;

	pthread_mutex_lock(&web->lock);
	edition = web->current;
	edition->readers++;
	pthread_mutex_unlock(&web->lock);
	return edition;
}

static void edition_return(struct web *web, struct edition *edition)
{
	bool last;

	if (edition == NULL)
		return;
	pthread_mutex_lock(&web->lock);
	last = --edition->readers == 0;
	pthread_mutex_unlock(&web->lock);
	if (!last)
		return;
	snapshot_free(edition->snapshot);
	free(edition);
}

void web_publish(struct web *web, struct snapshot *snapshot)
{
	struct edition *fresh = edition_new(snapshot);
	struct edition *old;

	pthread_mutex_lock(&web->lock);
	old = web->current;
	web->current = fresh;
	pthread_mutex_unlock(&web->lock);
	edition_return(web, old);
}

/* The heart. */

/* Not the seam's clock: a laptop that slept must not look dead. */
static long long awake_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (long long)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

void web_beat(struct web *web)
{
	atomic_store(&web->last_beat_ms, awake_ms());
}

void web_set_heart_limit(struct web *web, long long limit_ms)
{
	atomic_store(&web->heart_limit_ms, limit_ms);
}

/* What to answer. */

static int say(struct answer *answer, int status, const char *body)
{
	answer->body = body;
	answer->length = strlen(body);
	return status;
}

static int answer_health(struct web *web, struct answer *answer)
{
	long long silent_ms = awake_ms() - atomic_load(&web->last_beat_ms);

	if (silent_ms <= atomic_load(&web->heart_limit_ms))
		return say(answer, 200, "ok\n");
	snprintf(answer->sentence, sizeof answer->sentence, "the engine has shown no sign of life for %lld s\n",
	         silent_ms / 1000);
	return say(answer, 500, answer->sentence);
}

static int answer_ready(struct web *web, struct answer *answer)
{
	struct edition *edition = edition_borrow(web);
	const struct snapshot *snapshot = edition->snapshot;
	bool ready = snapshot->ready;

	snprintf(answer->sentence, sizeof answer->sentence, "not ready: %s\n",
	         snapshot->not_ready_because == NULL ? "starting" : snapshot->not_ready_because);
	edition_return(web, edition);
	return ready ? say(answer, 200, "ok\n") : say(answer, 503, answer->sentence);
}

static int answer_metrics(struct web *web, struct answer *answer)
{
	const struct snapshot *snapshot;

	answer->edition = edition_borrow(web);
	snapshot = answer->edition->snapshot;
	answer->body = snapshot->metrics == NULL ? "" : snapshot->metrics;
	answer->length = snapshot->metrics == NULL ? 0 : snapshot->metrics_length;
	return 200;
}

/* Each path once, with what answers it. */
static const struct route {
	const char *path;
	const char *type;
	int (*answer)(struct web *web, struct answer *answer);
} routes[] = {
	{"/healthz", "text/plain; charset=utf-8", answer_health},
	{"/readyz", "text/plain; charset=utf-8", answer_ready},
	{"/metrics", "text/plain; version=0.0.4; charset=utf-8", answer_metrics},
};

static int route_request(struct web *web, struct answer *answer, const char *path, const char **out_type)
{
	*out_type = routes[0].type;
	for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
		if (strcmp(routes[i].path, path) != 0)
			continue;
		*out_type = routes[i].type;
		return routes[i].answer(web, answer);
	}
	return say(answer, 404, "not found\n");
}

/* Writing it. */

static bool write_header(struct lws *wsi, int status, const char *type, const struct answer *answer)
{
	unsigned char buffer[LWS_PRE + MAX_HEADER_BYTES];
	unsigned char *start = buffer + LWS_PRE;
	unsigned char *at = start;
	unsigned char *end = buffer + sizeof buffer;

	if (lws_add_http_common_headers(wsi, (unsigned int)status, type, answer->length, &at, end) != 0)
		return false;
	if (status == 405 && lws_add_http_header_by_name(wsi, (const unsigned char *)"allow:",
	                                                 (const unsigned char *)"GET, HEAD", 9, &at, end) != 0)
		return false;
	return lws_finalize_write_http_header(wsi, start, &at, end) == 0;
}

/* 0 to keep the connection, else it is closed. */
static int complete(struct lws *wsi)
{
	return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

static int answer_request(struct web *web, struct lws *wsi, struct answer *answer)
{
	char *path = NULL;
	int path_length = 0;
	int method = lws_http_get_uri_and_method(wsi, &path, &path_length);
	const char *type = routes[0].type;
	int status;

	*answer = (struct answer){0};
	if (method != LWSHUMETH_GET && method != LWSHUMETH_HEAD)
		status = say(answer, 405, "only GET and HEAD\n");
	else
		status = route_request(web, answer, path, &type);
	if (!write_header(wsi, status, type, answer))
		return -1;
	if (method == LWSHUMETH_HEAD || answer->length == 0)
		return complete(wsi);
	lws_callback_on_writable(wsi);
	return 0;
}

static int write_piece(struct lws *wsi, struct answer *answer)
{
	unsigned char buffer[LWS_PRE + PIECE_BYTES];
	size_t left = answer->length - answer->sent;
	size_t length = left < PIECE_BYTES ? left : PIECE_BYTES;
	bool last = length == left;

	if (length == 0)
		return 0;
	memcpy(buffer + LWS_PRE, answer->body + answer->sent, length);
	if (lws_write(wsi, buffer + LWS_PRE, length, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)length)
		return -1;
	answer->sent += length;
	if (last)
		return complete(wsi);
	lws_callback_on_writable(wsi);
	return 0;
}

/* Connections. */

static void accept_all(struct web *web)
{
	for (int i = 0; i < MAX_CONNECTIONS; i++) {
		int fd = accept4(web->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (web->open_count >= MAX_CONNECTIONS)
			close(fd);
		else
			lws_adopt_socket_vhost(web->host, fd); /* closes it when it fails */
	}
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
	struct web *web = lws_context_user(lws_get_context(wsi));
	struct answer *answer = user;

	switch (reason) {
	case LWS_CALLBACK_WSI_CREATE:
		web->open_count++;
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		web->open_count--;
		return 0;
	case LWS_CALLBACK_RAW_RX_FILE:
		accept_all(web);
		return 0;
	case LWS_CALLBACK_HTTP:
		return answer_request(web, wsi, answer);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return write_piece(wsi, answer);
	case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
	case LWS_CALLBACK_CLOSED_HTTP:
		if (answer != NULL) {
			edition_return(web, answer->edition);
			answer->edition = NULL;
		}
		return 0;
	default:
		return lws_callback_http_dummy(wsi, reason, user, in, length);
	}
}

static const struct lws_protocols protocols[] = {
	{.name = "http", .callback = on_event, .per_session_data_size = sizeof(struct answer)},
	{0},
};

/* Beginning and end. */

static void on_log(int level, const char *line)
{
	char message[256];

	(void)level;
	snprintf(message, sizeof message, "%.*s", (int)strcspn(line, "\r\n"), line);
	log_event(LOG_WARN, "web server", "reason", message, NULL);
}

static void *run(void *argument)
{
	struct web *web = argument;

	while (!atomic_load(&web->stopping) && lws_service(web->context, 0) >= 0)
		;
	return NULL;
}

/* Signals are for the engine's thread. */
static bool start_thread(struct web *web)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&web->thread, NULL, run, web) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

static bool make_context(struct web *web)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.protocols = protocols,
		.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
		.user = web,
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
		.fd_limit_per_thread = MAX_CONNECTIONS + OTHER_DESCRIPTORS,
		.max_http_header_pool = MAX_CONNECTIONS,
		.max_http_header_data = MAX_REQUEST_BYTES,
		.timeout_secs = MAX_REQUEST_S,
		.timeout_secs_ah_idle = MAX_REQUEST_S,
		.keepalive_timeout = KEEPALIVE_S,
		.vhost_name = "zonevac",
	};
	lws_sock_file_fd_type listener = {.filefd = web->listener};

	lws_set_log_level(LLL_ERR, on_log);
	web->context = lws_create_context(&info);
	if (web->context == NULL)
		return false;
	web->host = lws_create_vhost(web->context, &info);
	if (web->host == NULL ||
	    lws_adopt_descriptor_vhost(web->host, LWS_ADOPT_RAW_FILE_DESC, listener, protocols[0].name, NULL) == NULL)
		return false;
	web->open_count = 0; /* the listener does not count */
	return true;
}

/* After the context, which closes the listener. */
static void release(struct web *web)
{
	edition_return(web, web->current);
	pthread_mutex_destroy(&web->lock);
	free(web);
}

struct web *web_start(const char *address, struct error *error)
{
	struct web *web;
	int port;
	int listener = listen_open(address, &port, error);

	if (listener < 0)
		return NULL;
	web = calloc(1, sizeof *web);
	if (web == NULL)
		abort();
	web->listener = listener;
	web->port = port;
	web->current = edition_new(snapshot_new());
	web->heart_limit_ms = HEART_LIMIT_MS;
	pthread_mutex_init(&web->lock, NULL);
	web_beat(web);
	if (make_context(web) && start_thread(web))
		return web;
	error_set(error, ERROR_REJECTED, "cannot start the web server on %s", address);
	lws_context_destroy(web->context);
	release(web);
	return NULL;
}

int web_port(const struct web *web)
{
	return web->port;
}

void web_stop(struct web *web)
{
	if (web == NULL)
		return;
	atomic_store(&web->stopping, true);
	lws_cancel_service(web->context);
	pthread_join(web->thread, NULL);
	lws_context_destroy(web->context);
	release(web);
}
