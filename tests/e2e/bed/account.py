"""An AWS account in this process: moto, seeded, quick to reset, served without authentication to those who may look past the gate."""

from __future__ import annotations

import io
import os
import threading
from typing import Any
from urllib.parse import unquote

os.environ.setdefault("AWS_ACCESS_KEY_ID", "testing")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "testing")
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")

import boto3
import moto.backends as moto_backends
from botocore.config import Config
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.base_backend import BackendDict
from moto.core.model_instances import reset_model_data
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import ThreadedMotoServer

from bed import moto_patches
from bed.dynalite import Dynalite
from bed.functions import Function
from bed.kube import wait_for
from bed.moto_patches import REGION, ZONES
from bed.region import LETTER, SUBNETS_PER_ZONE, Group, Placed
from bed.seeding import Seeder
from bed.services import Service

TABLE = "zonevac-journal"
SECURITY_GROUPS = ("app", "ops")


class Account:
    """`handle` answers one request; `client` gives a boto3 client that bypasses the gate."""

    def __init__(self) -> None:
        moto_patches.install()
        self.account_id = DEFAULT_ACCOUNT_ID
        self.lock = threading.RLock()
        self.subnets: dict[str, str] = {}  # "b0" -> subnet id
        self.groups: list[Group] = []
        self.services: list[Service] = []
        self.functions: list[Function] = []
        self.dynalite: Dynalite | None = None  # holds the tables, instead of moto
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._clients: dict[str, Any] = {}

    def start(self) -> Account:
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        self._warm()
        return self

    def _warm(self) -> None:
        """moto loads a service at its first request, which takes the better part of a second."""
        self.client("ec2").describe_subnets()
        self.client("autoscaling").describe_auto_scaling_groups()
        self.client("ecs").list_clusters()
        self.client("lambda").list_functions()
        self.client("dynamodb").list_tables()
        self.client("sts").get_caller_identity()

    def stop(self) -> None:
        self._server.stop()

    def client(self, service: str) -> Any:
        if service == "dynamodb" and self.dynalite is not None:
            return self.dynalite.client()
        if service not in self._clients:
            self._clients[service] = boto3.client(
                service,
                region_name=REGION,
                endpoint_url=self.url,
                aws_access_key_id="reader",
                aws_secret_access_key="reader",
                config=Config(retries={"max_attempts": 1}, parameter_validation=False),
            )
        return self._clients[service]

    def backend(self, service: str) -> Any:
        return moto_backends.get_backend(service)[self.account_id][REGION]

    # serving

    def handle(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> tuple[int, list, bytes]:
        """One request, straight into moto's application: status, headers, body. One at a time, so that the order is the log's."""
        if self.dynalite is not None and any(name.lower() == "x-amz-target" and value.startswith("DynamoDB") for name, value in headers):
            with self.lock:
                return self.dynalite.handle(target, headers, body)
        path, _, query = target.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote(path),
            "RAW_URI": target,
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for key, value in headers:
            name = key.upper().replace("-", "_")
            environ["CONTENT_TYPE" if name == "CONTENT_TYPE" else "HTTP_" + name] = value
        answer: dict[str, Any] = {}

        def start_response(status: str, fields: list, _info: Any = None) -> None:
            answer.update(status=int(status.split()[0]), headers=fields)

        with self.lock:
            moto_patches.advance()
            chunks = self._app(environ, start_response)
            data = b"".join(chunks)
        return answer["status"], answer["headers"], data

    # state

    def reset(self) -> None:
        with self.lock:
            moto_patches.forget()
            BackendDict.reset()
            reset_model_data()
            if self.dynalite is not None:
                self.dynalite.wipe()

    def seed(self, groups: list[Group], services: list[Service] | None = None, functions: list[Function] | None = None) -> None:
        """An empty account, then a VPC with three subnets in each zone and these groups, services and functions."""
        with self.lock:
            self.reset()
            self._seed_network()
            self.groups, self.services, self.functions = groups, services or [], functions or []
            backend = self.backend("autoscaling")
            template = {"LaunchTemplateName": "bed"}
            for group in groups:
                self._seed_group(backend, template, group)
            iam = moto_backends.get_backend("iam")[self.account_id]["aws"]
            seeder = Seeder(self.backend("ecs"), self.backend("lambda"), iam, self.subnets, self.security_groups)
            seeder.services(self.services)
            seeder.functions(self.functions)

    def _seed_network(self) -> None:
        ec2 = self.backend("ec2")
        vpc = ec2.create_vpc("10.7.0.0/16")
        self.vpc_id = vpc.id
        self.subnets = {}
        for index, letter in enumerate(LETTER):
            for number in range(SUBNETS_PER_ZONE):
                cidr = f"10.7.{index * 16 + number}.0/24"
                subnet = ec2.create_subnet(vpc.id, cidr, availability_zone=LETTER[letter])
                self.subnets[f"{letter}{number}"] = subnet.id
        self.security_groups = {name: ec2.create_security_group(name, "of the bed", vpc_id=vpc.id).id for name in SECURITY_GROUPS}
        ec2.create_launch_template("bed", "", {"InstanceType": "m7g.large", "ImageId": "ami-12c6146b"}, {})

    def _seed_group(self, backend: Any, template: dict[str, str], group: Group) -> None:
        tags = [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in group.tags.items()]
        policy = {"LaunchTemplate": {"LaunchTemplateSpecification": dict(template)}}
        mixed = group.name == "api"
        backend.create_auto_scaling_group(
            name=group.name,
            availability_zones=[],
            desired_capacity=group.desired,
            max_size=group.desired * 2,
            min_size=1,
            launch_config_name=None,
            launch_template={} if mixed else dict(template),
            vpc_zone_identifier=self.identifier(group),
            default_cooldown=None,
            health_check_period=None,
            health_check_type=None,
            load_balancers=[],
            target_group_arns=[],
            placement_group=None,
            termination_policies=[],
            tags=tags,
            mixed_instances_policy=policy if mixed else None,
        )

    def ids(self, placed: Placed, places: list[str] | None = None) -> list[str]:
        """The subnets of those places; its own as seeded, unless told otherwise."""
        return [self.subnets[place] for place in (placed.places if places is None else places)]

    def identifier(self, group: Group, places: list[str] | None = None) -> str:
        """The VPCZoneIdentifier of those places."""
        return group.separator.join(self.ids(group, places))

    def set_zone_identifier(self, name: str, value: str) -> None:
        """Somebody else's update."""
        self.client("autoscaling").update_auto_scaling_group(AutoScalingGroupName=name, VPCZoneIdentifier=value)

    def set_service_subnets(self, service: Service, subnets: list[str]) -> None:
        """Somebody else's update."""
        groups = [self.security_groups[name] for name in service.groups]
        network = {"subnets": subnets, "securityGroups": groups, "assignPublicIp": service.public_ip}
        self.client("ecs").update_service(
            cluster=service.cluster, service=service.name, networkConfiguration={"awsvpcConfiguration": network}
        )

    def set_function_subnets(self, function: Function, subnets: list[str]) -> None:
        """Somebody else's update."""
        groups = [self.security_groups[name] for name in function.groups]
        network = {"SubnetIds": subnets, "SecurityGroupIds": groups, "Ipv6AllowedForDualStack": function.ipv6}
        self.client("lambda").update_function_configuration(FunctionName=function.name, VpcConfig=network)

    def create_journal(self, name: str = TABLE) -> None:
        """The table as the templates make it."""
        client = self.client("dynamodb")
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "zoneId", "KeyType": "HASH"},
                {"AttributeName": "resourceId", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": attribute, "AttributeType": "S"}
                for attribute in ("zoneId", "resourceId", "resourceType")
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "resourceType-zoneId-index",
                    "KeySchema": [
                        {"AttributeName": "resourceType", "KeyType": "HASH"},
                        {"AttributeName": "zoneId", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        wait_for("the table to be ACTIVE", lambda: client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")


def zone_of(account: Account, subnet_id: str) -> str:
    """The zone id of a seeded subnet."""
    for place, ident in account.subnets.items():
        if ident == subnet_id:
            return ZONES[LETTER[place[0]]]
    raise KeyError(subnet_id)
