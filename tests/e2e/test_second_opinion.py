"""Our signatures against botocore's, over random requests: both must canonicalise and sign alike.

What botocore leaves to its caller is not asked here: it takes a query as it stands where we bring every spelling of a byte to the canonical
one, and blanks in headers are those of HTTP, space and tab.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import string
import subprocess
from pathlib import Path
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 6000
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS")
SERVICES = ("autoscaling", "dynamodb", "ec2", "ecs", "lambda", "sts", "s3", "arc-zonal-shift", "eks-auth")
REGIONS = ("us-east-1", "us-gov-west-1", "cn-northwest-1", "eusc-de-east-1", "us-isob-east-1", "ap-southeast-7")
BASES = (
    "https://lambda.us-east-1.amazonaws.com",
    "https://gate.example:8443",
    "https://gate.example:443/prefix",
    "http://127.0.0.1:5000",
    "http://gate.example:80/a%20b/c",
    "https://[fd00:ec2::1]:8443",
    "https://[::1]",
)
TEXT = "".join(chr(c) for c in range(0x21, 0x7F))
PATH_RAW = string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@"  # pchar without escapes
HEADERS = ("X-Amz-Target", "content-type", "X-AMZ-Meta-a", "x-amz-meta-A-b", "Accept", "Range", "zz-last", "A-first", "If-Match")
MIDNIGHTS = ("2025-12-31", "2024-02-29", "2023-02-28", "2026-03-31")


class Recorded:
    """Keeps the canonical request that the signature is made of."""

    canonical = ""

    def canonical_request(self, request: AWSRequest) -> str:
        self.canonical = super().canonical_request(request)
        return self.canonical


class Twice(Recorded, SigV4Auth):
    """The path is normalised and encoded a second time."""


class Once(Recorded, SigV4Auth):
    """The path goes as it is; S3's rule, without the header that S3 wants besides."""

    _normalize_url_path = S3SigV4Auth._normalize_url_path


def segment(dice: random.Random) -> str:
    kind = dice.randrange(8)
    if kind == 0:
        return dice.choice((".", "..", "...", "", "%2E", "%2e%2E", "%2F"))
    if kind == 1:
        return "".join(dice.choices(PATH_RAW, k=dice.randrange(1, 12)))
    if kind == 2:
        return "".join(f"%{b:02{dice.choice('xX')}}" for b in dice.randbytes(dice.randrange(1, 9)))
    if kind == 3:
        return quote(f"arn:aws:lambda:us-east-1:123456789012:function:{dice.choice(('web', 'a/b', 'ü'))}", safe="")
    if kind == 4:
        return dice.choice(("ü", "日本", "é~", "ﬀ"))  # on the wire as they are, UTF-8
    return quote(dice.randbytes(dice.randrange(1, 16)), safe="")


def path(dice: random.Random) -> str:
    if dice.random() < 0.1:
        return "/"
    return "/" + "/".join(segment(dice) for _ in range(dice.randrange(1, 7))) + dice.choice(("", "", "/", "//"))


def word(dice: random.Random) -> str:
    return quote(dice.randbytes(dice.randrange(0, 9)), safe="")


def query(dice: random.Random) -> str | None:
    if dice.random() < 0.3:
        return dice.choice((None, ""))
    names = [word(dice) or "n", "a", "A", "a-", "Action", "%C3%BC", "b"]
    pairs = []
    for _ in range(dice.randrange(1, 9)):
        name = dice.choice(names)
        pairs.append(dice.choice((f"{name}={word(dice)}", f"{name}={word(dice)}", name, f"{name}=")))
    return "&".join(pairs)


def blanks(dice: random.Random) -> str:
    return "".join(dice.choices(" \t", k=dice.randrange(0, 4)))


def value(dice: random.Random) -> str:
    words = ["".join(dice.choices(TEXT, k=dice.randrange(1, 9))) for _ in range(dice.randrange(0, 5))]
    return blanks(dice) + "".join(w + (blanks(dice) or " ") for w in words)


def instant(dice: random.Random) -> datetime.datetime:
    if dice.random() < 0.4:
        day = datetime.datetime.fromisoformat(dice.choice(MIDNIGHTS)) + datetime.timedelta(days=1)
        return day + datetime.timedelta(seconds=dice.choice((-1, 0, 1)))
    return datetime.datetime(1970, 1, 2) + datetime.timedelta(seconds=dice.randrange(4_000_000_000))


def draw(dice: random.Random) -> dict:
    token = "".join(dice.choices(string.ascii_letters + string.digits + "+/=", k=dice.choice((40, 900))))
    return {
        "method": dice.choice(METHODS),
        "base_url": dice.choice(BASES),
        "path": path(dice),
        "query": query(dice),
        "headers": [[dice.choice(HEADERS), value(dice)] for _ in range(dice.randrange(0, 7))],
        "body_hex": dice.randbytes(dice.choice((0, 0, 1, 17, 300))).hex(),
        "access": "AKIA" + "".join(dice.choices(string.ascii_uppercase + string.digits, k=16)),
        "secret": "".join(dice.choices(string.ascii_letters + string.digits + "+/", k=40)),
        "token": token if dice.random() < 0.5 else None,
        "region": dice.choice(REGIONS),
        "service": dice.choice(SERVICES),
        "at": instant(dice).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "keep_path": dice.random() < 0.2,
    }


def botocore_signs(asked: dict, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    at = datetime.datetime.strptime(asked["at"], "%Y-%m-%dT%H:%M:%SZ")
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: at)
    url = asked["base_url"] + asked["path"] + (f"?{asked['query']}" if asked["query"] else "")
    request = AWSRequest(method=asked["method"], url=url, data=bytes.fromhex(asked["body_hex"]))
    for name, said in asked["headers"]:
        request.headers.add_header(name, said)
    auth = (Once if asked["keep_path"] else Twice)(
        Credentials(asked["access"], asked["secret"], asked["token"]), asked["service"], asked["region"]
    )
    auth.add_auth(request)
    return auth.canonical, request.headers["Authorization"]


def we_sign(asked: list[dict]) -> list[dict]:
    program = Path(os.environ.get("ZONEVAC_SIGNER", ROOT / "build-debug" / "tests" / "signer"))
    assert program.exists(), f"{program} is not built; cmake --build --preset debug --target signer makes it"
    done = subprocess.run(
        [program], input="".join(json.dumps(one) + "\n" for one in asked), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_botocore_signs_random_requests_as_we_do(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = int(os.environ.get("ZONEVAC_SEED") or random.SystemRandom().randrange(2**32))
    print(f"second opinion: {REQUESTS} requests of seed {seed} (ZONEVAC_SEED={seed} repeats them)")
    dice = random.Random(seed)
    asked = [draw(dice) for _ in range(REQUESTS)]
    ours = we_sign(asked)
    assert len(ours) == REQUESTS
    for number, (request, answer) in enumerate(zip(asked, ours, strict=True)):
        canonical, authorization = botocore_signs(request, monkeypatch)
        told = f"seed {seed}, request {number}: {json.dumps(request)}"
        assert answer["canonical"] == canonical, told
        assert answer["authorization"] == authorization, told
