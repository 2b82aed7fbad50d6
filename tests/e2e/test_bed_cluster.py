"""The live cluster of the bed: are pods scheduled, evicted within their budgets, and do nodes follow instances?"""

from __future__ import annotations

import collections

import pytest

from bed.account import Account
from bed.kube import Kube, KubeError, wait_for
from bed.moto_patches import advance
from bed.region import EVACUATED, small_groups
from bed.witness import BudgetWitness, PodWitness
from bed.workloads import NAMESPACE, PODS, Workloads
from bed.world import World

ZONE_NAMES = ("us-east-1a", "us-east-1b", "us-east-1c")


def evict(kube: Kube, pod: dict) -> int:
    """The status of an eviction's answer."""
    metadata = {"name": pod["metadata"]["name"], "namespace": NAMESPACE}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    try:
        kube.call("POST", f"{PODS}/{metadata['name']}/eviction", body)
    except KubeError as error:
        return error.status
    return 201


@pytest.fixture
def nodes(workloads: Workloads) -> dict[str, str]:
    """Two nodes in each zone: their zones by name."""
    made = {f"{zone}-{number}": zone for zone in ZONE_NAMES for number in (1, 2)}
    for name, zone in made.items():
        workloads.create_node(name, zone)
    workloads.await_nodes()
    return made


def test_pods_spread_and_are_evicted_within_their_budgets(workloads: Workloads, live_kube: Kube, nodes: dict[str, str]):
    workloads.deploy("web", 12)
    workloads.daemon("agent")
    workloads.budget("web", 1)
    workloads.await_pods(12 + len(nodes))
    workloads.await_budgets()
    workloads.deploy("db", 3)
    workloads.budget("db", 0)
    workloads.await_pods(15 + len(nodes))
    wait_for("the other budget", lambda: workloads.budgets()["db"].get("currentHealthy") == 3)
    per_zone = collections.Counter(nodes[pod["spec"]["nodeName"]] for pod in workloads.pods())
    assert max(per_zone.values()) - min(per_zone.values()) <= 1
    apps = {pod["metadata"]["labels"]["app"]: pod for pod in workloads.pods()}
    assert [evict(live_kube, apps[app]) for app in ("web", "db")] == [201, 429]
    gone = f"{PODS}/{apps['web']['metadata']['name']}"
    wait_for("the evicted pod's end", lambda: live_kube.get(gone) is None, 10)
    workloads.await_pods(15 + len(nodes))
    wait_for("the budget to be there again", lambda: workloads.budgets()["web"]["disruptionsAllowed"] == 1)


def test_a_cordoned_and_a_tainted_node(workloads: Workloads, live_kube: Kube, nodes: dict[str, str], live_world: World):
    before = live_world.snapshot()
    taint = {"key": "gone", "value": "yes", "effect": "NoExecute"}
    live_kube.call("PATCH", "/api/v1/nodes/us-east-1b-1", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    wait_for("the cordon's taint", lambda: "taints" in live_kube.get("/api/v1/nodes/us-east-1b-1")["spec"], 10)
    workloads.deploy("web", 12)
    workloads.await_pods(12)
    assert workloads.pods_by_node()["us-east-1b-1"] == 0
    assert workloads.pods_by_node()["us-east-1a-1"] > 0
    live_kube.call("PATCH", "/api/v1/nodes/us-east-1a-1", {"spec": {"taints": [taint]}}, "application/merge-patch+json")
    wait_for("the taint to end its pods", lambda: workloads.pods_by_node()["us-east-1a-1"] == 0, 10)
    workloads.await_pods(12)
    assert [line.split(":")[0] for line in before.differences(live_world.snapshot())] == ["node us-east-1a-1", "node us-east-1b-1"]


def test_a_lone_pod_is_not_replaced(workloads: Workloads, live_kube: Kube, nodes: dict[str, str]):
    workloads.lone_pod("debug", "us-east-1b-1")
    workloads.await_pods(1)
    assert evict(live_kube, workloads.pods()[0]) == 201
    workloads.await_pods(0)


def test_nodes_follow_instances(workloads: Workloads, live_world: World, account: Account):
    account.seed(small_groups())
    described = live_world.groups()
    names = workloads.create_nodes_of(described["one"])
    workloads.create_nodes_of(described["two"])
    workloads.await_nodes()
    workloads.follow_instances(["one"])
    in_zone = {node["metadata"]["name"] for node in workloads.kube.nodes() if _zone(node) == EVACUATED}
    for group in account.groups:
        account.set_zone_identifier(group.name, account.identifier(group, group.places_out()))
    wait_for("the moves", lambda: advance() or not any(_zones_of(live_world, name) & {"us-east-1b"} for name in ("one", "two")))
    now = {node["metadata"]["name"]: _zone(node) for node in workloads.kube.nodes()}
    gone = names.keys() - now.keys()
    assert len(gone) == 1
    assert gone < in_zone
    assert sum(zone == EVACUATED for zone in now.values()) == len(in_zone) - 1  # those of the group that nobody follows
    assert len(now) == 4


def _zones_of(world: World, group: str) -> set[str]:
    return {instance["AvailabilityZone"] for instance in world.groups()[group]["Instances"]}


def _zone(node: dict) -> str:
    return node["metadata"]["labels"]["topology.k8s.aws/zone-id"]


def test_witnesses_see_what_is_over_at_once(workloads: Workloads, live_kube: Kube, nodes: dict[str, str]):
    workloads.deploy("web", 6)
    workloads.budget("web", 1)
    workloads.await_pods(6)
    workloads.await_budgets()
    with BudgetWitness(live_kube) as budgets, PodWitness(live_kube) as pods:
        victims = workloads.pods()[:3]
        for pod in victims:
            live_kube.call("DELETE", f"{PODS}/{pod['metadata']['name']}")
        wait_for("the witnesses", lambda: budgets.broken and pods.left == 3, 10)
    assert pods.left_at.keys() == {pod["spec"]["nodeName"] for pod in victims}
