"""A plan is looked at, approved by its hash, and done; or it has changed meanwhile, and nothing is."""

from __future__ import annotations

import re

import pytest

from bed import steps
from bed.account import Account
from bed.functions import small_functions
from bed.gate import Gate
from bed.kube import GROUP, MERGE_PATCH, Kube, wait_for
from bed.region import EVACUATED, small_groups
from bed.services import small_services
from bed.world import World

WRITES = ("autoscaling:UpdateAutoScalingGroup", "ecs:UpdateService", "dynamodb:PutItem", "dynamodb:UpdateItem")


@pytest.fixture
def small(world: World, account: Account, kube: Kube):
    account.seed(small_groups(), small_services(), small_functions())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    return world.snapshot()


def plan(kube: Kube) -> str:
    """Order it in mode Plan; the hash that its status tells."""
    steps.order(kube, mode="Plan", targets=steps.EVERYTHING)
    status = steps.await_ready(kube)["status"]
    assert re.fullmatch("sha256:[0-9a-f]{64}", status["planHash"])
    assert status["estimatedSeconds"] >= 1
    assert "; about " in kube.condition(steps.NAME, "Ready")["message"]
    assert status["changes"][0]["kind"] == "EksNode"
    return status["planHash"]


def evacuate(kube: Kube, plan_hash: str) -> None:
    kube.call("PATCH", f"{GROUP}/{steps.NAME}", {"spec": {"mode": "Evacuate", "planHash": plan_hash}}, MERGE_PATCH)


def await_held(kube: Kube) -> dict:
    steps.await_condition(kube, "Evacuated")
    return kube.evacuation(steps.NAME)["status"]


def test_an_approved_plan_is_done(small, world: World, kube: Kube, gate: Gate, controllers):
    controllers().start()
    approved = plan(kube)
    assert not gate.named(*WRITES)
    steps.assert_back(world, small)
    evacuate(kube, approved)
    assert await_held(kube)["planHash"] == approved
    steps.assert_out(world)
    steps.recover(kube)
    steps.assert_back(world, small)


def test_a_changed_plan_is_not_done_until_it_is_approved_anew(
    small, world: World, account: Account, kube: Kube, gate: Gate, controllers
):
    controllers().start()
    approved = plan(kube)
    group, subnets = account.groups[0].name, account.subnets
    before = account.identifier(account.groups[0])
    account.set_zone_identifier(group, ",".join([before, subnets["b1"]]))
    changed = world.snapshot()
    evacuate(kube, approved)
    stalled = steps.await_condition(kube, "Stalled")
    assert stalled["reason"] == "PlanChanged"
    assert approved in stalled["message"]
    assert f"has other subnets in the zone (AutoScalingGroup {group})" in stalled["message"]
    assert "finalizers" not in kube.evacuation(steps.NAME)["metadata"]
    assert not world.snapshot().nodes["n1"].evacuated
    assert not gate.named(*WRITES)
    steps.assert_back(world, changed)
    now = wait_for("another hash", lambda: (found := kube.evacuation(steps.NAME)["status"].get("planHash")) != approved and found)
    assert now in stalled["message"]
    evacuate(kube, now)
    await_held(kube)
    steps.assert_out(world)
    steps.recover(kube)
    steps.assert_back(world, changed)
