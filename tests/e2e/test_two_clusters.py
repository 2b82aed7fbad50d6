"""Two clusters in one account, each with a controller of its own, evacuate one zone: groups, services and functions are theirs together.

Whoever leaves while the other one holds only leaves; the last one restores. ZONEVAC_E2E_KILL_STRIDE=N kills at every N-th request,
ZONEVAC_E2E_SLOW=1 waits for signatures to grow old.
"""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bed import steps
from bed.account import Account
from bed.controller import Controller
from bed.controlplane import ControlPlane
from bed.functions import functions
from bed.gate import Gate
from bed.kills import MOMENTS
from bed.kube import Kube, wait_for
from bed.region import EVACUATED, groups
from bed.services import services
from bed.world import PLACES, Snapshot, World
from conftest import wipe

SLOW = os.environ.get("ZONEVAC_E2E_SLOW") == "1"
STRIDE = int(os.environ.get("ZONEVAC_E2E_KILL_STRIDE", "60"))
NODE_NAMES = {"node-1", "node-2"}
PATIENCE_SECONDS = 120


@dataclass
class Cluster:
    kube: Kube
    world: World
    controller: Controller
    before: Snapshot

    def order(self) -> None:
        steps.order(self.kube, targets=steps.EVERYTHING)

    def await_out(self) -> None:
        steps.await_ready(self.kube, timeout=PATIENCE_SECONDS, controller=self.controller)
        steps.assert_out(self.world)
        steps.assert_told_out(self.kube, self.world, NODE_NAMES)
        assert self.world.evacuated_nodes() == NODE_NAMES
        assert self.owner() in owners_of_zone(self.world)

    def recover(self) -> None:
        steps.recover(self.kube, timeout=PATIENCE_SECONDS, controller=self.controller)

    def owner(self) -> str:
        return self.kube.uid_of_cluster()

    def assert_left(self, other: Cluster) -> None:
        """Its nodes are back, and that is all: what is shared is out, and the other one's alone."""
        steps.assert_out(self.world)
        assert self.world.nodes() == self.before.nodes
        assert other.world.evacuated_nodes() == NODE_NAMES
        assert owners_of_zone(self.world) == {other.owner()}
        assert all(owners == {other.owner()} for owners in owners_of_shared(self.world).values())

    def assert_back(self) -> None:
        steps.assert_back(self.world, self.before)


def owners_of_zone(world: World) -> set[str]:
    """Of the region's registration."""
    region = next((item for item in world.items() if item["zoneId"]["S"] == "#region"), {})
    return set(region.get(f"zone:{EVACUATED}", {}).get("SS", ()))


def owners_of_shared(world: World) -> dict[str, set[str]]:
    """The owners of each record of a group, service or function."""
    shared = (item for item in world.records() if item["resourceType"]["S"] in PLACES.values())
    return {item["resourceId"]["S"]: set(item["owners"]["SS"]) for item in shared}


@pytest.fixture(scope="module")
def other_plane(tmp_path_factory: pytest.TempPathFactory):
    plane = ControlPlane(tmp_path_factory.mktemp("other-plane") / "control").start()
    try:
        plane.install()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def pair(kube: Kube, other_plane: ControlPlane, account: Account, gate: Gate, controllers, tmp_path: Path):
    """Two clusters whose nodes have the same names."""
    other_kube = other_plane.kube
    wipe(other_kube)
    steps.create_node_elsewhere(other_kube)
    for each in (kube, other_kube):
        for name in sorted(NODE_NAMES):
            each.create_node(name, EVACUATED, "us-east-1b")
    account.seed(shared(groups(6)), shared(services(8)), shared(functions(8)))
    account.create_journal()
    other = controllers(kubeconfig=other_plane.product_kubeconfig(tmp_path / "other"))
    other.flags["--cluster-name"] = "other"
    made = []
    for api, controller in ((kube, controllers()), (other_kube, other)):
        world = World(account, api)
        made.append(Cluster(api, world, controller, world.snapshot()))
    yield made
    wipe(other_kube)


def shared(placed: list) -> list:
    """What nothing refuses: the status is to be all settled."""
    return [each for each in placed if not each.refused]


def start(pair: list[Cluster]) -> None:
    for cluster in pair:
        cluster.controller.start()


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["the first leaves first", "the second leaves first"])
def leavers(request: pytest.FixtureRequest, pair: list[Cluster]) -> tuple[Cluster, Cluster]:
    return pair[request.param[0]], pair[request.param[1]]


def evacuate_both(pair: list[Cluster]) -> None:
    """One after the other."""
    start(pair)
    for cluster in pair:
        cluster.order()
        cluster.await_out()
    everybody = {cluster.owner() for cluster in pair}
    assert len(everybody) == 2
    owners = owners_of_shared(pair[0].world)
    assert owners
    assert all(each == everybody for each in owners.values())
    assert owners_of_zone(pair[0].world) == everybody


def gone(cluster: Cluster) -> bool:
    return cluster.kube.evacuation(steps.NAME) is None


def tells(cluster: Cluster, words: str) -> bool:
    return any(words in event["message"] for event in cluster.kube.events())


