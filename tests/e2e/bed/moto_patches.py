"""Where moto's Auto Scaling differs from AWS in a way that would fail a right product or pass a wrong one, it is put right.

The other services' patches are in moto_ecs and moto_lambda; install() and advance() speak for all of them.

- A group keeps its MixedInstancesPolicy when an update does not mention it.
- Blanks after commas in VPCZoneIdentifier are taken, an empty one is refused, AvailabilityZones has each zone once.
- Instances lie in all the group's subnets, and those of a zone that was taken out move, after a while, to the zones that are left.
- Zone names and ids are shuffled, as they are in real accounts.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from moto.autoscaling.exceptions import AutoscalingClientError
from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone

from bed import moto_ecs, moto_lambda
from bed.clock import clock
from bed.moto_ecs import rollouts
from bed.moto_lambda import updates

REGION = "us-east-1"
ZONES = {"us-east-1a": "use1-az6", "us-east-1b": "use1-az1", "us-east-1c": "use1-az2"}

_serial = itertools.count(1)
_installed = False
_original_update = FakeAutoScalingGroup.update
_original_zones = FakeAutoScalingGroup._set_azs_and_vpcs


@dataclass
class Movement:
    """How long Auto Scaling takes to move instances out of a zone, and which groups are about it."""

    seconds: float = 0.2
    pending: dict[str, tuple[FakeAutoScalingGroup, float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    # Told of each group whose instances were replaced: (id, zone) of those that are gone and of the new ones.
    told: Callable[[str, list[tuple[str, str]], list[tuple[str, str]]], None] | None = None

    def begin(self, group: FakeAutoScalingGroup) -> None:
        with self.lock:
            self.pending[group.name] = (group, clock.now())

    def advance(self) -> None:
        """Do what is due: at half the time instances are Terminating, at the end their replacements are InService elsewhere."""
        with self.lock:
            now = clock.now()
            for name, (group, since) in list(self.pending.items()):
                if now - since >= self.seconds:
                    gone, fresh = _replace(group)
                    del self.pending[name]
                    if self.told is not None:
                        self.told(name, _names(gone), _names(fresh))
                elif now - since >= self.seconds / 2:
                    for state in _stranded(group):
                        state.lifecycle_state = "Terminating"

    def clear(self) -> None:
        with self.lock:
            self.pending.clear()
            self.told = None


movement = Movement()


def zone_id(zone_name: str) -> str:
    return ZONES[zone_name]


def install() -> None:
    """Patch moto, once a process, before its first use."""
    global _installed
    if _installed:
        return
    _installed = True
    RegionsAndZonesBackend.zones[REGION] = [Zone(name, REGION, ident) for name, ident in ZONES.items()]
    FakeAutoScalingGroup.update = _update
    FakeAutoScalingGroup._set_azs_and_vpcs = _set_azs_and_vpcs
    FakeAutoScalingGroup.replace_autoscaling_group_instances = _launch
    FakeAutoScalingGroup.availability_zone_ids = property(lambda group: [ZONES[z] for z in group.availability_zones])
    InstanceState.availability_zone_id = property(lambda state: ZONES[state.availability_zone])
    moto_ecs.install()
    moto_lambda.install()


def hurry(seconds: float) -> None:
    """How long instances take to move, deployments to be done and functions to be updated."""
    movement.seconds = rollouts.seconds = updates.seconds = seconds
    updates.reads = 0


def advance() -> None:
    """Do what is due, everywhere."""
    for process in (movement, rollouts, updates):
        process.advance()


def forget() -> None:
    clock.release()
    for process in (movement, rollouts, updates):
        process.clear()


def _subnets(group: FakeAutoScalingGroup) -> list[Any]:
    wanted = [part.strip() for part in (group.vpc_zone_identifier or "").split(",") if part.strip()]
    found = {subnet.id: subnet for subnet in group.ec2_backend.describe_subnets(subnet_ids=wanted)} if wanted else {}
    return [found[ident] for ident in wanted]


def _update(group: FakeAutoScalingGroup, **arguments: Any) -> None:
    if arguments.get("vpc_zone_identifier") == "":
        raise AutoscalingClientError(
            "ValidationError",
            "1 validation error detected: Value '' at 'vPCZoneIdentifier' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        )
    policy = group.mixed_instances_policy
    _original_update(group, **arguments)
    if arguments.get("mixed_instances_policy") is None and not arguments.get("launch_template"):
        group.mixed_instances_policy = policy
    if arguments.get("vpc_zone_identifier") and _stranded(group):
        movement.begin(group)


def _set_azs_and_vpcs(group: FakeAutoScalingGroup, zones: list[str], identifier: str | None, update: bool = False) -> None:
    if not identifier:
        _original_zones(group, zones, identifier, update)
        return
    clean = list(dict.fromkeys(part.strip() for part in identifier.split(",")))
    vpcs = {subnet.vpc_id for subnet in group.autoscaling_backend.ec2_backend.describe_subnets(subnet_ids=clean)}
    if len(vpcs) > 1:
        raise AutoscalingClientError("ValidationError", "The subnets of an Auto Scaling group must lie in one VPC")
    _original_zones(group, list(zones or []), ",".join(clean), update)
    group.availability_zones = sorted(set(group.availability_zones))
    group.vpc_zone_identifier = identifier


def _new_state(group: FakeAutoScalingGroup, subnet: Any) -> InstanceState:
    serial = next(_serial)
    instance = SimpleNamespace(
        id=f"i-{serial:017x}",
        placement=SimpleNamespace(zone=subnet.availability_zone),
        instance_type="m7g.large",
        autoscaling_group=group,
        subnet_id=subnet.id,
    )
    return InstanceState(instance, protected_from_scale_in=group.new_instances_protected_from_scale_in)


def _launch(group: FakeAutoScalingGroup, count: int, _tags: dict[str, str]) -> None:
    subnets = itertools.cycle(_subnets(group))
    group.instance_states.extend(_new_state(group, next(subnets)) for _ in range(count))


def _stranded(group: FakeAutoScalingGroup) -> list[InstanceState]:
    return [state for state in group.instance_states if state.availability_zone not in group.availability_zones]


def _replace(group: FakeAutoScalingGroup) -> tuple[list[InstanceState], list[InstanceState]]:
    gone = _stranded(group)
    group.instance_states = [state for state in group.instance_states if state not in gone]
    subnets = _subnets(group)
    fresh = [_new_state(group, random.choice(subnets)) for _ in gone]
    group.instance_states.extend(fresh)
    return gone, fresh


def _names(states: list[InstanceState]) -> list[tuple[str, str]]:
    return [(state.instance.id, state.availability_zone) for state in states]
