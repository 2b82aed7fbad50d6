#include "plans.h"

TestSuite(credential_plan_roles, .init = set_up, .fini = tear_down);

static const struct scenario role_scenarios[] = {
	{"AssumeRoleCredentialProvider, assume_role_with_no_cache",
     {"AWS_PROFILE", "development"},
     CHAIN,
     .plan = "keys akid skid - > d(zonevac-pod-1, 3600) from profile development, source_profile longterm"},
	{"AssumeRoleCredentialProvider, role_session_name_provided",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nrole_session_name = myname\n[profile b]\n" KEYS,
     .plan = "keys akid skid - > a(myname, 3600) from profile a, source_profile b"},
	{"AssumeRoleCredentialProvider, external_id_provided",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nexternal_id = myid\n[profile b]\n" KEYS,
     .plan = "keys akid skid - > a(zonevac-pod-1, myid, 3600) from profile a, source_profile b"},
	{"AssumeRoleCredentialProvider, assume_role_with_duration",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nduration_seconds = 7200\n[profile b]\n" KEYS,
     .plan = "keys akid skid - > a(zonevac-pod-1, 7200) from profile a, source_profile b"},
	/* There it is left out; here it is an error, because somebody meant something by it. */
	{"AssumeRoleCredentialProvider, assume_role_with_bad_duration",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nduration_seconds = garbage value\n[profile b]\n" KEYS,
     .part = "duration_seconds of AWS profile \"a\" is not a number from 900 to 43200"},
	{"AssumeRoleCredentialProvider, assume_role_with_mfa",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nmfa_serial = mfa\n[profile b]\n" KEYS,
     .part = "\"a\" has mfa_serial, but nobody is there"},
	{"AssumeRoleCredentialProvider, no_config_is_noop",
     {"AWS_PROFILE", "longterm"},
     CHAIN,
     .plan = "keys akid skid - from profile longterm"},
	{"AssumeRoleCredentialProvider, source_profile_not_provided",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\n",
     .part = "\"a\" has role_arn but does not say whose"},
	{"AssumeRoleCredentialProvider, source_profile_does_not_exist",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = does-not-exist\n",
     .part = "source_profile of AWS profile \"a\" is \"does-not-exist\", but"},
	{"AssumeRoleCredentialProvider, incomplete_source_credentials_raises_error",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\naws_secret_access_key = s\n",
     .part = "\"b\" has aws_secret_access_key but no aws_access_key_id"},
	{"AssumeRoleCredentialProvider, source_profile_and_credential_source_provided",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\ncredential_source = Environment\n[profile b]\n" KEYS,
     .part = "\"a\" has source_profile and credential_source"},
	{"AssumeRoleCredentialProvider, source_profile_can_reference_self",
     {"AWS_PROFILE", "self"},
     "[profile self]\n" KEYS "role_arn = " ROLE("s") "\nsource_profile = self\n",
     .plan = "keys akid skid - > s(zonevac-pod-1, 3600) from profile self"},
	{"AssumeRoleCredentialProvider, infinite_looping_profiles_raises_error",
     {"AWS_PROFILE", "first"},
     "[profile first]\nrole_arn = " ROLE("1") "\nsource_profile = second\n"
                                              "[profile second]\nrole_arn = " ROLE("2") "\nsource_profile = first\n",
     .part = "source_profile of AWS profile \"second\" leads back to \"first\""},
	{"AssumeRoleCredentialProvider, recursive_assume_role",
     {"AWS_PROFILE", "chained"},
     CHAIN,
     .plan = "keys akid skid - > d(zonevac-pod-1, 3600) > c(zonevac-pod-1, 3600) from profile chained, "
             "source_profile longterm"},
	{"AssumeRoleCredentialProvider, assume_role_with_profile_provider",
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\ncredential_process = get it\n",
     .plan = "process <get> <it> > a(zonevac-pod-1, 3600) from profile a, source_profile b, credential_process"},
	{"CanonicalNameSource, assume_role_creds_returned_with_config_file",
     {"AWS_PROFILE", "a"},
     "[profile a]\n" KEYS "role_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\naws_access_key_id = x\n"
                                                  "aws_secret_access_key = y\n",
     .plan = "keys x y - > a(zonevac-pod-1, 3600) from profile a, source_profile b"},
	{"CanonicalNameSource, assume_role_creds_returned_with_cred_file",
     {NULL},
     NULL,
     "[default]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[b]\n" KEYS,
     .plan = "keys akid skid - > a(zonevac-pod-1, 3600) from profile default, source_profile b"},
	{"CanonicalNameSource, creds_file_returns_creds_if_assume_role_not_used",
     {"AWS_PROFILE", "b"},
     CHAIN,
     "[b]\naws_access_key_id = x\naws_secret_access_key = y\n",
     .plan = "keys x y - from profile b"},
	{NULL,
     {"AWS_PROFILE", "a", "AWS_ROLE_SESSION_NAME", "all"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\n" KEYS "role_arn = " ROLE("b") "\n",
     .plan = "keys akid skid - > a(all, 3600) from profile a, source_profile b"},
	{NULL,
     {"AWS_PROFILE", "self"},
     "[profile self]\nrole_arn = " ROLE("s") "\nsource_profile = self\n",
     .part = "leads back to \"self\""},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\n" KEYS,
     .part = "add source_profile (a itself if it has keys)"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nsource_profile = b\n[profile b]\n" KEYS,
     .part = "\"a\" has source_profile but no role_arn"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\ncredential_source = Environment\n",
     .part = "\"a\" has credential_source but no role_arn"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\n[profile b]\nregion = us-east-1\n",
     .part = "AWS profile \"b\", the source_profile of \"a\", has no credentials"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nduration_seconds = 3601\n"
                                          "[profile b]\nrole_arn = " ROLE(
											  "b") "\nsource_profile = longterm\nduration_seconds = 43200\n" CHAIN,
     .part = "role/a is 3601, but"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nexternal_id = x y\n[profile b]\n" KEYS,
     .part = "external_id of AWS profile \"a\" contains"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = myrole\nsource_profile = b\n[profile b]\n" KEYS,
     .part = "role_arn of AWS profile \"a\" is not the ARN of a role"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nrole_session_name = x\n[profile b]\n" KEYS,
     .part = "role_session_name of AWS profile \"a\" is not a name of 2 to 64"},
	{NULL,
     {"AWS_PROFILE", "a"},
     "[profile a]\nrole_arn = " ROLE("a") "\nsource_profile = b\nduration_seconds = 899\n[profile b]\n" KEYS,
     .part = "duration_seconds"},
};

