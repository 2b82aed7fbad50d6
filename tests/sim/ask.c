#include "ask.h"

#include <string.h>

#include "base/text.h"

#define SIGNATURE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

void ask_init(struct ask *ask, uint64_t seed)
{
	*ask = (struct ask){0};
	ask->world = world_new(seed);
	arena_init(&ask->arena, "questions to the world", 64 * 1024 * 1024);
}

void ask_done(struct ask *ask)
{
	world_free(ask->world);
	arena_done(&ask->arena);
}

static struct http_request *request_new(struct ask *ask, const char *method, const char *url, const char *body)
{
	struct http_request *request = ARENA_NEW(&ask->arena, struct http_request);
	request->method = method;
	request->url = url;
	request->operation = method;
	request->body = body;
	request->body_length = body != NULL ? strlen(body) : 0;
	request->deadline_ms = 10000;
	request->max_response_bytes = 1024 * 1024;
	request->not_after = ask->not_after;
	return request;
}

struct client_event ask_wait(struct ask *ask, int64_t ms)
{
	struct client *client = world_client(ask->world);
	struct client_event event;
	client->wait(client, instant_after(client->now(client), ms), &event);
	return event;
}

static const struct http_response *answer_to(struct ask *ask, uint64_t call)
{
	while (!world_killed(ask->world)) {
		struct client_event event = ask_wait(ask, 60000);
		if (event.what == CLIENT_FINISHED && event.call == call)
			return event.response;
	}
	return NULL;
}

static const struct http_response *answer(struct ask *ask, const struct http_request *request)
{
	struct client *client = world_client(ask->world);
	return answer_to(ask, client->submit(client, &ask->arena, request, ask));
}

static struct http_request *kube_request(struct ask *ask, const char *method, const char *url, const char *body)
{
	struct http_request *request = request_new(ask, method, url, body);
	http_add_header(&request->headers, &ask->arena, "Authorization", "Bearer token");
	http_add_header(&request->headers, &ask->arena, "Content-Type",
	                strcmp(method, "PATCH") == 0 ? "application/json-patch+json" : "application/json");
	return request;
}

const struct http_response *ask_kube(struct ask *ask, const char *method, const char *path_and_query, const char *body)
{
	const char *url = arena_printf(&ask->arena, WORLD_KUBE_URL "%s", path_and_query);
	return answer(ask, kube_request(ask, method, url, body));
}

uint64_t ask_submit(struct ask *ask, const char *method, const char *url, const char *body, bool stream)
{
	struct client *client = world_client(ask->world);
	struct http_request *request = kube_request(ask, method, url, body);
	request->stream = stream;
	request->idle_ms = stream ? 180000 : 0;
	return client->submit(client, &ask->arena, request, ask);
}

static void sign(struct ask *ask, struct http_request *request, const char *service)
{
	struct client *client = world_client(ask->world);
	struct arena *arena = &ask->arena;
	const char *date = wallclock_amz(client->wall(client), arena);
	http_add_header(&request->headers, arena, "X-Amz-Date", date);
	if (ask->token != NULL)
		http_add_header(&request->headers, arena, "X-Amz-Security-Token", ask->token);
	http_add_header(&request->headers, arena, "Authorization",
	                arena_printf(arena,
	                             "AWS4-HMAC-SHA256 Credential=%s/%.8s/" WORLD_REGION "/%s/aws4_request, "
	                             "SignedHeaders=host;x-amz-date, Signature=" SIGNATURE,
	                             ask->key != NULL ? ask->key : "AKID", date, service));
}

const struct http_response *ask_aws(struct ask *ask, const char *service, const char *target, const char *body)
{
	struct http_request *request = request_new(ask, "POST", WORLD_AWS_URL "/", body);
	bool ecs = strcmp(service, "ecs") == 0;
	sign(ask, request, service);
	if (target != NULL)
		http_add_header(&request->headers, &ask->arena, "X-Amz-Target",
		                arena_printf(&ask->arena, "%s.%s",
		                             ecs ? "AmazonEC2ContainerServiceV20141113" : "DynamoDB_20120810", target));
	return answer(ask, request);
}

const struct http_response *ask_lambda(struct ask *ask, const char *method, const char *path_and_query,
                                       const char *body)
{
	const char *url = arena_printf(&ask->arena, WORLD_AWS_URL "/2015-03-31/functions%s", path_and_query);
	struct http_request *request = request_new(ask, method, url, body);
	sign(ask, request, "lambda");
	return answer(ask, request);
}

const struct json *ask_credentials(struct ask *ask)
{
	struct http_request *request = request_new(ask, "GET", WORLD_CREDENTIALS_URL, NULL);
	http_add_header(&request->headers, &ask->arena, "Authorization", WORLD_POD_TOKEN);
	const struct json *keys = ask_json(ask, answer(ask, request));
	ask->key = json_get_string(keys, "AccessKeyId");
	ask->token = json_get_string(keys, "Token");
	return keys;
}

const struct http_response *ask_login(struct ask *ask)
{
	static const char *const argv[] = {"/usr/bin/aws", "eks", "get-token", NULL};
	static const char *const environment[] = {
		"KUBERNETES_EXEC_INFO={\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"}", NULL};
	struct program program = {.argv = argv, .environment = environment};
	struct client *client = world_client(ask->world);
	return answer_to(ask, client->run(client, &ask->arena, &program, ask));
}

const struct json *ask_json(struct ask *ask, const struct http_response *response)
{
	struct error error;
	return response != NULL ? json_parse(&ask->arena, response->body, response->body_length, &error) : NULL;
}

void ask_plant(struct ask *ask, const char *arn, const char *state)
{
	struct error error;
	const char *item =
		arena_printf(&ask->arena,
	                 "{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},\"state\":{\"S\":\"%s\"},"
	                 "\"removedSubnets\":{\"L\":[{\"S\":\"subnet-a\"}]},\"owners\":{\"SS\":[\"somebody\"]}}",
	                 arn, state);
	dynamo_put(world_dynamo(ask->world), WORLD_TABLE, json_parse(&ask->arena, item, strlen(item), &error));
}
