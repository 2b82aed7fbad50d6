"""The bed's ECS and Lambda: pages, states and refusals as at AWS, where moto alone would let a wrong client pass or fail a right one."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from bed.account import Account
from bed.clock import clock
from bed.functions import functions, small_functions
from bed.gate import Gate
from bed.kube import loopback_session, wait_for
from bed.moto_ecs import rollouts
from bed.moto_lambda import updates
from bed.moto_patches import REGION
from bed.services import CLUSTERS, services, small_services
from bed.signature import Key
from bed.world import World


def client(gate: Gate, service: str) -> Any:
    return boto3.client(
        service,
        region_name=REGION,
        endpoint_url=gate.url,
        aws_access_key_id=Key().access,
        aws_secret_access_key=Key().secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=5, parameter_validation=False),
    )


def refusal(call, *arguments, **named) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **named)
    return caught.value


def code_of(call, *arguments, **named) -> str:
    return refusal(call, *arguments, **named).response["Error"]["Code"]


def raw(gate: Gate, method: str, target: str, body: bytes = b"", content_type: str = "application/json") -> int:
    """A Lambda request signed by botocore, but made by hand; its status."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    fields = {"Content-Type": content_type} if body else {}
    request = AWSRequest(method=method, url=gate.url + target, data=body, headers=fields)
    SigV4Auth(Credentials(Key().access, Key().secret), "lambda", REGION).add_auth(request)
    return loopback_session().request(method, gate.url + target, data=body, headers=dict(request.headers), timeout=10).status_code


@pytest.fixture
def ecs(gate: Gate, account: Account) -> Any:
    account.seed([], small_services(), small_functions())
    return client(gate, "ecs")


@pytest.fixture
def lambdas(gate: Gate, ecs: Any) -> Any:
    return client(gate, "lambda")


def network(account: Account, *places: str, **more: Any) -> dict[str, Any]:
    return {"awsvpcConfiguration": {"subnets": [account.subnets[place] for place in places]} | more}


def web(ecs: Any, cluster: str = "prod") -> dict[str, Any]:
    return ecs.describe_services(cluster=cluster, services=["web"])["services"][0]


def vpc(account: Account, *places: str, **more: Any) -> dict[str, Any]:
    subnets = [account.subnets[place] for place in places]
    return {"SubnetIds": subnets, "SecurityGroupIds": [account.security_groups["app"]]} | more


# ECS: lists


def test_lists_of_ecs_come_in_pages(gate: Gate, account: Account):
    account.seed([], services(90))
    ecs = client(gate, "ecs")
    assert len(ecs.list_clusters()["clusterArns"]) == len(CLUSTERS)
    first = ecs.list_services(cluster="prod")
    assert len(first["serviceArns"]) == 10
    paginator = ecs.get_paginator("list_services")
    pages = list(paginator.paginate(cluster="prod", PaginationConfig={"PageSize": 100}))
    assert [len(page["serviceArns"]) for page in pages] == [18]
    gate.pager.caps |= {"ecs:ListServices": 5, "ecs:ListClusters": 4}
    names = [arn for page in paginator.paginate(cluster="prod") for arn in page["serviceArns"]]
    assert names == pages[0]["serviceArns"]
    assert [len(page["clusterArns"]) for page in ecs.get_paginator("list_clusters").paginate()] == [4, 2]
    assert code_of(ecs.list_services, cluster="prod", nextToken="made up") == "InvalidParameterException"
    assert code_of(ecs.list_services, cluster="data", nextToken=first["nextToken"]) == "InvalidParameterException"
    assert code_of(ecs.list_services, cluster="prod", maxResults=101) == "InvalidParameterException"


