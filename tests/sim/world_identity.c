/*
 * Who may ask: keys of AWS with an end, where they are issued, what services say to bad ones; tokens of the API server
 * and the programs that give them out.
 */
#include "world_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKEW_MAX_US (5LL * 60 * 1000000)
#define KEYS_MAX 1024
#define SERVICES_MAX 16
#define STATIC_KEY "AKIDEXAMPLE"

/* A key, or a token of the API server. */
struct pass {
	char id[32];
	char token[48];
	char account[16];
	struct instant ends;
	bool revoked;
};

struct passes {
	struct pass at[KEYS_MAX];
	size_t count;
	int64_t life_s; /* 0: whatever comes is good */
};

struct refusals {
	char service[24];
	unsigned keys;
	unsigned clocks;
};

struct sim_identity {
	struct passes keys;
	struct passes logins;
	const char *bearer; /* the one token that is good; NULL = any */
	unsigned fail_every;
	unsigned issued_in_a_row;
	unsigned failures_left;
	struct refusals refusals[SERVICES_MAX];
	size_t refusal_count;
};

struct sim_identity *sim_identity_new(void)
{
	struct sim_identity *identity = calloc(1, sizeof(*identity));
	if (identity == NULL)
		abort();
	return identity;
}

void sim_identity_free(struct sim_identity *identity)
{
	free(identity);
}

static struct pass *pass_new(struct world *world, struct passes *passes, const char *prefix, int64_t life_s)
{
	if (passes->count == KEYS_MAX)
		sim_broken(world, "more than %d %ss were asked for", KEYS_MAX, prefix);
	struct pass *pass = &passes->at[passes->count++];
	(void)snprintf(pass->id, sizeof(pass->id), "%s%zu", prefix, passes->count);
	(void)snprintf(pass->token, sizeof(pass->token), "token-of-%s%zu", prefix, passes->count);
	(void)snprintf(pass->account, sizeof(pass->account), "%s", world->account);
	pass->ends = instant_after(world->now, life_s * 1000);
	sim_note(world, "%s is issued for %lld s", pass->id, (long long)life_s);
	return pass;
}

static const struct pass *pass_find(const struct passes *passes, const char *id)
{
	for (size_t i = 0; i < passes->count; i++)
		if (strcmp(passes->at[i].id, id) == 0)
			return &passes->at[i];
	return NULL;
}

static bool pass_good(const struct world *world, const struct pass *pass)
{
	return !pass->revoked && !instant_reached(pass->ends, world->now);
}

static void revoke(struct passes *passes)
{
	for (size_t i = 0; i < passes->count; i++)
		passes->at[i].revoked = true;
}

/* Refusing. */

enum refusal { REFUSAL_PAST, REFUSAL_FUTURE, REFUSAL_ENDED, REFUSAL_UNKNOWN };

struct words {
	int status;
	const char *code;
};

/* What each family of services says. Queries; EC2; JSON in the body; REST. */
static const struct words words_of[][4] = {
	[REFUSAL_PAST] = {{403, "SignatureDoesNotMatch"},
                      {400, "RequestExpired"},
                      {400, "InvalidSignatureException"},
                      {403, "InvalidSignatureException"}},
	[REFUSAL_FUTURE] = {{403, "SignatureDoesNotMatch"},
                        {401, "AuthFailure"},
                        {400, "InvalidSignatureException"},
                        {403, "InvalidSignatureException"}},
	[REFUSAL_ENDED] = {{403, "ExpiredToken"},
                       {400, "RequestExpired"},
                       {400, "ExpiredTokenException"},
                       {403, "ExpiredTokenException"}},
	[REFUSAL_UNKNOWN] = {{403, "InvalidClientTokenId"},
                         {401, "AuthFailure"},
                         {400, "UnrecognizedClientException"},
                         {403, "UnrecognizedClientException"}},
};

static size_t family_of(const char *service)
{
	if (strcmp(service, "ec2") == 0)
		return 1;
	if (strcmp(service, "lambda") == 0)
		return 3;
	return strcmp(service, "dynamodb") == 0 || strcmp(service, "ecs") == 0 ? 2 : 0;
}

