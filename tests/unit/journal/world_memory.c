/* The world's table in memory. */
#include <criterion/criterion.h>

#include "world.h"

void world_init(struct world *world)
{
	struct http_request request;

	arena_init(&world->arena, "world", 64 * 1024 * 1024);
	world->dynamo = dynamo_new();
	dynamodb_ask_create(&world->arena, TABLE, &request);
	cr_assert_eq(world_send(world, &request).status, 200);
}

void world_done(struct world *world)
{
	dynamo_free(world->dynamo);
	arena_done(&world->arena);
}

struct http_response world_send(struct world *world, const struct http_request *request)
{
	const char *body = NULL;
	int status;

	cr_assert_str_eq(request->service, "dynamodb");
	status =
		dynamo_handle(world->dynamo, request->operation, request->body, request->body_length, &world->arena, &body);
	return world_answer(status, body);
}
