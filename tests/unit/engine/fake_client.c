#include "fake_client.h"

#include <string.h>

#include "exchange.h"

static struct instant fake_now(struct client *client)
{
	return ((struct fake *)client)->now;
}

static struct wallclock fake_wall(struct client *client)
{
	return ((struct fake *)client)->wall;
}

static uint32_t fake_random(struct client *client)
{
	(void)client;
	return 0;
}

static uint64_t fake_submit(struct client *client, struct arena *arena, const struct http_request *request, void *owner)
{
	struct fake *fake = (struct fake *)client;

	(void)arena;
	(void)request;
	fake->owner = owner;
	return (uint64_t)++fake->submits;
}

static uint64_t fake_run(struct client *client, struct arena *arena, const struct program *program, void *owner)
{
	struct fake *fake = (struct fake *)client;

	(void)arena;
	(void)program;
	fake->owner = owner;
	return 1000000 + (uint64_t)++fake->runs;
}

static void fake_cancel(struct client *client, uint64_t call)
{
	(void)client;
	(void)call;
}

static void fake_wait(struct client *client, struct instant until, struct client_event *out)
{
	(void)client;
	(void)until;
	out->what = CLIENT_DUE;
}

static const char *no_variable(void *context, const char *name)
{
	(void)context;
	(void)name;
	return NULL;
}

void fake_init(struct fake *fake)
{
	*fake = (struct fake){
		.client = {.now = fake_now,
	               .wall = fake_wall,
	               .random = fake_random,
	               .submit = fake_submit,
	               .run = fake_run,
	               .cancel = fake_cancel,
	               .wait = fake_wait},
		.now = {1000000},
		.wall = {INT64_C(1800000000) * 1000000},
		.kube = {.base_url = "https://127.0.0.1:1", .namespace_ = "default", .source = "test"},
		.environment = {.get = no_variable},
		.settings = {.region = "us-east-1",
	                 .table = "zonevac",
	                 .lease_namespace = "zonevac-system",
	                 .identity = "host_1",
	                 .resync_ms = 60000,
	                 .poll_ms = 1000},
	};
	fake->settings.kube = &fake->kube;
	fake->settings.environment = &fake->environment;
	fake->engine = engine_new(&fake->settings, &fake->client);
}

void fake_done(struct fake *fake)
{
	engine_free(fake->engine);
	kube_config_done(&fake->kube);
}

void fake_pass(struct fake *fake, int64_t ms)
{
	fake->now.ms += ms;
	fake->wall.us += ms * 1000;
}

void fake_answer(struct fake *fake, int status, const char *body)
{
	struct http_response response = {.status = status, .body = body, .body_length = strlen(body)};
	struct client_event event = {.what = CLIENT_FINISHED, .owner = fake->owner, .response = &response};

	if (status == 0)
		error_set(&response.error, ERROR_REJECTED, "it ended with 1");
	fake->owner = NULL;
	exchange_happened(fake->engine, &event);
}
