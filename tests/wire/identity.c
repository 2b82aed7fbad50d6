#include "wire.h"

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static char *take_memory(BIO *bio)
{
	char *bytes;
	long length = BIO_get_mem_data(bio, &bytes);
	char *copy = calloc(1, (size_t)length + 1);

	memcpy(copy, bytes, (size_t)length);
	BIO_free(bio);
	return copy;
}

static void extend(X509 *certificate, X509 *issuer, int what, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, what, value);
	cr_assert_not_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
}

static char *certificate_pem(X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_X509(bio, certificate);
	return take_memory(bio);
}

struct wire_identity wire_identity_make(const struct wire_identity *issuer, const char *common_name, const char *names)
{
	static long serial = 1;
	struct wire_identity made = {.key = EVP_EC_gen("P-256"), .certificate = X509_new()};
	X509 *signer = issuer == NULL ? made.certificate : issuer->certificate;
	X509_NAME *name = X509_get_subject_name(made.certificate);
	BIO *bio;

	X509_set_version(made.certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial++);
	X509_gmtime_adj(X509_getm_notBefore(made.certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(made.certificate), 3600);
	X509_set_pubkey(made.certificate, made.key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0);
	X509_set_issuer_name(made.certificate, X509_get_subject_name(signer));
	extend(made.certificate, signer, NID_basic_constraints, issuer == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (names != NULL)
		extend(made.certificate, signer, NID_subject_alt_name, names);
	X509_sign(made.certificate, issuer == NULL ? made.key : issuer->key, EVP_sha256());
	made.certificate_pem = certificate_pem(made.certificate);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_PKCS8PrivateKey(bio, made.key, NULL, NULL, 0, NULL, NULL);
	made.key_pem = take_memory(bio);
	return made;
}

void wire_identity_age(struct wire_identity *identity, const struct wire_identity *issuer, long hours)
{
	X509_gmtime_adj(X509_getm_notBefore(identity->certificate), -3600 * (hours + 1));
	X509_gmtime_adj(X509_getm_notAfter(identity->certificate), 3600 * (1 - hours));
	X509_sign(identity->certificate, issuer == NULL ? identity->key : issuer->key, EVP_sha256());
	free(identity->certificate_pem);
	identity->certificate_pem = certificate_pem(identity->certificate);
}

void wire_identity_done(struct wire_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
	free(identity->key_pem);
	free(identity->certificate_pem);
}

SSL_CTX *wire_tls(const struct wire_identity *identity, const struct wire_identity *clients)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	cr_assert_eq(SSL_CTX_use_certificate(context, identity->certificate), 1);
	cr_assert_eq(SSL_CTX_use_PrivateKey(context, identity->key), 1);
	if (clients != NULL) {
		X509_STORE_add_cert(SSL_CTX_get_cert_store(context), clients->certificate);
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		SSL_CTX_set_session_id_context(context, (const unsigned char *)"wire", 4);
	}
	return context;
}
