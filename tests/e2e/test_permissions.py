"""The rights that we ship are enough, and none of them is idle."""

from __future__ import annotations

import json

from bed import steps
from bed.account import Account
from bed.controlplane import ROOT, ControlPlane
from bed.functions import functions
from bed.gate import Gate
from bed.kube import Kube
from bed.region import EVACUATED, groups
from bed.services import services
from bed.world import World


# Asked of whoever changes a function's network or reads its tags, by the service itself: never requests of ours.
ASKED_BY_LAMBDA = {"ec2:DescribeSecurityGroups", "ec2:DescribeVpcs", "ec2:GetSecurityGroupsForVpc", "lambda:ListTags"}


def policy_actions() -> set[str]:
    policy = json.loads((ROOT / "deploy" / "iam" / "policy.json").read_text())
    actions: set[str] = set()
    for statement in policy["Statement"]:
        listed = statement["Action"]
        actions |= {listed} if isinstance(listed, str) else set(listed)
    return actions


def test_the_policy_is_what_is_used(controllers, account: Account, kube: Kube, gate: Gate, installed: ControlPlane, world: World):
    """A whole life: the table is made, an evacuation, a restart, a recovery; then the set of actions is the policy's."""
    account.seed(groups(12), services(20), functions(14))
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controller = controllers(leader_elect=True).start()
    steps.order(kube, targets=steps.EVERYTHING)
    steps.await_ready(kube, controller=controller)
    controller.stop()
    controller.start()
    steps.recover(kube, controller=controller)
    used = set(gate.counts())
    allowed = policy_actions()
    assert used <= allowed, f"not in the policy: {sorted(used - allowed)}"
    idle = allowed - used - ASKED_BY_LAMBDA
    assert not idle, f"in the policy, but never used: {sorted(idle)}"


def test_the_role_is_enough(controllers, account: Account, kube: Kube, installed: ControlPlane):
    """Every test runs as the ServiceAccount; here the log must not know a refusal, and the lease and events must be there."""
    account.seed(groups(12))
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controller = controllers(leader_elect=True).start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    events = [event for event in kube.events() if event["involvedObject"]["kind"] == "ZonalEvacuation"]
    lease = kube.get("/apis/coordination.k8s.io/v1/namespaces/zonevac-system/leases/zonevac")
    steps.recover(kube, controller=controller)
    log = controller.log.read_text()
    assert "orbidden" not in log
    assert " 403" not in log
    assert events
    assert lease["spec"]["holderIdentity"]


def test_nothing_but_what_is_needed(installed: ControlPlane):
    """What the ServiceAccount may not do."""
    who = "--as=system:serviceaccount:zonevac-system:zonevac"
    for verb, what in [
        ("get", "secrets"),
        ("create", "pods"),
        ("delete", "nodes"),
        ("update", "nodes"),
        ("delete", "zonalevacuations.zonevac.dev"),
        ("create", "clusterrolebindings"),
        ("list", "namespaces"),
        ("escalate", "clusterroles"),
    ]:
        answer = installed.kubectl("auth", "can-i", verb, what, who, check=False)
        assert answer.splitlines()[0].startswith("no"), f"{verb} {what}: {answer}"
