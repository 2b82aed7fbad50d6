"""The state of the world, read past the gate, and whether it is as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bed.account import TABLE, Account
from bed.kube import Kube

TAINT = "zonevac.dev/evacuated"
ANNOTATION = "zonevac.dev/evacuated"


@dataclass(frozen=True)
class NodeState:
    taints: tuple[tuple[str, str, str], ...]
    unschedulable: bool
    annotations: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def evacuated(self) -> bool:
        return any(key == TAINT for key, _value, _effect in self.taints)


@dataclass(frozen=True)
class Snapshot:
    groups: dict[str, dict[str, Any]]  # everything but instances
    nodes: dict[str, NodeState]

    def differences(self, other: Snapshot) -> list[str]:
        """What is not the same, one line each."""
        found = []
        for kind in ("groups", "nodes"):
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
        groups = {name: {k: v for k, v in group.items() if k != "Instances"} for name, group in self.groups().items()}
        return Snapshot(groups, self.nodes())


def _node_state(node: dict[str, Any]) -> NodeState:
    spec, metadata = node["spec"], node["metadata"]
    taints = [(taint["key"], taint.get("value", ""), taint["effect"]) for taint in spec.get("taints", [])]
    annotations = sorted(metadata.get("annotations", {}).items())
    labels = sorted(metadata.get("labels", {}).items())
    return NodeState(tuple(sorted(taints)), spec.get("unschedulable", False), tuple(annotations), tuple(labels))