static struct refusals *refusals_of(struct world *world, const char *service)
{
	struct sim_identity *identity = world->identity;
	for (size_t i = 0; i < identity->refusal_count; i++)
		if (strcmp(identity->refusals[i].service, service) == 0)
			return &identity->refusals[i];
	if (identity->refusal_count == SERVICES_MAX)
		sim_broken(world, "more than %d services", SERVICES_MAX);
	struct refusals *refusals = &identity->refusals[identity->refusal_count++];
	(void)snprintf(refusals->service, sizeof(refusals->service), "%s", service);
	return refusals;
}

static bool refuse(struct world *world, struct sim_call *call, enum refusal refusal, const char *message)
{
	struct refusals *refusals = refusals_of(world, call->request.service);
	const struct words *words = &words_of[refusal][family_of(call->request.service)];
	*(refusal <= REFUSAL_FUTURE ? &refusals->clocks : &refusals->keys) += 1;
	sim_note(world, "%s of %s: %s", call->request.operation, call->request.service, words->code);
	sim_aws_error(call, words->status, words->code, message);
	return false;
}

static bool is_hex(const char *string, size_t length)
{
	if (strspn(string, "0123456789abcdefABCDEF") < length)
		return false;
	return string[length] == '\0' || string[length] == ',' || string[length] == ' ';
}

/*
 * NULL when the request is signed in form; else the code of the refusal. Whether the signature is right is checked
 * elsewhere.
 */
static const char *form_trouble(const struct sim_call *call, struct string_list *scope, struct wallclock *at,
                                struct arena *arena)
{
	const char *authorization = sim_header_or(&call->request, "Authorization", "");
	const char *date = sim_header_or(&call->request, "X-Amz-Date", "");
	const char *signature = strstr(authorization, "Signature=");
	const char *credential = strstr(authorization, "Credential=");
	const char *headers = strstr(authorization, "SignedHeaders=");
	if (!text_starts_with(authorization, "AWS4-HMAC-SHA256 ") || signature == NULL || credential == NULL ||
	    headers == NULL)
		return "MissingAuthenticationToken";
	*scope = string_list_split(credential + strlen("Credential="), "/, ", arena);
	if (scope->count < 5 || strcmp(scope->at[4], "aws4_request") != 0 || strcmp(scope->at[2], WORLD_REGION) != 0 ||
	    !is_hex(signature + strlen("Signature="), 64) || strstr(headers, "host") == NULL ||
	    strstr(headers, "x-amz-date") == NULL)
		return "IncompleteSignature";
	if (!wallclock_parse(date, at) || strncmp(scope->at[1], date, 8) != 0)
		return "IncompleteSignature";
	return NULL;
}

static bool clock_good(struct world *world, struct sim_call *call, struct wallclock at)
{
	int64_t age_us = sim_wall(world).us - at.us;
	if (age_us > SKEW_MAX_US)
		return refuse(world, call, REFUSAL_PAST, "Signature expired: it is now earlier than five minutes ago.");
	if (age_us < -SKEW_MAX_US)
		return refuse(world, call, REFUSAL_FUTURE,
		              "Signature not yet current: it is still later than in five minutes.");
	return true;
}

static bool key_good(struct world *world, struct sim_call *call, const char *id)
{
	const struct passes *keys = &world->identity->keys;
	bool of_root = strcmp(call->request.service, "sts") == 0 && strcmp(id, STATIC_KEY) == 0;
	if (keys->life_s == 0 || of_root)
		return true;
	const struct pass *key = pass_find(keys, id);
	const char *token = sim_header_or(&call->request, "X-Amz-Security-Token", "");
	if (key == NULL || strcmp(token, key->token) != 0)
		return refuse(world, call, REFUSAL_UNKNOWN, "The security token included in the request is invalid.");
	world->asker = key->account;
	return pass_good(world, key) ||
	       refuse(world, call, REFUSAL_ENDED, "The security token included in the request is expired");
}

