"""Services and functions on a bad day: what fails, what others do meanwhile, and what cannot be known is told, and nothing else suffers."""

from __future__ import annotations

import pytest

from bed import steps
from bed.account import Account
from bed.functions import Function, small_functions
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.moto_ecs import rollouts
from bed.moto_lambda import updates
from bed.services import Service, small_services
from bed.world import World

TARGETS = [steps.SERVICES, steps.FUNCTIONS]


def await_entry(kube: Kube, kind: str, name: str, state: str, says: str, timeout: float = 30) -> None:
    """Wait until the status tells it so of a resource of that name (services of two clusters may share one)."""

    def told() -> bool:
        status = (kube.evacuation(steps.NAME) or {}).get("status", {})
        found = [entry for entry in status.get("changes", []) if (entry["kind"], entry["name"]) == (kind, name)]
        return any(entry["state"] == state and says in entry.get("reason", "") for entry in found)

    try:
        wait_for(f"{kind} {name} to be {state}: {says}", told, timeout)
    except TimeoutError as error:
        raise AssertionError(f"{error}\n{steps.describe(kube)}") from None


@pytest.fixture
def small(world: World, account: Account):
    account.seed([], small_services(), small_functions())
    return world.snapshot()


def test_services_and_functions_out_and_back(small, world: World, kube: Kube, gate: Gate, controllers):
    gate.pager.caps |= {"ecs:ListClusters": 1, "ecs:ListServices": 1, "lambda:ListFunctions": 1}
    controllers().start()
    steps.order(kube, targets=TARGETS)
    steps.await_ready(kube)
    steps.assert_out(world)
    assert steps.assert_journaled_first(gate, world) == 4
    steps.recover(kube)
    steps.assert_back(world, small)
    assert steps.assert_journaled_first(gate, world) == 8


def test_throttles_and_lost_answers(small, world: World, kube: Kube, gate: Gate, controllers):
    for pattern in ("ecs:*", "lambda:*"):
        gate.fault(pattern, "throttle", first=2, times=3)
    gate.fault("ecs:DescribeServices", "html502", first=3)
    gate.fault("lambda:GetFunction", "reset", first=3)
    controllers().start()
    steps.order(kube, targets=TARGETS)
    steps.await_ready(kube)
    steps.assert_out(world)
    gate.faults.clear()
    steps.recover(kube)
    steps.assert_back(world, small)


def test_a_deployment_that_is_rolled_back_is_not_fought_for(
    small, world: World, account: Account, kube: Kube, gate: Gate, controllers
):
    rollouts.seconds = 3.0
    rollouts.break_next("web")
    controllers("--resync", "2s").start()
    steps.order(kube, targets=TARGETS)
    await_entry(kube, "EcsService", "web", "Rival", "circuit breaker")
    steps.quiet(gate, 6)
    assert len(gate.named("ecs:UpdateService")) == len(account.services)
    assert kube.condition(steps.NAME, "Evacuated")["reason"] == "Rival"
    steps.recover(kube)
    wait_for("the last deployment", lambda: not small.differences(world.snapshot()))
    steps.assert_back(world, small)


def test_an_update_of_a_function_that_fails_is_told(small, world: World, kube: Kube, controllers):
    updates.fail_next("orders", "SubnetOutOfIPAddresses", "The subnet has no address left.")
    controllers().start()
    steps.order(kube, targets=TARGETS)
    await_entry(kube, "LambdaFunction", "orders", "Failed", "no address left")
    await_entry(kube, "LambdaFunction", "mails", "Settled", "")
    await_entry(kube, "EcsService", "web", "Settled", "")
    steps.recover(kube)
    steps.assert_back(world, small)


def test_a_function_whose_tags_are_hidden_is_left(small, world: World, account: Account, kube: Kube, gate: Gate, controllers):
    gate.visibility.hidden_tags.add("orders")
    account.functions[0].refused = "TagsUnreadable"
    controllers().start()
    steps.order(kube, targets=TARGETS)
    steps.await_ready(kube)
    await_entry(kube, "LambdaFunction", "orders", "Refused", "TagsUnreadable")
    steps.assert_out(world)
    steps.recover(kube)
    steps.assert_back(world, small)


def test_an_update_of_somebody_else_is_waited_for(small, world: World, account: Account, kube: Kube, gate: Gate, controllers):
    for service in account.services:
        service.selected = False
    updates.seconds = 2.0
    account.client("lambda").update_function_configuration(FunctionName="orders", Description="theirs")
    controllers().start()
    steps.order(kube, targets=[steps.FUNCTIONS])
    steps.await_ready(kube)
    assert world.functions()["orders"]["Description"] == "theirs"
    steps.assert_out(world)
    assert not [entry for entry in gate.named("lambda:UpdateFunctionConfiguration") if entry.status == 409]
    steps.recover(kube)
    assert world.subnets_of("functions") == {function.name: account.ids(function) for function in account.functions}


def test_what_owners_change_meanwhile_is_kept(small, world: World, account: Account, kube: Kube, controllers):
    controllers().start()
    steps.order(kube, targets=TARGETS)
    steps.await_ready(kube)
    service, function = account.services[0], account.functions[0]
    service.groups, service.public_ip, function.groups = ["ops"], "ENABLED", ["ops"]
    account.set_service_subnets(service, account.ids(service, ["c1", "a0", "c0"]))
    account.set_function_subnets(function, account.ids(function, ["c1", "a0", "c0"]))
    steps.recover(kube)
    network = world.services()[service.key]["networkConfiguration"]["awsvpcConfiguration"]
    assert sorted(network["subnets"]) == sorted(account.ids(service, ["c1", "a0", "b0", "c0"]))
    assert (network["securityGroups"], network["assignPublicIp"]) == ([account.security_groups["ops"]], "ENABLED")
    config = world.functions()[function.name]["VpcConfig"]
    assert sorted(config["SubnetIds"]) == sorted(account.ids(function, ["c1", "a0", "b0", "c0"]))
    assert config["SecurityGroupIds"] == [account.security_groups["ops"]]


def test_a_selection_of_services_and_versions_that_stay(world: World, account: Account, kube: Kube, controllers):
    account.seed(
        [],
        [Service("web", ["a0", "b0"]), Service("web", ["a0", "b0"], cluster="data", selected=False), Service("job", ["b0", "c0"])],
        [Function("orders", ["a0", "b0"], versions=1, aliases={"live": "1"}), Function("mails", ["a0", "b0"], selected=False)],
    )
    before = world.snapshot()
    controllers().start()
    chosen = [{"kind": "EcsService", "selector": {"matchNames": ["prod/web", "job"]}}]
    chosen.append({"kind": "LambdaFunction", "selector": {"matchNames": ["or*"]}})
    steps.order(kube, targets=chosen)
    steps.await_ready(kube)
    steps.assert_out(world)
    await_entry(kube, "LambdaFunction", "orders", "Settled", "live")
    steps.recover(kube)
    steps.assert_back(world, before)
