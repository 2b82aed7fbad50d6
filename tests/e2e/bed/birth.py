"""A new table is CREATING for a while, as it is at AWS; moto's is ACTIVE at once."""

from __future__ import annotations

import json

from bed.answers import Answer, error_answer
from bed.shapes import Call

ITEM_CALLS = {"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "UpdateContinuousBackups"}


class TableBirth:
    """With `describes` above 0, so many answers of DescribeTable say CREATING, and there are no items until then."""

    def __init__(self) -> None:
        self.describes = 0
        self._left: dict[str, int] = {}

    def clear(self) -> None:
        self.describes = 0
        self._left.clear()

    def refuse(self, call: Call) -> Answer | None:
        """The answer to what comes too early."""
        if call.service != "dynamodb" or call.operation not in ITEM_CALLS or not self._left.get(call.params["TableName"]):
            return None
        code = "TableNotFoundException" if call.operation == "UpdateContinuousBackups" else "ResourceNotFoundException"
        return error_answer("dynamodb", 400, code, "Requested resource not found")

    def answer(self, call: Call, body: bytes) -> bytes:
        """moto's answer, with the status that AWS would give."""
        if call.name == "dynamodb:CreateTable" and self.describes:
            self._left[call.params["TableName"]] = self.describes
            return _creating(body, "TableDescription")
        if call.name == "dynamodb:DescribeTable" and self._left.get(call.params["TableName"]):
            self._left[call.params["TableName"]] -= 1
            return _creating(body, "Table")
        return body


def _creating(body: bytes, member: str) -> bytes:
    document = json.loads(body)
    table = document[member]
    table["TableStatus"] = "CREATING"
    for index in table.get("GlobalSecondaryIndexes", []):
        index["IndexStatus"] = "CREATING"
    return json.dumps(document).encode()
