"""Answers of the gate, and errors in the words and on the wire of each service."""

from __future__ import annotations

import email.utils
import itertools
import json
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

_request_ids = itertools.count(1)
RETRY_AFTER_SECONDS = "1"
CORAL = ("ThrottlingException", "ValidationException", "AccessDeniedException", "ExpiredTokenException",
         "InvalidSignatureException", "UnrecognizedClientException", "MissingAuthenticationTokenException",
         "IncompleteSignatureException")  # fmt: skip


@dataclass
class Answer:
    status: int
    content_type: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def head(self, now: float) -> bytes:
        """Status line and header fields, sent at that time."""
        fields = {
            "Date": email.utils.formatdate(now, usegmt=True),
            "Content-Type": self.content_type,
            "x-amzn-RequestId": request_id(),
            "Content-Length": str(len(self.body)),
        } | self.headers
        lines = [f"HTTP/1.1 {self.status} {'OK' if self.status < 300 else 'Error'}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join([*lines, "", ""]).encode()


def request_id() -> str:
    return f"bed00000-0000-4000-8000-{next(_request_ids):012x}"


def error_answer(service: str, status: int, code: str, message: str) -> Answer:
    """An error as the service writes it."""
    if service == "dynamodb":
        namespace = "com.amazon.coral.service" if code in CORAL else "com.amazonaws.dynamodb.v20120810"
        return _json(status, "application/x-amz-json-1.0", {"__type": f"{namespace}#{code}", "message": message})
    if service == "ecs":
        return _json(status, "application/x-amz-json-1.1", {"__type": code, "message": message})
    if service == "lambda":
        return _rest_error(status, code, message)
    return Answer(status, "text/xml", _xml(service, code, message))


def _json(status: int, content_type: str, document: dict[str, str]) -> Answer:
    return Answer(status, content_type, json.dumps(document).encode())


def _rest_error(status: int, code: str, message: str) -> Answer:
    """Which error it is stands in the header alone."""
    document = {"Type": "Service" if status >= 500 else "User", "Message": message}
    headers = {"x-amzn-ErrorType": code}
    if status == 429:
        document["Reason"] = "CallerRateLimitExceeded"
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    answer = _json(status, "application/json", document)
    answer.headers.update(headers)
    return answer


def _xml(service: str, code: str, message: str) -> bytes:
    inner = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    ident = request_id()
    if service == "ec2":
        body = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{ident}</RequestID></Response>"
    else:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error><RequestId>{ident}</RequestId></ErrorResponse>"
        )
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + body).encode()
