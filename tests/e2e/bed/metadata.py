"""The metadata service of an instance: AWS's own mock, which knows the protocol, behind a front that gives out credentials with an end.

The mock (amazon-ec2-metadata-mock) makes and judges the tokens of IMDSv2 and answers every path; but what it says of
credentials is one fixed document. So the front puts fresh ones into each of its right answers, and can be away or silent.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import requests

from bed.controlplane import free_port
from bed.identities import Identities, document, iso8601
from bed.kube import loopback_session, wait_for
from bed.local_server import Asked, LocalServer, Reply
from bed.moto_patches import REGION, ZONES
from bed.orphans import end_with_parent

ROLE = "zonevac-node"
CREDENTIALS = "/latest/meta-data/iam/security-credentials"
TOKEN = "/latest/api/token"
FORWARDED = ("x-aws-ec2-metadata-token", "x-aws-ec2-metadata-token-ttl-seconds")


def mock_binary() -> Path:
    return Path(os.environ.get("ZONEVAC_METADATA_MOCK", "/nonexistent/ec2-metadata-mock"))


class Metadata(LocalServer):
    """
    `no_v2`: who asks for a token is answered 403. `written_end`: the end that stands in the credentials, although they are
    good for longer, as when the service has no newer ones for a while.
    """

    def __init__(self, identities: Identities, folder: Path) -> None:
        super().__init__()
        self._identities, self._folder = identities, folder
        self._mock: subprocess.Popen | None = None
        self._mock_url = ""
        self.no_v2 = False
        self.written_end: float | None = None
        self.token_seconds: int | None = None  # shortens whatever is asked for

    def start(self) -> Metadata:
        if self._mock is None:
            self._start_mock()
        super().start()
        return self

    def _start_mock(self) -> None:
        assert mock_binary().exists(), f"{mock_binary()} is not there; set ZONEVAC_METADATA_MOCK (./dev test builds it)"
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "mock.json"
        config.write_text(json.dumps({"metadata": _metadata()}))
        port = free_port()
        self._mock_url = f"http://127.0.0.1:{port}"
        command = [str(mock_binary()), "--hostname", "127.0.0.1", "--port", str(port), "--imdsv2", "--config-file", str(config)]
        with (self._folder / "mock.log").open("ab") as log:
            self._mock = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={"HOME": str(self._folder), "PATH": os.environ["PATH"]},
                preexec_fn=end_with_parent,
            )
        wait_for("the metadata mock", self._is_up, timeout=10)

    def _is_up(self) -> bool:
        try:
            return loopback_session().get(self._mock_url + "/latest/meta-data", timeout=1).status_code == 401
        except requests.ConnectionError:
            return False

    def end(self) -> None:
        """The mock, too."""
        self.stop()
        if self._mock is not None:
            self._mock.terminate()
            self._mock.wait(10)
            self._mock = None

    def reply(self, asked: Asked, _body: bytes) -> Reply:
        if asked.path == TOKEN and self.no_v2:
            return Reply(403, b"", "text/plain")
        headers = {name: asked.headers[name] for name in FORWARDED if name in asked.headers}
        if asked.path == TOKEN and self.token_seconds is not None:
            headers[FORWARDED[1]] = str(self.token_seconds)
        answer = loopback_session().request(asked.method, self._mock_url + asked.path, headers=headers, timeout=5)
        reply = Reply(answer.status_code, answer.content, answer.headers.get("Content-Type", "text/plain"))
        if asked.path == TOKEN and answer.status_code == 200:
            self._identities.secret(answer.text.strip())
            reply.headers[FORWARDED[1]] = answer.headers.get(FORWARDED[1], "")
        if asked.path == f"{CREDENTIALS}/{ROLE}" and answer.status_code == 200:
            reply.body = json.dumps(json.loads(answer.content) | self._credentials()).encode()
        return reply

    def _credentials(self) -> dict[str, str]:
        key = self._identities.issue_role(ROLE, "i-0bed0bed0bed0bed0", 6 * 3600)
        end = {} if self.written_end is None else {"Expiration": iso8601(self.written_end)}
        return {"LastUpdated": iso8601(self._identities.now()), **document(key), **end}


def _metadata() -> dict[str, dict]:
    """The settings of the mock that are not its own."""
    name = next(iter(ZONES))
    words = {"AccessKeyId": "ASIAOFTHEMOCK", "SecretAccessKey": "of-the-mock", "Token": "of-the-mock", "Expiration": "2020-04-02T00:49:51Z"}
    values = {
        "iam-security-credentials-role": ROLE,
        "iam-security-credentials": {"Code": "Success", "Type": "AWS-HMAC", **words},
        "placement-region": REGION,
        "placement-availability-zone": name,
        "placement-availability-zone-id": ZONES[name],
    }
    return {"paths": {"iam-security-credentials": f"{CREDENTIALS}/{ROLE}"}, "values": values}
