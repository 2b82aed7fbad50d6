"""Who there is at AWS: access keys with and without an end, and roles with what it takes to assume them."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bed.oidc import Issuer
from bed.signature import Key

ACCOUNT = "123456789012"
HOUR = 3600.0
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@dataclass
class Role:
    """A role and its trust policy; who may assume it is said by the beginnings of ARNs and the subjects of tokens."""

    name: str
    trusts: list[str] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)
    external_id: str | None = None

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{ACCOUNT}:role/{self.name}"

    def session_arn(self, session: str) -> str:
        return f"arn:aws:sts::{ACCOUNT}:assumed-role/{self.name.rpartition('/')[2]}/{session}"


class Identities:
    """The keys that the gate accepts. `life_seconds` shortens whatever is issued, below what AWS allows, so that a test sees many."""

    def __init__(self) -> None:
        self.issuer = Issuer()  # of the cluster's service account tokens
        self.clear()

    def clear(self) -> None:
        self.skew_seconds = 0.0  # how much AWS's clock is ahead of this machine's
        self.life_seconds: float | None = None
        self.keys = {Key().access: Key()}
        self.roles: dict[str, Role] = {}
        self.words: list[str] = [Key().secret]  # that nobody may ever read anywhere

    def now(self) -> float:
        return time.time() + self.skew_seconds

    # keys

    def add(self, key: Key) -> Key:
        self.keys[key.access] = key
        self.words += [key.secret] + ([key.token] if key.token else [])
        return key

    def remove(self, key: Key) -> None:
        del self.keys[key.access]

    def new_user_key(self, user: str = "zonevac") -> Key:
        return self.add(Key(_identifier("AKIA"), secrets.token_urlsafe(30), None, f"arn:aws:iam::{ACCOUNT}:user/{user}"))

    def issue(self, arn: str, seconds: float = HOUR) -> Key:
        """Keys of a session."""
        ends_at = self.now() + (self.life_seconds or seconds)
        return self.add(Key(_identifier("ASIA"), secrets.token_urlsafe(30), secrets.token_urlsafe(300), arn, ends_at))

    def issue_role(self, name: str, session: str, seconds: float = HOUR) -> Key:
        return self.issue(Role(name).session_arn(session), seconds)

    def secret(self, word: str) -> str:
        """Remember a token as one of those that nobody may read."""
        self.words.append(word)
        return word

    # roles

    def trust(self, name: str, **how: list[str] | str) -> Role:
        role = Role(name, **how)  # type: ignore[arg-type]
        self.roles[role.arn] = role
        return role

    def may_assume(self, role_arn: str, caller: Key, external_id: str | None) -> bool:
        """Trusted, and with the role's external id, if it wants one."""
        role = self.roles.get(role_arn)
        if role is None or (role.external_id is not None and role.external_id != external_id):
            return False
        return any(caller.arn.startswith(beginning) for beginning in role.trusts)


def _identifier(prefix: str) -> str:
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(16))


def iso8601(at: float) -> str:
    """As AWS writes the end of credentials: whole seconds, never later than they really end."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(key: Key, token_name: str = "Token", **more: str) -> dict[str, str]:
    """Credentials as the agents write them."""
    assert key.token is not None and key.ends_at is not None
    end = iso8601(key.ends_at)
    return {"AccessKeyId": key.access, "SecretAccessKey": key.secret, token_name: key.token, "Expiration": end, **more}


def session_name_is_valid(name: str) -> bool:
    return re.fullmatch(r"[\w+=,.@-]{2,64}", name, re.ASCII) is not None
