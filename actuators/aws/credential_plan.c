#include "aws/credential_plan.h"

#include <string.h>
#include <strings.h>

#include "aws/credential_process.h"
#include "aws/shared_files.h"
#include "base/text.h"
#include "credential_places.h"

#define ROLE_DURATION_S 3600
/* Source: STS API reference, AssumeRole. */
#define SESSION_NAME_LENGTH 64
#define ROLE_ARN_MAX_LENGTH 2048
#define EXTERNAL_ID_MIN_LENGTH 2
#define EXTERNAL_ID_MAX_LENGTH 1224
#define WAY_OUT \
	"give the pod a role (EKS Pod Identity or IRSA), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

static const char session_name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+=,.@-";

/* A profile of the chain that is being followed. */
struct link {
	const char *name;
	const struct profile *profile;
	const char *role_arn;
	const char *source_profile;
	const char *credential_source;
};

/* The profiles whose roles are assumed, the active one first. */
struct chain {
	const char *names[CREDENTIAL_ROLES_MAX];
	size_t count;
};

static bool has_variable_keys(const struct aws_environment *environment)
{
	return aws_env(environment, "AWS_ACCESS_KEY_ID") != NULL || aws_env(environment, "AWS_SECRET_ACCESS_KEY") != NULL;
}

static bool has_keys(const struct profile *profile)
{
	return credential_setting(profile, "aws_access_key_id") != NULL ||
	       credential_setting(profile, "aws_secret_access_key") != NULL;
}

