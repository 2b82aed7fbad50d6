"""What the demo plays with: a small region and a cluster that is alive in it, the controller, and tables of what there is."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bed.account import Account
from bed.controller import Controller
from bed.controlplane import ControlPlane
from bed.functions import Function
from bed.gate import Gate
from bed.kube import wait_for
from bed.moto_patches import ZONES, hurry
from bed.region import EVACUATED, LETTER, Group
from bed.services import Service
from bed.workloads import Workloads, node_name, owner_kind
from bed.world import Snapshot, World

BOLD, DIM, RED, GREEN, PLAIN = ("\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("",) * 5

MOVE_SECONDS = 3.0  # what instances, tasks and functions take to move
CARRIER = "workers"
GROUPS = [
    Group(CARRIER, ["a0", "b0", "c0"], {"kubernetes.io/cluster/prod": "owned"}),
    Group("web", ["a0", "b0", "c0"], {"team": "web"}),
    Group("api", ["b0", "a0", "c0"], {"team": "web"}),
    Group("batch", ["b0", "b1", "a0", "c1"], {"team": "batch"}, desired=4),
    Group("eks-general", ["a0", "b0"], {"eks:nodegroup-name": "general", "eks:cluster-name": "prod"}, desired=2, refused="ManagedByEks"),
    Group("legacy", ["b2"], desired=1, refused="LastSubnet"),
    Group("cron-single-zone", ["b1", "c1"], desired=1, selected=False),
]
SERVICES = [
    Service("shop", ["a0", "b0", "c0"], desired=3),
    Service("search", ["b0", "b1", "a0"], groups=["app", "ops"], public_ip="ENABLED"),
    Service("checkout", ["a0", "b0"], controller="CODE_DEPLOY", refused="UnsupportedDeploymentController"),
]
FUNCTIONS = [
    Function("orders", ["a0", "b0", "c0"]),
    Function("invoices", ["c0", "b1"], versions=1, aliases={"live": "1"}),
    Function("resize", []),
]
NODES = {
    "ip-10-7-0-11": "us-east-1a",
    "ip-10-7-0-12": "us-east-1a",
    "ip-10-7-16-13": "us-east-1b",
    "ip-10-7-16-14": "us-east-1b",
    "ip-10-7-32-15": "us-east-1c",
    "ip-10-7-32-16": "us-east-1c",
}
CORDONED_BEFORE = "ip-10-7-16-14"
LONE_POD, LONE_POD_NODE = "debug", "ip-10-7-16-13"
DEPLOYMENTS = {"shop": 12, "search": 6}
BUDGETED, MAX_UNAVAILABLE = "shop", 1
DAEMON = "agent"
HEADINGS = {"groups": "AUTO SCALING GROUP", "services": "ECS SERVICE", "functions": "LAMBDA FUNCTION"}
Pods = dict[str, dict[str, Any]]


def say(text: str = "") -> None:
    print(text, flush=True)


def title(text: str) -> None:
    say(f"\n{BOLD}== {text}{PLAIN}")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plane = ControlPlane(folder / "control-plane", alive=True)
        self.account = Account()
        self.gate = Gate(self.account, folder / "requests.log")
        self.controller: Controller | None = None

    def set_up(self) -> None:
        self.plane.start()
        self.plane.install()
        self.account.start()
        self.gate.start()
        self.account.seed(GROUPS, SERVICES, FUNCTIONS)
        hurry(MOVE_SECONDS)
        self.world = World(self.account, self.plane.kube)
        self.workloads = Workloads(self.plane.kube)
        self._populate()

    def _populate(self) -> None:
        """The first Deployment comes while the zone has only its node of the group, so that this has pods to wait for."""
        workloads = self.workloads
        workloads.create_namespace()
        workloads.create_nodes_of(self.world.groups()[CARRIER])
        workloads.follow_instances([CARRIER])
        self._create_nodes([name for name, zone in NODES.items() if ZONES[zone] != EVACUATED])
        workloads.deploy(BUDGETED, DEPLOYMENTS[BUDGETED])
        workloads.budget(BUDGETED, MAX_UNAVAILABLE)
        workloads.await_pods(DEPLOYMENTS[BUDGETED], "ReplicaSet")
        self._create_nodes([name for name, zone in NODES.items() if ZONES[zone] == EVACUATED])
        workloads.daemon(DAEMON)
        for name in DEPLOYMENTS.keys() - {BUDGETED}:
            workloads.deploy(name, DEPLOYMENTS[name])
        workloads.lone_pod(LONE_POD, LONE_POD_NODE)
        self.await_all_pods()
        workloads.await_budgets()

    def _create_nodes(self, names: list[str]) -> None:
        for name in names:
            self.workloads.create_node(name, NODES[name], **({"unschedulable": True} if name == CORDONED_BEFORE else {}))
        self.workloads.await_nodes()

    def start_controller(self) -> None:
        kubeconfig = self.plane.product_kubeconfig()
        self.controller = Controller(self.gate, kubeconfig, self.folder / "zonevac.log", "--log-level", "info", leader_elect=True)
        self.controller.without("--poll-interval").start()
        self.controller.await_ready()

    def strike(self) -> None:
        if self.controller is not None and self.controller.running():
            self.controller.stop()
        if hasattr(self.account, "url"):
            self.gate.stop()
            self.account.stop()
        self.plane.stop()

    # what is there

    def zone_nodes(self, snapshot: Snapshot) -> set[str]:
        return {name for name, node in snapshot.nodes.items() if dict(node.labels)["topology.k8s.aws/zone-id"] == EVACUATED}

    def carried_nodes(self) -> dict[str, str]:
        """The nodes that are instances of the group, and their zones."""
        return {node_name(i["InstanceId"]): i["AvailabilityZone"] for i in self.world.groups()[CARRIER]["Instances"]}

    def pods(self) -> Pods:
        return {pod["metadata"]["name"]: pod for pod in self.workloads.pods()}

    def await_all_pods(self) -> None:
        wait_for("all pods to run", self.all_pods_run, 30, pause=0.2)

    def all_pods_run(self) -> bool:
        """Does every pod run that should: those of Deployments, one of the DaemonSet a node, and the lone one?"""
        served = self.workloads.pods_by_node("DaemonSet").keys() >= self.world.nodes().keys()
        return served and self.workloads.all_run(sum(DEPLOYMENTS.values()), "ReplicaSet") and self.workloads.all_run(1, "")

    # tables

    def table(self, reference: Snapshot | None = None) -> Snapshot:
        """Print what is; lines that differ from `reference` are marked."""
        now = self.world.snapshot()
        for kind in HEADINGS:
            self._placed(kind, reference, now)
        self._nodes(reference, now)
        return now

    def _placed(self, kind: str, reference: Snapshot | None, now: Snapshot) -> None:
        zone_of = {ident: place[0] for place, ident in self.account.subnets.items()}
        resources = self.world.read(kind)
        lists = self.world.subnets_of(kind)
        say(f"  {HEADINGS[kind]:20}" + (f"{'SUBNETS (zone: id)':50}INSTANCES" if kind == "groups" else "SUBNETS (zone: id)"))
        for name, resource in resources.items():
            texts = [f"1{zone_of[ident]}:…{ident[-4:]}" for ident in lists[name]] or ["-"]
            cells = [_red(text) if text.startswith(f"1{_letter()}") else text for text in texts]
            width = len("  ".join(texts))
            changed = reference is not None and _configured(reference, kind, resource, name) != _configured(now, kind, resource, name)
            say(f"{_mark(changed)}{name:20}{'  '.join(cells)}{' ' * (50 - width)}{_note(kind, resource)}".rstrip())
        say()

    def _nodes(self, reference: Snapshot | None, now: Snapshot) -> None:
        pods = Counter((pod["spec"].get("nodeName"), owner_kind(pod)) for pod in self.workloads.pods())
        say(f"  {'NODE':20}{'ZONE':13}{'SCHEDULABLE':13}{'PODS':7}{'DAEMONS':10}{'LONE':7}TAINT")
        names = sorted(set(now.nodes) | set(reference.nodes if reference else ()), key=lambda name: (_zone(now, reference, name), name))
        for name in names:
            node = now.nodes.get(name)
            if node is None:
                say(f"{_mark(True)}{name:20}{_zone(now, reference, name):13}gone with its instance")
                continue
            taints = " ".join(f"{key}={value}:{effect}" for key, value, effect in node.taints)
            count = f"{pods[name, 'ReplicaSet']:<7}{pods[name, 'DaemonSet']:<10}{pods[name, '']:<7}"
            changed = reference is not None and reference.nodes.get(name) != node
            scheduling = "no" if node.unschedulable else "yes"
            say(f"{_mark(changed)}{name:20}{_zone(now, reference, name):13}{scheduling:13}{count}{taints or '-'}")


def _configured(snapshot: Snapshot, kind: str, resource: dict[str, Any], name: str) -> Any:
    """A function is known by its ARN there."""
    return getattr(snapshot, kind).get(resource["FunctionArn"] if kind == "functions" else name)


def _zone(now: Snapshot, reference: Snapshot | None, name: str) -> str:
    node = now.nodes.get(name) or reference.nodes[name]
    return dict(node.labels)["topology.kubernetes.io/zone"]


def _note(kind: str, resource: dict[str, Any]) -> str:
    if kind != "groups":
        return ""
    zones = Counter(instance["AvailabilityZone"][-2:] for instance in resource["Instances"])
    return " ".join(f"{zone}×{zones[zone]}" for zone in sorted(zones))


def _letter() -> str:
    return next(letter for letter, zone in LETTER.items() if ZONES[zone] == EVACUATED)


def _red(text: str) -> str:
    return f"{RED}{text}{PLAIN}"


def _mark(changed: bool) -> str:
    return f"{BOLD}*{PLAIN} " if changed else "  "
