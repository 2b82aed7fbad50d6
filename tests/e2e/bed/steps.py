"""What most tests do: order an evacuation, wait for a state, compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bed.controller import Controller
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.region import EVACUATED
from bed.world import PLACES, Snapshot, World, subnets_in

ALL = {"all": True}
NODES = {"kind": "EksNode", "selector": ALL}
GROUPS = {"kind": "AutoScalingGroup", "selector": ALL}
SERVICES = {"kind": "EcsService", "selector": ALL}
FUNCTIONS = {"kind": "LambdaFunction", "selector": ALL}
EVERYTHING = [NODES, GROUPS, SERVICES, FUNCTIONS]
NAME = EVACUATED
ARNS = {"groups": "AutoScalingGroupARN", "services": "serviceArn", "functions": "FunctionArn"}


def order(kube: Kube, name: str = NAME, zone_id: str = EVACUATED, targets: list[dict] | None = None, **spec: Any) -> Any:
    """Create a ZonalEvacuation of nodes and groups. Most scenes have more nodes in the zone than elsewhere."""
    spec.setdefault("guards", {"maxNodesPercent": 100})
    return kube.evacuate(name, zoneId=zone_id, targets=[NODES, GROUPS] if targets is None else targets, **spec)


def create_node_elsewhere(kube: Kube) -> None:
    """Without one, nodes are refused: no zone would be left to the cluster."""
    kube.create_node("elsewhere", "use1-az2", "us-east-1c")


def _patience(controller: Controller | None, what: str, test, timeout: float) -> Any:
    def ask() -> Any:
        if controller is not None and not controller.running():
            raise AssertionError(f"zonevac ended while waiting for: {what}\n{controller.tail()}")
        return test()

    return wait_for(what, ask, timeout, pause=0.02 if timeout <= 60 else 0.2)


def await_condition(
    kube: Kube, kind: str, status: str = "True", name: str = NAME, timeout: float = 60, controller: Controller | None = None
) -> dict[str, Any]:
    """Wait for the condition at the object's present generation."""

    def test() -> dict[str, Any] | None:
        item = kube.evacuation(name)
        condition = kube.condition(name, kind)
        current = condition.get("observedGeneration") == (item or {}).get("metadata", {}).get("generation")
        return condition if condition.get("status") == status and current else None

    try:
        return _patience(controller, f"{kind}={status} of {name}", test, timeout)
    except TimeoutError as error:
        raise AssertionError(f"{error}\n{describe(kube, name)}") from None


def await_ready(kube: Kube, name: str = NAME, timeout: float = 60, controller: Controller | None = None) -> dict[str, Any]:
    """Wait until the zone is held; the object."""
    await_condition(kube, "Ready", name=name, timeout=timeout, controller=controller)
    return kube.evacuation(name)


def await_gone(kube: Kube, name: str = NAME, timeout: float = 60, controller: Controller | None = None) -> None:
    """Wait until the object's finalizer is off and it is gone."""
    try:
        _patience(controller, f"{name} to be gone", lambda: kube.evacuation(name) is None, timeout)
    except TimeoutError as error:
        raise AssertionError(f"{error}\n{describe(kube, name)}") from None


def recover(kube: Kube, name: str = NAME, timeout: float = 60, controller: Controller | None = None) -> None:
    kube.delete_evacuation(name)
    await_gone(kube, name, timeout, controller)


def claims(world: World) -> list[dict[str, Any]]:
    """The records that stay open only because an update without an answer may still land: its signature is good until then."""
    now = datetime.now(UTC).isoformat()
    return [item for item in world.records() if item.get("unansweredUntil", {}).get("S", "") > now]


def recover_but_claims(kube: Kube, world: World, before: Snapshot, controller: Controller, timeout: float = 60) -> int:
    """
    Delete, and wait until all is exactly as it was. How many records stay open until a signature is too old, five minutes later (beside
    them there may be copies of what nodes carried, which are found at the next look into the journal); 0: none, and the object is gone.
    """
    kube.delete_evacuation(NAME)
    _patience(controller, "all to be as it was", lambda: not before.differences(world.snapshot()), timeout)

    def settled() -> bool:
        waiting = claims(world)
        others = [item for item in world.records() if item not in waiting and item["resourceType"]["S"] != "EksNode"]
        return kube.evacuation(NAME) is None or (len(waiting) > 0 and not others)

    try:
        _patience(controller, f"{NAME} to be gone, or to wait for claims alone", settled, timeout)
    except TimeoutError as error:
        raise AssertionError(f"{error}\n{describe(kube)}") from None
    if kube.evacuation(NAME) is None:
        return 0
    assert all(item["state"]["S"] == "Restoring" for item in claims(world))
    return len(claims(world))