def test_clusters_are_not_confused_and_deleted_services_not_listed(gate: Gate, account: Account, ecs: Any):
    assert ecs.list_services(cluster="prod")["serviceArns"] == [web(ecs)["serviceArn"]]
    account.client("ecs").delete_service(cluster="prod", service="web", force=True)
    assert ecs.list_services(cluster="prod")["serviceArns"] == []
    assert web(ecs)["status"] == "INACTIVE"
    assert code_of(ecs.list_services, cluster="nowhere") == "ClusterNotFoundException"
    missing = ecs.describe_services(cluster="prod", services=["nobody"])
    assert [failure["reason"] for failure in missing["failures"]] == ["MISSING"]


def test_more_than_ten_services_are_not_described(gate: Gate, ecs: Any):
    ecs.describe_services(cluster="prod", services=["web"] * 10)
    refusal(ecs.describe_services, cluster="prod", services=["web"] * 11)
    assert "maximum of 10" in gate.violations.pop()


# ECS: updates


def test_a_deployment_takes_a_while(gate: Gate, account: Account, ecs: Any):
    rollouts.seconds = 0.6
    clock.hold()
    before = web(ecs)
    assert [(d["status"], d["rolloutState"]) for d in before["deployments"]] == [("PRIMARY", "COMPLETED")]
    assert (before["runningCount"], before["pendingCount"]) == (2, 0)
    ecs.update_service(cluster="prod", service=before["serviceArn"], networkConfiguration=network(account, "a0", "c0"))
    new, old = web(ecs)["deployments"]
    assert [(d["status"], d["rolloutState"], d["runningCount"]) for d in (new, old)] == [
        ("PRIMARY", "IN_PROGRESS", 0),
        ("ACTIVE", "COMPLETED", 2),
    ]
    assert old["networkConfiguration"] == before["networkConfiguration"]
    assert new["networkConfiguration"] == web(ecs)["networkConfiguration"] != old["networkConfiguration"]
    clock.forward(0.35)
    assert [deployment["runningCount"] for deployment in web(ecs)["deployments"]] == [1, 1]
    clock.forward(0.3)
    after = web(ecs)
    assert [(d["id"], d["rolloutState"], d["runningCount"]) for d in after["deployments"]] == [(new["id"], "COMPLETED", 2)]
    assert after["createdAt"] == before["createdAt"]


def test_a_network_is_replaced_whole(gate: Gate, account: Account, ecs: Any):
    first = web(ecs, "nonprod")["networkConfiguration"]["awsvpcConfiguration"]
    assert (len(first["securityGroups"]), first["assignPublicIp"]) == (2, "ENABLED")
    ecs.update_service(cluster="nonprod", service="web", networkConfiguration=network(account, "c0"))
    now = web(ecs, "nonprod")["networkConfiguration"]["awsvpcConfiguration"]
    assert now == {"subnets": [account.subnets["c0"]], "securityGroups": [], "assignPublicIp": "DISABLED"}


def test_what_updates_of_services_are_refused(gate: Gate, account: Account):
    account.seed([], services(60))
    ecs = client(gate, "ecs")
    good = network(account, "a0")
    ecs.update_service(cluster="prod", service="web", networkConfiguration=good)
    for service, configuration in [
        ("web", {"awsvpcConfiguration": {"subnets": []}}),
        ("web", {"awsvpcConfiguration": {"subnets": ["subnet-0123456789abcdef0"]}}),
        ("web", network(account, *["a0"] * 17)),
        ("codedeploy", good),
        ("external", good),
        ("bridge", good),
    ]:
        update = {"cluster": "prod", "service": service, "networkConfiguration": configuration}
        assert code_of(ecs.update_service, **update) == "InvalidParameterException", update
    account.client("ecs").delete_service(cluster="prod", service="web", force=True)
    assert code_of(ecs.update_service, cluster="prod", service="web", networkConfiguration=good) == "ServiceNotActiveException"
    assert code_of(ecs.update_service, cluster="prod", service="nobody", networkConfiguration=good) == "ServiceNotFoundException"