bool sim_identity_aws(struct world *world, struct sim_call *call)
{
	struct string_list scope = {0};
	struct wallclock at = {0};
	world->asker = world->account;
	if (strcmp(call->request.operation, "AssumeRoleWithWebIdentity") == 0)
		return true;
	const char *trouble = form_trouble(call, &scope, &at, &call->arena);
	if (trouble != NULL) {
		sim_note(world, "%s: %s", call->request.operation, trouble);
		sim_aws_error(call, 403, trouble, "The request is not signed as it should be.");
		return false;
	}
	return clock_good(world, call, at) && key_good(world, call, scope.at[0]);
}

/* Issuing. */

static bool fails_now(struct sim_identity *identity)
{
	if (identity->failures_left > 0) {
		identity->failures_left--;
		return true;
	}
	if (identity->fail_every > 0 && ++identity->issued_in_a_row >= identity->fail_every) {
		identity->issued_in_a_row = 0;
		identity->failures_left = 2;
		return true;
	}
	return false;
}

static const char *ends_at(const struct world *world, const struct pass *pass, struct arena *arena)
{
	return wallclock_rfc3339(wallclock_after_ms(sim_wall(world), instant_between_ms(world->now, pass->ends)), arena);
}

bool sim_is_credentials(const struct sim_request *request)
{
	return strcmp(request->host, "169.254.170.23") == 0 && strcmp(request->path, "/v1/credentials") == 0;
}

void sim_credentials_serve(struct world *world, struct sim_call *call)
{
	struct sim_identity *identity = world->identity;
	if (strcmp(sim_header_or(&call->request, "Authorization", ""), WORLD_POD_TOKEN) != 0) {
		call->answer = (struct sim_answer){401, "text/plain", "unauthorized", ERROR_NONE};
		return;
	}
	if (identity->keys.life_s == 0)
		sim_broken(world, "credentials are asked for and none are issued in this world");
	if (fails_now(identity)) {
		call->answer = (struct sim_answer){500, "text/plain", "the agent is not well", ERROR_NONE};
		return;
	}
	const struct pass *key = pass_new(world, &identity->keys, "ASIA", identity->keys.life_s);
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "AccessKeyId", key->id);
	json_set_string(body, "SecretAccessKey", arena_printf(&call->arena, "secret-of-%s", key->id));
	json_set_string(body, "Token", key->token);
	json_set_string(body, "AccountId", key->account);
	json_set_string(body, "Expiration", ends_at(world, key, &call->arena));
	call->answer = (struct sim_answer){200, "application/json", json_print(body, &call->arena), ERROR_NONE};
}

static int64_t asked_life_s(struct sim_call *call, int64_t most)
{
	const char *text = sim_form_value(&call->arena, call->request.body, "DurationSeconds");
	long long asked = 3600;
	if (text != NULL)
		(void)text_parse_integer(text, 900, 43200, &asked);
	return asked < most ? asked : most;
}

void sim_sts_serve(struct world *world, struct sim_call *call)
{
	struct sim_identity *identity = world->identity;
	const char *action = call->request.operation;
	struct arena *arena = &call->arena;
	bool web = strcmp(action, "AssumeRoleWithWebIdentity") == 0;
	if (sim_form_value(arena, call->request.body, "RoleArn") == NULL ||
	    (web && sim_form_value(arena, call->request.body, "WebIdentityToken") == NULL)) {
		sim_aws_error(call, 400, "MissingParameter", "RoleArn or WebIdentityToken");
		return;
	}
	if (fails_now(identity)) {
		sim_aws_error(call, 400, "IDPCommunicationError", "the identity provider does not answer");
		return;
	}
	const struct pass *key = pass_new(world, &identity->keys, "ASIA",
	                                  asked_life_s(call, identity->keys.life_s > 0 ? identity->keys.life_s : 3600));
	sim_aws_xml(
		call, 200,
		arena_printf(arena,
	                 "<%sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><%sResult><Credentials>"
	                 "<AccessKeyId>%s</AccessKeyId><SecretAccessKey>secret-of-%s</SecretAccessKey><SessionToken>%s"
	                 "</SessionToken><Expiration>%s</Expiration></Credentials></%sResult><ResponseMetadata>"
	                 "<RequestId>sim</RequestId></ResponseMetadata></%sResponse>",
	                 action, action, key->id, key->id, key->token, ends_at(world, key, arena), action, action));
}

