"""The state of the world, read past the gate, and whether it is as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bed.account import TABLE, Account
from bed.kube import Kube

TAINT = "zonevac.dev/evacuated"
ANNOTATION = "zonevac.dev/evacuated"
CORDON = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True)
class NodeState:
    taints: tuple[tuple[str, str, str], ...]
    unschedulable: bool
    annotations: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def evacuated(self) -> bool:
        return any(key == TAINT for key, _value, _effect in self.taints)


# What lies in subnets, and the kind that the product calls it.
PLACES = {"groups": "AutoScalingGroup", "services": "EcsService", "functions": "LambdaFunction"}
# What says how a resource fares, not how it is configured.
STATES = {
    "groups": {"Instances"},
    "services": {"deployments", "events", "runningCount", "pendingCount"},
    "functions": {"RevisionId", "LastModified", "LastUpdateStatus", "LastUpdateStatusReason", "LastUpdateStatusReasonCode"},
}


@dataclass(frozen=True)
class Snapshot:
    """How everything is configured."""

    groups: dict[str, dict[str, Any]]
    nodes: dict[str, NodeState]
    services: dict[str, dict[str, Any]] = field(default_factory=dict)  # by cluster/name
    functions: dict[str, dict[str, Any]] = field(default_factory=dict)  # by ARN, versions and aliases each by their own

    def differences(self, other: Snapshot) -> list[str]:
        """What is not the same, one line each."""
        found = []
        for kind in ("groups", "services", "functions", "nodes"):
            mine, theirs = getattr(self, kind), getattr(other, kind)
            for name in sorted(mine.keys() | theirs.keys()):
                if mine.get(name) != theirs.get(name):
                    found.append(f"{kind[:-1]} {name}: {mine.get(name)} became {theirs.get(name)}")
        return found


class World:
    def __init__(self, account: Account, kube: Kube) -> None:
        self.account = account
        self.kube = kube

    # AWS

    def groups(self) -> dict[str, dict[str, Any]]:
        pages = self.account.client("autoscaling").get_paginator("describe_auto_scaling_groups").paginate()
        return {group["AutoScalingGroupName"]: group for page in pages for group in page["AutoScalingGroups"]}

    def identifiers(self) -> dict[str, str]:
        """VPCZoneIdentifier by name, byte for byte."""
        return {name: group["VPCZoneIdentifier"] for name, group in self.groups().items()}

    def expected_identifiers(self) -> dict[str, str]:
        """What they must be while use1-az1 is evacuated."""
        return {group.name: self.account.identifier(group, group.places_out()) for group in self.account.groups}

    def services(self) -> dict[str, dict[str, Any]]:
        """By cluster/name, with tags."""
        client = self.account.client("ecs")
        found: dict[str, dict[str, Any]] = {}
        for cluster in client.list_clusters()["clusterArns"]:
            arns = client.list_services(cluster=cluster)["serviceArns"]
            for start in range(0, len(arns), 10):
                answer = client.describe_services(cluster=cluster, services=arns[start : start + 10], include=["TAGS"])
                found |= {f"{cluster.rpartition('/')[2]}/{service['serviceName']}": service for service in answer["services"]}
        return found

    def functions(self) -> dict[str, dict[str, Any]]:
        """$LATEST of each, by name, with tags."""
        client = self.account.client("lambda")
        found = {}
        for name in [function["FunctionName"] for function in client.list_functions()["Functions"]]:
            answer = client.get_function(FunctionName=name)
            found[name] = answer["Configuration"] | {"Tags": answer.get("Tags", {})}
        return found

    def _published(self) -> dict[str, dict[str, Any]]:
        """Published versions and aliases, by ARN."""
        client = self.account.client("lambda")
        everything = client.list_functions(FunctionVersion="ALL")["Functions"]
        found = {function["FunctionArn"]: function for function in everything if function["Version"] != "$LATEST"}
        for name in {function["FunctionName"] for function in everything}:
            for alias in client.list_aliases(FunctionName=name)["Aliases"]:
                found[alias["AliasArn"]] = {key: value for key, value in alias.items() if value is not None}
        return found

    def read(self, kind: str) -> dict[str, dict[str, Any]]:
        """All "groups", "services" or "functions"."""
        return {"groups": self.groups, "services": self.services, "functions": self.functions}[kind]()

    def subnets_of(self, kind: str) -> dict[str, list[str]]:
        return subnets_in(kind, self.read(kind))

    def expected_subnets_of(self, kind: str) -> dict[str, list[str]]:
        """What it must be while use1-az1 is evacuated."""
        networks = {placed.key: placed.places_out() if placed.in_subnets() else [] for placed in getattr(self.account, kind)}
        return {key: [self.account.subnets[place] for place in places] for key, places in networks.items()}

    def items(self, table: str = TABLE) -> list[dict[str, Any]]:
        """Every item of the journal, as DynamoDB writes them; none where there is no table."""
        client = self.account.client("dynamodb")
        try:
            pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
            return [item for page in pages for item in page["Items"]]
        except client.exceptions.ResourceNotFoundException:
            return []

    def records(self) -> list[dict[str, Any]]:
        """The items that are open changes."""
        return [item for item in self.items() if not item["zoneId"]["S"].startswith("#")]

    def registrations(self) -> list[str]:
        """The attributes of the region's item that name a zone."""
        for item in self.items():
            if item["zoneId"]["S"] == "#region":
                return sorted(name for name, value in item.items() if name.startswith("zone:") and value.get("SS"))
        return []

    # Kubernetes

    def nodes(self) -> dict[str, NodeState]:
        return {node["metadata"]["name"]: _node_state(node) for node in self.kube.nodes()}

    def evacuated_nodes(self) -> set[str]:
        return {name for name, state in self.nodes().items() if state.evacuated}

    # both

    def snapshot(self) -> Snapshot:
        functions = {function["FunctionArn"]: function for function in self.functions().values()} | self._published()
        return Snapshot(
            groups=_configured("groups", self.groups()),
            nodes=self.nodes(),
            services=_configured("services", self.services()),
            functions=_configured("functions", functions),
        )


def subnets_in(kind: str, resources: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """What each resource of that kind is configured with, in order; none where it has no network."""
    if kind == "groups":
        return {name: group["VPCZoneIdentifier"].split(",") for name, group in resources.items()}
    if kind == "services":
        networks = {key: service.get("networkConfiguration") for key, service in resources.items()}
        return {key: network["awsvpcConfiguration"]["subnets"] if network else [] for key, network in networks.items()}
    return {name: function.get("VpcConfig", {}).get("SubnetIds", []) for name, function in resources.items()}


def _configured(kind: str, resources: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: value for key, value in resource.items() if key not in STATES[kind]} for name, resource in resources.items()
    }


def _node_state(node: dict[str, Any]) -> NodeState:
    spec, metadata = node["spec"], node["metadata"]
    # A cordon's own taint is put on and taken off by the node lifecycle controller, a moment later.
    taints = [(taint["key"], taint.get("value", ""), taint["effect"]) for taint in spec.get("taints", []) if taint["key"] != CORDON]
    annotations = sorted(metadata.get("annotations", {}).items())
    labels = sorted(metadata.get("labels", {}).items())
    return NodeState(tuple(sorted(taints)), spec.get("unschedulable", False), tuple(annotations), tuple(labels))
