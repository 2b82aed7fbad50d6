"""Services and functions, put straight into moto."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from functools import cache
from typing import Any

from bed.functions import Function
from bed.services import CLUSTERS, Service

ROLE = "bed-functions"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}],
}


@cache
def _code() -> str:
    """The smallest archive that Lambda takes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        entries.writestr(zipfile.ZipInfo("index.py"), "def handler(event, context):\n    return event\n")
    return base64.b64encode(archive.getvalue()).decode()


class Seeder:
    """Writes into the backends of one account; `subnets` and `groups` say which ids the places and security groups have."""

    def __init__(self, ecs: Any, functions: Any, iam: Any, subnets: dict[str, str], groups: dict[str, str]) -> None:
        self._ecs, self._functions, self._iam = ecs, functions, iam
        self._subnets, self._groups = subnets, groups

    def _ids(self, places: list[str]) -> list[str]:
        return [self._subnets[place] for place in places]

    def _group_ids(self, names: list[str]) -> list[str]:
        return [self._groups[name] for name in names]

    # ECS

    def services(self, services: list[Service]) -> None:
        if not services:
            return
        container = {"name": "app", "image": "app:1", "cpu": 64, "memory": 64}
        for mode in ("awsvpc", "bridge"):
            self._ecs.register_task_definition(mode, [container], network_mode=mode)
        for cluster in CLUSTERS:
            self._ecs.create_cluster(cluster)
        for service in services:
            self._service(service)

    def _service(self, service: Service) -> None:
        network = {
            "subnets": self._ids(service.places),
            "securityGroups": self._group_ids(service.groups),
            "assignPublicIp": service.public_ip,
        }
        made = self._ecs.create_service(
            service.cluster,
            service.name,
            service.desired,
            "awsvpc" if service.awsvpc else "bridge",
            tags=[{"key": key, "value": value} for key, value in service.tags.items()],
            deployment_controller={"type": service.controller},
            launch_type=service.launch_type,
            network_configuration={"awsvpcConfiguration": network} if service.awsvpc else None,
        )
        made.deployment_configuration = {"strategy": service.strategy, "minimumHealthyPercent": 100, "maximumPercent": 200}

    # Lambda

    def functions(self, functions: list[Function]) -> None:
        if not functions:
            return
        role = self._iam.create_role(
            role_name=ROLE,
            assume_role_policy_document=json.dumps(TRUST),
            path="/",
            permissions_boundary=None,
            description="",
            tags={},
            max_session_duration="3600",
        )
        for function in functions:
            self._function(function, role.arn)

    def _function(self, function: Function, role: str) -> None:
        spec = {
            "FunctionName": function.name,
            "Runtime": "python3.13",
            "Handler": "index.handler",
            "Role": role,
            "Code": {"ZipFile": _code()},
            "Tags": dict(function.tags),
        }
        if function.places:
            spec["VpcConfig"] = {
                "SubnetIds": self._ids(function.places),
                "SecurityGroupIds": self._group_ids(function.groups),
                "Ipv6AllowedForDualStack": function.ipv6,
            }
        made = self._functions.create_function(spec)
        for _ in range(function.versions):
            self._functions.publish_version(function.name)
            made.code_or_config_updated = True
        for alias, version in function.aliases.items():
            self._functions.create_alias(alias, function.name, version, "", None)
