"""What each service says to a request that is not signed by whom it says, or no longer."""

from __future__ import annotations

# What is wrong with who sent a request (bed.signature, in the words of the query protocol): status, code and message of
# the query protocol, of EC2, and of those that speak JSON. No message: the judge's own, which has the times in it.
EXPIRED = "The security token included in the request is expired"
UNKNOWN = "The security token included in the request is invalid."
NO_MATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and "
    "signing method. Consult the service documentation for details."
)
AUTH_FAILURE = (401, "AuthFailure", "AWS was not able to validate the provided access credentials")
REQUEST_EXPIRED = (400, "RequestExpired", "Request has expired.")
IDENTITY_ERRORS: dict[str, tuple[tuple[int, str, str], tuple[int, str, str], tuple[int, str, str]]] = {
    "ExpiredToken": ((403, "ExpiredToken", EXPIRED), REQUEST_EXPIRED, (400, "ExpiredTokenException", EXPIRED)),
    "InvalidClientTokenId": (
        (403, "InvalidClientTokenId", UNKNOWN),
        AUTH_FAILURE,
        (400, "UnrecognizedClientException", UNKNOWN),
    ),
    "SignatureDoesNotMatch": (
        (403, "SignatureDoesNotMatch", NO_MATCH),
        (403, "SignatureDoesNotMatch", NO_MATCH),
        (400, "InvalidSignatureException", NO_MATCH),
    ),
    "RequestTimeTooSkewed": (
        (403, "SignatureDoesNotMatch", ""),
        REQUEST_EXPIRED,
        (400, "InvalidSignatureException", ""),
    ),
    "MissingAuthenticationToken": (
        (403, "MissingAuthenticationToken", "Request is missing Authentication Token"),
        (400, "MissingParameter", "The request must contain the parameter AWSAccessKeyId"),
        (400, "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ),
    "IncompleteSignature": (
        (400, "IncompleteSignature", ""),
        (400, "IncompleteSignature", ""),
        (400, "IncompleteSignatureException", ""),
    ),
}


def identity_error(service: str, code: str, sentence: str) -> tuple[int, str, str]:
    """Status, code and message with which that service refuses who sent a request."""
    query, ec2, speaks_json = IDENTITY_ERRORS[code]
    if service == "ec2":
        if "not yet current" in sentence:
            return AUTH_FAILURE
        chosen = ec2
    elif service == "lambda":
        chosen = (403, *speaks_json[1:])
    else:
        chosen = speaks_json if service in ("dynamodb", "ecs") else query
    return chosen[0], chosen[1], chosen[2] or sentence


# What may not be done by whom it asks: status and code of each service.
DENIALS = {
    "autoscaling": (403, "AccessDenied"),
    "dynamodb": (400, "AccessDeniedException"),
    "ec2": (403, "UnauthorizedOperation"),
    "ecs": (400, "AccessDeniedException"),
    "lambda": (403, "AccessDeniedException"),
    "sts": (403, "AccessDenied"),
}


def denial(name: str, arn: str = "arn:aws:iam::123456789012:user/zonevac") -> tuple[int, str, str]:
    """Status, code and message for whom no policy allows that operation ("ecs:UpdateService")."""
    status, code = DENIALS[name.partition(":")[0]]
    beginning = "You are not authorized to perform this operation. " if code == "UnauthorizedOperation" else ""
    sentence = f"User: {arn} is not authorized to perform: {name} because no identity-based policy allows the {name} action"
    return status, code, beginning + sentence