def test_a_circuit_breaker_rolls_back(gate: Gate, account: Account, ecs: Any):
    rollouts.seconds = 0.4
    clock.hold()
    rollouts.break_next("web")
    before = web(ecs)["networkConfiguration"]
    ecs.update_service(cluster="prod", service="web", networkConfiguration=network(account, "a0"))
    assert web(ecs)["networkConfiguration"] == network(account, "a0", securityGroups=[], assignPublicIp="DISABLED")
    clock.forward(0.25)
    back, failed = web(ecs)["deployments"][:2]
    assert (back["status"], back["rolloutState"], failed["rolloutState"]) == ("PRIMARY", "IN_PROGRESS", "FAILED")
    assert "rolling back" in back["rolloutStateReason"]
    assert failed["networkConfiguration"]["awsvpcConfiguration"]["subnets"] == [account.subnets["a0"]]
    clock.forward(0.5)
    after = web(ecs)
    assert after["networkConfiguration"] == before
    assert [deployment["rolloutState"] for deployment in after["deployments"]] == ["COMPLETED"]


def test_a_deployment_may_fail_without_a_way_back(gate: Gate, account: Account, ecs: Any):
    clock.hold()
    rollouts.break_next("web", rollback=False)
    ecs.update_service(cluster="prod", service="web", networkConfiguration=network(account, "a0"))
    clock.forward(0.3)
    failed, old = web(ecs)["deployments"]
    assert (failed["status"], failed["rolloutState"], old["status"]) == ("PRIMARY", "FAILED", "ACTIVE")
    assert web(ecs)["networkConfiguration"]["awsvpcConfiguration"]["subnets"] == [account.subnets["a0"]]


# Lambda: lists


def test_functions_come_in_pages_without_their_states(gate: Gate, account: Account):
    account.seed([], [], functions(130))
    lambdas = client(gate, "lambda")
    pages = list(lambdas.get_paginator("list_functions").paginate())
    assert [len(page["Functions"]) for page in pages] == [50, 50, 30]
    names = [function["FunctionName"] for page in pages for function in page["Functions"]]
    assert names == [function.name for function in account.functions]
    assert len(lambdas.list_functions(MaxItems=10000)["Functions"]) == 50
    assert len(lambdas.list_functions(MaxItems=7)["Functions"]) == 7
    assert not {"State", "LastUpdateStatus"} & pages[0]["Functions"][0].keys()
    assert {"State", "LastUpdateStatus", "RevisionId"} <= lambdas.get_function(FunctionName="orders")["Configuration"].keys()
    assert code_of(lambdas.list_functions, Marker="made up") == "InvalidParameterValueException"
    assert sum("VpcConfig" in function for page in pages for function in page["Functions"]) < 0.6 * 130


def test_versions_aliases_and_tags(gate: Gate, account: Account):
    account.seed([], [], functions(14))
    lambdas = client(gate, "lambda")
    arn = lambdas.get_function(FunctionName="versioned")["Configuration"]["FunctionArn"]
    for name in ("versioned", arn):
        versions = lambdas.list_versions_by_function(FunctionName=name)["Versions"]
        assert [version["Version"] for version in versions] == ["$LATEST", "1", "2"]
        aliases = lambdas.list_aliases(FunctionName=name)["Aliases"]
        assert {alias["Name"]: alias["FunctionVersion"] for alias in aliases} == {"live": "2", "next": "$LATEST"}
        second = lambdas.get_function(FunctionName=name, Qualifier="2")["Configuration"]
        assert (second["Version"], second["FunctionArn"]) == ("2", f"{arn}:2")
    now = lambdas.get_function(FunctionName="versioned")["Configuration"]["VpcConfig"]["SubnetIds"]
    lambdas.update_function_configuration(FunctionName="versioned", VpcConfig=vpc(account, "a0"))
    assert lambdas.get_function(FunctionName=arn, Qualifier="2")["Configuration"]["VpcConfig"]["SubnetIds"] == now
    assert lambdas.get_function(FunctionName="orders")["Tags"] == {"team": "web"}
    gate.visibility.hidden_tags.add("orders")
    hidden = lambdas.get_function(FunctionName="orders")
    assert "Tags" not in hidden
    assert hidden["TagsError"]["ErrorCode"] == "AccessDeniedException"


