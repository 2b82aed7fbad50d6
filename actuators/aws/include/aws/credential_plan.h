/*
 * Where credentials come from, decided from variables and the shared files; nothing is called.
 *
 * The SDKs' order; the first source that is configured is the one:
 *   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_CREDENTIAL_EXPIRATION; also when AWS_PROFILE
 *      is set, unless the profile it names has a role that is to be assumed with just these (credential_source =
 *      Environment): then that profile comes first
 *   2. the profile that AWS_PROFILE names, if it says anything about credentials
 *   3. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN (IRSA)
 *   4. the profile default, if it says anything about credentials. Within one, in this order:
 *      role_arn with source_profile or credential_source (before keys in the first profile; in a source profile keys
 *      end the chain), keys, web_identity_token_file with role_arn, SSO and login sessions (refused, with what to do
 *      instead), credential_process
 *   5. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI (ECS, EKS Pod Identity)
 *   6. instance metadata, unless AWS_EC2_METADATA_DISABLED=true
 *
 * ERROR_INPUT: configured but incomplete, contradictory (source_profile beside credential_source, a loop, a chain
 * longer than CREDENTIAL_ROLES_MAX, more than an hour for a role that a role assumes), not allowed (a container
 * address over http that is none of loopback, 169.254.170.2, 169.254.170.23, fd00:ec2::23; mfa_serial: nobody is
 * there to type), or a file that cannot be read. ERROR_ABSENT: nothing is configured and metadata is disabled. Each
 * says which variable, file, profile and key, and what to do. Source: AWS SDKs and Tools Reference Guide,
 * "Standardized credential providers".
 */
#ifndef AWS_CREDENTIAL_PLAN_H
#define AWS_CREDENTIAL_PLAN_H

#include "aws/credentials.h"
#include "aws/region.h"

enum credential_kind {
	CREDENTIAL_KEYS,         /* plan.keys */
	CREDENTIAL_WEB_IDENTITY, /* plan.web_identity, by STS AssumeRoleWithWebIdentity, unsigned */
	CREDENTIAL_CONTAINER,    /* plan.container */
	CREDENTIAL_INSTANCE,     /* plan.instance */
	CREDENTIAL_PROCESS,      /* plan.argv */
};

/* AssumeRole, or for a web identity AssumeRoleWithWebIdentity. */
struct credential_role {
	const char *arn;
	const char *session_name; /* never NULL: role_session_name, AWS_ROLE_SESSION_NAME, else "zonevac-<unique>" */
	const char *external_id;  /* NULL = none */
	int32_t duration_s;       /* 3600 unless duration_seconds says otherwise (900 to 43200) */
};

struct credential_plan {
	enum credential_kind kind;
	const char *source; /* how it is called in logs and errors: "environment", "profile prod" */
	struct aws_credentials keys;
	struct {
		struct credential_role role;
		const char *token_file; /* read anew at each use */
	} web_identity;
	struct {
		const char *url;
		const char *token_file; /* AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, read anew at each use; wins over token */
		const char *token;      /* AWS_CONTAINER_AUTHORIZATION_TOKEN */
	} container;
	struct {
		const char *base_url; /* "http://169.254.169.254", "http://[fd00:ec2::254]"; no slash at the end */
		bool no_v1; /* AWS_EC2_METADATA_V1_DISABLED, ec2_metadata_v1_disabled: rather do without than ask tokenless */
		int32_t timeout_ms; /* AWS_METADATA_SERVICE_TIMEOUT (s); 1000 */
		int attempts;       /* AWS_METADATA_SERVICE_NUM_ATTEMPTS; 3 */
		bool named;         /* asked for by name; else it is the last resort, and its silence means "no credentials" */
	} instance;
	const char *const *argv; /* credential_process, split as a POSIX shell splits words, without expanding anything */

#define CREDENTIAL_ROLES_MAX 8
	/* Assumed one after another on top of it, the first one with the source's own credentials. */
	struct credential_role roles[CREDENTIAL_ROLES_MAX];
	size_t role_count;
	struct aws_endpoint sts; /* the region's: never the global one */
};

/*
 * Reads the shared files (AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, ~/.aws/…, at most 1 MiB each), no token file.
 * `region`: of STS; NULL only when nothing asks STS. `unique`: a word that tells this process from others, for
 * session names.
 */
bool credential_plan_make(struct arena *arena, const struct aws_environment *environment, const char *region,
                          const char *unique, struct credential_plan *out, struct error *error);

/*
 * The metadata service alone, as the variables (and the profile) have it: for the region. False: ERROR_ABSENT when it
 * is disabled, ERROR_INPUT when a setting is wrong.
 */
bool credential_plan_instance(struct arena *arena, const struct aws_environment *environment,
                              struct credential_plan *out, struct error *error);

#endif
