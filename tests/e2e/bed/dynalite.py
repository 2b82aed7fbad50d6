"""A second DynamoDB, beside moto's: each takes what the other refuses.

dynalite's tables are CREATING for a while, and its refusals carry no item (ReturnValuesOnConditionCheckFailure); it knows neither
transactions, backups nor deletion protection. It does not check signatures: the gate does.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import EndpointConnectionError

from bed.controlplane import free_port
from bed.kube import wait_for
from bed.moto_patches import REGION
from bed.orphans import end_with_parent

CREATING_MS = 200


def program() -> Path:
    return Path(os.environ.get("ZONEVAC_DYNALITE", "/nonexistent"))


class Dynalite:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen | None = None
        self._client: Any = None
        self.url = ""

    def start(self) -> Dynalite:
        assert program().exists(), f"{program()} is not there; set ZONEVAC_DYNALITE (./dev test installs it)"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [str(program()), "--host", "127.0.0.1", "--port", str(port), "--createTableMs", str(CREATING_MS), "--deleteTableMs", "1"]
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "dynalite.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}, preexec_fn=end_with_parent
            )
        wait_for("dynalite", self._is_up)
        return self

    def _is_up(self) -> bool:
        try:
            self.client().list_tables()
        except EndpointConnectionError:
            return False
        return True

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def client(self) -> Any:
        if self._client is None:
            keys = {"aws_access_key_id": "reader", "aws_secret_access_key": "reader"}
            self._client = boto3.client("dynamodb", region_name=REGION, endpoint_url=self.url, **keys)
        return self._client

    def wipe(self) -> None:
        """No table is left."""
        client = self.client()
        for name in client.list_tables()["TableNames"]:
            client.delete_table(TableName=name)
        wait_for("dynalite to be empty", lambda: not client.list_tables()["TableNames"])

    def handle(self, target: str, headers: list[tuple[str, str]], body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """One POST: status, headers, body."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", target, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
