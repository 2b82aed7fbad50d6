"""The journal's conditions at stores that are not ours: every call on every small record, judged by the rule book.

The comparison is that of the unit tests (tests/unit/journal/test_dynamodb.c), with moto and dynalite for the table in memory. One in 23,
other records for each form of each call; ZONEVAC_E2E_SLOW=1 tries all of them.
"""

from __future__ import annotations

import os
import re
import socketserver
import subprocess
import threading
from pathlib import Path

import pytest

from bed.account import Account
from bed.controlplane import ROOT
from bed.moto_patches import REGION

COMPARED_IN_ALL = 7900
STRIDE = 1 if os.environ.get("ZONEVAC_E2E_SLOW") == "1" else 23


def headers(operation: str) -> list[tuple[str, str]]:
    """Nobody checks a signature behind the gate, but moto tells the service by its scope."""
    scope = f"Credential=reader/20260101/{REGION}/dynamodb/aws4_request"
    return [
        ("Host", f"dynamodb.{REGION}.amazonaws.com"),
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", f"DynamoDB_20120810.{operation}"),
        ("X-Amz-Date", "20260101T000000Z"),
        ("Authorization", f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host;x-amz-date;x-amz-target, Signature=none"),
    ]


class Door(socketserver.StreamRequestHandler):
    """Hands on what comes: a line with operation and length, and the body; then status and length, and the body."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            operation, length = line.decode().split()
            body = self.rfile.read(int(length))
            status, _headers, answer = self.server.account.handle("POST", "/", headers(operation), body)
            self.wfile.write(f"{status} {len(answer)}\n".encode() + answer)


@pytest.fixture
def door(account: Account, store: str):
    with socketserver.TCPServer(("127.0.0.1", 0), Door) as server:
        server.account = account
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_the_rules_hold_at_the_store(store: str, door: int, capsys: pytest.CaptureFixture):
    program = Path(os.environ.get("ZONEVAC_JOURNAL_AT_STORE", ROOT / "build-debug" / "tests" / "journal_at_store"))
    assert program.exists(), f"{program} is not built; cmake --build --preset debug --target journal_at_store makes it"
    told = {"ZONEVAC_STORE_PORT": str(door), "ZONEVAC_JOURNAL_STRIDE": str(STRIDE), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [program, "-j1", "--filter", "dynamodb/expressions_and_rules_are_equal"],
        env=os.environ | told,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"journal: (\d+) combinations compared", done.stderr)
    assert said is not None, done.stderr
    assert int(said[1]) >= 0.9 * COMPARED_IN_ALL / STRIDE
    with capsys.disabled():
        print(f"\n{store}: {said[1]} combinations of call and record, as the rules say")
