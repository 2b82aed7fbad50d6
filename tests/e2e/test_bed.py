"""The bed itself: does the gate refuse what AWS refuses, page, fail and kill as told, and is the account put right where moto is not?"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from bed.account import TABLE, Account
from bed.clock import clock
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kube import KubeError, loopback_session, wait_for
from bed.moto_patches import REGION
from bed.region import EVACUATED, groups, small_groups
from bed.signature import Key
from bed.world import World

STAND_IN = Path(__file__).parent / "bed" / "stand_in.py"


def client(gate: Gate, service: str, key: Key | None = None, region: str = REGION):
    key = key or Key()
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=gate.url,
        aws_access_key_id=key.access,
        aws_secret_access_key=key.secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=1, parameter_validation=False),
    )


def code_of(call, *arguments, **named) -> str:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **named)
    return caught.value.response["Error"]["Code"]


# the judge


def test_right_requests_pass(gate: Gate, account: Account):
    account.seed(groups(12))
    client(gate, "ec2").describe_availability_zones(Filters=[{"Name": "zone-id", "Values": [EVACUATED]}])
    client(gate, "sts").get_caller_identity()
    asg = client(gate, "autoscaling")
    asg.describe_auto_scaling_groups(AutoScalingGroupNames=["web", "shop & co <eu>", "batch/ünicode"])
    asg.update_auto_scaling_group(AutoScalingGroupName="web", VPCZoneIdentifier=account.subnets["a0"])
    assert [entry.status for entry in gate.entries] == [200] * 4
    assert gate.counts()["autoscaling:UpdateAutoScalingGroup"] == 1
    assert not gate.violations


@pytest.mark.parametrize(
    ("key", "region", "code"),
    [
        (Key(secret="wrong"), REGION, "SignatureDoesNotMatch"),
        (Key(access="AKIDNOBODY"), REGION, "InvalidClientTokenId"),
        (Key(), "eu-west-1", "SignatureDoesNotMatch"),
    ],
)
def test_wrong_signatures_are_refused(gate: Gate, key: Key, region: str, code: str):
    assert code_of(client(gate, "sts", key, region).get_caller_identity) == code
    assert len(gate.violations) == 1
    gate.violations.clear()


def test_a_signature_of_yesterday_is_refused(gate: Gate, monkeypatch: pytest.MonkeyPatch):
    import datetime

    import botocore.auth

    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_a, **_k: yesterday, raising=True)
    assert code_of(client(gate, "sts").get_caller_identity) == "SignatureDoesNotMatch"
    assert "Signature expired" in gate.violations.pop()


def raw(gate: Gate, service: str, body: bytes, **headers: str) -> tuple[int, str]:
    """A request signed by botocore, but made by hand."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    fields = {"Content-Type": "application/x-www-form-urlencoded"} | headers
    request = AWSRequest(method="POST", url=gate.url + "/", data=body, headers=fields)
    SigV4Auth(Credentials(Key().access, Key().secret), service, REGION).add_auth(request)
    answer = loopback_session().post(gate.url + "/", data=body, headers=dict(request.headers), timeout=10)
    return answer.status_code, answer.text


DYNAMO = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.GetItem"}


@pytest.mark.parametrize(
    ("service", "body", "headers", "says"),
    [
        ("ec2", b"Action=DescribeSubnets", {}, "Version"),
        ("ec2", b"Action=DescribeSubnet&Version=2016-11-15", {}, "no operation"),
        ("ec2", b"Action=DescribeSubnets&Version=2016-11-15&Filters.member.1.Name=x", {}, "does not take"),
        ("ec2", b"Action=DescribeSubnets&Version=2016-11-15&MaxResults=many", {}, "no integer"),
        ("autoscaling", b"Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.1=x", {}, "not take"),
        ("autoscaling", b"Action=UpdateAutoScalingGroup&Version=2011-01-01&VPCZoneIdentifier=s", {}, "Missing required"),
        ("autoscaling", b"Action=DescribeAutoScalingGroups&Version=2011-01-01", {"Content-Type": "text/plain"}, "wants Content-Type"),
        ("dynamodb", b'{"a":', DYNAMO, "not JSON"),
        ("dynamodb", b'{"TableName":"t","Key":{},"Consistent":true}', DYNAMO, "no member"),
        ("dynamodb", b"{}", DYNAMO | {"X-Amz-Target": "Bogus.GetItem"}, "X-Amz-Target"),
        ("dynamodb", b'{"TableName":"t","Key":{}}', DYNAMO | {"Content-Type": "application/json"}, "wants Content-Type"),
        ("dynamodb", b'{"TableName":"t","Key":{"a":"b"}}', DYNAMO, "must be a structure"),
    ],
)  # fmt: skip
def test_wrong_shapes_are_refused(gate: Gate, service: str, body: bytes, headers: dict, says: str):
    status, _text = raw(gate, service, body, **headers)
    assert status == 400
    assert says in gate.violations.pop()
    assert not gate.violations


