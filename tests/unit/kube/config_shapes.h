/*
 * What looks like a certificate, a key, an exec plugin: as little as passes for one.
 */
#ifndef TESTS_CONFIG_SHAPES_H
#define TESTS_CONFIG_SHAPES_H

/* An empty sequence of DER. */
#define PEM "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BQT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define OTHER_PEM "-----BEGIN CERTIFICATE-----\nMAIFAA==\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n"
#define LOCKED_BASE64 \
	"LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tLQpNQUFBCi0tLS0tRU5EIEVOQ1JZUFRFRCBQUklWQVRFIEtFWS0tLS0tCg=="

#define API "client.authentication.k8s.io/"
#define EXEC_V1                                                                                        \
	"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: aws, " \
	"args: [eks, get-token, --cluster-name, demo], env: [{name: AWS_PROFILE, value: ops}]}"

#endif
