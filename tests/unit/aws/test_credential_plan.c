#include "plans.h"

TestSuite(credential_plan, .init = set_up, .fini = tear_down);

Test(credential_plan, variables_with_keys)
{
	static const struct scenario scenarios[] = {
		{"EnvVar, envvars_are_found_no_token",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     .plan = "keys foo bar - from environment"},
		{"EnvVar, envvars_found_with_session_token",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_SESSION_TOKEN", "baz"},
	     .plan = "keys foo bar baz from environment"},
		{"EnvVar, envvars_not_found",
	     {NULL},
	     .plan = "instance http://169.254.169.254 1000 ms 3 times from instance metadata"},
		{"EnvVar, envvars_empty_string",
	     {"AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "", "AWS_EC2_METADATA_DISABLED", "true"},
	     .part = "there are no AWS credentials",
	     .is_absent = true},
		{"EnvVar, partial_creds_is_an_error",
	     {"AWS_ACCESS_KEY_ID", "foo"},
	     .part = "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not"},
		{"EnvVar, partial_creds_is_an_error_empty_string",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", ""},
	     .part = "AWS_SECRET_ACCESS_KEY is not"},
		{"EnvVar, missing_access_key_id_raises_error",
	     {"AWS_SECRET_ACCESS_KEY", "bar"},
	     .part = "AWS_ACCESS_KEY_ID is not"},
		{"EnvVar, expiry_omitted_if_envvar_empty",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_CREDENTIAL_EXPIRATION", ""},
	     .plan = "keys foo bar - from environment"},
		{"Credentials, detect_nonascii_character",
	     {"AWS_ACCESS_KEY_ID", "foo\xe2\x80\x99", "AWS_SECRET_ACCESS_KEY", "b"},
	     .part = "AWS_ACCESS_KEY_ID contains"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar\n"},
	     .part = "AWS_SECRET_ACCESS_KEY contains"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_SESSION_TOKEN", "a b"},
	     .part = "AWS_SESSION_TOKEN contains"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_CREDENTIAL_EXPIRATION", "soon"},
	     .part = "AWS_CREDENTIAL_EXPIRATION is not a time"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_CREDENTIAL_EXPIRATION",
	      "1970-01-01T00:00:00Z"},
	     .part = "AWS_CREDENTIAL_EXPIRATION is not a time"},
		{NULL,
	     {"AWS_SESSION_TOKEN", "left over", "AWS_EC2_METADATA_DISABLED", "TRUE"},
	     .part = "no AWS credentials",
	     .is_absent = true},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, order_of_the_sources)
{
	static const struct scenario scenarios[] = {
		{"CredentialResolver, first_credential_non_none_wins",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_WEB_IDENTITY_TOKEN_FILE", "/token",
	      "AWS_ROLE_ARN", ROLE("w"), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"},
	     "[default]\n" KEYS,
	     .plan = "keys foo bar - from environment"},
		{"CreateCredentialResolver, no_profile_checks_env_provider",
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     "[default]\ncredential_process = x\n",
	     .plan = "keys foo bar - from environment"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_PROFILE", "chained"},
	     CHAIN,
	     .plan = "keys foo bar - from environment"},
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_PROFILE", "gone"},
	     "[broken\n",
	     .plan = "keys foo bar - from environment"},
		{"AssumeRoleWithWebIdentityCredentialProvider, assume_role_with_no_cache",
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token", "AWS_ROLE_ARN", ROLE("w")},
	     "[default]\n" KEYS,
	     .plan = "web /token w(zonevac-pod-1, 3600) from web identity"},
		{NULL,
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token", "AWS_ROLE_ARN", ROLE("w"), "AWS_PROFILE", "chained"},
	     CHAIN,
	     .plan = "keys akid skid - > d(zonevac-pod-1, 3600) > c(zonevac-pod-1, 3600) from profile chained, "
	             "source_profile longterm"},
		{NULL,
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token", "AWS_ROLE_ARN", ROLE("w"), "AWS_PROFILE", "r"},
	     "[profile r]\nregion = us-east-1\n",
	     .plan = "web /token w(zonevac-pod-1, 3600) from web identity"},
		{NULL,
	     {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
	     "[default]\n" KEYS,
	     .plan = "keys akid skid - from profile default"},
		{NULL,
	     {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials", "AWS_PROFILE", "r"},
	     "[profile r]\nregion = us-east-1\n[default]\n" KEYS,
	     .plan = "container http://169.254.170.23/v1/credentials - from container"},
		{NULL,
	     {"AWS_PROFILE", "r"},
	     "[profile r]\nregion = us-east-1\nrole_arn =\nsource_profile =\n",
	     .plan = "instance http://169.254.169.254 1000 ms 3 times from instance metadata"},
		{"CredentialResolver, no_creds_loaded",
	     {"AWS_EC2_METADATA_DISABLED", "true"},
	     "[default]\nregion = x\n",
	     .part = "there are no AWS credentials, and AWS_EC2_METADATA_DISABLED is true",
	     .is_absent = true},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, web_identity)
{
	static const struct scenario scenarios[] = {
		{"AssumeRoleWithWebIdentityCredentialProvider, role_session_name_provided",
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token", "AWS_ROLE_ARN", ROLE("w"), "AWS_ROLE_SESSION_NAME", "me@b.c"},
	     .plan = "web /token w(me@b.c, 3600) from web identity"},
		{"AssumeRoleWithWebIdentityCredentialProvider, role_arn_not_set",
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
	     "[default]\n" KEYS,
	     .part = "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not"},
		{NULL, {"AWS_ROLE_ARN", ROLE("w")}, "[default]\n" KEYS, .plan = "keys akid skid - from profile default"},
		{NULL, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ROLE_ARN", "myrole"}, .part = "AWS_ROLE_ARN is not the ARN"},
		{NULL,
	     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ROLE_ARN", ROLE("w"), "AWS_ROLE_SESSION_NAME", "a b"},
	     .part = "AWS_ROLE_SESSION_NAME is not a name"},
		{NULL,
	     {"AWS_PROFILE", "w"},
	     "[profile w]\nrole_arn = " ROLE("w") "\nweb_identity_token_file = /t\nrole_session_name = s1\n"
	                                          "duration_seconds = 43200\n",
	     .plan = "web /t w(s1, 43200) from profile w, web identity"},
		{NULL,
	     {"AWS_PROFILE", "w"},
	     "[profile w]\nweb_identity_token_file = /t\n",
	     .part = "\"w\" has web_identity_token_file but no role_arn"},
		{NULL,
	     {"AWS_PROFILE", "w"},
	     "[profile w]\nrole_arn = " ROLE("w") "\nweb_identity_token_file = /t\n" KEYS,
	     .plan = "keys akid skid - from profile w"},
		{NULL,
	     {"AWS_PROFILE", "a"},
	     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = w\n"
	                                          "[profile w]\nrole_arn = " ROLE(
												  "w") "\nweb_identity_token_file = /t\nduration_seconds = 7200\n",
	     .plan =
	         "web /t w(zonevac-pod-1, 7200) > a(zonevac-pod-1, 3600) from profile a, source_profile w, web identity"},
		{NULL,
	     {"AWS_PROFILE", "a"},
	     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = w\nduration_seconds = 3601\n"
	                                          "[profile w]\nrole_arn = " ROLE("w") "\nweb_identity_token_file = /t\n",
	     .part = "at most 3600"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, profiles_with_keys)
{
	static const struct scenario scenarios[] = {
		{"SharedCredentialsProvider, credential_file_exists_default_profile",
	     {NULL},
	     NULL,
	     "[default]\naws_access_key_id = foo\naws_secret_access_key = bar\n",
	     .plan = "keys foo bar - from profile default"},
		{"SharedCredentialsProvider, partial_creds_raise_error",
	     {NULL},
	     NULL,
	     "[default]\naws_access_key_id = foo\n",
	     .part = "\"default\" has aws_access_key_id but no aws_secret_access_key"},
		{"SharedCredentialsProvider, credentials_file_exists_with_session_token",
	     {NULL},
	     NULL,
	     "[default]\n" KEYS "aws_session_token = baz\n",
	     .plan = "keys akid skid baz from profile default"},
		{"SharedCredentialsProvider, credentials_file_with_multiple_profiles",
	     {"AWS_PROFILE", "dev"},
	     NULL,
	     "[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n[dev]\n" KEYS,
	     .plan = "keys akid skid - from profile dev"},
		{"SharedCredentialsProvider, credentials_file_does_not_exist_returns_none",
	     {"AWS_EC2_METADATA_DISABLED", "true"},
	     .part = "no AWS credentials",
	     .is_absent = true},
		{"ConfigFileProvider, config_file_exists",
	     {"AWS_PROFILE", "dev"},
	     "[profile dev]\n" KEYS,
	     .plan = "keys akid skid - from profile dev"},
		{"ConfigFileProvider, config_file_missing_profile_config",
	     {"AWS_PROFILE", "NOT-default"},
	     "[profile dev]\n" KEYS,
	     .part = "AWS_PROFILE is \"NOT-default\", but neither shared file has that profile"},
		{"ConfigFileProvider, partial_creds_is_error",
	     {NULL},
	     "[default]\naws_secret_access_key = b\n",
	     .part = "\"default\" has aws_secret_access_key but no aws_access_key_id"},
		{NULL,
	     {NULL},
	     "[default]\n" KEYS,
	     "[default]\naws_access_key_id = a\naws_secret_access_key = b\n",
	     .plan = "keys a b - from profile default"},
		{NULL,
	     {NULL},
	     "[default]\n" KEYS "credential_process = x\nsso_session = y\n",
	     .plan = "keys akid skid - from profile default"},
		{NULL, {NULL}, "[default]\n" KEYS "source_profile = x\n", .plan = "keys akid skid - from profile default"},
		{NULL,
	     {NULL},
	     "[default]\naws_access_key_id = a\naws_secret_access_key = b\n  c\n",
	     .part = "aws_secret_access_key of AWS profile \"default\" contains"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, sources_named_by_a_profile)
{
#define SOURCED(source) "[profile s]\nrole_arn = " ROLE("s") "\ncredential_source = " source "\n"
	static const struct scenario scenarios[] = {
		{"AssumeRoleCredentialProvider, assume_role_with_credential_source",
	     {"AWS_PROFILE", "s", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_SESSION_TOKEN", "baz"},
	     SOURCED("Environment"),
	     .plan = "keys foo bar baz > s(zonevac-pod-1, 3600) from profile s, environment"},
		{NULL,
	     {"AWS_PROFILE", "s", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", "AWS_WEB_IDENTITY_TOKEN_FILE",
	      "/token", "AWS_ROLE_ARN", ROLE("w")},
	     SOURCED("Environment"),
	     .plan = "keys foo bar - > s(zonevac-pod-1, 3600) from profile s, environment"},
		{"CanonicalNameSource, load_source_credentials_case_insensitive",
	     {"AWS_PROFILE", "s", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     SOURCED("eNVIRONMENT"),
	     .plan = "keys foo bar - > s(zonevac-pod-1, 3600) from profile s, environment"},
		{"AssumeRoleCredentialProvider, credential_source_returns_none",
	     {"AWS_PROFILE", "s"},
	     SOURCED("Environment"),
	     .part = "credential_source of AWS profile \"s\" is Environment, but AWS_ACCESS_KEY_ID is not set"},
		{"CanonicalNameSource, load_unknown_canonical_name_raises_error",
	     {"AWS_PROFILE", "s"},
	     SOURCED("CustomUnknown"),
	     .part = "is none of Environment, Ec2InstanceMetadata, EcsContainer"},
		{"CanonicalNameSource, load_source_credentials",
	     {"AWS_PROFILE", "s"},
	     SOURCED("Ec2InstanceMetadata"),
	     .plan = "instance http://169.254.169.254 1000 ms 3 times, named > s(zonevac-pod-1, 3600) from profile s, "
	             "instance metadata"},
		{NULL,
	     {"AWS_PROFILE", "s", "AWS_EC2_METADATA_DISABLED", "true"},
	     SOURCED("Ec2InstanceMetadata"),
	     .part = "credential_source of AWS profile \"s\": AWS_EC2_METADATA_DISABLED is true"},
		{NULL,
	     {"AWS_PROFILE", "s", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/get"},
	     SOURCED("EcsContainer"),
	     .plan = "container http://169.254.170.2/get - > s(zonevac-pod-1, 3600) from profile s, container"},
		{NULL, {"AWS_PROFILE", "s"}, SOURCED("EcsContainer"), .part = "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set"},
		{NULL,
	     {"AWS_PROFILE", "o", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     SOURCED("Environment") "[profile o]\nrole_arn = " ROLE("o") "\nsource_profile = s\n",
	     .plan = "keys foo bar - > s(zonevac-pod-1, 3600) > o(zonevac-pod-1, 3600) from profile o, source_profile s, "
	             "environment"},
		{NULL,
	     {"AWS_PROFILE", "s", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar", FULL, "http://127.0.0.1/"},
	     SOURCED("EcsContainer"),
	     .plan = "keys foo bar - from environment"},
		/* Keys end the chain before it comes to the variables. */
		{NULL,
	     {"AWS_PROFILE", "o", "AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     SOURCED("Environment") KEYS "[profile o]\nrole_arn = " ROLE("o") "\nsource_profile = s\n",
	     .plan = "keys foo bar - from environment"},
		/* The variables are meant for it only when the profile is asked for by name. */
		{NULL,
	     {"AWS_ACCESS_KEY_ID", "foo", "AWS_SECRET_ACCESS_KEY", "bar"},
	     "[default]\nrole_arn = " ROLE("s") "\ncredential_source = Environment\n",
	     .plan = "keys foo bar - from environment"},
		{NULL,
	     {"AWS_PROFILE", "s", "AWS_ACCESS_KEY_ID", "foo"},
	     SOURCED("Environment"),
	     .part = "credential_source of AWS profile \"s\": AWS_ACCESS_KEY_ID is set but"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, processes)
{
	static const struct scenario scenarios[] = {
		{"ProcessProvider, process_not_invoked_if_profile_does_not_exist",
	     {"AWS_EC2_METADATA_DISABLED", "true"},
	     "[profile other]\ncredential_process = x\n",
	     .part = "no AWS credentials",
	     .is_absent = true},
		{"ProcessProvider, process_not_invoked_if_not_configured_for_empty_config",
	     {"AWS_EC2_METADATA_DISABLED", "true"},
	     "[default]\n",
	     .part = "no AWS credentials",
	     .is_absent = true},
		{"ProcessProvider, can_retrieve_via_process",
	     {NULL},
	     "[default]\ncredential_process = my-process\n",
	     .plan = "process <my-process> from profile default, credential_process"},
		{"ProcessProvider, can_pass_arguments_through",
	     {NULL},
	     "[default]\ncredential_process = my-process --foo --bar \"one two\"\n",
	     .plan = "process <my-process> <--foo> <--bar> <one two> from profile default, credential_process"},
		{NULL,
	     {NULL},
	     "[default]\ncredential_process = my-process \"--open\n  end'\n",
	     .part = "AWS profile \"default\": credential_process ends within quotes"},
		{NULL, {NULL}, "[default]\nrole_arn = " ROLE("a") "\ncredential_process = x\n", .part = "does not say whose"},
	};

	CHECK_ALL(scenarios);
}

Test(credential_plan, sign_ins_are_refused_with_what_to_do)
{
	static const char *const keys[] = {"sso_session", "sso_start_url", "sso_account_id", "sso_role_name",
	                                   "login_session"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *config = arena_printf(
			&arena, "[profile dev]\n%s = x\ncredential_process = y\n[sso-session x]\nsso_region = z\n", keys[i]);

		cr_assert_not(make((const char *[]){"AWS_PROFILE", "dev", NULL}, config, NULL));
		cr_assert_eq(error.kind, ERROR_INPUT);
		cr_assert_not_null(strstr(error.message, arena_printf(&arena, "\"dev\" has %s", keys[i])), "%s", error.message);
		cr_assert_not_null(
			strstr(error.message, "\"credential_process = aws configure export-credentials --profile dev\""), "%s",
			error.message);
	}
}

Test(credential_plan, keys_of_the_environment_end_when_it_says_so)
{
	cr_assert(make((const char *[]){"AWS_ACCESS_KEY_ID", "a", "AWS_SECRET_ACCESS_KEY", "b", "AWS_CREDENTIAL_EXPIRATION",
	                                "2030-01-01T00:00:00+00:00", NULL},
	               NULL, NULL));
	cr_assert_eq(plan.keys.expires_at.us, (int64_t)1893456000 * 1000000);
	cr_assert_not(plan.keys.may_outlive);
}

Test(credential_plan, sts_is_the_regions_own_and_only_there_when_it_is_asked)
{
	cr_assert(make((const char *[]){"AWS_PROFILE", "development", NULL}, CHAIN, NULL));
	cr_assert_str_eq(plan.sts.base_url, "https://sts.eu-west-1.amazonaws.com");
	cr_assert_str_eq(plan.sts.signing_region, "eu-west-1");
	cr_assert(make((const char *[]){"AWS_PROFILE", "longterm", NULL}, CHAIN, NULL));
	cr_assert_null(plan.sts.base_url);
	cr_assert(make((const char *[]){"AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ROLE_ARN", ROLE("w"),
	                                "AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9/", NULL},
	               NULL, NULL),
	          "%s", error.message);
	cr_assert_str_eq(plan.sts.base_url, "http://127.0.0.1:9");
}

Test(credential_plan, without_a_region_only_what_does_not_ask_sts)
{
	const char *web[] = {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ROLE_ARN", ROLE("w"), NULL};

	cr_assert(credential_plan_make(&arena, TABLE("AWS_ACCESS_KEY_ID", "a", "AWS_SECRET_ACCESS_KEY", "b"), NULL, "x",
	                               &plan, &error));
	cr_assert_not(credential_plan_make(&arena, &(struct aws_environment){table_get, web}, NULL, "x", &plan, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, "no AWS region is set"), "%s", error.message);
}

/* p0 <- p1 <- … <- base with keys. */
static const char *chain_of(int roles)
{
	const char *config = "[profile base]\n" KEYS;

	for (int i = 0; i < roles; i++)
		config = arena_printf(&arena, "%s[profile p%d]\nrole_arn = " ROLE("p%d") "\nsource_profile = %s\n", config, i,
		                      i, i + 1 < roles ? arena_printf(&arena, "p%d", i + 1) : "base");
	return config;
}

Test(credential_plan, longest_chain_and_one_more)
{
	const char *variables[] = {"AWS_PROFILE", "p0", NULL};

	cr_assert(make(variables, chain_of(CREDENTIAL_ROLES_MAX), NULL), "%s", error.message);
	cr_assert_eq(plan.role_count, CREDENTIAL_ROLES_MAX);
	cr_assert_str_eq(plan.roles[0].arn, ROLE("p7"));
	cr_assert_str_eq(plan.roles[CREDENTIAL_ROLES_MAX - 1].arn, ROLE("p0"));
	cr_assert_not(make(variables, chain_of(CREDENTIAL_ROLES_MAX + 1), NULL));
	cr_assert_not_null(strstr(error.message, "more than 8 roles"), "%s", error.message);
}

Test(credential_plan, what_is_planned_does_not_hang_on_the_environment)
{
	char key[] = "foo";
	char secret[] = "bar";

	cr_assert(make((const char *[]){"AWS_ACCESS_KEY_ID", key, "AWS_SECRET_ACCESS_KEY", secret, NULL}, NULL, NULL));
	key[0] = secret[0] = '!';
	cr_assert_str_eq(describe(), "keys foo bar - from environment");
}

Test(credential_plan, no_sentence_repeats_a_secret)
{
#define MARK "MARKEDsecret"
	static const char *const configs[] = {
		"[default]\naws_access_key_id = a\naws_secret_access_key = " MARK " x\n",
		"[default]\naws_secret_access_key = " MARK "\n",
		"[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = " MARK "\n  x\n",
		"[default]\naws_secret_access_key " MARK "\n",
		"aws_secret_access_key = " MARK "\n",
		"[default]\n  " MARK "\n",
		"[default]\ncredential_process =\n  " MARK "\n",
		"[default]\ncredential_process = get --password '" MARK "\n",
		"[default]\ncredential_process = \"\" --password " MARK "\n",
		"[default]\nrole_arn = " ROLE("a") "\nsource_profile = b\nexternal_id = " MARK " x\n[profile b]\n" KEYS,
		"[default]\nrole_arn = " ROLE("a") "\nsource_profile = b\nmfa_serial = " MARK "\n[profile b]\n" KEYS,
		"[default]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\naws_secret_access_key = " MARK "\n",
		"[default]\nsso_session = x\nsso_registration = " MARK "\n",
	};
	static const char *const variables[][8] = {
		{"AWS_SECRET_ACCESS_KEY", MARK},
		{"AWS_SECRET_ACCESS_KEY", MARK "\n", "AWS_ACCESS_KEY_ID", "a"},
		{"AWS_SECRET_ACCESS_KEY", "b", "AWS_ACCESS_KEY_ID", "a", "AWS_SESSION_TOKEN", MARK " "},
		{"AWS_SECRET_ACCESS_KEY", MARK, "AWS_ACCESS_KEY_ID", "a", "AWS_CREDENTIAL_EXPIRATION", MARK},
		{FULL, "http://example.com/?token=" MARK},
		{FULL, "http://user:" MARK "@localhost/"},
		{FULL, "http://localhost/", TOKEN, MARK "\r\n"},
		{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", MARK},
		{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/" MARK "\n"},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", MARK},
		{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://user:" MARK "@localhost/"},
		{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://localhost/?" MARK},
	};

	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		cr_assert_not(make((const char *[]){NULL}, configs[i], NULL), "%zu", i);
		cr_assert_null(strstr(error.message, MARK), "%s", error.message);
		cr_assert_gt(strlen(error.message), 20);
	}
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		cr_assert_not(make(variables[i], NULL, NULL), "%zu", i);
		cr_assert_null(strstr(error.message, MARK), "%s", error.message);
		cr_assert_gt(strlen(error.message), 20);
	}
}
