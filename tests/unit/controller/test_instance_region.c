#include "instance_region.h"

#include <criterion/criterion.h>
#include <string.h>

struct happening {
	enum client_happening what;
	int status;
	const char *body; /* NULL only of the last one, which stays for ever */
};

/* A metadata service by script, on a clock of its own. */
struct script {
	struct client client;
	struct instant now;
	const struct happening *next; /* one for each wait */
	struct http_response response;
	int submitted;
	int cancelled;
};

static struct arena arena;
static struct error error;
static struct script script;
static const char *region;

static struct instant script_now(struct client *client)
{
	return ((struct script *)client)->now;
}

static struct wallclock script_wall(struct client *client)
{
	(void)client;
	return (struct wallclock){INT64_C(1893456000000000)};
}

static uint64_t script_submit(struct client *client, struct arena *of, const struct http_request *request, void *owner)
{
	(void)of;
	(void)owner;
	cr_assert_not_null(request->url);
	return (uint64_t)++((struct script *)client)->submitted;
}

static void script_cancel(struct client *client, uint64_t call)
{
	cr_assert_eq(call, (uint64_t)script.submitted);
	((struct script *)client)->cancelled++;
}

static void script_wait(struct client *client, struct instant until, struct client_event *out)
{
	struct script *self = (struct script *)client;
	const struct happening *next = self->next;

	*out = (struct client_event){.what = next->what};
	if (next->what == CLIENT_DUE) {
		self->now = until;
	} else if (next->what == CLIENT_FINISHED) {
		self->response = (struct http_response){.status = next->status, .body = next->body};
		self->response.body_length = strlen(next->body);
		out->response = &self->response;
	}
	if (next->body != NULL)
		self->next++;
}

static void set_up(void)
{
	arena_init(&arena, "test", 1 << 20);
	script = (struct script){.client = {.now = script_now,
	                                    .wall = script_wall,
	                                    .submit = script_submit,
	                                    .cancel = script_cancel,
	                                    .wait = script_wait},
	                         .now = {1000}};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(instance_region, .init = set_up, .fini = tear_down);

static const char *disabled;

static const char *variable(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "AWS_EC2_METADATA_DISABLED") == 0 ? disabled : NULL;
}

static bool look(const struct happening *happenings)
{
	struct aws_environment environment = {.get = variable};

	script.next = happenings;
	return instance_region(&script.client, &arena, &environment, &region, &error);
}

static void fails(const struct happening *happenings, const char *reason)
{
	static const char start[] =
		"no AWS region is set (give --region, or set AWS_REGION), and this machine tells none: ";

	cr_assert_not(look(happenings));
	cr_assert_eq(strncmp(error.message, start, strlen(start)), 0, "%s", error.message);
	cr_assert_not_null(strstr(error.message, reason), "%s", error.message);
}

Test(instance_region, is_asked_for)
{
	static const struct happening happenings[] = {
		{CLIENT_FINISHED, 200, "t0ken"},     {CLIENT_FINISHED, 503, ""}, {CLIENT_DUE, 0, ""},
		{CLIENT_FINISHED, 200, "eu-west-1"}, {CLIENT_DUE, 0, NULL},
	};

	cr_assert(look(happenings), "%s", error.message);
	cr_assert_str_eq(region, "eu-west-1");
	cr_assert_eq(script.submitted, 3);
	cr_assert_eq(script.now.ms, 1500);
}

Test(instance_region, the_reason_is_told)
{
	static const struct happening lost[] = {
		{CLIENT_FINISHED, 404, ""}, {CLIENT_FINISHED, 401, ""}, {CLIENT_DUE, 0, NULL}};

	fails(lost, "the instance metadata service wants a token (401) and gives none");
	disabled = "true";
	fails(lost, "AWS_EC2_METADATA_DISABLED is true");
	cr_assert_eq(error.kind, ERROR_ABSENT);
	disabled = "perhaps";
	fails(lost, "AWS_EC2_METADATA_DISABLED is \"perhaps\"");
	cr_assert_eq(error.kind, ERROR_INPUT);
	disabled = NULL;
}

Test(instance_region, a_wake_ends_the_wait)
{
	static const struct happening at_call[] = {{CLIENT_WOKEN, 0, ""}, {CLIENT_DUE, 0, NULL}};
	static const struct happening at_rest[] = {
		{CLIENT_FINISHED, 503, ""}, {CLIENT_WOKEN, 0, ""}, {CLIENT_DUE, 0, NULL}};

	fails(at_call, "was not waited for");
	cr_assert_eq(script.submitted, 1);
	cr_assert_eq(script.cancelled, 1);
	fails(at_rest, "was not waited for");
	cr_assert_eq(script.submitted, 2);
	cr_assert_eq(script.cancelled, 1);
}
