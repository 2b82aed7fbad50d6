"""Where moto's ECS differs from AWS in a way that would fail a right product or pass a wrong one, it is put right.

- A service begins with its tasks running; what it is updated to takes a deployment and a while, during which two sets of tasks run.
- networkConfiguration is replaced whole: what is not sent has its default again. It may leave out security groups.
- Refused are empty and unknown subnets, those of two VPCs and more than 16; services of other deployment controllers; deleted ones.
- Deleted services are listed no longer, and a cluster's list has no services of clusters whose names end like its own.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

from moto.core.utils import utcnow
from moto.ec2.exceptions import InvalidSecurityGroupNotFoundError, InvalidSubnetIdError
from moto.ec2.models import ec2_backends
from moto.ecs.exceptions import ECSException, InvalidParameterException
from moto.ecs.models import EC2ContainerServiceBackend, Service

from bed.clock import clock

SUBNETS_MAX = 16

_serial = itertools.count(1)
_original_init = Service.__init__
_original_update = EC2ContainerServiceBackend.update_service


class ServiceNotActiveException(ECSException):
    def __init__(self) -> None:
        super().__init__("ServiceNotActiveException", "Service was not ACTIVE.")


@dataclass
class _Rollout:
    service: Service
    since: float
    breaks: str  # "", "rollback" or "stuck"
    before: dict[str, Any]


@dataclass
class Rollouts:
    """How long a deployment takes, and which ones are under way."""

    seconds: float = 0.2
    breaking: dict[str, str] = field(default_factory=dict)
    pending: dict[str, _Rollout] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def break_next(self, service_name: str, rollback: bool = True) -> None:
        """The next deployment of that service fails halfway; with `rollback` the circuit breaker brings back what was before."""
        self.breaking[service_name] = "rollback" if rollback else "stuck"

    def begin(self, service: Service) -> None:
        with self.lock:
            before = service.deployments[0]
            for deployment in service.deployments:
                deployment["status"] = "ACTIVE"
            service.deployments.insert(0, _deployment(service))
            breaks = self.breaking.pop(service.name, "")
            self.pending[service.arn] = _Rollout(service, clock.now(), breaks, before)

    def advance(self) -> None:
        """Do what is due: at half the time half of the tasks are new, at the end all, and one deployment is left."""
        with self.lock:
            now = clock.now()
            for arn, rollout in list(self.pending.items()):
                elapsed = now - rollout.since
                if elapsed >= self.seconds / 2:
                    _halve(rollout.service)
                    if rollout.breaks:
                        _break(rollout)
                        del self.pending[arn]
                        if rollout.breaks == "rollback":
                            self.pending[arn] = _Rollout(rollout.service, now, "", rollout.before)
                        continue
                if elapsed >= self.seconds:
                    _complete(rollout.service)
                    del self.pending[arn]

    def clear(self) -> None:
        with self.lock:
            self.pending.clear()
            self.breaking.clear()


rollouts = Rollouts()


def install() -> None:
    Service.__init__ = _init
    Service._validate_network = _network
    EC2ContainerServiceBackend.update_service = _update
    EC2ContainerServiceBackend.list_services = _list


def _init(service: Service, *arguments: Any, **named: Any) -> None:
    _original_init(service, *arguments, **named)
    service.created_at = utcnow()
    service.running_count, service.pending_count = service.desired_count, 0
    service.network_configuration = service.network_configuration or None
    if service.deployments:
        service.deployments = [_deployment(service)]
        _complete(service)


def _deployment(service: Service) -> dict[str, Any]:
    """A new one, PRIMARY and without tasks."""
    ident = f"ecs-svc/{next(_serial):019}"
    return {
        "id": ident,
        "status": "PRIMARY",
        "taskDefinition": service.task_definition,
        "desiredCount": service.desired_count,
        "pendingCount": service.desired_count,
        "runningCount": 0,
        "failedTasks": 0,
        "createdAt": utcnow(),
        "updatedAt": utcnow(),
        "launchType": service.launch_type,
        "networkConfiguration": service.network_configuration,
        "rolloutState": "IN_PROGRESS",
        "rolloutStateReason": f"ECS deployment {ident} in progress.",
    }


def _halve(service: Service) -> None:
    primary, *others = service.deployments
    half = service.desired_count // 2
    primary.update(runningCount=half, pendingCount=service.desired_count - half)
    for other in others:
        other.update(runningCount=0)
    if others:
        others[0].update(runningCount=service.desired_count - half)


def _complete(service: Service) -> None:
    primary = service.deployments[0]
    primary.update(runningCount=service.desired_count, pendingCount=0, updatedAt=utcnow(), rolloutState="COMPLETED")
    primary["rolloutStateReason"] = f"ECS deployment {primary['id']} completed."
    service.deployments = [primary]


def _break(rollout: _Rollout) -> None:
    service = rollout.service
    failed = service.deployments[0]
    failed.update(rolloutState="FAILED", runningCount=0, pendingCount=0, failedTasks=3)
    failed["rolloutStateReason"] = "ECS deployment circuit breaker: tasks failed to start."
    if rollout.breaks == "rollback":
        failed["status"] = "ACTIVE"
        service.network_configuration = rollout.before["networkConfiguration"]
        back = _deployment(service)
        back["rolloutStateReason"] = f"ECS deployment circuit breaker: rolling back to deploymentId {rollout.before['id']}."
        service.deployments.insert(0, back)


# networks


def _network(service: Service, configuration: dict[str, Any] | None) -> dict[str, Any]:
    """The configuration as it is kept, or the refusal."""
    given = (configuration or {}).get("awsvpcConfiguration") or {}
    subnets, groups = given.get("subnets") or [], given.get("securityGroups") or []
    if not subnets:
        raise InvalidParameterException("subnets can not be empty.")
    if len(subnets) > SUBNETS_MAX:
        raise InvalidParameterException(f"subnets can have at most {SUBNETS_MAX} items.")
    ec2 = ec2_backends[service._account_id][service.region_name]
    try:
        found = ec2.describe_subnets(subnet_ids=list(dict.fromkeys(subnets)))
        ec2.describe_security_groups(group_ids=groups)
    except (InvalidSubnetIdError, InvalidSecurityGroupNotFoundError) as error:
        raise InvalidParameterException(f"Error retrieving subnet or security group information: {error.message}") from error
    if len({subnet.vpc_id for subnet in found}) > 1:
        raise InvalidParameterException("The subnets provided must belong to the same VPC.")
    kept = {"subnets": list(subnets), "securityGroups": list(groups), "assignPublicIp": given.get("assignPublicIp", "DISABLED")}
    return {"awsvpcConfiguration": kept}


# calls


def _update(backend: EC2ContainerServiceBackend, properties: dict[str, Any]) -> Service:
    name = properties["service"].split("/")[-1]
    service = backend._get_service(properties.get("cluster", "default"), name)
    if service.status != "ACTIVE":
        raise ServiceNotActiveException
    network = properties.get("network_configuration")
    if network is not None:
        properties["network_configuration"] = _new_network(service, network)
    deploys = network is not None or properties.get("task_definition") or properties.get("force_new_deployment")
    running = service.running_count
    updated = _original_update(backend, properties)
    updated.running_count = running if "desired_count" not in properties else updated.desired_count
    if deploys and updated.deployments:
        rollouts.begin(updated)
    return updated


def _new_network(service: Service, network: dict[str, Any]) -> dict[str, Any]:
    controller = service.deployment_controller["type"]
    if controller != "ECS":
        raise InvalidParameterException(
            f"Unable to update network parameters on services with a {controller} deployment controller."
        )
    if service.network_configuration is None:
        raise InvalidParameterException("Network Configuration is not valid for the given networkMode of this task definition.")
    return service._validate_network(network)


def _list(
    backend: EC2ContainerServiceBackend, cluster_str: str, scheduling_strategy: str | None = None, launch_type: str | None = None
) -> list[str]:
    cluster = backend._get_cluster(cluster_str)
    wanted = {"scheduling_strategy": scheduling_strategy, "launch_type": launch_type}
    return sorted(
        service.arn
        for service in backend.services.values()
        if service.cluster_arn == cluster.arn
        and service.status != "INACTIVE"
        and all(value is None or getattr(service, name) == value for name, value in wanted.items())
    )
