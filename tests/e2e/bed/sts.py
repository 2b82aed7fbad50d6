"""STS as far as identities go: who am I, and may I be somebody else."""

from __future__ import annotations

import secrets
from xml.sax.saxutils import escape

from bed.answers import Answer, error_answer, request_id
from bed.identities import ACCOUNT, HOUR, Identities, iso8601, session_name_is_valid
from bed.oidc import STS_AUDIENCE, TokenError
from bed.shapes import Call
from bed.signature import Key

NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
WEB_IDENTITY = "AssumeRoleWithWebIdentity"


class StsError(ValueError):
    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class Sts:
    def __init__(self, identities: Identities) -> None:
        self._identities = identities

    def answer(self, call: Call, caller: Key | None) -> Answer | None:
        """None: not one of those that are answered here."""
        operations = {
            "GetCallerIdentity": self._get_caller_identity,
            "AssumeRole": self._assume_role,
            WEB_IDENTITY: self._assume_role_with_web_identity,
        }
        operation = operations.get(call.operation)
        if operation is None:
            return None
        try:
            return _xml(call.operation, operation(call, caller))
        except StsError as error:
            return error_answer("sts", error.status, error.code, str(error))

    def _get_caller_identity(self, _call: Call, caller: Key) -> str:
        ident = f"AROABED:{caller.arn.rpartition('/')[2]}" if caller.token else "AIDABED"
        return f"<Arn>{escape(caller.arn)}</Arn><UserId>{escape(ident)}</UserId><Account>{ACCOUNT}</Account>"

    def _assume_role(self, call: Call, caller: Key) -> str:
        arn = call.params["RoleArn"]
        if not self._identities.may_assume(arn, caller, call.params.get("ExternalId")):
            sentence = f"User: {caller.arn} is not authorized to perform: sts:AssumeRole on resource: {arn}"
            raise StsError(403, "AccessDenied", sentence)
        return self._issue(call, chained=caller.token is not None)

    def _assume_role_with_web_identity(self, call: Call, _caller: Key | None) -> str:
        token = self._identities.secret(call.params["WebIdentityToken"])
        role = self._identities.roles.get(call.params["RoleArn"])
        try:
            claims = self._identities.issuer.verify(token, STS_AUDIENCE, self._identities.now())
        except TokenError as error:
            raise StsError(400, error.code, str(error)) from error
        if role is None or claims["sub"] not in role.subjects:
            raise StsError(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
        subject = escape(claims["sub"])
        return self._issue(call, chained=False) + (
            f"<SubjectFromWebIdentityToken>{subject}</SubjectFromWebIdentityToken>"
            f"<Audience>{STS_AUDIENCE}</Audience><Provider>{escape(claims['iss'])}</Provider>"
        )

    def _issue(self, call: Call, chained: bool) -> str:
        session, seconds = call.params["RoleSessionName"], call.params.get("DurationSeconds", int(HOUR))
        if not session_name_is_valid(session):
            raise StsError(400, "ValidationError", f"1 validation error detected: Value {session!r} at 'roleSessionName'")
        if chained and seconds > HOUR:
            sentence = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining"
            raise StsError(400, "ValidationError", sentence)
        arn = self._identities.roles[call.params["RoleArn"]].session_arn(session)
        key = self._identities.issue(arn, seconds)
        assert key.token is not None and key.ends_at is not None
        user = f"<AssumedRoleId>AROABED{secrets.token_hex(4).upper()}:{session}</AssumedRoleId><Arn>{escape(arn)}</Arn>"
        return (
            f"<Credentials><AccessKeyId>{key.access}</AccessKeyId><SecretAccessKey>{key.secret}</SecretAccessKey>"
            f"<SessionToken>{key.token}</SessionToken><Expiration>{iso8601(key.ends_at)}</Expiration></Credentials>"
            f"<AssumedRoleUser>{user}</AssumedRoleUser>"
        )


def _xml(operation: str, result: str) -> Answer:
    body = (
        f'<{operation}Response xmlns="{NAMESPACE}"><{operation}Result>{result}</{operation}Result>'
        f"<ResponseMetadata><RequestId>{request_id()}</RequestId></ResponseMetadata></{operation}Response>"
    )
    return Answer(200, "text/xml", body.encode())
