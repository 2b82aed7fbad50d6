"""All kinds at once, in a cluster that is alive: nodes drained within budgets and only then their groups, services, functions; and back."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from bed import steps
from bed.account import Account
from bed.functions import functions
from bed.gate import Gate
from bed.kube import Kube
from bed.moto_patches import hurry
from bed.region import Group, groups
from bed.services import services
from bed.witness import BudgetWitness, PodWitness
from bed.workloads import Workloads
from bed.world import PLACES, World

NODE_GROUPS = [Group(f"nodes-{number}", ["a0", "b0", "c0"], {"kubernetes.io/cluster/prod": "owned"}, desired=6) for number in range(6)]
FOREIGN_GROUP = Group("of another cluster", ["a0", "b0"], {"eks:cluster-name": "other"}, refused="OtherCluster")
OTHER_NODES = {f"lone-{letter}{number}": f"us-east-1{letter}" for letter in "abc" for number in range(8)}
CORDONED = "lone-b0"
WITH_LONE_POD = "lone-b1"
DEPLOYMENTS, REPLICAS, DAEMONS = 24, 20, 2
NODES = 60
MOVE_SECONDS = 2.0
OUT_SECONDS = 240
SKEW_SECONDS = 1.0  # between an update that is sent and a watch that tells what was before


@dataclass
class Scene:
    """What is there before."""

    carried: dict[str, list[str]] = field(default_factory=dict)  # nodes of the zone, by group
    zone_nodes: set[str] = field(default_factory=set)

    def all_carried(self) -> set[str]:
        return {name for names in self.carried.values() for name in names}


@pytest.fixture
def scene(account: Account, live_kube: Kube, live_world: World, workloads: Workloads) -> Scene:
    hurry(MOVE_SECONDS)
    account.seed([*groups(149 - len(NODE_GROUPS)), *NODE_GROUPS, FOREIGN_GROUP], services(90), functions(130))
    account.create_journal()
    scene = _create_nodes(live_world, workloads)
    for number in range(DAEMONS):
        workloads.daemon(f"agent-{number}")
    for number in range(DEPLOYMENTS):
        workloads.deploy(f"app-{number:02}", REPLICAS)
        if number % 2 == 0:
            workloads.budget(f"app-{number:02}", "10%" if number % 4 else 3)
    workloads.lone_pod("debug", WITH_LONE_POD)
    workloads.await_pods(DEPLOYMENTS * REPLICAS + DAEMONS * NODES + 1)
    workloads.await_budgets()
    return scene


def _create_nodes(world: World, workloads: Workloads) -> Scene:
    scene = Scene()
    groups = world.groups()
    for group in NODE_GROUPS:
        zones = workloads.create_nodes_of(groups[group.name])
        scene.carried[group.name] = [name for name, zone in zones.items() if zone == "us-east-1b"]
    for name, zone in OTHER_NODES.items():
        workloads.create_node(name, zone, **({"unschedulable": True} if name == CORDONED else {}))
    workloads.await_nodes()
    workloads.follow_instances([group.name for group in NODE_GROUPS])
    scene.zone_nodes = scene.all_carried() | {name for name, zone in OTHER_NODES.items() if zone == "us-east-1b"}
    assert len(workloads.kube.nodes()) == NODES
    return scene


@pytest.fixture
def report(capsys: pytest.CaptureFixture):
    lines: list[str] = []
    yield lines.append
    with capsys.disabled():
        print("\n" + "\n".join("  " + line for line in lines))


def test_everything_out_and_back(
    scene: Scene, account: Account, live_kube: Kube, live_world: World, workloads: Workloads, gate: Gate, live_controllers, report
):
    before = live_world.snapshot()
    controller = live_controllers("--log-level", "info").without("--poll-interval").start()
    controller.await_ready()
    base, began = controller.usage(), time.monotonic()
    with BudgetWitness(live_kube) as budgets, PodWitness(live_kube) as pods:
        steps.order(live_kube, targets=steps.EVERYTHING)
        held = steps.await_ready(live_kube, timeout=OUT_SECONDS, controller=controller)
        out_seconds, out = time.monotonic() - began, gate.counts()
        assert_drained(scene, workloads, pods)
        assert_groups_waited(scene, gate, pods)
        assert not budgets.broken
    steps.assert_out(live_world)
    assert_status(held, account, scene)
    changed = changes(account)
    assert steps.assert_journaled_first(gate, live_world) == sum(changed.values())
    work, began = controller.usage(), time.monotonic()
    steps.recover(live_kube, timeout=OUT_SECONDS, controller=controller)
    back_seconds, back = time.monotonic() - began, gate.counts() - out
    end = controller.usage()
    assert_everything_back(scene, live_world, before)
    assert steps.assert_journaled_first(gate, live_world) == 2 * sum(changed.values())
    tell(report, out, back, changed, out_seconds, back_seconds)
    made = sum(out.values()) + sum(back.values())
    per_request = 1000 * (end.cpu_seconds - base.cpu_seconds) / made
    report(f"CPU per AWS request           {per_request:8.2f} ms   (budget 0.25; here with what nodes and pods take)")
    report(f"resident, at work             {max(work.rss_bytes, end.rss_bytes) / (1 << 20):8.1f} MiB")
    assert_frugal(out, back, changed, len(scene.zone_nodes))


def changes(account: Account) -> dict[str, int]:
    return {kind: sum(each.changes() for each in getattr(account, places)) for places, kind in PLACES.items()}


# while it is held


def assert_drained(scene: Scene, workloads: Workloads, pods: PodWitness) -> None:
    """Of what can be moved nothing runs in the zone, and all of it runs elsewhere; DaemonSets and a pod that nobody brings back stay."""
    moved = workloads.pods_by_node("ReplicaSet")
    assert not {node: count for node, count in moved.items() if node in scene.zone_nodes}
    assert pods.left >= DEPLOYMENTS * REPLICAS * len(scene.zone_nodes) / NODES / 2
    workloads.await_pods(DEPLOYMENTS * REPLICAS, "ReplicaSet")
    assert workloads.pods_by_node("")[WITH_LONE_POD] == 1
    assert workloads.pods_by_node("DaemonSet")[CORDONED] == DAEMONS


def assert_groups_waited(scene: Scene, gate: Gate, pods: PodWitness) -> None:
    """A group that carries nodes lost its subnet only after the last pod had left those in the zone."""
    updates = {entry.params["AutoScalingGroupName"]: entry.at for entry in gate.named("autoscaling:UpdateAutoScalingGroup")}
    for group, nodes in scene.carried.items():
        assert nodes
        last = max(pods.left_at.get(node, 0) for node in nodes)
        assert last <= updates[group] + SKEW_SECONDS, f"{group} was changed {last - updates[group]:.1f} s before its last pod left"


def assert_status(held: dict, account: Account, scene: Scene) -> None:
    status = held["status"]
    summary = {entry["kind"]: entry for entry in status["summary"]}
    for places, kind in PLACES.items():
        placed = getattr(account, places)
        assert summary[kind]["settled"] == sum(each.changes() for each in placed), kind
        assert summary[kind]["refused"] == sum(bool(each.refused) for each in placed), kind
    assert summary["EksNode"]["settled"] == len(scene.zone_nodes - scene.all_carried())  # the others' instances are gone
    assert status["failed"] == 0
    said = {(entry["kind"], entry["name"], entry.get("reason", "").partition(":")[0]) for entry in status["changes"]}
    for places, kind in PLACES.items():
        refused = {(kind, each.name, each.refused) for each in getattr(account, places) if each.refused}
        assert refused <= said, refused - said


# afterwards


def assert_everything_back(scene: Scene, world: World, before) -> None:
    """All as it was, but for the nodes whose instances Auto Scaling has ended meanwhile."""
    after = world.snapshot()
    gone = before.nodes.keys() - after.nodes.keys()
    assert gone == scene.all_carried()
    kept = before.nodes.keys() - gone
    was = replace(before, nodes={name: before.nodes[name] for name in kept})
    differences = was.differences(replace(after, nodes={name: after.nodes[name] for name in kept}))
    assert not differences, "\n".join(differences)
    assert not [name for name, node in after.nodes.items() if node.evacuated]
    assert [name for name, node in after.nodes.items() if node.unschedulable] == [CORDONED]
    assert world.records() == []
    assert world.registrations() == []


def tell(report, out: Counter, back: Counter, changed: dict[str, int], out_seconds: float, back_seconds: float) -> None:
    total = sum(changed.values())
    words = ", ".join(f"{count} {kind}" for kind, count in changed.items())
    report(f"{words} and the nodes out in {out_seconds:.1f} s, back in {back_seconds:.1f} s; {sum((out + back).values())} AWS requests")
    for title, counts in (("out", out), ("back", back)):
        report(f"  {title:4} {sum(counts.values()) / total:5.2f} requests a change (budget: pages + 4 + looks + tags of functions)")
        for name, count in sorted(counts.items()):
            report(f"  {title:4} {name:42} {count:5}")


def assert_frugal(out: Counter, back: Counter, changed: dict[str, int], nodes: int) -> None:
    updates = {"AutoScalingGroup": "autoscaling:UpdateAutoScalingGroup", "EcsService": "ecs:UpdateService"}
    updates["LambdaFunction"] = "lambda:UpdateFunctionConfiguration"
    for kind, name in updates.items():
        assert out[name] == back[name] == changed[kind], kind
    records = sum(changed.values()) + nodes
    assert out["dynamodb:PutItem"] <= records + 3
    assert out["dynamodb:UpdateItem"] <= records + 3
    assert back["dynamodb:UpdateItem"] <= records + 3
    assert back["dynamodb:DeleteItem"] <= records + 3
