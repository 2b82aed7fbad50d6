"""The bed's identities: boto3 itself gets its credentials from each stand-in, and is refused by the gate as AWS would."""

from __future__ import annotations

import email.utils
import json
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bed.account import Account
from bed.gate import Gate
from bed.identities import ACCOUNT
from bed.kube import loopback_session, wait_for
from bed.metadata import CREDENTIALS, ROLE, TOKEN, Metadata
from bed.moto_patches import REGION
from bed.oidc import POD_AUDIENCE, Issuer, ProjectedFile, TokenError
from bed.signature import Key
from bed.sources import EXTERNAL_ID, SOURCES, Container, Instance, ProfileChain, Source, WebIdentity

# A process of its own, since what botocore is told by variables it keeps. Prints who it is, so many times, so far apart.
WHO = """
import sys, time, boto3
client = boto3.client("sts", region_name="us-east-1")
for number in range(int(sys.argv[1])):
    time.sleep(float(sys.argv[2]) if number else 0)
    print(client.get_caller_identity()["Arn"], flush=True)
"""
SESSIONS = {
    "profile": f"arn:aws:sts::{ACCOUNT}:assumed-role/zonevac-ops/login",
    "chain": f"arn:aws:sts::{ACCOUNT}:assumed-role/zonevac/zonevac-prod",
    "process": f"arn:aws:sts::{ACCOUNT}:assumed-role/zonevac-process/process",
    "web identity": f"arn:aws:sts::{ACCOUNT}:assumed-role/zonevac-irsa/",
    "container": f"arn:aws:sts::{ACCOUNT}:assumed-role/zonevac-pod/eks-prod-zonevac-bed",
    "instance": f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/i-0bed0bed0bed0bed0",
}


