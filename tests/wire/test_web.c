#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "web/web.h"
#include "wire.h"

static struct web *web;
static char reply[4 * 1024 * 1024];

static void begin(void)
{
	struct error error = {0};

	signal(SIGPIPE, SIG_IGN);
	web = web_start("127.0.0.1:0", &error);
	cr_assert_not_null(web, "%s", error.message);
}

static void end(void)
{
	web_stop(web);
}

TestSuite(wire_web, .init = begin, .fini = end, .timeout = 60);

static int connect_to(struct web *to)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = WIRE_PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons((uint16_t)web_port(to));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* Reads until the server closes or `whole` says so. Returns the length. */
static size_t read_all(int fd)
{
	size_t length = 0;
	ssize_t got;

	while (length < sizeof reply - 1 && (got = recv(fd, reply + length, sizeof reply - 1 - length, 0)) > 0)
		length += (size_t)got;
	reply[length] = '\0';
	return length;
}

static int status_of(const char *request)
{
	int fd = connect_to(web);

	send(fd, request, strlen(request), MSG_NOSIGNAL);
	read_all(fd);
	close(fd);
	return strncmp(reply, "HTTP/1.", 7) == 0 ? atoi(reply + 9) : -1;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

static const char *body(void)
{
	const char *blank = strstr(reply, "\r\n\r\n");

	return blank == NULL ? "" : blank + 4;
}

static void publish(const char *metrics, bool ready, const char *because)
{
	struct snapshot *snapshot = snapshot_new();

	snapshot->metrics = strdup(metrics);
	snapshot->metrics_length = strlen(metrics);
	snapshot->ready = ready;
	snapshot->not_ready_because = because;
	web_publish(web, snapshot);
}

Test(wire_web, health_while_the_heart_beats)
{
	cr_assert_eq(status_of(GET("/healthz")), 200, "%s", reply);
	cr_assert_str_eq(body(), "ok\n");
}

Test(wire_web, health_when_the_heart_stops_and_goes_on)
{
	web_set_heart_limit(web, 50);
	wire_pause_ms(100);
	cr_assert_eq(status_of(GET("/healthz")), 500, "%s", reply);
	cr_assert_not_null(strstr(body(), "no sign of life"));
	web_set_heart_limit(web, 5000);
	web_beat(web);
	cr_assert_eq(status_of(GET("/healthz")), 200);
}

Test(wire_web, ready_only_once_synced)
{
	cr_assert_eq(status_of(GET("/readyz")), 503);
	publish("", false, "nodes are being listed");
	cr_assert_eq(status_of(GET("/readyz")), 503);
	cr_assert_str_eq(body(), "not ready: nodes are being listed\n");
	publish("", true, NULL);
	cr_assert_eq(status_of(GET("/readyz")), 200);
}

Test(wire_web, metrics_are_what_was_published_last)
{
	cr_assert_eq(status_of(GET("/metrics")), 200);
	cr_assert_str_eq(body(), "");
	publish("zonevac_leader 0\n", true, NULL);
	publish("zonevac_leader 1\n", true, NULL);
	cr_assert_eq(status_of(GET("/metrics")), 200);
	cr_assert_str_eq(body(), "zonevac_leader 1\n");
	cr_assert_not_null(strcasestr(reply, "content-type: text/plain; version=0.0.4"), "%s", reply);
	cr_assert_eq(status_of(GET("/metrics?format=x")), 200);
}

Test(wire_web, large_metrics_arrive_whole)
{
	size_t size = 3 * 1000 * 1000;
	char *large = calloc(1, size + 1);

	for (size_t i = 0; i < size; i++)
		large[i] = (char)('a' + i % 23);
	publish(large, true, NULL);
	cr_assert_eq(status_of(GET("/metrics")), 200);
	cr_assert_eq(strlen(body()), size);
	cr_assert(memcmp(body(), large, size) == 0);
	free(large);
}

Test(wire_web, publishing_while_a_slow_reader_reads)
{
	size_t size = 3 * 1000 * 1000;
	char *large = calloc(1, size + 1);
	int fd = connect_to(web);

	memset(large, 'a', size);
	publish(large, true, NULL);
	send(fd, GET("/metrics"), strlen(GET("/metrics")), 0);
	recv(fd, reply, 1, MSG_PEEK);
	for (int i = 0; i < 10; i++) {
		publish("new\n", true, NULL);
		wire_pause_ms(5);
	}
	read_all(fd);
	close(fd);
	cr_assert_str_eq(body(), large);
	free(large);
}

Test(wire_web, unknown_path)
{
	cr_assert_eq(status_of(GET("/secrets")), 404);
	cr_assert_eq(status_of(GET("/")), 404);
	cr_assert_eq(status_of(GET("/healthz/more")), 404);
	cr_assert_eq(status_of(GET("/../healthz")), 200, "normalised before it is looked up: %s", reply);
}

Test(wire_web, other_methods)
{
	cr_assert_eq(status_of("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab"),
	             405, "%s", reply);
	cr_assert_not_null(strcasestr(reply, "allow: GET, HEAD"), "%s", reply);
	cr_assert_eq(status_of("DELETE /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), 405, "%s", reply);
	cr_assert_eq(status_of(GET("/healthz")), 200);
}

Test(wire_web, head_has_no_body)
{
	cr_assert_eq(status_of("HEAD /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), 200, "%s", reply);
	cr_assert_not_null(strcasestr(reply, "content-length: 3"), "%s", reply);
	cr_assert_str_eq(body(), "");
}

Test(wire_web, garbage_ends_the_connection_and_nothing_else)
{
	status_of("\x16\x03\x01\x02 garbage\r\n\r\n");
	cr_assert_eq(status_of(GET("/healthz")), 200);
}

Test(wire_web, connection_is_used_again)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
	int fd = connect_to(web);

	for (int i = 0; i < 3; i++) {
		size_t length = 0;

		send(fd, request, sizeof request - 1, 0);
		for (reply[0] = '\0'; strstr(reply, "ok\n") == NULL; reply[length] = '\0') {
			ssize_t got = recv(fd, reply + length, sizeof reply - 1 - length, 0);

			cr_assert_gt(got, 0);
			length += (size_t)got;
		}
	}
	close(fd);
}

Test(wire_web, request_of_more_than_8_kib_is_refused)
{
	static char request[20 * 1024];
	int length = snprintf(request, sizeof request, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ");

	memset(request + length, 'x', 12 * 1024);
	strcpy(request + length + 12 * 1024, "\r\n\r\n");
	cr_assert_neq(status_of(request), 200);
	cr_assert_eq(status_of(GET("/healthz")), 200);
}

Test(wire_web, request_that_takes_too_long_is_dropped)
{
	int fd = connect_to(web);
	time_t started = time(NULL);

	send(fd, "GET /hea", 8, 0);
	cr_assert_eq(read_all(fd), 0);
	cr_assert(time(NULL) - started >= 3 && time(NULL) - started < WIRE_PATIENCE_MS / 1000, "%ld s",
	          (long)(time(NULL) - started));
	close(fd);
}

static int count_turned_away(const int *fds, int count)
{
	int turned_away = 0;
	char byte;

	for (int i = 0; i < count; i++)
		turned_away += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0;
	return turned_away;
}

Test(wire_web, more_than_64_connections_are_turned_away_and_room_comes_back)
{
	int fds[100];

	for (int i = 0; i < 100; i++)
		fds[i] = connect_to(web);
	for (int i = 0; i < WIRE_PATIENCE_MS / 100 && count_turned_away(fds, 100) < 36; i++)
		wire_pause_ms(100);
	wire_pause_ms(200);
	cr_assert_eq(count_turned_away(fds, 100), 36);
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	for (int i = 0; i < WIRE_PATIENCE_MS / 100 && status_of(GET("/healthz")) != 200; i++)
		wire_pause_ms(100);
	cr_assert_eq(status_of(GET("/healthz")), 200);
}

Test(wire_web, stopping_with_connections_open)
{
	int fd = connect_to(web);

	send(fd, "GET /healthz HT", 15, 0);
	wire_pause_ms(50);
	web_stop(web);
	web = NULL;
	read_all(fd);
	close(fd);
}

Test(wire_web_listen, addresses)
{
	static const char *const bad[] = {
		"",        "8080",     "localhost:80", "127.0.0.1",    "127.0.0.1:", "127.0.0.1:65536",
		"[::1:80", "1.2.3:80", "[]:80",        "127.0.0.1:-1", "::1:80"};
	static const char *const good[] = {":0", "127.0.0.1:0", "[::1]:0"};
	struct error error = {0};
	char taken[32];
	struct web *one;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_assert_null(web_start(bad[i], &error), "%s", bad[i]);
		cr_assert_eq(error.kind, ERROR_INPUT);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		one = web_start(good[i], &error);
		if (one == NULL && *good[i] == '[')
			continue; /* no IPv6 here */
		cr_assert_not_null(one, "%s", error.message);
		cr_assert_gt(web_port(one), 0);
		web_stop(one);
	}
	one = web_start("127.0.0.1:0", &error);
	snprintf(taken, sizeof taken, "127.0.0.1:%d", web_port(one));
	cr_assert_null(web_start(taken, &error));
	cr_assert_eq(error.kind, ERROR_REJECTED);
	cr_assert_not_null(strstr(error.message, taken), "%s", error.message);
	web_stop(one);
	web_stop(NULL);
}
