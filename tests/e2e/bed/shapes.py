"""Is this the request that the service's own model describes?

A form, a JSON body or a path with its query is read back into parameters, and nothing may be left over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import botocore.loaders
from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator

SERVICES = ("autoscaling", "dynamodb", "ec2", "ecs", "lambda", "sts")
FORM = "application/x-www-form-urlencoded"
# Maxima that stand in the documentation, not in the model.
MAXIMA = {("ecs:DescribeServices", "services"): 10}


class ShapeError(ValueError):
    """What is wrong with the request, in a sentence."""


@dataclass
class Call:
    """One request, understood."""

    service: str
    operation: str
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.service}:{self.operation}"


@cache
def service_model(service: str) -> ServiceModel:
    if service not in SERVICES:
        raise ShapeError(f"the bed knows no service {service!r}")
    return ServiceModel(botocore.loaders.create_loader().load_service_model(service, "service-2"), service)


def read_call(service: str, method: str, target: str, headers: dict[str, str], body: bytes) -> Call:
    """The call in a request signed for `service`, or ShapeError."""
    model = service_model(service)
    if model.metadata["protocol"] == "rest-json":
        return _read_rest(model, service, method, target, headers, body)
    if method != "POST" or target != "/":
        raise ShapeError(f"{service} is asked by POST /, not {method} {target}")
    if model.metadata["protocol"] == "json":
        return _read_json(model, service, headers, body)
    return _read_form(model, service, headers, body)


def _operation(model: ServiceModel, name: str | None) -> Any:
    if name not in model.operation_names:
        raise ShapeError(f"{model.service_name} has no operation {name!r}")
    return model.operation_model(name)


def _validate(call: Call, shape: Shape | None) -> Call:
    if shape is None:
        if call.params:
            raise ShapeError(f"{call.name} takes no parameters, got {sorted(call.params)}")
        return call
    _check_limits(call.params, shape, call.name)
    for (name, member), maximum in MAXIMA.items():
        if call.name == name and len(call.params.get(member, ())) > maximum:
            raise ShapeError(f"{name}.{member} is above the maximum of {maximum}")
    report = ParamValidator().validate(call.params, shape)
    if report.has_errors():
        raise ShapeError(f"{call.name}: {report.generate_report()}")
    return call


def _check_limits(value: Any, shape: Shape, path: str) -> None:
    """Unknown members, enumerations and maxima, which botocore itself leaves to the service."""
    if shape.type_name == "structure":
        if not isinstance(value, dict):
            raise ShapeError(f"{path} must be a structure")
        for key, inner in value.items():
            if key not in shape.members:
                raise ShapeError(f"{path} has no member {key!r}")
            _check_limits(inner, shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for index, inner in enumerate(value):
            _check_limits(inner, shape.member, f"{path}[{index}]")
    elif shape.type_name == "map" and isinstance(value, dict):
        for key, inner in value.items():
            _check_limits(inner, shape.value, f"{path}[{key!r}]")
    limit = shape.metadata.get("max")
    size = value if isinstance(value, int) else len(value) if isinstance(value, str | list | dict) else 0
    if limit is not None and size > limit:
        raise ShapeError(f"{path} is above the maximum of {limit}")
    choices = getattr(shape, "enum", None)
    if choices and value not in choices:
        raise ShapeError(f"{path}: {value!r} is none of {choices}")


# JSON


def _read_json(model: ServiceModel, service: str, headers: dict[str, str], body: bytes) -> Call:
    expected = f"application/x-amz-json-{model.metadata['jsonVersion']}"
    if headers.get("content-type") != expected:
        raise ShapeError(f"{service} wants Content-Type {expected}, got {headers.get('content-type')!r}")
    prefix, _, name = headers.get("x-amz-target", "").partition(".")
    if prefix != model.metadata["targetPrefix"]:
        raise ShapeError(f"{service} wants X-Amz-Target {model.metadata['targetPrefix']}.…, got {prefix!r}")
    operation = _operation(model, name)
    try:
        params = json.loads(body)
    except ValueError as error:
        raise ShapeError(f"{service}:{name}: not JSON: {error}") from error
    return _validate(Call(service, name, params), operation.input_shape)


# JSON behind a path (protocol "rest-json")


def _read_rest(model: ServiceModel, service: str, method: str, target: str, headers: dict[str, str], body: bytes) -> Call:
    path, _, query = target.partition("?")
    for name in model.operation_names:
        operation = model.operation_model(name)
        labels = _match_path(operation.http["requestUri"].partition("?")[0], path)
        if operation.http["method"] == method and labels is not None:
            break
    else:
        raise ShapeError(f"{service} has no operation {method} {path}")
    shape = operation.input_shape
    params = {} if shape is None else _labels(shape, labels) | _query(shape, query, name) | _body(shape, headers, body, name)
    return _validate(Call(service, name, params), shape)


def _match_path(template: str, path: str) -> dict[str, str] | None:
    """The labels of a path, as they were sent."""
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    labels = {}
    for want, have in zip(wanted, given, strict=True):
        if want.startswith("{") and have:
            labels[want.strip("{}+")] = have
        elif want != have:
            return None
    return labels


def _located(shape: Any, location: str | None) -> dict[str, tuple[str, Shape]]:
    """Name on the wire -> member name and shape, of the members that travel there."""
    found = {}
    for name, member in shape.members.items():
        if member.serialization.get("location") == location:
            found[member.serialization.get("name", name)] = (name, member)
    return found


def _labels(shape: Any, labels: dict[str, str]) -> dict[str, Any]:
    members = _located(shape, "uri")
    out = {}
    for label, text in labels.items():
        if quote(unquote(text), safe="-_.~") != text:
            raise ShapeError(f"{label} {text!r} in the path is not percent-encoded as AWS signs it")
        name, member = members[label]
        out[name] = _scalar(member.type_name, unquote(text), name)
    return out


def _query(shape: Any, query: str, operation: str) -> dict[str, Any]:
    members = _located(shape, "querystring")
    out: dict[str, Any] = {}
    for key, text in parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []:
        if key not in members or members[key][0] in out:
            raise ShapeError(f"{operation} does not take {key!r} in its query, or not twice")
        name, member = members[key]
        out[name] = _scalar(member.type_name, text, name)
    return out


def _body(shape: Any, headers: dict[str, str], body: bytes, operation: str) -> dict[str, Any]:
    members = _located(shape, None)
    if not body:
        return {}
    if not members:
        raise ShapeError(f"{operation} takes no body")
    if headers.get("content-type") != "application/json":
        raise ShapeError(f"{operation} wants Content-Type application/json, got {headers.get('content-type')!r}")
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ShapeError(f"{operation}: not JSON: {error}") from error
    unknown = document.keys() - members.keys() if isinstance(document, dict) else {"what is no object"}
    if unknown:
        raise ShapeError(f"{operation} has no member {sorted(unknown)}")
    return {members[key][0]: value for key, value in document.items()}


# forms (protocols "query" and "ec2")


def _read_form(model: ServiceModel, service: str, headers: dict[str, str], body: bytes) -> Call:
    if headers.get("content-type", "").split(";")[0].strip() != FORM:
        raise ShapeError(f"{service} wants Content-Type {FORM}, got {headers.get('content-type')!r}")
    pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, strict_parsing=True)
    flat = dict(pairs)
    if len(flat) != len(pairs):
        raise ShapeError(f"{service}: a parameter is given twice")
    operation = _operation(model, flat.pop("Action", None))
    version = flat.pop("Version", None)
    if version != model.metadata["apiVersion"]:
        raise ShapeError(f"{service} wants Version {model.metadata['apiVersion']}, got {version!r}")
    reader = _FormReader(flat, model.metadata["protocol"] == "ec2")
    shape = operation.input_shape
    params = reader.structure(shape, "") if shape is not None else {}
    if reader.flat:
        raise ShapeError(f"{service}:{operation.name} does not take {sorted(reader.flat)}")
    return _validate(Call(service, operation.name, params), shape)


class _FormReader:
    """Takes parameters out of `flat` as the shapes ask for them; what stays there belongs to no shape."""

    def __init__(self, flat: dict[str, str], ec2: bool) -> None:
        self.flat = flat
        self._ec2 = ec2

    def _member_name(self, shape: Shape, default: str) -> str:
        serialization = shape.serialization
        if not self._ec2:
            return serialization.get("name", default)
        name = serialization.get("queryName") or serialization.get("name", default)
        return name[0].upper() + name[1:]

    def _any_under(self, prefix: str) -> bool:
        return any(key == prefix or key.startswith(prefix + ".") for key in self.flat)

    def structure(self, shape: Any, prefix: str) -> dict[str, Any]:
        out = {}
        for name, member in shape.members.items():
            path = self._member_name(member, name)
            path = f"{prefix}.{path}" if prefix else path
            if self._any_under(path):
                value = self._value(member, path)
                if value is not None:
                    out[name] = value
        return out

    def _value(self, shape: Any, path: str) -> Any:
        kind = shape.type_name
        if kind == "structure":
            return self.structure(shape, path)
        if kind == "list":
            return self._list(shape, path)
        if kind == "map":
            raise ShapeError(f"{path}: the bed reads no maps")
        text = self.flat.pop(path, None)
        return None if text is None else _scalar(kind, text, path)

    def _list(self, shape: Any, path: str) -> list[Any] | None:
        flattened = self._ec2 or shape.serialization.get("flattened", False)
        stem = path if flattened else f"{path}.{shape.member.serialization.get('name', 'member')}"
        out = []
        while self._any_under(f"{stem}.{len(out) + 1}"):
            out.append(self._value(shape.member, f"{stem}.{len(out) + 1}"))
        return out or None


def _scalar(kind: str, text: str, path: str) -> Any:
    try:
        if kind in ("integer", "long"):
            return int(text)
        if kind in ("float", "double"):
            return float(text)
    except ValueError as error:
        raise ShapeError(f"{path}: {text!r} is no {kind}") from error
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ShapeError(f"{path}: {text!r} is neither true nor false")
        return text == "true"
    return text