def describe(kube: Kube, name: str = NAME) -> str:
    """The status, for a person who reads why a test failed."""
    item = kube.evacuation(name)
    if item is None:
        return f"{name} is gone"
    status = item.get("status", {})
    lines = [f"{name}: phase {status.get('phase')}, progress {status.get('progress')}"]
    for condition in status.get("conditions", []):
        lines.append(f"  {condition['type']}={condition['status']} {condition['reason']}: {condition['message']}")
    for change in status.get("changes", []):
        lines.append(f"  {change['kind']} {change['name']}: {change['state']} {change.get('reason', '')}")
    return "\n".join(lines)


def assert_out(world: World) -> None:
    """The zone is empty of all that can be taken, each change is in the journal, and the zone is registered."""
    for kind, resource_type in PLACES.items():
        resources = world.read(kind)
        assert subnets_in(kind, resources) == world.expected_subnets_of(kind)
        changed = [placed for placed in getattr(world.account, kind) if placed.changes()]
        assert recorded(world, resource_type) == {resources[placed.key][ARNS[kind]] for placed in changed}
    assert world.registrations() == [f"zone:{EVACUATED}"]
    for item in world.records():
        assert item["state"]["S"] == "Settled", item


def assert_told_out(kube: Kube, world: World, nodes: set[str]) -> None:
    """The status says that these nodes, and all that changes in the account, are out, and nothing else."""
    status = kube.evacuation(NAME)["status"]
    expected = {("EksNode", name) for name in nodes}
    for kind, resource_type in PLACES.items():
        expected |= {(resource_type, placed.name) for placed in getattr(world.account, kind) if placed.changes()}
    told = {(entry["kind"], entry["name"]) for entry in status["changes"] if entry["state"] == "Settled"}
    assert told == expected, describe(kube)
    count = len(nodes) + sum(placed.changes() for kind in PLACES for placed in getattr(world.account, kind))
    assert (status["phase"], status["progress"], status["failed"]) == ("Holding", f"{count}/{count}", 0), describe(kube)


def recorded(world: World, kind: str) -> set[str]:
    """The resources of that kind that have a record."""
    return {item["resourceId"]["S"] for item in world.records() if item["resourceType"]["S"] == kind}


def assert_back(world: World, before: Any) -> None:
    """Everything is exactly as it was, and the journal is empty."""
    differences = before.differences(world.snapshot())
    assert not differences, "\n".join(differences)
    assert world.records() == []
    assert world.registrations() == []


def assert_journaled_first(gate: Gate, world: World) -> int:
    """Each update was sent only after a write of its record had been answered, and says what it must, no more; how many there were."""
    arns = {name: group["AutoScalingGroupARN"] for name, group in world.groups().items()}
    open_since: dict[str, float] = {}
    count = 0
    for entry in gate.entries:
        if entry.name == "dynamodb:PutItem" and entry.status == 200:
            open_since[entry.params["Item"]["resourceId"]["S"]] = entry.answered
        elif entry.name == "dynamodb:DeleteItem" and entry.status == 200:
            open_since.pop(entry.params["Key"]["resourceId"]["S"], None)
        elif entry.name in UPDATES:
            resource = UPDATES[entry.name](entry.params)
            arn = arns.get(resource, resource)
            assert arn in open_since, f"request {entry.number} changes {arn} without an open record"
            assert open_since[arn] <= entry.at
            count += 1
    return count


def _group_of(params: dict[str, Any]) -> str:
    assert set(params) == {"AutoScalingGroupName", "VPCZoneIdentifier"}
    return params["AutoScalingGroupName"]


def _service_of(params: dict[str, Any]) -> str:
    assert set(params) == {"cluster", "service", "networkConfiguration"}
    assert set(params["networkConfiguration"]) == {"awsvpcConfiguration"}
    assert params["networkConfiguration"]["awsvpcConfiguration"]["subnets"]
    return params["service"]


def _function_of(params: dict[str, Any]) -> str:
    assert set(params) == {"FunctionName", "VpcConfig", "RevisionId"}
    assert set(params["VpcConfig"]) == {"SubnetIds", "SecurityGroupIds", "Ipv6AllowedForDualStack"}
    assert params["VpcConfig"]["SubnetIds"]
    return params["FunctionName"]


UPDATES: dict[str, Callable[[dict[str, Any]], str]] = {
    "autoscaling:UpdateAutoScalingGroup": _group_of,
    "ecs:UpdateService": _service_of,
    "lambda:UpdateFunctionConfiguration": _function_of,
}


def quiet(gate: Gate, seconds: float) -> list[str]:
    """The names of the requests of the next seconds."""
    began = len(gate.entries)
    time.sleep(seconds)
    return [entry.name for entry in gate.entries[began:]]


def await_sessions(gate: Gate, count: int, timeout: float = 30) -> None:
    """Wait until requests signed with so many keys have been answered."""
    wait_for(f"{count} sessions", lambda: len(gate.sessions()) >= count, timeout, pause=0.1)
