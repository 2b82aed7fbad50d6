"""What may go wrong at the gate, and AWS's words for it."""

from __future__ import annotations

import fnmatch
import itertools
import json
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

THROTTLES = {
    "autoscaling": (400, "Throttling", "Rate exceeded"),
    "ec2": (503, "RequestLimitExceeded", "Request limit exceeded."),
    "dynamodb": (400, "ProvisionedThroughputExceededException", "The level of configured throughput was exceeded"),
}
HTML = b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"
KINDS = {
    "throttle": "refused with the service's throttling error",
    "error": "refused with `status`, `code` and `message`",
    "html": "answered 200 with a page of HTML",
    "html502": "answered 502 with a page of HTML",
    "empty": "answered 200 with nothing",
    "lost": "done, and the connection closed without an answer",
    "reset": "not done, and the connection reset",
    "silent": "done, and never answered",
    "truncate": "done, and half of the answer sent",
    "delay": "answered `seconds` late",
}
_request_ids = itertools.count(1)


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
    contains: str = ""  # only requests whose body has this
    seen: int = field(default=0, init=False)
    struck: int = field(default=0, init=False)

    def strikes(self, name: str, body: bytes) -> bool:
        if not fnmatch.fnmatchcase(name, self.pattern) or self.contains.encode() not in body:
            return False
        self.seen += 1
        hit = self.first <= self.seen < self.first + self.times
        self.struck += hit
        return hit


def request_id() -> str:
    return f"bed00000-0000-4000-8000-{next(_request_ids):012x}"


def error_body(service: str, code: str, message: str) -> tuple[str, bytes]:
    """Content-Type and body of an error as the service writes it."""
    ident = request_id()
    if service == "dynamodb":
        general = code in ("ThrottlingException", "ValidationException", "AccessDeniedException")
        namespace = "com.amazon.coral.service" if general else "com.amazonaws.dynamodb.v20120810"
        body = json.dumps({"__type": f"{namespace}#{code}", "message": message})
        return "application/x-amz-json-1.0", body.encode()
    inner = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if service == "ec2":
        body = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{ident}</RequestID></Response>"
    else:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error><RequestId>{ident}</RequestId></ErrorResponse>"
        )
    return "text/xml", ('<?xml version="1.0" encoding="UTF-8"?>\n' + body).encode()