def test_connections_are_kept(gate: Gate, account: Account):
    sts = client(gate, "sts")
    for _ in range(20):
        sts.get_caller_identity()
    assert gate.connections == 1
    gate.idle_close_seconds = 0.05
    sts.get_caller_identity()

    def call() -> bool:
        time.sleep(0.1)
        sts.get_caller_identity()
        return gate.connections == 2

    wait_for("the gate to have closed the idle one", call)


# pages


def test_groups_come_in_pages(gate: Gate, account: Account):
    account.seed(groups(120))
    asg = client(gate, "autoscaling")
    pages = list(asg.get_paginator("describe_auto_scaling_groups").paginate())
    assert [len(page["AutoScalingGroups"]) for page in pages] == [50, 50, 20]
    names = [group["AutoScalingGroupName"] for page in pages for group in page["AutoScalingGroups"]]
    assert names == [group.name for group in account.groups]
    gate.pager.caps["autoscaling:DescribeAutoScalingGroups"] = 7
    pages = list(asg.get_paginator("describe_auto_scaling_groups").paginate())
    assert len(pages) == 18
    assert code_of(asg.describe_auto_scaling_groups, NextToken="made up") == "InvalidNextToken"
    assert code_of(asg.describe_auto_scaling_groups, MaxRecords=101) == "ValidationError"


