#include "command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "aws/region.h"
#include "base/text.h"
#include "engine/engine.h"
#include "instance_region.h"
#include "net/curl_client.h"
#include "settings.h"

#define USER_AGENT "zonevac/" ZONEVAC_VERSION

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_UNREACHABLE = 4 };

static const char *environment_get(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

static int fail(int code, const struct error *error)
{
	fprintf(stderr, "zonevac: %s\n", error->message);
	return code;
}

/* SIGTERM and SIGINT. */

static volatile sig_atomic_t stop_wanted;
static struct client *woken;

static void on_signal(int number)
{
	(void)number;
	stop_wanted = 1;
	if (woken)
		woken->wake(woken);
}

static void catch_signals(struct client *client)
{
	struct sigaction action = {.sa_handler = on_signal};

	woken = client;
	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* NULL when it is not set, or empty. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* Unique per process, as leader election needs it: "<host or pod>_<128 bits>". */
static bool make_identity(struct arena *arena, const char **out, struct error *error)
{
	unsigned char bytes[16];
	char host[128] = "";
	struct text text;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(error, ERROR_INPUT, "no random numbers from the kernel: %s", strerror(errno));
	if (variable("POD_NAME"))
		snprintf(host, sizeof(host), "%s", variable("POD_NAME"));
	else if (gethostname(host, sizeof(host) - 1) != 0)
		snprintf(host, sizeof(host), "zonevac");
	text_init(&text, 512);
	text_printf(&text, "%s_", host);
	text_append_hex(&text, bytes, sizeof(bytes));
	*out = text_take(&text, arena);
	return true;
}

static void configure_log(const struct settings *settings)
{
	bool in_cluster = getenv("KUBERNETES_SERVICE_HOST") != NULL;
	enum log_format format = settings->log_format_given ? settings->log_format : in_cluster ? LOG_JSON : LOG_TEXT;

	log_configure(settings->log_level, format);
}

struct controller {
	struct arena arena;
	struct settings settings;
	struct kube_config kube;
	struct aws_environment environment;
	struct proxies proxies;
	struct engine_settings engine;
};

static bool configure_cluster(struct controller *controller, struct error *error)
{
	struct kube_config_request request = {
		.kubeconfig = controller->settings.kubeconfig,
		.context = controller->settings.context,
		.getenv = environment_get,
		.terminal = isatty(STDIN_FILENO),
	};

	return kube_config_load(&controller->arena, &request, &controller->kube, error);
}

/* Flag, variables, profile, and last the machine's own word. */
static bool configure_region(struct controller *controller, struct client *client, struct error *error)
{
	struct settings *settings = &controller->settings;

	if (!settings->region && !aws_region_load(&controller->arena, &controller->environment, &settings->region, error) &&
	    (error->kind != ERROR_ABSENT ||
	     !instance_region(client, &controller->arena, &controller->environment, &settings->region, error)))
		return false;
	if (!aws_region_valid(settings->region))
		return error_set(error, ERROR_INPUT, "the region is \"%s\"; a region looks like us-east-1", settings->region);
	return true;
}

/* A typo in an endpoint's setting is told now, not when a zone fails. */
static bool check_endpoints(struct controller *controller, struct error *error)
{
	const struct aws_service *service;
	struct aws_endpoint endpoint;

	for (size_t i = 0; (service = aws_service_at(i)) != NULL; i++)
		if (!aws_endpoint_of(&controller->arena, service, controller->settings.region, &controller->environment,
		                     &endpoint, error))
			return false;
	return true;
}

static bool configure_aws(struct controller *controller, struct engine_settings *engine, struct error *error)
{
	struct arena *arena = &controller->arena;

	engine->region = controller->settings.region;
	engine->environment = &controller->environment;
	engine->proxies = &controller->proxies;
	return check_endpoints(controller, error) &&
	       aws_ca_bundle(arena, &controller->environment, &engine->aws_ca_file, error) &&
	       aws_max_attempts(arena, &controller->environment, &engine->max_attempts, error);
}

static bool configure(struct controller *controller, struct client *client, struct error *error)
{
	struct settings *settings = &controller->settings;

	controller->environment = (struct aws_environment){.get = environment_get};
	if (!proxies_load(&controller->arena, environment_get, NULL, &controller->proxies, error) ||
	    !configure_region(controller, client, error) || !configure_cluster(controller, error))
		return false;
	controller->engine = (struct engine_settings){
		.table = settings->table,
		.create_table = settings->create_journal,
		.leader_elect = settings->leader_elect,
		.lease_namespace = settings->lease_namespace ? settings->lease_namespace : controller->kube.namespace_,
		.cluster_name = settings->cluster_name,
		.pod_namespace = variable("POD_NAMESPACE"),
		.pod_name = variable("POD_NAME"),
		.node_name = variable("NODE_NAME"),
		.resync_ms = settings->resync_ms,
		.poll_ms = settings->poll_interval_ms,
		.kube = &controller->kube,
	};
	return configure_aws(controller, &controller->engine, error) &&
	       make_identity(&controller->arena, &controller->engine.identity, error);
}

static int drive(struct controller *controller, struct client *client)
{
	struct engine *engine = engine_new(&controller->engine, client);
	int code;

	log_event(LOG_INFO, "zonevac " ZONEVAC_VERSION " begins", "cluster", controller->kube.source, "region",
	          controller->settings.region, "journal", controller->settings.journal, NULL);
	while (engine_step(engine))
		if (stop_wanted)
			engine_stop(engine);
	code = engine_exit_code(engine);
	engine_free(engine);
	return code;
}

static int serve(struct controller *controller, struct client *client)
{
	struct error error;
	int code;

	if (controller->settings.listen[0]) {
		controller->engine.web = web_start(controller->settings.listen, &error);
		if (!controller->engine.web)
			return fail(error.kind == ERROR_INPUT ? EXIT_USAGE : EXIT_UNREACHABLE, &error);
	}
	code = drive(controller, client);
	web_stop(controller->engine.web);
	log_event(LOG_INFO, "ended", NULL);
	return code;
}

static int configure_and_serve(struct controller *controller)
{
	struct error error;
	struct client *client = curl_client_new(USER_AGENT, &error);
	int code;

	if (!client)
		return fail(EXIT_UNREACHABLE, &error);
	/* Before anything waits: to the first process of a container a signal that is not caught does not come at all. */
	catch_signals(client);
	if (configure(controller, client, &error))
		code = serve(controller, client);
	else
		code = stop_wanted ? EXIT_DONE : fail(EXIT_USAGE, &error);
	kube_config_done(&controller->kube);
	woken = NULL;
	curl_client_free(client);
	return code;
}

static int run_controller(int count, const char *const *arguments)
{
	struct controller *controller = calloc(1, sizeof(*controller));
	struct error error;
	bool help = false;
	int code;

	if (!controller)
		abort();
	arena_init(&controller->arena, "controller", 64u << 20);
	if (!settings_load(&controller->arena, count, arguments, environment_get, NULL, &controller->settings, &help,
	                   &error)) {
		code = fail(EXIT_USAGE, &error);
	} else if (help) {
		printf("usage: zonevac controller [flags]\n\nWatch ZonalEvacuations and act on them.\n\n");
		settings_print_help(stdout);
		code = EXIT_DONE;
	} else {
		configure_log(&controller->settings);
		code = configure_and_serve(controller);
	}
	arena_done(&controller->arena);
	free(controller);
	return code;
}

static int run_version(int count, const char *const *arguments)
{
	(void)arguments;
	if (count > 0) {
		fprintf(stderr, "zonevac: version takes no arguments\n");
		return EXIT_USAGE;
	}
	printf("zonevac %s\n", ZONEVAC_VERSION);
	return EXIT_DONE;
}

struct verb {
	const char *name;
	int (*run)(int count, const char *const *arguments);
	const char *prose;
};

static const struct verb verbs[] = {
	{"controller", run_controller, "watch ZonalEvacuations and act on them"},
	{"version", run_version, "say which version this is"},
};

static void print_usage(FILE *out)
{
	fprintf(
		out,
		"zonevac empties one AWS Availability Zone and puts it back exactly as it was.\n\nusage: zonevac VERB [flags]\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-12s %s\n", verbs[i].name, verbs[i].prose);
	fprintf(out, "\n`zonevac VERB --help` lists the flags.\n");
}

int command_run(int count, const char *const *arguments)
{
	const char *name = count > 1 ? arguments[1] : NULL;

	if (name && (text_equal(name, "--help") || text_equal(name, "-h") || text_equal(name, "help"))) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	for (size_t i = 0; name && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (text_equal(verbs[i].name, name))
			return verbs[i].run(count - 2, arguments + 2);
	if (name)
		fprintf(stderr, "zonevac: there is no verb \"%s\"\n\n", name);
	print_usage(stderr);
	return EXIT_USAGE;
}