/* The API server. */

static bool bearer_good(const struct world *world, const struct sim_call *call)
{
	const struct sim_identity *identity = world->identity;
	const char *authorization = sim_header_or(&call->request, "Authorization", "");
	if (!text_starts_with(authorization, "Bearer "))
		return false;
	const char *token = authorization + strlen("Bearer ");
	if (identity->logins.life_s > 0) {
		const char *id = text_starts_with(token, "token-of-") ? token + strlen("token-of-") : "";
		const struct pass *login = pass_find(&identity->logins, id);
		return login != NULL && pass_good(world, login);
	}
	return identity->bearer == NULL || strcmp(token, identity->bearer) == 0;
}

bool sim_identity_kube(struct world *world, const struct sim_call *call)
{
	bool good = bearer_good(world, call);
	refusals_of(world, "kubernetes")->keys += !good;
	return good;
}

static const char *exec_version(struct world *world, const struct sim_request *request)
{
	static const char name[] = "KUBERNETES_EXEC_INFO=";
	for (size_t i = 0; i < request->headers.count; i++) {
		const char *value = request->headers.at[i].value;
		struct error error;
		if (!text_starts_with(value, name))
			continue;
		const struct json *info =
			json_parse(&world->scratch, value + strlen(name), strlen(value) - strlen(name), &error);
		if (json_get_string(info, "apiVersion") != NULL)
			return json_get_string(info, "apiVersion");
	}
	sim_broken(world, "%s is run without KUBERNETES_EXEC_INFO", request->path);
}

void sim_program_serve(struct world *world, struct sim_call *call)
{
	struct sim_identity *identity = world->identity;
	struct json *body = json_new_object(&call->arena);
	json_set_string(body, "kind", "ExecCredential");
	json_set_string(body, "apiVersion", exec_version(world, &call->request));
	const struct pass *login =
		pass_new(world, &identity->logins, "login-", identity->logins.life_s > 0 ? identity->logins.life_s : 3600);
	struct json *status = json_set_object(body, "status");
	json_set_string(status, "token", login->token);
	json_set_string(status, "expirationTimestamp", ends_at(world, login, &call->arena));
	call->answer = (struct sim_answer){200, "application/json", json_print(body, &call->arena), ERROR_NONE};
}

/* What the scenarios say. */

void world_set_token(struct world *world, const char *token)
{
	world->identity->bearer = token;
	sim_note(world, "the API server takes another token");
}

void world_issue_credentials(struct world *world, int64_t life_s)
{
	world->identity->keys.life_s = life_s;
	sim_note(world, "keys are good for %lld s", (long long)life_s);
}

void world_fail_refreshes(struct world *world, unsigned every)
{
	world->identity->fail_every = every;
}

void world_revoke_credentials(struct world *world)
{
	sim_note(world, "all keys are revoked");
	revoke(&world->identity->keys);
}

void world_issue_logins(struct world *world, int64_t life_s)
{
	world->identity->logins.life_s = life_s;
	sim_note(world, "logins are good for %lld s", (long long)life_s);
}

void world_revoke_logins(struct world *world)
{
	sim_note(world, "all logins are revoked");
	revoke(&world->identity->logins);
}

unsigned world_issued(const struct world *world)
{
	return (unsigned)(world->identity->keys.count + world->identity->logins.count);
}

static unsigned refused(const struct world *world, const char *service, bool clocks)
{
	const struct sim_identity *identity = world->identity;
	unsigned sum = 0;
	for (size_t i = 0; i < identity->refusal_count; i++) {
		const struct refusals *refusals = &identity->refusals[i];
		bool of_all = strcmp(service, "*") == 0 && strcmp(refusals->service, "kubernetes") != 0;
		if (of_all || strcmp(service, refusals->service) == 0)
			sum += clocks ? refusals->clocks : refusals->keys;
	}
	return sum;
}

unsigned world_refused_keys(const struct world *world, const char *service)
{
	return refused(world, service, false);
}

unsigned world_refused_clocks(const struct world *world, const char *service)
{
	return refused(world, service, true);
}
