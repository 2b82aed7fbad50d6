"""What people get wrong, and what AWS answers on a bad day: a sentence in the right place, and the rest goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bed import steps
from bed.account import TABLE, Account
from bed.certificates import Authority
from bed.controller import Controller, aws_environment, binary, run
from bed.controlplane import ControlPlane, free_port
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.region import EVACUATED, groups, small_groups
from bed.signature import Key
from bed.world import World

BAD_USAGE = 2


def ends(controller: Controller, timeout: float = 5) -> int:
    """The exit code of a controller that gives up by itself."""
    controller.start()
    try:
        return controller.process.wait(timeout)
    except subprocess.TimeoutExpired:
        controller.stop()
        raise AssertionError(f"it went on instead of refusing to start\n{controller.tail()}") from None


# flags


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "usage"),
        (["evaporate"], "evaporate"),
        (["controller", "--bogus"], "--bogus"),
        (["controller", "surplus"], "surplus"),
        (["controller", "--journal"], "--journal"),
        (["controller", "--journal", "postgres:x"], "postgres"),
        (["controller", "--journal", "dynamodb:no spaces"], "journal"),
        (["controller", "--resync", "often"], "often"),
        (["controller", "--listen", "nowhere"], "nowhere"),
        (["controller", "--leader-elect=perhaps"], "perhaps"),
        (["controller", "--log-level", "shouting"], "shouting"),
        (["controller", "--log-format", "xml"], "xml"),
    ],
)
def test_bad_usage_ends_with_2(words: list[str], says: str, gate: Gate, installed: ControlPlane, tmp_path: Path):
    assert binary().exists()
    environment = aws_environment(gate.url) | {"AWS_REGION": "us-east-1"}
    environment["ZONEVAC_KUBECONFIG"] = str(installed.product_kubeconfig(tmp_path / "k"))
    environment["ZONEVAC_LISTEN"] = f"127.0.0.1:{free_port()}"
    done = run(*words, environment=environment)
    assert done.returncode == BAD_USAGE, done
    assert says in done.stderr
    assert not gate.entries


def test_a_bad_variable_is_named(gate: Gate, installed: ControlPlane, tmp_path: Path):
    environment = aws_environment(gate.url) | {"AWS_REGION": "us-east-1", "ZONEVAC_RESYNC": "often"}
    done = run("controller", "--kubeconfig", str(installed.product_kubeconfig(tmp_path / "k")), environment=environment)
    assert done.returncode == BAD_USAGE
    assert "ZONEVAC_RESYNC" in done.stderr


def test_version_and_help():
    assert run("version").returncode == 0
    helped = run("controller", "--help")
    assert helped.returncode == 0
    for flag in ("--region", "--journal", "--create-journal", "--kubeconfig", "--listen", "--leader-elect", "--resync", "--log-format"):
        assert flag in helped.stdout


# the cluster


def test_a_kubeconfig_that_is_not_there(controllers, tmp_path: Path):
    controller = controllers(kubeconfig=tmp_path / "nowhere")
    assert ends(controller) == BAD_USAGE
    assert "nowhere" in controller.tail()


@pytest.mark.parametrize("text", ["", "{", "apiVersion: v1\nkind: Config\n", "\x00\x01\x02", "clusters: [{name: 7}]"])
def test_a_kubeconfig_that_is_none(text: str, controllers, tmp_path: Path):
    (tmp_path / "broken").write_text(text)
    controller = controllers(kubeconfig=tmp_path / "broken")
    assert ends(controller) == BAD_USAGE
    assert "broken" in controller.tail()


def test_a_ca_that_is_another(controllers, installed: ControlPlane, gate: Gate, kube: Kube, tmp_path: Path):
    """The server is not believed: nothing is asked, and the log says why. It may come right (a rotation), so the process stays."""
    folder = tmp_path / "other"
    folder.mkdir()
    kubeconfig = installed.write_kubeconfig(tmp_path / "bad-ca", {"token": "none"}, ca=Authority(folder, "somebody-else").cert)
    controller = controllers(kubeconfig=kubeconfig).start()
    wait_for("a word about the certificate", lambda: "certificate" in controller.tail(200).lower())
    assert controller.running()
    assert not gate.entries


def test_a_token_that_is_none(controllers, installed: ControlPlane, gate: Gate, kube: Kube, tmp_path: Path):
    kubeconfig = installed.write_kubeconfig(tmp_path / "bad-token", {"token": "none"})
    controller = controllers(kubeconfig=kubeconfig).start()
    wait_for("a word about 401", lambda: "401" in controller.tail(200) or "nauthorized" in controller.tail(200))
    assert controller.running()


def test_an_api_server_that_is_not_there(controllers, installed: ControlPlane, gate: Gate, tmp_path: Path):
    nowhere = f"https://127.0.0.1:{free_port()}"
    kubeconfig = installed.write_kubeconfig(tmp_path / "nowhere", {"token": "none"}, server=nowhere)
    controller = controllers(kubeconfig=kubeconfig).start()
    wait_for("a word about the server", lambda: nowhere.removeprefix("https://") in controller.tail(200))
    assert controller.running()
    assert controller.stop() == 0


# AWS


def test_no_region(controllers, installed: ControlPlane):
    controller = controllers().without("--region")
    assert ends(controller, 10) == BAD_USAGE
    assert "region" in controller.tail().lower()


@pytest.mark.parametrize("missing", [("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY",), ("AWS_ACCESS_KEY_ID",)])
def test_credentials_missing_or_half(missing: tuple, controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """Nodes need no AWS; what does waits, and the condition says for what."""
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controller = controllers()
    for name in missing:
        controller.environment.pop(name)
    controller.start()
    steps.order(kube)
    wait_for("the node's taint", lambda: world.evacuated_nodes() == {"n1"})
    stalled = steps.await_condition(kube, "Stalled", controller=controller)
    assert "credential" in stalled["message"].lower() or "AWS_SECRET_ACCESS_KEY" in stalled["message"]
    assert not gate.entries


def test_a_secret_that_is_wrong(controllers, account: Account, kube: Kube, gate: Gate):
    account.seed(small_groups())
    gate.expected |= {"SignatureDoesNotMatch"}
    controller = controllers()
    controller.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    controller.start()
    steps.order(kube)
    stalled = steps.await_condition(kube, "Stalled", controller=controller)
    assert any(word in stalled["message"] for word in ("SignatureDoesNotMatch", "InvalidSignatureException"))


def test_an_expired_clock_or_key_does_not_flood(controllers, account: Account, kube: Kube, gate: Gate):
    """Refused credentials are not tried again in a tight loop."""
    account.seed(small_groups())
    gate.expected |= {"InvalidClientTokenId"}
    controller = controllers()
    controller.environment["AWS_ACCESS_KEY_ID"] = Key(access="AKIDNOBODY").access
    controller.start()
    steps.order(kube)
    steps.await_condition(kube, "Stalled", controller=controller)
    assert len(steps.quiet(gate, 3)) <= 10


def test_a_journal_that_is_missing(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """Stalled with the reason, nothing changed but nodes; it goes on by itself once the table is there."""
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    before = world.identifiers()
    controller = controllers().without("--create-journal").start()
    steps.order(kube)
    stalled = steps.await_condition(kube, "Stalled", controller=controller)
    assert stalled["reason"] == "JournalMissing"
    assert TABLE in stalled["message"]
    wait_for("the node's taint", lambda: world.evacuated_nodes() == {"n1"})
    assert world.identifiers() == before
    assert not gate.named("dynamodb:CreateTable", "autoscaling:UpdateAutoScalingGroup")
    account.create_journal()
    steps.await_ready(kube, timeout=90, controller=controller)
    steps.assert_out(world)
    steps.recover(kube, controller=controller)


def test_a_table_that_is_not_ours(controllers, account: Account, world: World, kube: Kube):
    account.seed(small_groups())
    before = world.identifiers()
    account.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    controller = controllers().start()
    steps.order(kube)
    stalled = steps.await_condition(kube, "Stalled", controller=controller)
    assert TABLE in stalled["message"]
    assert world.identifiers() == before


@pytest.mark.parametrize("zone", ["usw2-az1", "use1-az9"])
def test_a_zone_that_is_not_here(zone: str, controllers, account: Account, world: World, kube: Kube):
    """Of another region, or of none: that object is stalled, the others go on."""
    account.seed(small_groups())
    controller = controllers().start()
    steps.order(kube, "wrong", zone)
    stalled = steps.await_condition(kube, "Stalled", name="wrong", controller=controller)
    assert zone in stalled["message"]
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    steps.assert_out(world)
    assert "finalizers" not in kube.evacuation("wrong")["metadata"]
    kube.delete_evacuation("wrong")
    assert kube.evacuation("wrong") is None
    steps.recover(kube, controller=controller)


@pytest.mark.parametrize(
    ("pattern", "kind", "times"),
    [
        ("ec2:DescribeSubnets", "html", 1),
        ("autoscaling:DescribeAutoScalingGroups", "html", 1),
        ("autoscaling:DescribeAutoScalingGroups", "truncate", 3),
        ("dynamodb:*", "html", 3),
        ("dynamodb:*", "html502", 3),
        ("autoscaling:UpdateAutoScalingGroup", "html", 3),
        ("autoscaling:UpdateAutoScalingGroup", "empty", 3),
        ("autoscaling:UpdateAutoScalingGroup", "lost", 3),
        ("autoscaling:UpdateAutoScalingGroup", "reset", 3),
        ("autoscaling:UpdateAutoScalingGroup", "throttle", 3),
        ("dynamodb:PutItem", "lost", 3),
        ("dynamodb:*", "throttle", 3),
        ("*", "reset", 3),
    ],
)
def test_answers_that_are_none(pattern: str, kind: str, times: int, controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """Some in a row, then AWS is well again: the evacuation comes to its end, and back, exactly."""
    account.seed(small_groups())
    before = world.snapshot()
    fault = gate.fault(pattern, kind, times=times)
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube, timeout=120, controller=controller)
    assert fault.struck == times
    steps.assert_out(world)
    claimed = steps.recover_but_claims(kube, world, before, controller, timeout=120)
    if claimed == 0:
        steps.assert_back(world, before)
    else:
        assert pattern in ("autoscaling:UpdateAutoScalingGroup", "*"), "only an update can still be on its way"


def test_an_update_that_is_forbidden(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """One group fails for good; the others are out, and the object says so without calling for help."""
    account.seed(small_groups())
    before = world.snapshot()
    gate.fault(
        "autoscaling:Update*", "error", times=10_000, contains="AutoScalingGroupName=two",
        status=403, code="AccessDenied", message="User is not authorized to perform: autoscaling:UpdateAutoScalingGroup",
    )  # fmt: skip
    controller = controllers().start()
    steps.order(kube)
    wait_for("one failure", lambda: kube.evacuation(steps.NAME).get("status", {}).get("failed") == 1)
    wait_for("the others", lambda: world.identifiers()["three"] != before.groups["three"]["VPCZoneIdentifier"])
    complete = steps.await_condition(kube, "Complete", "False", controller=controller)
    assert "1 failed" in complete["message"]
    changes = {change["name"]: change for change in kube.evacuation(steps.NAME)["status"]["changes"]}
    assert changes["two"]["state"] == "Failed"
    assert "AccessDenied" in changes["two"]["reason"]
    assert world.identifiers()["two"] == before.groups["two"]["VPCZoneIdentifier"]
    gate.faults.clear()
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)


def test_a_scaling_activity_is_waited_for(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    gate.fault("autoscaling:Update*", "error", times=2, status=400, code="ScalingActivityInProgress", message="activity in progress")
    gate.fault("autoscaling:Update*", "error", times=2, status=500, code="ResourceContention", message="pending update")
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube, timeout=120, controller=controller)
    steps.assert_out(world)
    steps.recover(kube, controller=controller)


def test_connections_that_close_while_idle(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(groups(12))
    gate.idle_close_seconds = 0.02
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    steps.assert_out(world)
    steps.recover(kube, controller=controller)
