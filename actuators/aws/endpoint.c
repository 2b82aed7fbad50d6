#include <ctype.h>
#include <string.h>

#include "aws/region.h"
#include "aws/shared_files.h"
#include "base/text.h"
#include "partition.h"
#include "setting.h"

/* In GovCloud the plain hosts of these are the FIPS ones. Source: the services' endpoint rule sets. */
static const char *const plain_fips_in_gov[] = {"autoscaling", "dynamodb", "ec2", "sts", NULL};

/* What variables and profile say about endpoints. */
struct wishes {
	struct setting override;
	struct setting fips_setting;
	struct setting dual_stack_setting;
	bool fips;
	bool dual_stack;
};

/* An http(s) URL of scheme, host, port and path, nothing else. */
static bool is_plain_url(const char *url)
{
	const char *host = strstr(url, "://");
	size_t host_size;
	const char *port;

	if (!text_starts_with(url, "http://") && !text_starts_with(url, "https://"))
		return false;
	for (const char *at = url; *at != '\0'; at++) {
		if (!isgraph((unsigned char)*at) || strchr("?#@\"\\<>", *at) != NULL)
			return false;
	}
	host += 3;
	host_size = strcspn(host, "/");
	port = host[0] == '[' ? memchr(host, ']', host_size) : host;
	if (port == NULL)
		return false;
	port = memchr(port, ':', host_size - (size_t)(port - host));
	if (port == host || host_size == 0)
		return false;
	return port == NULL || strspn(port + 1, "0123456789") == host_size - (size_t)(port - host) - 1;
}

/* Scheme's own port is not part of the Host header. */
static const char *host_of(struct arena *arena, const char *base_url)
{
	bool secure = text_starts_with(base_url, "https://");
	const char *host = strstr(base_url, "://") + 3;
	char *copy = arena_copy(arena, host, strcspn(host, "/"));
	char *port = strrchr(copy, ':');

	if (port != NULL && strchr(port, ']') == NULL && (port[1] == '\0' || text_equal(port + 1, secure ? "443" : "80")))
		*port = '\0';
	return copy;
}

static bool is_plain_fips(const struct partition *partition, const struct aws_service *service)
{
	for (size_t i = 0; plain_fips_in_gov[i] != NULL; i++) {
		if (text_equal(plain_fips_in_gov[i], service->name))
			return text_equal(partition->name, "aws-us-gov");
	}
	return false;
}

static const char *default_url(struct arena *arena, const struct aws_service *service, const char *region, bool fips,
                               bool dual_stack)
{
	const struct partition *partition = partition_of(region);
	bool marked = fips && (dual_stack || !is_plain_fips(partition, service));

	return arena_printf(arena, "https://%s%s.%s.%s", service->host_prefix, marked ? "-fips" : "", region,
	                    dual_stack ? partition->dual_stack_suffix : partition->dns_suffix);
}

static const char *without_end_slashes(struct arena *arena, const char *url)
{
	size_t length = strlen(url);

	while (length > 0 && url[length - 1] == '/')
		length--;
	return arena_copy(arena, url, length);
}

