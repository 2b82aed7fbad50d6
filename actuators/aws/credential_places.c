#include "credential_places.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "setting.h"

const char *credential_setting(const struct profile *profile, const char *key)
{
	const char *value = profile_get(profile, key);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *credential_variable(const struct credential_planning *planning, const char *name)
{
	return arena_string(planning->arena, aws_env(planning->environment, name));
}

/* Host of a URL without its brackets, or NULL when there is none or it has a user in it. */
static const char *host_of(struct arena *arena, const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t length = strcspn(host, "/?#");
	const char *end;

	if (memchr(host, '@', length) != NULL || memchr(host, '\\', length) != NULL)
		return NULL;
	end = host[0] == '[' ? memchr(host, ']', length) : memchr(host, ':', length);
	if (host[0] == '[' && end == NULL)
		return NULL;
	if (host[0] == '[')
		return arena_copy(arena, host + 1, (size_t)(end - host - 1));
	return length > 0 && end != host ? arena_copy(arena, host, end != NULL ? (size_t)(end - host) : length) : NULL;
}

/* Where a token may go unencrypted: this machine, and the agents of ECS and EKS on it. */
static bool is_local_host(const char *host)
{
	static const char *const agents[] = {"169.254.170.2", "169.254.170.23"};
	struct in6_addr agent_six;
	struct in6_addr six;
	struct in_addr four;

	if (strcasecmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       (inet_pton(AF_INET6, "fd00:ec2::23", &agent_six) == 1 && memcmp(&six, &agent_six, sizeof(six)) == 0);
	if (inet_pton(AF_INET, host, &four) != 1)
		return false;
	return ntohl(four.s_addr) >> 24 == 127 || text_equal(host, agents[0]) || text_equal(host, agents[1]);
}

static bool check_url(struct credential_planning *planning, const char *what, const char *url)
{
	bool is_http = strncasecmp(url, "http://", 7) == 0;

	if (!aws_credentials_check_word(what, url, planning->error))
		return false;
	if ((is_http || strncasecmp(url, "https://", 8) == 0) && host_of(planning->arena, url) != NULL)
		return true;
	return error_set(planning->error, ERROR_INPUT, "%s is not a URL like http://host:port/path", what);
}

static bool check_container_url(struct credential_planning *planning, const char *url)
{
	const char *name = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

	if (!check_url(planning, name, url))
		return false;
	if (strncasecmp(url, "https://", 8) == 0 || is_local_host(host_of(planning->arena, url)))
		return true;
	return error_set(planning->error, ERROR_INPUT,
	                 "%s has the host \"%.64s\", which over http must be this machine (localhost, 127.0.0.0/8, ::1), "
	                 "169.254.170.2, 169.254.170.23 or fd00:ec2::23: use https for others",
	                 name, host_of(planning->arena, url));
}

bool credential_places_container(struct credential_planning *planning)
{
	const char *relative = credential_variable(planning, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *token = credential_variable(planning, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct credential_plan *out = planning->out;

	out->kind = CREDENTIAL_CONTAINER;
	out->container.url = credential_variable(planning, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	out->container.token_file = credential_variable(planning, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	if (relative != NULL && relative[0] != '/')
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\": for a whole URL there is "
		                 "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	if (!aws_credentials_check_word("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", relative, planning->error))
		return false;
	if (relative != NULL)
		out->container.url = arena_printf(planning->arena, "http://169.254.170.2%s", relative);
	else if (!check_container_url(planning, out->container.url))
		return false;
	/* "Basic …": blanks are as good as any, but a line break would begin another header. */
	for (const char *at = token != NULL && out->container.token_file == NULL ? token : ""; *at != '\0'; at++) {
		if (*at != ' ' && !isgraph((unsigned char)*at))
			return error_set(
				planning->error, ERROR_INPUT,
				"AWS_CONTAINER_AUTHORIZATION_TOKEN contains a line break or another unprintable character: "
				"set it anew without");
	}
	out->container.token = out->container.token_file == NULL ? token : NULL;
	return true;
}

bool credential_places_has_container(const struct credential_planning *planning)
{
	return aws_env(planning->environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != NULL ||
	       aws_env(planning->environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL;
}

static bool take_number(struct credential_planning *planning, const struct setting *setting, int max, int *out)
{
	long long number;

	if (setting->value == NULL)
		return true;
	if (!text_parse_integer(setting->value, 1, max, &number))
		return error_set(planning->error, ERROR_INPUT, "%s is not a number from 1 to %d", setting->from, max);
	*out = (int)number;
	return true;
}

static bool take_metadata_url(struct credential_planning *planning, const struct setting *mode,
                              const struct setting *endpoint)
{
	bool is_six = mode->value != NULL && strcasecmp(mode->value, "ipv6") == 0;
	size_t length;

	if (mode->value != NULL && !is_six && strcasecmp(mode->value, "ipv4") != 0)
		return error_set(planning->error, ERROR_INPUT, "%s is neither IPv4 nor IPv6", mode->from);
	planning->out->instance.base_url = is_six ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
	if (endpoint->value == NULL)
		return true;
	if (!check_url(planning, endpoint->from, endpoint->value))
		return false;
	if (strpbrk(endpoint->value, "?#") != NULL)
		return error_set(planning->error, ERROR_INPUT, "%s must end with the path: leave out \"?\" and \"#\"",
		                 endpoint->from);
	for (length = strlen(endpoint->value); endpoint->value[length - 1] == '/'; length--)
		;
	planning->out->instance.base_url = arena_copy(planning->arena, endpoint->value, length);
	return true;
}

bool credential_places_instance(struct credential_planning *planning, const struct profile *profile)
{
	static const char *const names[][2] = {
		{"AWS_EC2_METADATA_V1_DISABLED", "ec2_metadata_v1_disabled"},
		{"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode"},
		{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint"},
		{"AWS_METADATA_SERVICE_TIMEOUT", "metadata_service_timeout"},
		{"AWS_METADATA_SERVICE_NUM_ATTEMPTS", "metadata_service_num_attempts"},
	};
	struct setting said[sizeof(names) / sizeof(names[0])];
	struct credential_plan *out = planning->out;
	struct setting disabled =
		setting_find(planning->arena, planning->environment, NULL, "AWS_EC2_METADATA_DISABLED", "");
	bool is_disabled;
	int timeout_s = 1;

	out->kind = CREDENTIAL_INSTANCE;
	out->instance.attempts = 3;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		said[i] = setting_find(planning->arena, planning->environment, profile, names[i][0], names[i][1]);
	if (!setting_flag(&disabled, &is_disabled, planning->error))
		return false;
	if (is_disabled)
		return error_set(planning->error, ERROR_ABSENT, "%s is true, so that instance metadata is not asked",
		                 disabled.from);
	if (!setting_flag(&said[0], &out->instance.no_v1, planning->error) ||
	    !take_metadata_url(planning, &said[1], &said[2]) || !take_number(planning, &said[3], 60, &timeout_s) ||
	    !take_number(planning, &said[4], 10, &out->instance.attempts))
		return false;
	out->instance.timeout_ms = timeout_s * 1000;
	return true;
}
