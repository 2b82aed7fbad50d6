#include "prepare.h"

#include "aws/sigv4.h"
#include "exchange.h"
#include "journal/dynamodb.h"
#include "state.h"

#define AWS_DEADLINE_MS 20000
#define KUBE_DEADLINE_MS 10000
#define RESPONSE_MAX (16u << 20)
#define TELL_EVERY_MS 60000
#define FORCE_EVERY_MS 1000

void prepare_journal(struct engine *engine, struct exchange *exchange)
{
	exchange->ask.request = (struct http_request){0};
	if (exchange->reading)
		dynamodb_ask_read(&exchange->arena, engine->settings->table, &exchange->ask.call, &exchange->ask.request);
	else
		dynamodb_ask_call(&exchange->arena, engine->settings->table, &exchange->ask.call, &exchange->ask.request);
}

void prepare_read_files(struct engine *engine, bool force)
{
	struct instant now = engine_now(engine);
	struct error error;

	if (force && engine->files_forced.ms && instant_between_ms(engine->files_forced, now) < FORCE_EVERY_MS)
		force = false;
	if (force)
		engine->files_forced = now;
	if (kube_config_refresh(engine->settings->kube, now, force, &error))
		return;
	if (engine->files_told.ms && instant_between_ms(engine->files_told, now) < TELL_EVERY_MS)
		return;
	engine->files_told = now;
	log_event(LOG_WARN, "credentials of the API server could not be read again; those there are stay in use", "error",
	          error.message, NULL);
}

static void prepare_kube(struct engine *engine, struct exchange *exchange)
{
	struct http_request *request = &exchange->ask.request;

	prepare_read_files(engine, false);
	kube_config_prepare(engine->settings->kube, &exchange->arena, request);
	if (!engine->settings->kube->proxy_url)
		request->proxy = proxies_find(engine->settings->proxies, request->url);
	if (request->deadline_ms == 0)
		request->deadline_ms = KUBE_DEADLINE_MS;
}

static void prepare_aws(struct engine *engine, struct exchange *exchange, const struct aws_service *service)
{
	const struct aws_endpoint *endpoint = place_endpoint(exchange->ask.place, service);
	struct http_request *request = &exchange->ask.request;
	struct sigv4_scope scope = {
		.credentials = &engine->identity.credentials,
		.region = endpoint->signing_region,
		.signing_name = service->signing_name,
		.at = engine_wall(engine),
	};

	request->url = aws_endpoint_url(&exchange->arena, endpoint, request);
	if (request->deadline_ms == 0)
		request->deadline_ms = AWS_DEADLINE_MS;
	exchange->signed_at = scope.at;
	sigv4_sign(&exchange->arena, &scope, endpoint->host, request);
}

static void prepare_way(struct engine *engine, struct http_request *request)
{
	request->proxy = proxies_find(engine->settings->proxies, request->url);
	if (engine->aws_tls.ca_file)
		request->tls = &engine->aws_tls;
}

/* An effect goes out while the lease is surely ours and what it was built from is fresh, however long a connection takes to stand. */
static void limit_time(struct engine *engine, struct ask *ask)
{
	struct instant *until = &ask->request.not_after;

	*until = ask->fresh_until;
	if (!ask->effect || !engine->settings->leader_elect)
		return;
	*until = until->ms ? instant_earlier(*until, lease_until(&engine->lease)) : lease_until(&engine->lease);
}

void prepare_request(struct engine *engine, struct exchange *exchange)
{
	struct http_request *request = &exchange->ask.request;
	const struct aws_service *service = aws_service_find(request->service);

	if (exchange->ask.what == ASK_DIRECT) {
		prepare_way(engine, request);
	} else if (service) {
		prepare_aws(engine, exchange, service);
		prepare_way(engine, request);
	} else {
		prepare_kube(engine, exchange);
	}
	if (exchange->ask.effect || exchange->ask.fresh_until.ms)
		limit_time(engine, &exchange->ask);
	if (request->max_response_bytes == 0)
		request->max_response_bytes = RESPONSE_MAX;
}
