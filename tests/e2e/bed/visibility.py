"""What Lambda's answers show: a list leaves out the states of its functions, and tags are for those who may list them."""

from __future__ import annotations

import json

from bed.shapes import Call

UNLISTED = ("State", "StateReason", "StateReasonCode", "LastUpdateStatus", "LastUpdateStatusReason", "LastUpdateStatusReasonCode")
LISTS = {"lambda:ListFunctions": "Functions", "lambda:ListVersionsByFunction": "Versions"}


class Visibility:
    """`hidden_tags`: the names of functions whose GetFunction says that the caller may not list their tags."""

    def __init__(self) -> None:
        self.hidden_tags: set[str] = set()

    def clear(self) -> None:
        self.hidden_tags.clear()

    def answer(self, call: Call, body: bytes) -> bytes:
        """moto's answer, with no more in it than AWS shows."""
        if call.name in LISTS:
            return _without_states(body, LISTS[call.name])
        if call.name == "lambda:GetFunction":
            return self._without_tags(body)
        return body

    def _without_tags(self, body: bytes) -> bytes:
        document = json.loads(body)
        arn = document["Configuration"]["FunctionArn"]
        if document["Configuration"]["FunctionName"] not in self.hidden_tags:
            return body
        document.pop("Tags", None)
        sentence = f"User is not authorized to perform: lambda:ListTags on resource: {arn}"
        document["TagsError"] = {"ErrorCode": "AccessDeniedException", "Message": sentence}
        return json.dumps(document).encode()


def _without_states(body: bytes, member: str) -> bytes:
    document = json.loads(body)
    for function in document[member]:
        for name in UNLISTED:
            function.pop(name, None)
    return json.dumps(document).encode()
