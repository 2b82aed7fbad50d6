#include "base/pem.h"

#include <criterion/criterion.h>
#include <string.h>

#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nMAYCAQECAQI=\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n"

static struct error error;

static bool check(const char *bytes)
{
	error = (struct error){0};
	return pem_check(bytes, "ca.crt", &error);
}

static void expect_refusal(const char *bytes, const char *sentence)
{
	cr_assert_not(check(bytes));
	cr_assert_eq(error.kind, ERROR_INPUT);
	cr_assert_str_eq(error.message, sentence);
}

Test(pem, blocks_and_what_stands_around_them)
{
	cr_assert(check(CERTIFICATE));
	cr_assert(check("Issuer: somebody\n" CERTIFICATE "\nSubject: another\n" CERTIFICATE KEY));
}

Test(pem, what_is_broken_is_refused)
{
	expect_refusal("", "ca.crt holds no PEM block");
	expect_refusal("hello", "ca.crt holds no PEM block");
	expect_refusal("-----BEGIN CERTIFICATE-----\nMIIB\n", "ca.crt holds a PEM block without its end");
	expect_refusal("-----BEGIN CERTIFICATE-----\nMIIB\n" CERTIFICATE, "ca.crt holds a PEM block without its end");
	expect_refusal("-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n",
	               "ca.crt holds a certificate that is none");
	expect_refusal(CERTIFICATE "-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n",
	               "ca.crt holds a certificate that is none");
	expect_refusal("-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n-----END CERTIFICATE-----\n",
	               "ca.crt holds a certificate that is none");
	expect_refusal("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGH\n-----END ENCRYPTED PRIVATE KEY-----\n",
	               "ca.crt holds a key with a passphrase; take the passphrase off");
}

Test(pem, a_certificate_is_told_from_a_key)
{
	cr_assert(pem_has_certificate(KEY CERTIFICATE));
	cr_assert_not(pem_has_certificate(KEY));
	cr_assert_not(pem_has_certificate("CERTIFICATE"));
}
