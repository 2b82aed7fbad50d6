"""Two replicas, of which one leads: whoever stands still, is cut off, dies or leaves, nothing is written that the other does not know of.

Each replica has a user and an AWS key of its own, so that the audit log and the gate tell who wrote what, and when.
ZONEVAC_E2E_SEED=N plays other moments; each test prints its own.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bed import steps
from bed.account import Account
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kube import MERGE_PATCH, Kube, wait_for
from bed.pods import create_pod, pods, wipe_pods
from bed.region import EVACUATED, groups
from bed.replicas import EvictedPods, Replica, TaintedNodes, hold_lease, lease
from bed.world import World
from conftest import FAILED, wipe

SEED = int(os.environ.get("ZONEVAC_E2E_SEED", time.time_ns() % 1_000_000))
LEASE_SECONDS, DEADLINE_SECONDS, RETRY_SECONDS = 15, 10, 4.4
SLACK_SECONDS = 4  # for a busy machine; less than what lies between a deadline and the end of the lease
LATE_SECONDS = 15  # so much later it may be taken over on a busy machine
MANY_NODES, NODES, PODS, GROUPS = 250, 40, 120, 24


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory):
    made = ControlPlane(tmp_path_factory.mktemp("leaders-plane") / "control", audited=True).start()
    try:
        made.install()
        made.admit_replicas()
        yield made
    finally:
        made.stop()


@pytest.fixture
def kube(plane: ControlPlane):
    empty(plane.kube)
    yield plane.kube
    empty(plane.kube)


def empty(kube: Kube) -> None:
    wipe(kube)
    wipe_pods(kube)


@pytest.fixture
def world(account: Account, kube: Kube) -> World:
    return World(account, kube)


@pytest.fixture
def replicas(request: pytest.FixtureRequest, plane: ControlPlane, kube: Kube, gate: Gate, tmp_path: Path):
    """Make a replica; all are ended at the end of the test."""
    made: list[Replica] = []

    def make(name: str, **how) -> Replica:
        made.append(Replica(plane, gate, tmp_path, f"{name}-{time.monotonic_ns()}", **how))
        return made[-1]

    yield make
    for replica in made:
        replica.close()
    if request.node.stash.get(FAILED, False):
        for replica in made:
            print(f"\n--- {replica.name} (its end)\n{replica.controller.tail(80)}")


@pytest.fixture
def say(capsys: pytest.CaptureFixture):
    def out(line: str) -> None:
        with capsys.disabled():
            print("\n  " + line, end="")

    return out


# the story that is interrupted


def seed_cluster(kube: Kube, account: Account, nodes: int, pod_count: int) -> None:
    """Nodes of the zone, with pods that go as soon as they are evicted, two nodes elsewhere, and groups with a journal."""
    for number in range(nodes):
        kube.create_node(f"node-{number:03}", EVACUATED, "us-east-1b")
    for number in range(2):
        kube.create_node(f"other-{number}", "use1-az2", "us-east-1c")
    for number in range(pod_count):
        create_pod(kube, f"app-{number:03}", f"node-{number % nodes:03}")
    account.seed(groups(GROUPS))
    account.create_journal()


def order(kube: Kube) -> None:
    steps.order(kube, guards={"maxNodesPercent": 100})


def freeze_while_tainting(first: Replica, kube: Kube, gate: Gate, rng: random.Random) -> float:
    """Its connections have just been cut: what it wants to write waits for new ones, which stand when it goes on."""

    def strike() -> float:
        first.relay.hold()
        first.relay.cut()
        time.sleep(rng.uniform(0.3, 2))
        moment = first.freeze()
        first.relay.release()
        return moment

    return strike_on(TaintedNodes(kube, rng.randint(1, MANY_NODES // 3), strike), kube)


def freeze_while_draining(first: Replica, kube: Kube, gate: Gate, rng: random.Random) -> float:
    return strike_on(EvictedPods(kube, rng.randint(1, PODS // 2), first.freeze), kube)


def strike_on(witness, kube: Kube) -> float:
    with witness:
        order(kube)
        wait_for("the moment", lambda: witness.struck, timeout=30, pause=0.01)
    return witness.struck


def freeze_while_changing(first: Replica, kube: Kube, gate: Gate, rng: random.Random) -> float:
    """With requests on their way whose answers come while it stands still."""
    gate.latency_seconds = 0.1
    count = rng.randint(1, GROUPS // 2)
    order(kube)
    wait_for("the moment", lambda: len(gate.named("autoscaling:UpdateAutoScalingGroup")) >= count, timeout=30, pause=0.001)
    time.sleep(rng.uniform(0, 0.1))
    moment = first.freeze()
    gate.latency_seconds = 0
    return moment


def finish(second: Replica, world: World, kube: Kube, before) -> None:
    """Out exactly, then back exactly."""
    steps.await_ready(kube, controller=second.controller)
    steps.assert_out(world)
    assert world.evacuated_nodes() == {name for name in before.nodes if name.startswith("node-")}
    wait_for("the pods to be gone", lambda: not pods(kube))
    steps.recover_but_claims(kube, world, before, second.controller)


def assert_in_turn(first: Replica, second: Replica) -> None:
    """The second wrote nothing before the first had written its last."""
    ours, theirs = [entry.at for entry in first.sent_writes()], [entry.at for entry in second.sent_writes()]
    assert not ours or not theirs or max(ours) < min(theirs)
    own_lease = ("update leases", "create leases")
    ours, theirs = ([asked.at for asked in one.asked_writes() if asked.what not in own_lease] for one in (first, second))
    assert ours and theirs
    assert max(ours) < min(theirs)


FREEZES = [(freeze_while_tainting, MANY_NODES, 0), (freeze_while_changing, NODES, 0), (freeze_while_draining, NODES, PODS)]


@pytest.mark.parametrize(("freeze", "nodes", "pod_count"), FREEZES, ids=lambda value: getattr(value, "__name__", None))
def test_one_that_stood_still_writes_nothing_more(
    freeze: Callable, nodes: int, pod_count: int, replicas, account: Account, world: World, kube: Kube, gate: Gate, say
):
    """SIGSTOP past its lease, then SIGCONT in the midst of the other one's work."""
    rng = random.Random(SEED)
    seed_cluster(kube, account, nodes, pod_count)
    before = world.snapshot()
    first, second = replicas("first", relayed=True).start(), replicas("second")
    first.await_lead()
    second.start().controller.await_ready()
    frozen_at = freeze(first, kube, gate, rng)
    led_at = second.await_lead()
    time.sleep(rng.uniform(0, 0.3))
    thawed_at = first.thaw()
    assert first.controller.wait(20) == 1
    assert "the lease is lost" in first.controller.tail()
    ended_at = time.time()
    finish(second, world, kube, before)
    late = first.writes_since(thawed_at)
    say(
        f"{freeze.__name__} (seed {SEED}): {len(first.sent_writes())} + {len(second.sent_writes())} writes to AWS, "
        f"{len(first.asked_writes())} + {len(second.asked_writes())} to the cluster; taken over after {led_at - frozen_at:.1f} s, "
        f"ended {1000 * (ended_at - thawed_at):.0f} ms after it went on, late writes: {len(late)}"
    )
    assert not late, late
    assert_in_turn(first, second)
    assert led_at - frozen_at <= LEASE_SECONDS + RETRY_SECONDS + LATE_SECONDS