/* "auto_scaling" under which a services section has what is AWS_ENDPOINT_URL_AUTO_SCALING in the environment. */
static const char *section_key(struct arena *arena, const struct aws_service *service)
{
	char *key = arena_string(arena, service->env_suffix);

	for (char *at = key; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return key;
}

/* The first that says something: the service's variable, the general one, the services section, the profile. */
static bool find_override(struct arena *arena, const struct aws_service *service,
                          const struct aws_environment *environment, const struct profile *profile, struct setting *out,
                          struct error *error)
{
	const char *variable = arena_printf(arena, "AWS_ENDPOINT_URL_%s", service->env_suffix);
	const char *key = section_key(arena, service);
	const struct profile *services = NULL;

	*out = (struct setting){aws_env(environment, variable), variable};
	if (out->value == NULL)
		*out = (struct setting){aws_env(environment, "AWS_ENDPOINT_URL"), "AWS_ENDPOINT_URL"};
	if (out->value != NULL)
		return true;
	if (!shared_files_services(arena, environment, &services, error))
		return false;
	out->value = profile_get_below(services, key, "endpoint_url");
	out->from = arena_printf(arena, "endpoint_url of %s in the services section of AWS profile \"%s\"", key,
	                         shared_files_profile_name(environment));
	if (out->value == NULL || out->value[0] == '\0')
		*out = setting_find(arena, environment, profile, "AWS_ENDPOINT_URL", "endpoint_url");
	return true;
}

static bool read_wishes(struct arena *arena, const struct aws_service *service,
                        const struct aws_environment *environment, struct wishes *out, struct error *error)
{
	const struct profile *profile = NULL;
	struct setting ignore;
	bool ignored;

	*out = (struct wishes){0};
	if (!shared_files_profile(arena, environment, &profile, error))
		return false;
	ignore = setting_find(arena, environment, profile, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	                      "ignore_configured_endpoint_urls");
	out->fips_setting = setting_find(arena, environment, profile, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
	out->dual_stack_setting =
		setting_find(arena, environment, profile, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
	if (!setting_flag(&ignore, &ignored, error) || !setting_flag(&out->fips_setting, &out->fips, error) ||
	    !setting_flag(&out->dual_stack_setting, &out->dual_stack, error))
		return false;
	return ignored || find_override(arena, service, environment, profile, &out->override, error);
}

static bool check_override(struct arena *arena, const struct aws_service *service, const char *region,
                           const struct wishes *wishes, struct error *error)
{
	const struct setting *override = &wishes->override;
	const char *other = wishes->fips ? wishes->fips_setting.from : wishes->dual_stack_setting.from;
	const char *dual_stack = default_url(arena, service, region, false, true);

	if (!is_plain_url(override->value))
		return error_set(error, ERROR_INPUT, "%s is not a URL like https://host:port/path", override->from);
	if (wishes->fips || wishes->dual_stack)
		return error_set(error, ERROR_INPUT,
		                 "%s and %s are both set: an endpoint of one's own has no %s variant, unset one of them",
		                 override->from, other, wishes->fips ? "FIPS" : "dual-stack");
	/* Source: DynamoDB's endpoint rule set, which refuses it for this service alone. */
	if (text_equal(service->name, "dynamodb") &&
	    text_equal(host_of(arena, override->value), host_of(arena, dual_stack)))
		return error_set(error, ERROR_INPUT,
		                 "%s is the dual-stack endpoint of dynamodb: unset it and set AWS_USE_DUALSTACK_ENDPOINT=true",
		                 override->from);
	return true;
}

static bool check_partition(const char *region, const struct wishes *wishes, struct error *error)
{
	const struct partition *partition = partition_of(region);

	if (wishes->fips && !partition->has_fips)
		return error_set(error, ERROR_INPUT, "%s is true, but partition %s has no FIPS endpoints",
		                 wishes->fips_setting.from, partition->name);
	if (wishes->dual_stack && !partition->has_dual_stack)
		return error_set(error, ERROR_INPUT, "%s is true, but partition %s has no dual-stack endpoints",
		                 wishes->dual_stack_setting.from, partition->name);
	return true;
}

bool aws_endpoint_of(struct arena *arena, const struct aws_service *service, const char *region,
                     const struct aws_environment *environment, struct aws_endpoint *out, struct error *error)
{
	struct wishes wishes;

	if (!aws_region_valid(region))
		return error_set(error, ERROR_INPUT, "\"%.64s\" is not a region like us-east-1", region != NULL ? region : "");
	if (!read_wishes(arena, service, environment, &wishes, error))
		return false;
	if (wishes.override.value != NULL) {
		if (!check_override(arena, service, region, &wishes, error))
			return false;
		out->base_url = without_end_slashes(arena, wishes.override.value);
	} else {
		if (!check_partition(region, &wishes, error))
			return false;
		out->base_url = default_url(arena, service, region, wishes.fips, wishes.dual_stack);
	}
	out->service = service->name;
	out->host = host_of(arena, out->base_url);
	out->signing_region = arena_string(arena, region);
	return true;
}

const char *aws_endpoint_url(struct arena *arena, const struct aws_endpoint *endpoint,
                             const struct http_request *request)
{
	return http_url(arena, endpoint->base_url, request);
}
