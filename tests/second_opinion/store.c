/*
 * The world of tests/unit/journal with its table at a store that is not ours: whoever listens at 127.0.0.1, port ZONEVAC_STORE_PORT, hands each
 * request on to it. Operation and length on a line, the body; then status and length on a line, the body.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum { LOOKS_MAX = 600, LOOK_NS = 50 * 1000 * 1000 };

static FILE *to_store;
static FILE *from_store;

static void connect_to_store(void)
{
	const char *port = getenv("ZONEVAC_STORE_PORT");
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_not_null(port, "ZONEVAC_STORE_PORT is not set; tests/e2e/test_journal.py runs this");
	address.sin_port = htons((uint16_t)atoi(port));
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	to_store = fdopen(fd, "w");
	from_store = fdopen(dup(fd), "r");
	cr_assert(to_store != NULL && from_store != NULL);
}

/* A table that is there already is as good as a new one. */
static void make_table(struct world *world)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct http_request create, look;
	struct dynamodb_table table = {0};

	dynamodb_ask_create(&world->arena, TABLE, &create);
	world_send(world, &create);
	dynamodb_ask_describe(&world->arena, TABLE, &look);
	for (int i = 0; i < LOOKS_MAX && !table.ready; i++) {
		struct error error = {0};
		struct http_response response = world_send(world, &look);

		cr_assert(dynamodb_hear_describe(&world->arena, &response, TABLE, &table, &error), "%s", error.message);
		nanosleep(&pause, NULL);
	}
	cr_assert(table.ready);
}

void world_init(struct world *world)
{
	arena_init(&world->arena, "world", 64 * 1024 * 1024);
	world->dynamo = dynamo_new(); /* for the switches of the one in memory */
	connect_to_store();
	make_table(world);
}

void world_done(struct world *world)
{
	fclose(to_store);
	fclose(from_store);
	dynamo_free(world->dynamo);
	arena_done(&world->arena);
}

struct http_response world_send(struct world *world, const struct http_request *request)
{
	size_t length = 0;
	int status = 0;
	char *body;

	cr_assert_str_eq(request->service, "dynamodb");
	fprintf(to_store, "%s %zu\n", request->operation, request->body_length);
	fwrite(request->body, 1, request->body_length, to_store);
	cr_assert_eq(fflush(to_store), 0);
	cr_assert_eq(fscanf(from_store, "%d %zu", &status, &length), 2);
	cr_assert_eq(fgetc(from_store), '\n');
	body = arena_alloc(&world->arena, length + 1);
	cr_assert_eq(fread(body, 1, length, from_store), length);
	body[length] = '\0';
	return world_answer(status, body);
}