static bool take_variable_keys(struct credential_planning *planning)
{
	static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};
	struct aws_credentials *keys = &planning->out->keys;
	const char *expiration = credential_variable(planning, "AWS_CREDENTIAL_EXPIRATION");
	const char *values[] = {credential_variable(planning, names[0]), credential_variable(planning, names[1]),
	                        credential_variable(planning, names[2])};

	planning->out->kind = CREDENTIAL_KEYS;
	for (size_t i = 0; i < 2; i++) {
		if (values[i] == NULL)
			return error_set(planning->error, ERROR_INPUT, "%s is set but %s is not: set both or none", names[1 - i],
			                 names[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		if (!aws_credentials_check_word(names[i], values[i], planning->error))
			return false;
	}
	if (expiration != NULL && (!wallclock_parse(expiration, &keys->expires_at) || keys->expires_at.us == 0))
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS_CREDENTIAL_EXPIRATION is not a time like 2030-01-02T03:04:05Z: correct or unset it");
	keys->access_key_id = values[0];
	keys->secret_access_key = values[1];
	keys->session_token = values[2];
	return true;
}

static bool check_setting(struct credential_planning *planning, const char *profile, const char *key, const char *value)
{
	return aws_credentials_check_word(arena_printf(planning->arena, "%s of AWS profile \"%s\"", key, profile), value,
	                                  planning->error);
}

static bool take_profile_keys(struct credential_planning *planning, const struct link *link)
{
	static const char *const names[] = {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"};
	struct aws_credentials *keys = &planning->out->keys;
	const char *values[3];

	planning->out->kind = CREDENTIAL_KEYS;
	for (size_t i = 0; i < 3; i++)
		values[i] = credential_setting(link->profile, names[i]);
	for (size_t i = 0; i < 2; i++) {
		if (values[i] == NULL)
			return error_set(planning->error, ERROR_INPUT, "AWS profile \"%s\" has %s but no %s: write both or none",
			                 link->name, names[1 - i], names[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		if (!check_setting(planning, link->name, names[i], values[i]))
			return false;
	}
	keys->access_key_id = values[0];
	keys->secret_access_key = values[1];
	keys->session_token = values[2];
	return true;
}

/* What a session is called when nobody says: others than STS's letters are left out. */
static const char *default_session_name(const struct credential_planning *planning)
{
	char *name = arena_printf(planning->arena, "zonevac-%s", planning->unique != NULL ? planning->unique : "");
	size_t length = 0;

	for (const char *at = name; *at != '\0' && length < SESSION_NAME_LENGTH; at++) {
		if (strchr(session_name_letters, *at) != NULL)
			name[length++] = *at;
	}
	name[length] = '\0';
	return name;
}

static bool take_session_name(struct credential_planning *planning, const char *what, const char *name,
                              struct credential_role *role)
{
	if (name == NULL) {
		what = "AWS_ROLE_SESSION_NAME";
		name = credential_variable(planning, what);
	}
	role->session_name = name != NULL ? name : default_session_name(planning);
	if (name == NULL || (strspn(name, session_name_letters) == strlen(name) && strlen(name) >= 2 &&
	                     strlen(name) <= SESSION_NAME_LENGTH))
		return true;
	return error_set(planning->error, ERROR_INPUT,
	                 "%s is not a name of 2 to 64 letters, digits and any of _ + = , . @ -: correct or remove it",
	                 what);
}

static bool take_role_arn(struct credential_planning *planning, const char *what, const char *arn,
                          struct credential_role *role)
{
	role->arn = arn;
	role->duration_s = ROLE_DURATION_S;
	if (!aws_credentials_check_word(what, arn, planning->error))
		return false;
	if (text_starts_with(arn, "arn:") && strstr(arn, ":role/") != NULL && strlen(arn) <= ROLE_ARN_MAX_LENGTH)
		return true;
	return error_set(planning->error, ERROR_INPUT,
	                 "%s is not the ARN of a role, like arn:aws:iam::111122223333:role/name", what);
}

static bool take_external_id(struct credential_planning *planning, const struct link *link,
                             struct credential_role *role)
{
	const char *id = credential_setting(link->profile, "external_id");
	size_t length = id != NULL ? strlen(id) : EXTERNAL_ID_MIN_LENGTH;

	role->external_id = id;
	if (!check_setting(planning, link->name, "external_id", id))
		return false;
	if (length >= EXTERNAL_ID_MIN_LENGTH && length <= EXTERNAL_ID_MAX_LENGTH)
		return true;
	return error_set(planning->error, ERROR_INPUT,
	                 "external_id of AWS profile \"%s\" has %zu characters, AWS takes %d to %d: correct or remove it",
	                 link->name, length, EXTERNAL_ID_MIN_LENGTH, EXTERNAL_ID_MAX_LENGTH);
}

static bool take_profile_role(struct credential_planning *planning, const struct link *link,
                              struct credential_role *role)
{
	const char *duration = credential_setting(link->profile, "duration_seconds");
	long long duration_s = ROLE_DURATION_S;

	*role = (struct credential_role){0};
	if (credential_setting(link->profile, "mfa_serial") != NULL)
		return error_set(
			planning->error, ERROR_INPUT,
			"AWS profile \"%s\" has mfa_serial, but nobody is there to type a code: let the role be assumed "
			"without one and remove mfa_serial",
			link->name);
	if (duration != NULL && !text_parse_integer(duration, 900, 43200, &duration_s))
		return error_set(planning->error, ERROR_INPUT,
		                 "duration_seconds of AWS profile \"%s\" is not a number from 900 to 43200", link->name);
	if (!take_external_id(planning, link, role) ||
	    !take_role_arn(planning, arena_printf(planning->arena, "role_arn of AWS profile \"%s\"", link->name),
	                   link->role_arn, role))
		return false;
	role->duration_s = (int32_t)duration_s;
	return take_session_name(planning,
	                         arena_printf(planning->arena, "role_session_name of AWS profile \"%s\"", link->name),
	                         credential_setting(link->profile, "role_session_name"), role);
}

static bool take_variable_web_identity(struct credential_planning *planning)
{
	struct credential_role *role = &planning->out->web_identity.role;
	const char *arn = credential_variable(planning, "AWS_ROLE_ARN");

	planning->out->source = "web identity";
	planning->out->kind = CREDENTIAL_WEB_IDENTITY;
	planning->out->web_identity.token_file = credential_variable(planning, "AWS_WEB_IDENTITY_TOKEN_FILE");
	if (arn == NULL)
		return error_set(
			planning->error, ERROR_INPUT,
			"AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not: annotate the service account with "
			"eks.amazonaws.com/role-arn and start the pod anew, or unset both");
	return take_role_arn(planning, "AWS_ROLE_ARN", arn, role) && take_session_name(planning, NULL, NULL, role);
}

static bool take_profile_web_identity(struct credential_planning *planning, const struct link *link)
{
	struct credential_role *role = &planning->out->web_identity.role;

	planning->out->kind = CREDENTIAL_WEB_IDENTITY;
	planning->out->web_identity.token_file = credential_setting(link->profile, "web_identity_token_file");
	if (link->role_arn == NULL)
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS profile \"%s\" has web_identity_token_file but no role_arn: write the role's ARN there",
		                 link->name);
	return take_profile_role(planning, link, role);
}

static bool take_process(struct credential_planning *planning, const struct link *link)
{
	planning->out->kind = CREDENTIAL_PROCESS;
	return credential_process_split(planning->arena, credential_setting(link->profile, "credential_process"),
	                                &planning->out->argv, planning->error) ||
	       error_wrap(planning->error, "AWS profile \"%s\"", link->name);
}

static struct link link_of(const char *name, const struct profile *profile)
{
	return (struct link){
		.name = name,
		.profile = profile,
		.role_arn = credential_setting(profile, "role_arn"),
		.source_profile = credential_setting(profile, "source_profile"),
		.credential_source = credential_setting(profile, "credential_source"),
	};
}

/* By which key a person signs in, or NULL. */
static const char *sign_in_of(const struct profile *profile)
{
	static const char *const keys[] = {"sso_session", "sso_start_url", "sso_account_id", "sso_role_name",
	                                   "login_session"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (credential_setting(profile, keys[i]) != NULL)
			return keys[i];
	}
	return NULL;
}

static bool refuse_sign_in(struct credential_planning *planning, const struct link *link)
{
	return error_set(
		planning->error, ERROR_INPUT,
		"AWS profile \"%s\" has %s: a person signs in to it, which is left to the AWS CLI: write a profile of "
		"its own with the line \"credential_process = aws configure export-credentials --profile %s\" and "
		"name that one",
		link->name, sign_in_of(link->profile), link->name);
}

/* It says where credentials come from, but not all of it. */
static bool refuse_incomplete(struct credential_planning *planning, const struct link *link)
{
	if (link->role_arn != NULL)
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS profile \"%s\" has role_arn but does not say whose credentials assume it: add "
		                 "source_profile (%s itself if it has keys), credential_source or web_identity_token_file",
		                 link->name, link->name);
	return error_set(planning->error, ERROR_INPUT,
	                 "AWS profile \"%s\" has %s but no role_arn: add the role's ARN, or the keys themselves",
	                 link->name, link->source_profile != NULL ? "source_profile" : "credential_source");
}

/* Whether the profile has anything to do with credentials: one with a region alone has not. */
static bool concerns_credentials(const struct link *link)
{
	return has_keys(link->profile) || link->role_arn != NULL || link->source_profile != NULL ||
	       link->credential_source != NULL || credential_setting(link->profile, "web_identity_token_file") != NULL ||
	       sign_in_of(link->profile) != NULL || credential_setting(link->profile, "credential_process") != NULL;
}

/* The end of a chain: a profile that has credentials of its own. */
static bool take_own(struct credential_planning *planning, const struct link *link)
{
	if (has_keys(link->profile))
		return take_profile_keys(planning, link);
	if (credential_setting(link->profile, "web_identity_token_file") != NULL)
		return take_profile_web_identity(planning, link);
	if (sign_in_of(link->profile) != NULL)
		return refuse_sign_in(planning, link);
	if (credential_setting(link->profile, "credential_process") != NULL)
		return take_process(planning, link);
	return refuse_incomplete(planning, link);
}

static bool take_named_source(struct credential_planning *planning, const struct link *link)
{
	const char *source = link->credential_source;
	const char *missing = NULL;
	bool taken;

	if (strcasecmp(source, "Environment") == 0) {
		missing = has_variable_keys(planning->environment) ? NULL : "AWS_ACCESS_KEY_ID";
		taken = missing == NULL && take_variable_keys(planning);
	} else if (strcasecmp(source, "EcsContainer") == 0) {
		missing = credential_places_has_container(planning) ? NULL : "AWS_CONTAINER_CREDENTIALS_FULL_URI";
		taken = missing == NULL && credential_places_container(planning);
	} else if (strcasecmp(source, "Ec2InstanceMetadata") == 0) {
		const struct profile *active = NULL;

		taken = shared_files_profile(planning->arena, planning->environment, &active, planning->error) &&
		        credential_places_instance(planning, active);
		planning->out->instance.named = true;
	} else {
		return error_set(
			planning->error, ERROR_INPUT,
			"credential_source of AWS profile \"%s\" is none of Environment, Ec2InstanceMetadata, EcsContainer",
			link->name);
	}
	if (missing != NULL)
		return error_set(
			planning->error, ERROR_INPUT,
			"credential_source of AWS profile \"%s\" is %s, but %s is not set: set it, or change the profile",
			link->name, source, missing);
	if (!taken) {
		error_wrap(planning->error, "credential_source of AWS profile \"%s\"", link->name);
		planning->error->kind = ERROR_INPUT;
	}
	return taken;
}

/* The profile that assumes this one's role. */
static bool next_link(struct credential_planning *planning, const struct chain *chain, struct link *link)
{
	const char *name = link->source_profile;
	const char *from = link->name;
	const struct profile *profile = NULL;

	/* A profile may name itself for the keys beside its role. */
	if (text_equal(name, from) && has_keys(link->profile))
		return true;
	for (size_t i = 0; i < chain->count; i++) {
		if (text_equal(chain->names[i], name))
			return error_set(planning->error, ERROR_INPUT,
			                 "source_profile of AWS profile \"%s\" leads back to \"%s\": break the loop with a profile "
			                 "that has keys or a credential_source",
			                 from, name);
	}
	if (!shared_files_other_profile(planning->arena, planning->environment, name, &profile, planning->error))
		return false;
	if (profile == NULL)
		return error_set(planning->error, ERROR_INPUT,
		                 "source_profile of AWS profile \"%s\" is \"%s\", but neither shared file has that profile: "
		                 "add or correct it",
		                 from, name);
	*link = link_of(name, profile);
	return concerns_credentials(link) ||
	       error_set(planning->error, ERROR_INPUT,
	                 "AWS profile \"%s\", the source_profile of \"%s\", has no credentials: add keys, a role or a "
	                 "credential_process",
	                 name, from);
}

/* Keys beside a role stand for the role's source in the first profile, and end the chain in any other. */
static bool ends_chain(const struct chain *chain, const struct link *link)
{
	if (link->role_arn == NULL || (chain->count > 0 && has_keys(link->profile)))
		return true;
	return link->source_profile == NULL && link->credential_source == NULL &&
	       credential_setting(link->profile, "web_identity_token_file") != NULL;
}

static bool add_role(struct credential_planning *planning, struct chain *chain, const struct link *link)
{
	struct credential_plan *out = planning->out;

	if (link->source_profile != NULL && link->credential_source != NULL)
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS profile \"%s\" has source_profile and credential_source: remove one of them", link->name);
	if (link->source_profile == NULL && link->credential_source == NULL)
		return refuse_incomplete(planning, link);
	if (out->role_count == CREDENTIAL_ROLES_MAX)
		return error_set(planning->error, ERROR_INPUT,
		                 "AWS profile \"%s\" is the source of more than %d roles on top of each other: assume fewer",
		                 link->name, CREDENTIAL_ROLES_MAX);
	chain->names[chain->count++] = link->name;
	return take_profile_role(planning, link, &out->roles[out->role_count++]);
}

/* From the active profile to the one that ends the chain, which *link is at the end. */
static bool follow(struct credential_planning *planning, struct link *link)
{
	struct chain chain = {0};

	while (!ends_chain(&chain, link)) {
		if (!add_role(planning, &chain, link))
			return false;
		if (link->credential_source != NULL)
			return take_named_source(planning, link);
		if (!next_link(planning, &chain, link))
			return false;
	}
	return take_own(planning, link);
}

/* Found from the outermost to the innermost; assumed the other way round. */
static void turn_roles(struct credential_plan *out)
{
	for (size_t i = 0; i < out->role_count / 2; i++) {
		struct credential_role role = out->roles[i];

		out->roles[i] = out->roles[out->role_count - 1 - i];
		out->roles[out->role_count - 1 - i] = role;
	}
}

/* Source: IAM user guide, "Methods to assume a role": a role assumed by a role's session lasts an hour at most. */
static bool check_durations(struct credential_planning *planning)
{
	const struct credential_plan *out = planning->out;

	for (size_t i = out->kind == CREDENTIAL_WEB_IDENTITY ? 0 : 1; i < out->role_count; i++) {
		if (out->roles[i].duration_s > ROLE_DURATION_S)
			return error_set(
				planning->error, ERROR_INPUT,
				"duration_seconds of the role %s is %d, but AWS grants a role that another role assumes at "
				"most %d: lower it",
				out->roles[i].arn, (int)out->roles[i].duration_s, ROLE_DURATION_S);
	}
	return true;
}

static bool take_profile(struct credential_planning *planning, struct link link)
{
	static const char *const kinds[] = {
		[CREDENTIAL_KEYS] = "",
		[CREDENTIAL_WEB_IDENTITY] = ", web identity",
		[CREDENTIAL_CONTAINER] = ", container",
		[CREDENTIAL_INSTANCE] = ", instance metadata",
		[CREDENTIAL_PROCESS] = ", credential_process",
	};
	const char *active = link.name;
	const char *kind;

	if (!follow(planning, &link))
		return false;
	turn_roles(planning->out);
	kind = kinds[planning->out->kind];
	if (planning->out->kind == CREDENTIAL_KEYS && !has_keys(link.profile))
		kind = ", environment";
	planning->out->source =
		text_equal(active, link.name)
			? arena_printf(planning->arena, "profile %s%s", active, kind)
			: arena_printf(planning->arena, "profile %s, source_profile %s%s", active, link.name, kind);
	return check_durations(planning);
}

static bool take_last_resort(struct credential_planning *planning, const struct profile *profile)
{
	planning->out->source = "instance metadata";
	if (credential_places_instance(planning, profile))
		return true;
	if (planning->error->kind == ERROR_ABSENT) {
		struct error reason = *planning->error;

		error_set(planning->error, ERROR_ABSENT, "there are no AWS credentials, and %s: " WAY_OUT, reason.message);
	}
	return false;
}

/*
 * AWS_PROFILE names a profile whose role is to be assumed with the keys of the environment: then those alone are not
 * meant. What else may be wrong with the files does not matter to keys in the environment.
 */
static bool is_for_variable_keys(const struct credential_planning *planning)
{
	const char *name = aws_env(planning->environment, "AWS_PROFILE");

	for (size_t i = 0; i <= CREDENTIAL_ROLES_MAX && name != NULL; i++) {
		const struct profile *profile = NULL;
		struct error unwanted = {0};
		struct link link;

		if (!shared_files_other_profile(planning->arena, planning->environment, name, &profile, &unwanted))
			return false;
		link = link_of(name, profile);
		if (link.role_arn == NULL || (i > 0 && has_keys(profile)))
			return false;
		if (link.credential_source != NULL)
			return strcasecmp(link.credential_source, "Environment") == 0;
		name = link.source_profile;
	}
	return false;
}

static bool take_first(struct credential_planning *planning)
{
	bool named = aws_env(planning->environment, "AWS_PROFILE") != NULL;
	bool with_token = aws_env(planning->environment, "AWS_WEB_IDENTITY_TOKEN_FILE") != NULL;
	const struct profile *profile = NULL;
	struct link link;

	if (has_variable_keys(planning->environment) && !is_for_variable_keys(planning)) {
		planning->out->source = "environment";
		return take_variable_keys(planning);
	}
	if (with_token && !named)
		return take_variable_web_identity(planning);
	if (!shared_files_profile(planning->arena, planning->environment, &profile, planning->error))
		return false;
	link = link_of(arena_string(planning->arena, shared_files_profile_name(planning->environment)), profile);
	if (concerns_credentials(&link))
		return take_profile(planning, link);
	if (with_token)
		return take_variable_web_identity(planning);
	planning->out->source = "container";
	if (credential_places_has_container(planning))
		return credential_places_container(planning);
	return take_last_resort(planning, profile);
}

bool credential_plan_make(struct arena *arena, const struct aws_environment *environment, const char *region,
                          const char *unique, struct credential_plan *out, struct error *error)
{
	struct credential_planning planning = {
		.arena = arena, .environment = environment, .unique = unique, .out = out, .error = error};

	*out = (struct credential_plan){0};
	if (!take_first(&planning))
		return false;
	out->keys.source = out->source;
	if (out->role_count == 0 && out->kind != CREDENTIAL_WEB_IDENTITY)
		return true;
	if (region == NULL)
		return error_set(error, ERROR_INPUT,
		                 "a role is to be assumed (%s), but no AWS region is set to ask STS in: give --region, or set "
		                 "AWS_REGION",
		                 out->source);
	return aws_endpoint_of(arena, aws_service_find("sts"), region, environment, &out->sts, error);
}

bool credential_plan_instance(struct arena *arena, const struct aws_environment *environment,
                              struct credential_plan *out, struct error *error)
{
	struct credential_planning planning = {.arena = arena, .environment = environment, .out = out, .error = error};
	const struct profile *profile = NULL;

	*out = (struct credential_plan){.source = "instance metadata"};
	return shared_files_profile(arena, environment, &profile, error) && credential_places_instance(&planning, profile);
}