def test_subnets_come_in_pages(gate: Gate, account: Account):
    account.seed([])
    ec2 = client(gate, "ec2")
    whole = ec2.describe_subnets()["Subnets"]
    paginator = ec2.get_paginator("describe_subnets")
    pages = list(paginator.paginate(MaxResults=5))
    assert [len(page["Subnets"]) for page in pages[:-1]] == [5] * (len(pages) - 1)
    assert [subnet for page in pages for subnet in page["Subnets"]] == whole
    gate.pager.caps["ec2:DescribeSubnets"] = 4
    assert len(list(paginator.paginate(MaxResults=1000))) == -(-len(whole) // 4)
    assert code_of(ec2.describe_subnets, NextToken="made up") == "InvalidParameterValue"
    assert code_of(ec2.describe_subnets, MaxResults=2) == "MalformedInput"
    assert "valid min value: 5" in gate.violations.pop()


# faults


def test_faults_strike_when_told(gate: Gate, account: Account):
    account.seed(small_groups())
    asg = client(gate, "autoscaling")
    gate.fault("autoscaling:Update*", "throttle", first=2)
    subnet = account.subnets["a0"]
    asg.update_auto_scaling_group(AutoScalingGroupName="one", VPCZoneIdentifier=subnet)
    update = {"AutoScalingGroupName": "one", "VPCZoneIdentifier": subnet}
    assert code_of(asg.update_auto_scaling_group, **update) == "Throttling"
    asg.update_auto_scaling_group(**update)
    gate.faults.clear()
    gate.fault("autoscaling:*", "error", code="ResourceContention", status=500)
    assert code_of(asg.describe_auto_scaling_groups) == "ResourceContention"


@pytest.mark.parametrize("kind", ["html", "empty", "lost", "reset", "truncate"])
def test_answers_that_are_none(gate: Gate, account: Account, kind: str):
    account.seed(small_groups())
    asg = client(gate, "autoscaling")
    gate.fault("autoscaling:Update*", kind)
    with contextlib.suppress(BotoCoreError, ClientError, ResponseParserError):
        asg.update_auto_scaling_group(AutoScalingGroupName="one", VPCZoneIdentifier=account.subnets["a0"])
    now = account.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"][0]["VPCZoneIdentifier"]
    assert (now == account.subnets["a0"]) == (kind in ("lost", "truncate"))


def test_a_silent_answer_is_waited_for_in_vain(gate: Gate):
    gate.fault("sts:*", "silent", seconds=10)
    host, port = gate.url.removeprefix("http://").split(":")
    with pytest.raises(BotoCoreError):
        client(gate, "sts").get_caller_identity()
    with socket.create_connection((host, int(port)), timeout=1):
        client(gate, "sts").get_caller_identity()


def test_a_stale_index(gate: Gate, account: Account):
    account.create_journal()
    gate.stale_writes = 1
    dynamo = client(gate, "dynamodb")
    for number in range(3):
        item = {"zoneId": EVACUATED, "resourceId": f"r{number}", "resourceType": "AutoScalingGroup"}
        dynamo.put_item(TableName=TABLE, Item={key: {"S": value} for key, value in item.items()})
    query = {
        "TableName": TABLE,
        "IndexName": "resourceType-zoneId-index",
        "KeyConditionExpression": "resourceType = :t",
        "ExpressionAttributeValues": {":t": {"S": "AutoScalingGroup"}},
    }
    assert dynamo.query(**query)["Count"] == 2
    gate.stale_writes = 0
    assert dynamo.query(**query)["Count"] == 3


# the account


def test_what_moto_gets_wrong_is_put_right(gate: Gate, account: Account):
    account.seed(groups(12))
    asg = client(gate, "autoscaling")
    left = ", ".join(account.subnets[place] for place in ("c0", "a0"))
    asg.update_auto_scaling_group(AutoScalingGroupName="api", VPCZoneIdentifier=left)
    described = asg.describe_auto_scaling_groups(AutoScalingGroupNames=["api"])["AutoScalingGroups"][0]
    assert described["VPCZoneIdentifier"] == left
    assert described["AvailabilityZones"] == ["us-east-1a", "us-east-1c"]
    assert "MixedInstancesPolicy" in described
    assert code_of(asg.update_auto_scaling_group, AutoScalingGroupName="api", VPCZoneIdentifier="") == "MalformedInput"
    assert "valid min length: 1" in gate.violations.pop()
    assert account.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"][1]["VPCZoneIdentifier"] == left


def test_instances_move_out_of_a_removed_zone(gate: Gate, account: Account):
    account.seed(small_groups())
    asg = client(gate, "autoscaling")

    def instances() -> list[tuple[str, str]]:
        group = asg.describe_auto_scaling_groups(AutoScalingGroupNames=["one"])["AutoScalingGroups"][0]
        return sorted((item["AvailabilityZone"], item["LifecycleState"]) for item in group["Instances"])

    assert instances() == [("us-east-1a", "InService"), ("us-east-1b", "InService")]
    clock.hold()
    asg.update_auto_scaling_group(AutoScalingGroupName="one", VPCZoneIdentifier=account.subnets["a0"])
    assert ("us-east-1b", "InService") in instances()
    clock.forward(0.12)
    assert ("us-east-1b", "Terminating") in instances()
    clock.forward(0.12)
    assert instances() == [("us-east-1a", "InService"), ("us-east-1a", "InService")]


# kills


def stand_in(gate: Gate) -> subprocess.Popen:
    key = Key()
    words = [sys.executable, str(STAND_IN), gate.url, EVACUATED, key.access, key.secret]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("moment", ["before", "after", "reply"])
def test_a_stand_in_is_killed_at_its_first_update(gate: Gate, account: Account, moment: str):
    account.seed(small_groups())
    account.create_journal()
    number = 4  # zones, subnets, groups, the first record
    started: list[subprocess.Popen] = []
    gate.kill_at(number + 1, moment, lambda: started[0].kill())
    started.append(stand_in(gate))
    started[0].wait(20)
    assert gate.killed.wait(1)
    assert gate.entries[number - 1].name == "dynamodb:PutItem"
    assert gate.entries[number].name == "autoscaling:UpdateAutoScalingGroup"
    one = account.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"][0]
    assert (one["VPCZoneIdentifier"] == account.identifier(account.groups[0])) == (moment == "before")
    gate.disarm()
    assert stand_in(gate).wait(20) == 0
    assert len(account.client("dynamodb").scan(TableName=TABLE)["Items"]) == 3


# Kubernetes


def test_the_product_has_its_own_rights_only(installed: ControlPlane, kube, tmp_path: Path):
    import yaml

    document = yaml.safe_load(installed.product_kubeconfig(tmp_path / "k").read_text())
    token = document["users"][0]["user"]["token"]

    def status(path: str) -> int:
        how = {"headers": {"Authorization": f"Bearer {token}"}, "verify": str(installed.authority.cert), "timeout": 10}
        return loopback_session().get(installed.server + path, **how).status_code

    assert status("/api/v1/nodes") == 200
    assert status("/apis/zonevac.dev/v1alpha1/zonalevacuations") == 200
    assert status("/api/v1/secrets") == 403
    assert status("/apis/apps/v1/deployments") == 403


def test_a_bad_manifest_is_refused_by_the_schema(kube):
    with pytest.raises(KubeError, match="zoneId") as caught:
        kube.evacuate("bad", zoneId="us-east-1a", targets=[{"kind": "EksNode", "selector": {"all": True}}])
    assert caught.value.status == 422


def test_snapshots_tell_differences(world: World, account: Account, kube):
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    before = world.snapshot()
    assert not before.differences(world.snapshot())
    account.set_zone_identifier("one", account.subnets["a0"])
    kube.call("PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    kinds = [line.split(":")[0] for line in before.differences(world.snapshot())]
    assert kinds == ["group one", "node n1"]
