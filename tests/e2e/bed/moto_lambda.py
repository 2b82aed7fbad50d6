"""Where moto's Lambda differs from AWS in a way that would fail a right product or pass a wrong one, it is put right.

- An update of the configuration takes a while; until then a second one is refused, and it may fail, with the old configuration left.
- RevisionId is there, changes with each accepted update and again at its end, and an update that names another one is refused.
- VpcConfig has the VPC of its subnets, may leave out security groups, and takes no unknown ones; without subnets there is no VPC.
- ListVersionsByFunction and ListAliases take an ARN, too.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from moto.awslambda.exceptions import InvalidParameterValueException, LambdaClientError, PreconditionFailedException
from moto.awslambda.models import LambdaFunction, LambdaStorage
from moto.awslambda.responses import LambdaResponse
from moto.core.utils import iso_8601_datetime_with_nanoseconds
from moto.ec2.exceptions import InvalidSecurityGroupNotFoundError, InvalidSubnetIdError
from moto.ec2.models import ec2_backends

from bed.clock import clock

_serial = itertools.count(1)
_original_init = LambdaFunction.__init__
_original_configuration = LambdaFunction.get_configuration
_original_update = LambdaFunction.update_configuration
_original_versions = LambdaStorage.list_versions_by_function
_original_aliases = LambdaStorage.list_aliases
_original_get = LambdaResponse.get_function


class ResourceConflictException(LambdaClientError):
    code = 409

    def __init__(self, arn: str) -> None:
        sentence = f"The operation cannot be performed at this time. An update is in progress for resource: {arn}"
        super().__init__("ResourceConflictException", sentence)


@dataclass
class _Update:
    function: LambdaFunction
    since: float
    before: dict[str, Any] | None
    fails: tuple[str, str] | None
    reads: int = 0


@dataclass
class Updates:
    """How long an update takes: `seconds`, and until GetFunction has told `reads` times that it is in progress."""

    seconds: float = 0.2
    reads: int = 0
    failing: dict[str, tuple[str, str]] = field(default_factory=dict)
    pending: dict[str, _Update] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail_next(self, function_name: str, code: str, reason: str) -> None:
        """The next update of that function ends Failed, with the configuration as it was before."""
        self.failing[function_name] = (code, reason)

    def begin(self, function: LambdaFunction, before: dict[str, Any] | None) -> None:
        with self.lock:
            self.pending[function.function_arn] = _Update(
                function, clock.now(), before, self.failing.pop(function.function_name, None)
            )
            function.update_state = {"LastUpdateStatus": "InProgress"}
            function.update_state["LastUpdateStatusReason"] = "The function is being created."
            function.update_state["LastUpdateStatusReasonCode"] = "Creating"

    def told(self, function: LambdaFunction) -> None:
        with self.lock:
            if function.function_arn in self.pending:
                self.pending[function.function_arn].reads += 1

    def advance(self) -> None:
        """Do what is due."""
        with self.lock:
            now = clock.now()
            for arn, update in list(self.pending.items()):
                if now - update.since >= self.seconds and update.reads >= self.reads:
                    _end(update)
                    del self.pending[arn]

    def clear(self) -> None:
        with self.lock:
            self.pending.clear()
            self.failing.clear()


updates = Updates()


def install() -> None:
    LambdaFunction.__init__ = _init
    LambdaFunction.get_configuration = _configuration
    LambdaFunction.update_configuration = _update
    LambdaFunction.vpc_config = property(_vpc_config)
    LambdaStorage.list_versions_by_function = _versions
    LambdaStorage.list_aliases = _aliases
    LambdaResponse.get_function = _get


def _init(function: LambdaFunction, *arguments: Any, **named: Any) -> None:
    _original_init(function, *arguments, **named)
    function.revision_id = _new_revision()
    function.update_state = {"LastUpdateStatus": "Successful"}
    if function._vpc_config is not None:
        function._vpc_config = _checked(function, function._vpc_config)


def _new_revision() -> str:
    return f"0bed0000-0000-4000-8000-{next(_serial):012x}"


def _end(update: _Update) -> None:
    function = update.function
    function.revision_id = _new_revision()
    function.update_state = {"LastUpdateStatus": "Successful"}
    if update.fails:
        code, reason = update.fails
        function._vpc_config = update.before
        function.update_state = {"LastUpdateStatus": "Failed", "LastUpdateStatusReasonCode": code, "LastUpdateStatusReason": reason}


def _configuration(function: LambdaFunction, on_create: bool = False) -> dict[str, Any]:
    shown = _original_configuration(function, on_create) | {"RevisionId": function.revision_id} | function.update_state
    return {key: value for key, value in shown.items() if value is not None}


def _update(function: LambdaFunction, changes: dict[str, Any]) -> dict[str, Any]:
    updates.advance()
    if function.function_arn in updates.pending:
        raise ResourceConflictException(function.function_arn)
    if changes.get("RevisionId", function.revision_id) != function.revision_id:
        raise PreconditionFailedException(
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction API to retrieve the latest"
        )
    changes = dict(changes)
    before = function._vpc_config
    if "VpcConfig" in changes:
        changes["VpcConfig"] = _checked(function, changes["VpcConfig"])
    _original_update(function, changes)
    function.revision_id = _new_revision()
    function.last_modified = iso_8601_datetime_with_nanoseconds()
    updates.begin(function, before)
    return function.get_configuration()


def _checked(function: LambdaFunction, config: dict[str, Any]) -> dict[str, Any]:
    """VpcConfig as it is kept, or the refusal."""
    subnets, groups = config.get("SubnetIds") or [], config.get("SecurityGroupIds") or []
    ec2 = ec2_backends[function.account_id][function.region]
    try:
        found = ec2.describe_subnets(subnet_ids=list(dict.fromkeys(subnets))) if subnets else []
        ec2.describe_security_groups(group_ids=groups)
    except (InvalidSubnetIdError, InvalidSecurityGroupNotFoundError) as error:
        raise InvalidParameterValueException(
            f"Error occurred while describing the VPC configuration. EC2 Error Code: {error.code}. "
            f"EC2 Error Message: {error.message}"
        ) from error
    vpcs = {subnet.vpc_id for subnet in found}
    if len(vpcs) > 1:
        raise InvalidParameterValueException("Security Groups and Subnets must be in the same VPC.")
    return {
        "SubnetIds": list(subnets),
        "SecurityGroupIds": list(groups),
        "VpcId": next(iter(vpcs), ""),
        "Ipv6AllowedForDualStack": config.get("Ipv6AllowedForDualStack", False),
    }


def _vpc_config(function: LambdaFunction) -> dict[str, Any] | None:
    return None if function._vpc_config is None else dict(function._vpc_config)


def _versions(storage: LambdaStorage, label: str) -> Any:
    name = unquote(label)
    return _original_versions(storage, storage.split_function_arn(name)[1] if name.startswith("arn:") else name)


def _aliases(storage: LambdaStorage, label: str) -> Any:
    return _original_aliases(storage, unquote(label))


def _get(response: LambdaResponse) -> str:
    shown = _original_get(response)
    updates.told(response.backend.get_function(unquote(response.path.rpartition("/")[2])))
    return shown
