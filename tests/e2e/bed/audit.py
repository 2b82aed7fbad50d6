"""The API server's own account of who asked it what: its audit log, of the product and its replicas alone."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

PRODUCT = "system:serviceaccount:zonevac-system:zonevac"
REPLICAS = "zonevac-replicas"  # the group of users that have the product's permissions
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True)
class Asked:
    """One request that came to the API server, at `at` (seconds since 1970), and what was answered."""

    user: str
    verb: str
    resource: str  # "nodes", "pods/eviction"
    name: str
    code: int
    at: float

    @property
    def what(self) -> str:
        return f"{self.verb} {self.resource}"

    @property
    def writes(self) -> bool:
        return self.verb in WRITES


class AuditLog:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._policy = path.with_suffix(".yaml")
        ours = {"level": "Metadata", "omitStages": ["RequestReceived"]}
        rules = [ours | {"users": [PRODUCT]}, ours | {"userGroups": [REPLICAS]}, {"level": "None"}]
        document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
        self._policy.write_text(yaml.safe_dump(document))

    def flags(self) -> tuple[str, ...]:
        """For kube-apiserver."""
        return f"--audit-log-path={self.path}", f"--audit-policy-file={self._policy}", "--audit-log-maxsize=1000"

    def here(self) -> int:
        """Where the log ends now."""
        return self.path.stat().st_size if self.path.exists() else 0

    def since(self, where: int = 0, user: str | None = None) -> list[Asked]:
        """The requests since then, in the order in which they came."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as log:
            log.seek(where)
            lines = log.read().rpartition(b"\n")[0].splitlines()
        found: dict[str, Asked] = {}
        for event in map(json.loads, lines):  # a stream is told of twice: when it begins and when it ends
            found.setdefault(event["auditID"], _asked(event))
        return sorted((asked for asked in found.values() if user in (None, asked.user)), key=lambda asked: asked.at)


def _asked(event: dict) -> Asked:
    about = event.get("objectRef", {})
    resource = "/".join(filter(None, (about.get("resource", event["requestURI"]), about.get("subresource"))))
    at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
    code = event.get("responseStatus", {}).get("code", 0)
    return Asked(event["user"].get("username", ""), event["verb"], resource, about.get("name", ""), code, at)


def most_in_a_second(moments: Iterable[float]) -> int:
    """The most of them within any one second."""
    window: collections.deque[float] = collections.deque()
    most = 0
    for moment in sorted(moments):
        window.append(moment)
        while window[0] <= moment - 1:
            window.popleft()
        most = max(most, len(window))
    return most
