#include "aws/region.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "aws/shared_files.h"
#include "base/text.h"

#define REGION_MAX_LENGTH 32

/* Source: the SDKs' partitions file. A region is one of the prefixes, a word and a number: "us" "-east" "-1". */
struct partition {
	const char *name;
	const char *prefixes[12];
	const char *dns_suffix;
	const char *dual_stack_suffix;
};

static const struct partition partitions[] = {
	{"aws", {"us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"}, "amazonaws.com", "api.aws"},
	{"aws-cn", {"cn"}, "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"aws-us-gov", {"us-gov"}, "amazonaws.com", "api.aws"},
	{"aws-eusc", {"eusc-de"}, "amazonaws.eu", "api.amazonwebservices.eu"},
	{"aws-iso", {"us-iso"}, "c2s.ic.gov", "api.aws.ic.gov"},
	{"aws-iso-b", {"us-isob"}, "sc2s.sgov.gov", "api.aws.scloud"},
	{"aws-iso-e", {"eu-isoe"}, "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"aws-iso-f", {"us-isof"}, "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
};

/* In GovCloud the plain hosts of these are the FIPS ones. */
static const char *const plain_fips_in_gov[] = {"autoscaling", "dynamodb", "ec2", "sts", NULL};

static bool all_digits(const char *string)
{
	return string[0] != '\0' && strspn(string, "0123456789") == strlen(string);
}

static bool in_partition(const struct partition *partition, const char *region)
{
	for (size_t i = 0; partition->prefixes[i] != NULL; i++) {
		size_t size = strlen(partition->prefixes[i]);
		const char *word = region + size + 1;
		size_t word_size;

		if (strncmp(region, partition->prefixes[i], size) != 0 || region[size] != '-')
			continue;
		word_size = strcspn(word, "-");
		if (word_size > 0 && word[word_size] == '-' && all_digits(word + word_size + 1))
			return true;
	}
	return false;
}

static const struct partition *partition_of(const char *region)
{
	for (size_t i = 0; region != NULL && i < sizeof(partitions) / sizeof(partitions[0]); i++) {
		if (in_partition(&partitions[i], region))
			return &partitions[i];
	}
	return &partitions[0];
}

const char *aws_partition(const char *region)
{
	return partition_of(region)->name;
}

bool aws_region_valid(const char *region)
{
	size_t length = region != NULL ? strlen(region) : 0;
	const char *number = length > 0 ? strrchr(region, '-') : NULL;

	if (length > REGION_MAX_LENGTH || number == NULL || !all_digits(number + 1))
		return false;
	return strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && region[0] >= 'a' && region[0] <= 'z' &&
	       strstr(region, "--") == NULL;
}

bool aws_zone_id_valid(const char *zone_id)
{
	size_t letters = zone_id != NULL ? strspn(zone_id, "abcdefghijklmnopqrstuvwxyz") : 0;
	size_t digits = letters > 0 ? strspn(zone_id + letters, "0123456789") : 0;

	if (letters < 2 || letters > 10 || digits == 0)
		return false;
	zone_id += letters + digits;
	return text_starts_with(zone_id, "-az") && all_digits(zone_id + 3);
}

bool aws_region_load(struct arena *arena, const struct aws_environment *environment, const char **out,
                     struct error *error)
{
	const struct profile *profile = NULL;
	const char *from = "AWS_REGION";

	*out = aws_env(environment, from);
	if (*out == NULL)
		*out = aws_env(environment, from = "AWS_DEFAULT_REGION");
	if (*out == NULL) {
		if (!shared_files_profile(arena, environment, &profile, error))
			return false;
		*out = profile_get(profile, "region");
		from = arena_printf(arena, "the region of AWS profile \"%s\"", shared_files_profile_name(environment));
	}
	if (*out == NULL || (*out)[0] == '\0')
		return error_set(error, ERROR_ABSENT, "no AWS region is set: give --region, or set AWS_REGION");
	if (!aws_region_valid(*out))
		return error_set(error, ERROR_INPUT, "%s is \"%.64s\", which is not a region like us-east-1", from, *out);
	return true;
}

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

static bool read_flag(const struct aws_environment *environment, const char *name, bool *out, struct error *error)
{
	const char *value = aws_env(environment, name);

	*out = value != NULL && strcasecmp(value, "true") == 0;
	if (value == NULL || *out || strcasecmp(value, "false") == 0)
		return true;
	return error_set(error, ERROR_INPUT, "%s is \"%.32s\", which is neither true nor false", name, value);
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

static bool override_of(struct arena *arena, const struct aws_service *service,
                        const struct aws_environment *environment, const char **variable, const char **url,
                        struct error *error)
{
	bool ignored;

	*url = NULL;
	if (!read_flag(environment, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", &ignored, error))
		return false;
	if (ignored)
		return true;
	*variable = arena_printf(arena, "AWS_ENDPOINT_URL_%s", service->env_suffix);
	*url = aws_env(environment, *variable);
	if (*url == NULL)
		*url = aws_env(environment, *variable = "AWS_ENDPOINT_URL");
	if (*url != NULL && !is_plain_url(*url))
		return error_set(error, ERROR_INPUT, "%s is not a URL like https://host:port/path", *variable);
	return true;
}

static const char *without_end_slashes(struct arena *arena, const char *url)
{
	size_t length = strlen(url);

	while (length > 0 && url[length - 1] == '/')
		length--;
	return arena_copy(arena, url, length);
}

bool aws_endpoint_of(struct arena *arena, const struct aws_service *service, const char *region,
                     const struct aws_environment *environment, struct aws_endpoint *out, struct error *error)
{
	const char *variable = NULL;
	const char *url = NULL;
	bool dual_stack;
	bool fips;

	if (!aws_region_valid(region))
		return error_set(error, ERROR_INPUT, "\"%.64s\" is not a region like us-east-1", region != NULL ? region : "");
	if (!read_flag(environment, "AWS_USE_FIPS_ENDPOINT", &fips, error) ||
	    !read_flag(environment, "AWS_USE_DUALSTACK_ENDPOINT", &dual_stack, error) ||
	    !override_of(arena, service, environment, &variable, &url, error))
		return false;
	if (url != NULL && (fips || dual_stack))
		return error_set(
			error, ERROR_INPUT, "%s and %s are both set: an endpoint of one's own has no %s variant, unset one of them",
			variable, fips ? "AWS_USE_FIPS_ENDPOINT" : "AWS_USE_DUALSTACK_ENDPOINT", fips ? "FIPS" : "dual-stack");
	out->base_url =
		url != NULL ? without_end_slashes(arena, url) : default_url(arena, service, region, fips, dual_stack);
	out->host = host_of(arena, out->base_url);
	out->signing_region = arena_string(arena, region);
	return true;
}

const char *aws_endpoint_url(struct arena *arena, const struct aws_endpoint *endpoint,
                             const struct http_request *request)
{
	bool has_query = request->query != NULL && request->query[0] != '\0';

	return arena_printf(arena, "%s%s%s%s", endpoint->base_url, request->path, has_query ? "?" : "",
	                    has_query ? request->query : "");
}
