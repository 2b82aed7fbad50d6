"""What runs in a cluster that is alive: nodes that fit the account's instances, Deployments, DaemonSets, PodDisruptionBudgets."""

from __future__ import annotations

import collections
from typing import Any

from bed.kube import KWOK, Kube, KubeError, wait_for
from bed.moto_patches import ZONES, movement

NAMESPACE = "workloads"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
GRACE_SECONDS = 2
POD_REQUESTS = {"cpu": "100m", "memory": "64Mi"}


class Workloads:
    """Objects in one namespace of a cluster whose nodes kwok plays."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube

    # nodes

    def create_node(self, name: str, zone_name: str, instance: str | None = None, **spec: Any) -> Any:
        """A node that kwok makes Ready; `instance` is the EC2 instance that it is."""
        if instance is not None:
            spec["providerID"] = f"aws:///{zone_name}/{instance}"
        key, _, value = KWOK.partition("=")
        return self.kube.create_node(name, ZONES[zone_name], zone_name, annotations={key: value}, **spec)

    def create_nodes_of(self, group: dict[str, Any]) -> dict[str, str]:
        """A node for each instance of an Auto Scaling group, as it was described; their zones by name."""
        zones = {node_name(instance["InstanceId"]): instance["AvailabilityZone"] for instance in group["Instances"]}
        for instance in group["Instances"]:
            self.create_node(node_name(instance["InstanceId"]), instance["AvailabilityZone"], instance["InstanceId"])
        return zones

    def follow_instances(self, groups: list[str]) -> None:
        """What a cloud controller and a kubelet do: nodes of these groups' instances go with them, and new instances join."""

        other = Workloads(self.kube.another())

        def follow(group: str, gone: list[tuple[str, str]], fresh: list[tuple[str, str]]) -> None:
            if group not in groups:
                return
            for instance, _zone in gone:
                other.delete_node(node_name(instance))
            for instance, zone in fresh:
                other.create_node(node_name(instance), zone, instance)

        movement.told = follow

    def delete_node(self, name: str) -> None:
        try:
            self.kube.call("DELETE", f"/api/v1/nodes/{name}")
        except KubeError as error:
            if error.status != 404:
                raise

    def await_nodes(self, timeout: float = 60) -> None:
        """Until each is Ready and without the taint of one that is not."""
        wait_for("all nodes to be Ready", lambda: all(_is_ready(node) for node in self.kube.nodes()), timeout, pause=0.2)

    # pods

    def create_namespace(self) -> None:
        if self.kube.get(f"/api/v1/namespaces/{NAMESPACE}") is None:
            self.kube.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def deploy(self, name: str, replicas: int) -> None:
        """A Deployment whose pods spread over zones."""
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": name}},
        }
        self._create("deployments", "Deployment", name, {"replicas": replicas, "template": _template(name, [spread])})

    def daemon(self, name: str) -> None:
        self._create("daemonsets", "DaemonSet", name, {"template": _template(name, [])})

    def budget(self, name: str, max_unavailable: int | str) -> None:
        """A PodDisruptionBudget for the pods of that name."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"maxUnavailable": max_unavailable, "selector": {"matchLabels": {"app": name}}},
        }
        self.kube.call("POST", BUDGETS, body)

    def lone_pod(self, name: str, node: str | None = None) -> None:
        """A pod that nobody brings back."""
        template = _template(name, [])
        if node is not None:
            template["spec"]["nodeName"] = node
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": template["spec"]}
        self.kube.call("POST", PODS, body)

    def _create(self, plural: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        spec |= {"selector": {"matchLabels": {"app": name}}}
        self.kube.call("POST", f"{APPS}/{plural}", {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})

    # looks

    def pods(self) -> list[dict[str, Any]]:
        return self.kube.call("GET", PODS)["items"]

    def pods_by_node(self, owner: str = "ReplicaSet") -> collections.Counter[str]:
        """How many pods with that kind of controller each node has."""
        return collections.Counter(pod["spec"].get("nodeName", "") for pod in self.pods() if owner_kind(pod) == owner)

    def all_run(self, count: int, owner: str | None = None) -> bool:
        """Are there `count` pods (with that kind of controller), each Running, Ready and not about to end?"""
        pods = [pod for pod in self.pods() if owner is None or owner_kind(pod) == owner]
        return len(pods) == count and all(_runs(pod) for pod in pods)

    def await_pods(self, count: int, owner: str | None = None, timeout: float = 120) -> None:
        wait_for(f"{count} pods to run", lambda: self.all_run(count, owner), timeout, pause=0.5)

    def budgets(self) -> dict[str, dict[str, int]]:
        """Their status, by name."""
        return {item["metadata"]["name"]: item.get("status", {}) for item in self.kube.call("GET", BUDGETS)["items"]}

    def await_budgets(self, timeout: float = 30) -> None:
        """Until the disruption controller has seen that none is used up."""
        wait_for("budgets", lambda: all(status.get("disruptionsAllowed", 0) > 0 for status in self.budgets().values()), timeout)

    # the end

    def wipe(self) -> None:
        """Remove everything of the namespace, and all nodes; what still ends is ended by force."""
        for path in (f"{APPS}/deployments", f"{APPS}/daemonsets", BUDGETS):
            self.kube.call("DELETE", path)
        wait_for("no ReplicaSets", lambda: not self.kube.call("GET", f"{APPS}/replicasets")["items"], 30, pause=0.2)
        self.kube.call("DELETE", PODS + "?gracePeriodSeconds=0")
        self.kube.wipe_nodes()
        wait_for("no pods", lambda: not self.pods(), 60, pause=0.2)


def node_name(instance: str) -> str:
    return "node-" + instance.removeprefix("i-").lstrip("0")


def owner_kind(pod: dict[str, Any]) -> str:
    """The kind of its controller; "" when it has none."""
    owners = pod["metadata"].get("ownerReferences", [])
    return next((owner["kind"] for owner in owners if owner.get("controller")), "")


def _template(name: str, spread: list[dict[str, Any]]) -> dict[str, Any]:
    container = {"name": "app", "image": "app:1", "resources": {"requests": POD_REQUESTS}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": GRACE_SECONDS, "topologySpreadConstraints": spread}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _conditions(item: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in item.get("status", {}).get("conditions", [])}


def _is_ready(node: dict[str, Any]) -> bool:
    unready = any(taint["key"].startswith("node.kubernetes.io/not-ready") for taint in node["spec"].get("taints", []))
    return _conditions(node).get("Ready") == "True" and not unready


def _runs(pod: dict[str, Any]) -> bool:
    ends = "deletionTimestamp" in pod["metadata"]
    return pod["status"].get("phase") == "Running" and _conditions(pod).get("Ready") == "True" and not ends
