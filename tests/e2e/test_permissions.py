"""The rights that we ship are enough, and none of them is idle."""

from __future__ import annotations

import json

import yaml

from bed import steps
from bed.account import Account
from bed.controlplane import ROOT, ControlPlane
from bed.functions import functions
from bed.gate import Gate
from bed.kube import Kube, loopback_session, wait_for
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


def test_the_api_server_lets_us_in_first(installed: ControlPlane):
    """Its own word, in a header of each answer, on which FlowSchema let the ServiceAccount's requests in."""
    token = yaml.safe_load(installed.product_kubeconfig().read_text())["users"][0]["user"]["token"]
    session = loopback_session()
    session.verify = str(installed.authority.cert)
    session.headers["Authorization"] = f"Bearer {token}"

    def schema_of(path: str) -> str:
        return session.get(installed.server + path, timeout=10).headers.get("X-Kubernetes-PF-FlowSchema-UID", "")

    for name, level, path in [
        ("zonevac-leader-election", "leader-election", "/apis/coordination.k8s.io/v1/namespaces/zonevac-system/leases/zonevac"),
        ("zonevac", "workload-high", "/api/v1/nodes?limit=1"),
        ("zonevac", "workload-high", "/apis/coordination.k8s.io/v1/namespaces/default/leases/zonevac"),
    ]:
        schema = installed.kube.get(f"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/{name}")
        assert schema["spec"]["priorityLevelConfiguration"]["name"] == level
        wait_for(f"{path} to be let in by {name}", lambda: schema_of(path) == schema["metadata"]["uid"])  # noqa: B023
