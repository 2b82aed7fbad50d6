#include "aws/region.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

static struct arena arena;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, "test", 16 * 1024 * 1024);
	error = (struct error){0};
}

static void tear_down(void)
{
	arena_done(&arena);
}

TestSuite(call_settings, .init = set_up, .fini = tear_down);

/* Self-signed, for nobody. */
static const char certificate[] = "-----BEGIN CERTIFICATE-----\n"
								  "MIIBeTCCAR+gAwIBAgIUcvNquOCjYDPzZzh4ywVL9H+vvDAwCgYIKoZIzj0EAwIw\n"
								  "ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEzMDEzNDgwMVoYDzIxMjYxMTA2MTM0\n"
								  "ODAxWjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
								  "AATZ0GhrBD55O1O0D2P7I3wJeisUCcaJ1FmCNMJaTCzG5NuKInM90qVZE5Nv95eh\n"
								  "Ijpd3oOGcarFfHgKHClUn/HHo1MwUTAdBgNVHQ4EFgQUgMTnwG09fo+oMmlOejsu\n"
								  "FNANn1MwHwYDVR0jBBgwFoAUgMTnwG09fo+oMmlOejsuFNANn1MwDwYDVR0TAQH/\n"
								  "BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAUnK3nIBM56SjN7nFm2OIS2+SsBTSm\n"
								  "8Cs62S+JeB4cOAIhAIWmT52iKhFJjaIKhUd9dp4B2u+ew3qMhMpx1FSCnLSq\n"
								  "-----END CERTIFICATE-----\n";

static const char *temporary(const char *text)
{
	char *path = arena_string(&arena, "/tmp/zonevac-setting-XXXXXX");
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	return path;
}

static void refuses_bundle(const struct aws_environment *environment, const char *part)
{
	const char *ca_file;

	cr_assert_not(aws_ca_bundle(&arena, environment, &ca_file, &error));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_not_null(strstr(error.message, part), "%s", error.message);
}

static const char *bundle(const struct aws_environment *environment)
{
	const char *ca_file = "unset";

	cr_assert(aws_ca_bundle(&arena, environment, &ca_file, &error), "%s", error.message);
	return ca_file;
}

Test(call_settings, ca_bundle_from_variable_or_profile)
{
	const char *path = temporary(certificate);
	const char *with_words = temporary(arena_printf(&arena, "Root of nobody\n%s", certificate));
	const char *config = temporary(arena_printf(&arena, "[default]\nca_bundle = %s\n", path));
	const char *nothing = temporary("[default]\nca_bundle =\n");

	cr_assert_null(bundle(TABLE("X", "y")));
	cr_assert_null(bundle(TABLE("AWS_CONFIG_FILE", nothing)), "an empty value says nothing");
	unlink(nothing);
	cr_assert_str_eq(bundle(TABLE("AWS_CA_BUNDLE", path)), path);
	cr_assert_str_eq(bundle(TABLE("AWS_CONFIG_FILE", config)), path);
	cr_assert_str_eq(bundle(TABLE("AWS_CONFIG_FILE", config, "AWS_CA_BUNDLE", with_words)), with_words);
	cr_assert_str_eq(
		bundle(TABLE("AWS_CA_BUNDLE", arena_printf(&arena, "~/%s", path + strlen("/tmp/")), "HOME", "/tmp")), path);
	unlink(path);
	unlink(with_words);
	unlink(config);
}

Test(call_settings, ca_bundle_without_certificate_is_refused)
{
	const char *empty = temporary("");
	const char *broken = temporary("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");

	refuses_bundle(TABLE("AWS_CA_BUNDLE", "/nonexistent/ca.pem"), "AWS_CA_BUNDLE: cannot read /nonexistent/ca.pem");
	refuses_bundle(TABLE("AWS_CA_BUNDLE", "/tmp"), "AWS_CA_BUNDLE: ");
	refuses_bundle(TABLE("AWS_CA_BUNDLE", empty), "holds no certificate");
	refuses_bundle(TABLE("AWS_CA_BUNDLE", broken), "holds a certificate that is none");
	unlink(empty);
	unlink(broken);
}

static int attempts(const struct aws_environment *environment)
{
	int count = -1;

	return aws_max_attempts(&arena, environment, &count, &error) ? count : -1;
}

Test(call_settings, attempts_from_variable_or_profile)
{
	const char *config = temporary("[default]\nmax_attempts = 7\nretry_mode = legacy\n");

	cr_assert_eq(attempts(TABLE("X", "y")), 0);
	cr_assert_eq(attempts(TABLE("AWS_MAX_ATTEMPTS", "1", "AWS_RETRY_MODE", "standard")), 1);
	cr_assert_eq(attempts(TABLE("AWS_MAX_ATTEMPTS", "20", "AWS_RETRY_MODE", "adaptive")), 20);
	cr_assert_eq(attempts(TABLE("AWS_CONFIG_FILE", config)), 7);
	cr_assert_eq(attempts(TABLE("AWS_CONFIG_FILE", config, "AWS_MAX_ATTEMPTS", "3")), 3);
	unlink(config);
}

Test(call_settings, other_attempts_and_modes_are_refused)
{
	static const char *const bad[] = {"0", "21", "-1", "3x", "many", "1.5", " 3"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(attempts(TABLE("AWS_MAX_ATTEMPTS", bad[i])), -1, "%s", bad[i]);
		cr_expect_eq(error.kind, ERROR_INPUT);
	}
	cr_assert_not_null(strstr(error.message, "AWS_MAX_ATTEMPTS is \" 3\""), "%s", error.message);
	cr_assert_eq(attempts(TABLE("AWS_RETRY_MODE", "eager")), -1);
	cr_assert_not_null(strstr(error.message, "AWS_RETRY_MODE is \"eager\""), "%s", error.message);
}