# Lambda: updates


def test_an_update_takes_a_while(gate: Gate, account: Account, lambdas: Any):
    updates.seconds, updates.reads = 0.0, 2
    first = lambdas.get_function(FunctionName="orders")["Configuration"]
    revisions = [first["RevisionId"]]
    answer = lambdas.update_function_configuration(
        FunctionName=first["FunctionArn"], VpcConfig=vpc(account, "a0", "c0"), RevisionId=revisions[0]
    )
    assert answer["LastUpdateStatus"] == "InProgress"
    revisions.append(answer["RevisionId"])
    conflict = refusal(lambdas.update_function_configuration, FunctionName="orders", VpcConfig=vpc(account, "a0"))
    assert conflict.response["ResponseMetadata"]["HTTPStatusCode"] == 409
    assert conflict.response["Error"]["Code"] == "ResourceConflictException"
    states = [lambdas.get_function(FunctionName="orders")["Configuration"]["LastUpdateStatus"] for _ in range(3)]
    assert states == ["InProgress", "InProgress", "Successful"]
    last = lambdas.get_function(FunctionName="orders")["Configuration"]
    assert len({*revisions, last["RevisionId"]}) == 3
    assert last["VpcConfig"]["SubnetIds"] == [account.subnets["a0"], account.subnets["c0"]]
    assert (last["VpcConfig"]["VpcId"], last["LastModified"] > first["LastModified"]) == (account.vpc_id, True)
    stale = refusal(
        lambdas.update_function_configuration, FunctionName="orders", VpcConfig=vpc(account, "a0"), RevisionId=revisions[1]
    )
    assert stale.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert stale.response["Error"]["Code"] == "PreconditionFailedException"


def test_an_update_may_fail(gate: Gate, account: Account, lambdas: Any):
    updates.seconds = 0.1
    clock.hold()
    before = lambdas.get_function(FunctionName="orders")["Configuration"]["VpcConfig"]
    updates.fail_next("orders", "SubnetOutOfIPAddresses", "The subnet has no address left.")
    lambdas.update_function_configuration(FunctionName="orders", VpcConfig=vpc(account, "a0"))
    clock.forward(0.15)
    after = lambdas.get_function(FunctionName="orders")["Configuration"]
    assert (after["LastUpdateStatus"], after["LastUpdateStatusReasonCode"]) == ("Failed", "SubnetOutOfIPAddresses")
    assert after["VpcConfig"] == before


def test_networks_of_functions(gate: Gate, account: Account, lambdas: Any):
    bogus = {"SubnetIds": ["subnet-0123456789abcdef0"], "SecurityGroupIds": []}
    assert code_of(lambdas.update_function_configuration, FunctionName="orders", VpcConfig=bogus) == "InvalidParameterValueException"
    lambdas.update_function_configuration(FunctionName="orders", VpcConfig={"SubnetIds": [account.subnets["a0"]]})
    assert lambdas.get_function(FunctionName="orders")["Configuration"]["VpcConfig"]["SecurityGroupIds"] == []
    assert lambdas.get_function(FunctionName="mails")["Configuration"]["VpcConfig"]["Ipv6AllowedForDualStack"] is True
    lambdas.update_function_configuration(FunctionName="mails", VpcConfig={"SubnetIds": [], "SecurityGroupIds": []})
    detached = {"SubnetIds": [], "SecurityGroupIds": [], "VpcId": "", "Ipv6AllowedForDualStack": False}
    assert lambdas.get_function(FunctionName="mails")["Configuration"]["VpcConfig"] == detached
    assert "VpcConfig" not in lambdas.get_function(FunctionName="plain")["Configuration"]
    assert code_of(lambdas.get_function, FunctionName="nobody") == "ResourceNotFoundException"


# the judge


