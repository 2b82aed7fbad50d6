"""The agent of EKS Pod Identity: credentials of the pod's role for whoever brings the pod's token."""

from __future__ import annotations

import json

from bed.identities import ACCOUNT, HOUR, Identities, document
from bed.local_server import Asked, LocalServer, Reply
from bed.oidc import POD_AUDIENCE, SUBJECT, TokenError

PATH = "/v1/credentials"


class PodIdentityAgent(LocalServer):
    """`associated`: the service account has a role."""

    def __init__(self, identities: Identities, role: str = "zonevac-pod", seconds: float = 6 * HOUR) -> None:
        super().__init__()
        self._identities, self._role, self._seconds = identities, role, seconds
        self.associated = True

    @property
    def credentials_url(self) -> str:
        return self.url + PATH

    def new_token(self, seconds: float = 86400) -> str:
        """As the kubelet would project it."""
        now = self._identities.now()
        return self._identities.secret(self._identities.issuer.token(now, POD_AUDIENCE, seconds=seconds))

    def reply(self, asked: Asked, _body: bytes) -> Reply:
        if asked.path != PATH or asked.method != "GET":
            return Reply(404, b"404 page not found\n", "text/plain; charset=utf-8")
        try:
            token = asked.headers.get("authorization", "")
            claims = self._identities.issuer.verify(token, POD_AUDIENCE, self._identities.now())
        except TokenError as error:
            return _refusal(400, error.code.replace("InvalidIdentityToken", "InvalidTokenException"), str(error))
        if claims["sub"] != SUBJECT or not self.associated:
            return _refusal(403, "AccessDeniedException", "there is no association of this service account with a role")
        key = self._identities.issue_role(self._role, "eks-prod-zonevac-bed", self._seconds)
        return Reply(200, json.dumps(document(key, AccountId=ACCOUNT)).encode())


def _refusal(status: int, code: str, sentence: str) -> Reply:
    return Reply(status, f"[bed]: ({code}): {sentence}, fault: client\n".encode(), "text/plain; charset=utf-8")


class Vending(LocalServer):
    """Credentials for the asking: what a credential_process calls. `fault` and `stop()` make the program fail."""

    def __init__(self, identities: Identities, role: str = "zonevac-process") -> None:
        super().__init__()
        self._identities, self._role = identities, role

    def reply(self, _asked: Asked, _body: bytes) -> Reply:
        key = self._identities.issue_role(self._role, "process")
        return Reply(200, json.dumps(document(key, "SessionToken", AccountId=ACCOUNT) | {"Version": 1}).encode())
