"""Batches: a share at a time, out and back, whoever is there to see to it."""

from __future__ import annotations

from bed import steps
from bed.account import Account
from bed.gate import Entry, Gate
from bed.kube import Kube, wait_for
from bed.region import small_groups
from bed.world import World

PACING = {"batchPercent": 50, "batchIntervalSeconds": 4}
UPDATE = "autoscaling:UpdateAutoScalingGroup"


def updates(gate: Gate) -> list[Entry]:
    return gate.named(UPDATE)


def assert_two_batches(gate: Gate, what: str) -> None:
    """Of three groups: two, and after the interval the third."""
    first, second, third = (entry.at for entry in updates(gate))
    assert second - first < PACING["batchIntervalSeconds"], what
    assert third - second >= PACING["batchIntervalSeconds"], what


def settled(world: World) -> int:
    return sum(item["state"]["S"] == "Settled" for item in world.records())


def test_batches_are_kept_over_a_restart(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(small_groups())
    before = world.snapshot()
    controller = controllers().start()
    steps.order(kube, targets=[steps.GROUPS], pacing=PACING)
    wait_for("the first batch at rest", lambda: settled(world) == 2, timeout=60, pause=0.05)
    controller.kill()
    controller.wait()
    assert len(updates(gate)) == 2
    controller.start()
    held = steps.await_ready(kube, controller=controller)
    assert held["status"]["progress"] == "3/3"
    steps.assert_out(world)
    assert_two_batches(gate, "out")
    gate.clear()
    steps.recover(kube, controller=controller)
    assert_two_batches(gate, "back")
    steps.assert_back(world, before)
