#include "instance_region.h"

#include "aws/credential_session.h"
#include "base/text.h"

#define ARENA_MAX (64u << 20)
/* Each answer moves the session on; more are a fault of the service's. */
#define ANSWERS_MAX 32

/* False: somebody wants us to stop. */
static bool rest(struct client *client, int64_t ms)
{
	struct instant until = instant_after(client->now(client), ms);
	struct client_event event;

	if (ms <= 0)
		return true;
	client->wait(client, until, &event);
	return event.what == CLIENT_DUE;
}

static bool ask(struct client *client, struct credential_session *session, struct arena *arena,
                const struct credential_ask *ask)
{
	struct client_event event;
	uint64_t call;

	if (!rest(client, ask->after_ms))
		return false;
	call = client->submit(client, arena, &ask->request, session);
	client->wait(client, instant_after(client->now(client), ask->request.deadline_ms + 1000), &event);
	if (event.what != CLIENT_FINISHED) {
		client->cancel(client, call);
		return false;
	}
	credential_session_hear(session, client->wall(client), event.response);
	return true;
}

static bool look_up(struct client *client, struct credential_session *session, struct arena *arena, struct error *error)
{
	struct credential_ask next;

	for (int answers = 0; answers < ANSWERS_MAX; answers++) {
		enum credential_want want = credential_session_ask(session, client->wall(client), arena, &next);

		if (want == CREDENTIAL_HAVE)
			return true;
		if (want == CREDENTIAL_FAILED) {
			*error = session->error;
			return false;
		}
		if (!ask(client, session, arena, &next))
			break;
	}
	return error_set(error, ERROR_ABSENT, "the instance metadata service was not waited for");
}

bool instance_region(struct client *client, struct arena *arena, const struct aws_environment *environment,
                     const char **out, struct error *error)
{
	struct credential_plan plan;
	struct credential_session session;
	struct arena calls;
	bool found = false;

	arena_init(&calls, "region of the instance", ARENA_MAX);
	if (credential_plan_instance(&calls, environment, &plan, error)) {
		credential_session_init_region(&session, &calls, &plan);
		found = look_up(client, &session, &calls, error);
		if (found)
			*out = arena_string(arena, session.region);
	}
	arena_done(&calls);
	return found ||
	       error_wrap(error, "no AWS region is set (give --region, or set AWS_REGION), and this machine tells none");
}
