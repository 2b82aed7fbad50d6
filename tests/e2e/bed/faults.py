"""What may go wrong at the gate, and AWS's words for it."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field

THROTTLES = {
    "autoscaling": (400, "Throttling", "Rate exceeded"),
    "ec2": (503, "RequestLimitExceeded", "Request limit exceeded."),
    "ecs": (400, "ThrottlingException", "Rate exceeded"),
    "lambda": (429, "TooManyRequestsException", "Rate Exceeded."),
    "dynamodb": (400, "ProvisionedThroughputExceededException", "The level of configured throughput was exceeded"),
}
HTML = b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"
PAGES = {"html": 200, "html502": 502, "html503": 503, "empty": 200}
KINDS = {
    "throttle": "refused with the service's throttling error",
    "error": "refused with `status`, `code` and `message`",
    "html": "answered 200 with a page of HTML",
    "html502": "answered 502 with a page of HTML",
    "html503": "answered 503 with a page of HTML",
    "empty": "answered 200 with nothing",
    "lost": "done, and the connection closed without an answer",
    "reset": "not done, and the connection reset",
    "silent": "done, and never answered",
    "truncate": "done, and half of the answer sent",
    "delay": "answered `seconds` late",
}


@dataclass
class Fault:
    """Strikes the matches number `first` .. `first + times - 1` of `pattern` ("autoscaling:Update*")."""

    pattern: str
    kind: str
    first: int = 1
    times: int = 1
    seconds: float = 0.0
    status: int = 500
    code: str = "InternalFailure"
    message: str = "An internal error has occurred"
    contains: str = ""  # only requests whose path or body has this
    seen: int = field(default=0, init=False)
    struck: int = field(default=0, init=False)

    def strikes(self, name: str, text: bytes) -> bool:
        if not fnmatch.fnmatchcase(name, self.pattern) or self.contains.encode() not in text:
            return False
        self.seen += 1
        hit = self.first <= self.seen < self.first + self.times
        self.struck += hit
        return hit