def test_one_joins_and_the_last_one_restores(pair: list[Cluster], leavers: tuple[Cluster, Cluster]):
    leaver, stayer = leavers
    evacuate_both(pair)
    held = len(owners_of_shared(pair[0].world))
    leaver.recover()
    leaver.assert_left(stayer)
    wait_for("an event to say what is left to others", lambda: tells(leaver, f"{held} left to other owners"))
    stayer.recover()
    for cluster in pair:
        cluster.assert_back()


def test_both_at_once(pair: list[Cluster]):
    """
    They come and go at the same moments. Who finds a change that another one has just begun cannot know whether its update is still on the
    way: that record may stay open for five minutes more, with the resource back where it was.
    """
    start(pair)
    for cluster in pair:
        cluster.order()
    for cluster in pair:
        cluster.await_out()
    for cluster in pair:
        cluster.kube.delete_evacuation(steps.NAME)
    world = pair[0].world
    wait_for("all to be as it was", lambda: not any(cluster.before.differences(cluster.world.snapshot()) for cluster in pair), 60)
    wait_for("nothing but claims to be left", lambda: all(map(gone, pair)) or len(world.records()) == len(steps.claims(world)) > 0, 60)
    if steps.claims(world) and not SLOW:
        return
    for cluster in pair:
        steps.await_gone(cluster.kube, timeout=400, controller=cluster.controller)
    for cluster in pair:
        cluster.assert_back()


def test_one_goes_while_the_other_comes(pair: list[Cluster]):
    """What is being put back is waited for, and taken out again."""
    start(pair)
    for goes, comes in [pair, reversed(pair)] if SLOW else [pair]:
        goes.order()
        goes.await_out()
        goes.kube.delete_evacuation(steps.NAME)
        comes.order()
        steps.await_gone(goes.kube, timeout=PATIENCE_SECONDS, controller=goes.controller)
        comes.await_out()
        comes.recover()
        for cluster in pair:
            cluster.assert_back()


# one of them is killed


def kill_in(cluster: Cluster, gate: Gate, act, number: int, moment: str, over) -> bool:
    """At that request after `act`, which the other one, at rest, does not disturb; then it is started again. Was it struck?"""
    gate.kill_at(len(gate.entries) + number, moment, cluster.controller.kill)
    act()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while cluster.controller.running() and not over() and time.monotonic() < deadline:
        time.sleep(0.02)
    gate.disarm()
    struck = cluster.controller.violent
    if struck:
        cluster.controller.wait()
        cluster.controller.start()
    return struck


def requests_of_a_story(pair: list[Cluster], leavers: tuple[Cluster, Cluster], gate: Gate) -> list[int]:
    """How many to join, to leave, and to restore."""
    start(pair)
    pair[0].order()
    pair[0].await_out()
    marks = [len(gate.entries)]
    pair[1].order()
    pair[1].await_out()
    marks.append(len(gate.entries))
    for cluster in leavers:
        cluster.recover()
        marks.append(len(gate.entries))
    return [end - begin for begin, end in itertools.pairwise(marks)]


@pytest.mark.timeout(3600)
def test_one_is_killed_in_the_middle(pair: list[Cluster], gate: Gate, capsys):
    """While it joins, leaves, or restores as the last one; the other one goes on, and the end is exact. Each leaves first in turn."""
    began, struck = time.monotonic(), Counts()
    first, second = pair
    counts = requests_of_a_story(pair, (first, second), gate)
    stories = max(counts) // STRIDE + 1
    for story in range(stories):
        numbers = [1 + story * count // stories for count in counts]
        leavers = (second, first) if story % 2 else (first, second)
        play_killed(pair, leavers, gate, numbers, MOMENTS[story % len(MOMENTS)], struck)
    with capsys.disabled():
        print(
            f"\ntwo clusters, killed: {counts[0]} requests to join, {counts[1]} to leave, {counts[2]} to restore; {stories} stories, "
            f"struck {struck.joining} joining, {struck.leaving} leaving, {struck.restoring} restoring, {time.monotonic() - began:.0f} s"
        )
    assert min(struck.joining, struck.leaving, struck.restoring) > stories / 2


@dataclass
class Counts:
    joining: int = 0
    leaving: int = 0
    restoring: int = 0


def play_killed(
    pair: list[Cluster], leavers: tuple[Cluster, Cluster], gate: Gate, numbers: list[int], moment: str, struck: Counts
) -> None:
    """One story in which each of them dies."""
    first, second = pair
    leaver, stayer = leavers
    first.order()
    first.await_out()
    held = lambda: second.kube.condition(steps.NAME, "Ready").get("status") == "True"  # noqa: E731
    struck.joining += kill_in(second, gate, second.order, numbers[0], moment, held)
    second.await_out()
    leave = lambda: leaver.kube.delete_evacuation(steps.NAME)  # noqa: E731
    struck.leaving += kill_in(leaver, gate, leave, numbers[1], moment, lambda: gone(leaver))
    steps.await_gone(leaver.kube, timeout=PATIENCE_SECONDS, controller=leaver.controller)
    leaver.assert_left(stayer)
    restore = lambda: stayer.kube.delete_evacuation(steps.NAME)  # noqa: E731
    struck.restoring += kill_in(stayer, gate, restore, numbers[2], moment, lambda: gone(stayer))
    steps.await_gone(stayer.kube, timeout=PATIENCE_SECONDS, controller=stayer.controller)
    for cluster in pair:
        cluster.assert_back()