def ask(gate: Gate, source: Source, times: int = 1, apart: float = 0.0) -> subprocess.CompletedProcess:
    base = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "AWS_ENDPOINT_URL": gate.url, "AWS_MAX_ATTEMPTS": "1"}
    command = [sys.executable, "-c", WHO, str(times), str(apart)]
    return subprocess.run(command, env=source.environment(base), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", SOURCES)
def test_boto3_finds_out_who_it_is(gate: Gate, sources, name: str):
    answer = ask(gate, sources(SOURCES[name]))
    assert answer.stdout.startswith(SESSIONS[name]), answer.stderr
    last = gate.named("sts:GetCallerIdentity")[-1]
    assert last.identity.startswith(SESSIONS[name])
    assert gate.identities.keys[last.access].token


# Not an instance's: botocore takes near ends of those for trouble of the service, and goes on with them.
@pytest.mark.parametrize("name", ["chain", "process", "web identity", "container"])
def test_boto3_renews_what_ends(gate: Gate, sources, name: str):
    gate.identities.life_seconds = 1.5
    answer = ask(gate, sources(SOURCES[name]), times=2, apart=2)
    assert answer.stdout.count(SESSIONS[name]) == 2, answer.stderr
    assert len(set(gate.sessions("sts"))) >= 2


# keys with an end


def client(gate: Gate, service: str, key: Key):
    keys = {"aws_access_key_id": key.access, "aws_secret_access_key": key.secret, "aws_session_token": key.token}
    config = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
    return boto3.client(service, region_name=REGION, endpoint_url=gate.url, config=config, **keys)


CALLS = {
    "sts": "get_caller_identity",
    "autoscaling": "describe_auto_scaling_groups",
    "ec2": "describe_subnets",
    "dynamodb": "list_tables",
    "ecs": "list_clusters",
    "lambda": "list_functions",
}


def refusal(gate: Gate, service: str, key: Key) -> tuple[int, str]:
    with pytest.raises(ClientError) as caught:
        getattr(client(gate, service, key), CALLS[service])()
    answer = caught.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


@pytest.mark.parametrize(
    ("service", "expired", "unknown", "skewed"),
    [
        ("sts", (403, "ExpiredToken"), (403, "InvalidClientTokenId"), (403, "SignatureDoesNotMatch")),
        ("autoscaling", (403, "ExpiredToken"), (403, "InvalidClientTokenId"), (403, "SignatureDoesNotMatch")),
        ("ec2", (400, "RequestExpired"), (401, "AuthFailure"), (400, "RequestExpired")),
        ("dynamodb", (400, "ExpiredTokenException"), (400, "UnrecognizedClientException"), (400, "InvalidSignatureException")),
        ("ecs", (400, "ExpiredTokenException"), (400, "UnrecognizedClientException"), (400, "InvalidSignatureException")),
        ("lambda", (403, "ExpiredTokenException"), (403, "UnrecognizedClientException"), (403, "InvalidSignatureException")),
    ],
)
def test_each_service_refuses_in_its_own_words(gate: Gate, account: Account, service: str, expired, unknown, skewed):
    gate.expected |= {"ExpiredToken", "InvalidClientTokenId", "RequestTimeTooSkewed"}
    key = gate.identities.issue_role("somebody", "here", 600)
    getattr(client(gate, service, key), CALLS[service])()
    assert gate.entries[-1].identity == f"arn:aws:sts::{ACCOUNT}:assumed-role/somebody/here"
    gate.identities.skew_seconds = 601
    assert refusal(gate, service, key) == expired
    assert refusal(gate, service, Key()) == skewed
    gate.identities.skew_seconds = 0
    gate.identities.remove(key)
    assert refusal(gate, service, key) == unknown
    gate.identities.add(key)
    getattr(client(gate, service, key), CALLS[service])()
    assert not gate.violations


def test_an_expired_token_is_a_violation_unless_it_is_expected(gate: Gate):
    key = gate.identities.issue_role("somebody", "here", 0.01)
    time.sleep(0.02)
    assert refusal(gate, "sts", key) == (403, "ExpiredToken")
    assert "ended" in gate.violations.pop()
    assert gate.entries[-1].note == "ExpiredToken"


@pytest.mark.parametrize("skew", [-600.0, 0.0, 600.0])
def test_the_date_is_the_gates(gate: Gate, skew: float):
    gate.expected.add("MissingAuthenticationToken")
    gate.identities.skew_seconds = skew
    began = time.time()
    answer = loopback_session().post(gate.url + "/", data=b"Action=GetCallerIdentity&Version=2011-06-15", timeout=5)
    at = email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
    assert began - 1 < at - skew <= time.time()  # of whole seconds


# roles


def code_of(gate: Gate, key: Key, **params) -> str:
    try:
        client(gate, "sts", key).assume_role(RoleSessionName="try", **params)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return ""


def test_who_may_assume_what(gate: Gate, sources):
    chain = sources(ProfileChain)
    hub, prod = gate.identities.roles.values()
    user = next(key for key in gate.identities.keys.values() if key.arn.endswith("user/ci"))
    through = gate.identities.issue(hub.session_arn("x"))
    assert code_of(gate, user, RoleArn=hub.arn) == ""
    assert code_of(gate, Key(), RoleArn=hub.arn) == "AccessDenied"
    assert code_of(gate, user, RoleArn=chain.role.arn, ExternalId=EXTERNAL_ID) == "AccessDenied"
    assert code_of(gate, through, RoleArn=prod.arn) == "AccessDenied"
    assert code_of(gate, through, RoleArn=prod.arn, ExternalId="other") == "AccessDenied"
    assert code_of(gate, through, RoleArn=prod.arn, ExternalId=EXTERNAL_ID) == ""
    assert code_of(gate, through, RoleArn=prod.arn, ExternalId=EXTERNAL_ID, DurationSeconds=7200) == "ValidationError"
    assert code_of(gate, user, RoleArn=hub.arn, DurationSeconds=60) == "MalformedInput"
    assert "valid min value: 900" in gate.violations.pop()


def web_identity_code(gate: Gate, role_arn: str, token: str) -> str:
    from botocore import UNSIGNED

    unsigned = boto3.client("sts", region_name=REGION, endpoint_url=gate.url, config=Config(signature_version=UNSIGNED))
    try:
        unsigned.assume_role_with_web_identity(RoleArn=role_arn, RoleSessionName="try", WebIdentityToken=token)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return ""


def test_which_tokens_are_good(gate: Gate, sources):
    source = sources(WebIdentity)
    issuer, now, arn = gate.identities.issuer, time.time(), source.role.arn
    assert web_identity_code(gate, arn, issuer.token(now)) == ""
    assert web_identity_code(gate, arn, issuer.token(now - 100, seconds=99)) == "ExpiredTokenException"
    assert web_identity_code(gate, arn, issuer.token(now, audience=POD_AUDIENCE)) == "InvalidIdentityToken"
    assert web_identity_code(gate, arn, issuer.token(now, subject="system:serviceaccount:other:x")) == "AccessDenied"
    assert web_identity_code(gate, arn + "x", issuer.token(now)) == "AccessDenied"
    assert web_identity_code(gate, arn, Issuer().token(now)) == "InvalidIdentityToken"
    assert web_identity_code(gate, arn, "garbage") == "InvalidIdentityToken"
    written = gate.log_path.read_text()
    assert all(token not in written for token in gate.identities.words)


def test_a_projected_file_is_swapped(tmp_path: Path):
    file = ProjectedFile(tmp_path / "volume")
    file.write("one")
    resolved = file.path.resolve()
    assert file.path.read_text() == "one"
    file.write("two")
    assert file.path.read_text() == "two"
    assert file.path.resolve() != resolved
    file.remove()
    assert not file.path.exists()
    file.write("three")
    assert file.path.read_text() == "three"


def test_a_token_of_the_past_is_refused(gate: Gate):
    issuer, now = gate.identities.issuer, time.time()
    token = issuer.token(now, seconds=5)
    assert issuer.verify(token, "sts.amazonaws.com", now)["sub"].endswith(":zonevac")
    with pytest.raises(TokenError, match="must be before"):
        issuer.verify(token, "sts.amazonaws.com", now + 6)
    head, body, _signature = token.split(".")
    with pytest.raises(TokenError):
        issuer.verify(f"{head}.{body}.AAAA", "sts.amazonaws.com", now)
    issuer.rotate()
    with pytest.raises(TokenError, match="verification key"):
        issuer.verify(token, "sts.amazonaws.com", now)


# the agents


def test_the_agent_wants_the_present_token(gate: Gate, sources):
    source = sources(Container, token_seconds=60)
    url, session = source.server.credentials_url, loopback_session()
    old = source.file.path.read_text()
    assert session.get(url, headers={"Authorization": old}, timeout=5).status_code == 200
    gate.identities.skew_seconds = 61
    assert session.get(url, headers={"Authorization": old}, timeout=5).status_code == 400
    assert session.get(url, timeout=5).status_code == 400
    source.rotate()
    answer = session.get(url, headers={"Authorization": source.file.path.read_text()}, timeout=5)
    assert set(answer.json()) == {"AccessKeyId", "SecretAccessKey", "Token", "Expiration", "AccountId"}
    source.server.associated = False
    assert session.get(url, headers={"Authorization": source.file.path.read_text()}, timeout=5).status_code == 403


def test_a_stand_in_goes_and_comes_back(gate: Gate, sources):
    source = sources(Container)
    source.server.stop()
    assert ask(gate, source).returncode != 0
    source.server.start()
    assert ask(gate, source).stdout.startswith(SESSIONS["container"])


def test_the_mock_wants_tokens(gate: Gate, sources):
    server: Metadata = sources(Instance).server
    session = loopback_session()
    lifetime = {"x-aws-ec2-metadata-token-ttl-seconds": "21600"}
    path = server.url + CREDENTIALS
    assert session.get(path, timeout=5).status_code == 401
    assert session.get(path, headers={"x-aws-ec2-metadata-token": "bogus"}, timeout=5).status_code == 401
    assert session.put(server.url + TOKEN, timeout=5).status_code == 400
    assert session.put(server.url + TOKEN, headers=lifetime | {next(iter(lifetime)): "21601"}, timeout=5).status_code == 400
    server.token_seconds = 3
    token = {"x-aws-ec2-metadata-token": session.put(server.url + TOKEN, headers=lifetime, timeout=5).text.strip()}
    assert session.get(path + "/", headers=token, timeout=5).text.strip() == ROLE
    first = session.get(f"{path}/{ROLE}", headers=token, timeout=5).json()
    assert first["Code"] == "Success"
    assert json.dumps(first).count("of-the-mock") == 0
    region = session.get(server.url + "/latest/meta-data/placement/region", headers=token, timeout=5)
    assert region.text.strip() == REGION
    wait_for("its end", lambda: session.get(f"{path}/{ROLE}", headers=token, timeout=5).status_code == 401)
    server.no_v2 = True
    assert session.put(server.url + TOKEN, headers=lifetime, timeout=5).status_code == 403


def test_botocore_takes_no_silence_for_credentials(gate: Gate, sources):
    source = sources(Instance)
    source.server.silent = True
    answer = ask(gate, source)
    assert answer.returncode != 0
    assert "NoCredentialsError" in answer.stderr
    assert issubclass(BotoCoreError, Exception)