def test_one_that_is_cut_off_stops_in_time(replicas, account: Account, world: World, kube: Kube, gate: Gate, say):
    """The API server is out of reach for the leader alone, which is busy at AWS: it stops within ten seconds of its last renewal."""
    seed_cluster(kube, account, NODES, 0)
    before = world.snapshot()
    first, second = replicas("first", relayed=True).start(), replicas("second")
    first.await_lead()
    second.start().controller.await_ready()
    gate.latency_seconds = 0.2
    steps.order(kube, guards={"maxNodesPercent": 100}, pacing={"maxInFlight": 2})
    wait_for("work at AWS", lambda: gate.named("autoscaling:UpdateAutoScalingGroup"), timeout=60, pause=0.005)
    first.relay.silence()
    gate.latency_seconds = 1.5
    assert first.controller.wait(20) == 1
    ended_at = time.time()
    assert "the lease is lost" in first.controller.tail()
    led_at = second.await_lead()
    gate.latency_seconds = 0
    finish(second, world, kube, before)
    renewed_at, sent = first.last_renewal(), [entry.at for entry in first.sent()]
    say(
        f"cut off: after the last renewal the last request to AWS {max(sent) - renewed_at:.1f} s, the end {ended_at - renewed_at:.1f} s, "
        f"taken over {led_at - renewed_at:.1f} s"
    )
    assert max(sent) <= renewed_at + DEADLINE_SECONDS + SLACK_SECONDS
    assert max(sent) >= renewed_at + DEADLINE_SECONDS / 2, "it had nothing to do: this proves nothing"
    assert ended_at <= renewed_at + DEADLINE_SECONDS + SLACK_SECONDS
    assert_in_turn(first, second)


# a replica in the zone that is evacuated


def create_ready_node(kube: Kube, name: str, zone_id: str, zone_name: str) -> None:
    kube.create_node(name, zone_id, zone_name)
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    kube.call("PATCH", f"/api/v1/nodes/{name}/status", status, MERGE_PATCH)