Test(credential_plan_roles, roles)
{
	CHECK_ALL(role_scenarios);
}

Test(credential_plan_roles, default_session_names_fit_sts)
{
	static const char *const uniques[][2] = {
		{"zonevac-7d9f_a1", "zonevac-zonevac-7d9f_a1"},
		{"pod/1 (x)\n\xc3\xa9:y", "zonevac-pod1xy"},
		{"0123456789012345678901234567890123456789012345678901234567890123456789",
	     "zonevac-01234567890123456789012345678901234567890123456789012345"},
		{"", "zonevac-"},
		{NULL, "zonevac-"},
	};

	for (size_t i = 0; i < sizeof(uniques) / sizeof(uniques[0]); i++) {
		cr_assert(credential_plan_make(&arena, TABLE("AWS_WEB_IDENTITY_TOKEN_FILE", "/t", "AWS_ROLE_ARN", ROLE("w")),
		                               "us-east-1", uniques[i][0], &plan, &error));
		cr_assert_str_eq(plan.web_identity.role.session_name, uniques[i][1]);
		cr_assert_leq(strlen(plan.web_identity.role.session_name), 64);
	}
}

static const char *repeated(char letter, size_t count)
{
	char *text = arena_alloc(&arena, count + 1);

	memset(text, letter, count);
	text[count] = '\0';
	return text;
}

static bool make_role(const char *arn, const char *external_id)
{
	const char *config = arena_printf(&arena,
	                                  "[profile r]\nsource_profile = b\nrole_arn = %s\nexternal_id = %s\n"
	                                  "[profile b]\n" KEYS,
	                                  arn, external_id);

	return make((const char *[]){"AWS_PROFILE", "r", NULL}, config, NULL);
}

/* They go into a form that has an end. */
Test(credential_plan_roles, what_sts_would_not_take_is_refused_here)
{
	cr_assert(make_role(arena_printf(&arena, ROLE("%s"), repeated('a', 2048 - strlen(ROLE("")))), "xy"), "%s",
	          error.message);
	cr_assert_not(make_role(arena_printf(&arena, ROLE("%s"), repeated('a', 2049 - strlen(ROLE("")))), "xy"));
	cr_assert_not_null(strstr(error.message, "role_arn of AWS profile \"r\" is not the ARN of a role"), "%s",
	                   error.message);
	cr_assert(make_role(ROLE("a"), repeated('x', 1224)));
	cr_assert_not(make_role(ROLE("a"), repeated('x', 1225)));
	cr_assert_not_null(strstr(error.message, "external_id of AWS profile \"r\" has 1225 characters"), "%s",
	                   error.message);
	cr_assert_not(make_role(ROLE("a"), "x"));
	cr_assert_not_null(strstr(error.message, "has 1 characters"), "%s", error.message);
}
