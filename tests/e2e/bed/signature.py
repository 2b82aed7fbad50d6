"""Each request is signed again with botocore's own signer; what differs is refused with AWS's code."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ALGORITHM = "AWS4-HMAC-SHA256 "
CLOCK_SKEW_SECONDS = 300
STAMP = "%Y%m%dT%H%M%SZ"


class SignatureError(ValueError):
    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True)
class Key:
    """An access key: a user's, or with a token and an end those of a role's session."""

    access: str = "AKIDZONEVACTESTBED00"
    secret: str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYTESTBEDKEY"
    token: str | None = None
    arn: str = "arn:aws:iam::123456789012:user/zonevac"
    ends_at: float | None = None  # by the gate's clock


def signed_service(headers: dict[str, str]) -> str | None:
    """The service in the credential's scope, before anything is verified."""
    try:
        fields = _fields(headers.get("authorization", ""))
        return fields["Credential"].split("/")[3]
    except (KeyError, IndexError, ValueError):
        return None


def _fields(authorization: str) -> dict[str, str]:
    if not authorization.startswith(ALGORITHM):
        raise ValueError("not " + ALGORITHM)
    return dict(part.strip().split("=", 1) for part in authorization[len(ALGORITHM) :].split(","))


def verify(
    method: str, target: str, headers: dict[str, str], body: bytes, keys: dict[str, Key], region: str, now: float
) -> Key:
    """The key that the request is rightly signed with, else SignatureError with a code of the query protocol. `now`: the gate's clock."""
    if "authorization" not in headers:
        raise SignatureError("MissingAuthenticationToken", "the request is not signed")
    try:
        fields = _fields(headers["authorization"])
        access, day, scope_region, service, terminator = fields["Credential"].split("/")
        signed = fields["SignedHeaders"].split(";")
    except (KeyError, ValueError) as error:
        raise SignatureError("IncompleteSignature", f"the Authorization header cannot be read: {error}") from error
    key = keys.get(access)
    if key is None:
        raise SignatureError("InvalidClientTokenId", f"there is no access key {access}")
    if key.token != headers.get("x-amz-security-token"):
        raise SignatureError("InvalidClientTokenId", "the session token is missing or not this key's")
    if key.ends_at is not None and now >= key.ends_at:
        raise SignatureError("ExpiredToken", f"the token of {access} ended {now - key.ends_at:.1f} s ago")
    if terminator != "aws4_request" or scope_region != region:
        raise SignatureError("SignatureDoesNotMatch", f"scope {scope_region}/{service}/{terminator}, region is {region}")
    _check_signed_headers(signed, headers)
    _check_clock(headers.get("x-amz-date", ""), day, now)
    if _sign_again(method, target, headers, body, signed, key, service, scope_region) != fields["Signature"]:
        raise SignatureError("SignatureDoesNotMatch", "the signature is not what this secret gives")
    return key


def _check_signed_headers(signed: list[str], headers: dict[str, str]) -> None:
    missing = [name for name in headers if name.startswith("x-amz-") and name not in signed]
    if signed != sorted(signed) or "host" not in signed or missing:
        raise SignatureError("SignatureDoesNotMatch", f"SignedHeaders {signed} are unsorted or lack {missing or 'host'}")
    if any(name not in headers for name in signed):
        raise SignatureError("SignatureDoesNotMatch", f"SignedHeaders {signed} name a header that was not sent")


def _check_clock(stamp: str, day: str, now: float) -> None:
    try:
        when = datetime.datetime.strptime(stamp, STAMP).replace(tzinfo=datetime.UTC).timestamp()
    except ValueError as error:
        raise SignatureError("IncompleteSignature", f"X-Amz-Date {stamp!r}") from error
    if stamp[:8] != day:
        raise SignatureError("SignatureDoesNotMatch", f"X-Amz-Date {stamp} is not of the scope's day {day}")
    if now - when > CLOCK_SKEW_SECONDS:
        edge = f"{_stamp(now - CLOCK_SKEW_SECONDS)} ({_stamp(now)} - 5 min.)"
        raise SignatureError("RequestTimeTooSkewed", f"Signature expired: {stamp} is now earlier than {edge}")
    if when - now > CLOCK_SKEW_SECONDS:
        edge = f"{_stamp(now + CLOCK_SKEW_SECONDS)} ({_stamp(now)} + 5 min.)"
        raise SignatureError("RequestTimeTooSkewed", f"Signature not yet current: {stamp} is still later than {edge}")


def _stamp(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime(STAMP)


def _sign_again(
    method: str, target: str, headers: dict[str, str], body: bytes, signed: list[str], key: Key, service: str, region: str
) -> str:
    request = AWSRequest(
        method=method,
        url=f"http://{headers['host']}{target}",
        data=body,
        headers={name: headers[name] for name in signed},
    )
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(key.access, key.secret, key.token), service, region)
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
