#include "aws/credentials.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

static struct arena arena;
static struct error error;
static struct aws_credentials credentials;
static char home[64];

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
	strcpy(home, "/tmp/zonevac-credentials-XXXXXX");
	cr_assert_not_null(mkdtemp(home));
}

static const char *in_home(const char *name)
{
	return arena_printf(&arena, "%s/%s", home, name);
}

static void tear_down(void)
{
	unlink(in_home("credentials"));
	unlink(in_home("config"));
	rmdir(home);
	arena_done(&arena);
}

TestSuite(credentials, .init = set_up, .fini = tear_down);

static const char *write_file(const char *name, const char *text)
{
	const char *path = in_home(name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static void loads(const struct aws_environment *environment)
{
	cr_assert(aws_credentials_load(&arena, environment, &credentials, &error), "%s", error.message);
}

static void fails(const struct aws_environment *environment, enum error_kind kind, const char *part)
{
	cr_assert_not(aws_credentials_load(&arena, environment, &credentials, &error));
	cr_assert_eq(error.kind, kind, "%s", error.message);
	cr_assert_not_null(strstr(error.message, part), "%s", error.message);
}

Test(credentials, empty_variables_are_not_set)
{
	cr_assert_null(aws_env(TABLE("A", ""), "A"));
	cr_assert_null(aws_env(TABLE("A", "b"), "B"));
	cr_assert_str_eq(aws_env(TABLE("A", "b"), "A"), "b");
}

Test(credentials, environment_comes_first)
{
	const char *file = write_file("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=G\n");

	loads(TABLE("AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "s3cret", "AWS_SHARED_CREDENTIALS_FILE", file,
	            "AWS_WEB_IDENTITY_TOKEN_FILE", "/x"));
	cr_assert_str_eq(credentials.access_key_id, "AKID");
	cr_assert_str_eq(credentials.secret_access_key, "s3cret");
	cr_assert_null(credentials.session_token);
	cr_assert_str_eq(credentials.source, "environment");
	cr_assert_eq(credentials.expires_at.us, 0);
}

Test(credentials, environment_with_token)
{
	loads(TABLE("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", "S", "AWS_SESSION_TOKEN", "T"));
	cr_assert_str_eq(credentials.session_token, "T");
}

Test(credentials, half_a_pair_is_an_error_not_another_identity)
{
	const char *file = write_file("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=G\n");

	fails(TABLE("AWS_ACCESS_KEY_ID", "A", "AWS_SHARED_CREDENTIALS_FILE", file), ERROR_INPUT,
	      "AWS_SECRET_ACCESS_KEY is not");
	fails(TABLE("AWS_SECRET_ACCESS_KEY", "S", "AWS_SHARED_CREDENTIALS_FILE", file), ERROR_INPUT,
	      "AWS_ACCESS_KEY_ID is not");
	write_file("credentials", "[default]\naws_access_key_id=F\n");
	fails(TABLE("AWS_SHARED_CREDENTIALS_FILE", file), ERROR_INPUT, "but no aws_secret_access_key");
}

Test(credentials, line_break_in_a_secret_is_named_and_not_repeated)
{
	fails(TABLE("AWS_ACCESS_KEY_ID", "A", "AWS_SECRET_ACCESS_KEY", "hush\n"), ERROR_INPUT,
	      "AWS_SECRET_ACCESS_KEY contains");
	cr_assert_null(strstr(error.message, "hush"));
}

Test(credentials, profile_of_the_shared_files)
{
	const char *config = write_file("config", "[profile web]\nregion=eu-west-1\n");
	const char *file =
		write_file("credentials", "[default]\naws_access_key_id=D\naws_secret_access_key=E\n"
	                              "[web]\naws_access_key_id=F\naws_secret_access_key=G\naws_session_token=H\n");

	loads(TABLE("AWS_CONFIG_FILE", config, "AWS_SHARED_CREDENTIALS_FILE", file, "AWS_PROFILE", "web"));
	cr_assert_str_eq(credentials.access_key_id, "F");
	cr_assert_str_eq(credentials.session_token, "H");
	cr_assert_str_eq(credentials.source, "profile web");
	loads(TABLE("AWS_SHARED_CREDENTIALS_FILE", file, "HOME", home));
	cr_assert_str_eq(credentials.access_key_id, "D");
	loads(TABLE("AWS_SHARED_CREDENTIALS_FILE", "~/credentials", "HOME", home));
	cr_assert_str_eq(credentials.access_key_id, "D");
}

Test(credentials, nothing_configured_says_what_to_do)
{
	fails(TABLE("HOME", home), ERROR_ABSENT, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	fails(TABLE("X", "y"), ERROR_ABSENT, "there are no AWS credentials");
	fails(TABLE("AWS_CONFIG_FILE", write_file("config", "[default]\nregion=us-east-1\n")), ERROR_ABSENT,
	      "no AWS credentials");
}

Test(credentials, named_files_and_profiles_must_be_there)
{
	fails(TABLE("AWS_SHARED_CREDENTIALS_FILE", in_home("credentials")), ERROR_INPUT, "AWS_SHARED_CREDENTIALS_FILE");
	fails(TABLE("AWS_CONFIG_FILE", home), ERROR_INPUT, "AWS_CONFIG_FILE");
	fails(TABLE("AWS_PROFILE", "web", "HOME", home), ERROR_INPUT, "AWS_PROFILE is \"web\"");
	fails(TABLE("AWS_PROFILE", "default", "AWS_CONFIG_FILE", write_file("config", "[default]\nregion=x\n")),
	      ERROR_INPUT, "no aws_access_key_id");
}

Test(credentials, sources_that_need_a_call_are_refused_by_name)
{
	const char *config =
		write_file("config", "[profile r]\nrole_arn=x\naws_access_key_id=A\naws_secret_access_key=B\n"
	                         "[profile s]\nsso_session=y\n[profile p]\ncredential_process=z\n"
	                         "[profile k]\ncredential_process=z\naws_access_key_id=A\naws_secret_access_key=B\n");

	fails(TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "r"), ERROR_INPUT, "by role_arn");
	fails(TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "s"), ERROR_INPUT, "by sso_session");
	fails(TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "p"), ERROR_INPUT, "by credential_process");
	loads(TABLE("AWS_CONFIG_FILE", config, "AWS_PROFILE", "k"));
	fails(TABLE("AWS_WEB_IDENTITY_TOKEN_FILE", "/token", "AWS_ROLE_ARN", "arn"), ERROR_INPUT,
	      "AWS_WEB_IDENTITY_TOKEN_FILE is set");
	fails(TABLE("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://x"), ERROR_INPUT,
	      "AWS_CONTAINER_CREDENTIALS_FULL_URI is set");
}
