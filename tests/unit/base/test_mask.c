#include "base/mask.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void expect(const char *given, const char *masked)
{
	char sentence[512];

	snprintf(sentence, sizeof sentence, "%s", given);
	mask_secrets(sentence);
	cr_expect_str_eq(sentence, masked);
}

Test(mask, what_is_called_a_secret)
{
	expect("login failed: password=hunter2", "login failed: password=***");
	expect("{\"SecretAccessKey\": \"abcd\", \"Version\": 1}", "{\"SecretAccessKey\": \"***\", \"Version\": 1}");
	expect("AKIA1: x; api_token: 'abcdef' is old; key: k3y4u", "AKIA1: x; api_token: '***' is old; key: ***");
	expect("Authorization: Bearer abc.def.ghi", "Authorization: Bearer ***");
	expect("SESSION_TOKEN=x1", "SESSION_TOKEN=x1"); /* too short to be one */
}

Test(mask, what_looks_like_one)
{
	expect("got wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY back", "got *** back");
	expect("AKIAIOSFODNN7EXAMPLE is unknown", "*** is unknown");
	expect("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6eHkifQ.c2lnbmF0dXJlLW9mLXRoaXM", "***");
}

Test(mask, what_helps_stays)
{
	expect("Error loading SSO Token: Token for prod does not exist",
	       "Error loading SSO Token: Token for prod does not exist");
	expect("An error occurred (ExpiredToken): the token has expired",
	       "An error occurred (ExpiredToken): the token has expired");
	expect("cannot open /usr/lib/python3/dist-packages/botocore: no such file",
	       "cannot open /usr/lib/python3/dist-packages/botocore: no such file");
	expect("arn:aws:iam::123456789012:role/zonevac may not be assumed",
	       "arn:aws:iam::123456789012:role/zonevac may not be assumed");
	expect("no route to sts.us-east-1.amazonaws.com", "no route to sts.us-east-1.amazonaws.com");
	expect("", "");
}