@pytest.mark.parametrize(
    ("method", "target", "body", "says"),
    [
        ("GET", "/2015-03-31/functions?MaxItem=1", b"", "does not take"),
        ("GET", "/2015-03-31/functions?MaxItems=many", b"", "no integer"),
        ("GET", "/2015-03-31/function", b"", "no operation"),
        ("POST", "/2015-03-31/functions/orders/configuration", b"{}", "no operation"),
        ("GET", "/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:orders", b"", "percent-encoded"),
        ("GET", "/2015-03-31/functions/orders", b"{}", "takes no body"),
        ("PUT", "/2015-03-31/functions/orders/configuration", b'{"Vpc":{}}', "no member"),
        ("PUT", "/2015-03-31/functions/orders/configuration", b'{"VpcConfig":[]}', "must be a structure"),
        ("PUT", "/2015-03-31/functions/orders/configuration", b'{"VpcConfig":', "not JSON"),
    ],
)
def test_wrong_shapes_of_rest_requests_are_refused(gate: Gate, lambdas: Any, method: str, target: str, body: bytes, says: str):
    assert raw(gate, method, target, body) == 400
    assert says in gate.violations.pop()
    assert not gate.violations


def test_a_body_wants_its_content_type(gate: Gate, lambdas: Any):
    target = "/2015-03-31/functions/orders/configuration"
    assert raw(gate, "PUT", target, b'{"Description":"x"}', "application/x-amz-json-1.1") == 400
    assert "wants Content-Type" in gate.violations.pop()
    assert raw(gate, "PUT", target, b'{"Description":"x"}') == 200


def test_a_path_is_encoded_twice_to_be_signed(gate: Gate, lambdas: Any, monkeypatch: pytest.MonkeyPatch):
    import botocore.auth

    path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Aorders"
    assert raw(gate, "GET", path) == 200
    monkeypatch.setattr(botocore.auth.SigV4Auth, "_normalize_url_path", lambda _signer, given: given)
    headers = _signed(gate, path)
    monkeypatch.undo()
    assert loopback_session().get(gate.url + path, headers=headers, timeout=10).status_code == 403
    assert "not what this secret gives" in gate.violations.pop()


def _signed(gate: Gate, path: str) -> dict[str, str]:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest(method="GET", url=gate.url + path)
    SigV4Auth(Credentials(Key().access, Key().secret), "lambda", REGION).add_auth(request)
    return dict(request.headers)


def test_throttles_of_the_new_services(gate: Gate, ecs: Any, lambdas: Any):
    gate.fault("ecs:Describe*", "throttle")
    gate.fault("lambda:GetFunction", "throttle", contains="mails")
    assert code_of(ecs.describe_services, cluster="prod", services=["web"]) == "ThrottlingException"
    web(ecs)
    lambdas.get_function(FunctionName="orders")
    throttled = refusal(lambdas.get_function, FunctionName="mails")
    assert throttled.response["Error"]["Code"] == "TooManyRequestsException"
    answer = throttled.response["ResponseMetadata"]
    assert (answer["HTTPStatusCode"], answer["HTTPHeaders"]["retry-after"]) == (429, "1")


# snapshots


def test_snapshots_tell_differences_of_each_kind(gate: Gate, account: Account, world: World, ecs: Any, lambdas: Any):
    before = world.snapshot()
    assert set(before.services) == {"prod/web", "nonprod/web"}
    service, function = account.services[0], account.functions[0]
    assert world.subnets_of("services")["prod/web"] == account.ids(service)
    account.set_service_subnets(service, account.ids(service, ["a0"]))
    account.set_function_subnets(function, account.ids(function, ["a0"]))
    kinds = [line.split(" ")[0] for line in before.differences(world.snapshot())]
    assert kinds == ["service", "function"]
    wait_for("the update", lambda: lambdas.get_function(FunctionName="orders")["Configuration"]["LastUpdateStatus"] == "Successful")
    account.set_service_subnets(service, account.ids(service))
    account.set_function_subnets(function, account.ids(function))
    assert not before.differences(world.snapshot())