def test_one_in_the_zone_gives_way(replicas, account: Account, world: World, kube: Kube, say):
    """To a ready one elsewhere; and what is free it takes only after 30 s, when nobody else has."""
    create_ready_node(kube, "here", EVACUATED, "us-east-1b")
    create_ready_node(kube, "there", "use1-az2", "us-east-1c")
    account.seed(groups(4))
    before = world.snapshot()
    inside, outside = replicas("inside"), replicas("outside")
    for replica, node in ((inside, "here"), (outside, "there")):
        create_pod(kube, replica.name, node)
        replica.controller.environment.update(NODE_NAME=node, POD_NAME=replica.name, POD_NAMESPACE="default")
    inside.start().await_lead()
    outside.start().controller.await_ready()
    ordered_at = time.time()
    steps.order(kube, targets=[steps.NODES | {"eviction": "None"}, steps.GROUPS], guards={"maxNodesPercent": 100})
    assert inside.controller.wait(20) == 0
    led_at = outside.await_lead()
    inside.start().controller.await_ready()
    steps.await_ready(kube, controller=outside.controller)
    assert not inside.leads()
    held_at = time.time()
    assert outside.controller.stop() == 0
    free_at = time.time()
    taken_at = inside.await_lead(60)
    say(f"in the zone: gave way {led_at - ordered_at:.1f} s after the order; took what was free after {taken_at - free_at:.1f} s")
    assert led_at - ordered_at < 2 * RETRY_SECONDS + LATE_SECONDS
    assert taken_at - held_at >= 30
    assert taken_at - free_at <= 30 + RETRY_SECONDS + LATE_SECONDS
    steps.recover(kube, controller=inside.controller)
    steps.assert_back(world, before)


# the lease alone: no evacuation, so that these wait side by side, each in a namespace of its own


def killed(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    first, second = make().start(), make()
    first.await_lead()
    second.start().controller.await_ready()
    time.sleep(3)
    first.controller.kill()
    first.controller.wait()
    lasted = second.await_lead() - first.last_renewal()
    assert LEASE_SECONDS - 1 <= lasted <= LEASE_SECONDS + RETRY_SECONDS + LATE_SECONDS
    assert lease(kube, namespace)["leaseTransitions"] == 1
    return f"killed: taken over {lasted:.1f} s after its last renewal"


def terminated(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    first, second = make().start(), make()
    first.await_lead()
    second.start().controller.await_ready()
    time.sleep(1)
    began = time.time()
    assert first.controller.stop() == 0
    lasted = second.await_lead() - began
    assert lasted <= 5 + SLACK_SECONDS
    return f"terminated: taken over {lasted:.1f} s after SIGTERM"


def both_at_once(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    both = [make(), make()]
    for replica in both:
        replica.start()
    wait_for("one to lead", lambda: any(replica.leads() for replica in both))
    for _ in range(60):
        assert sum(replica.leads() for replica in both) == 1
        time.sleep(0.1)
    assert lease(kube, namespace)["leaseTransitions"] == 0
    return "both at once: one led all the time"


def held_for_40_s(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    """The duration is the record's, not our own."""
    hold_lease(kube, namespace, 40, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    lasted = seconds_until_lead(make())
    assert 40 <= lasted <= 40 + RETRY_SECONDS + LATE_SECONDS
    assert lease(kube, namespace)["leaseTransitions"] == 4
    return f"held by somebody for 40 s: taken after {lasted:.1f} s"


def from_the_future(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    """What counts is when it was seen to change, not what it says."""
    hold_lease(kube, namespace, LEASE_SECONDS, "2099-01-01T00:00:00.000000Z")
    lasted = seconds_until_lead(make())
    assert LEASE_SECONDS <= lasted <= LEASE_SECONDS + RETRY_SECONDS + LATE_SECONDS
    return f"renewed in 2099: taken after {lasted:.1f} s"


def from_the_past(make: Callable[[], Replica], kube: Kube, namespace: str) -> str:
    """A holder whose clock is late may be alive."""
    hold_lease(kube, namespace, LEASE_SECONDS, "2001-01-01T00:00:00.000000Z")
    lasted = seconds_until_lead(make())
    assert LEASE_SECONDS <= lasted <= LEASE_SECONDS + RETRY_SECONDS + LATE_SECONDS
    return f"renewed in 2001: taken after {lasted:.1f} s"


def seconds_until_lead(replica: Replica) -> float:
    began = time.time()
    return replica.start().await_lead(60) - began


LEASE_STORIES = [killed, terminated, both_at_once, held_for_40_s, from_the_future, from_the_past]


@pytest.fixture(scope="module")
def lease_stories(plane: ControlPlane, _gate: Gate, tmp_path_factory: pytest.TempPathFactory):
    """All of them begun at once; each test waits for the end of its own."""
    folder, made = tmp_path_factory.mktemp("stories"), []
    empty(plane.kube)

    def play(story: Callable) -> str:
        namespace, kube = story.__name__.replace("_", "-"), plane.kube.another()
        plane.admit_replicas(namespace)

        def make() -> Replica:
            made.append(Replica(plane, _gate, folder, f"{namespace}-{len(made)}", namespace))
            return made[-1]

        return story(make, kube, namespace)

    with ThreadPoolExecutor(len(LEASE_STORIES)) as pool:
        yield {story: pool.submit(play, story) for story in LEASE_STORIES}
    for replica in made:
        replica.close()


@pytest.mark.parametrize("story", LEASE_STORIES, ids=lambda story: story.__name__)
def test_lease(lease_stories: dict[Callable, Future], story: Callable, say):
    say(lease_stories[story].result(90))
